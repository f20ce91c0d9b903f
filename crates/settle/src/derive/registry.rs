//! `instances/registry.json`: every conversation on record, in a line each.

use serde_json::{Map, Value, json};
use state::record::SessionRecord;

/// Makes the registry.
pub(crate) fn registry<'a>(records: impl Iterator<Item = &'a SessionRecord>) -> Value {
    let mut object = Map::new();
    object.insert("schema".to_owned(), 1.into());
    for record in records {
        let entry = json!({
            "name": record.name,
            "task": record.task,
            "model": record.model,
            "cwd": record.cwd,
            "pane": record.place.as_ref().map(|place| place.reference.clone()),
            "pane_id": record.place.as_ref().map(|place| place.pane.clone()),
            "created": record.created,
            "last_seen": record.last_seen,
            "status": record.status,
            "reason": record.reason,
        });
        object.insert(record.session_id.to_string(), entry);
    }
    Value::Object(object)
}
