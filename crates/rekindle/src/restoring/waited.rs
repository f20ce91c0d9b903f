//! A pane that a restore left waiting, and that is started when its user asks: what comes of it belongs to that restore.

use std::time::Instant;

use agents::SessionKey;
use jiff::Timestamp;
use recovery::{DecisionRecord, Match, Outcome, Plan, Restored};
use serde_json::{Value, json};
use store::durable;
use store::journal::Journal;

use super::report::{note_pane, read};
use super::{Done, TMUX_DEADLINE};
use crate::context::Context;
use crate::exit::Failure;

/// What asks for a conversation from the pane that waits for it.
pub(crate) const FROM_ITS_PANE: &str = "pane";

/// A restore that left a conversation waiting in a pane.
pub(super) struct Waited {
    restore: DecisionRecord,
    server: (u32, i64),
    pane: String,
    session: SessionKey,
}

impl Waited {
    /// Which restore.
    pub(super) fn restore_id(&self) -> &str {
        &self.restore.restore_id
    }
}

/// The restore that left a conversation waiting in this pane: what comes of it now belongs to that restore.
pub(super) fn waited_for(context: &Context, plan: &Plan) -> Option<Waited> {
    let step = plan.panes().next()?;
    let (Match::There { pane, .. }, Some(session)) = (&step.seat, &step.session) else { return None };
    let socket = &plan.servers.first()?.socket;
    let tmux::Listing::Alive(server) = tmux::list(socket, TMUX_DEADLINE) else { return None };
    let server = (server.id.pid, server.id.started);
    let key = context.reading_key();
    let mut records = recovery::genuine_decisions(&context.repairer.state, key.as_ref());
    let restore =
        records.find_map(|mut record| record.waiting(server, pane, session).is_some().then_some(record))?;
    Some(Waited { restore, server, pane: pane.clone(), session: session.clone() })
}

/// Adds to an earlier restore what has come of a pane that waited.
pub(super) fn complete(
    context: &Context,
    waited: Waited,
    panes: Vec<Restored>,
    started: Option<Instant>,
) -> Result<Done, Failure> {
    let state = &context.repairer.state;
    let Waited { restore: mut earlier, server, pane, session } = waited;
    let restore_id = earlier.restore_id.clone();
    // One that begins anew is in another conversation by now.
    let one = panes.iter().find(|one| one.id.as_ref() == Some(&pane));
    if let Some((known, one)) = earlier.waiting(server, &pane, &session).zip(one) {
        known.note_choice(&session);
        known.note(one);
    }
    earlier.store(state, &context.writing_key()?)?;
    let (now, journal) = (Timestamp::now(), Journal::at(state.journal()));
    panes.iter().try_for_each(|pane| journal.append(&note_pane(pane, &restore_id, now)))?;
    report_again(context, &restore_id, &panes)?;
    let restored = panes.iter().filter(|pane| pane.outcome.is_back()).count();
    Ok(Done { restore_id, total: panes.len(), panes, restored, started, missing: Vec::new() })
}

/// Brings the report of the last restore up to date, where it is this one's.
fn report_again(context: &Context, restore_id: &str, panes: &[Restored]) -> Result<(), Failure> {
    let path = context.repairer.state.instances().join("restore/last-restore.json");
    let Some(mut report) = read(&context.repairer.state) else { return Ok(()) };
    let ours = report["restoreId"] == restore_id;
    let Some(report) = report.as_object_mut().filter(|_| ours) else { return Ok(()) };
    let Some(known) = report.get_mut("panes").and_then(Value::as_array_mut) else { return Ok(()) };
    for one in panes.iter().filter(|one| one.id.is_some()) {
        for pane in known.iter_mut().filter(|pane| pane["id"] == json!(one.id)) {
            *pane = json!(Restored {
                pane: pane["pane"].as_str().unwrap_or(&one.pane).to_owned(),
                was: pane["was"].as_str().unwrap_or(&one.was).to_owned(),
                ..one.clone()
            });
        }
    }
    let is_back = |pane: &&Value| Outcome::BACK.iter().any(|outcome| pane["outcome"] == json!(outcome));
    let restored = known.iter().filter(is_back).count();
    report.insert("restored".to_owned(), json!(restored));
    report.insert("at".to_owned(), json!(Timestamp::now()));
    let text = serde_json::to_string_pretty(report)?;
    Ok(durable::replace(&path, format!("{text}\n").as_bytes())?)
}
