//! Where a transcript's bytes come from: a file, or memory.

use std::fs::File;
use std::io;

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
