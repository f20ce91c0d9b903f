//! Step 0, order (B15): a tool has sorted, reversed or swapped the lines. They get the order in which they were written,
//! and the next round mends the rest: every other step reads the order of the file.

use std::collections::HashMap;
use std::io;
use std::ops::Range;

use memchr::memmem;

use crate::class::Class;
use crate::facts::Kind;
use crate::flags::Flags;
use crate::index::{Index, NONE, RowNo};
use crate::models::{Version, reached};
use crate::plan::{Change, Finding, Plan};
use crate::salvage::Piece;
use crate::source::Source;
use crate::tree::{RowSet, Tree};
use crate::written::Written;

use super::Shape;
use super::stranded::NO_RESPONSE;

/// The plan that moves the lines, where they must: not where every version reads them as they stand and nothing else is
/// wrong with the tree.
pub(super) fn plan(index: &Index, source: &dyn Source, in_place: &Plan) -> io::Result<Option<(Plan, Shape)>> {
    // Rows of another session have an order of their own.
    if in_place.findings.iter().any(|finding| finding.class == Class::B16) {
        return Ok(None);
    }
    if several_rows_on_a_line(index) {
        return Ok(None);
    }
    let tree = Tree::new(index);
    let Some(written) = Written::of(&tree) else { return Ok(None) };
    let end = written
        .order
        .iter()
        .rev()
        .copied()
        .find(|no| tree.is_main(*no) && tree.row(*no).kind() != Kind::System);
    let walk = end.map(|end| tree.walk(end)).unwrap_or_default();
    let by_order = |finding: &Finding| finding.class >= Class::A11 && finding.class <= Class::B15;
    let is_well = !in_place.findings.iter().any(by_order) && agree(index, source, &walk)?;
    if is_well && !resumed_early(&tree, source, &walk) {
        return Ok(None);
    }
    let mut plan = Plan { moves: lines(index, &written), ..Plan::default() };
    let rows = written.early.iter().take(100).map(|no| index.line_of(*no)).collect();
    let repair = "the lines go where they were written".to_owned();
    plan.findings.push(Finding {
        class: Class::B15,
        rows,
        count: written.early.len() as u64,
        loses: String::new(),
        repair,
    });
    plan.changes = changes(index, &written);
    Ok(Some((plan, Shape { walk, ..Shape::default() })))
}

/// Whether lines hold several rows: they get lines of their own first, and the next round moves them.
pub(super) fn several_rows_on_a_line(index: &Index) -> bool {
    let is_row = |piece: &&Piece| matches!(piece, Piece::Row(_));
    index.broken.iter().any(|line| line.pieces.iter().filter(is_row).count() > 1)
}

/// Whether every version reaches the same prompts and replies, and all of those on the way to the end.
fn agree(index: &Index, source: &dyn Source, walk: &[RowNo]) -> io::Result<bool> {
    let sets = [
        reached(index, source, Version::V31)?,
        reached(index, source, Version::V100)?,
        reached(index, source, Version::V325)?,
    ];
    let says = |no: &RowNo| {
        let row = &index.rows[*no as usize];
        // Of calls side by side 2.1.31 reaches one (B10).
        row.kind().is_turn()
            && row.is(Flags::SAYS)
            && !row.flags.intersects(Flags::HAS_CALL | Flags::HAS_RESULT | Flags::META)
    };
    let mut rows = (0..RowNo::try_from(index.rows.len()).unwrap_or(NONE)).filter(says);
    let boundary = walk.iter().position(|no| index.rows[*no as usize].is(Flags::COMPACT_BOUNDARY));
    let way = &walk[..boundary.unwrap_or(walk.len())];
    // Also a turn that has lost its words is sent.
    let is_sent = |no: &RowNo| {
        let row = &index.rows[*no as usize];
        row.kind().is_turn() && !row.flags.intersects(Flags::HAS_CALL | Flags::HAS_RESULT | Flags::META)
    };
    Ok(rows.all(|no| sets.iter().all(|set| set.contains(no) == sets[0].contains(no)))
        && way.iter().filter(|no| is_sent(no)).all(|no| sets.iter().all(|set| set.contains(*no))))
}

/// Whether 2.1.31 resumed at a result as old as its reply (B7): in another order of the lines that cannot be mended.
fn resumed_early(tree: &Tree<'_>, source: &dyn Source, walk: &[RowNo]) -> bool {
    let mut on_walk = RowSet::with_capacity(tree.parent.len());
    let mut behind = HashMap::new(); // what the walk goes on with behind a result
    for no in walk {
        on_walk.insert(*no);
        let parent = tree.parent[*no as usize];
        let answers = tree.index.row_at(parent).is_some_and(|parent| parent.is(Flags::HAS_RESULT));
        if tree.row(*no).kind() == Kind::Assistant && !tree.row(*no).is(Flags::HAS_CALL) && answers {
            behind.insert(parent, *no);
        }
    }
    let says_nothing = |no: RowNo| {
        let row = tree.row(no);
        let bytes = source.bytes(row.offset, row.len as usize);
        bytes.is_ok_and(|bytes| memmem::find(&bytes, NO_RESPONSE).is_some())
    };
    tree.numbers().filter(|no| tree.is_main(*no) && !on_walk.contains(*no)).any(|no| {
        let (row, parent) = (tree.row(no), tree.parent[no as usize]);
        let same_time = tree.index.row_at(parent).is_some_and(|parent| parent.time == row.time);
        let is_reply = row.kind() == Kind::Assistant && row.is(Flags::SAYS) && same_time;
        is_reply && behind.get(&parent).is_some_and(|other| says_nothing(*other))
    })
}

/// The lines of the file as ranges, in the order of the rows in them. A line without a row stays where it is among the others:
/// so many rows before it, or behind the same row in a file that is read backwards.
fn lines(index: &Index, written: &Written) -> Vec<Range<u64>> {
    let first = index.first_offset();
    let starts: Vec<u64> = index.rows.iter().map(|row| row.offset).collect();
    // Where the line of each row begins and ends.
    let line = |at: usize| {
        let start = starts[at];
        let behind = index.broken.partition_point(|line| line.offset <= start);
        let broken = behind.checked_sub(1).map(|at| &index.broken[at]);
        let inside = broken.filter(|line| start < line.offset + line.len as u64);
        let next_broken = index.broken.get(behind).map_or(index.size, |line| line.offset);
        let next_row = starts.get(at + 1).copied().unwrap_or(index.size);
        inside.map_or(start, |line| line.offset)..next_broken.min(next_row)
    };
    let rows: Vec<Range<u64>> = (0..starts.len()).map(line).collect();
    let begin = rows.first().map_or(index.size, |line| line.start);
    let behind = |no: usize| rows[no].end..rows.get(no + 1).map_or(index.size, |next| next.start);
    let mut moves: Vec<Range<u64>> = Vec::with_capacity(rows.len() + 2);
    let order = written.order.iter().map(|no| *no as usize);
    let last = rows.len().saturating_sub(1);
    if written.backwards {
        moves.extend([0..first, rows.get(last).map_or(0..0, |_| behind(last))]);
        for no in order {
            moves.push(rows[no].clone());
            moves.extend(no.checked_sub(1).map(behind));
        }
        moves.push(first..begin.max(first));
    } else {
        moves.push(0..begin.max(first)); // a mark, or lines without a row, before the first one
        for (at, no) in order.enumerate() {
            moves.extend([rows[no].clone(), behind(at)]);
        }
    }
    moves.retain(|range| !range.is_empty());
    moves
}

/// The rows that leave their place among the others, by the numbers of their lines before and after.
fn changes(index: &Index, written: &Written) -> Vec<Change> {
    let rows = RowNo::try_from(index.rows.len()).unwrap_or(NONE);
    // Lines without a row behind each row, and before the first; see [`lines`].
    let behind = |no: RowNo| {
        let next = if no + 1 < rows { index.line_of(no + 1) } else { index.line_count() + 1 };
        next.saturating_sub(index.line_of(no) + 1)
    };
    let before_first = if rows == 0 { 0 } else { index.line_of(0) - 1 };
    let last_row = rows.saturating_sub(1);
    let mut line = if written.backwards { behind(last_row) } else { before_first };
    let mut changes = Vec::new();
    let mut last: Option<RowNo> = None;
    for (no, at) in written.order.iter().copied().zip(0..) {
        line += 1;
        if last.is_some_and(|last| no < last) {
            let row = index.line_of(no);
            let (before, after) = (Some(format!("line {row}")), Some(format!("line {line}")));
            changes.push(Change { class: Class::B15, row, what: "place".to_owned(), before, after });
        } else {
            last = Some(no);
        }
        line += match written.backwards {
            true => no.checked_sub(1).map_or(0, behind),
            false => behind(at),
        };
    }
    changes.sort_by_key(|change| change.row);
    changes
}
