//! Step 2, duplicates: the same row again (A11), or one id on several rows (B6, B5).
//!
//! Agents let the last copy win in the first one's place (measured on all three versions): a later copy with
//! another parent cuts the history or makes a ring. So the first stays the node.

use std::io;

use uuid::Uuid;

use crate::class::Class;
use crate::flags::Flags;
use crate::index::{MINT, RowNo};
use crate::json::Outline;

use super::Mend;

impl Mend<'_> {
    pub(super) fn duplicates(&mut self) -> io::Result<()> {
        for no in self.tree.numbers() {
            let row = self.tree.row(no);
            if !row.is(Flags::REPEATED) {
                continue;
            }
            let Some(first) = self.tree.index.find(row.uuid) else { continue };
            let heard = Flags::SAYS | Flags::HAS_RESULT;
            let silent = !self.tree.row(first).flags.intersects(heard);
            if silent && row.flags.intersects(heard) && row.kind() == self.tree.row(first).kind() {
                self.found(Class::B6, no, "the first gets the message that only the later copy has");
                self.edit(first).message_of = Some(no);
                self.drop_copy(no, Class::B6);
            } else if self.tree.row(first).len == row.len && self.row_bytes(first)? == self.row_bytes(no)? {
                self.found(Class::A11, no, "the copy goes");
                self.drop_copy(no, Class::A11);
            } else if row.kind() == self.tree.row(first).kind() && self.same_message(first, no)? {
                self.found(Class::B6, no, "the first stays, the later copy goes aside");
                self.drop_copy(no, Class::B6);
            } else if self.tree.children(first).iter().any(|child| (first..no).contains(child)) {
                // The conversation had gone on from the first by then: the later one would be a second end of it.
                self.found(Class::B6, no, "the first stays, the later row goes aside");
                self.drop_copy(no, Class::B6);
            } else {
                self.found(Class::B6, no, "the later row gets an id of its own");
                self.rename_copy(first, no);
            }
        }
        Ok(())
    }

    /// A copy is nobody's parent: links go to the first.
    fn drop_copy(&mut self, no: RowNo, class: Class) {
        self.tree.gone.insert(no);
        self.dropped.insert(no, class);
    }

    fn same_message(&self, first: RowNo, copy: RowNo) -> io::Result<bool> {
        let (a, b) = (self.row_bytes(first)?, self.row_bytes(copy)?);
        let (Some(x), Some(y)) = (Outline::parse(&a), Outline::parse(&b)) else { return Ok(false) };
        let value = |outline: &Outline, bytes: &[u8]| {
            let member = outline.get("message").or_else(|| outline.get("attachment"));
            member.map(|value| bytes[value.range.clone()].to_vec())
        };
        let (x, y) = (value(&x, &a), value(&y, &b));
        Ok(x == y)
    }

    /// Another row under a used id: it gets one of its own, and those that follow it in the file go with it.
    fn rename_copy(&mut self, first: RowNo, no: RowNo) {
        let old = self.tree.row(no).uuid;
        let name = format!("{} {}", Uuid::from_u128(old), self.tree.row(no).time);
        let mut fresh = Uuid::new_v5(&MINT, name.as_bytes());
        while self.tree.index.find(fresh.as_u128()).is_some() {
            fresh = Uuid::new_v5(&MINT, fresh.as_bytes());
        }
        self.edit(no).uuid = Some((Class::B6, fresh.as_u128()));
        let mut children = self.tree.children(first);
        children.retain(|child| *child > no);
        for child in children {
            self.set_parent(child, Some(no), Class::B6);
        }
        // Agents show the later row in the first one's place. Behind it, both are seen by all of them.
        if self.tree.row(first).is(Flags::SIDECHAIN) == self.tree.row(no).is(Flags::SIDECHAIN) {
            self.set_parent(no, Some(first), Class::B6);
        } else {
            self.set_parent(no, self.tree.nearest_earlier(no), Class::B6);
        }
    }
}
