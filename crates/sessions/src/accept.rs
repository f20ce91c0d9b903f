//! Accepting what this machine did not write: only after the user has seen it (`rekindle trust`).

use std::path::Path;
use std::time::Duration;

use jiff::Timestamp;
use store::journal::Journal;
use store::lock::Lock;
use store::mac::Key;
use store::machine_key::MachineKey;
use store::record::{self, Machine, Provenance, SessionRecord};
use store::{durable, saves};

use crate::note::note;
use crate::settle::{Error, Settler, unusable};

/// A session that starts nothing by itself, because nothing vouches for its record.
#[derive(Debug, Clone)]
pub struct Unaccepted {
    /// What its record says.
    pub record: SessionRecord,
    /// Why that is not acted on.
    pub why: &'static str,
}

/// Why a session is listed whose agent is this machine's own.
const WORDS: &str = "its name or task was edited in its record, or copied with it";

/// Whether two readings of a record start the same. A settle in the background may note between them when the session was
/// last seen, that its agent is gone, or that it is in the vault: nothing of that starts anything.
fn starts_the_same(one: &SessionRecord, other: &SessionRecord) -> bool {
    let without_bookkeeping = |record: &SessionRecord, same: &SessionRecord| {
        let mut record = SessionRecord {
            evidence: Vec::new(),
            // What it is called and about is found out again; what is accepted stands in `untrusted_words`.
            name: None,
            base_name: None,
            task: None,
            status: same.status,
            reason: None,
            last_seen: same.last_seen,
            created: same.created,
            activity: None,
            context_used: None,
            context_hash: None,
            place_hash: None,
            last_version_check: None,
            last_idle_check: None,
            memory_kills: None,
            vaulted_at: None,
            summary_source: None,
            spool_offset: 0,
            spool_head: None,
            ..record.clone()
        };
        for run in &mut record.runs {
            run.ended_at = None;
            run.end_reason = None;
            run.hung_up = false;
        }
        record
    };
    without_bookkeeping(one, one) == without_bookkeeping(other, one)
}

impl Settler {
    /// The sessions whose records this machine did not write, by id.
    ///
    /// # Errors
    /// The records cannot be listed.
    pub fn unaccepted(&self) -> Result<Vec<Unaccepted>, Error> {
        let machine = Machine::this();
        let mut found = Vec::new();
        for id in record::keys(&self.state)? {
            let Ok(Some(held)) = record::load(&self.state, self.key.reading(), &id) else { continue };
            let words = held.record.has_unaccepted_words();
            if let Some(why) = held.record.distrust(&machine).or_else(|| words.then_some(WORDS)) {
                found.push(Unaccepted { record: held.record, why });
            }
        }
        Ok(found)
    }

    /// The records that cannot be read or understood, each with the reason: nothing is known of where they come from.
    ///
    /// # Errors
    /// The records cannot be listed.
    pub fn unreadable_records(&self) -> Result<Vec<String>, Error> {
        let ids = record::keys(&self.state)?.into_iter();
        Ok(ids
            .filter_map(|id| record::load(&self.state, self.key.reading(), &id).err())
            .map(|error| unusable(&error))
            .collect())
    }

    /// Accepts the newest runs of these records, as they were shown, as this machine's own. Where the directory's key is lost or
    /// another one, the key at `key_path` becomes its key, and the current save is accepted too.
    ///
    /// # Errors
    /// A record is not what was shown, another process settles for longer than the deadline, or something cannot be written.
    pub fn accept(
        &self,
        shown: &[Unaccepted],
        key_path: &Path,
        now: Timestamp,
        deadline: Duration,
    ) -> Result<(), Error> {
        durable::private_dir(&self.state.locks())?;
        let _alone = Lock::acquire(&self.lock(), deadline)?;
        let mut accepted = Vec::new();
        for one in shown {
            let session = &one.record.session_id;
            let now_there = record::load(&self.state, self.key.reading(), session)?;
            match now_there.filter(|held| starts_the_same(&held.record, &one.record)) {
                Some(held) => accepted.push(held),
                None => return Err(Error::ChangedSince { session: session.clone() }),
            }
        }
        let key = match &self.key {
            MachineKey::Ours(key) => key.clone(),
            MachineKey::Lost | MachineKey::Other { .. } => {
                let key = Key::create(key_path)?;
                saves::accept_current(&self.state, &key)?;
                key
            }
        };
        let journal = Journal::at(self.state.journal());
        for mut held in accepted {
            // What would act on other sessions was not shown, and is not accepted.
            record::strip_power(&mut held.record);
            held.record.accept_words();
            let untrusted = held.record.distrust(&Machine::this()).is_some();
            // Its account was shown, wherever the record says it.
            let account = held.record.config_dir();
            if let Some(run) = held.record.runs.last_mut().filter(|_| untrusted) {
                run.config_dir = account;
                run.provenance = Some(Provenance::Accepted);
                run.accepted_on = Machine::this().id().map(str::to_owned);
                run.grade = None;
            }
            held.record.evidence.retain(|evidence| evidence.fact != "record" || evidence.source != "seal");
            record::store(&self.state, &key, &held)?;
            journal.append(&note(now, "trusted", &held.record.session_id))?;
        }
        // Last of all: killed before this, the next `trust` does everything again.
        MachineKey::adopt(&self.state, key_path)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use store::record::{Given, Status, UntrustedWords};

    use super::*;
    use crate::bench::{agent, start, told};

    fn record() -> SessionRecord {
        told("x", &[start(agent(7, 0), 1)]).0
    }

    #[test]
    fn what_a_settle_notes_meanwhile_is_still_what_was_shown() {
        let shown = record();
        let mut now = record();
        now.status = Status::Crashed;
        now.last_seen = Timestamp::now();
        now.vaulted_at = Some(Timestamp::now());
        now.runs[0].ended_at = Some(Timestamp::now());
        assert!(starts_the_same(&now, &shown));
    }

    #[test]
    fn another_program_directory_or_mode_is_not_what_was_shown() {
        let shown = record();
        let edits: [fn(&mut SessionRecord); 5] = [
            |record| {
                let given = Given { task: Some("evil".to_owned()), ..Given::default() };
                record.untrusted_words = Some(UntrustedWords { given, ..UntrustedWords::default() });
            },
            |record| record.runs[0].argv = Some(vec!["/mnt/evil/claude".to_owned()]),
            |record| drop(record.runs[0].env.insert("HTTPS_PROXY".to_owned(), "http://evil:1".to_owned())),
            |record| record.cwd = Some("/mnt/evil".into()),
            |record| record.permission_mode = Some("bypassPermissions".to_owned()),
        ];
        for edit in edits {
            let mut now = record();
            edit(&mut now);
            assert!(!starts_the_same(&now, &shown), "{now:?}");
        }
    }
}
