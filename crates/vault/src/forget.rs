//! Erasing a conversation for good, because somebody wants it gone.

use std::collections::{BTreeSet, HashSet};
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use rayon::prelude::*;
use state::durable;

use crate::collect::collecting;
use crate::frame::Frame;
use crate::manifest::Begin;
use crate::replay::State;
use crate::store::Writer;
use crate::tombstone::{self, Tombstone};
use crate::vault::{Vault, list};
use crate::{Error, Key, seen};

impl Vault {
    /// Writes down that a conversation is to be forgotten, before anything goes: from here on no sync brings it back, and a
    /// run that is killed can be completed. Names the conversations that hold some of the same text.
    pub fn begin_forgetting(&self, key: &Key, config: Option<PathBuf>, now: Timestamp) -> Result<(), Error> {
        let _alone = self.alone()?;
        let before = tombstone::read(&self.forgotten_path(key));
        let mut held_by = before.as_ref().map(|before| before.held_by.clone()).unwrap_or_default();
        held_by.extend(self.holders(key)?);
        let tombstone = Tombstone {
            key: key.clone(),
            at: before.as_ref().map_or(now, |before| before.at),
            config: config.or_else(|| before.and_then(|before| before.config)),
            unfinished: true,
            held_by,
            machine: tombstone::this_machine(),
            prompts_erased: false,
        };
        tombstone.write(&self.forgotten_path(key))
    }

    /// Erases what the vault has of a conversation that is being forgotten. Can be repeated.
    pub fn erase(&self, key: &Key, now: Timestamp) -> Result<(), Error> {
        let _alone = self.alone()?;
        self.close_data();
        let others = self.states()?;
        self.erase_prompts(&key.history(), &others, now)?;
        self.give_away(key, &others, now)?;
        let folder = self.folder(key);
        durable::remove_tree(&folder)?;
        // What a collection that was killed has left.
        durable::remove_tree(&collecting(&folder, key))?;
        let backups = key.session().map(|session| format!("~backups~{session}~"));
        for name in list(&self.trash())? {
            let path = self.trash().join(&name);
            let copy =
                backups.as_ref().is_some_and(|word| name.contains(word)) && self.is_backup_of(key, &path)?;
            if name.ends_with(&trash_suffix(key)) || copy {
                durable::remove_tree(&path)?;
            }
        }
        if let Some(session) = key.session() {
            let copies = self.backups().join(session.as_str());
            for name in list(&copies)? {
                if self.is_backup_of(key, &copies.join(&name))? {
                    durable::remove_tree(&copies.join(name))?;
                }
            }
            durable::remove_empty_dir(&copies)?;
        }
        self.index.forget()?;
        seen::forget(self)
    }

    /// Writes down that nothing is left of a conversation.
    pub fn end_forgetting(&self, key: &Key) -> Result<(), Error> {
        match tombstone::read(&self.forgotten_path(key)) {
            Some(tombstone) => Tombstone { unfinished: false, prompts_erased: true, ..tombstone }
                .write(&self.forgotten_path(key)),
            None => Ok(()),
        }
    }

    /// Whether a conversation was forgotten on purpose, or is being forgotten.
    pub fn is_forgotten(&self, key: &Key) -> bool {
        self.forgotten_path(key).exists() && self.forgotten().is_ok_and(|forgotten| forgotten.has(key))
    }

    /// Every conversation that was forgotten on purpose, or is being forgotten.
    pub fn tombstones(&self) -> Result<Vec<Tombstone>, Error> {
        let folder = self.forgotten_folder();
        let forgotten = self.forgotten()?;
        let mut all: Vec<Tombstone> =
            list(&folder)?.iter().filter_map(|name| tombstone::read(&folder.join(name))).collect();
        // An earlier version left its prompts in the mirror of the history.
        for tombstone in all.iter_mut().filter(|one| !one.prompts_erased && forgotten.has(&one.key)) {
            tombstone.unfinished |= self.folder(&tombstone.key.history()).exists();
        }
        Ok(all)
    }

    // Copies of repairs are kept by session. Where two accounts have the same one, the path in their record tells whose it is.
    fn is_backup_of(&self, key: &Key, folder: &Path) -> Result<bool, Error> {
        let Some(session) = key.session() else { return Ok(false) };
        if self.keys_of(&session)?.iter().all(|other| other == key) {
            return Ok(true);
        }
        let record = state::files::read(folder.join("repair.json")).unwrap_or_default();
        let record: serde_json::Value = serde_json::from_slice(&record).unwrap_or_default();
        let config = tombstone::read(&self.forgotten_path(key)).and_then(|tombstone| tombstone.config);
        let path = record["path"].as_str().map(Path::new);
        Ok(path.zip(config).is_some_and(|(path, config)| path.starts_with(config)))
    }

    /// The conversations that hold a part of the same text: forks, copies, what they were made from.
    fn holders(&self, key: &Key) -> Result<BTreeSet<String>, Error> {
        let all = self.states()?;
        let Some((_, state)) = all.iter().find(|(other, _)| other == key) else { return Ok(BTreeSet::new()) };
        let mine: HashSet<_> = state.every_frame().map(|frame| frame.blake3).collect();
        let others = all.iter().filter(|(other, _)| other != key);
        let holds = |state: &State| state.every_frame().any(|frame| mine.contains(&frame.blake3));
        Ok(others.filter(|(_, state)| holds(state)).map(|(other, _)| other.to_string()).collect())
    }

    /// Every conversation's state: what is used, and by whom.
    pub(crate) fn states(&self) -> Result<Vec<(Key, State)>, Error> {
        self.keys()?.into_par_iter().map(|key| self.state(&key).map(|state| (key, state))).collect()
    }

    /// Copies frames of `key` into those that refer to them; afterwards nobody needs it.
    pub(crate) fn give_away(&self, key: &Key, all: &[(Key, State)], now: Timestamp) -> Result<(), Error> {
        for (other, state) in all.iter().filter(|(other, _)| other != key) {
            let needed: Vec<Frame> = state
                .every_frame()
                .filter(|frame| frame.place.as_deref() == Some(key.as_str()))
                .cloned()
                .collect();
            self.adopt(other, state, key, needed, now)?;
        }
        Ok(())
    }

    pub(crate) fn adopt(
        &self,
        into: &Key,
        state: &State,
        from: &Key,
        mut needed: Vec<Frame>,
        now: Timestamp,
    ) -> Result<(), Error> {
        needed.sort_by_key(|frame| frame.offset);
        needed.dedup_by_key(|frame| frame.offset);
        if needed.is_empty() {
            return Ok(());
        }
        let begin = state.begin.clone().unwrap_or_else(|| Begin { config: String::new(), session: None });
        let mut writer = Writer::open(self, into, begin)?;
        writer.adopt(from, &needed)?;
        writer.commit(now)?;
        Ok(())
    }
}

pub(crate) fn trash_suffix(key: &Key) -> String {
    format!("~{}", key.as_str().replace('/', "~"))
}
