//! What a round must show in the end: every agent in its own pane with its own conversation, counted at the API, or a
//! refusal with its reason; nothing lost; nothing twice.

use std::collections::BTreeSet;
use std::fmt;
use std::fs;

use anyhow::{Context, Result};
use serde_json::Value;

use super::ledger::{Held, Talker};
use super::saving::Moment;
use super::shape::{PaneShape, Place, differences};
use super::stage::Stage;

/// What became of an agent.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fate {
    /// Its conversation goes on.
    Resumed,
    /// After a repair.
    Repaired,
    /// After it was put back from the vault.
    PutBack,
    /// A fresh agent that was told what is known, since nothing is left to resume.
    Fresh,
    /// It was not resumed, and that was explained.
    Refused(String),
    /// It had died before what was saved last: to be recovered, not restored.
    Left,
    /// None of these.
    Wrong,
}

impl fmt::Display for Fate {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Fate::Resumed => "resumed",
            Fate::Repaired => "repaired",
            Fate::PutBack => "put back",
            Fate::Fresh => "fresh",
            Fate::Refused(_) => "refused",
            Fate::Left => "left",
            Fate::Wrong => "WRONG",
        })
    }
}

/// What must not be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Trouble {
    /// A pane is not what it was, or holds somebody else's conversation.
    Wrong(String),
    /// An exchange that was there is nowhere.
    Lost(String),
    /// Two of what there was one.
    Twice(String),
}

impl Stage {
    /// Judges what is there now against a save.
    pub(super) fn judge(&mut self, saved: &Moment) -> Result<(Vec<Fate>, Vec<Trouble>)> {
        let shape = self.lab.shape()?;
        let mut troubles: Vec<Trouble> =
            differences(&saved.shape, &shape).into_iter().map(Trouble::Wrong).collect();
        let seats = self.seats(saved, &shape);
        troubles.extend(self.strays(&seats));
        let numbers = seats.iter().map(|_| self.number()).collect::<Result<Vec<u8>>>()?;
        let answers: Vec<Option<Result<Held>>> = std::thread::scope(|scope| {
            let asked: Vec<_> = seats
                .iter()
                .zip(&numbers)
                .map(|(seat, number)| {
                    let pane = seat.as_ref().map(|seat| seat.pane.clone());
                    let stage = &*self;
                    pane.map(|pane| scope.spawn(move || stage.ask(&pane, *number, "which word is mine?")))
                })
                .collect();
            asked.into_iter().map(|thread| thread?.join().ok()).collect()
        });
        let mut fates = Vec::new();
        for ((at, answer), number) in answers.into_iter().enumerate().zip(numbers) {
            let talker = self.talkers[at].clone();
            let (fate, found) = match answer {
                Some(answer) => {
                    self.talkers[at].begin(number);
                    self.heard(&talker, number, answer)
                }
                None => self.unheard(&talker, saved.places[at].is_some()),
            };
            troubles.extend(found);
            troubles.extend(self.lost(&talker));
            fates.push(fate);
        }
        troubles.extend(self.submitted_twice());
        troubles.extend(self.ran());
        for (talker, place) in self.talkers.iter_mut().zip(&saved.places) {
            let pane = shape.iter().find(|pane| Some(&pane.place) == place.as_ref());
            talker.pane = pane.map(|pane| pane.id.clone()).unwrap_or_default();
        }
        self.observe()?;
        for trouble in &troubles {
            self.log.say(&format!("{trouble:?}"));
        }
        Ok((fates, troubles))
    }

    /// Whose agent lives in the pane where it was saved.
    fn seats(&self, saved: &Moment, shape: &[PaneShape]) -> Vec<Option<Seat>> {
        let bodies = self.lab.home.bodies();
        let agents = self.lab.home.agents();
        let seat = |place: &Option<Place>| {
            let pane = shape.iter().find(|pane| Some(&pane.place) == place.as_ref())?;
            let agent = agents.iter().find(|agent| agent.is_in(&bodies, pane.pid))?;
            Some(Seat { pane: pane.id.clone(), pid: agent.pid })
        };
        saved.places.iter().map(seat).collect()
    }

    /// Agents that are in no pane of a talker.
    fn strays(&self, seats: &[Option<Seat>]) -> Vec<Trouble> {
        let seated: BTreeSet<u32> = seats.iter().flatten().map(|seat| seat.pid).collect();
        let agents = self.lab.home.agents().into_iter().filter(|agent| !seated.contains(&agent.pid));
        agents.map(|agent| Trouble::Twice(format!("an agent more than there was: {agent:?}"))).collect()
    }

    /// An agent that lives must have sent its own conversation, all of it, each prompt once, and nothing else.
    fn heard(&self, talker: &Talker, number: u8, answer: Result<Held>) -> (Fate, Vec<Trouble>) {
        let held = match answer {
            Ok(held) => held,
            Err(error) => {
                let why = format!("{} does not answer: {error:#}", talker.word);
                return (Fate::Wrong, vec![Trouble::Wrong(why)]);
            }
        };
        let mut troubles = Vec::new();
        let strange: BTreeSet<u8> =
            held.numbers().into_iter().filter(|n| *n != number && !talker.own().contains(n)).collect();
        if !strange.is_empty() {
            troubles.push(Trouble::Wrong(format!("{} knows exchanges of others: {strange:?}", talker.word)));
        }
        let missing: BTreeSet<u8> = talker.owed().into_iter().filter(|number| !held.has(*number)).collect();
        if !missing.is_empty() {
            troubles.push(Trouble::Wrong(format!("{} does not know exchanges {missing:?}", talker.word)));
        }
        if !held.doubled().is_empty() {
            troubles.push(Trouble::Twice(format!(
                "{} knows prompts twice: {:?}",
                talker.word,
                held.doubled()
            )));
        }
        let told = self.told(&talker.session);
        let said = |word: &str| told.iter().any(|(outcome, _)| outcome == word);
        let fate = match () {
            () if !troubles.is_empty() => Fate::Wrong,
            () if said("fresh_with_context") => Fate::Fresh,
            () if said("vault_resumed") => Fate::PutBack,
            () if said("repaired_resumed") => Fate::Repaired,
            () => Fate::Resumed,
        };
        (fate, troubles)
    }

    /// An agent that does not live must have been refused for a reason, and the round must know that there is one.
    fn unheard(&self, talker: &Talker, saved: bool) -> (Fate, Vec<Trouble>) {
        let told = self.told(&talker.session);
        if !saved && self.lab.record(&talker.session).is_some_and(|record| record["status"] == "crashed") {
            return (Fate::Left, Vec::new());
        }
        match told.first() {
            Some((outcome, reason)) if self.excuses.contains(&talker.session) && !reason.is_empty() => {
                (Fate::Refused(format!("{}: {reason}", outcome.replace('_', " "))), Vec::new())
            }
            _ => {
                let why = format!("{} has no agent in its pane, and needs one: {told:?}", talker.word);
                (Fate::Wrong, vec![Trouble::Wrong(why)])
            }
        }
    }

    /// What was whole before must be in the transcript or in the vault.
    fn lost(&self, talker: &Talker) -> Option<Trouble> {
        let missing = |bytes: &[u8]| -> BTreeSet<u8> {
            let held = Held::in_rows(bytes);
            talker.owed().into_iter().filter(|number| !held.has(*number)).collect()
        };
        let gone = missing(&fs::read(&talker.transcript).unwrap_or_default());
        if gone.is_empty() {
            return None;
        }
        let kept = self.in_vault(&talker.session).unwrap_or_default();
        let lost: BTreeSet<u8> = missing(&kept).intersection(&gone).copied().collect();
        (!lost.is_empty())
            .then(|| Trouble::Lost(format!("exchanges {lost:?} of {} are nowhere", talker.word)))
    }

    /// What the vault has of a conversation.
    pub(super) fn in_vault(&self, session: &str) -> Result<Vec<u8>> {
        let file = self.lab.home.root().join(format!("from-vault-{session}.jsonl"));
        let _ = fs::remove_file(&file);
        let path = file.to_string_lossy();
        self.lab.home.rekindle(&["vault", "restore", session, "--to", &path])?;
        fs::read(&file).context("the vault does not have it")
    }

    /// Prompts that reached the API more than once as the newest one.
    fn submitted_twice(&self) -> Vec<Trouble> {
        let newest = |messages: &str| -> Option<u8> {
            let messages: Vec<Value> = serde_json::from_str(messages).ok()?;
            let answered = messages.iter().rposition(|message| message["role"] == "assistant");
            let since = messages[answered.map_or(0, |at| at + 1)..].to_vec();
            Held::in_request(&Value::from(since).to_string()).ok()?.asks.last().copied()
        };
        let requests = self.lab.api.requests_with("ask-").into_iter().filter(|request| request.main);
        let asked: Vec<u8> = requests.filter_map(|request| newest(&request.messages)).collect();
        let twice: BTreeSet<u8> = asked
            .iter()
            .filter(|number| asked.iter().filter(|other| other == number).count() > 1)
            .copied()
            .collect();
        let twice =
            twice.into_iter().map(|number| Trouble::Twice(format!("prompt {number} was submitted twice")));
        twice.collect()
    }

    /// Nothing in a name or a path may run.
    fn ran(&self) -> Option<Trouble> {
        let root = self.lab.home.root();
        let found = crate::tree::look(root).ok()?.into_keys().find(|path| path.ends_with("chaos-ran"));
        found.map(|path| Trouble::Wrong(format!("a name was run: {}", path.display())))
    }
}

/// A talker's agent in its pane.
struct Seat {
    pane: String,
    pid: u32,
}

#[cfg(test)]
mod tests;
