//! What a repair would do, as a value: findings, changes, and the splices that make the new file.

use std::io::{self, Write};
use std::ops::Range;

use serde::Serialize;

use crate::class::Class;
use crate::rewritten::{self, Form};
use crate::source::{FromStart, Source};

/// One kind of damage in one file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// What it is.
    pub class: Class,
    /// Which lines of the file, counted from 1; the first hundred.
    pub rows: Vec<u64>,
    /// How many rows in all.
    pub count: u64,
    /// What a resume would lose because of it.
    pub loses: String,
    /// What a repair does about it.
    pub repair: String,
}

/// One value that a repair changes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Change {
    /// Why.
    pub class: Class,
    /// The line of the file, counted from 1.
    pub row: u64,
    /// Which value, such as `parentUuid` or `message.content`; empty where it is the whole row.
    pub what: String,
    /// What stood there, shortened; nothing where the row is new.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
    /// What will stand there; nothing where the row goes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
}

/// Bytes that cannot stay in the file; they are kept beside the backup.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reject {
    /// Why they cannot stay.
    pub class: Class,
    /// Where they stood.
    pub range: Range<u64>,
}

/// Replaces a range of the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Splice {
    pub(crate) range: Range<u64>,
    pub(crate) with: Vec<u8>,
}

/// Everything a repair would do to one file.
#[derive(Debug, Clone, Default)]
pub struct Plan {
    /// What is wrong.
    pub findings: Vec<Finding>,
    /// What will change, in file order.
    pub changes: Vec<Change>,
    /// What will be kept beside the backup.
    pub rejects: Vec<Reject>,
    /// How many dangling parents get a row of the file.
    pub orphans_fixed: u64,
    pub(crate) splices: Vec<Splice>,
    /// The form of a file that another program wrote anew: it is undone first, and nothing else is changed.
    pub(crate) rewritten: Option<Form>,
    /// Where lines move: all ranges of the file in their new order. A plan that moves lines changes nothing else.
    pub(crate) moves: Vec<Range<u64>>,
}

impl Plan {
    /// Whether the file stays as it is.
    pub fn is_empty(&self) -> bool {
        self.splices.is_empty() && self.moves.is_empty() && self.rewritten.is_none()
    }

    /// Writes the mended file: all bytes of `source` (it has `size`) but those the plan replaces.
    pub fn apply(&self, source: &dyn Source, size: u64, out: &mut dyn Write) -> io::Result<()> {
        if let Some(form) = self.rewritten {
            return rewritten::write(form, FromStart { source, at: 0, size }, out);
        }
        for range in &self.moves {
            copy(source, range.clone(), out)?;
            // The last line of the file may have no end; it needs one where another follows.
            if range.end == size && range.start < size && source.bytes(size - 1, 1)? != b"\n" {
                out.write_all(b"\n")?;
            }
        }
        if !self.moves.is_empty() {
            return Ok(());
        }
        let mut at = 0;
        for splice in &self.splices {
            copy(source, at..splice.range.start, out)?;
            out.write_all(&splice.with)?;
            at = splice.range.end;
        }
        copy(source, at..size, out)
    }

    /// The mended file in memory.
    pub fn apply_to_bytes(&self, bytes: &[u8]) -> Vec<u8> {
        let mut out = Vec::with_capacity(bytes.len());
        // Memory does not fail to be read or written.
        drop(self.apply(&bytes, bytes.len() as u64, &mut out));
        out
    }
}

/// Copies a range in pieces: a file may be larger than memory.
fn copy(source: &dyn Source, range: Range<u64>, out: &mut dyn Write) -> io::Result<()> {
    const PIECE: u64 = 1 << 20;
    let mut buffer = Vec::new();
    let mut at = range.start;
    while at < range.end {
        let piece = PIECE.min(range.end - at);
        buffer.resize(usize::try_from(piece).unwrap_or_default(), 0);
        source.read_exact_at(at, &mut buffer)?;
        out.write_all(&buffer)?;
        at += piece;
    }
    Ok(())
}
