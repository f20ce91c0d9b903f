//! Copies of a conversation: under another id, or only its last turns.

use std::io;

use crate::branches::is_prompt;
use crate::json::{Outline, encode};
use crate::scan::{AsSource, Transcript};
use crate::tree::Tree;

/// Gives every row of session `old` the id `new`; everything else stays byte for byte.
pub fn rename_session(bytes: &[u8], old: &str, new: &str) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len());
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        let value = if old.is_empty() || memchr::memmem::find(line, old.as_bytes()).is_none() {
            None
        } else {
            let outline = Outline::parse(line);
            let id = outline.as_ref().and_then(|row| row.get("sessionId"));
            id.filter(|id| id.is_text(line, old)).map(|id| id.range.clone())
        };
        match value {
            Some(range) => {
                out.extend_from_slice(&line[..range.start]);
                out.extend(encode(new));
                out.extend_from_slice(&line[range.end..]);
            }
            None => out.extend_from_slice(line),
        }
    }
    out
}

impl<S: AsSource> Transcript<S> {
    /// The rows of the last turns alone, cut before a prompt, which becomes the first row (C11).
    ///
    /// # Errors
    /// Rows cannot be read again.
    pub fn last_turns(&self, turns: u64) -> io::Result<Vec<u8>> {
        let tree = Tree::new(&self.index);
        let walk = tree.live_end(|no| tree.row(no).time).map(|end| tree.walk(end)).unwrap_or_default();
        let prompts = walk.iter().copied().filter(|no| is_prompt(&tree, *no));
        let first = prompts.take(usize::try_from(turns.max(1)).unwrap_or(usize::MAX)).last();
        let mut out = Vec::new();
        let Some(first) = first else { return Ok(out) };
        let request = tree.request(&walk);
        for no in tree.numbers().skip_while(|no| *no < first).filter(|no| request.contains(*no)) {
            let row = tree.row(no);
            let bytes = self.row_bytes(row)?;
            let cut = no == first;
            let parent = Outline::parse(&bytes).and_then(|row| Some(row.get("parentUuid")?.range.clone()));
            match parent.filter(|_| cut) {
                Some(range) => {
                    out.extend_from_slice(&bytes[..range.start]);
                    out.extend_from_slice(b"null");
                    out.extend_from_slice(&bytes[range.end..]);
                }
                None => out.extend_from_slice(&bytes),
            }
            out.push(b'\n');
        }
        Ok(out)
    }
}
