//! Puts a new file in the place of an old one, while other processes may be writing to it.
//!
//! The agent opens, appends and closes for every row, so a row may reach the old inode after the swap. The old inode is
//! watched for two seconds, and whole rows that arrive there are carried over. It goes only when the kernel says that no
//! process has it open for writing; until then it is kept and watched (`kept`). Killed at any point, the path holds the
//! old file or the new one, whole; what is left beside it is settled by the next repair (`leftovers`).

use std::fs::{File, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use agents::SessionId;
use agents::claude::Holder;
use jiff::Timestamp;
use store::durable;

use crate::backup::{self, Backup, FileMark, RepairRecord, RepairState, WatchedFile};
use crate::lease::{self, Writers};
use crate::repair::refuse;
use crate::{Error, Refusal, Repairer, kept, late};

/// How long a process that was just opening the old file may take to write its row. Whoever takes longer has it open, and
/// the kernel knows.
const WATCH: Duration = Duration::from_secs(2);
/// Rows must be carried over before the writer's next one goes to the new file, or they would change order.
const LOOK_AGAIN: Duration = Duration::from_millis(2);

/// A swap that has happened and is being watched.
pub(crate) struct Swapped<'repairer> {
    pub(crate) repairer: &'repairer Repairer,
    pub(crate) session: SessionId,
    pub(crate) old: File,
    /// How many bytes of the old file the transcript has, or need not have.
    pub(crate) carried: u64,
    pub(crate) backup: Backup,
    pub(crate) record: RepairRecord,
}

/// The name of the old file beside the new one. Never `*.jsonl`: it would be listed, resumed or swept.
pub(crate) fn aside(path: &Path, session: &SessionId) -> PathBuf {
    path.with_file_name(format!("{}{session}.swap", durable::TEMPORARY_PREFIX))
}

/// Such a name that no other file has: an old file that is still watched keeps its own.
pub(crate) fn free_aside(path: &Path, session: &SessionId, at: Timestamp) -> PathBuf {
    let plain = aside(path, session);
    if plain.symlink_metadata().is_err() {
        return plain;
    }
    let stamp = backup::stamp(at);
    path.with_file_name(format!("{}{session}.{stamp}.swap", durable::TEMPORARY_PREFIX))
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

/// What a swap is for.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Purpose<'a> {
    /// A change of its own.
    Change,
    /// It undoes the change that this backup tells of.
    Undo(&'a Backup),
    /// It makes the undone change again that this backup tells of.
    Redo(&'a Backup),
}

impl Repairer {
    /// Puts a finished file in the place of another: the copy is compared, the intent is on disk, owners and writers are
    /// looked for once more, and only then the two change places.
    pub(crate) fn place(&self, placement: Placement<'_>) -> Result<Result<Swapped<'_>, Refusal>, Error> {
        self.place_for(placement, Purpose::Change)
    }

    /// The same for a step that undoes another change, or does one again.
    pub(crate) fn place_for(
        &self,
        placement: Placement<'_>,
        purpose: Purpose<'_>,
    ) -> Result<Result<Swapped<'_>, Refusal>, Error> {
        let Placement { session, path, old, meta, made, backup, classes, now } = placement;
        if meta.uid() != rustix::process::geteuid().as_raw() {
            return Ok(Err(Refusal::Foreign { uid: meta.uid() }));
        }
        let undoes = match purpose {
            Purpose::Undo(taken) => taken.name(),
            Purpose::Change | Purpose::Redo(_) => None,
        };
        let redoes = if let Purpose::Redo(undone) = purpose { Some(undone) } else { None };
        if undoes.is_none() {
            self.note_change(session, path, &backup, classes.is_empty(), redoes)?;
        }
        let old_mark = backup::mark(path, &old, meta.len())?;
        let copy = backup.transcript();
        let copied = store::files::open(&copy).map_err(Error::read(&copy))?;
        if backup::mark(&copy, &copied, meta.len())?.blake3 != old_mark.blake3 {
            return Ok(Err(Refusal::Changing));
        }
        let mut record = RepairRecord {
            schema: RepairRecord::SCHEMA,
            session_id: session.to_string(),
            path: path.to_path_buf(),
            at: now,
            sequence: Some(backup.next_number()),
            aside: free_aside(path, session, now),
            old: old_mark,
            new: mark_of(&made)?,
            state: RepairState::Intent,
            classes,
            absent: false,
            undoes,
            not_applied: false,
            watched: None,
        };
        // Before the file has its name beside the transcript: whatever is found there is then known.
        backup.write(&record)?;
        // It stays open until it has that name: a temporary file that no process has open is a leftover.
        let (made, temporary) =
            made.keep().map_err(|error| Error::Read { path: record.aside.clone(), source: error.error })?;
        durable::rename(&temporary, &record.aside)?;
        drop(made);
        // Looking for owners takes longest, so it comes first; what is left between the very last look and the exchange
        // is one system call, and `exchange` sees what happened even then.
        let owned = refuse(self.owners_of(path).of(session, path)).or_else(|| open_for_writing(path, &old));
        let modified = meta.modified().map_err(Error::read(path))?;
        let changed = || (!is_unchanged(path, &record.old, modified)).then_some(Refusal::Changing);
        if let Some(refusal) = owned.or_else(changed) {
            durable::remove(&record.aside)?;
            record.give_up();
            backup.write(&record)?;
            return Ok(Err(refusal));
        }
        self.exchange(session, old, backup, record)
    }

    /// Puts a finished file where none is. The record says so before it is there.
    pub(crate) fn place_new(
        &self,
        session: &SessionId,
        path: &Path,
        made: tempfile::NamedTempFile,
        backup: &Backup,
        at: Timestamp,
    ) -> Result<(), Error> {
        let mut record = RepairRecord {
            schema: RepairRecord::SCHEMA,
            session_id: session.to_string(),
            path: path.to_path_buf(),
            at,
            sequence: Some(backup.next_number()),
            aside: free_aside(path, session, at),
            old: FileMark { ino: 0, size: 0, blake3: String::new() },
            new: mark_of(&made)?,
            state: RepairState::Intent,
            classes: Vec::new(),
            absent: true,
            undoes: None,
            not_applied: false,
            watched: None,
        };
        backup.write(&record)?;
        durable::persist_new(made, path)?;
        record.state = RepairState::Done;
        backup.write(&record)
    }

    /// Exchanges the transcript with the finished file at `record.aside`. The intent is on disk.
    fn exchange(
        &self,
        session: &SessionId,
        old: File,
        backup: Backup,
        mut record: RepairRecord,
    ) -> Result<Result<Swapped<'_>, Refusal>, Error> {
        durable::exchange(&record.path, &record.aside)?;
        let displaced = std::fs::metadata(&record.aside).map_err(Error::read(&record.aside))?.ino();
        let length = old.metadata().map_err(Error::read(&record.path))?.len();
        if displaced != record.old.ino || length < record.old.size {
            // It was replaced or cut between our last look and the swap: what is there now gets its place back.
            take_back_exchange(&mut record)?;
            backup.write(&record)?;
            return Ok(Err(Refusal::Changing));
        }
        let (carried, session) = (record.old.size, session.clone());
        let mut swapped = Swapped { repairer: self, session, carried, old, backup, record };
        swapped.carry()?;
        Ok(Ok(swapped))
    }
}

/// Exchanges once more, and removes our file where it is the one that came back.
pub(crate) fn take_back_exchange(record: &mut RepairRecord) -> Result<(), Error> {
    durable::exchange(&record.path, &record.aside)?;
    let back = std::fs::metadata(&record.aside).map_err(Error::read(&record.aside))?.ino();
    if back == record.new.ino {
        durable::remove(&record.aside)?;
    }
    record.give_up();
    Ok(())
}

/// A process that has the transcript open for writing, as a reason not to swap it.
fn open_for_writing(path: &Path, file: &File) -> Option<Refusal> {
    if lease::writers(file) != Writers::Some {
        return None;
    }
    let evidence = "it has the file open for writing";
    Some(match lease::writer(path, file) {
        Some(writer) => Refusal::Owned(Holder { pid: writer.pid, since_ms: None, evidence, pane: None }),
        None => {
            Refusal::OwnerUnknown("a process that cannot be seen has the file open for writing".to_owned())
        }
    })
}

impl Swapped<'_> {
    /// Appends whole rows that arrived in the old file to the new one.
    fn carry(&mut self) -> Result<(), Error> {
        let path = &self.record.path;
        if self.old.metadata().map_err(Error::read(path))?.len() <= self.carried {
            return Ok(());
        }
        let arrived = late::read_from(path, &self.old, self.carried)?;
        let rows = late::whole_rows(&arrived);
        if late::append(path, rows)? {
            self.carried += rows.len() as u64;
        }
        Ok(())
    }

    /// After a kill: carries over the late rows that the killed watch had not yet, none of them twice.
    pub(crate) fn carry_missing(&mut self) -> Result<(), Error> {
        let path = &self.record.path;
        let arrived = late::read_from(path, &self.old, self.carried)?;
        let rows = late::whole_rows(&arrived);
        let Ok(new) = store::files::open(path) else { return Ok(()) };
        let there = late::read_from(path, &new, self.record.new.size)?;
        if late::append(path, &late::missing(rows, &there))? {
            self.carried += rows.len() as u64;
        }
        Ok(())
    }

    /// Ends the watch. The old file goes where no process can write to it any more, and is kept and watched otherwise.
    pub(crate) fn finish(mut self) -> Result<(), Error> {
        // Asked first: what is written before the answer is carried over after it.
        let writers = lease::writers(&self.old);
        self.carry()?;
        // A copy in the vault that is one row behind is no failure: the next sync catches up.
        let _ = self.repairer.note_ours(&self.session, &self.record.path);
        if writers != Writers::None {
            let writer = lease::writer(&self.record.aside, &self.old);
            let (carried, provable) = (self.carried, writers == Writers::Some);
            self.repairer.mark_watched(&self.backup)?;
            self.record.watched = Some(WatchedFile { carried, carrying: None, writer, provable });
            return self.write_final_state();
        }
        if !self.is_all_carried()? {
            kept::keep_late(&self.record.aside, &self.backup)?;
        }
        // The record comes first: an old file of a step that is over is a leftover, whoever finds it.
        self.write_final_state()?;
        Ok(durable::remove(&self.record.aside)?)
    }

    /// Whether the backup and the transcript have every byte of the old file.
    fn is_all_carried(&self) -> Result<bool, Error> {
        let length = self.old.metadata().map_err(Error::read(&self.record.path))?.len();
        let before = backup::mark(&self.record.path, &self.old, self.record.old.size)?;
        Ok(length == self.carried && before.blake3 == self.record.old.blake3)
    }

    /// Says that the step is over, and first that the repair it took back is undone: killed in between, the step is
    /// finished again.
    fn write_final_state(&mut self) -> Result<(), Error> {
        self.repairer.finish_undo(&self.backup, &self.record)?;
        self.record.state = self.record.final_state();
        self.backup.write(&self.record)
    }
}

/// Watches the old files of some swaps together, then lets each go or keeps it. One result for each.
#[expect(clippy::disallowed_methods, reason = "poll interval")]
pub(crate) fn watch(swaps: Vec<Swapped<'_>>) -> Vec<Result<(), Error>> {
    let mut watched: Vec<(Swapped<'_>, Result<(), Error>)> =
        swaps.into_iter().map(|swap| (swap, Ok(()))).collect();
    let since = Instant::now();
    while !watched.is_empty() && since.elapsed() < WATCH {
        for (swap, result) in &mut watched {
            if result.is_ok() {
                *result = swap.carry();
            }
        }
        std::thread::sleep(LOOK_AGAIN);
    }
    watched.into_iter().map(|(swap, result)| result.and_then(|()| swap.finish())).collect()
}

/// Gives a process that was just opening the file the time to write its row.
#[expect(clippy::disallowed_methods, reason = "the time that a writer gets, as in `watch`")]
pub(crate) fn wait_for_writers() {
    std::thread::sleep(WATCH);
}

/// Whether a finished file has exactly the bytes of the one it is to replace.
pub(crate) fn is_same(path: &Path, old: &File, made: &tempfile::NamedTempFile) -> Result<bool, Error> {
    let (length, made) = (old.metadata().map_err(Error::read(path))?.len(), mark_of(made)?);
    Ok(length == made.size && backup::mark(path, old, length)?.blake3 == made.blake3)
}

fn mark_of(made: &tempfile::NamedTempFile) -> Result<FileMark, Error> {
    let length = made.as_file().metadata().map_err(Error::read(made.path()))?.len();
    backup::mark(made.path(), made.as_file(), length)
}

/// What the file at `path` must be for the swap to go on: the one that was read, unchanged.
fn is_unchanged(path: &Path, mark: &FileMark, modified: std::time::SystemTime) -> bool {
    std::fs::metadata(path).is_ok_and(|meta| {
        meta.ino() == mark.ino
            && meta.len() == mark.size
            && meta.modified().is_ok_and(|time| time == modified)
    })
}
