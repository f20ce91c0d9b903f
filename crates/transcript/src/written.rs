//! The order in which rows were written, where a tool has put them into another one: sorted, reversed, swapped (B15).
//!
//! Agents append: a row stands behind the row it follows. Only 2.1.31 may write a few rows at once, a reply before its
//! prompt, and every version reads that. So the links tell the order; where they do not, the file and the times do.

use crate::flags::Flags;
use crate::index::{NONE, RowNo};
use crate::order::parents_first;
use crate::tree::Tree;

/// Rows in the order in which they were written.
pub(crate) struct Written {
    /// The rows, first to last.
    pub(crate) order: Vec<RowNo>,
    /// Where each row stands in it.
    place: Vec<RowNo>,
    /// Rows that stand before the row they follow.
    pub(crate) early: Vec<RowNo>,
}

impl Written {
    /// Nothing where the file has its order: no row stands before the one it follows, but for false links.
    pub(crate) fn of(tree: &Tree<'_>) -> Option<Written> {
        if !tree.forward {
            return None;
        }
        let (mut links, mut early) = (0usize, Vec::new());
        for no in tree.numbers().filter(|no| has_link(tree, *no)) {
            links += 1;
            if tree.parent[no as usize] > no && !is_newer(tree, tree.parent[no as usize], no) {
                early.push(no);
            }
        }
        if early.is_empty() {
            return None;
        }
        let base = base(tree, links, early.len());
        let order = sorted(tree, &base);
        let mut place = vec![NONE; order.len()];
        for (at, no) in (0..).zip(&order) {
            place[*no as usize] = at;
        }
        let moved = order.iter().zip(0..).any(|(no, at)| *no != at);
        moved.then_some(Written { order, place, early })
    }

    /// Where a row stands in the order in which rows were written.
    pub(crate) fn place(&self, no: RowNo) -> RowNo {
        self.place.get(no as usize).copied().unwrap_or(no)
    }
}

/// Whether a row's link says where it belongs. That of a copy does not: it leads to the first row with the parent's id.
fn has_link(tree: &Tree<'_>, no: RowNo) -> bool {
    let (row, parent) = (tree.row(no), tree.parent[no as usize]);
    parent != NONE && parent != no && row.uuid != 0 && !row.is(Flags::REPEATED)
}

/// Whether a row is newer than another, as far as both have a date.
fn is_newer(tree: &Tree<'_>, a: RowNo, b: RowNo) -> bool {
    let (a, b) = (tree.row(a).time, tree.row(b).time);
    a != i64::MIN && b != i64::MIN && a > b
}

/// What the links are laid upon: the file backwards where nearly all links lead backwards, the times where many do.
fn base(tree: &Tree<'_>, links: usize, early: usize) -> Vec<RowNo> {
    let mut base: Vec<RowNo> = tree.numbers().collect();
    if early * 4 >= links * 3 {
        base.reverse();
    } else if early * 8 > links {
        // Metadata has no time and stays behind the row before it.
        let mut last = i64::MIN;
        let times: Vec<i64> = tree
            .index
            .rows
            .iter()
            .map(|row| {
                if row.time != i64::MIN {
                    last = row.time;
                }
                last
            })
            .collect();
        base.sort_by_key(|no| times[*no as usize]);
    }
    base
}

/// Every row behind the one it follows; else as in `base`.
fn sorted(tree: &Tree<'_>, base: &[RowNo]) -> Vec<RowNo> {
    let mut place = vec![0usize; base.len()];
    for (at, no) in base.iter().enumerate() {
        place[*no as usize] = at;
    }
    // A link to a row that is newer and stands behind is false. So is one that closes a ring.
    let follows = |at: usize, strict: bool| {
        let no = base[at];
        let parent = tree.parent[no as usize];
        let behind = || place[parent as usize] > at;
        (has_link(tree, no) && !(behind() && (strict || is_newer(tree, parent, no))))
            .then(|| place[parent as usize])
    };
    let in_ring = rings(base.len(), |at| follows(at, false));
    let order = parents_first(base.len(), |at| follows(at, in_ring[at]));
    order.into_iter().map(|at| base[at]).collect()
}

/// Which rows are on a ring.
fn rings(rows: usize, parent: impl Fn(usize) -> Option<usize>) -> Vec<bool> {
    let mut on_ring = vec![false; rows];
    let mut passed = vec![usize::MAX; rows];
    for start in 0..rows {
        let mut at = Some(start);
        while let Some(row) = at.filter(|row| passed[*row] == usize::MAX) {
            passed[row] = start;
            at = parent(row);
        }
        // A row that is met again on the same way is on a ring.
        while let Some(row) = at.filter(|row| passed[*row] == start && !on_ring[*row]) {
            on_ring[row] = true;
            at = parent(row);
        }
    }
    on_ring
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::Index;
    use crate::lines::Buffer;

    /// `(id, parent, second)` of each row; zero is no parent.
    fn order(rows: &[(u32, u32, u32)]) -> Option<Vec<u32>> {
        let uuid = |id: u32| format!("00000000-0000-4000-8000-{id:012}");
        let text: String = rows
            .iter()
            .map(|(id, parent, second)| {
                let parent = if *parent == 0 { "null".to_owned() } else { format!("\"{}\"", uuid(*parent)) };
                format!("{{\"parentUuid\":{parent},\"type\":\"user\",\"message\":{{\"content\":\"x\"}},\"uuid\":\"{}\",\"timestamp\":\"2026-01-01T00:00:{second:02}.000Z\"}}\n", uuid(*id))
            })
            .collect();
        let index = Index::read(text.as_bytes(), None, &mut Buffer::default()).unwrap();
        let written = Written::of(&Tree::new(&index))?;
        Some(written.order.into_iter().map(|no| rows[no as usize].0).collect())
    }

    #[test]
    fn the_links_tell_the_order() {
        assert_eq!(order(&[(1, 0, 1), (2, 1, 2), (3, 2, 3)]), None);
        assert_eq!(order(&[(3, 2, 3), (2, 1, 2), (1, 0, 1)]), Some(vec![1, 2, 3]), "reversed");
        assert_eq!(order(&[(2, 1, 2), (1, 0, 1), (3, 2, 3), (4, 3, 4)]), Some(vec![1, 2, 3, 4]), "swapped");
        assert_eq!(order(&[(3, 2, 3), (1, 0, 1), (4, 3, 4), (2, 1, 2)]), Some(vec![1, 2, 3, 4]), "shuffled");
    }

    #[test]
    fn a_link_to_a_newer_row_is_false() {
        assert_eq!(order(&[(1, 0, 1), (2, 4, 2), (3, 2, 3), (4, 3, 4)]), None, "a ring");
        assert_eq!(order(&[(1, 0, 1), (2, 9, 2), (3, 2, 3), (9, 0, 4)]), None);
    }

    #[test]
    fn a_ring_without_times_keeps_the_order_of_the_file() {
        assert_eq!(order(&[(1, 0, 1), (2, 4, 1), (3, 2, 1), (4, 3, 1)]), None);
    }
}
