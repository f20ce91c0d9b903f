//! What the journal will say.

use agents::SessionId;
use jiff::Timestamp;
use state::journal::Entry;

/// A journal entry about a conversation.
pub(crate) fn note(at: Timestamp, event: &str, session: &SessionId) -> Entry {
    Entry::new(at, event).with("session", session.as_str())
}

/// Names what a note is about, where it comes from no single event: a settle that was killed before it stored its records
/// finds the same again, and the journal is to say it once.
pub(crate) fn mark(entry: Entry, about: impl Into<String>) -> Entry {
    entry.with("about", about.into())
}

/// What makes two entries the same, where that can be told.
pub(crate) fn identity(entry: &Entry) -> Option<(&str, Option<&str>, String)> {
    let about = entry.details.get("spool").or_else(|| entry.details.get("about"))?;
    let session = entry.details.get("session").and_then(|session| session.as_str());
    Some((&entry.event, session, about.to_string()))
}
