//! The scrollback of a save: one compressed file, each pane's text behind a line that says whose and how long it is.

use std::io;

use serde::{Deserialize, Serialize};

/// The text of a pane.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PaneText {
    /// The server's place in the save.
    pub server: usize,
    /// `%4`.
    pub pane: String,
    /// What it showed, without secrets.
    pub text: String,
}

#[derive(Serialize, Deserialize)]
struct Line {
    server: usize,
    pane: String,
    bytes: usize,
}

/// Scrollback of repeated prompts and logs shrinks to a tenth at the fastest level; more costs more than it saves.
const LEVEL: i32 = 1;

/// No scrollback of ours is larger; a file that says so is no file of ours.
const LARGEST: usize = 1 << 30;

/// Takes the secrets out of the texts and compresses them.
///
/// # Errors
/// The compressor fails.
pub fn pack(texts: &[PaneText]) -> io::Result<Vec<u8>> {
    let mut plain = Vec::new();
    for PaneText { server, pane, text } in texts {
        let text = redact::redact(text);
        let line = Line { server: *server, pane: pane.clone(), bytes: text.len() };
        serde_json::to_writer(&mut plain, &line)?;
        plain.push(b'\n');
        plain.extend_from_slice(text.as_bytes());
        plain.push(b'\n');
    }
    zstd::bulk::compress(&plain, LEVEL)
}

/// Reads the texts again.
///
/// # Errors
/// The file is damaged.
pub fn unpack(packed: &[u8]) -> io::Result<Vec<PaneText>> {
    let size = zstd::bulk::Decompressor::upper_bound(packed).unwrap_or(LARGEST).min(LARGEST);
    let plain = zstd::bulk::decompress(packed, size)?;
    let damaged = || io::Error::new(io::ErrorKind::InvalidData, "its parts do not fit");
    let mut rest = &plain[..];
    let mut texts = Vec::new();
    while !rest.is_empty() {
        let end = rest.iter().position(|byte| *byte == b'\n').ok_or_else(damaged)?;
        let line: Line = serde_json::from_slice(&rest[..end])?;
        let text = rest.get(end + 1..).and_then(|rest| rest.get(..line.bytes)).ok_or_else(damaged)?;
        let text = std::str::from_utf8(text).map_err(|_| damaged())?.to_owned();
        rest = rest[end + 1 + line.bytes..].strip_prefix(b"\n").ok_or_else(damaged)?;
        texts.push(PaneText { server: line.server, pane: line.pane, text });
    }
    Ok(texts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_come_back_without_their_secrets() {
        let text = |pane: &str, text: &str| PaneText { server: 0, pane: pane.into(), text: text.into() };
        let texts = [
            text("%1", "a\n{\"pane\":\"%9\"}\n"),
            text("%2", "PGPASSWORD=hunter2hunter psql"),
            text("%3", ""),
        ];
        let packed = pack(&texts).unwrap();
        let back = unpack(&packed).unwrap();
        assert_eq!((&back[0], &back[2], back.len()), (&texts[0], &texts[2], 3));
        assert!(!back[1].text.contains("hunter2"), "{}", back[1].text);
        assert!(unpack(&packed[..packed.len() - 3]).is_err());
        assert_eq!(unpack(&pack(&[]).unwrap()).unwrap(), []);
    }
}
