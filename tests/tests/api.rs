//! The loopback API answers by its script and refuses each class C in the real words.
#![expect(clippy::needless_pass_by_value, reason = "JSON literals read better without a reference")]

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use lab::api::picture::{image_block, png_block};
use lab::api::refuse::{Limits, refusals};
use lab::api::{Api, Settings};
use serde_json::{Value, json};

fn refused(messages: &Value) -> Vec<String> {
    refused_body(json!({"messages": messages}).to_string().as_bytes(), Limits::default())
}

fn refused_body(body: &[u8], limits: Limits) -> Vec<String> {
    refusals(body, &serde_json::from_slice(body), limits).into_iter().map(|refusal| refusal.words).collect()
}

#[track_caller]
fn check(messages: &Value, words: &str) {
    let found = refused(messages);
    assert!(found.iter().any(|found| found.contains(words)), "{words:?} is not among {found:?}");
}

fn user(content: Value) -> Value {
    json!({"role": "user", "content": content})
}

fn assistant(content: Value) -> Value {
    json!({"role": "assistant", "content": content})
}

fn call(id: &str) -> Value {
    json!({"type": "tool_use", "id": id, "name": "Bash", "input": {}})
}

fn result(id: &str) -> Value {
    json!({"type": "tool_result", "tool_use_id": id, "content": "done"})
}

#[test]
fn a_sound_conversation_is_taken() {
    let thinking = json!({"type": "thinking", "thinking": "so", "signature": "QUJD"});
    let found = json!({"type": "web_search_tool_result", "tool_use_id": "s", "content": []});
    let search = json!({"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}});
    let messages = json!([
        user(json!("ask-00")),
        assistant(json!([thinking, call("a"), call("b")])),
        user(json!([result("b")])),
        user(json!([result("a"), png_block(8000, 10, 0)])),
        assistant(json!([search, found])),
    ]);
    assert_eq!(refused(&messages), Vec::<String>::new());
}

#[test]
fn tools_must_pair() {
    check(
        &json!([user(json!("x")), assistant(json!([call("a")]))]),
        "without `tool_result` blocks immediately after: a",
    );
    check(&json!([user(json!([result("a")]))]), "unexpected `tool_use_id` found in `tool_result` blocks: a");
    let twice = [assistant(json!([call("a")])), user(json!([result("a")]))];
    let messages = json!([user(json!("x")), twice[0], twice[1], twice[0], twice[1]]);
    check(&messages, "`tool_use` ids must be unique");
    check(&json!([assistant(json!("hello"))]), "first message must use the \"user\" role");
}

#[test]
fn server_tools_must_stay_together() {
    let search = json!({"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}});
    let found = json!({"type": "web_search_tool_result", "tool_use_id": "s", "content": []});
    let split =
        json!([user(json!("x")), assistant(json!([search])), user(json!("y")), assistant(json!([found]))]);
    check(&split, "the result must immediately follow the call");
    check(&split, "found in `web_search_tool_result` blocks: s");
    let inside = json!([user(json!("x")), assistant(json!([search, {"type": "text", "text": "hm"}, found]))]);
    check(&inside, "the result must immediately follow the call");
}

#[test]
fn thinking_and_texts_must_be_whole() {
    let thinking = |text: &str, signature: &str| {
        let block = json!({"type": "thinking", "thinking": text, "signature": signature});
        json!([user(json!("x")), assistant(json!([block]))])
    };
    check(&thinking("", "QUJD"), "cannot be modified");
    check(&thinking("hm", "(none)"), "Invalid `signature` in `thinking` block");
    check(&json!([user(json!(""))]), "text content blocks must be non-empty");
    check(&json!([user(json!("half\u{0}way"))]), "not valid JSON: unexpected end of data");
}

#[test]
fn pictures_must_be_pictures_and_fit() {
    let page = image_block(b"<html></html>");
    check(&json!([user(json!([page]))]), "Could not process image");
    let inside = json!({"type": "tool_result", "tool_use_id": "a", "content": [page]});
    check(
        &json!([user(json!("x")), assistant(json!([call("a")])), user(json!([inside]))]),
        "Could not process image",
    );
    check(&json!([user(json!([png_block(8001, 1, 0)]))]), "max allowed size: 8000 pixels");
    let many: Vec<Value> = (0..21).map(|_| png_block(2001, 1, 0)).collect();
    check(&json!([user(json!(many))]), "many-image requests: 2000 pixels");
    assert!(refused(&json!([user(json!(many[..20]))])).is_empty());
}

#[test]
fn bodies_must_be_json_and_fit() {
    let lone = br#"{"messages":[{"role":"user","content":"half \ud83d of it"}]}"#;
    assert!(refused_body(lone, Limits::default())[0].contains("no low surrogate in string"));
    let pair = br#"{"messages":[{"role":"user","content":"all \ud83d\ude80 of it"}]}"#;
    assert!(refused_body(pair, Limits::default()).is_empty());
    let long = json!({"messages": [user(json!("word ".repeat(1000)))]}).to_string();
    let limits = Limits { tokens: 1000, ..Limits::default() };
    assert!(
        refused_body(long.as_bytes(), limits)[0].contains("prompt is too long: 1251 tokens > 1000 maximum")
    );
    let found =
        refusals(long.as_bytes(), &serde_json::from_str(&long), Limits { body: 1000, ..Limits::default() });
    assert_eq!((found[0].status, found[0].kind), (413, "request_too_large"));
}

fn post(api: &Api, body: &Value) -> std::io::Result<String> {
    let body = body.to_string();
    let mut stream = TcpStream::connect(api.url().replace("http://", ""))?;
    stream.set_read_timeout(Some(Duration::from_secs(10)))?;
    write!(stream, "POST /v1/messages HTTP/1.1\r\ncontent-length: {}\r\n\r\n{body}", body.len())?;
    stream.shutdown(std::net::Shutdown::Write)?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer)
}

#[test]
fn it_answers_by_its_script_and_remembers() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("requests.jsonl");
    let api = Api::start(&log, Settings::default()).unwrap();
    let ask = |prompt: &str| {
        let messages = [user(json!("ask-03 first")), assistant(json!("yes")), user(json!(prompt))];
        post(&api, &json!({"model": "m", "tools": [{"name": "Bash"}], "messages": messages})).unwrap()
    };
    assert!(ask("ask-07 please").contains("reply-07: noted."));
    assert!(ask("go on").contains("reply-03: noted."));
    assert!(ask("RUNTOOL echo hello").contains("\"command\":\"echo hello\""));
    let both = ask("PARALLEL echo a ;; echo b");
    assert!(both.contains("\"command\":\"echo a\"") && both.contains("\"command\":\"echo b\""));
    let streamed = post(&api, &json!({"stream": true, "messages": [user(json!("ask-05"))]})).unwrap();
    assert!(streamed.contains("event: message_start") && streamed.contains("event: message_stop"));
    let empty = post(&api, &json!({"messages": [user(json!(""))]})).unwrap();
    assert!(empty.starts_with("HTTP/1.1 400") && empty.contains("invalid_request_error"));
    assert_eq!(api.requests_with("ask-07").len(), 1);
    assert!(api.requests_with("ask-07")[0].main);
    assert_eq!(std::fs::read_to_string(&log).unwrap().lines().count(), 6);
}
