//! Step 5, links: rings (B5), parents that are not there (B1, B3, B4, B9) or that no agent keeps (B2), and roots
//! in the middle (B12, B9).

use std::collections::HashMap;
use std::ops::Range;

use crate::class::Class;
use crate::facts::Kind;
use crate::flags::Flags;
use crate::index::{NONE, RowNo, ToolRole};
use crate::tree::{RowSet, Tree};

use crate::rewound::Hooks;
use crate::torn::behind_torn_prompts;

use super::Mend;

/// How many rows back another part of the same reply is looked for.
const SAME_REPLY: usize = 64;

/// So many rows from the first on descend from a root, as far as they are turns.
struct FirstRowsBelow {
    root: RowNo,
    rows: RowNo,
    /// [`Tree::cuts`] when that was so.
    cuts: u32,
}

impl Default for FirstRowsBelow {
    fn default() -> FirstRowsBelow {
        FirstRowsBelow { root: NONE, rows: 0, cuts: 0 }
    }
}

impl Mend<'_> {
    pub(super) fn links(&mut self) {
        self.respelled();
        self.rings();
        self.dangling();
        self.elided();
        self.false_roots();
    }

    /// B1: the parent is there, its id spelt in another way.
    fn respelled(&mut self) {
        for (no, parent) in &self.tree.index.respelled {
            if self.tree.parent[*no as usize] == *parent && !self.tree.is_gone(*no) {
                self.orphans_fixed += 1;
                self.found(Class::B1, *no, "the id of the row it follows is spelt as that row has it");
                self.set_parent(*no, Some(*parent), Class::B1);
            }
        }
    }

    /// B5: in every ring some row stands before its parent; that link is the false one.
    fn rings(&mut self) {
        if !self.tree.forward {
            return;
        }
        // Each row remembers from where it was first passed: one that is met again on the same way is on a ring.
        let mut passed = vec![NONE; self.tree.parent.len()];
        for start in self.tree.numbers() {
            let mut at = start;
            while at != NONE && passed[at as usize] == NONE {
                passed[at as usize] = start;
                at = self.tree.parent[at as usize];
            }
            if at == NONE || passed[at as usize] != start {
                continue;
            }
            let mut ring = vec![at];
            let mut next = self.tree.parent[at as usize];
            while next != at {
                ring.push(next);
                next = self.tree.parent[next as usize];
            }
            // A row cannot follow one that was written later. Where no time tells, the order of the file does.
            let is_false = |no: &RowNo| self.is_newer(self.tree.parent[*no as usize], *no);
            let by_time = ring.iter().any(is_false);
            let false_links: Vec<RowNo> = ring
                .into_iter()
                .filter(|no| if by_time { is_false(no) } else { self.tree.parent[*no as usize] >= *no })
                .collect();
            for no in false_links {
                self.tree.set_parent(no, None);
                self.found(Class::B5, no, "it follows the row before it in the file");
                let earlier = self.place(no);
                self.set_parent(no, earlier, Class::B5);
            }
        }
    }

    /// B1, B3, B4, B9: the parent is no row of the file.
    fn dangling(&mut self) {
        let dangling: Vec<(RowNo, u128)> = self
            .tree
            .index
            .dangling
            .iter()
            .copied()
            .filter(|(no, _)| !self.tree.is_gone(*no) && self.tree.parent[*no as usize] == NONE)
            .filter(|(no, _)| {
                self.tree.row(*no).kind().in_tree() || self.tree.row(*no).kind() == Kind::Progress
            })
            .collect();
        if dangling.is_empty() {
            return;
        }
        let ids: Vec<u128> = dangling.iter().map(|(_, id)| *id).collect();
        let mut in_subagents = (self.options.in_subagents)(&ids);
        in_subagents.sort_unstable();
        let mut branches: HashMap<u128, RowNo> = HashMap::new();
        let (mut lost_ids, hooks): (HashMap<u128, bool>, _) = (HashMap::new(), Hooks::default());
        let behind_torn = behind_torn_prompts(&self.tree);
        for (no, id) in dangling {
            let row = self.tree.row(no);
            let elsewhere = in_subagents.binary_search(&id).is_ok();
            if elsewhere && row.is(Flags::SIDECHAIN) {
                self.elsewhere += 1; // a subagent's row on a row of the same subagent: nothing is lost
                continue;
            }
            let mut earlier = self.place(no);
            // Two branches on one row: the user had gone back to it, and what came in between must not come back. A
            // branch may begin with what a hook said.
            let begins = match row.kind() {
                Kind::User => !row.is(Flags::META) && !self.answers_a_call(no),
                Kind::Attachment => true,
                Kind::System => !row.flags.intersects(Flags::STOP_HOOK | Flags::COMPACT_BOUNDARY),
                _ => false,
            };
            if let Some(fork) = behind_torn.get(&no) {
                earlier = Some(*fork);
            } else if begins {
                let first = *branches.entry(id).or_insert(no);
                let place = self.tree.parent[first as usize];
                // A row that has lost its own id is the one that both mean.
                let nameless = |no: RowNo| self.tree.row(no).is(Flags::NO_UUID);
                let lost = |tree: &Tree<'_>| nameless(place) || tree.row_was_lost(place, first, &hooks);
                let mut lost = || *lost_ids.entry(id).or_insert_with(|| lost(&self.tree));
                // It may stand right before this one: then the first one's link is wrong.
                let is_own = earlier.is_some_and(nameless) && place != NONE && !nameless(place);
                if first != no
                    && place != NONE
                    && !is_own
                    && lost()
                    && self.tree.segment(place) == self.tree.segment(no)
                {
                    earlier = Some(place);
                }
            }
            let class = if elsewhere {
                Class::B3
            } else if row.is(Flags::COMPACT_SUMMARY) {
                Class::B9
            } else if row.is(Flags::STOP_HOOK) {
                Class::B4
            } else if earlier.is_some_and(|earlier| self.opens_segment(earlier)) {
                Class::B9
            } else {
                Class::B1
            };
            self.orphans_fixed += 1;
            self.found(class, no, "it follows the nearest row before it");
            self.set_parent(no, earlier, class);
        }
    }

    /// Whether a row has the result of a call that was made before it.
    fn answers_a_call(&self, no: RowNo) -> bool {
        let mut tools = self.tree.index.tools_of(no).iter();
        tools.any(|tool| tool.role == ToolRole::Result && self.tree.call_of(tool.id, no).is_some())
    }

    /// Whether a row is a compaction's boundary or summary.
    fn opens_segment(&self, no: RowNo) -> bool {
        self.tree.row(no).flags.intersects(Flags::COMPACT_BOUNDARY | Flags::COMPACT_SUMMARY)
    }

    /// B2: the parent is a row, but not one that agents keep: an unknown kind, or a progress row behind its child.
    fn elided(&mut self) {
        for no in self.tree.numbers() {
            let parent = self.tree.parent[no as usize];
            let Some(row) = self.tree.index.row_at(parent).filter(|_| self.tree.is_dated(no)) else {
                continue;
            };
            let kept = row.kind().in_tree() || row.kind() == Kind::Progress && parent < no;
            if kept || self.tree.is_gone(parent) {
                continue;
            }
            let through = self.tree.nearest_main(parent);
            let new = through.filter(|ancestor| *ancestor != no).or_else(|| self.place(no));
            self.found(Class::B2, no, "it follows the row that its parent follows");
            self.set_parent(no, new, Class::B2);
        }
    }

    /// B12, B9: the walk ends at a row that is no beginning.
    fn false_roots(&mut self) {
        let Some(mut end) = self.live_end() else { return };
        // Each round goes on from where the last one hung the root: the way is walked once.
        let mut walked = RowSet::with_capacity(self.tree.parent.len());
        let mut below = FirstRowsBelow::default();
        loop {
            let root = self.root_of(end, &mut walked);
            if !self.is_false_root(root, &mut below) {
                return;
            }
            let Some(earlier) = self.place(root) else { return };
            let class = if self.opens_segment(earlier) { Class::B9 } else { Class::B12 };
            self.found(class, root, "it follows the nearest row before it");
            self.set_parent(root, Some(earlier), class);
            end = earlier;
        }
    }

    /// The row that the way from `no` ends at. `walked` are the rows of the ways before.
    fn root_of(&self, no: RowNo, walked: &mut RowSet) -> RowNo {
        let (mut at, mut root) = (no, no);
        while at != NONE && walked.insert(at) {
            root = at;
            at = self.tree.parent[at as usize];
        }
        if at == NONE { root } else { self.tree.walk(no).last().copied().unwrap_or(no) }
    }

    fn is_false_root(&mut self, root: RowNo, below: &mut FirstRowsBelow) -> bool {
        if self.tree.row(root).is(Flags::COMPACT_BOUNDARY) {
            return false;
        }
        // Children may stand before their parents: a row that all before it descend from is the beginning.
        let Some(earlier) = self.tree.nearest_earlier(root) else { return false };
        if self.went_back(earlier..root) {
            return false;
        }
        self.tree.segment(root) != NONE || self.has_turn_apart(earlier, root, below)
    }

    /// Whether the user went back before the first prompt, said by a row of these.
    pub(super) fn went_back(&self, rows: Range<RowNo>) -> bool {
        let emptied = &self.tree.index.emptied;
        let next = emptied.partition_point(|marker| *marker < rows.start);
        emptied.get(next).is_some_and(|marker| rows.contains(marker))
    }

    /// Whether some turn up to this row is no descendant of `root`.
    fn has_turn_apart(&mut self, last: RowNo, root: RowNo, below: &mut FirstRowsBelow) -> bool {
        if below.cuts != self.tree.cuts || !self.tree.descends(below.root, root) {
            *below = FirstRowsBelow { cuts: self.tree.cuts, root, rows: 0 };
        }
        below.root = root;
        let (tree, rows) = (&self.tree, self.tree.numbers().end);
        let turn = |no: RowNo| tree.is_main(no) && tree.row(no).kind().is_turn();
        while let Some(no) = self.skips.turns.first(below.rows, rows, turn).filter(|no| *no <= last) {
            if !(tree.forward && tree.descends(no, root)) {
                return true;
            }
            below.rows = no + 1;
        }
        false
    }

    /// As [`Mend::preferred_earlier`]. Where the row right before it is its own descendant, the links that lead from
    /// there to a later row are false: most likely a ring that a lost row has opened.
    pub(super) fn place(&mut self, no: RowNo) -> Option<RowNo> {
        if !self.tree.forward {
            return self.preferred_earlier(no);
        }
        let before = self.tree.candidates(no).next().filter(|before| self.tree.descends(*before, no));
        let leading = before.and_then(|before| self.tree.nearest_leading_on(before));
        if let Some(at) = leading.filter(|at| *at != no && self.tree.descends(*at, no)) {
            self.found(Class::B5, at, "it follows the row before it in the file");
            let earlier = self.preferred_earlier(at);
            self.set_parent(at, earlier, Class::B5); // the row before it is free now
        }
        self.preferred_earlier(no)
    }

    /// Whether a row is newer than another, as far as both have a date.
    fn is_newer(&self, a: RowNo, b: RowNo) -> bool {
        let (a, b) = (self.tree.row(a).time, self.tree.row(b).time);
        a != i64::MIN && b != i64::MIN && a > b
    }

    /// Where a row that lost its parent belongs: a result to its call, a part of a reply to the reply, anything
    /// else to the nearest row before it.
    fn preferred_earlier(&self, no: RowNo) -> Option<RowNo> {
        let nearest = self.tree.nearest_earlier(no)?;
        let row = self.tree.row(no);
        let segment = self.tree.segment(no);
        let first = if segment == NONE { 0 } else { segment };
        let fits = |candidate: RowNo| {
            (first..no).contains(&candidate)
                && self.tree.is_main(candidate)
                && (!self.tree.forward || !self.tree.descends(candidate, no))
        };
        if row.is(Flags::HAS_RESULT)
            && let Some(result) =
                self.tree.index.tools_of(no).iter().find(|tool| tool.role == ToolRole::Result)
        {
            // The nearest call of that id: an earlier one was answered already.
            let call = self.tree.call_of(result.id, no).filter(|call| fits(*call));
            return Some(call.unwrap_or(nearest));
        }
        if row.kind() == Kind::Assistant && row.reply() != 0 {
            let same = || {
                let before = (first..no).rev().take(SAME_REPLY);
                let mut parts = before.filter(|other| self.tree.row(*other).reply() == row.reply());
                parts.find(|other| fits(*other))
            };
            return Some(self.part_behind(no).or_else(same).unwrap_or(nearest));
        }
        Some(nearest)
    }

    /// The part of the same reply that stands right behind a row and is older: lines were swapped.
    fn part_behind(&self, no: RowNo) -> Option<RowNo> {
        let (row, next) = (self.tree.row(no), self.tree.index.row_at(no + 1)?);
        let is_part = next.kind() == Kind::Assistant && next.reply() == row.reply() && next.time != i64::MIN;
        (is_part && next.time < row.time && self.tree.is_main(no + 1) && !self.tree.descends(no + 1, no))
            .then_some(no + 1)
    }
}
