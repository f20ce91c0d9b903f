//! Restores of a round.

use std::collections::BTreeMap;
use std::process::Command;

use anyhow::{Result, bail};
use serde_json::Value;

use super::random::Random;
use super::stage::Stage;
use crate::process::{self, Finished};
use crate::rekindle::DEADLINE;
use crate::trace::kill_at;

/// What a restore said.
#[derive(Debug, Clone)]
pub(super) struct Report {
    /// Its exit code.
    pub(super) code: Option<i32>,
    /// Its JSON; null where it printed none.
    pub(super) said: Value,
    /// Its words.
    pub(super) words: String,
}

impl Report {
    fn of(done: &Finished) -> Report {
        let said = serde_json::from_str(&done.stdout).unwrap_or_default();
        Report { code: done.code(), said, words: done.stderr.trim().chars().take(600).collect() }
    }

    /// What it said of a conversation: outcome and reason.
    pub(super) fn of_session(&self, session: &str) -> Option<(&str, &str)> {
        let pane = self.said["panes"].as_array()?.iter().find(|pane| pane["sessionId"] == session)?;
        Some((pane["outcome"].as_str()?, pane["reason"].as_str()?))
    }
}

/// About as many counted calls as a settle or a restore of a dozen panes makes (measured); one that makes fewer ends by
/// itself, and the next is killed within what it made.
const TYPICAL_CALLS: usize = 160;

impl Stage {
    /// The command that brings everything back, with the environment of a user's shell.
    pub(super) fn restore_command(&self) -> Command {
        self.restore_by("manual")
    }

    fn restore_by(&self, trigger: &str) -> Command {
        let mut command = self.lab.home.rekindle_command(&["restore", "--yes", "--json", "--by", trigger]);
        command.env_clear().envs(self.lab.env());
        command
    }

    /// Restores once, which must end.
    pub(super) fn restore(&mut self) -> Result<()> {
        let done = process::run(&mut self.restore_command(), DEADLINE)?;
        self.note_restore(&done)
    }

    /// Kills a few restores half way.
    pub(super) fn restore_killed(&mut self, random: &mut Random) -> Result<()> {
        let mut calls = TYPICAL_CALLS;
        for _ in 0..random.between(1..=4) {
            let nth = random.between(1..=calls);
            let watched = kill_at(&mut self.restore_command(), nth as u64)?;
            self.log.say(&format!("restore killed at {nth}, after {} calls", watched.calls));
            if watched.done.status.is_some() {
                calls = usize::try_from(watched.calls)?;
                self.note_restore(&watched.done)?;
            }
        }
        Ok(())
    }

    /// Three restores at once: the boot unit's, the one behind tmux-resurrect, and the user's.
    pub(super) fn restore_thrice(&mut self) -> Result<()> {
        let all: Vec<Result<Finished>> = std::thread::scope(|scope| {
            let stage = &*self;
            let one = |by| scope.spawn(move || process::run(&mut stage.restore_by(by), DEADLINE));
            let threads: Vec<_> = ["boot", "resurrect", "manual"].into_iter().map(one).collect();
            threads.into_iter().filter_map(|thread| thread.join().ok()).collect()
        });
        all.into_iter().try_for_each(|done| self.note_restore(&done?))
    }

    /// Saves again and again while a restore runs.
    pub(super) fn restore_with_saves(&mut self) -> Result<()> {
        let done = std::thread::scope(|scope| {
            let stage = &*self;
            let restore = scope.spawn(|| process::run(&mut stage.restore_command(), DEADLINE));
            let mut saves = BTreeMap::new();
            while !restore.is_finished() {
                let save = self.lab.home.rekindle(&["save", "--by", "timer", "--json"])?;
                *saves.entry(save.code()).or_insert(0) += 1;
            }
            self.log.say(&format!("saves meanwhile, by their exit code: {saves:?}"));
            restore.join().map_err(|_| anyhow::anyhow!("the restore's thread died"))?
        })?;
        self.note_restore(&done)
    }

    /// Kills a few settles half way, as they fold in what the crash left.
    pub(super) fn settle_killed(&mut self, random: &mut Random) -> Result<()> {
        let mut calls = TYPICAL_CALLS;
        for _ in 0..random.between(1..=4) {
            let nth = random.between(1..=calls);
            let watched = kill_at(&mut self.lab.home.rekindle_command(&["settle"]), nth as u64)?;
            self.log.say(&format!("settle killed at {nth}, after {} calls", watched.calls));
            if watched.done.status.is_some() {
                calls = usize::try_from(watched.calls)?;
            }
        }
        Ok(())
    }

    pub(super) fn note_restore(&mut self, done: &Finished) -> Result<()> {
        let report = Report::of(done);
        self.log.say(&format!("restore ended with {:?}: {} {}", report.code, report.said, report.words));
        if done.status.is_none() {
            bail!("a restore did not end in {} s", DEADLINE.as_secs());
        }
        self.reports.push(report);
        Ok(())
    }

    /// What the restores said of a conversation, the last word first.
    pub(super) fn told(&self, session: &str) -> Vec<(String, String)> {
        let told = self.reports.iter().rev().filter_map(|report| report.of_session(session));
        told.map(|(outcome, reason)| (outcome.to_owned(), reason.to_owned())).collect()
    }
}
