//! What rekindle remembers: modes, key, records, what waits, what the logs say, the vault.

use std::io::{Read, Seek, SeekFrom};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use ::agents::claude::{ConfigDir, Kind, walk};
use jiff::{SignedDuration, Timestamp};
use repair::Repairer;
use store::journal::Journal;
use store::mac::{Key, Origin};
use store::record::{self, RecordError, SCHEMA};
use store::{StateDir, StateDirError};
use transcript::Status;

use super::Places;
use crate::facts::{KeyFacts, KeyFound, LogLine, RecordFacts, StateFacts, StateFound, VaultFacts};

/// A settle begins with the event and takes a fraction of a second; after this nobody is at it.
const AT_REST: Duration = Duration::from_secs(60);
/// Errors that are older tell nothing of today.
const RECENT: SignedDuration = SignedDuration::from_hours(24);
/// A line of a log has some hundred bytes: this is a day of much trouble.
const LOG_TAIL: u64 = 256 * 1024;
/// Longer lines are cut: the log has the rest.
const LONGEST_LINE: usize = 160;
/// A vault of years has fewer files; who has more must not wait for this.
const MOST_ENTRIES: usize = 200_000;
const KEY_BYTES: u64 = 32;

pub(super) fn look(places: &Places) -> StateFacts {
    let path = &places.state;
    let found = match StateDir::existing(path) {
        Ok(None) => StateFound::Nothing,
        Ok(Some(_)) if !path.is_dir() => StateFound::Unreadable("it is no folder".to_owned()),
        Ok(Some(_)) => match std::fs::read_dir(path) {
            Ok(_) => StateFound::Ours,
            Err(error) => StateFound::Unreadable(error.to_string()),
        },
        Err(StateDirError::NotOurs { owner, user, .. }) => StateFound::Foreign { owner, user },
        Err(StateDirError::Io(error)) => StateFound::Unreadable(error.source.to_string()),
    };
    let open = std::fs::metadata(path).ok().map(|meta| meta.permissions().mode() & 0o7777);
    StateFacts {
        path: path.clone(),
        open: open.filter(|mode| mode & 0o077 != 0 && found == StateFound::Ours),
        found,
        key: KeyFacts { path: places.machine_key.clone(), found: key(&places.machine_key) },
        in_refuge: sessions::in_refuge(&places.refuge),
        errors: errors(&places.refuge.log(), places.now),
        ..StateFacts::default()
    }
}

/// Looks inside a state directory that is ours; the tmux sockets that its records name.
pub(super) fn inside(state: &StateDir, places: &Places, facts: &mut StateFacts) -> Vec<PathBuf> {
    facts.open_inside = open_inside(state.path());
    facts.paused = paused(state, places.now);
    facts.unsettled = sessions::unsettled(state, AT_REST, SystemTime::from(places.now));
    for name in ["hot.log", "settle.log"] {
        facts.errors.extend(errors(&state.log().join(name), places.now));
    }
    facts.newest_journal = Journal::at(state.journal()).newest_time().ok().flatten();
    let key = match facts.key.found {
        // It is there, so that opening makes nothing.
        KeyFound::Key(_) => Key::read(&facts.key.path).ok().flatten(),
        _ => None,
    };
    let (records, sockets) = records(state, key.as_ref());
    facts.records = records;
    sockets
}

fn key(path: &Path) -> KeyFound {
    match std::fs::metadata(path) {
        Ok(meta) if meta.is_file() && meta.len() == KEY_BYTES => {
            KeyFound::Key(meta.permissions().mode() & 0o7777)
        }
        Ok(_) => KeyFound::Broken,
        Err(_) => KeyFound::Nothing,
    }
}

/// Since when everything is paused; by the age of the file where it does not say.
fn paused(state: &StateDir, now: Timestamp) -> Option<Timestamp> {
    let pause = store::pause::read(state)?;
    let written = || std::fs::metadata(state.paused()).and_then(|meta| meta.modified()).ok();
    Some(pause.since.or_else(|| Timestamp::try_from(written()?).ok()).unwrap_or(now))
}

/// Files and folders that others could read. A repository's own files have the modes that git gives them.
fn open_inside(root: &Path) -> Vec<(PathBuf, u32)> {
    let mut open = Vec::new();
    let mut todo = vec![root.to_path_buf()];
    let mut seen = 0;
    while let Some(folder) = todo.pop() {
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            seen += 1;
            let Ok(meta) = entry.metadata() else { continue };
            if seen > MOST_ENTRIES || meta.is_symlink() || entry.file_name() == ".git" {
                continue;
            }
            let mode = meta.permissions().mode() & 0o7777;
            if mode & 0o077 != 0 && (meta.is_dir() || meta.is_file()) {
                open.push((entry.path(), mode));
            }
            if meta.is_dir() {
                todo.push(entry.path());
            }
        }
    }
    open.sort();
    open
}

fn records(state: &StateDir, key: Option<&Key>) -> (RecordFacts, Vec<PathBuf>) {
    let mut facts = RecordFacts::default();
    let mut sockets = Vec::new();
    for id in record::keys(state).unwrap_or_default() {
        facts.all += 1;
        match record::load(state, key, &id) {
            Ok(Some(held)) => {
                facts.foreign += usize::from(held.origin == Origin::Foreign);
                facts.newer += usize::from(held.record.schema > SCHEMA);
                let place = held.record.run().and_then(|run| run.tmux.as_ref());
                sockets.extend(place.map(|place| place.socket.clone()));
            }
            Ok(None) => {}
            Err(RecordError::Broken { path, .. } | RecordError::Unreadable { path, .. }) => {
                facts.broken.push(path);
            }
            Err(_) => {}
        }
    }
    (facts, sockets)
}

/// The lines of a log that are not older than a day. Everything in these logs is an error.
fn errors(path: &Path, now: Timestamp) -> Vec<LogLine> {
    let text = tail(path).unwrap_or_default();
    let line = |line: &str| {
        let (at, text) = line.split_once(' ')?;
        let at: Timestamp = at.parse().ok()?;
        let clean = text.chars().map(|c| if c.is_control() { ' ' } else { c });
        let text = clean.take(LONGEST_LINE).collect();
        (now.duration_since(at) < RECENT).then_some(LogLine { at, text })
    };
    text.lines().filter_map(line).collect()
}

fn tail(path: &Path) -> std::io::Result<String> {
    let mut file = store::files::open(path)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(LOG_TAIL)))?;
    let mut bytes = Vec::new();
    file.take(LOG_TAIL).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// The vault, and what it should have.
pub(super) fn vault(state: Option<&StateDir>, configs: &[ConfigDir]) -> VaultFacts {
    let old = repair::old_backups(configs);
    let old_backups = (old.len(), old.iter().map(|backup| backup.bytes).sum());
    let mut facts = VaultFacts { old_backups, ..VaultFacts::default() };
    for config in configs {
        let walk = walk(config);
        let transcripts = walk.sources.iter().filter(|source| source.kind == Kind::Transcript);
        for source in transcripts {
            facts.transcripts += 1;
            let at = Timestamp::from_nanosecond(i128::from(source.stamp.mtime_ns)).ok();
            facts.newest_transcript = facts.newest_transcript.max(at);
        }
    }
    let Some(state) = state.filter(|state| state.vault().join("conversations").is_dir()) else {
        return facts;
    };
    let written = std::fs::metadata(state.cache().join("vault-files.json")).and_then(|meta| meta.modified());
    facts.synced = written.ok().and_then(|time| Timestamp::try_from(time).ok());
    facts.unmirrored = vault::unmirrored(state, Timestamp::now()).iter().map(unmirrored).collect();
    if let Err(error) = look_into(state, configs, &mut facts) {
        facts.trouble = Some(error.to_string());
    }
    facts
}

fn unmirrored(one: &vault::Unmirrored) -> String {
    let name =
        one.session.as_ref().map_or_else(|| one.path.display().to_string(), |id| id.short().to_owned());
    format!("{name} ({})", one.why)
}

fn look_into(state: &StateDir, configs: &[ConfigDir], facts: &mut VaultFacts) -> Result<(), repair::Error> {
    let repairer = Repairer::open(state.clone(), configs.to_vec())?;
    facts.losses = losses(&repairer)?;
    let status = repairer.vault.status()?;
    // Forgetting throws the cache away; the copies themselves tell, too.
    facts.synced = facts.synced.or(status.newest);
    let name = |key: &vault::Key| key.session().map(|session| session.to_string());
    facts.unfinished = status.unfinished.iter().filter_map(name).collect();
    let short = |copy: &vault::UnusableCopy| {
        copy.key.session().map_or_else(|| "history".to_owned(), |session| session.short().to_owned())
    };
    facts.unusable = status.unusable.iter().map(short).collect();
    facts.doubtful = status.doubtful.iter().map(ToString::to_string).collect();
    for scan in repairer.scan_all(|_, _| ())?.sessions {
        let session = scan.session.short().to_owned();
        match scan.status {
            // What the vault has more of is named as a loss.
            _ if facts.losses.contains(&session) => {}
            Status::Corrupted if scan.live => facts.damaged_live.push(session),
            Status::Corrupted => facts.damaged.push(session),
            Status::Unreadable => facts.unreadable.push(session),
            Status::Missing => facts.deleted.push(session),
            Status::Healthy | Status::Empty | Status::Unrecoverable => {}
        }
    }
    Ok(())
}

/// What was emptied, cut short or overwritten. What is gone altogether was deleted by somebody, and is no damage.
fn losses(repairer: &Repairer) -> Result<Vec<String>, repair::Error> {
    let mut told = Vec::new();
    for (loss, _) in repairer.losses()? {
        if let Some(session) = &loss.session
            && loss.event != vault::Event::Deleted
            && !told.contains(&session.short().to_owned())
        {
            told.push(session.short().to_owned());
        }
    }
    Ok(told)
}

#[cfg(test)]
mod tests {
    use super::*;
    use store::durable::{Kept, private_dir, replace, set_like};

    #[test]
    fn open_modes_are_found_wherever_they_are() {
        let dir = tempfile::tempdir().unwrap();
        let (folder, file, git) = (dir.path().join("a"), dir.path().join("a/b"), dir.path().join(".git"));
        private_dir(&folder).unwrap();
        private_dir(&git).unwrap();
        replace(&file, b"").unwrap();
        replace(&git.join("HEAD"), b"").unwrap();
        assert_eq!(open_inside(dir.path()), []);
        let open = |path: &Path, mode| set_like(path, Kept { mode: Some(mode), mtime: None }).unwrap();
        open(&folder, 0o750);
        open(&file, 0o604);
        open(&git, 0o755);
        assert_eq!(open_inside(dir.path()), [(folder, 0o750), (file, 0o604)]);
    }

    #[test]
    fn only_errors_of_the_last_day_count() {
        let dir = tempfile::tempdir().unwrap();
        let log = dir.path().join("hot.log");
        let text = "2026-01-01T00:00:00Z old\n2026-01-02T12:00:00.5Z new\u{1b}[31m\ngarbage\n";
        replace(&log, text.as_bytes()).unwrap();
        let found = errors(&log, "2026-01-02T13:00:00Z".parse().unwrap());
        assert_eq!(found.iter().map(|line| line.text.as_str()).collect::<Vec<_>>(), ["new [31m"]);
        assert_eq!(errors(&dir.path().join("none"), Timestamp::UNIX_EPOCH), []);
    }

    #[test]
    fn keys_have_32_bytes() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("machine.key");
        assert_eq!(key(&path), KeyFound::Nothing);
        replace(&path, &[1; 32]).unwrap();
        assert_eq!(key(&path), KeyFound::Key(0o600));
        replace(&path, &[1; 31]).unwrap();
        assert_eq!(key(&path), KeyFound::Broken);
    }
}
