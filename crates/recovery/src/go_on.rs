//! Going on: the prompt of an agent that is back is submitted, or stands in its line for one Enter.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use agents::SessionKey;
use store::StateDir;
use store::config::Continue;

use crate::act::{Acted, Actor};
use crate::inject::{Injected, is_submitted, place_ready};
use crate::outcome::Continued;

/// Which agents that come back go on by themselves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GoingOn {
    /// None: there is no prompt.
    None,
    /// None, but the prompt stands ready for one Enter where a turn was cut off.
    Ask,
    /// Those whose turn was cut off. One whose turn had ended waits for its user, as it did before.
    CutOff,
    /// All of them: their user has said so.
    All,
}

impl From<Continue> for GoingOn {
    fn from(chosen: Continue) -> GoingOn {
        match chosen {
            Continue::Never => GoingOn::None,
            Continue::Ask => GoingOn::Ask,
            Continue::Always => GoingOn::CutOff,
        }
    }
}

impl GoingOn {
    /// Whether prompts are submitted.
    pub fn submits(self) -> bool {
        matches!(self, GoingOn::CutOff | GoingOn::All)
    }

    /// Whether there is a prompt for an agent. `is_due` says that it has something to go on with.
    pub(crate) fn prompts(self, is_due: bool) -> bool {
        match self {
            GoingOn::None => false,
            GoingOn::Ask | GoingOn::CutOff => is_due,
            GoingOn::All => true,
        }
    }
}

/// The prompt of an agent that is back.
#[derive(Debug, Clone)]
pub(crate) struct Prompt {
    /// The mark of its pane.
    pub(crate) mark: String,
    /// The conversation that it is in now.
    pub(crate) session: SessionKey,
    pub(crate) socket: PathBuf,
    pub(crate) pane: String,
    pub(crate) text: String,
    /// How much of its spool is older than its start.
    pub(crate) offset: u64,
}

/// An agent submits the prompt of its start within a second of its SessionStart; a loaded machine takes several.
const SUBMIT_DEADLINE: Duration = Duration::from_secs(20);

const POLL: Duration = Duration::from_millis(50);

/// What became of a prompt: how its agent goes on, else why it does not.
type Gone = Result<Continued, String>;

impl Actor<'_> {
    /// Lets those that are back go on, so many at a time.
    pub(crate) fn go_on(&self, acted: &mut Acted) {
        let prompts = acted.take_prompts();
        let (state, go_on) = (self.state, self.go_on);
        let mut done: Vec<(String, Gone)> = Vec::new();
        for some in prompts.chunks(self.max_parallel.max(1)) {
            let gone = std::thread::scope(|scope| {
                let ways: Vec<_> =
                    some.iter().map(|prompt| scope.spawn(move || prompt.go(state, go_on))).collect();
                ways.into_iter()
                    .map(|way| way.join().unwrap_or_else(|_| Err("rekindle failed".to_owned())))
                    .collect::<Vec<Gone>>()
            });
            done.extend(some.iter().map(|prompt| prompt.mark.clone()).zip(gone));
        }
        for (mark, gone) in done {
            let Some(pane) = acted.panes.iter_mut().find(|pane| pane.mark == mark) else { continue };
            match gone {
                Ok(continued) => pane.continued = Some(continued),
                Err(why) => pane.reason = format!("{}; no prompt was placed: {why}", pane.reason),
            }
        }
    }
}

impl Prompt {
    fn go(&self, state: &StateDir, go_on: GoingOn) -> Gone {
        if go_on.submits() {
            let start = Instant::now();
            while start.elapsed() < SUBMIT_DEADLINE {
                if is_submitted(state, &self.session, self.offset, &self.text) {
                    return Ok(Continued::Submitted);
                }
                poll();
            }
            return Ok(Continued::Unconfirmed);
        }
        match place_ready(state, &self.session, &self.socket, &self.pane, &self.text) {
            Ok(Injected::Unconfirmed { why }) => Err(why.to_owned()),
            Ok(_) => Ok(Continued::Ready),
            Err(error) => Err(error.to_string()),
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "a poll interval: the agent's word is a line in a file")]
fn poll() {
    std::thread::sleep(POLL);
}
