//! Small conversations by a word: `uaua` is two turns.

use serde_json::{Value, json};

use super::{Line, SESSION, file, timestamp, uuid};

/// A conversation of rows that follow each other: `u` asks, `a` replies; ids and tokens count from 1.
pub fn talk(kinds: &str) -> Vec<Value> {
    let mut rows: Vec<Value> = Vec::new();
    for (n, kind) in (1..).zip(kinds.chars()) {
        let parent = rows.last().map(|row| row["uuid"].clone());
        let (kind, message) = match kind {
            'u' => ("user", json!({"role": "user", "content": format!("tok{n}.")})),
            'c' => (
                "assistant",
                reply(
                    n,
                    json!({"type": "tool_use", "id": format!("toolu_{n}"), "name": "Bash", "input": {}}),
                ),
            ),
            'r' => (
                "user",
                json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": format!("toolu_{}", n - 1), "content": "done"}]}),
            ),
            _ => ("assistant", reply(n, json!({"type": "text", "text": format!("tok{n}.")}))),
        };
        rows.push(row(n, parent, kind, message));
    }
    rows
}

fn reply(n: usize, block: Value) -> Value {
    json!({"id": format!("msg_{n}"), "type": "message", "role": "assistant", "content": [block]})
}

pub fn row(n: usize, parent: Option<Value>, kind: &str, message: Value) -> Value {
    // A minute between rows: nobody bridges a gap by time.
    let at = timestamp(60_000 * i64::try_from(n).unwrap());
    json!({"parentUuid": parent, "isSidechain": false, "type": kind, "sessionId": SESSION, "message": message, "uuid": uuid(n), "timestamp": at})
}

pub fn bytes(rows: &[Value]) -> Vec<u8> {
    let lines: Vec<Line> = rows.iter().cloned().map(Line::Row).collect();
    file(&lines)
}
