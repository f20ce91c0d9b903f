//! The folder of spools: what is there, how much of it is known, and what waited in the refuge.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use agents::{SessionId, SessionKey};
use jiff::Timestamp;
use store::StateDir;
use store::durable::{self, Kept, Sync};
use store::fallback_spool::FallbackSpool;
use store::record::{SessionRecord, Status};

/// One session's spool; of all accounts that have a session with this id.
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

/// Spools with news that no settle has taken in, though they have been at rest for so long.
pub fn unsettled(state: &StateDir, at_rest: Duration, now: SystemTime) -> usize {
    let known = known(state);
    let waits = |spooled: &&Spooled| {
        let changed = std::fs::metadata(&spooled.path).and_then(|meta| meta.modified());
        let age = changed.ok().and_then(|changed| now.duration_since(changed).ok());
        known.get(spooled.session.as_str()) != Some(&spooled.length) && age.is_none_or(|age| age >= at_rest)
    };
    list(state).unwrap_or_default().iter().filter(waits).count()
}

/// Sessions whose events wait in the refuge.
pub fn in_refuge(refuge: &FallbackSpool) -> usize {
    list_in(&refuge.spool()).map_or(0, |spools| spools.len())
}

/// How long each spool was when it was last settled: enough to tell in a moment whether there is news.
pub(crate) fn known(state: &StateDir) -> HashMap<String, u64> {
    let bytes = store::files::read_own(state.settled()).unwrap_or_default();
    serde_json::from_slice(&bytes).unwrap_or_default()
}

/// Remembers how long each spool was, but for those that go now: what comes under their names is news.
pub(crate) fn remember(
    state: &StateDir,
    spools: &[Spooled],
    retired: &[&Spooled],
    now: Timestamp,
) -> Result<(), durable::Error> {
    let stays = |spooled: &&Spooled| !retired.iter().any(|gone| gone.session == spooled.session);
    let lengths: BTreeMap<&str, u64> =
        spools.iter().filter(stays).map(|spooled| (spooled.session.as_str(), spooled.length)).collect();
    durable::private_dir(&state.cache())?;
    let bytes = serde_json::to_vec(&lengths).unwrap_or_default();
    let path = state.settled();
    if store::files::read_own(&path).is_ok_and(|old| old == bytes) {
        // Its time is when the last settle was. Replacing a file costs 5 ms on ext4, which writes it out first (measured).
        return durable::set_like(&path, Kept { mode: None, mtime: Some(now.into()) });
    }
    durable::replace_unsynced(&path, &bytes)
}

/// Where reading goes on in a spool. A spool that begins with another line than the one the record has read was begun anew,
/// and is read from its beginning.
pub(crate) fn folded(record: &SessionRecord, head: Option<&str>) -> u64 {
    match (record.spool_head.as_deref(), head) {
        (Some(read), Some(there)) if read != there => 0,
        _ => record.spool_offset,
    }
}

/// Whether a spool of the length that is folded in may yet be another one, or is to be named before it is retired. An active
/// conversation's spool is never removed.
pub(crate) fn may_be_new(record: &SessionRecord, ended_before: Timestamp) -> bool {
    record.status != Status::Active && (record.spool_head.is_some() || record.last_seen < ended_before)
}

/// A record without the name of its spool and without a spool reads the next one from its beginning: 0.1.0 removed spools
/// before it stored the record.
pub(crate) fn begin_anew(spools: &[Spooled], records: &mut BTreeMap<SessionKey, SessionRecord>) {
    let there: HashSet<&SessionId> = spools.iter().map(|spooled| &spooled.session).collect();
    for record in records.values_mut().filter(|record| record.spool_head.is_none()) {
        if !there.contains(record.session_id.id()) {
            record.spool_offset = 0;
        }
    }
}

/// The spools of conversations that ended long ago and are folded in whole: what hooks left is kept no longer than it is of
/// use. A record without the name of its spool could not tell a new spool from the old one, so its spool waits until the
/// record has it. `stored` are all records of an id, where each of them is stored.
pub(crate) fn retired<'a>(
    spools: &'a [Spooled],
    stored: impl Fn(&SessionId) -> Option<Vec<&'a SessionRecord>>,
    ended_before: Timestamp,
) -> Vec<&'a Spooled> {
    let old = |record: &SessionRecord| record.status != Status::Active && record.last_seen < ended_before;
    let whole = |spooled: &&Spooled| {
        let read = |record: &&SessionRecord| {
            old(record) && record.spool_offset == spooled.length && record.spool_head.is_some()
        };
        stored(&spooled.session).is_some_and(|all| !all.is_empty() && all.iter().all(read))
    };
    spools.iter().filter(whole).collect()
}

/// Removes a spool whose record is stored. A hook that appends meanwhile loses nothing: what it wrote before the removal is
/// carried over here, and what it writes after it the hook itself writes again ([`durable::append`]).
pub(crate) fn remove(spooled: &Spooled) -> Result<(), durable::Error> {
    let read = |error| durable::Error::new("read", &spooled.path, error);
    let mut file = match store::files::open_own(&spooled.path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        file => file.map_err(read)?,
    };
    if file.metadata().map_err(read)?.len() != spooled.length {
        return Ok(());
    }
    durable::remove(&spooled.path)?;
    let mut late = Vec::new();
    file.seek(SeekFrom::Start(spooled.length)).and_then(|_| file.read_to_end(&mut late)).map_err(read)?;
    if !late.is_empty() {
        return durable::append(&spooled.path, &late, Sync::Yes);
    }
    durable::remove(&spooled.path.with_extension("status"))
}

/// A hook that has the file open writes to it within a moment; after this nobody does.
const AT_REST: Duration = Duration::from_secs(2);

/// Takes over the events that waited in the refuge. What cannot be taken now waits on.
pub(crate) fn take_refuge(refuge: &FallbackSpool, state: &StateDir, troubles: &mut Vec<String>) {
    match refuge.check() {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => return,
        Err(error) => {
            troubles.push(format!("cannot {error}: {}", error.source));
            return;
        }
    }
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
    let bytes = store::files::read_own(&spooled.path).map_err(read)?;
    durable::private_dir(&state.spool())?;
    let target = state.spool().join(format!("{}.jsonl", spooled.session));
    let there = match store::files::read_own(&target) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            return Err(durable::Error::new("read", &target, error));
        }
        there => there.unwrap_or_default(),
    };
    let missing = lines_not_in(&there, &bytes);
    if !missing.is_empty() {
        durable::append(&target, &missing, Sync::Yes)?;
    }
    durable::remove(&spooled.path)
}

/// The lines that are not there yet. A taking that was killed before it removed its source left them all; a disk that was
/// full but for the last byte left one that counts as lost.
fn lines_not_in(there: &[u8], bytes: &[u8]) -> Vec<u8> {
    let known: HashSet<&[u8]> = there.split(|byte| *byte == b'\n').collect();
    let mut missing = Vec::new();
    for line in bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty() && !known.contains(line)) {
        // As hooks write: a torn line before it spoils nothing but itself.
        missing.push(b'\n');
        missing.extend_from_slice(line);
        missing.push(b'\n');
    }
    missing
}

#[cfg(test)]
mod tests;
