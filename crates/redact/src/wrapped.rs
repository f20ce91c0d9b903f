//! Secrets that a program broke over several lines at the width of its terminal, in a frame or without.
//!
//! Lines that may be parts of one are put together again and looked at like any other text. A terminal that wraps a
//! line itself says so, and tmux joins it; programs that draw their own screens break lines and tell nobody.

use std::ops::Range;

use crate::{Evidence, Finding, edge, entropy, gate};

/// A word over a break is at least so long: shorter ones are no keys, and prose has none.
const SHORTEST: usize = 20;

/// No pane is narrower that shows a key; shorter lines are lines of their own.
const NARROWEST: usize = 24;

/// As much as is put together at once: twice a private key of 8192 bits.
const LONGEST: usize = 16 << 10;

/// So many lines show whether a key begins at the first of them.
const LOOKED_AT: usize = 4;

/// So many lines has no key but a private one, which is known by its frame.
const LONGEST_KEY: usize = 64;

/// What a break leaves of a secret that is already known by its first part: shorter rests harm nobody, and words of the
/// next line are as short.
const SHORTEST_REST: usize = 8;

/// Every secret that goes over the end of a line.
pub(crate) fn findings(text: &str) -> impl Iterator<Item = Finding> {
    Groups { text, next: 0 }.flat_map(move |group| group.findings(text))
}

/// A line without its margin and frame.
#[derive(Clone)]
struct Line {
    start: usize,
    /// What it says.
    content: Range<usize>,
    /// Where the next line begins.
    end: usize,
    /// Whether a frame closes it, at most two blanks behind what it says.
    closed: bool,
}

impl Line {
    fn at(text: &str, start: usize) -> Option<Line> {
        let rest = text.get(start..).filter(|rest| !rest.is_empty())?;
        let length = rest.find('\n').map_or(rest.len(), |end| end + 1);
        let line = &rest[..length];
        let bare = line.trim_end();
        let inner = edge::trim_frame_end(bare);
        let closed = inner.len() < bare.len() && {
            let padded = inner.trim_end().len();
            inner.len() - padded <= 2
        };
        let inner = inner.trim_end();
        let margin = inner.len() - edge::trim_margin(inner).len();
        Some(Line { start, content: start + margin..start + inner.len(), end: start + length, closed })
    }
}

/// Whether what the first line says may go on in the second.
fn goes_on(text: &[u8], first: &Line, second: &Line) -> bool {
    let tail = &text[first.content.clone()];
    let tail = &tail[tail.len() - tail.iter().rev().take_while(|byte| is_part(**byte)).count()..];
    let head = &text[second.content.clone()];
    let head = &head[..head.iter().take_while(|byte| is_part(**byte)).count()];
    let has = |wanted: fn(&u8) -> bool| tail.iter().chain(head).any(wanted);
    !tail.is_empty()
        && !head.is_empty()
        && tail.len() + head.len() >= SHORTEST
        && (has(u8::is_ascii_digit) || (has(u8::is_ascii_uppercase) && has(u8::is_ascii_lowercase)))
        && is_full(text, first, second)
}

/// Whether the first line has no room for more, as far as it shows.
fn is_full(text: &[u8], first: &Line, second: &Line) -> bool {
    let width = |line: &Line| {
        // Every byte of a character but its first is of the form 10xxxxxx.
        text[line.start..line.content.end].iter().filter(|byte| **byte & 0xc0 != 0x80).count()
    };
    let (first_width, second_width) = (width(first), width(second));
    (first.closed && second.closed)
        || (second_width <= first_width && (first.closed || first_width >= NARROWEST))
        || (is_solid(&text[second.content.clone()])
            && run_at_end(&text[first.content.clone()]) >= LEAST_BEFORE)
}

/// How much of a value must stand before a line that is wider: of a label and a value, tools break the value alone.
const LEAST_BEFORE: usize = 16;

/// A line of nothing but base64 is at least so long.
const SOLID: usize = 32;

/// Whether the line is one random run, which no line of text is.
fn is_solid(line: &[u8]) -> bool {
    line.len() >= SOLID && run_at_end(line) == line.len() && entropy::surely_random(line)
}

/// The length of the run of letters and signs of base64 at the end of a line.
fn run_at_end(line: &[u8]) -> usize {
    line.iter().rev().take_while(|byte| byte.is_ascii_alphanumeric() || b"+/=_-".contains(byte)).count()
}

fn is_part(byte: u8) -> bool {
    matches!(byte, b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'_' | b'-' | b'+' | b'/' | b'=' | b'.' | b'%' | b'~' | b'$')
}

/// Lines of which each may go on in the next.
struct Group {
    lines: Vec<Line>,
}

struct Groups<'a> {
    text: &'a str,
    /// Where the line begins that is looked at next.
    next: usize,
}

impl Iterator for Groups<'_> {
    type Item = Group;

    fn next(&mut self) -> Option<Group> {
        let text = self.text.as_bytes();
        loop {
            let end = self.next + memchr::memchr(b'\n', text.get(self.next..)?)?;
            let start = std::mem::replace(&mut self.next, end + 1);
            if !may_go_on(text, end) {
                continue;
            }
            let (Some(first), Some(second)) = (Line::at(self.text, start), Line::at(self.text, end + 1))
            else {
                continue;
            };
            if !goes_on(text, &first, &second) {
                continue;
            }
            let mut length = first.content.len() + second.content.len();
            let mut lines = vec![first, second];
            while length <= LONGEST
                && let (Some(last), Some(line)) =
                    (lines.last(), lines.last().and_then(|last| Line::at(self.text, last.end)))
                && goes_on(text, last, &line)
            {
                length += line.content.len();
                lines.push(line);
            }
            // The last line has been looked at, unless the group ends because it is long enough.
            self.next =
                lines.last().map_or(self.next, |last| if length > LONGEST { last.start } else { last.end });
            return Some(Group { lines });
        }
    }
}

/// Whether the line that ends here may go on in the next, as far as a look at the bytes can tell. Most cannot: they end
/// with a sign, or the words on both sides are short.
fn may_go_on(text: &[u8], end: usize) -> bool {
    let solid = |byte: &u8| !matches!(byte, b' ' | b'\t' | b'\r');
    let frame = |byte: u8| byte == b'|' || !byte.is_ascii();
    // The fast way out: code ends its lines with signs.
    if end > 0
        && matches!(text[end - 1], b';' | b',' | b'{' | b'}' | b')' | b'(' | b'"' | b'\n' | b':' | b'>')
    {
        return false;
    }
    let Some(last) = text[..end].iter().rposition(solid) else { return false };
    let Some(first) = text[end + 1..].iter().position(solid).map(|at| end + 1 + at) else { return false };
    if frame(text[last]) || frame(text[first]) {
        return (frame(text[last]) || is_part(text[last])) && (frame(text[first]) || is_part(text[first]));
    }
    let tail = text[..=last].iter().rev().take(SHORTEST).take_while(|byte| is_part(**byte)).count();
    let head = text[first..].iter().take(SHORTEST).take_while(|byte| is_part(**byte)).count();
    tail > 0 && head > 0 && tail + head >= SHORTEST
}

impl Group {
    /// The secrets that go over a break, where they stand in the text.
    fn findings(self, text: &str) -> Vec<Finding> {
        let mut found = self.joined_from(text, 0, self.lines.len(), |_| true);
        // A line that is full ends in any letter: joined to it, a key at the beginning of the next line has no left edge.
        for first in 1..self.lines.len().saturating_sub(1) {
            let begins = |key: &Finding| key.place.start == 0 && key.evidence == Evidence::Shape;
            if !self.joined_from(text, first, LOOKED_AT, begins).is_empty() {
                found.extend(self.joined_from(text, first, LONGEST_KEY, begins));
            }
        }
        found
    }

    /// The same, of so many lines from this one.
    fn joined_from(
        &self,
        text: &str,
        first: usize,
        most: usize,
        wanted: impl Fn(&Finding) -> bool,
    ) -> Vec<Finding> {
        let lines = self.lines.iter().skip(first).take(most).cloned().collect();
        Group { lines }.joined(text, wanted)
    }

    fn joined(&self, text: &str, wanted: impl Fn(&Finding) -> bool) -> Vec<Finding> {
        let mut joined = String::new();
        let mut starts = Vec::with_capacity(self.lines.len());
        for line in &self.lines {
            starts.push(joined.len());
            joined.push_str(text.get(line.content.clone()).unwrap_or_default());
        }
        let found = gate::findings(&joined).filter(|found| wanted(found));
        found.filter_map(|found| self.place(text, &joined, &starts, &found)).collect()
    }

    fn place(&self, text: &str, joined: &str, starts: &[usize], found: &Finding) -> Option<Finding> {
        let first = starts.partition_point(|start| *start <= found.place.start).checked_sub(1)?;
        let last = starts.partition_point(|start| *start < found.place.end).checked_sub(1)?;
        if first == last {
            return None;
        }
        let login = found.kind == "login";
        // What stands before the break of `http://host:3000` is a port, and the next line begins with a user.
        if login && !is_login_begun(joined.as_bytes().get(found.place.start..starts[first + 1])?) {
            return None;
        }
        let alone = text.get(self.lines[first].content.clone()).unwrap_or_default();
        let start = found.place.start - starts[first];
        let known = gate::findings(alone).any(|other| other.place.start == start);
        let mut end = None;
        for (at, (line, start)) in self.lines.iter().zip(starts).enumerate().take(last + 1).skip(first + 1) {
            let content = line.content.start;
            let line = text.get(line.content.clone()).unwrap_or_default();
            let length = (found.place.end - start).min(line.len());
            let (piece, behind) = line.as_bytes().split_at_checked(length)?;
            let ended = match behind.first() {
                None => true,
                Some(b'@') => login,
                Some(byte) => *byte <= b' ' || b"\"'`,;)]}>|".contains(byte),
            };
            let begins_another = known
                && gate::findings(line)
                    .any(|other| other.place.start == 0 && other.evidence == Evidence::Shape);
            let after = match (known, at == first + 1) {
                (true, true) => After::Known,
                (false, true) => After::Begun,
                (_, false) => After::Whole,
            };
            if !ended || begins_another || !is_rest(piece, after) {
                break;
            }
            end = Some(content + length);
        }
        let place = self.lines[first].content.start + start..end?;
        Some(Finding { place, kind: found.kind, evidence: found.evidence })
    }
}

/// Whether a user and more of a password than a port's number stand here.
fn is_login_begun(login: &[u8]) -> bool {
    login
        .iter()
        .position(|byte| *byte == b':')
        .is_some_and(|colon| login[colon + 1..].iter().any(|byte| !byte.is_ascii_digit()))
}

/// What stands before a piece of a secret.
#[derive(Clone, Copy)]
enum After {
    /// The first part, which is a secret by itself and may have ended there.
    Known,
    /// The first part, which is no secret without the piece.
    Begun,
    /// A whole line of the secret.
    Whole,
}

/// Whether this looks like the rest of a random value and not like a word of the next line.
fn is_rest(piece: &[u8], after: After) -> bool {
    let class = |byte: &u8| (byte.is_ascii_uppercase(), byte.is_ascii_digit());
    let changes = piece.windows(2).filter(|pair| class(&pair[0]) != class(&pair[1])).count();
    match after {
        After::Known => piece.len() >= SHORTEST_REST && changes * 5 >= piece.len(),
        After::Begun => changes > 1 || piece.len() < 4,
        After::Whole => changes > 1 || piece.ends_with(b"="),
    }
}
