use std::ffi::OsString;

use crate::exit::{Exit, Failure};
use crate::fast_path;

/// Print the status line of an agent, which says on standard input how it is
#[derive(Debug, clap::Args)]
#[command(after_help = "Example, in the agent's settings.json:\n  \
        \"statusLine\": {\"type\": \"command\", \"command\": \"rekindle statusline\"}\n\n\
        Always succeeds. Its parts, glyphs and colours are chosen in [statusline] of the configuration.")]
pub(crate) struct Args {
    /// A status line of before, run by a shell with the same input and shown above this one
    #[arg(long, value_name = "COMMAND")]
    keep: Option<OsString>,
}

pub(crate) fn run(args: &Args) -> Result<Exit, Failure> {
    fast_path::statusline::show(args.keep.as_deref());
    Ok(Exit::Done)
}
