//! What may stand between a name and its value.

use std::sync::OnceLock;

use regex::bytes::Regex;

use crate::edge;
use crate::shape::compile;

/// How a value hangs on its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Joint {
    /// `name=value`.
    Tight,
    /// `name = value`, `name := value`, `name => value`, `name == value`.
    Spaced,
    /// `name: value`.
    Colon,
    /// `name: String = "value"`, and `PASSWORD 'value'` in SQL: what follows is a quote.
    Quote,
    /// `"name": "NAME", "value": "value"`, as in lists of variables.
    Pair,
    /// `--name value`, or `"--name", "value"`.
    Option,
    /// `<name>value</name>`.
    Element,
    /// `name is value`, or only a blank: words around a value.
    Prose,
}

/// How much text a separator may take: the indentation of a pair is the longest.
const WINDOW: usize = 120;

/// Finds the separator at the end of a name, and where the value begins.
pub(crate) fn after(text: &[u8], name: &std::ops::Range<usize>) -> Option<(Joint, usize)> {
    let coloured = name.start..name.end + edge::colours(text, name.end);
    let (joint, at) = plain(text, &coloured)?;
    Some((joint, at + blank_colours(text, at)))
}

/// The length of the colour sequences at a value's beginning, with the blanks behind them.
fn blank_colours(text: &[u8], at: usize) -> usize {
    let colours = edge::colours(text, at);
    let blanks = text[at + colours..].iter().take(8).take_while(|byte| **byte == b' ').count();
    if colours > 0 { colours + blanks } else { 0 }
}

/// The same, of a name and the colour behind it.
fn plain(text: &[u8], name: &std::ops::Range<usize>) -> Option<(Joint, usize)> {
    let rest = &text[name.end..text.len().min(name.end + WINDOW)];
    let option = text[name.start] == b'-';
    match rest.first()? {
        b'>' => {
            let element = text[..name.start].ends_with(b"<") || text[..name.start].ends_with(b":");
            return element.then_some((Joint::Element, name.end + 1));
        }
        b'"' | b'\'' | b'`' | b'\\' | b'?' | b',' | b' ' | b'\t' | b'\r' | b'\n' | b':' | b'=' => {}
        _ => return None,
    }
    let end = |rule: &Rule| rule.end(rest).map(|end| name.end + end);
    if let Some(at) = end(&QUOTE) {
        return Some((Joint::Quote, at));
    }
    if let Some(at) = end(&ASSIGN) {
        let sign = &text[name.end..at];
        // `token::Kind` is a path; a sign that goes on is an operator.
        let goes_on = matches!(text.get(at), Some(b':' | b'=' | b'~'))
            || (text.get(at) == Some(&b'>') && !sign.ends_with(b" "));
        let joint = match sign {
            _ if goes_on => return None,
            [.., b'=', b'='] | [.., b':', b'='] => Joint::Spaced,
            [.., b'='] if !sign.contains(&b' ') => Joint::Tight,
            _ if sign.contains(&b':') && !sign.contains(&b'=') => Joint::Colon,
            _ => Joint::Spaced,
        };
        return Some((joint, at));
    }
    if let Some(at) = end(&PAIR) {
        return Some((Joint::Pair, at));
    }
    if option && let Some(at) = end(&OPTION) {
        return Some((Joint::Option, at));
    }
    end(&PROSE).map(|at| (Joint::Prose, at))
}

struct Rule {
    pattern: &'static str,
    regex: OnceLock<Option<Regex>>,
}

impl Rule {
    const fn new(pattern: &'static str) -> Rule {
        Rule { pattern, regex: OnceLock::new() }
    }

    /// Where the separator ends: at its first group, where it has one that took part.
    fn end(&self, rest: &[u8]) -> Option<usize> {
        let regex = self.regex.get_or_init(|| compile(self.pattern)).as_ref()?;
        let groups = regex.captures(rest)?;
        let group = groups.iter().skip(1).flatten().next().map(|group| group.start());
        group.or_else(|| groups.get(0).map(|all| all.end()))
    }
}

static ASSIGN: Rule = Rule::new(r#"(?:\\{0,3}["'`]\]?|\?)?[ \t]{0,8}(?::=|===?|=>|=|:)[ \t]{0,8}"#);
static QUOTE: Rule = Rule::new(
    r#"[ \t]*(?:\??:[ \t]*[&A-Za-z][A-Za-z0-9_&<>\[\]' |?.:]{0,40}=[ \t]*(\\{0,3}["'`])|[ \t]('|\\{0,3}")[^ ])"#,
);
static PAIR: Rule = Rule::new(
    r#"\\{0,3}["']?,?(?:\s|\\[nrt]){1,60}\\{0,3}["']?(?i:value)\\{0,3}["']?[ \t]{0,4}[:=][ \t]{0,4}|\\{0,3}["'],\\{0,3}["'](?i:value)\\{0,3}["']?[ \t]{0,4}[:=][ \t]{0,4}"#,
);
static OPTION: Rule = Rule::new(r#"(?:\\{0,3}["'],(?:\s|\\[nrt]){0,20}(\\{0,3}["'])|[ \t]+)"#);
static PROSE: Rule = Rule::new(
    r#"[`"']?(?:[ \t]+(?:is|was|are|as|to|of|value|now|here|below|this)){0,3}[ \t]*[:=]?[ \t]+[`(*]{0,3}"#,
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_compiles() {
        for rule in [&ASSIGN, &QUOTE, &PAIR, &OPTION, &PROSE] {
            assert!(compile(rule.pattern).is_some(), "{}", rule.pattern);
        }
    }

    #[test]
    fn joints() {
        for (text, expected) in [
            ("name=v", Some((Joint::Tight, 5))),
            ("name = v", Some((Joint::Spaced, 7))),
            ("name: v", Some((Joint::Colon, 6))),
            ("name\": \"v", Some((Joint::Colon, 7))),
            ("name::v", None),
            ("name=>>v", None),
            ("name: >-\n  v", Some((Joint::Colon, 6))),
            ("name: &str = \"v", Some((Joint::Quote, 13))),
            ("name\", \"value\": \"v", Some((Joint::Pair, 16))),
            ("name\n  value: v", Some((Joint::Pair, 14))),
            ("name is v", Some((Joint::Prose, 8))),
            ("name\u{1b}[0m=\u{1b}[33mv", Some((Joint::Tight, 14))),
            ("name:\u{1b}[0m v", Some((Joint::Colon, 10))),
            ("name(v", None),
            ("name]: v", None),
        ] {
            assert_eq!(after(text.as_bytes(), &(0..4)), expected, "{text}");
        }
        assert_eq!(after(b"--n v", &(0..3)), Some((Joint::Option, 4)));
        assert_eq!(after(b"<name>v", &(1..5)), Some((Joint::Element, 6)));
    }
}
