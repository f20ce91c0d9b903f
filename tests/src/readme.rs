//! The examples of the README: each is run as it stands there, on a terminal of 80 columns, and must show what it shows.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use regex::Regex;

use crate::rekindle::DEADLINE;
use crate::terminal::{answered_all, unpainted};
use crate::texts::workspace;

/// A block of the README: commands, each with what it shows.
#[derive(Debug, Clone)]
pub struct Example {
    /// The commands.
    pub steps: Vec<Step>,
    /// The block as it stands in the README.
    text: String,
}

/// One command with what it shows.
#[derive(Debug, Clone)]
pub struct Step {
    /// The line behind `$ `.
    pub line: String,
    /// What stands below it.
    pub shows: String,
}

/// Where a scene's commands run.
pub trait Scene {
    /// The command that runs a line of shell in the scene.
    fn shell(&self, line: &str) -> Command;
    /// What is shown, with the scene's own paths as a user would see them.
    fn as_seen(&self, text: String) -> String;
}

fn path() -> PathBuf {
    workspace().join("README.md")
}

/// Every `console` block of the README.
pub fn examples() -> Result<Vec<Example>> {
    let text = fs::read_to_string(path())?;
    let blocks = text.split("```console\n").skip(1).filter_map(|rest| rest.split_once("```"));
    Ok(blocks.map(|(block, _)| example(block)).collect())
}

fn example(block: &str) -> Example {
    let mut steps: Vec<Step> = Vec::new();
    for line in block.lines() {
        match (line.strip_prefix("$ "), steps.last_mut()) {
            (Some(command), _) => steps.push(Step { line: command.to_owned(), shows: String::new() }),
            (None, Some(step)) => step.shows.push_str(&format!("{line}\n")),
            (None, None) => {}
        }
    }
    Example { steps, text: block.to_owned() }
}

/// The example whose first command is this one.
pub fn beginning_with(line: &str) -> Result<Example> {
    let found =
        examples()?.into_iter().find(|example| example.steps.first().is_some_and(|step| step.line == line));
    found.with_context(|| format!("the README has no example that begins with `{line}`"))
}

impl Example {
    /// Runs all of its commands in a scene. With `UPDATE_README` set, what differs is written into the README.
    ///
    /// # Errors
    /// Something is shown that the README does not have.
    pub fn check(&self, scene: &impl Scene) -> Result<()> {
        let mut real = String::new();
        let mut same = true;
        for (at, step) in self.steps.iter().enumerate() {
            let shown = step.run(scene)?;
            same &= fits(&step.shows, &shown);
            let between = if at == 0 { "" } else { "\n" };
            real.push_str(&format!("{between}$ {}\n{}\n", step.line, shown.trim_end()));
        }
        if same {
            return Ok(());
        }
        if std::env::var_os("UPDATE_README").is_some() {
            return self.update(&real);
        }
        ensure!(
            same,
            "README.md has\n{}\nand this is shown:\n{real}\n(UPDATE_README=1 writes it)",
            self.text
        );
        Ok(())
    }

    fn update(&self, real: &str) -> Result<()> {
        let lock = fs::File::open(workspace().join("Cargo.toml"))?;
        lock.lock()?;
        let text = fs::read_to_string(path())?;
        ensure!(text.contains(&self.text), "the README changed meanwhile");
        fs::write(path(), text.replace(&self.text, real))?;
        Ok(())
    }
}

impl Step {
    fn run(&self, scene: &impl Scene) -> Result<String> {
        // An answer stands behind its question.
        let question = Regex::new(r"(?m)^(.*(?:\[[^\]]*\]|\?)) ?([a-z0-9]*)$")?;
        let asked = question.captures_iter(&self.shows).filter_map(|found| {
            let (question, answer) = (found.get(1)?.as_str(), found.get(2)?.as_str());
            let asks = ["[y/N", "[1/2"].iter().any(|sign| question.contains(sign));
            asks.then_some((question, answer))
        });
        let dialogue: Vec<(&str, &str)> = asked.collect();
        let line = self.line.split(" #").next().unwrap_or_default();
        let shown = answered_all(&mut scene.shell(line), &dialogue, 80, DEADLINE)?.all;
        Ok(scene.as_seen(unpainted(&shown)))
    }
}

/// Whether what is shown is what the README has, but for what differs from run to run. A line `…` stands for any others.
fn fits(expected: &str, shown: &str) -> bool {
    let lines = |text: &str| -> Vec<String> { normal(text).trim_end().lines().map(str::to_owned).collect() };
    fits_lines(&lines(expected), &lines(shown))
}

fn fits_lines(expected: &[String], shown: &[String]) -> bool {
    match (expected.split_first(), shown.split_first()) {
        (None, None) => true,
        (Some((line, rest)), _) if line == "…" => {
            (0..=shown.len()).any(|from| shown.get(from..).is_some_and(|shown| fits_lines(rest, shown)))
        }
        (Some((one, expected)), Some((two, shown))) => one == two && fits_lines(expected, shown),
        _ => false,
    }
}

/// Times, processes and what the machine is like.
fn normal(text: &str) -> String {
    let rules = [
        (r"[0-9]{8}T[0-9]{6}[.0-9]*Z", "STAMP"),
        (r"[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}", "TIME"),
        (r"[0-9]{2}:[0-9]{2}([^0-9]|$)", "CLOCK$1"),
        (r"[0-9.]+ (ms|s|m|h|d) ago", "AGO"),
        (r"in [0-9.]+ (ms|s)", "TOOK"),
        (r"process [0-9]+", "process PID"),
        (r"/dev/pts/[0-9]+", "/dev/pts/N"),
        (r"[0-9.]+ [kMGT]?B (mirrored|in the vault|are free)", "SIZE $1"),
        (r"mirrored in [0-9.]+ [kMGT]?B", "mirrored in SIZE"),
        (r"tmux [0-9.]+[a-z]?", "tmux VERSION"),
        (r" +[0-9]+ s(\n|$)", " SECONDS$1"),
        (r"@(Mon|Tue|Wed|Thu|Fri|Sat|Sun)", "@DAY"),
        (r" +(\n|$)", "$1"),
    ];
    rules.iter().fold(text.to_owned(), |text, (what, with)| match Regex::new(what) {
        Ok(what) => what.replace_all(&text, *with).into_owned(),
        Err(_) => text,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_differs_from_run_to_run_does_not_count_and_all_else_does() {
        assert!(fits("undone 4 s ago\n", "undone 7 s ago \n"));
        assert!(fits("at 20261115T102944.645343779Z/x", "at 20261116T000000.1Z/x"));
        assert!(fits("a\n…\nd\n", "a\nb\nc\nd\n") && fits("a\n…", "a"));
        assert!(!fits("a\n…\nd\n", "a\nb\n") && !fits("5 prompts", "4 prompts"));
        let example = example("$ one\nshown\n\n$ two  # why\n");
        assert_eq!(
            example.steps.iter().map(|step| step.line.as_str()).collect::<Vec<_>>(),
            ["one", "two  # why"]
        );
        assert_eq!(example.steps[0].shows, "shown\n\n");
    }
}
