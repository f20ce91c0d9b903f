//! Values that their name gives away: `PGPASSWORD=…`, `--token …`, `"client_secret": "…"`.

use std::ops::Range;

use crate::name::{self, Class};
use crate::separator::{self, Joint};
use crate::value::{self, Setting};
use crate::{Evidence, Finding, block, edge, prompt, section};

/// No password is longer; what has no end within it is cut here.
const LONGEST: usize = 4096;

/// How far before a name a call may begin whose argument it is.
const CALL: usize = 200;

/// Looks at the value behind a name.
pub(crate) fn find(text: &[u8], name: &Range<usize>) -> Option<Finding> {
    let spelling = &text[name.clone()];
    // `PWD` is the shell's directory, but in an INI file a password.
    let class = name::class(spelling).or_else(|| (spelling == b"PWD").then_some(Class::Password))?;
    let (joint, at) = separator::after(text, name)?;
    if joint == Joint::Colon
        && let Some(found) = below(text, name, class, at)
    {
        return Some(found);
    }
    let value = read(text, name.start, at, joint)?;
    if joint == Joint::Colon && !value.quoted && is_type(text, value.place.end) {
        return None;
    }
    // `PASSWORD 'x'` is SQL; `to pass '--x'` is a sentence.
    if joint == Joint::Quote
        && text[name.end] == b' '
        && !spelling.eq_ignore_ascii_case(b"password")
        && spelling[0] != b'-'
    {
        return None;
    }
    let (setting, value) = in_place(text, name, class, (joint, at), value);
    if spelling == b"PWD" && setting != Setting::Section {
        return None;
    }
    let content = &text[value.place.clone()];
    let (secret, kind) = match class {
        // Words between name and value make a sentence: only what cannot be a word is taken.
        Class::Password if joint == Joint::Prose => {
            let told = value::is_password(content, Setting::Loose) && said(text, name, at);
            (told || value::is_surely_token(content, Setting::Loose), "password")
        }
        // `pass: 12, fail: 3` counts tests.
        Class::Password if spelling == b"pass" && content.iter().all(u8::is_ascii_digit) => return None,
        Class::Password => (value::is_password(content, setting), "password"),
        Class::Strong(kind) | Class::Weak(kind) if joint == Joint::Prose => {
            (value::is_surely_token(content, Setting::Loose), kind)
        }
        Class::Strong(kind) => (value::is_token(content, setting), kind),
        Class::Weak(kind) => {
            // `key` alone is a name for everything, variables included.
            let setting = if spelling.eq_ignore_ascii_case(b"key") { Setting::Loose } else { setting };
            (value::is_surely_token(content, setting), kind)
        }
    };
    secret.then_some(Finding { place: value.place, kind, evidence: Evidence::Name })
}

/// Looks at the value on the lines below a name, as YAML has it.
fn below(text: &[u8], name: &Range<usize>, class: Class, at: usize) -> Option<Finding> {
    let block = block::after(text, name.start, at)?;
    let first = &text[block.first.clone()];
    let (secret, kind, place) = match class {
        Class::Password => {
            let one = block.announced && block.lines == 1 && !first.contains(&b' ');
            (one && value::is_password(first, Setting::Line), "password", block.first)
        }
        Class::Strong(kind) => (value::is_token(first, Setting::Line), kind, block.encoded),
        Class::Weak(kind) => (value::is_surely_token(first, Setting::Line), kind, block.encoded),
    };
    secret.then_some(Finding { place, kind, evidence: Evidence::Name })
}

/// Where a value stands. Sections of INI files and answers to prompts have values that reach to the end of their line.
fn in_place(
    text: &[u8],
    name: &Range<usize>,
    class: Class,
    (joint, at): (Joint, usize),
    value: Value,
) -> (Setting, Value) {
    let setting = setting(text, name, joint, &value);
    if class != Class::Password || matches!(setting, Setting::Quoted | Setting::Given) {
        return (setting, value);
    }
    let settled = matches!(joint, Joint::Tight | Joint::Spaced) && edge::begins_line(text, name.start);
    if settled && section::holds(text, name.start) {
        return (Setting::Section, Value { place: section::value(text, value.place.start), quoted: false });
    }
    if joint == Joint::Colon
        && prompt::ends(text, name.start)
        && let Some(place) = prompt::answer(text, at)
    {
        return (Setting::Given, Value { place, quoted: false });
    }
    (setting, value)
}

/// Whether an assignment goes on behind this: `pass: u32 = 7`.
fn is_type(text: &[u8], at: usize) -> bool {
    let blanks = text[at..].iter().take_while(|byte| **byte == b' ').count();
    blanks > 0 && matches!(text[at + blanks..], [b'=', next, ..] if next != b'=')
}

struct Value {
    place: Range<usize>,
    quoted: bool,
}

/// Whether a sentence gives the value: `password is x`, not `password x`.
fn said(text: &[u8], name: &Range<usize>, at: usize) -> bool {
    text[name.end..at].iter().any(|byte| byte.is_ascii_alphabetic())
}

fn setting(text: &[u8], name: &Range<usize>, joint: Joint, value: &Value) -> Setting {
    if value.quoted {
        return Setting::Quoted;
    }
    let spelling = &text[name.clone()];
    let capitals = !spelling.iter().any(u8::is_ascii_lowercase);
    let query = matches!(text[..name.start].last(), Some(b'?' | b'&' | b';'));
    let listed = matches!(text[value.place.end..], [b';' | b'&', next, ..] if next.is_ascii_alphabetic());
    match joint {
        Joint::Option | Joint::Element => Setting::Given,
        Joint::Tight if capitals || query || listed || spelling.starts_with(b"--") => Setting::Given,
        Joint::Pair => Setting::Line,
        Joint::Tight if is_shell_word(text, name, &value.place) => Setting::Line,
        Joint::Tight | Joint::Colon | Joint::Spaced
            if edge::begins_line(text, name.start) && ends_line(text, value.place.end) =>
        {
            if joint == Joint::Spaced { Setting::Assigned } else { Setting::Line }
        }
        _ => Setting::Loose,
    }
}

/// Whether `name=value` is a word of a command line or of a list of settings: between blanks, quotes or commas, and not
/// among the arguments of a call.
fn is_shell_word(text: &[u8], name: &Range<usize>, value: &Range<usize>) -> bool {
    let line = text[name.start.saturating_sub(CALL)..name.start].rsplit(|byte| *byte == b'\n').next();
    let called = line.is_some_and(|line| line.contains(&b'('));
    let begins = matches!(text[..name.start].last(), Some(b' ' | b'\t' | b'"' | b'\'' | b'='));
    let ends = matches!(text.get(value.end), None | Some(b' ' | b'\t' | b'"' | b'\'' | b'\r' | b'\n'));
    let listed = text[..name.start].ends_with(b",")
        && (ends || (text.get(value.end) == Some(&b',') && is_pair(&text[value.end + 1..])));
    !called && ((begins && ends) || listed)
}

/// Whether the line ends here, also in text escaped as JSON.
fn ends_line(text: &[u8], at: usize) -> bool {
    let at = at + edge::colours(text, at);
    let rest = text[at..].trim_ascii_start();
    let blank = &text[at..text.len() - rest.len()];
    rest.is_empty()
        || blank.contains(&b'\n')
        || rest.starts_with(b"\\n")
        || rest.starts_with(b"\\r")
        || rest.starts_with(b"#")
        || edge::begins_frame(rest)
}

/// Reads the literal that begins here, behind the name that begins there.
fn read(text: &[u8], name: usize, at: usize, joint: Joint) -> Option<Value> {
    let limit = text.len().min(at + LONGEST);
    let rest = &text[at..limit];
    if joint == Joint::Element {
        let length = rest.iter().position(|byte| matches!(byte, b'<' | b'\n'))?;
        if !rest[length..].starts_with(b"</") {
            return None;
        }
        return Some(Value { place: at..at + length, quoted: false });
    }
    // Languages put a letter before a literal: `b"…"`, `r"…"`, `f"…"`, `@"…"`.
    let letters = rest.iter().take(2).take_while(|byte| b"bBrRfFuU@".contains(byte)).count();
    let slashes = rest[letters..].iter().take(7).take_while(|byte| **byte == b'\\').count();
    let start = letters + slashes + 1;
    if let Some(quote @ (b'"' | b'\'' | b'`')) = rest.get(start - 1) {
        if let Some(length) = closing(&rest[start..], *quote, slashes) {
            return Some(Value { place: at + start..at + start + length, quoted: true });
        }
        let length = rest[start..].iter().take_while(|byte| !byte.is_ascii_whitespace()).count();
        return bare(text, name, at + start, length, Joint::Tight);
    }
    bare(text, name, at, rest.len(), joint)
}

/// The length of a quoted literal. In text escaped as JSON its quotes have backslashes, and inner ones have more.
fn closing(rest: &[u8], quote: u8, slashes: usize) -> Option<usize> {
    let mut before = 0;
    for (at, byte) in rest.iter().enumerate() {
        match byte {
            b'\\' => before += 1,
            b'\n' => return None,
            byte if *byte == quote && (before <= slashes || (slashes == 0 && before % 2 == 0)) => {
                return Some(at - before.min(slashes));
            }
            _ => before = 0,
        }
    }
    None
}

/// A literal without quotes: up to a blank, a quote, or a sign that ends it where it stands.
fn bare(text: &[u8], name: usize, at: usize, most: usize, joint: Joint) -> Option<Value> {
    let rest = &text[at..at + most];
    let listed = joint == Joint::Tight && text[..name].ends_with(b",");
    let narrow: &[u8] = if matches!(joint, Joint::Spaced | Joint::Prose) { b",}]" } else { b"" };
    let ends = |place: usize, byte: &u8| match byte {
        b'\\' => matches!(rest.get(place + 1), Some(b'n' | b'r' | b't' | b'"' | b'\'' | b'\\' | b'u') | None),
        byte if *byte <= b' ' || *byte == 0x7f => true,
        b'"' | b'\'' | b'`' | b';' | b'<' | b'>' => true,
        // Ends a command or a part of a query, none of which has a colon before its values.
        b'|' | b'&' => joint != Joint::Colon,
        // Closes what was opened before the name; an opened one belongs to the value, as in a call.
        b')' => !rest[..place].contains(&b'('),
        // Options of a mount and their like: `username=bob,password=x,uid=1000`.
        b',' if listed => is_pair(&rest[place + 1..]),
        byte => narrow.contains(byte),
    };
    let mut length = rest.iter().enumerate().position(|(place, byte)| ends(place, byte)).unwrap_or(most);
    // A list goes on or a sentence ends behind it.
    while length > 0 && matches!(rest[length - 1], b',' | b'}' | b']' | b'.') {
        length -= 1;
    }
    (length > 0).then_some(Value { place: at..at + length, quoted: false })
}

/// Whether this begins with `name=`.
fn is_pair(rest: &[u8]) -> bool {
    let length = rest.iter().take(24).take_while(|byte| byte.is_ascii_lowercase() || **byte == b'_').count();
    length > 1 && rest.get(length) == Some(&b'=')
}
