//! One piece of a file, folded, compressed, and the reference by which a manifest names it.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use serde::{Deserialize, Serialize};

use crate::placeholder::{fold, unfold};

/// Fast enough that the disk is the limit; rows shrink to about a sixth even so.
const LEVEL: i32 = 1;

/// A frame as a manifest names it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Frame {
    /// The conversation whose data holds it, where that is another one.
    #[serde(rename = "in", default, skip_serializing_if = "Option::is_none")]
    pub(crate) place: Option<String>,
    /// Where it begins in the data.
    pub(crate) offset: u64,
    /// How long it is there.
    pub(crate) length: u32,
    /// How many bytes of the file it stands for.
    pub(crate) raw: u32,
    /// How many newlines are in them.
    pub(crate) rows: u64,
    /// Whether a user's or an assistant's row is among them.
    #[serde(default, skip_serializing_if = "is_false")]
    pub(crate) talk: bool,
    /// Whether the conversation's own id was replaced by the placeholder.
    #[serde(default, skip_serializing_if = "is_false")]
    pub(crate) folded: bool,
    /// Of the (folded) content: what it is.
    pub(crate) blake3: Digest,
    /// Of the stored bytes: the compression leaves bits that the content does not depend on.
    pub(crate) check: Check,
}

fn is_false(value: &bool) -> bool {
    !value
}

/// A blake3 hash, spelled in hexadecimal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Digest(pub(crate) [u8; 32]);

/// The first 64 bits of a blake3 hash: enough against decay, which chooses no collisions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Check(u64);

impl Digest {
    pub(crate) fn of(bytes: &[u8]) -> Self {
        Self(*blake3::hash(bytes).as_bytes())
    }
}

/// One hash over what a list of frames stands for: their content, in order.
pub(crate) fn digest_of_all<'a>(frames: impl IntoIterator<Item = &'a Frame>) -> Digest {
    let mut hasher = blake3::Hasher::new();
    for frame in frames {
        hasher.update(&frame.blake3.0).update(&frame.raw.to_le_bytes()).update(&[u8::from(frame.folded)]);
    }
    Digest(*hasher.finalize().as_bytes())
}

impl Check {
    fn of(bytes: &[u8]) -> Self {
        let hash = blake3::hash(bytes);
        let mut first = [0; 8];
        first.copy_from_slice(&hash.as_bytes()[..8]);
        Self(u64::from_be_bytes(first))
    }
}

impl Serialize for Digest {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&blake3::Hash::from_bytes(self.0).to_hex())
    }
}

impl<'de> Deserialize<'de> for Digest {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
        let hash = blake3::Hash::from_hex(text.as_bytes()).map_err(serde::de::Error::custom)?;
        Ok(Self(*hash.as_bytes()))
    }
}

impl Serialize for Check {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&format!("{:016x}", self.0))
    }
}

impl<'de> Deserialize<'de> for Check {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
        u64::from_str_radix(&text, 16).map(Self).map_err(serde::de::Error::custom)
    }
}

/// Why a frame does not give back what was stored.
#[derive(Debug, thiserror::Error)]
pub enum FrameError {
    /// The data file could not be read there.
    #[error("read the stored bytes")]
    Io(#[source] io::Error),
    /// The stored bytes are not those that were written.
    #[error("trust the stored bytes: they have changed")]
    Changed,
    /// They are, and still do not give the content; the manifest is wrong.
    #[error("unpack the stored bytes: they are not what the manifest says")]
    Content,
}

/// Compressors and their buffers: made once, used for thousands of frames.
pub(crate) struct Codec {
    compressor: zstd::bulk::Compressor<'static>,
    decompressor: zstd::bulk::Decompressor<'static>,
    folded: Vec<u8>,
    packed: Vec<u8>,
    raw: Vec<u8>,
    pub(crate) buffer: Vec<u8>,
}

/// A piece made ready for storing.
pub(crate) struct Folded {
    pub(crate) folded: bool,
    pub(crate) blake3: Digest,
}

impl Codec {
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self {
            compressor: zstd::bulk::Compressor::new(LEVEL)?,
            decompressor: zstd::bulk::Decompressor::new()?,
            folded: Vec::new(),
            packed: Vec::new(),
            raw: Vec::new(),
            buffer: Vec::new(),
        })
    }

    /// What a piece is, by its content without the conversation's own id.
    pub(crate) fn fold(&mut self, raw: &[u8], id: &[u8]) -> Folded {
        let folded = fold(raw, id, &mut self.folded);
        Folded { folded, blake3: Digest::of(if folded { &self.folded } else { raw }) }
    }

    /// Whether a frame holds exactly this piece, by hash, without reading the frame.
    pub(crate) fn is(&mut self, frame: &Frame, raw: &[u8], id: &[u8]) -> bool {
        let digest = if frame.folded {
            if !fold(raw, id, &mut self.folded) {
                return false;
            }
            Digest::of(&self.folded)
        } else {
            Digest::of(raw)
        };
        digest == frame.blake3 && raw.len() == frame.raw as usize
    }

    /// Compresses the piece last folded; the bytes are valid until the next call.
    pub(crate) fn pack(&mut self, raw: &[u8], folded: &Folded) -> io::Result<(&[u8], Check)> {
        let content = if folded.folded { &self.folded } else { raw };
        self.packed.clear();
        self.packed.reserve(zstd::zstd_safe::compress_bound(content.len()));
        self.compressor.compress_to_buffer(content, &mut self.packed)?;
        Ok((&self.packed, Check::of(&self.packed)))
    }

    /// Whether stored bytes unpack to exactly this content; a hint is believed only then. Leaves the folded piece alone.
    pub(crate) fn probe(
        &mut self,
        data: &File,
        (offset, length): (u64, u32),
        folded: &Folded,
        raw: usize,
    ) -> Option<Check> {
        self.packed.clear();
        self.packed.resize(length as usize, 0);
        data.read_exact_at(&mut self.packed, offset).ok()?;
        self.raw.clear();
        self.raw.reserve(raw);
        self.decompressor.decompress_to_buffer(&self.packed, &mut self.raw).ok()?;
        (Digest::of(&self.raw) == folded.blake3).then(|| Check::of(&self.packed))
    }

    /// Reads a frame back; every byte is checked.
    pub(crate) fn unpack(&mut self, data: &File, frame: &Frame, id: &[u8]) -> Result<&[u8], FrameError> {
        self.packed.clear();
        self.packed.resize(frame.length as usize, 0);
        data.read_exact_at(&mut self.packed, frame.offset).map_err(|error| {
            // A data file that ends early has lost bytes; that is damage, not a failure of the machine.
            if error.kind() == io::ErrorKind::UnexpectedEof {
                FrameError::Changed
            } else {
                FrameError::Io(error)
            }
        })?;
        if Check::of(&self.packed) != frame.check {
            return Err(FrameError::Changed);
        }
        self.folded.clear();
        // Folding never lengthens, so the raw length is room enough.
        self.folded.reserve(frame.raw as usize);
        self.decompressor
            .decompress_to_buffer(&self.packed, &mut self.folded)
            .map_err(|_| FrameError::Content)?;
        if Digest::of(&self.folded) != frame.blake3 {
            return Err(FrameError::Content);
        }
        let raw = if frame.folded {
            unfold(&self.folded, id, &mut self.raw);
            &self.raw
        } else {
            &self.folded
        };
        if raw.len() == frame.raw as usize { Ok(raw) } else { Err(FrameError::Content) }
    }
}
