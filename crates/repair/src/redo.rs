//! Does again what was undone: the bytes that a repair or the vault had made, and what was said since behind them.

use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use agents::SessionId;
use jiff::Timestamp;
use store::durable::{self, Kept};
use tempfile::NamedTempFile;

use crate::backup::{self, Backup, FileMark, RepairRecord};
use crate::repair::refuse;
use crate::swap::{self, Placement, Purpose};
use crate::{Error, Refusal, Repairer};

/// A change that was done again.
#[derive(Debug, Clone)]
pub struct Redone {
    /// The conversation.
    pub session: SessionId,
    /// Its transcript.
    pub path: PathBuf,
    /// Bytes that were said since the undo and kept.
    pub kept_since: u64,
}

impl Repairer {
    /// Does again the change that a backup tells of and that was undone. `None`: there is no such change.
    ///
    /// # Errors
    /// The file system failed; the file is as it was.
    pub fn redo_change(
        &self,
        backup: &Path,
        dry_run: bool,
    ) -> Result<Option<Result<Redone, Refusal>>, Error> {
        let taken = Backup::at(self.state.path().join(backup));
        let Some(record) = taken.record() else { return Ok(None) };
        let session = match self.usable(&taken, &record) {
            Ok(session) => session,
            Err(refusal) => return Ok(Some(Err(refusal))),
        };
        let _lock = if dry_run { None } else { Some(self.lock(&session)?) };
        if !dry_run {
            self.recover(&record.path, &session)?;
        }
        if let Some(refusal) = refuse(self.owners_of(&record.path).of(&session, &record.path)) {
            return Ok(Some(Err(refusal)));
        }
        let Some(made) = self.kept_result(&session, &record.new)? else {
            let what = format!("what the change had made of {} is no longer kept", record.path.display());
            return Ok(Some(Err(Refusal::Diverged(what))));
        };
        let again = Again { taken: &taken, record: &record, session: &session, made: &made };
        let redone = if record.absent {
            self.create_again(&again, dry_run)?
        } else {
            self.place_again(&again, dry_run)?
        };
        let redone = match redone {
            Err(refusal) => return Ok(Some(Err(refusal))),
            Ok(kept_since) => Redone { session, path: record.path, kept_since },
        };
        if !dry_run {
            self.note_ours(&redone.session, &redone.path)?;
            self.tell("redo", |entry| {
                entry.with("sessionId", redone.session.as_str()).with("path", redone.path.to_string_lossy())
            })?;
        }
        Ok(Some(Ok(redone)))
    }

    /// The file among the backups of a conversation that begins with what a change had made.
    fn kept_result(&self, session: &SessionId, made: &FileMark) -> Result<Option<PathBuf>, Error> {
        let folders = std::fs::read_dir(self.vault.backups().join(session.as_str()));
        for entry in folders.into_iter().flatten().flatten() {
            let path = entry.path().join("transcript");
            let Ok(file) = store::files::open(&path) else { continue };
            let long_enough = file.metadata().is_ok_and(|meta| meta.len() >= made.size);
            if long_enough && backup::mark(&path, &file, made.size)?.blake3 == made.blake3 {
                return Ok(Some(path));
            }
        }
        Ok(None)
    }

    /// The transcript must begin with what the undo left. Returns how many bytes were said since.
    fn place_again(&self, again: &Again<'_>, dry_run: bool) -> Result<Result<u64, Refusal>, Error> {
        let Again { record, session, .. } = *again;
        let path = &record.path;
        let current = store::files::open(path).map_err(Error::read(path))?;
        let meta = current.metadata().map_err(Error::read(path))?;
        if meta.len() < record.old.size
            || backup::mark(path, &current, record.old.size)?.blake3 != record.old.blake3
        {
            let what = format!("{} has changed since the undo", path.display());
            return Ok(Err(Refusal::Diverged(what)));
        }
        let kept_since = meta.len() - record.old.size;
        if dry_run {
            return Ok(Ok(kept_since));
        }
        let mut since = current.try_clone().map_err(Error::read(path))?;
        since.seek(SeekFrom::Start(record.old.size)).map_err(Error::read(path))?;
        let made = again.write(Kept::of(&meta), since)?;
        let now = Timestamp::now();
        let backup = Backup::take(&self.vault.backups(), session, path, now)?;
        let classes = record.classes.clone();
        let placement = Placement { session, path, old: current, meta: &meta, made, backup, classes, now };
        match self.place_for(placement, Purpose::Redo(again.taken))? {
            Err(refusal) => return Ok(Err(refusal)),
            Ok(swapped) => swap::watch(vec![swapped]).into_iter().collect::<Result<(), Error>>()?,
        }
        Ok(Ok(kept_since))
    }

    /// Nothing may stand where the undo left nothing.
    fn create_again(&self, again: &Again<'_>, dry_run: bool) -> Result<Result<u64, Refusal>, Error> {
        let Again { taken, record, session, made } = *again;
        let path = &record.path;
        if std::fs::symlink_metadata(path).is_ok() {
            let what = format!("{} is there again since the undo", path.display());
            return Ok(Err(Refusal::Diverged(what)));
        }
        if dry_run {
            return Ok(Ok(0));
        }
        let meta = std::fs::metadata(made).map_err(Error::read(made))?;
        let now = Timestamp::now();
        let backup = Backup::empty(&self.vault.backups(), session, now)?;
        self.note_change(session, path, &backup, true, Some(taken))?;
        durable::private_dir(path.parent().unwrap_or(path))?;
        let file = again.write(Kept { mode: None, mtime: meta.modified().ok() }, std::io::empty())?;
        self.place_new(session, path, file, &backup, now)?;
        Ok(Ok(0))
    }
}

/// An undone change that is to be made again.
#[derive(Clone, Copy)]
struct Again<'a> {
    /// Its backup, and what that tells.
    taken: &'a Backup,
    record: &'a RepairRecord,
    session: &'a SessionId,
    /// A file that begins with what the change had made.
    made: &'a Path,
}

impl Again<'_> {
    /// Writes what the change had made, and `since` behind it, beside the transcript.
    fn write(&self, kept: Kept, mut since: impl Read) -> Result<NamedTempFile, Error> {
        let mut source = store::files::open(self.made).map_err(Error::read(self.made))?;
        Ok(durable::write_beside(&self.record.path, kept, |out| {
            std::io::copy(&mut source.by_ref().take(self.record.new.size), out)?;
            std::io::copy(&mut since, out).map(|_| ())
        })?)
    }
}
