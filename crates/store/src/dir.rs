use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use agents::SessionKey;

use crate::durable;

/// The directory of everything rekindle remembers; proof that it exists and is ours.
#[derive(Debug, Clone)]
pub struct StateDir(PathBuf);

/// Everything we put there. Somebody may have pointed us to a directory that holds more than ours.
pub const PARTS: [&str; 17] = [
    "instances",
    "session-health",
    "spool",
    "saves",
    "snapshots",
    "decisions",
    "operations",
    "wiring",
    "vault",
    "cache",
    "host",
    "log",
    "locks",
    "audit.jsonl",
    "journal.jsonl",
    "machine-key-id",
    "paused",
];

/// How the ignore rules begin that we write into a history of the state.
const HISTORY_MARK: &[u8] = b"# Written by rekindle";

/// Why the state directory cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum StateDirError {
    /// Written as another user (sudo), its files would lock the owner out.
    #[error("use {}: it belongs to user {owner}, and this is user {user}", path.display())]
    NotOurs {
        /// The directory.
        path: PathBuf,
        /// Who owns it.
        owner: u32,
        /// The effective user.
        user: u32,
    },
    /// It could not be made or looked at.
    #[error(transparent)]
    Io(#[from] durable::Error),
}

impl StateDir {
    /// Opens the directory, making it (0700) where there is none.
    pub fn open(path: impl Into<PathBuf>) -> Result<Self, StateDirError> {
        let path = path.into();
        durable::private_dir(&path)?;
        let meta = std::fs::metadata(&path).map_err(|e| durable::Error::new("look at", &path, e))?;
        let user = rustix::process::geteuid().as_raw();
        if meta.uid() != user {
            return Err(StateDirError::NotOurs { path, owner: meta.uid(), user });
        }
        if meta.mode() & 0o077 != 0 {
            // Conversations hold secrets; one that was made by hand with the umask's mode is closed.
            durable::set_like(&path, durable::Kept { mode: Some(0o700), mtime: None })?;
        }
        Ok(Self(path))
    }

    /// Opens the directory for a command that only looks. One that cannot be made, or whose mode cannot be put right, is as good as
    /// an empty one; whatever writes into it later says why it cannot.
    pub fn open_to_read(path: impl Into<PathBuf>) -> Result<Self, StateDirError> {
        let path = path.into();
        match Self::open(&path) {
            // A file in its place is a mistake to be said.
            Err(StateDirError::Io(_)) if path.is_dir() || !path.exists() => Ok(Self(path)),
            opened => opened,
        }
    }

    /// The directory as it is, for who only looks: nothing is made and no mode is set. `None` where there is none.
    ///
    /// # Errors
    /// It cannot be looked at, or is somebody else's.
    pub fn existing(path: impl Into<PathBuf>) -> Result<Option<Self>, StateDirError> {
        let path = path.into();
        let meta = match std::fs::metadata(&path) {
            Ok(meta) => meta,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(durable::Error::new("look at", &path, error).into()),
        };
        let user = rustix::process::geteuid().as_raw();
        if meta.uid() != user {
            return Err(StateDirError::NotOurs { path, owner: meta.uid(), user });
        }
        Ok(Some(Self(path)))
    }

    /// Removes everything of ours; what else lies there stays, and is returned. The directory goes when it is empty.
    ///
    /// # Errors
    /// Something could not be removed.
    pub fn erase(self) -> Result<Vec<PathBuf>, durable::Error> {
        for part in PARTS {
            let path = self.0.join(part);
            match std::fs::symlink_metadata(&path) {
                Ok(meta) if meta.is_dir() => durable::remove_tree(&path)?,
                Ok(_) => durable::remove(&path)?,
                Err(_) => {}
            }
        }
        let entries = std::fs::read_dir(&self.0).into_iter().flatten().flatten();
        let mut kept: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
        if let [only] = &kept[..]
            && *only == self.history()
            && self.has_history()
        {
            // Beside somebody else's files it may be the history of those too.
            durable::remove_tree(only)?;
            kept.clear();
        }
        if kept.is_empty() {
            durable::remove_empty_dir(&self.0)?;
        }
        Ok(kept)
    }

    /// Whether there is a history that our settles write to (`state.git`), by its ignore rules.
    pub fn has_history(&self) -> bool {
        crate::files::read(self.history().join("info/exclude"))
            .is_ok_and(|rules| rules.starts_with(HISTORY_MARK))
    }

    /// The directory itself.
    pub fn path(&self) -> &Path {
        &self.0
    }
    /// The history of the state, where that was asked for.
    pub fn history(&self) -> PathBuf {
        self.0.join(".git")
    }
    /// The name of the key that the directory is sealed with.
    pub fn key_id(&self) -> PathBuf {
        self.0.join("machine-key-id")
    }
    /// The mirror of conversations.
    pub fn vault(&self) -> PathBuf {
        self.0.join("vault")
    }
    /// What can be deleted at any time and comes back.
    pub fn cache(&self) -> PathBuf {
        self.0.join("cache")
    }
    /// What the last settle prepared for a session's status line.
    pub fn status_cache(&self, session: &SessionKey) -> PathBuf {
        self.cache().join("statusline").join(format!("{session}.json"))
    }
    /// What agents that are just being started are told.
    pub fn launches(&self) -> PathBuf {
        self.cache().join("launch")
    }
    /// How far the last settle came; written at the end of each.
    pub fn settled(&self) -> PathBuf {
        self.cache().join("settled.json")
    }
    /// Lock files, which are never replaced or deleted.
    pub fn locks(&self) -> PathBuf {
        self.0.join("locks")
    }
    /// What happened, for people.
    pub fn journal(&self) -> PathBuf {
        self.0.join("journal.jsonl")
    }
    /// Restarts, switches and repairs, for checking.
    pub fn audit(&self) -> PathBuf {
        self.0.join("audit.jsonl")
    }
    /// The session records.
    pub fn session_health(&self) -> PathBuf {
        self.0.join("session-health")
    }
    /// The map of panes, the registry and what is prepared for a restore.
    pub fn instances(&self) -> PathBuf {
        self.0.join("instances")
    }
    /// What hooks append, as it came.
    pub fn spool(&self) -> PathBuf {
        self.0.join("spool")
    }
    /// Saves of tmux, in generations.
    pub fn saves(&self) -> PathBuf {
        self.0.join("saves")
    }
    /// Scrollback.
    pub fn snapshots(&self) -> PathBuf {
        self.0.join("snapshots")
    }
    /// Decision records, one folder per restore.
    pub fn decisions(&self) -> PathBuf {
        self.0.join("decisions")
    }
    /// What commands changed, one file per command.
    pub fn operations(&self) -> PathBuf {
        self.0.join("operations")
    }
    /// Our own panes.
    pub fn host(&self) -> PathBuf {
        self.0.join("host")
    }
    /// There while everything automatic is paused.
    pub fn paused(&self) -> PathBuf {
        self.0.join("paused")
    }
    /// Logs of what runs unseen.
    pub fn log(&self) -> PathBuf {
        self.0.join("log")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn is_made_private() {
        let root = tempfile::tempdir().unwrap();
        let state = StateDir::open(root.path().join("a/b")).unwrap();
        let mode = std::fs::metadata(state.path()).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
    }

    #[test]
    fn an_open_one_is_closed() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("state");
        std::fs::DirBuilder::new().create(&path).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        StateDir::open(&path).unwrap();
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o700);
    }

    #[test]
    fn looking_makes_and_changes_nothing() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("state");
        assert!(StateDir::existing(&path).unwrap().is_none() && !path.exists());
        std::fs::DirBuilder::new().create(&path).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        assert!(StateDir::existing(&path).unwrap().is_some());
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o755);
    }

    #[test]
    fn only_what_is_ours_is_erased() {
        let root = tempfile::tempdir().unwrap();
        let open = || StateDir::open(root.path().join("state")).unwrap();
        let state = open();
        durable::private_dir(&state.vault().join("deep")).unwrap();
        durable::replace(&state.journal(), b"").unwrap();
        assert_eq!(state.erase().unwrap(), [""; 0].map(PathBuf::from));
        assert!(!root.path().join("state").exists());
        let state = open();
        let letters = state.path().join("letters.txt");
        durable::replace(&letters, b"dear").unwrap();
        durable::private_dir(&state.spool()).unwrap();
        assert_eq!(state.erase().unwrap(), std::slice::from_ref(&letters));
        assert!(letters.exists() && !root.path().join("state/spool").exists());
    }

    #[test]
    fn a_history_goes_when_it_is_ours_alone() {
        let root = tempfile::tempdir().unwrap();
        for (rules, letters, goes) in [
            ("# Written by rekindle: bulk.\n/vault/\n", false, true),
            ("# Written by rekindle: bulk.\n/vault/\n", true, false),
            ("*.o\n", false, false),
        ] {
            let state = StateDir::open(root.path().join("state")).unwrap();
            let (history, letter) = (state.history(), state.path().join("letters.txt"));
            durable::private_dir(&history.join("info")).unwrap();
            durable::replace(&history.join("info/exclude"), rules.as_bytes()).unwrap();
            durable::replace(&state.journal(), b"").unwrap();
            if letters {
                durable::replace(&letter, b"dear").unwrap();
            }
            let kept = state.erase().unwrap();
            assert_eq!(
                (kept.is_empty(), history.exists(), letter.exists()),
                (goes, !goes, letters),
                "{rules}"
            );
            durable::remove_tree(&root.path().join("state")).unwrap();
        }
    }

    #[test]
    fn another_users_state_is_refused() {
        let root = tempfile::tempdir().unwrap();
        // Only root can make a directory of somebody else's; elsewhere the file system's root serves.
        let theirs = if rustix::process::geteuid().is_root() {
            std::os::unix::fs::chown(root.path(), Some(12345), None).unwrap();
            root.path()
        } else {
            Path::new("/")
        };
        let Err(StateDirError::NotOurs { .. }) = StateDir::open(theirs) else { panic!("accepted") };
    }
}
