use crate::exit::Exit;
use crate::fast_path;

/// Print a segment for tmux's status bar: the last restore for ten minutes, else agents by what they are at
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example, in tmux.conf:\n  set -g status-right '#(rekindle tmux-status) %H:%M'\n\nAlways succeeds, and prints nothing where there is nothing to say."
)]
pub(crate) struct Args {}

pub(crate) fn run(_args: &Args) -> Exit {
    fast_path::tmux_status::show();
    Exit::Done
}
