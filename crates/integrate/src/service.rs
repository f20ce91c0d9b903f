//! What the machine starts by itself: units of systemd's user manager, agents of launchd. Texts and words only; writing is
//! planned and done as everywhere in this crate, and whoever prints also runs the words.

mod launchd;
mod systemd;

use std::path::{Path, PathBuf};
use std::time::Duration;

use jiff::Timestamp;
use store::durable;
use store::journal::{Entry, Journal};

use crate::Program;
use crate::apply::{ApplyError, lock, sweep, write_file};
use crate::init::{FilePlan, plan_file};
use crate::marker::folder;
use crate::plan::{Change, Note, Part, PlanError};
use crate::record::Record;
use crate::signature::{Comment, sign};

/// Who starts services of a user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Manager {
    /// systemd's user manager.
    Systemd,
    /// macOS.
    Launchd,
}

/// What is to be started, and how.
#[derive(Debug, Clone)]
pub struct Service {
    /// Who starts it.
    pub manager: Manager,
    /// The folder of a user's own units.
    pub folder: PathBuf,
    /// What is started.
    pub program: Program,
    /// The time between two ticks.
    pub interval: Duration,
    /// What its environment has besides the manager's.
    pub variables: Vec<(String, String)>,
    /// The user's number, by which launchd names its domain.
    pub user: u32,
}

/// A file that the manager reads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnitFile {
    /// What the manager calls it.
    pub name: &'static str,
    /// Where it goes.
    pub path: PathBuf,
    /// What it says, without the line that seals it.
    pub text: String,
}

/// A command of the manager.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// The program and its arguments.
    pub words: Vec<String>,
    /// Whether anything is amiss when it fails; one that lets go of what may not be there fails often.
    pub needed: bool,
}

impl Service {
    /// The folder of a user's own units.
    pub fn folder(manager: Manager, home: &Path, config: &Path) -> PathBuf {
        match manager {
            Manager::Systemd => config.join("systemd/user"),
            Manager::Launchd => home.join("Library/LaunchAgents"),
        }
    }

    /// The files: what restores when the user's services start, and what ticks.
    pub fn files(&self) -> Vec<UnitFile> {
        let texts = match self.manager {
            Manager::Systemd => systemd::texts(self),
            Manager::Launchd => launchd::texts(self),
        };
        let file = |(name, text): (&'static str, String)| {
            let ending = if self.manager == Manager::Launchd { ".plist" } else { "" };
            UnitFile { name, path: self.folder.join(format!("{name}{ending}")), text }
        };
        texts.into_iter().map(file).collect()
    }

    /// What makes the manager take the files: from now on it ticks, and from the next start it restores.
    pub fn enable(&self) -> Vec<Call> {
        match self.manager {
            Manager::Systemd => systemd::enable(),
            Manager::Launchd => launchd::enable(self),
        }
    }

    /// What makes it let go of them.
    pub fn disable(&self) -> Vec<Call> {
        match self.manager {
            Manager::Systemd => systemd::disable(),
            Manager::Launchd => launchd::disable(self),
        }
    }

    /// What makes it forget files that are gone.
    pub fn forget(&self) -> Vec<Call> {
        match self.manager {
            Manager::Systemd => systemd::forget(),
            Manager::Launchd => Vec::new(),
        }
    }

    /// Links that the manager makes for what is enabled, and where each leads.
    pub fn links(&self) -> Vec<(PathBuf, PathBuf)> {
        match self.manager {
            Manager::Systemd => systemd::links(&self.folder),
            Manager::Launchd => Vec::new(),
        }
    }

    fn comment(&self) -> Comment {
        match self.manager {
            Manager::Systemd => Comment::Hash,
            Manager::Launchd => Comment::Html,
        }
    }
}

/// Everything that would be written.
#[derive(Debug)]
pub struct ServicePlan {
    /// What the user should know.
    pub notes: Vec<Note>,
    state_dir: PathBuf,
    record: Record,
    files: Vec<FilePlan>,
}

impl ServicePlan {
    /// Every change; empty where everything is installed.
    pub fn changes(&self) -> Vec<Change> {
        let change = |file: &FilePlan| Change {
            path: file.path.clone(),
            part: file.part,
            before: file.before.clone(),
            after: Some(file.after.clone()),
        };
        self.files.iter().map(change).collect()
    }

    /// A file of somebody else's that stands in the way.
    pub fn foreign(&self) -> Option<&Path> {
        self.notes.iter().find_map(|note| match note {
            Note::Foreign(path) => Some(path.as_path()),
            _ => None,
        })
    }
}

/// Where it is written down what was installed.
pub(crate) fn record_place(state_dir: &Path) -> PathBuf {
    folder(state_dir).join("service.json")
}

/// Plans the files.
///
/// # Errors
/// Something stands in the way; then nothing at all is done.
pub fn plan(state_dir: &Path, service: &Service) -> Result<ServicePlan, PlanError> {
    let record = Record::read(&record_place(state_dir))?.unwrap_or_default();
    let mut plan =
        ServicePlan { notes: Vec::new(), state_dir: state_dir.to_path_buf(), record, files: Vec::new() };
    for file in service.files() {
        let bytes = sign(file.text.as_bytes(), service.comment());
        plan_file(&file.path, Part::Service, bytes, &mut plan.record, &mut plan.files, &mut plan.notes)?;
    }
    Ok(plan)
}

/// Writes what was planned.
///
/// # Errors
/// A write failed. What was done so far is written down.
pub fn apply(plan: &ServicePlan, now: Timestamp) -> Result<(), ApplyError> {
    let _lock = lock(&plan.state_dir)?;
    sweep(plan.files.iter().filter_map(|file| file.path.parent()))?;
    durable::private_dir(&folder(&plan.state_dir))?;
    plan.record.write(&record_place(&plan.state_dir))?;
    let backups =
        folder(&plan.state_dir).join("backups").join(now.strftime("%Y%m%dT%H%M%S.%9fZ").to_string());
    for file in &plan.files {
        write_file(file, &backups)?;
    }
    if !plan.files.is_empty() {
        let paths: Vec<String> = plan.files.iter().map(|file| file.path.display().to_string()).collect();
        let journal = Journal::at(plan.state_dir.join("journal.jsonl"));
        journal.append(&Entry::new(now, "service_installed").with("paths", paths))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
