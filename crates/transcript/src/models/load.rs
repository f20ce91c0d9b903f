//! What an agent holds after it has read the file: one node per id.

use std::collections::HashMap;
use std::io;

use crate::facts::Kind;
use crate::flags::Flags;
use crate::index::{Checkpoint, Index, NONE, Row, RowNo, identity};
use crate::json::{self, Outline};
use crate::salvage::Piece;
use crate::source::Source;
use crate::tree::RowSet;

use super::Version;

/// A node without a parent.
pub(super) const ROOT: u32 = u32::MAX;
/// A parent that is no node.
pub(super) const MISSING: u32 = u32::MAX - 1;

/// One id. The last row with it wins, in the place of the first (measured on all three versions).
#[derive(Debug, Clone, Copy)]
pub(super) struct Node {
    /// The row whose content counts.
    pub(super) content: RowNo,
    /// Another node, [`ROOT`] or [`MISSING`].
    pub(super) parent: u32,
}

/// The rows as one version holds them.
pub(super) struct Loaded<'a> {
    pub(super) index: &'a Index,
    pub(super) version: Version,
    pub(super) nodes: Vec<Node>,
    /// The node of each row that is the first with its id.
    node: Vec<u32>,
    /// Nodes that a compaction made the agent forget.
    pub(super) deleted: RowSet,
    /// Whether a compaction kept some rows by name.
    pub(super) preserved: bool,
    /// The newest checkpoint of those it reads.
    pub(super) checkpoint: Option<Checkpoint>,
    /// Whether it reads any row of a checkpoint's kind.
    pub(super) any_checkpoint: bool,
}

impl<'a> Loaded<'a> {
    pub(super) fn new(index: &'a Index, source: &dyn Source, version: Version) -> io::Result<Loaded<'a>> {
        let hidden = hidden(index, source, version)?;
        let mut loaded = Loaded {
            index,
            version,
            nodes: Vec::new(),
            node: vec![MISSING; index.rows.len()],
            deleted: RowSet::default(),
            preserved: false,
            checkpoint: checkpoint(index, source, &hidden)?,
            any_checkpoint: numbers(index)
                .any(|no| index.rows[no as usize].kind() == Kind::LastPrompt && !hidden.contains(no)),
        };
        // Parents as row numbers: a parent may stand behind its child.
        let mut parents: Vec<RowNo> = Vec::new();
        let mut bridge: HashMap<RowNo, RowNo> = HashMap::new();
        for no in 0..RowNo::try_from(index.rows.len()).unwrap_or(NONE) {
            let row = &index.rows[no as usize];
            let kind = row.kind();
            let kept = kind.in_tree() || kind == Kind::Progress;
            let unread = row.uuid == 0 || row.is(Flags::NO_UUID) || row.is(Flags::NO_TYPE);
            if !kept || unread || hidden.contains(no) {
                continue;
            }
            let first = if row.is(Flags::REPEATED) { index.find(row.uuid).unwrap_or(no) } else { no };
            let mut parent = loaded.parent_row(no);
            // A chain through a progress row is followed if that was read before (measured on 2.1.100 and 2.1.325).
            if let Some(through) = bridge.get(&parent) {
                parent = *through;
            }
            let known = loaded.node[first as usize];
            let passed_over = kind == Kind::Progress && version != Version::V31
                || version == Version::V325 && known == MISSING && !is_admitted(row, source)?;
            if passed_over {
                bridge.insert(first, parent);
            } else if known == MISSING {
                loaded.node[first as usize] = u32::try_from(loaded.nodes.len()).unwrap_or(MISSING);
                loaded.nodes.push(Node { content: no, parent: MISSING });
                parents.push(parent);
            } else {
                loaded.nodes[known as usize].content = no;
                parents[known as usize] = parent;
            }
        }
        for (node, parent) in parents.into_iter().enumerate() {
            loaded.nodes[node].parent = match parent {
                NONE => ROOT,
                DANGLING => MISSING,
                row => loaded.node[row as usize],
            };
        }
        Ok(loaded)
    }

    /// The row that a row names as its parent: the first with that id, [`NONE`] or [`DANGLING`].
    fn parent_row(&self, no: RowNo) -> RowNo {
        let parent = self.index.rows[no as usize].parent;
        let dangles = || self.index.dangling.binary_search_by_key(&no, |(row, _)| *row).is_ok();
        if parent == NONE && dangles() { DANGLING } else { parent }
    }

    /// The node of a row.
    pub(super) fn node_of(&self, row: RowNo) -> Option<u32> {
        let node = *self.node.get(row as usize)?;
        (node != MISSING && !self.deleted.contains(node)).then_some(node)
    }

    /// Relinks what the last compaction kept and forgets everything else before it. 2.1.31 does neither.
    pub(super) fn preserve(&mut self, source: &dyn Source) -> io::Result<()> {
        let boundary = (0..self.nodes.len())
            .rev()
            .find(|node| self.index.rows[self.nodes[*node].content as usize].is(Flags::COMPACT_BOUNDARY));
        let Some(boundary) = boundary.filter(|_| self.version != Version::V31) else { return Ok(()) };
        let row = self.index.rows[self.nodes[boundary].content as usize];
        let bytes = source.bytes(row.offset, row.len as usize)?;
        let Some((anchor, kept)) = self.kept(&bytes) else { return Ok(()) };
        let Some(last) = kept.last().copied() else { return Ok(()) };
        self.preserved = self.version == Version::V325;
        let mut is_kept = RowSet::with_capacity(self.nodes.len());
        for node in &kept {
            is_kept.insert(*node);
        }
        for node in 0..u32::try_from(self.nodes.len()).unwrap_or(MISSING) {
            let gone = |node: u32| (node as usize) < boundary && !is_kept.contains(node);
            let parent = self.nodes[node as usize].parent;
            let turn = self.index.rows[self.nodes[node as usize].content as usize].kind().is_turn();
            let lost_parent = parent != ROOT && parent != MISSING && gone(parent);
            if !is_kept.contains(node) && (parent == anchor || self.preserved && lost_parent && turn) {
                self.nodes[node as usize].parent = last;
            }
            if gone(node) {
                self.deleted.insert(node);
            }
        }
        // Where the summary itself is forgotten, what was kept follows its own end.
        let mut parent = if self.preserved && self.deleted.contains(anchor) { last } else { anchor };
        for node in kept {
            self.nodes[node as usize].parent = std::mem::replace(&mut parent, node);
        }
        Ok(())
    }

    /// The summary that a boundary names and the nodes that it keeps, oldest first; nothing where one is not there.
    fn kept(&self, boundary: &[u8]) -> Option<(u32, Vec<u32>)> {
        let outline = Outline::parse(boundary)?;
        let metadata = outline.get("compactMetadata")?;
        let node = |value: Option<&Outline>| {
            let id = value?.text(boundary)?;
            self.node_of(self.index.find(identity(id.as_bytes()))?)
        };
        let listed = metadata.get("preservedMessages").filter(|_| self.version == Version::V325);
        if let Some(listed) = listed.filter(|listed| !listed.members().is_empty()) {
            let ids = listed.get("uuids")?.items();
            let kept: Option<Vec<u32>> = ids.iter().map(|id| node(Some(id))).collect();
            return Some((node(listed.get("anchorUuid"))?, kept?));
        }
        let segment = metadata.get("preservedSegment")?;
        let (anchor, head) = (node(segment.get("anchorUuid"))?, node(segment.get("headUuid"))?);
        let mut kept = vec![node(segment.get("tailUuid")).unwrap_or(head)];
        while let Some(at) = kept.last().copied().filter(|at| *at != head) {
            let parent = self.nodes[at as usize].parent;
            if parent == ROOT || parent == MISSING || kept.len() > self.nodes.len() {
                return None;
            }
            kept.push(parent);
        }
        kept.reverse();
        Some((anchor, kept))
    }
}

/// Stands for a parent's id that no row has.
const DANGLING: RowNo = NONE - 1;

/// Rows that this version does not read: on lines that do not parse, and behind a line that says `null`.
fn hidden(index: &Index, source: &dyn Source, version: Version) -> io::Result<RowSet> {
    let mut hidden = RowSet::with_capacity(index.rows.len());
    for line in &index.broken {
        for (at, piece) in line.pieces.iter().enumerate() {
            let Piece::Row(range) = piece else { continue };
            // 2.1.325 keeps the first row of a line, whatever stands behind it.
            if version != Version::V325 || at > 0 {
                let offset = line.offset + range.start as u64;
                let no = index.rows.partition_point(|row| row.offset < offset);
                hidden.insert(RowNo::try_from(no).unwrap_or(NONE));
            }
        }
        if version != Version::V325 && line.len <= 16 {
            let bytes = source.bytes(line.offset, line.len)?;
            if bytes.trim_ascii() == b"null" {
                let behind = index.rows.partition_point(|row| row.offset < line.offset);
                (behind..index.rows.len()).for_each(|no| {
                    hidden.insert(RowNo::try_from(no).unwrap_or(NONE));
                });
                break;
            }
        }
    }
    Ok(hidden)
}

fn numbers(index: &Index) -> std::ops::Range<RowNo> {
    0..RowNo::try_from(index.rows.len()).unwrap_or(NONE)
}

/// The newest checkpoint since the last compaction, of the rows that a version reads.
fn checkpoint(index: &Index, source: &dyn Source, hidden: &RowSet) -> io::Result<Option<Checkpoint>> {
    let counts = |no: RowNo| {
        let row = &index.rows[no as usize];
        row.kind() == Kind::LastPrompt || row.is(Flags::COMPACT_BOUNDARY)
    };
    // A boundary without an id is no row to them.
    let is_read = |no: RowNo| {
        let row = &index.rows[no as usize];
        !(hidden.contains(no) || row.is(Flags::COMPACT_BOUNDARY) && row.is(Flags::NO_UUID))
    };
    if numbers(index).all(|no| is_read(no) || !counts(no)) {
        return Ok(index.checkpoint);
    }
    let mut checkpoint = None;
    for no in numbers(index).filter(|no| counts(*no) && is_read(*no)) {
        let row = &index.rows[no as usize];
        if row.is(Flags::COMPACT_BOUNDARY) {
            checkpoint = None;
            continue;
        }
        let bytes = source.bytes(row.offset, row.len as usize)?;
        let named = Outline::parse(&bytes).and_then(|row| row.get("leafUuid")?.text(&bytes));
        let (leaf, explicit) = (named.map(|id| identity(id.as_bytes())), row.is(Flags::EXPLICIT));
        if leaf.is_some() || explicit {
            checkpoint = Some(Checkpoint { row: no, leaf, explicit });
        }
    }
    Ok(checkpoint)
}

/// 2.1.325 passes over a turn without a message, and over a reply that is an empty string, and links through it.
fn is_admitted(row: &Row, source: &dyn Source) -> io::Result<bool> {
    let (flags, kind) = (row.flags, row.kind());
    if !kind.is_turn() || flags.intersects(Flags::SAYS | Flags::HAS_CALL | Flags::HAS_RESULT) {
        return Ok(true);
    }
    if !(flags.contains(Flags::MALFORMED) || kind == Kind::Assistant && flags.contains(Flags::EMPTY_TEXT)) {
        return Ok(true);
    }
    let bytes = source.bytes(row.offset, row.len as usize)?;
    let outline = Outline::parse(&bytes);
    let content = outline.as_ref().and_then(|row| row.get("message")?.get("content"));
    Ok(content.is_some_and(|content| match &content.node {
        json::Node::Array(blocks) => blocks.is_empty() || blocks.iter().any(Outline::is_object),
        json::Node::String(_) => kind == Kind::User,
        _ => false,
    }))
}
