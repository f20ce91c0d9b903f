//! What a pane shows that does not know whose it was, and which keys mean something on it. A key is there only where it would
//! work.

use std::path::Path;

use agents::SessionKey;

use super::page::{WIDTH, keys_in_lines};
use crate::output::{one_line, wrap};

/// A conversation that may have been here.
#[derive(Debug, Clone)]
pub(super) struct Candidate {
    pub(super) session: SessionKey,
    pub(super) name: String,
    pub(super) task: String,
    /// When it was last active, in its user's zone.
    pub(super) seen: String,
}

/// What its user answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Answer {
    /// The candidate at this place.
    This(usize),
    Fresh,
    MakeFolder,
    Shell,
}

/// The question.
#[derive(Debug, Clone)]
pub(super) struct Question<'a> {
    pub(super) candidates: &'a [Candidate],
    /// How many older ones there are.
    pub(super) more: usize,
    /// The program that a fresh agent is.
    pub(super) program: &'a str,
    /// The pane's directory, as its user writes it.
    pub(super) place: &'a str,
    /// That directory, where it is gone.
    pub(super) missing: Option<&'a Path>,
    /// What came of the last key.
    pub(super) news: &'a str,
}

impl Question<'_> {
    /// The sentences and candidates, each in lines that fit, and the keys behind them.
    pub(super) fn lines(&self) -> Vec<String> {
        let mut lines = Vec::new();
        let say = |text: &str, lines: &mut Vec<String>| {
            if !text.is_empty() {
                lines.extend(wrap(text, WIDTH).iter().map(|line| format!("  {line}")));
                lines.push(String::new());
            }
        };
        let asks = match self.candidates {
            [] => "no conversation is known to be its own",
            _ => "nothing says which of these was its conversation",
        };
        say(&format!("an agent ran here, in {}: {asks}", self.place), &mut lines);
        if !self.candidates.is_empty() {
            lines.push(row(" ", "id", "last active", "name", "task"));
            for (at, one) in self.candidates.iter().enumerate() {
                let number = (at + 1).to_string();
                lines.push(row(&number, &one.session.short(), &one.seen, &one.name, &one.task));
            }
            lines.push(String::new());
        }
        if self.more > 0 {
            say(
                &format!("and {} older: rekindle recover lists everybody who crashed", self.more),
                &mut lines,
            );
        }
        if self.missing.is_some() {
            say("its directory is gone", &mut lines);
        }
        say(self.news, &mut lines);
        let keys = self.keys();
        let keys: Vec<(&str, &str)> =
            keys.iter().map(|(key, what, _)| (key.as_str(), what.as_str())).collect();
        lines.extend(keys_in_lines(&keys));
        lines
    }

    fn keys(&self) -> Vec<(String, String, Option<Answer>)> {
        let mut keys = Vec::new();
        let mut key = |key: &str, what: &str, answer| keys.push((key.to_owned(), what.to_owned(), answer));
        match self.candidates.len() {
            0 => {}
            1 => key("1", "resume it here", None),
            several => key(&format!("1-{several}"), "resume that one here", None),
        }
        let fresh = match self.program {
            "claude" => "start a fresh agent".to_owned(),
            program => format!("start a fresh agent, {}", one_line(program, 40)),
        };
        match (self.missing, self.candidates) {
            (Some(_), _) => key("m", "make its directory again", Some(Answer::MakeFolder)),
            (None, []) => key("Enter", &fresh, Some(Answer::Fresh)),
            // Enter is pressed too easily where somebody is to be chosen.
            (None, _) => key("n", &fresh, Some(Answer::Fresh)),
        }
        key("s", "a shell", Some(Answer::Shell));
        keys
    }

    /// What keys mean, if they mean anything here.
    pub(super) fn understand(&self, typed: &[u8]) -> Option<Answer> {
        let known = |key: &str| self.keys().into_iter().find(|(known, ..)| known == key)?.2;
        match typed {
            [b'\r' | b'\n', ..] => known("Enter"),
            // Ctrl-C and Ctrl-D mean "let me out" everywhere.
            [b'q' | 3 | 4, ..] => Some(Answer::Shell),
            [digit @ b'1'..=b'9', ..] => {
                Some(usize::from(digit - b'1')).filter(|at| *at < self.candidates.len()).map(Answer::This)
            }
            [key, ..] => known(&char::from(key.to_ascii_lowercase()).to_string()),
            [] => None,
        }
    }
}

/// One candidate on a line of 80 columns.
fn row(number: &str, id: &str, seen: &str, name: &str, task: &str) -> String {
    let line = format!("  {number}  {id:<8}  {seen:<16}  {:<16}  {}", one_line(name, 16), one_line(task, 29));
    line.trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn candidates(count: usize) -> Vec<Candidate> {
        let one = |at: usize| Candidate {
            session: SessionKey::parse(&format!("{at}a2b3c4d-0000-4000-8000-000000000000")).unwrap(),
            name: "a name that is far too long for its column".to_owned(),
            task: "fix the login page and everything else that is broken".to_owned(),
            seen: "2026-01-01 12:00".to_owned(),
        };
        (1..=count).map(one).collect()
    }

    fn question(candidates: &[Candidate]) -> Question<'_> {
        Question { candidates, more: 0, program: "claude", place: "~/shop", missing: None, news: "" }
    }

    #[track_caller]
    fn check(question: &Question<'_>, expect: &[&str]) {
        let lines = question.lines();
        let said: Vec<&str> = lines.iter().map(|line| line.trim()).filter(|line| !line.is_empty()).collect();
        assert_eq!(said, expect);
        assert!(lines.iter().all(|line| line.chars().count() <= 80), "{lines:#?}");
    }

    #[test]
    fn every_candidate_has_a_line_and_a_key() {
        let two = candidates(2);
        let page = Question { more: 3, news: "why not", ..question(&two) };
        check(
            &page,
            &[
                "an agent ran here, in ~/shop: nothing says which of these was its",
                "conversation",
                "id        last active       name              task",
                "1  1a2b3c4d  2026-01-01 12:00  a name that is…   fix the login page and…",
                "2  2a2b3c4d  2026-01-01 12:00  a name that is…   fix the login page and…",
                "and 3 older: rekindle recover lists everybody who crashed",
                "why not",
                "1-2  resume that one here   n  start a fresh agent   s  a shell",
            ],
        );
        let keys = [
            (&b"1"[..], Some(Answer::This(0))),
            (b"2", Some(Answer::This(1))),
            (b"3", None),
            (b"0", None),
            (b"n", Some(Answer::Fresh)),
            (b"S", Some(Answer::Shell)),
            (b"\x03", Some(Answer::Shell)),
            (b"\r", None),
            (b"\x1b[I", None),
            (b"m", None),
            (b"-", None),
        ];
        for (typed, answer) in keys {
            assert_eq!(page.understand(typed), answer, "{typed:?}");
        }
        let nine = candidates(9);
        assert_eq!(question(&nine).understand(b"9"), Some(Answer::This(8)));
    }

    #[test]
    fn where_nobody_is_known_enter_begins_anew() {
        let page = question(&[]);
        let why = "an agent ran here, in ~/shop: no conversation is known to be its own";
        check(&page, &[why, "Enter  start a fresh agent   s  a shell"]);
        assert_eq!(page.understand(b"\r"), Some(Answer::Fresh));
        for typed in [&b"1"[..], b"n", b"m", b"\x1b[I"] {
            assert_eq!(page.understand(typed), None, "{typed:?}");
        }
        let other = Question { program: "/opt/claude", ..question(&[]) };
        check(&other, &[why, "Enter  start a fresh agent, /opt/claude   s  a shell"]);
    }

    #[test]
    fn where_the_directory_is_gone_nobody_begins() {
        let gone = Question { missing: Some(Path::new("/shop")), ..question(&[]) };
        let why = "an agent ran here, in ~/shop: no conversation is known to be its own";
        check(&gone, &[why, "its directory is gone", "m  make its directory again   s  a shell"]);
        assert_eq!(gone.understand(b"\r"), None);
        assert_eq!(gone.understand(b"m"), Some(Answer::MakeFolder));
    }
}
