//! One start of an agent among several, and what came of those before it.

use std::time::Instant;

use store::config::ResumeFallback;
use store::launch::Ended;

use super::Actor;
use super::retry_policy::{self, Fault};
use crate::decide::Act;
use crate::facts;
use crate::outcome::{Outcome, Restored};
use crate::plan::PaneStep;

/// A start that is to be made.
#[derive(Debug, Clone)]
pub(super) struct Attempt<'p> {
    pub(super) step: &'p PaneStep,
    pub(super) act: Act,
    /// What failed before.
    before: Vec<Failed>,
    /// When it is time.
    not_before: Option<Instant>,
}

/// A start that failed.
#[derive(Debug, Clone)]
struct Failed {
    act: Act,
    /// What had been done to the transcript before it.
    how: Outcome,
    nonce: String,
    fault: Fault,
    why: String,
}

/// What follows a start that failed.
pub(super) enum Next<'p> {
    /// Another one.
    Start(Attempt<'p>),
    /// Nothing: this is what became of the pane.
    GivenUp(Restored),
}

impl<'p> Attempt<'p> {
    /// What the plan says.
    pub(super) fn first(step: &'p PaneStep) -> Attempt<'p> {
        Attempt { step, act: step.decision.act, before: Vec::new(), not_before: None }
    }

    /// Whether it is not yet time.
    pub(super) fn is_early(&self) -> bool {
        self.not_before.is_some_and(|at| Instant::now() < at)
    }

    /// The mark of the start before, which still has the pane.
    pub(super) fn replaces(&self) -> Option<&str> {
        self.before.last().map(|failed| failed.nonce.as_str())
    }

    /// What has been done to the transcript, where this start does no more to it.
    pub(super) fn healed(&self, how: Outcome) -> Outcome {
        let healed =
            |failed: &&Failed| [Outcome::RepairedResumed, Outcome::VaultResumed].contains(&failed.how);
        match how {
            Outcome::Resumed => self.before.iter().rev().find(healed).map_or(how, |failed| failed.how),
            _ => how,
        }
    }

    /// The same attempt, failed.
    pub(super) fn fails(&self, how: Outcome, nonce: &str, ended: Ended, said: &str) -> Attempt<'p> {
        let word = match ended {
            Ended::Code(code) => format!("with code {code}"),
            Ended::Signal(signal) => format!("by signal {signal}"),
            Ended::NotStarted => "before it began: the program cannot be started".to_owned(),
        };
        let why = format!("its agent ended {word}{said}");
        let failed =
            Failed { act: self.act, how, nonce: nonce.to_owned(), fault: Fault::of(ended, said), why };
        let before = self.before.iter().cloned().chain([failed]).collect();
        Attempt { before, ..self.clone() }
    }

    /// A reason, with what failed before.
    pub(super) fn with_what_failed(&self, reason: String) -> String {
        match self.before.last() {
            Some(failed) => format!("{reason}; before that {}", failed.why),
            None => reason,
        }
    }

    /// What is said where nothing more is tried.
    fn gives_up(&self) -> String {
        let why = self.before.last().map(|failed| failed.why.clone()).unwrap_or_default();
        match self.before.len() {
            0 | 1 => why,
            times => format!("{why}; tried {times} times"),
        }
    }
}

impl Actor<'_> {
    /// The start that follows one that failed, else what became of the pane.
    pub(super) fn next<'p>(&self, failed: Attempt<'p>, fallback: ResumeFallback) -> Next<'p> {
        let tried: Vec<Act> = failed.before.iter().map(|failed| failed.act).collect();
        let fault = failed.before.last().map_or(Fault::Final, |failed| failed.fault);
        let next = failed.step.session.as_ref().and_then(|session| {
            let survey = self.repairer.survey().ok();
            let record = self.records.get(session);
            let (_, now, _) = facts::transcript(self.repairer, survey.as_ref(), session, record);
            retry_policy::next(&tried, fault, now, fallback, self.tries)
        });
        match next {
            Some((act, pause)) => {
                Next::Start(Attempt { act, not_before: Instant::now().checked_add(pause), ..failed })
            }
            None => {
                let shell = fallback == ResumeFallback::Shell && fault != Fault::Final;
                let outcome = if shell { Outcome::Shell } else { Outcome::Failed };
                Next::GivenUp(Restored::of(failed.step, outcome, failed.gives_up()))
            }
        }
    }
}
