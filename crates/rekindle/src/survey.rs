//! A look at everything before something is shown: settled where that is possible, else as it is.

use std::collections::BTreeSet;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use agents::SessionKey;
use jiff::Timestamp;
use repair::{Lost, is_pane};
use sessions::alarm::AlarmKind;
use sessions::view::{AgentView, Sources, View};
use sessions::{Settled, Settler};
use store::lock::LockError;
use store::pause::{self, Pause};
use store::record::SessionRecord;

use crate::context::Context;
use crate::exit::{Exit, Failure};

/// A settle takes a fraction of this; whoever wants to see something does not wait longer.
const PATIENCE: Duration = Duration::from_millis(500);

/// Everything there is to show.
pub(crate) struct Survey {
    pub(crate) settled: Settled,
    pub(crate) view: View,
    pub(crate) pause: Option<Pause>,
    /// Why the newest events are not in it.
    pub(crate) stale: Option<String>,
    pub(crate) now: Timestamp,
}

impl Survey {
    /// Settles and looks. Where that is impossible, or everything is paused, it only looks.
    pub(crate) fn take(context: &Context) -> Result<Survey, Failure> {
        let settler = Settler { sockets: Context::sockets(), ..context.settler()? };
        let now = Timestamp::now();
        let pause = pause::read(&context.repairer.state);
        let (settled, stale) = match &pause {
            Some(_) => (settler.look_and_judge(now)?, None),
            None => match settler.settle(now, PATIENCE) {
                Ok(settled) => {
                    follow_up(&settler, &settled);
                    (settled, None)
                }
                Err(sessions::Error::Lock(LockError::Held { .. })) => {
                    (settler.look_and_judge(now)?, Some("another process is settling".to_owned()))
                }
                Err(error) => (settler.look_and_judge(now)?, Some(Failure::from(error).message().to_owned())),
            },
        };
        let sources = Sources {
            records: &settled.records,
            world: &settled.world,
            newest: &sessions::newest_transcript,
            now,
        };
        let mut view = View::of(&sources);
        for alarm in &settled.alarms {
            let stuck = matches!(alarm.kind, AlarmKind::NotSaving | AlarmKind::Stalled);
            let theirs =
                |agent: &&mut AgentView| alarm.session.as_ref().is_some_and(|session| agent.is(session));
            view.agents.iter_mut().filter(|_| stuck).filter(theirs).for_each(|agent| agent.stalled = true);
        }
        view.order();
        Ok(Survey { settled, view, pause, stale, now })
    }

    /// Why this may not be the newest: one sentence for a command whose answer the user acts on.
    pub(crate) fn not_settled(&self) -> Option<String> {
        let why = match (&self.pause, &self.stale) {
            (Some(_), _) => "rekindle is paused",
            (None, Some(why)) => why.as_str(),
            (None, None) => return None,
        };
        Some(format!("the newest events may be missing here, and nothing was stored: {why}"))
    }

    /// The agent that a target means.
    pub(crate) fn agent(&self, context: &Context, text: &str) -> Result<&AgentView, Failure> {
        if is_pane(text) {
            return match self.view.in_pane(text).as_slice() {
                [only] => Ok(only),
                [] => Err(context.nobody_in(text)),
                several => Err(several_in_pane(text, several)),
            };
        }
        if let Some(session) = self.only_seen(text) {
            return self.view.of_session(&session).ok_or_else(|| unseen(&session));
        }
        let session = match context.session(text) {
            Ok(session) => session,
            Err(failure) => return self.unrecorded(text)?.ok_or(failure),
        };
        self.view.of_session(&session).ok_or_else(|| unseen(&session))
    }

    /// The agent of this name that no record has: `status` shows it, so every name there can be typed. The question mark of
    /// a guess may stay.
    fn unrecorded(&self, text: &str) -> Result<Option<&AgentView>, Failure> {
        let text = text.strip_suffix('?').unwrap_or(text).to_lowercase();
        let named = |agent: &&AgentView| {
            let name = agent.name.as_ref().map(|fact| fact.value.to_lowercase());
            name.as_ref() == Some(&text) && self.record(agent).is_none()
        };
        let found: Vec<&AgentView> = self.view.agents.iter().filter(named).collect();
        if let [_, _, ..] = found.as_slice() {
            let one = |agent: &&AgentView| match (&agent.pane, &agent.process) {
                (Some(pane), _) => Some(pane.value.reference.clone()),
                (None, Some(process)) => Some(format!("process {}", process.value.pid)),
                (None, None) => None,
            };
            let places = found.iter().filter_map(one).collect::<Vec<_>>().join(", ");
            return Err(Failure::new(Exit::Usage, format!("{text:?} is the name of {} agents", found.len()))
                .hint(format!("name a pane: {places}")));
        }
        Ok(found.first().copied())
    }

    /// A conversation that no record and no transcript has, only a registry or a process.
    fn only_seen(&self, text: &str) -> Option<SessionKey> {
        let ids = self.view.agents.iter().filter_map(|agent| Some(agent.session.as_ref()?.value.clone()));
        let unrecorded = ids.filter(|id| !self.settled.records.contains_key(id));
        let mut fitting = unrecorded.filter(|id| text.len() >= 4 && id.as_str().starts_with(text));
        match (fitting.next(), fitting.next()) {
            (Some(only), None) => Some(only),
            _ => None,
        }
    }

    /// What of these agents' conversations only the vault still has. Nothing where the vault cannot be asked: `doctor` says
    /// why.
    pub(crate) fn lost(&self, context: &Context, agents: &[&AgentView]) -> Vec<(SessionKey, Lost)> {
        let file = |agent: &&AgentView| {
            let record = self.record(agent)?;
            Some((record.session_id.clone(), record.transcript_path.clone()?))
        };
        let files: Vec<(SessionKey, PathBuf)> = agents.iter().filter_map(file).collect();
        context.repairer.lost_among(&files).unwrap_or_default()
    }

    /// The record of an agent's conversation.
    pub(crate) fn record(&self, agent: &AgentView) -> Option<&SessionRecord> {
        self.settled.records.get(&agent.session.as_ref()?.value)
    }
}

/// What was settled here is missing to the settle that a hook has started: the vault, the status lines and the alarms
/// still wait for it. And a hook that came meanwhile has started none.
pub(crate) fn follow_up(settler: &Settler, settled: &Settled) {
    if settled.events == 0 && !settler.has_news() {
        return;
    }
    if !settled.moved.is_empty() {
        let _ = crate::fast_path::debounce::announce();
    }
    let Ok(program) = std::env::current_exe() else { return };
    // Whoever cannot start it now leaves it to the next hook or command.
    let _ = Command::new(program)
        .args(["settle", "--detached"])
        .args(settled.turned.iter().flat_map(|session| ["--again", session.as_str()]))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        // What ends this command and its group must not end the other one half way.
        .process_group(0)
        .spawn();
}

/// A place that means several agents: each is named by what tells it from the others.
fn several_in_pane(text: &str, agents: &[&AgentView]) -> Failure {
    let sockets: BTreeSet<&Path> =
        agents.iter().filter_map(|agent| Some(agent.pane.as_ref()?.value.socket.as_path())).collect();
    let several_servers = sockets.len() > 1;
    let one = |agent: &&AgentView| {
        let id = match (&agent.session, &agent.process) {
            (Some(session), _) => session.value.short(),
            (None, Some(process)) => format!("process {}", process.value.pid),
            (None, None) => return None,
        };
        let pane = agent.pane.as_ref().filter(|_| several_servers);
        Some(pane.map_or_else(|| id.clone(), |pane| format!("{id} ({})", pane.value.socket.display())))
    };
    let agents_here = agents.iter().filter_map(one).collect::<Vec<_>>().join(", ");
    let message = if several_servers {
        format!("{} tmux servers have a pane {text}", sockets.len())
    } else {
        format!("{} agents run in {text}", agents.len())
    };
    Failure::new(Exit::Usage, message).hint(format!("name one of them by its id: {agents_here}"))
}

fn unseen(session: &SessionKey) -> Failure {
    Failure::new(Exit::Failed, format!("nothing is on record about {session}"))
        .hint("agents are recorded from their next start once `rekindle init` has connected them")
}
