//! The order in which rows were written, where a tool has put them into another one: sorted, reversed, swapped (B15).
//!
//! Agents append: a row stands behind the row it follows. Only 2.1.31 may write a few rows at once, a reply before its
//! prompt, and every version reads that. So the links tell the order; where they do not, the file and the times do.

use std::collections::HashMap;

use crate::facts::Kind;
use crate::flags::Flags;
use crate::index::{NONE, RowNo};
use crate::order::parents_first;
use crate::rewound::copies;
use crate::tree::Tree;

/// Rows in the order in which they were written.
pub(crate) struct Written {
    /// The rows, first to last.
    pub(crate) order: Vec<RowNo>,
    /// Where each row stands in it.
    place: Vec<RowNo>,
    /// Rows that stand before the row they follow.
    pub(crate) early: Vec<RowNo>,
    /// Whether the file is read backwards: then lines without a row are, too.
    pub(crate) backwards: bool,
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
            if is_early(tree, no) {
                early.push(no);
            }
        }
        if early.is_empty() {
            return None;
        }
        let base = base(tree, links, early.len());
        let backwards = early.len() * 4 >= links * 3;
        let order = likely_copies_first(tree, sorted(tree, &base));
        let mut place = vec![NONE; order.len()];
        for (at, no) in (0..).zip(&order) {
            place[*no as usize] = at;
        }
        let moved = order.iter().zip(0..).any(|(no, at)| *no != at);
        moved.then_some(Written { order, place, early, backwards })
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

/// Whether a row stands before the one it follows. One that agents do not keep does not count: such links are mended by
/// themselves (B2).
fn is_early(tree: &Tree<'_>, no: RowNo) -> bool {
    let parent = tree.parent[no as usize];
    parent > no && tree.row(parent).in_tree() && !is_false(tree, no)
}

/// Whether a row is newer than another, as far as both have a date.
fn is_newer(tree: &Tree<'_>, a: RowNo, b: RowNo) -> bool {
    let (a, b) = (tree.row(a).time, tree.row(b).time);
    a != i64::MIN && b != i64::MIN && a > b
}

/// Whether a row's link cannot be right: it leads to a newer row. Where that row itself follows one that is not newer, its time
/// is wrong and not the link.
fn is_false(tree: &Tree<'_>, no: RowNo) -> bool {
    let parent = tree.parent[no as usize];
    let above = tree.parent[parent as usize];
    let fits = above != NONE && above != no && above != parent && !is_newer(tree, above, no);
    is_newer(tree, parent, no) && !(fits && tree.row(above).time != i64::MIN)
}

/// What the links are laid upon: the file backwards where nearly all links lead backwards, the times where many do.
fn base(tree: &Tree<'_>, links: usize, early: usize) -> Vec<RowNo> {
    let mut base: Vec<RowNo> = tree.numbers().collect();
    if early * 4 >= links * 3 {
        base.reverse();
    } else if early * 8 > links {
        // Metadata has no time and stays behind the row before it, and so do kinds that no agent knows.
        let mut last = i64::MIN;
        let times: Vec<i64> = tree
            .index
            .rows
            .iter()
            .map(|row| {
                if row.time != i64::MIN && (row.in_tree() || row.kind() == Kind::Progress) {
                    last = row.time;
                }
                last
            })
            .collect();
        base.sort_by_key(|no| times[*no as usize]);
    } else {
        parents_that_came_late(tree, &mut base);
    }
    base
}

/// Few links lead backwards. Where a row stands before the one it follows, one of them is in the wrong place. It is the parent
/// if that stands among copies, or is older than the row before it: a row of the first of two copies of the file is lost, say.
/// Then the parent goes before its child; else the child will go behind its parent.
fn parents_that_came_late(tree: &Tree<'_>, base: &mut [RowNo]) {
    let (mut before, mut is_behind_copy) = (i64::MIN, false);
    let mut in_place = vec![true; base.len()]; // as far as that can be told
    for no in tree.numbers().filter(|no| tree.row(*no).uuid != 0) {
        let row = tree.row(no);
        if row.is(Flags::REPEATED) {
            is_behind_copy = true;
            continue;
        }
        in_place[no as usize] = !is_behind_copy && (row.time == i64::MIN || before <= row.time);
        before = if row.time == i64::MIN { before } else { row.time };
        is_behind_copy = false;
    }
    // Rows are sorted by their place; a parent that goes up has its child's place and stands before it.
    let mut place: Vec<(RowNo, bool)> = tree.numbers().map(|no| (no, true)).collect();
    for no in tree.numbers().filter(|no| has_link(tree, *no)) {
        let parent = tree.parent[no as usize];
        if is_early(tree, no)
            && in_place[no as usize]
            && (!in_place[parent as usize] || is_newer(tree, parent, no))
            && place[parent as usize].1
        {
            place[parent as usize] = (no, false);
        }
    }
    base.sort_by_key(|no| place[*no as usize]);
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
        (has_link(tree, no) && !(behind() && (strict || is_false(tree, no)))).then(|| place[parent as usize])
    };
    let in_ring = rings(base.len(), |at| follows(at, false));
    let order = parents_first(base.len(), |at| follows(at, in_ring[at]));
    order.into_iter().map(|at| base[at]).collect()
}

/// A row that is there twice, with two parents: where lines have moved, their order does not tell which one is right. It is
/// the one that follows the newer row, since a row is written right behind its parent. The others go behind it.
fn likely_copies_first(tree: &Tree<'_>, order: Vec<RowNo>) -> Vec<RowNo> {
    let copies = copies(tree);
    if copies.is_empty() {
        return order;
    }
    // Of each original the likeliest of it and its copies, and how long before it its parent was written.
    let gap = |no: RowNo| {
        let parent = tree.parent[no as usize];
        let then = tree.index.row_at(parent).map_or(i64::MIN, |parent| parent.time);
        let gap = tree.row(no).time.saturating_sub(then);
        if parent == NONE || gap < 0 { i64::MAX } else { gap }
    };
    let original = |no: RowNo| copies.get(&no).copied().unwrap_or(no);
    let mut likely: HashMap<RowNo, RowNo> = HashMap::new();
    for no in order.iter().copied().filter(|no| tree.row(*no).uuid != 0) {
        let best = likely.entry(original(no)).or_insert(no);
        if gap(no) < gap(*best) {
            *best = no;
        }
    }
    let mut waiting: HashMap<RowNo, Vec<RowNo>> = HashMap::new();
    let mut sorted = Vec::with_capacity(order.len());
    for no in order {
        match likely.get(&original(no)).copied() {
            Some(best) if best != no && waiting.get(&best).is_some_and(|rows| rows.is_empty()) => {
                sorted.push(no);
            }
            Some(best) if best != no => waiting.entry(best).or_default().push(no),
            _ => {
                sorted.push(no);
                sorted.append(waiting.entry(no).or_default());
            }
        }
    }
    sorted
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
