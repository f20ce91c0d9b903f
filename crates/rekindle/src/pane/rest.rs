//! `rekindle pane rest`: a pane whose agent ended while somebody waited for its word. Whoever started it decides what comes
//! next; until then the pane stays, and nothing typed goes to a shell that may be taken away again.
//!
//! A program of its own: the words of the one before name the conversation, and whose words do that counts as being in it.

use std::os::unix::process::CommandExt;
use std::process::Command;
use std::time::Duration;

use store::launch::{Ended, Launch};
use store::lock::Lock;
use store::saves::restore_lock;

use super::terminal::Terminal;
use crate::exit::{Exit, Failure};

/// As long as a restore may take.
const RESTORING: Duration = Duration::from_secs(600);

/// Wait for the end of a restore, then a shell
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The start that somebody waits for
    #[arg(long, value_name = "NONCE")]
    launch: String,
    /// How its agent ended
    #[arg(long, value_name = "HOW")]
    ended: Ended,
}

/// Becomes that program; goes on as this one where that fails.
pub(super) fn become_it(nonce: &str, how: Ended) {
    if let Ok(program) = std::env::current_exe() {
        let words = ["pane", "rest", "--launch", nonce, "--ended", &how.to_string()];
        let _ = Command::new(program).args(words).exec();
    }
}

/// Says how the agent ended, waits for the end of the restore, and becomes a shell. A restore that is killed gives its lock back.
pub(crate) fn run(args: &Args) -> Result<Exit, Failure> {
    let terminal = Terminal::found();
    if let Some(state) = super::state() {
        terminal.raw();
        if let Some(launch) = Launch::of(&state, &args.launch) {
            launch.note_end(args.ended);
        }
        drop(Lock::acquire_shared(&restore_lock(&state, None), RESTORING));
        terminal.forget_typed();
        terminal.take_back();
    }
    super::become_shell(None)
}
