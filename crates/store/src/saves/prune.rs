//! Letting go of old saves.

use std::path::{Path, PathBuf};

use super::SaveError;
use super::file::{HELD, NAMED};
use crate::StateDir;
use crate::durable;

/// Removes all but the newest `keep` saves, and what killed writers left; returns the ids that went. Hold
/// [`super::lock`].
///
/// The current one and all that have a name stay. Held ones are counted apart: a server that came back empty would push
/// every good save out otherwise.
///
/// # Errors
/// Something cannot be removed.
pub fn prune(state: &StateDir, current: Option<&str>, keep: usize) -> Result<Vec<String>, SaveError> {
    let folder = state.saves();
    let entries =
        std::fs::read_dir(&folder).map_err(|source| SaveError::Unreadable { path: folder, source })?;
    let paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    let mut ids: Vec<&str> = paths.iter().filter_map(|path| id(path)).collect();
    ids.sort_unstable_by(|a, b| b.cmp(a));
    let mut gone = Vec::new();
    for held in [false, true] {
        let counted = ids.iter().filter(|id| id.ends_with(HELD) == held && !is_named(id));
        for id in counted.skip(keep.max(1)).filter(|id| Some(**id) != current) {
            discard(state, id)?;
            gone.push((*id).to_owned());
        }
    }
    // Whoever writes holds the lock that we hold: a temporary file here is of one who was killed, as is scrollback
    // without its save.
    for path in &paths {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let orphan = path.extension().is_some_and(|ending| ending == "zst")
            && !ids.iter().any(|id| path.file_stem().is_some_and(|stem| stem == *id));
        if name.starts_with(durable::TEMPORARY_PREFIX) || orphan {
            durable::remove(path)?;
        }
    }
    Ok(gone)
}

/// Removes a save whose place another one has taken; that one must be current by now. Hold [`super::lock`].
///
/// # Errors
/// It cannot be removed; then there is one save more.
pub fn discard(state: &StateDir, old: &str) -> Result<(), SaveError> {
    let path = state.saves().join(format!("{old}.json"));
    // One that comes back after a power cut goes the next time.
    durable::remove_unsynced(&path)?;
    durable::remove_unsynced(&path.with_extension("zst"))?;
    Ok(())
}

/// The id of a save by its path; other files are none of ours.
fn id(path: &Path) -> Option<&str> {
    let stem = path.file_stem()?.to_str()?;
    let json = path.extension().is_some_and(|ending| ending == "json");
    (json && stem.starts_with(|first: char| first.is_ascii_digit())).then_some(stem)
}

fn is_named(id: &str) -> bool {
    id.strip_suffix(HELD).unwrap_or(id).ends_with(NAMED)
}
