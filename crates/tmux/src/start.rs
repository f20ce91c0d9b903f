//! Acting on a server: a file of commands, panes found by their mark, programs as panes' own command.

use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use crate::build::{Base, MARK, set, words};
use crate::deadline::{Ran, run_with};
use crate::focus::LAZY;
use crate::list::tmux;
use crate::quoting::{quote, text};
use crate::sockets::make_room;

/// tmux refused, or did not answer.
#[derive(Debug, thiserror::Error)]
#[error("{what}: {why}")]
pub struct StartError {
    pub(crate) what: &'static str,
    pub(crate) why: String,
}

pub(crate) fn send(command: Command, what: &'static str, deadline: Duration) -> Result<String, StartError> {
    send_with(command, String::new(), what, deadline)
}

fn send_with(
    mut command: Command,
    input: String,
    what: &'static str,
    deadline: Duration,
) -> Result<String, StartError> {
    let error = |why: String| StartError { what, why };
    match run_with(&mut command, input.into_bytes(), deadline) {
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

/// How a server comes into the world where there is none.
#[derive(Debug, Clone, Copy, Default)]
pub struct Birth<'a> {
    /// Variables that it must not inherit: what an agent sets for its children.
    pub unset: &'a [&'a str],
    /// Whether systemd gives it a scope of its own: what starts it is a unit, or a login, and would take it along at its
    /// end. Where systemd refuses, it is started all the same.
    pub scope: bool,
}

/// Runs a command that starts the server where there is none. One that has just ended for want of sessions still holds its
/// socket for a moment: whoever meets it is sent away before anything is done.
fn send_starting(
    socket: &Path,
    words: &[&str],
    birth: Birth<'_>,
    input: &str,
    what: &'static str,
    deadline: Duration,
) -> Result<String, StartError> {
    make_room(socket).map_err(|why| StartError { what, why })?;
    let mut tries = 0;
    let mut birth = birth;
    loop {
        let mut command = starting(socket, birth);
        command.args(words);
        match send_with(command, input.to_owned(), what, deadline) {
            Err(error) if birth.scope && is_of_systemd(&error.why) => birth.scope = false,
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
fn starting(socket: &Path, birth: Birth<'_>) -> Command {
    let plain = tmux(socket);
    // A server that listens is not started by anybody.
    let mut command = match birth.scope && UnixStream::connect(socket).is_err() {
        false => plain,
        true => {
            let mut scoped = Command::new("systemd-run");
            scoped.args([
                "--user",
                "--scope",
                "--quiet",
                "--collect",
                "--description=tmux, started by rekindle",
            ]);
            scoped.arg("--").arg(plain.get_program()).args(plain.get_args());
            scoped
        }
    };
    for name in birth.unset.iter().chain(&["TMUX", "TMUX_PANE"]) {
        command.env_remove(name);
    }
    command
}

/// Whether a complaint is systemd's: tmux has not begun, then. What tmux says begins with a small letter.
fn is_of_systemd(why: &str) -> bool {
    why.starts_with("Failed to ") || why.starts_with("tmux cannot be started")
}

/// What a server does where nothing else is said.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Habits {
    /// Where it counts from.
    pub base: Base,
    /// What a shell is asked to run in panes that are made without a command; empty for the shell itself.
    pub default_command: String,
}

/// What the server is used to; it is started for the question if it does not run.
pub fn habits(socket: &Path, birth: Birth<'_>, deadline: Duration) -> Result<Habits, StartError> {
    let numbers = ["start-server", ";", "show-options", "-gv", "base-index", ";"];
    let rest = ["show-options", "-gwv", "pane-base-index", ";", "show-options", "-gv", "default-command"];
    let words = [&numbers[..], &rest].concat();
    let answer = send_starting(socket, &words, birth, "", "ask tmux where it counts from", deadline)?;
    Ok(understand(&answer))
}

fn understand(answer: &str) -> Habits {
    let mut lines = answer.splitn(3, '\n');
    let mut number = || lines.next().and_then(|line| line.trim().parse().ok()).unwrap_or_default();
    let base = Base { window: number(), pane: number() };
    // The last one may have several lines itself.
    let command = lines.next().unwrap_or_default();
    Habits { base, default_command: command.strip_suffix('\n').unwrap_or(command).to_owned() }
}

/// Runs commands as if they stood in a file, starting the server where there is none.
pub fn source(socket: &Path, commands: &str, birth: Birth<'_>, deadline: Duration) -> Result<(), StartError> {
    let words = ["start-server", ";", "source-file", "-"];
    send_starting(socket, &words, birth, commands, "make the sessions", deadline).map(drop)
}

/// The ids of panes by their mark.
pub fn marked(socket: &Path, deadline: Duration) -> Result<Vec<(String, String)>, StartError> {
    let mut command = tmux(socket);
    command.args(["list-panes", "-a", "-F", &format!("#{{pane_id}} #{{{MARK}}}")]);
    let answer = send(command, "find the panes", deadline)?;
    let pair = |line: &str| line.split_once(' ').map(|(id, mark)| (mark.to_owned(), id.to_owned()));
    Ok(answer.lines().filter_map(pair).filter(|(mark, _)| !mark.is_empty()).collect())
}

/// A program that takes the place of what runs in a pane, as the pane's own command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Respawn {
    /// `%4`.
    pub pane: String,
    /// Where it starts.
    pub cwd: String,
    /// What its environment has besides the server's.
    pub variables: Vec<(String, String)>,
    /// The program and its arguments. No shell reads them.
    pub words: Vec<String>,
}

/// Starts programs in panes, all by one command. One whose pane has gone does not keep the others from theirs.
pub fn respawn(socket: &Path, programs: &[Respawn], deadline: Duration) -> Result<(), StartError> {
    let command = |program: &Respawn| {
        // `#(command)` in a directory's name runs (measured), so every `#` is doubled.
        let (pane, cwd) = (quote(&program.pane), text(&program.cwd));
        let (set, words) = (set(&program.variables), words(&program.words));
        // What comes next does not want to be told when it is looked at.
        format!("set-option -p -u -t {pane} {LAZY}\nrespawn-pane -k -t {pane} -c {cwd}{set}{words}\n")
    };
    let mut sourced = tmux(socket);
    sourced.args(["source-file", "-"]);
    let commands: String = programs.iter().map(command).collect();
    send_with(sourced, commands, "start the agent", deadline).map(drop)
}

/// The pane option that says how an agent came back: `resumed`, `fresh`. For those who show it in a border.
pub const RESTORED: &str = "@rekindle_restored";

/// A pane's title, and a word that says how its agent came back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Title {
    /// `%4`.
    pub pane: String,
    /// What it is called. An agent may give it another title later.
    pub title: String,
    /// The word, which stays.
    pub word: &'static str,
}

/// Gives panes their titles.
pub fn entitle(socket: &Path, titles: &[Title], deadline: Duration) -> Result<(), StartError> {
    if titles.is_empty() {
        return Ok(());
    }
    let commands: String = titles
        .iter()
        .map(|Title { pane, title, word }| {
            let (target, title) = (quote(pane), text(title));
            format!(
                "select-pane -t {target} -T {title}\nset-option -p -t {target} {RESTORED} {}\n",
                quote(word)
            )
        })
        .collect();
    let mut sourced = tmux(socket);
    sourced.args(["source-file", "-"]);
    send_with(sourced, commands, "give panes their titles", deadline).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_may_be_of_any_shape() {
        let check = |answer: &str, window: u32, pane: u32, command: &str| {
            let expect = Habits { base: Base { window, pane }, default_command: command.to_owned() };
            assert_eq!(understand(answer), expect, "{answer:?}");
        };
        check("1\n2\nexec fish -l \n", 1, 2, "exec fish -l ");
        check("0\n0\n\n", 0, 0, "");
        check("0\n1\na\n\nb\n", 0, 1, "a\n\nb");
        check("", 0, 0, "");
    }
}
