//! The scrollback of a save: one compressed file, each pane's text behind a line that says whose and how long it is.

use std::collections::BTreeSet;
use std::io::{self, BufRead, BufReader, Read};

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
const LARGEST: u64 = 1 << 30;

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
    let mut reader = Reader::of(packed)?;
    let mut texts = Vec::new();
    while let Some(line) = reader.next()? {
        let text = reader.text(line.bytes)?;
        texts.push(PaneText { server: line.server, pane: line.pane, text });
    }
    Ok(texts)
}

/// The panes that showed something.
///
/// # Errors
/// The file is damaged.
pub fn panes_in(packed: &[u8]) -> io::Result<BTreeSet<(usize, String)>> {
    let mut reader = Reader::of(packed)?;
    let mut panes = BTreeSet::new();
    while let Some(line) = reader.next()? {
        reader.pass(line.bytes)?;
        if line.bytes > 0 {
            panes.insert((line.server, line.pane));
        }
    }
    Ok(panes)
}

/// What one pane showed; nothing where nothing was kept of it.
///
/// # Errors
/// The file is damaged before the end of that text.
pub fn text_of(packed: &[u8], server: usize, pane: &str) -> io::Result<Option<String>> {
    let mut reader = Reader::of(packed)?;
    while let Some(line) = reader.next()? {
        if line.server == server && line.pane == pane {
            return reader.text(line.bytes).map(Some);
        }
        reader.pass(line.bytes)?;
    }
    Ok(None)
}

/// Goes from text to text, and keeps none that nobody wants.
struct Reader<'a> {
    plain: BufReader<io::Take<zstd::Decoder<'static, BufReader<&'a [u8]>>>>,
}

impl Reader<'_> {
    fn of(packed: &[u8]) -> io::Result<Reader<'_>> {
        Ok(Reader { plain: BufReader::new(zstd::Decoder::new(packed)?.take(LARGEST)) })
    }

    /// The line before the next text.
    fn next(&mut self) -> io::Result<Option<Line>> {
        let mut line = Vec::new();
        if self.plain.read_until(b'\n', &mut line)? == 0 {
            return Ok(None);
        }
        Ok(Some(serde_json::from_slice(&line)?))
    }

    fn text(&mut self, bytes: usize) -> io::Result<String> {
        let mut text = Vec::new();
        self.plain.by_ref().take(bytes as u64).read_to_end(&mut text)?;
        self.end(text.len() == bytes)?;
        String::from_utf8(text).map_err(|_| damaged())
    }

    fn pass(&mut self, bytes: usize) -> io::Result<()> {
        let passed = io::copy(&mut self.plain.by_ref().take(bytes as u64), &mut io::sink())?;
        self.end(passed == bytes as u64)
    }

    /// The newline behind a text.
    fn end(&mut self, is_whole: bool) -> io::Result<()> {
        let mut end = [0];
        self.plain.read_exact(&mut end)?;
        if is_whole && end == *b"\n" { Ok(()) } else { Err(damaged()) }
    }
}

fn damaged() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "its parts do not fit")
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
        assert_eq!(text_of(&packed, 0, "%1").unwrap().as_deref(), Some("a\n{\"pane\":\"%9\"}\n"));
        assert_eq!(text_of(&packed, 0, "%3").unwrap().as_deref(), Some(""));
        assert_eq!((text_of(&packed, 0, "%9").unwrap(), text_of(&packed, 1, "%1").unwrap()), (None, None));
        let shown = panes_in(&packed).unwrap();
        assert_eq!(shown, BTreeSet::from([(0, "%1".to_owned()), (0, "%2".to_owned())]));
        assert!(panes_in(&packed[..packed.len() - 3]).is_err());
    }

    #[test]
    fn a_length_that_does_not_fit_is_damage() {
        for bytes in [0, 2, 4, usize::MAX] {
            let plain = format!("{{\"server\":0,\"pane\":\"%1\",\"bytes\":{bytes}}}\nabc\n");
            let packed = zstd::bulk::compress(plain.as_bytes(), LEVEL).unwrap();
            assert!(unpack(&packed).is_err(), "{bytes}");
            assert!(panes_in(&packed).is_err(), "{bytes}");
        }
    }
}
