//! What agents run all day: `hook` and `statusline`. **Hot**: looked at before the command line is built.
//!
//! They never fail the agent: whatever happens they exit 0 and leave a line in the log. They take no lock, run no tmux,
//! open no transcript, compile no pattern, and wait for nothing but the disk at the first and last event of a session.
//! What needs more is done by `settle`, which they start and do not wait for.

pub(crate) mod hook;

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io::Read;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use agents::SessionId;
use doctor::Surroundings;
use state::StateDir;
use state::lock::{Lock, LockError};
use state::refuge::{self, Refuge};

/// The most that is read from an agent.
const LARGEST: u64 = 16 << 20;

/// Runs a hot command, where one was asked for.
pub(crate) fn run(arguments: &[OsString]) -> Option<ExitCode> {
    let (command, rest) = arguments.split_first()?;
    let asked_for_help = rest.iter().any(|word| word == "--help" || word == "-h");
    match command.to_str()? {
        "hook" if !asked_for_help => Some(hook::run(rest)),
        _ => None,
    }
}

/// The places a hot command needs, without looking at any of them.
struct Places {
    state: PathBuf,
    refuge: Refuge,
}

impl Places {
    fn new() -> Places {
        let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
        let home = variable("HOME").map_or_else(|| PathBuf::from("/nonexistent"), PathBuf::from);
        let state = Surroundings::new(&home, |name| std::env::var_os(name)).state;
        let refuge = crate::context::refuge(&state);
        Places { state, refuge }
    }

    /// Leaves a line in the log: the state directory's, else the refuge's. Who has neither has nobody to tell.
    fn log(&self, state: Option<&StateDir>, words: &str) {
        let line = format!("{} {words}", jiff::Timestamp::now());
        let kept = state.is_some_and(|state| {
            let folder = state.log();
            state::durable::private_dir(&folder).is_ok()
                && refuge::log(&folder.join("hot.log"), &line).is_ok()
        });
        if !kept && self.refuge.open().is_ok() {
            let _ = refuge::log(&self.refuge.log(), &line);
        }
    }
}

/// Reads what the agent has to say; what is beyond the bound is read and dropped, so that the agent never blocks.
fn input() -> Vec<u8> {
    let mut bytes = Vec::with_capacity(8 * 1024);
    let mut from = std::io::stdin().lock();
    // An input that breaks off is what it is: judged by whoever parses it.
    let _ = from.by_ref().take(LARGEST).read_to_end(&mut bytes);
    if bytes.len() as u64 == LARGEST {
        let _ = std::io::copy(&mut from, &mut std::io::sink());
    }
    bytes
}

/// Starts settle and does not wait for it. One that runs already looks again before it ends. The transcripts of `again` are
/// looked at and mirrored in any case.
pub(crate) fn start_settle(state: &StateDir, again: &BTreeSet<SessionId>) -> std::io::Result<()> {
    if state.paused().exists() {
        return Ok(());
    }
    if let Err(LockError::Held { .. }) = Lock::try_shared(&settle::lock_path(state)) {
        return Ok(());
    }
    // Itself, also when the program's file was replaced by an update meanwhile.
    let itself = Path::new("/proc/self/exe");
    let program = if itself.exists() { itself.to_path_buf() } else { std::env::current_exe()? };
    Command::new(program)
        .arg0("rekindle")
        .args(["settle", "--detached"])
        .args(again.iter().flat_map(|session| ["--again", session.as_str()]))
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .map(drop)
}

/// Why the state directory cannot be used.
fn words(state: Result<&StateDir, &state::StateDirError>) -> String {
    match state {
        Ok(_) => String::new(),
        Err(state::StateDirError::Io(error)) => format!("cannot {error}: {}", error.source),
        Err(error) => format!("cannot {error}"),
    }
}
