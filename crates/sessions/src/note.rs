//! What the journal will say.

use std::collections::HashSet;

use agents::SessionKey;
use jiff::Timestamp;
use store::durable;
use store::journal::{Entry, Journal};

/// A journal entry about a conversation.
pub(crate) fn note(at: Timestamp, event: &str, session: &SessionKey) -> Entry {
    Entry::new(at, event).with("session", session.as_str())
}

/// Names what a note is about, where it comes from no single event: a settle that was killed before it stored its records
/// finds the same again, and the journal is to say it once.
pub(crate) fn mark(entry: Entry, about: impl Into<String>) -> Entry {
    entry.with("about", about.into())
}

/// What makes two entries the same, where that can be told.
fn identity(entry: &Entry) -> Option<(&str, Option<&str>, String)> {
    let about = entry.details.get("spool").or_else(|| entry.details.get("about"))?;
    let session = entry.details.get("session").and_then(|session| session.as_str());
    Some((&entry.event, session, about.to_string()))
}

/// Writes the journal, but what it already says about the same things.
pub(crate) fn tell(journal: &Journal, notes: &[Entry]) -> Result<(), durable::Error> {
    if notes.is_empty() {
        return Ok(());
    }
    // Whoever was killed told at most what is found again, and what it stored is not found again.
    let told = journal.read_tail(notes.len() * 4 + 256).unwrap_or_default();
    let told: HashSet<_> = told.iter().filter_map(identity).collect();
    for entry in notes {
        if identity(entry).is_none_or(|identity| !told.contains(&identity)) {
            journal.append(entry)?;
        }
    }
    Ok(())
}
