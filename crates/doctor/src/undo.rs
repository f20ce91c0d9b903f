//! Takes the last repair back: the bytes as they were, and what was said since behind them.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use agents::SessionId;
use agents::claude::TranscriptFile;
use jiff::Timestamp;
use state::durable;
use vault::Origination;

use crate::backup::{self, Backup, RepairRecord, RepairState};
use crate::repair::refuse;
use crate::swap::{self, Placement};
use crate::{Clinic, Error, Refusal};

/// A repair that was taken back.
#[derive(Debug, Clone)]
pub struct Undone {
    /// The session.
    pub session: SessionId,
    /// Its transcript.
    pub path: PathBuf,
    /// When the repair had been.
    pub repaired_at: Timestamp,
    /// Bytes that were said since and kept.
    pub kept_since: u64,
}

impl Clinic {
    /// Takes back the last repair of a session, or the last of all. `None`: there is none.
    ///
    /// # Errors
    /// The file system failed; the file is as it was.
    pub fn undo(
        &self,
        session: Option<&str>,
        dry_run: bool,
    ) -> Result<Option<Result<Undone, Refusal>>, Error> {
        if !dry_run {
            self.settle_intents(session)?;
        }
        let repairs = backup::repairs(&self.vault.backups(), session);
        let Some((taken, record)) = repairs.into_iter().find(|(_, record)| record.state == RepairState::Done)
        else {
            return Ok(None);
        };
        let Ok(id) = SessionId::new(&record.session_id) else { return Ok(None) };
        let _lock = if dry_run { None } else { Some(self.lock(&id)?) };
        self.take_back(&taken, record, &id, dry_run).map(Some)
    }

    /// Finishes or forgets what killed repairs left half done, of one session or of all.
    ///
    /// # Errors
    /// The file system failed.
    pub fn settle_intents(&self, session: Option<&str>) -> Result<(), Error> {
        for (_, record) in backup::repairs(&self.vault.backups(), session) {
            if record.state == RepairState::Intent
                && let Ok(id) = SessionId::new(&record.session_id)
            {
                let _lock = self.lock(&id)?;
                swap::recover(&self.vault.backups(), &record.path, &id)?;
            }
        }
        Ok(())
    }

    fn take_back(
        &self,
        taken: &Backup,
        mut record: RepairRecord,
        session: &SessionId,
        dry_run: bool,
    ) -> Result<Result<Undone, Refusal>, Error> {
        let path = record.path.clone();
        let current = File::open(&path).map_err(Error::read(&path))?;
        let meta = current.metadata().map_err(Error::read(&path))?;
        if let Some(refusal) = refuse(self.owners_of(&path).of(session, &path)) {
            return Ok(Err(refusal));
        }
        if meta.len() < record.new.size
            || backup::mark(&path, &current, record.new.size)?.blake3 != record.new.blake3
        {
            let what = format!(
                "{} is no longer what the repair made; the bytes from before it are in {}",
                path.display(),
                taken.transcript().display()
            );
            return Ok(Err(Refusal::Diverged(what)));
        }
        let kept_since = meta.len() - record.new.size;
        let undone =
            Undone { session: session.clone(), path: path.clone(), repaired_at: record.at, kept_since };
        if dry_run {
            return Ok(Ok(undone));
        }
        if record.absent {
            return self.take_away(taken, record, undone).map(Ok);
        }
        let made = self.write_original(taken, &path, &current, &record)?;
        let now = Timestamp::now();
        let backup = Backup::take(&self.vault.backups(), session, &path, now)?;
        let folder = backup.clone();
        let classes = Vec::new();
        let placement =
            Placement { session, path: &path, old: current, meta: &meta, made, backup, classes, now };
        match self.place(placement)? {
            Err(refusal) => return Ok(Err(refusal)),
            Ok(swapped) => swap::watch(vec![swapped]).into_iter().collect::<Result<(), Error>>()?,
        }
        // The undoing is itself no repair to take back.
        if let Some(mut step) = folder.record() {
            step.state = RepairState::Undone;
            folder.write(&step)?;
        }
        record.state = RepairState::Undone;
        taken.write(&record)?;
        self.note_ours(session, &path)?;
        self.tell("undo", |entry| {
            entry.with("sessionId", session.as_str()).with("path", path.to_string_lossy())
        })?;
        Ok(Ok(undone))
    }

    /// A conversation that had been put back where nothing was: the file goes, and stays in the backup and the vault.
    fn take_away(&self, taken: &Backup, mut record: RepairRecord, undone: Undone) -> Result<Undone, Error> {
        durable::remove(&taken.transcript())?;
        durable::copy_exact(&record.path, &taken.transcript())?;
        durable::remove(&record.path)?;
        record.state = RepairState::Undone;
        taken.write(&record)?;
        self.tell("undo", |entry| entry.with("sessionId", undone.session.as_str()))?;
        Ok(undone)
    }

    /// The bytes from before the repair, then what came after it.
    fn write_original(
        &self,
        taken: &Backup,
        path: &Path,
        current: &File,
        record: &RepairRecord,
    ) -> Result<tempfile::NamedTempFile, Error> {
        let original = taken.transcript();
        let mut old = File::open(&original).map_err(Error::read(&original))?;
        let meta = old.metadata().map_err(Error::read(&original))?;
        let mut since = current.try_clone().map_err(Error::read(path))?;
        since.seek(SeekFrom::Start(record.new.size)).map_err(Error::read(path))?;
        let mode = durable::Kept::of(&current.metadata().map_err(Error::read(path))?).mode;
        let kept = durable::Kept { mode, mtime: meta.modified().ok() };
        Ok(durable::write_beside(path, kept, |out| {
            std::io::copy(&mut old.by_ref().take(meta.len()), out)?;
            std::io::copy(&mut since, out)?;
            Ok(())
        })?)
    }

    /// Tells the vault that a change was ours, so that it is not taken for a loss.
    pub(crate) fn note_ours(&self, session: &SessionId, path: &Path) -> Result<(), Error> {
        let Some(config) = self.config_of(path).cloned() else { return Ok(()) };
        let file = TranscriptFile { config, session: session.clone(), path: path.to_path_buf() };
        if let Some(source) = self.source_of(&file) {
            self.vault.sync_one(&source, Origination::Ours, Timestamp::now())?;
        }
        Ok(())
    }
}
