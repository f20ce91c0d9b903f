//! The help of every command of the vault.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on panics")]

use lab::home::Home;

/// The help in 80 columns; nothing of it may be wider.
fn help(words: &[&str]) -> String {
    let home = Home::new().unwrap();
    let mut command = home.rekindle_command(words);
    let done =
        lab::process::run(command.arg("--help").env("COLUMNS", "80"), lab::rekindle::DEADLINE).unwrap();
    assert_eq!((done.code(), done.stderr.as_str()), (Some(0), ""));
    let wide: Vec<&str> = done.stdout.lines().filter(|line| line.chars().count() > 80).collect();
    assert!(wide.is_empty(), "{wide:#?}");
    assert!(words.is_empty() || done.stdout.contains("Example"), "{words:?} shows no example");
    done.stdout
}

#[test]
fn help_of_sync() {
    insta::assert_snapshot!(help(&["vault", "sync"]), @r#"
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
    insta::assert_snapshot!(help(&["vault", "list"]), @r#"
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
    insta::assert_snapshot!(help(&["vault", "verify"]), @r#"
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
    insta::assert_snapshot!(help(&["vault", "restore"]), @r#"
    Put a conversation back byte for byte, keeping what was there

    Usage: rekindle vault restore [OPTIONS] <TARGET>

    Arguments:
      <TARGET>  A session's id or its beginning, a pane, a name or a directory

    Options:
          --generation <N>  Which version of it: the best where none is given
          --to <PATH>       Write it to a new file instead
          --dry-run         Say what would be done, and do nothing
          --json            Print one JSON object
      -h, --help            Print help

    Examples:
      rekindle vault restore 1a2b3c4d
      rekindle vault restore 1a2b3c4d --generation 2 --to /tmp/old.jsonl
    "#);
}

#[test]
fn help_of_prune() {
    insta::assert_snapshot!(help(&["vault", "prune"]), @r#"
    Let go of what is past its time, by way of a trash that keeps it a week more

    Usage: rekindle vault prune [OPTIONS]

    Options:
          --dry-run  Say what would be done, and do nothing
          --json     Print one JSON object
      -h, --help     Print help

    Example: rekindle vault prune
    "#);
}

#[test]
fn help_of_forget() {
    insta::assert_snapshot!(help(&["vault", "forget"]), @r#"
    Erase a conversation from the vault for good

    Usage: rekindle vault forget [OPTIONS] <TARGET>

    Arguments:
      <TARGET>  A session's id or its beginning, a pane, a name or a directory

    Options:
          --yes      Do not ask: there is no way back
          --dry-run  Say what would be done, and do nothing
          --json     Print one JSON object
      -h, --help     Print help

    Example: rekindle vault forget 1a2b3c4d --yes
    "#);
}

#[test]
fn help_of_status() {
    insta::assert_snapshot!(help(&["vault", "status"]), @r#"
    The vault at a glance, and what was lost outside of it

    Usage: rekindle vault status [OPTIONS]

    Options:
          --json  Print one JSON object
      -h, --help  Print help

    Example: rekindle vault status
    "#);
}
