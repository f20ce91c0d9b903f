//! Rows of another session (B16): a tool has put two transcripts into one file.
//!
//! Only rows that no link joins with this session's own, and not those that end before it begins: older agents began a
//! file with the rows that it goes on from.

use crate::facts::Kind;
use crate::flags::Flags;
use crate::index::{NONE, RowNo};
use crate::tree::{RowSet, Tree};

/// The rows of other sessions and their metadata; nothing where there are none.
pub(crate) fn strangers(tree: &Tree<'_>) -> Option<RowSet> {
    let rows = &tree.index.rows;
    let is_foreign = |no: RowNo| rows[no as usize].is(Flags::FOREIGN_SESSION);
    let linked = |no: &RowNo| {
        let row = &rows[*no as usize];
        row.in_tree() || row.uuid != 0 && row.kind() == Kind::Progress
    };
    if !tree.numbers().any(is_foreign) {
        return None;
    }
    let own = || tree.numbers().filter(|no| linked(no) && !is_foreign(*no));
    let (first, oldest) = (own().next()?, own().map(|no| rows[no as usize].time).min()?);
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
    let is_stranger = |no: &RowNo| {
        let root = roots[*no as usize];
        linked(no) && !joined.contains(root) && behind.contains(root)
    };
    tree.numbers().find(is_stranger)?;
    let is_metadata = |no: &RowNo| rows[*no as usize].uuid == 0 && is_foreign(*no);
    let mut strangers = RowSet::with_capacity(rows.len());
    for no in tree.numbers().filter(|no| is_stranger(no) || is_metadata(no)) {
        strangers.insert(no);
    }
    Some(strangers)
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
