//! A file as a sequence of objects, whatever stands between them: brackets, commas and line ends of another program.

use std::io;
use std::ops::Range;

use crate::facts::Facts;

use super::decode::{Encoding, raw_len};

/// A part of the file.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Piece<'a> {
    /// From a `{` to its `}`.
    Value(&'a [u8]),
    /// The bracket of an array around the rows.
    Bracket,
    /// Anything else but white space and commas.
    Other(&'a [u8]),
}

/// Cuts text into pieces as it comes. What it keeps is the object that is not closed yet.
pub(super) struct Splitter {
    encoding: Encoding,
    text: Vec<u8>,
    /// Where in `text` the piece begins that is not over yet, and where that is in the file.
    start: usize,
    at: u64,
    /// How far `text` has been looked at.
    seen: usize,
    state: State,
    depth: usize,
    in_text: bool,
    escaped: bool,
    /// How far to the right the open object's `{` stands on its line.
    indent: usize,
    /// How far to the right `start` is on its line.
    column: usize,
    facts: Facts,
    first: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Between,
    Object,
    Other,
}

type Visit<'v> = dyn FnMut(Piece<'_>, u64) -> io::Result<()> + 'v;

/// A longer line is not waited for: that it begins as rows do must do.
const LONGEST_LINE: usize = 16 << 20;

/// An object that is not closed after so many bytes is none: a quote was lost, and it would take the rest of the file.
const LARGEST: usize = 1 << 30;

impl Splitter {
    pub(super) fn new(encoding: Encoding) -> Splitter {
        Splitter {
            encoding,
            text: Vec::new(),
            start: 0,
            at: 0,
            seen: 0,
            state: State::Between,
            depth: 0,
            in_text: false,
            escaped: false,
            indent: 0,
            column: 0,
            facts: Facts::default(),
            first: true,
        }
    }

    pub(super) fn push(&mut self, text: &[u8], visit: &mut Visit<'_>) -> io::Result<()> {
        self.text.drain(..self.start);
        self.seen -= self.start;
        self.start = 0;
        self.text.extend_from_slice(text);
        self.run(false, visit)
    }

    pub(super) fn finish(&mut self, visit: &mut Visit<'_>) -> io::Result<()> {
        self.run(true, visit)?;
        if self.state != State::Between {
            self.give_up(self.text.len(), visit)?;
        }
        Ok(())
    }

    fn run(&mut self, end: bool, visit: &mut Visit<'_>) -> io::Result<()> {
        if self.first {
            if self.text.len() < 3 && !end {
                return Ok(());
            }
            self.first = false;
            if self.text.starts_with(b"\xef\xbb\xbf") {
                self.begin(3);
                self.column = 0;
            }
        }
        while self.seen < self.text.len() {
            match self.state {
                State::Between => self.between(visit)?,
                State::Other => match memchr::memchr(b'\n', &self.text[self.seen..]) {
                    Some(line) => self.give_up(self.seen + line, visit)?,
                    None => self.seen = self.text.len(),
                },
                State::Object => {
                    if !self.object(end, visit)? {
                        break;
                    }
                }
            }
        }
        if self.state == State::Between {
            self.begin(self.seen);
        } else if self.text.len() > LARGEST {
            self.give_up(self.text.len(), visit)?;
        }
        Ok(())
    }

    fn between(&mut self, visit: &mut Visit<'_>) -> io::Result<()> {
        match self.text[self.seen] {
            b' ' | b'\t' | b'\r' | b'\n' | b',' => self.seen += 1,
            b'[' | b']' => {
                self.begin(self.seen);
                visit(Piece::Bracket, self.at)?;
                self.seen += 1;
            }
            byte => {
                self.begin(self.seen);
                self.state = if byte == b'{' { State::Object } else { State::Other };
                (self.depth, self.in_text, self.escaped) = (0, false, false);
                self.indent = self.column;
            }
        }
        Ok(())
    }

    /// Goes on in an object; whether there is more to look at.
    fn object(&mut self, end: bool, visit: &mut Visit<'_>) -> io::Result<bool> {
        while let Some(byte) = self.text.get(self.seen).copied() {
            self.seen += 1;
            match byte {
                b'\n' => {
                    let next = &self.text[self.seen..];
                    let length = memchr::memchr(b'\n', next);
                    let begins = next.get(self.indent) == Some(&b'{');
                    // The next line must be there as a whole to see whether a row begins on it.
                    if length.is_none()
                        && !end
                        && (next.len() <= self.indent || begins && next.len() < LONGEST_LINE)
                    {
                        self.seen -= 1;
                        return Ok(false);
                    }
                    if begins && self.restarts(self.seen..self.seen + length.unwrap_or(next.len())) {
                        self.give_up(self.seen - 1, visit)?;
                        return Ok(true);
                    }
                }
                b'\r' => {}
                _ if self.escaped => self.escaped = false,
                b'\\' if self.in_text => self.escaped = true,
                b'"' => self.in_text = !self.in_text,
                _ if self.in_text => {}
                b'{' | b'[' => self.depth += 1,
                b'}' | b']' => {
                    self.depth = self.depth.saturating_sub(1);
                    if self.depth == 0 {
                        visit(Piece::Value(&self.text[self.start..self.seen]), self.at)?;
                        self.state = State::Between;
                        self.begin(self.seen);
                        return Ok(true);
                    }
                }
                _ => {}
            }
        }
        Ok(false)
    }

    /// Whether a row begins on this line, though the one before it is not closed: it is a whole row, it begins as agents
    /// begin rows, or it is a `{` as far to the left as the open row's while that one's members are indented or stand on
    /// the line of their bracket.
    fn restarts(&mut self, line: Range<usize>) -> bool {
        let line = self.text[line].trim_ascii();
        if line == b"{" {
            let open = &self.text[self.start..self.seen];
            let first = memchr::memchr(b'\n', open).unwrap_or(open.len());
            // A row that began with more than its bracket is one that was not formatted, and it is torn.
            if open[..first].trim_ascii().len() > 1 {
                return true;
            }
            let second = (first + 1).min(open.len());
            let deeper = open[second..].iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
            return deeper > self.indent;
        }
        line.starts_with(b"{\"parentUuid\":")
            || self.facts.read(line.strip_suffix(b",").unwrap_or(line)).is_some() && self.facts.uuid.is_some()
    }

    /// What was open until here is no value.
    fn give_up(&mut self, until: usize, visit: &mut Visit<'_>) -> io::Result<()> {
        let text = self.text[self.start..until].trim_ascii_end();
        if !text.is_empty() {
            visit(Piece::Other(text), self.at)?;
        }
        self.state = State::Between;
        self.begin(until);
        Ok(())
    }

    /// What comes next begins here.
    fn begin(&mut self, at: usize) {
        let gone = &self.text[self.start..at];
        self.at += raw_len(gone, self.encoding) as u64;
        self.column = match memchr::memrchr(b'\n', gone) {
            Some(line) => gone.len() - line - 1,
            None => self.column + gone.len(),
        };
        (self.start, self.seen) = (at, at);
    }
}

#[cfg(test)]
mod tests {
    use super::{Encoding, Piece, Splitter};

    /// Each piece with its place, from blocks of any size.
    fn check(text: &str, expect: &[(u64, &str)]) {
        for size in [1, 2, 7, text.len().max(1)] {
            let mut got = Vec::new();
            let mut visit = |piece: Piece<'_>, at: u64| {
                let (mark, text) = match piece {
                    Piece::Value(text) => ("V", text),
                    Piece::Bracket => ("B", &b""[..]),
                    Piece::Other(text) => ("x", text),
                };
                got.push((at, format!("{mark}{}", String::from_utf8_lossy(text))));
                Ok(())
            };
            let mut splitter = Splitter::new(Encoding::Utf8);
            for block in text.as_bytes().chunks(size) {
                splitter.push(block, &mut visit).unwrap();
            }
            splitter.finish(&mut visit).unwrap();
            let got: Vec<(u64, &str)> = got.iter().map(|(at, text)| (*at, text.as_str())).collect();
            assert_eq!(got, expect, "blocks of {size}");
        }
    }

    #[test]
    fn rows_however_they_are_separated() {
        check("{\"a\":1}\n{\"b\":[{}]}", &[(0, "V{\"a\":1}"), (8, "V{\"b\":[{}]}")]);
        check("[{\"a\":1},\n {\"b\":2}]\n", &[(0, "B"), (1, "V{\"a\":1}"), (11, "V{\"b\":2}"), (18, "B")]);
        check("{\n  \"a\": \"}\"\n}\n", &[(0, "V{\n  \"a\": \"}\"\n}")]);
        check("\u{feff}{\"a\":1}", &[(3, "V{\"a\":1}")]);
    }

    #[test]
    fn what_is_no_row_stays() {
        check("hello\n{\"a\":1}\n", &[(0, "xhello"), (6, "V{\"a\":1}")]);
        check("{\"a\":\n", &[(0, "x{\"a\":")]);
        check("\n \n", &[]);
    }

    #[test]
    fn a_row_that_is_not_closed_ends_where_the_next_begins() {
        let row = "{\"uuid\":\"x\"}";
        check(
            &format!("{{\"a\":\"b\n{row}\n{row}"),
            &[(0, "x{\"a\":\"b"), (8, &format!("V{row}")), (21, &format!("V{row}"))],
        );
        check("{\n  \"a\": \"b\n{\n  \"c\": 1\n}", &[(0, "x{\n  \"a\": \"b"), (12, "V{\n  \"c\": 1\n}")]);
        check("{\"a\":\"b\n{\n  \"c\": 1\n}", &[(0, "x{\"a\":\"b"), (8, "V{\n  \"c\": 1\n}")]);
        check("{\"a\":{\r\n{\r\n\t\"c\": 1\r\n}", &[(0, "x{\"a\":{"), (8, "V{\r\n\t\"c\": 1\r\n}")]);
    }
}
