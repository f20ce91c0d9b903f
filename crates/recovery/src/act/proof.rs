//! Proof of a start: the agent's own word, else its registry, else nothing. Then the conversation is counted.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use agents::claude::composer::composer;
use agents::claude::launch::{Answer, NONCE, recognise};
use agents::claude::process::Processes;
use agents::claude::registry::{self, Registered};
use agents::claude::{ConfigDir, Owners, are_two_accounts};
use jiff::Timestamp;
use store::launch::Ended;
use store::record::SessionRecord;
use store::spool;

use super::retry_policy::NOT_FOUND;
use super::start::Started;
use super::{Actor, TMUX_DEADLINE};
use crate::decide::Act;
use crate::known_accounts::KnownAccount;
use crate::outcome::{Outcome, Restored};

/// What can be said of a start by now.
pub(super) enum Judgement {
    /// Nothing yet.
    Waiting,
    /// The agent ended before it said a word.
    Failed {
        /// How.
        ended: Ended,
        /// What its pane says about it.
        said: String,
    },
    /// What became of it.
    Done(Restored),
}

/// From start to its own word an agent took 0.8 to 2.1 s, 7 s once under load (measured); old and large ones longer.
const PROOF_DEADLINE: Duration = Duration::from_secs(60);

/// An agent that says nothing for so long may have its hooks turned off, or ask something.
const SILENCE: Duration = Duration::from_secs(5);

/// How often a silent agent is looked at.
const PAUSE: Duration = Duration::from_secs(1);

impl Actor<'_> {
    /// Looks once whether an agent has said its word.
    pub(super) fn judge(&self, socket: &Path, started: &mut Started<'_>) -> Judgement {
        let judged = self.look(socket, started);
        if let Judgement::Done(_) = judged {
            started.launch.forget();
        }
        judged
    }

    fn look(&self, socket: &Path, started: &mut Started<'_>) -> Judgement {
        if let Some(proven) = started.proven.take() {
            return attend(socket, started, proven);
        }
        let spoken = self.has_spoken(started);
        let done = |started: &Started<'_>, outcome, why: String| {
            let id = Some(started.pane.clone());
            let why = started.told_whole(why);
            let session_id = Some(started.session.clone());
            Judgement::Done(Restored { id, session_id, ..Restored::of(started.step(), outcome, why) })
        };
        match spoken {
            Some(Spoken { at, another_account: None }) => {
                return self.proven(started, "the agent", Some(at));
            }
            Some(Spoken { another_account: Some(other), .. }) => {
                let why = format!(
                    "its agent started with another account, {}: end it in its pane, then `rekindle recover {}`",
                    other.display(),
                    started.session.short()
                );
                return done(started, Outcome::Unverified, why);
            }
            None => {}
        }
        if let Some(ended) = started.launch.ended() {
            return Judgement::Failed { ended, said: last_words(socket, &started.pane) };
        }
        if started.since.elapsed() < SILENCE || started.looked.elapsed() < PAUSE {
            return Judgement::Waiting;
        }
        started.looked = Instant::now();
        if let Some(entry) = self.registered(socket, started) {
            let by = "the agent's registry";
            return self.proven(started, by, entry.status_updated_at);
        }
        let screen = tmux::screen(socket, &started.pane, TMUX_DEADLINE).unwrap_or_default();
        let late = started.since.elapsed() > PROOF_DEADLINE;
        if !late && answered(socket, &started.pane, &screen) {
            return Judgement::Waiting;
        }
        if recognise(&screen).is_some() {
            let why = "its agent asks its user something first: answer it in the pane".to_owned();
            return done(started, Outcome::Unverified, why);
        }
        if late {
            let why = "its agent runs and has said nothing: look at the pane".to_owned();
            return done(started, Outcome::Unverified, why);
        }
        Judgement::Waiting
    }

    /// Looks once more at those that are back: each conversation has one agent. Who started by hand meanwhile, or by another
    /// program, is not ended; its user is told.
    pub(super) fn count_agents(&self, panes: &mut [Restored]) {
        if !panes.iter().any(|pane| pane.outcome.is_back()) {
            return;
        }
        let owners = Owners::look(&self.repairer.configs);
        for pane in panes.iter_mut().filter(|pane| pane.outcome.is_back()) {
            let Some(session) = &pane.session_id else { continue };
            let account = self.records.get(session).and_then(SessionRecord::config_dir).map(ConfigDir::new);
            let agents = owners.agents_in(session.id(), account.as_ref());
            if agents.len() > 1 {
                let pids: Vec<String> = agents.iter().map(ToString::to_string).collect();
                pane.outcome = Outcome::Unverified;
                pane.reason = format!(
                    "several agents are in its conversation, processes {}: end all but one",
                    pids.join(", ")
                );
            }
        }
    }

    /// The SessionStart event of this conversation with the nonce of our launch.
    fn has_spoken(&self, started: &Started<'_>) -> Option<Spoken> {
        let path = spool::path(self.state, started.session.id());
        if std::fs::metadata(&path).map_or(0, |meta| meta.len()) <= started.offset {
            return None;
        }
        let heard = spool::read(&path, started.offset, started.session.id(), None, 0)
            .map(|(events, _)| events)
            .unwrap_or_default();
        let nonce = |(name, value): &(String, String)| name == NONCE && *value == started.nonce;
        let ours = heard.iter().map(|read| &read.event).find(|event| {
            event.event == "SessionStart"
                && event.launch.as_ref().is_some_and(|launch| launch.env.iter().any(nonce))
        });
        let expected = started.account.as_ref().map(KnownAccount::dir);
        ours.map(|event| {
            let is_another = |config: &PathBuf| expected.is_some_and(|own| are_two_accounts(config, own));
            Spoken { at: event.at, another_account: event.config_dir().filter(is_another) }
        })
    }

    /// What a live process below the pane's own, in this conversation, says in the agent's registry: hooks can be off.
    fn registered(&self, socket: &Path, started: &Started<'_>) -> Option<Registered> {
        let processes = Processes::look();
        let own = tmux::pane_pid(socket, &started.pane, TMUX_DEADLINE)?;
        let below = |pid: u32| {
            let parent = |pid: &u32| processes.get(*pid).map(|process| process.parent);
            // The table is not of one moment, so a chain could in theory close.
            std::iter::successors(Some(pid), parent).take(64).any(|above| above == own)
        };
        let entries =
            self.repairer.configs.iter().flat_map(|config| {
                registry::read(config).entries.into_iter().map(move |entry| (config, entry))
            });
        let found = entries
            .filter(|(_, entry)| entry.session == started.session.id().as_str())
            .find(|(config, entry)| entry.alive(config, &processes) == Some(true) && below(entry.pid));
        found.map(|(_, entry)| entry)
    }

    /// The agent is there since `at`, in milliseconds since 1970. What it remembers is counted: a resume has emptied
    /// transcripts before (cc#79298).
    fn proven(&self, started: &mut Started<'_>, by: &str, at: Option<i64>) -> Judgement {
        let took = u64::try_from(started.since.elapsed().as_millis()).unwrap_or(u64::MAX);
        let mut outcome = started.how;
        let decision = &started.step().decision;
        let mut why = format!("confirmed by {by}");
        // What was done to bring it back is told, too.
        if decision.act != Act::Resume {
            why = format!("{why}; {}", decision.reason);
        }
        if let Some(before) = started.remembered {
            let after = self.remembered(&started.session).unwrap_or_default();
            if after < before {
                outcome = Outcome::Unverified;
                why = format!(
                    "its agent is there, and reads back {after} rows where it read {before}: \
                     rekindle vault restore {} puts them back",
                    started.session.short()
                );
            }
        }
        let restored = Restored {
            verified_ms: Some(took),
            back_at: at.and_then(|ms| Timestamp::from_millisecond(ms).ok()),
            id: Some(started.pane.clone()),
            session_id: Some(started.session.clone()),
            told_tokens: Some(started.told_tokens).filter(|tokens| *tokens > 0),
            ..Restored::of(started.step(), outcome, started.told_whole(why))
        };
        if !started.may_ask {
            return Judgement::Done(restored);
        }
        started.looked = Instant::now();
        started.proven = Some(Proven { restored, since: Instant::now(), composers: 0 });
        Judgement::Waiting
    }
}

/// An agent's own word that it has started.
struct Spoken {
    /// When, in milliseconds since 1970.
    at: i64,
    /// Its configuration directory, where that is another account's: the same id means another conversation there.
    another_account: Option<PathBuf>,
}

/// An agent that is back, and that may still ask how: its word comes before that question (measured on 2.1.325).
pub(super) struct Proven {
    restored: Restored,
    since: Instant,
    /// How often in a row its composer was seen.
    composers: u32,
}

/// So long an agent that is back is looked at for its question.
const QUESTION_DEADLINE: Duration = Duration::from_secs(15);

/// How often, and how often its composer must be there in a row: the question comes a moment after it.
const QUESTION_PAUSE: Duration = Duration::from_millis(400);
const COMPOSERS: u32 = 3;

fn attend(socket: &Path, started: &mut Started<'_>, mut proven: Proven) -> Judgement {
    if started.looked.elapsed() >= QUESTION_PAUSE {
        started.looked = Instant::now();
        let screen = tmux::screen(socket, &started.pane, TMUX_DEADLINE).unwrap_or_default();
        let answered = answered(socket, &started.pane, &screen);
        // Any other question is its user's.
        let other = !answered && recognise(&screen).is_some();
        proven.composers = if composer(&screen).is_some() { proven.composers + 1 } else { 0 };
        if other || proven.composers >= COMPOSERS || proven.since.elapsed() > QUESTION_DEADLINE {
            return Judgement::Done(proven.restored);
        }
    }
    started.proven = Some(proven);
    Judgement::Waiting
}

/// Presses the key that answers the agent's own question about resuming, where it stands.
fn answered(socket: &Path, pane: &str, screen: &str) -> bool {
    let Some(step) = Answer::toward(screen) else { return false };
    let key = match step {
        Answer::Up => "Up",
        Answer::Down => "Down",
        Answer::Enter => "Enter",
    };
    // A key that did not arrive is pressed again at the next look.
    let _ = tmux::press(socket, pane, key, TMUX_DEADLINE);
    true
}

/// What a pane says about a failure, for a message.
fn last_words(socket: &Path, pane: &str) -> String {
    let screen = tmux::screen(socket, pane, TMUX_DEADLINE).unwrap_or_default();
    let told = |line: &&str| line.contains("rror") || line.contains(NOT_FOUND);
    let said = screen.lines().map(str::trim).find(told);
    said.map(|line| format!(": {}", redact::redact(line))).unwrap_or_default()
}
