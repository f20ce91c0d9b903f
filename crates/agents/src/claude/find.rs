use std::io::ErrorKind;
use std::path::PathBuf;

use super::{ConfigDir, Kind, Source, distinct_accounts};
use crate::{SessionId, Stamp};

/// One place where a conversation's transcript is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TranscriptFile {
    /// The configuration directory it belongs to.
    pub config: ConfigDir,
    /// Its id: the file's stem.
    pub session: SessionId,
    /// The transcript.
    pub path: PathBuf,
}

impl TranscriptFile {
    /// The file as the vault takes it, with what `stat` says now.
    pub fn source(&self) -> std::io::Result<Source> {
        Ok(Source {
            config: self.config.clone(),
            session: Some(self.session.clone()),
            path: self.path.clone(),
            kind: Kind::Transcript,
            stamp: Stamp::of(&std::fs::metadata(&self.path)?),
        })
    }
}

/// Why a session could not be looked for.
#[derive(Debug, thiserror::Error)]
pub enum FindError {
    /// The beginning of several ids.
    #[error("tell which session {prefix:?} means: {} begin with it", ids.len())]
    Ambiguous {
        /// What was asked for.
        prefix: String,
        /// The ids that begin with it.
        ids: Vec<SessionId>,
    },
    /// A folder could not be listed, so the session may be there.
    #[error("list {}", path.display())]
    Unreadable {
        /// The folder.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: std::io::Error,
    },
}

/// Every place of the session with this id, or with the only id that begins with it.
///
/// Several places mean several configuration directories, or copies of a moved project: the caller decides.
pub fn find_session(configs: &[ConfigDir], id: &str) -> Result<Vec<TranscriptFile>, FindError> {
    let exact = whole_id(configs, id)?;
    if !exact.is_empty() || id.len() == WHOLE {
        return Ok(exact);
    }
    let mut begins = Vec::new();
    for config in distinct_accounts(configs) {
        for folder in list(&config.projects(), |kind| !kind.is_file())? {
            for path in list(&folder, |kind| !kind.is_dir())? {
                let Some(name) = path.file_name().and_then(|name| name.to_str()) else { continue };
                let Some(session) = name.strip_suffix(".jsonl").and_then(|stem| SessionId::new(stem).ok())
                else {
                    continue;
                };
                if session.as_str().starts_with(id) {
                    begins.push(TranscriptFile { config: config.clone(), session, path });
                }
            }
        }
    }
    let mut ids: Vec<SessionId> = begins.iter().map(|file| file.session.clone()).collect();
    ids.sort();
    ids.dedup();
    if ids.len() > 1 { Err(FindError::Ambiguous { prefix: id.to_owned(), ids }) } else { Ok(begins) }
}

/// The ids of all transcripts, each with its account. What cannot be listed is passed over.
pub fn list_sessions(configs: &[ConfigDir]) -> Vec<(SessionId, ConfigDir)> {
    let mut found = Vec::new();
    for config in distinct_accounts(configs) {
        for folder in list(&config.projects(), |kind| !kind.is_file()).unwrap_or_default() {
            let files = list(&folder, |kind| !kind.is_dir()).unwrap_or_default();
            let stems = files.iter().filter_map(|path| path.file_name()?.to_str()?.strip_suffix(".jsonl"));
            found.extend(stems.filter_map(|stem| Some((SessionId::new(stem).ok()?, config.clone()))));
        }
    }
    found
}

/// The length of an id that the agent has made: nothing longer begins with one.
const WHOLE: usize = 36;

/// Every place of the session with exactly this id: asked for by name, since folders may be many and full.
fn whole_id(configs: &[ConfigDir], id: &str) -> Result<Vec<TranscriptFile>, FindError> {
    let Ok(session) = SessionId::new(id) else { return Ok(Vec::new()) };
    let mut found = Vec::new();
    for config in distinct_accounts(configs) {
        for folder in list(&config.projects(), |kind| !kind.is_file())? {
            let path = folder.join(format!("{id}.jsonl"));
            match path.symlink_metadata() {
                Ok(meta) if meta.is_dir() => {}
                Ok(_) => {
                    found.push(TranscriptFile { config: config.clone(), session: session.clone(), path });
                }
                Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {}
                Err(source) => return Err(FindError::Unreadable { path: folder, source }),
            }
        }
    }
    Ok(found)
}

fn list(
    folder: &std::path::Path,
    wanted: impl Fn(std::fs::FileType) -> bool,
) -> Result<Vec<PathBuf>, FindError> {
    let unreadable = |source| FindError::Unreadable { path: folder.to_path_buf(), source };
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            return Ok(vec![]);
        }
        Err(error) => return Err(unreadable(error)),
    };
    let mut paths = Vec::new();
    for entry in entries {
        let entry = entry.map_err(unreadable)?;
        if entry.file_type().is_ok_and(&wanted) {
            paths.push(entry.path());
        }
    }
    Ok(paths)
}
