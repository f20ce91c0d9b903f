/// Write down an event of an agent, as it came on standard input, and go
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example: echo '{\"session_id\":\"1a2b3c4d\"}' | rekindle hook Stop\n\nRun by agents. Always succeeds and prints nothing; what went wrong is in the log."
)]
pub(crate) struct Args {
    /// The event's name, for agents that do not say it themselves
    #[arg(value_name = "EVENT")]
    event: Option<String>,
}
