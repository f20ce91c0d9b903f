//! Texts about one session in a file of their own: its user's note, its summary.
//!
//! The files are named after the whole key. 0.1.0 took eight characters of the id: two sessions that begin alike had one file.
//! Such a file is read where only one session on record can be meant, and gets its whole name at the next settle.

use std::path::PathBuf;

use agents::SessionKey;

use crate::{StateDir, durable, record};

/// What is said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionText {
    /// By its user.
    Note,
    /// By its transcript.
    Summary,
}

impl SessionText {
    /// Where these are kept.
    pub fn folder(self, state: &StateDir) -> PathBuf {
        state.instances().join(match self {
            SessionText::Note => "descriptions",
            SessionText::Summary => "summaries",
        })
    }

    /// The file of a session.
    pub fn path(self, state: &StateDir, session: &SessionKey) -> PathBuf {
        self.folder(state).join(format!("{session}.txt"))
    }

    /// The file that 0.1.0 had for this session, where it is there and can be no other's.
    pub fn old_path(self, state: &StateDir, session: &SessionKey) -> Option<PathBuf> {
        let old = self.folder(state).join(format!("{}.txt", session.prefix()));
        if old == self.path(state, session) || !old.exists() {
            return None;
        }
        // What cannot be listed tells nothing.
        let keys = record::keys(state).ok()?;
        let alike = keys.iter().filter(|key| key.prefix() == session.prefix());
        alike.eq([session]).then_some(old)
    }

    /// What is said about a session.
    pub fn read(self, state: &StateDir, session: &SessionKey) -> Option<String> {
        let own = crate::files::read_to_string(self.path(state, session)).ok();
        own.or_else(|| crate::files::read_to_string(self.old_path(state, session)?).ok())
    }

    /// Gives the file of 0.1.0 its whole name; a newer one stays.
    ///
    /// # Errors
    /// It cannot be moved.
    pub fn adopt(self, state: &StateDir, session: &SessionKey) -> Result<(), durable::Error> {
        match self.old_path(state, session) {
            Some(old) if !self.path(state, session).exists() => {
                durable::rename(&old, &self.path(state, session))
            }
            _ => Ok(()),
        }
    }

    /// Removes what is said about a session.
    ///
    /// # Errors
    /// It cannot be removed.
    pub fn remove(self, state: &StateDir, session: &SessionKey) -> Result<(), durable::Error> {
        if let Some(old) = self.old_path(state, session) {
            durable::remove(&old)?;
        }
        durable::remove(&self.path(state, session))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_eight_characters_is_only_the_only_sessions() {
        let dir = tempfile::tempdir().unwrap();
        let state = StateDir::open(dir.path().join("state")).unwrap();
        let key = |text: &str| SessionKey::parse(text).unwrap();
        let one = key("abcdabcd-1111-4111-8111-111111111111");
        let two = key("abcdabcd-2222-4222-8222-222222222222");
        let far = key("5e55105e-2222-4222-8222-222222222222");
        durable::private_dir(&state.session_health()).unwrap();
        for session in [&one, &two, &far] {
            durable::replace(&state.session_health().join(format!("{session}.lock")), b"{}").unwrap();
        }
        let note = SessionText::Note;
        durable::private_dir(&note.folder(&state)).unwrap();
        let old = |name: &str| note.folder(&state).join(format!("{name}.txt"));
        durable::replace(&old("abcdabcd"), b"whose?").unwrap();
        durable::replace(&old("5e55105e"), b"mine").unwrap();
        assert_eq!(note.read(&state, &one), None);
        assert_eq!(note.read(&state, &far).as_deref(), Some("mine"));
        durable::replace(&note.path(&state, &one), b"one").unwrap();
        durable::replace(&note.path(&state, &two), b"two").unwrap();
        for session in [&one, &two, &far] {
            note.adopt(&state, session).unwrap();
        }
        assert!(old("abcdabcd").exists() && !old("5e55105e").exists());
        assert_eq!(note.read(&state, &far).as_deref(), Some("mine"));
        note.remove(&state, &two).unwrap();
        assert_eq!((note.read(&state, &one).as_deref(), note.read(&state, &two)), (Some("one"), None));
    }
}
