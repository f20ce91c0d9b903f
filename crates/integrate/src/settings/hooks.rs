//! The hooks of a settings text: `{"hooks": {EVENT: [{"hooks": [{"type": "command", "command": …}]}]}}`.

use agents::claude::hook_events::HookEvent;
use jsonc_parser::cst::{CstArray, CstObject, CstRootNode, CstStringLit};
use jsonc_parser::json;

use super::{SettingsError, Traces, Wanted, WiredEvent, member};
use crate::Program;
use crate::program::Ours;

/// Appending an event takes a millisecond; more means that the disk hangs, and the agent must not hang with it.
const TIMEOUT_SECONDS: u32 = 5;

const HOOKS: &str = "hooks";

fn shape(part: &str, expected: &'static str) -> SettingsError {
    SettingsError::Shape { part: part.to_owned(), expected }
}

/// The member `hooks` of a settings object, where there is one.
pub(super) fn hooks_of(settings: &CstObject) -> Result<Option<CstObject>, SettingsError> {
    let Some(property) = member(settings, HOOKS, HOOKS)? else { return Ok(None) };
    property.object_value().map(Some).ok_or_else(|| shape(HOOKS, "object"))
}

/// The hooks of one event.
pub(super) fn groups_of(hooks: &CstObject, event: &str) -> Result<Option<CstArray>, SettingsError> {
    let part = format!("{HOOKS}.{event}");
    let Some(property) = member(hooks, event, &part)? else { return Ok(None) };
    property.array_value().map(Some).ok_or_else(|| shape(&part, "array"))
}

/// One hook of ours: the group it stands in, its entry there, and its command.
pub(super) struct OurHook {
    pub(super) group: CstObject,
    pub(super) entry: CstObject,
    pub(super) command: CstStringLit,
}

/// Our hooks of one event. Whatever has another shape is somebody else's.
pub(super) fn our_hooks(groups: &CstArray, program: &Program) -> Vec<OurHook> {
    let mut found = Vec::new();
    for group in groups.elements().iter().filter_map(|group| group.as_object()) {
        let Some(entries) = group.array_value(HOOKS) else { continue };
        for entry in entries.elements().iter().filter_map(|entry| entry.as_object()) {
            let command = entry.get("command").and_then(|property| property.value()?.as_string_lit());
            let Some(command) = command else { continue };
            let text = command.decoded_value().unwrap_or_default();
            if matches!(program.understand(&text), Some(Ours::Hook(_))) {
                found.push(OurHook { group: group.clone(), entry, command });
            }
        }
    }
    found
}

/// A JSON string.
pub(super) fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// Makes hooks of exactly the wanted events call us.
pub(super) fn wire(root: &CstRootNode, wanted: &Wanted, traces: &mut Traces) -> Result<(), SettingsError> {
    let settings = root.object_value_or_set();
    let hooks = match hooks_of(&settings)? {
        Some(hooks) => {
            if hooks.properties().is_empty() {
                traces.kept_empty.push(HOOKS.to_owned());
            }
            hooks
        }
        None if wanted.events.is_empty() => return Ok(()),
        None => settings.object_value_or_set(HOOKS),
    };
    for event in events_in(&hooks) {
        if !wanted.events.iter().any(|wanted| wanted.name() == event) {
            super::undo::unwire_event(&hooks, &event, &wanted.program, None)?;
        }
    }
    for event in &wanted.events {
        wire_event(&hooks, *event, &wanted.program, traces)?;
    }
    Ok(())
}

fn wire_event(
    hooks: &CstObject,
    event: HookEvent,
    program: &Program,
    traces: &mut Traces,
) -> Result<(), SettingsError> {
    let groups = match groups_of(hooks, event.name())? {
        Some(groups) => {
            if groups.elements().is_empty() {
                traces.kept_empty.push(format!("{HOOKS}.{}", event.name()));
            }
            groups
        }
        None => hooks.array_value_or_set(event.name()),
    };
    let command = program.hook(event);
    let ours = our_hooks(&groups, program);
    let Some((first, others)) = ours.split_first() else {
        groups.append(json!({
            "hooks": [{ "type": "command", "command": command, "timeout": TIMEOUT_SECONDS }]
        }));
        return Ok(());
    };
    for other in others {
        super::undo::take_out(other);
    }
    if first.command.decoded_value().ok().as_deref() != Some(command.as_str()) {
        first.command.set_raw_value(quoted(&command));
    }
    Ok(())
}

/// The names of the events that have hooks.
pub(super) fn events_in(hooks: &CstObject) -> Vec<String> {
    hooks.properties().iter().filter_map(|property| property.decoded_name()).collect()
}

/// What every named event holds.
pub(super) fn events(root: &CstRootNode, program: &Program) -> Result<Vec<WiredEvent>, SettingsError> {
    let Some(hooks) = root.object_value().map(|settings| hooks_of(&settings)).transpose()?.flatten() else {
        return Ok(Vec::new());
    };
    let mut found = Vec::new();
    for property in hooks.properties() {
        let Some(name) = property.decoded_name() else { continue };
        let ours = property.array_value().map(|groups| (our_hooks(&groups, program), groups));
        let (ours, foreign) = match ours {
            Some((ours, groups)) => {
                let entries = |group: jsonc_parser::cst::CstNode| {
                    let entries = group.as_object().and_then(|group| group.array_value(HOOKS));
                    entries.map_or(1, |entries| entries.elements().len())
                };
                let all: usize = groups.elements().into_iter().map(entries).sum();
                (!ours.is_empty(), all != ours.len() || all == 0)
            }
            None => (false, true),
        };
        found.push(WiredEvent { name, ours, foreign });
    }
    Ok(found)
}
