//! What a manifest says, line by line, made into the files and generations of a conversation.

use std::collections::{BTreeMap, HashMap, HashSet};

use jiff::Timestamp;

use crate::event::Event;
use crate::frame::{Digest, Frame, digest_of_all};
use crate::head::Found;
use crate::manifest::{Begin, FileKind, Moved, Origin, START, Skipped, Store, What};
use crate::order::{Item, in_order, is_torn, scan, skipped};

/// Whether a line was written behind the very line that stands before it now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Link {
    Whole,
    Broken,
}

/// A conversation as its manifest tells it.
#[derive(Debug, Clone)]
pub(crate) struct State {
    pub(crate) begin: Option<Begin>,
    /// Whether a line of the manifest says so; else it is what `head` repeats.
    pub(crate) begun: bool,
    pub(crate) files: BTreeMap<String, FileState>,
    /// Chain value of the last good line.
    pub(crate) chain: Digest,
    /// Bytes after the last good line: torn, to be named by the next line.
    pub(crate) torn: Option<Skipped>,
    /// The last line by `head`, where no line is that one: the manifest lost its end.
    pub(crate) lost: Option<Digest>,
    /// Whether the manifest ends in the middle of a line.
    pub(crate) unended: bool,
    pub(crate) bad: Vec<Bad>,
    /// Frames that a later line put aside; only checking looks at them.
    pub(crate) superseded: Vec<(String, u32, Frame)>,
    /// Set by a line of a newer version: to be read as far as understood, never to be written.
    pub(crate) newer: bool,
    pub(crate) lines: u64,
    /// Why it is not the manifest of its folder's conversation: nothing that it names may be used.
    pub(crate) foreign: Option<String>,
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
    /// A good line that does not follow the one before it: lines are missing, repeated or not in order.
    Chain,
    /// Lines are missing before this one that `head` had named.
    Lost,
    /// `head` itself is not what was written.
    Head,
    /// A power cut has emptied `head`.
    BlankHead,
    /// The manifest is another conversation's, or names files that this one cannot have.
    Foreign,
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
    /// The same, by the word of a later line: the file was put back, or came back, with no more than was provable.
    pub(crate) doubted: bool,
    /// The next line was written when lines were there that are lost now: what it keeps of this may be of another.
    pub(crate) unlinked: bool,
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
    pub(crate) fn read(bytes: &[u8], head: &Found) -> Self {
        let mut state = Self {
            begin: None,
            begun: false,
            files: BTreeMap::new(),
            chain: START,
            torn: None,
            lost: None,
            unended: bytes.last().is_some_and(|byte| *byte != b'\n'),
            bad: Vec::new(),
            superseded: Vec::new(),
            newer: false,
            lines: 0,
            foreign: None,
        };
        let scanned = scan(bytes);
        state.lines = scanned.lines;
        let chains: HashSet<Digest> = scanned.items.iter().map(|item| item.chain).collect();
        let ordered = in_order(scanned.items);
        state.bad.extend(ordered.out_of_order);
        for item in ordered.items {
            state.follow(item);
        }
        if ordered.ambiguous {
            state.mark_suspects(Link::Broken);
        }
        state.end(bytes, scanned.rest, head, &chains);
        state.bad.sort_by_key(|bad| bad.offset);
        state
    }

    // What stands behind the last good line, and whether that is the last one there was.
    fn end(&mut self, bytes: &[u8], rest: Option<(usize, u64)>, head: &Found, chains: &HashSet<Digest>) {
        let (offset, line) =
            rest.map_or((bytes.len() as u64, self.lines + 1), |(at, line)| (at as u64, line));
        match head {
            Found::Whole(head) => {
                if self.begin.is_none() {
                    self.begin.clone_from(&head.begin);
                }
                if !chains.contains(&head.last) {
                    self.lost = Some(head.last);
                }
            }
            Found::Damaged => self.bad.push(Bad { line, offset, kind: BadKind::Head }),
            Found::Blank => self.bad.push(Bad { line, offset, kind: BadKind::BlankHead }),
            Found::Absent => {}
        }
        let torn = rest.filter(|(from, _)| self.lost.is_none() && is_torn(&bytes[*from..]));
        if let Some((from, _)) = torn {
            self.bad.push(Bad { line, offset, kind: BadKind::TornTail });
            // As it will stand there once the next writer has ended it.
            self.torn = Some(skipped(&[&bytes[from..], b"\n"].concat()));
        } else if rest.is_some() || self.lost.is_some() {
            let kind = if rest.is_some() { BadKind::Damaged } else { BadKind::Lost };
            self.bad.push(Bad { line, offset, kind });
            self.mark_suspects(Link::Whole);
        }
    }

    fn follow(&mut self, item: Item) {
        let Item { line, chain, prev, torn, offset, number } = item;
        let link = if prev == self.chain { Link::Whole } else { Link::Broken };
        let mut broken = link == Link::Broken;
        let (named, lost) = line.as_ref().map_or((None, None), |line| (line.skipped.as_ref(), line.lost));
        // The writer that came after a crash has named exactly these bytes; then nothing is missing.
        let unnamed = torn.filter(|(_, _, skipped)| named != Some(skipped));
        if let Some((from, number, _)) = unnamed {
            self.bad.push(Bad { line: number, offset: from as u64, kind: BadKind::Damaged });
            broken = true;
        } else if broken {
            self.bad.push(Bad { line: number, offset, kind: BadKind::Chain });
        } else if lost.is_some() {
            self.bad.push(Bad { line: number, offset, kind: BadKind::Lost });
        }
        if broken || lost.is_some() {
            self.mark_suspects(link);
        }
        self.chain = chain;
        let Some(line) = line else {
            // What a newer version says here may be more of any file.
            self.newer = true;
            self.mark_suspects(Link::Broken);
            return;
        };
        match line.what {
            What::Begin(begin) => (self.begin, self.begun) = (Some(begin), true),
            What::Store(store) => self.store(line.at, store),
            What::Gone(gone) => self.gone(line.at, &gone.file),
            What::Moved(moved) => self.moved(&moved),
        }
    }

    // A lost line may have stored more of any file; what is proven afterwards clears the mark.
    fn mark_suspects(&mut self, link: Link) {
        for file in self.files.values_mut() {
            if let Some(newest) = file.generations.last_mut() {
                newest.suspect = true;
                newest.unlinked |= link == Link::Broken;
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
        // A line that says what all of its frames are needs nothing else. Without that, frames are what they seem only if
        // the line was written behind the very lines that are here.
        let proven = match store.whole {
            Some(whole) => digest_of_all(&frames) == whole,
            None => keep == 0 || before.is_some_and(|newest| !newest.gap && !newest.unlinked),
        };
        let gap = !adds_up || total != store.source.size || !proven;
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
            suspect: store.doubt,
            doubted: store.doubt,
            unlinked: false,
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

    /// Whether lines are missing that may have stored anything.
    pub(crate) fn lost_lines(&self) -> bool {
        self.bad.iter().any(|bad| matches!(bad.kind, BadKind::Damaged | BadKind::Chain | BadKind::Lost))
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
