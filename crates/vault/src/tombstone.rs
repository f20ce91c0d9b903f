//! `forgotten/<hash>.json`: a conversation that its user wants gone.

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};

use agents::SessionId;
use agents::claude::{ConfigDir, account, is_account};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use store::record::Machine;
use store::{StateDir, durable};

use crate::account::is_same;
use crate::prompts::ForgottenPrompts;
use crate::vault::list;
use crate::{Error, Key};

/// The folder of the tombstones, in the vault.
pub(crate) const FOLDER: &str = "forgotten";

/// A conversation that was forgotten on purpose, or is being forgotten.
#[derive(Debug, Clone)]
pub struct Tombstone {
    /// Its name in the vault.
    pub key: Key,
    /// When forgetting it began.
    pub at: Timestamp,
    /// The configuration directory it belongs to, where that is known.
    pub config: Option<PathBuf>,
    /// The folder in which the account's transcripts really lay: the path may be a link that points elsewhere by now.
    pub(crate) account: Option<PathBuf>,
    /// Whether text of it may still be somewhere: a run was killed or failed.
    pub unfinished: bool,
    /// Conversations of the vault that held a part of the same text, as `<config>/<session>`.
    pub held_by: BTreeSet<String>,
    /// The machine that wrote it; nothing where 0.1.0 did, or the machine has no id.
    pub machine: Option<String>,
    /// Whether its prompts are out of the mirror of the agent's history.
    pub(crate) prompts_erased: bool,
}

/// Why a tombstone does not keep a conversation out of the vault, or why it may not be rekindle's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TombstoneDoubt {
    /// Another machine wrote it: state directories are synced and copied. The conversation is mirrored here.
    OtherMachine,
    /// The vault has a copy of the conversation, which forgetting would have erased. The conversation is mirrored.
    HasCopy,
    /// The file cannot be read, or was made for another conversation. The conversation it is named after is not mirrored.
    Unreadable,
}

impl TombstoneDoubt {
    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            TombstoneDoubt::OtherMachine => "other_machine",
            TombstoneDoubt::HasCopy => "has_copy",
            TombstoneDoubt::Unreadable => "unreadable",
        }
    }

    /// Whether the conversation is mirrored all the same.
    pub fn is_mirrored(self) -> bool {
        self != TombstoneDoubt::Unreadable
    }
}

/// A tombstone that is in doubt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DoubtfulTombstone {
    /// The file.
    pub path: PathBuf,
    /// The conversation; nothing where the file does not tell.
    pub key: Option<Key>,
    /// Why.
    pub doubt: TombstoneDoubt,
}

impl std::fmt::Display for DoubtfulTombstone {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let session = self.key.as_ref().and_then(Key::session);
        let name = session.map_or_else(|| "a conversation".to_owned(), |session| session.to_string());
        match self.doubt {
            TombstoneDoubt::OtherMachine => write!(
                f,
                "{name} was forgotten on another machine; this machine still mirrors it. To forget it here: rekindle vault forget {name} --yes"
            ),
            TombstoneDoubt::HasCopy => write!(
                f,
                "{name} is marked as forgotten, but the vault has a copy of it and still mirrors it. To forget it: rekindle vault forget {name} --yes; to keep it: remove {}",
                self.path.display()
            ),
            TombstoneDoubt::Unreadable => write!(
                f,
                "{} marks a conversation as forgotten, but is damaged. That conversation is not mirrored; remove the file to mirror it again",
                self.path.display()
            ),
        }
    }
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
    #[serde(default, skip_serializing_if = "Option::is_none")]
    account: Option<PathBuf>,
    #[serde(default)]
    state: State,
    #[serde(default)]
    held_by: BTreeSet<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    machine: Option<String>,
    // 0.1.0 left the mirror of the history as it was.
    #[serde(default)]
    prompts_erased: bool,
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
    /// Whether it is for an account, by whatever path that is reached. What 0.1.0 wrote has no path, and is known by its name.
    pub(crate) fn is_of(&self, config: &ConfigDir) -> bool {
        let session = self.key.session();
        let named = |path: &Path| Key::new(&ConfigDir::new(path), session.as_ref()) == self.key;
        match (&self.account, &self.config) {
            (Some(own), _) => is_account(own, config.path()),
            (None, Some(own)) => is_same(own, config.path(), session.as_ref()),
            (None, None) => named(config.path()) || named(&account(config.path())),
        }
    }

    pub(crate) fn write(&self, path: &Path) -> Result<(), Error> {
        let state = if self.unfinished { State::Forgetting } else { State::Forgotten };
        let written = Written {
            schema: 1,
            key: self.key.to_string(),
            at: self.at,
            config: self.config.clone(),
            account: self.account.clone(),
            state,
            held_by: self.held_by.clone(),
            machine: self.machine.clone(),
            prompts_erased: self.prompts_erased,
        };
        Ok(durable::replace(path, &serde_json::to_vec(&written)?)?)
    }
}

pub(crate) fn read(path: &Path) -> Option<Tombstone> {
    let written: Written = serde_json::from_slice(&store::files::read(path).ok()?).ok()?;
    Some(Tombstone {
        key: Key::parse(&written.key)?,
        at: written.at,
        config: written.config,
        account: written.account,
        unfinished: written.state == State::Forgetting,
        held_by: written.held_by,
        machine: written.machine.filter(|machine| !machine.is_empty()),
        prompts_erased: written.prompts_erased,
    })
}

pub(crate) fn name_of(key: &Key) -> String {
    format!("{}.json", blake3::hash(key.as_str().as_bytes()).to_hex())
}

/// The machine that this process is on, as tombstones name it.
pub(crate) fn this_machine() -> Option<String> {
    Machine::this().id().filter(|id| !id.is_empty()).map(str::to_owned)
}

/// The tombstones: one listing instead of a look per conversation.
#[derive(Debug, Clone, Default)]
pub struct Forgotten {
    /// By the name of the file; nothing where it cannot be read.
    tombstones: HashMap<String, Option<Tombstone>>,
    vault: PathBuf,
    here: Option<String>,
}

impl Forgotten {
    /// Lists them; nothing is made where there is no vault.
    pub fn load(state: &StateDir) -> Result<Self, Error> {
        Self::list(&state.vault())
    }

    pub(crate) fn list(vault: &Path) -> Result<Self, Error> {
        let folder = vault.join(FOLDER);
        let names = list(&folder)?.into_iter();
        let names = names.filter(|name| !name.starts_with(durable::TEMPORARY_PREFIX));
        let tombstones = names.map(|name| {
            let own = read(&folder.join(&name)).filter(|tombstone| name_of(&tombstone.key) == name);
            (name, own)
        });
        Ok(Self { tombstones: tombstones.collect(), vault: vault.to_path_buf(), here: this_machine() })
    }

    /// How many conversations are kept out of the vault.
    pub(crate) fn len(&self) -> usize {
        let holds = |one: &Option<Tombstone>| one.as_ref().is_none_or(|one| self.holds(one));
        self.tombstones.values().filter(|one| holds(one)).count()
    }

    /// Whether this conversation was forgotten, or is being forgotten.
    pub fn has(&self, key: &Key) -> bool {
        // Mostly there are none, and hashing ten thousand names is not free.
        if self.tombstones.is_empty() {
            return false;
        }
        match self.tombstones.get(&name_of(key)) {
            None => false,
            Some(Some(tombstone)) => self.holds(tombstone),
            // It may be rekindle's own, and what was forgotten must not come back; nor may a copy go out of date.
            Some(None) => !self.has_copy(key),
        }
    }

    /// The same for a session of this configuration directory, by whatever path that is reached.
    pub fn has_session(&self, config: &ConfigDir, session: &SessionId) -> bool {
        if self.tombstones.is_empty() {
            return false;
        }
        let known = self.tombstones.values().flatten();
        let of_session = known.filter(|one| one.key.name() == session.as_str());
        let is_it = |one: &Tombstone| self.holds(one) && one.is_of(config);
        self.has(&Key::new(config, Some(session))) || of_session.into_iter().any(is_it)
    }

    /// The conversations with this history that are kept out of the vault, and whether that is done already for all prompts.
    pub(crate) fn prompts(&self, history: &Key, config: Option<&Path>) -> ForgottenPrompts {
        let mut forgotten = ForgottenPrompts::default();
        let is_its = |one: &&Tombstone| {
            let same = |own: &PathBuf| config.is_some_and(|config| is_same(own, config, None));
            one.key.history() == *history || one.config.as_ref().is_some_and(same)
        };
        let known = self.tombstones.values().flatten().filter(is_its);
        for tombstone in known.filter(|tombstone| self.holds(tombstone)) {
            if let Some(session) = tombstone.key.session() {
                forgotten.add(session.as_str(), tombstone.prompts_erased);
            }
        }
        forgotten
    }

    /// The tombstones that are in doubt, by their files' names.
    pub fn doubtful(&self) -> Vec<DoubtfulTombstone> {
        let mut found: Vec<DoubtfulTombstone> = Vec::new();
        for (name, tombstone) in &self.tombstones {
            let doubt = match tombstone {
                None => Some(TombstoneDoubt::Unreadable),
                Some(tombstone) => self.doubt(tombstone),
            };
            let key = tombstone.as_ref().map(|tombstone| tombstone.key.clone());
            let path = self.vault.join(FOLDER).join(name);
            found.extend(doubt.map(|doubt| DoubtfulTombstone { path, key, doubt }));
        }
        found.sort_by(|one, other| one.path.cmp(&other.path));
        found
    }

    fn holds(&self, tombstone: &Tombstone) -> bool {
        self.doubt(tombstone).is_none()
    }

    fn doubt(&self, tombstone: &Tombstone) -> Option<TombstoneDoubt> {
        let other = tombstone.machine.is_some() && self.here.is_some() && tombstone.machine != self.here;
        if other {
            return Some(TombstoneDoubt::OtherMachine);
        }
        (!tombstone.unfinished && self.has_copy(&tombstone.key)).then_some(TombstoneDoubt::HasCopy)
    }

    fn has_copy(&self, key: &Key) -> bool {
        self.vault.join("conversations").join(key.as_str()).join("manifest.jsonl").exists()
    }
}
