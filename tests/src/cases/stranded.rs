//! Turns that no resume reaches though nothing dangles: class B7, its automatic kinds.

use anyhow::Result;
use serde_json::json;
use transcript::Class::B7;

use super::Case;
use super::healthy::new_turn;
use super::tree::summary_row;
use crate::base::Base;

pub(super) fn cases() -> Vec<Case> {
    vec![
        Case::rows(
            "stop-hook-beside",
            &[B7],
            "a stop hook's summary was written beside the reply and continued from",
            beside,
        )
        .must(&["tool-05"]),
        Case::rows(
            "stale-continuation",
            &[B7],
            "an automatic continuation hung on a stale leaf",
            continuation,
        )
        .turns(0..10),
        Case::rows(
            "late-tool-result",
            &[B7],
            "a tool's result came late and hung on an old branch",
            late_result,
        ),
    ]
}

/// cc#88597: the summary hangs on the prompt instead of the reply, so the tool and the reply are off the walk.
fn beside(base: &mut Base) -> Result<()> {
    let (ask, next) = (base.ask(5)?, base.ask(6)?);
    let summary = summary_row(base, next);
    base[summary]["parentUuid"] = base.uuid(ask);
    base[next]["parentUuid"] = base.uuid(summary);
    base.insert_before(next, &[summary])
}

/// cc#89820: the agent goes on by itself, but from where it stood hours ago.
fn continuation(base: &mut Base) -> Result<()> {
    let stale = base.reply(3)?;
    let [meta, reply_8] = new_turn(base, stale, 8, 3600)?;
    base[meta]["isMeta"] = true.into();
    base[meta]["message"]["content"] = json!([{"type": "text", "text": "Continue from where you left off."}]);
    base[reply_8]["message"]["content"] = json!([{"type": "text", "text": "reply-08: noted, after ask-08."}]);
    let [ask_9, reply_9] = new_turn(base, reply_8, 9, 3700)?;
    base.keep(|row| row["type"] != "last-prompt");
    base.append(&[meta, reply_8, ask_9, reply_9]);
    Ok(())
}

/// cc#91632: the tool was answered and the conversation went on; then its result is written once more.
fn late_result(base: &mut Base) -> Result<()> {
    let (call, old) = (base.call(5)?, base.result(5)?);
    let time = base.later(60)?;
    let late = base.twin(old);
    base[late]["parentUuid"] = base.uuid(call);
    base[late]["timestamp"] = time.into();
    base.keep(|row| row["type"] != "last-prompt");
    base.append(&[late]);
    Ok(())
}
