//! Acting on a server: a file of commands, panes found by their mark, programs as panes' own command.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use crate::build::{Base, MARK};
use crate::deadline::{Ran, run};
use crate::list::tmux;

/// tmux refused, or did not answer.
#[derive(Debug, thiserror::Error)]
#[error("{what}: {why}")]
pub struct StartError {
    what: &'static str,
    why: String,
}

fn send(mut command: Command, what: &'static str, deadline: Duration) -> Result<String, StartError> {
    let error = |why: String| StartError { what, why };
    match run(&mut command, deadline) {
        Ran::Done(output) if output.status.success() => {
            Ok(String::from_utf8_lossy(&output.stdout).into_owned())
        }
        Ran::Done(output) => Err(error(String::from_utf8_lossy(&output.stderr).trim().to_owned())),
        Ran::TooLate => Err(error("tmux did not answer in time".to_owned())),
        Ran::NotStarted(cause) => Err(error(format!("tmux cannot be started: {cause}"))),
    }
}

/// How often a server that is just going away is asked again, and how long between.
const TRIES: u32 = 40;
const PAUSE: Duration = Duration::from_millis(50);

/// Runs a command that starts the server where there is none. One that has just ended for want of sessions still holds its
/// socket for a moment: whoever meets it is sent away before anything is done.
fn send_starting(
    make: impl Fn() -> Command,
    what: &'static str,
    deadline: Duration,
) -> Result<String, StartError> {
    let mut tries = 0;
    loop {
        match send(make(), what, deadline) {
            Err(error) if error.why.contains("server exited") && tries < TRIES => {
                tries += 1;
                pause();
            }
            answer => return answer,
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "a poll interval: nothing tells when a socket is free")]
fn pause() {
    std::thread::sleep(PAUSE);
}

/// A tmux command that may start the server: without what an agent sets for its children, and outside of any other server.
fn starting(socket: &Path, unset: &[&str]) -> Command {
    let mut command = tmux(socket);
    for name in unset.iter().chain(&["TMUX", "TMUX_PANE"]) {
        command.env_remove(name);
    }
    command
}

/// Where the server counts from; it is started for the question if it does not run.
pub fn base(socket: &Path, unset: &[&str], deadline: Duration) -> Result<Base, StartError> {
    let ask = || {
        let mut command = starting(socket, unset);
        command.args(["start-server", ";", "show-options", "-gv", "base-index", ";"]);
        command.args(["show-options", "-gwv", "pane-base-index"]);
        command
    };
    let answer = send_starting(ask, "ask tmux where it counts from", deadline)?;
    let mut numbers = answer.lines().map(|line| line.trim().parse().unwrap_or_default());
    Ok(Base { window: numbers.next().unwrap_or_default(), pane: numbers.next().unwrap_or_default() })
}

/// Runs a file of commands, starting the server where there is none.
pub fn source(socket: &Path, file: &Path, unset: &[&str], deadline: Duration) -> Result<(), StartError> {
    let source = || {
        let mut command = starting(socket, unset);
        command.args(["start-server", ";", "source-file"]).arg(file);
        command
    };
    send_starting(source, "make the sessions", deadline).map(drop)
}

/// The ids of panes by their mark.
pub fn marked(socket: &Path, deadline: Duration) -> Result<Vec<(String, String)>, StartError> {
    let mut command = tmux(socket);
    command.args(["list-panes", "-a", "-F", &format!("#{{pane_id}} #{{{MARK}}}")]);
    let answer = send(command, "find the panes", deadline)?;
    let pair = |line: &str| line.split_once(' ').map(|(id, mark)| (mark.to_owned(), id.to_owned()));
    Ok(answer.lines().filter_map(pair).filter(|(mark, _)| !mark.is_empty()).collect())
}

/// Starts a program as the pane's own command, in place of what runs there. No shell reads its words.
pub fn respawn(
    socket: &Path,
    pane: &str,
    cwd: &str,
    variables: &[(String, String)],
    words: &[String],
    deadline: Duration,
) -> Result<(), StartError> {
    let mut command = tmux(socket);
    // `#(command)` in a directory's name runs (measured), so every `#` is doubled.
    command.args(["respawn-pane", "-k", "-t", pane, "-c", &cwd.replace('#', "##")]);
    for (name, value) in variables {
        command.arg("-e").arg(format!("{name}={value}"));
    }
    // A word that ends in a semicolon would end the command.
    let safe = |word: &String| match word.strip_suffix(';') {
        Some(open) => format!("{open}\\;"),
        None => word.clone(),
    };
    command.arg("--").args(words.iter().map(safe));
    send(command, "start the agent", deadline).map(drop)
}
