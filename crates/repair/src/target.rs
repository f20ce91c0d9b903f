//! What a user means by a target: an id or its unique beginning, a pane, a name, a directory, or a transcript's path.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use agents::claude::{ConfigDir, FindError, TranscriptFile, are_two_accounts, find_session};
use agents::{SessionId, SessionKey};
use store::record;

use crate::Repairer;
use crate::account::{AccountSession, one_account, pick, split};
use crate::lookup::is_pane;

/// One conversation that a command is about.
#[derive(Debug, Clone)]
pub enum Target {
    /// Its transcript is there.
    File(TranscriptFile),
    /// Its transcript is not there; the vault may have it.
    Gone(Absent),
}

/// What a text means.
pub(crate) struct Resolved {
    /// The conversation's name in rekindle's own files.
    pub(crate) key: SessionKey,
    /// Its transcript.
    pub(crate) target: Target,
}

/// A conversation without a transcript.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Absent {
    /// Its id.
    pub session: SessionId,
    /// The account it belongs to, where that is known.
    pub config: Option<ConfigDir>,
}

/// Why a target cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TargetError {
    /// Nothing of that name.
    #[error(
        "{0:?} is no session, pane or name here: `rekindle status --all` and `rekindle vault list` list them"
    )]
    Unknown(String),
    /// Several sessions begin with it.
    #[error("{prefix:?} is the beginning of {} sessions; give more of it: {}", ids.len(), list(ids))]
    Ambiguous {
        /// What was given.
        prefix: String,
        /// What begins with it.
        ids: Vec<SessionId>,
    },
    /// A name, a pane or a directory of several conversations.
    #[error("{text:?} means {} conversations; give an id:{}", found.len(), several(found))]
    Several {
        /// What was given.
        text: String,
        /// What it means, and where each of them is.
        found: Vec<(SessionKey, String)>,
    },
    /// A pane in which no conversation was seen.
    #[error("no conversation is on record in pane {0}")]
    NobodyThere(String),
    /// One id in several accounts.
    #[error("session {id} exists in {} accounts; name one: {}", accounts.len(), in_accounts(id, accounts))]
    Accounts {
        /// The id.
        id: SessionId,
        /// The accounts, each by a name that tells it from the others.
        accounts: Vec<String>,
    },
    /// One id in several places of one account.
    #[error("session {id} exists in {} places; give the path: {}", paths.len(), paths_list(paths))]
    Twice {
        /// The id.
        id: SessionId,
        /// Where it is.
        paths: Vec<PathBuf>,
    },
    /// A path that is no transcript.
    #[error("{} is {what}, not a transcript", path.display())]
    NotATranscript {
        /// The path.
        path: PathBuf,
        /// What it is.
        what: &'static str,
    },
    /// The file system refused.
    #[error("cannot read {}: {source}", path.display())]
    Unreadable {
        /// The path.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
}

fn in_accounts(id: &SessionId, accounts: &[String]) -> String {
    accounts.iter().map(|account| format!("{id}@{account}")).collect::<Vec<_>>().join(", ")
}

fn list(ids: &[SessionId]) -> String {
    ids.iter().take(5).map(|id| id.as_str().to_owned()).collect::<Vec<_>>().join(", ")
}

fn several(found: &[(SessionKey, String)]) -> String {
    let one = |(id, place): &(SessionKey, String)| match place.as_str() {
        "" => format!("\n  {id}"),
        told => format!("\n  {id} ({told})"),
    };
    found.iter().take(5).map(one).collect::<String>()
}

fn paths_list(paths: &[PathBuf]) -> String {
    paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ")
}

impl Repairer {
    /// Finds what `text` means.
    ///
    /// # Errors
    /// It means nothing, or more than one thing.
    pub fn target(&self, text: &str) -> Result<Target, TargetError> {
        Ok(self.resolve(text)?.target)
    }

    /// Finds what `text` means, and under which key rekindle's own files have it.
    ///
    /// # Errors
    /// It means nothing, or more than one thing.
    pub(crate) fn resolve(&self, text: &str) -> Result<Resolved, TargetError> {
        if is_pane(text) {
            let session = self.on_record(text)?.ok_or_else(|| TargetError::NobodyThere(text.to_owned()))?;
            return self.known(session);
        }
        if let Ok(key) = SessionKey::parse(text)
            && key.account_mark().is_some()
            && self.account_of(&key).is_some()
        {
            return self.known(key);
        }
        let path = Path::new(text);
        let transcript = path.extension().is_some_and(|extension| extension == "jsonl");
        // The account may be a path; what exists under the whole text is meant first.
        let named = split(text, &self.configs).filter(|_| !path.exists());
        if named.is_none() && (text.contains('/') || transcript || matches!(text, "." | "..")) {
            return match self.on_record_in(path)? {
                Some(session) => self.known(session),
                None => Ok(self.found(self.file_target(path)?)),
            };
        }
        let (id, configs) = named.unwrap_or((text, self.configs.clone()));
        let named_account = id.len() != text.len();
        let found = find_session(&configs, id).map_err(|error| match error {
            FindError::Ambiguous { prefix, ids } => TargetError::Ambiguous { prefix, ids },
            FindError::Unreadable { path, source } => TargetError::Unreadable { path, source },
        })?;
        let whole = found.first().is_some_and(|file| file.session.as_str() == id);
        if !whole && !named_account {
            let begun: BTreeSet<SessionKey> =
                found.iter().map(|file| self.key_of(&file.session, Some(&file.config))).collect();
            let mut meant: BTreeSet<SessionKey> = begun.iter().cloned().chain(self.named(text)).collect();
            if begun.is_empty() {
                meant.extend(self.beginning(text));
            }
            // One id in several accounts is told apart below, with the accounts' names.
            let one_id = meant.iter().all(|key| Some(key.id()) == found.first().map(|file| &file.session));
            if meant.len() > 1 && !one_id {
                let found = meant.into_iter().map(|id| (id.clone(), self.tell_apart(&id))).collect();
                return Err(TargetError::Several { text: text.to_owned(), found });
            }
            if let (true, Some(session)) = (begun.is_empty(), meant.pop_first()) {
                return self.known(session);
            }
        }
        let target = match found.first().map(|file| file.session.clone()) {
            None => self.vaulted(text, id, &configs)?,
            Some(session) => self.typed(&session, found, &configs)?,
        };
        Ok(self.found(target))
    }

    /// A conversation on record: its key is known, whatever its transcript's place would say of it.
    fn known(&self, key: SessionKey) -> Result<Resolved, TargetError> {
        let target = self.transcript_of(&key)?;
        Ok(Resolved { key, target })
    }

    /// A transcript, of whatever conversation on record it is.
    fn found(&self, target: Target) -> Resolved {
        let key = match &target {
            Target::File(file) => self.key_of(&file.session, Some(&file.config)),
            Target::Gone(absent) => self.key_of(&absent.session, absent.config.as_ref()),
        };
        Resolved { key, target }
    }

    /// Transcripts of an id that somebody typed: those of one account, and no other account has the id in the vault or on
    /// record.
    fn typed(
        &self,
        session: &SessionId,
        found: Vec<TranscriptFile>,
        configs: &[ConfigDir],
    ) -> Result<Target, TargetError> {
        let mut accounts: Vec<ConfigDir> = Vec::new();
        let vaulted = self.vault.find(session).unwrap_or_default().into_iter();
        let vaulted = vaulted.map(|conversation| ConfigDir::new(conversation.config));
        let vaulted = vaulted.filter(|config| configs.contains(config));
        let recorded = self.recorded_accounts(session).into_iter();
        let recorded = recorded.filter(|config| configs.contains(config) && config.path().is_dir());
        for config in found.iter().map(|file| file.config.clone()).chain(vaulted).chain(recorded) {
            accounts.push(config);
        }
        one_account(session, &accounts)?;
        match <[TranscriptFile; 1]>::try_from(found) {
            // By its path: something else than a file may have a transcript's name.
            Ok([file]) => self.file_target(&file.path),
            Err(found) => Err(twice(session, found)),
        }
    }

    /// The transcript of a conversation that is known by its whole id: of the account that its record names, where several
    /// have one.
    ///
    /// # Errors
    /// Several have one, and no record tells which is meant.
    pub fn transcript_of(&self, session: &SessionKey) -> Result<Target, TargetError> {
        let recorded = self.account_of(session);
        let mut configs = self.configs.clone();
        configs.extend(recorded.iter().filter(|config| !self.configs.contains(config)).cloned());
        let found = find_session(&configs, session.id().as_str()).map_err(|error| match error {
            FindError::Ambiguous { prefix, ids } => TargetError::Ambiguous { prefix, ids },
            FindError::Unreadable { path, source } => TargetError::Unreadable { path, source },
        })?;
        let mut found: Vec<TranscriptFile> =
            found.into_iter().filter(|file| file.session == *session.id()).collect();
        // What another account has under this id is another conversation, also where this one's account is gone.
        found.retain(|file| self.key_of(&file.session, Some(&file.config)) == *session);
        match <[TranscriptFile; 1]>::try_from(found) {
            Ok([file]) => self.file_target(&file.path),
            Err(found) if found.is_empty() => {
                Ok(Target::Gone(Absent { session: session.id().clone(), config: recorded }))
            }
            Err(found) => Err(twice(session.id(), found)),
        }
    }

    /// The account that a conversation's record names.
    pub fn account_of(&self, session: &SessionKey) -> Option<ConfigDir> {
        let held = record::load(&self.state, None, session).ok().flatten()?;
        held.record.account_dir().map(ConfigDir::new)
    }

    /// The copies that the vault has of a session: of its own account, where records tell accounts with its id apart.
    ///
    /// # Errors
    /// The vault cannot be read.
    pub fn vaulted_of(&self, session: &SessionKey) -> Result<Vec<vault::Conversation>, vault::Error> {
        let mut found = self.vault.find(session.id())?;
        if let Some(own) = self.account_in_vault(session) {
            found.retain(|conversation| !are_two_accounts(&conversation.config, own.path()));
        }
        Ok(found)
    }

    /// The account whose copy in the vault is meant, where several accounts have a session with this id.
    pub fn account_in_vault(&self, session: &SessionKey) -> Option<ConfigDir> {
        let own = self.account_of(session)?;
        let is_anothers = |copy: &vault::Conversation| are_two_accounts(&copy.config, own.path());
        let several = self.recorded_accounts(session.id()).len() > 1
            || self
                .vault
                .find(session.id())
                .is_ok_and(|found| found.len() > 1 || found.iter().any(is_anothers));
        several.then_some(own)
    }

    /// The conversation of a directory, where the path is one.
    fn on_record_in(&self, path: &Path) -> Result<Option<SessionKey>, TargetError> {
        if !path.is_dir() {
            return Ok(None);
        }
        match self.on_record(&path.to_string_lossy())? {
            Some(session) => Ok(Some(session)),
            None => {
                let what = "a directory without a conversation on record";
                Err(TargetError::NotATranscript { path: path.to_path_buf(), what })
            }
        }
    }

    /// A session that only the vault knows.
    fn vaulted(&self, text: &str, id: &str, configs: &[ConfigDir]) -> Result<Target, TargetError> {
        let unknown = || TargetError::Unknown(text.to_owned());
        let all = self.vault.list().map_err(|_| unknown())?;
        let known: Vec<AccountSession> = all
            .into_iter()
            .filter_map(|conversation| {
                let config = ConfigDir::new(conversation.config);
                Some(AccountSession { session: conversation.session?, config })
            })
            .filter(|key| id.len() == text.len() || configs.contains(&key.config))
            .collect();
        // An account that is in use before one that is not: what was given up does not make an id doubtful.
        let used: Vec<AccountSession> =
            known.iter().filter(|key| configs.contains(&key.config)).cloned().collect();
        let key = match pick(id, &used)? {
            Some(key) => key,
            None => pick(id, &known)?.ok_or_else(unknown)?,
        };
        Ok(Target::Gone(Absent { session: key.session, config: Some(key.config) }))
    }

    fn file_target(&self, path: &Path) -> Result<Target, TargetError> {
        let file = self.transcript_at(path);
        match std::fs::metadata(path) {
            Ok(_) => file.map(Target::File),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                let stem = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
                self.vaulted(
                    stem,
                    stem,
                    &[self.config_of(path).cloned().unwrap_or_else(|| config_around(path))],
                )
                .map_err(|_| TargetError::Unreadable { path: path.to_path_buf(), source: error })
            }
            Err(source) => Err(TargetError::Unreadable { path: path.to_path_buf(), source }),
        }
    }

    /// The transcript that belongs at a path, also where it is gone.
    ///
    /// # Errors
    /// No transcript has such a name, or something else stands there.
    pub fn transcript_at(&self, path: &Path) -> Result<TranscriptFile, TargetError> {
        let not = |what| TargetError::NotATranscript { path: path.to_path_buf(), what };
        match std::fs::metadata(path) {
            Ok(meta) if meta.is_dir() => return Err(not("a directory")),
            Ok(meta) if !meta.is_file() => return Err(not("a device or pipe")),
            _ => {}
        }
        let stem = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
        let session = SessionId::new(stem).map_err(|_| not("a file without a name"))?;
        let path = std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
        let config = self.config_of(&path).cloned().unwrap_or_else(|| config_around(&path));
        Ok(TranscriptFile { config, session, path })
    }
}

fn twice(session: &SessionId, found: Vec<TranscriptFile>) -> TargetError {
    TargetError::Twice { id: session.clone(), paths: found.into_iter().map(|file| file.path).collect() }
}

/// The configuration directory a path suggests: `<config>/projects/<slug>/<session>.jsonl`.
fn config_around(path: &Path) -> ConfigDir {
    ConfigDir::new(path.ancestors().nth(3).unwrap_or(path))
}
