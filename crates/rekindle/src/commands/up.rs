use crate::commands::{scan, vault};
use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::output::Out;

/// Bring the vault up to date, check every conversation and say what was found
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: rekindle up\n\nChanges nothing outside its own state directory.")]
pub(crate) struct Args {
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(context: &Context, args: &Args) -> Result<Exit, Failure> {
    let synced = vault::sync_all(context, false)?;
    vault::prune_quietly(context);
    let all = scan::scan_all(context)?;
    let mut out = Out::new();
    if args.json {
        out.serialized(&scan::report(&all.sessions, Some(vault::sync_json(&synced))));
    } else {
        vault::sync_words(context, &synced, &mut out)?;
        scan::summary(context, &all, &mut out);
    }
    out.finish_as(if synced.failures.is_empty() { Exit::Done } else { Exit::Partly })
}
