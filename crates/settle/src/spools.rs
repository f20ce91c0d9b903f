//! The folder of spools: what is there, how much of it is known, and what waited in the refuge.

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use agents::SessionId;
use jiff::Timestamp;
use state::StateDir;
use state::durable::{self, Kept, Sync};
use state::refuge::Refuge;

/// One session's spool.
#[derive(Debug, Clone)]
pub(crate) struct Spooled {
    pub(crate) session: SessionId,
    pub(crate) path: PathBuf,
    pub(crate) length: u64,
}

/// Every spool.
pub(crate) fn list(state: &StateDir) -> io::Result<Vec<Spooled>> {
    list_in(&state.spool())
}

fn list_in(folder: &Path) -> io::Result<Vec<Spooled>> {
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut spools = Vec::new();
    for entry in entries {
        let path = entry?.path();
        let stem = path.file_stem().and_then(|stem| stem.to_str()).map(SessionId::new);
        if path.extension().is_some_and(|extension| extension == "jsonl")
            && let Some(Ok(session)) = stem
            && let Ok(meta) = std::fs::metadata(&path)
        {
            spools.push(Spooled { session, path, length: meta.len() });
        }
    }
    spools.sort_by(|a, b| a.session.cmp(&b.session));
    Ok(spools)
}

/// How long each spool was when it was last settled: enough to tell in a moment whether there is news.
pub(crate) fn known(state: &StateDir) -> HashMap<String, u64> {
    let bytes = std::fs::read(state.settled()).unwrap_or_default();
    serde_json::from_slice(&bytes).unwrap_or_default()
}

/// Remembers how long each spool was.
pub(crate) fn remember(state: &StateDir, spools: &[Spooled], now: Timestamp) -> Result<(), durable::Error> {
    let lengths: BTreeMap<&str, u64> =
        spools.iter().map(|spooled| (spooled.session.as_str(), spooled.length)).collect();
    durable::private_dir(&state.cache())?;
    let bytes = serde_json::to_vec(&lengths).unwrap_or_default();
    let path = state.settled();
    if std::fs::read(&path).is_ok_and(|old| old == bytes) {
        // Its time is when the last settle was. Replacing a file costs 5 ms on ext4, which writes it out first (measured).
        return durable::set_like(&path, Kept { mode: None, mtime: Some(now.into()) });
    }
    durable::replace_unsynced(&path, &bytes)
}

/// A hook that has the file open writes to it within a moment; after this nobody does.
const AT_REST: Duration = Duration::from_secs(2);

/// Takes over the events that waited in the refuge. What cannot be taken now waits on.
pub(crate) fn take_refuge(refuge: &Refuge, state: &StateDir, troubles: &mut Vec<String>) {
    for spooled in list_in(&refuge.spool()).unwrap_or_default() {
        if let Err(error) = take(&spooled, state) {
            troubles.push(format!("cannot {error}: {}", error.source));
        }
    }
}

fn take(spooled: &Spooled, state: &StateDir) -> Result<(), durable::Error> {
    let read = |error| durable::Error::new("read", &spooled.path, error);
    let changed = std::fs::metadata(&spooled.path).and_then(|meta| meta.modified()).map_err(read)?;
    if SystemTime::now().duration_since(changed).is_ok_and(|age| age < AT_REST) {
        return Ok(());
    }
    let bytes = std::fs::read(&spooled.path).map_err(read)?;
    durable::private_dir(&state.spool())?;
    durable::append(&state.spool().join(format!("{}.jsonl", spooled.session)), &bytes, Sync::Yes)?;
    durable::remove(&spooled.path)
}
