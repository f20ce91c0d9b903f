//! Log and report of a conversation in its project (`log.enabled`).
//!
//! The record may be gone, edited or of another machine, so the project is asked of everything that names one. A wrong answer
//! does no harm: only files go that carry the session's id in their name and in what they hold.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use agents::claude::find_session;
use serde::Deserialize;
use serde_json::Value;
use store::durable;

use crate::own::list;
use crate::words::About;
use crate::{Eraser, Error, Subject};

/// The directories that a conversation may have been logged in.
#[derive(Debug, Default)]
pub(crate) struct Projects {
    /// Those that something of this conversation names.
    own: BTreeSet<PathBuf>,
    /// Those of all other conversations.
    others: BTreeSet<PathBuf>,
}

/// What a row of a transcript or of a spool says of its directory.
#[derive(Deserialize)]
struct Row {
    #[serde(default)]
    cwd: Option<PathBuf>,
}

impl Projects {
    fn add(&mut self, dir: Option<PathBuf>) {
        self.own.extend(dir.filter(|dir| dir.is_absolute()));
    }

    fn add_rows(&mut self, bytes: &[u8]) {
        for line in bytes.split(|byte| *byte == b'\n') {
            self.add(serde_json::from_slice::<Row>(line).ok().and_then(|row| row.cwd));
        }
    }
}

impl Eraser<'_> {
    /// Gathers the directories before anything goes: from the transcript, the vault, the spool, and every record.
    pub(crate) fn projects(&self, subject: &Subject) -> Projects {
        let (state, session) = (&self.settler.state, &subject.session);
        let mut projects = Projects::default();
        let configs = std::slice::from_ref(&subject.config);
        for file in find_session(configs, session.id().as_str()).unwrap_or_default() {
            projects.add_rows(&store::files::read(&file.path).unwrap_or_default());
        }
        for key in &subject.keys {
            let copy = self.vault().conversation(key).ok().flatten();
            for file in copy.iter().flat_map(|copy| &copy.files).filter(|file| file.name.ends_with(".jsonl"))
            {
                for generation in &file.generations {
                    let mut bytes = Vec::new();
                    let _ = self.vault().read(key, &file.name, Some(generation.number), &mut bytes);
                    projects.add_rows(&bytes);
                }
            }
        }
        let spool = store::spool::path(state, session.id());
        let refuge = self.settler.refuge.spool().join(format!("{}.jsonl", session.id()));
        for path in [spool, refuge] {
            projects.add_rows(&store::files::read(path).unwrap_or_default());
        }
        let registry = store::files::read(state.instances().join("registry.json")).unwrap_or_default();
        let registry: Value = serde_json::from_slice(&registry).unwrap_or_default();
        projects.add(registry[session.as_str()]["cwd"].as_str().map(PathBuf::from));
        // Also those that cannot be trusted, or were set aside: the loader takes the directory out of them.
        for path in list(&state.session_health()).unwrap_or_default() {
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            let record: Value =
                serde_json::from_slice(&store::files::read(&path).unwrap_or_default()).unwrap_or_default();
            let runs = record["runs"].as_array().map(Vec::as_slice).unwrap_or_default();
            let said = [&record["projectDir"], &record["cwd"]].into_iter();
            let dirs: Vec<PathBuf> = said
                .chain(runs.iter().map(|run| &run["cwd"]))
                .filter_map(|dir| Some(PathBuf::from(dir.as_str()?)))
                .filter(|dir| dir.is_absolute())
                .collect();
            let is_own =
                name.starts_with(session.id().as_str()) || record["sessionId"] == session.id().as_str();
            if is_own { projects.own.extend(dirs) } else { projects.others.extend(dirs) }
        }
        projects
    }

    /// Removes the logs; what may be left, one sentence each.
    pub(crate) fn erase_logs(&self, subject: &Subject) -> Result<Vec<String>, Error> {
        for project in subject.projects.own.iter().chain(&subject.projects.others) {
            erase_logs_in(project, subject)?;
        }
        let name = format!(".claude/logging/*/*/*/*-{}.jsonl", subject.session.prefix());
        if subject.projects.own.is_empty() {
            return Ok(vec![format!(
                "rekindle cannot tell in which directory it was; if log.enabled was on, remove {name} there"
            )]);
        }
        let away = |dir: &&PathBuf| self.settler.log && !dir.is_dir();
        let words =
            |dir: &PathBuf| format!("{} is not there; if it comes back, remove {name} in it", dir.display());
        Ok(subject.projects.own.iter().filter(away).map(words).collect())
    }
}

/// Logs are named after the time in the zone of that day, so they are found by the end of their names.
fn erase_logs_in(project: &Path, subject: &Subject) -> Result<(), Error> {
    let mut folders = vec![project.join(".claude/logging")];
    for _ in ["year", "month", "day"] {
        let below: Result<Vec<Vec<PathBuf>>, Error> = folders.iter().map(|folder| list(folder)).collect();
        folders = below?.into_iter().flatten().filter(|path| path.is_dir()).collect();
    }
    let ends = [format!("-{}.jsonl", subject.session.prefix()), format!("-{}.md", subject.session.prefix())];
    for folder in folders {
        for path in list(&folder)? {
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            if ends.iter().any(|end| name.ends_with(end)) && is_its(&path, subject) {
                // The report tells whose the log is, so it goes last.
                let report = path.with_extension("md");
                durable::remove(&path.with_extension("jsonl"))?;
                durable::remove(&report)?;
            }
        }
    }
    Ok(())
}

// Eight characters of an id may be another conversation's; the report has all of them. A log without one is known by its words.
fn is_its(path: &Path, subject: &Subject) -> bool {
    match store::files::read_to_string(path.with_extension("md")) {
        Ok(report) => report.contains(subject.session.id().as_str()),
        Err(_) => {
            let log = store::files::read(path.with_extension("jsonl")).unwrap_or_default();
            subject.words.are_in(&String::from_utf8_lossy(&log), About::It)
        }
    }
}
