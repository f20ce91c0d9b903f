//! The help of every command of the vault.

use lab::help::help;

#[test]
fn help_of_sync() {
    insta::assert_snapshot!(help(&["vault", "sync"]).unwrap(), @r#"
    Mirror what is new

    Usage: rekindle vault sync [OPTIONS]

    Options:
          --believe-deletions  Believe that files are gone, also where over a fifth
                               went at once
          --json               Print one JSON object
      -h, --help               Print help

    Example: rekindle vault sync
    "#);
}

#[test]
fn help_of_list() {
    insta::assert_snapshot!(help(&["vault", "list"]).unwrap(), @r#"
    List the conversations in it

    Usage: rekindle vault list [OPTIONS]

    Options:
          --json  Print one JSON object
      -h, --help  Print help

    Example: rekindle vault list
    "#);
}

#[test]
fn help_of_verify() {
    insta::assert_snapshot!(help(&["vault", "verify"]).unwrap(), @r#"
    Check every stored bit, and say what a bad one touches

    Usage: rekindle vault verify [OPTIONS]

    Options:
          --json  Print one JSON object
      -h, --help  Print help

    Example: rekindle vault verify
    "#);
}

#[test]
fn help_of_restore() {
    insta::assert_snapshot!(help(&["vault", "restore"]).unwrap(), @r#"
    Put a conversation back byte for byte, keeping what was there

    Usage: rekindle vault restore [OPTIONS] <TARGET>

    Arguments:
      <TARGET>  A session's id or its beginning, a pane, a name or a directory

    Options:
          --version <N>  Which version of it: the best where none is given
          --provable     Of a damaged copy: put back the newest version that can be
                         proven, though more of it may be missing
          --to <PATH>    Write it to a new file instead
          --dry-run      Say what would be done, and do nothing
          --json         Print one JSON object
      -h, --help         Print help

    Examples:
      rekindle vault restore 1a2b3c4d
      rekindle vault restore 1a2b3c4d --version 2 --to /tmp/old.jsonl
      rekindle vault restore 1a2b3c4d --provable
    "#);
}

#[test]
fn help_of_prune() {
    insta::assert_snapshot!(help(&["vault", "prune"]).unwrap(), @r#"
    Let go of what is past its time, by way of a trash that keeps it a week more

    Usage: rekindle vault prune [OPTIONS]

    Options:
          --old-backups  Remove the backups (*.jsonl.backup-*) of an earlier repair
                         tool instead, where the vault has every row of them
          --yes          Do not ask
          --dry-run      Say what would be done, and do nothing
          --json         Print one JSON object
      -h, --help         Print help

    Examples:
      rekindle vault prune
      rekindle vault prune --old-backups --dry-run
    "#);
}

#[test]
fn help_of_forget() {
    insta::assert_snapshot!(help(&["vault", "forget"]).unwrap(), @r#"
    Erase what rekindle keeps of a conversation for good

    Usage: rekindle vault forget [OPTIONS] <TARGET>

    Arguments:
      <TARGET>  A session's id or its beginning, a pane, a name or a directory

    Options:
          --yes      Erase without asking; there is no way back
          --dry-run  Say what would be done, and do nothing
          --json     Print one JSON object
      -h, --help     Print help

    Example: rekindle vault forget 1a2b3c4d --yes
    "#);
}

#[test]
fn help_of_status() {
    insta::assert_snapshot!(help(&["vault", "status"]).unwrap(), @r#"
    The vault at a glance, and what was lost outside of it

    Usage: rekindle vault status [OPTIONS]

    Options:
          --json  Print one JSON object
      -h, --help  Print help

    Example: rekindle vault status
    "#);
}
