//! Taking a restore back: what it opened is closed, unless its agent has worked since. Pure.
//!
//! A restore that was killed has not written down what it made. The panes it made carry its marks; in a pane that was there
//! before, its agent is known by its conversation.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::path::PathBuf;

use agents::SessionKey;
use jiff::Timestamp;
use serde::Serialize;
use store::record::{Doing, SessionRecord, Status};

use crate::pane_match::{Live, Occupant};
use crate::record::{DecisionRecord, PaneDecision};

/// What becomes of a pane when its restore is taken back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "what", content = "why")]
pub enum TakenBack {
    /// It is closed.
    Close,
    /// Its agent is ended, and the shell that was there comes back.
    Shell,
    /// It stays.
    Keep(String),
}

/// What is done about one pane.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UndoStep {
    /// Where it is now.
    pub pane: String,
    /// What it was called when it was restored.
    pub was: String,
    /// What it is: `%4`.
    pub id: String,
    /// Its server's socket.
    pub socket: PathBuf,
    /// The conversation in it.
    pub session: Option<SessionKey>,
    /// Where a shell that comes back begins: the conversation's directory, else the one that the pane is in.
    pub cwd: PathBuf,
    /// What is done.
    pub what: TakenBack,
    /// Whether an agent runs in it.
    pub has_agent: bool,
}

impl UndoStep {
    /// Whether what is in the pane is ended.
    pub fn is_closed(&self) -> bool {
        !matches!(self.what, TakenBack::Keep(_))
    }

    /// Whether an agent is ended.
    pub fn ends_agent(&self) -> bool {
        self.has_agent && self.is_closed()
    }
}

/// What taking a restore back would do. Panes that are gone, or that belong to another life of their server, are left out.
pub fn undo_plan(
    record: &DecisionRecord,
    alive: &[Live],
    records: &BTreeMap<SessionKey, SessionRecord>,
) -> Vec<UndoStep> {
    let step = |pane: &PaneDecision| {
        let live = alive.iter().find(|live| live.shot.socket == pane.socket)?;
        let id = if record.finished { finished(pane, live) } else { interrupted(pane, live) }?;
        let occupant = live.occupants.get(&id)?;
        let what = match occupant {
            Occupant::Agent { session, .. } => agent(pane, session.as_ref(), record.at, records),
            Occupant::Program { name } => TakenBack::Keep(format!("it runs {name}")),
            Occupant::Shell | Occupant::Waiting if pane.made => TakenBack::Close,
            Occupant::Waiting => TakenBack::Shell,
            Occupant::Shell => return None,
        };
        let session = pane.now_in.clone().or_else(|| pane.session_id.clone());
        let known = session.as_ref().and_then(|session| records.get(session));
        let cwd = known.and_then(|record| record.project_dir.clone().or_else(|| record.cwd.clone()));
        let here = || live.shot.panes().find(|shot| shot.id == id).map(|shot| shot.cwd.clone().into());
        let cwd = cwd.or_else(here).unwrap_or_default();
        let was = pane.pane.clone();
        // The user may have moved or renamed it since: what is asked and told must name the pane that is seen.
        let now = live.shot.reference(&id).map_or_else(|| was.clone(), |place| place.to_string());
        let has_agent = matches!(occupant, Occupant::Agent { .. });
        Some(UndoStep { pane: now, was, id, socket: pane.socket.clone(), session, cwd, what, has_agent })
    };
    record.panes.iter().filter_map(step).collect()
}

/// The pane, where its server is still the same. One that the restore made carries its mark: a record that somebody edited
/// closes no other pane.
fn finished(pane: &PaneDecision, live: &Live) -> Option<String> {
    let id = pane.id.clone().filter(|_| pane.server == Some((live.shot.pid, live.shot.start_time)))?;
    (!pane.made || live.marks.get(&pane.mark) == Some(&id)).then_some(id)
}

/// The pane of a restore that was killed, where something of it is there.
fn interrupted(pane: &PaneDecision, live: &Live) -> Option<String> {
    if pane.made {
        return live.marks.get(&pane.mark).cloned();
    }
    let ours = |id: &String| match live.occupants.get(id) {
        Some(Occupant::Agent { session, .. }) => session.is_some() && *session == pane.session_id,
        _ => false,
    };
    pane.id.clone().filter(ours)
}

/// When an agent was back: by its own word, else by its first run since the restore began. Never later than that: what it
/// did while others were still waited for is its work.
fn back_at(pane: &PaneDecision, record: &SessionRecord, began: Timestamp) -> Timestamp {
    let runs = record.runs.iter().filter(|run| !run.is_passing()).map(|run| run.launched_at);
    pane.back_at.or_else(|| runs.filter(|at| *at >= began).min()).unwrap_or(began)
}

fn agent(
    pane: &PaneDecision,
    here: Option<&SessionKey>,
    began: Timestamp,
    records: &BTreeMap<SessionKey, SessionRecord>,
) -> TakenBack {
    let started = pane.now_in.as_ref().or(pane.session_id.as_ref());
    if here.is_none() || here != started {
        return TakenBack::Keep("another agent is in it".to_owned());
    }
    let worked = here.and_then(|id| records.get(id)).is_none_or(|record| {
        let since = back_at(pane, record, began);
        let asked = record.last_prompt.as_ref().and_then(|prompt| prompt.at);
        // A turn that has just ended is known before its rows are in the transcript. That it waits for its user says nothing.
        let turned = record.activity.is_some_and(|activity| match activity.state {
            Doing::Busy | Doing::Shell => true,
            Doing::Idle => activity.since > since,
            Doing::Waiting => false,
        });
        record.status == Status::Active && (turned || asked.is_some_and(|at| at > since))
    });
    match (worked, pane.made) {
        (true, _) => TakenBack::Keep("its agent has worked since".to_owned()),
        (false, true) => TakenBack::Close,
        (false, false) => TakenBack::Shell,
    }
}
