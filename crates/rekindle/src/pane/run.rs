//! `rekindle pane run`: an agent in front, and a shell behind it when it ends. The pane stays.

use std::cell::Cell;
use std::io::Read;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::time::{Duration, Instant};

use agents::claude::CHILD_VARIABLES;
use rustix::process::{Pid, Signal, WaitOptions, WaitStatus, kill_process_group, waitpid};
use store::launch::{Ended, Launch};

use super::rest;
use super::terminal::{Background, Terminal, in_background};
use crate::exit::{Exit, Failure};
use crate::output::say;

/// Run an agent, and a shell when it ends
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The start that somebody waits for
    #[arg(long, value_name = "NONCE")]
    launch: Option<String>,
    /// End with the agent instead
    #[arg(long)]
    then_close: bool,
    /// A variable that the agent does not get
    #[arg(long, value_name = "NAME")]
    without: Vec<String>,
    /// The agent and its arguments
    #[arg(value_name = "WORDS", required = true, last = true)]
    words: Vec<String>,
}

/// A program that wants to read before the terminal is its own is stopped within this time of its start.
const AT_FIRST: Duration = Duration::from_secs(2);

pub(crate) fn run(args: &Args) -> Result<Exit, Failure> {
    let state = args.launch.as_ref().and_then(|_| super::state());
    if let Some(state) = &state {
        super::wait_for_panes(state);
    }
    let launch =
        args.launch.as_deref().zip(state.as_ref()).and_then(|(nonce, state)| Launch::of(state, nonce));
    let end = Cell::new(None);
    let note = |how: Ended| end.set(Some(how));
    let Some((program, rest)) = args.words.split_first() else { return Ok(Exit::Usage) };
    let terminal = Terminal::found();
    let mut agent = Command::new(program);
    agent.args(rest).process_group(0);
    // The server may have them from an agent that started it: one that takes itself for a child keeps no transcript.
    let without = args.without.iter().map(String::as_str);
    for name in CHILD_VARIABLES.iter().copied().chain(without) {
        agent.env_remove(name);
    }
    match agent.spawn() {
        Err(error) => {
            note(Ended::NotStarted);
            say(&format!("rekindle: cannot start {program}: {error}"));
        }
        Ok(child) => {
            let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
            if let Some(group) = group {
                terminal.give(group);
                in_background(Background::GoesOn);
                attend(group, &terminal, note);
                in_background(Background::Stops);
            }
        }
    }
    let awaited = launch.as_ref().filter(|launch| launch.is_awaited());
    if let (Some(launch), Some(nonce), Some(how)) = (awaited, &args.launch, end.get()) {
        rest::become_it(nonce, how);
        launch.note_end(how);
    } else if args.then_close {
        return Ok(Exit::Done);
    }
    super::become_shell(None)
}

/// Waits for the agent's end; one that is suspended waits for its user.
fn attend(group: Pid, terminal: &Terminal, note: impl Fn(Ended)) {
    let started = Instant::now();
    loop {
        let status = match waitpid(Some(group), WaitOptions::UNTRACED) {
            Ok(Some((_, status))) => status,
            Ok(None) | Err(rustix::io::Errno::INTR) => continue,
            Err(_) => return,
        };
        if let Some(signal) = status.stopping_signal() {
            let wanted_terminal = [libc::SIGTTIN, libc::SIGTTOU].contains(&signal);
            if !(wanted_terminal && started.elapsed() < AT_FIRST) {
                suspended(terminal);
            }
            terminal.give(group);
            let _ = kill_process_group(group, Signal::CONT);
            continue;
        }
        ended(terminal, status, note);
        return;
    }
}

fn suspended(terminal: &Terminal) {
    terminal.take_back();
    terminal.calm();
    say("the agent is suspended: Enter brings it back");
    // A closed terminal ends everything by itself.
    let _ = std::io::stdin().lock().read(&mut [0; 256]);
}

fn ended(terminal: &Terminal, status: WaitStatus, note: impl Fn(Ended)) {
    terminal.take_back();
    match (status.exit_status(), status.terminating_signal()) {
        (Some(code), _) => note(Ended::Code(code)),
        (None, Some(signal)) => {
            terminal.calm();
            note(Ended::Signal(signal));
            say(&format!("the agent was ended by signal {signal}: rekindle recover brings it back"));
        }
        (None, None) => {}
    }
}
