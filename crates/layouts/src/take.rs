//! Everything at one moment: what tmux says of its panes, and what the records say of who is in them.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

use agents::SessionKey;
use sessions::{Settled, owners};
use store::record::{Grade, SessionRecord, Status, TmuxPlace};
use tmux::{ServerSnapshot, Shooting, shoot};

use crate::guard::Unanswered;
use crate::own_command::{is_restored_shell, offers_a_guess};
use crate::save::{Agent, SavedServer};

/// What was there to be saved.
#[derive(Debug, Clone, Default)]
pub struct Taken {
    /// The servers that answered.
    pub servers: Vec<SavedServer>,
    /// Those that may live and did not answer.
    pub unanswered: Vec<Unanswered>,
    /// Conversations that their user wants forgotten: what their panes show is not kept.
    pub forgotten: BTreeSet<String>,
}

/// What each socket answered.
pub type Asked = Vec<(PathBuf, Shooting)>;

/// Asks the servers on these sockets.
pub fn ask(sockets: impl IntoIterator<Item = PathBuf>, deadline: Duration) -> Asked {
    let ask = |socket: PathBuf| {
        let answer = match shoot(&socket, deadline) {
            Shooting::Taken(shot) => Shooting::Taken(Box::new(scrubbed(*shot))),
            other => other,
        };
        (socket, answer)
    };
    sockets.into_iter().map(ask).collect()
}

/// Makes ready what an answer will need, while tmux is being asked.
pub fn prepare() {
    let _ = redact::holds_secret("x");
}

/// Puts answers and records together; two paths to one socket are one server.
pub fn take(asked: Asked, settled: &Settled) -> Taken {
    let forgotten = settled.forgotten.iter().map(ToString::to_string).collect();
    let mut taken = Taken { forgotten, ..Taken::default() };
    for (socket, answer) in asked {
        match answer {
            Shooting::Taken(mut shot) => {
                if !taken.servers.iter().any(|known| known.tmux.id() == shot.id()) {
                    let agents = agents_in(&shot, settled);
                    untitle(&mut shot, &agents, settled);
                    taken.servers.push(SavedServer { tmux: *shot, agents, gone_since: None, wanted: false });
                }
            }
            Shooting::Gone => {}
            Shooting::Unknown { why } => taken.unanswered.push(Unanswered { socket, why }),
        }
    }
    taken
}

/// Agents write what a conversation is about into the title of their pane: of a forgotten one it is not kept.
fn untitle(shot: &mut ServerSnapshot, agents: &[Agent], settled: &Settled) {
    for pane in shot.windows.iter_mut().flat_map(|window| &mut window.panes) {
        let agent = agents.iter().find(|agent| agent.pane == pane.id).map(|agent| agent.session_id.clone());
        let session = agent.or_else(|| SessionKey::parse(pane.tag.as_deref()?).ok());
        if session.is_some_and(|session| settled.forgotten.contains(&session)) {
            pane.title.clear();
        }
    }
}

/// The agents in a server's panes: the live ones, and those that crashed there and are still waited for. A pane is known
/// by its server's life and its id, however the socket is spelt.
pub fn agents_in(shot: &ServerSnapshot, settled: &Settled) -> Vec<Agent> {
    let owners = owners(settled.records.values(), &settled.world);
    let mut agents: Vec<Agent> = owners
        .values()
        .filter_map(|record| {
            let place = record.place.as_ref()?;
            let here = (place.server, place.started) == (shot.pid, shot.start_time);
            let pane = shot.panes().find(|pane| here && pane.id == place.pane)?;
            Some(agent(&pane.id, record))
        })
        .collect();
    // A pane says which conversation belongs into it. Without this a save between a crash and its recovery, or one after
    // an interrupted restore, would forget who was there.
    for pane in shot.panes() {
        let taken = agents.iter().any(|agent| agent.pane == pane.id);
        let waits = pane.tag.as_deref().and_then(|tag| settled.records.get(&SessionKey::parse(tag).ok()?));
        // One that is to go on in an agent of which nothing was heard yet is not forgotten for that.
        let goes_on = |record: &SessionRecord| {
            record.next_id.as_ref().is_some_and(|next| settled.records.contains_key(next))
        };
        // An agent outlives its server for a moment: it is as good as crashed.
        let dies = |record: &SessionRecord| {
            let place = record.place.as_ref();
            let lives = |place: &TmuxPlace| {
                let life = (place.server, place.started);
                settled.world.alive_servers().any(|server| (server.id.pid, server.id.started) == life)
                    || life == (shot.pid, shot.start_time)
            };
            record.status == Status::Active && place.is_some_and(|place| !lives(place))
        };
        let waits =
            waits.filter(|record| (record.status == Status::Crashed || dies(record)) && !goes_on(record));
        let elsewhere = |record: &SessionRecord| agents.iter().any(|a| a.session_id == record.session_id);
        if let Some(record) = waits.filter(|record| !taken && !elsewhere(record)) {
            let mut waiting = agent(&pane.id, record);
            // An option of a pane is no proof, unless the record names the same place.
            let place = record.place.as_ref().map(|place| place.reference.clone());
            if place.is_none() || place != shot.reference(&pane.id).map(|reference| reference.to_string()) {
                waiting.grade = waiting.grade.min(Grade::Likely);
            }
            // Nor does a save make it surer: the pane was made from one that proved nothing.
            if offers_a_guess(&pane.start_command) {
                waiting.grade = Grade::Guess;
            }
            agents.push(waiting);
        }
    }
    agents.sort_by(|a, b| a.pane.len().cmp(&b.pane.len()).then_with(|| a.pane.cmp(&b.pane)));
    agents
}

/// A conversation in a pane, as a save keeps it.
pub fn agent(pane: &str, record: &SessionRecord) -> Agent {
    let run = record.run();
    Agent {
        pane: pane.to_owned(),
        session_id: record.session_id.clone(),
        grade: run.and_then(|run| run.grade).unwrap_or(Grade::Guess),
        argv_known: run.is_some_and(|run| run.argv.is_some()),
        cwd: record.cwd.clone().or_else(|| run.and_then(|run| run.cwd.clone())),
        config_dir: run.and_then(|run| run.config_dir.clone()),
    }
}

/// A shot without the secrets that people pass on command lines and programs write into titles.
fn scrubbed(mut shot: ServerSnapshot) -> ServerSnapshot {
    for pane in shot.windows.iter_mut().flat_map(|window| &mut window.panes) {
        if is_restored_shell(&pane.start_command) {
            pane.start_command.clear();
        }
        for text in [&mut pane.title, &mut pane.start_command] {
            if let std::borrow::Cow::Owned(clean) = redact::redact(text) {
                *text = clean;
            }
        }
        // A part of a value would be worse than none.
        pane.options.retain(|name, value| {
            !redact::holds_secret(value)
                && !redact::holds_secret(&format!("{}={value}", name.trim_start_matches('@')))
        });
    }
    shot
}
