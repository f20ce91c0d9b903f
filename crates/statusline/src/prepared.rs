//! What the last settle found out for a session's status line: `cache/statusline/<session-id>.json`.
//!
//! A status line has no time for git, for other sessions or for the network. Settle has, and leaves its answers here.
//! Derived, like everything under `cache/`: a missing or broken file is an empty one.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// The version of the file.
pub const SCHEMA: u32 = 1;

/// What settle knows and the agent does not say.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Prepared {
    /// The version of the file.
    pub schema: u32,
    /// When settle wrote it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub settled_at: Option<Timestamp>,
    /// The state of the directory's repository, where it is in one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub git: Option<Git>,
    /// The last prompt, redacted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_prompt: Option<LastPrompt>,
    /// The account in use, where there are several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slot: Option<Slot>,
    /// What the user should know, the most important first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notices: Vec<Notice>,
    /// Whether everything automatic is stopped.
    pub paused: bool,
    /// The session's name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// When the vault last took the conversation in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vaulted_at: Option<Timestamp>,
}

/// A repository, in numbers of files and commits.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Git {
    /// The branch; the beginning of the commit's id where there is none.
    pub branch: String,
    /// Whether the head is a commit and no branch.
    pub detached: bool,
    /// Files added to the index.
    pub added: u32,
    /// Files changed, in the index or not.
    pub changed: u32,
    /// Files deleted.
    pub deleted: u32,
    /// Files git does not know.
    pub untracked: u32,
    /// Commits the upstream lacks.
    pub ahead: u32,
    /// Commits the upstream has more.
    pub behind: u32,
}

/// What the user last said.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct LastPrompt {
    /// The words, as far as they are worth showing.
    pub text: String,
    /// When.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<Timestamp>,
}

/// The account a session runs on.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Slot {
    /// Its name, such as `slot-1`.
    pub id: String,
    /// Its place among all slots, counted from 1.
    pub position: u32,
    /// The names of all slots, in order.
    pub names: Vec<String>,
    /// Per cent of its quota that is used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub percent: Option<u32>,
    /// Whether it can be used.
    pub state: SlotState,
}

/// Whether an account can be used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SlotState {
    /// The user must log in again.
    TokenExpired,
    /// Its configuration directory is gone.
    ConfigMissing,
    /// As far as anybody knows, it can.
    #[default]
    #[serde(other)]
    Ok,
}

/// Something the user should know, on a line of its own.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Notice {
    /// What it is about: decides sign and colour.
    pub kind: NoticeKind,
    /// The words.
    pub text: String,
}

/// What a notice is about.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NoticeKind {
    /// A new version of the agent.
    Update,
    /// Another slot would be better.
    Slot,
    /// Something is wrong now: no transcript grows, the disk is full.
    Alarm,
    /// Something will be wrong soon.
    Warning,
    /// Everything automatic is stopped.
    Pause,
    /// Anything else, also what a newer version knows.
    #[default]
    #[serde(other)]
    Info,
}

impl Notice {
    /// A notice of any kind.
    pub fn new(kind: NoticeKind, text: impl Into<String>) -> Notice {
        Notice { kind, text: text.into() }
    }

    /// There is a newer agent than the one that runs.
    pub fn update(latest: &str, running: &str) -> Notice {
        Notice::new(NoticeKind::Update, format!("Update to {latest} available (your version: {running})"))
    }

    /// Another slot has more left; both figures are per cent used.
    pub fn other_slot(slot: &str, used_here: u32, used_there: u32) -> Notice {
        let words = format!("Consider switching to {slot} ({used_here}% → {used_there}% quota)");
        Notice::new(NoticeKind::Slot, words)
    }
}

impl Prepared {
    /// Reads the file's bytes; what cannot be understood is nothing.
    pub fn parse(bytes: &[u8]) -> Prepared {
        serde_json::from_slice(bytes).unwrap_or_default()
    }

    /// The file's bytes.
    pub fn to_json(&self) -> Vec<u8> {
        let mut known = self.clone();
        known.schema = SCHEMA;
        // Numbers and texts always serialise; an empty file is an empty one.
        serde_json::to_vec(&known).unwrap_or_default()
    }
}
