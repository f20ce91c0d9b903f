//! A restore as a value: which sessions are made, and what becomes of each pane. A dry run prints exactly what a run does.

use std::path::PathBuf;

use agents::SessionId;
use agents::claude::launch::Argv;
use jiff::{SignedDuration, Timestamp};
use mux::{PanePlan, Server, SessionPlan, WindowPlan};
use saves::{Save, SavedServer};

use crate::decide::{Act, Decision, decide};
use crate::facts::Ground;

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
    /// The sessions to be made: those that are not there.
    pub sessions: Vec<SessionPlan>,
    /// Every saved pane.
    pub panes: Vec<PaneStep>,
}

/// What becomes of a saved pane.
#[derive(Debug, Clone)]
pub struct PaneStep {
    /// The mark by which it is found again.
    pub mark: String,
    /// `session:window.pane` at the time of the save.
    pub reference: String,
    /// The conversation that was in it.
    pub session: Option<SessionId>,
    /// What is done, and why.
    pub decision: Decision,
    /// How its agent is started.
    pub argv: Option<Argv>,
}

/// Makes the plan for a save.
pub fn plan(
    save: &Save,
    alive: &[Server],
    ground: &Ground<'_>,
    stale_after: SignedDuration,
    now: Timestamp,
) -> Plan {
    let server =
        |saved: &SavedServer| server_plan(saved, save.head.imported, alive, ground, stale_after, now);
    Plan { servers: save.servers.iter().map(server).collect() }
}

fn server_plan(
    saved: &SavedServer,
    imported: bool,
    alive: &[Server],
    ground: &Ground<'_>,
    stale_after: SignedDuration,
    now: Timestamp,
) -> ServerPlan {
    let shot = &saved.tmux;
    let live = alive.iter().find(|server| server.socket == shot.socket);
    let there = |name: &str| live.is_some_and(|server| server.panes.iter().any(|pane| pane.session == name));
    let mut plan = ServerPlan { socket: shot.socket.clone(), sessions: Vec::new(), panes: Vec::new() };
    let mut made: Vec<&str> = Vec::new();
    for session in &shot.sessions {
        let mut windows = Vec::new();
        for link in &session.windows {
            let Some(window) = shot.window(&link.window) else { continue };
            // A window that several sessions share is made once, in the first of them.
            if made.contains(&window.id.as_str()) {
                continue;
            }
            made.push(&window.id);
            let mut panes = Vec::new();
            for pane in &window.panes {
                let reference = format!("{}:{}.{}", session.name, link.index, pane.index);
                let agent = saved.agents.iter().find(|agent| agent.pane == pane.id);
                let mark = format!("{}-{}", shot.pid, pane.id.trim_start_matches('%'));
                let (decision, argv) = match agent {
                    _ if there(&session.name) => {
                        (Decision { act: Act::Nothing, reason: "its session is there".to_owned() }, None)
                    }
                    None => (Decision { act: Act::Shell, reason: "no agent was in it".to_owned() }, None),
                    Some(agent) => {
                        let named = shot.reference(&pane.id).map(|r| r.to_string());
                        let (facts, argv) =
                            ground.remember(agent, named.as_deref().unwrap_or(&reference), imported);
                        (decide(&facts, now, stale_after), argv)
                    }
                };
                let session_id = agent.map(|agent| agent.session_id.clone());
                plan.panes.push(PaneStep {
                    mark: mark.clone(),
                    reference,
                    session: session_id,
                    decision,
                    argv,
                });
                panes.push(PanePlan {
                    cwd: pane.cwd.clone(),
                    title: pane.title.clone(),
                    active: pane.active,
                    mark,
                });
            }
            windows.push(WindowPlan {
                index: link.index,
                name: window.name.clone(),
                renames_itself: window.automatic_rename,
                layout: window.layout.clone(),
                width: window.width,
                height: window.height,
                active: link.active,
                zoomed: window.zoomed,
                panes,
            });
        }
        if !there(&session.name) && !windows.is_empty() {
            plan.sessions.push(SessionPlan { name: session.name.clone(), windows });
        }
    }
    plan
}

impl Plan {
    /// Every pane.
    pub fn panes(&self) -> impl Iterator<Item = &PaneStep> {
        self.servers.iter().flat_map(|server| &server.panes)
    }

    /// Whether there is nothing to do.
    pub fn is_empty(&self) -> bool {
        self.servers.iter().all(|server| server.sessions.is_empty())
    }
}
