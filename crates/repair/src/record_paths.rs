//! Which paths of a repair's record may be used.
//!
//! `repair.json` is no secret and has no signature: a state directory can be synced, pulled or edited. What it names is read,
//! replaced, appended to and removed, so a record counts only where it names a transcript of its own session, in a folder
//! that agents use, and a file beside it with the name that a swap gives.

use std::path::{Component, Path, PathBuf};

use agents::SessionId;
use agents::claude::ConfigDir;
use store::durable;

use crate::backup::{Backup, RepairRecord};
use crate::{Refusal, Repairer};

impl Repairer {
    /// Lets records name this file though it lies in no agent's folder: the user has named it in this very command.
    pub fn name_file(&self, path: &Path) {
        let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
        let real = resolved(&absolute).unwrap_or(absolute);
        self.named.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push(real);
    }

    /// The session of a record whose paths may be used.
    pub(crate) fn usable(&self, backup: &Backup, record: &RepairRecord) -> Result<SessionId, Refusal> {
        let refused = |what: String| {
            let file = backup.folder.join("repair.json");
            Refusal::NotOurs(format!("{} {what}; nothing was changed", file.display()))
        };
        let session = SessionId::new(&record.session_id)
            .map_err(|_| refused(format!("is of {:?}, which is no session", record.session_id)))?;
        if backup.folder.parent() != Some(&self.vault.backups().join(session.as_str())) {
            return Err(refused(format!("is of {session}, whose backups lie elsewhere")));
        }
        let plain = |name: &String| SessionId::new(name).is_ok();
        if record.undoes.as_ref().is_some_and(|name| !plain(name)) {
            return Err(refused("names a folder that is no backup".to_owned()));
        }
        if !self.is_transcript_of(&session, &record.path) && !self.is_named(&record.path) {
            return Err(refused(format!(
                "names {}, which is no transcript of {} in an agent's folder (if you repaired that file by its path, \
                 name it: rekindle undo PATH, rekindle redo PATH)",
                record.path.display(),
                session.short(),
            )));
        }
        if !is_aside_of(&session, &record.path, &record.aside) {
            return Err(refused(format!("names {}, which no swap has made", record.aside.display())));
        }
        Ok(session)
    }

    fn is_named(&self, path: &Path) -> bool {
        let named = self.named.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        !is_link(path) && resolved(path).is_some_and(|real| named.contains(&real))
    }

    /// Whether a path is where an agent keeps, or by the user's own links would keep, the transcript of a session.
    fn is_transcript_of(&self, session: &SessionId, path: &Path) -> bool {
        let plain = path.components().all(|part| matches!(part, Component::RootDir | Component::Normal(_)));
        if !plain || !path.is_absolute() || is_link(path) {
            return false;
        }
        let name = format!("{session}.jsonl");
        let known = store::accounts::known(&self.state).into_iter().map(ConfigDir::new);
        let mut folders = self.configs.iter().cloned().chain(known).map(|config| config.projects());
        folders.any(|projects| self.is_within(&projects, &name, path))
    }

    fn is_within(&self, projects: &Path, name: &str, path: &Path) -> bool {
        let real_projects = resolved(projects).unwrap_or_else(|| projects.to_path_buf());
        // A folder that comes with the state is no agent's folder.
        if resolved(self.state.path()).is_some_and(|state| real_projects.starts_with(state)) {
            return false;
        }
        let named = |path: &Path| path.file_name().is_some_and(|file| file == name);
        let Some(real) = resolved(path) else {
            // Its folder is gone, and no link can lead anywhere.
            return named(path) && (path.starts_with(projects) || path.starts_with(&real_projects));
        };
        if named(&real) && real.starts_with(&real_projects) {
            return true;
        }
        // A user's link from the agent's folder to a project folder, or to a transcript, elsewhere.
        let slugs = std::fs::read_dir(projects).into_iter().flatten().flatten();
        real.extension().is_some_and(|extension| extension == "jsonl")
            && slugs.into_iter().any(|slug| resolved(&slug.path().join(name)).as_ref() == Some(&real))
    }
}

/// Whether this is the name of the old file beside a transcript.
fn is_aside_of(session: &SessionId, path: &Path, aside: &Path) -> bool {
    let begins = format!("{}{session}.", durable::TEMPORARY_PREFIX);
    let name = aside.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    aside.parent() == path.parent() && name.starts_with(&begins) && name.ends_with("swap") && !is_link(aside)
}

pub(crate) fn is_link(path: &Path) -> bool {
    std::fs::symlink_metadata(path).is_ok_and(|meta| meta.file_type().is_symlink())
}

/// A path with its links followed; the file itself need not be there.
fn resolved(path: &Path) -> Option<PathBuf> {
    if let Ok(real) = std::fs::canonicalize(path) {
        return Some(real);
    }
    if std::fs::symlink_metadata(path).is_ok() {
        return None;
    }
    Some(std::fs::canonicalize(path.parent()?).ok()?.join(path.file_name()?))
}
