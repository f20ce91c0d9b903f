/// Write down an event of an agent, as it came on standard input, and go
///
/// Run by agents. It always ends with 0 and prints nothing; what went wrong is in `log/hot.log` of the state directory.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: echo '{\"session_id\":\"1a2b3c4d\"}' | rekindle hook Stop")]
pub(crate) struct Args {
    /// The event's name, for agents that do not say it themselves
    #[arg(value_name = "EVENT")]
    event: Option<String>,
}
