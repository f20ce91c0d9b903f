//! What agents and tmux run all day: `hook`, `statusline`, `tick --hook`, `tmux-status`. **Hot**: looked at before the command
//! line is built.
//!
//! They never fail the agent: whatever happens they exit 0 and leave a line in the log. They take no lock, run no tmux,
//! open no transcript, compile no pattern, and wait for nothing, not even for the disk.
//! What needs more is done by `settle`, which they start and do not wait for.

pub(crate) mod debounce;
pub(crate) mod hook;
mod keep;
pub(crate) mod statusline;
pub(crate) mod style;
pub(crate) mod tmux_status;

pub(crate) use tmux_status::restored;

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::File;
use std::io::Read;
use std::panic::UnwindSafe;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use repair::Paths;
use rustix::process::{Pid, setpgid};
use store::StateDir;
use store::fallback_spool::{self, FallbackSpool};
use store::lock::{Lock, LockError};
use store::saves::Kind;

use crate::exit::{Exit, Failure};

/// The most that is read from an agent.
const LARGEST: u64 = 16 << 20;

/// Runs a hot command, where one was asked for.
pub(crate) fn run(arguments: &[OsString]) -> Option<ExitCode> {
    let (command, rest) = arguments.split_first()?;
    let asked_for_help = rest.iter().any(|word| word == "--help" || word == "-h");
    match command.to_str()? {
        "hook" if !asked_for_help => Some(hook::run(rest)),
        "statusline" if !asked_for_help => Some(statusline::run(rest)),
        "tmux-status" if rest.is_empty() => Some(tmux_status::run()),
        "tick" if rest.len() == 1 && rest[0] == "--hook" => Some(debounce::run(Kind::Hook)),
        "tick" if rest.len() == 1 && rest[0] == "--event" => Some(debounce::run(Kind::Event)),
        _ => None,
    }
}

/// The places a hot command needs, without looking at any of them.
struct Places {
    home: Option<PathBuf>,
    config: PathBuf,
    state: PathBuf,
    /// The machine's key, which seals what is kept.
    machine_key: PathBuf,
    /// The configuration directory of the agent that calls.
    claude: PathBuf,
    refuge: FallbackSpool,
}

impl Places {
    fn new() -> Places {
        let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
        let home = variable("HOME").map(PathBuf::from);
        // Below it nobody can make a folder; elsewhere root could, and would.
        let base = home.as_deref().unwrap_or(Path::new("/dev/null"));
        let Paths { config, state, machine_key, .. } = Paths::new(base, |name| std::env::var_os(name));
        let refuge = crate::context::refuge(&state);
        let claude = variable("CLAUDE_CONFIG_DIR").map_or_else(|| base.join(".claude"), PathBuf::from);
        Places { home, config, state, machine_key, claude, refuge }
    }

    /// Leaves a line in the log: the state directory's, else the refuge's. Who has neither has nobody to tell.
    fn log(&self, state: Option<&StateDir>, words: &str) {
        let line = format!("{} {words}", jiff::Timestamp::now());
        let kept = state.is_some_and(|state| {
            let folder = state.log();
            store::durable::private_dir(&folder).is_ok()
                && fallback_spool::log(&folder.join("hot.log"), &line).is_ok()
        });
        if !kept && self.refuge.open().is_ok() {
            let _ = fallback_spool::log(&self.refuge.log(), &line);
        }
    }
}

/// Leaves a line in the log for somebody who has no better place to say it.
pub(crate) fn log(words: &str) {
    let places = Places::new();
    places.log(StateDir::open(&places.state).ok().as_ref(), words);
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
pub(crate) fn read_small(path: &Path, most: u64) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(8 * 1024);
    store::files::open(path)?.take(most).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Begins to settle in a process of its own, which nobody waits for. One that runs already looks again before it ends.
/// Nothing may be printed after this.
///
/// What must reach the disk is written out by that process, first of all: the agent does not wait for a disk, and no power
/// cut can tell the difference.
fn start_settle(state: &StateDir, unsynced: Option<PathBuf>) -> std::io::Result<()> {
    let held = matches!(Lock::try_shared(&sessions::lock_path(state)), Err(LockError::Held { .. }));
    let idle = held || state.paused().exists();
    if idle && unsynced.is_none() {
        return Ok(());
    }
    let words: &[&str] = if idle { &[] } else { &["settle", "--detached"] };
    start(words, unsynced, move || match idle {
        true => Ok(Exit::Done),
        false => crate::commands::settle::detached(BTreeSet::new()),
    })
}

/// Begins work in a process of its own, which nobody waits for: by a fork where that is safe, else as this program with
/// these words.
fn start(
    words: &[&str],
    unsynced: Option<PathBuf>,
    work: impl FnOnce() -> Result<Exit, Failure> + UnwindSafe,
) -> std::io::Result<()> {
    // Who cannot write it out has left it to the kernel, which does so within seconds.
    let write_out = move || drop(unsynced.map(|path| store::durable::sync_file(&path)));
    // Agents wait until everybody has closed the pipes they gave to a hook: the new process must never hold them.
    let nowhere = File::options().read(true).write(true).open("/dev/null")?;
    rustix::stdio::dup2_stdin(&nowhere)?;
    rustix::stdio::dup2_stdout(&nowhere)?;
    rustix::stdio::dup2_stderr(&nowhere)?;
    // Out of the agent's terminal before the child is there, so that no hang-up meets it. One that leads its group must
    // stay; its child is put out of the group.
    let leads = rustix::process::setsid().is_err();
    if std::fs::read_dir("/proc/self/task").is_ok_and(|threads| threads.count() == 1) {
        return fork(leads, move || {
            write_out();
            work()
        });
    }
    write_out();
    if words.is_empty() {
        return Ok(());
    }
    Command::new(std::env::current_exe()?).args(words).spawn().map(drop)
}

/// A fork without a new program: starting one takes longer than all the rest of a hook together (measured: 1.6 of
/// 3.0 ms), and what follows is in memory already.
fn fork(leads: bool, work: impl FnOnce() -> Result<Exit, Failure> + UnwindSafe) -> std::io::Result<()> {
    // SAFETY: the caller has made sure that this process has one thread, so that no lock of the allocator or of anything
    // else can be held by a thread that the child does not have.
    match unsafe { libc::fork() } {
        0 => {
            // The child must not return into what the parent is doing, not even by a panic.
            let done = std::panic::catch_unwind(work);
            std::process::exit(i32::from(!matches!(done, Ok(Ok(_)))));
        }
        -1 => Err(std::io::Error::last_os_error()),
        child => {
            // Done from here, so that it has happened before this process ends and whoever waits ends its group.
            if let Some(child) = Pid::from_raw(child).filter(|_| leads) {
                let _ = setpgid(Some(child), Some(child));
            }
            Ok(())
        }
    }
}

/// Why the state directory cannot be used.
fn words(state: Result<&StateDir, &store::StateDirError>) -> String {
    match state {
        Ok(_) => String::new(),
        Err(store::StateDirError::Io(error)) => format!("cannot {error}: {}", error.source),
        Err(error) => format!("cannot {error}"),
    }
}
