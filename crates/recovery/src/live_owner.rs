//! The living agent that is in a conversation which is wanted elsewhere: who it is, where, and how to come by it. Pure.
//!
//! **One writer per conversation**: its user goes to it, has its pane brought, or has it ended first.

use std::path::Path;

use agents::SessionKey;
use agents::claude::Owner;
use sessions::MachineState;
use sessions::view::{AgentView, Process, State, View};
use store::record::{Grade, TmuxPlace};
use tmux::ServerId;

/// A living agent that is in a conversation, beyond doubt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LiveOwner {
    /// Its process, with its start.
    pub process: Process,
    /// Where it is.
    pub at: At,
    /// What it is at.
    pub state: State,
}

/// Where a process is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum At {
    /// In a pane: its terminal is the pane's.
    Pane(TmuxPlace),
    /// On a terminal that is no pane's, such as `/dev/pts/4`.
    Terminal(String),
    /// Without a terminal, or nobody knows.
    Nowhere,
}

/// How a conversation comes to who wants it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Taking {
    /// Its pane can be gone to, and be brought: it is on the same server.
    Bring(TmuxPlace),
    /// Its agent is ended there, and resumed here.
    End,
    /// Not at all.
    Never {
        /// Why not, of the agent.
        why: &'static str,
    },
}

impl LiveOwner {
    /// Who is in a conversation, where everything says the same: the owner that every writer respects, and what is believed
    /// of it with proof. Nothing where there is any doubt.
    pub fn of(session: &SessionKey, owner: &Owner, view: &View, world: &MachineState) -> Option<LiveOwner> {
        let Owner::Process(holder) = owner else { return None };
        let mut inside = view.agents.iter().filter(|agent| agent.is_live() && agent.is(session));
        let (Some(agent), None) = (inside.next(), inside.next()) else { return None };
        let process = proven(agent)?;
        let proc = world.proc(process.pid, process.start).filter(|_| process.pid == holder.pid)?;
        let at = match &proc.tty {
            Some(tty) => match world.pane_of_tty(tty) {
                // The number of a terminal is given to the next one while its agent may still be there.
                Some((_, pane)) if world.is_younger(pane.pid, process.start) => At::Terminal(tty.clone()),
                Some((server, pane)) => At::Pane(TmuxPlace {
                    socket: server.socket.clone(),
                    server: server.id.pid,
                    started: server.id.started,
                    pane: pane.id.clone(),
                    reference: server.reference(pane).to_string(),
                }),
                None if world.servers_known() => At::Terminal(tty.clone()),
                None => At::Nowhere,
            },
            None => At::Nowhere,
        };
        Some(LiveOwner { process, at, state: agent.state.value })
    }

    /// What it is called: its process, and where that is.
    pub fn whom(&self) -> String {
        let pid = self.process.pid;
        match &self.at {
            At::Pane(place) => format!("process {pid} in {}", place.reference),
            At::Terminal(tty) => format!("process {pid} on {}", tty.trim_start_matches("/dev/")),
            At::Nowhere => format!("process {pid}"),
        }
    }

    /// The command that leads to it, from inside the server on the socket `around` or from elsewhere.
    pub fn way(&self, around: Option<&Path>) -> Option<String> {
        match &self.at {
            At::Pane(place) => Some(tmux::way_to(&place.socket, &place.pane, around)),
            _ => None,
        }
    }

    /// How it comes to somebody on this server.
    pub fn taking(&self, here: Option<&ServerId>) -> Taking {
        if let (At::Pane(place), Some(here)) = (&self.at, here)
            && (place.server, place.started) == (here.pid, here.started)
        {
            return Taking::Bring(place.clone());
        }
        let never = |why| Taking::Never { why };
        match (&self.at, self.state) {
            (At::Nowhere, _) => never("it is on no terminal that can be seen: another program may need it"),
            (_, State::Busy | State::Shell) => never("it is at work, and is not ended for this"),
            // Who waits for its user does nothing meanwhile, and its user is who asks for this.
            (_, State::Idle | State::Waiting) => Taking::End,
            _ => never("whether it is at work cannot be told, so it is not ended"),
        }
    }
}

/// The process of an agent that is its user's, and surely in this conversation.
fn proven(agent: &AgentView) -> Option<Process> {
    let (session, process) = (agent.session.as_ref()?, agent.process.as_ref()?);
    let sure = session.grade == Grade::Proven && process.grade == Grade::Proven;
    (sure && !agent.nested && !agent.one_shot).then_some(process.value)
}

#[cfg(test)]
mod tests;
