//! A file as an agent reads it, where its lines are not its rows: the guard compares with that and not with what a repair
//! makes of the bytes.
//!
//! 2.1.31 and 2.1.100 read a row from each line. 2.1.325 reads a value wherever a line begins, also one over several lines,
//! and goes on behind the next newline; so it does where there is none (measured).

use std::io::{self, Read};

use crate::facts::Facts;
use crate::index::Index;
use crate::json::Cursor;
use crate::lines::{self, Buffer};
use crate::models::Version;
use crate::scan::{AsSource, Transcript, is_uuid};
use crate::source::{FromStart, Source};

/// How much is read at once.
const BLOCK: usize = 256 * 1024;
/// A value that is larger is none: a bracket was lost.
const LARGEST: usize = 1 << 30;
/// All values that turn out to be none may together take this many times the file. A file of brackets must not take minutes.
const TRIES: u64 = 16;
/// A reader that stops so near to the end of what is there may want more.
const NEAR_END: usize = 16;

/// The source of another transcript.
pub(crate) struct Borrowed<'a>(&'a dyn Source);

impl AsSource for Borrowed<'_> {
    fn as_source(&self) -> &dyn Source {
        self.0
    }
}

impl<S: AsSource> Transcript<S> {
    /// The file as a version of the agent reads it, where its lines are not its rows.
    ///
    /// # Errors
    /// The file cannot be read.
    pub(crate) fn as_read(&self, version: Version) -> io::Result<Option<Transcript<Borrowed<'_>>>> {
        let has_rows_over_lines = || version == Version::V325 && !self.index.broken.is_empty();
        if self.form.is_none() && !has_rows_over_lines() {
            return Ok(None);
        }
        let source = self.source.as_source();
        let name = self.name.as_deref().filter(|name| is_uuid(name));
        let index = index(source, self.index.size, name, version)?;
        Ok(Some(self.with_index(index, Borrowed(source))))
    }
}

/// The rows that a version reads.
fn index(source: &dyn Source, size: u64, name: Option<&str>, version: Version) -> io::Result<Index> {
    let mut index = Index::default();
    index.size = size;
    let (mut facts, session) = (Facts::default(), name.map(str::to_owned));
    let whole = FromStart { source, at: 0, size };
    let mut row = |offset: u64, text: &[u8]| {
        if facts.read(text).is_some() {
            index.row(offset, text.len(), text, &facts, &session);
        }
    };
    if version == Version::V325 {
        values(whole, size, row)?;
    } else {
        let mut is_over = false;
        lines::for_each(whole, &mut Buffer::default(), |line| {
            let mark = if line.offset == 0 && line.bytes.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
            is_over |= line.bytes.trim_ascii() == b"null";
            if !is_over {
                row(line.offset + mark, &line.bytes[usize::try_from(mark).unwrap_or(0)..]);
            }
        })?;
    }
    index.link();
    Ok(index)
}

/// Calls `visit` with every value that begins where a line does, and its place.
fn values(mut source: impl Read, size: u64, mut visit: impl FnMut(u64, &[u8])) -> io::Result<()> {
    let mut text = Vec::new();
    let (mut at, mut offset) = (0, 0u64); // what was looked at, and where `text` begins in the file
    let mut wanted = BLOCK;
    let mut budget = size.saturating_mul(TRIES).max(1 << 20);
    let mut is_all = false;
    loop {
        if wanted > 0 {
            text.drain(..at);
            offset += at as u64;
            at = 0;
            let more = wanted.max(text.len()); // twice as much each time: all tries together are one pass
            is_all = source.by_ref().take(more as u64).read_to_end(&mut text)? < more;
            wanted = 0;
        }
        if offset == 0 && at == 0 && text.starts_with(b"\xef\xbb\xbf") {
            at = 3;
        }
        at += text[at..].iter().take_while(|byte| byte.is_ascii_whitespace()).count();
        let rest = &text[at..];
        if rest.is_empty() {
            if is_all {
                return Ok(());
            }
            wanted = BLOCK;
            continue;
        }
        let (whole, passed) = if budget == 0 { (false, 0) } else { value(rest) };
        if !whole && passed + NEAR_END >= rest.len() && !is_all && rest.len() < LARGEST {
            wanted = BLOCK;
            continue;
        }
        if whole {
            visit(offset + at as u64, &rest[..passed]);
        } else {
            budget = budget.saturating_sub(passed as u64);
        }
        let from = at + if whole { passed } else { 0 };
        match memchr::memchr(b'\n', &text[from..]) {
            Some(line) => at = from + line + 1,
            None if is_all => return Ok(()),
            // The line goes on: what is left of it says nothing.
            None => at = skip_line(&mut source, &mut text, &mut offset, &mut is_all)?,
        }
    }
}

/// Whether a whole value begins here, and how far it was read.
fn value(text: &[u8]) -> (bool, usize) {
    let mut cursor = Cursor::new(text);
    let whole = cursor.value().is_some();
    (whole, cursor.at())
}

/// Reads on behind the next newline; where in `text` that is.
fn skip_line(
    source: &mut impl Read,
    text: &mut Vec<u8>,
    offset: &mut u64,
    is_all: &mut bool,
) -> io::Result<usize> {
    loop {
        *offset += text.len() as u64;
        text.clear();
        *is_all = source.take(BLOCK as u64).read_to_end(text)? < BLOCK;
        match memchr::memchr(b'\n', text) {
            Some(line) => return Ok(line + 1),
            None if *is_all => return Ok(text.len()),
            None => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::values;

    fn check(text: &str, expect: &[&str]) {
        let mut got = Vec::new();
        values(text.as_bytes(), text.len() as u64, |at, value| {
            assert!(text.as_bytes()[usize::try_from(at).unwrap()..].starts_with(value));
            got.push(String::from_utf8_lossy(value).into_owned());
        })
        .unwrap();
        assert_eq!(got, expect, "{}", &text[..text.len().min(100)]);
    }

    #[test]
    fn a_value_begins_where_a_line_does() {
        check("{\"a\":1}\n{\n  \"b\": 2\n}\n", &["{\"a\":1}", "{\n  \"b\": 2\n}"]);
        check("{\"a\":1}{\"b\":2}\n{\"c\":3}", &["{\"a\":1}", "{\"c\":3}"]);
        check("\u{feff}{\"a\":1}\r\n", &["{\"a\":1}"]);
    }

    #[test]
    fn behind_a_torn_row_it_goes_on() {
        check("{\"a\":\"x\n{\n  \"b\": 2\n}\n", &["{\n  \"b\": 2\n}"]);
        check("{\"a\":{\n{\n\t\"b\": 2\n}\n", &["{\n\t\"b\": 2\n}"]);
        check("{\n  \"a\": \"x\n{\"b\":2}", &["\"a\"", "{\"b\":2}"]);
    }

    #[test]
    fn rows_of_any_length_are_read() {
        let long = format!("{{\"a\":\"{}\"}}", "x".repeat(1 << 20));
        let text = format!("{long}\n{{\"torn\":\"{}\n{long}\n{{\"b\":2}}", "y".repeat(1 << 20));
        check(&text, &[&long, &long, "{\"b\":2}"]);
        check(&"[\n".repeat(1 << 17), &[]);
    }
}
