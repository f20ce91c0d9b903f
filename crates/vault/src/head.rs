//! `head`, the small file beside a manifest that says which line is the last one.
//!
//! The chain proves that no line is missing between two others; what was cut off at the end leaves no trace in it. `head` is
//! written after the manifest is on the disk, so after a crash it may be a line behind, and never ahead. It is not synced:
//! a power cut may leave an older one or an empty one, and then the end is as little proven as in a vault of 0.1.0.

use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};
use store::durable;

use crate::Error;
use crate::error::reading;
use crate::frame::Digest;
use crate::manifest::{Begin, SCHEMA, seal, unseal};

const NAME: &str = "head";

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Head {
    schema: u32,
    /// The chain value of the last line.
    pub(crate) last: Digest,
    /// A copy of the first line's content: without it, it cannot be told whose conversation it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) begin: Option<Begin>,
}

/// What was found of it.
#[derive(Debug, Clone)]
pub(crate) enum Found {
    /// Nothing: a manifest of 0.1.0, or one whose first writer was killed.
    Absent,
    /// An empty file, or one of NULs, as a power cut leaves it.
    Blank,
    /// Other bytes than those that were written.
    Damaged,
    Whole(Head),
}

impl Head {
    pub(crate) fn write(folder: &Path, last: Digest, begin: Option<Begin>) -> Result<(), Error> {
        let (bytes, _) = seal(&Self { schema: SCHEMA, last, begin })?;
        Ok(durable::replace_unsynced(&folder.join(NAME), &bytes)?)
    }

    /// Must be read before the manifest: a writer may be at work, and `head` then names a line that was not there yet.
    pub(crate) fn read(folder: &Path) -> Result<Found, Error> {
        let path = folder.join(NAME);
        let bytes = match store::files::read_own(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Found::Absent),
            Err(error) => return Err(reading(&path)(error)),
        };
        Ok(Self::parse(&bytes))
    }

    fn parse(bytes: &[u8]) -> Found {
        if bytes.iter().all(|byte| *byte == 0) {
            return Found::Blank;
        }
        let Some((body, _)) = bytes.strip_suffix(b"\n").and_then(unseal) else { return Found::Damaged };
        match serde_json::from_slice::<Self>(&body) {
            Ok(head) if head.schema <= SCHEMA => Found::Whole(head),
            // A newer version has its own way to say it.
            _ => Found::Absent,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_changed_bit_is_seen() {
        let begin = Begin { config: "/c".into(), session: Some("s".into()) };
        let (bytes, _) = seal(&Head { schema: SCHEMA, last: Digest([7; 32]), begin: Some(begin) }).unwrap();
        assert!(matches!(Head::parse(&bytes), Found::Whole(_)));
        for bit in 0..bytes.len() * 8 {
            let mut bad = bytes.clone();
            bad[bit / 8] ^= 1 << (bit % 8);
            assert!(matches!(Head::parse(&bad), Found::Damaged), "bit {bit}");
        }
        assert!(matches!(Head::parse(b""), Found::Blank));
        assert!(matches!(Head::parse(&[0; 40]), Found::Blank));
        assert!(matches!(Head::parse(&bytes[..bytes.len() - 1]), Found::Damaged));
    }
}
