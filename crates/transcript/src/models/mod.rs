//! How three versions of the agent load a transcript, on the index: which rows a resume sends.
//!
//! The guard of a repair compares what each version reaches before and after it ([`crate::guard`]). Every rule was
//! measured with the real agent against a loopback API (docs/damage.md). The property tests have models of their own,
//! written without a line of this crate, and compare them with these on random damage.
//!
//! Linear in the rows: every walk passes a row once.

mod load;
mod nearest;

use std::collections::HashSet;
use std::io;

use crate::facts::Kind;
use crate::flags::Flags;
use crate::index::{Index, RowNo};
use crate::json::Outline;
use crate::source::Source;
use crate::tree::RowSet;

use load::{Loaded, MISSING, Node, ROOT};
use nearest::Nearest;

/// A version of the agent. Each stands for those that load transcripts in the same way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Version {
    /// 2.1.31 resumes at the newest row and follows links as they stand.
    V31,
    /// 2.1.100 also bridges a missing parent to the row nearest in time.
    V100,
    /// 2.1.325 resumes at the checkpoint or the last row, and bridges rings as well.
    V325,
}

impl Version {
    /// All of them.
    pub const ALL: [Version; 3] = [Version::V31, Version::V100, Version::V325];

    /// The version's number.
    pub fn number(self) -> &'static str {
        match self {
            Version::V31 => "2.1.31",
            Version::V100 => "2.1.100",
            Version::V325 => "2.1.325",
        }
    }
}

/// The rows that a version sends after a resume: the walk from its leaf, cut at the last compaction, and the parts of
/// replies beside it.
///
/// # Errors
/// Rows cannot be read again.
pub(crate) fn reached(index: &Index, source: &dyn Source, version: Version) -> io::Result<RowSet> {
    let mut loaded = Loaded::new(index, source, version)?;
    loaded.preserve(source)?;
    let mut sent = RowSet::with_capacity(index.rows.len());
    let Some(leaf) = loaded.leaf(source)? else { return Ok(sent) };
    let walk = loaded.walk(leaf);
    let boundary = |node: &u32| loaded.row(*node).is(Flags::COMPACT_BOUNDARY);
    let end = walk.iter().position(boundary).map_or(walk.len(), |at| at + 1);
    for node in &walk[..end] {
        sent.insert(loaded.nodes[*node as usize].content);
    }
    if version != Version::V31 {
        // 2.1.31 sees one of several calls side by side; the others put back all parts of a reply and their results (B10).
        loaded.add_parts(&walk, end, &mut sent);
    }
    Ok(sent)
}

impl Loaded<'_> {
    /// Where the version resumes.
    fn leaf(&self, source: &dyn Source) -> io::Result<Option<u32>> {
        if self.version == Version::V325 { self.leaf_of_newer(source) } else { Ok(self.newest()) }
    }

    /// 2.1.31 and 2.1.100: the newest row of any kind, of equal times the first.
    fn newest(&self) -> Option<u32> {
        let mut best: Option<(i64, u32)> = None;
        for node in self.main() {
            let time = self.row(node).time;
            if time != i64::MIN && best.is_none_or(|(newest, _)| time > newest) {
                best = Some((time, node));
            }
        }
        best.map(|(_, node)| node)
    }

    /// 2.1.325: the checkpoint if the last row does not descend from it, else the last row; without any checkpoint the
    /// newest row that descends from the last. Without a date it finds no conversation.
    fn leaf_of_newer(&self, source: &dyn Source) -> io::Result<Option<u32>> {
        let Some(last) = self.main().last() else { return Ok(None) };
        let checkpoint = self.checkpoint;
        let explicit = checkpoint.is_some_and(|it| it.explicit);
        let named = checkpoint.and_then(|it| it.leaf).and_then(|id| self.node_of(self.index.find(id)?));
        let picked = if self.preserved && !explicit {
            None
        } else {
            let picked = match named {
                Some(named) if !explicit && self.follows(last, named) => last,
                Some(named) => named,
                None if self.any_checkpoint => last,
                None => self.newest_below(last, source)?,
            };
            self.climb(picked)
        };
        let leaf = picked.or_else(|| self.tip(last, named));
        let is_found = |leaf: &u32| {
            let row = self.row(*leaf);
            !row.is(Flags::SIDECHAIN) && row.time != i64::MIN
        };
        Ok(leaf.filter(is_found))
    }

    /// Behind a compaction that kept rows, and where the last row leads to no turn: the only end there is; of several the
    /// checkpoint, or the turn of the last row.
    fn tip(&self, last: u32, named: Option<u32>) -> Option<u32> {
        let mut followed = vec![false; self.nodes.len()];
        let mut spoken = vec![false; self.nodes.len()];
        for (node, parent) in self.links() {
            followed[parent as usize] = true;
            spoken[parent as usize] |= self.row(node).kind().is_turn();
        }
        let turns = self.turns();
        let mut tips: Vec<u32> = self
            .alive()
            .filter(|node| !followed[*node as usize])
            .map(|node| turns[node as usize])
            .filter(|turn| *turn != ROOT && !spoken[*turn as usize])
            .collect();
        tips.dedup();
        match tips.as_slice() {
            [] => None,
            [tip] => Some(*tip),
            _ => named
                .filter(|named| tips.contains(named) && !self.descends(last, *named))
                .or_else(|| self.climb(last)),
        }
    }

    /// Whether the last row descends from the checkpoint, or from another part of the same reply.
    fn follows(&self, last: u32, named: u32) -> bool {
        let batch = self.batch(named);
        let mut seen = RowSet::with_capacity(self.nodes.len());
        let mut at = Some(last);
        while let Some(node) = at.filter(|node| seen.insert(*node)) {
            if node == named || batch != 0 && self.batch(node) == batch {
                return true;
            }
            at = self.parent(node);
        }
        false
    }

    fn descends(&self, node: u32, ancestor: u32) -> bool {
        let mut seen = RowSet::with_capacity(self.nodes.len());
        let mut at = Some(node);
        while let Some(node) = at.filter(|node| seen.insert(*node)) {
            if node == ancestor {
                return true;
            }
            at = self.parent(node);
        }
        false
    }

    /// The reply that a row is a part of, or a result for; zero where there is none.
    fn batch(&self, node: u32) -> u32 {
        let row = self.row(node);
        match row.kind() {
            Kind::Assistant => row.reply(),
            _ if row.is(Flags::HAS_RESULT) => self.parent(node).map_or(0, |parent| self.reply(parent)),
            _ => 0,
        }
    }

    fn reply(&self, node: u32) -> u32 {
        let row = self.row(node);
        if row.kind() == Kind::Assistant { row.reply() } else { 0 }
    }

    /// The newest of the rows that descend from this one, the last of equals; itself where there is none. 2.1.325 compares
    /// times as texts: `"yesterday"` is newer than any date, and then it finds no conversation (measured).
    fn newest_below(&self, last: u32, source: &dyn Source) -> io::Result<u32> {
        const UNKNOWN: u8 = 0;
        const BELOW: u8 = 1;
        const APART: u8 = 2;
        let mut state = vec![UNKNOWN; self.nodes.len()];
        state[last as usize] = BELOW;
        let mut best = last;
        for start in self.main() {
            let mut path = Vec::new();
            let mut at = Some(start);
            while let Some(node) = at.filter(|node| state[*node as usize] == UNKNOWN) {
                state[node as usize] = APART; // a ring meets it again and is apart
                path.push(node);
                at = self.parent(node);
            }
            let found = at.map_or(APART, |node| state[node as usize]);
            for node in path {
                state[node as usize] = found;
            }
            let is_below = start != last && state[start as usize] == BELOW;
            if is_below && (best == last || self.is_no_older(start, best, source)?) {
                best = start;
            }
        }
        Ok(best)
    }

    /// Whether the time of one row is at least that of the other, as a text where one of them is no date.
    fn is_no_older(&self, node: u32, than: u32, source: &dyn Source) -> io::Result<bool> {
        let (time, other) = (self.row(node).time, self.row(than).time);
        if time != i64::MIN && other != i64::MIN {
            return Ok(time >= other);
        }
        let text = |node: u32| -> io::Result<String> {
            let row = self.row(node);
            let bytes = source.bytes(row.offset, row.len as usize)?;
            let outline = Outline::parse(&bytes);
            Ok(outline.and_then(|row| row.get("timestamp")?.text(&bytes)).unwrap_or_default())
        };
        Ok(text(node)? >= text(than)?)
    }

    /// The turn that a row belongs to: itself, or the first one above attachments and system rows.
    fn climb(&self, node: u32) -> Option<u32> {
        let mut seen = RowSet::with_capacity(self.nodes.len());
        let mut at = Some(node);
        while let Some(node) = at.filter(|node| seen.insert(*node)) {
            if self.row(node).kind().is_turn() {
                return Some(node);
            }
            at = self.parent(node);
        }
        None
    }

    /// For every row the turn it belongs to, or [`ROOT`].
    fn turns(&self) -> Vec<u32> {
        const UNKNOWN: u32 = MISSING;
        let mut turns = vec![UNKNOWN; self.nodes.len()];
        for start in 0..self.count() {
            let mut path = Vec::new();
            let mut at = Some(start);
            while let Some(node) = at.filter(|node| turns[*node as usize] == UNKNOWN) {
                turns[node as usize] = ROOT;
                if self.row(node).kind().is_turn() {
                    turns[node as usize] = node;
                    break;
                }
                path.push(node);
                at = self.parent(node);
            }
            let found = at.map_or(ROOT, |node| turns[node as usize]);
            for node in path {
                turns[node as usize] = found;
            }
        }
        turns
    }

    /// From the leaf to the root. Where the parent is not there, 2.1.100 and 2.1.325 go on at the row nearest in time, at
    /// most five seconds older; where the walk meets itself, 2.1.325 alone does.
    fn walk(&self, leaf: u32) -> Vec<u32> {
        let mut seen = RowSet::with_capacity(self.nodes.len());
        let mut nearest: [Option<Nearest>; 2] = [None, None];
        let mut walk = Vec::new();
        let mut at = leaf;
        loop {
            seen.insert(at);
            walk.push(at);
            if self.nodes[at as usize].parent == ROOT {
                return walk;
            }
            let bridges = match self.parent(at) {
                Some(parent) if !seen.contains(parent) => {
                    at = parent;
                    continue;
                }
                Some(_) => self.version == Version::V325,
                None => self.version != Version::V31,
            };
            if !bridges {
                return walk;
            }
            let sidechain = self.version == Version::V325 && self.row(at).is(Flags::SIDECHAIN);
            let near = nearest[usize::from(sidechain)].get_or_insert_with(|| Nearest::new(self, sidechain));
            let Some(next) = near.before(self.row(at).time, &seen) else { return walk };
            at = next;
        }
    }

    /// The other rows of the replies on the walk up to `end`, and the results that hang on them. What the walk passes behind a
    /// compaction stays there (measured on 2.1.100 and 2.1.325).
    fn add_parts(&self, walk: &[u32], end: usize, sent: &mut RowSet) {
        let replies: HashSet<u32> =
            walk[..end].iter().map(|node| self.reply(*node)).filter(|reply| *reply != 0).collect();
        let of_walk = |node: u32| replies.contains(&self.reply(node));
        let mut passed = RowSet::with_capacity(self.nodes.len());
        for node in &walk[end..] {
            passed.insert(*node);
        }
        for node in self.alive().filter(|node| !passed.contains(*node)) {
            let result = self.row(node).is(Flags::HAS_RESULT);
            if of_walk(node) || result && self.parent(node).is_some_and(of_walk) {
                sent.insert(self.nodes[node as usize].content);
            }
        }
    }

    fn row(&self, node: u32) -> &crate::index::Row {
        let content: RowNo = self.nodes[node as usize].content;
        &self.index.rows[content as usize]
    }

    fn alive(&self) -> impl DoubleEndedIterator<Item = u32> + '_ {
        (0..self.count()).filter(|node| !self.deleted.contains(*node))
    }

    fn main(&self) -> impl DoubleEndedIterator<Item = u32> + '_ {
        self.alive().filter(|node| !self.row(*node).is(Flags::SIDECHAIN))
    }

    /// Every link to a row that is there: child and parent.
    fn links(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        self.alive().filter_map(|node| Some((node, self.parent(node)?)))
    }

    fn parent(&self, node: u32) -> Option<u32> {
        let Node { parent, .. } = self.nodes[node as usize];
        Some(parent).filter(|parent| *parent != ROOT && *parent != MISSING && !self.deleted.contains(*parent))
    }

    fn count(&self) -> u32 {
        u32::try_from(self.nodes.len()).unwrap_or(MISSING)
    }
}
