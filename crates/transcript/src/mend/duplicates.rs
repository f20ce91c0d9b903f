//! Step 2, duplicates: the same row again (A11), or one id on several rows (B6, B5).
//!
//! Agents let the last copy win in the first one's place (measured on all three versions): a later copy with
//! another parent cuts the history or makes a ring. So the first stays the node.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::io;

use uuid::Uuid;

use crate::class::Class;
use crate::flags::Flags;
use crate::index::{MINT, NONE, Row, RowNo, ToolRole};
use crate::json::Outline;
use crate::same_id::nearest_twin;
use crate::tree::Tree;

use super::row_text::{id_value, set_member};
use super::{Mend, NewRow};

impl Mend<'_> {
    /// Whether rows got ids of their own, another place, or a message from their copy: then the next round sees who follows
    /// whom, and what is said.
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
            if self.is_same(first, no)? || first != node && self.is_same(node, no)? {
                self.found(Class::A11, no, "the copy goes");
                self.drop_copy(no, Class::A11);
            } else if self.is_twin(first, no)? {
                self.found(Class::B6, no, "it gets an id of its own, and so do the rows behind it");
                twins.entry(node).or_default().push(no);
                originals.insert((node, row.time), no);
            } else if !heard(row) || original.kind() == row.kind() && self.same_content(first, no)? {
                self.found(Class::B6, no, "the first stays, the later copy goes aside");
                self.drop_copy(no, Class::B6);
            } else if !original.is(Flags::SAYS)
                && row.is(Flags::SAYS)
                && original.kind() == row.kind()
                && !self.answers_its_parent(first)
            {
                self.found(Class::B6, no, "the first gets the message that only the later copy has");
                self.edit(first).message_of = Some(no);
                has_new_words = true;
                self.drop_copy(no, Class::B6);
            } else {
                self.found(Class::B6, no, "the later row gets an id of its own, behind the first");
                others.entry(first).or_default().push(no);
            }
        }
        self.copies_without_id(&mut others)?;
        let mut minted = HashSet::new();
        let has_moved = !others.is_empty();
        for (first, copies) in others {
            self.move_copies(first, &copies, &mut minted)?;
        }
        for (first, twins) in &twins {
            self.split(*first, twins, &mut minted);
        }
        Ok(has_new_words || has_moved || !twins.is_empty())
    }

    /// Whether two rows are the same, byte for byte.
    fn is_same(&self, a: RowNo, b: RowNo) -> io::Result<bool> {
        Ok(self.tree.row(a).len == self.tree.row(b).len && self.row_bytes(a)? == self.row_bytes(b)?)
    }

    /// A copy that has lost its id: another row has its parent, its time and its message. Of two rows like that an agent
    /// would take the second for a turn of its own, beside the first. Where the message is another one, both stay, one behind
    /// the other.
    fn copies_without_id(&mut self, others: &mut BTreeMap<RowNo, Vec<RowNo>>) -> io::Result<()> {
        let is_nameless = |no: &RowNo| self.tree.row(*no).is(Flags::NO_UUID) && self.tree.row(*no).in_tree();
        if !self.tree.numbers().any(|no| is_nameless(&no)) {
            return Ok(());
        }
        let mut known: HashMap<(RowNo, Option<u128>, i64), RowNo> = HashMap::new();
        for no in self.tree.numbers().filter(|no| self.tree.is_main(*no)) {
            if !is_nameless(&no) {
                let (parent, missing) = self.named_parent(no);
                known.entry((parent, missing, self.tree.row(no).time)).or_insert(no);
            }
        }
        for no in self.tree.numbers().filter(is_nameless).collect::<Vec<_>>() {
            let row = self.tree.row(no);
            let (parent, missing) = self.named_parent(no);
            let Some(first) = known.get(&(parent, missing, row.time)).copied() else { continue };
            let other = self.tree.row(first);
            let is_turn = row.kind().is_turn() && row.kind() == other.kind() && row.time != i64::MIN;
            if is_turn && self.same_content(first, no)? || self.same_but_for_id(first, no)? {
                self.found(Class::B6, no, "the first stays, the copy without an id goes aside");
                self.drop_copy(no, Class::B6);
            } else if is_turn && row.reply() == other.reply() && no < first {
                self.found(Class::B6, first, "it follows the copy without an id, which says something else");
                self.set_parent(first, Some(no), Class::B6);
            } else if is_turn && row.reply() == other.reply() && !other.is(Flags::REPEATED) {
                self.found(Class::B6, no, "the later row gets an id of its own, behind the first");
                others.entry(first).or_default().push(no);
            }
        }
        Ok(())
    }

    /// Whether two rows differ in nothing but the id.
    fn same_but_for_id(&self, a: RowNo, b: RowNo) -> io::Result<bool> {
        let (a, b) = (self.row_bytes(a)?, self.row_bytes(b)?);
        let (Some(x), Some(y)) = (Outline::parse(&a), Outline::parse(&b)) else { return Ok(false) };
        let (x, y) = (x.members().iter(), y.members().iter());
        let x = x.filter(|it| it.key != "uuid").map(|it| (&it.key, &a[it.value.range.clone()]));
        let y = y.filter(|it| it.key != "uuid").map(|it| (&it.key, &b[it.value.range.clone()]));
        Ok(x.eq(y))
    }

    /// The row that a row names as its parent, or the id that no row has.
    fn named_parent(&self, no: RowNo) -> (RowNo, Option<u128>) {
        let dangling = &self.tree.index.dangling;
        let missing = dangling.binary_search_by_key(&no, |(row, _)| *row).ok().map(|at| dangling[at].1);
        (self.tree.row(no).parent, missing)
    }

    /// Whether a later row with a used id is another row and not the first one written again: it has a parent of its own and
    /// another time or another reply's id; or another time behind a compaction, or where the conversation had gone on from the
    /// first one; or only one of the two is a subagent's.
    fn is_twin(&mut self, first: RowNo, no: RowNo) -> io::Result<bool> {
        let (a, b) = (self.tree.row(first), self.tree.row(no));
        if a.is(Flags::SIDECHAIN) != b.is(Flags::SIDECHAIN) {
            return Ok(true);
        }
        let apart =
            self.named_parent(first) != self.named_parent(no) && self.named_parent(no) != (NONE, None);
        // A row that was written again has the reply's id of the first, also where its link or its words are broken.
        if a.reply() != 0 && b.reply() != 0 && a.reply() != b.reply() {
            return Ok(true);
        }
        if a.time == b.time {
            // A result that answers the call it follows is whole: words with the same id are another row's.
            let answer = self.answers_its_parent(first) && !b.is(Flags::HAS_RESULT)
                || self.answers_its_parent(no) && !a.is(Flags::HAS_RESULT);
            return Ok(apart && answer);
        }
        // A boundary that is there twice begins nothing new.
        let segment = |no: RowNo| {
            let boundary = self.tree.segment(no);
            self.tree
                .index
                .row_at(boundary)
                .map_or(boundary, |row| self.tree.index.find(row.uuid).unwrap_or(boundary))
        };
        // A copy that has only lost its time is no other row.
        let undated = a.time == i64::MIN || b.time == i64::MIN;
        if undated && !apart && a.kind() == b.kind() && self.same_content(first, no)? {
            return Ok(false);
        }
        if apart || segment(first) != segment(no) {
            return Ok(true);
        }
        // Two prompts on one row: the user went back.
        let prompts = self.tree.is_prompt(first) && self.tree.is_prompt(no);
        if !prompts || self.named_parent(no) == (NONE, None) || self.same_content(first, no)? {
            return Ok(false);
        }
        let next = *self
            .first_children
            .entry(first)
            .or_insert_with(|| self.tree.children(first).into_iter().find(|child| *child > first));
        Ok(next.is_some_and(|child| child < no))
    }

    /// Whether a row has the result of a call that its parent makes.
    fn answers_its_parent(&self, no: RowNo) -> bool {
        let makes = |id: u64| {
            let parent = self.tree.row(no).parent;
            parent != NONE
                && self
                    .tree
                    .index
                    .tools_of(parent)
                    .iter()
                    .any(|tool| tool.role == ToolRole::Call && tool.id == id)
        };
        let mut tools = self.tree.index.tools_of(no).iter();
        tools.any(|tool| tool.role == ToolRole::Result && makes(tool.id))
    }

    /// Gives twins ids of their own. A row that names the id means the twin that was written last before it.
    fn split(&mut self, first: RowNo, twins: &[RowNo], minted: &mut HashSet<u128>) {
        let ids: Vec<u128> =
            twins.iter().map(|no| self.mint(self.tree.row(first).uuid, *no, minted)).collect();
        for (no, id) in twins.iter().zip(&ids) {
            self.edit(*no).uuid = Some((Class::B6, *id));
        }
        let rows: Vec<RowNo> = [&[first], twins].concat();
        let new: HashMap<RowNo, u128> = twins.iter().copied().zip(ids).collect();
        let meant = |tree: &Tree<'_>, no: RowNo| {
            let before = rows.partition_point(|twin| *twin < no);
            nearest_twin(tree, no, &rows[..before]).and_then(|twin| new.get(&twin).copied())
        };
        for child in self.tree.children(first) {
            if let Some(id) = meant(&self.tree, child) {
                self.edit(child).parent = Some((Class::B6, Some(id)));
            }
        }
        if let Some(checkpoint) = self.tree.index.checkpoint
            && checkpoint.leaf == Some(self.tree.row(first).uuid)
            && let Some(id) = meant(&self.tree, checkpoint.row)
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
