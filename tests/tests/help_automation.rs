//! The help of what happens by itself, as people read it.

use lab::help::help;

#[test]
fn help_of_tick() {
    insta::assert_snapshot!(help(&["tick"]).unwrap(), @r#"
    Settle, save, mirror and tidy up: what a timer runs

    Usage: rekindle tick [OPTIONS]

    Options:
          --hook  Something has changed in tmux: save when it has come to rest, and
                  do nothing else
          --json  Print one JSON object
      -h, --help  Print help

    Example: rekindle tick --json

    Run by a timer (rekindle service install). Says nothing where all is well; does
    nothing in a pause, and saves nothing while a restore runs.
    "#);
}

#[test]
fn help_of_tmux_conf() {
    insta::assert_snapshot!(help(&["tmux-conf"]).unwrap(), @r#"
    Print the lines of tmux's configuration that make it save and restore by itself

    Usage: rekindle tmux-conf

    Options:
      -h, --help  Print help

    Example: rekindle tmux-conf | tmux source-file -

    What the tmux plugin runs. `rekindle init --tmux` writes the same into a file.
    "#);
}

#[test]
fn help_of_tmux_status() {
    insta::assert_snapshot!(help(&["tmux-status"]).unwrap(), @r#"
    Print a segment for tmux's status bar: the last restore for ten minutes, else
    agents by what they are at

    Usage: rekindle tmux-status

    Options:
      -h, --help  Print help

    Example, in tmux.conf:
      set -g status-right '#(rekindle tmux-status) %H:%M'

    Always succeeds, and prints nothing where there is nothing to say.
    "#);
}
