//! Folding a spool: what hooks have written of one session id becomes part of its records, one for each account.

use std::collections::{BTreeMap, BTreeSet};

use agents::SessionKey;
use jiff::Timestamp;
use store::journal::Entry;
use store::mac::Origin;
use store::record::{Account, SessionRecord};
use store::spool;

use crate::note::note;
use crate::spooled_event::{SpooledEvent, What};
use crate::spools::{self, Spooled};
use crate::{accounts, apply_event};

use super::{Settled, Settler};

impl Settler {
    /// Folds what is new in one spool into the records of its id.
    pub(super) fn fold_spool(
        &self,
        spooled: &Spooled,
        records: &mut BTreeMap<SessionKey, SessionRecord>,
        notes: &mut Vec<Entry>,
        settled: &mut Settled,
        now: Timestamp,
    ) {
        // While a record of this id cannot be read, it is not known whose events these are.
        if settled.closed.iter().any(|key| *key.id() == spooled.session) {
            return;
        }
        let known: Vec<SessionKey> =
            accounts::with_id(records, &spooled.session).map(|record| record.session_id.clone()).collect();
        let unchanged = |key: &SessionKey| {
            records.get(key).is_some_and(|record| {
                record.spool_offset == spooled.length && !spools::may_be_new(record, self.forgets_before(now))
            })
        };
        // A record that was set aside is made again from the whole spool, also beside another account's.
        let made_again = settled.set_aside.contains(&spooled.session);
        if !made_again && !known.is_empty() && known.iter().all(unchanged) {
            return;
        }
        let head = match spool::head(&spooled.path) {
            Ok(head) => head,
            Err(error) => {
                settled.troubles.push(format!("cannot read {}: {error}", spooled.path.display()));
                return;
            }
        };
        // Where each record goes on reading, and what was heard of it before. A record that is new to the spool begins where
        // reading begins.
        let progress: BTreeMap<SessionKey, Progress> = known
            .iter()
            .filter_map(|key| {
                Some((key.clone(), Progress::of(records.get(key)?, head.as_deref(), spooled.length)))
            })
            .collect();
        let from =
            progress.values().map(|progress| progress.folded).min().filter(|_| !made_again).unwrap_or(0);
        let known_until = progress.values().map(|progress| progress.known_until).max().unwrap_or(0);
        if !known.is_empty() && from == spooled.length {
            for key in &known {
                if let Some(record) = records.get_mut(key) {
                    record.spool_head.clone_from(&head);
                }
            }
            return;
        }
        let (events, end) =
            match spool::read(&spooled.path, from, &spooled.session, self.key.reading(), known_until) {
                Ok(read) => read,
                Err(error) => {
                    settled.troubles.push(format!("cannot read {}: {error}", spooled.path.display()));
                    return;
                }
            };
        let was_replaced = events.first().is_some_and(|read| read.offset < from);
        let progress: BTreeMap<SessionKey, Progress> = match was_replaced {
            true => progress.into_iter().map(|(key, progress)| (key, progress.begun_again())).collect(),
            false => progress,
        };
        let mut begun = BTreeSet::new();
        for read in events {
            let Some(key) = accounts::of_event(records, &spooled.session, &read) else {
                let at = Timestamp::from_millisecond(read.event.at).unwrap_or(now);
                notes.push(note(at, "event_of_unknown_account", &SessionKey::first(spooled.session.clone())));
                continue;
            };
            let progress = progress.get(&key).copied();
            if progress.is_some_and(|progress| read.offset < progress.folded) {
                continue;
            }
            let progress = progress.unwrap_or_default();
            let is_first = begun.insert(key.clone()) && progress.folded == 0;
            let record = records.entry(key.clone()).or_insert_with(|| SessionRecord::new(key, now));
            if is_first && record.runs.is_empty() {
                let at = Timestamp::from_millisecond(read.event.at).unwrap_or(Timestamp::UNIX_EPOCH);
                (record.created, record.last_seen) = (at, at);
            }
            if record.account.is_none() && read.origin == Origin::Genuine && read.event.means_the_same_here()
            {
                let config = read.event.config_dir().filter(|config| config.is_dir());
                record.account = config.map(|config| Account::here(&config));
            }
            self.fold_event(record, read, progress, notes, settled);
        }
        let all: Vec<SessionKey> = match known.is_empty() {
            // A spool without a whole line is somebody's all the same.
            true if accounts::with_id(records, &spooled.session).next().is_none() => {
                let key = SessionKey::first(spooled.session.clone());
                records.insert(key.clone(), SessionRecord::new(key.clone(), now));
                vec![key]
            }
            _ => {
                accounts::with_id(records, &spooled.session).map(|record| record.session_id.clone()).collect()
            }
        };
        for key in all {
            if let Some(record) = records.get_mut(&key) {
                (record.spool_offset, record.spool_head) = (end, head.clone());
            }
            settled.touched.insert(key);
        }
    }

    fn fold_event(
        &self,
        record: &mut SessionRecord,
        read: spool::Read,
        progress: Progress,
        notes: &mut Vec<Entry>,
        settled: &mut Settled,
    ) {
        let session = record.session_id.clone();
        if self.log {
            settled.logged.entry(session.clone()).or_default().push((read.offset, read.event.clone()));
        }
        let mut heard = SpooledEvent::of(read);
        heard.known = record.runs.iter().map(|run| (run.pid, run.proc_start)).collect();
        // In a spool that was begun anew a line that is older than what was heard before may be a copy of one that went
        // with the old spool.
        if progress.begun_anew && heard.at.as_millisecond() <= progress.known_until {
            heard.sealed = false;
        }
        let turned =
            matches!(heard.what, What::Stop | What::StopFailure { .. } | What::PreCompact | What::End { .. });
        if turned {
            settled.turned.insert(session.clone());
        }
        notes.extend(apply_event::fold(record, &heard));
        settled.events += 1;
    }
}

/// How much of its spool a record has, before more of it is read.
#[derive(Debug, Clone, Copy, Default)]
struct Progress {
    /// Where reading goes on.
    folded: u64,
    /// When it was last heard of, milliseconds since 1970.
    known_until: i64,
    /// Whether it has read another spool before this one.
    begun_anew: bool,
}

impl Progress {
    fn of(record: &SessionRecord, head: Option<&str>, length: u64) -> Progress {
        // A spool that is shorter than what was read of it has lost its end, in a power cut: only its first and last lines are
        // synced. What is written behind the cut is new.
        let folded = Some(spools::folded(record, head)).filter(|folded| *folded <= length).unwrap_or(0);
        let begun_anew = folded == 0 && record.spool_head.is_some();
        Progress { folded, known_until: record.last_seen.as_millisecond(), begun_anew }
    }

    fn begun_again(self) -> Progress {
        Progress { folded: 0, begun_anew: true, ..self }
    }
}
