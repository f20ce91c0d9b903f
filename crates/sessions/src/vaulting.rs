//! The vault, brought up to date after a turn: beside the records' lock, so that nobody waits for a large file.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use agents::claude::Owners;
use agents::{SessionKey, Stamp};
use jiff::Timestamp;
use store::durable;
use store::lock::{Lock, LockError};
use store::record::{self, SessionRecord};
use vault::{SyncOptions, SyncReport, Vault};

use crate::settle::{Error, Settler};

/// How mirroring ended.
#[derive(Debug)]
pub enum Vaulted {
    /// It was brought up to date, except for what the report names.
    Done(SyncReport),
    /// Another process is at it and will look again.
    Elsewhere,
}

impl Settler {
    /// Mirrors what has changed. One process at a time: who comes second leaves word and goes.
    ///
    /// # Errors
    /// The vault cannot be written.
    pub fn mirror(&self, vault: &Vault) -> Result<Vaulted, vault::Error> {
        let again = self.state.cache().join("mirror-again");
        let lock = self.state.locks().join("mirror");
        durable::private_dir(&self.state.locks())?;
        durable::private_dir(&self.state.cache())?;
        loop {
            let alone = match Lock::try_alone(&lock) {
                Ok(alone) => alone,
                Err(LockError::Held { .. }) => {
                    durable::replace_unsynced(&again, b"")?;
                    // It may have looked for the word just before it was left.
                    match Lock::try_alone(&lock) {
                        Ok(alone) => alone,
                        Err(_) => return Ok(Vaulted::Elsewhere),
                    }
                }
                Err(error) => return Err(error.into()),
            };
            durable::remove(&again)?;
            let live = Owners::look(&self.configs).live_sessions();
            let options = SyncOptions {
                owner_alive: &|source| source.session.as_ref().is_some_and(|id| live.contains(id.as_str())),
                ..SyncOptions::at(Timestamp::now())
            };
            let report = vault.sync(&self.configs, &options, &|_| {})?;
            drop(alone);
            if !again.exists() {
                return Ok(Vaulted::Done(report));
            }
        }
    }

    /// The transcripts of these conversations, as they are now.
    pub fn transcripts(
        records: &BTreeMap<SessionKey, SessionRecord>,
        sessions: &BTreeSet<SessionKey>,
    ) -> BTreeMap<SessionKey, Stamp> {
        let stamp = |session: &SessionKey| {
            let path = records.get(session)?.transcript_path.as_deref()?;
            Some((session.clone(), Stamp::of(&std::fs::metadata(path).ok()?)))
        };
        sessions.iter().filter_map(stamp).collect()
    }

    /// Notes in their records that the vault has these conversations.
    ///
    /// # Errors
    /// The records cannot be locked or written.
    pub fn note_mirrored(
        &self,
        sessions: &BTreeSet<SessionKey>,
        now: Timestamp,
        deadline: Duration,
    ) -> Result<(), Error> {
        let _alone = Lock::acquire(&self.lock(), deadline)?;
        for session in sessions {
            if let Some(mut held) = record::load(&self.state, self.key.reading(), session)? {
                held.record.vaulted_at = Some(now);
                record::store(&self.state, self.key.writing()?, &held)?;
            }
        }
        Ok(())
    }
}
