//! The conversation's id on its pane: a user option travels with the pane when windows are moved and renumbered.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use crate::deadline::{Ran, run};
use crate::list::tmux;

/// The pane option that holds the id.
pub const TAG: &str = "@rekindle_id";

/// What the names of all our options begin with.
const PREFIX: &str = "@rekindle_";

/// Why panes could not be tagged.
#[derive(Debug, thiserror::Error)]
#[error("tag panes: {0}")]
pub struct TagError(String);

/// A command of more than about 16 KB fails; one of these has about a hundred bytes.
const BATCH: usize = 64;

/// Tags panes, each with the id of its conversation, in a command for many. A pane that has gone meanwhile keeps none of
/// the others from its tag.
pub fn tag(socket: &Path, panes: &[(&str, &str)], deadline: Duration) -> Result<(), TagError> {
    for batch in panes.chunks(BATCH) {
        if set(socket, batch, deadline).is_err() {
            for pane in batch {
                // Gone, then; the next settle sees that.
                let _ = set(socket, &[*pane], deadline);
            }
        }
    }
    Ok(())
}

fn set(socket: &Path, panes: &[(&str, &str)], deadline: Duration) -> Result<(), TagError> {
    let mut command = tmux(socket);
    for (at, (pane, id)) in panes.iter().enumerate() {
        if at > 0 {
            command.arg(";");
        }
        command.args(["set-option", "-p", "-t", pane, TAG, id]);
    }
    send(&mut command, panes.is_empty(), deadline)
}

/// Takes every option of ours off a pane; whether it had one.
pub fn strip(socket: &Path, pane: &str, deadline: Duration) -> Result<bool, TagError> {
    let mut command = tmux(socket);
    let listed = ask(command.args(["show-options", "-q", "-p", "-t", pane]), deadline)?;
    let names = listed.lines().filter_map(|line| line.split(' ').next());
    let ours: Vec<&str> = names.filter(|name| name.starts_with(PREFIX)).collect();
    let mut command = tmux(socket);
    for (at, name) in ours.iter().enumerate() {
        if at > 0 {
            command.arg(";");
        }
        command.args(["set-option", "-p", "-u", "-t", pane, name]);
    }
    send(&mut command, ours.is_empty(), deadline)?;
    Ok(!ours.is_empty())
}

fn send(command: &mut Command, nothing: bool, deadline: Duration) -> Result<(), TagError> {
    if nothing {
        return Ok(());
    }
    ask(command, deadline).map(drop)
}

fn ask(command: &mut Command, deadline: Duration) -> Result<String, TagError> {
    match run(command, deadline) {
        Ran::Done(output) if output.status.success() => {
            Ok(String::from_utf8_lossy(&output.stdout).into_owned())
        }
        Ran::Done(output) => Err(TagError(String::from_utf8_lossy(&output.stderr).trim().to_owned())),
        Ran::TooLate => Err(TagError("tmux did not answer in time".to_owned())),
        Ran::NotStarted(error) => Err(TagError(error.to_string())),
    }
}
