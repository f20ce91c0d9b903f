//! Sections of INI files. What stands behind a name in one is a value, never code.

use crate::edge;

/// How far above a line its section's heading is looked for; longer sections are rare.
const REACH: usize = 2 << 10;

/// No value is longer.
const LONGEST: usize = 1 << 10;

/// Whether the line that has this place stands in a section: below `[name]`, with only settings, comments and blank lines
/// between.
pub(crate) fn holds(text: &[u8], at: usize) -> bool {
    let above = &text[at.saturating_sub(REACH)..at];
    let end = if is_escaped(text, at) { &b"\\n"[..] } else { b"\n" };
    let mut rest = above;
    while let Some(start) = rest.windows(end.len()).rposition(|part| part == end) {
        rest = &rest[..start];
        let line =
            rest.windows(end.len()).rposition(|part| part == end).map_or(rest, |at| &rest[at + end.len()..]);
        // Of escaped text the first line begins where the text does, or at a real newline.
        let line = without_margin(line.rsplit(|byte| *byte == b'\n').next().unwrap_or(line));
        if is_heading(line) {
            return true;
        }
        if !is_setting(line) {
            return false;
        }
    }
    false
}

/// Whether the line that has this place begins behind an escaped newline, as in JSON.
fn is_escaped(text: &[u8], at: usize) -> bool {
    let before = text[..at].trim_ascii_end();
    !text[before.len()..at].contains(&b'\n') && edge::escaped(before, before.len())
}

/// The line without its margin, its number and its frame.
fn without_margin(line: &[u8]) -> &[u8] {
    let line = std::str::from_utf8(line).map_or(line, |line| edge::trim_margin(line).as_bytes());
    let digits = line.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let numbered = match &line[digits..] {
        [b'\t', rest @ ..] | [0xe2, 0x86, 0x92, rest @ ..] if digits > 0 => rest.trim_ascii_start(),
        _ => line,
    };
    // A value in JSON begins with a quote.
    edge::trim_frame(
        numbered.rsplit(|byte| *byte == b'"').next().filter(|part| is_heading(part)).unwrap_or(numbered),
    )
}

/// The value that begins here: up to the end of its line, or to a comment behind it.
pub(crate) fn value(text: &[u8], at: usize) -> std::ops::Range<usize> {
    let line = text[at..text.len().min(at + LONGEST)].split(|byte| *byte == b'\n').next().unwrap_or_default();
    let comment = line.windows(2).position(|pair| matches!(pair, b" #" | b" ;" | b"\\n" | b"\\r"));
    let line = edge::trim_frame(&line[..comment.unwrap_or(line.len())]);
    at..at + line.len()
}

/// `[client]`, `[Account Mail]`, `[remote "origin"]`.
fn is_heading(line: &[u8]) -> bool {
    let name = |byte: &u8| byte.is_ascii_alphanumeric() || b"_-.:/ \"@".contains(byte);
    match line {
        [b'[', inner @ .., b']'] => {
            inner.first().is_some_and(u8::is_ascii_alphabetic) && inner.iter().all(name)
        }
        _ => false,
    }
}

/// `name = value`, `name=value`, `name` alone, a comment, or nothing.
fn is_setting(line: &[u8]) -> bool {
    let part = |byte: &&u8| byte.is_ascii_alphanumeric() || b"_-.:@/ ".contains(byte);
    let name = line.iter().take_while(part).count();
    match line.first() {
        None | Some(b'#' | b';') => true,
        Some(first) if first.is_ascii_alphabetic() => {
            let single = !line[..name].trim_ascii().contains(&b' ');
            (name == line.len() && single) || line.get(name) == Some(&b'=')
        }
        Some(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_are_told_from_code() {
        for (text, expected) in [
            ("[client]\nuser = root\npassword = x", true),
            ("[client]\n# a comment\n\nskip-networking\npassword = x", true),
            ("[remote \"origin\"]\n  password = x", true),
            ("│ [client] │\n│ password = x │", true),
            ("  1\t[client]\n  2\tpassword = x", true),
            ("{\"text\":\"[client]\\nuser = root\\npassword = x", true),
            ("user = root\npassword = x", false),
            ("[1, 2]\npassword = x", false),
            ("[client]\nif x:\n    password = x", false),
            ("[x]\nfor item in list:\npassword = x", false),
            ("password = x", false),
        ] {
            let at = text.find("password").unwrap_or_default();
            assert_eq!(holds(text.as_bytes(), at), expected, "{text}");
        }
    }
}
