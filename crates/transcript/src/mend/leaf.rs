//! Step 7, the leaf (B8): older agents resume at the newest row, newer ones at the last row or the checkpoint of a
//! `last-prompt` row. After a repair all of them mean the same turn.

use std::io;

use crate::class::Class;
use crate::flags::Flags;
use crate::index::RowNo;
use crate::json::{Outline, encode};
use crate::tree::RowSet;

use super::row_text::id_value;
use super::{Mend, NewRow};

impl Mend<'_> {
    /// The row a resume should end at: the branch the user chose, else what the tree says.
    pub(super) fn live_end(&self) -> Option<RowNo> {
        self.options.branch.or_else(|| self.tree.live_end(|no| self.time_of(no)))
    }

    /// Makes the ways to choose a leaf agree. Returns the leaf, or `None` where there is no conversation.
    pub(super) fn leaf(&mut self) -> io::Result<Option<RowNo>> {
        let Some(end) = self.live_end() else { return Ok(None) };
        let checkpoint = self.tree.index.checkpoint;
        if let Some(checkpoint) = checkpoint.filter(|checkpoint| checkpoint.explicit)
            && self.options.branch.is_none()
            && checkpoint.row > end
        {
            // The user went back on purpose and has said nothing since: nothing to mend.
            let back = checkpoint.leaf.and_then(|id| self.tree.index.find(id));
            return Ok(back.and_then(|back| self.tree.climb(back)));
        }
        let Some(leaf) = self.tree.climb(end) else { return Ok(None) };
        self.agree_with_newest(leaf, end);
        if let Some(checkpoint) = checkpoint {
            if self.tree.other_checkpoint(end).is_some() {
                self.found(Class::B8, checkpoint.row, "the checkpoint names the last turn");
                let end_id = self.uuid_of(end);
                self.edit(checkpoint.row).leaf = Some((Class::B8, end_id));
            }
        } else if self.tree.last_row().is_some_and(|last| !self.tree.descends(last, end)) {
            self.add_checkpoint(end)?;
        }
        Ok(Some(leaf))
    }

    /// A chosen branch that is not the last in the file needs a checkpoint, or newer agents would not see it.
    fn add_checkpoint(&mut self, end: RowNo) -> io::Result<()> {
        let Some(last) = self.tree.numbers().next_back() else { return Ok(()) };
        let model = self.row_bytes(end)?;
        let session =
            Outline::parse(&model).and_then(|row| row.get("sessionId")?.text(&model)).unwrap_or_default();
        let mut bytes = br#"{"type":"last-prompt","leafUuid":"#.to_vec();
        bytes.extend(id_value(Some(self.uuid_of(end))));
        bytes.extend_from_slice(br#","sessionId":"#);
        bytes.extend(encode(&session));
        bytes.push(b'}');
        self.found(Class::B8, end, "a checkpoint that names it is added");
        self.added.entry(last).or_default().push(NewRow { class: Class::B8, bytes });
        Ok(())
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
            says && !self.tree.shares_reply(newest, no)
        });
        if loses {
            let time = self.time_of(newest) + 1;
            self.found(Class::B8, last, "the last row becomes the newest");
            self.edit(last).time = Some((Class::B8, time));
        }
    }
}
