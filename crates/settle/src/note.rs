//! What the journal will say.

use agents::SessionId;
use jiff::Timestamp;
use state::journal::Entry;

/// A journal entry about a conversation.
pub(crate) fn note(at: Timestamp, event: &str, session: &SessionId) -> Entry {
    Entry::new(at, event).with("session", session.as_str())
}
