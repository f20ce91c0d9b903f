//! Rows of a shape that some version cannot read (A8), and odd ones that every version reads.

use anyhow::{Context, Result};
use serde_json::{Value, json};
use transcript::Class::{A8, B3};

use super::{Case, Place, edit};
use crate::agent::VERSIONS;
use crate::base::{Base, Row};

/// A parent that only a subagent's own file has.
const OF_SUBAGENT: &str = "5ab0a9e1-0000-4000-8000-000000000001";

pub(super) fn cases() -> Vec<Case> {
    [untyped(), contents(), attachments(), odd_but_healthy()].concat()
}

fn untyped() -> Vec<Case> {
    let [oldest, older, newest] = VERSIONS;
    vec![
        Case::rows("untyped-prompt", &[A8], "a prompt whose row has no type", |b| {
            remove(b, b.ask(4)?, "type")
        })
        .on(newest),
        Case::rows("untyped-reply", &[A8], "a reply whose row has no type", |b| {
            remove(b, b.reply(4)?, "type")
        })
        .on(older),
        Case::rows("untyped-result", &[A8], "a tool's result whose row has the type null", |b| {
            let row = b.result(5)?;
            b[row]["type"] = Value::Null;
            Ok(())
        })
        .on(oldest),
        Case::rows("untyped-stray", &[], "a row without type and id, which no version reads", |b| {
            let ask = b.ask(4)?;
            let stray =
                json!({"message": b[ask]["message"].clone(), "sessionId": b[ask]["sessionId"].clone()});
            let stray = b.make(stray);
            b.insert_before(ask, &[stray])
        })
        .unchanged()
        .on(newest),
    ]
}

fn contents() -> Vec<Case> {
    let [oldest, older, newest] = VERSIONS;
    vec![
        Case::rows("reply-as-text", &[A8], "a reply whose content is one text", |b| {
            let row = b.reply(4)?;
            let said = b[row]["message"]["content"][0]["text"].clone();
            b[row]["message"]["content"] = said;
            Ok(())
        })
        .on(older),
        Case::rows("prompt-as-text", &[], "a prompt whose content is one text, and one with a block", |b| {
            let row = b.ask(4)?;
            b[row]["message"]["content"] = json!([{"type": "text", "text": "ask-04 please"}]);
            Ok(())
        })
        .unchanged()
        .on(oldest),
        Case::rows("result-number", &[A8], "a tool's result that is a number", |b| result(b, json!(7)))
            .on(oldest),
        Case::rows("result-object", &[A8], "a tool's result that is an object", |b| {
            result(b, json!({"stdout": "tool-05"}))
        })
        .must(&["tool-05"])
        .on(oldest),
        Case::rows("result-texts", &[A8], "a tool's result that is a list of texts and null", |b| {
            result(b, json!(["tool-05", null]))
        })
        .must(&["tool-05"])
        .on(older),
        Case::rows("result-blocks", &[], "a tool's result that is a list of blocks", |b| {
            result(b, json!([{"type": "text", "text": "tool-05"}]))
        })
        .must(&["tool-05"])
        .unchanged()
        .on(newest),
    ]
}

fn attachments() -> Vec<Case> {
    let [oldest, older, newest] = VERSIONS;
    vec![
        Case::rows("file-without-content", &[A8], "an attached file without its content", |b| {
            attach(b, json!({"type": "file", "filename": "/notes"}))
        })
        .on(oldest),
        Case::rows("file-attached", &[], "an attached file", |b| {
            let file = json!({"filePath": "/notes", "content": "a", "numLines": 1, "startLine": 1, "totalLines": 1});
            attach(b, json!({"type": "file", "filename": "/notes", "content": {"type": "text", "file": file}}))
        })
        .unchanged()
        .on(oldest),
        Case::rows("hook-without-content", &[A8], "a hook's context that is missing", |b| {
            attach(b, json!({"type": "hook_additional_context", "hookName": "h", "hookEvent": "SessionStart"}))
        })
        .on(older),
        Case::rows("hook-error-without-words", &[A8], "a hook's error without the error", |b| {
            attach(b, json!({"type": "hook_blocking_error", "hookName": "h", "hookEvent": "Stop"}))
        })
        .on(newest),
        Case::rows("hook-attached", &[], "a hook's context", |b| {
            attach(b, json!({"type": "hook_additional_context", "content": ["known"], "hookName": "h", "hookEvent": "SessionStart"}))
        })
        .unchanged()
        .on(older),
        Case::rows("todo-without-items", &[A8], "a reminder of a list that is missing", |b| {
            attach(b, json!({"type": "todo_reminder", "itemCount": 1}))
        })
        .on(older),
        Case::rows("todo-attached", &[], "a reminder of an empty list", |b| {
            attach(b, json!({"type": "todo_reminder", "content": [], "itemCount": 0}))
        })
        .unchanged()
        .on(oldest),
        Case::rows("attachment-unknown", &[], "an attachment of a kind that is not known yet", |b| {
            attach(b, json!({"type": "invented_tomorrow"}))
        })
        .unchanged()
        .on(newest),
    ]
}

fn odd_but_healthy() -> Vec<Case> {
    let [oldest, older, newest] = VERSIONS;
    vec![
        Case::rows("times-without-zone", &[], "times without a zone", |b| {
            times(b, |time| time.replace('Z', ""))
        })
        .unchanged()
        .on(older),
        Case::rows("times-with-offset", &[], "times that end in +0000", |b| {
            times(b, |time| time.replace('Z', "+0000"))
        })
        .unchanged()
        .on(oldest),
        Case::rows("times-with-space", &[], "times with a space in the place of the T", |b| {
            times(b, |time| time.replace('T', " "))
        })
        .unchanged()
        .on(newest),
        Case::place(
            "sidechain-of-subagent",
            &[B3],
            "a subagent's row that follows a row of the subagent's own file",
            sidechain_of_subagent,
        )
        .never(&["a subagent's task"])
        .unchanged()
        .on(newest),
    ]
}

fn remove(base: &mut Base, row: Row, field: &str) -> Result<()> {
    base[row].as_object_mut().context("no row")?.remove(field);
    Ok(())
}

fn result(base: &mut Base, output: Value) -> Result<()> {
    let row = base.result(5)?;
    let blocks = base[row]["message"]["content"].as_array_mut().context("no blocks")?;
    let block = blocks.iter_mut().find(|block| block["type"] == "tool_result").context("no result")?;
    block["content"] = output;
    Ok(())
}

fn attach(base: &mut Base, attachment: Value) -> Result<()> {
    let ask = base.ask(6)?;
    let row = base.twin(ask);
    remove(base, row, "message")?;
    base[row]["type"] = "attachment".into();
    base[row]["attachment"] = attachment;
    base.link_before(ask, &[row])
}

fn times(base: &mut Base, shape: impl Fn(&str) -> String) -> Result<()> {
    for row in base.rows() {
        let shaped = base[row]["timestamp"].as_str().map(&shape);
        if let Some(time) = shaped {
            base[row]["timestamp"] = time.into();
        }
    }
    Ok(())
}

fn sidechain_of_subagent(place: &Place<'_>) -> Result<std::path::PathBuf> {
    let folder = place.file.with_extension("").join("subagents");
    std::fs::create_dir_all(&folder)?;
    let row = json!({"type": "user", "uuid": OF_SUBAGENT, "sessionId": place.session, "isSidechain": true});
    std::fs::write(folder.join("agent-a1.jsonl"), format!("{row}\n"))?;
    edit(place, |base| {
        let ask = base.ask(4)?;
        let row = base.twin(ask);
        base[row]["parentUuid"] = OF_SUBAGENT.into();
        base[row]["isSidechain"] = true.into();
        base[row]["message"]["content"] = "a subagent's task".into();
        base.insert_before(ask, &[row])
    })?;
    Ok(place.file.clone())
}
