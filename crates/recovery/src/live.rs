//! What there is now on the servers of a save: panes, marks, and what runs in each pane.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

use agents::{SessionId, SessionKey};
use layouts::{becomes_shell, runs_ours, words};
use sessions::{Settled, owners};
use store::record::SessionRecord;
use tmux::{PaneShot, ServerSnapshot, Shooting};

use crate::pane_match::{Live, Occupant};

type Records = BTreeMap<SessionKey, SessionRecord>;

/// A server that may live, and of which nothing can be told.
#[derive(Debug, thiserror::Error)]
#[error("{}: {why}", socket.display())]
pub struct Silent {
    /// Its socket.
    pub socket: PathBuf,
    /// Why not.
    pub why: String,
}

/// Looks at the servers on these sockets; those that are gone are left out.
///
/// # Errors
/// One of them may live and does not answer: nothing is restored where it cannot be told what is there.
pub fn look(sockets: &BTreeSet<PathBuf>, settled: &Settled, deadline: Duration) -> Result<Vec<Live>, Silent> {
    let mut alive = Vec::new();
    for socket in sockets {
        let silent = |why: String| Silent { socket: socket.clone(), why };
        match tmux::shoot(socket, deadline) {
            Shooting::Gone => {}
            Shooting::Unknown { why } => return Err(silent(why)),
            Shooting::Taken(shot) => {
                let marks = tmux::marked(socket, deadline)
                    .map_err(|error| silent(error.to_string()))?
                    .into_iter()
                    .collect();
                let occupants = occupants(&shot, settled);
                alive.push(Live { shot: *shot, marks, occupants });
            }
        }
    }
    Ok(alive)
}

fn occupants(shot: &ServerSnapshot, settled: &Settled) -> BTreeMap<String, Occupant> {
    let owners = owners(settled.records.values(), &settled.world);
    let owner_of = |pane: &PaneShot| {
        owners.values().copied().find(|record| {
            record.place.as_ref().is_some_and(|place| {
                (place.server, place.started, &place.pane) == (shot.pid, shot.start_time, &pane.id)
            })
        })
    };
    shot.panes().map(|pane| (pane.id.clone(), occupant(pane, owner_of(pane), settled))).collect()
}

fn occupant(pane: &PaneShot, owner: Option<&SessionRecord>, settled: &Settled) -> Occupant {
    if let Some(record) = owner {
        let said = record.transcript_path.as_deref().is_some_and(Path::exists);
        let empty = record.last_prompt.is_none() && !said;
        // 2.1.31 passes through an empty conversation on its way to the one that it resumes (measured).
        if let (true, Some(session)) = (empty, started_by_us(pane, &settled.records)) {
            return Occupant::Agent { session: Some(session), empty: false };
        }
        return Occupant::Agent { session: Some(record.session_id.clone()), empty };
    }
    let Some(processes) = &settled.world.processes else {
        return Occupant::Program { name: "something that cannot be looked at".to_owned() };
    };
    if processes.values().any(|process| process.agent && process.tty.as_deref() == Some(&pane.tty)) {
        // Nobody knows what was said to an agent that is on no record. One that a restore has just started has its
        // conversation in the pane's own command, also where the agent itself has wiped its arguments.
        return Occupant::Agent { session: session_started_in(pane, &settled.records), empty: false };
    }
    let children = processes.values().any(|process| process.parent == pane.pid);
    let own = processes.get(&pane.pid).map(|process| process.first_words.as_slice());
    match pane.command.as_str() {
        _ if pane.dead => Occupant::Shell,
        _ if !children && runs(own, &pane.start_command, "wait") => Occupant::Waiting,
        // Its agent is about to begin, or has just ended: a moment later it is one or a shell.
        _ if runs(own, &pane.start_command, "run") => {
            Occupant::Agent { session: session_started_in(pane, &settled.records), empty: false }
        }
        name if (is_shell(name) || becomes_shell(&pane.start_command, name)) && !children => Occupant::Shell,
        name => Occupant::Program { name: name.to_owned() },
    }
}

/// Whether the process of a pane is `pane wait` or `pane run` of this program. What the pane was started with stays when a
/// shell has taken its place, and says nothing of what runs in that; it counts only while tmux has not yet started it.
fn runs(own: Option<&[String]>, started_with: &str, verb: &str) -> bool {
    match own {
        Some([program, ..]) if !program.starts_with("tmux") => {
            runs_ours(&own.unwrap_or_default().join(" "), verb)
        }
        _ => runs_ours(started_with, verb),
    }
}

/// The conversation that a restore has started in a pane.
fn started_by_us(pane: &PaneShot, records: &Records) -> Option<SessionKey> {
    runs_ours(&pane.start_command, "run").then(|| session_started_in(pane, records)).flatten()
}

/// The session that a pane's own command resumes or begins. The command has the agent's id; the pane's option tells which
/// account's session that is. Without the option, an id that two accounts have could be either: nothing is guessed.
fn session_started_in(pane: &PaneShot, records: &Records) -> Option<SessionKey> {
    let id = started_in(&pane.start_command)?;
    let tagged = pane.tag.as_deref().and_then(|tag| SessionKey::parse(tag).ok());
    tagged.filter(|key| *key.id() == id).or_else(|| {
        let mut known = records.keys().filter(|key| *key.id() == id);
        match (known.next(), known.next()) {
            (Some(_), Some(_)) => None,
            (Some(only), None) => Some(only.clone()),
            (None, _) => Some(SessionKey::first(id)),
        }
    })
}

/// The id that a pane's own command resumes or begins.
fn started_in(command: &str) -> Option<SessionId> {
    let mut words = words(command);
    words.find(|word| ["--resume", "--session-id"].contains(word))?;
    SessionId::new(words.next()?).ok().filter(SessionId::is_uuid)
}

fn is_shell(name: &str) -> bool {
    let name = name.trim_start_matches('-');
    ["sh", "bash", "zsh", "fish", "dash", "ksh", "mksh", "tcsh", "csh", "nu", "elvish", "xonsh"]
        .contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panes_command_names_its_conversation() {
        let id = "9de6caf9-7c6b-4a9b-b41f-a84d0c76689d";
        let of = |command: &str| started_in(command).map(|id| id.to_string());
        assert_eq!(
            of(&format!("rekindle pane run --launch x -- claude --resume {id} --model y")).as_deref(),
            Some(id)
        );
        assert_eq!(of(&format!("\"claude\" \"--session-id\" \"{id}\"")).as_deref(), Some(id));
        let words = |line: &str| line.split(' ').map(str::to_owned).collect::<Vec<String>>();
        let started = format!("/x/rekindle pane run --launch x -- claude --resume {id}");
        assert!(runs(Some(&words("/x/rekindle pane run")), &started, "run"));
        assert!(runs(Some(&words("tmux -S x")), &started, "run"), "it is about to begin");
        assert!(
            !runs(Some(&words("-bash")), &started, "run"),
            "its agent has ended, and this is its user's shell"
        );
        assert!(!runs(Some(&words("/x/rekindle pane rest")), &started, "run"));
        assert_eq!(of("claude --resume"), None);
        assert_eq!(of("bash"), None);
    }
}
