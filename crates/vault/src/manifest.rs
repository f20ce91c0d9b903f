//! The lines of `manifest.jsonl`: each proves itself and names the line before it.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::event::Event;
use crate::frame::{Digest, Frame};

/// The version of a line. A line with a greater one is shown and never written behind.
pub(crate) const SCHEMA: u32 = 1;

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Line {
    pub(crate) schema: u32,
    pub(crate) at: Timestamp,
    /// Bytes before this line that are no line: what a crash left of a half-written one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) skipped: Option<Skipped>,
    /// The chain value that `head` named and that no line had when this one was written: lines are missing before it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) lost: Option<Digest>,
    pub(crate) what: What,
    /// The chain value of the line before.
    pub(crate) prev: Digest,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Skipped {
    pub(crate) length: u64,
    pub(crate) blake3: Digest,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum What {
    /// The first line: whose conversation it is.
    Begin(Begin),
    /// More of a file, or another version of it.
    Store(Store),
    /// The file is gone from the agent's folder.
    Gone(Gone),
    /// Frames of another conversation were taken over.
    Moved(Moved),
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Begin {
    pub(crate) config: String,
    /// None for the history.
    pub(crate) session: Option<String>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Store {
    /// The path inside the configuration directory.
    pub(crate) file: String,
    pub(crate) kind: FileKind,
    pub(crate) generation: u32,
    pub(crate) event: Event,
    /// How much of the file's newest generation stays, in frames and in bytes; the rest is superseded.
    pub(crate) keep_frames: u32,
    pub(crate) keep_bytes: u64,
    pub(crate) frames: Vec<Frame>,
    /// Whether the last frame ends only because the file does.
    pub(crate) open: bool,
    pub(crate) source: Origin,
    /// Of the last 64 KiB: what must still stand before the end for more to be an append.
    pub(crate) tail: Digest,
    /// Of the references of all frames of the generation, kept ones and new ones: a line with it proves the whole
    /// generation, whatever became of the lines before. Lines of 0.1.0 have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) whole: Option<Digest>,
    /// Whether lines were lost that may have held more of this file, and nothing has made that good: a file that rekindle put
    /// back from what was provable is not all of it because it is there.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) doubt: bool,
    /// Lengths before and after, where they cannot be told from the lines any more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) sizes: Option<(u64, u64)>,
}

/// The file that was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Origin {
    pub(crate) dev: u64,
    pub(crate) ino: u64,
    pub(crate) size: u64,
    pub(crate) mtime_ns: i64,
    pub(crate) ctime_ns: i64,
    pub(crate) read_at_ns: i64,
}

/// What a mirrored file is to the agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FileKind {
    /// The rows of a conversation.
    Transcript,
    /// Rows or description of a subagent.
    Subagent,
    /// Output of a tool.
    ToolResult,
    /// The prompts of all sessions.
    History,
}

impl From<agents::claude::Kind> for FileKind {
    fn from(kind: agents::claude::Kind) -> Self {
        use agents::claude::Kind;
        match kind {
            Kind::Transcript => Self::Transcript,
            Kind::Subagent => Self::Subagent,
            Kind::ToolResult => Self::ToolResult,
            Kind::History => Self::History,
        }
    }
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Gone {
    pub(crate) file: String,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Moved {
    pub(crate) from: String,
    /// Old offset there, new offset here.
    pub(crate) frames: Vec<(u64, u64)>,
}

const CHAIN_KEY: &[u8] = b",\"chain\":\"";
const CHAIN_LENGTH: usize = CHAIN_KEY.len() + 64 + 2;

/// The value before the first line.
pub(crate) const START: Digest = Digest([0; 32]);

impl Line {
    /// The line with its chain value and its newline.
    pub(crate) fn seal(&self) -> Result<(Vec<u8>, Digest), serde_json::Error> {
        seal(self)
    }
}

/// A JSON object with the hash of itself as its last value, and a newline.
pub(crate) fn seal(value: &impl Serialize) -> Result<(Vec<u8>, Digest), serde_json::Error> {
    let mut bytes = serde_json::to_vec(value)?;
    let chain = Digest::of(&bytes);
    bytes.pop();
    bytes.extend_from_slice(CHAIN_KEY);
    bytes.extend_from_slice(blake3::Hash::from_bytes(chain.0).to_hex().as_bytes());
    bytes.extend_from_slice(b"\"}\n");
    Ok((bytes, chain))
}

/// Why some bytes are no line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BadLine {
    /// Not whole, or not the bytes that were written.
    Damaged,
    /// Intact, with this chain value, and written by a newer version.
    Newer(Digest),
}

/// Reads one line, without its newline; every bit of it is checked.
pub(crate) fn open(line: &[u8]) -> Result<(Line, Digest), BadLine> {
    let (body, chain) = unseal(line).ok_or(BadLine::Damaged)?;
    // Intact by its hash: what cannot be understood then was written by somebody who knows more.
    let line: Line = serde_json::from_slice(&body).map_err(|_| BadLine::Newer(chain))?;
    if line.schema > SCHEMA { Err(BadLine::Newer(chain)) } else { Ok((line, chain)) }
}

/// The object that [`seal`] was given, and its hash; nothing where a single bit has changed.
pub(crate) fn unseal(line: &[u8]) -> Option<(Vec<u8>, Digest)> {
    let (body, trailer) = line.split_at(line.len().checked_sub(CHAIN_LENGTH)?);
    let hex = trailer.strip_prefix(CHAIN_KEY)?.strip_suffix(b"\"}")?;
    // Upper case would be another spelling of the same value, and so a change that nobody notices.
    if hex.iter().any(u8::is_ascii_uppercase) {
        return None;
    }
    let stated = blake3::Hash::from_hex(hex).ok()?;
    let mut whole = body.to_vec();
    whole.push(b'}');
    (blake3::hash(&whole) == stated).then(|| (whole, Digest(*stated.as_bytes())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_proves_itself_bit_by_bit() {
        let line = Line {
            schema: SCHEMA,
            at: Timestamp::UNIX_EPOCH,
            skipped: None,
            lost: None,
            what: What::Gone(Gone { file: "projects/-a/s.jsonl".into() }),
            prev: START,
        };
        let (bytes, chain) = line.seal().unwrap();
        let body = &bytes[..bytes.len() - 1];
        assert_eq!(open(body).unwrap().1, chain);
        for at in 0..body.len() {
            for bit in 0..8 {
                let mut bad = body.to_vec();
                bad[at] ^= 1 << bit;
                assert_eq!(open(&bad).err(), Some(BadLine::Damaged), "byte {at} bit {bit}");
            }
        }
        for end in 0..body.len() {
            assert_eq!(open(&body[..end]).err(), Some(BadLine::Damaged));
        }
        let newer = Line { schema: SCHEMA + 1, ..line };
        let (bytes, chain) = newer.seal().unwrap();
        assert_eq!(open(&bytes[..bytes.len() - 1]).err(), Some(BadLine::Newer(chain)));
    }
}
