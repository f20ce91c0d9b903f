//! Which folder of the vault an account has: one directory is one account, by whatever path it is reached.
//!
//! Folders are named after a path. The same directory behind a link or a bind mount has other paths, and the vault may have
//! folders for several of them: those that are there go on being used, and no new one is made beside them.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::PoisonError;

use agents::SessionId;
use agents::claude::{ConfigDir, account, is_account};

use crate::head::{Found, Head};
use crate::manifest::Begin;
use crate::tombstone;
use crate::vault::{Vault, list};
use crate::{Error, Key};

impl Vault {
    /// The name of a conversation in the vault: that of the folder it has, by whatever path its account is reached.
    pub fn key(&self, config: &ConfigDir, session: Option<&SessionId>) -> Key {
        self.key_and_begin(config, session).0
    }

    /// The same, with what the first line of its manifest says.
    pub(crate) fn key_and_begin(&self, config: &ConfigDir, session: Option<&SessionId>) -> (Key, Begin) {
        let named = |path: &Path| Begin {
            config: path.to_string_lossy().into_owned(),
            session: session.map(ToString::to_string),
        };
        let own = Key::new(config, session);
        if self.folder(&own).exists() {
            return (own, named(config.path()));
        }
        let accounts = self.accounts();
        let is_known = accounts.iter().any(|known| known == config.path());
        let same: Vec<&PathBuf> = accounts
            .iter()
            .filter(|known| known.as_path() != config.path() && is_same(known, config.path(), session))
            .collect();
        let key_at = |path: &&&PathBuf| Key::new(&ConfigDir::new(**path), session);
        let with_copy = same.iter().find(|path| self.folder(&key_at(path)).exists());
        match with_copy.or_else(|| same.first().filter(|_| !is_known)) {
            Some(path) => (key_at(&path), named(path)),
            None => (own, named(config.path())),
        }
    }

    /// Every name that a session of an account has or may have in the vault: one for each path that the account was reached by.
    pub fn keys_of_account(&self, config: &ConfigDir, session: &SessionId) -> Result<Vec<Key>, Error> {
        let mut keys = vec![Key::new(config, Some(session))];
        let accounts = self.accounts();
        let same = accounts.iter().filter(|known| is_same(known, config.path(), Some(session)));
        keys.extend(same.map(|known| Key::new(&ConfigDir::new(known), Some(session))));
        let tombstones = list(&self.forgotten_folder())?;
        let tombstones =
            tombstones.iter().filter_map(|name| tombstone::read(&self.forgotten_folder().join(name)));
        let own = tombstones.filter(|one| one.key.session().as_ref() == Some(session) && one.is_of(config));
        keys.extend(own.map(|one| one.key));
        keys.sort();
        keys.dedup();
        Ok(keys)
    }

    /// The paths that accounts in the vault were reached by, one for each folder. Read once: a folder that is made while this
    /// process runs is made by its own path.
    fn accounts(&self) -> Vec<PathBuf> {
        let mut known = self.accounts.lock().unwrap_or_else(PoisonError::into_inner);
        known.get_or_insert_with(|| self.read_accounts()).clone()
    }

    fn read_accounts(&self) -> Vec<PathBuf> {
        let tags = list(&self.conversations()).unwrap_or_default();
        let path = |tag: &String| {
            let folder = self.conversations().join(tag);
            let names = list(&folder).unwrap_or_default();
            names.iter().find_map(|name| {
                let key = Key::parse(&format!("{tag}/{name}"))?;
                let begin = match Head::read(&folder.join(name)) {
                    Ok(Found::Whole(Head { begin: Some(begin), .. })) => Some(begin),
                    _ => self.state(&key).ok()?.begin,
                }?;
                // Only the path that the folder is named after.
                let config = ConfigDir::new(&begin.config);
                (Key::new(&config, key.session().as_ref()) == key).then(|| config.path().to_path_buf())
            })
        };
        tags.iter().filter_map(path).collect()
    }
}

/// Whether two paths lead to one account: to the same transcripts or, for the history of prompts, to the same directory.
pub(crate) fn is_same(one: &Path, two: &Path, session: Option<&SessionId>) -> bool {
    match session {
        Some(_) => is_same_account(one, two),
        None => {
            let identity = |path: &Path| std::fs::metadata(path).ok().map(|meta| (meta.dev(), meta.ino()));
            one == two || identity(one).is_some_and(|one| Some(one) == identity(two))
        }
    }
}

/// Whether two paths lead to the same transcripts.
pub(crate) fn is_same_account(one: &Path, two: &Path) -> bool {
    one == two || (one.is_dir() && two.is_dir() && is_account(&account(one), two))
}

#[cfg(test)]
mod tests {
    use store::{StateDir, durable};

    use super::*;

    #[test]
    fn an_account_keeps_its_folder_by_whatever_path_it_is_reached() {
        let room = tempfile::tempdir().unwrap();
        let (own, link) = (room.path().join("own"), room.path().join("link"));
        durable::private_dir(&own.join("projects")).unwrap();
        std::os::unix::fs::symlink(&own, &link).unwrap();
        let vault = || Vault::open(&StateDir::open(room.path().join("state")).unwrap()).unwrap();
        let (old, new) = (SessionId::new("old").unwrap(), SessionId::new("new").unwrap());
        let (own, link) = (ConfigDir::new(&own), ConfigDir::new(&link));
        assert_eq!(vault().key(&link, Some(&new)), Key::new(&link, Some(&new)), "nothing is there yet");
        let has_folder = |config: &ConfigDir, session: &SessionId| {
            let vault = vault();
            let folder = vault.folder(&Key::new(config, Some(session)));
            durable::private_dir(&folder).unwrap();
            let begin = Begin {
                config: config.path().to_string_lossy().into_owned(),
                session: Some(session.to_string()),
            };
            Head::write(&folder, crate::frame::Digest([0; 32]), Some(begin)).unwrap();
        };
        has_folder(&own, &old);
        assert_eq!(vault().key(&link, Some(&new)), Key::new(&own, Some(&new)));
        // What an earlier version has copied by the other path stays there, and is forgotten there, too.
        has_folder(&link, &old);
        assert_eq!(vault().key(&link, Some(&old)), Key::new(&link, Some(&old)));
        let mut both = vec![Key::new(&own, Some(&old)), Key::new(&link, Some(&old))];
        both.sort();
        assert_eq!(vault().keys_of_account(&own, &old).unwrap(), both);
    }
}
