//! `rekindle pane rest`: a pane whose agent ended while somebody waited for its word. Whoever started it decides what comes
//! next; until then the pane stays, and nothing typed goes to a shell that may be taken away again.
//!
//! A program of its own: the words of the one before name the conversation, and whose words do that counts as being in it.

use std::os::unix::process::CommandExt;
use std::process::Command;
use std::time::Duration;

use state::lock::Lock;
use state::saves::restore_lock;

use super::terminal::Terminal;
use crate::exit::{Exit, Failure};

/// As long as a restore may take.
const RESTORING: Duration = Duration::from_secs(600);

/// Becomes that program; goes on as this one where that fails.
pub(super) fn become_it() {
    if let Ok(program) = std::env::current_exe() {
        let _ = Command::new(program).args(["pane", "rest"]).exec();
    }
}

/// Waits for the end of the restore, and becomes a shell. A restore that is killed gives its lock back.
pub(crate) fn run() -> Result<Exit, Failure> {
    let terminal = Terminal::found();
    if let Some(state) = super::state() {
        terminal.raw();
        drop(Lock::acquire_shared(&restore_lock(&state, None), RESTORING));
        terminal.take_back();
    }
    super::become_shell(None)
}
