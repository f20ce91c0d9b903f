//! Rows of another session (B16): a tool has put two transcripts into one file.
//!
//! Only rows that no link joins with this session's own, and not those that end before it begins: older agents began a
//! file with the rows that it goes on from. A compaction begins anew and still goes on from what it sums up: its boundary
//! names the row before it.

use std::io;

use crate::facts::Kind;
use crate::flags::Flags;
use crate::index::{NONE, RowNo, identity};
use crate::json::Outline;
use crate::source::Source;
use crate::tree::{RowSet, Tree};

/// The rows of other sessions.
#[derive(Default)]
pub(crate) struct Strangers {
    /// They and their metadata.
    pub(crate) rows: RowSet,
    /// Those that follow a row which was lost: that may have been one of this session. Nothing where a whole other
    /// conversation is in the file.
    pub(crate) doubtful: RowSet,
}

/// The rows of other sessions and their metadata; nothing where there are none.
///
/// # Errors
/// Rows cannot be read again.
pub(crate) fn strangers(tree: &Tree<'_>, source: &dyn Source) -> io::Result<Option<Strangers>> {
    let rows = &tree.index.rows;
    let is_foreign = |no: RowNo| rows[no as usize].is(Flags::FOREIGN_SESSION);
    let linked = |no: &RowNo| {
        let row = &rows[*no as usize];
        row.in_tree() || row.uuid != 0 && row.kind() == Kind::Progress
    };
    if !tree.numbers().any(is_foreign) {
        return Ok(None);
    }
    let own = || tree.numbers().filter(|no| linked(no) && !is_foreign(*no));
    let (Some(first), Some(oldest)) = (own().next(), own().map(|no| rows[no as usize].time).min()) else {
        return Ok(None);
    };
    let roots = roots(tree);
    let (mut joined, mut behind) = (RowSet::with_capacity(rows.len()), RowSet::with_capacity(rows.len()));
    for no in tree.numbers().filter(linked) {
        if !is_foreign(no) {
            joined.insert(roots[no as usize]);
        }
        // A tool may have changed the order: the time tells, too.
        if no > first || rows[no as usize].time > oldest {
            behind.insert(roots[no as usize]);
        }
    }
    join_compactions(tree, source, &roots, &mut joined)?;
    let is_stranger = |no: &RowNo| {
        let root = roots[*no as usize];
        linked(no) && !joined.contains(root) && behind.contains(root)
    };
    if !tree.numbers().any(|no| is_stranger(&no)) {
        return Ok(None);
    }
    let dangles = |no: RowNo| tree.index.dangling.binary_search_by_key(&no, |(row, _)| *row).is_ok();
    let begins = |no: RowNo| roots[no as usize] == no && !dangles(no) && !is_boundary(tree, no);
    let is_whole = tree.numbers().filter(is_stranger).any(begins);
    let is_metadata = |no: &RowNo| rows[*no as usize].uuid == 0 && is_foreign(*no);
    let mut strangers = Strangers::default();
    for no in tree.numbers().filter(|no| is_stranger(no) || is_metadata(no)) {
        strangers.rows.insert(no);
        if !is_whole && is_stranger(&no) {
            strangers.doubtful.insert(no);
        }
    }
    Ok(Some(strangers))
}

fn is_boundary(tree: &Tree<'_>, no: RowNo) -> bool {
    tree.row(no).is(Flags::COMPACT_BOUNDARY)
}

/// A compaction belongs to the conversation of the row that its boundary names. Where it names none that is there, it belongs
/// to this one, unless another conversation begins in the file.
fn join_compactions(
    tree: &Tree<'_>,
    source: &dyn Source,
    roots: &[RowNo],
    joined: &mut RowSet,
) -> io::Result<()> {
    let mut apart: Vec<(RowNo, Option<RowNo>)> = Vec::new();
    for no in tree.index.boundaries.iter().copied() {
        if roots[no as usize] != no || joined.contains(no) {
            continue;
        }
        let row = tree.row(no);
        let bytes = source.bytes(row.offset, row.len as usize)?;
        let named = Outline::parse(&bytes).and_then(|row| row.get("logicalParentUuid")?.text(&bytes));
        apart.push((no, named.and_then(|id| tree.index.find(identity(id.as_bytes())))));
    }
    if apart.is_empty() {
        return Ok(());
    }
    let is_other = |no: RowNo| {
        let (row, root) = (tree.row(no), roots[no as usize]);
        let is_foreign = row.in_tree() && row.is(Flags::FOREIGN_SESSION);
        is_foreign && !joined.contains(root) && !is_boundary(tree, root)
    };
    let other = tree.numbers().any(is_other);
    // Each names a row before it, unless a tool has changed the order.
    for _ in 0..2 {
        for (no, named) in &apart {
            if named.map_or(!other, |named| joined.contains(roots[named as usize])) {
                joined.insert(*no);
            }
        }
    }
    Ok(())
}

/// For every row the end of its way up; of a ring one of its rows.
fn roots(tree: &Tree<'_>) -> Vec<RowNo> {
    let mut roots = vec![NONE; tree.parent.len()];
    for start in tree.numbers() {
        let mut path = Vec::new();
        let mut at: RowNo = start;
        while roots[at as usize] == NONE {
            roots[at as usize] = at; // until its end is known; a ring meets it again
            path.push(at);
            match tree.parent[at as usize] {
                NONE => break,
                up => at = up,
            }
        }
        let root = roots[at as usize];
        for no in path {
            roots[no as usize] = root;
        }
    }
    roots
}
