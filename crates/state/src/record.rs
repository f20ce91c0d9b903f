//! The reading side of a session record: enough to tell which configuration directory a session belongs to.

use std::io;
use std::path::{Path, PathBuf};

use agents::SessionId;
use serde::Deserialize;

use crate::StateDir;

/// What is read of `session-health/<session-id>.lock`. Every part is optional and unknown keys are ignored.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SessionRecord {
    /// The conversation.
    pub session_id: Option<String>,
    /// Its configuration directory, where the record names one itself.
    pub config_dir: Option<PathBuf>,
    /// Its transcript.
    pub transcript_path: Option<PathBuf>,
    runs: Vec<Run>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Run {
    config_dir: Option<PathBuf>,
}

impl SessionRecord {
    /// Reads the record of a session; `None` where there is none.
    pub fn read(state: &StateDir, session: &SessionId) -> io::Result<Option<Self>> {
        Self::read_file(&state.session_health().join(format!("{session}.lock")))
    }

    /// Reads one record file.
    pub fn read_file(path: &Path) -> io::Result<Option<Self>> {
        match std::fs::read(path) {
            Ok(bytes) => Ok(Some(serde_json::from_slice(&bytes)?)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The configuration directory: the record's own, else the newest run's, else the one its transcript lies in.
    pub fn config_dir(&self) -> Option<PathBuf> {
        let of_run = || self.runs.iter().rev().find_map(|run| run.config_dir.clone());
        let of_transcript = || {
            // <config>/projects/<slug>/<session>.jsonl
            let projects = self.transcript_path.as_deref()?.parent()?.parent()?;
            (projects.file_name()? == "projects").then(|| projects.parent().map(Path::to_path_buf))?
        };
        self.config_dir.clone().or_else(of_run).or_else(of_transcript)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(json: &str, expect: Option<&str>) {
        let record: SessionRecord = serde_json::from_str(json).unwrap();
        assert_eq!(record.config_dir(), expect.map(PathBuf::from), "{json}");
    }

    #[test]
    fn tells_the_config_directory_from_whatever_part_has_it() {
        check(r#"{"configDir":"/a","runs":[{"configDir":"/b"}],"new":1}"#, Some("/a"));
        check(r#"{"runs":[{"configDir":"/b"},{"configDir":"/c","pid":1},{}]}"#, Some("/c"));
        check(r#"{"transcriptPath":"/d/projects/-x/s.jsonl"}"#, Some("/d"));
        check(r#"{"transcriptPath":"/d/other/-x/s.jsonl"}"#, None);
        check("{}", None);
    }

    #[test]
    fn a_missing_record_is_none_and_a_broken_one_an_error() {
        let dir = tempfile::tempdir().unwrap();
        let state = StateDir::open(dir.path()).unwrap();
        let id = SessionId::new("s1").unwrap();
        assert_eq!(SessionRecord::read(&state, &id).unwrap(), None);
        crate::durable::private_dir(&state.session_health()).unwrap();
        crate::durable::replace(&state.session_health().join("s1.lock"), b"{").unwrap();
        assert!(SessionRecord::read(&state, &id).is_err());
    }
}
