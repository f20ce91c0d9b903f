//! What a repair leaves behind: the bytes as they were, what could not stay, and a record that `undo` reads.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use agents::SessionId;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use store::{durable, order};
use transcript::Plan;

use crate::Error;

/// The folder of one repair: `vault/backups/<session>/<stamp>/`.
#[derive(Debug, Clone)]
pub struct Backup {
    /// The folder.
    pub folder: PathBuf,
}

/// How far a repair got.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RepairState {
    /// Everything is ready; the files may or may not have changed places.
    Intent,
    /// Done.
    Done,
    /// Taken back.
    Undone,
}

/// One file at one moment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileMark {
    /// Inode.
    pub ino: u64,
    /// Length.
    pub size: u64,
    /// blake3 of the content, in hexadecimal.
    pub blake3: String,
}

/// `repair.json`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RepairRecord {
    /// Format version.
    pub schema: u32,
    /// The session.
    pub session_id: String,
    /// The transcript.
    pub path: PathBuf,
    /// When.
    pub at: Timestamp,
    /// Its place among the changes of this session's transcripts, which does not depend on a clock. Nothing where an older
    /// version did it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sequence: Option<u64>,
    /// The name under which the old file waits beside the new one until nobody writes to it.
    pub aside: PathBuf,
    /// The file before.
    pub old: FileMark,
    /// The file after.
    pub new: FileMark,
    /// How far it got.
    pub state: RepairState,
    /// What was wrong.
    pub classes: Vec<String>,
    /// Whether there was no file before: a conversation that was put back.
    #[serde(default)]
    pub absent: bool,
    /// The repair that this step takes back: the name of its folder. Such a step is never itself taken back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undoes: Option<String>,
    /// Whether the transcript was never changed: a guard or a kill came first. Its state is then `undone`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub not_applied: bool,
    /// The old file, while a process may still write to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub watched: Option<WatchedFile>,
}

/// An old file that is kept at `aside` because a process may still write to it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WatchedFile {
    /// How many of its bytes are in the transcript, or need not be.
    pub carried: u64,
    /// Rows that are just being appended to the transcript.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub carrying: Option<Carrying>,
    /// The process that has it open, where it could be found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub writer: Option<Writer>,
    /// Whether the file system can tell that no process has the file open for writing any more.
    pub provable: bool,
}

/// An append of late rows that has begun.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Carrying {
    /// Where in the old file its rows end.
    pub until: u64,
    /// The transcript's inode.
    pub ino: u64,
    /// The transcript's length before.
    pub length: u64,
}

/// A process that has a file open for writing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Writer {
    /// Its process id.
    pub pid: u32,
    /// The name of its program.
    pub program: String,
}

impl RepairRecord {
    /// The format this version writes.
    pub const SCHEMA: u32 = 1;

    /// Whether `undo` can take this back: a finished repair, and not the taking back of one.
    pub(crate) fn can_be_undone(&self) -> bool {
        self.state == RepairState::Done && self.undoes.is_none()
    }

    /// Says that the transcript was not changed after all.
    pub(crate) fn give_up(&mut self) {
        (self.state, self.not_applied) = (RepairState::Undone, true);
    }

    /// What the record says when its step is over.
    pub(crate) fn final_state(&self) -> RepairState {
        if self.undoes.is_some() { RepairState::Undone } else { RepairState::Done }
    }
}

impl Backup {
    /// Copies the file as it is.
    pub(crate) fn take(
        backups: &Path,
        session: &SessionId,
        file: &Path,
        now: Timestamp,
    ) -> Result<Backup, Error> {
        let backup = Backup::empty(backups, session, now)?;
        durable::copy_exact(file, &backup.transcript())?;
        Ok(backup)
    }

    /// A backup of nothing, for what was not there. The folder's name is the time, so that the newest is the last.
    pub(crate) fn empty(backups: &Path, session: &SessionId, now: Timestamp) -> Result<Backup, Error> {
        let folder = backups.join(session.as_str()).join(stamp(now));
        durable::private_dir(&folder)?;
        Ok(Backup { folder })
    }

    /// A backup that is there already.
    pub(crate) fn at(folder: PathBuf) -> Backup {
        Backup { folder }
    }

    /// The folder's name: what `undoes` in another record means.
    pub(crate) fn name(&self) -> Option<String> {
        Some(self.folder.file_name()?.to_string_lossy().into_owned())
    }

    /// The number after all that were given to changes of this session. The session is locked.
    pub(crate) fn next_number(&self) -> u64 {
        let session = self.folder.parent().unwrap_or(&self.folder);
        let given = records_in(session).into_iter().filter_map(|(_, record)| record.sequence).max();
        given.unwrap_or_default().saturating_add(1)
    }

    /// The bytes as they were. No `.jsonl` name: nobody shall list or sweep it.
    pub fn transcript(&self) -> PathBuf {
        self.folder.join("transcript")
    }

    /// What could not stay in the file.
    pub fn rejects(&self) -> PathBuf {
        self.folder.join("rejects")
    }

    /// The whole old file, where some of it could not be carried over.
    pub(crate) fn late(&self) -> PathBuf {
        self.folder.join("late")
    }

    fn record_path(&self) -> PathBuf {
        self.folder.join("repair.json")
    }

    pub(crate) fn write(&self, record: &RepairRecord) -> Result<(), Error> {
        let mut bytes = serde_json::to_vec_pretty(record)?;
        bytes.push(b'\n');
        Ok(durable::replace(&self.record_path(), &bytes)?)
    }

    /// The record; `None` where the folder is not one of a repair.
    pub(crate) fn record(&self) -> Option<RepairRecord> {
        let bytes = store::files::read_own(self.record_path()).ok()?;
        serde_json::from_slice(&bytes)
            .ok()
            .filter(|record: &RepairRecord| record.schema <= RepairRecord::SCHEMA)
    }

    /// Whether there is a record that cannot be read: it was emptied or cut short, or a newer version wrote it.
    pub(crate) fn is_damaged(&self) -> bool {
        self.record_path().exists() && self.record().is_none()
    }

    /// Keeps what a plan takes out of the file, one line of JSON before each piece.
    pub(crate) fn keep_rejects(&self, plan: &Plan, source: &File, round: usize) -> Result<(), Error> {
        if plan.rejects.is_empty() {
            return Ok(());
        }
        let path = self.rejects();
        let mut bytes = Vec::new();
        for reject in &plan.rejects {
            let length = usize::try_from(reject.range.end - reject.range.start).unwrap_or_default();
            let piece =
                transcript::Source::bytes(source, reject.range.start, length).map_err(Error::read(&path))?;
            let head = serde_json::json!({
                "class": reject.class, "round": round, "offset": reject.range.start, "bytes": length,
            });
            bytes.extend_from_slice(head.to_string().as_bytes());
            bytes.push(b'\n');
            bytes.extend_from_slice(&piece);
            bytes.push(b'\n');
        }
        Ok(durable::append(&path, &bytes, durable::Sync::Yes)?)
    }
}

/// The name of a backup's folder: the time, so that names sort by age.
pub(crate) fn stamp(at: Timestamp) -> String {
    at.strftime("%Y%m%dT%H%M%S%.9fZ").to_string()
}

/// Every repair of a session, newest first; of all sessions where none is given.
pub(crate) fn repairs(backups: &Path, session: Option<&str>) -> Vec<(Backup, RepairRecord)> {
    let sessions = match session {
        Some(session) => vec![backups.join(session)],
        None => folders(backups),
    };
    let now = Timestamp::now();
    let mut found: Vec<(Timestamp, (Backup, RepairRecord))> = Vec::new();
    for session in sessions {
        let records = records_in(&session);
        let mut sorted = order::newest_first(records, |(_, one)| one.sequence, |(_, one)| one.at, now);
        // Sessions are compared by time, and no repair may pass a newer one of its own session.
        let mut latest = Timestamp::MIN;
        sorted.reverse();
        let mut reached: Vec<_> = sorted
            .into_iter()
            .map(|one| {
                latest = latest.max(one.1.at);
                (latest, one)
            })
            .collect();
        reached.reverse();
        found.extend(reached);
    }
    found.sort_by_key(|(latest, _)| std::cmp::Reverse(*latest));
    found.into_iter().map(|(_, one)| one).collect()
}

/// Every backup whose record cannot be read.
pub(crate) fn damaged(backups: &Path) -> Vec<Backup> {
    let all = folders(backups).into_iter().flat_map(|session| folders(&session)).map(Backup::at);
    all.filter(Backup::is_damaged).collect()
}

fn folders(path: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(path).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).filter(|path| path.is_dir()).collect()
}

/// The repairs in the folder of one session, in no order.
fn records_in(session: &Path) -> Vec<(Backup, RepairRecord)> {
    let backups = folders(session).into_iter().map(Backup::at);
    backups.filter_map(|backup| backup.record().map(|record| (backup, record))).collect()
}

/// Inode, length and hash of an open file's first `size` bytes.
pub(crate) fn mark(path: &Path, file: &File, size: u64) -> Result<FileMark, Error> {
    use std::io::Seek;
    use std::os::unix::fs::MetadataExt;
    let mut file = file.try_clone().map_err(Error::read(path))?;
    file.rewind().map_err(Error::read(path))?;
    let ino = file.metadata().map_err(Error::read(path))?.ino();
    let mut hasher = blake3::Hasher::new();
    hasher.update_reader(file.take(size)).map_err(Error::read(path))?;
    Ok(FileMark { ino, size, blake3: hasher.finalize().to_hex().to_string() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    /// A repair that is done at a time, numbered unless an older version did it.
    fn repair(backups: &Path, session: &str, second: i64, numbered: bool) {
        let id = SessionId::new(session).unwrap();
        let backup = Backup::empty(backups, &id, at(second)).unwrap();
        let mark = FileMark { ino: 1, size: 0, blake3: String::new() };
        let record = RepairRecord {
            schema: RepairRecord::SCHEMA,
            session_id: session.to_owned(),
            path: "/t".into(),
            at: at(second),
            sequence: numbered.then(|| backup.next_number()),
            aside: "/a".into(),
            old: mark.clone(),
            new: mark,
            state: RepairState::Done,
            classes: Vec::new(),
            absent: false,
            undoes: None,
            not_applied: false,
            watched: None,
        };
        backup.write(&record).unwrap();
    }

    #[test]
    fn a_clock_that_jumped_changes_no_order_of_repairs() {
        let root = tempfile::tempdir().unwrap();
        let (one, other) = ("11111111-aaaa-4aaa-8aaa-aaaaaaaaaaaa", "22222222-aaaa-4aaa-8aaa-aaaaaaaaaaaa");
        for (second, numbered) in [(10, false), (5_000, true), (100, true), (1, true)] {
            repair(root.path(), one, second, numbered);
        }
        repair(root.path(), other, 50, true);
        let times = |session: Option<&str>| {
            let found = repairs(root.path(), session).into_iter();
            found.map(|(_, record)| record.at.as_second()).collect::<Vec<_>>()
        };
        assert_eq!(times(Some(one)), [1, 100, 5_000, 10]);
        assert_eq!(times(None), [1, 100, 5_000, 50, 10]);
    }
}
