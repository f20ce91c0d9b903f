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

#[test]
fn help_of_service() {
    insta::assert_snapshot!(help(&["service"]).unwrap(), @r#"
    Save by a timer and restore at login: units of your service manager, installed
    or taken out

    Usage: rekindle service <COMMAND>

    Commands:
      install    Write the units and enable them, after showing every change
      status     Say what is installed, whether it runs, when it ran and when it
                 will
      uninstall  Disable the units and remove them

    Options:
      -h, --help  Print help

    Examples:
      rekindle service install
      rekindle service status

    systemd's user manager on Linux, launchd on macOS.
    "#);
}

#[test]
fn help_of_service_install() {
    insta::assert_snapshot!(help(&["service", "install"]).unwrap(), @r#"
    Write the units and enable them, after showing every change

    Usage: rekindle service install [OPTIONS]

    Options:
          --linger   Also start your services at boot and keep them after logout
                     (loginctl enable-linger)
          --yes      Do not ask
          --dry-run  Show what would change, and change nothing
          --json     Print one JSON object
      -h, --help     Print help

    Examples:
      rekindle service install --dry-run
      rekindle service install --linger

    Taken back by `rekindle service uninstall`.
    "#);
}

#[test]
fn help_of_service_status() {
    insta::assert_snapshot!(help(&["service", "status"]).unwrap(), @r#"
    Say what is installed, whether it runs, when it ran and when it will

    Usage: rekindle service status [OPTIONS]

    Options:
          --json  Print one JSON object
      -h, --help  Print help

    Example: rekindle service status
    "#);
}

#[test]
fn help_of_service_uninstall() {
    insta::assert_snapshot!(help(&["service", "uninstall"]).unwrap(), @r#"
    Disable the units and remove them

    Usage: rekindle service uninstall [OPTIONS]

    Options:
          --yes      Do not ask
          --dry-run  Show what would change, and change nothing
          --json     Print one JSON object
      -h, --help     Print help

    Example: rekindle service uninstall --dry-run
    "#);
}
