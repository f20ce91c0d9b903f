//! Who said what in a round: every exchange has a number that no other conversation of the round has.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};
use serde_json::Value;

/// One conversation of a round.
#[derive(Debug, Clone)]
pub(super) struct Talker {
    /// The word that only it knows.
    pub(super) word: String,
    /// Its session.
    pub(super) session: String,
    /// Its transcript.
    pub(super) transcript: PathBuf,
    /// Its pane on the server of now.
    pub(super) pane: String,
    /// Whether it was typed into a shell, which outlives it; else its pane goes with it.
    pub(super) typed: bool,
    /// Its exchanges, the oldest first.
    pub(super) exchanges: Vec<Exchange>,
}

/// A prompt and its answer.
#[derive(Debug, Clone)]
pub(super) struct Exchange {
    /// `ask-NN` and `reply-NN`.
    pub(super) number: u8,
    /// Whether both were in the transcript before anything went wrong.
    pub(super) complete: bool,
    /// Whether the round itself destroyed every copy of it.
    pub(super) destroyed: bool,
}

/// What a list of messages or rows holds of exchanges.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Held {
    /// The prompts, one entry for each time it stands there.
    pub(super) asks: Vec<u8>,
    /// The answers.
    pub(super) replies: BTreeSet<u8>,
}

impl Talker {
    /// The numbers of exchanges that must come back.
    pub(super) fn owed(&self) -> BTreeSet<u8> {
        let owed = self.exchanges.iter().filter(|exchange| exchange.complete && !exchange.destroyed);
        owed.map(|exchange| exchange.number).collect()
    }

    /// The numbers of everything that was ever said in it.
    pub(super) fn own(&self) -> BTreeSet<u8> {
        self.exchanges.iter().map(|exchange| exchange.number).collect()
    }

    /// Notes an exchange that begins now.
    pub(super) fn begin(&mut self, number: u8) {
        self.exchanges.push(Exchange { number, complete: false, destroyed: false });
    }

    /// Looks which exchanges are whole in the transcript by now.
    pub(super) fn look(&mut self) {
        let held = Held::in_rows(&fs::read(&self.transcript).unwrap_or_default());
        for exchange in &mut self.exchanges {
            exchange.complete |= held.has(exchange.number);
        }
    }

    /// Whether the transcript has this exchange.
    pub(super) fn has(&self, number: u8) -> bool {
        Held::in_rows(&fs::read(&self.transcript).unwrap_or_default()).has(number)
    }
}

impl Held {
    /// What a transcript's bytes hold; rows that cannot be read hold nothing.
    pub(super) fn in_rows(bytes: &[u8]) -> Held {
        let lines = bytes.split(|byte| *byte == b'\n');
        let rows = lines.filter_map(|line| serde_json::from_slice::<Value>(line).ok());
        Held::of(rows.map(|mut row| row["message"].take()))
    }

    /// What the messages of a request hold.
    pub(super) fn in_request(messages: &str) -> Result<Held> {
        let messages: Vec<Value> = serde_json::from_str(messages).context("the request is no JSON")?;
        Ok(Held::of(messages.into_iter()))
    }

    /// Whether both halves of an exchange are there.
    pub(super) fn has(&self, number: u8) -> bool {
        self.asks.contains(&number) && self.replies.contains(&number)
    }

    /// Every number, of either half.
    pub(super) fn numbers(&self) -> BTreeSet<u8> {
        self.asks.iter().chain(&self.replies).copied().collect()
    }

    /// The prompts that stand there more than once.
    pub(super) fn doubled(&self) -> BTreeSet<u8> {
        let times = |number: &u8| self.asks.iter().filter(|other| *other == number).count();
        self.asks.iter().filter(|number| times(number) > 1).copied().collect()
    }

    fn of(messages: impl Iterator<Item = Value>) -> Held {
        let mut held = Held::default();
        for message in messages {
            let content = &message["content"];
            let texts = content.as_str().into_iter();
            let blocks = content.as_array().into_iter().flatten().filter_map(|block| block["text"].as_str());
            for text in texts.chain(blocks) {
                if message["role"] == "user" {
                    held.asks.extend(number(text, "ask-"));
                } else {
                    held.replies.extend(number(text, "reply-"));
                }
            }
        }
        held
    }
}

/// The number behind a word that begins a text.
fn number(text: &str, word: &str) -> Option<u8> {
    text.trim_start().strip_prefix(word)?.get(..2)?.parse().ok()
}
