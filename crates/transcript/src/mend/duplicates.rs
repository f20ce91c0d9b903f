//! Step 2, duplicates: the same row again (A11), or one id on several rows (B6, B5).
//!
//! Agents let the last copy win in the first one's place (measured on all three versions): a later copy with
//! another parent cuts the history or makes a ring. So the first stays the node.

use std::collections::{BTreeMap, HashSet};
use std::io;

use uuid::Uuid;

use crate::class::Class;
use crate::flags::Flags;
use crate::index::{MINT, Row, RowNo};
use crate::json::Outline;

use super::row_text::{id_value, set_member};
use super::{Mend, NewRow};

impl Mend<'_> {
    pub(super) fn duplicates(&mut self) -> io::Result<()> {
        let mut others: BTreeMap<RowNo, Vec<RowNo>> = BTreeMap::new();
        for no in self.tree.numbers() {
            let row = self.tree.row(no);
            if !row.is(Flags::REPEATED) {
                continue;
            }
            let Some(first) = self.tree.index.find(row.uuid) else { continue };
            let original = self.tree.row(first);
            let heard = |row: &Row| row.flags.intersects(Flags::SAYS | Flags::HAS_RESULT);
            if original.len == row.len && self.row_bytes(first)? == self.row_bytes(no)? {
                self.found(Class::A11, no, "the copy goes");
                self.drop_copy(no, Class::A11);
            } else if !heard(row) || original.kind() == row.kind() && self.same_content(first, no)? {
                self.found(Class::B6, no, "the first stays, the later copy goes aside");
                self.drop_copy(no, Class::B6);
            } else if !original.is(Flags::SAYS) && row.is(Flags::SAYS) && original.kind() == row.kind() {
                self.found(Class::B6, no, "the first gets the message that only the later copy has");
                self.edit(first).message_of = Some(no);
                self.drop_copy(no, Class::B6);
            } else {
                self.found(Class::B6, no, "the later row gets an id of its own, behind the first");
                others.entry(first).or_default().push(no);
            }
        }
        let mut minted = HashSet::new();
        for (first, copies) in others {
            self.move_copies(first, &copies, &mut minted)?;
        }
        Ok(())
    }

    /// A copy is nobody's parent: links go to the first.
    fn drop_copy(&mut self, no: RowNo, class: Class) {
        self.tree.remove(no);
        self.dropped.insert(no, class);
    }

    /// Whether both say the same; usage figures and the like are written again when they change.
    fn same_content(&self, first: RowNo, copy: RowNo) -> io::Result<bool> {
        let (a, b) = (self.row_bytes(first)?, self.row_bytes(copy)?);
        let (Some(x), Some(y)) = (Outline::parse(&a), Outline::parse(&b)) else { return Ok(false) };
        let content = |outline: &Outline, bytes: &[u8]| {
            let content = outline.get("message").and_then(|message| message.get("content"));
            content.map(|value| bytes[value.range.clone()].to_vec())
        };
        let (x, y) = (content(&x, &a), content(&y, &b));
        Ok(x == y)
    }

    /// Other rows under a used id. Agents show the last in the first one's place and follow the id's children: moved
    /// right behind the first, all are seen and no child is lost.
    fn move_copies(&mut self, first: RowNo, copies: &[RowNo], minted: &mut HashSet<u128>) -> io::Result<()> {
        let mut parent = self.tree.row(first).uuid;
        for no in copies {
            let name = format!("{} {}", Uuid::from_u128(parent), self.tree.row(*no).time);
            let mut fresh = Uuid::new_v5(&MINT, name.as_bytes());
            while self.tree.index.find(fresh.as_u128()).is_some() || !minted.insert(fresh.as_u128()) {
                fresh = Uuid::new_v5(&MINT, fresh.as_bytes());
            }
            let with_id = set_member(&self.row_bytes(*no)?, "uuid", &id_value(Some(fresh.as_u128())));
            let moved = with_id.and_then(|bytes| set_member(&bytes, "parentUuid", &id_value(Some(parent))));
            if let Some(bytes) = moved {
                self.added.entry(first).or_default().push(NewRow { class: Class::B6, bytes });
                parent = fresh.as_u128();
            }
            self.drop_copy(*no, Class::B6);
        }
        for child in self.tree.children(first).into_iter().filter(|child| *child != first) {
            self.edit(child).parent.get_or_insert((Class::B6, Some(parent)));
        }
        Ok(())
    }
}
