//! What rekindle keeps about several conversations in one file.

use std::path::Path;

use serde_json::Value;
use store::durable;
use store::mac::{self, Origin};

use crate::logs::scrub_lines;
use crate::scrub::scrub;
use crate::words::About;
use crate::{Eraser, Error, Subject, reading};

/// Parts of the state directory that have rules of their own, or hold nothing that was said in this conversation: the vault,
/// saves and records are erased elsewhere, and what hooks and panes of other conversations left is theirs.
const ELSEWHERE: [&str; 8] =
    ["vault", "saves", "session-health", "spool", "snapshots", "locks", "wiring", "paused"];

impl Eraser<'_> {
    pub(crate) fn erase_shared(&self, subject: &Subject) -> Result<(), Error> {
        let root = self.settler.state.path();
        // Whatever else lies in the directory is not rekindle's, and is left alone.
        for part in store::PARTS.iter().filter(|part| !ELSEWHERE.contains(part)) {
            let _alone =
                (*part == "operations").then(|| store::operations::lock(&self.settler.state)).transpose()?;
            match *part {
                "decisions" => self.erase_decisions(subject)?,
                part => erase_in(&root.join(part), subject)?,
            }
        }
        for path in entries(root)?.iter().filter(|path| is_temporary(path)) {
            erase_in(path, subject)?;
        }
        scrub_lines(&self.settler.refuge.log(), subject)?;
        // What a killed writer left beside what it was to replace.
        for part in ["saves", "session-health", "spool"] {
            for path in entries(&root.join(part))? {
                if is_temporary(&path) {
                    erase_in(&path, subject)?;
                }
            }
        }
        Ok(())
    }
}

impl Eraser<'_> {
    /// Takes it out of the decision records. One that this machine wrote stays its own: its restore can still be undone.
    fn erase_decisions(&self, subject: &Subject) -> Result<(), Error> {
        let key = self.settler.key.writing()?;
        for path in entries(&self.settler.state.decisions())? {
            let text = store::files::read_own(&path).ok().and_then(|bytes| String::from_utf8(bytes).ok());
            let value = text.as_ref().and_then(|text| serde_json::from_str::<Value>(text).ok());
            let (Some(text), Some(mut value)) = (text, value) else {
                erase_in(&path, subject)?;
                continue;
            };
            let id = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            let is_genuine = key.origin(mac::Subject::Decision(&id), &text) == Origin::Genuine;
            if !scrub(&mut value, subject) {
                continue;
            }
            if let Value::Object(members) = &mut value {
                members.remove("mac");
            }
            let text = format!("{value:#}\n");
            let text = if is_genuine { key.seal(mac::Subject::Decision(&id), &text) } else { text };
            durable::replace(&path, text.as_bytes())?;
        }
        Ok(())
    }
}

fn is_temporary(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    name.starts_with(durable::TEMPORARY_PREFIX)
}

/// Removes the temporary files in a folder: a killed run leaves text in them.
pub(crate) fn remove_temporaries(folder: &Path) -> Result<(), Error> {
    for path in entries(folder)?.iter().filter(|path| is_temporary(path)) {
        durable::remove(path)?;
    }
    Ok(())
}

fn entries(folder: &Path) -> Result<Vec<std::path::PathBuf>, Error> {
    let entries = match std::fs::read_dir(folder) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(reading(folder))?,
    };
    entries.map(|entry| entry.map(|entry| entry.path()).map_err(reading(folder))).collect()
}

fn erase_in(path: &Path, subject: &Subject) -> Result<(), Error> {
    let meta = match std::fs::symlink_metadata(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        meta => meta.map_err(reading(path))?,
    };
    if meta.is_dir() {
        return entries(path)?.iter().try_for_each(|path| erase_in(path, subject));
    }
    if !meta.is_file() {
        return Ok(());
    }
    let appended =
        |extension: &std::ffi::OsStr| extension == "jsonl" || extension == "log" || extension == "1";
    if path.extension().is_some_and(appended) {
        return scrub_lines(path, subject);
    }
    let bytes = store::files::read(path).map_err(reading(path))?;
    if let Ok(mut value) = serde_json::from_slice::<Value>(&bytes) {
        if !scrub(&mut value, subject) {
            return Ok(());
        }
        if is_temporary(path) {
            return Ok(durable::remove(path)?);
        }
        return Ok(durable::replace(path, format!("{value:#}\n").as_bytes())?);
    }
    let text = String::from_utf8_lossy(&bytes);
    let about = if text.contains(subject.session.as_str()) { About::It } else { About::Anything };
    if subject.words.are_in(&text, about) {
        durable::remove(path)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_killed_run_was_writing_goes() {
        let dir = tempfile::tempdir().unwrap();
        for name in [".rekindle-a1b2", "s1.jsonl"] {
            durable::replace(&dir.path().join(name), b"said").unwrap();
        }
        remove_temporaries(dir.path()).unwrap();
        assert_eq!(entries(dir.path()).unwrap(), [dir.path().join("s1.jsonl")]);
        remove_temporaries(&dir.path().join("none")).unwrap();
    }
}
