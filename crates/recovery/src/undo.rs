//! Taking a restore back: what it opened is closed, unless its agent has worked since.

use std::collections::BTreeMap;

use agents::SessionId;
use jiff::Timestamp;
use serde::Serialize;
use state::record::{Doing, SessionRecord, Status};

use crate::record::{DecisionRecord, PaneDecision};
use crate::seats::{Live, Occupant};

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
    /// What it was called.
    pub pane: String,
    /// What it is: `%4`.
    pub id: String,
    /// Its server's socket.
    pub socket: std::path::PathBuf,
    /// The conversation in it.
    pub session: Option<SessionId>,
    /// What is done.
    pub what: TakenBack,
}

/// What taking a restore back would do. Panes that are gone, or that belong to another life of their server, are left out.
pub fn undo_plan(
    record: &DecisionRecord,
    alive: &[Live],
    records: &BTreeMap<SessionId, SessionRecord>,
) -> Vec<UndoStep> {
    let step = |pane: &PaneDecision| {
        let id = pane.id.clone()?;
        let live = alive.iter().find(|live| live.shot.socket == pane.socket)?;
        if pane.server != Some((live.shot.pid, live.shot.start_time)) {
            return None;
        }
        let occupant = live.occupants.get(&id)?;
        let what = match occupant {
            Occupant::Agent { session, .. } => {
                agent(pane, session.as_ref(), record.finished_at.unwrap_or(record.at), records)
            }
            Occupant::Program { name } => TakenBack::Keep(format!("it runs {name}")),
            Occupant::Shell | Occupant::Waiting if pane.made => TakenBack::Close,
            Occupant::Waiting => TakenBack::Shell,
            Occupant::Shell => return None,
        };
        let session = pane.now_in.clone().or_else(|| pane.session_id.clone());
        Some(UndoStep { pane: pane.pane.clone(), id, socket: pane.socket.clone(), session, what })
    };
    record.panes.iter().filter_map(step).collect()
}

fn agent(
    pane: &PaneDecision,
    here: Option<&SessionId>,
    since: Timestamp,
    records: &BTreeMap<SessionId, SessionRecord>,
) -> TakenBack {
    let started = pane.now_in.as_ref().or(pane.session_id.as_ref());
    if here.is_none() || here != started {
        return TakenBack::Keep("another agent is in it".to_owned());
    }
    let worked = here.and_then(|id| records.get(id)).is_none_or(|record| {
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
