//! Step 2, duplicates: the same row again (A11), or one id on several rows (B6, B5).
//!
//! Agents let the last copy win in the first one's place (measured on all three versions): a later copy with
//! another parent cuts the history or makes a ring. So the first stays the node.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::io;

use uuid::Uuid;

use crate::class::Class;
use crate::flags::Flags;
use crate::index::{MINT, NONE, Row, RowNo};
use crate::json::Outline;

use super::row_text::{id_value, set_member};
use super::{Mend, NewRow};

impl Mend<'_> {
    /// Whether rows got ids of their own, or a message from their copy: then the next round sees who follows whom, and what
    /// is said.
    pub(super) fn duplicates(&mut self) -> io::Result<bool> {
        let mut others: BTreeMap<RowNo, Vec<RowNo>> = BTreeMap::new();
        let mut twins: BTreeMap<RowNo, Vec<RowNo>> = BTreeMap::new();
        let mut originals: HashMap<(RowNo, i64), RowNo> = HashMap::new();
        let mut has_new_words = false;
        for no in self.tree.numbers() {
            let row = self.tree.row(no);
            if !row.is(Flags::REPEATED) {
                continue;
            }
            let Some(node) = self.tree.index.find(row.uuid) else { continue };
            // A twin may have copies of its own.
            let first = originals.get(&(node, row.time)).copied().unwrap_or(node);
            let original = self.tree.row(first);
            let heard = |row: &Row| row.flags.intersects(Flags::SAYS | Flags::HAS_RESULT);
            if original.len == row.len && self.row_bytes(first)? == self.row_bytes(no)? {
                self.found(Class::A11, no, "the copy goes");
                self.drop_copy(no, Class::A11);
            } else if self.is_twin(first, no) {
                self.found(Class::B6, no, "it gets an id of its own, and so do the rows behind it");
                twins.entry(node).or_default().push(no);
                originals.insert((node, row.time), no);
            } else if !heard(row) || original.kind() == row.kind() && self.same_content(first, no)? {
                self.found(Class::B6, no, "the first stays, the later copy goes aside");
                self.drop_copy(no, Class::B6);
            } else if !original.is(Flags::SAYS) && row.is(Flags::SAYS) && original.kind() == row.kind() {
                self.found(Class::B6, no, "the first gets the message that only the later copy has");
                self.edit(first).message_of = Some(no);
                has_new_words = true;
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
        for (first, twins) in &twins {
            self.split(*first, twins, &mut minted);
        }
        Ok(has_new_words || !twins.is_empty())
    }

    /// Whether a later row with a used id is another row and not the first one written again: it has a time and a parent
    /// of its own, or stands behind a compaction.
    fn is_twin(&self, first: RowNo, no: RowNo) -> bool {
        let (a, b) = (self.tree.row(first), self.tree.row(no));
        let named = |no: RowNo, row: &Row| {
            let dangling = &self.tree.index.dangling;
            let missing = dangling.binary_search_by_key(&no, |(row, _)| *row).ok().map(|at| dangling[at].1);
            (row.parent, missing)
        };
        let apart = named(first, a) != named(no, b) && named(no, b) != (NONE, None);
        // A boundary that is there twice begins nothing new.
        let segment = |no: RowNo| {
            let boundary = self.tree.segment(no);
            self.tree
                .index
                .row_at(boundary)
                .map_or(boundary, |row| self.tree.index.find(row.uuid).unwrap_or(boundary))
        };
        a.time != b.time && (apart || segment(first) != segment(no))
    }

    /// Gives twins ids of their own. A row that names the id means the twin that was written last before it.
    fn split(&mut self, first: RowNo, twins: &[RowNo], minted: &mut HashSet<u128>) {
        let ids: Vec<u128> =
            twins.iter().map(|no| self.mint(self.tree.row(first).uuid, *no, minted)).collect();
        for (no, id) in twins.iter().zip(&ids) {
            self.edit(*no).uuid = Some((Class::B6, *id));
        }
        let meant = |no: RowNo| twins.partition_point(|twin| *twin < no).checked_sub(1).map(|at| ids[at]);
        for child in self.tree.children(first) {
            if let Some(id) = meant(child) {
                self.edit(child).parent = Some((Class::B6, Some(id)));
            }
        }
        if let Some(checkpoint) = self.tree.index.checkpoint
            && checkpoint.leaf == Some(self.tree.row(first).uuid)
            && let Some(id) = meant(checkpoint.row)
        {
            self.edit(checkpoint.row).leaf = Some((Class::B6, id));
        }
    }

    /// An id that no row has, the same at every run.
    fn mint(&self, old: u128, no: RowNo, minted: &mut HashSet<u128>) -> u128 {
        let name = format!("{} {}", Uuid::from_u128(old), self.tree.row(no).time);
        let mut fresh = Uuid::new_v5(&MINT, name.as_bytes());
        while self.tree.index.find(fresh.as_u128()).is_some() || !minted.insert(fresh.as_u128()) {
            fresh = Uuid::new_v5(&MINT, fresh.as_bytes());
        }
        fresh.as_u128()
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
            let fresh = self.mint(parent, *no, minted);
            let with_id = set_member(&self.row_bytes(*no)?, "uuid", &id_value(Some(fresh)));
            let moved = with_id.and_then(|bytes| set_member(&bytes, "parentUuid", &id_value(Some(parent))));
            if let Some(bytes) = moved {
                self.added.entry(first).or_default().push(NewRow { class: Class::B6, bytes });
                parent = fresh;
            }
            self.drop_copy(*no, Class::B6);
        }
        for child in self.tree.children(first).into_iter().filter(|child| *child != first) {
            self.edit(child).parent.get_or_insert((Class::B6, Some(parent)));
        }
        Ok(())
    }
}
