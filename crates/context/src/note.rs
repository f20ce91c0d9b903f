//! What a resumed agent is told: its conversation is there, but the world around it went on.

use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::HEADING;
use crate::clean::clean;
use crate::cut::shorten;
use crate::exchange::ToolCall;
use crate::half_done::in_short;
use crate::when::local;

/// How a conversation came back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Returned {
    /// As it was.
    Whole,
    /// After a repair.
    Mended,
    /// From a copy.
    PutBack,
}

/// A conversation that was resumed.
#[derive(Debug, Clone, Copy)]
pub struct Resumed<'a> {
    /// What the agent is called.
    pub name: Option<&'a str>,
    /// The beginning of the conversation's id.
    pub session: &'a str,
    /// What it is about.
    pub task: Option<&'a str>,
    /// Why it had ended, in a word of the contracts.
    pub reason: Option<&'a str>,
    /// How it came back.
    pub returned: Returned,
    /// When it was last heard of.
    pub last_active: Timestamp,
    /// The user's zone.
    pub zone: &'a TimeZone,
    /// What had not answered; nothing where that is not known.
    pub open: Option<&'a [ToolCall]>,
    /// The commands that run on without it, a sentence each.
    pub running: &'a [String],
    /// Whether its last turn had ended; nothing where that is not known.
    pub turn_ended: Option<bool>,
}

/// A note is read with every resume: what was half done takes one line.
const HALF_DONE: usize = 300;

/// A name and a task are a line together.
const NAME: usize = 60;
const TASK: usize = 200;

/// As much for what still runs.
const RUNNING: usize = 500;

impl Resumed<'_> {
    /// The note: a heading and four lines, and one more where a command still runs.
    pub fn note(&self) -> String {
        let conversation = match self.returned {
            Returned::Whole => "This conversation is whole",
            Returned::Mended => "This conversation was damaged and has been mended",
            Returned::PutBack => "This conversation was lost and has been put back from a copy",
        };
        let you = match self.name {
            Some(name) => format!("You are {} (session {}).", shorten(&clean(name), NAME), self.session),
            None => format!("You are session {}.", self.session),
        };
        let task =
            self.task.map(|task| format!(" Task: {}", shorten(&clean(task), TASK))).unwrap_or_default();
        let after = after(self.reason);
        let at = local(self.last_active, self.zone);
        let half_done = self.open.and_then(|open| in_short(open, HALF_DONE));
        let check = match (half_done, self.turn_ended, self.returned) {
            (Some(half_done), ..) => format!("Half done, so check before you repeat it: {half_done}"),
            _ if self.open.is_none() => {
                "rekindle could not read what was half done: check what was done last.".to_owned()
            }
            (None, _, Returned::PutBack) => {
                "Its newest words may be missing: check what was done last.".to_owned()
            }
            (None, Some(false), _) => {
                "Your turn had not ended: check what was done last, then go on.".to_owned()
            }
            (None, Some(true), _) => "Nothing was half done: your turn had ended.".to_owned(),
            (None, None, _) => "No tool was at work when it broke off.".to_owned(),
        };
        let running = match self.running {
            [] => String::new(),
            some => format!("Not all of it: {}.\n", shorten(&clean(&some.join("; ")), RUNNING)),
        };
        format!(
            "{HEADING}\n{you}{task}\n{conversation}; you were restored after {after}.\n\
             Last active: {at}. What you had started since may be gone.\n{running}{check}\n"
        )
    }
}

/// What a session was restored after, by the word for a crash.
pub fn after(reason: Option<&str>) -> &'static str {
    match reason {
        Some("server_exit") => "the terminal's server or the machine had gone down",
        Some("process_died") => "your process had died",
        Some("killed") => "your process had been told to end",
        Some("cleared") => "your process had died right after this conversation was cleared",
        Some("oom") => "the machine had run out of memory",
        Some("shell_instead") => "only a shell was left in your place",
        Some("restored_empty") => "you had been restored without your conversation",
        _ => "your session had broken off",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exchange::Outcome;

    fn resumed<'a>(open: &'a [ToolCall], zone: &'a TimeZone) -> Resumed<'a> {
        Resumed {
            name: Some("shop"),
            session: "1a2b3c4d",
            task: Some("Mend the\ncart"),
            reason: Some("server_exit"),
            returned: Returned::Whole,
            last_active: Timestamp::UNIX_EPOCH,
            zone,
            open: Some(open),
            running: &[],
            turn_ended: Some(true),
        }
    }

    #[test]
    fn four_lines_under_their_heading() {
        let zone = TimeZone::fixed(jiff::tz::offset(2));
        let note = resumed(&[], &zone).note();
        let expect = "RESTORATION CONTEXT
You are shop (session 1a2b3c4d). Task: Mend the cart
This conversation is whole; you were restored after the terminal's server or the machine had gone down.
Last active: 1970-01-01 02:00 +02. What you had started since may be gone.
Nothing was half done: your turn had ended.
";
        assert_eq!(note, expect);
    }

    #[test]
    fn a_command_that_still_runs_has_a_line_of_its_own() {
        let zone = TimeZone::UTC;
        let running = ["process 7 still runs, and you started it: PGPASSWORD=hunter2 psql".to_owned()];
        let note = Resumed { running: &running, ..resumed(&[], &zone) }.note();
        let line = note.lines().nth(4).unwrap();
        assert_eq!(
            line,
            "Not all of it: process 7 still runs, and you started it: PGPASSWORD=[redacted: password] psql."
        );
        assert_eq!(note.lines().count(), 6);
    }

    #[test]
    fn every_case_is_four_lines_and_says_what_to_check() {
        let open = [ToolCall {
            tool: "Bash".into(),
            about: "a && TOKEN=ghp_0123456789abcdefghijklmnopqrstuvwxyz b\nc".into(),
            outcome: Outcome::Open,
        }];
        let long = [ToolCall { tool: "Bash".into(), about: "word ".repeat(500), outcome: Outcome::Open }];
        let zone = TimeZone::UTC;
        for reason in [
            Some("server_exit"),
            Some("process_died"),
            Some("killed"),
            Some("oom"),
            Some("cleared"),
            Some("shell_instead"),
            Some("restored_empty"),
            Some("unknown"),
            None,
        ] {
            for returned in [Returned::Whole, Returned::Mended, Returned::PutBack] {
                for turn_ended in [Some(true), Some(false), None] {
                    for open in [&open[..], &long, &[]] {
                        let note = Resumed { reason, returned, turn_ended, ..resumed(open, &zone) }.note();
                        assert_eq!(note.lines().count(), 5, "{note}");
                        assert!(note.chars().count() < 760 && !note.contains("ghp_"), "{note}");
                    }
                }
            }
        }
        let note = resumed(&open, &zone).note();
        assert!(note.ends_with(
            "\nHalf done, so check before you repeat it: Bash: a && TOKEN=[redacted: github token] b\n"
        ));
        let lost = Resumed { returned: Returned::PutBack, ..resumed(&[], &zone) }.note();
        assert!(
            lost.contains("put back from a copy") && lost.contains("newest words may be missing"),
            "{lost}"
        );
    }
}
