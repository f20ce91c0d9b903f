//! A file as lines: split on `\n` bytes only, one reused buffer, a row of any length.
//!
//! `read`, not `mmap`: the agent truncates files in place, and a mapped file then dies with SIGBUS.

use std::io::{self, Read};

/// How much is read at once. Small enough to stay in the second-level cache between reading and scanning.
const BLOCK: usize = 128 * 1024;
// Doubling would take up to twice the largest row; the kernel moves pages, so many small steps cost little.
const MOST_GROWTH: usize = 32 * 1024 * 1024;

/// A line without its newline.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Line<'a> {
    pub(crate) offset: u64,
    pub(crate) bytes: &'a [u8],
    /// Whether a newline followed.
    pub(crate) ended: bool,
}

/// A buffer that grows to the largest row and is used again for the next file.
#[derive(Default)]
pub struct Buffer(Vec<u8>);

/// Calls `visit` for every line. Returns how many bytes there were.
pub(crate) fn for_each(
    mut source: impl Read,
    buffer: &mut Buffer,
    mut visit: impl FnMut(Line<'_>),
) -> io::Result<u64> {
    let buffer = &mut buffer.0;
    let (mut start, mut end) = (0, 0); // what is read and not yet visited
    let mut offset = 0u64; // of `start` in the file
    loop {
        if end == buffer.len() {
            if start > 0 {
                buffer.copy_within(start..end, 0);
                (start, end) = (0, end - start);
            }
            if buffer.len() - end < BLOCK / 2 {
                let more = buffer.len().clamp(BLOCK, MOST_GROWTH);
                buffer.reserve_exact(more);
                buffer.resize(buffer.len() + more, 0);
            }
        }
        let read = match source.read(&mut buffer[end..]) {
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        if read == 0 {
            break;
        }
        let fresh = end;
        end += read;
        let mut search = fresh;
        while let Some(at) = memchr::memchr(b'\n', &buffer[search..end]) {
            let newline = search + at;
            visit(Line { offset, bytes: &buffer[start..newline], ended: true });
            offset += (newline + 1 - start) as u64;
            start = newline + 1;
            search = start;
        }
        if start == end {
            (start, end) = (0, 0);
        }
    }
    if start < end {
        visit(Line { offset, bytes: &buffer[start..end], ended: false });
        offset += (end - start) as u64;
    }
    Ok(offset)
}

#[cfg(test)]
mod tests {
    use super::{Buffer, for_each};

    fn check(input: &[u8]) {
        let mut expect: Vec<(u64, Vec<u8>, bool)> = Vec::new();
        let mut offset = 0;
        for line in input.split_inclusive(|b| *b == b'\n') {
            let ended = line.ends_with(b"\n");
            expect.push((offset, line[..line.len() - usize::from(ended)].to_vec(), ended));
            offset += line.len() as u64;
        }
        let mut got = Vec::new();
        let size =
            for_each(input, &mut Buffer::default(), |l| got.push((l.offset, l.bytes.to_vec(), l.ended)));
        assert_eq!(size.unwrap(), input.len() as u64);
        assert!(got == expect, "{} lines for {}", got.len(), expect.len());
    }

    #[test]
    fn lines_of_any_length() {
        check(b"");
        check(b"\n\n");
        check(b"a\nb");
        check(b"a\r\n\nb\n");
        let mut long = vec![b'x'; 3_000_000];
        check(&long);
        long.extend_from_slice(b"\nshort\n");
        long.extend(vec![b'y'; 262_144]);
        long.push(b'\n');
        check(&long);
        for length in [262_143, 262_144, 262_145] {
            let mut rows = Vec::new();
            for _ in 0..5 {
                rows.extend(vec![b'z'; length]);
                rows.push(b'\n');
            }
            check(&rows);
        }
    }
}
