//! What rekindle keeps of one conversation in files of its own.

use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use agents::claude::are_two_accounts;
use store::SessionText;
use store::durable::{self, Sync};

use crate::words::About;
use crate::{Eraser, Error, Subject, reading};

impl Eraser<'_> {
    /// Erases it; what may be left, one sentence each.
    pub(crate) fn erase_own(&self, subject: &Subject) -> Result<Vec<String>, Error> {
        // Files named by the id alone belong to the account whose record has that name.
        if subject.is_anothers {
            let record = self.settler.state.session_health().join(format!("{}.lock", subject.session));
            let words = format!(
                "{} says that the session is another account's, and this machine did not write it: events, snapshots and logs \
                 were left. Remove that file and forget the session again, if it is not true",
                record.display()
            );
            return Ok(subject.is_in_doubt.then_some(words).into_iter().collect());
        }
        let (state, session) = (&self.settler.state, &subject.session);
        let instances = state.instances();
        let left = self.erase_logs(subject)?;
        for text in [SessionText::Note, SessionText::Summary] {
            text.remove(state, session)?;
        }
        for path in [
            instances.join(format!("restore/context-cache/{session}.txt")),
            instances.join(format!("restore/context-cache/{session}.mac")),
            state.snapshots().join(format!("context/{session}.md")),
            state.status_cache(session),
            state.spool().join(format!("{session}.status")),
            self.settler.refuge.spool().join(format!("{session}.status")),
        ] {
            durable::remove(&path)?;
        }
        for launch in list(&state.launches())? {
            durable::remove(&launch.join(format!("{}.txt", session.id())))?;
        }
        for folder in [&state.snapshots(), &self.snapshots] {
            durable::remove_tree(&folder.join(session.as_str()))?;
            erase_on_other_screens(folder, subject)?;
        }
        // Records that could not be read and were set aside.
        let aside = format!("{session}.");
        for path in list(&state.session_health())? {
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            if name.starts_with(&aside) && !name.ends_with(".lock") {
                durable::remove(&path)?;
            }
        }
        self.erase_refuge(subject)?;
        self.erase_spool(subject)?;
        Ok(left)
    }

    // Events that wait for a settle where the state could not be written.
    fn erase_refuge(&self, subject: &Subject) -> Result<(), Error> {
        let path = self.settler.refuge.spool().join(format!("{}.jsonl", subject.session.id()));
        if !subject.is_shared {
            return Ok(durable::remove(&path)?);
        }
        let bytes = match store::files::read_own(&path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
            bytes => bytes.map_err(reading(&path))?,
        };
        Ok(durable::replace(&path, &of_other_accounts(&bytes, subject))?)
    }

    // What is folded into the record goes; what a hook has left since stays, and so does what it writes meanwhile.
    fn erase_spool(&self, subject: &Subject) -> Result<(), Error> {
        let path = store::spool::path(&self.settler.state, subject.session.id());
        let mut file = match store::files::open(&path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
            file => file.map_err(reading(&path))?,
        };
        let length = file.metadata().map_err(reading(&path))?.len();
        let head = store::spool::head(&path).map_err(reading(&path))?;
        let record = subject.held.as_ref().map(|held| &held.record);
        let begun_anew =
            record.is_some_and(|record| record.spool_head.is_some() && record.spool_head != head);
        let folded = match record {
            // A run that was killed has erased the spool that the record speaks of.
            Some(_) if begun_anew => 0,
            Some(record) => record.spool_offset.min(length),
            None => length,
        };
        let mut late = Vec::new();
        if subject.is_shared {
            let mut before = vec![0; usize::try_from(folded).unwrap_or_default()];
            file.read_exact(&mut before).map_err(reading(&path))?;
            late = blanked(&before, subject);
        }
        file.seek(SeekFrom::Start(folded))
            .and_then(|_| file.read_to_end(&mut late))
            .map_err(reading(&path))?;
        // In one step: killed here, the lines that no record has are in the old file or in the new one.
        match late.is_empty() {
            true => durable::remove(&path)?,
            false => durable::replace(&path, &late)?,
        }
        // A hook that had the old file open may have written to it meanwhile.
        let mut meanwhile = Vec::new();
        file.read_to_end(&mut meanwhile).map_err(reading(&path))?;
        if !meanwhile.is_empty() {
            durable::append(&path, &meanwhile, Sync::Yes)?;
        }
        Ok(())
    }
}

/// Removes snapshots of other conversations that show this one: an agent that follows another one in its pane is shown below it.
fn erase_on_other_screens(folder: &Path, subject: &Subject) -> Result<(), Error> {
    for others in list(folder)?.into_iter().filter(|path| path.is_dir()) {
        for path in list(&others)? {
            // What cannot be read is no snapshot, or cannot be shown either.
            let Ok(snapshot) = store::snapshots::read(&path) else { continue };
            let about = if subject.has_been_at(&snapshot.pane) { About::It } else { About::Anything };
            if subject.words.are_in(&snapshot.text, about) {
                durable::remove(&path)?;
            }
        }
    }
    Ok(())
}

/// A spool with blanks in place of every line that is not another account's: the other record's place in it stays the same.
fn blanked(bytes: &[u8], subject: &Subject) -> Vec<u8> {
    let lines = bytes.split_inclusive(|byte| *byte == b'\n');
    let blank = |line: &[u8]| match is_anothers(line, subject) {
        true => line.to_vec(),
        false => vec![b'\n'; line.len()],
    };
    lines.flat_map(blank).collect()
}

fn is_anothers(line: &[u8], subject: &Subject) -> bool {
    let event: Option<store::spool::Event> = serde_json::from_slice(line).ok();
    let config = event.and_then(|event| event.config_dir());
    config.is_some_and(|config| are_two_accounts(&config, subject.config.path()))
}

/// The lines of a spool that are another account's. What names no account may be its words, too, and goes.
fn of_other_accounts(bytes: &[u8], subject: &Subject) -> Vec<u8> {
    let lines = bytes.split(|byte| *byte == b'\n').filter(|line| is_anothers(line, subject));
    lines.flat_map(|line| [b"\n", line, b"\n"].concat()).collect()
}

pub(crate) fn list(folder: &Path) -> Result<Vec<PathBuf>, Error> {
    let entries = match std::fs::read_dir(folder) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(reading(folder))?,
    };
    entries.map(|entry| entry.map(|entry| entry.path()).map_err(reading(folder))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::words::Words;
    use agents::SessionKey;
    use agents::claude::ConfigDir;

    #[test]
    fn lines_of_another_account_stay_where_they_were() {
        let dir = tempfile::tempdir().unwrap();
        let (own, other) = (dir.path().join("own"), dir.path().join("other"));
        for account in [&own, &other] {
            durable::private_dir(&account.join("projects")).unwrap();
        }
        let line = |account: &Path| {
            let path = account.join("projects/-x/s1.jsonl");
            let event = serde_json::json!({"schema": 1, "event": "Stop", "at": 5, "input": {"transcript_path": path}});
            format!("\n{event}\n")
        };
        let subject = Subject {
            keys: Vec::new(),
            is_in_doubt: false,
            projects: crate::projects::Projects::default(),
            session: SessionKey::parse("s1").unwrap(),
            config: ConfigDir::new(&own),
            held: None,
            is_anothers: false,
            is_shared: true,
            words: Words::default(),
        };
        let spool = [line(&own), line(&other), "\n{\"event\":\"torn".to_owned()].concat();
        let left = blanked(spool.as_bytes(), &subject);
        assert_eq!(left.len(), spool.len(), "the other record's place in it stays the same");
        let text = String::from_utf8(left).unwrap();
        assert_eq!(text.find(line(&other).trim()), spool.find(line(&other).trim()));
        assert_eq!(text.trim(), line(&other).trim());
    }
}
