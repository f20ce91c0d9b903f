//! Writing one conversation: frames, sync, manifest, sync. What no manifest names does not exist.

use std::collections::{HashMap, HashSet};
use std::io::{Cursor, Read, SeekFrom};
use std::path::Path;

use agents::Stamp;
use agents::claude::Source;
use jiff::Timestamp;
use memchr::memmem;
use store::durable::{self, Appender};
use store::lock::Lock;

use crate::chunk::Chunker;
use crate::compare::{Content, id_of, tail_hash};
use crate::error::reading;
use crate::event::Event;
use crate::frame::{Codec, Digest, Frame, digest_of_all};
use crate::head::Head;
use crate::manifest::{Begin, Gone, Line, Moved, Origin, SCHEMA, Store, What};
use crate::plan::{Depth, Plan, Subject, makes_good, plan};
use crate::prompts::ForgottenPrompts;
use crate::replay::{FileState, Generation, State};
use crate::vault::{PATIENCE, Vault};
use crate::{Error, FileKind, Key};

/// Whose rewriting of a file it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origination {
    /// The agent's, or anybody's.
    Theirs,
    /// Ours: a repair or a restore. Not a loss, whatever it looks like.
    Ours,
}

/// What storing one file came to.
#[derive(Debug)]
pub(crate) struct Stored {
    pub(crate) event: Option<Event>,
    pub(crate) generation: u32,
    /// How that generation began.
    pub(crate) standing: Event,
    pub(crate) old_size: u64,
    pub(crate) stamp: Stamp,
    pub(crate) read_at_ns: i64,
    pub(crate) bytes_read: u64,
}

/// The only writer of a conversation, for as long as it holds the lock.
pub(crate) struct Writer<'v> {
    vault: &'v Vault,
    key: Key,
    _lock: Lock,
    pub(crate) state: State,
    begin: Begin,
    data: Option<Appender>,
    pending: Vec<u8>,
    lines: Vec<What>,
    own: HashMap<Digest, Frame>,
    /// Those of them that are not yet in the file.
    in_memory: HashSet<Digest>,
    pub(crate) bytes_stored: u64,
}

// Large enough that the disk sees few writes, small enough for two threads to hold.
const FLUSH: usize = 1024 * 1024;

impl<'v> Writer<'v> {
    pub(crate) fn open(vault: &'v Vault, key: &Key, begin: Begin) -> Result<Self, Error> {
        if vault.is_forgotten(key) {
            return Err(Error::Forgotten { key: key.clone() });
        }
        let folder = vault.folder(key);
        durable::private_dir(&folder)?;
        let lock = Lock::acquire(&folder.join("lock"), PATIENCE)?;
        // A forget that came first has left its tombstone before it let go of the lock.
        if vault.is_forgotten(key) {
            return Err(Error::Forgotten { key: key.clone() });
        }
        let state = vault.state(key)?;
        if state.newer {
            return Err(Error::Newer { key: key.clone() });
        }
        // Nothing is written behind another conversation's lines.
        if let Some(what) = state.foreign.clone().filter(|_| state.begin.as_ref() != Some(&begin)) {
            return Err(Error::Foreign { key: key.clone(), what });
        }
        let own = state.frames().map(|frame| (frame.blake3, frame.clone())).collect();
        let begin = state.begin.clone().unwrap_or(begin);
        let lines = if state.begun { Vec::new() } else { vec![What::Begin(begin.clone())] };
        let (data, pending) = (None, Vec::new());
        Ok(Self {
            vault,
            key: key.clone(),
            _lock: lock,
            state,
            begin,
            data,
            pending,
            lines,
            own,
            in_memory: HashSet::new(),
            bytes_stored: 0,
        })
    }

    pub(crate) fn file(&self, name: &str) -> Option<&FileState> {
        self.state.files.get(name)
    }

    /// Reads a file and stores what is new in it; nothing counts before [`Writer::commit`].
    pub(crate) fn store(
        &mut self,
        codec: &mut Codec,
        source: &Source,
        depth: Depth,
        whose: Origination,
    ) -> Result<Stored, Error> {
        // A file that shrinks under our hands is read once more from the start; then it is left for the next sync.
        for _ in 0..2 {
            if let Some(stored) = self.try_store(codec, source, depth, whose)? {
                return Ok(stored);
            }
        }
        Err(Error::Unsteady { path: source.path.clone() })
    }

    fn try_store(
        &mut self,
        codec: &mut Codec,
        source: &Source,
        depth: Depth,
        whose: Origination,
    ) -> Result<Option<Stored>, Error> {
        let read = reading(&source.path);
        let name = source.relative().to_string_lossy().into_owned();
        let kind = FileKind::from(source.kind);
        let read_at_ns = store::file_cache::nanoseconds(std::time::SystemTime::now());
        let mut file = store::files::open(&source.path).map_err(&read)?;
        let stamp = Stamp::of(&file.metadata().map_err(&read)?);
        let forgotten = match kind {
            FileKind::History => self.vault.forgotten_prompts(&self.key, Some(&self.begin.config))?,
            _ => ForgottenPrompts::default(),
        };
        let mut blanked;
        let (file, whose): (&mut dyn Content, Origination) = if forgotten.is_empty() {
            (&mut file, whose)
        } else {
            let mut bytes = Vec::new();
            file.take(stamp.size).read_to_end(&mut bytes).map_err(&read)?;
            if bytes.len() as u64 != stamp.size {
                return Ok(None);
            }
            forgotten.blank(&mut bytes);
            blanked = Cursor::new(bytes);
            // Rows that rekindle leaves out from now on are no loss.
            (&mut blanked, if forgotten.unfinished { Origination::Ours } else { whose })
        };
        let before = self.state.files.get(&name).cloned();
        let newest = before.as_ref().and_then(FileState::newest);
        let mut subject =
            Subject { vault: self.vault, key: &self.key, file: &mut *file, path: &source.path, stamp };
        let plan = plan(&mut subject, codec, before.as_ref(), depth)?;
        let old_size = newest.map_or(0, Generation::size);
        let standing = newest.map_or(Event::New, |newest| newest.event);
        let plan = match (plan, newest) {
            // What was lost is safe elsewhere by now: the same content is the one to stand here.
            (Plan::Unchanged, Some(newest)) if whose == Origination::Ours && standing.is_loss() => {
                Plan::Store {
                    event: Event::Repaired,
                    generation: newest.number,
                    keep_frames: newest.frames.len(),
                    keep_bytes: old_size,
                }
            }
            // rekindle put back what was provable: the doubt is written down, or the rows that follow would end it.
            (Plan::Unchanged, Some(newest))
                if whose == Origination::Ours && newest.suspect && !newest.doubted =>
            {
                Plan::Store {
                    event: Event::Appended,
                    generation: newest.number,
                    keep_frames: newest.frames.len(),
                    keep_bytes: old_size,
                }
            }
            (plan, _) => plan,
        };
        let mut stored =
            Stored { event: None, generation: 0, standing, old_size, stamp, read_at_ns, bytes_read: 0 };
        let Plan::Store { event, generation, keep_frames, keep_bytes } = plan else {
            stored.generation = newest.map_or(0, |newest| newest.number);
            return Ok(Some(stored));
        };
        // A transcript that seems new where lines are lost may have had a version in them: its number is left free.
        let seems_new = event == Event::New && kind == FileKind::Transcript;
        let generation = if seems_new && self.state.lost_lines() { generation + 1 } else { generation };
        let extends = newest.is_some_and(|newest| newest.number == generation);
        file.seek(SeekFrom::Start(keep_bytes)).map_err(&read)?;
        let wanted = stamp.size - keep_bytes;
        let (frames, open) = self.frames(codec, (&mut *file).take(wanted), &source.path)?;
        stored.bytes_read = frames.iter().map(|frame| u64::from(frame.raw)).sum();
        if stored.bytes_read != wanted {
            return Ok(None);
        }
        let tail = tail_hash(file, stamp.size).map_err(&read)?;
        let kept = newest.map(|newest| &newest.frames[..keep_frames]).unwrap_or_default();
        let whole = digest_of_all(kept.iter().chain(&frames));
        let talks = kept.iter().chain(&frames).any(|frame| frame.talk);
        let rowed = matches!(kind, FileKind::Transcript | FileKind::Subagent);
        let emptied = event.is_loss() && rowed && !talks && newest.is_some_and(Generation::talks);
        let event = match whose {
            Origination::Ours if event.is_loss() => Event::Repaired,
            Origination::Ours if standing.is_loss() && event != Event::Returned => Event::Repaired,
            Origination::Theirs if emptied => Event::Emptied,
            _ => event,
        };
        // What makes good a loss is a version of its own: the loss stays on record and no longer stands.
        let healed = standing.is_loss() && matches!(event, Event::Repaired | Event::Returned);
        let generation = if healed { newest.map_or(1, |newest| newest.number + 1) } else { generation };
        // What follows a loss is judged with the versions before it; everything else would end a doubt about them.
        let doubt = !event.is_loss()
            && before.as_ref().is_some_and(|before| stays_in_doubt(before, stamp, extends, whose));
        let Stamp { dev, ino, size, mtime_ns, ctime_ns } = stamp;
        self.lines.push(What::Store(Store {
            file: name,
            kind,
            generation,
            event,
            keep_frames: u32::try_from(keep_frames).unwrap_or(u32::MAX),
            keep_bytes,
            frames,
            open,
            source: Origin { dev, ino, size, mtime_ns, ctime_ns, read_at_ns },
            tail,
            whole: Some(whole),
            doubt,
            sizes: None,
        }));
        let same = newest.is_some_and(|newest| newest.number == generation);
        let standing = if same { stored.standing } else { event };
        Ok(Some(Stored { event: Some(event), generation, standing, ..stored }))
    }

    fn frames(
        &mut self,
        codec: &mut Codec,
        input: impl Read,
        path: &Path,
    ) -> Result<(Vec<Frame>, bool), Error> {
        let id = id_of(&self.key);
        let mut chunker = Chunker::new(input, id.as_bytes(), std::mem::take(&mut codec.buffer));
        let mut frames = Vec::new();
        let mut open = false;
        while let Some(chunk) = chunker.next().map_err(reading(path))? {
            open = !chunk.closed;
            let mut frame = self.frame(codec, chunk.bytes, id.as_bytes())?;
            frame.rows = chunk.rows;
            frame.talk = talks(chunk.bytes);
            frames.push(frame);
        }
        codec.buffer = chunker.into_buffer();
        Ok((frames, open))
    }

    fn frame(&mut self, codec: &mut Codec, raw: &[u8], id: &[u8]) -> Result<Frame, Error> {
        let folded = codec.fold(raw, id);
        let length_raw = u32::try_from(raw.len()).unwrap_or(u32::MAX);
        if let Some(frame) = self.known(codec, &folded, raw.len())? {
            return Ok(Frame { folded: folded.folded, raw: length_raw, ..frame });
        }
        if self.data.is_none() {
            self.data = Some(Appender::open(&self.vault.folder(&self.key).join("data"))?);
        }
        let flushed = self.data.as_ref().map_or(0, Appender::length);
        let (packed, check) = codec.pack(raw, &folded).map_err(Error::Compress)?;
        let frame = Frame {
            place: None,
            offset: flushed + self.pending.len() as u64,
            length: u32::try_from(packed.len()).unwrap_or(u32::MAX),
            raw: length_raw,
            rows: 0,
            talk: false,
            folded: folded.folded,
            blake3: folded.blake3,
            check,
        };
        self.bytes_stored += packed.len() as u64;
        self.pending.extend_from_slice(packed);
        self.own.insert(frame.blake3, frame.clone());
        self.in_memory.insert(frame.blake3);
        if self.pending.len() >= FLUSH {
            self.flush()?;
        }
        Ok(frame)
    }

    // A frame of this conversation, or of another; either is read back before it is relied on.
    fn known(
        &self,
        codec: &mut Codec,
        folded: &crate::frame::Folded,
        raw: usize,
    ) -> Result<Option<Frame>, Error> {
        if let Some(frame) = self.own.get(&folded.blake3) {
            let mut there = || {
                let data = self.vault.data(&self.key, frame.place.as_deref()).ok()?;
                codec.probe(&data, (frame.offset, frame.length), folded, raw)
            };
            if self.in_memory.contains(&folded.blake3) || there().is_some() {
                return Ok(Some(frame.clone()));
            }
        }
        let Some(hint) = self.vault.index.find(self.vault, &folded.blake3)? else { return Ok(None) };
        if hint.key == self.key {
            return Ok(None);
        }
        let Ok(data) = self.vault.data(&self.key, Some(hint.key.as_str())) else { return Ok(None) };
        Ok(codec.probe(&data, (hint.offset, hint.length), folded, raw).map(|check| Frame {
            place: Some(hint.key.to_string()),
            offset: hint.offset,
            length: hint.length,
            raw: 0,
            rows: 0,
            talk: false,
            folded: folded.folded,
            blake3: folded.blake3,
            check,
        }))
    }

    fn flush(&mut self) -> Result<(), Error> {
        if let Some(data) = &mut self.data {
            data.write(&self.pending)?;
        }
        self.pending.clear();
        self.in_memory.clear();
        Ok(())
    }

    /// Notes that a file is gone.
    pub(crate) fn gone(&mut self, file: &str) {
        self.lines.push(What::Gone(Gone { file: file.to_owned() }));
    }

    /// Copies frames of another conversation into this one, so that it no longer needs the other.
    pub(crate) fn adopt(&mut self, from: &Key, frames: &[Frame]) -> Result<(), Error> {
        use std::os::unix::fs::FileExt;
        let path = self.vault.folder(from).join("data");
        let source = store::files::open(&path).map_err(reading(&path))?;
        if self.data.is_none() {
            self.data = Some(Appender::open(&self.vault.folder(&self.key).join("data"))?);
        }
        let mut moved = Vec::new();
        for frame in frames {
            let mut bytes = vec![0; frame.length as usize];
            // What cannot be read is lost already, and must not keep the rest from being saved.
            if source.read_exact_at(&mut bytes, frame.offset).is_err() {
                continue;
            }
            let flushed = self.data.as_ref().map_or(0, Appender::length);
            moved.push((frame.offset, flushed + self.pending.len() as u64));
            self.pending.extend_from_slice(&bytes);
            if self.pending.len() >= FLUSH {
                self.flush()?;
            }
        }
        self.lines.push(What::Moved(Moved { from: from.to_string(), frames: moved }));
        Ok(())
    }

    /// Makes everything stored so far durable, frames first; returns whether there was anything.
    pub(crate) fn commit(mut self, now: Timestamp) -> Result<bool, Error> {
        let news = self.lines.iter().any(|what| !matches!(what, What::Begin(_)));
        if !news {
            return Ok(false);
        }
        self.flush()?;
        if let Some(data) = &mut self.data {
            data.sync()?;
        }
        let mut bytes = if self.state.unended { b"\n".to_vec() } else { Vec::new() };
        let mut prev = self.state.chain;
        let mut skipped = self.state.torn.take();
        // Once `head` names the new line, this is the only trace of those that were cut off.
        let mut lost = self.state.lost.take();
        for what in &self.lines {
            let (skipped, lost) = (skipped.take(), lost.take());
            let line = Line { schema: SCHEMA, at: now, skipped, lost, what: what.clone(), prev };
            let (line, chain) = line.seal()?;
            bytes.extend_from_slice(&line);
            prev = chain;
        }
        let folder = self.vault.folder(&self.key);
        let new = self.lines.iter().any(|what| matches!(what, What::Begin(_)));
        durable::append(&folder.join("manifest.jsonl"), &bytes, durable::Sync::Yes)?;
        if new && let Some(above) = folder.parent() {
            durable::sync_dir(above)?;
        }
        Head::write(&folder, prev, Some(self.begin.clone()))?;
        let frames: Vec<Frame> = self
            .lines
            .iter()
            .filter_map(|what| if let What::Store(store) = what { Some(&store.frames) } else { None })
            .flatten()
            .cloned()
            .collect();
        self.vault.index.publish(self.vault, &self.key, &frames)?;
        Ok(true)
    }
}

/// Whether lines that were lost may still have held more of a file than what is stored of it now.
fn stays_in_doubt(before: &FileState, stamp: Stamp, extends: bool, whose: Origination) -> bool {
    let suspects = || before.generations.iter().any(|generation| generation.suspect);
    match before.newest() {
        None => false,
        Some(newest) if whose == Origination::Theirs && extends => {
            newest.suspect && !makes_good(newest, stamp)
        }
        // What rekindle wrote was made of these versions, and proves nothing about them.
        Some(_) => suspects(),
    }
}

// A row of the conversation itself, however a foreign writer spaces it. Stops at the first.
fn talks(bytes: &[u8]) -> bool {
    memmem::find_iter(bytes, b"\"type\"").any(|at| {
        let rest = bytes[at + 6..].trim_ascii_start();
        rest.strip_prefix(b":")
            .map(<[u8]>::trim_ascii_start)
            .is_some_and(|value| value.starts_with(b"\"user\"") || value.starts_with(b"\"assistant\""))
    })
}
