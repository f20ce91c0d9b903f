//! What was once found out about a file, kept as long as the file has not changed.
//!
//! Derived: a missing or broken cache file is an empty cache. Modelled on what git does with its index: a file that
//! changed in the very tick in which it was read looks unchanged for ever, so such an entry is never trusted.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use agents::Stamp;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::durable;

/// The version of the cache file itself; the value's is given by its owner.
const SCHEMA: u32 = 1;

// Kernel timestamps advance with the timer tick, 10 ms at worst; five of them, for a file system's own rounding.
const FINE_TICK_NS: i64 = 50_000_000;
// FAT and old NFS servers have whole (even) seconds; their timestamps show by having no fraction.
const COARSE_TICK_NS: i64 = 2_000_000_000;
const SECOND_NS: i64 = 1_000_000_000;

/// What is known of files, by path.
#[derive(Debug)]
pub struct FileCache<V> {
    path: PathBuf,
    version: u32,
    entries: HashMap<String, Entry<V>>,
}

/// One file's entry.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Entry<V> {
    /// The file as it was when it was read.
    pub stamp: Stamp,
    /// When reading it began, nanoseconds since 1970.
    pub read_at_ns: i64,
    /// What was found out.
    pub value: V,
}

impl<V> Entry<V> {
    /// Whether the file still is what it was, as far as its timestamps can tell.
    pub fn is_fresh(&self, now: &Stamp) -> bool {
        self.stamp == *now && !self.is_racy()
    }

    // Changed so shortly before it was read that a later change could carry the same timestamps.
    fn is_racy(&self) -> bool {
        let newest = self.stamp.mtime_ns.max(self.stamp.ctime_ns);
        let coarse = self.stamp.mtime_ns % SECOND_NS == 0 && self.stamp.ctime_ns % SECOND_NS == 0;
        self.read_at_ns < newest.saturating_add(if coarse { COARSE_TICK_NS } else { FINE_TICK_NS })
    }
}

// Tuples instead of objects: a third of the bytes, and the time to load is the time to read them.
type Row<P, V> = (P, [u64; 3], [i64; 3], V);

#[derive(Serialize, Deserialize)]
struct Stored<R> {
    #[serde(rename = "schemaVersion")]
    schema: u32,
    version: u32,
    entries: R,
}

impl<V: Serialize + DeserializeOwned> FileCache<V> {
    /// Loads the cache from a file; a missing, broken or otherwise versioned one is an empty cache.
    pub fn load(path: &Path, version: u32) -> Self {
        let entries =
            crate::files::read(path).ok().and_then(|bytes| parse(&bytes, version)).unwrap_or_default();
        Self { path: path.to_path_buf(), version, entries }
    }

    /// Whether nothing is known.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The number of files known.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// What is known of a file, if it has not changed since.
    pub fn fresh(&self, path: &Path, now: &Stamp) -> Option<&V> {
        self.entry(path).filter(|entry| entry.is_fresh(now)).map(|entry| &entry.value)
    }

    /// What was known of a file, changed or not.
    pub fn entry(&self, path: &Path) -> Option<&Entry<V>> {
        self.entries.get(path.to_str()?)
    }

    /// Notes what was found out about a file; names that are no text are not kept.
    pub fn insert(&mut self, path: &Path, entry: Entry<V>) {
        if let Some(path) = path.to_str() {
            self.entries.insert(path.to_owned(), entry);
        }
    }

    /// Forgets a file.
    pub fn remove(&mut self, path: &Path) -> Option<Entry<V>> {
        self.entries.remove(path.to_str()?)
    }

    /// Keeps only the entries that pass.
    pub fn retain(&mut self, mut keep: impl FnMut(&Path, &Entry<V>) -> bool) {
        self.entries.retain(|path, entry| keep(Path::new(path), entry));
    }

    /// Every file known.
    pub fn iter(&self) -> impl Iterator<Item = (&Path, &Entry<V>)> {
        self.entries.iter().map(|(path, entry)| (Path::new(path.as_str()), entry))
    }

    /// Writes the cache whole.
    pub fn save(&self) -> Result<(), durable::Error> {
        let entries: Vec<Row<&str, &V>> = self
            .entries
            .iter()
            .map(|(path, Entry { stamp, read_at_ns, value })| {
                let numbers = [stamp.dev, stamp.ino, stamp.size];
                (path.as_str(), numbers, [stamp.mtime_ns, stamp.ctime_ns, *read_at_ns], value)
            })
            .collect();
        let stored = Stored { schema: SCHEMA, version: self.version, entries };
        durable::replace_with(&self.path, |out| Ok(serde_json::to_writer(out, &stored)?))
    }
}

fn parse<V: DeserializeOwned>(bytes: &[u8], version: u32) -> Option<HashMap<String, Entry<V>>> {
    let stored: Stored<Vec<Row<String, V>>> = serde_json::from_slice(bytes).ok()?;
    if stored.schema != SCHEMA || stored.version != version {
        return None;
    }
    let entry = |(path, [dev, ino, size], [mtime_ns, ctime_ns, read_at_ns], value): Row<String, V>| {
        (path, Entry { stamp: Stamp { dev, ino, size, mtime_ns, ctime_ns }, read_at_ns, value })
    };
    Some(stored.entries.into_iter().map(entry).collect())
}

/// A time as entries count it.
pub fn nanoseconds(time: SystemTime) -> i64 {
    let ns = |d: std::time::Duration| i64::try_from(d.as_nanos()).unwrap_or(i64::MAX);
    time.duration_since(UNIX_EPOCH).map_or_else(|e| -ns(e.duration()), ns)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stamp(size: u64, changed_ns: i64) -> Stamp {
        Stamp { dev: 1, ino: 2, size, mtime_ns: changed_ns, ctime_ns: changed_ns }
    }

    #[test]
    fn survives_a_save_and_ignores_broken_or_other_files() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("cache.json");
        let mut cache: FileCache<(u32, String)> = FileCache::load(&path, 7);
        let entry = Entry { stamp: stamp(10, 5), read_at_ns: 10_000_000_000, value: (3, "x".to_owned()) };
        cache.insert(Path::new("/a"), entry);
        cache.save().unwrap();
        let again: FileCache<(u32, String)> = FileCache::load(&path, 7);
        assert_eq!(again.fresh(Path::new("/a"), &stamp(10, 5)), Some(&(3, "x".to_owned())));
        assert_eq!(again.fresh(Path::new("/a"), &stamp(11, 5)), None);
        assert!(FileCache::<(u32, String)>::load(&path, 8).is_empty());
        durable::replace(&path, b"{\"schemaVersion\":1,").unwrap();
        assert!(FileCache::<(u32, String)>::load(&path, 7).is_empty());
    }

    #[test]
    fn an_entry_read_in_the_tick_of_a_change_is_not_trusted() {
        let check = |stamp: Stamp, read_at_ns, expect| {
            let entry = Entry { stamp, read_at_ns, value: () };
            assert_eq!(entry.is_fresh(&stamp), expect, "{stamp:?} read at {read_at_ns}");
        };
        let fine = stamp(1, 5 * SECOND_NS + 1);
        check(fine, 5 * SECOND_NS + 10_000_000, false);
        check(fine, 5 * SECOND_NS + 60_000_000, true);
        let coarse = stamp(1, 5 * SECOND_NS);
        check(coarse, 6 * SECOND_NS, false);
        check(coarse, 7 * SECOND_NS, true);
        // The change time counts even where the modification time was set back by hand.
        check(Stamp { mtime_ns: 1, ..fine }, 5 * SECOND_NS + 10_000_000, false);
    }

    #[test]
    fn loads_ten_thousand_entries_in_the_blink_of_an_eye() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("cache.json");
        let mut cache: FileCache<(u64, u32)> = FileCache::load(&path, 1);
        for n in 0..10_000u32 {
            let name = format!("/home/somebody/.claude/projects/-home-somebody-project-{n}/{n:036}.jsonl");
            let entry = Entry { stamp: stamp(n.into(), 5), read_at_ns: i64::MAX, value: (u64::from(n), n) };
            cache.insert(Path::new(&name), entry);
        }
        cache.save().unwrap();
        let start = std::time::Instant::now();
        assert_eq!(FileCache::<(u64, u32)>::load(&path, 1).len(), 10_000);
        // Generous: an unoptimized build on a busy machine. The release figure is in docs/benchmarks.md.
        assert!(start.elapsed().as_millis() < 1_000, "{:?}", start.elapsed());
    }
}
