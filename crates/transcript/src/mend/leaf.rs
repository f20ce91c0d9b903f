//! Step 7, the leaf (B8): older agents resume at the newest row, newer ones at the last row or the checkpoint of a
//! `last-prompt` row. After a repair all of them mean the same turn.

use std::io;

use crate::class::Class;
use crate::facts::Kind;
use crate::flags::Flags;
use crate::index::RowNo;
use crate::json::{Outline, encode};
use crate::tree::RowSet;

use super::row_text::id_value;
use super::{Mend, NewRow};

/// A time this far ahead of the conversation's end is wrong itself. Were the last row lifted above it, everything
/// written until then would be lost again.
const FAR_AHEAD: i64 = 3_600_000;
/// So many wrong times are believed of any file; of a long one an eighth.
const FEW: usize = 2;

impl Mend<'_> {
    /// The row a resume should end at: the branch the user chose, else what the tree says.
    pub(super) fn live_end(&self) -> Option<RowNo> {
        self.options.branch.or_else(|| self.tree.live_end(|no| self.time_of(no)))
    }

    /// Makes the ways to choose a leaf agree. Returns the leaf, or `None` where there is no conversation.
    pub(super) fn leaf(&mut self) -> io::Result<Option<RowNo>> {
        let Some(end) = self.live_end() else { return Ok(None) };
        let checkpoint = self.tree.index.checkpoint;
        let named = checkpoint.and_then(|it| it.leaf).and_then(|id| self.tree.index.find(id));
        let named = named.filter(|named| self.tree.is_main(*named));
        if let Some(checkpoint) = checkpoint.filter(|it| it.explicit && it.row > end)
            && self.options.branch.is_none()
            && (checkpoint.leaf.is_none() || named.is_some())
        {
            // The user went back on purpose and has said nothing since: nothing to mend.
            return Ok(named.and_then(|back| self.tree.climb(back)));
        }
        let Some(leaf) = self.tree.climb(end) else { return Ok(None) };
        let is_last = self.tree.last_row() == Some(end);
        if is_last {
            self.trailing_rows(end);
        }
        self.agree_with_newest(leaf, end);
        if let Some(checkpoint) = checkpoint {
            // One that the user made by going back is binding, even for what follows from it; so is any where the
            // last row of the file is elsewhere.
            let binding = checkpoint.explicit || !is_last;
            let stuck = binding && named.and_then(|named| self.tree.climb(named)) != Some(leaf);
            // A row beside the conversation is no place to resume: the newest agents would find none at all.
            let beside = named.is_none() && checkpoint.leaf.and_then(|id| self.tree.index.find(id)).is_some();
            if stuck || beside || self.tree.other_checkpoint(end).is_some() {
                self.found(Class::B8, checkpoint.row, "the checkpoint names the last turn");
                let end_id = self.uuid_of(end);
                self.edit(checkpoint.row).leaf = Some((Class::B8, end_id));
            }
        } else if !is_last && self.tree.last_row().is_some_and(|last| !self.tree.descends(last, end)) {
            self.add_checkpoint(end)?;
        }
        Ok(Some(leaf))
    }

    /// The newest agents climb from the very last row, system rows included; older ones take the newest of any kind.
    /// One that hangs elsewhere would hide the end of the conversation.
    fn trailing_rows(&mut self, last: RowNo) {
        // Turns behind it lead to it, or are of another branch, which is not ours to join.
        let mut way = RowSet::default();
        for no in self.tree.walk(last) {
            way.insert(no);
        }
        let astray = |no: &RowNo| {
            self.tree.is_main(*no) && self.tree.row(*no).kind() == Kind::System && !way.contains(*no)
        };
        let behind: Vec<RowNo> = (last + 1..self.tree.numbers().end).filter(astray).collect();
        for no in behind {
            if self.tree.row(no).is(Flags::COMPACT_BOUNDARY) {
                // What follows one begins anew: it never follows a row itself.
                if self.tree.children(no).is_empty() {
                    self.found(Class::B9, no, "the compaction that never came about goes aside");
                    self.drop_row(no, Class::B9);
                }
            } else if self.tree.misses(no, last) {
                self.found(Class::B8, no, "it follows the last row");
                self.set_parent(no, Some(last), Class::B8);
            }
        }
    }

    /// Older agents take the newest row of any kind. Where that leads elsewhere, the last row becomes the newest.
    fn agree_with_newest(&mut self, leaf: RowNo, last: RowNo) {
        let Some(newest) = self.newest_elsewhere(leaf) else { return };
        if self.time_of(newest) - self.time_of(last) > FAR_AHEAD {
            self.lower_times(last);
        }
        if let Some(newest) = self.newest_elsewhere(leaf) {
            let time = self.time_of(newest) + 1;
            self.found(Class::B8, last, "the last row becomes the newest");
            self.edit(last).time = Some((Class::B8, time));
        }
    }

    /// The newest row, if a resume from there misses something that the leaf reaches.
    fn newest_elsewhere(&self, leaf: RowNo) -> Option<RowNo> {
        let newest = self.tree.newest_row(|no| self.time_of(no))?;
        self.tree.misses(newest, leaf).then_some(newest)
    }

    /// Gives the few rows whose time lies ahead of the last row's the time of the row before them.
    fn lower_times(&mut self, last: RowNo) {
        let end = self.time_of(last);
        let dated: Vec<RowNo> =
            self.tree.numbers().filter(|no| *no != last && self.tree.is_dated(*no)).collect();
        let ahead = dated.iter().filter(|no| self.time_of(**no) >= end).count();
        if ahead > FEW.max(dated.len() / 8) {
            return; // then it is the last row's time that is wrong
        }
        let mut before =
            dated.iter().map(|no| self.time_of(*no)).filter(|time| *time < end).min().unwrap_or(end - 1);
        for no in dated {
            if self.time_of(no) < end {
                before = self.time_of(no);
            } else {
                self.found(Class::B8, no, "it gets the time of the row before it");
                self.edit(no).time = Some((Class::B8, before));
            }
        }
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
}
