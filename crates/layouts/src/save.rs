//! A save as a value.

use std::path::PathBuf;

use agents::SessionKey;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use store::mac::Origin;
use store::record::Grade;
use store::saves::{Counts, Head, Loaded};
use tmux::ServerSnapshot;

/// Everything a save says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Save {
    /// Its id; nothing where it is on no disk.
    pub id: Option<String>,
    /// When, what made it, how much is in it.
    pub head: Head,
    /// The servers.
    pub servers: Vec<SavedServer>,
}

/// A tmux server, and who works in its panes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SavedServer {
    /// Sessions, windows and panes.
    pub tmux: ServerSnapshot,
    /// The panes with a known conversation.
    #[serde(default)]
    pub agents: Vec<Agent>,
    /// Since when it is not there any more: what it had was not brought back yet.
    #[serde(default, rename = "goneSince", skip_serializing_if = "Option::is_none")]
    pub gone_since: Option<Timestamp>,
    /// Whether a restore wanted it and could not bring it back: then it is not one that a script has made and ended.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub wanted: bool,
}

/// The conversation in a pane.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Agent {
    /// `%4`.
    pub pane: String,
    /// Which conversation.
    pub session_id: SessionKey,
    /// How sure that is.
    pub grade: Grade,
    /// Whether its record has the arguments it was started with.
    #[serde(default)]
    pub argv_known: bool,
    /// Where it works.
    #[serde(default)]
    pub cwd: Option<PathBuf>,
    /// Its configuration directory.
    #[serde(default)]
    pub config_dir: Option<PathBuf>,
}

impl Save {
    /// Reads a save; what is unknown here is passed over. Nothing where its servers cannot be read.
    ///
    /// One without a valid code counts as imported, and which session was in which pane is a guess: whoever edited it may
    /// have exchanged them.
    pub fn of(loaded: &Loaded) -> Option<Save> {
        let id = Some(loaded.id.clone());
        let mut save = Save { id, head: loaded.head.clone(), servers: servers(&loaded.whole)? };
        if loaded.origin == Origin::Foreign {
            save.head.imported = true;
        }
        if save.head.imported {
            let agents = save.servers.iter_mut().flat_map(|server| &mut server.agents);
            agents.for_each(|agent| agent.grade = Grade::Guess);
        }
        Some(save)
    }
}

/// The servers of a save.
pub(crate) fn servers(whole: &Map<String, Value>) -> Option<Vec<SavedServer>> {
    Vec::deserialize(whole.get("servers")?).ok()
}

/// Servers as the body of a save.
pub(crate) fn body(servers: &[SavedServer]) -> Option<Map<String, Value>> {
    let mut body = Map::new();
    body.insert("servers".to_owned(), serde_json::to_value(servers).ok()?);
    Some(body)
}

/// How much is in a save. Nothing where its servers cannot be read: then it is none.
pub fn count(whole: &Map<String, Value>) -> Option<Counts> {
    Some(counts(&servers(whole)?))
}

pub(crate) fn counts(servers: &[SavedServer]) -> Counts {
    Counts {
        servers: servers.len(),
        sessions: servers.iter().map(|server| server.tmux.sessions.len()).sum(),
        windows: servers.iter().map(|server| server.tmux.windows.len()).sum(),
        panes: servers.iter().map(|server| server.tmux.panes().count()).sum(),
        agents: servers.iter().map(|server| server.agents.len()).sum(),
    }
}
