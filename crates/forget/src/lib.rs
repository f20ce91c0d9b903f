//! Forgetting a conversation: everything that rekindle keeps of what was said in it goes.
//!
//! First a tombstone says that it is being forgotten, then it is erased place by place, and at the end the tombstone says
//! that nothing is left. **Every step can be repeated, and what later steps need goes last**: killed anywhere, the next run
//! does the rest. The agent's own transcript is not touched, and the record stays, without a word of the conversation:
//! its agent can still be found, repaired and resumed.

mod history;
mod logs;
mod own;
mod record;
mod saves;
mod scrub;
mod shared;
mod words;

use std::path::PathBuf;
use std::time::Duration;

use agents::claude::ConfigDir;
use agents::{SessionId, SessionKey};
use jiff::Timestamp;
use sessions::Settler;
use store::durable;
use store::lock::{Lock, LockError};
use store::machine_key::KeyTrouble;
use store::record::RecordError;
use store::saves::SaveError;
use vault::{Key, Vault};

use crate::words::Words;

/// A settle or a save takes less than this; past it somebody is stuck.
const PATIENCE: Duration = Duration::from_secs(30);

/// What forgetting needs.
pub struct Eraser<'a> {
    /// What knows the state directory, the key and the fallback spool.
    pub settler: &'a Settler,
    /// The mirror of conversations.
    pub vault: &'a Vault,
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
    /// Git refused or did not answer.
    #[error("rewrite the history of the state: {0}")]
    Git(String),
}

impl Eraser<'_> {
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
        let key = Key::new(config, Some(session));
        durable::private_dir(&state.locks())?;
        let _no_restore = Lock::acquire(&store::saves::restore_lock(state, None), PATIENCE)?;
        let _no_save = store::saves::lock(state, PATIENCE)?;
        let _no_settle = Lock::acquire(&sessions::lock_path(state), PATIENCE)?;
        self.vault.begin_forgetting(&key, Some(config.path().to_path_buf()), now)?;
        let subject = self.subject(config, session)?;
        self.erase_shared(&subject)?;
        // What a killed run was writing: nobody else writes saves or folds spools meanwhile.
        for folder in [state.saves(), state.spool()] {
            shared::remove_temporaries(&folder)?;
        }
        self.erase_saves(&subject)?;
        self.erase_own(&subject)?;
        self.vault.erase(&key, now)?;
        self.clear_record(&subject)?;
        let mut unreachable = history::rewrite(state, &subject)?;
        unreachable.extend(prompts_left(config, session));
        self.vault.end_forgetting(&key)?;
        let tombstone = self.vault.tombstones()?.into_iter().find(|tombstone| tombstone.key == key);
        let held_by = tombstone.map(|tombstone| tombstone.held_by.into_iter().collect()).unwrap_or_default();
        Ok(Forgotten { held_by, unreachable })
    }

    /// What is to be forgotten, gathered before anything goes.
    fn subject(&self, config: &ConfigDir, id: &SessionId) -> Result<Subject, Error> {
        let session = store::record::key_for(&self.settler.state, id, config.path())?;
        let held = store::record::load(&self.settler.state, self.settler.key.reading(), &session)?;
        // Another account's record of the same id stays as it is.
        let ours = |held: &store::record::Held| held.record.may_be_of(config.path());
        let is_anothers = held.as_ref().is_some_and(|held| !ours(held));
        let held = held.filter(ours);
        let words = self.words(config, &session, held.as_ref().map(|held| &held.record));
        let others = store::record::keys(&self.settler.state)?;
        let is_shared = others.iter().any(|key| key.id() == id && *key != session);
        let config = config.clone();
        Ok(Subject { session, config, held, is_anothers, is_shared, words })
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
    pub(crate) held: Option<store::record::Held>,
    /// Whether the record of this id is another account's: then panes and files that only name the id are its own.
    pub(crate) is_anothers: bool,
    /// Whether another account has a session with this id: events of both are in one spool.
    pub(crate) is_shared: bool,
    pub(crate) words: Words,
}

impl Subject {
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
