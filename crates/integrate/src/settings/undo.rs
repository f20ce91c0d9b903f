//! Taking the wiring out of a settings text, whatever was changed around it since.

use jsonc_parser::cst::{CstInputValue, CstObject, CstRootNode};

use super::hooks::{OurHook, events_in, groups_of, hooks_of, our_hooks, quoted};
use super::status_line::{STATUS_LINE, command_of};
use super::{Document, OldStatusLine, SettingsError, Traces, member};
use crate::Program;
use crate::program::Ours;

/// Takes our wiring out of a settings text; one without it comes back byte for byte.
///
/// Without traces, ours is known by its commands, and what it leaves empty goes.
///
/// # Errors
/// The text cannot be understood.
pub fn unwire(bytes: &[u8], program: &Program, traces: Option<&Traces>) -> Result<Vec<u8>, SettingsError> {
    let document = Document::parse(bytes)?;
    let Some(settings) = document.root.object_value() else { return Ok(bytes.to_vec()) };
    let mut changed = false;
    if let Some(hooks) = hooks_of(&settings)? {
        for event in events_in(&hooks) {
            changed |= unwire_event(&hooks, &event, program, traces)?;
        }
        if changed && hooks.properties().is_empty() && !kept(traces, "hooks") {
            remove_member(&settings, "hooks")?;
        }
    }
    changed |= unwire_status_line(&settings, program, traces)?;
    Ok(if changed { document.bytes() } else { bytes.to_vec() })
}

/// What a settings text was before, with what was changed in it since.
///
/// Where nobody touched it that is the text before, byte for byte; where the change is outside of ours, likewise around
/// it. Elsewhere ours is taken out by its structure.
///
/// # Errors
/// The text cannot be understood.
pub(crate) fn take_back(
    current: &[u8],
    before: &[u8],
    after: &[u8],
    program: &Program,
    traces: &Traces,
) -> Result<Vec<u8>, SettingsError> {
    let structural = unwire(current, program, Some(traces))?;
    let exact = if current == after { Some(before.to_vec()) } else { splice_back(current, before, after) };
    // Copies can be damaged and blocks can be found in the wrong place: both must say the same.
    if let Some(exact) = exact
        && let (Ok(one), Ok(two)) = (Document::parse(&exact), Document::parse(&structural))
        && one.value() == two.value()
    {
        return Ok(exact);
    }
    Ok(structural)
}

/// Replaces what differs between `after` and `before`, as one block, where that block stands in the current text once.
fn splice_back(current: &[u8], before: &[u8], after: &[u8]) -> Option<Vec<u8>> {
    let start = before.iter().zip(after).take_while(|(one, two)| one == two).count();
    let longest = before.len().min(after.len()) - start;
    let end =
        before.iter().rev().zip(after.iter().rev()).take(longest).take_while(|(one, two)| one == two).count();
    let (old, new) = (&before[start..before.len() - end], &after[start..after.len() - end]);
    if new.is_empty() {
        return None;
    }
    let mut found = current.windows(new.len()).enumerate().filter(|(_, window)| *window == new);
    let (at, _) = found.next()?;
    if found.next().is_some() {
        return None;
    }
    Some([&current[..at], old, &current[at + new.len()..]].concat())
}

fn kept(traces: Option<&Traces>, part: &str) -> bool {
    traces.is_some_and(|traces| traces.kept_empty.iter().any(|kept| kept == part))
}

fn remove_member(object: &CstObject, name: &str) -> Result<(), SettingsError> {
    if let Some(property) = member(object, name, name)? {
        property.remove();
    }
    Ok(())
}

/// Takes our hooks of one event out; whether there were any.
pub(super) fn unwire_event(
    hooks: &CstObject,
    event: &str,
    program: &Program,
    traces: Option<&Traces>,
) -> Result<bool, SettingsError> {
    // Another tool's oddities are not ours to judge here.
    let Ok(Some(groups)) = groups_of(hooks, event) else { return Ok(false) };
    let ours = our_hooks(&groups, program);
    for hook in &ours {
        take_out(hook);
    }
    if !ours.is_empty() && groups.elements().is_empty() && !kept(traces, &format!("hooks.{event}")) {
        remove_member(hooks, event)?;
    }
    Ok(!ours.is_empty())
}

/// Removes one hook, and its group where that is then empty.
pub(super) fn take_out(hook: &OurHook) {
    let alone = hook.group.array_value("hooks").is_some_and(|entries| entries.elements().len() == 1);
    if alone {
        hook.group.clone().remove();
    } else {
        hook.entry.clone().remove();
    }
}

fn unwire_status_line(
    settings: &CstObject,
    program: &Program,
    traces: Option<&Traces>,
) -> Result<bool, SettingsError> {
    let Some(command) = command_of(settings)? else { return Ok(false) };
    let text = command.decoded_value().unwrap_or_default();
    let Some(Ours::StatusLine { keep }) = program.understand(&text) else { return Ok(false) };
    match (traces.and_then(|traces| traces.status_line.as_ref()), keep) {
        (Some(OldStatusLine::Command(raw)), _) => command.set_raw_value(raw.clone()),
        (Some(OldStatusLine::Whole(raw)), _) => {
            let old = CstRootNode::parse(raw, &super::options()).ok().and_then(|root| root.to_serde_value());
            match (old, member(settings, STATUS_LINE, STATUS_LINE)?) {
                (Some(old), Some(property)) => property.set_value(input(&old)),
                _ => remove_member(settings, STATUS_LINE)?,
            }
        }
        (None, Some(before)) => command.set_raw_value(quoted(&before)),
        (Some(OldStatusLine::Absent) | None, _) => remove_member(settings, STATUS_LINE)?,
    }
    Ok(true)
}

fn input(value: &serde_json::Value) -> CstInputValue {
    use serde_json::Value;
    match value {
        Value::Null => CstInputValue::Null,
        Value::Bool(value) => CstInputValue::Bool(*value),
        Value::Number(number) => CstInputValue::Number(number.to_string()),
        Value::String(text) => CstInputValue::String(text.clone()),
        Value::Array(values) => CstInputValue::Array(values.iter().map(input).collect()),
        Value::Object(members) => {
            CstInputValue::Object(members.iter().map(|(name, value)| (name.clone(), input(value))).collect())
        }
    }
}
