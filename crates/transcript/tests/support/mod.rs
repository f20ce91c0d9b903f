//! What the tests share: conversations to break, ways to break them, and how agents read the result.
#![allow(dead_code, unreachable_pub, reason = "each test binary uses its own part")]
#![allow(clippy::needless_pass_by_value, reason = "`json!` values are made where they are passed")]

pub mod agents;
pub mod api;
pub mod conversation;
pub mod damage;
pub mod mended;
pub mod talk;

use serde_json::Value;

/// The session id of every generated conversation.
pub const SESSION: &str = "5e551000-0000-4000-8000-000000000001";

/// A line of a file: a row that can still be edited, or bytes.
#[derive(Debug, Clone)]
pub enum Line {
    Row(Value),
    Raw(Vec<u8>),
}

impl Line {
    pub fn bytes(&self) -> Vec<u8> {
        match self {
            // What serde_json cannot write: half a character, and U+0000 as the agent writes it.
            Line::Row(row) => row.to_string().replace("HALF", "\\ud83d").into_bytes(),
            Line::Raw(bytes) => bytes.clone(),
        }
    }

    pub fn row(&self) -> Option<&Value> {
        match self {
            Line::Row(row) => Some(row),
            Line::Raw(_) => None,
        }
    }
}

/// The file these lines make.
pub fn file(lines: &[Line]) -> Vec<u8> {
    lines.iter().flat_map(|line| [line.bytes(), b"\n".to_vec()].concat()).collect()
}

/// Reads one line as the agent does, as far as the tests need.
pub fn parse(line: &[u8]) -> Option<Value> {
    let text = String::from_utf8_lossy(line).replace("\\ud83d", "\\ufffd");
    serde_json::from_str(text.trim()).ok()
}

/// A uuid that tells its number.
pub fn uuid(n: usize) -> String {
    format!("{n:08x}-1111-4222-8333-{n:012x}")
}

/// A time as the agent writes it, in milliseconds since midnight of one day.
pub fn timestamp(millis: i64) -> String {
    let (hour, minute, second) = (millis / 3_600_000, millis / 60_000 % 60, millis / 1_000 % 60);
    format!("2026-11-{:02}T{:02}:{minute:02}:{second:02}.{:03}Z", 1 + hour / 24, hour % 24, millis % 1_000)
}

/// The words that rows say: `tok17.` is one.
pub fn tokens(text: &str) -> Vec<String> {
    let ends = |rest: &str| rest.find('.').map(|end| format!("tok{}", &rest[..end]));
    text.split("tok")
        .skip(1)
        .filter_map(ends)
        .filter(|token| token[3..].bytes().all(|b| b.is_ascii_digit()))
        .collect()
}

/// A file as a person reads it: kind, id, parent, time and text of each row.
pub fn show(bytes: &[u8]) -> String {
    let lines = bytes.split(|b| *b == b'\n').enumerate();
    lines
        .map(|(no, line)| match parse(line) {
            Some(row) if row.is_object() => {
                let text = |key: &str| {
                    row[key].as_str().unwrap_or(if row[key].is_null() { "-" } else { "?" }).to_owned()
                };
                let id = |key: &str| text(key).trim_start_matches('0').chars().take(4).collect::<String>();
                let message = if row["message"].is_null() {
                    String::new()
                } else {
                    row["message"]["content"].to_string()
                };
                let side = if row["isSidechain"] == true { " side" } else { "" };
                let time = text("timestamp").chars().skip(10).collect::<String>();
                format!(
                    "{:3} {} {} ← {} {}{side} {} {} {message}\n",
                    no + 1,
                    text("type"),
                    id("uuid"),
                    id("parentUuid"),
                    time,
                    text("subtype"),
                    text("leafUuid")
                )
            }
            _ => format!("{:3} ! {}\n", no + 1, String::from_utf8_lossy(&line[..line.len().min(300)])),
        })
        .collect()
}
