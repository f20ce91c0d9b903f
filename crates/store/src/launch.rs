//! What waits for an agent that is just being started: `cache/launch/<nonce>/`, gone when its start is judged.
//!
//! The nonce is in the agent's environment, so its children have it too. What is said here is therefore said to one
//! conversation only, and only once.

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::{Duration, SystemTime};

use agents::SessionId;

use crate::StateDir;
use crate::durable;

/// A start that is being waited for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Launch(PathBuf);

/// How an agent ended that was still being waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// With this code.
    Code(i32),
    /// By this signal.
    Signal(i32),
    /// It could not be started at all.
    NotStarted,
}

impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Ended::Code(code) => write!(f, "code {code}"),
            Ended::Signal(signal) => write!(f, "signal {signal}"),
            Ended::NotStarted => f.write_str("not started"),
        }
    }
}

impl FromStr for Ended {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Ended, Self::Err> {
        let number = |text: &str| text.parse().map_err(|_| "no number");
        match text.split_once(' ') {
            Some(("code", code)) => Ok(Ended::Code(number(code)?)),
            Some(("signal", signal)) => Ok(Ended::Signal(number(signal)?)),
            Some(("not", "started")) => Ok(Ended::NotStarted),
            _ => Err("no end of an agent"),
        }
    }
}

impl Launch {
    /// The start with this nonce; nothing where the text is none of ours.
    pub fn of(state: &StateDir, nonce: &str) -> Option<Launch> {
        let ours = nonce.len() == 36 && nonce.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-');
        ours.then(|| Launch(state.launches().join(nonce)))
    }

    fn context(&self, session: &SessionId) -> PathBuf {
        self.0.join(format!("{session}.txt"))
    }

    /// Begins to wait, with what the agent is to be told when it says that it is there.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn prepare(&self, session: &SessionId, text: Option<&str>) -> Result<(), durable::Error> {
        durable::private_dir(&self.0)?;
        match text {
            // Nothing depends on it after a power cut: then there is no agent to be told.
            Some(text) => durable::replace_unsynced(&self.context(session), text.as_bytes()),
            None => Ok(()),
        }
    }

    /// What this conversation is to be told; it is told once. **Hot.**
    pub fn take(&self, session: &SessionId) -> Option<String> {
        let path = self.context(session);
        let text = crate::files::read_own_to_string(&path).ok()?;
        // Whoever cannot take it away does not say it: it would be said again at every /clear.
        durable::remove_unsynced(&path).ok()?;
        let _ = durable::remove_empty_dir(&self.0);
        Some(text)
    }

    /// Notes how the agent ended, where somebody still waits for it; whether somebody does.
    pub fn note_end(&self, how: Ended) -> bool {
        let awaited = self.is_awaited();
        if awaited {
            // Whoever waits has a deadline of its own.
            let _ = durable::replace_unsynced(&self.0.join("ended"), how.to_string().as_bytes());
        }
        awaited
    }

    /// How the agent ended; nothing while it runs.
    pub fn ended(&self) -> Option<Ended> {
        crate::files::read_own_to_string(self.0.join("ended")).ok()?.parse().ok()
    }

    /// Whether somebody waits for the agent's word.
    pub fn is_awaited(&self) -> bool {
        self.0.is_dir()
    }

    /// The agent failed: nobody waits any more, and nobody is to be told anything.
    pub fn abandon(&self) {
        let _ = durable::remove_tree(&self.0);
    }

    /// Nobody waits any more. What the agent is to be told stays: its word arrives a moment before its hook asks for that.
    pub fn forget(&self) {
        // What stays is swept by a later restore.
        let _ = durable::remove_unsynced(&self.0.join("ended"));
        let _ = durable::remove_empty_dir(&self.0);
    }
}

/// The lock that is held while panes are made. Agents begin when it is free: until then they would draw for sizes that pass,
/// and take the time that tmux needs.
pub fn making(state: &StateDir) -> PathBuf {
    state.locks().join("making")
}

/// Takes away what restores that were killed have left.
pub fn sweep(state: &StateDir, older_than: Duration, now: SystemTime) -> io::Result<()> {
    let entries = match std::fs::read_dir(state.launches()) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        entries => entries?,
    };
    for entry in entries.flatten() {
        let old = entry
            .metadata()
            .and_then(|meta| meta.modified())
            .is_ok_and(|changed| now.duration_since(changed).is_ok_and(|age| age > older_than));
        if old {
            let _ = durable::remove_tree(&entry.path());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_conversation_is_told_once_and_no_other_is() {
        let dir = tempfile::tempdir().unwrap();
        let state = StateDir::open(dir.path()).unwrap();
        let (ours, other) = (SessionId::new("s1").unwrap(), SessionId::new("s2").unwrap());
        let launch = Launch::of(&state, "01234567-89ab-cdef-0123-456789abcdef").unwrap();
        assert!(!launch.note_end(Ended::Code(1)), "nobody waits");
        assert_eq!(launch.ended(), None);
        launch.prepare(&ours, Some("words")).unwrap();
        assert_eq!(launch.take(&other), None);
        assert_eq!(launch.take(&ours).as_deref(), Some("words"));
        assert_eq!(launch.take(&ours), None);
        launch.note_end(Ended::Code(1));
        assert_eq!(launch.ended(), None, "all is said, and nobody waits");
        launch.prepare(&ours, None).unwrap();
        assert!(launch.note_end(Ended::Signal(9)));
        assert_eq!(launch.ended(), Some(Ended::Signal(9)));
        sweep(&state, Duration::ZERO, SystemTime::now() + Duration::from_secs(9)).unwrap();
        assert_eq!(launch.ended(), None);
        assert_eq!(Launch::of(&state, "../../../etc"), None);
    }
}
