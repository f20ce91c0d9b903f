//! `forgotten/<hash>.json`: a conversation that its user wants gone.

use std::collections::{BTreeSet, HashSet};
use std::path::{Path, PathBuf};

use agents::SessionId;
use agents::claude::ConfigDir;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use state::{StateDir, durable};

use crate::vault::list;
use crate::{Error, Key};

/// A conversation that was forgotten on purpose, or is being forgotten.
#[derive(Debug, Clone)]
pub struct Tombstone {
    /// Its name in the vault.
    pub key: Key,
    /// When forgetting it began.
    pub at: Timestamp,
    /// The configuration directory it belongs to, where that is known.
    pub config: Option<PathBuf>,
    /// Whether text of it may still be somewhere: a run was killed or failed.
    pub unfinished: bool,
    /// Conversations of the vault that held a part of the same text, as `<config>/<session>`.
    pub held_by: BTreeSet<String>,
}

// What 0.1.0 wrote has no state: it erased the vault's copy and nothing else.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Written {
    schema: u32,
    key: String,
    at: Timestamp,
    #[serde(default)]
    config: Option<PathBuf>,
    #[serde(default)]
    state: State,
    #[serde(default)]
    held_by: BTreeSet<String>,
}

#[derive(Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum State {
    Forgetting,
    #[default]
    #[serde(other)]
    Forgotten,
}

impl Tombstone {
    pub(crate) fn write(&self, path: &Path) -> Result<(), Error> {
        let state = if self.unfinished { State::Forgetting } else { State::Forgotten };
        let written = Written {
            schema: 1,
            key: self.key.to_string(),
            at: self.at,
            config: self.config.clone(),
            state,
            held_by: self.held_by.clone(),
        };
        Ok(durable::replace(path, &serde_json::to_vec(&written)?)?)
    }
}

pub(crate) fn read(path: &Path) -> Option<Tombstone> {
    let written: Written = serde_json::from_slice(&state::files::read(path).ok()?).ok()?;
    Some(Tombstone {
        key: Key::parse(&written.key)?,
        at: written.at,
        config: written.config,
        unfinished: written.state == State::Forgetting,
        held_by: written.held_by,
    })
}

pub(crate) fn name_of(key: &Key) -> String {
    format!("{}.json", blake3::hash(key.as_str().as_bytes()).to_hex())
}

/// The names of the tombstones: one listing instead of a look per conversation.
#[derive(Debug, Clone, Default)]
pub struct Forgotten(HashSet<String>);

impl Forgotten {
    /// Lists them; nothing is made where there is no vault.
    pub fn load(state: &StateDir) -> Result<Self, Error> {
        Self::list(&state.vault().join("forgotten"))
    }

    pub(crate) fn list(folder: &Path) -> Result<Self, Error> {
        Ok(Self(list(folder)?.into_iter().collect()))
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether this conversation was forgotten, or is being forgotten.
    pub fn has(&self, key: &Key) -> bool {
        // Mostly there are none, and hashing ten thousand names is not free.
        !self.0.is_empty() && self.0.contains(&name_of(key))
    }

    /// The same for a session of this configuration directory.
    pub fn has_session(&self, config: &ConfigDir, session: &SessionId) -> bool {
        !self.0.is_empty() && self.has(&Key::new(config, Some(session)))
    }
}
