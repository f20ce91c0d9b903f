//! Which sessions there are, for the short forms by which people name them.

use std::collections::{BTreeSet, HashMap};

use agents::claude::{ConfigDir, account, list_sessions};
use agents::short_ids::ShortIds;
use agents::{SessionId, SessionKey, mark};
use store::{StateDir, record};
use vault::Vault;

/// The sessions on record, with a transcript, or in the vault. What cannot be listed tells no session apart.
pub fn short_ids(state: &StateDir, configs: &[ConfigDir]) -> ShortIds {
    let keys = record::keys(state).unwrap_or_default();
    let transcripts = list_sessions(configs);
    let vaulted = Vault::open(state).and_then(|vault| vault.sessions()).unwrap_or_default();
    let mut doubled: BTreeSet<&SessionId> =
        keys.iter().filter(|key| key.account_mark().is_some()).map(SessionKey::id).collect();
    let mut seen: HashMap<&SessionId, &ConfigDir> = HashMap::new();
    for (id, config) in &transcripts {
        if seen.insert(id, config).is_some_and(|other| other != config) {
            doubled.insert(id);
        }
    }
    let first = |id: &SessionId| {
        let held = record::load(state, None, &SessionKey::first(id.clone())).ok().flatten()?;
        Some((id.clone(), mark(&account(&held.record.config_dir()?))))
    };
    let firsts = doubled.into_iter().filter_map(first).collect();
    let recorded = keys.iter().map(|key| key.id().clone());
    ShortIds::new(recorded.chain(transcripts.iter().map(|(id, _)| id.clone())).chain(vaulted), firsts)
}
