//! Doing what was planned. Killed anywhere in this, a second run completes it and `uninstall` undoes it: what will be done
//! is written down before it is done.

use std::path::{Path, PathBuf};
use std::time::Duration;

use jiff::Timestamp;
use store::durable::{self, Kept};
use store::journal::{Entry, Journal};
use store::lock::{Lock, LockError};

use crate::init::{FilePlan, Plan, SettingsPlan};
use crate::marker::{folder, marker, name_of, spellings};
use crate::plan::{Part, PlanError, stand};
use crate::record::{Record, SettingsRecord, place};
use crate::site::{Copies, outcome, record};

/// Writing a few small files takes a moment; who waits longer waits for somebody who asks his user.
const DEADLINE: Duration = Duration::from_secs(5);
/// The agent rewrites its settings now and then, not all the time.
const MOST_TRIES: usize = 5;

/// Why the wiring was not finished.
#[derive(Debug, thiserror::Error)]
pub enum ApplyError {
    /// Another run is at it.
    #[error(transparent)]
    Locked(#[from] LockError),
    /// A write failed.
    #[error(transparent)]
    Write(#[from] durable::Error),
    /// The files are no longer as they were when they were planned, and cannot be changed as they are.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// Somebody writes the file all the time.
    #[error("change {}: something else keeps changing it", path.display())]
    Restless {
        /// The file.
        path: PathBuf,
    },
}

/// Takes the lock that keeps two runs apart.
pub(crate) fn lock(state_dir: &Path) -> Result<Lock, ApplyError> {
    let locks = state_dir.join("locks");
    durable::private_dir(&locks)?;
    Ok(Lock::acquire(&locks.join("wiring"), DEADLINE)?)
}

/// Does what was planned.
///
/// # Errors
/// A write failed, or a file changed so that the plan no longer holds. What was done so far is written down.
pub fn apply(plan: &mut Plan, now: Timestamp) -> Result<(), ApplyError> {
    let _lock = lock(&plan.state_dir)?;
    let changes = plan.changes();
    let settings = plan.sites.iter().filter_map(|site| site.settings.as_ref().ok()?.real.parent());
    sweep(settings.chain(plan.files.iter().filter_map(|file| file.path.parent())))?;
    let backups =
        folder(&plan.state_dir).join("backups").join(now.strftime("%Y%m%dT%H%M%S.%9fZ").to_string());
    durable::private_dir(&folder(&plan.state_dir))?;
    let mut records: Vec<SettingsRecord> = Vec::new();
    for site in &mut plan.sites {
        let place = place(&plan.state_dir, Some(site.config.path()));
        let settings = match &site.settings {
            Ok(settings) => {
                // Another run may have come first since the plan was made: its word is the older one.
                let there = Record::read(&place).map_err(PlanError::from)?;
                let prior = there.and_then(|there| there.settings).or(site.record.settings.take());
                write_settings(settings, prior.as_ref(), &backups, |settings| {
                    site.record.settings = Some(settings.clone());
                    site.record.write(&place)
                })?
            }
            Err(earlier) => records.get(*earlier).cloned().unwrap_or_default(),
        };
        site.record.settings = Some(settings.clone());
        site.record.write(&place)?;
        records.push(settings);
    }
    for line in &plan.lines {
        let record = line.copy(&backups)?;
        // What an earlier run noted of the time before it is the best there is.
        if !plan.home.lines.iter().any(|known| known.path == record.path && known.line == record.line) {
            plan.home.lines.push(record);
        }
    }
    plan.home.write(&place(&plan.state_dir, None))?;
    for file in &plan.files {
        write_file(file, &backups)?;
    }
    for line in &plan.lines {
        line.apply()?;
    }
    for link in &plan.links {
        link.apply()?;
    }
    for site in &plan.sites {
        for path in spellings(site.config.path()) {
            let marker = marker(&plan.state_dir, &path);
            if !marker.exists() {
                durable::replace(&marker, format!("{}\n", path.display()).as_bytes())?;
            }
        }
    }
    if !changes.is_empty() {
        let paths: Vec<String> = changes.iter().map(|change| change.path.display().to_string()).collect();
        let journal = Journal::at(plan.state_dir.join("journal.jsonl"));
        journal.append(&Entry::new(now, "wired").with("paths", paths))?;
    }
    Ok(())
}

/// Removes what a killed run left half written in these folders; the lock says that nobody writes there now.
pub(crate) fn sweep<'a>(folders: impl Iterator<Item = &'a Path>) -> Result<(), durable::Error> {
    for folder in folders {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let temporary = entry.file_name().to_string_lossy().starts_with(durable::TEMPORARY_PREFIX);
            if temporary && entry.file_type().is_ok_and(|kind| kind.is_file()) {
                durable::remove(&entry.path())?;
            }
        }
    }
    Ok(())
}

/// Writes a settings file if it is still what was planned for; if not, plans it anew from what is there.
fn write_settings(
    plan: &SettingsPlan,
    prior: Option<&SettingsRecord>,
    backups: &Path,
    mut remember: impl FnMut(&SettingsRecord) -> Result<(), durable::Error>,
) -> Result<SettingsRecord, ApplyError> {
    let failed = |source| PlanError::Settings { path: plan.path.clone(), source };
    for _ in 0..MOST_TRIES {
        let current = stand(&plan.real)?.bytes;
        let now = if current == plan.current {
            plan.outcome.clone()
        } else {
            outcome(current.as_deref(), &plan.wanted, prior).map_err(failed)?
        };
        let text = &now.wired.text;
        if current.as_ref() == Some(text) {
            // Nothing to write. What an earlier run noted of the time before it is the best there is.
            return match prior {
                Some(prior) => Ok(prior.clone()),
                None => {
                    let copies = copy(&plan.real, current.as_deref(), text, backups)?;
                    Ok(record(&plan.real, current.as_deref(), &now, prior, &copies))
                }
            };
        }
        let copies = copy(&plan.real, current.as_deref(), text, backups)?;
        let record = record(&plan.real, current.as_deref(), &now, prior, &copies);
        remember(&record)?;
        if replace_if(&plan.real, current.as_deref(), text)? {
            return Ok(record);
        }
    }
    Err(ApplyError::Restless { path: plan.path.clone() })
}

/// Keeps a copy of a settings file, and of what becomes of it.
fn copy(real: &Path, before: Option<&[u8]>, after: &[u8], backups: &Path) -> Result<Copies, durable::Error> {
    let name = format!("{}-settings.json", name_of(real));
    let copies = Copies { before: backups.join(&name), after: backups.join(format!("{name}.wired")) };
    durable::private_dir(backups)?;
    if let Some(before) = before {
        durable::replace(&copies.before, before)?;
    }
    durable::replace(&copies.after, after)?;
    Ok(copies)
}

/// Replaces a file if it still holds what is expected; whether it did.
pub(crate) fn replace_if(real: &Path, expected: Option<&[u8]>, text: &[u8]) -> Result<bool, ApplyError> {
    replace_if_like(real, expected, text, Kept::default())
}

/// The same; a file that is new gets this mode.
fn replace_if_like(real: &Path, expected: Option<&[u8]>, text: &[u8], new: Kept) -> Result<bool, ApplyError> {
    let fill = |out: &mut dyn std::io::Write| out.write_all(text);
    if let Some(folder) = real.parent() {
        durable::private_dir(folder)?;
    }
    let Some(expected) = expected else {
        return match durable::create_new(real, new, fill) {
            Ok(()) => Ok(true),
            Err(error) if error.source.kind() == std::io::ErrorKind::AlreadyExists => Ok(false),
            Err(error) => Err(error.into()),
        };
    };
    let meta = std::fs::metadata(real).map_err(|error| durable::Error::new("look at", real, error))?;
    let kept = Kept { mtime: None, ..Kept::of(&meta) };
    let written = durable::write_beside(real, kept, fill)?;
    // The last look is right before the rename: what the agent writes in that moment is all that could be missed.
    if store::files::read(real).ok().as_deref() != Some(expected) {
        return Ok(false);
    }
    written.persist(real).map_err(|error| durable::Error::new("replace", real, error.error))?;
    if let Some(folder) = real.parent() {
        durable::sync_dir(folder)?;
    }
    Ok(true)
}

pub(crate) fn write_file(file: &FilePlan, backups: &Path) -> Result<(), ApplyError> {
    if let Some(before) = &file.before {
        durable::private_dir(backups)?;
        let name = file.path.file_name().unwrap_or_default().to_string_lossy();
        durable::replace(&backups.join(format!("{}-{name}", name_of(&file.path))), before)?;
    }
    // systemd complains about units that others cannot read: what they say is no secret to it.
    let mode = (file.part == Part::Service).then_some(0o644);
    let written =
        replace_if_like(&file.path, file.before.as_deref(), &file.after, Kept { mode, mtime: None })?;
    // Another run may have been faster.
    if written || store::files::read(&file.path).is_ok_and(|there| there == file.after) {
        return Ok(());
    }
    Err(ApplyError::Restless { path: file.path.clone() })
}
