//! What the API would refuse of a request made from these rows, as 2.1.31 makes it: it mends least.

use std::collections::HashSet;

use serde_json::Value;

use super::agents::Node;

/// The first thing the API would refuse.
pub fn refusal(rows: &[Node]) -> Option<String> {
    let blocks = |node: &Node| match &node.row["message"]["content"] {
        Value::Array(blocks) => blocks.clone(),
        Value::String(said) => vec![serde_json::json!({"type": "text", "text": said})],
        other => vec![serde_json::json!({"type": "bad", "was": other})],
    };
    let ids = |node: &Node, kind: &str, key: &str| -> Vec<String> {
        blocks(node)
            .iter()
            .filter(|b| b["type"] == kind)
            .filter_map(|b| b[key].as_str().map(str::to_owned))
            .collect()
    };
    let answered: HashSet<String> =
        rows.iter().flat_map(|node| ids(node, "tool_result", "tool_use_id")).collect();
    let sent =
        rows.iter().filter(|node| node.is_turn() && node.row["isApiErrorMessage"] != true).filter(|node| {
            let calls = ids(node, "tool_use", "id");
            // Nothing but a thought, in a reply of which nothing else is left: every version drops it.
            let thought = |node: &Node| {
                node.kind() == "assistant" && blocks(node).iter().all(|b| b["type"] == "thinking")
            };
            let reply = &node.row["message"]["id"];
            if thought(node)
                && !rows.iter().any(|other| !thought(other) && other.row["message"]["id"] == *reply)
            {
                return false;
            }
            calls.is_empty() || calls.iter().any(|id| answered.contains(id))
        });
    let mut messages: Vec<(&str, Vec<Value>)> = Vec::new();
    for node in sent {
        match messages.last_mut() {
            Some((role, said)) if *role == node.kind() => said.extend(blocks(node)),
            _ => messages.push((node.kind(), blocks(node))),
        }
    }
    if messages.first().is_some_and(|(role, _)| *role != "user") {
        return Some("the first message is the assistant's".to_owned());
    }
    let mut known = HashSet::new();
    for (at, (role, said)) in messages.iter().enumerate() {
        if said.is_empty() {
            return Some("empty content".to_owned());
        }
        let of = |blocks: &[Value], kind: &str, key: &str| -> Vec<String> {
            blocks
                .iter()
                .filter(|b| b["type"] == kind)
                .filter_map(|b| b[key].as_str().map(str::to_owned))
                .collect()
        };
        for block in said {
            match block["type"].as_str().unwrap_or_default() {
                "text" if block["text"].as_str().is_none_or(|text| text.trim().is_empty()) => {
                    return Some(format!("empty text in {role}"));
                }
                "text"
                    if block["text"]
                        .as_str()
                        .is_some_and(|text| text.contains(['\u{fffd}', '\0']) && text.contains("half")) =>
                {
                    // A mended half character and one that is still there read the same here; bytes are checked elsewhere.
                }
                "thinking" if block["signature"] != "QUJD" || block["thinking"] == "" => {
                    return Some("bad thinking".to_owned());
                }
                "image" => return Some("bad image".to_owned()),
                "tool_use" if !block["input"].is_object() => return Some("input is no object".to_owned()),
                "bad" | "" => return Some(format!("no block: {block}")),
                _ => {}
            }
        }
        for id in of(said, "tool_use", "id") {
            if !known.insert(id.clone()) {
                return Some(format!("call {id} twice"));
            }
            let results = messages.get(at + 1).map(|(_, next)| of(next, "tool_result", "tool_use_id"));
            if results.is_some_and(|results| !results.contains(&id)) {
                return Some(format!("call {id} without a result"));
            }
        }
        let mut results = of(said, "tool_result", "tool_use_id");
        let calls = at.checked_sub(1).map(|at| of(&messages[at].1, "tool_use", "id")).unwrap_or_default();
        if let Some(orphan) = results.iter().find(|id| !calls.contains(id)) {
            return Some(format!("result {orphan} without a call"));
        }
        results.sort();
        if results.windows(2).any(|pair| pair[0] == pair[1]) {
            return Some("a result twice".to_owned());
        }
    }
    None
}
