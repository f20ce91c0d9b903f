//! What asks for a restore, and whether one that nobody typed may go on.

use std::path::Path;
use std::time::Duration;

use clap::ValueEnum;
use jiff::{SignedDuration, Timestamp};
use layouts::Save;
use recovery::Asked;
use store::lock::{Lock, LockError};
use tmux::Listing;

use crate::context::{Context, TMUX_DEADLINE};
use crate::exit::Failure;

/// Who asks for a restore.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Trigger {
    /// A person.
    Manual,
    /// The machine, when its user's services start.
    Boot,
    /// A tmux server that has just started.
    Tmux,
    /// tmux-resurrect, when it has done its part.
    Resurrect,
}

/// A server that is older has read its configuration again: what its user closed meanwhile stays closed.
const YOUNG: SignedDuration = SignedDuration::from_mins(1);

/// How often a server that reads its configuration is asked whether it has a session by now, and how long between.
const TRIES: u32 = 30;
const POLL: Duration = Duration::from_millis(100);

impl Trigger {
    /// How its user asked for it.
    pub(crate) fn asked(self) -> Asked {
        if self.is_automatic() { Asked::ByItself } else { Asked::All }
    }
    /// Those that nobody typed.
    pub(crate) const AUTOMATIC: [Trigger; 3] = [Trigger::Boot, Trigger::Tmux, Trigger::Resurrect];

    pub(crate) fn is_automatic(self) -> bool {
        self != Trigger::Manual
    }

    /// The word for records.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Trigger::Manual => "manual",
            Trigger::Boot => "boot",
            Trigger::Tmux => "tmux",
            Trigger::Resurrect => "resurrect",
        }
    }

    /// Why this trigger has nothing to do; nothing where the restore goes on.
    ///
    /// # Errors
    /// The saves cannot be read.
    pub(crate) fn stays(self, context: &Context) -> Result<Option<&'static str>, Failure> {
        let state = &context.repairer.state;
        if !self.is_automatic() {
            return Ok(None);
        }
        if !context.config.restore.auto {
            return Ok(Some("restore.auto is off"));
        }
        if store::pause::read(state).is_some() {
            return Ok(Some("everything automatic is paused"));
        }
        let key = context.settler()?.key;
        let mut current = store::saves::named_current(state, key.reading());
        if current.is_none() {
            let listed = store::saves::list(state, key.reading())?;
            current = listed.current.and_then(|id| store::saves::load(state, key.reading(), &id).ok());
        }
        let Some(save) = current.as_ref().and_then(Save::of) else { return Ok(Some("there is no save")) };
        // However many triggers there are, it happens once.
        if let Err(LockError::Held { .. }) = Lock::try_shared(&store::saves::restore_lock(state, None)) {
            return Ok(Some("a restore is running"));
        }
        match Context::around() {
            Some(socket) if self == Trigger::Tmux => Ok(refused_by(&socket, &save)),
            _ => Ok(None),
        }
    }
}

/// Why a server that asks is not served.
fn refused_by(socket: &Path, save: &Save) -> Option<&'static str> {
    // Whoever starts a server of another name for a moment does not want all the others with it.
    let real = |path: &Path| std::fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
    if !save.servers.iter().any(|server| real(&server.tmux.socket) == real(socket)) {
        return Some("this server was never saved");
    }
    // One that has just begun may have no session yet.
    let started = (0..TRIES).find_map(|_| match tmux::list(socket, TMUX_DEADLINE) {
        Listing::Alive(server) => Some(Timestamp::from_second(server.id.started).ok()),
        Listing::Gone => Some(None),
        Listing::Unknown { .. } => {
            poll();
            None
        }
    });
    let Some(started) = started.flatten() else { return Some("the server does not answer") };
    if Timestamp::now().duration_since(started).abs() > YOUNG {
        return Some("the server has been there for a while");
    }
    let options = tmux::global_options(socket, TMUX_DEADLINE).unwrap_or_default();
    let is = |name: &str, fits: fn(&str) -> bool| {
        options.iter().any(|(option, value)| option == name && fits(value))
    };
    if is("@continuum-restore", |value| value == "on")
        && is(tmux::RESURRECT_HOOK, |value| value.contains("--by resurrect"))
    {
        return Some("tmux-continuum restores first, and tmux-resurrect calls us when that is done");
    }
    None
}

#[expect(clippy::disallowed_methods, reason = "a poll interval: nothing tells when a server is ready")]
fn poll() {
    std::thread::sleep(POLL);
}
