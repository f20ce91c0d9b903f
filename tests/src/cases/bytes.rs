//! Damage to bytes and single rows: class A.

use anyhow::{Context, Result};
use serde_json::{Value, json};
use transcript::Class::{A1, A2, A3, A4, A6, A7, A8, A9, A10, A11, A12, B1, B6, B12, C5};

use super::{Case, without};
use crate::base::{Base, GHOST, Row};

pub(super) fn cases() -> Vec<Case> {
    [torn(), rows(), whole_files()].concat()
}

fn torn() -> Vec<Case> {
    vec![
        Case::bytes("torn-tail", &[A1], "killed in the middle of the last write", torn_tail)
            .replies(without(&[7]))
            .goes_on(),
        Case::bytes("splice", &[A2], "a torn row with the next one glued on", splice).replies(without(&[4])),
        Case::bytes("glued", &[A3], "two rows on one line", glued),
        Case::bytes("nul-run", &[A4], "power loss left a run of NUL bytes before a row", nul_run),
        Case::bytes("nul-tail", &[A4], "power loss left NUL bytes at the end", |b| {
            Ok([b.bytes(), vec![0; 4096]].concat())
        })
        .goes_on(),
        Case::bytes("crlf", &[A10], "line ends of another system and a byte order mark", crlf).unchanged(),
    ]
}

fn rows() -> Vec<Case> {
    vec![
        Case::rows("message-null", &[A8], "a reply whose message is null", |b| {
            set(b, b.reply(4)?, "message", Value::Null)
        })
        .replies(without(&[4])),
        Case::rows("message-number", &[A8], "a reply whose message is a number", |b| {
            set(b, b.reply(4)?, "message", json!(7))
        })
        .replies(without(&[4])),
        Case::rows("message-missing", &[A8], "a prompt without a message", |b| {
            let ask = b.ask(4)?;
            if let Some(fields) = b[ask].as_object_mut() {
                fields.remove("message");
            }
            Ok(())
        })
        .asks(without(&[4])),
        Case::rows("attachment-null", &[A8], "an attachment that is null", attachment_null),
        Case::rows("tool-input-text", &[A8], "a tool's input is a text", |b| {
            let call = b.call(5)?;
            let blocks = b[call]["message"]["content"].as_array_mut().context("no blocks")?;
            let block = blocks.iter_mut().find(|block| block["type"] == "tool_use").context("no call")?;
            block["input"] = "echo".into();
            Ok(())
        }),
        Case::bytes(
            "lone-surrogate",
            &[A9],
            "half a character in a prompt, which the API refuses",
            lone_surrogate,
        ),
        Case::rows("bad-timestamp", &[A12], "the last reply's time is no date", |b| {
            set(b, b.reply(7)?, "timestamp", "yesterday".into())
        }),
        Case::rows("no-timestamps", &[A12], "no row has a time", |b| {
            for row in b.rows() {
                if let Some(fields) = b[row].as_object_mut() {
                    fields.remove("timestamp");
                }
            }
            Ok(())
        }),
    ]
}

fn whole_files() -> Vec<Case> {
    vec![
        Case::rows("bloat", &[A11, B6], "one row five hundred times over", |b| {
            let row = b.reply(5)?;
            b.insert_after(row, &[row; 500])
        })
        .shrinks(),
        Case::bytes(
            "many-wounds",
            &[A1, A4, B1, B12, C5],
            "several kinds of damage in one file",
            many_wounds,
        )
        .replies(without(&[7]))
        .goes_on(),
        Case::rows("stub", &[A6], "only metadata is left", stub).synced(),
        Case::rows("overwritten", &[A7], "another conversation under the same name", overwritten)
            .synced()
            .never(&["ask-50"]),
    ]
}

/// What is left of a machine that lost power twice.
fn many_wounds(base: &mut Base) -> Result<Vec<u8>> {
    let (orphan, root, blank) = (base.ask(3)?, base.ask(6)?, base.reply(2)?);
    base[orphan]["parentUuid"] = GHOST.into();
    base[root]["parentUuid"] = Value::Null;
    let empty = json!({"type": "text", "text": ""});
    base[blank]["message"]["content"].as_array_mut().context("no blocks")?.push(empty);
    let last = base.reply(7)?;
    let (before, _) = base.around(last)?;
    let wounded = base.around(base.ask(7)?)?.0.len();
    Ok([&before[..wounded], &[0; 512], &before[wounded..], &base.line(last)[..90]].concat())
}

fn set(base: &mut Base, row: Row, field: &str, value: Value) -> Result<()> {
    base[row][field] = value;
    Ok(())
}

fn torn_tail(base: &mut Base) -> Result<Vec<u8>> {
    let last = base.reply(7)?;
    let (before, _) = base.around(last)?;
    Ok([before.as_slice(), &base.line(last)[..120]].concat())
}

fn nul_run(base: &mut Base) -> Result<Vec<u8>> {
    let row = base.ask(5)?;
    let (before, after) = base.around(row)?;
    Ok([before, vec![0; 4096], base.line(row), b"\n".to_vec(), after].concat())
}

/// A torn write and the next append on one line: the first row is gone, the second must live.
fn splice(base: &mut Base) -> Result<Vec<u8>> {
    let lost = base.reply(4)?;
    let (before, after) = base.around(lost)?;
    Ok([before.as_slice(), &base.line(lost)[..150], &after].concat())
}

fn glued(base: &mut Base) -> Result<Vec<u8>> {
    let row = base.reply(4)?;
    let (before, after) = base.around(row)?;
    Ok([before, base.line(row), after].concat())
}

fn crlf(base: &mut Base) -> Result<Vec<u8>> {
    let text = String::from_utf8(base.bytes())?;
    Ok(format!("\u{feff}{}", text.replace('\n', "\r\n")).into_bytes())
}

fn lone_surrogate(base: &mut Base) -> Result<Vec<u8>> {
    let ask = base.ask(4)?;
    base[ask]["message"]["content"] = "ask-04 please HALF".into();
    let text = String::from_utf8(base.bytes())?;
    Ok(text.replace("HALF", "\\ud83d").into_bytes())
}

fn attachment_null(base: &mut Base) -> Result<()> {
    let ask = base.ask(6)?;
    let row = base.twin(ask);
    if let Some(fields) = base[row].as_object_mut() {
        fields.remove("message");
    }
    base[row]["type"] = "attachment".into();
    base[row]["attachment"] = Value::Null;
    base.link_before(ask, &[row])
}

fn session(base: &Base) -> Result<Value> {
    let row = base.find("row with a session", |row| row.get("sessionId").is_some())?;
    Ok(base[row]["sessionId"].clone())
}

fn stub(base: &mut Base) -> Result<()> {
    let session = session(base)?;
    base.keep(|row| row.get("uuid").is_none());
    base.push(json!({"type": "ai-title", "aiTitle": "Eight questions", "sessionId": session}));
    base.push(json!({"type": "last-prompt", "lastPrompt": "ask-07 please", "sessionId": session}));
    base.push(json!({"type": "mode", "mode": "normal", "sessionId": session}));
    Ok(())
}

/// One turn of a stranger, with ids of its own.
fn overwritten(base: &mut Base) -> Result<()> {
    let (old_ask, old_reply) = (base.ask(0)?, base.reply(0)?);
    let times = [base.later(60)?, base.later(61)?];
    let (ask, reply) = (base.twin(old_ask), base.twin(old_reply));
    base[ask]["message"]["content"] = "ask-50 of a stranger".into();
    base[reply]["message"]["content"] = json!([{"type": "text", "text": "reply-50: noted."}]);
    base[reply]["message"]["id"] = "msg_of_a_stranger".into();
    base[reply]["parentUuid"] = base.uuid(ask);
    for (row, time) in [ask, reply].into_iter().zip(times) {
        base[row]["timestamp"] = time.into();
        base[row]["gitBranch"] = "another-branch".into();
    }
    base.keep(|_| false);
    base.append(&[ask, reply]);
    Ok(())
}
