//! Saving: what was taken becomes a generation and, where nothing speaks against it, the current one.

use std::path::Path;
use std::time::Duration;

use jiff::Timestamp;
use state::StateDir;
use state::journal::{Entry, Journal};
use state::lock::{Lock, LockError};
use state::saves::{self, Draft, Head, Kind, SCHEMA, SaveError};
use state::seal::Key;

use crate::guard::objection;
use crate::save;
use crate::scrollback::{PaneText, pack};
use crate::take::Taken;

/// What saving needs to know.
#[derive(Debug, Clone)]
pub struct Saver {
    /// What rekindle remembers.
    pub state: StateDir,
    /// The machine's key.
    pub key: Key,
    /// How many saves are kept.
    pub keep: usize,
    /// How long another save may take.
    pub patience: Duration,
}

/// Why nothing was saved.
#[derive(Debug, thiserror::Error)]
pub enum SaverError {
    /// What is half restored must not be saved.
    #[error("save: a restore is running")]
    Restoring,
    /// A part of it is no JSON or cannot be compressed.
    #[error("write the save: {0}")]
    Unfit(String),
    /// It cannot be written or read back.
    #[error(transparent)]
    Save(#[from] SaveError),
}

/// What became of a save.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// It is what a restore takes.
    Current,
    /// It was kept, and what was current stays.
    Held {
        /// Why.
        why: String,
    },
}

/// What a save would become, and what stands in its way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Judged {
    /// What would become of it.
    pub outcome: Outcome,
    /// The save that is current now.
    pub current: Option<String>,
    /// Files that were passed over on the way to it.
    pub skipped: Vec<saves::Skipped>,
}

/// A save that was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Saved {
    /// Its id.
    pub id: String,
    /// What it says first.
    pub head: Head,
    /// What became of it.
    pub outcome: Outcome,
    /// Old saves that went.
    pub pruned: Vec<String>,
    /// Files that were passed over.
    pub skipped: Vec<saves::Skipped>,
}

/// The turn to save, as long as it is held.
#[derive(Debug)]
#[must_use = "others may save as soon as this is gone"]
pub struct Turn {
    _no_restore: Option<Lock>,
    _alone: Lock,
}

/// What the one who asks for a save may choose.
#[derive(Debug, Clone, Default)]
pub struct Wish {
    /// What to call it.
    pub name: Option<String>,
    /// Make it current, whatever speaks against it.
    pub force: bool,
}

impl Saver {
    /// Takes the turn to save: no restore runs, none begins, and nobody else saves while it is held. Taken before tmux
    /// is asked, so that an older look never replaces a newer one.
    ///
    /// # Errors
    /// A restore runs, another save does not end, or the locks cannot be used.
    pub fn begin(&self) -> Result<Turn, SaverError> {
        let alone = saves::lock(&self.state, self.patience)?;
        Ok(Turn { _no_restore: no_restore(&self.state, None)?, _alone: alone })
    }

    /// What would become of it, and the id of the save that is current now.
    ///
    /// # Errors
    /// The saves cannot be listed.
    pub fn judge(&self, taken: &Taken, force: bool) -> Result<Judged, SaverError> {
        let mut judged = Judged { outcome: Outcome::Current, current: None, skipped: Vec::new() };
        let mut current = saves::named_current(&self.state, Some(&self.key));
        if current.is_none() {
            let listed = saves::list(&self.state, Some(&self.key))?;
            current = listed.current.and_then(|id| saves::load(&self.state, Some(&self.key), &id).ok());
            judged.skipped = listed.skipped;
        }
        let servers = current.as_ref().and_then(|current| save::servers(&current.whole));
        judged.current = current.map(|current| current.id);
        if let Some(why) = objection(servers.as_deref(), &taken.servers, &taken.unanswered)
            && !force
        {
            judged.outcome = Outcome::Held { why };
        }
        Ok(judged)
    }

    /// The head of a save of this.
    pub fn head(taken: &Taken, kind: Kind, name: Option<String>, outcome: &Outcome, now: Timestamp) -> Head {
        let held = match outcome {
            Outcome::Current => None,
            Outcome::Held { why } => Some(why.clone()),
        };
        let counts = save::counts(&taken.servers);
        Head { schema: SCHEMA, saved_at: now, kind, name, imported: false, held, counts, scrollback: None }
    }

    /// Saves what was taken in this turn.
    ///
    /// # Errors
    /// A restore runs on one of the servers, or it cannot be written. What was current stays.
    pub fn save(
        &self,
        _turn: &Turn,
        taken: &Taken,
        texts: Option<&[PaneText]>,
        kind: Kind,
        wish: &Wish,
        now: Timestamp,
    ) -> Result<Saved, SaverError> {
        let servers = taken.servers.iter().map(|server| (server.tmux.pid, server.tmux.start_time));
        let _no_restores =
            servers.map(|server| no_restore(&self.state, Some(server))).collect::<Result<Vec<_>, _>>()?;
        let unfit = |error: std::io::Error| SaverError::Unfit(error.to_string());
        let scrollback = match texts {
            Some(texts) => Some((pack(texts).map_err(unfit)?, texts.len())),
            None => None,
        };
        let body = save::body(&taken.servers).ok_or_else(|| SaverError::Unfit("it is no JSON".to_owned()))?;
        let Judged { outcome, mut current, skipped } = self.judge(taken, wish.force)?;
        let head = Self::head(taken, kind, wish.name.clone(), &outcome, now);
        let written = saves::store(&self.state, &self.key, &Draft { head, body, scrollback }, save::count)?;
        if outcome == Outcome::Current {
            saves::make_current(&self.state, &written.id)?;
            current = Some(written.id.clone());
        }
        self.tell(&written.id, &written.head, now)?;
        let pruned = saves::prune(&self.state, current.as_deref(), self.keep)?;
        Ok(Saved { id: written.id, head: written.head, outcome, pruned, skipped })
    }

    fn tell(&self, id: &str, head: &Head, now: Timestamp) -> Result<(), SaverError> {
        let entry = Entry::new(now, if head.held.is_some() { "save_held" } else { "saved" })
            .with("save", id)
            .with("panes", head.counts.panes)
            .with("agents", head.counts.agents);
        let entry = match &head.held {
            Some(why) => entry.with("why", why.as_str()),
            None => entry,
        };
        Ok(Journal::at(self.state.journal()).append(&entry).map_err(SaveError::from)?)
    }

    /// The scrollback of the panes that are no agent's, one command for each server; with what went wrong.
    pub fn scrollback(
        taken: &Taken,
        lines: u32,
        nonce: &str,
        deadline: Duration,
    ) -> (Vec<PaneText>, Vec<String>) {
        let (mut texts, mut troubles) = (Vec::new(), Vec::new());
        for (at, server) in taken.servers.iter().enumerate() {
            let plain = |pane: &&mux::PaneShot| !server.agents.iter().any(|agent| agent.pane == pane.id);
            let panes: Vec<&str> = server.tmux.panes().filter(plain).map(|pane| pane.id.as_str()).collect();
            let socket: &Path = &server.tmux.socket;
            match mux::scrollback(socket, &panes, lines, nonce, deadline) {
                Ok(found) => {
                    texts.extend(found.into_iter().map(|(pane, text)| PaneText { server: at, pane, text }));
                }
                Err(error) => troubles.push(format!("{}: cannot {error}", socket.display())),
            }
        }
        (texts, troubles)
    }
}

fn no_restore(state: &StateDir, server: Option<(u32, i64)>) -> Result<Option<Lock>, SaverError> {
    saves::no_restore(state, server).map_err(|error| match error {
        LockError::Held { .. } => SaverError::Restoring,
        LockError::Io { .. } => SaveError::from(error).into(),
    })
}
