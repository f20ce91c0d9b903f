//! One view of who runs where: session records, the agents' own registries, the process table and the panes' options,
//! reconciled. Each fact carries its grade and everything that speaks for and against it.
//!
//! Pure: what was remembered and what was found come in, beliefs come out.

mod claims;
mod fact;
mod group;
mod left;
mod outlook;
mod registered;
#[cfg(test)]
mod tests;

pub use fact::{Fact, Speaks, Testimony};
pub use outlook::Outlook;

use std::collections::BTreeMap;
use std::path::PathBuf;

use agents::claude::ConfigDir;
use agents::{SessionId, SessionKey};
use jiff::Timestamp;
use store::record::{Doing, SessionRecord, TmuxPlace};

use crate::machine_state::{Life, MachineState, Proc};

/// What an agent is at, as it is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// Works on a turn.
    Busy,
    /// Has ended its turn.
    Idle,
    /// Needs its user.
    Waiting,
    /// Shows a shell of its own.
    Shell,
    /// Is gone without its user's doing.
    Crashed,
    /// A pane waits to start it again, when its user looks there or says so.
    Dormant,
    /// Was ended by its user.
    Ended,
    /// It cannot be told.
    Unknown,
}

impl State {
    /// What a person reads.
    pub fn shown(self) -> &'static str {
        match self {
            State::Dormant => "waiting in its pane",
            other => other.word(),
        }
    }

    /// The word for programs.
    pub fn word(self) -> &'static str {
        match self {
            State::Busy => "busy",
            State::Idle => "idle",
            State::Waiting => "waiting",
            State::Shell => "shell",
            State::Crashed => "crashed",
            State::Dormant => "dormant",
            State::Ended => "ended",
            State::Unknown => "unknown",
        }
    }

    /// The sign that is shown.
    pub fn glyph(self) -> &'static str {
        match self {
            State::Busy => "●",
            State::Idle | State::Shell => "○",
            State::Waiting => "◐",
            State::Crashed => "✕",
            State::Dormant => "◌",
            State::Ended => "·",
            State::Unknown => "?",
        }
    }
}

impl From<Doing> for State {
    fn from(doing: Doing) -> State {
        match doing {
            Doing::Busy => State::Busy,
            Doing::Idle => State::Idle,
            Doing::Waiting => State::Waiting,
            Doing::Shell => State::Shell,
        }
    }
}

/// An agent's process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Process {
    /// Its id.
    pub pid: u32,
    /// When it started, in the kernel's ticks.
    pub start: u64,
}

/// One agent, or the conversation that one was in.
#[derive(Debug, Clone, PartialEq)]
pub struct AgentView {
    /// The conversation; nothing where only a process is known.
    pub session: Option<Fact<SessionKey>>,
    /// The process that is or was in it.
    pub process: Option<Fact<Process>>,
    /// Whether that process lives, in this conversation: one that has gone on in another one is none of its agents.
    pub life: Life,
    /// Where it is or was.
    pub pane: Option<Fact<TmuxPlace>>,
    /// The terminal of one that is in no pane, such as `pts/0`.
    pub terminal: Option<Fact<String>>,
    /// What it is at.
    pub state: Fact<State>,
    /// Since when.
    pub since: Option<Timestamp>,
    /// Why it ended or crashed, as a word of the contracts.
    pub reason: Option<String>,
    /// What it is called.
    pub name: Option<Fact<String>>,
    /// What it is about.
    pub task: Option<Fact<String>>,
    /// Where it works.
    pub cwd: Option<Fact<PathBuf>>,
    /// The model it uses.
    pub model: Option<Fact<String>>,
    /// The agent's version.
    pub version: Option<Fact<String>>,
    /// How much of the context window is used, in per cent.
    pub context_used: Option<Fact<u32>>,
    /// When it was last heard of.
    pub last_seen: Option<Fact<Timestamp>>,
    /// When the vault last took it.
    pub vaulted: Option<Fact<Timestamp>>,
    /// Whether it answers one prompt and goes.
    pub one_shot: bool,
    /// Whether another agent started it.
    pub nested: bool,
    /// Whether its process runs and is in another conversation now.
    pub left: bool,
    /// Whether it is busy while its transcript does not grow; whoever watches transcripts says so.
    pub stalled: bool,
}

impl AgentView {
    /// Whether it is this conversation's.
    pub fn is(&self, session: &SessionKey) -> bool {
        self.session.as_ref().is_some_and(|fact| fact.value == *session)
    }

    /// Whether its process runs.
    pub fn is_live(&self) -> bool {
        self.life == Life::Alive
    }

    /// The order of attention: who needs its user comes first.
    fn rank(&self) -> u8 {
        match self.state.value {
            State::Waiting => 0,
            State::Crashed => 1,
            _ if self.stalled => 2,
            State::Busy => 3,
            State::Shell | State::Idle | State::Dormant => 4,
            State::Unknown => 5,
            State::Ended => 6,
        }
    }
}

/// Everything that is believed.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct View {
    /// Every agent and every conversation on record, who needs its user first.
    pub agents: Vec<AgentView>,
}

/// What a view is made of.
pub struct Sources<'a> {
    /// The session records.
    pub records: &'a BTreeMap<SessionKey, SessionRecord>,
    /// Processes, registries, tmux servers.
    pub world: &'a MachineState,
    /// The newest conversation of a directory: all there is to say of an agent that nothing else names.
    pub newest: &'a dyn Fn(&ConfigDir, &str) -> Option<SessionId>,
    /// The present.
    pub now: Timestamp,
}

impl View {
    /// Reconciles the sources.
    pub fn of(sources: &Sources<'_>) -> View {
        let groups = group::groups(sources);
        let mut view = View { agents: groups.into_iter().filter_map(claims::Claims::settle).collect() };
        view.order();
        view
    }

    /// Puts those who need their user first; among those who wait, who has waited longest.
    pub fn order(&mut self) {
        self.agents.sort_by(|a, b| {
            let seen = |agent: &AgentView| agent.last_seen.as_ref().map(|fact| fact.value);
            let id = |agent: &AgentView| agent.session.as_ref().map(|fact| fact.value.clone());
            let pid = |agent: &AgentView| agent.process.as_ref().map(|fact| fact.value.pid);
            let waiting = match (a.state.value, b.state.value) {
                (State::Waiting, State::Waiting) => a.since.cmp(&b.since),
                _ => std::cmp::Ordering::Equal,
            };
            a.rank()
                .cmp(&b.rank())
                .then(waiting)
                .then_with(|| seen(b).cmp(&seen(a)))
                .then_with(|| id(a).cmp(&id(b)))
                .then_with(|| pid(a).cmp(&pid(b)))
        });
    }

    /// Who is in a pane: a living agent, else who was there last. By `%4` or `session:window.pane`, as often as several
    /// servers have one.
    pub fn in_pane(&self, text: &str) -> Vec<&AgentView> {
        let here: Vec<&AgentView> = self
            .agents
            .iter()
            .filter(|agent| !agent.nested && !agent.one_shot)
            .filter(|agent| {
                agent
                    .pane
                    .as_ref()
                    .is_some_and(|fact| fact.value.pane == text || fact.value.reference == text)
            })
            .collect();
        let live: Vec<&AgentView> = here.iter().copied().filter(|agent| agent.is_live()).collect();
        if !live.is_empty() {
            return live;
        }
        let seen = |agent: &&AgentView| agent.last_seen.as_ref().map(|fact| fact.value);
        here.into_iter().max_by_key(seen).into_iter().collect()
    }

    /// The agent of a conversation.
    pub fn of_session(&self, session: &SessionKey) -> Option<&AgentView> {
        self.agents.iter().find(|agent| agent.is(session))
    }
}

/// Whether a process is an agent of one of the configuration directories that are looked at.
fn is_ours(process: &Proc) -> bool {
    process.agent && process.config.is_some()
}
