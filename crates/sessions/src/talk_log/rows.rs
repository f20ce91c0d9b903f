//! What the transcript has for a log: the agent's words, its tool calls and their results, from where the log ends.

use std::io::{BufRead, BufReader, Seek, SeekFrom};
use std::path::Path;

use jiff::Timestamp;
use serde_json::Value;

/// A row that is larger is no message of an agent.
const LARGEST_ROW: u64 = 64 << 20;

/// Where a log ends.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct LastRow {
    /// The row.
    pub(super) uuid: String,
    /// Where it began in the transcript then: a repair may have moved it.
    pub(super) offset: u64,
    /// When it was said.
    pub(super) at: Option<Timestamp>,
}

/// One part of a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Part {
    /// What it is called in a log.
    pub(super) kind: &'static str,
    /// What was said, called or answered.
    pub(super) text: String,
    /// The tool of a call.
    pub(super) tool: Option<String>,
    /// Its row.
    pub(super) row: LastRow,
}

/// Everything behind the last row that the log has; all of it where the log has none. What cannot be read is left for the
/// next time.
pub(super) fn behind(transcript: &Path, last: Option<&LastRow>) -> Vec<Part> {
    let Some(last) = last else { return parts(transcript, 0, |_| true) };
    // Usually the row is where it was.
    let mut there = false;
    let mut at_its_place = true;
    let found = parts(transcript, last.offset, |row| {
        if row.offset == last.offset {
            at_its_place = row.uuid == last.uuid;
            there = at_its_place;
            return false;
        }
        at_its_place
    });
    if there {
        return found;
    }
    let mut seen = false;
    let found = parts(transcript, 0, |row| {
        let passed = seen;
        seen |= row.uuid == last.uuid;
        passed
    });
    if seen { found } else { parts(transcript, 0, |row| last.at.is_some() && row.at > last.at) }
}

/// The parts of the rows from an offset on that are wanted.
fn parts(transcript: &Path, offset: u64, mut wanted: impl FnMut(&LastRow) -> bool) -> Vec<Part> {
    let Ok(mut file) = store::files::open(transcript) else { return Vec::new() };
    if file.seek(SeekFrom::Start(offset)).is_err() {
        return Vec::new();
    }
    let mut reader = BufReader::new(file);
    let (mut found, mut at, mut line) = (Vec::new(), offset, Vec::new());
    loop {
        line.clear();
        let read = std::io::Read::take(&mut reader, LARGEST_ROW).read_until(b'\n', &mut line).unwrap_or(0);
        // A row without its end is still being written.
        if line.last() != Some(&b'\n') {
            return found;
        }
        if let Ok(row) = serde_json::from_slice::<Value>(&line) {
            let place = LastRow {
                uuid: row["uuid"].as_str().unwrap_or_default().to_owned(),
                offset: at,
                at: row["timestamp"].as_str().and_then(|at| at.parse().ok()),
            };
            if !place.uuid.is_empty() && wanted(&place) {
                found.extend(of_row(&row, &place));
            }
        }
        at += read as u64;
    }
}

fn of_row(row: &Value, place: &LastRow) -> Vec<Part> {
    let mine = row["isSidechain"] != true && row["isMeta"] != true;
    let blocks = row["message"]["content"].as_array().filter(|_| mine).map(Vec::as_slice).unwrap_or_default();
    let part = |kind, text: String, tool: Option<&str>| {
        Some(Part { kind, text, tool: tool.map(str::to_owned), row: place.clone() })
    };
    let block = |block: &Value| match (row["type"].as_str()?, block["type"].as_str()?) {
        ("assistant", "text") => part("AssistantResponse", block["text"].as_str()?.to_owned(), None),
        ("assistant", "tool_use") => part("ToolUse", block["input"].to_string(), block["name"].as_str()),
        ("user", "tool_result") => part("ToolResult", answer(&block["content"]), None),
        _ => None,
    };
    blocks.iter().filter_map(block).filter(|part| !part.text.is_empty()).collect()
}

/// What a tool answered, as text.
fn answer(content: &Value) -> String {
    let blocks = content.as_array().map(Vec::as_slice).unwrap_or_default();
    let text = |block: &Value| match block["text"].as_str() {
        Some(text) => text.to_owned(),
        None => format!("[{}]", block["type"].as_str().unwrap_or("something else")),
    };
    match content.as_str() {
        Some(text) => text.to_owned(),
        None => blocks.iter().map(text).collect::<Vec<_>>().join("\n"),
    }
}
