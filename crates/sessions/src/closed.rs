//! Records that are not ours to write: of a newer program, or such as cannot be read now.

use std::collections::{BTreeMap, BTreeSet};

use agents::SessionKey;
use store::journal::Entry;
use store::record::SessionRecord;

/// Takes back whatever was concluded about conversations whose records are not ours to write.
pub(crate) fn leave(
    closed: &BTreeSet<SessionKey>,
    before: &BTreeMap<SessionKey, SessionRecord>,
    records: &mut BTreeMap<SessionKey, SessionRecord>,
    notes: &mut Vec<Entry>,
) {
    for id in closed {
        match before.get(id) {
            Some(record) => records.insert(id.clone(), record.clone()),
            None => records.remove(id),
        };
    }
    notes.retain(|note| {
        let session = note.details.get("session").and_then(|session| session.as_str());
        !closed.iter().any(|id| Some(id.as_str()) == session)
    });
}
