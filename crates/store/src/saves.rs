//! Saves of tmux in generations: `saves/<stamp>-<kind>.json`, scrollback beside it as `.zst`, and `current`, which names
//! the one to restore.
//!
//! **A save is written whole, synced and read back before `current` names it.** One that is empty or has lost too much is
//! kept and never becomes current by itself. What a save says of servers and panes is not this module's business: it keeps
//! a head that everybody can list, and a body as it came.

mod file;
mod list;
mod prune;

pub use file::{
    Draft, Loaded, Scrollback, Written, accept_current, load, make_current, named_current, rewrite, store,
};
pub use list::{Generation, Listed, Skipped, ids, list};
pub use prune::{discard, prune};

use std::path::PathBuf;
use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::StateDir;
use crate::durable;
use crate::lock::{Lock, LockError};
use crate::machine_key::KeyTrouble;

/// The version of a save.
pub const SCHEMA: u32 = 1;

/// What made a save.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Somebody asked for it.
    Manual,
    /// Time had passed.
    Timer,
    /// Something changed in tmux.
    Hook,
    /// Something happened to an agent.
    Event,
    /// It was made elsewhere, or by another program.
    Imported,
    /// A newer program knows.
    #[serde(other)]
    Unknown,
}

impl Kind {
    /// The word in the file's name.
    pub fn word(self) -> &'static str {
        match self {
            Kind::Manual => "manual",
            Kind::Timer => "timer",
            Kind::Hook => "hook",
            Kind::Event => "event",
            Kind::Imported => "imported",
            Kind::Unknown => "unknown",
        }
    }
}

/// How much is in a save.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Counts {
    /// tmux servers.
    pub servers: usize,
    /// Their sessions.
    pub sessions: usize,
    /// Their windows, each once.
    pub windows: usize,
    /// Their panes, each once.
    pub panes: usize,
    /// Panes with a known conversation.
    pub agents: usize,
}

/// The scrollback that lies beside a save.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Beside {
    /// How many panes it holds.
    pub panes: usize,
    /// Its length on disk.
    pub bytes: u64,
    /// BLAKE3 of the file.
    pub blake3: String,
    /// When panes showed it: a save that nobody asked for carries the scrollback of the one before.
    #[serde(default, rename = "takenAt", skip_serializing_if = "Option::is_none")]
    pub taken_at: Option<Timestamp>,
}

/// What every save says first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Head {
    /// The version of the save.
    pub schema: u32,
    /// When it was made.
    pub saved_at: Timestamp,
    /// What made it.
    pub kind: Kind,
    /// What its maker called it.
    #[serde(default)]
    pub name: Option<String>,
    /// Whether it comes from elsewhere: a guess, offered and never started by itself.
    #[serde(default)]
    pub imported: bool,
    /// Why it did not become current by itself.
    #[serde(default)]
    pub held: Option<String>,
    /// How much is in it.
    #[serde(default)]
    pub counts: Counts,
    /// Its scrollback.
    #[serde(default)]
    pub scrollback: Option<Beside>,
}

impl Head {
    /// When panes showed its scrollback; nothing where it has none.
    pub fn scrollback_taken(&self) -> Option<Timestamp> {
        Some(self.scrollback.as_ref()?.taken_at.unwrap_or(self.saved_at))
    }
}

/// Why saves cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SaveError {
    /// It cannot be read.
    #[error("read {}", path.display())]
    Unreadable {
        /// The save, or their folder.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: std::io::Error,
    },
    /// It is no save, or only a part of one.
    #[error("understand {}: {why}", path.display())]
    Broken {
        /// The save.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// It was written by a newer program, which knows more than this one.
    #[error("write {}: it is of a newer version ({schema}); update rekindle", path.display())]
    Newer {
        /// The save.
        path: PathBuf,
        /// Its version.
        schema: u32,
    },
    /// What was read back is not what was written.
    #[error("trust {}: {why}; what was current stays", path.display())]
    NotAsWritten {
        /// The save.
        path: PathBuf,
        /// What differs.
        why: String,
    },
    /// The state directory belongs to a key that is not here.
    #[error(transparent)]
    Key(#[from] KeyTrouble),
    /// Another process is at it.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// It could not be written.
    #[error(transparent)]
    Unwritable(#[from] durable::Error),
}

/// Takes the lock under which saves are written, pruned and made current.
///
/// # Errors
/// Another process holds it still at the deadline, or it cannot be made.
pub fn lock(state: &StateDir, deadline: Duration) -> Result<Lock, SaveError> {
    durable::private_dir(&state.saves())?;
    durable::private_dir(&state.locks())?;
    Ok(Lock::acquire(&state.locks().join("saves"), deadline)?)
}

/// The lock that a restore holds: of everything, or of one server by its process and the time it started.
pub fn restore_lock(state: &StateDir, server: Option<(u32, i64)>) -> PathBuf {
    match server {
        None => state.locks().join("restore"),
        Some((pid, started)) => state.locks().join(format!("restore-{pid}-{started}")),
    }
}

/// Shares the restore's lock, so that no restore begins meanwhile; nothing where no restore ever locked it.
///
/// # Errors
/// A restore holds it.
pub fn no_restore(state: &StateDir, server: Option<(u32, i64)>) -> Result<Option<Lock>, LockError> {
    let path = restore_lock(state, server);
    // Locks of servers are not made by those who only ask: there would be one for every server there ever was.
    if server.is_some() && !path.exists() {
        return Ok(None);
    }
    Lock::try_shared(&path).map(Some)
}

#[cfg(test)]
mod tests;
