//! Which key a state directory belongs to, and whether this process may write there.
//!
//! A key is made only for a state directory that holds nothing sealed. From then on the directory names its key
//! (`machine-key-id`). A process with another key, or with none, reads and changes nothing but the vault's copies: it would
//! seal other machines' words as its own. `rekindle trust` is the way on.

use std::io;
use std::path::Path;

use crate::StateDir;
use crate::durable;
use crate::mac::{Key, Origin};
use crate::record;
use crate::saves;

/// The key of a state directory, as far as this process has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MachineKey {
    /// The directory's own key.
    Ours(Key),
    /// The directory was sealed with a key that is not here any more.
    Lost,
    /// The directory was sealed with another key than the one that is here.
    Other {
        /// The key that is here.
        here: Key,
    },
}

/// Why nothing is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum KeyTrouble {
    /// There is no key.
    #[error(
        "change the state directory: its key is gone; `rekindle trust` shows what it holds and adopts it"
    )]
    Lost,
    /// There is another one.
    #[error(
        "change the state directory: it belongs to another key (another machine's, or an older one); \
         `rekindle trust` shows what it holds and adopts it"
    )]
    Other,
}

impl MachineKey {
    /// Finds the key of a state directory. Makes one, and names it in the directory, where nothing is sealed yet.
    ///
    /// # Errors
    /// The key or the directory cannot be read or written.
    pub fn open(state: &StateDir, path: &Path) -> Result<MachineKey, durable::Error> {
        let key = match MachineKey::look(state, path)? {
            Some(MachineKey::Ours(key)) => key,
            None => Key::create(path)?,
            Some(trouble) => return Ok(trouble),
        };
        if named(state)?.is_none() {
            // A directory that cannot be written now is named the next time.
            let _ = name(state, &key);
        }
        Ok(MachineKey::Ours(key))
    }

    /// The same without making or naming anything, for commands that only look.
    ///
    /// # Errors
    /// The key or the directory cannot be read.
    pub fn look(state: &StateDir, path: &Path) -> Result<Option<MachineKey>, durable::Error> {
        let named = named(state)?;
        Ok(match (Key::read(path)?, named) {
            (Some(here), Some(named)) if here.id() != named => Some(MachineKey::Other { here }),
            (Some(here), Some(_)) => Some(MachineKey::Ours(here)),
            // Version 0.1.0 named no key: what it sealed tells.
            (Some(here), None) => Some(match sealed_with(state, Some(&here)) {
                Sealed::WithAnother => MachineKey::Other { here },
                _ => MachineKey::Ours(here),
            }),
            (None, None) if sealed_with(state, None) == Sealed::Nothing => None,
            (None, _) => Some(MachineKey::Lost),
        })
    }

    /// Makes the key that is here the directory's own, making one where there is none. What the directory holds stays
    /// untrusted: its codes are another key's.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn adopt(state: &StateDir, path: &Path) -> Result<Key, durable::Error> {
        let key = Key::create(path)?;
        name(state, &key)?;
        Ok(key)
    }

    /// The key by which codes are checked; nothing is genuine without it.
    pub fn reading(&self) -> Option<&Key> {
        match self {
            MachineKey::Ours(key) => Some(key),
            MachineKey::Lost | MachineKey::Other { .. } => None,
        }
    }

    /// The key that new files are sealed with.
    ///
    /// # Errors
    /// This process must not write.
    pub fn writing(&self) -> Result<&Key, KeyTrouble> {
        match self {
            MachineKey::Ours(key) => Ok(key),
            MachineKey::Lost => Err(KeyTrouble::Lost),
            MachineKey::Other { .. } => Err(KeyTrouble::Other),
        }
    }
}

fn named(state: &StateDir) -> Result<Option<String>, durable::Error> {
    let path = state.key_id();
    match crate::files::read_own_to_string(&path) {
        Ok(text) => Ok(Some(text.trim().to_owned())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(durable::Error::new("read", &path, error)),
    }
}

fn name(state: &StateDir, key: &Key) -> Result<(), durable::Error> {
    durable::replace(&state.key_id(), format!("{}\n", key.id()).as_bytes())
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sealed {
    Nothing,
    WithThis,
    WithAnother,
}

/// With which key the records and saves of a directory are sealed. One that this key made is enough: others may have been
/// edited since.
fn sealed_with(state: &StateDir, key: Option<&Key>) -> Sealed {
    let mut found = Sealed::Nothing;
    for id in record::keys(state).unwrap_or_default() {
        match record::load(state, key, &id) {
            Ok(Some(held)) if held.origin == Origin::Genuine => return Sealed::WithThis,
            Ok(Some(held)) if held.is_sealed() => found = Sealed::WithAnother,
            _ => {}
        }
    }
    for id in saves::ids(state) {
        match saves::load(state, key, &id) {
            Ok(loaded) if loaded.origin == Origin::Genuine => return Sealed::WithThis,
            Ok(loaded) if loaded.whole.contains_key("mac") => found = Sealed::WithAnother,
            _ => {}
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Held, SessionRecord};
    use agents::SessionKey;
    use jiff::Timestamp;

    fn room() -> (tempfile::TempDir, StateDir, std::path::PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let state = StateDir::open(dir.path().join("state")).unwrap();
        let path = dir.path().join("key");
        (dir, state, path)
    }

    fn store_one(state: &StateDir, key: &Key) {
        let record = SessionRecord::new(SessionKey::parse("s1").unwrap(), Timestamp::UNIX_EPOCH);
        record::store(state, key, &Held::fresh(record)).unwrap();
    }

    #[test]
    fn a_key_is_made_for_a_new_directory_and_named_in_it() {
        let (_dir, state, path) = room();
        assert_eq!(MachineKey::look(&state, &path).unwrap(), None);
        let made = MachineKey::open(&state, &path).unwrap();
        let key = made.writing().unwrap().clone();
        assert_eq!(std::fs::read_to_string(state.key_id()).unwrap().trim(), key.id());
        store_one(&state, &key);
        assert_eq!(MachineKey::open(&state, &path).unwrap(), made);
    }

    #[test]
    fn a_lost_key_is_not_replaced() {
        let (_dir, state, path) = room();
        store_one(&state, MachineKey::open(&state, &path).unwrap().writing().unwrap());
        durable::remove(&path).unwrap();
        let lost = MachineKey::open(&state, &path).unwrap();
        assert_eq!((lost.reading(), lost.writing()), (None, Err(KeyTrouble::Lost)));
        assert!(!path.exists());
        // Nor where the directory's own name for it was deleted too.
        durable::remove(&state.key_id()).unwrap();
        assert_eq!(MachineKey::open(&state, &path).unwrap(), MachineKey::Lost);
        let key = MachineKey::adopt(&state, &path).unwrap();
        assert_eq!(MachineKey::open(&state, &path).unwrap(), MachineKey::Ours(key));
    }

    #[test]
    fn another_key_reads_and_never_writes() {
        let (dir, state, path) = room();
        store_one(&state, MachineKey::open(&state, &path).unwrap().writing().unwrap());
        let other = dir.path().join("other");
        Key::create(&other).unwrap();
        let found = MachineKey::open(&state, &other).unwrap();
        assert_eq!((found.reading(), found.writing()), (None, Err(KeyTrouble::Other)));
        // A directory of 0.1.0 names none.
        durable::remove(&state.key_id()).unwrap();
        assert_eq!(MachineKey::open(&state, &other).unwrap().writing(), Err(KeyTrouble::Other));
        assert!(!state.key_id().exists());
        assert!(matches!(MachineKey::open(&state, &path).unwrap(), MachineKey::Ours(_)));
        assert!(state.key_id().exists());
    }
}
