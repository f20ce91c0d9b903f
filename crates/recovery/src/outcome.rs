//! How panes ended up: words of the contracts.

use agents::SessionKey;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::decide::Act;
use crate::plan::PaneStep;

/// How a pane ended up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Its conversation goes on, by the agent's own word.
    Resumed,
    /// Its agent runs and has not said a word.
    Unverified,
    /// Mended first, then resumed.
    RepairedResumed,
    /// Put back from the vault first, then resumed.
    VaultResumed,
    /// A new agent that was told what was going on.
    FreshWithContext,
    /// The user decides.
    Offered,
    /// A guard said no.
    Refused,
    /// A shell, as it was.
    Shell,
    /// It was there.
    AlreadyThere,
    /// It could not be done.
    Failed,
}

impl Outcome {
    /// Those with which an agent is back at work.
    pub const BACK: [Outcome; 4] =
        [Outcome::Resumed, Outcome::RepairedResumed, Outcome::VaultResumed, Outcome::FreshWithContext];

    /// What a person reads.
    pub fn word(self) -> &'static str {
        match self {
            Outcome::Resumed => "resumed",
            Outcome::Unverified => "unverified",
            Outcome::RepairedResumed => "repaired, resumed",
            Outcome::VaultResumed => "put back, resumed",
            Outcome::FreshWithContext => "started fresh",
            Outcome::Offered => "waiting in its pane",
            Outcome::Refused => "refused",
            Outcome::Shell => "shell",
            Outcome::AlreadyThere => "already there",
            Outcome::Failed => "failed",
        }
    }

    /// Whether an agent is back at work.
    pub fn is_back(self) -> bool {
        Outcome::BACK.contains(&self)
    }
}

/// What became of the prompt with which an agent goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Continued {
    /// It was submitted, by the agent's own word.
    Submitted,
    /// It was given to the agent, which has not said that it has it.
    Unconfirmed,
    /// It stands in the agent's line, for one Enter of its user's.
    Ready,
}

/// What became of a pane.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Restored {
    /// The saved pane's mark: two lives of a server may have a pane of the same name.
    #[serde(skip)]
    pub mark: String,
    /// `session:window.pane`, where it is now.
    pub pane: String,
    /// The same, as it was saved or planned: its number may have been taken since.
    pub was: String,
    /// The conversation.
    pub session_id: Option<SessionKey>,
    /// How it ended.
    pub outcome: Outcome,
    /// Why.
    pub reason: String,
    /// How long it took until the agent said its word, in milliseconds.
    pub verified_ms: Option<u64>,
    /// When its agent was back, by the agent's own word.
    #[serde(skip)]
    pub back_at: Option<Timestamp>,
    /// The pane it is in now: `%4`.
    pub id: Option<String>,
    /// How it goes on; nothing where its user has the next word.
    pub continued: Option<Continued>,
    /// About how many tokens it was told at its start.
    pub told_tokens: Option<usize>,
}

impl Restored {
    pub(crate) fn of(step: &PaneStep, outcome: Outcome, reason: impl Into<String>) -> Restored {
        Restored {
            mark: step.mark.clone(),
            pane: step.reference.clone(),
            was: step.reference.clone(),
            session_id: step.session.clone(),
            outcome,
            reason: reason.into(),
            verified_ms: None,
            back_at: None,
            id: None,
            continued: None,
            told_tokens: None,
        }
    }

    /// What becomes of a pane for which no agent is started.
    pub fn without_agent(step: &PaneStep) -> Restored {
        let outcome = match step.decision.act {
            Act::Nothing => Outcome::AlreadyThere,
            Act::Refuse => Outcome::Refused,
            Act::Shell => Outcome::Shell,
            _ => Outcome::Offered,
        };
        Restored::of(step, outcome, step.decision.reason.clone())
    }
}
