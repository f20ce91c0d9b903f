//! What the agents' own registries say.

use std::path::PathBuf;

use agents::SessionKey;
use jiff::Timestamp;
use store::record::Grade;

use super::claims::Claims;
use super::fact::Claim;
use super::{Process, State};
use crate::machine_state::{Entry, Life, MachineState};

impl Claims {
    /// What the agent's own registry says of this session.
    pub(super) fn registry(&mut self, entry: &Entry, session: SessionKey, world: &MachineState) {
        let said = &entry.registered;
        let start = world.processes.as_ref().and_then(|table| Some(table.get(&said.pid)?.start));
        let updated = said.status_updated_at.and_then(|ms| Timestamp::from_millisecond(ms).ok());
        let (grade, words) = match entry.life {
            // It lags behind /clear and /resume (measured), so a hook's word counts more.
            Life::Alive if self.about().is_some_and(|about| *about != session) => {
                (Grade::Likely, format!("the registry has {} for its process", session.short()))
            }
            Life::Alive => (Grade::Proven, "the registry names it, with its process's start time".to_owned()),
            Life::Dead => (Grade::Likely, "its entry in the registry stayed behind".to_owned()),
            Life::Unknown => (Grade::Likely, "the registry names a process that cannot be seen".to_owned()),
        };
        self.session.push(Claim::new(session, grade, "registry", words).at(updated));
        if entry.life == Life::Alive
            && let Some(start) = start
        {
            let process = Process { pid: said.pid, start };
            let words = format!("the registry names process {}", said.pid);
            self.process.push(Claim::new(process, Grade::Proven, "registry", words));
            self.life = Some(Life::Alive);
            self.nested |= world.is_nested(said.pid);
        } else if self.life.is_none() {
            self.life = Some(entry.life);
        }
        self.one_shot |= said.entrypoint.as_deref() == Some("sdk-cli");
        self.registered_state(entry, updated);
        self.registered_words(entry, updated);
    }

    fn registered_state(&mut self, entry: &Entry, updated: Option<Timestamp>) {
        let state = match entry.registered.status.as_deref() {
            Some("busy") => State::Busy,
            Some("idle") => State::Idle,
            Some("waiting") => State::Waiting,
            Some("shell") => State::Shell,
            _ => State::Unknown,
        };
        match entry.life {
            Life::Alive if state != State::Unknown => {
                let words = format!("the registry says {}", state.word());
                self.state.push(Claim::new(state, Grade::Proven, "registry", words).at(updated));
            }
            Life::Alive => {}
            Life::Dead => {
                let words = "its process is gone, and it did not take its entry away";
                self.state.push(Claim::new(State::Crashed, Grade::Likely, "registry", words).at(updated));
                self.reason.get_or_insert_with(|| "process_died".to_owned());
            }
            Life::Unknown => {
                let words = "its process cannot be seen from here";
                self.state.push(Claim::new(State::Unknown, Grade::Likely, "registry", words).at(updated));
            }
        }
    }

    fn registered_words(&mut self, entry: &Entry, updated: Option<Timestamp>) {
        let said = &entry.registered;
        let grade = if entry.life == Life::Alive { Grade::Proven } else { Grade::Likely };
        if let Some(cwd) = &said.cwd {
            let words = format!("the registry names {cwd}");
            self.cwd.push(Claim::new(PathBuf::from(cwd), grade, "registry", words).at(updated));
        }
        if let Some(version) = said.version.clone() {
            let words = format!("the registry has {version}");
            self.version.push(Claim::new(version, grade, "registry", words));
        }
        // The agent may make up another name at each start (`docs-a8`): what is on record stays.
        if let Some(name) = said.name.clone().filter(|name| !name.is_empty() && self.name.is_empty()) {
            let words = format!("the registry has {name}");
            self.name.push(Claim::new(name, Grade::Likely, "registry", words));
        }
        if let Some(updated) = updated.filter(|_| self.last_seen.is_empty()) {
            let words = "its entry in the registry was written";
            self.last_seen.push(Claim::new(updated, grade, "registry", words).at(updated));
        }
    }
}
