//! `cargo xtask soak`: random damage on random conversations, thousands of times, judged by models of three agents.

use anyhow::Result;

use crate::workspace;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// How many random files each property is tried on; every run draws others
    #[arg(long, default_value_t = 5000)]
    cases: u32,
}

/// Runs the properties of the repairer, optimised; a failure prints the smallest file that shows it.
pub(crate) fn run(args: &Args) -> Result<()> {
    let mut command = workspace::cargo(&["test", "--release", "-p", "transcript", "--test", "properties"]);
    command.env("PROPTEST_CASES", args.cases.to_string());
    workspace::check(&mut command)
}
