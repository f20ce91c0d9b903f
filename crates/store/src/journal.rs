//! The story of what happened, one JSON object per line: for people, and to notice a clock that went back.

use std::io::{self, Read, Seek, SeekFrom};
use std::path::PathBuf;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::durable::{self, Sync};

/// The version of a journal line.
pub const SCHEMA: u32 = 1;

/// One thing that happened.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// When.
    pub at: Timestamp,
    /// What, as a word: `vault_sync`, `repaired`, …
    pub event: String,
    /// The rest, as the event has it.
    pub details: Map<String, Value>,
}

impl Entry {
    /// An entry without details.
    pub fn new(at: Timestamp, event: impl Into<String>) -> Self {
        Self { at, event: event.into(), details: Map::new() }
    }

    /// The same entry with one detail more.
    #[must_use]
    pub fn with(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.details.insert(key.to_owned(), value.into());
        self
    }
}

#[derive(Serialize, Deserialize)]
struct Head {
    schema: u32,
    at: Timestamp,
    event: String,
}

/// The journal's file.
#[derive(Debug, Clone)]
pub struct Journal(PathBuf);

impl Journal {
    /// The journal at this path; it need not exist.
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self(path.into())
    }

    /// Adds an entry by a single write.
    pub fn append(&self, entry: &Entry) -> Result<(), durable::Error> {
        let mut object = Map::new();
        object.insert("schema".to_owned(), SCHEMA.into());
        object.insert("at".to_owned(), entry.at.to_string().into());
        object.insert("event".to_owned(), entry.event.clone().into());
        object.extend(entry.details.iter().map(|(key, value)| (key.clone(), value.clone())));
        let mut line = Value::Object(object).to_string();
        line.push('\n');
        durable::append(&self.0, line.as_bytes(), Sync::No)
    }

    /// The newest entries, oldest first; lines that cannot be read are passed over.
    pub fn read_tail(&self, most: usize) -> io::Result<Vec<Entry>> {
        // A line is some hundred bytes; this is room for it ten times over.
        let text = self.tail(most as u64 * 4096)?;
        let entries: Vec<Entry> = text.lines().filter_map(parse).collect();
        Ok(entries.into_iter().rev().take(most).rev().collect())
    }

    /// The newest time on record, which a trustworthy clock has passed. `None` without entries.
    pub fn newest_time(&self) -> io::Result<Option<Timestamp>> {
        let text = self.tail(256 * 1024)?;
        Ok(text.lines().filter_map(|line| serde_json::from_str::<Head>(line).ok()).map(|head| head.at).max())
    }

    /// The times of all entries, in the order in which they were written.
    pub fn times(&self) -> io::Result<Vec<Timestamp>> {
        let text = self.tail(u64::MAX)?;
        Ok(text
            .lines()
            .filter_map(|line| serde_json::from_str::<Head>(line).ok())
            .map(|head| head.at)
            .collect())
    }

    fn tail(&self, most: u64) -> io::Result<String> {
        let mut file = match crate::files::open_own(&self.0) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(String::new()),
            Err(error) => return Err(error),
        };
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(most)))?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }
}

fn parse(line: &str) -> Option<Entry> {
    let head: Head = serde_json::from_str(line).ok()?;
    let mut details: Map<String, Value> = serde_json::from_str(line).ok()?;
    for key in ["schema", "at", "event"] {
        details.remove(key);
    }
    Some(Entry { at: head.at, event: head.event, details })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_back_what_was_appended_and_passes_over_torn_lines() {
        let dir = tempfile::tempdir().unwrap();
        let journal = Journal::at(dir.path().join("journal.jsonl"));
        assert_eq!(journal.newest_time().unwrap(), None);
        let late: Timestamp = "2026-02-01T00:00:00Z".parse().unwrap();
        let early: Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
        journal.append(&Entry::new(late, "b").with("files", 3)).unwrap();
        durable::append(&dir.path().join("journal.jsonl"), b"{\"at\":\"20\n", Sync::No).unwrap();
        journal.append(&Entry::new(early, "a")).unwrap();
        assert_eq!(journal.newest_time().unwrap(), Some(late));
        let tail = journal.read_tail(5).unwrap();
        assert_eq!(tail, [Entry::new(late, "b").with("files", 3), Entry::new(early, "a")]);
        assert_eq!(journal.read_tail(1).unwrap(), [Entry::new(early, "a")]);
    }
}
