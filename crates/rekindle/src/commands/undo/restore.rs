//! Taking the last restore back.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use mux::Respawn;
use recovery::{DecisionRecord, TakenBack, UndoStep, decisions, undo_plan};
use serde_json::{Value, json};
use settle::Settled;
use state::journal::{Entry, Journal};
use state::lock::Lock;
use state::record::{SessionRecord, Status};

use crate::commands::save::PATIENCE;
use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::output::{Out, Table, ago};
use crate::restoring;

const TMUX_DEADLINE: Duration = Duration::from_secs(5);

/// An agent takes a moment to end, and a settle a moment to hear of it.
const FAREWELL: Duration = Duration::from_secs(20);

/// What a conversation says of itself whose agent was ended with its restore: it is to be brought back as before.
const REASON: &str = "unknown";

/// A restore, and what taking it back would do.
pub(super) struct Last {
    record: DecisionRecord,
    steps: Vec<UndoStep>,
    settled: Settled,
    _alone: Lock,
}

/// The last restore since a time that has not been taken back and of which something is there, also one that was killed.
pub(super) fn last(context: &Context, since: Option<Timestamp>) -> Result<Option<Last>, Failure> {
    let state = &context.clinic.state;
    let open =
        |record: &DecisionRecord| record.undone.is_none() && since.is_none_or(|since| record.at >= since);
    if !decisions(state).any(|record| open(&record)) {
        return Ok(None);
    }
    // One that runs has not written its end yet, so the records are read when it is over.
    let alone = restoring::alone(context)?;
    let settled = restoring::settled(context)?;
    for record in decisions(state).filter(open) {
        let sockets: BTreeSet<_> = record.panes.iter().map(|pane| pane.socket.clone()).collect();
        let alive = restoring::look(&sockets, &settled)?;
        let steps = undo_plan(&record, &alive, &settled.records);
        if !steps.is_empty() {
            return Ok(Some(Last { record, steps, settled, _alone: alone }));
        }
    }
    Ok(None)
}

pub(super) fn run(context: &Context, last: &Last, dry_run: bool, as_json: bool) -> Result<Exit, Failure> {
    let Last { record, steps, settled, .. } = last;
    if !dry_run {
        let ended = steps.iter().filter(|step| !matches!(step.what, TakenBack::Keep(_)));
        restoring::remember_screens(context, settled, ended.filter_map(|step| step.session.as_ref()));
        act(context, steps)?;
        let mut undone = record.clone();
        undone.undone = Some(Timestamp::now());
        undone.store(&context.clinic.state)?;
        let closed = steps.iter().filter(|step| !matches!(step.what, TakenBack::Keep(_))).count();
        let entry = Entry::new(Timestamp::now(), "restore_undone")
            .with("restore", record.restore_id.as_str())
            .with("panes", closed as u64);
        Journal::at(context.clinic.state.journal()).append(&entry)?;
    }
    tell(record, steps, dry_run, as_json)
}

fn act(context: &Context, steps: &[UndoStep]) -> Result<(), Failure> {
    let mut ended = Vec::new();
    for step in steps {
        match &step.what {
            TakenBack::Keep(_) => continue,
            TakenBack::Close => mux::close(&step.socket, &[&step.id], TMUX_DEADLINE),
            TakenBack::Shell => {
                let shell = crate::pane::users_shell().to_string_lossy().into_owned();
                // Two words, so that no shell reads them.
                let words = vec!["env".to_owned(), shell];
                let (pane, cwd) = (step.id.clone(), step.cwd.to_string_lossy().into_owned());
                mux::respawn(
                    &step.socket,
                    &[Respawn { pane, cwd, variables: Vec::new(), words }],
                    TMUX_DEADLINE,
                )?;
            }
        }
        ended.extend(step.session.clone());
    }
    // Closing a pane by hand means that its user is done with it; this does not.
    let settler = context.settler()?;
    let begun = Instant::now();
    for session in ended {
        while begun.elapsed() < FAREWELL {
            let settled = settler.settle(Timestamp::now(), PATIENCE)?;
            if settled.records.get(&session).is_none_or(|record| record.status != Status::Active) {
                break;
            }
            pause();
        }
        let as_before = |record: &mut SessionRecord| {
            if record.status == Status::EndedCleanly {
                (record.status, record.reason) = (Status::Crashed, Some(REASON.to_owned()));
            }
        };
        settler.change(&session, Timestamp::now(), PATIENCE, as_before)?;
    }
    Ok(())
}

#[expect(clippy::disallowed_methods, reason = "a poll interval: an agent that ends tells a file")]
fn pause() {
    std::thread::sleep(Duration::from_millis(50));
}

fn tell(record: &DecisionRecord, steps: &[UndoStep], dry_run: bool, as_json: bool) -> Result<Exit, Failure> {
    let mut out = Out::new();
    let words = |step: &UndoStep| match &step.what {
        TakenBack::Close => ("closed", String::new()),
        TakenBack::Shell => ("shell", "the pane was there before".to_owned()),
        TakenBack::Keep(why) => ("kept", why.clone()),
    };
    if as_json {
        let pane = |step: &UndoStep| -> Value {
            let (what, why) = words(step);
            json!({"pane": step.pane, "id": step.id, "sessionId": step.session, "what": what, "why": why})
        };
        let panes: Vec<Value> = steps.iter().map(pane).collect();
        out.json(json!({"restoreId": record.restore_id, "interrupted": !record.finished, "panes": panes,
            "dryRun": dry_run}));
        return out.finish();
    }
    let mut table = Table::new(&["pane", "session", "what", "why"]);
    for step in steps {
        let session = step.session.as_ref().map(|session| session.short().to_owned()).unwrap_or_default();
        let (what, why) = words(step);
        table.row(&[step.pane.clone(), session, what.to_owned(), why]);
    }
    out.line(&table.text());
    let word = if dry_run { "would be taken back" } else { "taken back" };
    let how = if record.finished { "" } else { ", which was interrupted," };
    out.line(&format!("\nrestore of {}{how} {word}", ago(record.at)));
    out.finish()
}
