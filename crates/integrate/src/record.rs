//! What `init` did, kept in the state directory so that `uninstall` can undo exactly that.

use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use store::durable;

use crate::marker::{folder, name_of};
use crate::settings::Traces;

const SCHEMA: u32 = 1;

/// What was done for one configuration directory, or, without one, for the user's shells and folders.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Record {
    pub(crate) schema: u32,
    pub(crate) config_dir: Option<PathBuf>,
    pub(crate) settings: Option<SettingsRecord>,
    /// Files that we wrote.
    pub(crate) files: Vec<PathBuf>,
    /// Folders that we made, the deepest first.
    pub(crate) folders: Vec<PathBuf>,
    pub(crate) links: Vec<LinkRecord>,
    /// Lines that we added to files of the user's own.
    pub(crate) lines: Vec<LineRecord>,
}

/// A line that we added.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct LineRecord {
    /// The file itself, links resolved.
    pub(crate) path: PathBuf,
    pub(crate) line: String,
    /// There was no such file before.
    pub(crate) made: bool,
    /// A copy of what was there.
    pub(crate) before: Option<PathBuf>,
    /// A copy of what we made of it.
    pub(crate) after: Option<PathBuf>,
}

/// What was done to one settings file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct SettingsRecord {
    /// The file itself, links resolved.
    pub(crate) path: PathBuf,
    /// There was none before.
    pub(crate) made: bool,
    /// A copy of what was there, where it is known.
    pub(crate) before: Option<PathBuf>,
    /// A copy of what we made of it.
    pub(crate) after: Option<PathBuf>,
    pub(crate) traces: Traces,
}

/// A link that we made.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct LinkRecord {
    pub(crate) path: PathBuf,
    pub(crate) target: PathBuf,
    /// A folder stood there, and these things of it were moved into the target.
    pub(crate) adopted: Option<Vec<String>>,
}

/// Why a record could not be used.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// It could not be read.
    #[error("read {}", path.display())]
    Read {
        /// The record.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// It was made by a newer program, which knows more than this one.
    #[error("use {}: a newer rekindle wrote it", path.display())]
    Newer {
        /// The record.
        path: PathBuf,
    },
}

/// The record of a configuration directory, or of the user's home.
pub(crate) fn place(state_dir: &Path, config_dir: Option<&Path>) -> PathBuf {
    let name = config_dir.map_or_else(|| "home".to_owned(), name_of);
    folder(state_dir).join(format!("{name}.json"))
}

impl Record {
    /// Reads a record; `None` where there is none, or where it cannot be understood: ours is then known by its shape.
    pub(crate) fn read(path: &Path) -> Result<Option<Record>, RecordError> {
        let bytes = match store::files::read(path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(source) => return Err(RecordError::Read { path: path.to_path_buf(), source }),
        };
        let Ok(record) = serde_json::from_slice::<Record>(&bytes) else { return Ok(None) };
        if record.schema > SCHEMA {
            return Err(RecordError::Newer { path: path.to_path_buf() });
        }
        Ok(Some(record))
    }

    /// Every record of a state directory, with its path.
    pub(crate) fn all(state_dir: &Path) -> Result<Vec<(PathBuf, Record)>, RecordError> {
        let mut found = Vec::new();
        let entries = std::fs::read_dir(folder(state_dir)).into_iter().flatten();
        for path in entries.filter_map(|entry| Some(entry.ok()?.path())) {
            if path.extension().is_some_and(|extension| extension == "json")
                && let Some(record) = Record::read(&path)?
            {
                found.push((path, record));
            }
        }
        found.sort_by(|one, two| one.0.cmp(&two.0));
        Ok(found)
    }

    /// The records that cannot be understood.
    pub(crate) fn damaged(state_dir: &Path) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(folder(state_dir)).into_iter().flatten().flatten();
        let paths = entries.map(|entry| entry.path());
        let records = paths.filter(|path| path.extension().is_some_and(|extension| extension == "json"));
        records.filter(|path| matches!(Record::read(path), Ok(None))).collect()
    }

    /// Writes a record, unless it stands there already.
    pub(crate) fn write(&self, path: &Path) -> Result<(), durable::Error> {
        let record = Record { schema: SCHEMA, ..self.clone() };
        let mut text = serde_json::to_vec_pretty(&record).map_err(|error| {
            durable::Error::new("write", path, io::Error::new(io::ErrorKind::InvalidData, error))
        })?;
        text.push(b'\n');
        if store::files::read(path).is_ok_and(|there| there == text) {
            return Ok(());
        }
        durable::replace(path, &text)
    }
}
