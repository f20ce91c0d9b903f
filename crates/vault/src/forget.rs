//! Erasing a conversation for good, because somebody wants it gone.

use jiff::Timestamp;
use rayon::prelude::*;
use state::durable;

use crate::frame::Frame;
use crate::manifest::Begin;
use crate::replay::State;
use crate::store::Writer;
use crate::vault::{Vault, list};
use crate::{Error, Key, seen};

impl Vault {
    /// Erases a conversation, its place in the trash and the copies that repairs made of it, and leaves a tombstone:
    /// no sync mirrors it again. What forks of it share becomes their own.
    pub fn forget(&self, key: &Key, now: Timestamp) -> Result<(), Error> {
        let _alone = self.alone()?;
        self.close_data();
        let others = self.states()?;
        self.give_away(key, &others, now)?;
        // The tombstone stands before anything goes: killed in between, it can be done again and nothing comes back.
        let tombstone = serde_json::json!({ "schema": 1, "key": key.as_str(), "at": now.to_string() });
        durable::replace(&self.forgotten_path(key), tombstone.to_string().as_bytes())?;
        durable::remove_tree(&self.folder(key))?;
        for name in list(&self.trash())? {
            if name.ends_with(&trash_suffix(key)) {
                durable::remove_tree(&self.trash().join(name))?;
            }
        }
        if let Some(session) = key.session() {
            durable::remove_tree(&self.backups().join(session.as_str()))?;
        }
        self.index.forget()?;
        seen::forget(self)
    }

    /// Whether a conversation was forgotten on purpose.
    pub fn is_forgotten(&self, key: &Key) -> bool {
        self.forgotten_path(key).exists()
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
