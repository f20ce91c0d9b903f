//! Taking the wiring out: by the records of `init`, and where there is none, by what is known to be ours.

use std::path::{Path, PathBuf};

use agents::claude::ConfigDir;
use jiff::Timestamp;
use store::durable;
use store::journal::{Entry, Journal};

use crate::Program;
use crate::apply::{ApplyError, lock, replace_if, sweep};
use crate::line::{LineUndoing, TmuxWish};
use crate::links;
use crate::marker::folder;
use crate::plan::{Change, Note, Part, PlanError, stand, writable};
use crate::record::{LineRecord, LinkRecord, Record, SettingsRecord};
use crate::service;
use crate::signature::{Whose, whose};
use crate::site::taken_back;
use crate::texts::TEXTS;

/// Everything that would be undone.
#[derive(Debug)]
pub struct Undoing {
    /// What the user should know.
    pub notes: Vec<Note>,
    state_dir: PathBuf,
    program: Program,
    settings: Vec<SettingsUndoing>,
    files: Vec<(PathBuf, Part, Vec<u8>)>,
    links: Vec<LinkRecord>,
    lines: Vec<LineUndoing>,
    /// Whether agents are unwired too: then no mark says that they are wired.
    agents: bool,
    /// The folders that settings lie in.
    homes: Vec<PathBuf>,
    folders: Vec<PathBuf>,
    records: Vec<PathBuf>,
}

#[derive(Debug)]
struct SettingsUndoing {
    path: PathBuf,
    real: PathBuf,
    current: Vec<u8>,
    after: Option<Vec<u8>>,
    record: Option<SettingsRecord>,
}

impl Undoing {
    /// Every change, in the order in which they are made; empty where nothing is wired.
    pub fn changes(&self) -> Vec<Change> {
        let settings = self.settings.iter().map(|undoing| Change {
            path: undoing.path.clone(),
            part: Part::Settings,
            before: Some(undoing.current.clone()),
            after: undoing.after.clone(),
        });
        let files = self.files.iter().map(|(path, part, before)| Change {
            path: path.clone(),
            part: *part,
            before: Some(before.clone()),
            after: None,
        });
        let links = self.links.iter().map(|link| Change {
            path: link.path.clone(),
            part: Part::Link,
            before: Some(format!("a link to {}\n", link.target.display()).into_bytes()),
            after: link.adopted.as_ref().map(|_| b"the folder that was there\n".to_vec()),
        });
        settings.chain(files).chain(links).chain(self.lines.iter().map(LineUndoing::change)).collect()
    }

    /// The records that cannot be read: what they told of the time before `init` is not known.
    pub fn damaged_records(&self) -> impl Iterator<Item = &Path> {
        self.notes.iter().filter_map(|note| match note {
            Note::RecordDamaged(path) => Some(path.as_path()),
            _ => None,
        })
    }

    /// Whether there is anything to do, be it only to forget a record.
    pub fn is_empty(&self) -> bool {
        self.changes().is_empty() && self.records.is_empty()
    }
}

/// What is ours by its shape, where no record says so.
#[derive(Debug, Clone, Default)]
pub struct Shapes {
    /// tmux, as it would be wired.
    pub tmux: Option<TmuxWish>,
    /// Further files that are ours if they are sealed.
    pub files: Vec<PathBuf>,
}

/// Plans to take out what the service manager was given, and nothing else.
///
/// # Errors
/// Something stands in the way; then nothing at all is done.
pub fn service(state_dir: &Path, program: &Program, files: &[PathBuf]) -> Result<Undoing, PlanError> {
    let place = service::record_place(state_dir);
    let known = Record::read(&place)?.map(|record| (place, record));
    let by_shape = (PathBuf::new(), Record { files: files.to_vec(), ..Record::default() });
    let undoing = plan_records(state_dir, program, known.into_iter().chain([by_shape]).collect())?;
    Ok(Undoing { agents: false, ..undoing })
}

/// Plans the undoing, for the directories on record and for these, and for what is ours by its shape.
///
/// # Errors
/// Something stands in the way; then nothing at all is done.
pub fn plan(
    state_dir: &Path,
    program: &Program,
    configs: &[ConfigDir],
    shapes: &Shapes,
) -> Result<Undoing, PlanError> {
    let mut records = Record::all(state_dir)?;
    // What is on record comes first: only it knows what was there before.
    let line =
        |tmux: &TmuxWish| LineRecord { path: tmux.conf.clone(), line: tmux.line(), ..LineRecord::default() };
    let files = shapes.files.iter().cloned().chain(shapes.tmux.iter().map(|tmux| tmux.file.clone()));
    let known = |path: &Path| {
        records.iter().flat_map(|(_, record)| &record.links).any(|link: &LinkRecord| link.path == path)
    };
    let link = |config: &ConfigDir, name: &str| LinkRecord {
        path: config.path().join(name),
        target: state_dir.join(name),
        adopted: None,
    };
    let linked = configs.iter().flat_map(|config| links::LINKED.map(|name| link(config, name)));
    let by_shape = Record {
        files: files.collect(),
        lines: shapes.tmux.iter().map(line).collect(),
        links: linked.filter(|link| !known(&link.path)).collect(),
        ..Record::default()
    };
    records.push((PathBuf::new(), by_shape));
    for config in configs {
        if !records.iter().any(|(_, record)| record.config_dir.as_deref() == Some(config.path())) {
            let record = Record { config_dir: Some(config.path().to_path_buf()), ..Record::default() };
            records.push((PathBuf::new(), record));
        }
    }
    let mut undoing = plan_records(state_dir, program, records)?;
    undoing.notes.extend(Record::damaged(state_dir).into_iter().map(Note::RecordDamaged));
    Ok(undoing)
}

fn plan_records(
    state_dir: &Path,
    program: &Program,
    records: Vec<(PathBuf, Record)>,
) -> Result<Undoing, PlanError> {
    let mut undoing = Undoing {
        notes: Vec::new(),
        state_dir: state_dir.to_path_buf(),
        program: program.clone(),
        settings: Vec::new(),
        files: Vec::new(),
        links: Vec::new(),
        lines: Vec::new(),
        agents: true,
        homes: Vec::new(),
        folders: Vec::new(),
        records: Vec::new(),
    };
    for (path, record) in records {
        if let Some(config) = &record.config_dir {
            plan_settings(config, record.settings.as_ref(), &mut undoing)?;
        }
        let known =
            record.config_dir.iter().flat_map(|config| TEXTS.iter().map(|text| config.join(text.place)));
        for file in known.chain(record.files.iter().cloned()) {
            plan_file(&file, &mut undoing)?;
        }
        undoing.links.extend(
            record.links.iter().filter(|link| links::is_ours(link) || link.adopted.is_some()).cloned(),
        );
        for line in &record.lines {
            let planned = LineUndoing::of(line)?;
            let known =
                |planned: &LineUndoing| undoing.lines.iter().any(|other| other.path() == planned.path());
            undoing.lines.extend(planned.filter(|planned| !known(planned)));
        }
        undoing.folders.extend(record.folders.iter().cloned());
        if let Some(config) = &record.config_dir {
            // Folders that can only be ours, also where no record says so.
            let own = TEXTS.iter().filter_map(|text| Path::new(text.place).parent());
            undoing.folders.extend(own.map(|name| config.join(name)));
        }
        if !path.as_os_str().is_empty() {
            undoing.records.push(path);
        }
    }
    undoing.folders.sort_by_key(|folder| std::cmp::Reverse(folder.components().count()));
    undoing.folders.dedup();
    Ok(undoing)
}

fn plan_settings(
    config: &Path,
    record: Option<&SettingsRecord>,
    undoing: &mut Undoing,
) -> Result<(), PlanError> {
    let path = config.join("settings.json");
    let standing = stand(&path)?;
    undoing.homes.extend(standing.real.parent().map(Path::to_path_buf));
    let Some(current) = standing.bytes else { return Ok(()) };
    if undoing.settings.iter().any(|other| other.real == standing.real) {
        return Ok(());
    }
    // A link that leads elsewhere since: the record is of another file.
    let record = record.filter(|record| record.path == standing.real);
    let after = taken_back(&current, &undoing.program, record)
        .map_err(|source| PlanError::Settings { path: path.clone(), source })?;
    if after.as_ref() == Some(&current) {
        return Ok(());
    }
    if record.is_none() {
        undoing.notes.push(Note::ByShape(path.clone()));
    }
    writable(&standing.real)?;
    let record = record.cloned();
    undoing.settings.push(SettingsUndoing { path, real: standing.real, current, after, record });
    Ok(())
}

fn plan_file(path: &Path, undoing: &mut Undoing) -> Result<(), PlanError> {
    let standing = stand(path)?;
    let Some(bytes) = standing.bytes else { return Ok(()) };
    if undoing.files.iter().any(|(other, ..)| *other == standing.real) {
        return Ok(());
    }
    match whose(&bytes) {
        Whose::Ours => {
            writable(&standing.real)?;
            let part = match path.file_name().and_then(|name| name.to_str()) {
                Some("SKILL.md") => Part::Skill,
                Some(name) if name.ends_with(".md") => Part::SlashCommand,
                Some("tmux.conf") => Part::Tmux,
                Some(name) if is_service(name) => Part::Service,
                _ => Part::Completion,
            };
            undoing.files.push((standing.real, part, bytes));
        }
        Whose::Changed => {
            let note = Note::Changed(standing.real);
            if !undoing.notes.contains(&note) {
                undoing.notes.push(note);
            }
        }
        Whose::Foreign => {}
    }
    Ok(())
}

fn is_service(name: &str) -> bool {
    [".service", ".timer", ".plist"].iter().any(|ending| name.ends_with(ending))
}

/// Undoes what was planned. The records go last: what is interrupted can be done again.
///
/// # Errors
/// A write failed, or a file changed meanwhile so that the plan no longer holds.
pub fn undo(undoing: &Undoing, now: Timestamp) -> Result<(), ApplyError> {
    let _lock = lock(&undoing.state_dir)?;
    for settings in &undoing.settings {
        undo_settings(settings, &undoing.program)?;
    }
    // First the line that reads a file of ours, then the file.
    for line in &undoing.lines {
        line.undo()?;
    }
    for (path, _, bytes) in &undoing.files {
        // One that changed since the question was asked is its user's now.
        if store::files::read(path).is_ok_and(|there| there == *bytes) {
            durable::remove(path)?;
        }
    }
    for link in &undoing.links {
        links::undo(link)?;
    }
    sweep(undoing.homes.iter().chain(&undoing.folders).map(PathBuf::as_path))?;
    for folder in &undoing.folders {
        // A link in the place of a folder is not one that we made.
        if std::fs::symlink_metadata(folder).is_ok_and(|meta| meta.is_dir()) {
            durable::remove_empty_dir(folder)?;
        }
    }
    let marks = std::fs::read_dir(folder(&undoing.state_dir)).into_iter().flatten().flatten();
    let marks = marks.filter(|_| undoing.agents);
    for mark in marks.filter(|entry| entry.file_name().to_string_lossy().starts_with("wired-")) {
        durable::remove(&mark.path())?;
    }
    let changes = undoing.changes();
    if !changes.is_empty() {
        let paths: Vec<String> = changes.iter().map(|change| change.path.display().to_string()).collect();
        let journal = Journal::at(undoing.state_dir.join("journal.jsonl"));
        journal.append(&Entry::new(now, "unwired").with("paths", paths))?;
    }
    for record in &undoing.records {
        durable::remove(record)?;
    }
    Ok(())
}

fn undo_settings(plan: &SettingsUndoing, program: &Program) -> Result<(), ApplyError> {
    // As often as `init` would try.
    for _ in 0..5 {
        let Some(current) = stand(&plan.real)?.bytes else { return Ok(()) };
        let after = taken_back(&current, program, plan.record.as_ref())
            .map_err(|source| PlanError::Settings { path: plan.path.clone(), source })?;
        match after {
            Some(text) if text == current => return Ok(()),
            Some(text) => {
                if replace_if(&plan.real, Some(&current), &text)? {
                    return Ok(());
                }
            }
            None => return Ok(durable::remove(&plan.real)?),
        }
    }
    Err(ApplyError::Restless { path: plan.path.clone() })
}
