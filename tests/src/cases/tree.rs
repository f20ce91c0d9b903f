//! Damage to the tree of rows: class B.

use anyhow::{Context, Result};
use serde_json::{Value, json};
use transcript::Class::{B1, B2, B3, B4, B5, B6, B8, B9, B12, B13, B14};

use super::healthy::new_turn;
use super::{Case, Place, edit, order, stranded, without};
use crate::base::{Base, GHOST, Row};
use crate::conversation::Story;

pub(super) fn cases() -> Vec<Case> {
    [parents(), rings(), stranded::cases(), leaves(), compactions(), order::cases()].concat()
}

fn parents() -> Vec<Case> {
    vec![
        Case::rows("orphan-ask", &[B1], "a user row's parent is not in the file", |b| ghost(b, b.ask(6)?)),
        Case::rows("orphan-reply", &[B1], "an assistant row's parent is not in the file", |b| {
            ghost(b, b.reply(6)?)
        }),
        Case::rows(
            "orphan-progress",
            &[B1, B2],
            "a progress row's parent is not in the file",
            orphan_progress,
        ),
        Case::rows("orphans-at-two-depths", &[B1], "two broken links", |b| {
            ghost(b, b.ask(3)?)?;
            ghost(b, b.ask(6)?)
        }),
        Case::rows("lost-ask", &[B1], "a user row never reached the disk", |b| lose(b, b.ask(4)?))
            .asks(without(&[4])),
        Case::rows("lost-reply", &[B1], "an assistant row never reached the disk", |b| lose(b, b.reply(4)?))
            .replies(without(&[4])),
        Case::place(
            "parent-in-subagent",
            &[B3],
            "a row's parent lives in a subagent's file",
            parent_in_subagent,
        ),
        Case::rows("through-progress", &[B2], "the chain runs through a progress row", |b| {
            let ask = b.ask(6)?;
            let row = progress(b, ask);
            b.link_before(ask, &[row])
        }),
        Case::rows(
            "stop-hook-elided",
            &[B4],
            "a stop hook's progress row was in the chain and is gone",
            |b| {
                let row = stop_hook(b)?;
                lose(b, row)
            },
        ),
        Case::rows("stop-hook-in-chain", &[B4], "a stop hook's progress row is in the chain", |b| {
            stop_hook(b).map(drop)
        }),
        Case::rows("false-root", &[B12], "a row in the middle has no parent at all", |b| {
            let ask = b.ask(6)?;
            b[ask]["parentUuid"] = Value::Null;
            Ok(())
        }),
        Case::rows("no-parent-key", &[B13], "a row of a foreign writer has no parentUuid", |b| {
            let ask = b.ask(6)?;
            if let Some(fields) = b[ask].as_object_mut() {
                fields.remove("parentUuid");
            }
            Ok(())
        }),
        Case::rows("foreign-id", &[B14], "a row of a foreign writer has an id that is no UUID", foreign_id),
        Case::rows("empty-id", &[B14], "a row of a foreign writer has an empty id", |b| {
            let ask = b.ask(6)?;
            rename(b, ask, "");
            Ok(())
        }),
        Case::rows("foreign-ids", &[B14], "every row of a foreign writer has an id that is no UUID", |b| {
            let rows: Vec<Row> = b.rows().into_iter().filter(|row| b[*row].get("uuid").is_some()).collect();
            rows.iter().enumerate().for_each(|(at, row)| rename(b, *row, &format!("row-{at}")));
            Ok(())
        }),
    ]
}

fn rings() -> Vec<Case> {
    vec![
        Case::rows("self-parent", &[B5], "a row is its own parent", |b| {
            let ask = b.ask(4)?;
            b[ask]["parentUuid"] = b.uuid(ask);
            Ok(())
        }),
        Case::rows("cycle", &[B5], "parents form a ring", |b| {
            let (ask, later) = (b.ask(3)?, b.reply(5)?);
            b[ask]["parentUuid"] = b.uuid(later);
            Ok(())
        }),
        Case::rows("uuid-again", &[B5, B6], "an old row again, with another parent: a ring", |b| {
            let (old, parent) = (b.reply(2)?, b.reply(6)?);
            let again = b.make(b[old].clone());
            b[again]["parentUuid"] = b.uuid(parent);
            b.insert_after(parent, &[again])
        }),
        Case::rows("replayed", &[B6], "a resume wrote old rows again, with other ambient fields", |b| {
            replay(b, 0, 5).map(drop)
        }),
        Case::rows(
            "replayed-cut",
            &[B6, B12],
            "the last turns were written again, without what was before",
            |b| {
                let first = replay(b, 5, 8)?;
                b[first]["parentUuid"] = Value::Null;
                Ok(())
            },
        ),
    ]
}

fn leaves() -> Vec<Case> {
    vec![
        Case::rows("stale-last-prompt", &[B8], "the last prompt's row names an old leaf", |b| {
            let (leaf, session) = (b.reply(3)?, b.ask(3)?);
            b.keep(|row| row["type"] != "last-prompt");
            let row = json!({"type": "last-prompt", "lastPrompt": "ask-03 please", "leafUuid": b[leaf]["uuid"],
                             "sessionId": b[session]["sessionId"]});
            b.push(row);
            Ok(())
        }),
        Case::rows("rewound-stale-leaf", &[B8], "after a rewind the last prompt's row still names the old end", |b| {
            let (parent, old) = (b.reply(4)?, b.reply(7)?);
            let turn = new_turn(b, parent, 8, 3600)?;
            b.keep(|row| row["type"] != "last-prompt");
            let row = json!({"type": "last-prompt", "lastPrompt": "ask-07 please", "leafUuid": b[old]["uuid"],
                             "sessionId": b[old]["sessionId"]});
            // Killed before it wrote the new one: the row stands before the turn.
            b.push(row);
            b.append(&turn);
            Ok(())
        })
        .turns([0, 1, 2, 3, 4, 8])
        .never(&["ask-06"]),
        Case::rows(
            "clock-jumped-back",
            &[B8],
            "after a rewind the clock went back: newest time and last row disagree",
            |b| {
                let parent = b.reply(4)?;
                let turn = new_turn(b, parent, 8, -1_000_000)?;
                b.keep(|row| row["type"] != "last-prompt");
                b.append(&turn);
                Ok(())
            },
        )
        .turns([0, 1, 2, 3, 4, 8])
        .never(&["ask-06"]),
    ]
}

fn compactions() -> Vec<Case> {
    let case = |name, what, make: fn(&mut Base) -> Result<()>| {
        let case = Case::rows(name, &[B9], what, make).of(Story::Compacted);
        case.turns(4..6).must(&["the story until 03"]).never(&["ask-01"])
    };
    vec![
        case("compaction-orphan", "the first row after a compaction dangles", |b| {
            let summary = b.find("summary", |row| row["isCompactSummary"] == true)?;
            let uuid = b.uuid(summary);
            let next = b.find("row after the summary", |row| row["parentUuid"] == uuid)?;
            ghost(b, next)
        }),
        case("compaction-summary-orphan", "a compaction's summary dangles", |b| {
            let summary = b.find("summary", |row| row["isCompactSummary"] == true)?;
            ghost(b, summary)
        }),
        case("compaction-boundary-lost", "a compaction's boundary never reached the disk", |b| {
            let boundary = b.find("boundary", |row| row["subtype"] == "compact_boundary")?;
            lose(b, boundary)
        }),
        case("compaction-late-orphan", "a turn after a compaction dangles", |b| ghost(b, b.ask(5)?)),
        case("compaction-logical", "a compaction's boundary leads nowhere", |b| {
            let boundary = b.find("boundary", |row| row["subtype"] == "compact_boundary")?;
            b[boundary]["logicalParentUuid"] = GHOST.into();
            Ok(())
        }),
    ]
}

fn ghost(base: &mut Base, row: Row) -> Result<()> {
    base[row]["parentUuid"] = GHOST.into();
    Ok(())
}

fn lose(base: &mut Base, row: Row) -> Result<()> {
    base.drop_rows(&[row]);
    Ok(())
}

/// A progress row that is a copy of `like` without its message.
fn progress(base: &mut Base, like: Row) -> Row {
    let row = base.twin(like);
    if let Some(fields) = base[row].as_object_mut() {
        fields.remove("message");
    }
    base[row]["type"] = "progress".into();
    base[row]["data"] = json!({"type": "agent_progress"});
    base[row]["toolUseID"] = "x".into();
    base[row]["parentToolUseID"] = "y".into();
    row
}

/// A progress row whose parent lives in a subagent's file, and the turn hangs on it.
fn orphan_progress(base: &mut Base) -> Result<()> {
    let ask = base.ask(6)?;
    let row = progress(base, ask);
    base.link_before(ask, &[row])?;
    ghost(base, row)
}

fn parent_in_subagent(place: &Place<'_>) -> Result<std::path::PathBuf> {
    edit(place, |base| {
        let ask = base.ask(6)?;
        let row = base.twin(ask);
        base[row]["isSidechain"] = true.into();
        base[row]["agentId"] = "a1b2c3d".into();
        base[row]["message"]["content"] = "a subagent's task".into();
        base[row]["parentUuid"] = Value::Null;
        base[ask]["parentUuid"] = base.uuid(row);
        let folder = place.file.with_extension("").join("subagents");
        std::fs::create_dir_all(&folder)?;
        std::fs::write(folder.join("agent-a1b2c3d.jsonl"), base.lines(&[row]))?;
        Ok(())
    })?;
    Ok(place.file.clone())
}

/// Reply, progress row of a stop hook, its summary, next turn; returns the progress row.
fn stop_hook(base: &mut Base) -> Result<Row> {
    let ask = base.ask(6)?;
    let hook = progress(base, ask);
    base[hook]["data"] =
        json!({"type": "hook_progress", "hookEvent": "Stop", "hookName": "Stop", "command": "true"});
    let summary = summary_row(base, ask);
    base.link_before(ask, &[hook, summary])?;
    Ok(hook)
}

/// The system row that an agent writes after its stop hooks ran.
pub(super) fn summary_row(base: &mut Base, like: Row) -> Row {
    let row = base.twin(like);
    if let Some(fields) = base[row].as_object_mut() {
        fields.remove("message");
        fields.remove("promptId");
    }
    base[row]["type"] = "system".into();
    base[row]["subtype"] = "stop_hook_summary".into();
    base[row]["hookCount"] = 1.into();
    base[row]["hookInfos"] = json!([{"command": "true"}]);
    base[row]["hookErrors"] = json!([]);
    base[row]["preventedContinuation"] = false.into();
    base[row]["hasOutput"] = false.into();
    base[row]["level"] = "suggestion".into();
    row
}

fn foreign_id(base: &mut Base) -> Result<()> {
    let ask = base.ask(6)?;
    rename(base, ask, "prompt-6");
    Ok(())
}

/// Writes the turns from `from` up to, but without, `to` once more at the end of the file; returns the first row.
fn replay(base: &mut Base, from: u8, to: u8) -> Result<Row> {
    let start = base.at(base.ask(from)?)?;
    let end = base.ask(to).and_then(|row| base.at(row)).unwrap_or(base.rows().len());
    let mut first = None;
    for row in base.rows()[start..end].to_vec() {
        if base[row].get("uuid").is_some() {
            let mut again = base[row].clone();
            again["gitBranch"] = "elsewhere".into();
            again["version"] = "2.1.90".into();
            let again = base.push(again);
            first = first.or(Some(again));
        }
    }
    first.context("nothing to replay")
}

/// Gives a row another uuid, and its children that parent.
fn rename(base: &mut Base, row: Row, new: &str) {
    let old = base.uuid(row);
    for child in base.rows() {
        if base[child]["parentUuid"] == old {
            base[child]["parentUuid"] = new.into();
        }
    }
    base[row]["uuid"] = new.into();
}
