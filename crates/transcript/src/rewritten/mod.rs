//! Files that another program wrote anew (A13): UTF-16, one JSON array, pretty-printed rows, lines folded at a width.
//!
//! The index of such a file holds each row's place in the file as it is; [`Form`] turns those bytes into the row that
//! the agent wrote. A repair first writes one row per line; everything else is mended in the next round.

mod decode;
mod fold;
mod split;

use std::borrow::Cow;
use std::io::{self, Read, Write};

use crate::facts::{Facts, Kind};
use crate::index::Index;
use crate::source::Source;

use decode::{Decoder, Encoding};
use fold::{Folds, Join};
use split::{Piece, Splitter};

/// How a file was written anew.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Form {
    encoding: Encoding,
    layout: Layout,
    join: Join,
}

/// How the rows stand in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Layout {
    /// One on each line, in another encoding.
    Rows,
    /// The elements of one array.
    Array,
    /// Over several lines.
    Pretty,
    /// Cut at a width, also within texts.
    Folded,
}

/// How many lines that are no rows may follow each other before the file is taken for one that was written anew. Two torn
/// rows in a row happen; a third is looked into.
const SUSPICIOUS: u64 = 3;

impl Form {
    /// What it is and what a repair does, in words.
    pub(crate) fn words(self) -> (&'static str, &'static str) {
        match (self.encoding, self.layout) {
            (Encoding::Utf16Le | Encoding::Utf16Be, _) => {
                ("UTF-16", "it becomes UTF-8 with one row per line, as the agent writes it")
            }
            (_, Layout::Array) => ("one JSON array", "each element becomes a row on its own line"),
            (_, Layout::Folded) => ("lines folded at a width", "the lines of each row are joined"),
            (_, Layout::Pretty | Layout::Rows) => {
                ("pretty-printed rows", "each row gets one line of its own")
            }
        }
    }

    /// Whether the newest agent reads it as it is: 2.1.325 finds rows over several lines (measured).
    pub(crate) fn newest_agent_reads_it(self) -> bool {
        self.encoding == Encoding::Utf8 && self.layout == Layout::Pretty
    }

    /// The row that these bytes of the file are.
    fn row(self, raw: &[u8]) -> Vec<u8> {
        let text = decode::whole(raw, self.encoding);
        fold::one_line(&text, self.join).unwrap_or(text)
    }
}

/// How a file that starts with these bytes was written anew, by the read through it; `None` where its lines are rows or
/// where nothing better can be made of them.
///
/// # Errors
/// The file cannot be read again.
pub(crate) fn detect<R: Read>(
    head: &[u8],
    index: &Index,
    mut again: impl FnMut() -> io::Result<R>,
) -> io::Result<Option<Form>> {
    let encoding = Encoding::of(head);
    let begins = starts_array(&decode::whole(head, encoding));
    if encoding == Encoding::Utf8 && !begins && index.broken_run < SUSPICIOUS {
        return Ok(None);
    }
    let mut facts = Facts::default();
    let (mut whole, mut broken) = (0u64, 0u64); // rows without and with a cut inside of a text
    let (mut lines, mut array, mut folds) = (0u64, begins, Folds::default());
    pieces(encoding, again()?, |piece, _| {
        match piece {
            Piece::Value(text) => {
                let cut = folds.look(text);
                lines += u64::from(memchr::memchr(b'\n', text).is_some());
                let row = fold::one_line(text, Join::Nothing);
                if is_row(row.as_deref().unwrap_or(text), &mut facts) {
                    *(if cut { &mut broken } else { &mut whole }) += 1;
                }
            }
            Piece::Bracket => array = true,
            Piece::Other(_) => {}
        }
        Ok(())
    })?;
    // Two halves of different rows can look like one row that was cut. A folded file has many cuts, and says its width.
    let join = folds.join().filter(|_| broken > 0);
    let found = whole + if join.is_some() { broken } else { 0 };
    let known = index.rows.iter().filter(|row| row.uuid != 0 && row.kind().in_tree()).count() as u64;
    let layout = match join {
        Some(_) => Layout::Folded,
        None if array && lines + whole > 0 => Layout::Array,
        None if lines > 0 => Layout::Pretty,
        None => Layout::Rows,
    };
    // A bracket among broken lines makes no array of rows that are read as they stand.
    let is_array = begins && layout == Layout::Array;
    let better = found > known || found == known && found > 0 && is_array && index.broken_run > 0;
    Ok(better.then_some(Form { encoding, layout, join: join.unwrap_or(Join::Never) }))
}

/// Whether a file begins as an array of objects does.
fn starts_array(head: &[u8]) -> bool {
    let inside = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head).trim_ascii_start().strip_prefix(b"[");
    inside.is_some_and(|inside| matches!(inside.trim_ascii_start().first(), Some(b'{') | None))
}

/// Whether this is a row that agents keep.
fn is_row(text: &[u8], facts: &mut Facts) -> bool {
    facts.read(text).is_some() && facts.uuid.is_some() && facts.kind != Kind::Other && facts.kind.in_tree()
}

/// Calls `visit` for each row of the file with its place, its length there, and its text.
///
/// # Errors
/// The file cannot be read.
pub(crate) fn rows(
    form: Form,
    source: impl Read,
    mut visit: impl FnMut(u64, usize, &[u8]),
) -> io::Result<u64> {
    let mut at_end = 0;
    pieces(form.encoding, source, |piece, at| {
        if let Piece::Value(text) = piece {
            let row = fold::one_line(text, form.join);
            visit(at, decode::raw_len(text, form.encoding), row.as_deref().unwrap_or(text));
        }
        at_end = at;
        Ok(())
    })
}

/// Writes the file with one row per line. What is no row stays as it is, on lines of its own.
///
/// # Errors
/// Reading or writing fails.
pub(crate) fn write(form: Form, source: impl Read, out: &mut dyn Write) -> io::Result<()> {
    pieces(form.encoding, source, |piece, _| {
        match piece {
            Piece::Value(text) => {
                out.write_all(fold::one_line(text, form.join).as_deref().unwrap_or(text))?;
            }
            Piece::Other(text) => out.write_all(text)?,
            Piece::Bracket => return Ok(()),
        }
        out.write_all(b"\n")
    })?;
    Ok(())
}

/// Bytes in memory with one row per line.
pub(crate) fn plain(bytes: &[u8]) -> Cow<'_, [u8]> {
    let Ok((_, Some(form))) = read_index(bytes, None, || Ok(bytes), &mut crate::lines::Buffer::default())
    else {
        return Cow::Borrowed(bytes);
    };
    let mut out = Vec::with_capacity(bytes.len());
    match write(form, bytes, &mut out) {
        Ok(()) => Cow::Owned(out),
        Err(_) => Cow::Borrowed(bytes),
    }
}

/// Reads a transcript as it is, or as it was before another program wrote it anew.
///
/// # Errors
/// The file cannot be read.
pub(crate) fn read_index<R: Read>(
    head: &[u8],
    name: Option<&str>,
    mut again: impl FnMut() -> io::Result<R>,
    buffer: &mut crate::lines::Buffer,
) -> io::Result<(Index, Option<Form>)> {
    let head = &head[..head.len().min(HEAD)];
    let other = Encoding::of(head) != Encoding::Utf8 || starts_array(head);
    // One line may be the whole file: an array is not read by lines first.
    let index = if other { Index::default() } else { Index::read(again()?, name, buffer)? };
    let Some(form) = detect(head, &index, &mut again)? else {
        let index = if other || index.gave_up { Index::read_all(again()?, name, buffer)? } else { index };
        return Ok((index, None));
    };
    Ok((Index::read_rewritten(form, again()?, name)?, Some(form)))
}

/// How much of a file's beginning tells its encoding.
pub(crate) const HEAD: usize = 64;

/// Feeds a file to the splitter; returns its length. `visit` gets each piece with its place in the file.
fn pieces(
    encoding: Encoding,
    mut source: impl Read,
    mut visit: impl FnMut(Piece<'_>, u64) -> io::Result<()>,
) -> io::Result<u64> {
    const BLOCK: usize = 256 * 1024;
    let mut block = vec![0; BLOCK];
    let mut decoder = Decoder::new(encoding);
    let mut splitter = Splitter::new(encoding);
    let mut size = 0;
    loop {
        let read = match source.read(&mut block) {
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        if read == 0 {
            break;
        }
        size += read as u64;
        splitter.push(decoder.decode(&block[..read]), &mut visit)?;
    }
    splitter.push(decoder.finish(), &mut visit)?;
    splitter.finish(&mut visit)?;
    Ok(size)
}

/// A source whose rows are read as they were before another program wrote them anew.
pub(crate) struct Rows<'a> {
    pub(crate) source: &'a dyn Source,
    pub(crate) form: Form,
}

impl Source for Rows<'_> {
    fn read_exact_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        self.source.read_exact_at(offset, buffer)
    }

    fn bytes(&self, offset: u64, len: usize) -> io::Result<Vec<u8>> {
        Ok(self.form.row(&self.source.bytes(offset, len)?))
    }
}
