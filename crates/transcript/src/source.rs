//! Where a transcript's bytes come from: a file, or memory.

use std::fs::File;
use std::io::{self, Read};

/// Bytes that can be read from any place, so that a scan keeps positions instead of rows.
pub trait Source {
    /// Fills `buffer` from `offset` on, or fails.
    fn read_exact_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()>;

    /// The bytes of one range.
    fn bytes(&self, offset: u64, len: usize) -> io::Result<Vec<u8>> {
        let mut buffer = vec![0; len];
        self.read_exact_at(offset, &mut buffer)?;
        Ok(buffer)
    }
}

impl Source for File {
    fn read_exact_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        std::os::unix::fs::FileExt::read_exact_at(self, buffer, offset)
    }
}

impl Source for [u8] {
    fn read_exact_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        let start = usize::try_from(offset).unwrap_or(usize::MAX);
        let end = start.saturating_add(buffer.len());
        let bytes = self.get(start..end).ok_or(io::ErrorKind::UnexpectedEof)?;
        buffer.copy_from_slice(bytes);
        Ok(())
    }
}

/// Reads a source from its beginning to its end.
pub(crate) struct FromStart<'a> {
    pub(crate) source: &'a dyn Source,
    pub(crate) at: u64,
    pub(crate) size: u64,
}

impl Read for FromStart<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = usize::try_from(self.size - self.at).unwrap_or(usize::MAX);
        let some = buffer.len().min(left);
        self.source.read_exact_at(self.at, &mut buffer[..some])?;
        self.at += some as u64;
        Ok(some)
    }
}
