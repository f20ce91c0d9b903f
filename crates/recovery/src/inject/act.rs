//! Sending: paste, see it, Enter, and then either the agent's own word or the sight of an empty composer.

use std::path::Path;
use std::time::{Duration, Instant};

use agents::SessionKey;
use agents::claude::composer::{Composer, composer, plain};
use agents::claude::launch::recognise;
use sessions::view::Process;
use store::StateDir;
use store::lock::{Lock, LockError};
use store::{durable, record, spool, spool::LARGEST_INPUT};
use tmux::{PasteError, Sight};

use super::guard::{Place, Refusal, takes_text};
use super::text::{Piece, piece};

/// What acting needs.
pub struct Injector<'a> {
    /// What rekindle remembers.
    pub state: &'a StateDir,
    /// Where the agent is.
    pub place: &'a Place,
    /// Whether a turn that is under way is no reason to refuse: the agent queues what comes.
    pub while_busy: bool,
}

/// How it is known that a text was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Confirmed {
    /// The agent says so: its UserPromptSubmit event holds the text.
    Event,
    /// The composer held the text before Enter, and holds it no more.
    Screen,
}

/// How it ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Injected {
    /// It is in the composer, and Enter was not pressed: as asked.
    Placed,
    /// It was sent.
    Sent(Confirmed),
    /// It cannot be told whether it was sent.
    Unconfirmed {
        /// What was seen instead.
        why: &'static str,
    },
}

/// Why nothing went in.
#[derive(Debug, thiserror::Error)]
pub enum InjectError {
    /// A guard said no; nothing was typed.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// tmux failed.
    #[error(transparent)]
    Tmux(#[from] PasteError),
    /// The lock cannot be used.
    #[error(transparent)]
    Lock(LockError),
    /// The lock cannot be made.
    #[error(transparent)]
    Write(#[from] durable::Error),
}

const TMUX_DEADLINE: Duration = Duration::from_secs(20);

/// 480,000 characters showed within 3 s (measured on 2.1.31); a loaded machine takes several times that.
const SHOW_DEADLINE: Duration = Duration::from_secs(30);

/// Pressed sooner after a paste, Enter is lost (measured on 2.1.100: it counts as part of the paste).
const MOMENT: Duration = Duration::from_millis(200);

/// After Enter 2.1.31 worked more than 5 s on 480,000 characters before it said a word (measured).
const PROOF_DEADLINE: Duration = Duration::from_secs(90);

/// An event comes within a second of the composer's emptying; one that was announced and does not come is not waited for.
const EVENT_AFTER_SIGHT: Duration = Duration::from_secs(10);

/// An Enter that an agent loses while it draws is pressed again after this, where that is safe.
const PRESS_AGAIN: Duration = Duration::from_secs(5);
const PRESSES: u32 = 3;

const POLL: Duration = Duration::from_millis(50);

impl Injector<'_> {
    /// Whether text could go in now; nothing is done.
    ///
    /// # Errors
    /// It could not.
    pub fn check(&self) -> Result<(), InjectError> {
        let sight = self.sight()?;
        takes_text(self.place, sight.as_ref(), self.while_busy)?;
        Ok(())
    }

    /// Sends the text, or only places it.
    ///
    /// # Errors
    /// A guard refuses, or tmux fails.
    pub fn inject(&self, piece: &Piece, submit: bool) -> Result<Injected, InjectError> {
        durable::private_dir(&self.state.locks())?;
        let lock = self.state.locks().join(format!("inject-{}", self.place.session));
        let _alone = Lock::try_alone(&lock).map_err(|error| match error {
            LockError::Held { .. } => InjectError::Refused(Refusal::AnotherSends),
            other => InjectError::Lock(other),
        })?;
        let mut sight = self.sight()?;
        if sight.as_ref().is_some_and(|sight| sight.in_mode) {
            tmux::leave_modes(&self.place.socket, &self.place.pane, TMUX_DEADLINE)?;
            sight = self.sight()?;
        }
        let before = takes_text(self.place, sight.as_ref(), self.while_busy)?;
        let heard = Heard::until_now(self, piece);
        self.put(piece)?;
        let Some(shown) = self.wait_for(piece)? else {
            return Ok(Injected::Unconfirmed {
                why: "the text does not show where it should; Enter was not pressed",
            });
        };
        if !submit {
            return Ok(Injected::Placed);
        }
        if let (Piece::Command(command), Some(offered)) = (piece, &shown.completion)
            && command.split(' ').next() != Some(offered)
        {
            return Ok(Injected::Unconfirmed {
                why: "its agent would run another command that begins like it; Enter was not pressed",
            });
        }
        tmux::press_enter(&self.place.socket, &self.place.pane, TMUX_DEADLINE)?;
        self.prove(piece, &heard, before.interruptible || self.place.busy)
    }

    fn sight(&self) -> Result<Option<Sight>, PasteError> {
        tmux::sight(&self.place.socket, &self.place.pane, TMUX_DEADLINE)
    }

    fn put(&self, piece: &Piece) -> Result<(), PasteError> {
        let (socket, pane) = (&self.place.socket, &self.place.pane);
        match piece {
            Piece::Prompt(text) => {
                let buffer = format!("rekindle-{}", uuid::Uuid::new_v4());
                tmux::paste(socket, pane, text, &buffer, TMUX_DEADLINE)
            }
            Piece::Command(text) => tmux::type_line(socket, pane, text, TMUX_DEADLINE),
        }
    }

    /// Waits until the composer holds the text and nothing else, and stays like that for a moment.
    fn wait_for(&self, piece: &Piece) -> Result<Option<Composer>, PasteError> {
        let start = Instant::now();
        let mut since: Option<(Instant, Composer)> = None;
        while start.elapsed() < SHOW_DEADLINE {
            // Whoever scrolls meanwhile gets the keys.
            let sight = self.sight()?.filter(|sight| !sight.in_mode);
            let seen = sight.and_then(|sight| composer(&sight.screen));
            since = match (seen.filter(|seen| seen.holds(piece.text())), since) {
                (Some(seen), Some((at, before))) if before == seen => {
                    if at.elapsed() >= MOMENT {
                        return Ok(Some(seen));
                    }
                    Some((at, before))
                }
                (Some(seen), _) => Some((Instant::now(), seen)),
                (None, _) => None,
            };
            poll();
        }
        Ok(None)
    }

    /// Waits for the agent's word, or for the text to leave the composer where no word will come.
    fn prove(&self, piece: &Piece, heard: &Heard<'_>, queued: bool) -> Result<Injected, InjectError> {
        let start = Instant::now();
        let mut left: Option<Instant> = None;
        let mut presses = 1;
        while start.elapsed() < PROOF_DEADLINE {
            if heard.it() {
                return Ok(Injected::Sent(Confirmed::Event));
            }
            let sight = self.sight()?;
            left = match (has_left(piece, sight.as_ref()), left) {
                (true, since) => since.or(Some(Instant::now())),
                (false, _) => None,
            };
            // Commands of the agent's own, agents without hooks and prompts in its queue bring no event, or a late one.
            let patience = if heard.speaks && !queued && matches!(piece, Piece::Prompt(_)) {
                EVENT_AFTER_SIGHT
            } else {
                MOMENT
            };
            if left.is_some_and(|since| since.elapsed() >= patience) {
                return Ok(Injected::Sent(Confirmed::Screen));
            }
            // Before an agent does anything with a prompt it tells its hooks. Where it has not, Enter can meet nothing but
            // the text; elsewhere it might answer a question that came up meanwhile.
            let due = start.elapsed() >= PRESS_AGAIN * presses;
            if due && presses < PRESSES && left.is_none() && heard.speaks && !queued && !heard.anything() {
                tmux::press_enter(&self.place.socket, &self.place.pane, TMUX_DEADLINE)?;
                presses += 1;
            }
            poll();
        }
        Ok(Injected::Unconfirmed {
            why: "the text is still in the composer, or cannot be seen: look at the pane",
        })
    }
}

/// From its word to its first empty line an agent took up to 3 s with a large conversation; a loaded machine takes longer.
const COMPOSER_DEADLINE: Duration = Duration::from_secs(20);

/// Places a prompt in the line of an agent that has just come back, without Enter, as soon as its line is there.
///
/// # Errors
/// A guard refuses, or tmux fails.
pub(crate) fn place_ready(
    state: &StateDir,
    session: &SessionKey,
    socket: &Path,
    pane: &str,
    text: &str,
) -> Result<Injected, InjectError> {
    let gone = InjectError::Refused(Refusal::PaneGone);
    let sight = tmux::sight(socket, pane, TMUX_DEADLINE)?.ok_or(gone)?;
    let Ok(piece) = piece(text) else { return Err(InjectError::Refused(Refusal::NoComposer)) };
    let place = Place {
        session: session.clone(),
        // Only who presses Enter must know the process.
        process: Process { pid: 0, start: 0 },
        socket: socket.to_path_buf(),
        server: (sight.server.pid, sight.server.started),
        pane: pane.to_owned(),
        reference: pane.to_owned(),
        busy: false,
    };
    let injector = Injector { state, place: &place, while_busy: false };
    let start = Instant::now();
    // Its line is drawn once before the conversation is, and again after it.
    let mut since: Option<Instant> = None;
    loop {
        let late = start.elapsed() > COMPOSER_DEADLINE;
        match injector.check() {
            Ok(()) if since.is_some_and(|at| at.elapsed() >= MOMENT) => {
                return injector.inject(&piece, false);
            }
            Ok(()) => since = since.or(Some(Instant::now())),
            Err(InjectError::Refused(Refusal::NoComposer)) if !late => since = None,
            Err(error) => return Err(error),
        }
        poll();
    }
}

/// Whether a conversation's agent says that this text was submitted. `offset` is where its spool is looked at from.
pub(crate) fn is_submitted(state: &StateDir, session: &SessionKey, offset: u64, text: &str) -> bool {
    prompts_since(state, session, offset).iter().any(|input| is_it(input, text))
}

/// The prompts that a session's agent has heard since. Two accounts with one id share a spool.
fn prompts_since(state: &StateDir, session: &SessionKey, offset: u64) -> Vec<serde_json::Value> {
    let id = session.id();
    let (events, _) = spool::read(&spool::path(state, id), offset, id, None, 0).unwrap_or_default();
    let is_its_own = |event: &spool::Event| {
        let key = event.config_dir().and_then(|config| record::key_for(state, id, &config).ok());
        key.is_none_or(|key| key == *session)
    };
    let is_prompt = |event: &spool::Event| event.event == "UserPromptSubmit" && is_its_own(event);
    let prompts = events.into_iter().filter(|read| is_prompt(&read.event));
    prompts.filter_map(|read| serde_json::from_str(read.event.input.get()).ok()).collect()
}

/// Whether the text went from the composer, into the agent or its queue.
fn has_left(piece: &Piece, sight: Option<&Sight>) -> bool {
    let Some(sight) = sight.filter(|sight| !sight.dead) else { return false };
    match composer(&sight.screen) {
        Some(composer) => !composer.holds(piece.text()),
        // A command shows something in its place; a prompt may have brought a question by now.
        None => matches!(piece, Piece::Command(_)) || recognise(&plain(&sight.screen)).is_some(),
    }
}

/// What the agent says through its hooks.
struct Heard<'a> {
    state: &'a StateDir,
    place: &'a Place,
    piece: &'a Piece,
    offset: u64,
    /// Whether hooks of this very process have spoken before.
    speaks: bool,
}

impl<'a> Heard<'a> {
    fn until_now(injector: &Injector<'a>, piece: &'a Piece) -> Heard<'a> {
        let (state, place) = (injector.state, injector.place);
        let (events, offset) =
            spool::read(&spool::path(state, place.session.id()), 0, place.session.id(), None, 0)
                .unwrap_or_default();
        let speaks = events.iter().any(|read| {
            read.event
                .chain
                .iter()
                .any(|link| (link.pid, link.start) == (place.process.pid, place.process.start))
        });
        Heard { state, place, piece, offset, speaks }
    }

    fn prompts(&self) -> Vec<serde_json::Value> {
        prompts_since(self.state, &self.place.session, self.offset)
    }

    /// Whether any prompt has been submitted since.
    fn anything(&self) -> bool {
        !self.prompts().is_empty()
    }

    /// Whether this text has been submitted since.
    fn it(&self) -> bool {
        self.prompts().iter().any(|input| is_it(input, self.piece.text()))
    }
}

/// Whether an event is about this text. Agents make spaces of tabs; of a very large prompt the spool keeps nothing.
fn is_it(input: &serde_json::Value, text: &str) -> bool {
    let bare = |text: &str| -> String { text.chars().filter(|c| !c.is_whitespace()).collect() };
    match input["prompt"].as_str() {
        Some(prompt) => bare(prompt) == bare(text),
        // In JSON a character can take six times its length.
        None => input["rekindle_cut"] == true && text.len() > LARGEST_INPUT / 6,
    }
}

#[expect(clippy::disallowed_methods, reason = "a poll interval: nothing tells when a screen changes")]
fn poll() {
    std::thread::sleep(POLL);
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_this_text_is_this_text() {
        assert!(is_it(&json!({"prompt": "a    b\nc"}), "a\tb\nc "));
        assert!(!is_it(&json!({"prompt": "a"}), "a b"));
        let long = "x".repeat(LARGEST_INPUT);
        assert!(is_it(&json!({"rekindle_cut": true}), &long));
        assert!(!is_it(&json!({"rekindle_cut": true}), "short") && !is_it(&json!({}), &long));
    }
}
