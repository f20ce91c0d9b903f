//! Which of the records of one id is an account's: two accounts may have a session with the same id.

use std::path::Path;

use agents::claude::account;
use agents::{SessionId, SessionKey};

use super::{RecordError, SessionRecord, keys, load};
use crate::StateDir;

/// The key of this account's session with this id, among all records of the id: the one with the account's mark, else the one
/// of which a run had this very directory, else the one without a mark, unless that is another account's.
///
/// A directory that is not here now (a disk that is not mounted, a link into nowhere) has another mark than it had, and might
/// be anybody's. Where several accounts have the id it is nobody's that is known: the key has no record.
pub fn key_among(records: &[&SessionRecord], id: &SessionId, config: &Path) -> SessionKey {
    let first = SessionKey::first(id.clone());
    let marked = SessionKey::of_account(id.clone(), &account(config));
    if records.iter().any(|record| record.session_id == marked) {
        return marked;
    }
    let mut ran_there = records.iter().filter(|record| record.ran_in(config));
    if let (Some(only), None) = (ran_there.next(), ran_there.next()) {
        return only.session_id.clone();
    }
    let is_anothers = match records {
        [] => false,
        [only] => only.session_id == first && !only.may_be_of(config),
        several => {
            !config.is_dir()
                || several.iter().any(|record| record.session_id == first && !record.may_be_of(config))
        }
    };
    if is_anothers { marked } else { first }
}

/// The key of this account's session with this id, from the records in a state directory.
///
/// # Errors
/// A record is there and cannot be read or understood.
pub fn key_for(state: &StateDir, id: &SessionId, config: &Path) -> Result<SessionKey, RecordError> {
    let first = SessionKey::first(id.clone());
    let marked = SessionKey::of_account(id.clone(), &account(config));
    // The usual cases, without a list of all records.
    if marked == first || super::file::exists(state, &marked) {
        return Ok(marked);
    }
    let held = load(state, None, &first)?;
    if held.as_ref().is_some_and(|held| held.record.ran_in(config)) || (held.is_none() && config.is_dir()) {
        return Ok(first);
    }
    let of_id = keys(state)?.into_iter().filter(|key| key.id() == id);
    let held: Vec<_> = of_id.map(|key| load(state, None, &key)).collect::<Result<_, _>>()?;
    let records: Vec<&SessionRecord> = held.iter().flatten().map(|held| &held.record).collect();
    Ok(key_among(&records, id, config))
}

impl SessionRecord {
    /// Whether a run of it had this very configuration directory, or its transcript lies there.
    fn ran_in(&self, config: &Path) -> bool {
        let of_transcript = self.transcript_path.as_deref().and_then(agents::claude::config_of);
        let of_runs = self.runs.iter().filter_map(|run| run.config_dir.as_deref());
        of_runs.chain(of_transcript).any(|dir| dir == config)
    }
}
