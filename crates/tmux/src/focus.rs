//! Panes that want to know when they are looked at, also where tmux does not pass focus on (`focus-events`, off by default).

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use crate::deadline::{Ran, run_with};
use crate::list::tmux;
use crate::quoting::quote;

/// The pane option of those that want to know.
pub(crate) const LAZY: &str = "@rekindle_lazy";

/// Whatever brings a pane to the front. The index is our own: hooks of others stay.
const EVENTS: [&str; 3] = ["window-pane-changed", "session-window-changed", "client-session-changed"];
const INDEX: u32 = 8372;

/// This pane is told no more.
pub fn leave_alone(socket: &Path, pane: &str, deadline: Duration) {
    let mut command: Command = tmux(socket);
    // What stays would be keys that nobody typed, at every look: the next restore takes it away.
    let _: Ran = run_with(command.args(["set-option", "-p", "-u", "-t", pane, LAZY]), Vec::new(), deadline);
}

/// Takes the hooks off again, where there are any.
pub(crate) fn tell_nobody(socket: &Path, deadline: Duration) {
    let mut command: Command = tmux(socket);
    for event in EVENTS {
        command.args(["set-hook", "-gu", &format!("{event}[{INDEX}]"), ";"]);
    }
    let _: Ran = run_with(&mut command, Vec::new(), deadline);
}

/// Lets tmux itself tell these panes when they are looked at, by what a terminal sends then. Nothing is run for it, and no name
/// is passed: a pane that does not want to know is told nothing.
pub fn tell_focus(socket: &Path, panes: &[&str], deadline: Duration) {
    let told = format!("if-shell -F '#{{{LAZY}}}' 'send-keys -H 1b 5b 49'");
    let mut commands = String::new();
    for event in EVENTS {
        commands.push_str(&format!("set-hook -g '{event}[{INDEX}]' {}\n", quote(&told)));
    }
    for pane in panes {
        commands.push_str(&format!("set-option -p -t {} {LAZY} 1\n", quote(pane)));
    }
    let mut command: Command = tmux(socket);
    // Without it there still is Enter.
    let _: Ran = run_with(command.args(["source-file", "-"]), commands.into_bytes(), deadline);
}
