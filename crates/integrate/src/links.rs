//! Links from where people look (`~/.claude/instances`) to what we remember, and folders that stood there before.

use std::path::{Path, PathBuf};

use store::durable;

use crate::init::Adopt;
use crate::plan::{Change, Note, Part, PlanError};
use crate::record::{LinkRecord, Record};

/// Folders of the state directory that are linked, by name.
pub const LINKED: [&str; 2] = ["instances", "session-health"];

/// A link that would be made.
#[derive(Debug, Clone)]
pub(crate) struct LinkPlan {
    pub(crate) link: LinkRecord,
}

impl LinkPlan {
    pub(crate) fn change(&self) -> Change {
        let line = |text: String| Some(text.into_bytes());
        let before =
            self.link.adopted.as_ref().map(|names| format!("a folder with {} entries\n", names.len()));
        Change {
            path: self.link.path.clone(),
            part: Part::Link,
            before: before.and_then(line),
            after: line(format!("a link to {}\n", self.link.target.display())),
        }
    }

    /// Makes the link, after moving a folder in its place into the target.
    pub(crate) fn apply(&self) -> Result<(), durable::Error> {
        let LinkRecord { path, target, adopted } = &self.link;
        durable::private_dir(target)?;
        if adopted.is_some() && !is_ours(&self.link) {
            for name in names_in(path) {
                durable::rename(&path.join(&name), &target.join(&name))?;
            }
            durable::remove_empty_dir(path)?;
        }
        // Another run may have been faster.
        if is_ours(&self.link) { Ok(()) } else { durable::symlink(target, path) }
    }
}

fn names_in(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort();
    names
}

pub(crate) fn plan(
    state_dir: &Path,
    folder: &Path,
    adopt: Adopt,
    record: &mut Record,
    notes: &mut Vec<Note>,
) -> Result<Vec<LinkPlan>, PlanError> {
    let mut planned = Vec::new();
    for name in LINKED {
        let (path, target) = (folder.join(name), state_dir.join(name));
        let earlier = record.links.iter().find(|link| link.path == path).cloned();
        let meta = match std::fs::symlink_metadata(&path) {
            Ok(meta) => Some(meta),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
            Err(source) => return Err(PlanError::Unreadable { path, source }),
        };
        let adopted = match meta {
            None => earlier.and_then(|link| link.adopted),
            Some(meta) if meta.is_symlink() => {
                if std::fs::read_link(&path).is_ok_and(|leads| leads == target) {
                    remember(
                        record,
                        LinkRecord { path, target, adopted: earlier.and_then(|link| link.adopted) },
                    );
                } else {
                    notes.push(Note::Foreign(path));
                }
                continue;
            }
            Some(meta) if meta.is_dir() && adopt == Adopt::Yes => match adoptable(&path, &target) {
                Ok(names) => {
                    // What a killed run moved already is the user's too.
                    let before = earlier.and_then(|link| link.adopted).unwrap_or_default();
                    Some(
                        before
                            .into_iter()
                            .filter(|name| !names.contains(name))
                            .chain(names.clone())
                            .collect(),
                    )
                }
                Err(name) => {
                    notes.push(Note::NotAdopted { path, name });
                    continue;
                }
            },
            Some(meta) if meta.is_dir() => {
                notes.push(Note::Folder { path, target });
                continue;
            }
            Some(_) => {
                notes.push(Note::Foreign(path));
                continue;
            }
        };
        let link = LinkRecord { path, target, adopted };
        remember(record, link.clone());
        planned.push(LinkPlan { link });
    }
    Ok(planned)
}

fn remember(record: &mut Record, link: LinkRecord) {
    record.links.retain(|other| other.path != link.path);
    record.links.push(link);
}

/// What would be moved; or the first name that the target has already, or that cannot be moved.
fn adoptable(folder: &Path, target: &Path) -> Result<Vec<String>, String> {
    use std::os::unix::fs::MetadataExt;
    let device = |path: &Path| {
        let there = path.ancestors().find(|above| above.exists());
        there.and_then(|above| std::fs::metadata(above).ok()).map(|meta| meta.dev())
    };
    if device(folder) != device(target) {
        return Err("another file system".to_owned());
    }
    let names = names_in(folder);
    if std::fs::read_dir(folder).into_iter().flatten().count() != names.len() {
        return Err("a name that is no text".to_owned());
    }
    match names.iter().find(|name| std::fs::symlink_metadata(target.join(name)).is_ok()) {
        Some(name) => Err(name.clone()),
        None => Ok(names),
    }
}

/// Takes a link away, and puts a folder that stood there back with what was in it.
pub(crate) fn undo(link: &LinkRecord) -> Result<(), durable::Error> {
    let LinkRecord { path, target, adopted } = link;
    if is_ours(link) {
        durable::remove(path)?;
    }
    let Some(names) = adopted else { return Ok(()) };
    durable::private_dir(path)?;
    for name in names {
        let (from, to): (PathBuf, PathBuf) = (target.join(name), path.join(name));
        if std::fs::symlink_metadata(&from).is_ok() && std::fs::symlink_metadata(&to).is_err() {
            durable::rename(&from, &to)?;
        }
    }
    Ok(())
}

/// Whether the link still stands as we made it.
pub(crate) fn is_ours(link: &LinkRecord) -> bool {
    std::fs::read_link(&link.path).is_ok_and(|leads| leads == link.target)
}
