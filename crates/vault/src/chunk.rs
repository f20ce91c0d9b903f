//! Cuts a stream of rows into pieces of about 128 KiB at places that depend on the rows alone, so that a copy, a fork
//! or a rewritten file is cut at the same rows and shares its pieces.

use std::io::{self, Read};

use memchr::{memchr_iter, memmem};

/// Below this no piece ends: tiny frames compress badly.
const SHORTEST: usize = 32 * 1024;
/// On average a piece ends this far after the shortest: together 128 KiB.
const SPREAD: usize = 96 * 1024;
/// From here on every row's end is an end of a piece.
const LONG: usize = 512 * 1024;
/// Rows longer than this are cut inside: agents write rows of 200 MB (A5), and memory must not follow.
const LONGEST: usize = 1024 * 1024;
/// How much of a row decides whether a piece ends after it: enough for uuid and timestamp to be in it.
const DECIDES: usize = 256;
const BLOCK: usize = 1024 * 1024;

/// One piece of a file.
pub(crate) struct Chunk<'a> {
    pub(crate) bytes: &'a [u8],
    /// Newlines in it.
    pub(crate) rows: u64,
    /// Whether it ends because of its content; an open one ends because the file does.
    pub(crate) closed: bool,
}

/// Reads pieces from a stream.
pub(crate) struct Chunker<'a, R> {
    input: R,
    id: memmem::Finder<'a>,
    buffer: Vec<u8>,
    start: usize,
    ended: bool,
}

impl<'a, R: Read> Chunker<'a, R> {
    /// `buffer` is only its memory; take it back with [`Chunker::into_buffer`].
    pub(crate) fn new(input: R, id: &'a [u8], mut buffer: Vec<u8>) -> Self {
        buffer.clear();
        Self { input, id: memmem::Finder::new(id), buffer, start: 0, ended: false }
    }

    pub(crate) fn into_buffer(self) -> Vec<u8> {
        self.buffer
    }

    /// The next piece; `None` at the end.
    pub(crate) fn next(&mut self) -> io::Result<Option<Chunk<'_>>> {
        let mut scan = Scan::default();
        loop {
            if let Some(length) = scan.advance(&self.buffer[self.start..], &self.id) {
                return Ok(Some(self.take(length, scan.rows, true)));
            }
            if self.ended {
                let rest = self.buffer.len() - self.start;
                return Ok((rest > 0).then(|| self.take(rest, scan.rows, false)));
            }
            self.fill()?;
        }
    }

    fn take(&mut self, length: usize, rows: u64, closed: bool) -> Chunk<'_> {
        let from = self.start;
        self.start += length;
        Chunk { bytes: &self.buffer[from..from + length], rows, closed }
    }

    fn fill(&mut self) -> io::Result<()> {
        self.buffer.drain(..self.start);
        self.start = 0;
        let read = (&mut self.input).take(BLOCK as u64).read_to_end(&mut self.buffer)?;
        self.ended = read == 0;
        Ok(())
    }
}

/// How far a piece has been looked at, from its start.
#[derive(Default)]
struct Scan {
    looked: usize,
    row_start: usize,
    rows: u64,
}

impl Scan {
    /// The length of the piece, once what is there decides it.
    fn advance(&mut self, bytes: &[u8], id: &memmem::Finder<'_>) -> Option<usize> {
        for at in memchr_iter(b'\n', &bytes[self.looked..]) {
            let end = self.looked + at + 1;
            if end > LONGEST {
                return Some(self.forced());
            }
            self.rows += 1;
            let row = &bytes[self.row_start..end];
            self.row_start = end;
            if end >= LONG || (end >= SHORTEST && decides(row, id)) {
                return Some(end);
            }
        }
        self.looked = bytes.len();
        (bytes.len() > LONGEST).then(|| self.forced())
    }

    // A giant row begins a piece of its own where what stands before it is worth one.
    fn forced(&self) -> usize {
        if self.row_start >= SHORTEST { self.row_start } else { LONGEST }
    }
}

// Every byte has the same chance to be the last of a piece, however long the rows are.
fn decides(row: &[u8], id: &memmem::Finder<'_>) -> bool {
    let scaled = (u128::from(row_hash(row, id)) * SPREAD as u128) >> 64;
    scaled < row.len() as u128
}

// Of the row's end without the conversation's own id, so that a fork decides alike. Speed matters, secrecy does not.
fn row_hash(row: &[u8], id: &memmem::Finder<'_>) -> u64 {
    let length = id.needle().len();
    let mut at = row.len().saturating_sub(DECIDES);
    let mut hash = 0x9e37_79b9_7f4a_7c15;
    if length > 0 {
        // An id that begins before the window and reaches into it would leave half of itself there.
        let from = at.saturating_sub(length - 1);
        for found in id.find_iter(&row[from..]) {
            let (begin, end) = (from + found, from + found + length);
            if end > at {
                hash = mix(hash, &row[at.min(begin)..begin]);
                at = end;
            }
        }
    }
    mix(hash, &row[at..])
}

// Multiply and fold, eight bytes at a time (the scheme of wyhash).
fn mix(mut hash: u64, bytes: &[u8]) -> u64 {
    for part in bytes.chunks(8) {
        let mut word = [0; 8];
        word[..part.len()].copy_from_slice(part);
        let product = u128::from(hash ^ u64::from_le_bytes(word))
            * 0xa076_1d64_78bd_642f_e703_7ed1_a0b4_28db_u128 as u64 as u128;
        hash = (product as u64) ^ ((product >> 64) as u64) ^ 0x8ebc_6af0_9c88_c6e3;
    }
    hash
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(id: &str, count: usize, seed: u64) -> Vec<u8> {
        let mut out = Vec::new();
        let mut state = seed;
        for n in 0..count {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let text = "x".repeat((state >> 54) as usize);
            let row = format!(
                "{{\"sessionId\":\"{id}\",\"text\":\"{text}{n}\",\"uuid\":\"{state:016x}\",\"of\":\"{id}\"}}\n"
            );
            out.extend_from_slice(row.as_bytes());
        }
        out
    }

    fn cut(bytes: &[u8], id: &str) -> Vec<(usize, u64, bool)> {
        let mut chunker = Chunker::new(bytes, id.as_bytes(), Vec::new());
        let mut cuts = Vec::new();
        let mut whole = Vec::new();
        while let Some(chunk) = chunker.next().unwrap() {
            cuts.push((chunk.bytes.len(), chunk.rows, chunk.closed));
            whole.extend_from_slice(chunk.bytes);
        }
        assert_eq!(whole, bytes);
        cuts
    }

    #[test]
    fn pieces_are_whole_rows_of_about_128_kib() {
        let bytes = rows("aaaaaaaa", 20_000, 1);
        let cuts = cut(&bytes, "aaaaaaaa");
        let average = bytes.len() / cuts.len();
        assert!((96 * 1024..160 * 1024).contains(&average), "{average}");
        let mut at = 0;
        for (length, _, closed) in &cuts[..cuts.len() - 1] {
            at += length;
            assert_eq!(bytes[at - 1], b'\n');
            assert!(*closed && *length >= SHORTEST && *length <= LONGEST);
        }
        assert_eq!(cuts.iter().map(|cut| cut.1).sum::<u64>(), 20_000);
    }

    #[test]
    fn a_fork_is_cut_at_the_same_rows() {
        assert_eq!(
            cut(&rows("aaaaaaaa", 5_000, 2), "aaaaaaaa"),
            cut(&rows("bbbbbbbb", 5_000, 2), "bbbbbbbb")
        );
    }

    #[test]
    fn an_insertion_moves_no_cut_far_behind_it() {
        let old = rows("aaaaaaaa", 5_000, 3);
        let new = [&rows("aaaaaaaa", 3, 9)[..], &old].concat();
        let ends = |bytes: &[u8]| {
            let mut at = 0;
            let ends: Vec<usize> = cut(bytes, "aaaaaaaa")
                .iter()
                .map(|c| {
                    at += c.0;
                    bytes.len() - at
                })
                .collect();
            ends
        };
        let (old, new) = (ends(&old), ends(&new));
        let shared = new.iter().filter(|end| old.contains(end)).count();
        assert!(shared * 10 > new.len() * 8, "{shared} of {}", new.len());
    }

    #[test]
    fn giant_rows_are_cut_inside_and_begin_their_own_piece() {
        let mut bytes = rows("aaaaaaaa", 100, 4);
        bytes.truncate(bytes[..60_000].iter().rposition(|b| *b == b'\n').unwrap() + 1);
        let before = bytes.len();
        bytes.extend(std::iter::repeat_n(b'y', 3 * LONGEST));
        bytes.extend_from_slice(b"\n{}\n");
        let cuts = cut(&bytes, "aaaaaaaa");
        assert!(cuts.iter().all(|cut| cut.0 <= LONGEST));
        let mut at = 0;
        assert!(
            cuts.iter().any(|cut| {
                at += cut.0;
                at == before
            }),
            "{cuts:?}"
        );
    }

    #[test]
    fn cutting_on_from_any_cut_gives_the_same_pieces() {
        let bytes = rows("aaaaaaaa", 3_000, 5);
        let cuts = cut(&bytes, "aaaaaaaa");
        let first: usize = cuts[..3].iter().map(|cut| cut.0).sum();
        assert_eq!(cut(&bytes[first..], "aaaaaaaa"), cuts[3..]);
    }
}
