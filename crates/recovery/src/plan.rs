//! A restore as a value: which sessions are made, and what becomes of each pane. A dry run prints exactly what a run does.

mod layout;
mod verdicts;

use std::path::PathBuf;

use agents::SessionId;
use agents::claude::launch::Argv;
use jiff::{SignedDuration, Timestamp};
use mux::SessionPlan;
use saves::{Save, SavedServer};
use serde::Serialize;

use crate::decide::{Act, Decision};
use crate::facts::Ground;
use crate::seats::{Live, Rung, Seat, mark, seats};

/// Everything that a restore does.
#[derive(Debug, Clone, Default)]
pub struct Plan {
    /// By server.
    pub servers: Vec<ServerPlan>,
}

/// What is done on one server.
#[derive(Debug, Clone)]
pub struct ServerPlan {
    /// Its socket.
    pub socket: PathBuf,
    /// The sessions to be made or filled.
    pub sessions: Vec<SessionPlan>,
    /// Every saved pane.
    pub panes: Vec<PaneStep>,
}

/// What becomes of a saved pane.
#[derive(Debug, Clone)]
pub struct PaneStep {
    /// The mark by which it is found again.
    pub mark: String,
    /// What it was called at the time of the save.
    pub reference: String,
    /// The conversation that was in it.
    pub session: Option<SessionId>,
    /// Where it is now.
    pub seat: Seat,
    /// What is done, and why.
    pub decision: Decision,
    /// What was weighed on the way.
    pub evidence: Vec<Weighed>,
    /// How its agent is started.
    pub argv: Option<Argv>,
    /// The new conversation of an agent that begins anew.
    pub fresh: Option<SessionId>,
    /// Whether the agent was the pane's own command: then the pane ends with it.
    pub own_command: bool,
    /// Whether the pane is ours to show something in: a restore made it, and its user has not used it.
    pub ours: bool,
}

/// One thing that was weighed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Weighed {
    /// By which step the pane or its conversation was found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rung: Option<Rung>,
    /// What it says.
    pub says: String,
}

/// What whoever restores wants.
#[derive(Debug, Clone, Copy)]
pub struct Wanted {
    /// Now.
    pub now: Timestamp,
    /// What was not heard of for longer is offered.
    pub stale_after: SignedDuration,
    /// What was closed is made again: the user named it.
    pub again: bool,
    /// Nobody asked for it: what its user may have left as it is stays so.
    pub automatic: bool,
}

/// Makes the plan for a save.
pub fn plan(save: &Save, alive: &[Live], ground: &Ground<'_>, wanted: Wanted) -> Plan {
    let server = |saved: &SavedServer| {
        let live = alive.iter().find(|live| live.shot.socket == saved.tmux.socket);
        server_plan(saved, save.head.imported, live, ground, wanted)
    };
    Plan { servers: save.servers.iter().map(server).collect() }
}

fn server_plan(
    saved: &SavedServer,
    imported: bool,
    live: Option<&Live>,
    ground: &Ground<'_>,
    wanted: Wanted,
) -> ServerPlan {
    let seats = seats(saved, live, wanted.again);
    let judge = verdicts::Judge { saved, imported, live, ground, wanted };
    let panes: Vec<PaneStep> = saved
        .tmux
        .panes()
        .map(|pane| judge.step(pane, seats.get(&pane.id).cloned().unwrap_or(Seat::New)))
        .collect();
    let step = |id: &str| panes.iter().find(|step| step.mark == mark(&saved.tmux, id));
    let sessions = layout::sessions(&saved.tmux, live.map(|live| &live.shot), step);
    ServerPlan { socket: saved.tmux.socket.clone(), sessions, panes }
}

impl Plan {
    /// Every pane.
    pub fn panes(&self) -> impl Iterator<Item = &PaneStep> {
        self.servers.iter().flat_map(|server| &server.panes)
    }

    /// Whether there is nothing to make and nobody to start.
    pub fn is_empty(&self) -> bool {
        let starts = |step: &PaneStep| step.decision.act.starts();
        self.servers.iter().all(|server| server.sessions.is_empty()) && !self.panes().any(starts)
    }

    /// The panes that concern anybody: those to be made or started, and those whose agents are missing.
    pub fn concerned(&self) -> impl Iterator<Item = &PaneStep> {
        self.panes().filter(|step| step.concerns())
    }
}

impl PaneStep {
    /// Whether anything is made, started or missing here.
    pub fn concerns(&self) -> bool {
        self.seat == Seat::New || !matches!(self.decision.act, Act::Nothing | Act::Shell)
    }
}
