//! `cargo xtask sweep`: kills commands before each of their system calls that change a file, and judges what is left.

use std::path::PathBuf;

use anyhow::{Result, bail};
use lab::sweep::{self, Kills, Points, Report, SUBJECTS, Subject};

use crate::workspace;

#[derive(clap::Args, Clone)]
pub(crate) struct Args {
    /// The commands to sweep, such as repair or "vault sync"; all where none is given
    #[arg(value_name = "COMMAND")]
    commands: Vec<String>,
    /// Kill at so many calls of each command only
    #[arg(long, value_name = "N", conflicts_with = "at")]
    sample: Option<usize>,
    /// Which calls a sample takes
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Kill at this call only
    #[arg(long, value_name = "CALL")]
    at: Option<u64>,
    /// Kill the second run as well, at a call of its own
    #[arg(long)]
    twice: bool,
    /// How many homes there are at a time; most of a run is waiting
    #[arg(long, default_value_t = 12)]
    threads: usize,
    /// Write the table into this file, between its two marks
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

/// Sweeps, prints, and fails when something was not as it must be.
pub(crate) fn run(args: &Args) -> Result<()> {
    workspace::program_to_try()?;
    let points = match (args.at, args.sample) {
        (Some(call), _) => Points::One(call),
        (None, Some(count)) => Points::Sample { count, seed: args.seed },
        (None, None) => Points::All,
    };
    let kills = if args.twice { Kills::Twice } else { Kills::Once };
    let mut reports = Vec::new();
    for subject in chosen(&args.commands)? {
        let report = sweep::sweep(subject, points, kills, args.threads)?;
        println!(
            "{}: {} calls, {} killed, {} bad",
            report.name,
            report.calls,
            report.killed,
            report.bad.len()
        );
        for (call, why) in &report.bad {
            println!("  at call {call}: {why}");
        }
        reports.push(report);
    }
    if let Some(file) = &args.out {
        write_table(file, &reports)?;
    }
    match reports.iter().map(|report| report.bad.len()).sum::<usize>() {
        0 => Ok(()),
        bad => bail!("{bad} kills left something that must not be"),
    }
}

fn chosen(names: &[String]) -> Result<Vec<&'static Subject>> {
    let named = |name: &String| match SUBJECTS.into_iter().find(|subject| subject.name == name) {
        Some(subject) => Ok(subject),
        None => {
            let names: Vec<&str> = SUBJECTS.iter().map(|subject| subject.name).collect();
            bail!("{name:?} is not swept; choose from {}", names.join(", "))
        }
    };
    if names.is_empty() { Ok(SUBJECTS.to_vec()) } else { names.iter().map(named).collect() }
}

/// The marks between which a page has the table.
const MARKS: [&str; 2] = ["<!-- sweep -->\n", "<!-- /sweep -->"];

fn write_table(file: &PathBuf, reports: &[Report]) -> Result<()> {
    let page = std::fs::read_to_string(file)?;
    let [begin, end] = MARKS;
    let (Some(from), Some(to)) = (page.find(begin), page.find(end)) else {
        bail!("{} has no place for the table", file.display());
    };
    let rows = reports.iter().map(|report| {
        format!("| {} | {} | {} | {} |\n", report.name, report.calls, report.killed, report.bad.len())
    });
    let table: String = rows.collect();
    let head = "| command | calls that change a file | killed | bad |\n| --- | ---: | ---: | ---: |\n";
    std::fs::write(file, format!("{}{begin}{head}{table}{}", &page[..from], &page[to..]))?;
    Ok(())
}
