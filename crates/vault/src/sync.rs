//! Bringing the mirror up to date.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

use agents::SessionId;
use agents::claude::{ConfigDir, Source, Trouble, Walk, walk};
use jiff::Timestamp;
use rayon::prelude::*;
use store::file_cache::Entry;

use crate::account::is_same_account;
use crate::event::{Event, Happening};
use crate::gone::{self, Doubt};
use crate::manifest::Begin;
use crate::plan::Depth;
use crate::seen::{self, Cache, Seen};
use crate::store::{Origination, Stored, Writer};
use crate::vault::Vault;
use crate::{Error, Key, idle, unmirrored};

/// How a sync is to be done.
pub struct SyncOptions<'a> {
    /// The time to put on record.
    pub now: Timestamp,
    /// Whether an agent that lives may be writing a file.
    pub owner_alive: &'a (dyn Fn(&Source) -> bool + Sync),
    /// Believe that many files are gone at once, where a person has said so.
    pub believe_mass_deletion: bool,
}

impl SyncOptions<'_> {
    /// Nobody owns anything: for tests and for files at rest.
    pub fn at(now: Timestamp) -> Self {
        Self { now, owner_alive: &|_| false, believe_mass_deletion: false }
    }
}

/// How far a sync is.
#[derive(Debug, Clone, Copy)]
pub struct Progress {
    /// Bytes of changed files done.
    pub done: u64,
    /// Bytes of changed files in all.
    pub total: u64,
}

/// What a sync did and noticed.
#[derive(Debug, Default)]
pub struct SyncReport {
    /// Files looked at.
    pub files: usize,
    /// Files of which something was stored.
    pub changed: usize,
    /// Bytes read from changed files and stored.
    pub bytes_read: u64,
    /// Bytes that made in the vault.
    pub bytes_stored: u64,
    /// What happened to files since the last sync.
    pub events: Vec<Happening>,
    /// What looks like a loss and may not be one; nothing is marked.
    pub doubts: Vec<Doubt>,
    /// What could not be looked at.
    pub troubles: Vec<Trouble>,
    /// Files that could not be stored.
    pub failures: Vec<(PathBuf, Error)>,
}

// More than this is a first sync or a long absence: agents go first at the disk.
const BULK: u64 = 64 * 1024 * 1024;

// A shrink under a live owner is believed when it is still there after this (ARCHITECTURE.md).
const SECOND_LOOK_NS: i64 = 2_000_000_000;

/// What one conversation came to.
#[derive(Default)]
pub(crate) struct Outcome {
    pub(crate) news: Vec<(PathBuf, Entry<Seen>)>,
    pub(crate) report: SyncReport,
}

impl Outcome {
    pub(crate) fn add(mut self, other: Self) -> Self {
        self.news.extend(other.news);
        let (mine, theirs) = (&mut self.report, other.report);
        mine.changed += theirs.changed;
        mine.bytes_read += theirs.bytes_read;
        mine.bytes_stored += theirs.bytes_stored;
        mine.events.extend(theirs.events);
        mine.doubts.extend(theirs.doubts);
        mine.failures.extend(theirs.failures);
        self
    }
}

impl Vault {
    /// Mirrors everything under these configuration directories. Safe to run twice at once and to kill at any time.
    pub fn sync(
        &self,
        configs: &[ConfigDir],
        options: &SyncOptions<'_>,
        progress: &(dyn Fn(Progress) + Sync),
    ) -> Result<SyncReport, Error> {
        let synced = self.sync_all(configs, options, progress);
        let failures = match &synced {
            Ok((report, sessions)) => {
                let failures = report.failures.iter();
                failures.map(|(path, error)| (path.clone(), sessions.get(path).cloned(), error)).collect()
            }
            Err(error) => vec![(self.root().to_path_buf(), None, error)],
        };
        unmirrored::note(self.cache(), configs, failures, options.now);
        synced.map(|(report, _)| report)
    }

    /// The same, with the sessions of the files that could not be copied.
    fn sync_all(
        &self,
        configs: &[ConfigDir],
        options: &SyncOptions<'_>,
        progress: &(dyn Fn(Progress) + Sync),
    ) -> Result<(SyncReport, HashMap<PathBuf, SessionId>), Error> {
        seen::settle(self)?;
        let _shared = self.share()?;
        let (cache, mut walks) =
            rayon::join(|| seen::load(self), || configs.par_iter().map(walk).collect::<Vec<Walk>>());
        let cache = cache?;
        let forgotten = self.forgotten()?;
        // Those that lead to the same transcripts have one copy of them.
        let first_of = |config: &ConfigDir| {
            configs.iter().find(|one| is_same_account(one.path(), config.path())).unwrap_or(config).clone()
        };
        let firsts: HashMap<&ConfigDir, ConfigDir> =
            configs.iter().map(|config| (config, first_of(config))).collect();
        let by_two_paths = firsts.iter().any(|(config, first)| *config != first);
        let mut groups: HashMap<Key, (Begin, Vec<&Source>)> = HashMap::new();
        for source in walks.iter().flat_map(|walk| &walk.sources) {
            if is_known(&cache, source) {
                continue;
            }
            let is_forgotten = |session| forgotten.has_session(&source.config, session);
            if !source.session.as_ref().is_some_and(is_forgotten) {
                let first = firsts.get(&source.config).filter(|_| source.session.is_some());
                let (key, begin) =
                    self.key_and_begin(first.unwrap_or(&source.config), source.session.as_ref());
                let (_, sources) = groups.entry(key).or_insert((begin, Vec::new()));
                // By two paths it is one file; the next sync sees by the other one that nothing has changed.
                let is_same = |known: &&Source| known.relative() == source.relative();
                if !(by_two_paths && sources.iter().any(is_same)) {
                    sources.push(source);
                }
            }
        }
        let mut groups: Vec<(Key, (Begin, Vec<&Source>))> = groups.into_iter().collect();
        // Oldest first: an origin before its forks, so that they find its frames.
        groups.sort_by_key(|(_, (_, sources))| sources.iter().map(|source| source.stamp.mtime_ns).max());
        let mut keys: Vec<Key> = groups.iter().map(|(key, _)| key.clone()).collect();
        let missing = gone::look(&cache, &walks, options.believe_mass_deletion);
        keys.extend(missing.keys());
        if !keys.is_empty() {
            seen::touch(self, &keys)?;
        }
        let total: u64 =
            groups.iter().flat_map(|(_, (_, sources))| sources).map(|source| source.stamp.size).sum();
        let done = AtomicU64::new(0);
        let work = || {
            groups
                .into_iter()
                .par_bridge()
                .map(|(key, (begin, sources))| {
                    let outcome = self.sync_conversation((&key, begin), &sources, &cache, options);
                    let bytes: u64 = sources.iter().map(|source| source.stamp.size).sum();
                    let done = done.fetch_add(bytes, Ordering::Relaxed) + bytes;
                    progress(Progress { done, total });
                    outcome
                })
                .reduce(Outcome::default, Outcome::add)
        };
        let idle = if total > BULK { idle::pool() } else { None };
        let mut outcome = match idle {
            Some(pool) => pool.install(work),
            None => work(),
        };
        outcome = outcome.add(missing.note(self, &cache, options));
        if !keys.is_empty() {
            seen::save(self, cache, std::mem::take(&mut outcome.news), &keys)?;
        }
        let mut report = outcome.report;
        report.files = walks.iter().map(|walk| walk.sources.len()).sum();
        let failed = |source: &&Source| report.failures.iter().any(|(path, _)| *path == source.path);
        let sources = walks.iter().flat_map(|walk| &walk.sources);
        let sessions = match report.failures.is_empty() {
            true => HashMap::new(),
            false => sources
                .filter(failed)
                .filter_map(|source| Some((source.path.clone(), source.session.clone()?)))
                .collect(),
        };
        report.troubles = walks.iter_mut().flat_map(|walk| std::mem::take(&mut walk.troubles)).collect();
        Ok((report, sessions))
    }

    fn sync_conversation(
        &self,
        named: (&Key, Begin),
        sources: &[&Source],
        cache: &Cache,
        options: &SyncOptions<'_>,
    ) -> Outcome {
        let mut outcome = Outcome::default();
        if let Err(error) = self.try_sync_conversation(named, sources, cache, options, &mut outcome) {
            // Nothing was committed, so nothing is known and nothing happened.
            outcome = Outcome::default();
            let path = sources.first().map(|source| source.path.clone()).unwrap_or_default();
            if !matches!(error, Error::Forgotten { .. }) {
                outcome.report.failures.push((path, error));
            }
        }
        outcome
    }

    fn try_sync_conversation(
        &self,
        (key, begin): (&Key, Begin),
        sources: &[&Source],
        cache: &Cache,
        options: &SyncOptions<'_>,
        outcome: &mut Outcome,
    ) -> Result<(), Error> {
        let mut writer = Writer::open(self, key, begin)?;
        for source in sources {
            let shrink = Shrink::of(&writer, source, cache, options);
            // A new generation rewrites none, so the copy is made at once: the file may be gone at the next look.
            match self.with_codec(|codec| writer.store(codec, source, Depth::Tail, Origination::Theirs))? {
                Ok(stored) => outcome.note(key, source, &stored, shrink, options.now),
                // It was there a moment ago; the next sync will see that it is gone.
                Err(Error::Read { source: error, .. }) if error.kind() == std::io::ErrorKind::NotFound => {}
                Err(error) => outcome.report.failures.push((source.path.clone(), error)),
            }
        }
        outcome.report.bytes_stored += writer.bytes_stored;
        writer.commit(options.now)?;
        Ok(())
    }
}

impl Outcome {
    fn note(&mut self, key: &Key, source: &Source, stored: &Stored, shrink: Option<Shrink>, now: Timestamp) {
        // What has come back was never lost, and a loss that is not believed yet is a doubt.
        let shrink = shrink.filter(|_| stored.standing.is_loss() || stored.event == Some(Event::Returned));
        let open = shrink.filter(|shrink| shrink.is_open && stored.standing.is_loss());
        let value = Seen {
            key: key.to_string(),
            generation: stored.generation,
            gone: false,
            shrunk: open.map(|shrink| (shrink.from, shrink.first)),
            standing: stored.standing,
        };
        let entry = Entry { stamp: stored.stamp, read_at_ns: stored.read_at_ns, value };
        self.news.push((source.path.clone(), entry));
        if stored.event.is_some() {
            self.report.changed += 1;
            self.report.bytes_read += stored.bytes_read;
        }
        if let Some(Shrink { from, .. }) = open {
            let (path, to) = (source.path.clone(), stored.stamp.size);
            self.report.doubts.push(Doubt::Shrinking { path, from, to });
            return;
        }
        let (event, old_size) = match shrink {
            // The copy was made at an earlier look; the verdict comes now.
            Some(shrink) if stored.standing.is_loss() => (Some(stored.standing), shrink.from),
            Some(_) => (None, stored.old_size),
            None => (stored.event, stored.old_size),
        };
        let Some(event) = event else { return };
        self.report.events.push(Happening {
            key: key.clone(),
            session: source.session.clone(),
            path: source.path.clone(),
            event,
            generation: stored.generation,
            at: now,
            sizes: (old_size, stored.stamp.size),
        });
    }
}

pub(crate) fn name_of(source: &Source) -> String {
    source.relative().to_string_lossy().into_owned()
}

fn is_known(cache: &Cache, source: &Source) -> bool {
    cache.fresh(&source.path, &source.stamp).is_some_and(|seen| !seen.gone && seen.shrunk.is_none())
}

/// A file that became shorter while its owner lives. An agent truncates in place and writes on (docs/damage.md): what a
/// single look sees may be the middle of that, so only a second look says that something was lost.
#[derive(Clone, Copy)]
struct Shrink {
    /// Bytes that it had.
    from: u64,
    /// When it was first seen, in nanoseconds since 1970.
    first: i64,
    /// Whether it is too early to say.
    is_open: bool,
}

impl Shrink {
    fn of(writer: &Writer<'_>, source: &Source, cache: &Cache, options: &SyncOptions<'_>) -> Option<Shrink> {
        let known = writer.file(&name_of(source))?.newest()?;
        let noted = cache.entry(&source.path)?.value.shrunk;
        let is_owned = (options.owner_alive)(source);
        let now = i64::try_from(options.now.as_nanosecond()).unwrap_or(i64::MAX);
        let (from, first) = match noted {
            Some(noted) => noted,
            None if is_owned && source.stamp.size < known.source.size => (known.source.size, now),
            None => return None,
        };
        // A clock that went back makes the second look wait anew.
        let first = first.min(now);
        Some(Shrink { from, first, is_open: is_owned && now - first < SECOND_LOOK_NS })
    }
}
