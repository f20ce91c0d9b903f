//! Talking to agents through their panes.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use super::ledger::Held;
use super::stage::Stage;
use crate::process::wait_until;
use crate::wired::PATIENCE;

/// How long what is typed may take until it is on the screen.
const SHOWN: Duration = Duration::from_secs(3);

/// How long an Enter may take until the API hears of it.
const HEARD: Duration = Duration::from_millis(1500);

/// From start to its first word an agent took 7 s under load.
const BEGUN: Duration = Duration::from_secs(20);

impl Stage {
    /// Waits until the agent of a pane has begun: what is typed before that is lost. Whose hooks do not work is tried anyway.
    fn wait_for_agent(&self, pane: &str) {
        let begun = |record: &Value| record["place"]["pane"] == pane && record["status"] == "active";
        wait_until(BEGUN, || self.lab.records().iter().any(begun));
    }

    /// Says no to a question that stands in the way, as a user would: 2.1.325 offers its other renderer to a home that an
    /// older one has used (measured).
    fn wave_aside(&self, pane: &str) -> Result<()> {
        let asked = || self.lab.screen(pane).contains("Esc to cancel");
        if asked() {
            self.log.say(&format!("{pane} asks: {}", self.lab.screen(pane).trim()));
            self.lab.tmux(&["send-keys", "-t", pane, "Escape"])?;
            wait_until(HEARD, || !asked());
        }
        Ok(())
    }

    /// Types a prompt into a pane and returns what of the conversation reached the API with it.
    pub(super) fn ask(&self, pane: &str, number: u8, words: &str) -> Result<Held> {
        let prompt = format!("ask-{number:02} {words}");
        self.wait_for_agent(pane);
        let heard = || {
            let requests = self.lab.api.requests_with(&prompt);
            requests.into_iter().find(|request| request.main)
        };
        let begin = Instant::now();
        while !self.submit(pane, &prompt, || heard().is_some())? {
            if begin.elapsed() > PATIENCE {
                bail!("nobody hears {prompt:?}: {}", self.lab.screen(pane));
            }
            // Whatever of it is in the line goes first: nothing is ever said twice.
            self.lab.tmux(&["send-keys", "-t", pane, "C-u"])?;
        }
        let request = heard().context("it was heard")?;
        if let Some(refused) = request.refused.first() {
            bail!("the API refuses {prompt:?}: {refused}");
        }
        Held::in_request(&request.messages)
    }

    /// Types a line and presses Enter a few times; whether it was heard. An agent that has just begun loses what is typed, and
    /// 2.1.31 an Enter while it draws a resumed conversation.
    fn submit(&self, pane: &str, line: &str, heard: impl Fn() -> bool) -> Result<bool> {
        self.wave_aside(pane)?;
        self.lab.tmux(&["send-keys", "-t", pane, "-l", "--", line])?;
        // Typed as one burst, text and Enter would count as a paste.
        wait_until(SHOWN, || self.lab.screen(pane).contains(line));
        for _ in 0..3 {
            self.lab.tmux(&["send-keys", "-t", pane, "Enter"])?;
            if wait_until(HEARD, &heard) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// A whole exchange with a talker, until its transcript has it.
    pub(super) fn exchange(&mut self, talker: usize) -> Result<()> {
        let number = self.number()?;
        let Some(with) = self.talkers.get_mut(talker) else { bail!("no talker {talker}") };
        with.begin(number);
        let pane = with.pane.clone();
        self.ask(&pane, number, "please")?;
        let Some(with) = self.talkers.get_mut(talker) else { bail!("no talker {talker}") };
        if !wait_until(PATIENCE, || with.has(number)) {
            bail!("{} never wrote exchange {number}", with.word);
        }
        with.look();
        Ok(())
    }
}
