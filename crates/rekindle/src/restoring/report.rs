//! `last-restore.json`: what the last restore has done so far, for status lines, tmux's status bar and `restore --last`.

use std::path::PathBuf;

use jiff::Timestamp;
use recovery::{DecisionRecord, Restored};
use serde_json::{Value, json};
use store::journal::{Entry, Journal};
use store::operations::Process;
use store::{StateDir, durable};

use super::Done;
use crate::context::Context;
use crate::exit::Failure;

fn path(state: &StateDir) -> PathBuf {
    state.instances().join("restore/last-restore.json")
}

fn write(state: &StateDir, report: &Value) -> Result<(), durable::Error> {
    durable::private_dir(&state.instances().join("restore"))?;
    durable::replace(&path(state), format!("{report:#}\n").as_bytes())
}

/// The report that is there.
pub(super) fn read(state: &StateDir) -> Option<Value> {
    serde_json::from_slice(&store::files::read(path(state)).ok()?).ok()
}

/// Says how far a restore is that has not come to its end. It replaces the report of the one before, whose figures are of no
/// more use. `process` is the one that restores.
pub(super) fn begun(
    state: &StateDir,
    record: &DecisionRecord,
    process: &Process,
) -> Result<(), durable::Error> {
    let (restored, total) = record.tally();
    write(
        state,
        &json!({"schema": 1, "at": Timestamp::now(), "restoreId": record.restore_id, "finished": false,
            "process": process, "panes": panes(record), "restored": restored, "total": total}),
    )
}

/// Brings the report of an interrupted restore up to date. When it was stays: it was not restored now.
pub(super) fn correct(state: &StateDir, record: &DecisionRecord) -> Result<(), durable::Error> {
    let Some(mut report) = read(state).filter(|report| report["restoreId"] == record.restore_id) else {
        return Ok(());
    };
    let (restored, total) = record.tally();
    report["panes"] = json!(panes(record));
    (report["restored"], report["total"]) = (json!(restored), json!(total));
    write(state, &report)
}

/// The panes of a restore that has not come to its end, as a report has them.
pub(crate) fn panes(record: &DecisionRecord) -> Vec<Value> {
    let pane = |pane: &recovery::PaneDecision| {
        let session = pane.now_in.as_ref().or(pane.session_id.as_ref());
        json!({"pane": pane.now_at.as_ref().unwrap_or(&pane.pane), "was": pane.pane, "sessionId": session,
            "freshId": pane.fresh_id, "outcome": pane.outcome, "id": pane.id,
            "reason": pane.outcome_reason.as_ref().unwrap_or(&pane.reason)})
    };
    record.panes.iter().map(pane).collect()
}

/// Tells everybody who asks later: the report and the journal.
pub(super) fn publish(context: &Context, done: &Done, begun: Timestamp) -> Result<(), Failure> {
    let state = &context.repairer.state;
    let now = Timestamp::now();
    let took = now.duration_since(begun).as_millis();
    let report = json!({"schema": 1, "at": now, "restoreId": done.restore_id, "finished": true,
        "panes": done.panes, "restored": done.restored, "total": done.total,
        "durationMs": i64::try_from(took).unwrap_or(i64::MAX)});
    write(state, &report)?;
    let journal = Journal::at(state.journal());
    let entry = Entry::new(now, "restored")
        .with("restore", done.restore_id.as_str())
        .with("restored", done.restored as u64)
        .with("total", done.total as u64);
    journal.append(&entry)?;
    for pane in done.panes.iter().filter(|pane| pane.session_id.is_some()) {
        journal.append(&note_pane(pane, &done.restore_id, now))?;
    }
    Ok(())
}

/// What the journal says of a pane.
pub(super) fn note_pane(pane: &Restored, restore_id: &str, now: Timestamp) -> Entry {
    Entry::new(now, "pane_restored")
        .with("restore", restore_id)
        .with("session", json!(pane.session_id))
        .with("pane", pane.pane.as_str())
        .with("outcome", json!(pane.outcome))
        .with("why", pane.reason.as_str())
}

/// Says that the last restore was taken back, where it is this one: nothing shows its figures any more.
pub(crate) fn note_undone(context: &Context, restore_id: &str) -> Result<(), Failure> {
    let state = &context.repairer.state;
    if let Some(mut report) = read(state).filter(|report| report["restoreId"] == restore_id) {
        report["undone"] = json!(Timestamp::now());
        write(state, &report)?;
    }
    Ok(())
}
