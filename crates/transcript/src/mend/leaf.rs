//! Step 7, the leaf (B8): older agents resume at the newest row, newer ones at the last row or the checkpoint of a
//! `last-prompt` row. After a repair all of them mean the same turn.

use crate::class::Class;
use crate::facts::Kind;
use crate::flags::Flags;
use crate::index::RowNo;
use crate::tree::RowSet;

use super::Mend;

impl Mend<'_> {
    /// Makes the ways to choose a leaf agree. Returns the leaf, or `None` where there is no conversation.
    pub(super) fn leaf(&mut self) -> Option<RowNo> {
        let last = match self.options.branch {
            Some(branch) => branch,
            None => self.tree.last_row()?,
        };
        let checkpoint = self.tree.index.checkpoint;
        if let Some(checkpoint) = checkpoint.filter(|checkpoint| checkpoint.explicit) {
            // The user went back on purpose and has said nothing since: nothing to mend.
            let back = checkpoint.leaf.and_then(|id| self.tree.index.find(id));
            if checkpoint.row > last && self.options.branch.is_none() {
                return back.and_then(|back| self.tree.climb(back));
            }
        }
        let leaf = self.tree.climb(last)?;
        self.agree_with_newest(leaf, last);
        if let Some(checkpoint) = checkpoint
            && let Some(named) = checkpoint.leaf.and_then(|id| self.tree.index.find(id))
            && self.tree.is_main(named)
            && !self.tree.descends(last, named)
            && !self.shares_reply(last, named)
        {
            self.found(Class::B8, checkpoint.row, "the checkpoint names the last turn");
            let leaf_id = self.uuid_of(last);
            self.edit(checkpoint.row).leaf = Some((Class::B8, leaf_id));
        }
        Some(leaf)
    }

    /// Older agents take the newest row of any kind. Where that leads elsewhere, the last row becomes the newest.
    fn agree_with_newest(&mut self, leaf: RowNo, last: RowNo) {
        let Some(newest) = self.tree.newest_row(|no| self.time_of(no)) else { return };
        let mut reached = RowSet::with_capacity(self.tree.parent.len());
        for no in self.tree.walk(newest) {
            reached.insert(no);
        }
        let loses = self.tree.walk(leaf).into_iter().take_while(|no| !reached.contains(*no)).any(|no| {
            let row = self.tree.row(no);
            let says = row.is(Flags::SAYS) && row.kind().is_turn() && !self.tree.is_open_call(no);
            says && !self.shares_reply(newest, no)
        });
        if loses {
            let time = self.time_of(newest) + 1;
            self.found(Class::B8, last, "the last row becomes the newest");
            self.edit(last).time = Some((Class::B8, time));
        }
    }

    /// Whether two rows are parts of one reply, or results of its calls.
    fn shares_reply(&self, a: RowNo, b: RowNo) -> bool {
        let reply = |no: RowNo| {
            let row = self.tree.row(no);
            let parent = self.tree.index.row_at(self.tree.parent[no as usize]);
            match row.kind() {
                Kind::Assistant => row.reply(),
                _ if row.is(Flags::HAS_RESULT) => parent.map_or(0, |parent| parent.reply()),
                _ => 0,
            }
        };
        reply(a) != 0 && reply(a) == reply(b)
    }
}
