//! Secrets that have a form of their own: a word that begins them, and a pattern.

use std::sync::OnceLock;

use regex::bytes::{Regex, RegexBuilder};

use crate::value::{self, Setting};
use crate::{Evidence, Finding, edge};

/// How much text a pattern may look at: the longest header that servers take. Longer secrets are followed to the end of
/// their characters.
const WINDOW: usize = 16 << 10;

/// How much text the words around a secret may take, with the secret.
const WITHIN: usize = 2 << 10;

/// As long as the name of a host can be.
const LONGEST_HOST: usize = 253;

/// One form of secrets.
pub(crate) struct Shape {
    /// What is said in its place.
    pub(crate) kind: &'static str,
    /// The words that begin it; capitals do not matter to the gate, they do to the pattern.
    pub(crate) triggers: &'static [&'static str],
    start: Start,
    /// The whole secret, or its first group.
    pattern: &'static str,
    judge: Judge,
    regex: OnceLock<Option<Regex>>,
}

/// Where the pattern begins.
#[derive(Clone, Copy)]
enum Start {
    /// At the trigger, which must not stand inside of a word.
    Edge,
    /// At the trigger, wherever it stands.
    Anywhere,
    /// So many bytes before the trigger, at the edge of a word.
    Before(usize),
    /// At the digits before the trigger.
    Digits,
    /// At the name of a host before the trigger.
    Host,
    /// At the trigger, the first word of a command, which must not stand inside of a word.
    Command,
}

/// What else must be true of the secret.
#[derive(Clone, Copy)]
pub(crate) enum Judge {
    /// Not one for show.
    Shape,
    /// A password that a person may have chosen.
    Password,
    /// A password in a sentence or a form: no mere word.
    Said,
    /// A sentence of words that a person may have chosen, and no instruction.
    Phrase,
    /// Looks random.
    Token,
    /// Base64 of `user:password`.
    Login,
}

/// A key that begins with the trigger.
pub(crate) const fn key(
    kind: &'static str,
    triggers: &'static [&'static str],
    pattern: &'static str,
) -> Shape {
    Shape { kind, triggers, start: Start::Edge, pattern, judge: Judge::Shape, regex: OnceLock::new() }
}

/// A key with its trigger in the middle, so many bytes from its beginning.
pub(crate) const fn around(
    kind: &'static str,
    before: usize,
    triggers: &'static [&'static str],
    pattern: &'static str,
) -> Shape {
    Shape {
        kind,
        triggers,
        start: Start::Before(before),
        pattern,
        judge: Judge::Shape,
        regex: OnceLock::new(),
    }
}

/// A key that begins with the digits before the trigger.
pub(crate) const fn numbered(
    kind: &'static str,
    triggers: &'static [&'static str],
    pattern: &'static str,
) -> Shape {
    Shape { kind, triggers, start: Start::Digits, pattern, judge: Judge::Shape, regex: OnceLock::new() }
}

/// A secret that its paths give away; the trigger may stand anywhere.
pub(crate) const fn within(
    kind: &'static str,
    judge: Judge,
    triggers: &'static [&'static str],
    pattern: &'static str,
) -> Shape {
    Shape { kind, triggers, start: Start::Anywhere, pattern, judge, regex: OnceLock::new() }
}

/// A secret in a command line that begins with the trigger.
pub(crate) const fn command(
    kind: &'static str,
    judge: Judge,
    triggers: &'static [&'static str],
    pattern: &'static str,
) -> Shape {
    Shape { kind, triggers, start: Start::Command, pattern, judge, regex: OnceLock::new() }
}

/// A password in a line that begins with the name of a host, which the trigger follows.
pub(crate) const fn hosted(triggers: &'static [&'static str], pattern: &'static str) -> Shape {
    Shape {
        kind: "password",
        triggers,
        start: Start::Host,
        pattern,
        judge: Judge::Password,
        regex: OnceLock::new(),
    }
}

impl Shape {
    /// Looks for the secret that this trigger belongs to.
    pub(crate) fn find(&self, text: &[u8], trigger: usize) -> Option<Finding> {
        let at = match self.start {
            Start::Edge | Start::Anywhere | Start::Command => trigger,
            Start::Before(bytes) => trigger.checked_sub(bytes)?,
            Start::Digits => {
                trigger - text[..trigger].iter().rev().take(12).take_while(|b| b.is_ascii_digit()).count()
            }
            Start::Host => {
                let part = |byte: &&u8| edge::is_word(**byte) || b".*-/".contains(byte);
                trigger - text[..trigger].iter().rev().take(LONGEST_HOST).take_while(part).count()
            }
        };
        if matches!(self.start, Start::Edge | Start::Before(_) | Start::Command) && !edge::begins(text, at) {
            return None;
        }
        let most = match self.start {
            Start::Anywhere | Start::Command | Start::Host => WITHIN,
            _ => WINDOW,
        };
        let limit = text.len().min(at + most);
        let regex = self.regex.get_or_init(|| compile(self.pattern)).as_ref()?;
        let window = &text[at..limit];
        let found = match regex.captures_len() {
            1 => regex.find(window)?,
            _ => regex.captures(window)?.iter().skip(1).flatten().next()?,
        };
        let accepted = match self.judge {
            Judge::Shape => !value::is_sample(found.as_bytes()),
            Judge::Password => value::is_password(found.as_bytes(), Setting::Given),
            Judge::Said => {
                let value = found.as_bytes();
                // A letter of another alphabet makes no word odd.
                let ascii: Vec<u8> = value.iter().copied().filter(u8::is_ascii).collect();
                value::is_password(&ascii, Setting::Loose) || value::is_token(value, Setting::Given)
            }
            Judge::Phrase => value::is_phrase_of_words(found.as_bytes()),
            Judge::Token => value::is_token(found.as_bytes(), Setting::Given) || is_login(found.as_bytes()),
            Judge::Login => is_login(found.as_bytes()),
        };
        let mut end = at + found.end();
        if end == limit {
            let goes_on = |byte: &&u8| edge::is_word(**byte) || b"-.+/=%~".contains(byte);
            end += text[end..].iter().take_while(goes_on).count();
        }
        let place = at + found.start()..end;
        accepted.then_some(Finding { place, kind: self.kind, evidence: Evidence::Shape })
    }
}

/// Compiles a pattern to match only at the start of what it is given, byte by byte: Unicode tables would cost seconds.
/// None only for a pattern with a mistake in it, which a test finds.
pub(crate) fn compile(pattern: &str) -> Option<Regex> {
    RegexBuilder::new(&format!(r"\A(?:{pattern})")).unicode(false).build().ok()
}

/// Whether this is base64 of a user, a colon and a password, all of them printable.
fn is_login(value: &[u8]) -> bool {
    let (mut bits, mut held, mut plain) = (0_u32, 0_u32, Vec::with_capacity(value.len()));
    for byte in value {
        let six = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            b'=' => break,
            _ => return false,
        };
        bits = (bits << 6 | u32::from(six)) & 0xffff;
        held += 6;
        if held >= 8 {
            held -= 8;
            plain.push((bits >> held & 0xff) as u8);
        }
    }
    let printable = plain.iter().all(|byte| (b' '..0x7f).contains(byte));
    printable && plain.iter().position(|byte| *byte == b':').is_some_and(|at| at > 0 && at + 1 < plain.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pattern_compiles_and_has_triggers() {
        for shape in crate::shapes::all() {
            assert!(compile(shape.pattern).is_some(), "{}: {}", shape.kind, shape.pattern);
            assert!(!shape.triggers.is_empty(), "{}", shape.kind);
        }
    }

    #[test]
    fn basic_logins_are_told_from_words() {
        assert!(is_login(b"YWxhZGRpbjpvcGVuc2VzYW1l"));
        assert!(!is_login(b"authentication"));
        assert!(!is_login(b"understanding"));
    }
}
