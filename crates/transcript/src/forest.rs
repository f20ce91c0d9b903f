//! Questions about ancestors while links change: each takes the logarithm of the rows, on average, whatever their shape.
//!
//! A link-cut tree (Sleator and Tarjan, 1983): the rows on the way from a row to its root are kept in a balanced tree,
//! which every question rearranges. A plain walk is faster where the answer is near, so [`crate::tree`] walks first.

use std::collections::HashMap;

use crate::index::{NONE, RowNo};
use crate::visits::visit;

/// What a row can be looked for as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Mark(u8);

impl Mark {
    pub(crate) const NOTHING: Mark = Mark(0);
    /// A user's or an assistant's row.
    pub(crate) const TURN: Mark = Mark(1);
    /// A row of the main conversation.
    pub(crate) const MAIN: Mark = Mark(2);
    /// A row whose link leads to a later row of the file that is not older.
    pub(crate) const LEADS_ON: Mark = Mark(4);
    /// Marks of all rows below in the balanced tree stand this far to the left.
    const BELOW: u8 = 4;

    pub(crate) fn and(self, other: Mark) -> Mark {
        Mark(self.0 | other.0)
    }
}

#[derive(Clone, Copy)]
struct Node {
    /// The row above in the balanced tree; of its root, the row that the first row of the way hangs on.
    up: RowNo,
    /// Rows nearer to the root of the way, and rows farther from it.
    sides: [RowNo; 2],
}

/// The rows and their links.
pub(crate) struct Forest {
    nodes: Vec<Node>,
    marks: Vec<u8>,
    /// Rows that close a ring, and their parents: the forest has no other place for such a link.
    rings: HashMap<RowNo, RowNo>,
}

impl Forest {
    /// `parents[no]` is the row that `no` hangs on, or [`NONE`].
    pub(crate) fn new(parents: &[RowNo], mark: impl Fn(RowNo) -> Mark) -> Forest {
        visit(parents.len());
        let mut nodes: Vec<Node> =
            parents.iter().map(|parent| Node { up: *parent, sides: [NONE, NONE] }).collect();
        let mut rings = HashMap::new();
        // From where each row was first passed: one that is met again on the same way closes a ring.
        let mut passed = vec![NONE; parents.len()];
        for start in (0..).take(parents.len()) {
            let (mut at, mut before) = (start, NONE);
            while at != NONE && passed[at as usize] == NONE {
                passed[at as usize] = start;
                before = at;
                at = parents[at as usize];
            }
            if at != NONE && passed[at as usize] == start && before != NONE {
                rings.insert(before, at);
                nodes[before as usize].up = NONE;
            }
        }
        let own = (0..).take(parents.len()).map(|no| mark(no).0);
        let marks = own.map(|own| own | own << Mark::BELOW).collect();
        Forest { nodes, marks, rings }
    }

    /// Whether `ancestor` is `no` or on its way to the root.
    pub(crate) fn descends(&mut self, no: RowNo, ancestor: RowNo) -> bool {
        if self.is_above(no, ancestor) {
            return true;
        }
        let root = self.root(no);
        self.rings.get(&root).copied().is_some_and(|around| self.is_above(around, ancestor))
    }

    /// The nearest row with this mark: itself, or one on its way to the root.
    pub(crate) fn nearest(&mut self, no: RowNo, mark: Mark) -> Option<RowNo> {
        self.nearest_above(no, mark).or_else(|| {
            let root = self.root(no);
            let around = self.rings.get(&root).copied()?;
            self.nearest_above(around, mark)
        })
    }

    /// Hangs a row on another, or makes it a root.
    pub(crate) fn set_parent(&mut self, no: RowNo, parent: RowNo) {
        if self.rings.remove(&no).is_none() {
            let root = self.root(no);
            self.cut(no);
            // The ring that this row was a part of is open now: the link that closed it is one like any other.
            if root != no
                && let Some(around) = self.rings.get(&root).copied()
                && self.root(around) != root
            {
                self.rings.remove(&root);
                self.hang(root, around);
            }
        }
        if parent == NONE {
            return;
        }
        if self.root(parent) == no {
            self.rings.insert(no, parent);
        } else {
            self.hang(no, parent);
        }
    }

    /// Gives a row a mark.
    pub(crate) fn mark(&mut self, no: RowNo, mark: Mark) {
        self.expose(no);
        self.marks[no as usize] |= mark.0;
        self.gather(no);
    }

    /// Takes a mark from a row.
    pub(crate) fn unmark(&mut self, no: RowNo, mark: Mark) {
        self.expose(no);
        self.marks[no as usize] &= !mark.0;
        self.gather(no);
    }

    fn is_above(&mut self, no: RowNo, ancestor: RowNo) -> bool {
        if no == ancestor {
            return true;
        }
        self.expose(no);
        self.lift(ancestor);
        // `no` was the topmost of its balanced tree: it has a row above now only if both are in one.
        self.nodes[no as usize].up != NONE
    }

    fn nearest_above(&mut self, no: RowNo, mark: Mark) -> Option<RowNo> {
        self.expose(no);
        let has = |forest: &Forest, no: RowNo| {
            no != NONE && forest.marks[no as usize] >> Mark::BELOW & mark.0 == mark.0
        };
        let mut at = no;
        let mut found = None;
        while has(self, at) {
            visit(1);
            let [nearer, farther] = self.nodes[at as usize].sides;
            if has(self, farther) {
                at = farther;
            } else if self.marks[at as usize] & mark.0 == mark.0 {
                found = Some(at);
                break;
            } else {
                at = nearer;
            }
        }
        if let Some(found) = found {
            self.lift(found);
        }
        found
    }

    fn root(&mut self, no: RowNo) -> RowNo {
        self.expose(no);
        let mut at = no;
        while self.nodes[at as usize].sides[0] != NONE {
            visit(1);
            at = self.nodes[at as usize].sides[0];
        }
        self.lift(at);
        at
    }

    /// Hangs a root on a row of another tree.
    fn hang(&mut self, no: RowNo, parent: RowNo) {
        self.expose(no);
        self.nodes[no as usize].up = parent;
    }

    /// Makes a row a root.
    fn cut(&mut self, no: RowNo) {
        self.expose(no);
        let above = std::mem::replace(&mut self.nodes[no as usize].sides[0], NONE);
        if above != NONE {
            self.nodes[above as usize].up = NONE;
            self.gather(no);
        }
    }

    /// Puts exactly the way from the root to this row into one balanced tree, with this row as its topmost.
    fn expose(&mut self, no: RowNo) {
        let (mut at, mut below) = (no, NONE);
        while at != NONE {
            self.lift(at);
            self.nodes[at as usize].sides[1] = below;
            self.gather(at);
            below = at;
            at = self.nodes[at as usize].up;
        }
        self.lift(no);
    }

    /// Makes a row the topmost of its balanced tree (a splay).
    fn lift(&mut self, no: RowNo) {
        while let Some((above, side)) = self.above(no) {
            match self.above(above) {
                Some((_, outer)) if outer == side => {
                    self.rotate(above);
                    self.rotate(no);
                }
                Some(_) => {
                    self.rotate(no);
                    self.rotate(no);
                }
                None => self.rotate(no),
            }
        }
    }

    /// The row above in the balanced tree, and on which side of it this one is.
    fn above(&self, no: RowNo) -> Option<(RowNo, usize)> {
        let up = self.nodes[no as usize].up;
        let sides = self.nodes.get(up as usize)?.sides;
        sides.iter().position(|side| *side == no).map(|side| (up, side))
    }

    /// Swaps a row with the one above it in the balanced tree.
    fn rotate(&mut self, no: RowNo) {
        visit(1);
        let Some((above, side)) = self.above(no) else { return };
        let inner = self.nodes[no as usize].sides[1 - side];
        if let Some((top, outer)) = self.above(above) {
            self.nodes[top as usize].sides[outer] = no;
        }
        self.nodes[no as usize].up = self.nodes[above as usize].up;
        self.nodes[no as usize].sides[1 - side] = above;
        self.nodes[above as usize].up = no;
        self.nodes[above as usize].sides[side] = inner;
        if inner != NONE {
            self.nodes[inner as usize].up = above;
        }
        self.gather(above);
        self.gather(no);
    }

    fn gather(&mut self, no: RowNo) {
        let own = self.marks[no as usize] & !(!0 << Mark::BELOW);
        let of = |side: RowNo| self.marks.get(side as usize).map_or(0, |marks| marks & !0 << Mark::BELOW);
        let [nearer, farther] = self.nodes[no as usize].sides;
        self.marks[no as usize] = own | own << Mark::BELOW | of(nearer) | of(farther);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const ROWS: u32 = 12;

    fn way(parents: &[RowNo], no: RowNo) -> Vec<RowNo> {
        let mut way = vec![no];
        let mut at = parents[no as usize];
        while at != NONE && !way.contains(&at) {
            way.push(at);
            at = parents[at as usize];
        }
        way
    }

    proptest! {
        /// Rings come and go here as well.
        #[test]
        fn says_what_a_walk_says_while_links_change(
            first in prop::collection::vec(prop::option::of(0..ROWS), ROWS as usize),
            marks in prop::collection::vec(0u8..8, ROWS as usize),
            changes in prop::collection::vec((0..ROWS, prop::option::of(0..ROWS), 0..ROWS), 0..60),
        ) {
            let mut parents: Vec<RowNo> = first.into_iter().map(|parent| parent.unwrap_or(NONE)).collect();
            let mut marks: Vec<u8> = marks;
            let mut forest = Forest::new(&parents, |no| Mark(marks[no as usize]));
            for (no, parent, other) in changes {
                if other % 5 == 0 {
                    forest.unmark(other, Mark::MAIN);
                    marks[other as usize] &= !Mark::MAIN.0;
                }
                if other % 5 == 1 {
                    forest.mark(other, Mark::LEADS_ON);
                    marks[other as usize] |= Mark::LEADS_ON.0;
                }
                parents[no as usize] = parent.unwrap_or(NONE);
                forest.set_parent(no, parents[no as usize]);
                for from in 0..ROWS {
                    let way = way(&parents, from);
                    prop_assert_eq!(forest.descends(from, other), way.contains(&other));
                    for mark in [Mark::TURN, Mark::MAIN, Mark::LEADS_ON] {
                        let near = way.iter().copied().find(|no| marks[*no as usize] & mark.0 != 0);
                        prop_assert_eq!(forest.nearest(from, mark), near);
                    }
                }
            }
        }
    }
}
