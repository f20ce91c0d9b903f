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
