//! Step 8, the request: what the API would refuse on every further turn (class C), and rows no agent can read (A8).

use std::collections::HashMap;
use std::io;

use crate::class::Class;
use crate::facts::Kind;
use crate::flags::Flags;
use crate::index::RowNo;
use crate::tree::RowSet;

use super::Mend;

/// The API takes requests up to 32 MB; the system prompt and the tools need room too.
const LARGEST_REQUEST: u64 = 30 << 20;
/// What is left of one that was too large: room for a day's work before it happens again.
const ROOM_AFTER: u64 = 20 << 20;
/// No picture may have a longer side, and with many pictures none longer than `SIDE_AMONG_MANY`.
const LONGEST_SIDE: u32 = 8_000;
const SIDE_AMONG_MANY: u32 = 2_000;
const MANY_PICTURES: usize = 20;

/// What the API refuses in a message.
const REFUSED: Flags = Flags::LONE_SURROGATE
    .and(Flags::NUL_ESCAPE)
    .and(Flags::BAD_THINKING)
    .and(Flags::EMPTY_TEXT)
    .and(Flags::NO_BLOCKS)
    .and(Flags::BAD_IMAGE);

impl Mend<'_> {
    pub(super) fn request(&mut self, leaf: Option<RowNo>) -> io::Result<()> {
        self.malformed();
        let Some(leaf) = leaf else { return Ok(()) };
        let walk = self.tree.walk(leaf);
        let request = self.tree.request(&walk);
        let odd = |no: &RowNo| request.contains(*no) && self.tree.row(*no).flags.intersects(REFUSED);
        let refused: Vec<RowNo> = self.tree.numbers().filter(odd).collect();
        if !refused.is_empty() {
            let mut replies: HashMap<u32, Vec<RowNo>> = HashMap::new();
            for no in &walk {
                replies.entry(self.tree.row(*no).reply()).or_default().push(*no);
            }
            for no in refused {
                let parts = replies.get(&self.tree.row(no).reply()).map(Vec::as_slice).unwrap_or_default();
                self.refused_blocks(no, parts);
            }
        }
        self.pairs(&walk, &request)?;
        self.large_pictures(&request);
        self.large_request(&request)?;
        self.emptied(&walk)?;
        let walk = self.tree.walk(leaf);
        self.first_speaker(&walk)?;
        self.too_long(&walk)
    }

    /// A8: one row without a message keeps 2.1.31 and 2.1.100 from resuming at all, wherever it stands (measured).
    /// It stays as a placeholder even where nothing follows: it may be where the user went back.
    fn malformed(&mut self) {
        for no in self.tree.numbers() {
            let row = self.tree.row(no);
            if !row.is(Flags::MALFORMED) || !row.in_tree() || self.tree.is_gone(no) {
                continue;
            }
            if row.kind() == Kind::Attachment {
                self.found(Class::A8, no, "the row goes aside");
                self.drop_row(no, Class::A8);
            } else if row.kind().is_turn() {
                self.found(Class::A8, no, "its shape is mended; what cannot be read becomes a placeholder");
                let fixes = &mut self.edit(no).fixes;
                fixes.add(Class::A8);
                fixes.keep_turn = true;
            }
        }
    }

    /// `parts` are the rows of the walk with the same reply.
    fn refused_blocks(&mut self, no: RowNo, parts: &[RowNo]) {
        let row = self.tree.row(no);
        // A message that comes from a copy is mended in the next round, when it stands there.
        let replaced = self.edits.get(&no).is_some_and(|edit| edit.message_of.is_some());
        if !row.kind().is_turn() || row.is(Flags::API_ERROR) || replaced {
            return;
        }
        let checks = [
            (Flags::LONE_SURROGATE, Class::A9, "it becomes U+FFFD"),
            (Flags::NUL_ESCAPE, Class::C9, "it becomes U+FFFD"),
            (Flags::BAD_THINKING, Class::C4, "the block goes"),
            (Flags::EMPTY_TEXT, Class::C5, "the empty text goes, or says (no content)"),
            (Flags::NO_BLOCKS, Class::C5, "it says (no content)"),
            (Flags::BAD_IMAGE, Class::C6, "a line of text takes its place"),
        ];
        let mut any = false;
        for (flag, class, repair) in checks {
            if row.is(flag) {
                self.found(class, no, repair);
                self.edit(no).fixes.add(class);
                any = true;
            }
        }
        if any {
            let others = row.reply() != 0 && parts.iter().any(|part| *part != no);
            // A turn must not vanish; a part of one, or nothing but broken thoughts, may.
            let only_thoughts = row.is(Flags::BAD_THINKING) && !row.is(Flags::EMPTY_TEXT);
            let keep = !others && !only_thoughts && !row.is(Flags::HAS_RESULT);
            self.edit(no).fixes.keep_turn |= keep;
        }
    }

    /// C7.
    fn large_pictures(&mut self, request: &RowSet) {
        let seen: Vec<(RowNo, u32)> =
            self.tree.index.pictures.iter().copied().filter(|(no, _)| request.contains(*no)).collect();
        let mut left = seen.len();
        for (no, side) in seen {
            let limit = if side > LONGEST_SIDE {
                LONGEST_SIDE
            } else if left > MANY_PICTURES && side > SIDE_AMONG_MANY {
                SIDE_AMONG_MANY
            } else {
                continue;
            };
            left -= 1;
            self.found(Class::C7, no, "a line of text takes its place");
            let fixes = &mut self.edit(no).fixes;
            fixes.add(Class::C7);
            fixes.longest_side = Some(fixes.longest_side.map_or(limit, |other| other.min(limit)));
        }
    }

    /// C8: pictures and documents go, oldest first, until the request is small again.
    fn large_request(&mut self, request: &RowSet) -> io::Result<()> {
        let mut size: u64 = self
            .tree
            .numbers()
            .filter(|no| request.contains(*no) && self.tree.row(*no).kind().is_turn())
            .map(|no| u64::from(self.tree.row(no).len))
            .sum();
        let payloads = &self.tree.index.payloads;
        if size <= LARGEST_REQUEST || payloads.is_empty() {
            return Ok(());
        }
        // A row also holds what is not sent (`toolUseResult` repeats a picture): measure what is.
        size = 0;
        let mut facts = crate::facts::Facts::default();
        for no in
            self.tree.numbers().filter(|no| request.contains(*no) && self.tree.row(*no).kind().is_turn())
        {
            let bytes = self.row_bytes(no)?;
            if facts.read(&bytes).is_some() {
                size += facts.message_len as u64;
            }
        }
        if size <= LARGEST_REQUEST {
            return Ok(());
        }
        for (no, bytes) in payloads {
            if size <= ROOM_AFTER {
                break;
            }
            if request.contains(*no) && self.tree.is_main(*no) {
                size = size.saturating_sub(u64::from(*bytes));
                self.found(Class::C8, *no, "a line of text takes the place of the payload");
                self.edit(*no).fixes.add(Class::C8);
            }
        }
        Ok(())
    }

    /// Rows of which nothing would be left go, and their children hang on their parents.
    fn emptied(&mut self, walk: &[RowNo]) -> io::Result<()> {
        let marked: Vec<RowNo> =
            self.edits.iter().filter(|(_, edit)| !edit.fixes.classes.is_empty()).map(|(no, _)| *no).collect();
        for no in marked {
            let bytes = self.row_bytes(no)?;
            let Some(edit) = self.edits.get(&no) else { continue };
            if edit.fixes.apply(&bytes) != Some(super::message::Mended::Emptied) {
                continue;
            }
            let class = edit.fixes.classes.first().copied().unwrap_or(Class::C5);
            let is_leaf = walk.first() == Some(&no);
            if is_leaf && self.tree.parent[no as usize] == crate::index::NONE {
                self.edit(no).fixes.keep_turn = true; // the only row of a conversation stays
            } else {
                self.edits.remove(&no);
                self.drop_row(no, class);
            }
        }
        Ok(())
    }

    /// C11: the agent itself said that nothing fits any more.
    fn too_long(&mut self, walk: &[RowNo]) -> io::Result<()> {
        for no in walk.iter().copied().take(8).filter(|no| self.tree.row(*no).is(Flags::API_ERROR)) {
            if memchr::memmem::find(&self.row_bytes(no)?, b"Prompt is too long").is_some() {
                self.found(Class::C11, no, "`repair --last TURNS` makes a copy of the last turns");
                break;
            }
        }
        Ok(())
    }
}
