//! What the API says: `reply-NN` to the last `ask-NN`, tools where the prompt asks for them, a summary to a compaction.

use std::io::Write;
use std::net::TcpStream;
use std::time::Duration;

use anyhow::Result;
use serde_json::{Value, json};

use super::http::{self, Connection};
use super::refuse::blocks;

pub(super) fn answer(request: &Value, out: &mut TcpStream, slow: Duration) -> Result<Connection> {
    let last = unanswered(request);
    let said = texts(&last);
    let (content, stop) = script(request, &last, &said);
    let message = json!({
        "id": format!("msg_{}", token()), "type": "message", "role": "assistant", "model": request["model"],
        "content": content, "stop_reason": stop, "stop_sequence": null,
        "usage": {"input_tokens": 10, "output_tokens": 5, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0},
    });
    if request["stream"] != json!(true) {
        return http::json(out, 200, &message);
    }
    let pause = if said.contains("SLOW") { slow } else { Duration::ZERO };
    stream(out, &message, pause)?;
    Ok(Connection::Close)
}

/// What was said since the last answer: newer agents put a message of their own behind the prompt (measured on 2.1.325).
fn unanswered(request: &Value) -> Vec<Value> {
    let messages = request["messages"].as_array().map(Vec::as_slice).unwrap_or_default();
    let answered = messages.iter().rposition(|message| message["role"] == "assistant").map_or(0, |at| at + 1);
    messages[answered..].iter().flat_map(blocks).collect()
}

/// The content of the answer and why it stops.
fn script(request: &Value, last: &[Value], said: &str) -> (Vec<Value>, &'static str) {
    let answered = last.iter().any(|block| block["type"] == "tool_result");
    let may_call = request["tools"].as_array().is_some_and(|tools| !tools.is_empty()) && !answered;
    let number = last_number(&request["messages"].to_string()).unwrap_or_else(|| "99".to_owned());
    if let Some(command) = argument(said, "RUNTOOL").filter(|_| may_call) {
        return (vec![text("Running it."), bash(command)], "tool_use");
    }
    if let Some(path) = argument(said, "WRITEFILE").filter(|_| may_call) {
        return (vec![text("Writing it."), write(path)], "tool_use");
    }
    if let Some(commands) = argument(said, "PARALLEL").filter(|_| may_call) {
        let calls = commands.split(";;").map(|command| bash(command.trim()));
        return (std::iter::once(text("Running them.")).chain(calls).collect(), "tool_use");
    }
    // The words with which the agent asks for a compaction's summary on all versions under test.
    if said.contains("create a detailed summary") {
        return (vec![text(&format!("<summary>the story until {number}, compacted</summary>"))], "end_turn");
    }
    (vec![text(&format!("reply-{number}: noted."))], "end_turn")
}

fn text(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

fn bash(command: &str) -> Value {
    let command = if command.is_empty() { "true" } else { command };
    json!({"type": "tool_use", "id": format!("toolu_{}", token()), "name": "Bash",
           "input": {"command": command, "description": "run"}})
}

fn write(path: &str) -> Value {
    json!({"type": "tool_use", "id": format!("toolu_{}", token()), "name": "Write",
           "input": {"file_path": path, "content": "one\ntwo\nthree\n"}})
}

fn argument<'a>(said: &'a str, word: &str) -> Option<&'a str> {
    let (_, rest) = said.split_once(word)?;
    rest.trim().lines().next().or(Some(""))
}

fn texts(blocks: &[Value]) -> String {
    let texts: Vec<&str> = blocks.iter().filter_map(|block| block["text"].as_str()).collect();
    texts.join("\n")
}

fn last_number(messages: &str) -> Option<String> {
    let starts = messages.match_indices("ask-").map(|(at, word)| at + word.len());
    let numbers = starts.filter_map(|at| messages.get(at..at + 2));
    numbers.filter(|digits| digits.bytes().all(|b| b.is_ascii_digit())).last().map(str::to_owned)
}

fn token() -> String {
    uuid::Uuid::new_v4().simple().to_string().chars().take(20).collect()
}

fn stream(out: &mut TcpStream, message: &Value, pause: Duration) -> Result<()> {
    http::begin_stream(out)?;
    let mut start = message.clone();
    start["content"] = json!([]);
    start["stop_reason"] = Value::Null;
    event(out, "message_start", json!({"message": start}))?;
    for (index, block) in message["content"].as_array().into_iter().flatten().enumerate() {
        if let Some(text) = block["text"].as_str() {
            event(
                out,
                "content_block_start",
                json!({"index": index, "content_block": {"type": "text", "text": ""}}),
            )?;
            let characters: Vec<char> = text.chars().collect();
            for piece in characters.chunks(8) {
                wait(pause);
                let piece: String = piece.iter().collect();
                let delta = json!({"type": "text_delta", "text": piece});
                event(out, "content_block_delta", json!({"index": index, "delta": delta}))?;
            }
        } else {
            let mut opened = block.clone();
            opened["input"] = json!({});
            event(out, "content_block_start", json!({"index": index, "content_block": opened}))?;
            let delta = json!({"type": "input_json_delta", "partial_json": block["input"].to_string()});
            event(out, "content_block_delta", json!({"index": index, "delta": delta}))?;
        }
        event(out, "content_block_stop", json!({"index": index}))?;
    }
    let end = json!({"delta": {"stop_reason": message["stop_reason"], "stop_sequence": null}, "usage": {"output_tokens": 7}});
    event(out, "message_delta", end)?;
    event(out, "message_stop", json!({}))
}

fn event(out: &mut TcpStream, kind: &str, mut data: Value) -> Result<()> {
    data["type"] = json!(kind);
    out.write_all(format!("event: {kind}\ndata: {data}\n\n").as_bytes())?;
    Ok(())
}

fn wait(pause: Duration) {
    if !pause.is_zero() {
        // Not a wait for something: slowness is what the prompt asked for.
        std::thread::sleep(pause);
    }
}
