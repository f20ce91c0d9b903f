//! Planning the wiring: everything is read and every refusal found before anything is written.

use std::path::{Path, PathBuf};

use agents::claude::ConfigDir;
use agents::claude::hook_events::{HookEvent, known_to_all};
use agents::claude::versions::Seen;
use semver::Version;

use crate::line::{LinePlace, LinePlan, LineWish, TmuxWish};
use crate::links::{self, LinkPlan};
use crate::plan::{Change, Note, Part, PlanError, missing_folders, stand, writable};
use crate::record::{Record, SettingsRecord, place};
use crate::settings::{Remark, StatusLineChoice, Wanted};
use crate::signature::{Comment, Whose, sign, whose};
use crate::site::{Outcome, keeps_status_line, outcome};
use crate::texts::TEXTS;
use crate::{Program, completions::Completion};

/// What the user asked for, and what was found.
#[derive(Debug, Clone)]
pub struct Request {
    /// The state directory.
    pub state_dir: PathBuf,
    /// The program to be called.
    pub program: Program,
    /// The configuration directories, the user's main one first.
    pub sites: Vec<Site>,
    /// What becomes of a status line.
    pub status_line: StatusLineChoice,
    /// Whether slash commands and skills are written.
    pub texts: bool,
    /// Completions, by shell.
    pub completions: Vec<Completion>,
    /// What tmux is told, where it is.
    pub tmux: Option<TmuxWish>,
    /// A line of our own configuration, where the user chose something.
    pub config: Option<LineWish>,
    /// The folder that gets links to what we remember, and whether folders in their place are moved in.
    pub links: Option<(PathBuf, Adopt)>,
}

/// Whether folders that stand in a link's place are moved into the state directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Adopt {
    /// They are.
    Yes,
    /// They stay, and are mentioned.
    No,
}

/// One configuration directory and the agents that use it.
#[derive(Debug, Clone)]
pub struct Site {
    /// The directory.
    pub config: ConfigDir,
    /// Agents that were seen to use it, or could.
    pub agents: Vec<Seen>,
}

/// Everything that would be done.
#[derive(Debug)]
pub struct Plan {
    /// What the user should know.
    pub notes: Vec<Note>,
    pub(crate) state_dir: PathBuf,
    pub(crate) sites: Vec<SitePlan>,
    pub(crate) home: Record,
    pub(crate) files: Vec<FilePlan>,
    pub(crate) links: Vec<LinkPlan>,
    pub(crate) lines: Vec<LinePlan>,
}

/// What would be done in one configuration directory.
#[derive(Debug)]
pub(crate) struct SitePlan {
    pub(crate) config: ConfigDir,
    /// Where its settings are planned: in this site, or in an earlier one that has the same file.
    pub(crate) settings: Result<SettingsPlan, usize>,
    /// What is known already, with the files and folders of this plan.
    pub(crate) record: Record,
}

#[derive(Debug)]
pub(crate) struct SettingsPlan {
    pub(crate) path: PathBuf,
    pub(crate) real: PathBuf,
    pub(crate) current: Option<Vec<u8>>,
    pub(crate) wanted: Wanted,
    pub(crate) outcome: Outcome,
}

/// A file of ours that would be written.
#[derive(Debug)]
pub(crate) struct FilePlan {
    pub(crate) path: PathBuf,
    pub(crate) part: Part,
    pub(crate) before: Option<Vec<u8>>,
    pub(crate) after: Vec<u8>,
}

impl Plan {
    /// Whether a status line of ours comes where there was none of ours.
    pub fn adds_status_line(&self) -> bool {
        let mut settings = self.sites.iter().filter_map(|site| site.settings.as_ref().ok());
        settings.any(|plan| {
            let wired = &plan.outcome.wired;
            wired.traces.status_line.is_some() && !wired.had_status_line
        })
    }

    /// Every change, in the order in which they are made; empty where everything is wired.
    pub fn changes(&self) -> Vec<Change> {
        let settings = self.sites.iter().filter_map(|site| site.settings.as_ref().ok());
        let settings =
            settings.filter(|plan| plan.current.as_ref() != Some(&plan.outcome.wired.text)).map(|plan| {
                let after = Some(plan.outcome.wired.text.clone());
                Change { path: plan.path.clone(), part: Part::Settings, before: plan.current.clone(), after }
            });
        let files = self.files.iter().map(|file| Change {
            path: file.path.clone(),
            part: file.part,
            before: file.before.clone(),
            after: Some(file.after.clone()),
        });
        let links = self.links.iter().map(LinkPlan::change);
        settings.chain(files).chain(links).chain(self.lines.iter().map(LinePlan::change)).collect()
    }
}

/// Plans the wiring.
///
/// # Errors
/// Something stands in the way; then nothing at all is done.
pub fn plan(request: &Request) -> Result<Plan, PlanError> {
    let home = Record::read(&place(&request.state_dir, None))?.unwrap_or_default();
    let mut plan = Plan {
        notes: Vec::new(),
        state_dir: request.state_dir.clone(),
        sites: Vec::new(),
        home,
        files: Vec::new(),
        links: Vec::new(),
        lines: Vec::new(),
    };
    let mut sites = Vec::new();
    for (number, site) in request.sites.iter().enumerate() {
        let path = site.config.path();
        if !path.exists() {
            // The agent makes its main directory itself; a slot's that is not there may be on a disk that is not.
            let main = number == 0;
            plan.notes.push(if main { Note::NeverUsed(path.into()) } else { Note::Absent(path.into()) });
            if !main {
                continue;
            }
        }
        sites.push((site, stand(&path.join("settings.json"))?));
    }
    for (number, (site, standing)) in sites.iter().enumerate() {
        let same = |other: &&(&Site, crate::plan::Standing)| other.1.real == standing.real;
        let place = place(&request.state_dir, Some(site.config.path()));
        let mut record = Record::read(&place)?.unwrap_or_default();
        record.config_dir = Some(site.config.path().to_path_buf());
        let settings = match sites[..number].iter().position(|other| same(&other)) {
            Some(earlier) => Err(earlier),
            None => {
                let agents: Vec<&Seen> =
                    sites.iter().filter(same).flat_map(|(site, _)| &site.agents).collect();
                Ok(plan_settings(
                    request,
                    site,
                    standing,
                    &agents,
                    record.settings.as_ref(),
                    &mut plan.notes,
                )?)
            }
        };
        if standing.bytes.is_none() && settings.is_ok() {
            remember_folders(&mut record, &standing.real);
        }
        if request.texts {
            for text in &TEXTS {
                let path = site.config.path().join(text.place);
                let bytes = sign(text.text.as_bytes(), Comment::Html);
                plan_file(&path, text.part, bytes, &mut record, &mut plan.files, &mut plan.notes)?;
            }
        }
        plan.sites.push(SitePlan { config: site.config.clone(), settings, record });
    }
    for completion in &request.completions {
        let bytes = sign(&completion.text, Comment::Hash);
        plan_file(
            &completion.path,
            Part::Completion,
            bytes,
            &mut plan.home,
            &mut plan.files,
            &mut plan.notes,
        )?;
    }
    if let Some(tmux) = &request.tmux {
        let bytes = sign(&tmux.text, Comment::Hash);
        plan_file(&tmux.file, Part::Tmux, bytes, &mut plan.home, &mut plan.files, &mut plan.notes)?;
        let (path, line) = (tmux.conf.clone(), tmux.line());
        let wish = LineWish { path, line, place: LinePlace::End, part: Part::Tmux };
        plan.lines.extend(LinePlan::of(&wish)?);
    }
    if let Some(config) = &request.config {
        plan.lines.extend(LinePlan::of(config)?);
    }
    if let Some((folder, adopt)) = &request.links {
        plan.links = links::plan(&request.state_dir, folder, *adopt, &mut plan.home, &mut plan.notes)?;
    }
    Ok(plan)
}

fn plan_settings(
    request: &Request,
    site: &Site,
    standing: &crate::plan::Standing,
    agents: &[&Seen],
    prior: Option<&SettingsRecord>,
    notes: &mut Vec<Note>,
) -> Result<SettingsPlan, PlanError> {
    let path = site.config.path().join("settings.json");
    let versions: Vec<Version> = agents.iter().map(|seen| seen.version.clone()).collect();
    let events = known_to_all(&versions);
    let wanted = Wanted { program: request.program.clone(), events, status_line: request.status_line };
    let outcome = outcome(standing.bytes.as_deref(), &wanted, prior)
        .map_err(|source| PlanError::Settings { path: path.clone(), source })?;
    let changes = standing.bytes.as_ref() != Some(&outcome.wired.text);
    if changes {
        writable(&standing.real)?;
    }
    let left_out: Vec<&'static str> = HookEvent::ALL
        .iter()
        .filter(|event| !wanted.events.contains(event))
        .map(|event| event.name())
        .collect();
    if !left_out.is_empty() {
        let oldest = agents.iter().min_by(|one, two| one.version.cmp(&two.version));
        let oldest = oldest.map(|seen| (seen.version.clone(), seen.place.clone()));
        notes.push(Note::LeftOut { settings: path.clone(), events: left_out, oldest });
    }
    if keeps_status_line(&outcome.wired) {
        notes.push(Note::StatusLineKept(path.clone()));
    }
    notes.extend(outcome.wired.remarks.iter().map(|remark| match remark {
        Remark::HooksDisabled => Note::HooksDisabled(path.clone()),
        Remark::NotPlainJson => Note::NotPlainJson(path.clone()),
        Remark::OddStatusLine => Note::OddStatusLine(path.clone()),
    }));
    Ok(SettingsPlan { path, real: standing.real.clone(), current: standing.bytes.clone(), wanted, outcome })
}

pub(crate) fn remember_folders(record: &mut Record, path: &Path) {
    for folder in missing_folders(path) {
        if !record.folders.contains(&folder) {
            record.folders.push(folder);
        }
    }
    // The deepest first, so that each is empty when its turn comes.
    record.folders.sort_by_key(|folder| std::cmp::Reverse(folder.components().count()));
}

pub(crate) fn plan_file(
    path: &Path,
    part: Part,
    after: Vec<u8>,
    record: &mut Record,
    files: &mut Vec<FilePlan>,
    notes: &mut Vec<Note>,
) -> Result<(), PlanError> {
    let standing = stand(path)?;
    if files.iter().any(|file| file.path == standing.real) {
        return Ok(()); // two directories share the folder by a link
    }
    match standing.bytes.as_deref().map(whose) {
        Some(Whose::Foreign) => {
            notes.push(Note::Foreign(path.to_path_buf()));
            return Ok(());
        }
        Some(Whose::Changed) => notes.push(Note::Changed(path.to_path_buf())),
        _ if standing.bytes.as_ref() == Some(&after) => {}
        _ => {
            writable(&standing.real)?;
            if standing.bytes.is_none() {
                remember_folders(record, &standing.real);
            }
            files.push(FilePlan { path: standing.real.clone(), part, before: standing.bytes, after });
        }
    }
    if !record.files.contains(&standing.real) {
        record.files.push(standing.real);
    }
    Ok(())
}
