//! Files that are no longer where they were: deleted, or only out of sight.

use std::collections::{HashMap, HashSet};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use agents::claude::{ConfigDir, Root, Walk};
use store::file_cache::Entry;

use crate::event::{Event, Happening};
use crate::seen::{Cache, Seen};
use crate::store::Writer;
use crate::sync::{Outcome, SyncOptions};
use crate::vault::Vault;
use crate::{Error, Key};

/// Something that looks like a loss and may not be one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Doubt {
    /// A configuration directory that had conversations cannot be listed, or has no `projects/` any more.
    Root {
        /// The directory.
        config: ConfigDir,
        /// How many files are known there.
        known: usize,
    },
    /// Files are gone, and so is the device that they were on.
    OtherDevice {
        /// The directory.
        config: ConfigDir,
        /// How many files.
        gone: usize,
    },
    /// Over a fifth of what is known went at once.
    MassDisappearance {
        /// The directory.
        config: ConfigDir,
        /// How many went.
        gone: usize,
        /// How many there were.
        known: usize,
    },
    /// A file became shorter while its owner lives; a second look will tell.
    Shrinking {
        /// The file.
        path: PathBuf,
        /// Bytes it had.
        from: u64,
        /// Bytes it has.
        to: u64,
    },
}

// ARCHITECTURE.md: over 20 % gone at once is unknown, not deletion.
const MASS_FRACTION: usize = 5;
// Whoever deletes two of five conversations meant it; an unmounted disk shows by its device as well.
const MASS_FEWEST: usize = 10;

/// The files that are taken for deleted.
pub(crate) struct Missing {
    files: HashMap<Key, Vec<PathBuf>>,
    doubts: Vec<Doubt>,
    configs: HashMap<Key, ConfigDir>,
}

/// Finds out what is gone, from the cache and the listing alone while nothing is.
pub(crate) fn look(cache: &Cache, walks: &[Walk], believe_mass_deletion: bool) -> Missing {
    let mut missing = Missing { files: HashMap::new(), doubts: Vec::new(), configs: HashMap::new() };
    for walk in walks {
        missing.look_in(cache, walk, believe_mass_deletion);
    }
    missing
}

impl Missing {
    fn look_in(&mut self, cache: &Cache, walk: &Walk, believe_mass_deletion: bool) {
        let config = &walk.config;
        let known: Vec<(&Path, &Entry<Seen>)> = cache
            .iter()
            .filter(|(path, entry)| !entry.value.gone && path.starts_with(config.path()))
            .collect();
        if known.is_empty() {
            return;
        }
        if walk.root != Root::Read {
            self.doubts.push(Doubt::Root { config: config.clone(), known: known.len() });
            return;
        }
        let there: HashSet<&Path> = walk.sources.iter().map(|source| source.path.as_path()).collect();
        let unseen = known.iter().filter(|(path, _)| !there.contains(path) && is_gone(path));
        let (here, elsewhere): (Vec<_>, Vec<_>) =
            unseen.partition(|(path, entry)| device_above(path) == Some(entry.stamp.dev));
        if !elsewhere.is_empty() {
            self.doubts.push(Doubt::OtherDevice { config: config.clone(), gone: elsewhere.len() });
        }
        let mass = here.len() >= MASS_FEWEST && here.len() * MASS_FRACTION > known.len();
        if mass && !believe_mass_deletion {
            let (gone, known) = (here.len(), known.len());
            self.doubts.push(Doubt::MassDisappearance { config: config.clone(), gone, known });
            return;
        }
        for (path, entry) in here {
            if let Some(key) = Key::parse(&entry.value.key) {
                self.configs.entry(key.clone()).or_insert_with(|| config.clone());
                self.files.entry(key).or_default().push(path.to_path_buf());
            }
        }
    }

    pub(crate) fn keys(&self) -> impl Iterator<Item = Key> {
        self.files.keys().cloned()
    }

    pub(crate) fn paths(&self) -> impl Iterator<Item = &Path> {
        self.files.values().flatten().map(PathBuf::as_path)
    }

    /// Writes the deletions down.
    pub(crate) fn note(self, vault: &Vault, cache: &Cache, options: &SyncOptions<'_>) -> Outcome {
        let mut outcome = Outcome::default();
        outcome.report.doubts = self.doubts;
        for (key, paths) in &self.files {
            let Some(config) = self.configs.get(key) else { continue };
            match note_one(vault, key, config, paths, cache, options) {
                Ok(one) => outcome = outcome.add(one),
                Err(Error::Forgotten { .. }) => {}
                Err(error) => {
                    outcome.report.failures.push((paths.first().cloned().unwrap_or_default(), error));
                }
            }
        }
        outcome
    }
}

fn note_one(
    vault: &Vault,
    key: &Key,
    config: &ConfigDir,
    paths: &[PathBuf],
    cache: &Cache,
    options: &SyncOptions<'_>,
) -> Result<Outcome, Error> {
    let mut outcome = Outcome::default();
    let (_, begin) = vault.key_and_begin(config, key.session().as_ref());
    let mut writer = Writer::open(vault, key, begin)?;
    for path in paths {
        let name = path.strip_prefix(config.path()).unwrap_or(path).to_string_lossy().into_owned();
        let Some(entry) = cache.entry(path) else { continue };
        let value = Seen { gone: true, shrunk: None, ..entry.value.clone() };
        outcome.news.push((path.clone(), Entry { value, ..entry.clone() }));
        // Another sync may have noted it first.
        let Some(file) = writer.file(&name).filter(|file| file.gone.is_none()) else { continue };
        let size = file.newest().map_or(0, |newest| newest.size());
        writer.gone(&name);
        outcome.report.events.push(Happening {
            key: key.clone(),
            session: key.session(),
            path: path.clone(),
            event: Event::Deleted,
            generation: entry.value.generation,
            at: options.now,
            sizes: (size, 0),
        });
    }
    writer.commit(options.now)?;
    Ok(outcome)
}

// Only a plain "not there" counts: a folder that may not be entered hides files, it does not delete them.
fn is_gone(path: &Path) -> bool {
    match std::fs::metadata(path) {
        Ok(_) => false,
        Err(error) => matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory),
    }
}

fn device_above(path: &Path) -> Option<u64> {
    path.ancestors().skip(1).find_map(|folder| std::fs::metadata(folder).ok()).map(|meta| meta.dev())
}
