//! Puts a new file in the place of an old one under the eyes of writers.
//!
//! The agent opens, appends and closes for every row, so it may write to the old inode a moment after the swap. The
//! old inode is kept, watched for two seconds, and whole rows that arrive there are carried over. Killed at any
//! point, the path holds the old file or the new one, whole; what is left beside it is settled by the next repair.

use std::fs::{File, Metadata};
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use agents::SessionId;
use jiff::Timestamp;
use state::durable::{self, Sync};

use crate::backup::{self, Backup, FileMark, RepairRecord, RepairState};
use crate::repair::refuse;
use crate::{Clinic, Error, Refusal};

/// How long a writer that had the old file open may take to finish its row (ARCHITECTURE.md).
const WATCH: Duration = Duration::from_secs(2);
/// Rows must be carried over before the writer's next one goes to the new file, or they would change order.
const LOOK_AGAIN: Duration = Duration::from_millis(2);

/// A swap that has happened and is being watched.
pub(crate) struct Swapped {
    path: PathBuf,
    old: File,
    carried: u64,
    backup: Backup,
    record: RepairRecord,
}

/// The name of the old file beside the new one. Never `*.jsonl`: it would be listed, resumed or swept.
pub(crate) fn aside(path: &Path, session: &SessionId) -> PathBuf {
    path.with_file_name(format!("{}{session}.swap", durable::TEMPORARY_PREFIX))
}

/// A finished file that is to take the place of another.
pub(crate) struct Placement<'a> {
    pub(crate) session: &'a SessionId,
    /// The file to be replaced, links resolved.
    pub(crate) path: &'a Path,
    /// It, opened before it was read, and what it was then.
    pub(crate) old: File,
    pub(crate) meta: &'a Metadata,
    pub(crate) made: tempfile::NamedTempFile,
    /// A copy of the old one.
    pub(crate) backup: Backup,
    pub(crate) classes: Vec<String>,
    pub(crate) now: Timestamp,
}

impl Clinic {
    /// Puts a finished file in the place of another: the copy is compared, owners are looked for once more, the intent
    /// is on disk, and only then the two change places.
    pub(crate) fn place(&self, placement: Placement<'_>) -> Result<Result<Swapped, Refusal>, Error> {
        let Placement { session, path, old, meta, made, backup, classes, now } = placement;
        if meta.uid() != rustix::process::geteuid().as_raw() {
            return Ok(Err(Refusal::Foreign { uid: meta.uid() }));
        }
        let old_mark = backup::mark(path, &old, meta.len())?;
        let copy = backup.transcript();
        let copied = File::open(&copy).map_err(Error::read(&copy))?;
        if backup::mark(&copy, &copied, meta.len())?.blake3 != old_mark.blake3 {
            return Ok(Err(Refusal::Changing));
        }
        let new_mark = backup::mark(
            made.path(),
            made.as_file(),
            made.as_file().metadata().map_err(Error::read(path))?.len(),
        )?;
        let aside = aside(path, session);
        // From here on the file is only found by its name: it must not go away with us.
        let kept = made.into_temp_path().keep();
        let kept = kept.map_err(|error| Error::Read { path: aside.clone(), source: error.error })?;
        durable::rename(&kept, &aside)?;
        let mut record = RepairRecord {
            schema: RepairRecord::SCHEMA,
            session_id: session.to_string(),
            path: path.to_path_buf(),
            at: now,
            aside,
            old: old_mark,
            new: new_mark,
            state: RepairState::Intent,
            classes,
            absent: false,
        };
        // Looking for owners takes longest, so it comes first; what is left between the very last look and the exchange
        // is one system call, and `exchange` sees what happened even then.
        let last_look = refuse(self.owners_of(path).of(session, path));
        if last_look.is_none() {
            backup.write(&record)?;
        }
        let modified = meta.modified().map_err(Error::read(path))?;
        let unchanged = is_unchanged(path, &record.old, modified);
        if let Some(refusal) = last_look.or((!unchanged).then_some(Refusal::Changing)) {
            durable::remove(&record.aside)?;
            record.state = RepairState::Undone;
            backup.write(&record)?;
            return Ok(Err(refusal));
        }
        exchange(path, old, backup, record)
    }
}

/// Exchanges `path` with the finished file at `record.aside`. The intent is on disk.
fn exchange(
    path: &Path,
    old: File,
    backup: Backup,
    mut record: RepairRecord,
) -> Result<Result<Swapped, Refusal>, Error> {
    durable::exchange(path, &record.aside)?;
    let displaced = std::fs::metadata(&record.aside).map_err(Error::read(&record.aside))?.ino();
    let length = old.metadata().map_err(Error::read(path))?.len();
    if displaced != record.old.ino || length < record.old.size {
        // Somebody replaced or cut it between our last look and the swap: what they made gets its place back.
        durable::exchange(path, &record.aside)?;
        let ours =
            std::fs::metadata(&record.aside).map_err(Error::read(&record.aside))?.ino() == record.new.ino;
        if ours {
            durable::remove(&record.aside)?;
        }
        record.state = RepairState::Undone;
        backup.write(&record)?;
        return Ok(Err(Refusal::Changing));
    }
    let mut swapped = Swapped { path: path.to_path_buf(), carried: record.old.size, old, backup, record };
    swapped.carry()?;
    Ok(Ok(swapped))
}

impl Swapped {
    /// Appends whole rows that arrived in the old file to the new one.
    fn carry(&mut self) -> Result<u64, Error> {
        let length = self.old.metadata().map_err(Error::read(&self.path))?.len();
        if length <= self.carried {
            return Ok(0);
        }
        let mut late = Vec::new();
        self.old.seek(SeekFrom::Start(self.carried)).map_err(Error::read(&self.path))?;
        (&self.old).take(length - self.carried).read_to_end(&mut late).map_err(Error::read(&self.path))?;
        let whole = late.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        if whole > 0 {
            durable::append(&self.path, &late[..whole], Sync::Yes)?;
            self.carried += whole as u64;
        }
        Ok(whole as u64)
    }

    /// Ends the watch: what is left of a late row goes aside, and the old file goes if the backup has all of it.
    fn settle(mut self) -> Result<(), Error> {
        self.carry()?;
        let length = self.old.metadata().map_err(Error::read(&self.path))?.len();
        let unchanged =
            backup::mark(&self.path, &self.old, self.record.old.size)?.blake3 == self.record.old.blake3;
        let aside = std::fs::metadata(&self.record.aside).map_err(Error::read(&self.record.aside))?;
        if unchanged && length == self.carried && aside.ino() == self.record.old.ino {
            durable::remove(&self.record.aside)?;
        } else {
            // A torn late row, or a rewrite in place: the whole inode is kept with the backup.
            let late = self.backup.folder.join("late");
            durable::remove(&late)?;
            durable::copy_exact(&self.record.aside, &late)?;
            durable::remove(&self.record.aside)?;
        }
        self.record.state = RepairState::Done;
        self.backup.write(&self.record)
    }
}

/// Watches the old files of some swaps together, until no writer can still have one open. One result for each.
#[expect(clippy::disallowed_methods, reason = "poll interval")]
pub(crate) fn watch(swaps: Vec<Swapped>) -> Vec<Result<(), Error>> {
    let mut watched: Vec<(Swapped, Result<(), Error>)> =
        swaps.into_iter().map(|swap| (swap, Ok(()))).collect();
    let since = Instant::now();
    while !watched.is_empty() && since.elapsed() < WATCH {
        for (swap, result) in &mut watched {
            if result.is_ok() {
                *result = swap.carry().map(|_| ());
            }
        }
        std::thread::sleep(LOOK_AGAIN);
    }
    watched.into_iter().map(|(swap, result)| result.and_then(|()| swap.settle())).collect()
}

/// Settles what killed repairs left beside a transcript: finishes a swap that happened, forgets one that did not.
pub(crate) fn recover(backups: &Path, path: &Path, session: &SessionId) -> Result<(), Error> {
    let folder = path.parent().unwrap_or(path);
    if !folder.is_dir() {
        return Ok(());
    }
    sweep(folder)?;
    let aside = aside(path, session);
    let unfinished = backup::repairs(backups, Some(session.as_str()))
        .into_iter()
        .find(|(_, record)| record.state == RepairState::Intent && record.aside == aside);
    let Ok(old) = File::open(&aside) else {
        // Killed with nothing left beside the transcript: its inode tells whether the files had changed places.
        if let Some((backup, mut record)) = unfinished
            && let Ok(meta) = std::fs::metadata(path)
        {
            let swapped = meta.ino() == record.new.ino;
            record.state = if swapped { RepairState::Done } else { RepairState::Undone };
            backup.write(&record)?;
        }
        return Ok(());
    };
    let ino = old.metadata().map_err(Error::read(&aside))?.ino();
    match unfinished {
        Some((backup, record)) if record.old.ino == ino => {
            let carried = record.old.size;
            let mut swapped = Swapped { path: path.to_path_buf(), old, carried, backup, record };
            swapped.carry_missing()?;
            swapped.settle()
        }
        // The new file, which never got its place: all it holds was made from what is there.
        Some((backup, mut record)) if record.new.ino == ino => {
            durable::remove(&aside)?;
            record.state = RepairState::Undone;
            backup.write(&record)
        }
        _ => {
            let found = backups.join(session.as_str()).join(format!("found-{ino}"));
            durable::private_dir(&found)?;
            durable::remove(&found.join("transcript"))?;
            durable::copy_exact(&aside, &found.join("transcript"))?;
            Ok(durable::remove(&aside)?)
        }
    }
}

/// Half-written files of killed repairs go after an hour: no repair takes that long, and nothing is only in them.
const FORGOTTEN: Duration = Duration::from_secs(3_600);

fn sweep(folder: &Path) -> Result<(), Error> {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    for entry in std::fs::read_dir(folder).map_err(Error::read(folder))?.flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        // Files beside a swap may be the only copy of an inode; those are settled, never swept.
        let ours = name.starts_with(durable::TEMPORARY_PREFIX)
            && !name.ends_with(".swap")
            && !name.contains("exchange");
        let changed = entry.metadata().ok().and_then(|meta| u64::try_from(meta.ctime()).ok());
        if ours && changed.is_some_and(|changed| Duration::from_secs(changed) + FORGOTTEN < now) {
            durable::remove(&entry.path())?;
        }
    }
    Ok(())
}

impl Swapped {
    /// After a kill: carries over the late rows that the killed watch had not yet, none of them twice.
    fn carry_missing(&mut self) -> Result<(), Error> {
        let read = |file: &File, from: u64| -> Result<Vec<u8>, Error> {
            let mut file = file.try_clone().map_err(Error::read(&self.path))?;
            let mut bytes = Vec::new();
            file.seek(SeekFrom::Start(from)).map_err(Error::read(&self.path))?;
            file.read_to_end(&mut bytes).map_err(Error::read(&self.path))?;
            Ok(bytes)
        };
        let late = read(&self.old, self.carried)?;
        let whole = late.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        let new = File::open(&self.path).map_err(Error::read(&self.path))?;
        let after = read(&new, self.record.new.size)?;
        let there: Vec<&[u8]> = after.split_inclusive(|byte| *byte == b'\n').collect();
        let rows = late[..whole].split_inclusive(|byte| *byte == b'\n');
        let missing: Vec<u8> = rows.filter(|row| !there.contains(row)).flatten().copied().collect();
        if !missing.is_empty() {
            durable::append(&self.path, &missing, Sync::Yes)?;
        }
        self.carried += whole as u64;
        Ok(())
    }
}

/// What the file at `path` must be for the swap to go on: the one that was read, unchanged.
fn is_unchanged(path: &Path, mark: &FileMark, modified: std::time::SystemTime) -> bool {
    std::fs::metadata(path).is_ok_and(|meta| {
        meta.ino() == mark.ino
            && meta.len() == mark.size
            && meta.modified().is_ok_and(|time| time == modified)
    })
}
