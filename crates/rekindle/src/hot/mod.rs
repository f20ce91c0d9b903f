//! What agents run all day: `hook` and `statusline`. **Hot**: looked at before the command line is built.
//!
//! They never fail the agent: whatever happens they exit 0 and leave a line in the log. They take no lock, run no tmux,
//! open no transcript, compile no pattern, and wait for nothing but the disk at the first and last event of a session.
//! What needs more is done by `settle`, which they start and do not wait for.

pub(crate) mod hook;
mod keep;
pub(crate) mod statusline;
mod style;
mod zone;

use std::ffi::OsString;
use std::fs::File;
use std::io::Read;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

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
        "statusline" if !asked_for_help => Some(statusline::run(rest)),
        _ => None,
    }
}

/// The places a hot command needs, without looking at any of them.
struct Places {
    home: Option<PathBuf>,
    config: PathBuf,
    state: PathBuf,
    refuge: Refuge,
}

impl Places {
    fn new() -> Places {
        let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
        let home = variable("HOME").map(PathBuf::from);
        // Below it nobody can make a folder; elsewhere root could, and would.
        let base = home.as_deref().unwrap_or(Path::new("/dev/null"));
        let Surroundings { config, state, .. } = Surroundings::new(base, |name| std::env::var_os(name));
        let refuge = crate::context::refuge(&state);
        Places { home, config, state, refuge }
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

/// Reads a small file in one go; what is beyond the bound is left.
fn read_small(path: &Path, most: u64) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(8 * 1024);
    File::open(path)?.take(most).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Starts settle and does not wait for it. One that runs already looks again before it ends.
fn start_settle(state: &StateDir) -> std::io::Result<()> {
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
