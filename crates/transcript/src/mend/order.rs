//! Step 0, order (B15): a tool has sorted, reversed or swapped the lines. They get the order in which they were written,
//! and the next round mends the rest: every other step reads the order of the file.

use std::io;
use std::ops::Range;

use crate::class::Class;
use crate::facts::Kind;
use crate::flags::Flags;
use crate::index::{Index, NONE, RowNo};
use crate::models::{Version, reached};
use crate::plan::{Change, Finding, Plan};
use crate::source::Source;
use crate::tree::Tree;
use crate::written::Written;

use super::Shape;

/// The plan that moves the lines, where they must: not where every version reads them as they stand and nothing else is
/// wrong with the tree.
pub(super) fn plan(index: &Index, source: &dyn Source, in_place: &Plan) -> io::Result<Option<(Plan, Shape)>> {
    // Rows of another session have an order of their own.
    if in_place.findings.iter().any(|finding| finding.class == Class::B16) {
        return Ok(None);
    }
    let tree = Tree::new(index);
    let Some(written) = Written::of(&tree) else { return Ok(None) };
    let by_order = |finding: &Finding| finding.class >= Class::A11 && finding.class <= Class::B15;
    if !in_place.findings.iter().any(by_order) && agree(index, source)? {
        return Ok(None);
    }
    let end = written
        .order
        .iter()
        .rev()
        .copied()
        .find(|no| tree.is_main(*no) && tree.row(*no).kind() != Kind::System);
    let walk = end.map(|end| tree.walk(end)).unwrap_or_default();
    let mut plan = Plan { moves: lines(index, &written.order), ..Plan::default() };
    let rows = written.early.iter().take(100).map(|no| index.line_of(*no)).collect();
    let repair = "the lines go where they were written".to_owned();
    plan.findings.push(Finding {
        class: Class::B15,
        rows,
        count: written.early.len() as u64,
        loses: String::new(),
        repair,
    });
    plan.changes = changes(&written);
    Ok(Some((plan, Shape { walk, ..Shape::default() })))
}

/// Whether every version reaches the same prompts and replies.
fn agree(index: &Index, source: &dyn Source) -> io::Result<bool> {
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
    Ok(rows.all(|no| sets.iter().all(|set| set.contains(no) == sets[0].contains(no))))
}

/// The lines of the file as ranges, in the order of the rows in them.
fn lines(index: &Index, order: &[RowNo]) -> Vec<Range<u64>> {
    let first = index.first_offset();
    // Where each line with a row begins. A line without one stays behind the line before it.
    let mut starts: Vec<u64> = Vec::with_capacity(index.rows.len());
    for row in &index.rows {
        let behind = index.broken.partition_point(|line| line.offset <= row.offset);
        let broken = behind.checked_sub(1).map(|at| &index.broken[at]);
        let inside = broken.filter(|line| row.offset < line.offset + line.len as u64);
        starts.push(inside.map_or(row.offset, |line| line.offset));
    }
    let mut ends = vec![index.size; starts.len()];
    for at in (0..starts.len().saturating_sub(1)).rev() {
        ends[at] = if starts[at] == starts[at + 1] { ends[at + 1] } else { starts[at + 1] };
    }
    let mut moves: Vec<Range<u64>> = Vec::with_capacity(starts.len() + 1);
    let begin = starts.first().copied().unwrap_or(index.size);
    if begin > 0 {
        moves.push(0..begin.max(first)); // a mark, or lines without a row, before the first one
    }
    for no in order.iter().map(|no| *no as usize) {
        // A line with several rows moves with the first of them.
        if no == 0 || starts[no] != starts[no - 1] {
            moves.push(starts[no]..ends[no]);
        }
    }
    moves
}

/// The rows that leave their place among the others.
fn changes(written: &Written) -> Vec<Change> {
    let mut changes = Vec::new();
    let mut last: Option<RowNo> = None;
    for (no, place) in written.order.iter().zip(1u64..) {
        if last.is_some_and(|last| *no < last) {
            let row = u64::from(*no) + 1;
            let (before, after) = (Some(format!("row {row}")), Some(format!("row {place}")));
            changes.push(Change { class: Class::B15, row, what: "place".to_owned(), before, after });
        } else {
            last = Some(*no);
        }
    }
    changes.sort_by_key(|change| change.row);
    changes
}
