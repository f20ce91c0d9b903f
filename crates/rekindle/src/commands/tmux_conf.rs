use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::output::Out;

/// Print the lines of tmux's configuration that make it save and restore by itself
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example: rekindle tmux-conf | tmux source-file -\n\nWhat the tmux plugin runs. `rekindle init --tmux` writes the same into a file."
)]
pub(crate) struct Args {}

pub(crate) fn run(_args: &Args) -> Result<Exit, Failure> {
    let program = super::init::program(&Context::search_path())?;
    let mut out = Out::new();
    out.bytes(tmux::configuration(program.path()).as_bytes());
    out.finish()
}
