//! Erasing a conversation for good, because somebody wants it gone.

use std::collections::{BTreeSet, HashSet};
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use rayon::prelude::*;
use store::durable;
use transcript::Transcript;

use crate::collect::collecting;
use crate::compare::id_of;
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
        held_by.extend(self.holders(key)?.iter().map(ToString::to_string));
        let tombstone = Tombstone {
            key: key.clone(),
            at: before.as_ref().map_or(now, |before| before.at),
            account: before.as_ref().and_then(|before| before.account.clone()).or_else(|| {
                let config = config.as_deref().filter(|config| config.is_dir());
                config.map(agents::claude::account)
            }),
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
        let record = store::files::read(folder.join("repair.json")).unwrap_or_default();
        let record: serde_json::Value = serde_json::from_slice(&record).unwrap_or_default();
        let config = tombstone::read(&self.forgotten_path(key)).and_then(|tombstone| tombstone.config);
        let path = record["path"].as_str().map(Path::new);
        Ok(path.zip(config).is_some_and(|(path, config)| path.starts_with(config)))
    }

    /// The conversations that hold a part of the same text: forks, copies, what they were made from.
    ///
    /// # Errors
    /// The vault cannot be read.
    pub fn held_by(&self, key: &Key) -> Result<BTreeSet<Key>, Error> {
        let _shared = self.share()?;
        self.holders(key)
    }

    fn holders(&self, key: &Key) -> Result<BTreeSet<Key>, Error> {
        let all = self.states()?;
        let Some((_, state)) = all.iter().find(|(other, _)| other == key) else { return Ok(BTreeSet::new()) };
        let frames: HashSet<_> = state.every_frame().map(|frame| frame.blake3).collect();
        let mut rows = HashSet::new();
        self.each_row(key, state, |row| {
            rows.insert(row);
            false
        })?;
        let mut holders = BTreeSet::new();
        for (other, state) in all.iter().filter(|(other, _)| other != key) {
            let same_frame = state.every_frame().any(|frame| frames.contains(&frame.blake3));
            // A fork goes on, and then its frames are others: the smallest has 32 kB. Its rows keep their ids.
            if same_frame || self.each_row(other, state, |row| rows.contains(&row))? {
                holders.insert(other.clone());
            }
        }
        Ok(holders)
    }

    /// Calls a function with the id of every row that a conversation has or had, until that says true; whether it did. A
    /// damaged frame has no rows.
    fn each_row(&self, key: &Key, state: &State, mut found: impl FnMut(u128) -> bool) -> Result<bool, Error> {
        let id = id_of(key);
        for frame in state.every_frame() {
            let Ok(data) = self.data(key, frame.place.as_deref()) else { continue };
            let is_found = self.with_codec(|codec| {
                let bytes = codec.unpack(&data, frame, id.as_bytes()).unwrap_or_default();
                Transcript::of(bytes, None).ids().any(&mut found)
            })?;
            if is_found {
                return Ok(true);
            }
        }
        Ok(false)
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
