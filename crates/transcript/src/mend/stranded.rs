//! Step 6, stranded branches (B7): turns that no resume reaches though nobody gave them up.
//!
//! Only what an agent did by itself is put right here. Two processes in one conversation look exactly like a user
//! who went back: that is the user's to decide.

use crate::class::Class;
use crate::facts::Kind;
use crate::flags::Flags;
use crate::index::{NONE, RowNo, ToolRole};
use crate::tree::RowSet;

use super::Mend;
use super::ends::Ends;

/// What the agent says in its own name where the last row is the user's.
pub(super) const NO_RESPONSE: &[u8] = b"\"No response requested.\"";

impl Mend<'_> {
    pub(super) fn stranded(&mut self) {
        if self.options.branch.is_none() {
            self.late_results();
        }
        self.early_resumes();
        self.side_steps();
    }

    /// (e) 2.1.31 resumes at the first of the newest rows. Where a tool's result and the reply to it have one time, that
    /// is the result: it answers it by itself, beside the reply, and goes on from there (measured). What it wrote goes
    /// behind the turn that was really the last.
    fn early_resumes(&mut self) {
        let Some(leaf) = self.live_end() else { return };
        let (mut newest, mut late): (Option<Vec<RowNo>>, _) = (None, RowSet::default());
        let mut spoken = false; // whether somebody has spoken since
        for no in self.tree.walk(leaf) {
            let went_on = spoken;
            spoken |= self.tree.row(no).kind().is_turn();
            let (row, parent) = (self.tree.row(no), self.tree.parent[no as usize]);
            let answers = self.tree.index.row_at(parent).is_some_and(|parent| parent.kind() == Kind::User);
            if row.kind() != Kind::Assistant || row.is(Flags::HAS_CALL) || !answers {
                continue;
            }
            let says_nothing =
                || self.row_bytes(no).is_ok_and(|bytes| memchr::memmem::find(&bytes, NO_RESPONSE).is_some());
            if let Some(reply) = self.reply_behind(no).filter(|_| says_nothing()) {
                self.found(Class::B7, no, "it follows the turn that was the last");
                self.set_parent(no, Some(reply), Class::B7);
                continue;
            }
            // Nearly every reply follows the turn right before it: then nothing is asked further.
            if self.settled_before(no, &late) == Some(parent) {
                continue;
            }
            let Some(tail) = self.tail_before(no, &mut late).filter(|tail| *tail != parent) else { continue };
            let says_nothing =
                self.row_bytes(no).is_ok_and(|bytes| memchr::memmem::find(&bytes, NO_RESPONSE).is_some());
            let newest = newest.get_or_insert_with(|| self.newest_until());
            // Where nobody has spoken since, no user went back in order to hear nothing.
            let unasked = !went_on && !self.went_back(tail..no);
            if says_nothing && (unasked || newest[no as usize] == parent) && self.tree.descends(tail, parent)
            {
                self.found(Class::B7, no, "it follows the turn that was the last");
                self.set_parent(no, Some(tail), Class::B7);
            }
        }
    }

    /// The real reply, where lines were swapped: it stands right behind the row that 2.1.31 wrote beside it, and is older.
    fn reply_behind(&self, no: RowNo) -> Option<RowNo> {
        let (row, parent) = (self.tree.row(no), self.tree.parent[no as usize]);
        let next = self.tree.index.row_at(no + 1).filter(|_| self.tree.is_main(no + 1))?;
        let answers = next.kind() == Kind::Assistant && next.is(Flags::SAYS);
        let beside = self.tree.parent[no as usize + 1] == parent;
        let then = self.tree.row(parent).time;
        (answers && beside && next.time == then && next.time < row.time).then_some(no + 1)
    }

    /// For every row the newest of those before it in the file, the first of equals: where 2.1.31 would have resumed. System
    /// rows are left out: lines may have been sorted, and what hangs elsewhere was not resumed from.
    fn newest_until(&self) -> Vec<RowNo> {
        let mut newest = NONE;
        let until = self.tree.numbers().map(|no| {
            let before = newest;
            let is_newer = newest == NONE || self.tree.row(no).time > self.tree.row(newest).time;
            if self.tree.is_dated(no) && self.tree.row(no).kind() != Kind::System && is_newer {
                newest = no;
            }
            before
        });
        until.collect()
    }

    /// (a) A stop hook's summary written beside the reply and continued from; (b) an automatic "continue" hung on a
    /// stale row. Both go behind the turn that was really the last.
    fn side_steps(&mut self) {
        let Some(leaf) = self.live_end() else { return };
        let walk = self.tree.walk(leaf);
        let mut late = RowSet::default();
        for no in walk {
            let row = self.tree.row(no);
            let continues = row.is(Flags::META | Flags::AUTO_CONTINUE);
            if !continues && !row.is(Flags::STOP_HOOK) {
                continue;
            }
            let Some(tail) = self.tail_before(no, &mut late) else { continue };
            if self.tree.parent[no as usize] == NONE || self.tree.descends(no, tail) {
                continue;
            }
            // No user went back in order to let the agent continue; but one may have before a hook ran.
            if continues && !self.went_back(tail..no) || self.tree.descends(tail, self.answered_ancestor(no))
            {
                self.found(Class::B7, no, "it follows the turn that was the last");
                self.set_parent(no, Some(tail), Class::B7);
            }
        }
    }

    /// The row that `no` follows, passing over calls that were never answered.
    fn answered_ancestor(&self, no: RowNo) -> RowNo {
        let mut at = self.tree.parent[no as usize];
        while at != NONE && self.tree.is_open_call(at) {
            at = self.tree.parent[at as usize];
        }
        at
    }

    /// The last turn before `no` in the file, not counting late results and calls that were never answered: agents
    /// leave those behind by design.
    fn tail_before(&mut self, no: RowNo, late: &mut RowSet) -> Option<RowNo> {
        let segment = self.tree.segment(no);
        let first = if segment == NONE { 0 } else { segment };
        let mut before = no;
        loop {
            let candidate = self.settled_before(before, late).filter(|no| *no >= first)?;
            if !self.is_late(candidate) {
                return Some(candidate);
            }
            // What hangs on a row that was moved stands behind it, unless some row stands before its parent.
            if !self.tree.forward {
                late.insert(candidate);
            }
            before = candidate;
        }
    }

    /// The last turn before `no` that is neither a call that was never answered nor known to be late.
    fn settled_before(&mut self, no: RowNo, late: &RowSet) -> Option<RowNo> {
        let tree = &self.tree;
        let settled = |no: RowNo| {
            tree.is_main(no) && tree.row(no).kind().is_turn() && !tree.is_open_call(no) && !late.contains(no)
        };
        self.skips.settled.last(no, settled)
    }

    /// (c) A tool's result that arrived after the conversation had moved on, grafted on its old call: it would be
    /// the leaf, and everything said since invisible. It goes aside.
    fn late_results(&mut self) {
        let mut ends = Ends::default();
        // Behind a compaction that kept rows, 2.1.325 resumes at the last row whatever the checkpoint says.
        loop {
            let ends = [ends.live_end(self), self.tree.last_row()];
            let Some(late) = ends.into_iter().flatten().find(|no| self.is_late(*no)) else { return };
            self.found(Class::B7, late, "the late result goes aside");
            self.drop_row(late, Class::B7);
        }
    }

    /// Whether this is nothing but a result, and the conversation had gone on since its call, without it.
    fn is_late(&mut self, late: RowNo) -> bool {
        let row = self.tree.row(late);
        if row.kind() != Kind::User || !row.is(Flags::HAS_RESULT) || row.is(Flags::SAYS) {
            return false;
        }
        let results = self.tree.index.tools_of(late).iter().filter(|tool| tool.role == ToolRole::Result);
        // Ids can repeat: the call it hangs on is the one it answers.
        let parent = self.tree.parent[late as usize];
        let made_by_parent = |id: u64| self.tree.index.tools_of(parent).iter().any(|tool| tool.id == id);
        let call_of =
            |id: u64| Some(parent).filter(|_| made_by_parent(id)).or_else(|| self.tree.call_of(id, late));
        let called = results.filter_map(|result| call_of(result.id)).filter(|call| *call < late);
        let Some(call) = called.min() else { return false };
        let reply = self.tree.row(call).reply();
        let (tree, rows) = (&self.tree, self.tree.numbers().end);
        let said = |no: RowNo| {
            let row = tree.row(no);
            let says = row.kind().is_turn() && row.is(Flags::SAYS) && !row.is(Flags::META);
            says && tree.is_main(no) && !tree.is_open_call(no)
        };
        let mut from = call + 1;
        while let Some(no) = self.skips.said.first(from, rows, said).filter(|no| *no < late) {
            let other = tree.row(no).reply() == 0 || tree.row(no).reply() != reply;
            if other && !tree.descends(late, no) {
                return true;
            }
            from = no + 1;
        }
        false
    }
}
