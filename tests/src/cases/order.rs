//! Which rows belong where: another order of the lines, one id on two rows, rows of another session, a lost row that the
//! user had gone back to, and two of these at once. The healthy look-alikes are in `healthy`.

use anyhow::Result;
use serde_json::{Value, json};
use transcript::Class::{A4, A11, B1, B6, B7, B8, B15, B16, C1};

use super::Case;
use super::healthy::new_turn;
use crate::base::{Base, GHOST, Row};
use crate::conversation::Story;

const OTHER: &str = "0bad5e55-0000-4000-8000-000000000002";

pub(super) fn cases() -> Vec<Case> {
    [lines(), forks(), others(), pairs()].concat()
}

fn lines() -> Vec<Case> {
    vec![
        Case::rows(
            "sorted-by-time",
            &[B15],
            "a tool sorted the rows by time, those without one first",
            |b| {
                sort(b);
                Ok(())
            },
        )
        .on("2.1.325"),
        Case::rows("newest-first", &[B15], "a tool sorted the rows by time, the newest first", |b| {
            sort(b);
            reverse(b);
            Ok(())
        })
        .on("2.1.325"),
        Case::rows("reversed", &[B15], "a tool reversed the rows", |b| {
            reverse(b);
            Ok(())
        })
        .on("2.1.325"),
        Case::rows(
            "swapped-and-orphan",
            &[B1, B15],
            "two rows changed places, and a later one dangles",
            |b| {
                swap(b, b.ask(3)?, b.reply(3)?)?;
                let ask = b.ask(6)?;
                b[ask]["parentUuid"] = GHOST.into();
                Ok(())
            },
        )
        .on("2.1.31"),
        Case::rows(
            "reply-before-orphan",
            &[B1, B15],
            "a reply stands before its prompt, which dangles",
            |b| {
                swap(b, b.ask(6)?, b.reply(6)?)?;
                let ask = b.ask(6)?;
                b[ask]["parentUuid"] = GHOST.into();
                Ok(())
            },
        )
        .on("2.1.100"),
        Case::rows("twin-id", &[B6], "two replies have one id, and a prompt follows each", |b| twin(b, 2, 5))
            .on("2.1.325"),
    ]
}

/// Behind turn 4 the user went back: turns 5 to 7 were given up, and the row that both branches follow is lost.
fn forks() -> Vec<Case> {
    let case = |name, what, make: fn(&mut Base) -> Result<Vec<u8>>| {
        let case = Case::bytes(name, &[B1], what, make);
        case.asks([0, 1, 2, 3, 4, 8]).replies([0, 1, 2, 3, 8]).never(&["ask-06", "reply-06"])
    };
    vec![
        case("fork-row-lost", "the row that the user went back to is lost", |b| {
            rewind(b, false)?;
            let fork = b.reply(4)?;
            b.drop_rows(&[fork]);
            Ok(b.bytes())
        })
        .on("2.1.31"),
        case("fork-row-nul", "the row that the user went back to is NUL", |b| {
            rewind(b, false)?;
            let line = b.line(b.reply(4)?);
            Ok(replace(&b.bytes(), &line, &vec![0; line.len()]))
        })
        .on("2.1.100"),
        case("fork-row-torn", "the row that the user went back to is torn", |b| {
            rewind(b, false)?;
            let line = b.line(b.reply(4)?);
            Ok(replace(&b.bytes(), &line, &line[..line.len() / 2]))
        })
        .on("2.1.325"),
        case("fork-behind-hooks", "the lost row was followed by what hooks said", |b| {
            rewind(b, true)?;
            let fork = b.reply(4)?;
            b.drop_rows(&[fork]);
            Ok(b.bytes())
        })
        .on("2.1.31"),
    ]
}

fn others() -> Vec<Case> {
    vec![
        Case::rows("other-session", &[B16], "rows of another session were appended", |b| {
            append_other(b, 3600)
        })
        .never(&["stranger"])
        .on("2.1.325"),
        Case::rows(
            "resumed-at-equal-time",
            &[B7],
            "2.1.31 resumed at a tool's result as old as its reply and answered that",
            equal_times,
        )
        .turns([0, 1, 2, 3, 4, 5, 8])
        .on("2.1.31"),
    ]
}

fn pairs() -> Vec<Case> {
    let compacted =
        |case: Case| case.of(Story::Compacted).turns(4..6).must(&["the story until 03"]).never(&["ask-01"]);
    vec![
        Case::rows("stale-leaf-sorted", &[B8, B15], "an old checkpoint, and sorted by time", |b| {
            let leaf = b.reply(3)?;
            b.push(json!({"type": "last-prompt", "lastPrompt": "ask-03 please", "leafUuid": b[leaf]["uuid"],
                          "sessionId": b[leaf]["sessionId"]}));
            sort(b);
            Ok(())
        })
        .on("2.1.325"),
        Case::rows("other-session-sorted", &[B15, B16], "another session's rows, and sorted by time", |b| {
            append_other(b, -45)?;
            sort(b);
            Ok(())
        })
        .never(&["stranger"])
        .on("2.1.100"),
        Case::rows("repeated-run-reversed", &[A11, B15], "some rows twice, and reversed", |b| {
            repeat(b, 2, 5)?;
            reverse(b);
            Ok(())
        })
        .on("2.1.325"),
        Case::rows("repeated-run-sorted", &[A11, B15], "some rows twice, and sorted by time", |b| {
            repeat(b, 2, 5)?;
            sort(b);
            Ok(())
        })
        .on("2.1.31"),
        Case::rows("doubled-reversed", &[A11, B15], "the file twice in one, and reversed", |b| {
            repeat(b, 0, 8)?;
            reverse(b);
            Ok(())
        })
        .on("2.1.325"),
        compacted(Case::rows(
            "doubled-swapped",
            &[A11, B15],
            "the file twice in one, and two rows swapped",
            |b| {
                let rows = b.rows();
                for row in rows {
                    b.push(b[row].clone());
                }
                let boundary = b.find("boundary", |row| row["subtype"] == "compact_boundary")?;
                let summary = b.find("summary", |row| row["isCompactSummary"] == true)?;
                swap(b, boundary, summary)
            },
        ))
        .on("2.1.100"),
        compacted(Case::bytes(
            "twin-id-nul",
            &[A4, B6],
            "one id before and behind a compaction, and a NUL row",
            |b| {
                twin(b, 1, 5)?;
                let line = b.line(b.ask(5)?);
                Ok(replace(&b.bytes(), &line, &[&[0; 64], &line[..]].concat()))
            },
        ))
        .on("2.1.325"),
        Case::rows("unanswered-sidechain", &[C1], "a lost result, and a subagent's row that dangles", |b| {
            let (call, result, before) = (b.call(5)?, b.result(5)?, b.ask(6)?);
            let next = b.find("row behind the result", |row| row["parentUuid"] == b.uuid(result))?;
            b[next]["parentUuid"] = b.uuid(call);
            b.drop_rows(&[result]);
            let task = b.twin(before);
            b[task]["message"]["content"] = "a subagent's task".into();
            b[task]["parentUuid"] = GHOST.into();
            b[task]["isSidechain"] = true.into();
            b.insert_before(before, &[task])
        })
        .never(&["a subagent's task"])
        .on("2.1.31"),
    ]
}

pub(super) fn put(base: &mut Base, rows: &[Row]) {
    let all = base.rows();
    base.drop_rows(&all);
    base.append(rows);
}

fn sort(base: &mut Base) {
    let mut rows = base.rows();
    rows.sort_by_key(|row| base[*row]["timestamp"].as_str().map(str::to_owned));
    put(base, &rows);
}

fn reverse(base: &mut Base) {
    let rows: Vec<Row> = base.rows().into_iter().rev().collect();
    put(base, &rows);
}

fn swap(base: &mut Base, a: Row, b: Row) -> Result<()> {
    let mut rows = base.rows();
    let (a, b) = (base.at(a)?, base.at(b)?);
    rows.swap(a, b);
    put(base, &rows);
    Ok(())
}

/// Gives the reply of a later turn the id of an earlier one, also where rows refer to it.
fn twin(base: &mut Base, first: u8, second: u8) -> Result<()> {
    let (id, old) = (base.uuid(base.reply(first)?), base.uuid(base.reply(second)?));
    for row in base.rows() {
        for key in ["uuid", "parentUuid", "leafUuid"] {
            if base[row][key] == old {
                base[row][key] = id.clone();
            }
        }
    }
    Ok(())
}

/// The user goes back to turn 4 and says something else; with hooks, each branch begins with what a hook said.
pub(super) fn rewind(base: &mut Base, hooks: bool) -> Result<()> {
    let parent = base.reply(4)?;
    let [ask, reply] = new_turn(base, parent, 8, 3600)?;
    base.keep(|row| row["type"] != "last-prompt");
    base.append(&[ask, reply]);
    if hooks {
        for prompt in [base.ask(5)?, ask] {
            let hook = hook(base, prompt);
            base.link_before(prompt, &[hook])?;
        }
    }
    Ok(())
}

/// What a hook of the session's start leaves in the transcript.
fn hook(base: &mut Base, like: Row) -> Row {
    let row = base.twin(like);
    if let Some(fields) = base[row].as_object_mut() {
        fields.remove("message");
        fields.remove("promptId");
    }
    base[row]["type"] = "attachment".into();
    base[row]["attachment"] = json!({"type": "hook_success", "hookName": "SessionStart:resume", "toolUseID": "x",
        "hookEvent": "SessionStart", "content": "", "stdout": "", "stderr": "", "exitCode": 0});
    row
}

/// Two turns of another session, so many seconds behind the newest row.
fn append_other(base: &mut Base, seconds: i64) -> Result<()> {
    let mut parent = Value::Null;
    for turn in 0..4u8 {
        let like = if turn % 2 == 0 { base.ask(7)? } else { base.reply(7)? };
        let time = base.later(seconds)?;
        let row = base.twin(like);
        base[row]["sessionId"] = OTHER.into();
        base[row]["parentUuid"] = parent;
        base[row]["timestamp"] = time.into();
        base[row]["message"]["content"] = json!([{"type": "text", "text": format!("stranger {turn}")}]);
        if turn % 2 == 1 {
            base[row]["message"]["id"] = format!("msg_of_a_stranger_{turn}").into();
        }
        parent = base.uuid(row);
        base.append(&[row]);
    }
    Ok(())
}

/// Writes the rows of some turns once more, byte for byte.
fn repeat(base: &mut Base, from: u8, to: u8) -> Result<()> {
    let start = base.at(base.ask(from)?)?;
    let end = base.ask(to).and_then(|row| base.at(row)).unwrap_or(base.rows().len());
    for row in base.rows()[start..end].to_vec() {
        base.push(base[row].clone());
    }
    Ok(())
}

/// Turn 5 ends in a tool's result and a reply of one moment; 2.1.31 resumed at the result.
fn equal_times(base: &mut Base) -> Result<()> {
    let (result, reply) = (base.result(5)?, base.reply(5)?);
    base.until(reply)?;
    base.keep(|row| row["type"] != "last-prompt");
    base[result]["timestamp"] = base[reply]["timestamp"].clone();
    let time = base.later(3000)?;
    let synthetic = base.twin(reply);
    base[synthetic]["parentUuid"] = base.uuid(result);
    base[synthetic]["timestamp"] = time.into();
    base[synthetic]["message"] = json!({"id": "11111111-2222-4333-8444-555555555555", "type": "message",
        "role": "assistant", "model": "<synthetic>", "stop_reason": "stop_sequence", "stop_sequence": "",
        "usage": {"input_tokens": 0, "output_tokens": 0}, "content": [{"type": "text", "text": "No response requested."}]});
    base.append(&[synthetic]);
    let (asked, replied) = (base.later(60)?, base.later(70)?);
    let (ask, answer) = (base.twin(base.ask(4)?), base.twin(base.reply(4)?));
    base[ask]["parentUuid"] = base.uuid(synthetic);
    base[ask]["timestamp"] = asked.into();
    base[ask]["message"]["content"] = "ask-08 and now".into();
    base[answer]["parentUuid"] = base.uuid(ask);
    base[answer]["timestamp"] = replied.into();
    base[answer]["message"]["id"] = "msg_of_turn_08".into();
    base[answer]["message"]["content"] = json!([{"type": "text", "text": "reply-08: noted."}]);
    base.append(&[ask, answer]);
    Ok(())
}

pub(super) fn replace(bytes: &[u8], line: &[u8], with: &[u8]) -> Vec<u8> {
    let at = bytes.windows(line.len()).position(|window| window == line).unwrap_or(0);
    [&bytes[..at], with, &bytes[at + line.len()..]].concat()
}
