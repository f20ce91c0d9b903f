use clap::CommandFactory;
use clap_complete::Shell;

use crate::cli::Cli;
use crate::exit::{Exit, Failure};
use crate::output::Out;

/// Print completions for a shell
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example: rekindle completions bash > ~/.local/share/bash-completion/completions/rekindle"
)]
pub(crate) struct Args {
    /// Which shell
    shell: Shell,
}

pub(crate) fn run(args: &Args) -> Result<Exit, Failure> {
    let mut bytes = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "rekindle", &mut bytes);
    let mut out = Out::new();
    out.bytes(&bytes);
    out.finish()
}
