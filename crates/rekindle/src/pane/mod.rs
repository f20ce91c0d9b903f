//! What runs in restored panes: an agent with a shell behind it, a page that says what the pane waits for, or a shell that
//! begins with what it showed.

mod ask;
pub(crate) mod found;
mod page;
mod question;
pub(crate) mod rest;
pub(crate) mod run;
pub(crate) mod shell;
mod terminal;
pub(crate) mod wait;

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use agents::claude::launch::NONCE;
use repair::Paths;
use store::StateDir;
use store::launch::making;
use store::lock::Lock;

use crate::context::Context;
use crate::exit::{Exit, Failure};

/// What rekindle remembers, where there is anything.
fn state() -> Option<StateDir> {
    let (Paths { state, .. }, _) = Context::paths().ok()?;
    StateDir::existing(state).ok()?
}

/// As long as tmux may take to make panes; after that a pane goes on all the same.
const MAKING: Duration = Duration::from_secs(20);

/// Waits until a restore has made all panes: until then everything would be drawn for sizes that pass.
fn wait_for_panes(state: &StateDir) {
    drop(Lock::acquire_shared(&making(state), MAKING));
}

/// The user's shell: tmux names it in every pane.
pub(crate) fn users_shell() -> OsString {
    let shell = std::env::var_os("SHELL").filter(|shell| !shell.is_empty());
    shell.unwrap_or_else(|| OsString::from("/bin/sh"))
}

/// Becomes the user's shell, as tmux starts one in a new pane.
fn become_shell(folder: Option<&Path>) -> Result<Exit, Failure> {
    let shell = users_shell();
    let name = Path::new(&shell).file_name().unwrap_or_default();
    let mut login = OsString::from("-");
    login.push(name);
    let mut command = Command::new(&shell);
    // What belongs to one start must not be inherited by the next agent, which is its user's own.
    command.arg0(login).env_remove(NONCE);
    if let Some(folder) = folder.filter(|folder| folder.is_dir()) {
        command.current_dir(folder);
    }
    let error = command.exec();
    Err(Failure::new(Exit::Failed, format!("cannot start {}: {error}", shell.to_string_lossy())))
}
