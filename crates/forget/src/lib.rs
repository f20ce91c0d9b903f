//! Forgetting a conversation: everything that rekindle keeps of what was said in it goes.
//!
//! First a tombstone says that it is being forgotten, then it is erased place by place, and at the end the tombstone says
//! that nothing is left. **Every step can be repeated, and what later steps need goes last**: killed anywhere, the next run
//! does the rest. The agent's own transcript is not touched, and the record stays, without a word of the conversation:
//! its agent can still be found, repaired and resumed.

mod history;
mod logs;
mod own;
mod projects;
mod record;
mod saves;
mod scrub;
mod shared;
mod words;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

use agents::claude::ConfigDir;
use agents::{SessionId, SessionKey};
use jiff::Timestamp;
use repair::Repairer;
use sessions::Settler;
use store::durable;
use store::lock::{Lock, LockError};
use store::machine_key::KeyTrouble;
use store::record::RecordError;
use store::saves::SaveError;
use vault::{Key, Vault};

use crate::projects::Projects;
use crate::words::Words;

/// A settle or a save takes less than this; past it somebody is stuck.
const PATIENCE: Duration = Duration::from_secs(30);

/// What forgetting needs.
pub struct Eraser<'a> {
    /// What knows the state directory, the key and the fallback spool.
    pub settler: &'a Settler,
    /// What changes transcripts, and the mirror of conversations.
    pub repairer: &'a Repairer,
    /// Where snapshots of panes are kept.
    pub snapshots: PathBuf,
}

/// What came of it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Forgotten {
    /// Conversations of the vault that hold a part of the same text, and keep it.
    pub held_by: Vec<String>,
    /// What rekindle cannot reach, one sentence each.
    pub unreachable: Vec<String>,
    /// Where text that rekindle itself wrote may be left, one sentence each.
    pub left: Vec<String>,
}

/// Why it is not done yet. The tombstone stays, and the next run goes on.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The state directory belongs to a key that is not here.
    #[error(transparent)]
    Key(#[from] KeyTrouble),
    /// Another process settles, saves or restores.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// Something could not be written or removed.
    #[error(transparent)]
    Write(#[from] durable::Error),
    /// The operations are being written by another process.
    #[error(transparent)]
    Operations(#[from] store::operations::Error),
    /// The vault could not do its part.
    #[error(transparent)]
    Vault(#[from] vault::Error),
    /// The record could not be written.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// A save could not be written.
    #[error(transparent)]
    Save(#[from] SaveError),
    /// Something could not be read.
    #[error("read {}", path.display())]
    Read {
        /// What.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: std::io::Error,
    },
    /// What repairs left beside the transcript could not be settled.
    #[error(transparent)]
    Leftovers(#[from] repair::Error),
    /// A process still writes to the file that a repair replaced.
    #[error("forget {session}: {kept}")]
    StillOpen {
        /// The session.
        session: SessionId,
        /// The file, and the process.
        kept: Box<repair::KeptFile>,
    },
    /// Git refused or did not answer.
    #[error("rewrite the history of the state: {0}")]
    Git(String),
}

impl Eraser<'_> {
    pub(crate) fn vault(&self) -> &Vault {
        &self.repairer.vault
    }

    /// Forgets a conversation, or goes on with what a killed run has left.
    ///
    /// # Errors
    /// A place could not be erased; the tombstone says so, and the next run goes on.
    pub fn forget(
        &self,
        config: &ConfigDir,
        session: &SessionId,
        now: Timestamp,
    ) -> Result<Forgotten, Error> {
        let state = &self.settler.state;
        // Nothing is begun that could not be written down at the end.
        self.settler.key.writing()?;
        let keys = self.vault().keys_of_account(config, session)?;
        durable::private_dir(&state.locks())?;
        let _no_restore = Lock::acquire(&store::saves::restore_lock(state, None), PATIENCE)?;
        // A repair or an undo that runs keeps the old file beside the transcript, and ends first.
        let _no_repair = self.repairer.lock(session)?;
        let mut left = self.repairer.settle_leftovers(config, session)?;
        if let Some(kept) = self.repairer.kept_files().into_iter().find(|kept| kept.session == *session) {
            return Err(Error::StillOpen { session: session.clone(), kept: Box::new(kept) });
        }
        let _no_save = store::saves::lock(state, PATIENCE)?;
        let _no_settle = Lock::acquire(&sessions::lock_path(state), PATIENCE)?;
        for key in &keys {
            self.vault().begin_forgetting(key, Some(config.path().to_path_buf()), now)?;
        }
        let subject = self.subject(config, session, keys)?;
        self.erase_shared(&subject)?;
        // What a killed run was writing: nobody else writes saves or folds spools meanwhile.
        for folder in [state.saves(), state.spool()] {
            shared::remove_temporaries(&folder)?;
        }
        self.erase_saves(&subject)?;
        left.extend(self.erase_own(&subject)?);
        for key in &subject.keys {
            self.vault().erase(key, now)?;
        }
        self.clear_record(&subject)?;
        let mut unreachable = history::rewrite(state, &subject)?;
        unreachable.extend(prompts_left(config, session));
        unreachable.extend(self.successors(&subject)?);
        for key in &subject.keys {
            self.vault().end_forgetting(key)?;
        }
        let own = |name: &String| subject.keys.iter().any(|key| key.as_str() == name);
        let tombstones = self.vault().tombstones()?.into_iter();
        let of_it = tombstones.filter(|tombstone| subject.keys.contains(&tombstone.key));
        let held_by: BTreeSet<String> = of_it.flat_map(|tombstone| tombstone.held_by).collect();
        let held_by = held_by.into_iter().filter(|name| !own(name)).collect();
        Ok(Forgotten { held_by, unreachable, left })
    }

    /// Sessions that have gone on with its work and were told what was said, one sentence each.
    fn successors(&self, subject: &Subject) -> Result<Vec<String>, Error> {
        let state = &self.settler.state;
        let mut found = Vec::new();
        for key in store::record::keys(state)? {
            let held = store::record::load(state, self.settler.key.reading(), &key)?;
            if held.is_some_and(|held| held.record.previous_ids.contains(&subject.session)) {
                let short = key.short();
                found.push(format!(
                    "{short} went on with its work, was told what was said, and keeps it: rekindle vault forget {short}"
                ));
            }
        }
        Ok(found)
    }

    /// What is to be forgotten, gathered before anything goes.
    fn subject(&self, config: &ConfigDir, id: &SessionId, keys: Vec<Key>) -> Result<Subject, Error> {
        let session = store::record::key_for(&self.settler.state, id, config.path())?;
        let held = store::record::load(&self.settler.state, self.settler.key.reading(), &session)?;
        // Another account's record of the same id stays as it is.
        let ours = |held: &store::record::Held| held.record.may_be_of(config.path());
        let is_anothers = held.as_ref().is_some_and(|held| !ours(held));
        let here = store::record::Machine::this();
        let is_in_doubt =
            is_anothers && held.as_ref().is_some_and(|held| held.record.distrust(&here).is_some());
        let held = held.filter(ours);
        let words = self.words(config, &keys, &session, held.as_ref().map(|held| &held.record));
        let others = store::record::keys(&self.settler.state)?;
        let is_shared = others.iter().any(|key| key.id() == id && *key != session);
        let config = config.clone();
        let projects = Projects::default();
        let subject =
            Subject { session, config, keys, held, is_anothers, is_in_doubt, is_shared, words, projects };
        let projects = self.projects(&subject);
        Ok(Subject { projects, ..subject })
    }
}

/// The agent's own list of prompts is not rekindle's to change; that it has some of them is said.
fn prompts_left(config: &ConfigDir, session: &SessionId) -> Option<String> {
    let path = config.history();
    let count = vault::prompts_of(session, &store::files::read(&path).ok()?);
    let prompts =
        if count == 1 { "1 prompt of it is".to_owned() } else { format!("{count} prompts of it are") };
    (count > 0).then(|| {
        format!("{prompts} in {}: the agent's own file, which rekindle does not change", path.display())
    })
}

/// What is to be forgotten.
pub(crate) struct Subject {
    pub(crate) session: SessionKey,
    pub(crate) config: ConfigDir,
    /// Its names in the vault: one for each path that its account was reached by.
    pub(crate) keys: Vec<Key>,
    pub(crate) held: Option<store::record::Held>,
    /// Whether the record of this id is another account's: then panes and files that only name the id are its own.
    pub(crate) is_anothers: bool,
    /// Whether only a record says so that this machine did not write.
    pub(crate) is_in_doubt: bool,
    /// Whether another account has a session with this id: events of both are in one spool.
    pub(crate) is_shared: bool,
    pub(crate) words: Words,
    /// Where it may have been logged.
    pub(crate) projects: Projects,
}

impl Subject {
    /// Whether a pane of this name was this conversation's at some time.
    pub(crate) fn has_been_at(&self, reference: &str) -> bool {
        let Some(held) = &self.held else { return false };
        let places = held.record.runs.iter().filter_map(|run| run.tmux.as_ref());
        places.chain(&held.record.place).any(|place| place.reference == reference)
    }

    /// Whether a pane of a server was this conversation's.
    pub(crate) fn was_in(&self, server: (u32, i64), pane: &str) -> bool {
        let Some(held) = &self.held else { return false };
        let places = held.record.runs.iter().filter_map(|run| run.tmux.as_ref());
        places
            .chain(&held.record.place)
            .any(|place| (place.server, place.started) == server && place.pane == pane)
    }
}

pub(crate) fn reading(path: &std::path::Path) -> impl Fn(std::io::Error) -> Error + '_ {
    move |source| Error::Read { path: path.to_path_buf(), source }
}
