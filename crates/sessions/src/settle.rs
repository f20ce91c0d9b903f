//! Settling: everything that hooks left is folded into records, the machine is looked at, and what follows is written.
//!
//! One at a time, by a lock. Killed anywhere, the next one does it again: events are read from where the record says, the
//! journal is asked what it already told, and everything else is derived.

mod examine;
mod fold_spool;
mod publish;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::PathBuf;
use std::time::Duration;

use agents::claude::ConfigDir;
use agents::{SessionId, SessionKey};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use store::StateDir;
use store::durable;
use store::fallback_spool::FallbackSpool;
use store::journal::{Entry, Journal};
use store::lock::{Lock, LockError};
use store::machine_key::{KeyTrouble, MachineKey};
use store::record::{self, Held, RecordError, SessionRecord, Status};
use store::spool;

use crate::alarm::Alarm;
use crate::complete::{Account, complete_names};
use crate::ending::{ending, exited_by_history};
use crate::machine_state::{Life, MachineState, socket_of};
use crate::note::tell;
use crate::spools;
use crate::{accounts, adopt, bind, closed, follow, names, oom, trust, verdict};

/// What settling needs to know.
#[derive(Debug, Clone)]
pub struct Settler {
    /// What rekindle remembers.
    pub state: StateDir,
    /// Where events wait when the state cannot be written.
    pub refuge: FallbackSpool,
    /// The machine's key.
    pub key: MachineKey,
    /// The agents' configuration directories.
    pub configs: Vec<ConfigDir>,
    /// The accounts, where some are configured.
    pub accounts: Vec<Account>,
    /// How long entries of the map are kept.
    pub keep_map: Duration,
    /// The most characters of a restoration context.
    pub context_limit: usize,
    /// The user's time zone.
    pub zone: TimeZone,
    /// tmux servers to look at besides those that conversations are on: for people who ask about any pane.
    pub sockets: BTreeSet<PathBuf>,
    /// Whether each conversation is logged in its project.
    pub log: bool,
}

/// Why nothing was settled.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Another process is at it.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// Something could not be written.
    #[error(transparent)]
    Write(#[from] durable::Error),
    /// The records cannot be listed or written.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// The state directory belongs to a key that is not here.
    #[error(transparent)]
    Key(#[from] KeyTrouble),
    /// What was to be accepted is not what was shown.
    #[error("accept the record of {session}: it has changed since it was shown; look at it again")]
    ChangedSince {
        /// The session.
        session: SessionKey,
    },
    /// A save cannot be written.
    #[error(transparent)]
    Save(#[from] store::saves::SaveError),
    /// The spool cannot be listed.
    #[error("list {}", path.display())]
    Spool {
        /// The folder.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: std::io::Error,
    },
}

/// What was settled.
#[derive(Debug, Clone, Default)]
pub struct Settled {
    /// Conversations with news.
    pub touched: BTreeSet<SessionKey>,
    /// Events that were folded in.
    pub events: usize,
    /// Conversations whose turn ended, or that ended: the vault should take them now.
    pub turned: BTreeSet<SessionKey>,
    /// Conversations that came, went, or are in another pane than before: a save of tmux should say so.
    pub moved: BTreeSet<SessionKey>,
    /// What is going wrong.
    pub alarms: Vec<Alarm>,
    /// Every record as it now is.
    pub records: BTreeMap<SessionKey, SessionRecord>,
    /// The machine as it was found.
    pub world: MachineState,
    /// What went wrong without stopping anything.
    pub troubles: Vec<String>,
    /// Conversations that their user wants forgotten: they are followed, and nothing that is said in them is kept.
    pub forgotten: BTreeSet<SessionKey>,
    logged: HashMap<SessionKey, Vec<(u64, spool::Event)>>,
    /// Ids of which a record was broken and is not made again yet.
    set_aside: BTreeSet<SessionId>,
    closed: BTreeSet<SessionKey>,
}

impl Settled {
    /// This settlement and the one after it, as one.
    #[must_use]
    pub fn and(self, next: Settled) -> Settled {
        Settled {
            touched: self.touched.into_iter().chain(next.touched).collect(),
            events: self.events + next.events,
            turned: self.turned.into_iter().chain(next.turned).collect(),
            moved: self.moved.into_iter().chain(next.moved).collect(),
            troubles: self.troubles.into_iter().chain(next.troubles).collect(),
            ..next
        }
    }
}

/// The lock that settling works under.
pub fn lock_path(state: &StateDir) -> PathBuf {
    state.locks().join("settle")
}

impl Settler {
    pub(crate) fn lock(&self) -> PathBuf {
        lock_path(&self.state)
    }

    /// Whether events wait that no record has.
    pub fn has_news(&self) -> bool {
        let Ok(spools) = spools::list(&self.state) else { return false };
        let known = spools::known(&self.state);
        spools.iter().any(|spooled| known.get(spooled.session.as_str()) != Some(&spooled.length))
    }

    /// Settles everything there is, waiting for the lock until the deadline.
    ///
    /// # Errors
    /// Another process holds the lock still, or the state cannot be written.
    pub fn settle(&self, now: Timestamp, deadline: Duration) -> Result<Settled, Error> {
        self.settle_again(now, deadline, &BTreeSet::new())
    }

    /// Settles, and looks again at the transcripts of these conversations.
    ///
    /// # Errors
    /// As for [`Settler::settle`].
    pub fn settle_again(
        &self,
        now: Timestamp,
        deadline: Duration,
        again: &BTreeSet<SessionKey>,
    ) -> Result<Settled, Error> {
        self.key.writing()?;
        durable::private_dir(&self.state.locks())?;
        let _alone = Lock::acquire(&self.lock(), deadline)?;
        self.settle_locked(now, again)
    }

    /// Changes one record under the lock, and everything derived from it.
    ///
    /// # Errors
    /// As for [`Settler::settle`]; nothing where there is no such record.
    pub fn change(
        &self,
        session: &SessionKey,
        now: Timestamp,
        deadline: Duration,
        change: impl FnOnce(&mut SessionRecord),
    ) -> Result<Option<Settled>, Error> {
        durable::private_dir(&self.state.locks())?;
        let _alone = Lock::acquire(&self.lock(), deadline)?;
        let Some(mut held) = record::load(&self.state, self.key.reading(), session)? else { return Ok(None) };
        change(&mut held.record);
        // Names and their hash follow from what was changed.
        held.record.place_hash = None;
        record::store(&self.state, self.key.writing()?, &held)?;
        self.settle_locked(now, &BTreeSet::from([session.clone()])).map(Some)
    }

    fn settle_locked(&self, now: Timestamp, again: &BTreeSet<SessionKey>) -> Result<Settled, Error> {
        let key = self.key.writing()?;
        let mut settled = Settled { touched: again.clone(), ..Settled::default() };
        spools::take_refuge(&self.refuge, &self.state, &mut settled.troubles);
        let folder = self.state.spool();
        let spools = spools::list(&self.state).map_err(|source| Error::Spool { path: folder, source })?;
        let mut held = self.load(&mut settled, now)?;
        let before: BTreeMap<SessionKey, SessionRecord> =
            held.iter().map(|(id, held)| (id.clone(), held.record.clone())).collect();
        let mut records = before.clone();
        let mut notes = Vec::new();
        for spooled in &spools {
            self.fold_spool(spooled, &mut records, &mut notes, &mut settled, now);
        }
        spools::begin_anew(&spools, &mut records);
        records.values_mut().for_each(SessionRecord::learn_account);
        let mut world = MachineState::look(&self.all_configs(&records), &self.all_sockets(&records));
        notes.extend(adopt::adopt(&mut records, &world, now));
        trust::verify(&mut records, &world);
        trust::prefer_genuine(&mut records, &world);
        // Agents without hooks may live on servers that no record has named before.
        world.ask(&sockets(records.values()));
        notes.extend(follow::follow(&mut records, &world));
        notes.extend(follow::origins(&mut records));
        notes.extend(follow::takeovers(&mut records));
        follow::dead_ends(&mut records, &world, &settled.closed);
        settled.forgotten = self.forgotten(&records);
        for id in &settled.forgotten {
            if let Some(record) = records.get_mut(id).filter(|record| record.summary_source.is_none()) {
                record.task.clone_from(&record.given.task);
            }
        }
        let endings = self.complete(&mut records, &world, &mut settled);
        notes.extend(bind::bind(&mut records, &world, now));
        notes.extend(self.judge(&mut records, &world, now));
        for record in records.values_mut() {
            if record.place_hash.is_none() || before.get(&record.session_id) != Some(record) {
                complete_names(record);
            }
        }
        names::name_all(&before, &mut records, self.forgets_before(now));
        closed::leave(&settled.closed, &before, &mut records, &mut notes);
        tell(&Journal::at(self.state.journal()), &notes)?;
        self.log(&records, &endings, &mut settled);
        let mut unstored = settled.closed.clone();
        for (id, record) in in_storing_order(&before, &records) {
            settled.touched.insert(id.clone());
            if before.get(id).is_none_or(|before| has_moved(before, record)) {
                settled.moved.insert(id.clone());
            }
            let mut entry = held.remove(id).unwrap_or_else(|| Held::fresh(record.clone()));
            entry.record = record.clone();
            if let Err(error) = record::store(&self.state, key, &entry) {
                match error {
                    RecordError::Unwritable(error) => return Err(error.into()),
                    other => settled.troubles.push(other.to_string()),
                }
                unstored.insert(id.clone());
            }
        }
        // First stored, then removed: killed in between, the spool is still there and known to be folded in.
        let stored = |id: &SessionId| {
            let all: Vec<&SessionRecord> = accounts::with_id(&records, id).collect();
            let closed = unstored.iter().any(|key| key.id() == id);
            (!closed).then_some(all)
        };
        let retired = spools::retired(&spools, stored, self.forgets_before(now));
        spools::remember(&self.state, &spools, &retired, now)?;
        for spooled in retired {
            spools::remove(spooled)?;
            for record in accounts::with_id(&records, &spooled.session) {
                durable::remove(&self.state.spool().join(format!("{}.status", record.session_id)))?;
            }
        }
        self.derive(&records, &world, &endings, now)?;
        self.tag(&records, &world, &mut settled.troubles);
        settled.alarms = self.alarms(&records, &world, now);
        settled.records = records;
        settled.world = world;
        Ok(settled)
    }

    /// The configuration directories that are known here, and those that active conversations are in: a settle that an
    /// agent's hook started sees only that agent's own in its environment.
    fn all_configs(&self, records: &BTreeMap<SessionKey, SessionRecord>) -> Vec<ConfigDir> {
        let active = records.values().filter(|record| record.status == Status::Active);
        let mut configs = self.configs.clone();
        for config in active.filter_map(SessionRecord::config_dir).map(ConfigDir::new) {
            if !configs.contains(&config) {
                configs.push(config);
            }
        }
        configs
    }

    /// The conversations on record that their user wants forgotten. One whose configuration directory is not known counts as
    /// forgotten where any known one has forgotten it.
    fn forgotten(&self, records: &BTreeMap<SessionKey, SessionRecord>) -> BTreeSet<SessionKey> {
        let Ok(forgotten) = vault::Forgotten::load(&self.state) else { return BTreeSet::new() };
        let is = |record: &&SessionRecord| match record.config_dir() {
            Some(config) if config.is_dir() => {
                forgotten.has_session(&ConfigDir::new(config), record.session_id.id())
            }
            // Gone, or the path of a container.
            Some(_) | None => {
                self.configs.iter().any(|config| forgotten.has_session(config, record.session_id.id()))
            }
        };
        records.values().filter(is).map(|record| record.session_id.clone()).collect()
    }

    fn all_sockets(&self, records: &BTreeMap<SessionKey, SessionRecord>) -> BTreeSet<PathBuf> {
        self.sockets.iter().cloned().chain(sockets(records.values())).collect()
    }

    /// Looks at records and machine without changing anything: what there is to see while another process settles,
    /// while everything is paused, or where the state cannot be written.
    ///
    /// # Errors
    /// The records cannot be listed.
    pub fn look(&self) -> Result<Settled, Error> {
        let mut settled = Settled::default();
        for id in record::keys(&self.state)? {
            match record::load(&self.state, self.key.reading(), &id) {
                Ok(Some(held)) => {
                    settled.records.insert(id, held.record);
                }
                Ok(None) => {}
                Err(error) => settled.troubles.push(unusable(&error)),
            }
        }
        settled.world =
            MachineState::look(&self.all_configs(&settled.records), &self.all_sockets(&settled.records));
        settled.forgotten = self.forgotten(&settled.records);
        Ok(settled)
    }

    /// The same, with every record judged as a settle would judge it: an agent whose process is provably gone has crashed,
    /// even if that cannot be stored now.
    ///
    /// # Errors
    /// As for [`Settler::look`].
    pub fn look_and_judge(&self, now: Timestamp) -> Result<Settled, Error> {
        let mut settled = self.look()?;
        // The journal hears of it from the settle that stores it.
        let _ = self.judge(&mut settled.records, &settled.world, now);
        Ok(settled)
    }

    /// Every record. One that is broken is set aside and made again from its spool; one of a newer program, or one that
    /// cannot be read now, is left as it is.
    fn load(&self, settled: &mut Settled, now: Timestamp) -> Result<BTreeMap<SessionKey, Held>, Error> {
        let mut all = BTreeMap::new();
        for id in record::keys(&self.state)? {
            match record::load(&self.state, self.key.reading(), &id) {
                Ok(Some(held)) => {
                    if held.record.schema > record::SCHEMA {
                        settled.closed.insert(id.clone());
                    }
                    all.insert(id, held);
                }
                Ok(None) => {}
                Err(RecordError::Broken { path, why }) => {
                    let aside = path.with_extension(format!("broken-{}", now.as_millisecond()));
                    durable::rename(&path, &aside)?;
                    settled.troubles.push(format!("{} was broken ({why}) and is made again", path.display()));
                }
                Err(error) => {
                    settled.troubles.push(unusable(&error));
                    settled.closed.insert(id);
                }
            }
        }
        // Also one that a settle set aside which was killed before it made it again.
        let aside = record::set_aside(&self.state)?.into_iter().filter(|key| !all.contains_key(key));
        settled.set_aside = aside.map(|key| key.id().clone()).collect();
        Ok(all)
    }

    fn judge(
        &self,
        records: &mut BTreeMap<SessionKey, SessionRecord>,
        world: &MachineState,
        now: Timestamp,
    ) -> Vec<Entry> {
        let mut notes = Vec::new();
        let open = |record: &&mut SessionRecord| {
            let left = record.status == Status::EndedCleanly && verdict::left_for_nowhere(record);
            record.status == Status::Active || left
        };
        for record in records.values_mut() {
            record.distrust_clock(now);
            verdict::end_dead_runs(record, world, now);
            let newest = record.run().map(|run| (run.ended_at.is_some(), world.life(run)));
            let over = match newest {
                Some((_, Life::Dead)) => true,
                Some((ended, _)) => ended && record.status != Status::Active,
                None => false,
            };
            if over {
                follow::remains(record, world);
            }
        }
        for record in records.values_mut().filter(open) {
            let Some(run) = record.run() else { continue };
            if world.life(run) == Life::Alive {
                record.memory_kills = oom::kills_around(run.pid);
                continue;
            }
            let transcript = record.transcript_path.as_deref().and_then(ending);
            let history = record.config_dir().map(|config| ConfigDir::new(config).history());
            let since = record.run().map_or(i64::MAX, |run| run.launched_at.as_millisecond());
            let exited = transcript.and_then(|ending| ending.exited_ms).is_some_and(|at| at >= since)
                || history.is_some_and(|history| {
                    exited_by_history(&history, record.session_id.id().as_str(), since)
                });
            if let Some(verdict) = verdict::verdict(record, world, exited) {
                let verdict = oom::weigh(verdict, record);
                notes.push(verdict::pronounce(record, &verdict, now));
            }
        }
        notes
    }
}

/// Why a record cannot be used, with what the system said.
pub(crate) fn unusable(error: &RecordError) -> String {
    let source = std::error::Error::source(error);
    format!("cannot {error}{}", source.map(|source| format!(": {source}")).unwrap_or_default())
}

/// The records that changed, new ones first: the other records of their id say that the spool is read, and the events of a
/// second account are in no other record. Killed in between, its session would be lost.
fn in_storing_order<'a>(
    before: &'a BTreeMap<SessionKey, SessionRecord>,
    records: &'a BTreeMap<SessionKey, SessionRecord>,
) -> impl Iterator<Item = (&'a SessionKey, &'a SessionRecord)> {
    let changed = records.iter().filter(|(id, record)| before.get(*id) != Some(*record));
    let (old, new): (Vec<_>, Vec<_>) = changed.partition(|(id, _)| before.contains_key(*id));
    new.into_iter().chain(old)
}

/// Whether what a save says of a conversation differs: whether it lives, as which process, in which pane, how sure that is.
fn has_moved(before: &SessionRecord, after: &SessionRecord) -> bool {
    let process = |record: &SessionRecord| {
        let run = record.run()?;
        Some((run.pid, run.proc_start, run.grade, run.argv.is_some()))
    };
    let told = |record: &SessionRecord| (record.status, process(record), record.cwd.clone());
    before.place != after.place || told(before) != told(after)
}

/// The sockets of the servers that active conversations are on.
fn sockets<'a>(records: impl Iterator<Item = &'a SessionRecord>) -> BTreeSet<PathBuf> {
    let mut sockets = BTreeSet::new();
    for record in records.filter(|record| record.status == Status::Active) {
        sockets.extend(record.place.as_ref().map(|place| place.socket.clone()));
        let tmux = record.run().and_then(|run| run.env.get("TMUX"));
        sockets.extend(tmux.and_then(|tmux| socket_of(tmux)));
    }
    sockets
}
