//! Settling: everything that hooks left is folded into records, the machine is looked at, and what follows is written.
//!
//! One at a time, by a lock. Killed anywhere, the next one does it again: events are read from where the record says, the
//! journal is asked what it already told, and everything else is derived.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::PathBuf;
use std::time::Duration;

use agents::SessionId;
use agents::claude::ConfigDir;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use state::StateDir;
use state::durable;
use state::journal::{Entry, Journal};
use state::lock::{Lock, LockError};
use state::record::{self, Activity, Doing, Held, RecordError, SessionRecord, Status};
use state::refuge::Refuge;
use state::seal::Key;
use state::spool;
use transcript::Ending;

use crate::alarm::{self, Alarm};
use crate::complete::{Account, complete_names, complete_run, complete_talk};
use crate::derive::context::Context;
use crate::derive::{self, map, registry};
use crate::ending::{ending, exited_by_history};
use crate::heard::{Heard, What};
use crate::spools::{self, Spooled};
use crate::world::{Life, World, socket_of};
use crate::{adopt, bind, fold, follow, talk_log, verdict};

/// What settling needs to know.
#[derive(Debug, Clone)]
pub struct Settler {
    /// What rekindle remembers.
    pub state: StateDir,
    /// Where events wait when the state cannot be written.
    pub refuge: Refuge,
    /// The machine's key.
    pub key: Key,
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
    pub touched: BTreeSet<SessionId>,
    /// Events that were folded in.
    pub events: usize,
    /// Conversations whose turn ended, or that ended: the vault should take them now.
    pub turned: BTreeSet<SessionId>,
    /// What is going wrong.
    pub alarms: Vec<Alarm>,
    /// Every record as it now is.
    pub records: BTreeMap<SessionId, SessionRecord>,
    /// The machine as it was found.
    pub world: World,
    /// What went wrong without stopping anything.
    pub troubles: Vec<String>,
    logged: HashMap<SessionId, Vec<(u64, spool::Event)>>,
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
        again: &BTreeSet<SessionId>,
    ) -> Result<Settled, Error> {
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
        session: &SessionId,
        now: Timestamp,
        deadline: Duration,
        change: impl FnOnce(&mut SessionRecord),
    ) -> Result<Option<SessionRecord>, Error> {
        durable::private_dir(&self.state.locks())?;
        let _alone = Lock::acquire(&self.lock(), deadline)?;
        let Some(mut held) = record::load(&self.state, Some(&self.key), session)? else { return Ok(None) };
        change(&mut held.record);
        record::store(&self.state, &self.key, &held)?;
        let settled = self.settle_locked(now, &BTreeSet::from([session.clone()]))?;
        Ok(settled.records.get(session).cloned())
    }

    fn settle_locked(&self, now: Timestamp, again: &BTreeSet<SessionId>) -> Result<Settled, Error> {
        let mut settled = Settled { touched: again.clone(), ..Settled::default() };
        spools::take_refuge(&self.refuge, &self.state, &mut settled.troubles);
        let folder = self.state.spool();
        let spools = spools::list(&self.state).map_err(|source| Error::Spool { path: folder, source })?;
        let mut held = self.load(&mut settled, now)?;
        let before: BTreeMap<SessionId, SessionRecord> =
            held.iter().map(|(id, held)| (id.clone(), held.record.clone())).collect();
        let mut records = before.clone();
        let mut notes = Vec::new();
        for spooled in &spools {
            self.fold_spool(spooled, &mut records, &mut notes, &mut settled, now);
        }
        let mut world = World::look(&self.all_configs(&records), &sockets(records.values()));
        notes.extend(adopt::adopt(&mut records, &world, now));
        // Agents without hooks may live on servers that no record has named before.
        world.ask(&sockets(records.values()));
        notes.extend(follow::follow(&mut records));
        let endings = self.complete(&mut records, &world, &settled, now);
        notes.extend(bind::bind(&mut records, &world, now));
        notes.extend(self.judge(&mut records, &world, now));
        for record in records.values_mut() {
            if record.place_hash.is_none() || before.get(&record.session_id) != Some(record) {
                complete_names(record);
            }
        }
        self.tell(&notes)?;
        self.log(&records, &endings, &mut settled);
        for (id, record) in &records {
            if before.get(id) == Some(record) {
                continue;
            }
            settled.touched.insert(id.clone());
            let mut entry = held.remove(id).unwrap_or_else(|| Held::fresh(record.clone()));
            entry.record = record.clone();
            if let Err(error) = record::store(&self.state, &self.key, &entry) {
                match error {
                    RecordError::Unwritable(error) => return Err(error.into()),
                    other => settled.troubles.push(other.to_string()),
                }
            }
        }
        spools::remember(&self.state, &spools, now)?;
        self.derive(&records, &world, &endings, now)?;
        self.tag(&records, &world, &mut settled.troubles);
        settled.alarms = self.alarms(&records, &world, now);
        settled.records = records;
        settled.world = world;
        Ok(settled)
    }

    fn alarms(
        &self,
        records: &BTreeMap<SessionId, SessionRecord>,
        world: &World,
        now: Timestamp,
    ) -> Vec<Alarm> {
        let busy = records.values().filter(|record| {
            record.status == Status::Active
                && record.activity.is_some_and(|activity| activity.state == Doing::Busy)
        });
        let growth = busy
            .filter_map(|record| {
                Some((record.session_id.clone(), alarm::growth(record.transcript_path.as_deref()?)))
            })
            .collect();
        let mut alarms = alarm::of_agents(records, world, &growth, now);
        let places = std::iter::once(self.state.path()).chain(self.configs.iter().map(ConfigDir::path));
        let mut full: Vec<Alarm> =
            places.filter_map(|path| alarm::of_space(path, alarm::space(path)?)).collect();
        // One file system mostly holds all of them.
        full.truncate(1);
        alarms.extend(full);
        alarms
    }

    /// The configuration directories that are known here, and those that active conversations are in: a settle that an
    /// agent's hook started sees only that agent's own in its environment.
    fn all_configs(&self, records: &BTreeMap<SessionId, SessionRecord>) -> Vec<ConfigDir> {
        let active = records.values().filter(|record| record.status == Status::Active);
        let mut configs = self.configs.clone();
        for config in active.filter_map(SessionRecord::config_dir).map(ConfigDir::new) {
            if !configs.contains(&config) {
                configs.push(config);
            }
        }
        configs
    }

    /// Every record. One that is broken is set aside and made again from its spool.
    fn load(&self, settled: &mut Settled, now: Timestamp) -> Result<BTreeMap<SessionId, Held>, Error> {
        let mut all = BTreeMap::new();
        for id in record::ids(&self.state)? {
            match record::load(&self.state, Some(&self.key), &id) {
                Ok(Some(held)) => {
                    all.insert(id, held);
                }
                Ok(None) => {}
                Err(RecordError::Broken { path, why }) => {
                    let aside = path.with_extension(format!("broken-{}", now.as_millisecond()));
                    durable::rename(&path, &aside)?;
                    settled.troubles.push(format!("{} was broken ({why}) and is made again", path.display()));
                }
                Err(error) => settled.troubles.push(error.to_string()),
            }
        }
        Ok(all)
    }

    fn fold_spool(
        &self,
        spooled: &Spooled,
        records: &mut BTreeMap<SessionId, SessionRecord>,
        notes: &mut Vec<Entry>,
        settled: &mut Settled,
        now: Timestamp,
    ) {
        let folded = records.get(&spooled.session).map_or(0, |record| record.spool_offset);
        if folded == spooled.length {
            return;
        }
        let (events, end) = match spool::read(&spooled.path, folded) {
            Ok(read) => read,
            Err(error) => {
                settled.troubles.push(format!("cannot read {}: {error}", spooled.path.display()));
                return;
            }
        };
        let session = &spooled.session;
        let record =
            records.entry(session.clone()).or_insert_with(|| SessionRecord::new(session.clone(), now));
        for (at, read) in events.into_iter().enumerate() {
            if self.log {
                settled.logged.entry(session.clone()).or_default().push((read.offset, read.event.clone()));
            }
            let heard = Heard::of(read);
            if at == 0 && folded == 0 && record.runs.is_empty() {
                record.created = heard.at;
                record.last_seen = heard.at;
            }
            let turned = matches!(
                heard.what,
                What::Stop | What::StopFailure { .. } | What::PreCompact | What::End { .. }
            );
            if turned {
                settled.turned.insert(session.clone());
            }
            notes.extend(fold::fold(record, &heard));
            settled.events += 1;
        }
        record.spool_offset = end;
        settled.touched.insert(session.clone());
    }

    /// What transcripts and registries say about the conversations with news.
    fn complete(
        &self,
        records: &mut BTreeMap<SessionId, SessionRecord>,
        world: &World,
        settled: &Settled,
        now: Timestamp,
    ) -> HashMap<SessionId, Ending> {
        let mut endings = HashMap::new();
        for (id, record) in records.iter_mut() {
            let busy = record.activity.filter(|activity| activity.state == Doing::Busy);
            let version_known = record.run().is_none_or(|run| run.claude_version.is_some());
            let unsettled = record.status == Status::Active && (busy.is_some() || !version_known);
            if !settled.touched.contains(id) && !unsettled {
                continue;
            }
            let talk = record.transcript_path.as_deref().and_then(ending);
            let status = spool::status(&self.state, id).and_then(|bytes| StatusInput::read(&bytes));
            let version = status.as_ref().and_then(|status| status.version.clone());
            let version = version.or_else(|| talk.as_ref().and_then(|talk| talk.version.clone()));
            complete_run(record, world, &self.accounts, version.as_deref());
            if let Some(used) = status.and_then(|status| status.used) {
                record.context_used = Some(used);
            }
            if let Some(talk) = talk {
                let newest = talk.newest_ms.and_then(|ms| Timestamp::from_millisecond(ms).ok());
                if talk.interrupted
                    && let (Some(busy), Some(newest)) = (busy, newest)
                    && newest >= busy.since
                {
                    record.activity = Some(Activity { state: Doing::Idle, since: newest });
                }
                if let Some(summary) = complete_talk(record, &talk) {
                    let path = self.summaries().join(format!("{}.txt", record.short_id));
                    // Derived: what cannot be written now is written at the next turn.
                    let _ = derive::write(&path, format!("{}\n", summary.trim_end()).as_bytes());
                }
                endings.insert(id.clone(), talk);
            }
            record.last_seen = record.last_seen.min(now.max(record.created));
        }
        endings
    }

    fn judge(
        &self,
        records: &mut BTreeMap<SessionId, SessionRecord>,
        world: &World,
        now: Timestamp,
    ) -> Vec<Entry> {
        let mut notes = Vec::new();
        for record in records.values_mut().filter(|record| record.status == Status::Active) {
            if record.run().is_none_or(|run| world.life(run) == Life::Alive) {
                continue;
            }
            let transcript = record.transcript_path.as_deref().and_then(ending);
            let history = record.config_dir().map(|config| ConfigDir::new(config).history());
            let exited = transcript.is_some_and(|ending| ending.exited)
                || history.is_some_and(|history| exited_by_history(&history, record.session_id.as_str()));
            if let Some(verdict) = verdict::verdict(record, world, exited) {
                notes.push(verdict::pronounce(record, &verdict, now));
            }
        }
        notes
    }

    /// Writes the journal, but what it already says about the same events.
    fn tell(&self, notes: &[Entry]) -> Result<(), Error> {
        if notes.is_empty() {
            return Ok(());
        }
        let journal = Journal::at(self.state.journal());
        let told = journal.read_tail(notes.len() + 64).unwrap_or_default();
        let key = |entry: &Entry| {
            let spool = entry.details.get("spool")?.as_u64()?;
            Some((entry.event.clone(), entry.details.get("session").cloned(), spool))
        };
        let told: Vec<_> = told.iter().filter_map(key).collect();
        for entry in notes {
            if key(entry).is_none_or(|key| !told.contains(&key)) {
                journal.append(entry)?;
            }
        }
        Ok(())
    }

    fn log(
        &self,
        records: &BTreeMap<SessionId, SessionRecord>,
        endings: &HashMap<SessionId, Ending>,
        settled: &mut Settled,
    ) {
        for (id, events) in std::mem::take(&mut settled.logged) {
            let Some(record) = records.get(&id) else { continue };
            if let Err(error) = talk_log::write(record, &events, endings.get(&id), &self.zone) {
                settled.troubles.push(format!("cannot {error}: {}", error.source));
            }
        }
    }

    fn summaries(&self) -> PathBuf {
        self.state.instances().join("summaries")
    }

    fn derive(
        &self,
        records: &BTreeMap<SessionId, SessionRecord>,
        world: &World,
        endings: &HashMap<SessionId, Ending>,
        now: Timestamp,
    ) -> Result<(), Error> {
        let folder = self.state.instances();
        let keep = SignedDuration::try_from(self.keep_map).unwrap_or(SignedDuration::MAX);
        let since = now.checked_sub(keep).unwrap_or(Timestamp::MIN);
        let owners = bind::owners(records.values(), world);
        let log = |record: &SessionRecord| {
            talk_log::path(record, &self.zone).filter(|log| self.log && log.exists())
        };
        let panes = map::map(records.values(), &owners, &self.summaries(), since, log);
        derive::write(&folder.join("pane-session-map.json"), &pretty(&panes))?;
        derive::write(&folder.join("registry.json"), &pretty(&registry::registry(records.values())))?;
        for id in endings.keys() {
            let Some(record) = records.get(id) else { continue };
            let summary =
                std::fs::read_to_string(self.summaries().join(format!("{}.txt", record.short_id))).ok();
            let context = Context {
                record,
                ending: endings.get(id),
                summary: summary.as_deref(),
                zone: &self.zone,
                most: self.context_limit,
            };
            let path = folder.join("restore/context-cache").join(format!("{id}.txt"));
            derive::write(&path, context.text().as_bytes())?;
        }
        Ok(())
    }

    /// Puts the ids of their conversations on the panes.
    fn tag(&self, records: &BTreeMap<SessionId, SessionRecord>, world: &World, troubles: &mut Vec<String>) {
        let owners = bind::owners(records.values(), world);
        for server in world.alive_servers() {
            let socket = server.socket.to_string_lossy().into_owned();
            let wanted = owners.iter().filter(|((at, _), _)| *at == socket);
            let stale: Vec<(&str, &str)> = wanted
                .filter(|((_, pane), owner)| {
                    let tag = server.pane(pane).and_then(|pane| pane.tag.as_deref());
                    tag != Some(owner.session_id.as_str())
                })
                .map(|((_, pane), owner)| (pane.as_str(), owner.session_id.as_str()))
                .collect();
            if let Err(error) = mux::tag(&server.socket, &stale, TAG_DEADLINE) {
                troubles.push(error.to_string());
            }
        }
    }
}

const TAG_DEADLINE: Duration = Duration::from_secs(5);

fn pretty(value: &serde_json::Value) -> Vec<u8> {
    format!("{value:#}\n").into_bytes()
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

/// What the newest input of a status line says beyond events.
struct StatusInput {
    version: Option<String>,
    used: Option<u32>,
}

impl StatusInput {
    fn read(bytes: &[u8]) -> Option<StatusInput> {
        let value: serde_json::Value = serde_json::from_slice(bytes).ok()?;
        let used = value["context_window"]["used_percentage"].as_f64();
        Some(StatusInput {
            version: value["version"].as_str().map(str::to_owned),
            used: used.filter(|used| (0.0..=1000.0).contains(used)).map(|used| used.round() as u32),
        })
    }
}
