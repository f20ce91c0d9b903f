//! Conversations that look strange to a naive reader and are well: a repair must not change one byte.

use anyhow::Result;
use serde_json::json;
use transcript::Class::{B7, B10, B11};

use super::Case;
use crate::base::{Base, Row};
use crate::conversation::Story;

pub(super) fn cases() -> Vec<Case> {
    vec![
        Case::rows("healthy", &[], "nothing is wrong: nothing may change", |_| Ok(())).unchanged(),
        Case::rows("rewound", &[B11], "the user rewound: the branch given up must not come back", rewound)
            .turns([0, 1, 2, 3, 4, 8])
            .never(&["ask-06", "reply-06"])
            .unchanged(),
        Case::rows(
            "reply-first",
            &[],
            "rows were written at once: the last reply stands before its prompt",
            reply_first,
        )
        .unchanged(),
        Case::rows(
            "mode-rows",
            &[],
            "the same metadata rows again and again: the last one counts",
            mode_rows,
        )
        .unchanged(),
        Case::rows(
            "sidechain",
            &[],
            "an old agent's subagent in the same file, with a root of its own",
            sidechain,
        )
        .never(&["a subagent's task"])
        .unchanged(),
        Case::rows(
            "parallel-tools",
            &[B10],
            "one reply called two tools: results hang beside the chain",
            |_| Ok(()),
        )
        .of(Story::Parallel)
        .turns(0..3)
        .must(&["tool-one", "tool-two"])
        .unchanged(),
        Case::rows("compacted", &[], "a compaction: what it removed must not come back", |_| Ok(()))
            .of(Story::Compacted)
            .turns(4..6)
            .must(&["the story until 03"])
            .never(&["ask-01"])
            .unchanged(),
        Case::rows(
            "goes-on-from-another",
            &[],
            "the first turns carry the id of the session that this one goes on from",
            |b| {
                let until = b.at(b.ask(3)?)?;
                for row in b.rows().into_iter().take(until) {
                    if b[row].get("sessionId").is_some() {
                        b[row]["sessionId"] = "0bad5e55-0000-4000-8000-000000000002".into();
                    }
                }
                Ok(())
            },
        )
        .unchanged()
        .on("2.1.325"),
        Case::rows(
            "rewound-behind-hooks",
            &[B11],
            "the user rewound, and each branch begins with what a hook said",
            |b| super::order::rewind(b, true),
        )
        .turns([0, 1, 2, 3, 4, 8])
        .never(&["ask-06", "reply-06"])
        .unchanged()
        .on("2.1.31"),
        Case::rows(
            "two-owners",
            &[B7],
            "two processes resumed one session: looks like a rewind, so the user chooses",
            two_owners,
        )
        .turns([0, 1, 2, 3, 4, 8, 9])
        .unchanged(),
    ]
}

/// A turn that hangs on `parent`: ask and reply, `seconds` after everything else.
pub(super) fn new_turn(base: &mut Base, parent: Row, turn: u8, seconds: i64) -> Result<[Row; 2]> {
    let (old_ask, old_reply) = (base.ask(7)?, base.reply(7)?);
    let (asked, replied) = (base.later(seconds)?, base.later(seconds + 1)?);
    let ask = base.twin(old_ask);
    base[ask]["parentUuid"] = base.uuid(parent);
    base[ask]["timestamp"] = asked.into();
    base[ask]["message"]["content"] = format!("ask-{turn:02} another way").into();
    if base[ask].get("promptId").is_some() {
        base[ask]["promptId"] = uuid::Uuid::new_v4().to_string().into();
    }
    let reply = base.twin(old_reply);
    base[reply]["parentUuid"] = base.uuid(ask);
    base[reply]["timestamp"] = replied.into();
    base[reply]["message"]["id"] = format!("msg_of_turn_{turn:02}").into();
    base[reply]["message"]["content"] = json!([{"type": "text", "text": format!("reply-{turn:02}: noted.")}]);
    Ok([ask, reply])
}

/// The user went back to turn 4 and asked something else: turns 5 to 7 were given up, and must stay so.
fn rewound(base: &mut Base) -> Result<()> {
    let parent = base.reply(4)?;
    let turn = new_turn(base, parent, 8, 3600)?;
    base.keep(|row| row["type"] != "last-prompt");
    base.append(&turn);
    Ok(())
}

/// As 2.1.31 writes it now and then in a new conversation (measured).
fn reply_first(base: &mut Base) -> Result<()> {
    let ask = base.ask(7)?;
    base.drop_rows(&[ask]);
    base.keep(|row| row["type"] != "last-prompt");
    base.append(&[ask]);
    Ok(())
}

/// Copies of metadata rows are no bloat: without the last one another mode would hold (docs/damage.md, A11).
fn mode_rows(base: &mut Base) -> Result<()> {
    let session = base[base.ask(0)?]["sessionId"].clone();
    for mode in ["plan", "normal", "plan", "normal"] {
        base.push(json!({"type": "mode", "mode": mode, "sessionId": session}));
    }
    Ok(())
}

fn sidechain(base: &mut Base) -> Result<()> {
    let (ask, reply, before) = (base.ask(4)?, base.reply(4)?, base.ask(5)?);
    let (task, done) = (base.twin(ask), base.twin(reply));
    base[task]["message"]["content"] = "a subagent's task".into();
    base[task]["parentUuid"] = serde_json::Value::Null;
    base[done]["message"]["content"] = json!([{"type": "text", "text": "a subagent's answer"}]);
    base[done]["message"]["id"] = "msg_of_a_subagent".into();
    base[done]["parentUuid"] = base.uuid(task);
    for row in [task, done] {
        base[row]["isSidechain"] = true.into();
    }
    base.insert_before(before, &[task, done])
}

/// Each process goes on from its own end, and their rows alternate in the file.
fn two_owners(base: &mut Base) -> Result<()> {
    let parent = base.reply(4)?;
    let [ask_8, reply_8] = new_turn(base, parent, 8, 3600)?;
    let [ask_9, reply_9] = new_turn(base, reply_8, 9, 7200)?;
    base.keep(|row| row["type"] != "last-prompt");
    let other = base.ask(6)?;
    base.insert_before(other, &[ask_8, reply_8])?;
    base.append(&[ask_9, reply_9]);
    Ok(())
}
