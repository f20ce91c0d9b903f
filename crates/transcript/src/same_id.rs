//! Rows that share an id: copies of one row, and twins, which are different rows.

use std::collections::HashMap;

use crate::flags::Flags;
use crate::index::{NONE, RowNo};
use crate::tree::Tree;

/// Rows that are another one again, and which: the same id at the same time. Two rows that share an id by accident have
/// times of their own, or are parts of other replies.
pub(crate) fn copies(tree: &Tree<'_>) -> HashMap<RowNo, RowNo> {
    let mut seen: HashMap<(RowNo, i64, u32), RowNo> = HashMap::new();
    let mut copies = HashMap::new();
    for no in tree.numbers().filter(|no| tree.row(*no).is(Flags::REPEATED)) {
        let row = tree.row(no);
        let Some(first) = tree.index.find(row.uuid) else { continue };
        // A row that has lost its message has lost the reply's id, too.
        let of_first = tree.row(first).reply();
        let reply = if row.reply() == 0 || of_first == 0 { of_first } else { row.reply() };
        seen.entry((first, tree.row(first).time, of_first)).or_insert(first);
        let original = *seen.entry((first, row.time, reply)).or_insert(no);
        if original != no {
            copies.insert(no, original);
        }
    }
    copies
}

/// Which of these twins, all written before a row, the row follows: the last one of its own conversation, main or a
/// subagent's; else the last one.
pub(crate) fn nearest_twin(tree: &Tree<'_>, no: RowNo, twins: &[RowNo]) -> Option<RowNo> {
    let sidechain = tree.row(no).is(Flags::SIDECHAIN);
    let own = twins.iter().rev().find(|twin| tree.row(**twin).is(Flags::SIDECHAIN) == sidechain);
    own.or(twins.last()).copied()
}

/// Which row each link means, where ids are there more than once: of copies the first one of the file, of twins the one
/// that was written last before the child.
pub(crate) struct Meant {
    /// Rows that are another one again, and which.
    pub(crate) copies: HashMap<RowNo, RowNo>,
    /// By the first row with an id that has twins: time and row of each, oldest first.
    twins: HashMap<RowNo, Vec<(i64, RowNo)>>,
}

impl Meant {
    pub(crate) fn of(tree: &Tree<'_>) -> Meant {
        let copies = copies(tree);
        let mut twins: HashMap<RowNo, Vec<(i64, RowNo)>> = HashMap::new();
        let is_twin = |no: &RowNo| tree.row(*no).is(Flags::REPEATED) && !copies.contains_key(no);
        for no in tree.numbers().filter(is_twin) {
            let Some(first) = tree.index.find(tree.row(no).uuid) else { continue };
            let rows = twins.entry(first).or_insert_with(|| vec![(tree.row(first).time, first)]);
            rows.push((tree.row(no).time, no));
        }
        twins.values_mut().for_each(|rows| rows.sort_unstable());
        Meant { copies, twins }
    }

    /// The row of which this one is a copy, or itself.
    pub(crate) fn original(&self, no: RowNo) -> RowNo {
        self.copies.get(&no).copied().unwrap_or(no)
    }

    /// The row that a row follows, never a copy. No row where it is a root, or where twins are equally old: then nothing
    /// but the order of the file tells which one is meant.
    pub(crate) fn parent(&self, tree: &Tree<'_>, no: RowNo) -> RowNo {
        let parent = tree.parent[no as usize];
        let (time, sidechain) = (tree.row(no).time, tree.row(no).is(Flags::SIDECHAIN));
        let Some(twins) = self.twins.get(&parent).filter(|_| time != i64::MIN) else { return parent };
        let own = self.original(no);
        let fits = |(then, twin): &&(i64, RowNo)| {
            *then != i64::MIN && *twin != own && tree.row(*twin).is(Flags::SIDECHAIN) == sidechain
        };
        let before = twins.partition_point(|(then, _)| *then <= time);
        let mut nearest = twins[..before].iter().rev().filter(fits);
        match (nearest.next(), nearest.next()) {
            (Some((a, _)), Some((b, _))) if a == b => NONE,
            (Some((_, twin)), _) => *twin,
            (None, _) => parent,
        }
    }

    /// Whether some id has twins: then a link may lead elsewhere than to the first row with the id.
    pub(crate) fn has_twins(&self) -> bool {
        !self.twins.is_empty()
    }
}
