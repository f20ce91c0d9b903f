//! Commands that an agent's tools started and that run on after the agent is gone: the kernel gives them another parent.
//!
//! An agent sets variables for its commands, and a process keeps the environment it was started with, whatever becomes of
//! its parents. 2.1.325 names its conversation and its own process there. 2.1.31 only says that there is an agent
//! (`CLAUDECODE`), so with it a command is never sure to be of this one.

use std::ffi::{OsStr, OsString};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use super::process::{Process, Processes};

/// An agent that is gone, as far as its commands can be known by it.
#[derive(Debug, Clone, Copy)]
pub struct Gone<'a> {
    /// Its process.
    pub pid: u32,
    /// When that started, in the kernel's ticks.
    pub start_ticks: u64,
    /// Its conversation, and those it came from.
    pub sessions: &'a [&'a str],
    /// The pane it was in, by its own environment.
    pub pane: Option<&'a str>,
    /// The server of that pane, by its own environment: `TMUX`.
    pub tmux: Option<&'a str>,
    /// Where it worked.
    pub cwd: Option<&'a Path>,
}

/// How sure it is that a command was the agent's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Belongs {
    /// Its environment names the agent's conversation or process.
    Surely,
    /// Its environment says that an agent started it, in the same pane and directory, and no living agent is above it.
    Maybe,
}

/// A command that still runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Survivor {
    /// Its process.
    pub pid: u32,
    /// Its program and arguments.
    pub command: Vec<String>,
    /// How sure it is that it was the agent's.
    pub belongs: Belongs,
}

/// The commands of an agent that still run, the first process of each.
pub fn survivors(processes: &Processes, gone: &Gone<'_>) -> Vec<Survivor> {
    let candidate = |process: &&Process| process.start_ticks >= gone.start_ticks && !is_ours(process);
    let found: Vec<(&Process, Belongs)> = processes
        .all()
        .iter()
        .filter(candidate)
        .filter_map(|process| Some((process, belongs(processes, process, gone)?)))
        .collect();
    let first =
        |(process, _): &&(&Process, Belongs)| !found.iter().any(|(other, _)| other.pid == process.parent);
    let survivor = |(process, belongs): &(&Process, Belongs)| Survivor {
        pid: process.pid,
        command: process.arguments().to_vec(),
        belongs: *belongs,
    };
    found.iter().filter(first).map(survivor).collect()
}

fn belongs(processes: &Processes, process: &Process, gone: &Gone<'_>) -> Option<Belongs> {
    let environment = process.environment()?;
    let has = |name: &str, value: &str| {
        environment.iter().any(|(n, v)| n == OsStr::new(name) && v == OsStr::new(value))
    };
    let value = |name: &str| environment.iter().find(|(n, _)| n == OsStr::new(name)).map(|(_, value)| value);
    let session = value("CLAUDE_CODE_SESSION_ID");
    if let Some(session) = session.filter(|session| !session.is_empty()) {
        let own = gone.sessions.iter().any(|own| session == OsStr::new(own));
        // The number of a process may be another one's by now, so that alone it proves nothing.
        let by_number = has("CLAUDE_PID", &gone.pid.to_string()).then_some(Belongs::Maybe);
        return if own { Some(Belongs::Surely) } else { by_number };
    }
    // Another agent's word is no word of this one.
    let named = value("CLAUDE_PID").is_some_and(|pid| pid != OsStr::new(&gone.pid.to_string()));
    let same = |known: Option<&str>, name: &str| {
        known.is_some() && value(name).map(OsString::as_os_str) == known.map(OsStr::new)
    };
    let place = same(gone.pane, "TMUX_PANE") && same(gone.tmux, "TMUX");
    let within = gone.cwd.is_some_and(|cwd| process.cwd().is_some_and(|at| Path::new(&at).starts_with(cwd)));
    let maybe = !named && has("CLAUDECODE", "1") && place && within && !below_an_agent(processes, process);
    maybe.then_some(Belongs::Maybe)
}

/// Whether a living agent is above this process: then it is that one's.
fn below_an_agent(processes: &Processes, process: &Process) -> bool {
    std::iter::successors(processes.get(process.parent), |above| processes.get(above.parent))
        .take(LONGEST_CHAIN)
        .any(Process::is_agent)
}

/// Deeper than any chain of processes; a table that changes while it is read may even have a ring.
const LONGEST_CHAIN: usize = 64;

/// Whether it is this program, whatever its file is called: a hook starts it below the agent, and it works on for a moment.
/// One that runs from a file that was replaced since is known by its name.
fn is_ours(process: &Process) -> bool {
    let program = process.arguments().first().map(Path::new).and_then(Path::file_name);
    let file = |process: &str| {
        std::fs::metadata(format!("/proc/{process}/exe")).ok().map(|meta| (meta.dev(), meta.ino()))
    };
    program == Some(OsStr::new("rekindle"))
        || file("self").is_some_and(|own| file(&process.pid.to_string()) == Some(own))
}
