//! The kill sweep: a command is killed before each of its system calls that may change a file, each time in a fresh home;
//! then it runs again to its end, and what is left is judged.
//!
//! A kill between two such calls leaves the same files behind wherever it falls, so this meets every state that a kill of the
//! program can leave. To add a command, write a file that makes a [`Subject`] and name it in [`SUBJECTS`].

mod agents;
mod forget;
mod tmux;
mod transcripts;
mod vault;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Context, Result, bail, ensure};

use crate::home::Home;
use crate::process::{self, Finished};
use crate::rekindle::DEADLINE;
use crate::{Lab, trace};

/// A command that is swept.
#[derive(Debug)]
pub struct Subject {
    /// What people call it.
    pub name: &'static str,
    /// What is typed.
    pub arguments: &'static [&'static str],
    /// Makes a home in which the command has something to do.
    prepare: fn() -> Result<Scene>,
    /// What must hold right behind the kill. The error says what does not.
    after_kill: fn(&Scene) -> Result<()>,
    /// What must hold when the command has run again, with what that run said.
    judge: fn(&Scene, &Finished) -> Result<()>,
}

/// Every command that can be swept.
pub const SUBJECTS: [&Subject; 14] = [
    &transcripts::REPAIR,
    &transcripts::UNDO,
    &transcripts::UNDO_OF_PUTTING_BACK,
    &transcripts::REDO,
    &transcripts::REDO_OF_PUTTING_BACK,
    &transcripts::SETTLE_OF_KEPT,
    &vault::SYNC,
    &vault::RESTORE,
    &vault::RESTORE_DELETED,
    &forget::FORGET,
    &tmux::SAVE,
    &tmux::FIRST_SAVE,
    &tmux::RESTORE,
    &agents::RESTORE,
];

/// A home that is ready for a command, and what its transcript was and shall be.
#[derive(Debug)]
pub struct Scene {
    home: Place,
    /// The transcript before; none where it is not there.
    old: Option<Vec<u8>>,
    /// The transcript after.
    new: Option<Vec<u8>>,
}

/// The home of a scene, with the real agent and its API where the scene has one.
#[derive(Debug)]
enum Place {
    Home(Home),
    Lab(Box<Lab>),
}

impl std::ops::Deref for Place {
    type Target = Home;

    fn deref(&self) -> &Home {
        match self {
            Place::Home(home) => home,
            Place::Lab(lab) => &lab.home,
        }
    }
}

/// What a sweep over one command showed.
#[derive(Debug, Clone)]
pub struct Report {
    /// The command.
    pub name: &'static str,
    /// How many calls an uninterrupted run makes that may change a file.
    pub calls: u64,
    /// How many runs were killed.
    pub killed: usize,
    /// The kills after which something was not as it must be, and what.
    pub bad: Vec<(u64, String)>,
}

/// Which of the calls are met.
#[derive(Debug, Clone, Copy)]
pub enum Points {
    /// Each.
    All,
    /// So many, drawn by a seed.
    Sample {
        /// How many.
        count: usize,
        /// Draws the same ones again.
        seed: u64,
    },
    /// One, by its number.
    One(u64),
}

/// How often each run is killed before one goes through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kills {
    /// Once.
    Once,
    /// The second run too, at a call drawn by the number of the first.
    Twice,
}

/// Sweeps one command, with so many homes at a time.
pub fn sweep(subject: &'static Subject, points: Points, kills: Kills, threads: usize) -> Result<Report> {
    let calls = count_calls(subject)?;
    let points = chosen(points, calls);
    let second = |point: u64| match kills {
        Kills::Once => None,
        Kills::Twice => chosen(Points::Sample { count: 1, seed: point }, calls).first().copied(),
    };
    let (next, bad, killed) = (AtomicUsize::new(0), Mutex::new(Vec::new()), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for _ in 0..threads.max(1) {
            scope.spawn(|| {
                while let Some(point) = points.get(next.fetch_add(1, Ordering::Relaxed)) {
                    match kill_at(subject, *point, second(*point)) {
                        Ok(true) => {
                            killed.fetch_add(1, Ordering::Relaxed);
                        }
                        // Threads take turns: a run may make a call less than the one that was counted.
                        Ok(false) => {}
                        Err(error) => {
                            killed.fetch_add(1, Ordering::Relaxed);
                            if let Ok(mut bad) = bad.lock() {
                                bad.push((*point, format!("{error:#}")));
                            }
                        }
                    }
                }
            });
        }
    });
    let mut bad = bad.into_inner().unwrap_or_default();
    bad.sort();
    Ok(Report { name: subject.name, calls, killed: killed.into_inner(), bad })
}

/// How many calls an uninterrupted run makes; it must be judged well itself.
fn count_calls(subject: &Subject) -> Result<u64> {
    let scene = (subject.prepare)().with_context(|| format!("{}: cannot prepare", subject.name))?;
    let watched = trace::kill_at_change(&mut scene.command(subject.arguments), u64::MAX)?;
    ensure!(watched.done.success(), "{} does not end well: {}", subject.name, watched.done.words());
    (subject.judge)(&scene, &watched.done).with_context(|| format!("{} without a kill", subject.name))?;
    Ok(watched.calls)
}

/// Kills a run at this call, and perhaps a second one, lets another one through, and judges. Whether there was such a call.
fn kill_at(subject: &Subject, point: u64, second: Option<u64>) -> Result<bool> {
    let scene = (subject.prepare)().context("cannot prepare")?;
    let watched = trace::kill_at_change(&mut scene.command(subject.arguments), point)?;
    if watched.done.status.is_some() {
        return Ok(false);
    }
    (subject.after_kill)(&scene).context("right behind the kill")?;
    if let Some(second) = second {
        trace::kill_at_change(&mut scene.command(subject.arguments), second)?;
        (subject.after_kill)(&scene).with_context(|| format!("behind a second kill at call {second}"))?;
    }
    let again = process::run(&mut scene.command(subject.arguments), DEADLINE)?;
    (subject.judge)(&scene, &again).with_context(|| format!("the last run said: {}", again.words()))?;
    Ok(true)
}

fn chosen(points: Points, calls: u64) -> Vec<u64> {
    match points {
        Points::All => (1..=calls).collect(),
        Points::One(point) => vec![point],
        Points::Sample { count, seed } => {
            // Spread over the run: one from each of so many equal parts (xorshift64*).
            let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
            let mut draw = |most: u64| {
                state ^= state >> 12;
                state ^= state << 25;
                state ^= state >> 27;
                state.wrapping_mul(0x2545_f491_4f6c_dd1d) % most.max(1)
            };
            let count = (count as u64).clamp(1, calls.max(1));
            let from = |part: u64| part * calls / count;
            (0..count).map(|part| from(part) + 1 + draw(from(part + 1) - from(part))).collect()
        }
    }
}

impl Scene {
    fn of(home: Home) -> Scene {
        Scene { home: Place::Home(home), old: None, new: None }
    }

    /// The program as people call it there: with an agent, as from a shell beside it.
    fn command(&self, arguments: &[&str]) -> Command {
        match &self.home {
            Place::Home(home) => home.bare_command(arguments),
            Place::Lab(lab) => {
                let mut command = lab.home.rekindle_command(arguments);
                command.env_clear().envs(lab.env());
                command
            }
        }
    }

    fn transcript(&self) -> PathBuf {
        self.home.transcript(SESSION)
    }

    fn bytes(&self) -> Option<Vec<u8>> {
        fs::read(self.transcript()).ok()
    }

    /// The path holds the old file or the new one, whole.
    fn is_old_or_new(&self) -> Result<()> {
        let bytes = self.bytes();
        ensure!(bytes == self.old || bytes == self.new, "the transcript is {}", self.describe(&bytes));
        Ok(())
    }

    fn is(&self, wanted: &Option<Vec<u8>>) -> Result<()> {
        let bytes = self.bytes();
        ensure!(
            bytes == *wanted,
            "the transcript is {}, not {}",
            self.describe(&bytes),
            self.describe(wanted)
        );
        Ok(())
    }

    fn describe(&self, bytes: &Option<Vec<u8>>) -> String {
        match bytes {
            bytes if *bytes == self.old => "the old one".to_owned(),
            bytes if *bytes == self.new => "the new one".to_owned(),
            None => "gone".to_owned(),
            Some(bytes) => format!("another one of {} bytes", bytes.len()),
        }
    }

    /// Runs a command that must end with one of these codes.
    fn ends(&self, arguments: &[&str], codes: &[i32]) -> Result<Finished> {
        let done = process::run(&mut self.command(arguments), DEADLINE)?;
        match done.code() {
            Some(code) if codes.contains(&code) => Ok(done),
            code => bail!("{arguments:?} ended with {code:?}: {}", done.words()),
        }
    }

    /// The change was made, and can be undone once.
    fn is_changed_and_undoable(&self, again: &Finished) -> Result<()> {
        ensure!(again.success(), "ended with {:?}", again.code());
        self.is(&self.new)?;
        self.is_tidy()?;
        self.is_undone_once()
    }

    /// One undo brings the old bytes back, and a second one finds nothing.
    fn is_undone_once(&self) -> Result<()> {
        self.ends(&["undo", SESSION], &[0])?;
        self.is(&self.old)?;
        self.is_tidy()?;
        self.ends(&["undo", SESSION], &[3])?;
        self.is(&self.old)
    }

    /// Nothing of rekindle is left beside a transcript, and the vault is whole.
    fn is_tidy(&self) -> Result<()> {
        let left = left_over(&self.home.config().join("projects"));
        ensure!(left.is_empty(), "left beside the transcript: {left:?}");
        self.ends(&["vault", "verify"], &[0]).map(|_| ())
    }
}

/// The conversation that every scene is about.
const SESSION: &str = "aaaaaaaa-5eed-4aaa-8aaa-aaaaaaaaaaaa";

/// Every file of rekindle below a folder.
fn left_over(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .flat_map(|entry| {
            let path = entry.path();
            if path.is_dir() {
                return left_over(&path);
            }
            let ours = entry.file_name().to_string_lossy().starts_with(".rekindle");
            ours.then_some(path).into_iter().collect()
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_is_spread_over_the_whole_run() {
        assert_eq!(chosen(Points::All, 3), [1, 2, 3]);
        for seed in 0..50 {
            let sample = chosen(Points::Sample { count: 4, seed }, 40);
            let parts: Vec<u64> = sample.iter().map(|point| (point - 1) / 10).collect();
            assert_eq!(parts, [0, 1, 2, 3], "{sample:?}");
        }
        assert_eq!(chosen(Points::Sample { count: 9, seed: 1 }, 2), [1, 2]);
    }
}
