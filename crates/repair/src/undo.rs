//! Takes the last repair back: the bytes as they were, and what was said since behind them.
//!
//! The step that does it has a record of its own, which names the repair (`undoes`). Killed anywhere, the next undo or
//! repair of the session finishes it; it is never mistaken for a repair that could be taken back in turn.

use std::collections::HashSet;
use std::fs::File;
use std::io::{ErrorKind, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use agents::SessionId;
use agents::claude::TranscriptFile;
use jiff::Timestamp;
use store::durable;
use vault::Origination;

use crate::backup::{self, Backup, RepairRecord, RepairState, WatchedFile};
use crate::lease::{self, Writers};
use crate::record_paths::is_link;
use crate::repair::refuse;
use crate::swap::{self, Placement, Purpose};
use crate::{Error, Refusal, Repairer};

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

impl Repairer {
    /// Takes back one change, by its backup's folder. `None`: there is no such change.
    ///
    /// # Errors
    /// The file system failed; the file is as it was.
    pub fn undo_change(
        &self,
        backup: &Path,
        dry_run: bool,
    ) -> Result<Option<Result<Undone, Refusal>>, Error> {
        let taken = Backup::at(self.state.path().join(backup));
        let Some(before) = taken.record() else { return Ok(None) };
        if let Err(refusal) = self.usable(&taken, &before) {
            return Ok(Some(Err(refusal)));
        }
        let finished = if dry_run { None } else { self.finish_interrupted(Some(&before.session_id))? };
        let Some(record) = taken.record() else { return Ok(None) };
        if record.can_be_undone() {
            return self.undo_found(&taken, record, dry_run);
        }
        // An undo of it that was killed has just been finished.
        let ours = before.can_be_undone() && record.state == RepairState::Undone;
        Ok(finished.filter(|_| ours).map(Ok))
    }

    fn undo_found(
        &self,
        taken: &Backup,
        record: RepairRecord,
        dry_run: bool,
    ) -> Result<Option<Result<Undone, Refusal>>, Error> {
        let id = match self.usable(taken, &record) {
            Ok(id) => id,
            Err(refusal) => return Ok(Some(Err(refusal))),
        };
        let _lock = if dry_run { None } else { Some(self.lock(&id)?) };
        if !dry_run {
            // What a killed undo had only begun to write.
            self.recover(&record.path, &id)?;
        }
        self.take_back(taken, record, &id, dry_run).map(Some)
    }

    /// Finishes or forgets what killed repairs left half done, of one session or of all.
    ///
    /// # Errors
    /// The file system failed.
    pub fn settle_intents(&self, session: Option<&str>) -> Result<(), Error> {
        self.finish_interrupted(session).map(|_| ())
    }

    /// The same; the newest undo that was finished by it.
    fn finish_interrupted(&self, session: Option<&str>) -> Result<Option<Undone>, Error> {
        let mut finished: Option<Undone> = None;
        let mut settled = HashSet::new();
        for (backup, record) in backup::repairs(&self.vault.backups(), session) {
            let interrupted = record.state == RepairState::Intent || record.aside.exists();
            if interrupted
                && let Ok(id) = self.usable(&backup, &record)
                && settled.insert(record.path.clone())
            {
                let _lock = self.lock(&id)?;
                let undone = self.recover(&record.path, &id)?;
                finished = finished.or(undone);
            }
        }
        Ok(finished)
    }

    /// What a step takes back, where it is an undo.
    pub(crate) fn undone_by(&self, step: &Backup, record: &RepairRecord) -> Option<Undone> {
        let taken = Backup::at(step.folder.with_file_name(record.undoes.as_ref()?));
        let repair = taken.record()?;
        Some(Undone {
            session: SessionId::new(&record.session_id).ok()?,
            path: record.path.clone(),
            repaired_at: repair.at,
            kept_since: record.new.size.saturating_sub(repair.old.size),
        })
    }

    /// Says of the repair that a step takes back that it is undone. It comes before the step's own last word: killed in
    /// between, the step is finished again.
    pub(crate) fn finish_undo(&self, step: &Backup, record: &RepairRecord) -> Result<Option<Undone>, Error> {
        let Some(undone) = self.undone_by(step, record) else { return Ok(None) };
        let taken = Backup::at(step.folder.with_file_name(record.undoes.as_deref().unwrap_or_default()));
        if let Some(mut repair) = taken.record().filter(|repair| repair.state != RepairState::Undone) {
            self.tell("undo", |entry| {
                entry
                    .with("sessionId", record.session_id.as_str())
                    .with("path", record.path.to_string_lossy())
            })?;
            repair.state = RepairState::Undone;
            taken.write(&repair)?;
        }
        Ok(Some(undone))
    }

    fn take_back(
        &self,
        taken: &Backup,
        record: RepairRecord,
        session: &SessionId,
        dry_run: bool,
    ) -> Result<Result<Undone, Refusal>, Error> {
        let path = record.path.clone();
        let current = match store::files::open(&path) {
            // Killed behind the very last step, by a version that wrote this down afterwards.
            Err(error) if error.kind() == ErrorKind::NotFound && record.absent => {
                let undone = taken_away(&record, session, record.new.size);
                if !dry_run {
                    taken.write(&RepairRecord { state: RepairState::Undone, ..record })?;
                }
                return Ok(Ok(undone));
            }
            opened => opened.map_err(Error::read(&path))?,
        };
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
        if !record.absent
            && let Err(refusal) = self.original(taken, &record)?
        {
            return Ok(Err(refusal));
        }
        let kept_since = meta.len() - record.new.size;
        if record.absent && kept_since > 0 {
            return Ok(Err(Refusal::SaidSince { bytes: kept_since }));
        }
        let undone =
            Undone { session: session.clone(), path: path.clone(), repaired_at: record.at, kept_since };
        if dry_run {
            return Ok(Ok(undone));
        }
        if record.absent {
            return self.take_away(taken, record, session).map(|_| Ok(undone));
        }
        let original = match self.original(taken, &record)? {
            Ok(original) => original,
            Err(refusal) => return Ok(Err(refusal)),
        };
        let made = self.write_original(taken, original, &path, &current, &record)?;
        let now = Timestamp::now();
        let backup = Backup::take(&self.vault.backups(), session, &path, now)?;
        let classes = Vec::new();
        let placement =
            Placement { session, path: &path, old: current, meta: &meta, made, backup, classes, now };
        match self.place_for(placement, Purpose::Undo(taken))? {
            Err(refusal) => Ok(Err(refusal)),
            Ok(swapped) => {
                swap::watch(vec![swapped]).into_iter().collect::<Result<(), Error>>()?;
                Ok(Ok(undone))
            }
        }
    }

    /// A conversation that had been put back where nothing was: the file goes, and stays in the backup and the vault. It
    /// goes by a name beside it, because a process may still write to it.
    fn take_away(
        &self,
        taken: &Backup,
        mut record: RepairRecord,
        session: &SessionId,
    ) -> Result<Undone, Error> {
        record.aside = swap::free_aside(&record.path, session, Timestamp::now());
        taken.write(&record)?;
        durable::rename(&record.path, &record.aside)?;
        swap::wait_for_writers();
        self.finish_take_away(taken, record, session)
    }

    /// The second half: the file is at `record.aside`.
    pub(crate) fn finish_take_away(
        &self,
        taken: &Backup,
        mut record: RepairRecord,
        session: &SessionId,
    ) -> Result<Undone, Error> {
        let file = store::files::open(&record.aside).map_err(Error::read(&record.aside))?;
        let writers = lease::writers(&file);
        durable::remove(&taken.transcript())?;
        durable::copy_exact(&record.aside, &taken.transcript())?;
        if record.state != RepairState::Undone {
            self.tell("undo", |entry| entry.with("sessionId", session.as_str()))?;
        }
        record.state = RepairState::Undone;
        if writers != Writers::None {
            let writer = lease::writer(&record.aside, &file);
            let length = file.metadata().map_err(Error::read(&record.aside))?.len();
            self.mark_watched(taken)?;
            let provable = writers == Writers::Some;
            record.watched = Some(WatchedFile { carried: length, carrying: None, writer, provable });
        }
        taken.write(&record)?;
        if record.watched.is_none() {
            durable::remove(&record.aside)?;
        }
        let length = file.metadata().map_err(Error::read(&record.aside))?.len();
        Ok(taken_away(&record, session, length))
    }

    /// The bytes from before the repair, opened, where they are still those that were kept.
    fn original(&self, taken: &Backup, record: &RepairRecord) -> Result<Result<File, Refusal>, Error> {
        let path = taken.transcript();
        let refused = |what: String| {
            let session = SessionId::new(&record.session_id).ok();
            let vaulted = session.filter(|id| self.vault.find(id).is_ok_and(|found| !found.is_empty()));
            let vault = vaulted.map_or_else(
                || "the vault has no other copy".to_owned(),
                |id| format!("what the vault has of it: rekindle vault restore {} --dry-run", id.short()),
            );
            Refusal::NotOurs(format!("the backup {} {what}; nothing was changed; {vault}", path.display()))
        };
        if is_link(&path) {
            return Ok(Err(refused("is a link to another file".to_owned())));
        }
        let file = match store::files::open(&path) {
            Ok(file) => file,
            Err(error) => return Ok(Err(refused(format!("cannot be read ({error})")))),
        };
        let length = file.metadata().map_err(Error::read(&path))?.len();
        if length != record.old.size || backup::mark(&path, &file, length)?.blake3 != record.old.blake3 {
            return Ok(Err(refused("is not what the repair had kept".to_owned())));
        }
        Ok(Ok(file))
    }

    /// The bytes from before the repair, then what came after it.
    fn write_original(
        &self,
        taken: &Backup,
        mut old: File,
        path: &Path,
        current: &File,
        record: &RepairRecord,
    ) -> Result<tempfile::NamedTempFile, Error> {
        let original = taken.transcript();
        old.rewind().map_err(Error::read(&original))?;
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
            self.mirror(&source, Origination::Ours, Timestamp::now())?;
        }
        Ok(())
    }
}

/// The taking away of a file that had been put back, and is `length` bytes long by now.
fn taken_away(record: &RepairRecord, session: &SessionId, length: u64) -> Undone {
    Undone {
        session: session.clone(),
        path: record.path.clone(),
        repaired_at: record.at,
        kept_since: length.saturating_sub(record.new.size),
    }
}
