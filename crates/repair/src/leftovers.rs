//! Settles what a killed repair, undo or putting back left beside a transcript: a swap that happened is finished, one that
//! did not is forgotten, and a file that no record knows is kept with the backups.

use std::collections::BTreeSet;
use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use agents::SessionId;
use agents::claude::{ConfigDir, account, config_of, find_session, is_account};
use store::durable;

use crate::backup::{self, Backup, RepairRecord, RepairState};
use crate::lease::{self, Writers};
use crate::swap::{self, Swapped};
use crate::{Error, Repairer, Undone, kept};

impl Repairer {
    /// Settles everything that is left of a session beside its transcript. The session is locked. Returns the undo that was
    /// finished by this, where one was.
    pub(crate) fn recover(&self, path: &Path, session: &SessionId) -> Result<Option<Undone>, Error> {
        let folder = path.parent().unwrap_or(path);
        if !folder.is_dir() {
            return Ok(None);
        }
        sweep(folder)?;
        let records = || {
            let all = backup::repairs(&self.vault.backups(), Some(session.as_str()));
            all.into_iter().filter(|(_, record)| record.path == path)
        };
        let mut finished = None;
        for aside in asides(folder, session)? {
            let about = records().filter(|(_, record)| record.aside == aside).collect();
            let undone = self.settle_aside(&aside, session, about)?;
            finished = finished.or(undone);
        }
        // Intents without a file beside the transcript: its inode tells whether the files had changed places.
        for (backup, mut record) in records().filter(|(_, record)| record.state == RepairState::Intent) {
            if inode(path) == Some(record.new.ino) {
                finished = finished.or(self.finish_undo(&backup, &record)?);
                record.state = record.final_state();
            } else {
                record.give_up();
            }
            backup.write(&record)?;
        }
        Ok(finished)
    }

    /// Settles everything that repairs of a session have left in the folders of its transcripts. The session is locked.
    /// Returns what could not be settled and may hold its text, one sentence each.
    ///
    /// # Errors
    /// The file system failed.
    pub fn settle_leftovers(&self, config: &ConfigDir, session: &SessionId) -> Result<Vec<String>, Error> {
        let found = find_session(std::slice::from_ref(config), session.as_str()).unwrap_or_default();
        let mut paths: BTreeSet<PathBuf> = found.into_iter().map(|file| file.path).collect();
        for (backup, record) in backup::repairs(&self.vault.backups(), Some(session.as_str())) {
            if self.usable(&backup, &record).is_ok()
                && is_account(&account(config.path()), &root_of(&record.path))
            {
                paths.insert(record.path);
            }
        }
        // Of a transcript that is gone, too.
        let begins = format!("{}{session}.", durable::TEMPORARY_PREFIX);
        for folder in std::fs::read_dir(config.projects()).into_iter().flatten().flatten() {
            let files = std::fs::read_dir(folder.path()).into_iter().flatten().flatten();
            if files.into_iter().any(|file| file.file_name().to_string_lossy().contains(&begins)) {
                paths.insert(folder.path().join(format!("{session}.jsonl")));
            }
        }
        let real = |path: PathBuf| std::fs::canonicalize(&path).unwrap_or(path);
        let paths: BTreeSet<PathBuf> = paths.into_iter().map(real).collect();
        let mut left = BTreeSet::new();
        for path in &paths {
            self.recover(path, session)?;
            for entry in std::fs::read_dir(path.parent().unwrap_or(path)).into_iter().flatten().flatten() {
                let name = entry.file_name().to_string_lossy().into_owned();
                let ours = name.starts_with(durable::TEMPORARY_PREFIX);
                let holds = || {
                    let bytes = store::files::read(entry.path()).unwrap_or_default();
                    bytes.windows(session.as_str().len()).any(|part| part == session.as_str().as_bytes())
                };
                if ours && (name.contains(session.as_str()) || holds()) {
                    left.insert(entry.path());
                }
            }
        }
        let words =
            |path: PathBuf| format!("{} holds text of it, and a process may still use it", path.display());
        Ok(left.into_iter().map(words).collect())
    }

    /// Settles one file beside the transcript, by the records that name it, newest first.
    fn settle_aside(
        &self,
        aside: &Path,
        session: &SessionId,
        records: Vec<(Backup, RepairRecord)>,
    ) -> Result<Option<Undone>, Error> {
        let Ok(file) = store::files::open(aside) else { return Ok(None) };
        let ino = file.metadata().map_err(Error::read(aside))?.ino();
        let known = records.iter().find(|(_, record)| [record.old.ino, record.new.ino].contains(&ino));
        let Some((backup, record)) = known.cloned() else {
            // What somebody put there just before a swap that was killed before it could change it back.
            let swapped = |record: &RepairRecord| {
                record.state == RepairState::Intent && inode(&record.path) == Some(record.new.ino)
            };
            if let Some((backup, mut record)) = records.into_iter().find(|(_, record)| swapped(record)) {
                swap::take_back_exchange(&mut record)?;
                backup.write(&record)?;
                return Ok(None);
            }
            return self.keep_found(aside, &file, session).map(|()| None);
        };
        let is_old = record.old.ino == ino;
        if record.watched.is_some() {
            self.look_at_kept(&backup, record)?;
            return Ok(None);
        }
        match record.state {
            RepairState::Intent if is_old => {
                let undone = self.undone_by(&backup, &record);
                let (session, carried) = (session.clone(), record.old.size);
                let mut swapped = Swapped { repairer: self, session, old: file, carried, backup, record };
                swapped.carry_missing()?;
                swapped.finish()?;
                Ok(undone)
            }
            // The new file, which never got its place: all it holds was made from what is there.
            RepairState::Intent => {
                durable::remove(aside)?;
                let mut record = record;
                record.give_up();
                backup.write(&record)?;
                Ok(None)
            }
            _ if record.absent && !is_old => self.finish_take_away(&backup, record, session).map(Some),
            // All of its rows were carried over before the record said so.
            _ if is_old => {
                let length = file.metadata().map_err(Error::read(aside))?.len();
                let before = backup::mark(aside, &file, record.old.size)?;
                if length != record.old.size || before.blake3 != record.old.blake3 {
                    kept::keep_late(aside, &backup)?;
                }
                durable::remove(aside)?;
                Ok(self.undone_by(&backup, &record))
            }
            _ => self.keep_found(aside, &file, session).map(|()| None),
        }
    }

    /// Keeps a file that no record knows. Its name tells the content: an inode is used again, and two files of one must not
    /// take each other's place.
    fn keep_found(&self, aside: &Path, file: &File, session: &SessionId) -> Result<(), Error> {
        let length = file.metadata().map_err(Error::read(aside))?.len();
        let mark = backup::mark(aside, file, length)?;
        let name = format!("found-{}-{}", mark.ino, &mark.blake3[..16]);
        let found = self.vault.backups().join(session.as_str()).join(name);
        durable::private_dir(&found)?;
        let copy = found.join("transcript");
        if !copy.exists() {
            durable::copy_exact(aside, &copy)?;
        }
        Ok(durable::remove(aside)?)
    }
}

/// The configuration directory that a transcript's path names.
fn root_of(path: &Path) -> PathBuf {
    config_of(path).unwrap_or(path).to_path_buf()
}

fn inode(path: &Path) -> Option<u64> {
    std::fs::metadata(path).ok().map(|meta| meta.ino())
}

/// The files beside a transcript that are, or were to become, its old file.
fn asides(folder: &Path, session: &SessionId) -> Result<Vec<PathBuf>, Error> {
    let plain = format!("{}{session}.", durable::TEMPORARY_PREFIX);
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(Error::read(folder))?.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let is_aside = |name: &str| name.starts_with(&plain) && name.ends_with("swap");
        if is_aside(&name) {
            found.push(entry.path());
        } else if let Some(link) = name.strip_prefix(durable::EXCHANGE_PREFIX)
            && let Some((_, name)) = link.split_once('-').filter(|(_, name)| is_aside(name))
        {
            // A kill within an exchange by a hard link: the old file has only this name, or this one too many.
            let aside = folder.join(name);
            if aside.exists() {
                durable::remove(&entry.path())?;
            } else {
                durable::rename(&entry.path(), &aside)?;
                found.push(aside);
            }
        }
    }
    found.sort();
    found.dedup();
    Ok(found)
}

/// Where the file system cannot tell whether a process has a file open, half-written files of killed repairs go after an
/// hour: no repair takes that long, and nothing is only in them.
const FORGOTTEN: Duration = Duration::from_secs(3_600);

/// Removes half-written files of killed repairs: those that no process has open for writing.
fn sweep(folder: &Path) -> Result<(), Error> {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    for entry in std::fs::read_dir(folder).map_err(Error::read(folder))?.flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        // Files beside a swap may be the only copy of an inode; those are settled, never swept.
        let ours = name.starts_with(durable::TEMPORARY_PREFIX)
            && !name.ends_with(".swap")
            && !name.contains("exchange");
        if !ours || !entry.file_type().is_ok_and(|kind| kind.is_file()) {
            continue;
        }
        let Ok(file) = store::files::open(entry.path()) else { continue };
        let old = || {
            let changed = file.metadata().ok().and_then(|meta| u64::try_from(meta.ctime()).ok());
            changed.is_some_and(|changed| Duration::from_secs(changed) + FORGOTTEN < now)
        };
        let left = match lease::writers(&file) {
            Writers::None => true,
            Writers::Some => false,
            Writers::Unknown => old(),
        };
        if left {
            durable::remove(&entry.path())?;
        }
    }
    Ok(())
}
