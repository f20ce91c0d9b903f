//! Old files that a process still had open for writing when its transcript was swapped.
//!
//! Such a file keeps its name beside the transcript, its repair's record says `watched`, and a marker in
//! `cache/watched/` leads to the record. Every settle, scan and repair looks again: whole rows that arrived are appended
//! to the transcript, and the file goes when no process can write to it any more.

use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use agents::SessionId;
use jiff::Timestamp;
use store::StateDir;
use store::durable;
use store::lock::{Lock, LockError};

use crate::backup::{self, Backup, Carrying, RepairRecord, WatchedFile, Writer};
use crate::lease::{self, Writers};
use crate::{Error, Repairer, late};

/// How long an old file is kept where the file system cannot tell whether a process has it open (NFS, FUSE): a program
/// that holds a transcript open for longer without writing to it was never seen.
const UNPROVABLE: Duration = Duration::from_secs(24 * 3_600);

/// An old file that is kept because a process may still write to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptFile {
    /// The session.
    pub session: SessionId,
    /// Its transcript.
    pub path: PathBuf,
    /// Where the old file is kept.
    pub kept: PathBuf,
    /// The process that has it open, where it could be found.
    pub writer: Option<Writer>,
    /// Whether the file system can tell that no process has it open.
    pub provable: bool,
}

impl std::fmt::Display for KeptFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let session = self.session.short();
        match (&self.writer, self.provable) {
            (Some(writer), _) => write!(
                f,
                "process {} ({}) still has the old file of {session} open for writing",
                writer.pid, writer.program
            ),
            (None, true) => write!(
                f,
                "a process that cannot be seen from here still has the old file of {session} open for writing"
            ),
            (None, false) => write!(
                f,
                "this file system cannot tell whether a process still has the old file of {session} open"
            ),
        }
    }
}

impl Repairer {
    /// Looks again at every old file that is kept; those that must be kept on.
    ///
    /// # Errors
    /// The file system failed.
    pub fn watch_kept(&self) -> Result<Vec<KeptFile>, Error> {
        let mut kept = Vec::new();
        for (marker, backup) in self.marked()? {
            let Some(record) = backup.record() else {
                durable::remove(&marker)?;
                continue;
            };
            // What may not be used is left as it is; another command may know the folder that it names.
            let Ok(session) = self.usable(&backup, &record) else { continue };
            // Whoever holds the lock looks at the file itself.
            let _lock = match self.try_lock(&session) {
                Ok(lock) => lock,
                Err(Error::Lock(LockError::Held { .. })) => {
                    kept.extend(kept_file(&record, &session));
                    continue;
                }
                Err(error) => return Err(error),
            };
            self.recover(&record.path, &session)?;
            match backup.record() {
                Some(record) if record.watched.is_some() => {
                    kept.extend(kept_file(&record, &session));
                }
                _ => durable::remove(&marker)?,
            }
        }
        Ok(kept)
    }

    /// The old files that are kept, without looking at them.
    pub fn kept_files(&self) -> Vec<KeptFile> {
        let marked = self.marked().unwrap_or_default();
        let of = |backup: Backup| {
            let record = backup.record()?;
            kept_file(&record, &self.usable(&backup, &record).ok()?)
        };
        marked.into_iter().filter_map(|(_, backup)| of(backup)).collect()
    }

    /// Why old files that records tell of are not looked at, one sentence each.
    pub fn refused_kept(&self) -> Vec<String> {
        let marked = self.marked().unwrap_or_default().into_iter();
        let watched = marked.filter_map(|(_, backup)| {
            let record = backup.record().filter(|record| record.watched.is_some())?;
            self.usable(&backup, &record).err().map(|refusal| refusal.to_string())
        });
        watched.collect()
    }

    /// The markers, each with the backup it leads to. They are derived: where the folder is gone, records are asked.
    fn marked(&self) -> Result<Vec<(PathBuf, Backup)>, Error> {
        let folder = markers(&self.state);
        if !folder.is_dir() {
            let watched = backup::repairs(&self.vault.backups(), None);
            for (backup, _) in watched.iter().filter(|(_, record)| record.watched.is_some()) {
                mark(&self.state, backup)?;
            }
            durable::private_dir(&folder)?;
        }
        let entries = std::fs::read_dir(&folder).map_err(Error::read(&folder))?;
        let mut marked: Vec<(PathBuf, Backup)> = entries
            .flatten()
            .filter_map(|entry| {
                let name = entry.file_name().into_string().ok()?;
                // Of a session's id and a stamp without an `@`.
                let (session, stamp) = name.rsplit_once('@')?;
                Some((entry.path(), Backup::at(self.vault.backups().join(session).join(stamp))))
            })
            .collect();
        marked.sort_by(|a, b| a.0.cmp(&b.0));
        Ok(marked)
    }

    /// Leaves word that a backup's record is about to say `watched`. It comes first: a marker too many is removed.
    pub(crate) fn mark_watched(&self, backup: &Backup) -> Result<(), Error> {
        self.marked()?;
        mark(&self.state, backup)
    }

    /// Looks again at one old file that is watched. The session is locked.
    pub(crate) fn look_at_kept(&self, backup: &Backup, mut record: RepairRecord) -> Result<(), Error> {
        let Some(mut watched) = record.watched.clone() else { return Ok(()) };
        let Ok(old) = store::files::open(&record.aside) else {
            record.watched = None;
            return backup.write(&record);
        };
        // Asked first: what is written before the answer is carried over after it.
        let writers = lease::writers(&old);
        carry(backup, &mut record, &mut watched, &old)?;
        let age = Timestamp::now().duration_since(record.at);
        let writer = lease::writer(&record.aside, &old);
        let expired = || age.unsigned_abs() > UNPROVABLE && writer.is_none();
        if writers == Writers::Some || (writers == Writers::Unknown && !expired()) {
            let provable = writers == Writers::Some;
            if (writer.as_ref(), provable) != (watched.writer.as_ref(), watched.provable) {
                (watched.writer, watched.provable) = (writer, provable);
                record.watched = Some(watched);
                backup.write(&record)?;
            }
            return Ok(());
        }
        let length = old.metadata().map_err(Error::read(&record.aside))?.len();
        let before = backup::mark(&record.aside, &old, record.old.size)?;
        if length != watched.carried || before.blake3 != record.old.blake3 {
            keep_late(&record.aside, backup)?;
        }
        record.watched = None;
        backup.write(&record)?;
        Ok(durable::remove(&record.aside)?)
    }

    fn try_lock(&self, session: &SessionId) -> Result<Lock, Error> {
        durable::private_dir(&self.state.locks())?;
        Ok(Lock::try_alone(&self.state.locks().join(format!("repair-{session}")))?)
    }
}

/// Appends whole rows that arrived in a kept file to the transcript. The record says so before and after, so that a kill
/// in between neither loses a row nor appends one twice.
fn carry(
    backup: &Backup,
    record: &mut RepairRecord,
    watched: &mut WatchedFile,
    old: &File,
) -> Result<(), Error> {
    let path = record.path.clone();
    // A transcript that was deleted, or taken away again, is not begun anew: the rows stay in the kept file.
    let Ok(transcript) = store::files::open(&path) else { return Ok(()) };
    let meta = transcript.metadata().map_err(Error::read(&path))?;
    let mut arrived = late::read_from(&path, old, watched.carried)?;
    let write = |record: &mut RepairRecord, watched: &WatchedFile| {
        record.watched = Some(watched.clone());
        backup.write(record)
    };
    if let Some(begun) = watched.carrying.take() {
        let length = usize::try_from(begun.until.saturating_sub(watched.carried)).unwrap_or(usize::MAX);
        let rows = arrived.get(..length).unwrap_or(&arrived).to_vec();
        // A transcript that was swapped since has the rows anywhere.
        let from = if begun.ino == meta.ino() { begun.length } else { 0 };
        if late::append(&path, &late::missing(&rows, &late::read_from(&path, &transcript, from)?))? {
            arrived.drain(..rows.len());
            watched.carried += rows.len() as u64;
        }
        write(record, watched)?;
    }
    let rows = late::whole_rows(&arrived);
    if rows.is_empty() {
        return Ok(());
    }
    let until = watched.carried + rows.len() as u64;
    let length = std::fs::metadata(&path).map_err(Error::read(&path))?.len();
    watched.carrying = Some(Carrying { until, ino: meta.ino(), length });
    write(record, watched)?;
    if late::append(&path, rows)? {
        watched.carried = until;
    }
    watched.carrying = None;
    write(record, watched)
}

/// Keeps the whole old file with the backup: a torn late row, a rewrite in place, or rows without a transcript.
pub(crate) fn keep_late(aside: &Path, backup: &Backup) -> Result<(), Error> {
    durable::remove(&backup.late())?;
    durable::copy_exact(aside, &backup.late())?;
    Ok(())
}

fn markers(state: &StateDir) -> PathBuf {
    state.cache().join("watched")
}

fn mark(state: &StateDir, backup: &Backup) -> Result<(), Error> {
    let name = |path: Option<&Path>| Some(path?.file_name()?.to_string_lossy().into_owned());
    let (session, stamp) = (name(backup.folder.parent()), name(Some(&backup.folder)));
    let folder = markers(state);
    durable::private_dir(&folder)?;
    let name = format!("{}@{}", session.unwrap_or_default(), stamp.unwrap_or_default());
    Ok(durable::replace(&folder.join(name), b"")?)
}

fn kept_file(record: &RepairRecord, session: &SessionId) -> Option<KeptFile> {
    let watched = record.watched.as_ref()?;
    Some(KeptFile {
        session: session.clone(),
        path: record.path.clone(),
        kept: record.aside.clone(),
        writer: watched.writer.clone(),
        provable: watched.provable,
    })
}
