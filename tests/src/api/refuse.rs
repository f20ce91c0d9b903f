//! What the real API refuses, in its own words: the error texts of docs/damage.md, class C, as users reported them.

use std::collections::HashSet;

use base64::Engine;
use serde_json::Value;

use super::picture;

/// What is refused by size.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// The largest body in bytes.
    pub body: usize,
    /// The longest prompt in tokens, estimated as a quarter of the characters that are not pictures.
    pub tokens: usize,
}

impl Default for Limits {
    fn default() -> Self {
        // 32 MB is the messages endpoint's documented limit; a million tokens is the largest context sold.
        Limits { body: 32 << 20, tokens: 1_000_000 }
    }
}

/// One reason for a refusal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// The HTTP status.
    pub status: u16,
    /// The error's type.
    pub kind: &'static str,
    /// The error's message.
    pub words: String,
}

type Turn = (String, Vec<Value>);

/// Everything that is wrong with a request; the API would name the first.
pub fn refusals(body: &[u8], parsed: &serde_json::Result<Value>, limits: Limits) -> Vec<Refusal> {
    if body.len() > limits.body {
        let words = "Request exceeds the maximum size".to_owned();
        return vec![Refusal { status: 413, kind: "request_too_large", words }];
    }
    let words = match parsed {
        Err(error) => vec![no_json(error)],
        Ok(request) if has_nul(&request["messages"]) => {
            vec![
                "The request body is not valid JSON: unexpected end of data: line 1 column 1 (char 0)"
                    .to_owned(),
            ]
        }
        Ok(request) => invalid(request, limits),
    };
    words.into_iter().map(|words| Refusal { status: 400, kind: "invalid_request_error", words }).collect()
}

fn no_json(error: &serde_json::Error) -> String {
    let column = error.column();
    // serde_json says "lone leading surrogate in hex escape" or "unexpected end of hex escape" of half a pair.
    if error.to_string().contains("hex escape") {
        return format!(
            "The request body is not valid JSON: no low surrogate in string: line 1 column {column} (char {column})"
        );
    }
    format!("The request body is not valid JSON: line 1 column {column}")
}

fn has_nul(value: &Value) -> bool {
    match value {
        Value::String(text) => text.contains('\0'),
        Value::Array(items) => items.iter().any(has_nul),
        Value::Object(fields) => fields.values().any(has_nul),
        _ => false,
    }
}

fn invalid(request: &Value, limits: Limits) -> Vec<String> {
    let turns = turns(request);
    let mut found = Vec::new();
    if turns.first().is_some_and(|(role, _)| role != "user") {
        found.push("messages: first message must use the \"user\" role".to_owned());
    }
    tools(&turns, &mut found);
    for (at, (_, content)) in turns.iter().enumerate() {
        server_tools(at, content, &mut found);
        for block in content {
            check_block(at, block, &mut found);
        }
    }
    pictures(&turns, &mut found);
    let tokens = estimate(&turns);
    if tokens > limits.tokens {
        found.push(format!("prompt is too long: {tokens} tokens > {} maximum", limits.tokens));
    }
    found
}

/// The blocks of a message; a plain string is one text block.
pub(super) fn blocks(message: &Value) -> Vec<Value> {
    match &message["content"] {
        Value::String(text) => vec![serde_json::json!({"type": "text", "text": text})],
        Value::Array(blocks) => blocks.clone(),
        _ => Vec::new(),
    }
}

/// The messages with neighbours of one role joined, as the API joins them.
fn turns(request: &Value) -> Vec<Turn> {
    let mut turns: Vec<Turn> = Vec::new();
    for message in request["messages"].as_array().into_iter().flatten() {
        let role = message["role"].as_str().unwrap_or_default();
        match turns.last_mut() {
            Some((last, content)) if last == role => content.extend(blocks(message)),
            _ => turns.push((role.to_owned(), blocks(message))),
        }
    }
    turns
}

fn ids<'a>(content: &'a [Value], kind: &'a str, key: &'a str) -> impl Iterator<Item = &'a str> {
    content
        .iter()
        .filter(move |block| block["type"] == kind)
        .map(move |block| block[key].as_str().unwrap_or_default())
}

/// Calls without results, results without calls, calls that share an id.
fn tools(turns: &[Turn], found: &mut Vec<String>) {
    let mut seen = HashSet::new();
    let mut called: HashSet<&str> = HashSet::new();
    for (at, (role, content)) in turns.iter().enumerate() {
        if role == "assistant" {
            let after: HashSet<&str> = turns
                .get(at + 1)
                .map(|(_, next)| ids(next, "tool_result", "tool_use_id").collect())
                .unwrap_or_default();
            called.clear();
            for id in ids(content, "tool_use", "id") {
                if !seen.insert(id) {
                    found.push(format!("messages.{at}: `tool_use` ids must be unique"));
                }
                if !after.contains(id) {
                    found.push(format!(
                        "messages.{at}: `tool_use` ids were found without `tool_result` blocks immediately after: {id}. Each \
                         `tool_use` block must have a corresponding `tool_result` block in the next message."
                    ));
                }
                called.insert(id);
            }
        } else {
            for id in ids(content, "tool_result", "tool_use_id").filter(|id| !called.contains(id)) {
                found.push(format!(
                    "messages.{at}: unexpected `tool_use_id` found in `tool_result` blocks: {id}. Each `tool_result` block \
                     must have a corresponding `tool_use` block in the previous message."
                ));
            }
            called.clear();
        }
    }
}

/// A server tool's result belongs into the same turn as its call, right behind it.
fn server_tools(at: usize, content: &[Value], found: &mut Vec<String>) {
    let is_result = |block: &Value| block["type"].as_str().is_some_and(|kind| kind.ends_with("_tool_result"));
    for (here, block) in content.iter().enumerate().filter(|(_, block)| block["type"] == "server_tool_use") {
        let id = block["id"].as_str().unwrap_or_default();
        let next = content
            .iter()
            .skip(here + 1)
            .find(|block| block["type"] != "server_tool_use" && !is_result(block));
        let until = next.and_then(|next| content.iter().position(|block| std::ptr::eq(block, next)));
        let pair = content.get(here + 1..until.unwrap_or(content.len())).unwrap_or_default();
        if !pair.iter().any(|block| is_result(block) && block["tool_use_id"] == id) {
            found.push(format!(
                "messages.{at}: `web_search` tool use with id `{id}` was found without a corresponding \
                 `web_search_tool_result` block: the result must immediately follow the call"
            ));
        }
    }
    let called: HashSet<&str> = ids(content, "server_tool_use", "id").collect();
    for block in content.iter().filter(|block| is_result(block)) {
        let id = block["tool_use_id"].as_str().unwrap_or_default();
        if !called.contains(id) {
            found.push(format!(
                "messages.{at}: unexpected `tool_use_id` found in `web_search_tool_result` blocks: {id}. Each \
                 `web_search_tool_result` block must have a corresponding `server_tool_use` block before it."
            ));
        }
    }
}

fn check_block(at: usize, block: &Value, found: &mut Vec<String>) {
    match block["type"].as_str() {
        Some("text") if block["text"].as_str().unwrap_or_default().trim().is_empty() => {
            found.push(format!("messages.{at}: text content blocks must be non-empty"));
        }
        Some("tool_use") if !block["input"].is_object() => {
            found.push(format!("messages.{at}: tool_use.input: Input should be a valid dictionary"));
        }
        Some("thinking") => {
            let signature = block["signature"].as_str().unwrap_or_default();
            if block["thinking"].as_str().unwrap_or_default().is_empty() && !signature.is_empty() {
                found.push(format!(
                    "messages.{at}: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified. \
                     These blocks must remain as they were in the original response."
                ));
            } else if base64::engine::general_purpose::STANDARD.decode(signature).is_err()
                || signature.is_empty()
            {
                found.push(format!("messages.{at}: Invalid `signature` in `thinking` block"));
            }
        }
        _ => {}
    }
}

/// A picture's place in the error words, and its data.
fn images(turns: &[Turn]) -> impl Iterator<Item = (usize, &Value)> {
    let inner = |block: &'_ Value| block["type"] == "tool_result";
    turns.iter().enumerate().flat_map(move |(at, (_, content))| {
        content.iter().flat_map(move |block| {
            let list = if inner(block) {
                block["content"].as_array().map(Vec::as_slice).unwrap_or_default()
            } else {
                std::slice::from_ref(block)
            };
            let pictures = list.iter().filter(|b| b["type"] == "image" && b["source"]["type"] == "base64");
            pictures.map(move |picture| (at, &picture["source"]["data"]))
        })
    })
}

fn pictures(turns: &[Turn], found: &mut Vec<String>) {
    // More than 20 pictures in one request lower the limit per picture from 8,000 to 2,000 pixels.
    let (limit, which) =
        if images(turns).count() > 20 { (2000, " for many-image requests") } else { (8000, "") };
    for (at, data) in images(turns) {
        match picture::size(data.as_str().unwrap_or_default()) {
            None => found.push(format!("messages.{at}: Could not process image")),
            Some((width, height)) if width.max(height) > limit => found.push(format!(
                "messages.{at}: At least one of the image dimensions exceed max allowed size{which}: {limit} pixels"
            )),
            Some(_) => {}
        }
    }
}

fn estimate(turns: &[Turn]) -> usize {
    fn characters(value: &Value) -> usize {
        match value {
            Value::String(text) => text.len(),
            Value::Array(items) => items.iter().map(characters).sum(),
            Value::Object(fields) if fields.get("type").is_some_and(|kind| kind == "image") => 0,
            Value::Object(fields) => fields.values().map(characters).sum(),
            _ => 1,
        }
    }
    turns.iter().flat_map(|(_, content)| content).map(characters).sum::<usize>() / 4
}
