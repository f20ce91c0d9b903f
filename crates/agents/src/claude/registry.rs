//! The agent's own registry of live sessions: `<config>/sessions/<pid>.json`.

use std::io;
use std::path::PathBuf;

use serde::Deserialize;

use super::ConfigDir;
use super::owner::Holder;
use super::pid_domain::{PidDomain, Reach};
use super::process::{Process, Processes, boot_time_ms};

/// One entry, as far as it is of use. Undocumented, so everything but the two ids is optional.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Registered {
    /// The agent's process.
    pub pid: u32,
    /// The conversation it is in.
    #[serde(rename = "sessionId")]
    pub session: String,
    /// When it registered itself, milliseconds since 1970.
    pub started_at: Option<i64>,
    /// Field 22 of `/proc/<pid>/stat`, as the agent reads it in its own time namespace; not written by 2.1.100.
    pub proc_start: Option<String>,
    /// Machine and pid namespace, such as `linux:<machine id>:pid:[4026531836]`.
    pub pid_domain: Option<String>,
    /// `session:@window.%pane` of tmux.
    pub tmux: Option<String>,
    /// Where it works.
    pub cwd: Option<String>,
    /// The agent's version.
    pub version: Option<String>,
    /// `idle`, `busy`, `waiting` or `shell`.
    pub status: Option<String>,
    /// When that was last set, milliseconds since 1970.
    pub status_updated_at: Option<i64>,
    /// What the user calls it.
    pub name: Option<String>,
    /// `cli` for people, `sdk-cli` for `claude -p`.
    pub entrypoint: Option<String>,
}

/// A registry, as far as it can be read.
#[derive(Debug, Default)]
pub struct Registry {
    /// Its entries. Those that cannot be understood are left out, for they name no conversation.
    pub entries: Vec<Registered>,
    /// What could not be read, the folder or an entry, and why: an agent may be in there.
    pub unreadable: Option<(PathBuf, io::Error)>,
}

/// Reads the registry of a configuration directory.
pub fn read(config: &ConfigDir) -> Registry {
    let folder = config.sessions();
    let mut registry = Registry::default();
    let listed = std::fs::read_dir(&folder).and_then(Iterator::collect::<io::Result<Vec<_>>>);
    let listed = listed.unwrap_or_else(|error| {
        if error.kind() != io::ErrorKind::NotFound {
            registry.unreadable = Some((folder, error));
        }
        Vec::new()
    });
    for path in listed.into_iter().map(|entry| entry.path()) {
        if path.extension().is_none_or(|extension| extension != "json") {
            continue;
        }
        match crate::files::read(&path) {
            Ok(bytes) => registry.entries.extend(serde_json::from_slice::<Registered>(&bytes)),
            // Its agent has ended since.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => registry.unreadable = Some((path, error)),
        }
    }
    registry
}

/// The clock of the kernel's start times and the agent's own differ by roundings; a reused pid by more.
const ROUNDING_MS: i64 = 2_000;

impl Registered {
    /// Whether the process that registered in this configuration directory still runs; `None` where that cannot be told
    /// from here.
    pub fn alive(&self, config: &ConfigDir, processes: &Processes) -> Option<bool> {
        match processes.vantage().reach(&self.domain()) {
            Reach::Here => {}
            Reach::Gone => return Some(false),
            Reach::Unknown { .. } => return None,
        }
        if !processes.readable() {
            return None;
        }
        let Some(start) = &self.proc_start else { return self.alive_by_id(config, processes) };
        let Some(process) = processes.get(self.pid) else { return Some(false) };
        start.parse().map_or(Some(false), |start| process.has_started_at(start))
    }

    /// 2.1.100 writes down neither when its process started nor in which pid namespace, so its entry may be of any
    /// container that shares the folder, and the process with that id here may be anything. It is the agent if it is an
    /// agent of this account, as old as the entry, and the only one that has this id in whatever namespace it is in.
    fn alive_by_id(&self, config: &ConfigDir, processes: &Processes) -> Option<bool> {
        let vantage = processes.vantage();
        let projects = config.projects();
        let may_be_it = |process: &&Process| {
            // A process that started after the entry was written has the id of one that is gone.
            let younger = |(started, registered): (i64, i64)| started > registered + ROUNDING_MS;
            process.is_agent()
                && process.innermost_id().is_none_or(|id| id == self.pid)
                && !process.started_ms.zip(self.started_at).is_some_and(younger)
                && process.works_in(&projects) != Some(false)
        };
        let is_here = |process: &Process| {
            process.pid == self.pid
                && process.namespace() == vantage.own.namespace
                // Before its first prompt there is no folder to compare.
                && process.works_in(&projects).unwrap_or_else(|| process.projects().as_ref() == Some(&projects))
        };
        let before_boot =
            |registered: i64| boot_time_ms().is_some_and(|boot| registered + ROUNDING_MS < boot);
        let mut found = processes.all().iter().filter(may_be_it);
        match (found.next(), found.next()) {
            (Some(only), None) if is_here(only) => Some(true),
            // From the initial namespace the processes of all others are seen.
            (None, _) if vantage.namespaces.is_some() || self.started_at.is_some_and(before_boot) => {
                Some(false)
            }
            _ => None,
        }
    }

    /// Whether this is the entry of a process with this id that was in the same conversation until then.
    pub(super) fn is_of_ended(&self, pid: u32, until_ms: i64) -> bool {
        let began_before = |registered: i64| registered <= until_ms + ROUNDING_MS;
        self.proc_start.is_none() && self.pid == pid && self.started_at.is_some_and(began_before)
    }

    /// Where its process id means something. The agent does not write down the boot.
    pub fn domain(&self) -> PidDomain {
        self.pid_domain.as_deref().map(PidDomain::parse).unwrap_or_default()
    }

    /// The process behind the entry.
    pub fn holder(&self) -> Holder {
        Holder {
            pid: self.pid,
            since_ms: self.started_at,
            evidence: "the agent's registry names it",
            pane: self.tmux.clone(),
        }
    }
}
