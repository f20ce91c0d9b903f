//! Damage to the tree of rows: class B.

use anyhow::Result;
use serde_json::{Value, json};
use transcript::Class::{B1, B2, B3, B5, B12};

use super::{Case, without};
use crate::base::{Base, GHOST, Row};

pub(super) fn cases() -> Vec<Case> {
    vec![
        Case::rows("orphan-ask", &[B1], "a user row's parent is not in the file", |b| ghost(b, b.ask(6)?)),
        Case::rows("orphan-reply", &[B1], "an assistant row's parent is not in the file", |b| {
            ghost(b, b.reply(6)?)
        }),
        Case::rows(
            "orphan-progress",
            &[B1, B2, B3],
            "a progress row's parent lives in a subagent's file",
            orphan_progress,
        ),
        Case::rows("orphans-at-two-depths", &[B1], "two broken links", |b| {
            ghost(b, b.ask(3)?)?;
            ghost(b, b.ask(6)?)
        }),
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
        Case::rows("false-root", &[B12], "a row in the middle has no parent at all", |b| {
            let ask = b.ask(6)?;
            b[ask]["parentUuid"] = Value::Null;
            Ok(())
        }),
        Case::rows("lost-ask", &[B1], "a user row never reached the disk", |b| lose(b, b.ask(4)?))
            .asks(without(&[4])),
        Case::rows("lost-reply", &[B1], "an assistant row never reached the disk", |b| lose(b, b.reply(4)?))
            .replies(without(&[4])),
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

/// A progress row that is a copy of `like` without its message, hanging on `parent`.
fn progress(base: &mut Base, like: Row, parent: Value) -> Row {
    let row = base.twin(like);
    if let Some(fields) = base[row].as_object_mut() {
        fields.remove("message");
    }
    base[row]["type"] = "progress".into();
    base[row]["parentUuid"] = parent;
    base[row]["data"] = json!({"type": "agent_progress"});
    base[row]["toolUseID"] = "x".into();
    base[row]["parentToolUseID"] = "y".into();
    row
}

/// The design's own example: a progress row whose parent lives in a subagent's file, and the turn hangs on it.
fn orphan_progress(base: &mut Base) -> Result<()> {
    let ask = base.ask(6)?;
    let row = progress(base, ask, GHOST.into());
    base[ask]["parentUuid"] = base.uuid(row);
    base.insert_before(ask, &[row])
}
