//! Checking every stored bit, and telling what a bad one touches.

use std::collections::HashMap;

use rayon::prelude::*;

use crate::compare::id_of;
use crate::frame::{Frame, FrameError};
use crate::replay::{BadKind, State};
use crate::vault::Vault;
use crate::{Error, Key};

/// What a check of the vault came to.
#[derive(Debug, Default)]
pub struct VerifyReport {
    /// Conversations checked.
    pub conversations: usize,
    /// Frames read and unpacked.
    pub frames: u64,
    /// Bytes of conversations they stand for.
    pub bytes: u64,
    /// What is not as it was written.
    pub damage: Vec<Damage>,
    /// What a crash left: a half-written line, or an emptied `head`. The next sync supersedes it, nothing is lost.
    pub torn: Vec<Key>,
}

impl VerifyReport {
    /// Whether everything is as it was written.
    pub fn is_clean(&self) -> bool {
        self.damage.is_empty()
    }

    fn add(mut self, other: Self) -> Self {
        self.conversations += other.conversations;
        self.frames += other.frames;
        self.bytes += other.bytes;
        self.damage.extend(other.damage);
        self.torn.extend(other.torn);
        self
    }
}

/// One thing that is not as it was written.
#[derive(Debug)]
pub struct Damage {
    /// The conversation that suffers.
    pub key: Key,
    /// Where it is.
    pub place: DamagedPlace,
    /// What it touches; empty where a later sync has superseded it already.
    pub touches: Vec<Touched>,
}

/// Where damage is.
#[derive(Debug)]
pub enum DamagedPlace {
    /// In the manifest.
    Manifest {
        /// The line, from 1.
        line: u64,
        /// Where it begins.
        offset: u64,
    },
    /// Lines are gone from the manifest, and nothing is left of them.
    Lost {
        /// Where they stood: before this line, from 1.
        line: u64,
    },
    /// In the small file that says which line is the last one.
    Head,
    /// Everywhere: the manifest is not of the conversation in whose folder it lies.
    Foreign {
        /// What is wrong, as a sentence.
        what: String,
    },
    /// In a data file.
    Data {
        /// The conversation whose data file it is.
        of: String,
        /// Where the frame begins.
        offset: u64,
        /// What is wrong.
        error: FrameError,
    },
}

/// A part of a file that damage touches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Touched {
    /// The file.
    pub file: String,
    /// The generation.
    pub generation: u32,
    /// Its bytes, from and to.
    pub bytes: (u64, u64),
    /// Its rows, from and to, counted from 0.
    pub rows: (u64, u64),
}

impl Vault {
    /// Checks everything.
    pub fn verify(&self) -> Result<VerifyReport, Error> {
        let _shared = self.share()?;
        self.keys()?
            .par_iter()
            .map(|key| self.verify_one(key))
            .try_reduce(VerifyReport::default, |one, two| Ok(one.add(two)))
    }

    /// Checks one conversation.
    pub fn verify_conversation(&self, key: &Key) -> Result<VerifyReport, Error> {
        let _shared = self.share()?;
        self.verify_one(key)
    }

    fn verify_one(&self, key: &Key) -> Result<VerifyReport, Error> {
        let state = self.state(key)?;
        let mut report = VerifyReport::default();
        if state.lines == 0 && state.bad.is_empty() {
            return Ok(report);
        }
        report.conversations = 1;
        for bad in &state.bad {
            let place = match bad.kind {
                BadKind::TornTail | BadKind::BlankHead => {
                    report.torn.push(key.clone());
                    continue;
                }
                BadKind::Damaged | BadKind::Chain => {
                    DamagedPlace::Manifest { line: bad.line, offset: bad.offset }
                }
                BadKind::Lost => DamagedPlace::Lost { line: bad.line },
                BadKind::Head => DamagedPlace::Head,
                BadKind::Foreign => DamagedPlace::Foreign { what: state.foreign.clone().unwrap_or_default() },
            };
            report.damage.push(Damage { key: key.clone(), place, touches: doubtful(&state) });
        }
        let id = id_of(key);
        for (frame, touches) in named(&state) {
            report.frames += 1;
            report.bytes += u64::from(frame.raw);
            if let Err(error) = self.check_frame(key, frame, id.as_bytes())? {
                let of = frame.place.clone().unwrap_or_else(|| key.to_string());
                let place = DamagedPlace::Data { of, offset: frame.offset, error };
                report.damage.push(Damage { key: key.clone(), place, touches });
            }
        }
        Ok(report)
    }

    fn check_frame(&self, key: &Key, frame: &Frame, id: &[u8]) -> Result<Result<(), FrameError>, Error> {
        match self.data(key, frame.place.as_deref()) {
            Ok(data) => self.with_codec(|codec| codec.unpack(&data, frame, id).map(|_| ())),
            Err(error) => Ok(Err(FrameError::Io(error))),
        }
    }
}

// The generations that a lost line may have belonged to.
fn doubtful(state: &State) -> Vec<Touched> {
    let mut touched = Vec::new();
    for (name, file) in &state.files {
        for generation in file.generations.iter().filter(|generation| generation.gap || generation.suspect) {
            touched.push(Touched {
                file: name.clone(),
                generation: generation.number,
                bytes: (0, generation.size()),
                rows: (0, generation.rows()),
            });
        }
    }
    touched
}

// The same stored bytes can be meant with the id put back and without.
type Place<'a> = (Option<&'a str>, u64, bool);

// Each stored frame once, with every place where it is used.
fn named(state: &State) -> Vec<(&Frame, Vec<Touched>)> {
    let mut order = Vec::new();
    let mut uses: HashMap<Place<'_>, (usize, Vec<Touched>)> = HashMap::new();
    for (name, file) in &state.files {
        for generation in &file.generations {
            let (mut at, mut row) = (0, 0);
            for frame in &generation.frames {
                let bytes = (at, at + u64::from(frame.raw));
                let rows = (row, row + frame.rows);
                (at, row) = (bytes.1, rows.1);
                let touched = Touched { file: name.clone(), generation: generation.number, bytes, rows };
                let place = (frame.place.as_deref(), frame.offset, frame.folded);
                let entry = uses.entry(place).or_insert_with(|| {
                    order.push(frame);
                    (order.len() - 1, Vec::new())
                });
                entry.1.push(touched);
            }
        }
    }
    for (_, _, frame) in &state.superseded {
        uses.entry((frame.place.as_deref(), frame.offset, frame.folded)).or_insert_with(|| {
            order.push(frame);
            (order.len() - 1, Vec::new())
        });
    }
    let mut named: Vec<(usize, Vec<Touched>)> = uses.into_values().collect();
    named.sort_by_key(|(number, _)| *number);
    named.into_iter().map(|(number, touches)| (order[number], touches)).collect()
}
