//! Conversations with the real agent: held turn by turn, and recalled.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Result, bail};
use uuid::Uuid;

use crate::agent::Agent;
use crate::api::{Api, Settings};
use crate::home::{Home, KEY};
use crate::process::{self, Finished};

/// A turn takes two seconds; on a loaded machine a cold start of the agent took seven.
const TURN_DEADLINE: Duration = Duration::from_secs(90);

/// A throwaway home with an agent and the API it talks to.
#[derive(Debug)]
pub struct Lab {
    /// The home.
    pub home: Home,
    /// The API.
    pub api: Api,
    /// The agent.
    pub agent: Agent,
}

/// A conversation that cases start from. Each is held by the agent under test itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Story {
    /// Eight turns; the third and the sixth run a tool.
    Plain,
    /// Three turns; in the second one reply calls two tools at once.
    Parallel,
    /// Four turns, a compaction, and two turns after it.
    Compacted,
}

impl Story {
    fn prompts(self) -> Vec<String> {
        let plain = |turn: u8| format!("ask-{turn:02} please");
        match self {
            Story::Plain => (0..8)
                .map(|turn| {
                    if turn % 3 == 2 {
                        format!("ask-{turn:02} RUNTOOL echo tool-{turn:02}")
                    } else {
                        plain(turn)
                    }
                })
                .collect(),
            Story::Parallel => {
                vec![plain(0), "ask-01 PARALLEL echo tool-one ;; echo tool-two".to_owned(), plain(2)]
            }
            Story::Compacted => {
                let before = (0..4).map(plain);
                before.chain(["/compact".to_owned()]).chain((4..6).map(plain)).collect()
            }
        }
    }
}

/// How much of a conversation a resume sent to the API.
#[derive(Debug, Clone, Default)]
pub struct Recall {
    /// Whether the agent resumed and the API answered.
    pub ok: bool,
    /// Why not, in the API's words or the agent's.
    pub why: String,
    /// The turns whose prompt was sent.
    pub asks: BTreeSet<u8>,
    /// The turns whose reply was sent.
    pub replies: BTreeSet<u8>,
    /// The messages as they were sent, as JSON.
    pub text: String,
    /// The words of the turn that asked: a later resume must know them.
    pub probe: String,
}

/// How a conversation went.
enum Held {
    /// All of it is in its transcript.
    Whole { session: String },
    /// The agent ended before it wrote this prompt.
    Unwritten { at: String },
}

/// One more was enough wherever that was seen.
const ATTEMPTS: usize = 4;

impl Lab {
    /// A new lab with the agent of this version.
    pub fn new(version: &str) -> Result<Lab> {
        Lab::with(version, Settings::default())
    }

    /// A new lab whose API behaves as told.
    pub fn with(version: &str, settings: Settings) -> Result<Lab> {
        let agent = Agent::install(version)?;
        let home = Home::new()?;
        let api = Api::start(&home.root().join("requests.jsonl"), settings)?;
        home.script("claude", &format!("exec {} \"$@\"", agent.shell_words()))?;
        Ok(Lab { home, api, agent })
    }

    /// The environment of an agent in this lab.
    pub fn env(&self) -> Vec<(String, String)> {
        let mut env = self.home.env();
        env.push(("ANTHROPIC_BASE_URL".to_owned(), self.api.url()));
        env.push(("ANTHROPIC_API_KEY".to_owned(), KEY.to_owned()));
        env
    }

    /// A command that starts the agent in this lab.
    pub fn claude(&self) -> Command {
        let mut command = self.home.adopt(self.agent.command());
        command.env_clear().envs(self.env());
        command
    }

    /// Starts one print-mode turn and waits for it.
    pub fn turn(&self, start: [&str; 2], prompt: &str, folder: &Path) -> Result<Finished> {
        let mut command = self.claude();
        command.args(start).args(["-p", prompt, "--output-format", "json"]).current_dir(folder);
        process::run(&mut command, TURN_DEADLINE)
    }

    /// Holds a conversation and returns its session. 2.1.31 on a busy machine may end before it has written its rows
    /// (measured): then another one is begun.
    pub fn converse(&self, story: Story) -> Result<String> {
        let mut why = String::new();
        for _ in 0..ATTEMPTS {
            match self.held(story)? {
                Held::Whole { session } => return Ok(session),
                Held::Unwritten { at } => why = at,
            }
        }
        bail!("agent {} has {ATTEMPTS} times ended before it wrote {why:?}", self.agent.version)
    }

    fn held(&self, story: Story) -> Result<Held> {
        let session = Uuid::new_v4().to_string();
        let mut start = "--session-id";
        for prompt in story.prompts() {
            let done = self.turn([start, &session], &prompt, &self.home.project())?;
            if !done.success() {
                let said = done.words();
                bail!(
                    "agent {} could not hold the base conversation at {prompt:?}: {said}",
                    self.agent.version
                );
            }
            let rows = std::fs::read_to_string(self.home.transcript(&session)).unwrap_or_default();
            let is_written =
                prompt.starts_with('/') || rows.contains(prompt.split(' ').next().unwrap_or(&prompt));
            if !is_written {
                return Ok(Held::Unwritten { at: prompt });
            }
            start = "--resume";
        }
        Ok(Held::Whole { session })
    }

    /// Resumes a session in the project and tells what reached the API.
    pub fn recall(&self, session: &str) -> Result<Recall> {
        self.recall_in(session, &self.home.project())
    }

    /// Resumes a session in a folder and tells what reached the API.
    pub fn recall_in(&self, session: &str, folder: &Path) -> Result<Recall> {
        let probe = format!("probe-{}", Uuid::new_v4().simple());
        let done = self.turn(["--resume", session], &probe, folder)?;
        if done.status.is_none() {
            let why = format!("no answer in {} s", TURN_DEADLINE.as_secs());
            return Ok(Recall { why, ..Recall::default() });
        }
        let sent = self.api.requests_with(&probe).into_iter().find(|request| request.main);
        let Some(sent) = sent else {
            return Ok(Recall { why: done.words(), ..Recall::default() });
        };
        let ok = done.success();
        let why = match sent.refused.first() {
            _ if ok => String::new(),
            Some(words) => words.clone(),
            None => done.words(),
        };
        let (asks, replies) = (numbers(&sent.messages, "ask-"), numbers(&sent.messages, "reply-"));
        Ok(Recall { ok, why, asks, replies, text: sent.messages, probe })
    }
}

/// The two-digit numbers that follow a word.
fn numbers(text: &str, word: &str) -> BTreeSet<u8> {
    let starts = text.match_indices(word).map(|(at, word)| at + word.len());
    starts.filter_map(|at| text.get(at..at + 2)?.parse().ok()).collect()
}
