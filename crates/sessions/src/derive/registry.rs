//! `instances/registry.json`: every conversation on record, in a line each.

use serde_json::{Map, Value, json};
use store::record::{SessionRecord, Status};

use crate::machine_state::MachineState;
use crate::view::State;

/// Makes the registry.
pub(crate) fn registry<'a>(records: impl Iterator<Item = &'a SessionRecord>, world: &MachineState) -> Value {
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
            "state": state(record, world).word(),
            "reason": record.reason,
        });
        object.insert(record.session_id.to_string(), entry);
    }
    Value::Object(object)
}

/// What its agent was at when it was last heard.
fn state(record: &SessionRecord, world: &MachineState) -> State {
    match record.status {
        Status::Active => record.activity.map_or(State::Unknown, |activity| activity.state.into()),
        Status::EndedCleanly => State::Ended,
        Status::Crashed if world.waits_for(&record.session_id) => State::Dormant,
        // It goes on in a fresh agent, and is waited for no longer.
        Status::Crashed if record.next_id.is_some() => State::Ended,
        Status::Crashed => State::Crashed,
    }
}
