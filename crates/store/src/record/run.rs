use std::collections::BTreeMap;
use std::path::PathBuf;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{Grade, Provenance};

/// One process that was an agent in the conversation. **Frozen at launch**: what was not known then may be filled in
/// once; nothing that is known changes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Run {
    /// When it was first heard of.
    pub launched_at: Timestamp,
    /// The account, where accounts are configured.
    #[serde(default)]
    pub slot_id: Option<String>,
    /// Its configuration directory.
    #[serde(default)]
    pub config_dir: Option<PathBuf>,
    /// Where its credentials are, by name; only on macOS.
    #[serde(default)]
    pub keychain_service: Option<String>,
    /// Whose account it is.
    #[serde(default)]
    pub email: Option<String>,
    /// Its version.
    #[serde(default)]
    pub claude_version: Option<String>,
    /// Its arguments; nothing where it has wiped them.
    #[serde(default)]
    pub argv: Option<Vec<String>>,
    /// Where it was started.
    #[serde(default)]
    pub cwd: Option<PathBuf>,
    /// The variables that a restart needs. Secrets have an empty value: only their name is known.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// Its process id.
    pub pid: u32,
    /// When it started, in the kernel's ticks since boot.
    pub proc_start: u64,
    /// Its controlling terminal.
    #[serde(default)]
    pub tty: Option<String>,
    /// The machine it ran on.
    #[serde(default)]
    pub machine_id: Option<String>,
    /// The boot it ran in.
    #[serde(default)]
    pub boot_id: Option<String>,
    /// The pid namespace that its id means something in.
    #[serde(default)]
    pub pid_namespace: Option<String>,
    /// The tmux pane it was started in.
    #[serde(default)]
    pub tmux: Option<TmuxPlace>,
    /// The pane of our own it was started in.
    #[serde(default)]
    pub host: Option<HostPlace>,
    /// How sure the pane is.
    #[serde(default)]
    pub grade: Option<Grade>,
    /// Where what stands here comes from. Absent in records of 0.1.0, and filled in when they are read.
    #[serde(default)]
    pub provenance: Option<Provenance>,
    /// The machine on which its user accepted it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accepted_on: Option<String>,
    /// How it began, in the agent's words: `startup`, `resume`, `clear`, …
    #[serde(default)]
    pub source: Option<String>,
    /// Whether it answers one prompt and goes (`claude -p`): never restored, never the owner of a pane.
    #[serde(default)]
    pub one_shot: bool,
    /// Started by another agent: never the owner of a pane.
    #[serde(default)]
    pub nested: bool,
    /// When it was last heard in this conversation: a process may go on in another one.
    #[serde(default)]
    pub heard_at: Option<Timestamp>,
    /// When it ended.
    #[serde(default)]
    pub ended_at: Option<Timestamp>,
    /// Why it ended, in the agent's words.
    #[serde(default)]
    pub end_reason: Option<String>,
    /// Whether its terminal was already gone when it ended.
    #[serde(default)]
    pub hung_up: bool,
}

impl Run {
    /// Whether it is this process.
    pub fn is(&self, pid: u32, start: u64) -> bool {
        self.pid == pid && self.proc_start == start
    }

    /// Whether it only passes through: it never owns a pane, and a conversation with an agent of its own is not its.
    pub fn is_passing(&self) -> bool {
        self.one_shot || self.nested
    }
}

/// A pane of a tmux server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TmuxPlace {
    /// The server's socket.
    pub socket: PathBuf,
    /// The server's process.
    pub server: u32,
    /// When the server started, seconds since 1970: its id may be used again.
    #[serde(default)]
    pub started: i64,
    /// `%4`.
    pub pane: String,
    /// `session:window.pane`.
    #[serde(rename = "ref")]
    pub reference: String,
}

impl TmuxPlace {
    /// Whether both are the same pane of the same server, whatever it is called now.
    pub fn same_pane(&self, other: &TmuxPlace) -> bool {
        (&self.socket, self.server, self.started, &self.pane)
            == (&other.socket, other.server, other.started, &other.pane)
    }
}

/// A pane of our own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostPlace {
    /// Its name.
    pub pane: String,
}
