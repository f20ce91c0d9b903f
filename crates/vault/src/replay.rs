//! What a manifest says, line by line, made into the files and generations of a conversation.

use std::collections::BTreeMap;
use std::collections::HashMap;

use jiff::Timestamp;

use crate::event::Event;
use crate::frame::{Digest, Frame};
use crate::manifest::{BadLine, Begin, FileKind, Line, Moved, Origin, START, Skipped, Store, What, open};

/// A conversation as its manifest tells it.
#[derive(Debug, Clone)]
pub(crate) struct State {
    pub(crate) begin: Option<Begin>,
    pub(crate) files: BTreeMap<String, FileState>,
    /// Chain value of the last good line.
    pub(crate) chain: Digest,
    /// Bytes after the last good line: torn, to be named by the next line.
    pub(crate) torn: Option<Skipped>,
    /// Whether the manifest ends in the middle of a line.
    pub(crate) unended: bool,
    pub(crate) bad: Vec<Bad>,
    /// Frames that a later line put aside; only checking looks at them.
    pub(crate) superseded: Vec<(String, u32, Frame)>,
    /// Set by a line of a newer version: to be read as far as understood, never to be written.
    pub(crate) newer: bool,
    pub(crate) lines: u64,
}

/// Something in a manifest that is not as it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Bad {
    pub(crate) line: u64,
    pub(crate) offset: u64,
    pub(crate) kind: BadKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BadKind {
    /// Bytes that are no line and that no later line has named as torn.
    Damaged,
    /// A half-written line at the end, not yet named.
    TornTail,
    /// A good line that does not follow the one before it: lines are missing.
    Chain,
}

#[derive(Debug, Clone)]
pub(crate) struct FileState {
    pub(crate) kind: FileKind,
    pub(crate) generations: Vec<Generation>,
    pub(crate) gone: Option<Timestamp>,
    pub(crate) noted: Vec<Noted>,
}

#[derive(Debug, Clone)]
pub(crate) struct Noted {
    pub(crate) at: Timestamp,
    pub(crate) event: Event,
    pub(crate) generation: u32,
    pub(crate) sizes: (u64, u64),
}

/// One version of a file; it grows by appends and ends when the file is rewritten.
#[derive(Debug, Clone)]
pub(crate) struct Generation {
    pub(crate) number: u32,
    pub(crate) event: Event,
    pub(crate) since: Timestamp,
    pub(crate) until: Timestamp,
    pub(crate) frames: Vec<Frame>,
    pub(crate) open: bool,
    pub(crate) source: Origin,
    pub(crate) tail: Digest,
    /// A line that this generation needs is damaged: some of its bytes are unknown.
    pub(crate) gap: bool,
    /// A line after its last one is damaged: there may have been more of it.
    pub(crate) suspect: bool,
}

impl Generation {
    pub(crate) fn size(&self) -> u64 {
        self.frames.iter().map(|frame| u64::from(frame.raw)).sum()
    }
    pub(crate) fn rows(&self) -> u64 {
        self.frames.iter().map(|frame| frame.rows).sum()
    }
    pub(crate) fn talks(&self) -> bool {
        self.frames.iter().any(|frame| frame.talk)
    }
}

impl FileState {
    pub(crate) fn newest(&self) -> Option<&Generation> {
        self.generations.last()
    }
}

impl State {
    pub(crate) fn read(bytes: &[u8]) -> Self {
        let mut state = Self {
            begin: None,
            files: BTreeMap::new(),
            chain: START,
            torn: None,
            unended: bytes.last().is_some_and(|byte| *byte != b'\n'),
            bad: Vec::new(),
            superseded: Vec::new(),
            newer: false,
            lines: 0,
        };
        // Where the bytes begin that are no line, since the last good one.
        let mut torn_from: Option<(usize, u64)> = None;
        let mut at = 0;
        while at < bytes.len() {
            let end = memchr::memchr(b'\n', &bytes[at..]).map_or(bytes.len(), |found| at + found);
            state.lines += 1;
            match open(&bytes[at..end]) {
                Ok((line, chain)) => {
                    let torn =
                        torn_from.take().map(|(from, number)| (from, number, skipped(&bytes[from..at])));
                    state.follow(line, chain, torn, at as u64);
                }
                Err(BadLine::Newer) => state.newer = true,
                Err(BadLine::Damaged) => {
                    torn_from.get_or_insert((at, state.lines));
                }
            }
            at = end + 1;
        }
        if let Some((from, line)) = torn_from {
            let kind = if is_torn(&bytes[from..]) { BadKind::TornTail } else { BadKind::Damaged };
            state.bad.push(Bad { line, offset: from as u64, kind });
            if kind == BadKind::TornTail {
                // As it will stand there once the next writer has ended it.
                state.torn = Some(skipped(&[&bytes[from..], b"\n"].concat()));
            } else {
                state.mark_suspects();
            }
        }
        state
    }

    fn follow(&mut self, line: Line, chain: Digest, torn: Option<(usize, u64, Skipped)>, offset: u64) {
        let mut broken = line.prev != self.chain;
        if let Some((from, number, skipped)) = torn {
            // The writer that came after a crash has named exactly these bytes; then nothing is missing.
            if line.skipped.as_ref() != Some(&skipped) {
                self.bad.push(Bad { line: number, offset: from as u64, kind: BadKind::Damaged });
                broken = true;
            }
        } else if broken {
            self.bad.push(Bad { line: self.lines, offset, kind: BadKind::Chain });
        }
        if broken {
            self.mark_suspects();
        }
        self.chain = chain;
        match line.what {
            What::Begin(begin) => self.begin = Some(begin),
            What::Store(store) => self.store(line.at, store),
            What::Gone(gone) => self.gone(line.at, &gone.file),
            What::Moved(moved) => self.moved(&moved),
        }
    }

    // A lost line may have stored more of any file; what still adds up afterwards clears the mark.
    fn mark_suspects(&mut self) {
        for file in self.files.values_mut() {
            if let Some(newest) = file.generations.last_mut() {
                newest.suspect = true;
            }
        }
    }

    fn store(&mut self, at: Timestamp, store: Store) {
        let file = self.files.entry(store.file.clone()).or_insert_with(|| FileState {
            kind: store.kind,
            generations: Vec::new(),
            gone: None,
            noted: Vec::new(),
        });
        file.gone = None;
        let before = file.newest();
        let old_size = before.map_or(0, Generation::size);
        let keep = store.keep_frames as usize;
        let kept: Vec<Frame> =
            before.map(|g| g.frames.iter().take(keep).cloned().collect()).unwrap_or_default();
        let adds_up = kept.len() == keep
            && kept.iter().map(|frame| u64::from(frame.raw)).sum::<u64>() == store.keep_bytes;
        let same = before.is_some_and(|newest| newest.number == store.generation);
        let mut frames = kept;
        frames.extend(store.frames);
        let total: u64 = frames.iter().map(|frame| u64::from(frame.raw)).sum();
        let gap = !adds_up || total != store.source.size;
        let since = before.filter(|_| same).map_or(at, |newest| newest.since);
        let event = before.filter(|_| same).map_or(store.event, |newest| newest.event);
        if store.event != Event::Appended {
            let (event, generation) = (store.event, store.generation);
            let sizes = store.sizes.unwrap_or((old_size, store.source.size));
            file.noted.push(Noted { at, event, generation, sizes });
        }
        let generation = Generation {
            number: store.generation,
            event,
            since,
            until: at,
            frames,
            open: store.open,
            source: store.source,
            tail: store.tail,
            gap,
            suspect: false,
        };
        if same && let Some(old) = file.generations.pop() {
            let dropped = old.frames.into_iter().skip(keep);
            self.superseded.extend(dropped.map(|frame| (store.file.clone(), store.generation, frame)));
        }
        file.generations.push(generation);
    }

    fn gone(&mut self, at: Timestamp, name: &str) {
        if let Some(file) = self.files.get_mut(name) {
            file.gone = Some(at);
            let (generation, size) = file.newest().map_or((0, 0), |newest| (newest.number, newest.size()));
            file.noted.push(Noted { at, event: Event::Deleted, generation, sizes: (size, 0) });
        }
    }

    fn moved(&mut self, moved: &Moved) {
        let places: HashMap<u64, u64> = moved.frames.iter().copied().collect();
        let current =
            self.files.values_mut().flat_map(|file| &mut file.generations).flat_map(|g| &mut g.frames);
        for frame in current.chain(self.superseded.iter_mut().map(|(_, _, frame)| frame)) {
            if frame.place.as_deref() == Some(&moved.from)
                && let Some(offset) = places.get(&frame.offset)
            {
                frame.place = None;
                frame.offset = *offset;
            }
        }
    }

    /// Those, and the ones that were put aside.
    pub(crate) fn every_frame(&self) -> impl Iterator<Item = &Frame> {
        self.frames().chain(self.superseded.iter().map(|(_, _, frame)| frame))
    }

    /// Every frame that some generation needs.
    pub(crate) fn frames(&self) -> impl Iterator<Item = &Frame> {
        self.files.values().flat_map(|file| &file.generations).flat_map(|generation| &generation.frames)
    }
}

// What a crash leaves is the beginning of a write: an unended line, before it perhaps the one that such a crash left
// earlier (the writer that was to name it died as well). A line that was once whole ends like one.
fn is_torn(tail: &[u8]) -> bool {
    let mut lines = tail.split(|byte| *byte == b'\n').rev();
    let unended = lines.next().is_some_and(|last| !last.is_empty());
    unended && lines.all(|line| !line.ends_with(b"\"}"))
}

fn skipped(bytes: &[u8]) -> Skipped {
    Skipped { length: bytes.len() as u64, blake3: Digest::of(bytes) }
}
