//! Small questions about one pane, and single keys.

use std::path::Path;
use std::time::Duration;

use crate::deadline::{Ran, run};
use crate::list::tmux;

fn ask(socket: &Path, words: &[&str], deadline: Duration) -> Option<String> {
    let mut command = tmux(socket);
    command.args(words);
    match run(&mut command, deadline) {
        Ran::Done(output) if output.status.success() => {
            Some(String::from_utf8_lossy(&output.stdout).into_owned())
        }
        _ => None,
    }
}

/// tmux answers a question about a pane that is gone with nothing, and calls it a success (measured).
fn fact(socket: &Path, pane: &str, format: &str, deadline: Duration) -> Option<String> {
    let answer = ask(socket, &["display-message", "-p", "-t", pane, format], deadline)?;
    let answer = answer.trim_end_matches('\n');
    (!answer.is_empty()).then(|| answer.to_owned())
}

/// The command that a pane was started with.
pub fn start_command(socket: &Path, pane: &str, deadline: Duration) -> Option<String> {
    fact(socket, pane, "#{pane_start_command}", deadline)
}

/// The process that a pane was started with.
pub fn pane_pid(socket: &Path, pane: &str, deadline: Duration) -> Option<u32> {
    fact(socket, pane, "#{pane_pid}", deadline)?.parse().ok()
}

/// What a pane shows.
pub fn screen(socket: &Path, pane: &str, deadline: Duration) -> Option<String> {
    ask(socket, &["capture-pane", "-p", "-t", pane], deadline)
}

/// Presses one key in a pane, by tmux's name for it. Text goes another way. Where keys go into every pane of the window
/// (`synchronize-panes`) none is pressed.
pub fn press(socket: &Path, pane: &str, key: &str, deadline: Duration) -> Option<()> {
    let send = format!("send-keys -t {pane} {key}");
    ask(socket, &["if-shell", "-F", "-t", pane, "#{pane_synchronized}", "", &send], deadline).map(drop)
}

/// Closes panes. One that is gone already is closed.
pub fn close(socket: &Path, panes: &[&str], deadline: Duration) {
    for pane in panes {
        ask(socket, &["kill-pane", "-t", pane], deadline);
    }
}
