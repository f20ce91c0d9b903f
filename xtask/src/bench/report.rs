//! The figures as a Markdown table, on the terminal and in docs/benchmarks.md.

use std::fmt::Write as _;
use std::fs;

use anyhow::{Context, Result};

use crate::workspace;

const BEGIN: &str = "<!-- bench:begin -->";
const END: &str = "<!-- bench:end -->";

/// One measurement beside its reference.
pub(super) struct Line {
    what: String,
    wanted: &'static str,
    figures: [String; 3],
    holds: bool,
}

impl Line {
    /// Takes a measurement; one that fails is a line that says so, and the others go on.
    pub(super) fn of(
        what: String,
        wanted: &'static str,
        take: impl FnOnce() -> Result<(String, String, String, bool)>,
    ) -> Line {
        println!("measuring {what}");
        match take() {
            Ok((measured, reference, result, holds)) => {
                Line { what, wanted, figures: [measured, reference, result], holds }
            }
            Err(error) => Line {
                what,
                wanted,
                figures: [format!("{error:#}"), String::new(), String::new()],
                holds: false,
            },
        }
    }
}

/// What goes into docs/benchmarks.md.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Write {
    Nothing,
    /// These lines take the place of all.
    All,
    /// These lines take the place of those that measure the same; others stay.
    These,
}

/// Prints the table and, where wanted, puts it between the markers of docs/benchmarks.md.
pub(super) fn show(lines: &[Line], write: Write) -> Result<()> {
    let mut table = table(lines);
    println!("\n{table}");
    if write == Write::Nothing {
        return Ok(());
    }
    let file = workspace::root().join("docs/benchmarks.md");
    let text = fs::read_to_string(&file).unwrap_or_else(|_| format!("# Benchmarks\n\n{BEGIN}\n{END}\n"));
    let (before, rest) = text.split_once(BEGIN).context("docs/benchmarks.md has no begin marker")?;
    let (old, after) = rest.split_once(END).context("docs/benchmarks.md has no end marker")?;
    if write == Write::These {
        // What a line measures stands before its figures.
        let what = |line: &str| line.split(" | ").next().unwrap_or_default().to_owned();
        let new: Vec<String> = table.lines().map(what).collect();
        for kept in old.trim().lines().filter(|line| !new.contains(&what(line))) {
            let _ = writeln!(table, "{kept}");
        }
    }
    fs::create_dir_all(workspace::root().join("docs"))?;
    fs::write(&file, format!("{before}{BEGIN}\n{table}{END}{after}"))?;
    Ok(())
}

fn table(lines: &[Line]) -> String {
    let mut table =
        "| what | measured | reference | result | wanted | |\n| --- | --- | --- | --- | --- | --- |\n"
            .to_owned();
    for line in lines {
        let [measured, reference, result] = &line.figures;
        let (what, wanted) = (&line.what, line.wanted);
        let mark = if line.holds { "✓" } else { "✗" };
        let _ = writeln!(table, "| {what} | {measured} | {reference} | {result} | {wanted} | {mark} |");
    }
    table
}
