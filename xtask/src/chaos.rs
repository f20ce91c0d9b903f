//! `cargo xtask chaos`: rounds of everything that goes wrong, with real agents, and what is left of each conversation.

use std::ops::{Range, RangeInclusive};
use std::path::PathBuf;

use anyhow::{Result, bail};
use lab::agent::VERSIONS;
use lab::chaos::{self, Fate, Plan, Record, report};

use crate::workspace;

#[derive(clap::Args, Clone)]
pub(crate) struct Args {
    /// How many rounds
    #[arg(long, default_value_t = 3)]
    rounds: u64,
    /// Version of the agent; may be given several times
    #[arg(long, value_name = "VERSION")]
    agent: Vec<String>,
    /// How many panes a round has
    #[arg(long, value_name = "MIN..MAX", default_value = "6..24", value_parser = panes)]
    panes: RangeInclusive<usize>,
    /// The seed of the first round; each next one has the next number
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Write what came out as a page into this file
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Keep the folder of every round, not only of those that are not well
    #[arg(long)]
    keep: bool,
}

impl Args {
    /// A round for each of these seeds, and everything else as it is.
    pub(crate) fn of(seeds: Range<u64>, agent: Vec<String>) -> Args {
        let rounds = seeds.end - seeds.start;
        Args { rounds, agent, panes: 6..=24, seed: seeds.start, out: None, keep: false }
    }

    /// What somebody would type to get the same.
    fn command(&self) -> String {
        let agents: String = self.agent.iter().map(|agent| format!(" --agent {agent}")).collect();
        let (rounds, seed, panes) = (self.rounds, self.seed, &self.panes);
        format!(
            "cargo xtask chaos --rounds {rounds} --seed {seed} --panes {}..{}{agents}",
            panes.start(),
            panes.end()
        )
    }
}

fn panes(text: &str) -> Result<RangeInclusive<usize>, String> {
    let (min, max) = text.split_once("..").unwrap_or((text, text));
    let number = |text: &str| text.parse::<usize>().map_err(|_| format!("{text:?} is no number"));
    let range = number(min)?..=number(max)?;
    if *range.start() < 2 || range.is_empty() {
        Err("as in 6..24, and two at least".to_owned())
    } else {
        Ok(range)
    }
}

/// Runs, prints, and fails when a round is not well.
pub(crate) fn run(args: &Args) -> Result<()> {
    let records = records(args)?;
    if let Some(file) = &args.out {
        std::fs::write(file, report::page(&records, &args.command()))?;
    }
    let well = records.iter().filter(|record| record.is_well()).count();
    println!("chaos: {well} of {} rounds well", records.len());
    if well < records.len() {
        bail!("{} rounds are not well", records.len() - well);
    }
    Ok(())
}

/// Every record of a run; each is printed as it comes.
pub(crate) fn records(args: &Args) -> Result<Vec<Record>> {
    workspace::program_to_try()?;
    let versions =
        if args.agent.is_empty() { VERSIONS.map(str::to_owned).to_vec() } else { args.agent.clone() };
    let plan =
        Plan { rounds: args.rounds, versions, panes: args.panes.clone(), seed: args.seed, keep: args.keep };
    chaos::run(&plan, |record| tell(record, args))
}

fn tell(record: &Record, args: &Args) {
    let faults: Vec<&str> = record.faults.iter().map(|fault| fault.words()).collect();
    let fates: Vec<String> = record.fates.iter().map(Fate::to_string).collect();
    let fates = fates.join(", ");
    let verdict = if record.is_well() { "well" } else { "NOT WELL" };
    println!(
        "seed {} agent {}: {} panes, {} agents ({fates}), {:.1} s, {verdict}; {}",
        record.seed,
        record.agent,
        record.panes,
        record.agents,
        record.took.as_secs_f64(),
        faults.join(", ")
    );
    if let Some(folder) = &record.folder {
        println!("  kept: {}", folder.display());
    }
    if record.is_well() {
        return;
    }
    for trouble in &record.troubles {
        println!("  {trouble:?}");
    }
    if let Some(broken) = &record.broken {
        println!("  broken: {broken}");
    }
    let again = Args { rounds: 1, seed: record.seed, agent: vec![record.agent.clone()], ..args.clone() };
    println!("  again: {}", again.command());
}
