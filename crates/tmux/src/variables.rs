//! What a server's environment has: every pane inherits it.

use std::path::Path;
use std::time::Duration;

use crate::deadline::{Ran, run};
use crate::list::tmux;

/// Whether panes of a server inherit a variable; nothing where there is no server. Its value is not looked at.
pub fn has_variable(socket: &Path, name: &str, deadline: Duration) -> Option<bool> {
    let mut command = tmux(socket);
    command.args(["show-environment", "-g", name]);
    match run(&mut command, deadline) {
        // One that is to be removed is shown as `-NAME`.
        Ran::Done(output) if output.status.success() => Some(!output.stdout.starts_with(b"-")),
        Ran::Done(output) => output.stderr.starts_with(b"unknown variable").then_some(false),
        Ran::TooLate | Ran::NotStarted(_) => None,
    }
}
