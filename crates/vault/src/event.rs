use std::path::PathBuf;

use agents::SessionId;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::Key;

/// What happened to a file, as seen by the mirror.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    /// Seen for the first time.
    New,
    /// It grew at its end.
    Appended,
    /// It lost its end: what is left is a beginning of what was there.
    Truncated,
    /// It is another one: what is there does not begin like what was there.
    Overwritten,
    /// It had a conversation and has none any more: nothing, or only metadata rows (A6).
    Emptied,
    /// It was rewritten by us.
    Repaired,
    /// It is gone.
    Deleted,
    /// It was gone and is there again.
    Returned,
}

impl Event {
    /// Whether a conversation lost something that only the vault still has.
    pub fn is_loss(self) -> bool {
        matches!(self, Self::Truncated | Self::Overwritten | Self::Emptied | Self::Deleted)
    }
}

/// Something that happened to one file of a conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Happening {
    /// The conversation.
    pub key: Key,
    /// Its session; `None` for the history.
    pub session: Option<SessionId>,
    /// The file, as the agent sees it.
    pub path: PathBuf,
    /// What happened.
    pub event: Event,
    /// The generation in which the file now stands; of a deleted one, the last.
    pub generation: u32,
    /// When it was noticed.
    pub at: Timestamp,
    /// Bytes before and after.
    pub sizes: (u64, u64),
}
