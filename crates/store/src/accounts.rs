//! The agents' configuration directories that records name: accounts beside the home's own. Derived, `cache/accounts.json`.

use std::collections::BTreeSet;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::StateDir;
use crate::durable;
use crate::record::{self, SessionRecord};

const SCHEMA: u32 = 1;

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Accounts {
    schema: u32,
    config_dirs: BTreeSet<PathBuf>,
}

fn path(state: &StateDir) -> PathBuf {
    state.cache().join("accounts.json")
}

fn noted(state: &StateDir) -> Option<BTreeSet<PathBuf>> {
    let bytes = crate::files::read_own(path(state)).ok()?;
    let accounts: Accounts = serde_json::from_slice(&bytes).ok()?;
    (accounts.schema == SCHEMA).then_some(accounts.config_dirs)
}

/// The directories of records, as far as they are there. Where nobody has noted them the records are read.
pub fn known(state: &StateDir) -> Vec<PathBuf> {
    let dirs = noted(state).unwrap_or_else(|| {
        let ids = record::keys(state).unwrap_or_default();
        let held = ids.iter().filter_map(|id| record::load(state, None, id).ok().flatten());
        held.filter_map(|held| held.record.config_dir()).collect()
    });
    dirs.into_iter().filter(|dir| dir.is_absolute() && dir.is_dir()).collect()
}

/// Notes the directories of these records, where they are not those that are noted.
///
/// # Errors
/// They cannot be written.
pub fn note<'a>(
    state: &StateDir,
    records: impl Iterator<Item = &'a SessionRecord>,
) -> Result<(), durable::Error> {
    let config_dirs: BTreeSet<PathBuf> = records.filter_map(SessionRecord::config_dir).collect();
    if noted(state).as_ref() == Some(&config_dirs) {
        return Ok(());
    }
    durable::private_dir(&state.cache())?;
    let text = serde_json::json!(Accounts { schema: SCHEMA, config_dirs }).to_string();
    durable::replace_unsynced(&path(state), text.as_bytes())
}

#[cfg(test)]
mod tests {
    use agents::SessionKey;
    use jiff::Timestamp;

    use super::*;
    use crate::mac::Key;
    use crate::record::Held;

    #[test]
    fn accounts_of_records_are_known_also_without_the_note() {
        let dir = tempfile::tempdir().unwrap();
        let state = StateDir::open(dir.path().join("state")).unwrap();
        let account = dir.path().join("account");
        std::fs::create_dir(&account).unwrap();
        let mut record = SessionRecord::new(SessionKey::parse("s1").unwrap(), Timestamp::UNIX_EPOCH);
        record.transcript_path = Some(account.join("projects/x/s1.jsonl"));
        let mut gone = SessionRecord::new(SessionKey::parse("s2").unwrap(), Timestamp::UNIX_EPOCH);
        gone.transcript_path = Some(dir.path().join("gone/projects/x/s2.jsonl"));
        assert_eq!(known(&state), Vec::<PathBuf>::new());
        let key = Key::create(&dir.path().join("key")).unwrap();
        record::store(&state, &key, &Held::fresh(record.clone())).unwrap();
        assert_eq!(known(&state), std::slice::from_ref(&account));
        note(&state, [&record, &gone].into_iter()).unwrap();
        assert!(path(&state).is_file());
        assert_eq!(known(&state), [account]);
        note(&state, [].into_iter()).unwrap();
        assert_eq!(known(&state), Vec::<PathBuf>::new());
    }
}
