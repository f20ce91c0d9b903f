//! Conversations that the API refuses on every turn: class C.

use anyhow::{Context, Result};
use serde_json::{Value, json};
use transcript::Class::{C1, C2, C3, C4, C5, C6, C7, C8, C9, C10};

use super::healthy::new_turn;
use super::{Case, without};
use crate::api::picture::{image_block, png_block};
use crate::base::{Base, Row};

pub(super) fn cases() -> Vec<Case> {
    [tools(), texts(), pictures()].concat()
}

fn tools() -> Vec<Case> {
    vec![
        Case::rows("lost-tool-result", &[C1], "a tool's result never reached the disk", |b| {
            let row = b.result(5)?;
            b.drop_rows(&[row]);
            Ok(())
        }),
        Case::rows("lost-tool-call", &[C2], "a tool's call never reached the disk", |b| {
            let row = b.call(5)?;
            b.drop_rows(&[row]);
            Ok(())
        }),
        Case::rows("killed-in-a-tool", &[C1], "killed while a tool ran", |b| b.until(b.call(5)?))
            .asks(0..6)
            .replies(0..5),
        Case::rows("unanswered-call", &[C1], "a call without a result in an unbroken chain", |b| {
            b.unlink(b.result(5)?)
        }),
        Case::rows("uncalled-result", &[C2], "a result without a call in an unbroken chain", |b| {
            b.unlink(b.call(5)?)
        }),
        Case::rows(
            "interrupted-call",
            &[C1, C2],
            "a turn stands between a tool's call and its result",
            interrupted,
        )
        .turns(0..9),
        Case::rows("call-twice", &[C3], "a tool's call and result are in the chain twice", call_twice),
        Case::rows(
            "server-tool-split",
            &[C10],
            "another row between a server tool's call and its result",
            server_tool,
        )
        .must(&["what the search found"]),
    ]
}

fn texts() -> Vec<Case> {
    vec![
        Case::rows("empty-ask", &[C5], "an empty user text, which the API refuses on every turn", |b| {
            let ask = b.ask(4)?;
            b[ask]["message"]["content"] = "".into();
            Ok(())
        })
        .asks(without(&[4])),
        Case::rows("empty-block", &[C5], "an empty text block beside a whole one", |b| {
            let reply = b.reply(4)?;
            let block = json!({"type": "text", "text": ""});
            b[reply]["message"]["content"].as_array_mut().context("no blocks")?.insert(0, block);
            Ok(())
        }),
        Case::rows("empty-thinking", &[C4], "thinking that is signed but empty", |b| {
            thinking(b, "", "QUJDREVGR0g=")
        }),
        Case::rows("unsigned-thinking", &[C4], "thinking whose signature is none", |b| {
            thinking(b, "let me see", "(not base64)")
        }),
        Case::rows("nul-in-output", &[C9], "U+0000 in a tool's output", |b| {
            b.result(5).and_then(|row| content(b, row, "tool-05 \u{0} and more".into()))
        })
        .must(&["and more"]),
    ]
}

fn pictures() -> Vec<Case> {
    vec![
        Case::rows("page-as-picture", &[C6], "a web page saved as a picture, in a tool's result", |b| {
            let page = image_block(b"<!DOCTYPE html><html><title>404</title></html>");
            b.result(5).and_then(|row| content(b, row, json!([page])))
        }),
        Case::rows("page-as-prompt-picture", &[C6], "a web page saved as a picture, in a prompt", |b| {
            prompt_pictures(b, &[image_block(b"<!DOCTYPE html><html><title>404</title></html>")])
        }),
        Case::rows("huge-picture", &[C7], "a picture of over 8,000 pixels", |b| {
            prompt_pictures(b, &[png_block(9000, 10, 0)])
        }),
        Case::rows("many-large-pictures", &[C7], "many pictures, some of over 2,000 pixels", |b| {
            let pictures: Vec<Value> =
                (0..25).map(|n| png_block(if n % 5 == 0 { 2500 } else { 100 }, 100, 0)).collect();
            prompt_pictures(b, &pictures)
        }),
        Case::rows("request-too-large", &[C8], "forty megabytes of pictures", |b| {
            // Under 5 MB each, which the API takes for a single picture.
            let pictures: Vec<Value> = (0..10).map(|_| png_block(100, 100, 4 << 20)).collect();
            prompt_pictures(b, &pictures)
        }),
    ]
}

/// Gives a tool result another content, in the message and in the agent's own copy beside it.
fn content(base: &mut Base, row: Row, content: Value) -> Result<()> {
    let blocks = base[row]["message"]["content"].as_array_mut().context("no blocks")?;
    let block = blocks.iter_mut().find(|block| block["type"] == "tool_result").context("no result")?;
    block["content"] = content.clone();
    base[row]["toolUseResult"] = content;
    Ok(())
}

fn prompt_pictures(base: &mut Base, pictures: &[Value]) -> Result<()> {
    let ask = base.ask(4)?;
    let text = json!({"type": "text", "text": "ask-04 please"});
    base[ask]["message"]["content"] = std::iter::once(text).chain(pictures.iter().cloned()).collect();
    Ok(())
}

/// What a queued prompt does when it is written while the tool runs (cc#6836).
fn interrupted(base: &mut Base) -> Result<()> {
    let (call, result) = (base.call(5)?, base.result(5)?);
    let [ask, reply] = new_turn(base, call, 8, 0)?;
    let time = base[call]["timestamp"].clone();
    base[ask]["timestamp"] = time.clone();
    base[reply]["timestamp"] = time;
    base.link_before(result, &[ask, reply])
}

fn call_twice(base: &mut Base) -> Result<()> {
    let (call, result, reply) = (base.call(5)?, base.result(5)?, base.reply(5)?);
    let (call, result) = (base.twin(call), base.twin(result));
    base[call]["message"]["id"] = "msg_of_the_second_call".into();
    base[result]["sourceToolAssistantUUID"] = base.uuid(call);
    base.link_before(reply, &[call, result])
}

/// The agent writes each block of a reply as a row of its own, thinking first.
fn thinking(base: &mut Base, thinking: &str, signature: &str) -> Result<()> {
    let reply = base.reply(4)?;
    let row = base.twin(reply);
    base[row]["message"]["content"] =
        json!([{"type": "thinking", "thinking": thinking, "signature": signature}]);
    base.link_before(reply, &[row])
}

fn server_tool(base: &mut Base) -> Result<()> {
    let (ask, reply) = (base.ask(4)?, base.reply(4)?);
    let id = "srvtoolu_0123456789abcdef0123";
    let (call, between, result) = (base.twin(reply), base.twin(ask), base.twin(reply));
    base[call]["message"]["content"] =
        json!([{"type": "server_tool_use", "id": id, "name": "web_search", "input": {"query": "rekindle"}}]);
    base[between]["isMeta"] = true.into();
    base[between]["message"]["content"] = "a hook had something to say".into();
    let found = json!({"type": "web_search_result", "url": "https://example.org/", "title": "what the search found",
                       "encrypted_content": "QUJD", "page_age": null});
    base[result]["message"]["content"] =
        json!([{"type": "web_search_tool_result", "tool_use_id": id, "content": [found]}]);
    base.link_before(reply, &[call, between, result])
}
