//! `rekindle tick --hook`, or `--event`: something has changed in tmux, or to an agent, and a save is due as soon as it has
//! come to rest.
//!
//! Whoever comes leaves a mark. One process at a time waits until no mark is younger than a moment, saves, and looks for
//! marks again: fifty events make one save or two, and the last event is in it.

use std::path::PathBuf;
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use store::StateDir;
use store::durable;
use store::lock::Lock;
use store::saves::Kind;

use super::Places;
use crate::commands::save;
use crate::context::Context;
use crate::exit::{Exit, Failure};

/// Longer than the steps of a script that builds a window, and than the end of a session's panes one after another at a
/// shutdown.
const REST: Duration = Duration::from_secs(1);
/// Who never comes to rest is saved all the same.
const LONGEST: Duration = Duration::from_secs(10);
/// A restore makes events all the time, and what it made is saved when it is done. Longer than any.
const LONGEST_RESTORE: Duration = Duration::from_secs(15 * 60);
const POLL: Duration = Duration::from_millis(100);

/// Always succeeds, as far as tmux can see.
pub(super) fn run(kind: Kind) -> ExitCode {
    let places = Places::new();
    let state = StateDir::open(&places.state);
    let wanted = match &state {
        Ok(state) => want(state, kind).map_err(|failure| failure.message().to_owned()),
        Err(_) => Err(super::words(state.as_ref())),
    };
    if let Err(why) = wanted {
        places.log(state.as_ref().ok(), &format!("tick: {why}"));
    }
    ExitCode::SUCCESS
}

fn mark_path(state: &StateDir) -> PathBuf {
    state.cache().join("save-wanted")
}

fn lock_path(state: &StateDir) -> PathBuf {
    state.locks().join("save-soon")
}

/// The newest mark; nothing where there is none.
fn mark(state: &StateDir) -> Vec<u8> {
    store::files::read(mark_path(state)).unwrap_or_default()
}

/// Leaves a mark, and starts who waits where nobody does. Nothing may be printed after this.
pub(crate) fn want(state: &StateDir, kind: Kind) -> Result<(), Failure> {
    if state.paused().exists() {
        return Ok(());
    }
    durable::private_dir(&state.cache())?;
    durable::private_dir(&state.locks())?;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
    durable::replace_unsynced(&mark_path(state), format!("{now} {}\n", std::process::id()).as_bytes())?;
    // Who waits looks for marks once more after it has let go of the lock.
    if Lock::try_shared(&lock_path(state)).is_err() {
        return Ok(());
    }
    super::start(&["tick", "--soon", kind.word()], None, move || wait(kind))?;
    Ok(())
}

/// Says that something has happened to an agent. Takes a moment: the process that is asked leaves the waiting to one of its
/// own, so that somebody who lives for days collects no dead children.
pub(crate) fn announce() -> std::io::Result<()> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["tick", "--event"]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().map(drop)
}

/// Waits until everything has come to rest, and saves; as long as there are new marks.
pub(crate) fn wait(kind: Kind) -> Result<Exit, Failure> {
    let _ = rustix::process::setsid();
    let _ = std::env::set_current_dir("/");
    let state = StateDir::open(Places::new().state)?;
    loop {
        // The first thing of all: of many who begin at once all but one end here.
        let Ok(alone) = Lock::try_alone(&lock_path(&state)) else { return Ok(Exit::Done) };
        let seen = rest_and_save(&state, kind)
            .inspect_err(|failure| super::log(&format!("tick: {}", failure.message())))?;
        drop(alone);
        if seen.is_none_or(|seen| mark(&state) == seen) {
            return Ok(Exit::Done);
        }
    }
}

/// Waits and saves; the mark that was the newest before it did. Nothing where waiting is of no more use.
fn rest_and_save(state: &StateDir, kind: Kind) -> Result<Option<Vec<u8>>, Failure> {
    let begun = Instant::now();
    let (mut seen, mut since, mut round) = (mark(state), begun, begun);
    loop {
        poll();
        let newest = mark(state);
        if newest != seen {
            (seen, since) = (newest, Instant::now());
        }
        if since.elapsed() < REST && round.elapsed() < LONGEST {
            continue;
        }
        // Somebody has uninstalled us meanwhile, or does not want to be helped now.
        if !state.path().exists() || state.paused().exists() {
            return Ok(None);
        }
        // What shells show is never older than the newest event of an agent or of tmux.
        let scrollback_after = Some(Duration::ZERO);
        if save::follow(&Context::load()?, kind, scrollback_after)?.is_none()
            && begun.elapsed() < LONGEST_RESTORE
        {
            (since, round) = (Instant::now(), Instant::now());
            continue;
        }
        return Ok(Some(seen));
    }
}

#[expect(clippy::disallowed_methods, reason = "a poll interval: rest is when nothing comes")]
fn poll() {
    std::thread::sleep(POLL);
}
