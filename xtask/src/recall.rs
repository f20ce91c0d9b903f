//! `cargo xtask recall`: what the real agent gets back of damaged conversations.

use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use comfy_table::{Table, presets};
use lab::agent;
use lab::cases::{self, Case};
use lab::recall::{self, Plan, Record, Verdict};

use crate::workspace;

#[derive(clap::Args, Clone)]
pub(crate) struct Args {
    /// Version of the agent; may be given several times
    #[arg(long, value_name = "VERSION")]
    pub(crate) agent: Vec<String>,
    /// Name of a case; may be given several times
    #[arg(long, value_name = "NAME")]
    pub(crate) case: Vec<String>,
    /// Judge the damage itself, without a repair
    #[arg(long)]
    pub(crate) before: bool,
    /// Judge both, the damage and its repair
    #[arg(long, conflicts_with = "before")]
    pub(crate) both: bool,
    /// How many agents run at once
    #[arg(long, default_value_t = Args::default().jobs)]
    pub(crate) jobs: usize,
    /// Write the records as JSON into this file
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
    /// Run cases that name a version on that one alone, as `cargo xtask test` does
    #[arg(long)]
    pub(crate) sample: bool,
    /// Repair with this program instead of the one built here
    #[arg(long, value_name = "PATH")]
    pub(crate) program: Option<PathBuf>,
}

impl Default for Args {
    fn default() -> Self {
        // Three keep two cores busy: an agent waits for its API a third of the time.
        Args {
            agent: vec![],
            case: vec![],
            before: false,
            both: false,
            jobs: 3,
            json: None,
            sample: false,
            program: None,
        }
    }
}

/// Runs, prints and fails when a conversation is short after its repair.
pub(crate) fn run(args: &Args) -> Result<()> {
    let records = records(args)?;
    println!("{}", table(&records));
    let whole = records.iter().filter(|record| record.verdict() == Some(&Verdict::Whole)).count();
    println!("recall: {whole} of {} cases whole", records.len());
    if args.before {
        let weak = weak(&records);
        println!("whole without a repair on every version, so no proof by recall alone: {}", weak.join(", "));
    }
    if !args.before && whole < records.len() {
        bail!("{} cases are not whole after the repair", records.len() - whole);
    }
    Ok(())
}

/// Every record of a run; each is printed as it comes.
pub(crate) fn records(args: &Args) -> Result<Vec<Record>> {
    let rekindle = match &args.program {
        _ if args.before => None,
        Some(given) => Some(given.canonicalize().context("no such program")?),
        None => Some(workspace::build_program()?),
    };
    let versions =
        if args.agent.is_empty() { agent::VERSIONS.map(str::to_owned).to_vec() } else { args.agent.clone() };
    let plan = Plan {
        versions,
        cases: chosen(&args.case)?,
        rekindle,
        before: args.before || args.both,
        jobs: args.jobs,
        sample: args.sample,
    };
    let records = recall::run(&plan, |record| {
        let words = |verdict: &Option<Verdict>| match verdict {
            None => String::new(),
            Some(Verdict::Whole) => "whole".to_owned(),
            Some(Verdict::Short(why)) => why.clone(),
        };
        let both = [words(&record.before), words(&record.after)].join("  ");
        println!("{:9} {:28} {}", record.agent, record.case, both.trim());
    })?;
    if let Some(file) = &args.json {
        std::fs::write(file, serde_json::to_string_pretty(&records)?)?;
    }
    Ok(records)
}

fn chosen(names: &[String]) -> Result<Vec<Case>> {
    let all = cases::all();
    if let Some(unknown) = names.iter().find(|name| all.iter().all(|case| case.name != name.as_str())) {
        let known: Vec<&str> = all.iter().map(|case| case.name).collect();
        bail!("no case is called {unknown}; there are {}", known.join(", "));
    }
    Ok(all
        .into_iter()
        .filter(|case| names.is_empty() || names.iter().any(|name| name == case.name))
        .collect())
}

/// The damage that no version minds; what proves its repair is that the file's rows are whole and that it shrank.
fn weak(records: &[Record]) -> Vec<&str> {
    let mut names: Vec<&str> =
        records.iter().filter(|record| !record.unchanged).map(|record| record.case).collect();
    names.dedup();
    let minded =
        |name: &&str| records.iter().any(|r| r.case == *name && r.verdict() != Some(&Verdict::Whole));
    names.retain(|name| !minded(name));
    names.sort_unstable();
    names.dedup();
    names
}

/// One row per case, one column per version.
fn table(records: &[Record]) -> Table {
    let mut versions: Vec<&str> = Vec::new();
    let mut names: Vec<&str> = Vec::new();
    for record in records {
        if !versions.contains(&record.agent.as_str()) {
            versions.push(&record.agent);
        }
        if !names.contains(&record.case) {
            names.push(record.case);
        }
    }
    let mut table = Table::new();
    table.load_preset(presets::ASCII_MARKDOWN);
    table.set_header(std::iter::once("case").chain(versions.iter().copied()));
    for name in names {
        let cell = |version: &&str| {
            let record = records.iter().find(|record| record.case == name && record.agent == **version);
            match record.and_then(Record::verdict) {
                None => String::new(),
                Some(Verdict::Whole) => "whole".to_owned(),
                Some(Verdict::Short(why)) => why.chars().take(60).collect(),
            }
        };
        table.add_row(std::iter::once(name.to_owned()).chain(versions.iter().map(cell)));
    }
    table
}
