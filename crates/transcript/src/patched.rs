//! A file with rows that were damaged where they stood: what an older copy of it still has of them.
//!
//! A power cut leaves NUL bytes in the place of a row, and an editor or a sync client empties one. Their ids prove where they
//! belong, so such rows are taken from the older copy before anything is invented for them.

use std::collections::HashMap;

use crate::facts::Kind;
use crate::flags::Flags;
use crate::index::{Row, RowNo, ToolRole};
use crate::json::Outline;
use crate::scan::Transcript;

/// A change to the newer file's bytes.
struct Splice {
    from: usize,
    to: usize,
    bytes: Vec<u8>,
}

/// The newer file with the rows of the older copy that were emptied in place, and with results of tool calls that vanished
/// while their calls are there. Nothing where there are none.
pub(crate) fn patched(old: &Transcript<&[u8]>, new: &Transcript<&[u8]>, newer: &[u8]) -> Option<Vec<u8>> {
    let there: HashMap<u128, &Row> = new.index.rows.iter().rev().map(|row| (row.uuid, row)).collect();
    let mut splices = Vec::new();
    // Where a vanished row stood: behind the line of the row that came before it.
    let mut behind = 0;
    for (no, row) in (0..).zip(&old.index.rows) {
        if row.uuid == 0 || row.is(Flags::NO_UUID) {
            continue;
        }
        match there.get(&row.uuid) {
            Some(now) => {
                let (from, to) = range(now);
                splices.extend(filled(old.bytes_of(row), row, new.bytes_of(now), now).map(|splice| Splice {
                    from: from + splice.from,
                    to: from + splice.to,
                    bytes: splice.bytes,
                }));
                behind = end_of_line(newer, to);
            }
            None if is_missed(old, no, new) => {
                let ended = behind == 0 || newer.get(behind - 1) == Some(&b'\n');
                let line = [if ended { &b""[..] } else { b"\n" }, old.bytes_of(row), b"\n"].concat();
                splices.push(Splice { from: behind, to: behind, bytes: line });
            }
            None => {}
        }
    }
    if splices.is_empty() {
        return None;
    }
    splices.sort_by_key(|splice| splice.from);
    let mut bytes = Vec::with_capacity(newer.len());
    let mut at = 0;
    for splice in splices {
        bytes.extend_from_slice(newer.get(at..splice.from)?);
        bytes.extend_from_slice(&splice.bytes);
        at = splice.to;
    }
    bytes.extend_from_slice(newer.get(at..)?);
    Some(bytes)
}

fn range(row: &Row) -> (usize, usize) {
    let from = usize::try_from(row.offset).unwrap_or(usize::MAX);
    (from, from.saturating_add(row.len as usize))
}

fn end_of_line(bytes: &[u8], at: usize) -> usize {
    let rest = bytes.get(at..).unwrap_or_default();
    memchr::memchr(b'\n', rest).map_or(bytes.len(), |end| at + end + 1)
}

/// Whether a result is gone whose call is there and has no other: a repair would have to invent one.
fn is_missed(old: &Transcript<&[u8]>, no: RowNo, new: &Transcript<&[u8]>) -> bool {
    let row = &old.index.rows[no as usize];
    if row.kind() != Kind::User || !row.is(Flags::HAS_RESULT) {
        return false;
    }
    let pairs = new.index.pairs();
    let has = |list: &[(u64, RowNo)], id: u64| list.binary_search_by_key(&id, |(known, _)| *known).is_ok();
    let results = old.index.tools_of(no).iter().filter(|tool| tool.role == ToolRole::Result);
    let mut missed = results.map(|tool| has(&pairs.calls, tool.id) && !has(&pairs.results, tool.id));
    missed.next().is_some_and(|first| first && missed.all(|other| other))
}

/// What a row that lost what it said has to get back: all of the old row, or its content where the link is another one.
fn filled(old_bytes: &[u8], old: &Row, new_bytes: &[u8], new: &Row) -> Option<Splice> {
    if old_bytes == new_bytes || !old.kind().is_turn() || old.kind() != new.kind() {
        return None;
    }
    let (old, new) = (Outline::parse(old_bytes)?, Outline::parse(new_bytes)?);
    let content = |row: &Outline| row.get("message").and_then(|message| message.get("content")).cloned();
    let said = content(&old)?;
    let left = content(&new);
    let emptied = match &left {
        None => says(&said, old_bytes),
        Some(left) if left.items().len() == said.items().len() && !said.items().is_empty() => {
            let mut blocks = said.items().iter().zip(left.items());
            blocks.any(|(said, left)| says(said, old_bytes) && !says(left, new_bytes))
        }
        Some(left) => says(&said, old_bytes) && !says(left, new_bytes),
    };
    if !emptied {
        return None;
    }
    let parent = |row: &Outline, bytes: &[u8]| row.get("parentUuid").and_then(|id| id.text(bytes));
    if parent(&old, old_bytes) == parent(&new, new_bytes) {
        return Some(Splice { from: 0, to: new_bytes.len(), bytes: old_bytes.to_vec() });
    }
    let range = left?.range;
    Some(Splice { from: range.start, to: range.end, bytes: old_bytes.get(said.range)?.to_vec() })
}

/// Whether a content, or a block of one, holds anything.
fn says(content: &Outline, bytes: &[u8]) -> bool {
    if let Some(text) = content.text(bytes) {
        return !text.trim().is_empty();
    }
    if !content.is_object() {
        return content.items().iter().any(|block| says(block, bytes));
    }
    let is = |kind: &str| content.get("type").is_some_and(|it| it.is_text(bytes, kind));
    let field = |name: &str| content.get(name).is_some_and(|value| says(value, bytes));
    if is("text") {
        field("text")
    } else if is("tool_result") {
        field("content")
    } else {
        content.get("type").is_some()
    }
}
