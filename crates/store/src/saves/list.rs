//! All saves there are, and which of them is current.

use std::io;
use std::path::PathBuf;

use super::{Head, SaveError, load};
use crate::StateDir;
use crate::mac::{Key, Origin};

/// A save in the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Generation {
    /// Its id.
    pub id: String,
    /// What it says first.
    pub head: Head,
    /// Whether it was written here.
    pub origin: Origin,
    /// What it takes on disk, with its scrollback.
    pub bytes: u64,
}

/// A file that is no save.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skipped {
    /// The file.
    pub path: PathBuf,
    /// What is wrong with it.
    pub why: String,
}

/// Every save, the newest first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Listed {
    /// The saves.
    pub generations: Vec<Generation>,
    /// The id of the one to restore.
    pub current: Option<String>,
    /// Files that were passed over: torn, empty, or not there although `current` names them.
    pub skipped: Vec<Skipped>,
}

impl Listed {
    /// The save to restore.
    pub fn current(&self) -> Option<&Generation> {
        self.generations.iter().find(|known| Some(&known.id) == self.current.as_ref())
    }
}

/// The ids of all files that look like saves, in no order.
pub fn ids(state: &StateDir) -> Vec<String> {
    let entries = std::fs::read_dir(state.saves()).into_iter().flatten().flatten();
    entries.filter_map(|entry| id_of(&entry.path())).collect()
}

fn id_of(path: &std::path::Path) -> Option<String> {
    let json = path.extension().is_some_and(|ending| ending == "json");
    path.file_stem()?.to_str().filter(|stem| json && !stem.starts_with('.')).map(str::to_owned)
}

/// Lists the saves. Where `current` names none that is whole, the newest good one is.
///
/// # Errors
/// The folder is there and cannot be listed.
pub fn list(state: &StateDir, key: Option<&Key>) -> Result<Listed, SaveError> {
    let folder = state.saves();
    let unreadable = |source| SaveError::Unreadable { path: folder.clone(), source };
    let entries = match std::fs::read_dir(&folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Listed::default()),
        Err(error) => return Err(unreadable(error)),
    };
    let mut listed = Listed::default();
    for entry in entries {
        let path = entry.map_err(unreadable)?.path();
        let Some(id) = id_of(&path) else { continue };
        match load(state, key, &id) {
            Ok(read) => {
                let size = |path: &PathBuf| std::fs::metadata(path).map_or(0, |meta| meta.len());
                let bytes = size(&path) + read.scrollback.as_ref().map_or(0, size);
                listed.generations.push(Generation {
                    id: read.id,
                    head: read.head,
                    origin: read.origin,
                    bytes,
                });
            }
            Err(SaveError::Broken { path, why }) => listed.skipped.push(Skipped { path, why }),
            Err(error) => listed.skipped.push(Skipped { path: path.clone(), why: error.to_string() }),
        }
    }
    listed.generations.sort_by(|a, b| (b.head.saved_at, &b.id).cmp(&(a.head.saved_at, &a.id)));
    listed.skipped.sort_by(|a, b| a.path.cmp(&b.path));
    let pointer = folder.join("current");
    let named = crate::files::read_own_to_string(&pointer).ok().map(|text| text.trim().to_owned());
    listed.current = named.clone().filter(|id| listed.generations.iter().any(|known| known.id == *id));
    if listed.current.is_none() {
        let good = |known: &&Generation| known.head.held.is_none() && !known.head.imported;
        listed.current = listed.generations.iter().find(good).map(|known| known.id.clone());
        if let Some(named) = named.filter(|named| !named.is_empty()) {
            let why = format!("it names {named}, which is no whole save");
            listed.skipped.push(Skipped { path: pointer, why });
        }
    }
    Ok(listed)
}
