//! Letting go of what is old, by way of a trash that keeps it for a week more.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use jiff::Timestamp;
use state::durable;
use state::journal::{Entry, Journal};

use crate::collect::WORTH;
use crate::error::reading;
use crate::forget::trash_suffix;
use crate::frame::Frame;
use crate::replay::State;
use crate::vault::{Vault, list};
use crate::{Error, Key, seen};

/// How long things stay.
#[derive(Debug, Clone, Copy)]
pub struct Policy {
    /// Conversations, after the agent's files are gone.
    pub keep_gone: Duration,
    /// Copies made by repairs.
    pub keep_backups: Duration,
}

/// What pruning did.
#[derive(Debug, Default)]
pub struct PruneReport {
    /// Conversations moved to the trash.
    pub trashed: Vec<Key>,
    /// Copies of repairs moved to the trash.
    pub backups: usize,
    /// Things that were in the trash for a week and are erased.
    pub erased: usize,
    /// Bytes given back by rewriting conversations without what they superseded.
    pub collected: u64,
}

// ARCHITECTURE.md: pruning goes through a 7-day trash.
const TRASH_DAYS: u64 = 7;

impl PruneReport {
    /// Whether nothing was past its time.
    pub fn is_empty(&self) -> bool {
        self.trashed.is_empty() && self.backups == 0 && self.erased == 0 && self.collected == 0
    }
}

impl Vault {
    /// Moves what is past its time to the trash, and erases what has been there for a week.
    pub fn prune(&self, policy: &Policy, now: Timestamp) -> Result<PruneReport, Error> {
        let journal = Journal::at(self.journal_path());
        if let Some(newest) = journal.newest_time().map_err(reading(self.journal_path()))?
            && newest > now
        {
            return Err(Error::Clock { now, newest });
        }
        let _alone = self.alone()?;
        self.close_data();
        let mut report = PruneReport::default();
        durable::private_dir(&self.trash())?;
        self.empty_trash(now, &mut report)?;
        self.prune_conversations(policy, now, &mut report)?;
        self.prune_backups(policy, now, &mut report)?;
        report.collected = self.collect_alone(WORTH)?;
        if !report.trashed.is_empty() {
            self.index.forget()?;
            seen::forget(self)?;
        }
        if report.is_empty() {
            return Ok(report);
        }
        let entry = Entry::new(now, "vault_prune")
            .with("trashed", report.trashed.len())
            .with("backups", report.backups)
            .with("erased", report.erased)
            .with("collected", report.collected);
        journal.append(&entry)?;
        Ok(report)
    }

    /// What [`Vault::prune`] would move and erase.
    pub fn prune_plan(&self, policy: &Policy, now: Timestamp) -> Result<PruneReport, Error> {
        let due = self.states()?.into_iter().filter(|(_, state)| is_due(state, policy, now));
        Ok(PruneReport {
            trashed: due.map(|(key, _)| key).collect(),
            backups: self.old_backups(policy, now)?.len(),
            erased: self.old_trash(now)?.len(),
            ..PruneReport::default()
        })
    }

    fn prune_conversations(
        &self,
        policy: &Policy,
        now: Timestamp,
        report: &mut PruneReport,
    ) -> Result<(), Error> {
        let keys: Vec<Key> = self
            .states()?
            .into_iter()
            .filter(|(_, state)| is_due(state, policy, now))
            .map(|(key, _)| key)
            .collect();
        for key in keys {
            // Read anew: the one before may have given frames to it.
            let all = self.states()?;
            self.give_away(&key, &all, now)?;
            if let Some((_, state)) = all.iter().find(|(other, _)| *other == key) {
                self.own_all(&key, state, now)?;
            }
            self.trash_folder(&self.folder(&key), &trash_suffix(&key), now)?;
            report.trashed.push(key);
        }
        Ok(())
    }

    // What lies in the trash must not depend on what is pruned next.
    fn own_all(&self, key: &Key, state: &State, now: Timestamp) -> Result<(), Error> {
        let mut foreign: BTreeMap<String, Vec<Frame>> = BTreeMap::new();
        for frame in state.every_frame() {
            if let Some(place) = &frame.place {
                foreign.entry(place.clone()).or_default().push(frame.clone());
            }
        }
        for (place, frames) in foreign {
            if let Some(from) = Key::parse(&place) {
                self.adopt(key, state, &from, frames, now)?;
            }
        }
        Ok(())
    }

    fn prune_backups(&self, policy: &Policy, now: Timestamp, report: &mut PruneReport) -> Result<(), Error> {
        for (session, stamp) in self.old_backups(policy, now)? {
            let path = self.backups().join(&session).join(&stamp);
            self.trash_folder(&path, &format!("~backups~{session}~{stamp}"), now)?;
            report.backups += 1;
        }
        Ok(())
    }

    fn old_backups(&self, policy: &Policy, now: Timestamp) -> Result<Vec<(String, String)>, Error> {
        let mut old = Vec::new();
        for session in list(&self.backups())? {
            for stamp in list(&self.backups().join(&session))? {
                let path = self.backups().join(&session).join(&stamp);
                let made =
                    std::fs::metadata(&path).and_then(|meta| meta.modified()).map_err(reading(&path))?;
                if older(made, now, policy.keep_backups) {
                    old.push((session.clone(), stamp));
                }
            }
        }
        Ok(old)
    }

    fn trash_folder(&self, folder: &std::path::Path, suffix: &str, now: Timestamp) -> Result<(), Error> {
        let name = format!("{}{suffix}", now.as_second());
        Ok(durable::rename(folder, &self.trash().join(name))?)
    }

    fn empty_trash(&self, now: Timestamp, report: &mut PruneReport) -> Result<(), Error> {
        for name in self.old_trash(now)? {
            durable::remove_tree(&self.trash().join(&name))?;
            report.erased += 1;
        }
        Ok(())
    }

    fn old_trash(&self, now: Timestamp) -> Result<Vec<String>, Error> {
        let limit = now.as_second() - i64::try_from(TRASH_DAYS * 86_400).unwrap_or(i64::MAX);
        let thrown = |name: &String| name.split_once('~').and_then(|(stamp, _)| stamp.parse::<i64>().ok());
        let mut names = list(&self.trash())?;
        names.retain(|name| thrown(name).is_some_and(|thrown| thrown <= limit));
        Ok(names)
    }
}

fn is_due(state: &State, policy: &Policy, now: Timestamp) -> bool {
    let mut newest = None;
    for file in state.files.values() {
        let Some(gone) = file.gone else { return false };
        newest = newest.max(Some(gone));
    }
    newest.is_some_and(|gone| older(gone.into(), now, policy.keep_gone))
}

fn older(then: SystemTime, now: Timestamp, age: Duration) -> bool {
    SystemTime::from(now).duration_since(then).is_ok_and(|passed| passed > age)
}
