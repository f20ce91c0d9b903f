//! Step 6, stranded branches (B7): turns that no resume reaches though nobody gave them up.
//!
//! Only what an agent did by itself is put right here. Two processes in one conversation look exactly like a user
//! who went back: that is the user's to decide.

use crate::class::Class;
use crate::facts::Kind;
use crate::flags::Flags;
use crate::index::{NONE, RowNo, ToolRole};

use super::Mend;

impl Mend<'_> {
    pub(super) fn stranded(&mut self) {
        if self.options.branch.is_none() {
            self.late_results();
        }
        self.side_steps();
    }

    /// (a) A stop hook's summary written beside the reply and continued from; (b) an automatic "continue" hung on a
    /// stale row. Both go behind the turn that was really the last.
    fn side_steps(&mut self) {
        let Some(leaf) = self.live_end() else { return };
        let walk = self.tree.walk(leaf);
        for no in walk {
            let row = self.tree.row(no);
            let automatic = row.is(Flags::STOP_HOOK) || row.is(Flags::META | Flags::AUTO_CONTINUE);
            if !automatic {
                continue;
            }
            let parent = self.tree.parent[no as usize];
            let Some(tail) = self.tail_before(no) else { continue };
            if parent != NONE && !self.tree.descends(no, tail) && self.tree.descends(tail, parent) {
                self.found(Class::B7, no, "it follows the turn that was the last");
                self.set_parent(no, Some(tail), Class::B7);
            }
        }
    }

    /// The last turn before `no` in the file, not counting calls that were never answered: agents leave those
    /// behind by design.
    fn tail_before(&self, no: RowNo) -> Option<RowNo> {
        let segment = self.tree.segment(no);
        let first = if segment == NONE { 0 } else { segment };
        (first..no).rev().find(|candidate| {
            self.tree.is_main(*candidate)
                && self.tree.row(*candidate).kind().is_turn()
                && !self.tree.is_open_call(*candidate)
        })
    }

    /// (c) A tool's result that arrived after the conversation had moved on, grafted on its old call: it would be
    /// the leaf, and everything said since invisible. It goes aside.
    fn late_results(&mut self) {
        while let Some(late) = self.live_end() {
            let row = self.tree.row(late);
            let only_results = row.kind() == Kind::User && row.is(Flags::HAS_RESULT) && !row.is(Flags::SAYS);
            if !only_results || !self.is_overtaken(late) {
                return;
            }
            self.found(Class::B7, late, "the late result goes aside");
            self.drop_row(late, Class::B7);
        }
    }

    /// Whether the user said something between the call and its result, on another branch.
    fn is_overtaken(&self, late: RowNo) -> bool {
        let called =
            self.tree.index.tools_of(late).iter().filter(|tool| tool.role == ToolRole::Result).filter_map(
                |result| {
                    let mut calls = self.tree.index.tools.iter().rev();
                    calls
                        .find(|tool| tool.role == ToolRole::Call && tool.id == result.id)
                        .map(|tool| tool.row)
                },
            );
        let Some(call) = called.min().filter(|call| *call < late) else { return false };
        (call + 1..late).any(|no| {
            let row = self.tree.row(no);
            let prompt = row.kind() == Kind::User && row.is(Flags::SAYS) && !row.is(Flags::META);
            prompt && self.tree.is_main(no) && !self.tree.descends(late, no) && !self.tree.descends(no, call)
        })
    }
}
