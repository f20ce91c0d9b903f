//! Transcripts to measure with: made once into the target directory, always the same.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::rows::{Dice, Turns, Writer};
use crate::workspace;

/// Raised when what is made changes, so that an old corpus is not taken for a new one.
const EDITION: u32 = 4;

/// A made home full of transcripts.
pub(super) struct Corpus {
    /// `$HOME`.
    pub(super) home: PathBuf,
    /// Every transcript.
    pub(super) files: Vec<PathBuf>,
    /// All of their bytes.
    pub(super) bytes: u64,
    /// All of their lines.
    pub(super) lines: u64,
    /// The longest line.
    pub(super) longest: u64,
    /// The sessions that are damaged.
    pub(super) damaged: Vec<String>,
}

/// `count` files from 200 bytes to 20 MB that make `total` bytes together, a tenth of them damaged.
pub(super) fn mixed(count: usize, total: u64) -> Result<Corpus> {
    let sizes = sizes(count, total);
    make(&format!("mixed-{count}-{total}"), &sizes, Turns::OneByOne { scale: 1 << 12 })
}

/// 100 files that make `total` bytes together, of turns with up to ten tools at once and rows of so many bytes on average; a
/// tenth of them damaged.
pub(super) fn parallel(row: u64, total: u64) -> Result<Corpus> {
    make(&format!("parallel-{row}-{total}"), &[total / 100; 100], Turns::AtOnce { row })
}

/// Many small files of a few kilobytes.
pub(super) fn small(count: usize) -> Result<Corpus> {
    make(&format!("small-{count}"), &vec![3000; count], Turns::OneByOne { scale: 256 })
}

/// One file of so many bytes.
pub(super) fn big(bytes: u64) -> Result<Corpus> {
    make(&format!("big-{bytes}"), &[bytes], Turns::OneByOne { scale: 1 << 14 })
}

/// Sizes spread evenly over the orders of magnitude, bent so that they make the total.
fn sizes(count: usize, total: u64) -> Vec<u64> {
    let (smallest, largest) = (200.0_f64, 20e6_f64);
    let with = |bend: f64| -> Vec<u64> {
        let size = |at: usize| {
            let place = ((at as f64 + 0.5) / count as f64).powf(bend);
            (smallest * (largest / smallest).powf(place)) as u64
        };
        (0..count).map(size).collect()
    };
    let (mut low, mut high) = (0.05, 20.0);
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if with(middle).iter().sum::<u64>() > total { low = middle } else { high = middle }
    }
    with(high)
}

fn make(name: &str, sizes: &[u64], turns: Turns) -> Result<Corpus> {
    let home = workspace::target().join("bench").join(name);
    let done = home.join("done");
    let known = fs::read_to_string(&done).unwrap_or_default();
    if known.lines().next() != Some(&EDITION.to_string()) {
        println!("making {name}");
        let _ = fs::remove_dir_all(&home);
        let damaged = tenth(sizes);
        let mut made = vec![EDITION.to_string()];
        let mut dice = Dice::new(0x7265_6b69_6e64_6c65);
        for (at, size) in sizes.iter().enumerate() {
            let folder = home.join(".claude/projects").join(format!("-home-dev-project-{:02}", at % 40));
            fs::create_dir_all(&folder)?;
            let session = dice.uuid();
            let damage =
                damaged.iter().position(|other| *other == at).map(|nth| Damage::ALL[nth % Damage::ALL.len()]);
            let mut file = BufWriter::new(File::create(folder.join(format!("{session}.jsonl")))?);
            if conversation(&mut dice, &session, *size, turns, damage, &mut file)? == Health::Damaged {
                made.push(session);
            }
            file.flush()?;
        }
        // Written last: a corpus without it was interrupted and is made anew.
        fs::write(&done, made.join("\n"))?;
    }
    let damaged = fs::read_to_string(&done)?.lines().skip(1).map(str::to_owned).collect();
    read(home, damaged)
}

/// A tenth of the files, spread over those that are long enough to have a middle: the longest turn is shorter.
fn tenth(sizes: &[u64]) -> Vec<usize> {
    let long: Vec<usize> = (0..sizes.len()).filter(|at| sizes[*at] >= 50_000).collect();
    let wanted = (sizes.len() / 10).min(long.len());
    (0..wanted).filter_map(|nth| long.get(nth * long.len() / wanted).copied()).collect()
}

/// What a damaged file has in its middle or at its end.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Damage {
    Dangling,
    FalseRoot,
    Nul,
    Glued,
    Torn,
}

impl Damage {
    const ALL: [Damage; 5] = [Damage::Dangling, Damage::FalseRoot, Damage::Nul, Damage::Glued, Damage::Torn];
}

/// Whether the damage came about: a file of one turn has no middle.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Health {
    Whole,
    Damaged,
}

/// Writes turns until the size is reached; the damage comes half way.
fn conversation(
    dice: &mut Dice,
    session: &str,
    size: u64,
    turns: Turns,
    damage: Option<Damage>,
    out: &mut impl Write,
) -> Result<Health> {
    let turns = turns.within(size);
    let mut writer = Writer::new(dice, session);
    if size < 1500 {
        // Less than a whole turn: a prompt that nobody answered.
        out.write_all(writer.tiny(size).as_bytes())?;
        return Ok(Health::Whole);
    }
    let wanted = damage.is_some();
    let (mut written, mut damage, mut turn) = (0_u64, damage, String::new());
    while written < size {
        turn.clear();
        if written > size / 2 {
            match damage.take() {
                Some(Damage::Dangling) => {
                    writer.set_parent(Some("deadbeef-0000-4000-8000-000000000000".to_owned()));
                }
                Some(Damage::FalseRoot) => writer.set_parent(None),
                Some(Damage::Nul) => turn.push_str(&"\0".repeat(4096)),
                Some(Damage::Glued) => {
                    writer.turn(turns, &mut turn);
                    turn.truncate(turn.trim_end().len());
                }
                other => damage = other,
            }
        }
        writer.turn(turns, &mut turn);
        written += turn.len() as u64;
        if written >= size && damage == Some(Damage::Torn) {
            let half = turn.char_indices().nth(turn.chars().count() / 2).map_or(0, |(at, _)| at);
            turn.truncate(half);
        }
        out.write_all(turn.as_bytes())?;
    }
    let torn = damage == Some(Damage::Torn);
    Ok(if torn || (wanted && damage.is_none()) { Health::Damaged } else { Health::Whole })
}

fn read(home: PathBuf, damaged: Vec<String>) -> Result<Corpus> {
    let mut corpus = Corpus { files: Vec::new(), bytes: 0, lines: 0, longest: 0, damaged, home };
    let folders = fs::read_dir(corpus.home.join(".claude/projects")).context("no corpus")?;
    for folder in folders {
        for entry in fs::read_dir(folder?.path())? {
            corpus.files.push(entry?.path());
        }
    }
    corpus.files.sort();
    for file in corpus.files.clone() {
        measure(&file, &mut corpus)?;
    }
    Ok(corpus)
}

/// Reads in pieces: this process's own memory must stay small, the kernel adds it to a child's peak.
fn measure(file: &Path, corpus: &mut Corpus) -> Result<()> {
    let mut file = File::open(file)?;
    let (mut buffer, mut line) = (vec![0_u8; 1 << 18], 0_u64);
    loop {
        let count = std::io::Read::read(&mut file, &mut buffer)?;
        if count == 0 {
            corpus.longest = corpus.longest.max(line);
            return Ok(());
        }
        corpus.bytes += count as u64;
        for byte in &buffer[..count] {
            line += 1;
            if *byte == b'\n' {
                corpus.lines += 1;
                corpus.longest = corpus.longest.max(line);
                line = 0;
            }
        }
    }
}
