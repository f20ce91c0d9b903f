//! The status line of a settings text, and what becomes of one that was there before.

use jsonc_parser::cst::{CstObject, CstRootNode, CstStringLit};
use jsonc_parser::json;

use super::hooks::quoted;
use super::{OldStatusLine, Remark, SettingsError, Traces, Wanted, member};
use crate::program::Ours;

/// What becomes of the status line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StatusLineChoice {
    /// Ours, which calls the one before it and shows it too.
    Keep,
    /// Ours alone; the one before it comes back with the undoing.
    Replace,
    /// Whatever is there stays.
    Skip,
}

pub(super) const STATUS_LINE: &str = "statusLine";

/// The command of a status line, where it has one.
pub(super) fn command_of(settings: &CstObject) -> Result<Option<CstStringLit>, SettingsError> {
    let Some(property) = member(settings, STATUS_LINE, STATUS_LINE)? else { return Ok(None) };
    let Some(object) = property.object_value() else { return Ok(None) };
    let is_command = object
        .get("type")
        .and_then(|kind| kind.value()?.as_string_lit()?.decoded_value().ok())
        .is_some_and(|kind| kind == "command");
    let command = object.get("command").and_then(|command| command.value()?.as_string_lit());
    Ok(command.filter(|_| is_command))
}

/// Puts ours in; whether it was there already.
pub(super) fn wire(
    root: &CstRootNode,
    wanted: &Wanted,
    traces: &mut Traces,
    remarks: &mut Vec<Remark>,
) -> Result<bool, SettingsError> {
    let settings = root.object_value_or_set();
    let program = &wanted.program;
    let present = member(&settings, STATUS_LINE, STATUS_LINE)?;
    let command = command_of(&settings)?;
    let before = command.as_ref().and_then(|command| command.decoded_value().ok());
    let ours = before.as_deref().and_then(|before| program.understand(before));
    if let (Some(command), Some(Ours::StatusLine { keep })) = (&command, ours) {
        // Ours already: only the way to the program, and a choice that was made anew, can differ.
        if wanted.status_line == StatusLineChoice::Replace {
            traces.status_line = keep.as_deref().map(|before| OldStatusLine::Command(quoted(before)));
        }
        let keep = keep.filter(|_| wanted.status_line != StatusLineChoice::Replace);
        let line = program.status_line(keep.as_deref());
        if before.as_deref() != Some(line.as_str()) {
            command.set_raw_value(quoted(&line));
        }
        return Ok(true);
    }
    if wanted.status_line == StatusLineChoice::Skip {
        return Ok(false);
    }
    match (present, command) {
        (None, _) => {
            let line = program.status_line(None);
            settings.append(STATUS_LINE, json!({ "type": "command", "command": line, "padding": 0 }));
            traces.status_line = Some(OldStatusLine::Absent);
        }
        (Some(_), Some(command)) if wanted.status_line == StatusLineChoice::Keep => {
            traces.status_line = Some(OldStatusLine::Command(command.raw_value()));
            command.set_raw_value(quoted(&program.status_line(before.as_deref())));
        }
        (Some(property), _) if wanted.status_line == StatusLineChoice::Replace => {
            let whole = property.value().map(|value| value.to_string()).unwrap_or_default();
            traces.status_line = Some(OldStatusLine::Whole(whole));
            let line = program.status_line(None);
            property.set_value(json!({ "type": "command", "command": line, "padding": 0 }));
        }
        (Some(_), _) => remarks.push(Remark::OddStatusLine),
    }
    Ok(false)
}
