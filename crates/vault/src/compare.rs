//! Where a file and a generation of it part ways.

use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use crate::error::reading;
use crate::frame::{Codec, Digest, Frame};
use crate::replay::Generation;
use crate::vault::Vault;
use crate::{Error, Key};

/// How much must still stand before the end for what follows to be an append (ARCHITECTURE.md).
const TAIL: u64 = 64 * 1024;

/// What a mirrored file holds, as it is to be mirrored.
pub(crate) trait Content: Read + Seek {}

impl<T: Read + Seek> Content for T {}

/// What a file and a generation share from their beginnings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Common {
    /// Whole frames.
    pub(crate) frames: usize,
    /// Bytes, also beyond those frames.
    pub(crate) bytes: u64,
}

/// The hash of the last 64 KiB before `end`.
pub(crate) fn tail_hash(file: &mut dyn Content, end: u64) -> io::Result<Digest> {
    let from = end.saturating_sub(TAIL);
    file.seek(SeekFrom::Start(from))?;
    let mut bytes = Vec::with_capacity((end - from) as usize);
    file.take(end - from).read_to_end(&mut bytes)?;
    Ok(Digest::of(&bytes))
}

/// Whether a file no shorter than the generation still has its last 64 KiB where they were.
pub(crate) fn same_tail(file: &mut dyn Content, generation: &Generation) -> io::Result<bool> {
    Ok(tail_hash(file, generation.source.size)? == generation.tail)
}

/// Compares a whole file with a generation, frame by frame; `size` is how much of the file counts.
pub(crate) fn common(
    vault: &Vault,
    key: &Key,
    codec: &mut Codec,
    (file, path): (&mut dyn Content, &Path),
    size: u64,
    generation: &Generation,
) -> Result<Common, Error> {
    let id = id_of(key);
    let mut buffer = Vec::new();
    let mut at = 0;
    file.seek(SeekFrom::Start(0)).map_err(reading(path))?;
    for (number, frame) in generation.frames.iter().enumerate() {
        let wanted = u64::from(frame.raw).min(size - at);
        buffer.clear();
        file.take(wanted).read_to_end(&mut buffer).map_err(reading(path))?;
        if wanted == u64::from(frame.raw) && codec.is(frame, &buffer, id.as_bytes()) {
            at += wanted;
            continue;
        }
        let stored = stored(vault, key, codec, frame, id.as_bytes());
        let same = buffer.iter().zip(stored).take_while(|(new, old)| new == old).count();
        return Ok(Common { frames: number, bytes: at + same as u64 });
    }
    Ok(Common { frames: generation.frames.len(), bytes: at })
}

// A damaged frame has nothing in common with anything.
fn stored<'a>(vault: &Vault, key: &Key, codec: &'a mut Codec, frame: &Frame, id: &[u8]) -> &'a [u8] {
    match vault.data(key, frame.place.as_deref()) {
        Ok(data) => codec.unpack(&data, frame, id).unwrap_or_default(),
        Err(_) => &[],
    }
}

/// What is replaced by the placeholder in this conversation's rows.
pub(crate) fn id_of(key: &Key) -> String {
    key.session().map(|session| session.to_string()).unwrap_or_default()
}
