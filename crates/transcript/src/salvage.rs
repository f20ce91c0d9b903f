//! What can be saved of a line that is no row: whole rows inside of it, byte for byte (A1–A4).

use std::ops::Range;

use crate::facts::Facts;
use crate::flags::Flags;
use crate::json::Cursor;

/// A part of a broken line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Piece {
    /// A whole row.
    Row(Range<usize>),
    /// NUL bytes and white space around rows.
    Nothing(Range<usize>),
    /// What is left of a row; goes aside, never away.
    Reject(Range<usize>),
}

/// Every `{` is a place where a row may begin, and each try may read to the line's end. A line of brackets must
/// not take minutes, so all tries together may read this many times the line.
const TRIES: usize = 16;

/// Takes a broken line apart. `session` is the file's own id: only rows of it are found behind a torn one.
pub(crate) fn salvage(line: &[u8], session: Option<&str>, facts: &mut Facts) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut budget = line.len().saturating_mul(TRIES).max(1 << 20);
    let mut at = 0;
    let mut torn: Option<usize> = None; // where a fragment began
    loop {
        let rest = &line[at..];
        if torn.is_none() {
            let padding = rest.iter().take_while(|b| matches!(b, 0 | b' ' | b'\t' | b'\r')).count();
            if padding > 0 {
                pieces.push(Piece::Nothing(at..at + padding));
                at += padding;
            }
        }
        if at >= line.len() {
            break;
        }
        if line[at] == b'{'
            && let Some(length) = row_at(&line[at..], &mut budget)
            && (torn.is_none()
                || stands_alone(line, at + length) && is_ours(line, at..at + length, session, facts))
        {
            if let Some(start) = torn.take() {
                push_reject(&mut pieces, line, start..at);
            }
            pieces.push(Piece::Row(at..at + length));
            at += length;
            continue;
        }
        torn.get_or_insert(at);
        match memchr::memchr(b'{', &line[at + 1..]).filter(|_| budget > 0) {
            Some(next) => at += 1 + next,
            None => break,
        }
    }
    if let Some(start) = torn {
        push_reject(&mut pieces, line, start..line.len());
    }
    pieces
}

/// The length of the object that begins here, if one does.
fn row_at(bytes: &[u8], budget: &mut usize) -> Option<usize> {
    let mut cursor = Cursor::new(bytes);
    let whole = cursor.value();
    *budget = budget.saturating_sub(cursor.at());
    whole.map(|()| cursor.at())
}

/// A row that follows a torn one must reach the line's end, or the next row, or padding: a nested object of the
/// torn row does not.
fn stands_alone(line: &[u8], end: usize) -> bool {
    matches!(line.get(end), None | Some(0 | b'{' | b'\r'))
}

/// Whether this is a row of the file's own conversation. Where the torn row expected a value, only a row with a
/// uuid counts: some rows nest objects that have a `type` and a `sessionId`.
fn is_ours(line: &[u8], range: Range<usize>, session: Option<&str>, facts: &mut Facts) -> bool {
    let nested = matches!(line[..range.start].trim_ascii_end().last(), Some(b':' | b',' | b'['));
    let row = &line[range];
    facts.read(row).is_some()
        && !facts.flags.contains(Flags::NO_TYPE)
        && facts.session.is_some_and(|id| session.is_none_or(|ours| id.raw(row) == ours.as_bytes()))
        && (!nested || facts.uuid.is_some())
}

/// Keeps the fragment, without the NUL bytes and white space around it.
fn push_reject(pieces: &mut Vec<Piece>, line: &[u8], range: Range<usize>) {
    let nothing = |b: &u8| matches!(b, 0 | b' ' | b'\t' | b'\r');
    let tail = line[range.clone()].iter().rev().take_while(|b| nothing(b)).count();
    pieces.push(Piece::Reject(range.start..range.end - tail));
    if tail > 0 {
        pieces.push(Piece::Nothing(range.end - tail..range.end));
    }
}

#[cfg(test)]
mod tests {
    use super::{Piece, salvage};
    use crate::facts::Facts;

    /// `R` a row, `.` padding, `x` a reject, with their text.
    fn check(line: &str, expect: &[&str]) {
        let pieces = salvage(line.as_bytes(), Some("s"), &mut Facts::default());
        let shown: Vec<String> = pieces
            .iter()
            .map(|piece| {
                let (mark, range) = match piece {
                    Piece::Row(range) => ("R", range),
                    Piece::Nothing(range) => (".", range),
                    Piece::Reject(range) => ("x", range),
                };
                format!("{mark}{}", &line[range.clone()]).replace('\0', "0")
            })
            .collect();
        assert_eq!(shown, expect, "{line}");
    }

    #[test]
    fn glued_rows_are_split() {
        check(r#"{"a":1}{"b":2}"#, &[r#"R{"a":1}"#, r#"R{"b":2}"#]);
    }

    #[test]
    fn padding_goes() {
        check("\0\0{\"a\":1}\0", &[".00", "R{\"a\":1}", ".0"]);
        check("\0\0\0", &[".000"]);
    }

    #[test]
    fn a_row_behind_a_torn_one_lives() {
        check(
            r#"{"type":"user","prNu{"type":"user","sessionId":"s"}"#,
            &[r#"x{"type":"user","prNu"#, r#"R{"type":"user","sessionId":"s"}"#],
        );
        check(
            "{\"message\":{\"type\":\"x\",\"sessionId\":\"s\"},\"to\0\0\0{\"type\":\"user\",\"sessionId\":\"s\"}",
            &[
                "x{\"message\":{\"type\":\"x\",\"sessionId\":\"s\"},\"to",
                ".000",
                "R{\"type\":\"user\",\"sessionId\":\"s\"}",
            ],
        );
    }

    #[test]
    fn a_nested_object_is_no_row() {
        check(r#"{"message":{"type":"x","sessionId":"s"}"#, &[r#"x{"message":{"type":"x","sessionId":"s"}"#]);
        check(
            r#"{"torn":{"type":"user","sessionId":"other"}"#,
            &[r#"x{"torn":{"type":"user","sessionId":"other"}"#],
        );
    }

    #[test]
    fn garbage_is_kept_aside() {
        check("hello", &["xhello"]);
        check("null", &["xnull"]);
    }

    #[test]
    fn a_line_of_brackets_ends() {
        let line = "{".repeat(1 << 20);
        assert_eq!(salvage(line.as_bytes(), None, &mut Facts::default()).len(), 1);
    }
}
