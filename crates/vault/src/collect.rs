//! Giving back the room of frames that nothing needs any more: tails that were superseded sync after sync.

use std::collections::{BTreeMap, HashSet};
use std::os::unix::fs::FileExt;
use std::path::Path;

use jiff::Timestamp;
use store::durable::{self, Appender};

use crate::compare::id_of;
use crate::error::reading;
use crate::event::Event;
use crate::frame::{Digest, Frame, digest_of_all};
use crate::head::Head;
use crate::manifest::{Gone, Line, SCHEMA, START, Store, What};
use crate::replay::{FileState, Generation, Noted, State};
use crate::vault::Vault;
use crate::{Error, Key};

// One megabyte is not worth the writing.
pub(crate) const WORTH: u64 = 1024 * 1024;

impl Vault {
    /// Rewrites conversations of which at least this much, and at least half, is dead. Returns the bytes given back.
    pub fn collect(&self, dead_at_least: u64) -> Result<u64, Error> {
        let _alone = self.alone()?;
        self.collect_alone(dead_at_least)
    }

    pub(crate) fn collect_alone(&self, dead_at_least: u64) -> Result<u64, Error> {
        self.close_data();
        let all = self.states()?;
        // Others know frames by their offsets; whoever is referred to stays as it is.
        let referred: HashSet<&str> = all
            .iter()
            .flat_map(|(_, state)| state.every_frame())
            .filter_map(|frame| frame.place.as_deref())
            .collect();
        let mut freed = 0;
        for (key, state) in &all {
            // Damage is evidence, and a newer version's lines are not ours to rewrite.
            if !referred.contains(key.as_str()) && state.bad.is_empty() && !state.newer {
                freed += self.collect_one(key, state, dead_at_least)?;
            }
        }
        if freed > 0 {
            self.close_data();
            self.index.forget()?;
        }
        Ok(freed)
    }

    fn collect_one(&self, key: &Key, state: &State, dead_at_least: u64) -> Result<u64, Error> {
        let folder = self.folder(key);
        let live: BTreeMap<u64, &Frame> =
            state.frames().filter(|frame| frame.place.is_none()).map(|frame| (frame.offset, frame)).collect();
        let needed: u64 = live.values().map(|frame| u64::from(frame.length)).sum();
        let size = std::fs::metadata(folder.join("data")).map_or(0, |meta| meta.len());
        let dead = size.saturating_sub(needed);
        if dead == 0 || dead < dead_at_least || dead < needed {
            return Ok(0);
        }
        let fresh = collecting(&folder, key);
        durable::remove_tree(&fresh)?;
        durable::private_dir(&fresh)?;
        let Some(places) = self.copy_frames(key, &live, &fresh)? else {
            durable::remove_tree(&fresh)?;
            return Ok(0);
        };
        let (manifest, last) = retell(state, &places)?;
        durable::append(&fresh.join("manifest.jsonl"), &manifest, durable::Sync::Yes)?;
        Head::write(&fresh, last, state.begin.clone())?;
        durable::append(&fresh.join("lock"), b"", durable::Sync::Yes)?;
        // Both files change places in one step; a crash leaves the old pair or the new one.
        durable::exchange(&folder, &fresh)?;
        durable::remove_tree(&fresh)?;
        Ok(dead)
    }

    // None where a frame is damaged: then nothing is rewritten.
    fn copy_frames(
        &self,
        key: &Key,
        live: &BTreeMap<u64, &Frame>,
        fresh: &Path,
    ) -> Result<Option<BTreeMap<u64, u64>>, Error> {
        let id = id_of(key);
        let path = self.folder(key).join("data");
        let data = store::files::open_own(&path).map_err(reading(&path))?;
        let mut out = Appender::open(&fresh.join("data"))?;
        let mut places = BTreeMap::new();
        let mut bytes = Vec::new();
        for (offset, frame) in live {
            if self.with_codec(|codec| codec.unpack(&data, frame, id.as_bytes()).is_err())? {
                return Ok(None);
            }
            bytes.resize(frame.length as usize, 0);
            data.read_exact_at(&mut bytes, *offset).map_err(reading(&path))?;
            places.insert(*offset, out.length());
            out.write(&bytes)?;
        }
        out.sync()?;
        Ok(Some(places))
    }
}

/// The folder in which a conversation is rewritten.
pub(crate) fn collecting(folder: &Path, key: &Key) -> std::path::PathBuf {
    folder.with_file_name(format!("{}collect-{}", durable::TEMPORARY_PREFIX, key.name()))
}

/// The same story in as few lines as it takes.
pub(crate) fn retell(state: &State, places: &BTreeMap<u64, u64>) -> Result<(Vec<u8>, Digest), Error> {
    let mut told: Vec<(Timestamp, What)> = Vec::new();
    let first = state.files.values().filter_map(|file| file.noted.first()).map(|noted| noted.at).min();
    if let Some(begin) = &state.begin {
        told.push((first.unwrap_or(Timestamp::UNIX_EPOCH), What::Begin(begin.clone())));
    }
    for (name, file) in &state.files {
        told.extend(retell_file(name, file, places));
    }
    let mut bytes = Vec::new();
    let mut prev = START;
    for (at, what) in told {
        let (line, chain) = Line { schema: SCHEMA, at, skipped: None, lost: None, what, prev }.seal()?;
        bytes.extend_from_slice(&line);
        prev = chain;
    }
    Ok((bytes, prev))
}

fn retell_file(name: &str, file: &FileState, places: &BTreeMap<u64, u64>) -> Vec<(Timestamp, What)> {
    let mut told = Vec::new();
    let mut before: Option<&Generation> = None;
    for (number, noted) in file.noted.iter().enumerate() {
        if noted.event == Event::Deleted {
            told.push((noted.at, What::Gone(Gone { file: name.to_owned() })));
            continue;
        }
        let Some(generation) =
            file.generations.iter().find(|generation| generation.number == noted.generation)
        else {
            continue;
        };
        told.push((noted.at, What::Store(store(name, file, generation, before, Some(noted), places))));
        before = Some(generation);
        let later = &file.noted[number + 1..];
        let last =
            !later.iter().any(|next| next.generation == noted.generation && next.event != Event::Deleted);
        if last && generation.until != noted.at {
            let grown = store(name, file, generation, before, None, places);
            told.push((generation.until, What::Store(grown)));
        }
    }
    told
}

fn store(
    name: &str,
    file: &FileState,
    generation: &Generation,
    before: Option<&Generation>,
    noted: Option<&Noted>,
    places: &BTreeMap<u64, u64>,
) -> Store {
    let old = before.map(|before| before.frames.as_slice()).unwrap_or_default();
    let keep = old.iter().zip(&generation.frames).take_while(|(one, two)| one == two).count();
    let moved = |frame: &Frame| match places.get(&frame.offset) {
        Some(offset) if frame.place.is_none() => Frame { offset: *offset, ..frame.clone() },
        _ => frame.clone(),
    };
    Store {
        file: name.to_owned(),
        kind: file.kind,
        generation: generation.number,
        event: noted.map_or(Event::Appended, |noted| noted.event),
        keep_frames: u32::try_from(keep).unwrap_or(u32::MAX),
        keep_bytes: old[..keep].iter().map(|frame| u64::from(frame.raw)).sum(),
        frames: generation.frames[keep..].iter().map(moved).collect(),
        open: generation.open,
        source: generation.source,
        tail: generation.tail,
        whole: Some(digest_of_all(&generation.frames)),
        doubt: generation.suspect,
        sizes: noted.map(|noted| noted.sizes),
    }
}
