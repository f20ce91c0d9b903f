//! The agent's own registry of live sessions: `<config>/sessions/<pid>.json`.

use std::io;
use std::path::PathBuf;

use serde::Deserialize;

use super::ConfigDir;
use super::owner::Holder;
use super::pid_domain::{PidDomain, Reach};
use super::process::Processes;

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
    /// Field 22 of `/proc/<pid>/stat`; not written by 2.1.100.
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
    /// Whether the process that registered still runs; `None` where that cannot be told from here.
    pub fn alive(&self, processes: &Processes) -> Option<bool> {
        match processes.vantage().reach(&self.domain()) {
            Reach::Here => {}
            Reach::Gone => return Some(false),
            Reach::Unknown { .. } => return None,
        }
        if !processes.readable() {
            return None;
        }
        let Some(process) = processes.get(self.pid) else { return Some(false) };
        match (&self.proc_start, self.started_at, process.started_ms) {
            (Some(theirs), _, _) => Some(*theirs == process.start_ticks.to_string()),
            // A process that started after the entry was written has the pid of one that is gone.
            (None, Some(registered), Some(started)) => Some(started <= registered + ROUNDING_MS),
            _ => Some(true),
        }
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
