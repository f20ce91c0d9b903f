//! Accepting what this machine did not write: only after the user has seen it (`rekindle trust`).

use std::path::Path;
use std::time::Duration;

use agents::SessionId;
use jiff::Timestamp;
use state::journal::{Entry, Journal};
use state::lock::Lock;
use state::machine_key::MachineKey;
use state::record::{self, Grade, Machine, Provenance, SessionRecord};
use state::{durable, saves};

use crate::note::note;
use crate::settle::{Error, Settler};

/// A session that starts nothing by itself, because nothing vouches for its record.
#[derive(Debug, Clone)]
pub struct Unaccepted {
    /// What its record says.
    pub record: SessionRecord,
    /// Why that is not acted on.
    pub why: &'static str,
}

impl Settler {
    /// The sessions whose records this machine did not write, by id.
    ///
    /// # Errors
    /// The records cannot be listed.
    pub fn unaccepted(&self) -> Result<Vec<Unaccepted>, Error> {
        let machine = Machine::this();
        let mut found = Vec::new();
        for id in record::ids(&self.state)? {
            let Ok(Some(held)) = record::load(&self.state, self.key.reading(), &id) else { continue };
            if let Some(why) = held.record.distrust(&machine) {
                found.push(Unaccepted { record: held.record, why });
            }
        }
        Ok(found)
    }

    /// Accepts the records of these sessions as this machine's own. Where the directory's key is lost or another one, the key
    /// at `key_path` becomes its key first, and the current save is accepted too.
    ///
    /// # Errors
    /// Another process settles for longer than the deadline, or something cannot be written.
    pub fn accept(
        &self,
        sessions: &[SessionId],
        key_path: &Path,
        now: Timestamp,
        deadline: Duration,
    ) -> Result<(), Error> {
        durable::private_dir(&self.state.locks())?;
        let _alone = Lock::acquire(&self.lock(), deadline)?;
        let key = match &self.key {
            MachineKey::Ours(key) => key.clone(),
            MachineKey::Lost | MachineKey::Other { .. } => {
                let key = MachineKey::adopt(&self.state, key_path)?;
                saves::accept_current(&self.state, &key)?;
                key
            }
        };
        let journal = Journal::at(self.state.journal());
        for session in sessions {
            // Read without a check: its user has seen what it says.
            let Some(mut held) = record::load(&self.state, None, session)? else { continue };
            for run in &mut held.record.runs {
                run.provenance = Some(Provenance::Accepted);
                run.grade = run.grade.filter(|grade| *grade != Grade::Guess);
            }
            held.record.evidence.retain(|evidence| evidence.fact != "record" || evidence.source != "seal");
            record::store(&self.state, &key, &held)?;
            let entry: Entry = note(now, "trusted", session);
            journal.append(&entry)?;
        }
        Ok(())
    }
}
