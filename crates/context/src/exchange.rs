//! What was said and done between one prompt and the next.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use transcript::is_own_prompt;

use crate::clean::clean;
use crate::cut::beginning;
use crate::when::local;

/// Where an exchange was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// The agent's own file.
    Transcript,
    /// What its terminal showed.
    Screen,
}

/// A prompt, and what the agent said and did until the next one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exchange {
    /// When it began.
    pub at: Option<Timestamp>,
    /// The user's words; nothing where the beginning is not there.
    pub prompt: Option<String>,
    /// What followed, in order.
    pub steps: Vec<Step>,
    /// Where it was read.
    pub origin: Origin,
}

/// One thing that followed a prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// The agent spoke.
    Said(String),
    /// The agent used a tool.
    Did(ToolCall),
    /// A compaction left this of everything before.
    Summary(String),
    /// The user ran a command in a shell of the agent's.
    Ran(String),
    /// The user broke the turn off.
    Stopped,
}

/// A tool that was used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolCall {
    /// Its name; empty where the screen does not say.
    pub tool: String,
    /// The file, command or whatever else it concerned.
    pub about: String,
    /// What came of it.
    pub outcome: Outcome,
}

/// What came of a tool's use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// It answered.
    Done(String),
    /// It answered that it failed.
    Failed(String),
    /// It never answered.
    Open,
}

/// A result is there to tell what happened; all of it can be had again.
const RESULT_LINES: usize = 8;
const RESULT_CHARACTERS: usize = 600;

/// What is kept of a result: enough that a secret at its cut is known by what stands around it.
pub(crate) const RESULT_LOOKED_AT: usize = 16 << 10;

/// A tool's input may be a whole program.
const ABOUT_LINES: usize = 20;
const ABOUT_CHARACTERS: usize = 2_000;

impl Exchange {
    /// Whether the agent said something in it.
    pub fn has_reply(&self) -> bool {
        self.steps.iter().any(|step| matches!(step, Step::Said(_)))
    }

    /// Whether its user began it: a prompt of rekindle's own is nobody's task.
    pub fn is_asked_by_user(&self) -> bool {
        self.prompt.as_deref().is_some_and(|prompt| !is_own_prompt(prompt))
    }

    /// The exchange as text, without secrets.
    pub fn text(&self, zone: &TimeZone) -> String {
        let mut text = String::new();
        if let Some(prompt) = &self.prompt {
            let known = match (self.origin, self.at) {
                (Origin::Screen, _) => " (read from the screen)".to_owned(),
                (_, Some(at)) => format!(" ({})", local(at, zone)),
                (_, None) => String::new(),
            };
            // An agent that reads it must not take it for the user's words.
            let who = if self.is_asked_by_user() { "User" } else { "rekindle" };
            entry(&mut text, &format!("{who}{known}"), prompt);
        }
        for step in &self.steps {
            step.write(&mut text);
        }
        clean(text.trim_end())
    }

    /// The prompt alone, as text.
    pub(crate) fn prompt_text(&self, zone: &TimeZone) -> Option<String> {
        let prompt = self.prompt.clone()?;
        Some(Exchange { prompt: Some(prompt), steps: Vec::new(), ..self.clone() }.text(zone))
    }
}

impl Step {
    fn write(&self, text: &mut String) {
        match self {
            Step::Said(said) => entry(text, "Agent", said),
            Step::Summary(summary) => entry(text, "Summary of everything before", summary),
            Step::Ran(command) => entry(text, "User ran", command),
            Step::Stopped => text.push_str("The user broke the turn off here.\n"),
            Step::Did(deed) => {
                entry(text, deed.label().trim_end(), &beginning(&deed.about, ABOUT_LINES, ABOUT_CHARACTERS));
                let excerpt = |result: &str| {
                    let known =
                        result.get(..result.floor_char_boundary(RESULT_LOOKED_AT)).unwrap_or_default();
                    beginning(&clean(known), RESULT_LINES, RESULT_CHARACTERS)
                };
                match &deed.outcome {
                    Outcome::Done(result) if result.trim().is_empty() => {}
                    Outcome::Done(result) => entry(text, "  Result", &excerpt(result)),
                    Outcome::Failed(result) => entry(text, "  Failed", &excerpt(result)),
                    Outcome::Open => text.push_str("  No answer.\n"),
                }
            }
        }
    }
}

impl ToolCall {
    fn label(&self) -> String {
        if self.tool.is_empty() { "Tool".to_owned() } else { format!("Tool {}", self.tool) }
    }

    /// The deed on one line.
    pub fn line(&self) -> String {
        let about = self.about.lines().next().unwrap_or_default().trim();
        match (self.tool.is_empty(), about.is_empty()) {
            (true, _) => about.to_owned(),
            (_, true) => self.tool.clone(),
            _ => format!("{}: {about}", self.tool),
        }
    }
}

/// Who, and what; further lines are indented, so that nothing that was said looks like the next entry.
fn entry(text: &mut String, who: &str, what: &str) {
    let indent = " ".repeat(2 + who.len() - who.trim_start().len());
    text.push_str(who);
    text.push(':');
    for (at, line) in what.trim().lines().enumerate() {
        if at == 0 {
            text.push(' ');
        } else {
            text.push('\n');
            if !line.is_empty() {
                text.push_str(&indent);
            }
        }
        text.push_str(line.trim_end());
    }
    text.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_was_said_looks_like_the_next_entry() {
        let deed =
            |outcome| Step::Did(ToolCall { tool: "Bash".into(), about: "make\nmake test".into(), outcome });
        let exchange = Exchange {
            at: Some(Timestamp::UNIX_EPOCH),
            prompt: Some("do it\nUser: or not".into()),
            steps: vec![
                Step::Said("Yes.\n\n- one\u{1b}[0m".into()),
                deed(Outcome::Done("fine\nTOKEN=ghp_0123456789abcdefghijklmnopqrstuvwxyz".into())),
                deed(Outcome::Failed("no rule".into())),
                deed(Outcome::Open),
                Step::Stopped,
            ],
            origin: Origin::Transcript,
        };
        let expect = "User (1970-01-01 00:00 UTC): do it
  User: or not
Agent: Yes.

  - one
Tool Bash: make
  make test
  Result: fine
    TOKEN=[redacted: github token]
Tool Bash: make
  make test
  Failed: no rule
Tool Bash: make
  make test
  No answer.
The user broke the turn off here.";
        assert_eq!(exchange.text(&TimeZone::UTC), expect);
    }
}
