//! `instances/pane-session-map.json`: pane_ref → the conversation that is or was there, and what proves it.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use agents::SessionKey;
use jiff::Timestamp;
use serde_json::{Map, Value, json};
use store::record::{Grade, SessionRecord};

/// Makes the map. Where several conversations were in one place, a living owner comes first, then the newest.
pub(crate) fn map<'a>(
    records: impl Iterator<Item = &'a SessionRecord>,
    owners: &HashMap<(String, String), &SessionRecord>,
    summaries: &Path,
    kept_since: Timestamp,
    log: impl Fn(&SessionRecord) -> Option<PathBuf>,
) -> Value {
    let is_owner = |record: &SessionRecord| {
        record.place.as_ref().is_some_and(|place| {
            let pane = (place.socket.to_string_lossy().into_owned(), place.pane.clone());
            owners.get(&pane).is_some_and(|owner| owner.session_id == record.session_id)
        })
    };
    let mut by_reference: BTreeMap<&str, (&SessionRecord, bool)> = BTreeMap::new();
    for record in records.filter(|record| record.last_seen >= kept_since) {
        let Some(place) = &record.place else { continue };
        let owner = is_owner(record);
        let rank = |record: &SessionRecord, owner: bool| (owner, record.last_seen);
        let better = by_reference
            .get(place.reference.as_str())
            .is_none_or(|(known, owned)| rank(known, *owned) < rank(record, owner));
        if better {
            by_reference.insert(&place.reference, (record, owner));
        }
    }
    let mut object = Map::new();
    for (reference, (record, owner)) in by_reference {
        object.insert(reference.to_owned(), entry(record, owner, summaries, log(record)));
    }
    Value::Object(object)
}

fn entry(record: &SessionRecord, owner: bool, summaries: &Path, log: Option<PathBuf>) -> Value {
    let run = record.run();
    let place = record.place.as_ref();
    let ids = |ids: &[SessionKey]| ids.iter().map(|id| id.as_str().to_owned()).collect::<Vec<_>>();
    json!({
        "schema": 1,
        "session_id": record.session_id,
        "short_id": record.session_id.short(),
        "name": record.name,
        "task": record.task,
        "cwd": record.cwd,
        "model": record.model,
        "created": record.created,
        "last_seen": record.last_seen,
        "last_log": log.or_else(|| record.transcript_path.clone()),
        "last_summary": summaries.join(format!("{}.txt", record.session_id)),
        "context_hash": record.context_hash,
        "place_hash": record.place_hash,
        "status": record.status,
        "reason": record.reason,
        "live": owner,
        "previous_ids": ids(&record.previous_ids),
        "pane_id": place.map(|place| place.pane.clone()),
        "server": place.map(|place| json!({"socket": place.socket, "pid": place.server, "started": place.started})),
        "pid": run.map(|run| run.pid),
        "proc_start": run.map(|run| run.proc_start),
        "tty": run.and_then(|run| run.tty.clone()),
        "grade": run.and_then(|run| run.grade).unwrap_or(Grade::Guess),
        "evidence": record.evidence.iter().filter(|e| e.fact == "pane" || e.fact == "process").collect::<Vec<_>>(),
    })
}
