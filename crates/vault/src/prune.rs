//! Letting go of what is old, by way of a trash that keeps it for a week more.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;
use store::durable;
use store::journal::{Entry, Journal};

use crate::collect::WORTH;
use crate::error::reading;
use crate::forget::trash_suffix;
use crate::frame::Frame;
use crate::replay::State;
use crate::vault::{Vault, list};
use crate::worked::Worked;
use crate::{Error, Key, seen};

/// How long things stay.
#[derive(Debug, Clone, Copy)]
pub struct Policy {
    /// Conversations, after the agent's files are gone.
    pub keep_gone: Duration,
    /// Copies made by repairs.
    pub keep_backups: Duration,
    /// How much of a time in which rekindle did nothing counts at most: a clock that jumps ahead ages nothing by more.
    pub idle: Duration,
}

impl Policy {
    /// Less than the week in the trash, and more than a weekend.
    pub const IDLE: Duration = Duration::from_secs(3 * 86_400);
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
    /// Things that are past their time by the clock alone: rekindle was not at work for that long, so they stay.
    pub waiting: usize,
    /// Bytes given back by rewriting conversations without what they superseded.
    pub collected: u64,
}

// ARCHITECTURE.md: pruning goes through a 7-day trash.
const IN_TRASH: Duration = Duration::from_secs(7 * 86_400);

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
        let due = self.due(policy, now)?;
        report.waiting = due.waiting;
        for name in &due.trash {
            durable::remove_tree(&self.trash().join(name))?;
        }
        report.erased = due.trash.len();
        self.prune_conversations(due.conversations, now, &mut report)?;
        for (session, stamp) in &due.backups {
            let path = self.backups().join(session).join(stamp);
            self.trash_folder(&path, &format!("~backups~{session}~{stamp}"), now)?;
        }
        report.backups = due.backups.len();
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
        let due = self.due(policy, now)?;
        Ok(PruneReport {
            trashed: due.conversations,
            backups: due.backups.len(),
            erased: due.trash.len(),
            waiting: due.waiting,
            ..PruneReport::default()
        })
    }

    /// What is past its time: by the clock, and by how long rekindle was at work.
    fn due(&self, policy: &Policy, now: Timestamp) -> Result<Due, Error> {
        let gone = self.states()?.into_iter().filter_map(|(key, state)| Some((key, gone_since(&state)?)));
        let gone: Vec<(Key, Timestamp)> =
            gone.filter(|(_, gone)| older(*gone, now, policy.keep_gone)).collect();
        let backups: Vec<(RepairCopy, Timestamp)> = self
            .all_backups()?
            .into_iter()
            .filter(|(_, made)| older(*made, now, policy.keep_backups))
            .collect();
        let trash: Vec<(String, Timestamp)> =
            self.all_trash()?.into_iter().filter(|(_, thrown)| older(*thrown, now, IN_TRASH)).collect();
        let all = gone.len() + backups.len() + trash.len();
        if all == 0 {
            return Ok(Due::default());
        }
        let times = Journal::at(self.journal_path()).times().map_err(reading(self.journal_path()))?;
        let worked = Worked::new(&times, now, policy.idle);
        let mut due = Due {
            conversations: past(gone, &worked, policy.keep_gone),
            backups: past(backups, &worked, policy.keep_backups),
            trash: past(trash, &worked, IN_TRASH),
            waiting: 0,
        };
        due.waiting = all - due.conversations.len() - due.backups.len() - due.trash.len();
        Ok(due)
    }

    fn prune_conversations(
        &self,
        keys: Vec<Key>,
        now: Timestamp,
        report: &mut PruneReport,
    ) -> Result<(), Error> {
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

    /// Every copy of a repair, and when it was made.
    fn all_backups(&self) -> Result<Vec<(RepairCopy, Timestamp)>, Error> {
        let mut all = Vec::new();
        for session in list(&self.backups())? {
            for stamp in list(&self.backups().join(&session))? {
                let path = self.backups().join(&session).join(&stamp);
                let made =
                    std::fs::metadata(&path).and_then(|meta| meta.modified()).map_err(reading(&path))?;
                // A time that cannot be told is no reason to let something go.
                if let Ok(made) = Timestamp::try_from(made) {
                    all.push(((session.clone(), stamp), made));
                }
            }
        }
        Ok(all)
    }

    fn trash_folder(&self, folder: &std::path::Path, suffix: &str, now: Timestamp) -> Result<(), Error> {
        let name = format!("{}{suffix}", now.as_second());
        Ok(durable::rename(folder, &self.trash().join(name))?)
    }

    /// What is in the trash, and since when.
    fn all_trash(&self) -> Result<Vec<(String, Timestamp)>, Error> {
        let thrown = |name: &str| name.split_once('~').and_then(|(stamp, _)| stamp.parse::<i64>().ok());
        let at = |name: String| {
            Some((thrown(&name).and_then(|second| Timestamp::from_second(second).ok())?, name))
        };
        Ok(list(&self.trash())?.into_iter().filter_map(at).map(|(at, name)| (name, at)).collect())
    }
}

/// A copy of a repair: its session, and its folder's name.
type RepairCopy = (String, String);

/// What is past its time.
#[derive(Debug, Default)]
struct Due {
    conversations: Vec<Key>,
    backups: Vec<RepairCopy>,
    trash: Vec<String>,
    /// How many are past it by the clock alone.
    waiting: usize,
}

/// Since when all files of a conversation are gone from the agent's folder; nothing where one is there.
fn gone_since(state: &State) -> Option<Timestamp> {
    let gone = state.files.values().map(|file| file.gone).collect::<Option<Vec<Timestamp>>>()?;
    gone.into_iter().max()
}

fn past<T>(things: Vec<(T, Timestamp)>, worked: &Worked, age: Duration) -> Vec<T> {
    things.into_iter().filter(|(_, since)| worked.is_past(*since, age)).map(|(thing, _)| thing).collect()
}

fn older(then: Timestamp, now: Timestamp, age: Duration) -> bool {
    now.as_second().saturating_sub(then.as_second()) > i64::try_from(age.as_secs()).unwrap_or(i64::MAX)
}
