//! What an older copy of a conversation and the file that took its place say of each other, and the two joined.
//!
//! An agent whose transcript is deleted or cut under it goes on in a new file, with the conversation in memory: the
//! first row there names the last one of the old file as its parent (measured on 2.1.31, 2.1.100 and 2.1.325).

use std::collections::{HashMap, HashSet};
use std::io;
use std::ops::Range;

use crate::branches::is_prompt;
use crate::facts::Kind;
use crate::flags::Flags;
use crate::index::{NONE, Row, RowNo};
use crate::json::Outline;
use crate::patched::patched;
use crate::rewritten;
use crate::scan::{Status, Transcript, repair_bytes};
use crate::tree::Tree;

/// How a file follows an older copy of the same conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Succession {
    /// The file lacks nothing that the agent did not drop by itself.
    Complete,
    /// Every row of the file is in the older copy, which has more.
    CutShort,
    /// The file goes on where the older copy ends.
    Continued(Joined),
    /// Both have rows that the other lacks, and nothing proves their order.
    Unproven(Doubt),
}

/// An older copy with the newer rows behind it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Joined {
    /// The file: healthy, every row of both byte for byte but for links that had to be mended.
    pub bytes: Vec<u8>,
    /// Prompts that a resume of it reaches and that the newer file lacks.
    pub regained: u64,
    /// What proves the order.
    pub proof: Proof,
    /// Whether rows between the two are in neither: the newer file names one as the parent of its first row.
    pub gap: bool,
}

/// What proves that a file goes on where an older copy ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Proof {
    /// A row of the file names a row as its parent that only the older copy has.
    Links,
    /// Session and times fit, and the agent that wrote the file had a conversation in memory.
    Times,
}

/// Why no order is proven.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Doubt {
    /// The file begins anew: its first row follows nothing, and no agent is known to have gone on.
    FreshStart,
    /// Rows belong to another session.
    OtherSession,
    /// Some of the file's rows are older than the last row of the older copy.
    Times,
    /// Both begin with the same prompt.
    SameBeginning,
    /// Both have the same beginning and go on differently.
    Diverged,
    /// A row with the same id differs.
    Rewritten,
    /// The joined file would not reach exactly what both reach.
    Reach,
}

impl Doubt {
    /// Why, as the end of a sentence.
    pub fn words(self) -> &'static str {
        match self {
            Doubt::FreshStart => "the file begins a conversation of its own",
            Doubt::OtherSession => "the file has rows of another session",
            Doubt::Times => "the file has rows from before the end of the vault's copy",
            Doubt::SameBeginning => "both begin with the same prompt",
            Doubt::Diverged => "both begin alike and go on differently",
            Doubt::Rewritten => "rows with the same id differ",
            Doubt::Reach => "a joined file would not reach exactly what both reach",
        }
    }
}

/// Compares an older copy with the file that took its place. `in_memory` says whether one agent process lived through a
/// span of time (milliseconds since 1970): only such an agent goes on behind what it cannot name.
///
/// # Errors
/// None in practice: memory does not fail to be read.
pub fn succession(
    older: &[u8],
    newer: &[u8],
    session: Option<&str>,
    in_memory: &dyn Fn(Range<i64>) -> bool,
) -> io::Result<Succession> {
    let pair = Pair::new(older, newer, session);
    if pair.old.form.is_some() || pair.new.form.is_some() {
        let (older, newer) = (rewritten::plain(older), rewritten::plain(newer));
        return compare(&Pair::new(&older, &newer, session), in_memory);
    }
    compare(&pair, in_memory)
}

fn compare(pair: &Pair<'_>, in_memory: &dyn Fn(Range<i64>) -> bool) -> io::Result<Succession> {
    if !pair.old.talks() {
        return Ok(Succession::Complete);
    }
    if let Some(patched) = patched(&pair.old, &pair.new, pair.newer) {
        return pair.with_rows_put_back(&patched, in_memory);
    }
    if pair.old_ids.is_subset(&pair.new_ids) {
        return Ok(Succession::Complete);
    }
    if !pair.new.talks() {
        return Ok(Succession::CutShort);
    }
    let attached = match pair.links()? {
        Some(attached) => attached,
        None if pair.fresh().next().is_none() => {
            // An agent drops rows before a compaction by itself: then the end is where it was.
            let end_is_lost = pair.old.newest_turn_ms() > pair.new.newest_turn_ms();
            return if end_is_lost || pair.lost_turns() {
                pair.cut_short()
            } else {
                Ok(Succession::Complete)
            };
        }
        None => match pair.times(in_memory) {
            Ok(attached) => attached,
            Err(_) if !pair.is_disjoint() && !pair.lacks_something() => return Ok(Succession::Complete),
            Err(doubt) => return Ok(Succession::Unproven(doubt)),
        },
    };
    if pair.fresh().next().is_none() {
        return pair.cut_short();
    }
    Ok(match pair.join(&attached)? {
        Ok(joined) => Succession::Continued(joined),
        Err(doubt) => Succession::Unproven(doubt),
    })
}

struct Pair<'a> {
    older: &'a [u8],
    newer: &'a [u8],
    session: Option<&'a str>,
    old: Transcript<&'a [u8]>,
    new: Transcript<&'a [u8]>,
    old_ids: HashSet<u128>,
    new_ids: HashSet<u128>,
}

/// Where the newer rows hang.
struct Attached {
    proof: Proof,
    /// The row of the older copy that the newer conversation follows; nothing where a compaction begins it.
    to: Option<RowNo>,
    /// The newer row whose parent must be that one, where it names another.
    relink: Option<RowNo>,
    /// Whether the newer conversation names a row before its own that is in neither.
    gap: bool,
}

impl<'a> Transcript<&'a [u8]> {
    fn talks(&self) -> bool {
        self.index.rows.iter().any(|row| row.kind().is_turn() && !row.is(Flags::SIDECHAIN))
    }

    fn own_ids(&self) -> HashSet<u128> {
        let own = self.index.rows.iter().filter(|row| row.uuid != 0 && !row.is(Flags::NO_UUID));
        own.map(|row| row.uuid).collect()
    }

    pub(crate) fn bytes_of(&self, row: &Row) -> &'a [u8] {
        let start = usize::try_from(row.offset).unwrap_or(usize::MAX);
        self.source.get(start..start.saturating_add(row.len as usize)).unwrap_or_default()
    }

    /// The turns that a resume at this row reaches.
    fn reach_from(&self, tree: &Tree<'_>, end: Option<RowNo>) -> HashSet<u128> {
        let walk = end.map(|end| tree.walk(end)).unwrap_or_default();
        let request = tree.request(&walk);
        let turns = tree.numbers().filter(|no| request.contains(*no) && tree.row(*no).kind().is_turn());
        turns.map(|no| tree.row(no).uuid).collect()
    }

    fn reach(&self) -> HashSet<u128> {
        let tree = Tree::new(&self.index);
        self.reach_from(&tree, tree.live_end(|no| tree.row(no).time))
    }

    /// The text of the first prompt, as it is written.
    fn first_prompt(&self) -> Option<&'a [u8]> {
        let tree = Tree::new(&self.index);
        let first = tree.as_said().into_iter().find(|no| is_prompt(&tree, *no))?;
        let bytes = self.bytes_of(tree.row(first));
        let range = Outline::parse(bytes)?.get("message")?.get("content")?.range.clone();
        bytes.get(range)
    }
}

impl<'a> Pair<'a> {
    fn new(older: &'a [u8], newer: &'a [u8], session: Option<&'a str>) -> Pair<'a> {
        let (old, new) = (Transcript::of(older, session), Transcript::of(newer, session));
        let (old_ids, new_ids) = (old.own_ids(), new.own_ids());
        Pair { older, newer, session, old, new, old_ids, new_ids }
    }

    fn is_disjoint(&self) -> bool {
        self.old_ids.is_disjoint(&self.new_ids)
    }

    /// The rows of the conversation that only the newer file has, in file order.
    fn fresh(&self) -> impl Iterator<Item = RowNo> + '_ {
        let rows = (0..).zip(&self.new.index.rows);
        let fresh = rows.filter(|(_, row)| {
            let own = row.in_tree() || row.kind() == Kind::Progress && row.uuid != 0;
            own && !row.is(Flags::SIDECHAIN) && !self.old_ids.contains(&row.uuid)
        });
        fresh.map(|(no, _)| no)
    }

    /// The link from the newer file to the older copy, where there is one.
    fn links(&self) -> io::Result<Option<Attached>> {
        let tree = Tree::new(&self.new.index);
        let root = tree.live_end(|no| tree.row(no).time).and_then(|end| tree.walk(end).last().copied());
        let to = |id: u128| self.old.index.find(id).filter(|_| !self.new_ids.contains(&id));
        let linked: HashMap<RowNo, RowNo> =
            self.new.index.dangling.iter().filter_map(|(no, id)| Some((*no, to(*id)?))).collect();
        // A boundary that the older copy has may follow rows that the agent itself dropped.
        let fresh = |no: &RowNo| !self.old_ids.contains(&self.new.index.rows[*no as usize].uuid);
        let named = |no: RowNo| fresh(&no) && self.logical_parent(no).and_then(to).is_some();
        let summed_up = self.new.index.boundaries.iter().any(|no| named(*no));
        if linked.is_empty() && !summed_up {
            return Ok(None);
        }
        // What the live path follows in the older copy; a compaction's boundary follows nothing.
        let to = root.and_then(|root| linked.get(&root).copied());
        Ok(Some(Attached { proof: Proof::Links, to, relink: None, gap: false }))
    }

    /// The row that a compaction's boundary says it followed. No agent reads it, but an agent in memory wrote it.
    fn logical_parent(&self, no: RowNo) -> Option<u128> {
        let bytes = self.new.bytes_of(&self.new.index.rows[no as usize]);
        let text = Outline::parse(bytes)?.get("logicalParentUuid")?.text(bytes)?;
        uuid::Uuid::parse_str(&text).ok().map(|id| id.as_u128())
    }

    /// Whether session, times and first prompt prove what no link does: rows in between were never copied.
    fn times(&self, in_memory: &dyn Fn(Range<i64>) -> bool) -> Result<Attached, Doubt> {
        let rows = &self.new.index.rows;
        let Some(first) = self.fresh().next() else { return Err(Doubt::Diverged) };
        let row = &rows[first as usize];
        let dangles = self.new.index.dangling.iter().any(|(no, _)| *no == first);
        if !self.is_disjoint() && !dangles {
            return Err(Doubt::Diverged);
        }
        let named = self.session.is_some_and(crate::scan::is_uuid);
        let foreign = |row: &Row| row.in_tree() && row.is(Flags::FOREIGN_SESSION);
        let all = self.old.index.rows.iter().chain(rows);
        if !named || all.clone().any(foreign) {
            return Err(Doubt::OtherSession);
        }
        let dated = |row: &&Row| row.in_tree() && row.time != i64::MIN && !row.is(Flags::SIDECHAIN);
        let last = self.old.index.rows.iter().filter(dated).map(|row| row.time).max();
        let times = self.fresh().map(|no| &rows[no as usize]).filter(dated).map(|row| row.time);
        let (Some(last), Some(begin)) = (last, times.min()) else { return Err(Doubt::Times) };
        if begin <= last {
            return Err(Doubt::Times);
        }
        if self.is_disjoint() && self.old.first_prompt() == self.new.first_prompt() {
            return Err(Doubt::SameBeginning);
        }
        let tree = Tree::new(&self.old.index);
        let to = tree.live_end(|no| tree.row(no).time);
        if row.is(Flags::COMPACT_BOUNDARY) {
            // `links` has found no row that it could have followed.
            let gap = self.logical_parent(first).is_some_and(|id| !self.new_ids.contains(&id));
            return Ok(Attached { proof: Proof::Times, to: None, relink: None, gap });
        }
        if !dangles && !in_memory(last..begin) {
            return Err(Doubt::FreshStart);
        }
        // The live path may begin at a later compaction, which follows nothing.
        let new = Tree::new(&self.new.index);
        let root = new.live_end(|no| new.row(no).time).and_then(|end| new.walk(end).last().copied());
        let lives = root.is_some_and(|root| !new.row(root).is(Flags::COMPACT_BOUNDARY));
        let relink = to.map(|_| first);
        Ok(Attached { proof: Proof::Times, to: to.filter(|_| lives), relink, gap: dangles })
    }

    /// Whether a turn is gone that no compaction explains.
    fn lost_turns(&self) -> bool {
        let summed_up =
            self.new.index.boundaries.iter().map(|no| self.new.index.rows[*no as usize].time).max();
        let own = |row: &&Row| row.kind().is_turn() && row.uuid != 0 && !row.is(Flags::SIDECHAIN);
        let mut turns = self.old.index.rows.iter().filter(own);
        turns.any(|row| !self.new_ids.contains(&row.uuid) && summed_up.is_none_or(|time| row.time > time))
    }

    /// The newer file with rows that were damaged where they stood; then as any other newer file.
    fn with_rows_put_back(
        &self,
        patched: &[u8],
        in_memory: &dyn Fn(Range<i64>) -> bool,
    ) -> io::Result<Succession> {
        let rest = succession(self.older, patched, self.session, in_memory)?;
        if rest != Succession::Complete {
            return Ok(rest);
        }
        let (bytes, _) = repair_bytes(patched, self.session)?;
        let after = Transcript::of(&bytes, self.session);
        let (scan, plan) = after.examine()?;
        let reached = after.reach();
        let all = self.new.reach().iter().all(|id| reached.contains(id));
        if scan.status != Status::Healthy || !plan.is_empty() || !all {
            return Ok(Succession::Unproven(Doubt::Reach));
        }
        let regained = after.prompts().saturating_sub(self.new.prompts());
        Ok(Succession::Continued(Joined { bytes, regained, proof: Proof::Links, gap: false }))
    }

    /// Whether the older copy has what no agent drops by itself: an answered prompt of its live path that is not before a
    /// compaction, or the newest turn.
    fn lacks_something(&self) -> bool {
        if self.old.newest_turn_ms() > self.new.newest_turn_ms() {
            return true;
        }
        let summed_up =
            self.new.index.boundaries.iter().map(|no| self.new.index.rows[*no as usize].time).max();
        let tree = Tree::new(&self.old.index);
        let walk = tree.live_end(|no| tree.row(no).time).map(|end| tree.walk(end)).unwrap_or_default();
        let mut answer_is_missing = false;
        for no in walk {
            let row = tree.row(no);
            let missing = !self.new_ids.contains(&row.uuid);
            if row.kind() == Kind::Assistant {
                answer_is_missing |= missing && row.is(Flags::SAYS);
            } else if is_prompt(&tree, no) {
                if missing && answer_is_missing && summed_up.is_none_or(|time| row.time > time) {
                    return true;
                }
                answer_is_missing = false;
            }
        }
        false
    }

    fn join(&self, attached: &Attached) -> io::Result<Result<Joined, Doubt>> {
        let Some(joined) = self.concatenated(attached) else { return Ok(Err(Doubt::Rewritten)) };
        let (bytes, _) = repair_bytes(&joined, self.session)?;
        let after = Transcript::of(&bytes, self.session);
        let (scan, plan) = after.examine()?;
        let reached = after.reach();
        if scan.status != Status::Healthy || scan.orphan_count > 0 || !plan.is_empty() {
            return Ok(Err(Doubt::Reach));
        }
        if !self.proves(attached, &reached)? {
            return Ok(Err(Doubt::Reach));
        }
        let tree = Tree::new(&after.index);
        let regained = tree.numbers().filter(|no| {
            let id = tree.row(*no).uuid;
            is_prompt(&tree, *no) && reached.contains(&id) && !self.new_ids.contains(&id)
        });
        let regained = regained.count() as u64;
        Ok(Ok(Joined { bytes, regained, proof: attached.proof, gap: attached.gap }))
    }

    /// A file that says nothing new: only titles, modes and subagents' rows may stand behind the older copy.
    fn cut_short(&self) -> io::Result<Succession> {
        let known: HashSet<&[u8]> = self.older.split_inclusive(|byte| *byte == b'\n').collect();
        let mut bytes = self.older.to_vec();
        if bytes.last().is_some_and(|byte| *byte != b'\n') {
            bytes.push(b'\n');
        }
        let before = bytes.len();
        let only_here = |row: &&Row| row.uuid == 0 || !self.old_ids.contains(&row.uuid);
        let mut rows = self.new.index.rows.iter().filter(only_here).peekable();
        let mut at = 0;
        for line in self.newer.split_inclusive(|byte| *byte == b'\n') {
            at += line.len() as u64;
            let mut more = false;
            while rows.next_if(|row| row.offset < at).is_some() {
                more = true;
            }
            if more && !known.contains(line) && line.ends_with(b"\n") {
                bytes.extend_from_slice(line);
            }
        }
        if bytes.len() == before {
            return Ok(Succession::CutShort);
        }
        let (bytes, _) = repair_bytes(&bytes, self.session)?;
        let (old, _) = repair_bytes(self.older, self.session)?;
        let after = Transcript::of(&bytes, self.session);
        let same = after.reach() == Transcript::of(&old, self.session).reach();
        if !same || !after.examine()?.1.is_empty() {
            return Ok(Succession::CutShort);
        }
        let regained = after.prompts().saturating_sub(self.new.prompts());
        Ok(Succession::Continued(Joined { bytes, regained, proof: Proof::Links, gap: false }))
    }

    /// Whether a resume reaches all that both reach, and nothing that was given up.
    fn proves(&self, attached: &Attached, reached: &HashSet<u128>) -> io::Result<bool> {
        let old = Tree::new(&self.old.index);
        let before = self.old.reach_from(&old, attached.to);
        let now = self.new.reach();
        if before.iter().chain(&now).any(|id| !reached.contains(id)) {
            return Ok(false);
        }
        let rest: Vec<u128> =
            reached.iter().copied().filter(|id| !before.contains(id) && !now.contains(id)).collect();
        if rest.is_empty() {
            return Ok(true);
        }
        // Where one of the two is damaged itself, its repair reaches more than it did.
        let mut mended = HashSet::new();
        for (bytes, lives) in [(self.older, attached.to.is_some()), (self.newer, true)] {
            let (whole, plans) = repair_bytes(bytes, self.session)?;
            if lives && !plans.is_empty() {
                mended.extend(Transcript::of(&whole, self.session).reach());
            }
        }
        Ok(rest.iter().all(|id| mended.contains(id)))
    }

    /// The older copy and the lines that only the newer file has; nothing where a row of both differs.
    fn concatenated(&self, attached: &Attached) -> Option<Vec<u8>> {
        let mut out = self.older.to_vec();
        if out.last().is_some_and(|byte| *byte != b'\n') {
            out.push(b'\n');
        }
        let known: HashMap<u128, &Row> =
            self.old.index.rows.iter().rev().map(|row| (row.uuid, row)).collect();
        let mut rows = (0..).zip(&self.new.index.rows).peekable();
        let mut shared = true;
        let mut older_lines = self.older.split_inclusive(|byte| *byte == b'\n');
        let mut at = 0;
        for line in self.newer.split_inclusive(|byte| *byte == b'\n') {
            let end = at + line.len() as u64;
            let mut here: Vec<(RowNo, &Row)> = Vec::new();
            while let Some(row) = rows.next_if(|(_, row)| row.offset < end) {
                here.push(row);
            }
            shared = shared && older_lines.next() == Some(line);
            let start = at;
            at = end;
            let both = |row: &&(RowNo, &Row)| row.1.uuid != 0 && self.old_ids.contains(&row.1.uuid);
            let in_both = here.iter().filter(both).count();
            if shared || in_both > 0 && in_both == here.len() {
                let same = |(_, row): &(RowNo, &Row)| {
                    known.get(&row.uuid).is_some_and(|old| self.old.bytes_of(old) == self.new.bytes_of(row))
                };
                if !shared && !here.iter().all(same) {
                    return None;
                }
                continue;
            }
            if in_both > 0 {
                return None;
            }
            match here.iter().find(|(no, _)| attached.relink == Some(*no)) {
                Some((_, row)) => out.extend(self.relinked(line, row.offset - start, row)?),
                None => out.extend_from_slice(line),
            }
        }
        Some(out)
    }

    /// A line whose row follows the end of the older copy.
    fn relinked(&self, line: &[u8], offset: u64, row: &Row) -> Option<Vec<u8>> {
        let tree = Tree::new(&self.old.index);
        let end = tree.live_end(|no| tree.row(no).time).filter(|end| *end != NONE)?;
        let id = uuid::Uuid::from_u128(tree.row(end).uuid);
        let bytes = self.new.bytes_of(row);
        let range = Outline::parse(bytes)?.get("parentUuid")?.range.clone();
        let from = usize::try_from(offset).ok()?;
        let (start, end) = (from + range.start, from + range.end);
        Some([line.get(..start)?, format!("\"{id}\"").as_bytes(), line.get(end..)?].concat())
    }
}
