//! What the vault knows of every mirrored file, in one cache: a sync with nothing to do opens no conversation.
//!
//! Derived from the manifests. Before manifests are written their names go into `vault-touched`; a sync that was
//! killed leaves them there, and the next one reads those manifests again.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use agents::Stamp;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use store::durable::{self, Sync};
use store::file_cache::{Entry, FileCache};
use store::lock::Lock;

use crate::event::Event;
use crate::replay::State;
use crate::vault::{PATIENCE, Vault};
use crate::{Error, Key};

/// The version of [`Seen`].
const VERSION: u32 = 1;

/// What is known of one mirrored file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Row", into = "Row")]
pub(crate) struct Seen {
    pub(crate) key: String,
    pub(crate) generation: u32,
    pub(crate) gone: bool,
    /// A shrink under a live owner, seen once: the size before it, and when (nanoseconds since 1970).
    pub(crate) shrunk: Option<(u64, i64)>,
    /// How the newest generation began: whether it stands as a loss.
    pub(crate) standing: Event,
}

type Row = (String, u32, bool, Option<(u64, i64)>, Event);

impl From<Row> for Seen {
    fn from((key, generation, gone, shrunk, standing): Row) -> Self {
        Self { key, generation, gone, shrunk, standing }
    }
}

impl From<Seen> for Row {
    fn from(seen: Seen) -> Self {
        (seen.key, seen.generation, seen.gone, seen.shrunk, seen.standing)
    }
}

pub(crate) type Cache = FileCache<Seen>;

pub(crate) struct Paths {
    files: PathBuf,
    touched: PathBuf,
    lock: PathBuf,
}

impl Paths {
    pub(crate) fn in_cache(cache: &Path) -> Self {
        Self {
            files: cache.join("vault-files.json"),
            touched: cache.join("vault-touched"),
            lock: cache.join("vault-files.lock"),
        }
    }

    fn lock(&self) -> Result<Lock, Error> {
        Ok(Lock::acquire(&self.lock, PATIENCE)?)
    }
}

/// Loads what is known; where it is missing or may be behind, from the manifests.
pub(crate) fn load(vault: &Vault) -> Result<Cache, Error> {
    let paths = vault.seen_paths();
    let mut cache = Cache::load(&paths.files, VERSION);
    let touched = touched(&paths);
    let names: HashSet<&str> = touched.iter().map(String::as_str).collect();
    // A power cut leaves NULs or half a name: then it cannot be told which conversations were being written.
    let keys: Option<Vec<Key>> = names.iter().map(|name| Key::parse(name)).collect();
    match keys {
        Some(keys) if !cache.is_empty() => {
            // What somebody took away from the vault is mirrored again.
            let there: HashSet<String> = vault.keys()?.iter().map(ToString::to_string).collect();
            cache.retain(|_, entry| {
                !names.contains(entry.value.key.as_str()) && there.contains(&entry.value.key)
            });
            read_again(vault, &mut cache, &keys);
        }
        _ => {
            cache.retain(|_, _| false);
            read_again(vault, &mut cache, &vault.keys()?);
        }
    }
    Ok(cache)
}

fn read_again(vault: &Vault, cache: &mut Cache, keys: &[Key]) {
    // One that cannot be read keeps no other from being mirrored; its own files are looked at, and the failure is said.
    let of = |key: &Key| vault.state(key).map(|state| entries(key, &state)).unwrap_or_default();
    let found: Vec<Vec<(PathBuf, Entry<Seen>)>> = keys.par_iter().map(of).collect();
    for (path, entry) in found.into_iter().flatten() {
        cache.insert(&path, entry);
    }
}

fn entries(key: &Key, state: &State) -> Vec<(PathBuf, Entry<Seen>)> {
    let Some(begin) = state.begin.as_ref().filter(|_| state.foreign.is_none()) else { return Vec::new() };
    let known = state.files.iter().filter_map(|(name, file)| {
        let newest = file.newest()?;
        let from = newest.source;
        let stamp = Stamp {
            dev: from.dev,
            ino: from.ino,
            size: from.size,
            mtime_ns: from.mtime_ns,
            ctime_ns: from.ctime_ns,
        };
        let value = Seen {
            key: key.to_string(),
            generation: newest.number,
            gone: file.gone.is_some(),
            shrunk: None,
            standing: newest.event,
        };
        // A damaged manifest must not hide behind a file that has not changed.
        let read_at_ns = if newest.gap || newest.suspect { i64::MIN } else { from.read_at_ns };
        Some((Path::new(&begin.config).join(name), Entry { stamp, read_at_ns, value }))
    });
    known.collect()
}

/// Says which conversations are about to be written.
pub(crate) fn touch(vault: &Vault, keys: &[Key]) -> Result<(), Error> {
    let paths = vault.seen_paths();
    let _lock = paths.lock()?;
    let lines: String = keys.iter().map(|key| format!("{key}\n")).collect();
    Ok(durable::append(&paths.touched, lines.as_bytes(), Sync::No)?)
}

/// Brings in what one sync found out, without losing what another did meanwhile. `base` is what the sync began with.
pub(crate) fn save(
    vault: &Vault,
    base: Cache,
    news: Vec<(PathBuf, Entry<Seen>)>,
    written: &[Key],
) -> Result<(), Error> {
    let paths = vault.seen_paths();
    let _lock = paths.lock()?;
    let now = Cache::load(&paths.files, VERSION);
    let mut cache = if now.is_empty() { base } else { now };
    for (path, entry) in news {
        cache.insert(&path, entry);
    }
    cache.save()?;
    let mut left = touched(&paths);
    let mut mine: HashMap<&str, usize> = HashMap::new();
    for key in written {
        *mine.entry(key.as_str()).or_default() += 1;
    }
    // Somebody else's line for the same conversation stays.
    left.retain(|name| match mine.get_mut(name.as_str()) {
        Some(count) if *count > 0 => {
            *count -= 1;
            false
        }
        _ => true,
    });
    set_touched(&paths, &left)
}

/// Reads again what killed syncs have left, if nobody is at work whose lines they could be.
pub(crate) fn settle(vault: &Vault) -> Result<(), Error> {
    let paths = vault.seen_paths();
    if touched(&paths).is_empty() {
        return Ok(());
    }
    let Ok(_alone) = vault.alone_now() else { return Ok(()) };
    let _lock = paths.lock()?;
    load(vault)?.save()?;
    set_touched(&paths, &[])
}

/// Throws the cache away, after conversations have gone.
pub(crate) fn forget(vault: &Vault) -> Result<(), Error> {
    let paths = vault.seen_paths();
    let _lock = paths.lock()?;
    Ok(durable::remove(&paths.files)?)
}

fn touched(paths: &Paths) -> Vec<String> {
    let bytes = store::files::read_own(&paths.touched).unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    // A torn last line is marked, so that nobody takes it for a shorter name.
    let name = |line: &str| line.strip_suffix('\n').map_or_else(|| format!("{line}\0"), str::to_owned);
    text.split_inclusive('\n').map(name).collect()
}

fn set_touched(paths: &Paths, names: &[String]) -> Result<(), Error> {
    let lines: String = names.iter().map(|name| format!("{name}\n")).collect();
    Ok(durable::replace(&paths.touched, lines.as_bytes())?)
}
