//! The agent's `history.jsonl` has the prompts of every conversation. Rows of forgotten conversations are kept out of the
//! mirror of it.
//!
//! In the mirror such a row is blank: as many spaces as it had bytes. So sizes, offsets and appends stay those of the agent's
//! file, which rekindle does not change.

use std::collections::{HashMap, HashSet};
use std::io::Cursor;
use std::path::Path;

use jiff::Timestamp;
use memchr::memmem;
use serde::Deserialize;
use store::durable::{self, Appender};

use crate::chunk::Chunker;
use crate::collect::{collecting, retell};
use crate::compare::tail_hash;
use crate::error::reading;
use crate::forget::trash_suffix;
use crate::frame::{Codec, Digest, Frame};
use crate::head::Head;
use crate::replay::{Generation, State};
use crate::vault::{Vault, list};
use crate::{Error, Key};

/// The conversations of one configuration directory whose prompts are not mirrored.
#[derive(Debug, Clone, Default)]
pub(crate) struct ForgottenPrompts {
    sessions: HashSet<String>,
    /// Whether prompts of one of them may still be in the mirror.
    pub(crate) unfinished: bool,
}

impl ForgottenPrompts {
    pub(crate) fn add(&mut self, session: &str, erased: bool) {
        self.sessions.insert(session.to_owned());
        self.unfinished |= !erased;
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.sessions.is_empty()
    }

    /// Blanks the rows of these conversations.
    pub(crate) fn blank(&self, bytes: &mut [u8]) {
        for line in bytes.split_inclusive_mut(|byte| *byte == b'\n') {
            if self.has(line) {
                let end = line.len() - usize::from(line.ends_with(b"\n"));
                line[..end].fill(b' ');
            }
        }
    }

    fn has(&self, line: &[u8]) -> bool {
        // Most rows are of other conversations, and parsing each of a hundred thousand is not free.
        let named = || self.sessions.iter().any(|session| memmem::find(line, session.as_bytes()).is_some());
        match line.ends_with(b"\n") {
            true if !named() => false,
            // A row that is being written may still turn out to be of one of them.
            _ => session_of(line).map_or(!line.trim_ascii().is_empty(), |row| {
                row.is_some_and(|session| self.sessions.contains(&session))
            }),
        }
    }
}

/// The session that a row of `history.jsonl` names. An error: the row cannot be read.
fn session_of(line: &[u8]) -> Result<Option<String>, serde_json::Error> {
    #[derive(Deserialize)]
    struct Row {
        #[serde(default, rename = "sessionId")]
        session: Option<String>,
    }
    serde_json::from_slice::<Row>(line).map(|row| row.session)
}

/// How many prompts of a session a `history.jsonl` has.
pub fn prompts_of(session: &agents::SessionId, bytes: &[u8]) -> usize {
    let named = |line: &&[u8]| memmem::find(line, session.as_str().as_bytes()).is_some();
    let lines = bytes.split(|byte| *byte == b'\n').filter(named);
    lines.filter(|line| matches!(session_of(line), Ok(Some(found)) if found == session.as_str())).count()
}

impl Vault {
    /// The conversations whose prompts are left out of this history.
    pub(crate) fn forgotten_prompts(
        &self,
        history: &Key,
        config: Option<&str>,
    ) -> Result<ForgottenPrompts, Error> {
        Ok(self.forgotten()?.prompts(history, config.map(Path::new)))
    }

    /// Rewrites the mirror of a history without the prompts of forgotten conversations. Can be repeated: a run that is killed
    /// leaves the old folder or the new one, and at most the other beside it.
    pub(crate) fn erase_prompts(
        &self,
        history: &Key,
        all: &[(Key, State)],
        now: Timestamp,
    ) -> Result<(), Error> {
        let folder = self.folder(history);
        let fresh = collecting(&folder, history);
        durable::remove_tree(&fresh)?;
        // A history in the trash belongs to an account that is gone; it goes whole.
        for name in list(&self.trash())?.iter().filter(|name| name.ends_with(&trash_suffix(history))) {
            durable::remove_tree(&self.trash().join(name))?;
        }
        let Some((_, state)) = all.iter().find(|(key, _)| key == history) else { return Ok(()) };
        if state.newer {
            return Err(Error::Newer { key: history.clone() });
        }
        if let Some(what) = state.foreign.clone() {
            return Err(Error::Foreign { key: history.clone(), what });
        }
        self.give_away(history, all, now)?;
        let config = state.begin.as_ref().map(|begin| begin.config.clone());
        let forgotten = self.forgotten_prompts(history, config.as_deref())?;
        durable::private_dir(&fresh)?;
        // Everything is written anew, also where no row is left out: frames that no line names any more go as well.
        let mut retold = state.clone();
        let mut out = Packed { data: Appender::open(&fresh.join("data"))?, frames: HashMap::new() };
        for (name, file) in &mut retold.files {
            let mut kept = Vec::new();
            for mut generation in std::mem::take(&mut file.generations) {
                let mut bytes = Vec::new();
                match self.read_generation(history, name, &generation, &mut bytes) {
                    Ok(_) => {}
                    // Its rows cannot be told apart any more.
                    Err(Error::Gap { .. } | Error::Frame { .. }) => continue,
                    Err(error) => return Err(error),
                }
                forgotten.blank(&mut bytes);
                self.with_codec(|codec| out.pack(codec, &mut generation, bytes, &fresh))??;
                kept.push(generation);
            }
            file.generations = kept;
        }
        out.data.sync()?;
        let (manifest, last) = retell(&retold, &std::collections::BTreeMap::new())?;
        durable::append(&fresh.join("manifest.jsonl"), &manifest, durable::Sync::Yes)?;
        Head::write(&fresh, last, retold.begin.clone())?;
        durable::append(&fresh.join("lock"), b"", durable::Sync::Yes)?;
        self.close_data();
        durable::exchange(&folder, &fresh)?;
        durable::remove_tree(&fresh)?;
        Ok(())
    }
}

/// Frames that are written into a new folder, each content once.
struct Packed {
    data: Appender,
    frames: HashMap<Digest, Frame>,
}

impl Packed {
    fn pack(
        &mut self,
        codec: &mut Codec,
        generation: &mut Generation,
        bytes: Vec<u8>,
        path: &Path,
    ) -> Result<(), Error> {
        let size = bytes.len() as u64;
        let mut content = Cursor::new(bytes);
        generation.tail = tail_hash(&mut content, size).map_err(reading(path))?;
        content.set_position(0);
        // The history has no id of its own to replace.
        let mut chunker = Chunker::new(content, b"", std::mem::take(&mut codec.buffer));
        let mut frames = Vec::new();
        generation.open = false;
        while let Some(chunk) = chunker.next().map_err(reading(path))? {
            generation.open = !chunk.closed;
            let folded = codec.fold(chunk.bytes, b"");
            let mut frame = match self.frames.get(&folded.blake3) {
                Some(frame) => frame.clone(),
                None => {
                    let (packed, check) = codec.pack(chunk.bytes, &folded).map_err(Error::Compress)?;
                    let frame = Frame {
                        place: None,
                        offset: self.data.length(),
                        length: u32::try_from(packed.len()).unwrap_or(u32::MAX),
                        raw: u32::try_from(chunk.bytes.len()).unwrap_or(u32::MAX),
                        rows: 0,
                        talk: false,
                        folded: folded.folded,
                        blake3: folded.blake3,
                        check,
                    };
                    self.data.write(packed)?;
                    self.frames.insert(frame.blake3, frame.clone());
                    frame
                }
            };
            frame.rows = chunk.rows;
            frames.push(frame);
        }
        codec.buffer = chunker.into_buffer();
        generation.frames = frames;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(history: &str, expect: &str) {
        let sessions = HashSet::from(["gone".to_owned()]);
        let mut bytes = history.as_bytes().to_vec();
        ForgottenPrompts { sessions, unfinished: false }.blank(&mut bytes);
        assert_eq!(String::from_utf8(bytes).unwrap(), expect);
    }

    #[test]
    fn rows_of_a_forgotten_session_become_blank_and_others_stay() {
        let gone = r#"{"display":"a","sessionId":"gone"}"#;
        let blank = " ".repeat(gone.len());
        let other = r#"{"display":"look at gone","sessionId":"other"}"#;
        check(&format!("{gone}\n{other}\n"), &format!("{blank}\n{other}\n"));
        check(&format!("{other}\n{gone}"), &format!("{other}\n{blank}"));
        // A row of an agent that wrote no ids cannot be told apart by its id.
        check("{\"display\":\"old\"}\n", "{\"display\":\"old\"}\n");
        // Half a row: its id may be still to come, and two rows in one line cannot be told apart.
        check("{\"display\":\"x", &" ".repeat(13));
        check(&format!("{{\"disp{gone}\n"), &format!("      {blank}\n"));
        check("\n\n", "\n\n");
        check("", "");
    }
}
