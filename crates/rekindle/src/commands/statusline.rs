/// Print an agent's status line from what it says on standard input
///
/// Run by agents. It always ends with 0; what went wrong is in `log/hot.log` of the state directory.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: rekindle statusline < input.json")]
pub(crate) struct Args {}
