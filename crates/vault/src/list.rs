//! What is in the vault.

use std::path::{Path, PathBuf};

use agents::SessionId;
use jiff::Timestamp;
use rayon::prelude::*;

use crate::event::{Event, Happening};
use crate::replay::{Bad, BadKind, FileState, State};
use crate::vault::Vault;
use crate::{Error, FileKind, Key};

/// One mirrored conversation.
#[derive(Debug, Clone)]
pub struct Conversation {
    /// Its name in the vault.
    pub key: Key,
    /// Its session; `None` for the history of all prompts.
    pub session: Option<SessionId>,
    /// The configuration directory it belongs to.
    pub config: PathBuf,
    /// Its files, the transcript first.
    pub files: Vec<MirroredFile>,
    /// Bytes it takes in the vault.
    pub stored: u64,
    /// What is wrong with its manifest, one sentence each; nothing where every line is there.
    pub damage: Vec<String>,
    /// Whether its data ends before what the manifest names: some of it cannot be read.
    pub cut: bool,
    /// Why nothing of it can be used: its manifest is not of this conversation. It has no files then.
    pub foreign: Option<String>,
}

/// One file of a conversation.
#[derive(Debug, Clone)]
pub struct MirroredFile {
    /// The path inside the configuration directory.
    pub name: String,
    /// What it is.
    pub kind: FileKind,
    /// Since when it is gone from the agent's folder.
    pub gone: Option<Timestamp>,
    /// Its versions, oldest first.
    pub generations: Vec<GenerationInfo>,
}

/// One version of a file.
#[derive(Debug, Clone)]
pub struct GenerationInfo {
    /// Its number, from 1.
    pub number: u32,
    /// How it began.
    pub event: Event,
    /// When it was first seen.
    pub since: Timestamp,
    /// When it last grew.
    pub until: Timestamp,
    /// Its length.
    pub bytes: u64,
    /// Its rows.
    pub rows: u64,
    /// Whether a user's or an assistant's row is in it.
    pub talks: bool,
    /// The file's modification time, nanoseconds since 1970.
    pub mtime_ns: i64,
    /// Whether the manifest has lost a part of it: it cannot be read.
    pub damaged: bool,
    /// Whether the manifest has lost lines after its last one: it can be read, and the file may have held more.
    pub suspect: bool,
}

impl Conversation {
    /// The transcript; of a session that exists in several project folders, one in which something was said, the one that was
    /// seen last.
    pub fn transcript(&self) -> Option<&MirroredFile> {
        let mains =
            self.files.iter().filter(|file| matches!(file.kind, FileKind::Transcript | FileKind::History));
        mains.max_by_key(|file| {
            (file.talks(), file.gone.is_none(), file.generations.last().map(|newest| newest.until))
        })
    }

    /// Whether anything was said in what would be put back. An agent whose transcript is deleted goes on with a new file, and
    /// its next row may be one that no conversation can be resumed from (`stop_hook_summary`, measured on 2.1.325).
    pub fn talks(&self) -> bool {
        self.transcript().is_some_and(MirroredFile::talks)
    }

    /// The project folder's name.
    pub fn slug(&self) -> Option<&str> {
        Path::new(&self.transcript()?.name).parent()?.file_name()?.to_str()
    }
}

impl MirroredFile {
    fn talks(&self) -> bool {
        self.best_generation().is_some_and(|best| best.talks)
    }

    /// The generation of this number.
    pub fn generation(&self, number: u32) -> Option<&GenerationInfo> {
        self.generations.iter().find(|known| known.number == number)
    }

    /// The newest generation that still holds the conversation: what to put back.
    ///
    /// A loss leads to the generation before it, unless the file has since grown longer than that was. Ask
    /// [`MirroredFile::is_certain`] before it is used for anything.
    pub fn best_generation(&self) -> Option<&GenerationInfo> {
        let talked = self.generations.iter().any(|generation| generation.talks);
        let mut whole = self
            .generations
            .iter()
            .rev()
            .filter(|generation| !generation.damaged && (generation.talks || !talked));
        let mut best = whole.next()?;
        for before in whole {
            // A tool's result has no rows to count; one that is rewritten is another result.
            let lost = match (self.kind, best.event) {
                (FileKind::ToolResult, Event::Truncated | Event::Emptied) => before.bytes > best.bytes,
                (FileKind::ToolResult, _) => false,
                (_, event) => event.is_loss() && before.rows > best.rows,
            };
            if !lost {
                break;
            }
            best = before;
        }
        Some(best)
    }
}

impl Vault {
    /// Every conversation, in the order of their names.
    pub fn list(&self) -> Result<Vec<Conversation>, Error> {
        let _shared = self.share()?;
        self.describe_all()
    }

    /// The same, for who holds a lock already.
    pub(crate) fn describe_all(&self) -> Result<Vec<Conversation>, Error> {
        let all: Vec<Option<Conversation>> =
            self.keys()?.par_iter().map(|key| self.describe(key)).collect::<Result<_, _>>()?;
        Ok(all.into_iter().flatten().collect())
    }

    /// One conversation.
    pub fn conversation(&self, key: &Key) -> Result<Option<Conversation>, Error> {
        self.describe(key)?.map(usable).transpose()
    }

    /// The conversations of a session: one per configuration directory that has it, those first in which something was said.
    pub fn find(&self, session: &SessionId) -> Result<Vec<Conversation>, Error> {
        let found = self.keys_of(session)?.into_iter().filter_map(|key| self.describe(&key).transpose());
        let mut found: Vec<Conversation> = found.map(|found| usable(found?)).collect::<Result<_, Error>>()?;
        found.sort_by_key(|conversation| !conversation.talks());
        Ok(found)
    }

    /// What happened to a session's files, oldest first: deleted, emptied, truncated, overwritten, returned.
    pub fn happenings(&self, session: &SessionId) -> Result<Vec<Happening>, Error> {
        let mut all = Vec::new();
        for key in self.keys_of(session)? {
            let state = self.state(&key)?;
            if state.foreign.is_none() {
                all.extend(happenings(&key, &state));
            }
        }
        all.sort_by_key(|happening| happening.at);
        Ok(all)
    }

    fn describe(&self, key: &Key) -> Result<Option<Conversation>, Error> {
        let state = self.state(key)?;
        let Some(begin) = &state.begin else { return Ok(None) };
        let stored = std::fs::metadata(self.folder(key).join("data")).map_or(0, |meta| meta.len());
        let known = state.files.iter().filter(|_| state.foreign.is_none());
        let mut files: Vec<MirroredFile> = known.map(|(name, file)| describe(name, file)).collect();
        files.sort_by_key(|file| !matches!(file.kind, FileKind::Transcript | FileKind::History));
        let config = PathBuf::from(&begin.config);
        let damage = damage_words(&state);
        let own = state.every_frame().filter(|frame| frame.place.is_none());
        let end = own.map(|frame| frame.offset + u64::from(frame.length)).max();
        let cut = end.is_some_and(|end| end > stored);
        let (key, session, foreign) = (key.clone(), key.session(), state.foreign);
        Ok(Some(Conversation { key, session, config, files, stored, damage, cut, foreign }))
    }
}

fn usable(conversation: Conversation) -> Result<Conversation, Error> {
    match conversation.foreign {
        Some(what) => Err(Error::Foreign { key: conversation.key, what }),
        None => Ok(conversation),
    }
}

fn describe(name: &str, file: &FileState) -> MirroredFile {
    let generations = file.generations.iter().map(|generation| GenerationInfo {
        number: generation.number,
        event: generation.event,
        since: generation.since,
        until: generation.until,
        bytes: generation.size(),
        rows: generation.rows(),
        talks: generation.talks(),
        mtime_ns: generation.source.mtime_ns,
        damaged: generation.gap,
        suspect: generation.suspect,
    });
    MirroredFile {
        name: name.to_owned(),
        kind: file.kind,
        gone: file.gone,
        generations: generations.collect(),
    }
}

fn damage_words(state: &State) -> Vec<String> {
    let words = |bad: &Bad| match bad.kind {
        BadKind::Damaged => Some(format!("line {} of its manifest is damaged", bad.line)),
        BadKind::Chain => {
            Some(format!("line {} of its manifest does not follow the line before it", bad.line))
        }
        BadKind::Lost => Some(format!("lines are missing before line {} of its manifest", bad.line)),
        BadKind::Foreign => state.foreign.clone(),
        BadKind::TornTail | BadKind::Head | BadKind::BlankHead => None,
    };
    let newer = state.newer.then(|| "a newer version of rekindle wrote in its manifest".to_owned());
    state.bad.iter().filter_map(words).chain(newer).collect()
}

fn happenings(key: &Key, state: &State) -> Vec<Happening> {
    let config = state.begin.as_ref().map(|begin| PathBuf::from(&begin.config)).unwrap_or_default();
    let of_file = |(name, file): (&String, &FileState)| {
        let path = config.join(name);
        let noted = file.noted.iter().filter(|noted| noted.event != Event::New);
        let happening = |noted: &crate::replay::Noted| Happening {
            key: key.clone(),
            session: key.session(),
            path: path.clone(),
            event: noted.event,
            generation: noted.generation,
            at: noted.at,
            sizes: noted.sizes,
        };
        noted.map(happening).collect::<Vec<_>>()
    };
    state.files.iter().flat_map(of_file).collect()
}
