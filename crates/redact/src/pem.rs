//! Private keys in PEM blocks, whole or with an end torn off.

use crate::{Evidence, Finding};

/// A key of 8192 bits takes 6.4 KB as PEM; the rest is for indentation and line numbers.
const LONGEST: usize = 16 << 10;

/// Looks at a line that begins with `-----BEGIN`.
pub(crate) fn find_begin(text: &[u8], at: usize) -> Option<Finding> {
    let rest = &text[at..text.len().min(at + LONGEST)];
    let head = heading(rest, b"-----BEGIN ")?;
    let body = &rest[head..];
    let next = position(body, b"-----BEGIN ").unwrap_or(body.len());
    let end = position(&body[..next], b"-----END ");
    let length = match (lines(&body[..end.unwrap_or(next)], end.is_some()), end) {
        (Lines::All(_), Some(end)) => end + heading(&body[end..], b"-----END ").unwrap_or(0),
        (Lines::All(length) | Lines::Until(length), _) => length,
    };
    let finding = Finding { place: at..at + head + length, kind: "private key", evidence: Evidence::Shape };
    is_key(&body[..length]).then_some(finding)
}

/// Looks at a line that begins with `-----END`, for a block whose beginning is gone.
pub(crate) fn find_end(text: &[u8], at: usize) -> Option<Finding> {
    let length = heading(&text[at..text.len().min(at + 80)], b"-----END ")?;
    let before = &text[at.saturating_sub(LONGEST)..at];
    if before.ends_with(b"-----BEGIN ") {
        return None;
    }
    let (mut start, mut at_line) = (before.len(), before.len());
    // From the end, line by line, while they are lines of a key; empty ones before it are not part of it.
    let mut lines = before.split_inclusive(|byte| *byte == b'\n').rev().peekable();
    while let Some(line) = lines.next() {
        // The end of a line that was broken at the width of a terminal may be as short as a word.
        let mut broken =
            || is_pure(line) && lines.peek().is_some_and(|above| is_pure(above) && run_in(above) >= 24);
        if !is_body(line) && !broken() {
            break;
        }
        at_line -= line.len();
        if run_in(line) > 0 {
            start = at_line;
        }
    }
    let place = at - (before.len() - start)..at + length;
    is_key(&before[start..]).then_some(Finding { place, kind: "private key", evidence: Evidence::Shape })
}

/// The length of `-----BEGIN RSA PRIVATE KEY-----`.
fn heading(rest: &[u8], start: &[u8]) -> Option<usize> {
    let label = rest.strip_prefix(start)?;
    let end = label.iter().take(60).position(|byte| *byte == b'-')?;
    let dashes = label[end..].iter().take(5).take_while(|byte| **byte == b'-').count();
    let private = position(&label[..end], b"PRIVATE KEY").is_some();
    (private && dashes == 5).then_some(start.len() + end + dashes)
}

/// How far the lines of a key go: to the end of what was given, or until another line; in bytes up to the last of the
/// key's.
enum Lines {
    All(usize),
    Until(usize),
}

/// Follows the lines of a key. A line ends at a newline, or at `\\n` in escaped text. Between a beginning and an end that
/// are both there (`closed`) a line may be as short as a word: it was broken at the width of a terminal.
fn lines(body: &[u8], closed: bool) -> Lines {
    let (mut at, mut solid, mut above) = (0, 0, 0);
    while at < body.len() {
        let rest = &body[at..];
        let ends =
            |(place, byte): (usize, &u8)| *byte == b'\n' || (*byte == b'n' && rest[..place].ends_with(b"\\"));
        let length = rest.iter().enumerate().position(ends).map_or(rest.len(), |end| end + 1);
        let line = rest[..length].strip_suffix(b"\\n").unwrap_or(&rest[..length]);
        // A log may put its own words before each line; 40 are more than a hash that follows a word.
        let broken = (closed && run(inner(line)) == inner(line).len()) || (is_pure(line) && above >= 24);
        if !is_body(line) && !broken && run_in(line) <= 40 {
            return Lines::Until(if run(rest) >= 16 { at + run(rest) } else { solid });
        }
        // What follows the key, a quote or an empty line, is not part of it.
        if let Some(last) = line.iter().rposition(|byte| is_base64(*byte)) {
            solid = at + last + 1;
        }
        above = if is_pure(line) { run_in(line) } else { 0 };
        at += length;
    }
    Lines::All(solid)
}

/// A line of a key: base64, empty, or a header; with what tools and languages put around it.
fn is_body(line: &[u8]) -> bool {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    let line = inner(line.strip_suffix(b"\\n").unwrap_or(line));
    let header = [&b"Proc-Type:"[..], b"DEK-Info:", b"Version:", b"Comment:"];
    if line.is_empty() || header.iter().any(|header| line.starts_with(header)) {
        return true;
    }
    let run = run_in(line);
    // A word is no line of a key; the last line of one may be as short as that, but ends in `=` or has digits.
    let sure = run >= 40 || line.ends_with(b"=") || line.iter().any(u8::is_ascii_digit);
    sure && run + 12 >= line.len() && run >= line.len() / 2
}

/// The line without the margin and the frame around it.
fn inner(mut line: &[u8]) -> &[u8] {
    while let [rest @ .., b'|' | b' ' | b'\t' | b'\r' | b'\n'] | [rest @ .., 0xe2, 0x94 | 0x95, _] = line {
        line = rest;
    }
    while let [b'|' | b' ' | b'\t', rest @ ..] | [0xe2, 0x94 | 0x95, _, rest @ ..] = line {
        line = rest;
    }
    line
}

/// Whether the line is one run of base64 that is no plain word.
fn is_pure(line: &[u8]) -> bool {
    let line = inner(line);
    let has = |wanted: fn(&u8) -> bool| line.iter().any(wanted);
    let mixed = has(u8::is_ascii_digit)
        || has(|byte| b"+/=".contains(byte))
        || (has(u8::is_ascii_lowercase) && line[1..].iter().any(u8::is_ascii_uppercase));
    !line.is_empty() && run(line) == line.len() && mixed
}

fn is_key(body: &[u8]) -> bool {
    let distinct = |run: &[u8]| {
        let mut seen = [false; 256];
        run.iter().for_each(|byte| seen[usize::from(*byte)] = true);
        seen.iter().filter(|seen| **seen).count()
    };
    body.split(|byte| !is_base64(*byte)).any(|run| run.len() >= 24 && distinct(run) > 4)
}

fn run(text: &[u8]) -> usize {
    text.iter().take_while(|byte| is_base64(**byte)).count()
}

/// The longest run of base64 in a line.
fn run_in(line: &[u8]) -> usize {
    line.split(|byte| !is_base64(*byte)).map(<[u8]>::len).max().unwrap_or(0)
}

fn is_base64(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=')
}

fn position(text: &[u8], words: &[u8]) -> Option<usize> {
    text.windows(words.len()).position(|part| part == words)
}
