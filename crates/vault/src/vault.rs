use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use agents::SessionId;
use store::lock::Lock;
use store::{StateDir, durable};

use crate::error::{Error, reading};
use crate::frame::Codec;
use crate::head::Head;
use crate::index::FrameIndex;
use crate::replay::State;
use crate::tombstone::{self, Forgotten};
use crate::{Key, belongs, seen};

/// The mirror of conversations.
pub struct Vault {
    root: PathBuf,
    cache: PathBuf,
    journal: PathBuf,
    pub(crate) index: FrameIndex,
    codecs: Mutex<Vec<Codec>>,
    data: Mutex<HashMap<String, Arc<File>>>,
    /// The paths of the accounts that have a folder, once they are read.
    pub(crate) accounts: Mutex<Option<Vec<PathBuf>>>,
}

// A sync of one conversation takes seconds at most, also of a giant one; past this somebody is stuck.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);
// Data files kept open while reading: forks refer to few others.
const OPEN_FILES: usize = 64;

impl Vault {
    /// Opens the vault of a state directory, making it where there is none.
    pub fn open(state: &StateDir) -> Result<Self, Error> {
        let root = state.vault();
        durable::private_dir(&root.join("conversations"))?;
        durable::private_dir(&root.join("forgotten"))?;
        durable::private_dir(&state.cache())?;
        Ok(Self::open_to_read(state))
    }

    /// Opens the vault as it is, and makes nothing: where there is none, it is empty.
    pub fn open_to_read(state: &StateDir) -> Self {
        let root = state.vault();
        Self {
            index: FrameIndex::at(state.cache().join("vault-frames")),
            root,
            cache: state.cache(),
            journal: state.journal(),
            codecs: Mutex::new(Vec::new()),
            data: Mutex::new(HashMap::new()),
            accounts: Mutex::new(None),
        }
    }

    pub(crate) fn conversations(&self) -> PathBuf {
        self.root.join("conversations")
    }
    pub(crate) fn folder(&self, key: &Key) -> PathBuf {
        key.folder(&self.conversations())
    }
    pub(crate) fn trash(&self) -> PathBuf {
        self.root.join("trash")
    }
    /// Where repairs leave what they replaced: `backups/<session>/<stamp>/`.
    pub fn backups(&self) -> PathBuf {
        self.root.join("backups")
    }
    pub(crate) fn journal_path(&self) -> &Path {
        &self.journal
    }
    pub(crate) fn cache(&self) -> &Path {
        &self.cache
    }
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }
    pub(crate) fn seen_paths(&self) -> seen::Paths {
        seen::Paths::in_cache(&self.cache)
    }

    pub(crate) fn lock_path(&self) -> PathBuf {
        self.root.join("lock")
    }

    /// Held by whoever reads or adds; collection waits for them.
    pub(crate) fn share(&self) -> Result<Lock, Error> {
        let lock = Lock::acquire_shared(&self.lock_path(), PATIENCE)?;
        // A data file kept open from before may have been collected since; from here on none can be.
        self.close_data();
        Ok(lock)
    }

    /// Held by whoever takes frames away.
    pub(crate) fn alone(&self) -> Result<Lock, Error> {
        Ok(Lock::acquire(&self.lock_path(), PATIENCE)?)
    }

    /// The same, now or not at all.
    pub(crate) fn alone_now(&self) -> Result<Lock, Error> {
        Ok(Lock::acquire(&self.lock_path(), Duration::ZERO)?)
    }

    pub(crate) fn with_codec<T>(&self, work: impl FnOnce(&mut Codec) -> T) -> Result<T, Error> {
        let spare = self.codecs.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut codec = match spare {
            Some(codec) => codec,
            None => Codec::new().map_err(Error::Compress)?,
        };
        let done = work(&mut codec);
        self.codecs.lock().unwrap_or_else(PoisonError::into_inner).push(codec);
        Ok(done)
    }

    /// Every conversation that has a manifest.
    pub(crate) fn keys(&self) -> Result<Vec<Key>, Error> {
        let mut keys = Vec::new();
        for tag in list(&self.conversations())? {
            for name in list(&self.conversations().join(&tag))? {
                if name.starts_with(durable::TEMPORARY_PREFIX) {
                    continue;
                }
                keys.extend(Key::parse(&format!("{tag}/{name}")));
            }
        }
        keys.sort();
        Ok(keys)
    }

    /// The sessions of all conversations.
    ///
    /// # Errors
    /// The vault cannot be listed.
    pub fn sessions(&self) -> Result<Vec<SessionId>, Error> {
        Ok(self.keys()?.iter().filter_map(Key::session).collect())
    }

    /// The conversations of one session, without listing all of them.
    pub(crate) fn keys_of(&self, session: &SessionId) -> Result<Vec<Key>, Error> {
        let tags = list(&self.conversations())?;
        let keys = tags.iter().filter_map(|tag| Key::parse(&format!("{tag}/{session}")));
        Ok(keys.filter(|key| self.folder(key).exists()).collect())
    }

    /// Replays a conversation's manifest; one that does not exist has no files.
    pub(crate) fn state(&self, key: &Key) -> Result<State, Error> {
        let folder = self.folder(key);
        let head = Head::read(&folder)?;
        let path = folder.join("manifest.jsonl");
        match store::files::read_own(&path) {
            Ok(bytes) => Ok(belongs::judged(key, State::read(&bytes, &head))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                Ok(belongs::judged(key, State::read(b"", &head)))
            }
            Err(error) => Err(reading(&path)(error)),
        }
    }

    /// The data file of a conversation, as a frame of `key` names it.
    pub(crate) fn data(&self, key: &Key, place: Option<&str>) -> io::Result<Arc<File>> {
        let name = place.unwrap_or(key.as_str());
        let mut open = self.data.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(file) = open.get(name) {
            return Ok(Arc::clone(file));
        }
        let key = Key::parse(name).ok_or_else(|| io::Error::other("not the name of a conversation"))?;
        let file = Arc::new(store::files::open_own(self.folder(&key).join("data"))?);
        if open.len() >= OPEN_FILES {
            open.clear();
        }
        open.insert(name.to_owned(), Arc::clone(&file));
        Ok(file)
    }

    pub(crate) fn close_data(&self) {
        self.data.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    pub(crate) fn forgotten_folder(&self) -> PathBuf {
        self.root.join(tombstone::FOLDER)
    }

    pub(crate) fn forgotten_path(&self, key: &Key) -> PathBuf {
        self.forgotten_folder().join(tombstone::name_of(key))
    }

    pub(crate) fn forgotten(&self) -> Result<Forgotten, Error> {
        Forgotten::list(&self.root)
    }
}

pub(crate) fn list(folder: &Path) -> Result<Vec<String>, Error> {
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(reading(folder)(error)),
    };
    let mut names = Vec::new();
    for entry in entries {
        let entry = entry.map_err(reading(folder))?;
        if let Ok(name) = entry.file_name().into_string() {
            names.push(name);
        }
    }
    names.sort();
    Ok(names)
}
