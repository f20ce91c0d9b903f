//! Backups that an earlier repair tool left beside transcripts: `<session>.jsonl.backup-<milliseconds>`.
//!
//! One of them may be the only copy of something. It is removed only if the vault has every row of it; the tool changed nothing
//! but the link to the row before (`parentUuid`), so that alone may differ.

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};

use agents::SessionId;
use agents::claude::ConfigDir;
use jiff::Timestamp;
use serde_json::Value;
use store::durable;

use crate::{Error, Repairer};

/// One such file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OldBackup {
    /// Where it is.
    pub path: PathBuf,
    /// The conversation it is a copy of.
    pub session: SessionId,
    /// When it was made, by its name.
    pub made: Option<Timestamp>,
    /// Bytes.
    pub bytes: u64,
}

/// Every such file of these directories, by path. A folder that cannot be listed has none to show.
pub fn old_backups(configs: &[ConfigDir]) -> Vec<OldBackup> {
    let list = |folder: PathBuf| std::fs::read_dir(folder).into_iter().flatten().flatten();
    let projects = configs.iter().flat_map(|config| list(config.path().join("projects")));
    let files = projects.flat_map(|project| list(project.path()));
    let mut found: Vec<OldBackup> = files.filter_map(|file| read_name(&file.path())).collect();
    found.sort_by(|one, two| one.path.cmp(&two.path));
    found.dedup();
    found
}

fn read_name(path: &Path) -> Option<OldBackup> {
    let (session, made) = path.file_name()?.to_str()?.split_once(".jsonl.backup-")?;
    let made: i64 = made.bytes().all(|byte| byte.is_ascii_digit()).then(|| made.parse().ok())??;
    let meta = std::fs::symlink_metadata(path).ok().filter(std::fs::Metadata::is_file)?;
    Some(OldBackup {
        path: path.to_path_buf(),
        session: SessionId::new(session).ok()?,
        made: Timestamp::from_millisecond(made).ok(),
        bytes: meta.len(),
    })
}

impl Repairer {
    /// Whether the vault has every row of a backup.
    ///
    /// # Errors
    /// The backup or the vault cannot be read.
    pub fn holds(&self, backup: &OldBackup) -> Result<bool, Error> {
        let mut kept = HashSet::new();
        for conversation in self.vault.find(&backup.session)? {
            let Some(file) = conversation.transcript() else { continue };
            let Some(best) = file.best_generation() else { continue };
            let mut bytes = Vec::new();
            // A copy that is damaged proves nothing.
            if self.vault.read(&conversation.key, &file.name, Some(best.number), &mut bytes).is_ok() {
                kept.extend(rows(&bytes));
            }
        }
        Ok(rows(&self.read_backup(backup)?).all(|row| kept.contains(&row)))
    }

    /// Removes a backup that the vault holds.
    ///
    /// # Errors
    /// It cannot be removed.
    pub fn remove_backup(&self, backup: &OldBackup) -> Result<(), Error> {
        Ok(durable::remove(&backup.path)?)
    }

    fn read_backup(&self, backup: &OldBackup) -> Result<Vec<u8>, Error> {
        let read = store::files::read(&backup.path);
        Ok(read.map_err(|source| durable::Error::new("read", &backup.path, source))?)
    }
}

/// The rows of a transcript, each by the hash of what it says without its link.
fn rows(bytes: &[u8]) -> impl Iterator<Item = blake3::Hash> {
    let lines = bytes.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
    lines.filter(|line| !line.is_empty()).map(|line| {
        // Keys in one order, whatever theirs was.
        let row = serde_json::from_slice::<BTreeMap<String, Value>>(line).ok();
        let told = row.and_then(|mut row| {
            row.remove("parentUuid");
            serde_json::to_vec(&row).ok()
        });
        blake3::hash(told.as_deref().unwrap_or(line))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_the_same_whatever_its_link_is() {
        let hashes = |text: &str| rows(text.as_bytes()).collect::<Vec<_>>();
        let one = hashes("{\"uuid\":\"a\",\"parentUuid\":\"gone\",\"text\":\"x\"}\n\n");
        assert_eq!(one, hashes("{\"parentUuid\":null,\"uuid\":\"a\",\"text\":\"x\"}"));
        assert_ne!(one, hashes("{\"parentUuid\":null,\"uuid\":\"a\",\"text\":\"y\"}"));
        assert_ne!(hashes("{torn"), hashes("{torn more"));
    }

    #[test]
    fn only_their_names_are_taken() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("projects/-shop");
        durable::private_dir(&folder).unwrap();
        let id = "66666666-aaaa-4aaa-8aaa-aaaaaaaaaaaa";
        let backup = format!("{id}.jsonl.backup-1706644800000");
        for name in [&backup, &format!("{id}.jsonl"), &format!("{id}.jsonl.backup-old"), "x.backup-1"] {
            durable::replace(&folder.join(name), b"{}").unwrap();
        }
        let found = old_backups(&[ConfigDir::new(dir.path())]);
        let names: Vec<&Path> =
            found.iter().filter_map(|found| found.path.file_name().map(Path::new)).collect();
        assert_eq!(names, [Path::new(&backup)]);
        assert_eq!(found[0].made.unwrap().as_second(), 1_706_644_800);
    }
}
