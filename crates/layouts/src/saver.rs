//! Saving: what was taken becomes a generation and, where nothing speaks against it, the current one.

use std::path::{Path, PathBuf};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use store::StateDir;
use store::journal::{Entry, Journal};
use store::lock::{Lock, LockError};
use store::machine_key::MachineKey;
use store::saves::{self, Draft, Head, Kind, Loaded, SCHEMA, SaveError, Scrollback};

use crate::follow;
use crate::gone::{Now, unforgotten};
use crate::guard::objection;
use crate::own_command::{asks_its_user, words};
use crate::save::{self, Agent, Save, SavedServer};
use crate::scrollback::{PaneText, pack};
use crate::take::Taken;

/// What saving needs to know.
#[derive(Debug, Clone)]
pub struct Saver {
    /// What rekindle remembers.
    pub state: StateDir,
    /// The machine's key.
    pub key: MachineKey,
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
    /// What the current save has of servers that are gone, and that was not brought back.
    pub gone: Gone,
}

/// What the current save has of servers that are gone, and that was not brought back.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Gone {
    /// There is none, or the new save does not become current.
    #[default]
    Nothing,
    /// The new save keeps it.
    Kept(Vec<SavedServer>),
    /// The new save leaves it out, because that was asked for.
    LeftOut(Vec<SavedServer>),
}

impl Gone {
    /// What the new save keeps.
    pub fn kept(&self) -> &[SavedServer] {
        if let Gone::Kept(servers) = self { servers } else { &[] }
    }
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
    /// What became of servers that are gone.
    pub gone: Gone,
}

/// What panes showed, and when.
#[derive(Debug, Clone)]
pub struct Texts {
    /// Pane by pane.
    pub panes: Vec<PaneText>,
    /// When it was seen.
    pub taken_at: Timestamp,
}

/// Where a save stands among the others.
#[derive(Clone, Copy)]
pub(crate) enum Place<'a> {
    /// It is one more, and the journal tells of it.
    New(Timestamp),
    /// It takes the place of this one.
    Of(&'a str),
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
    /// Make it current, whatever speaks against it, and save what is there alone.
    pub force: bool,
    /// For how long it keeps what went without a word and was not brought back.
    pub keep_gone: Duration,
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
    pub fn judge(&self, taken: &Taken, wish: &Wish, now: Timestamp) -> Result<Judged, SaverError> {
        let (current, skipped) = self.current()?;
        Ok(self.judge_against(current.as_ref(), skipped, taken, wish, now))
    }

    fn judge_against(
        &self,
        current: Option<&Loaded>,
        skipped: Vec<saves::Skipped>,
        taken: &Taken,
        wish: &Wish,
        now: Timestamp,
    ) -> Judged {
        let outcome = self.outcome(current, taken, wish.force);
        let before = current.and_then(Save::of);
        let gone = match before.filter(|_| outcome == Outcome::Current) {
            Some(before) => {
                let since = forgets_before(wish.keep_gone, now);
                let (live, unanswered) = (&taken.servers[..], &taken.unanswered[..]);
                without_asked_about(
                    unforgotten(&before, Now { live, unanswered, restored: None, since }),
                    live,
                )
            }
            None => Vec::new(),
        };
        let gone = match (gone.is_empty(), wish.force) {
            (true, _) => Gone::Nothing,
            (false, false) => Gone::Kept(gone),
            (false, true) => Gone::LeftOut(gone),
        };
        Judged { outcome, current: current.map(|current| current.id.clone()), skipped, gone }
    }

    /// The save that is current now, and the files that were passed over on the way to it.
    pub(crate) fn current(&self) -> Result<(Option<Loaded>, Vec<saves::Skipped>), SaverError> {
        if let Some(current) = saves::named_current(&self.state, self.key.reading()) {
            return Ok((Some(current), Vec::new()));
        }
        let listed = saves::list(&self.state, self.key.reading())?;
        let current = listed.current.and_then(|id| saves::load(&self.state, self.key.reading(), &id).ok());
        Ok((current, listed.skipped))
    }

    pub(crate) fn outcome(&self, current: Option<&Loaded>, taken: &Taken, force: bool) -> Outcome {
        let servers = current.and_then(|current| save::servers(&current.whole));
        match objection(servers.as_deref(), &taken.servers, &taken.unanswered) {
            Some(why) if !force => Outcome::Held { why },
            _ => Outcome::Current,
        }
    }

    /// The sockets of the servers in the current save: some are where nobody would look for them.
    pub fn known_sockets(&self) -> Vec<PathBuf> {
        let current = saves::named_current(&self.state, self.key.reading());
        let servers = current.and_then(|current| save::servers(&current.whole)).unwrap_or_default();
        let sockets = servers.into_iter().map(|server| server.tmux.socket);
        sockets.filter(|socket| socket.is_absolute() && socket.exists()).collect()
    }

    /// When the scrollback of the current save was taken; nothing where it has none.
    pub fn scrollback_taken(&self) -> Option<Timestamp> {
        saves::named_current(&self.state, self.key.reading())?.head.scrollback_taken()
    }

    /// Keeps restores on these servers from beginning.
    pub(crate) fn no_restores(&self, taken: &Taken) -> Result<Vec<Option<Lock>>, SaverError> {
        let servers = taken.servers.iter().map(|server| (server.tmux.pid, server.tmux.start_time));
        servers.map(|server| no_restore(&self.state, Some(server))).collect()
    }

    /// The head of a save of this.
    pub fn head(
        servers: &[SavedServer],
        kind: Kind,
        name: Option<String>,
        outcome: &Outcome,
        now: Timestamp,
    ) -> Head {
        let held = match outcome {
            Outcome::Current => None,
            Outcome::Held { why } => Some(why.clone()),
        };
        let counts = save::counts(servers);
        Head { schema: SCHEMA, saved_at: now, kind, name, imported: false, held, counts, scrollback: None }
    }

    /// Saves what was taken in this turn.
    ///
    /// # Errors
    /// A restore runs on one of the servers, or it cannot be written. What was current stays.
    pub fn save(
        &self,
        turn: &Turn,
        taken: &Taken,
        texts: Option<&Texts>,
        kind: Kind,
        wish: &Wish,
        now: Timestamp,
    ) -> Result<Saved, SaverError> {
        let _no_restores = self.no_restores(taken)?;
        let (current, skipped) = self.current()?;
        let judged = self.judge_against(current.as_ref(), skipped, taken, wish, now);
        let mut servers = taken.servers.clone();
        servers.extend_from_slice(judged.gone.kept());
        let scrollback = scrollback_of(current.as_ref(), &servers, &judged.gone, texts, now)?;
        let body = save::body(&servers).ok_or_else(|| SaverError::Unfit("it is no JSON".to_owned()))?;
        let head = Self::head(&servers, kind, wish.name.clone(), &judged.outcome, now);
        self.commit(turn, &Draft { head, body, scrollback }, judged, Place::New(now))
    }

    /// Writes a save, makes it current where it may be, and lets go of old ones.
    pub(crate) fn commit(
        &self,
        _turn: &Turn,
        draft: &Draft,
        judged: Judged,
        place: Place<'_>,
    ) -> Result<Saved, SaverError> {
        let Judged { outcome, mut current, skipped, gone } = judged;
        let written =
            saves::store(&self.state, self.key.writing().map_err(SaveError::from)?, draft, save::count)?;
        if outcome == Outcome::Current {
            saves::make_current(&self.state, &written.id)?;
            current = Some(written.id.clone());
        }
        match place {
            Place::New(now) => self.tell(&written.id, &written.head, now)?,
            // Before pruning: counted beside its successor it would push out an older one.
            Place::Of(old) => saves::discard(&self.state, old)?,
        }
        let pruned = saves::prune(&self.state, current.as_deref(), self.keep)?;
        Ok(Saved { id: written.id, head: written.head, outcome, pruned, skipped, gone })
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
            let plain = |pane: &&tmux::PaneShot| {
                let forgotten = pane.tag.as_ref().is_some_and(|tag| taken.forgotten.contains(tag));
                !forgotten && !server.agents.iter().any(|agent| agent.pane == pane.id)
            };
            let panes: Vec<&str> = server.tmux.panes().filter(plain).map(|pane| pane.id.as_str()).collect();
            let socket: &Path = &server.tmux.socket;
            match tmux::scrollback(socket, &panes, lines, nonce, deadline) {
                Ok(found) => {
                    texts.extend(found.into_iter().map(|(pane, text)| PaneText { server: at, pane, text }));
                }
                Err(error) => troubles.push(format!("{}: cannot {error}", socket.display())),
            }
        }
        (texts, troubles)
    }
}

/// The gone servers but for those all of whose agents a living pane asks about: that pane waits for them already, and would
/// have nothing left to ask.
fn without_asked_about(gone: Vec<SavedServer>, live: &[SavedServer]) -> Vec<SavedServer> {
    let panes = live.iter().flat_map(|server| server.tmux.panes());
    let asking: Vec<&str> = panes
        .filter(|pane| asks_its_user(&pane.start_command, &pane.command))
        .map(|pane| pane.start_command.as_str())
        .collect();
    // A whole word: the id of one account's session is the beginning of another's key.
    let names = |command: &&str, agent: &Agent| words(command).any(|word| word == agent.session_id.as_str());
    let asked = |agent: &Agent| asking.iter().any(|command| names(command, agent));
    let waits = |server: &SavedServer| server.agents.is_empty() || !server.agents.iter().all(asked);
    gone.into_iter().filter(waits).collect()
}

/// What went before this is let go.
pub(crate) fn forgets_before(keep_gone: Duration, now: Timestamp) -> Timestamp {
    let keep = SignedDuration::try_from(keep_gone).unwrap_or(SignedDuration::MAX);
    now.checked_sub(keep).unwrap_or(Timestamp::MIN)
}

/// What the panes of a save that was asked for show now, and what those of gone servers showed last.
fn scrollback_of(
    current: Option<&Loaded>,
    servers: &[SavedServer],
    gone: &Gone,
    texts: Option<&Texts>,
    now: Timestamp,
) -> Result<Option<Scrollback>, SaverError> {
    let unfit = |error: std::io::Error| SaverError::Unfit(error.to_string());
    if gone.kept().is_empty() {
        let Some(texts) = texts else { return Ok(None) };
        let packed = pack(&texts.panes).map_err(unfit)?;
        return Ok(Some(Scrollback { packed, panes: texts.panes.len(), taken_at: Some(texts.taken_at) }));
    }
    let old = current.and_then(|current| save::servers(&current.whole)).unwrap_or_default();
    // Taken now and empty: live panes were to be left out.
    let none = Texts { panes: Vec::new(), taken_at: now };
    let found = follow::scrollback(current, &old, servers, Some(texts.unwrap_or(&none)), now)?;
    Ok(found.filter(|found| texts.is_some() || found.panes > 0))
}

fn no_restore(state: &StateDir, server: Option<(u32, i64)>) -> Result<Option<Lock>, SaverError> {
    saves::no_restore(state, server).map_err(|error| match error {
        LockError::Held { .. } => SaverError::Restoring,
        LockError::Io { .. } => SaveError::from(error).into(),
    })
}
