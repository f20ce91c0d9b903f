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

/// Prints the table and, where wanted, puts it between the markers of docs/benchmarks.md.
pub(super) fn show(lines: &[Line], write: bool) -> Result<()> {
    let table = table(lines);
    println!("\n{table}");
    if !write {
        return Ok(());
    }
    let file = workspace::root().join("docs/benchmarks.md");
    let text = fs::read_to_string(&file).unwrap_or_else(|_| format!("# Benchmarks\n\n{BEGIN}\n{END}\n"));
    let (before, rest) = text.split_once(BEGIN).context("docs/benchmarks.md has no begin marker")?;
    let (_, after) = rest.split_once(END).context("docs/benchmarks.md has no end marker")?;
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
