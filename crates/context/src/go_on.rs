//! The prompt with which an agent that came back goes on.

use std::path::Path;

use transcript::{RESUMED, TAKES_OVER};

use crate::HEADING;
use crate::exchange::ToolCall;
use crate::half_done::in_short;

/// The prompt is one paragraph that its user reads before Enter: what was half done takes about two lines of it.
const HALF_DONE: usize = 300;

/// How an agent came back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Back<'a> {
    /// In its own conversation.
    Resumed,
    /// As a fresh agent that was told everything by its hook.
    Fresh,
    /// As a fresh agent that finds everything in this file.
    FreshWithFile(&'a Path),
}

/// What the prompt is made of.
#[derive(Debug, Clone, Copy)]
pub struct GoOn<'a> {
    /// How it came back.
    pub back: Back<'a>,
    /// The tools that had not answered; nothing where that is not known.
    pub open: Option<&'a [ToolCall]>,
    /// Whether its last turn had ended; nothing where that is not known.
    pub turn_ended: Option<bool>,
}

impl GoOn<'_> {
    /// Whether there is something to go on with: a turn was cut off, or a fresh agent takes over.
    pub fn is_due(&self) -> bool {
        self.back != Back::Resumed
            || self.open.is_some_and(|open| !open.is_empty())
            || self.turn_ended == Some(false)
    }

    /// The prompt, without secrets.
    pub fn prompt(&self) -> String {
        let begin = match self.back {
            Back::Resumed => RESUMED.to_owned(),
            Back::Fresh => {
                format!("{TAKES_OVER} The {HEADING} that you were given says what was said and done.")
            }
            Back::FreshWithFile(file) => format!(
                "{TAKES_OVER} Read {} first, all of it: it says what was said and done.",
                file.display()
            ),
        };
        let half_done = self.open.and_then(|open| in_short(open, HALF_DONE));
        let state = match (half_done, self.turn_ended) {
            _ if self.open.is_none() => {
                "rekindle could not read what was half done: check what was done last.".to_owned()
            }
            (Some(half_done), _) => {
                format!("Half done: {half_done}. Check what it left before you repeat it.")
            }
            (None, Some(true)) => "Nothing was half done: the last turn had ended.".to_owned(),
            (None, _) => "No tool was running when it broke off: check what was done last.".to_owned(),
        };
        format!(
            "{begin} {state} Go on with your task from there; if you were waiting for an answer, ask again. \
             Do not apologise for the interruption: just go on."
        )
    }
}

/// What the hook tells a fresh agent whose brief is too long for it.
pub fn in_file(file: &Path) -> String {
    format!(
        "{HEADING}\nYou take over a session that broke off. What was said, what was done and what was left half done is \
         in {}: read all of it before you do anything else.\n",
        file.display()
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exchange::Outcome;

    #[test]
    fn names_what_was_half_done_and_says_to_go_on_without_an_apology() {
        let open = [ToolCall {
            tool: "Bash".into(),
            about: "PGPASSWORD=hunter2hunter make\ntest".into(),
            outcome: Outcome::Open,
        }];
        let resumed = GoOn { back: Back::Resumed, open: Some(&open), turn_ended: Some(false) };
        assert_eq!(
            resumed.prompt(),
            "Your session broke off and has been restored. Half done: Bash: PGPASSWORD=[redacted: password] make. \
             Check what it left before you repeat it. Go on with your task from there; if you were waiting for an answer, \
             ask again. Do not apologise for the interruption: just go on."
        );
        let fresh = GoOn { back: Back::FreshWithFile(Path::new("/s/c.md")), ..resumed };
        assert!(fresh.prompt().starts_with("You take over a session that broke off. Read /s/c.md first,"));
        assert!(transcript::is_own_prompt(&fresh.prompt()));
        assert!(transcript::is_own_prompt(&GoOn { back: Back::Fresh, ..resumed }.prompt()));
        let long = [ToolCall { tool: "Bash".into(), about: "word ".repeat(500), outcome: Outcome::Open }];
        assert!(GoOn { open: Some(&long), ..fresh }.prompt().chars().count() < 700);
        for turn_ended in [Some(true), Some(false), None] {
            let prompt = GoOn { open: Some(&[]), turn_ended, ..resumed }.prompt();
            assert!(transcript::is_own_prompt(&prompt), "{prompt}");
            assert!(!prompt.contains('\n') && prompt.contains("Do not apologise"), "{prompt}");
        }
    }

    #[test]
    fn only_what_was_cut_off_has_something_to_go_on_with() {
        let ended = GoOn { back: Back::Resumed, open: Some(&[]), turn_ended: Some(true) };
        assert!(!ended.is_due());
        assert!(!GoOn { turn_ended: None, ..ended }.is_due(), "nothing is guessed");
        assert!(GoOn { turn_ended: Some(false), ..ended }.is_due());
        assert!(GoOn { back: Back::Fresh, ..ended }.is_due());
    }
}
