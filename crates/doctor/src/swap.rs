//! Puts a new file in the place of an old one under the eyes of writers.
//!
//! The agent opens, appends and closes for every row, so it may write to the old inode a moment after the swap. The
//! old inode is kept, watched for two seconds, and whole rows that arrive there are carried over. Killed at any
//! point, the path holds the old file or the new one, whole; what is left beside it is settled by the next repair.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use agents::SessionId;
use state::durable::{self, Sync};

use crate::backup::{self, Backup, FileMark, RepairRecord, RepairState};
use crate::{Error, Refusal};

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

/// Exchanges `path` with the finished file at `record.aside`. The intent is on disk before.
pub(crate) fn exchange(
    path: &Path,
    old: File,
    backup: Backup,
    record: RepairRecord,
) -> Result<Result<Swapped, Refusal>, Error> {
    backup.write(&record)?;
    durable::exchange(path, &record.aside)?;
    let length = old.metadata().map_err(Error::read(path))?.len();
    let mut swapped = Swapped { path: path.to_path_buf(), carried: record.old.size, old, backup, record };
    if length < swapped.record.old.size {
        // Somebody truncated it between our last look and the swap: it was not ours to change.
        durable::exchange(&swapped.path, &swapped.record.aside)?;
        durable::remove(&swapped.record.aside)?;
        return Ok(Err(Refusal::Changing));
    }
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
        if unchanged && length == self.carried {
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

/// Watches the old files of some swaps together, until no writer can still have one open.
#[expect(clippy::disallowed_methods, reason = "poll interval")]
pub(crate) fn watch(mut swaps: Vec<Swapped>) -> Result<(), Error> {
    let since = Instant::now();
    while !swaps.is_empty() && since.elapsed() < WATCH {
        for swap in &mut swaps {
            swap.carry()?;
        }
        std::thread::sleep(LOOK_AGAIN);
    }
    swaps.into_iter().try_for_each(Swapped::settle)
}

/// Settles what a killed repair left beside a transcript: finishes a swap that happened, forgets one that did not.
pub(crate) fn recover(backups: &Path, path: &Path, session: &SessionId) -> Result<(), Error> {
    let aside = aside(path, session);
    let Ok(old) = File::open(&aside) else { return Ok(()) };
    let ino = old.metadata().map_err(Error::read(&aside))?.ino();
    let unfinished = backup::repairs(backups, Some(session.as_str()))
        .into_iter()
        .find(|(_, record)| record.state == RepairState::Intent && record.aside == aside);
    match unfinished {
        Some((backup, record)) if record.old.ino == ino => {
            let carried = record.old.size;
            let swapped = Swapped { path: path.to_path_buf(), old, carried, backup, record };
            if swapped.late_rows_are_there()? { swapped.forget_late() } else { watch(vec![swapped]) }
        }
        // The new file, which never got its place, or nobody's: it holds nothing that is not elsewhere.
        Some((_, record)) if record.new.ino == ino => Ok(durable::remove(&aside)?),
        _ => {
            let found = backups.join(session.as_str()).join(format!("found-{ino}"));
            durable::private_dir(&found)?;
            durable::copy_exact(&aside, &found.join("transcript"))?;
            Ok(durable::remove(&aside)?)
        }
    }
}

impl Swapped {
    /// Whether a killed watch had carried its rows over already: then they must not come twice.
    fn late_rows_are_there(&self) -> Result<bool, Error> {
        let length = self.old.metadata().map_err(Error::read(&self.path))?.len();
        if length <= self.carried {
            return Ok(false);
        }
        let mut late = Vec::new();
        let mut old = self.old.try_clone().map_err(Error::read(&self.path))?;
        old.seek(SeekFrom::Start(self.carried)).map_err(Error::read(&self.path))?;
        old.take(length - self.carried).read_to_end(&mut late).map_err(Error::read(&self.path))?;
        let whole = late.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        let mut after = Vec::new();
        let mut new = File::open(&self.path).map_err(Error::read(&self.path))?;
        let start = self.record.new.size.min(new.metadata().map_err(Error::read(&self.path))?.len());
        new.seek(SeekFrom::Start(start)).map_err(Error::read(&self.path))?;
        new.read_to_end(&mut after).map_err(Error::read(&self.path))?;
        let rows = late[..whole].split_inclusive(|byte| *byte == b'\n');
        let there: Vec<&[u8]> = after.split_inclusive(|byte| *byte == b'\n').collect();
        let mut missing = Vec::new();
        for row in rows {
            if !there.contains(&row) {
                missing.extend_from_slice(row);
            }
        }
        if !missing.is_empty() {
            durable::append(&self.path, &missing, Sync::Yes)?;
        }
        Ok(true)
    }

    fn forget_late(mut self) -> Result<(), Error> {
        self.carried = self.old.metadata().map_err(Error::read(&self.path))?.len();
        self.settle()
    }
}

/// What the file at `path` must be for the swap to go on: the one that was read, unchanged.
pub(crate) fn is_unchanged(path: &Path, mark: &FileMark, modified: std::time::SystemTime) -> bool {
    std::fs::metadata(path).is_ok_and(|meta| {
        meta.ino() == mark.ino
            && meta.len() == mark.size
            && meta.modified().is_ok_and(|time| time == modified)
    })
}
