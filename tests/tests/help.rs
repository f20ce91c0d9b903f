//! The help of every command, as people read it.

use lab::help::help;

#[test]
fn help_of_the_program() {
    insta::assert_snapshot!(help(&[]).unwrap(), @r#"
    Coding agents that survive anything

    Usage: rekindle [COMMAND]

    Commands:
      up           Bring the vault up to date, check every conversation and say what
                   was found
      status       Show every agent: what it is at, where, on what; who needs you
                   first
      map          Show which pane has which conversation, and how sure that is
      explain      Say what is believed about an agent, how sure it is, and what
                   speaks for and against it
      go           Go to the pane of an agent; without a target, to the one that has
                   waited for you longest
      name         Give a conversation a name
      task         Say what a conversation is about
      note         Keep your own words about a conversation, or read them
      pause        Stop everything automatic until `rekindle unpause`; events are
                   still written down
      unpause      Go on after a pause, with what was written down meanwhile
      scan         Check conversations for damage, without changing anything
      repair       Mend damaged conversations; every byte that was there is kept
      branches     Draw the branches of a conversation with their last prompts
      show         Read a conversation: who said what, when, with which tool
      history      List what commands changed, newest first, and what can be undone
      undo         Undo what the last command changed; what was said since stays
      redo         Do again what was undone last, where nothing changed since
      save         Save every tmux session, window and pane, with the conversations
                   in them
      restore      Bring back saved tmux sessions, each agent with its own
                   conversation
      recover      Bring back agents that crashed, each with its conversation or
                   with what is left of it
      inject       Send text to a running agent, and see that it arrives
      saves        List saves of tmux, look into them, compare them, take them
                   elsewhere
      vault        The mirror of every conversation: bring it up to date, look into
                   it, take things out
      trust        Show sessions whose records this machine did not write, and
                   accept them
      init         Wire rekindle into your agents and shells, after showing what
                   will change
      uninstall    Take out what `init` wired, and remove what rekindle remembers
      doctor       Check that everything works: what is wrong, why it matters, how
                   to fix it
      service      Save by a timer and restore at login: units of your service
                   manager, installed or taken out
      completions  Print completions for a shell
      man          Print the manual page, or write all pages into a directory

    Options:
      -h, --help     Print help
      -V, --version  Print version

    Without a command it shows the status.
    For agents, tmux and timers: hook, statusline, settle, tick, tmux-status,
    tmux-conf; each has its own --help.
    "#);
}

#[test]
fn help_of_up() {
    insta::assert_snapshot!(help(&["up"]).unwrap(), @r#"
    Bring the vault up to date, check every conversation and say what was found

    Usage: rekindle up [OPTIONS]

    Options:
          --json  Print one JSON object
      -h, --help  Print help

    Example: rekindle up

    Changes nothing outside its own state directory.
    "#);
}

#[test]
fn help_of_scan() {
    insta::assert_snapshot!(help(&["scan"]).unwrap(), @r#"
    Check conversations for damage, without changing anything

    Usage: rekindle scan [OPTIONS] [TARGET]

    Arguments:
      [TARGET]  A session's id or its beginning, a pane, a name, a directory, or a
                transcript's path

    Options:
          --all   Check every conversation (also what happens without a target)
          --json  Print one JSON object
      -h, --help  Print help

    Examples:
      rekindle scan --all
      rekindle scan 1a2b3c4d --json
    "#);
}

#[test]
fn help_of_repair() {
    insta::assert_snapshot!(help(&["repair"]).unwrap(), @r#"
    Mend damaged conversations; every byte that was there is kept

    Usage: rekindle repair [OPTIONS] <TARGET|--all>

    Arguments:
      [TARGET]  A session's id or its beginning, a pane, a name, a directory, or a
                transcript's path

    Options:
          --all           Mend every conversation that is broken
          --dry-run       Show what would change, and change nothing
          --as-copy       Leave the original alone and write a mended copy under a
                          new id
          --branch <N>    Make another branch the live one: its number in `rekindle
                          branches`
          --last <TURNS>  Write a copy that holds only the last turns, for a
                          conversation too long to resume
          --json          Print one JSON object
      -h, --help          Print help

    Examples:
      rekindle repair --all --dry-run
      rekindle repair 1a2b3c4d
      rekindle repair 1a2b3c4d --branch 2

    A repair is taken back by `rekindle undo`.
    "#);
}

#[test]
fn help_of_branches() {
    insta::assert_snapshot!(help(&["branches"]).unwrap(), @r#"
    Draw the branches of a conversation with their last prompts

    Usage: rekindle branches [OPTIONS] <TARGET>

    Arguments:
      <TARGET>  A session's id or its beginning, a pane, a name, a directory, or a
                transcript's path

    Options:
          --json  Print one JSON object
      -h, --help  Print help

    Example: rekindle branches 1a2b3c4d

    Another branch is made the live one by `rekindle repair ID --branch N`.
    "#);
}

#[test]
fn help_of_show() {
    insta::assert_snapshot!(help(&["show"]).unwrap(), @r#"
    Read a conversation: who said what, when, with which tool

    Usage: rekindle show [OPTIONS] <TARGET>

    Arguments:
      <TARGET>  A session's id or its beginning, a pane, a name, a directory, or a
                transcript's path

    Options:
          --md    As Markdown
          --json  Print one JSON object
      -h, --help  Print help

    Examples:
      rekindle show 1a2b3c4d
      rekindle show 1a2b3c4d --md > conversation.md
    "#);
}

#[test]
fn help_of_history_undo_and_redo() {
    insta::assert_snapshot!(help(&["history"]).unwrap(), @r#"
    List what commands changed, newest first, and what can be undone

    Usage: rekindle history [OPTIONS]

    Options:
      -n, --limit <N>  Show only so many
          --json       Print one JSON object
      -h, --help       Print help

    Examples:
      rekindle history
      rekindle history --limit 5 --json

    One command is one operation. `rekindle undo OPERATION` undoes all of it and
    `rekindle redo OPERATION` does it again; the beginning of an id is enough.
    "#);
    insta::assert_snapshot!(help(&["undo"]).unwrap(), @r#"
    Undo what the last command changed; what was said since stays

    Usage: rekindle undo [OPTIONS] [OPERATION|TARGET]

    Arguments:
      [OPERATION|TARGET]  An operation, or a session: the newest operation by
                          default

    Options:
          --dry-run  Say what would be undone, and change nothing
          --yes      Do not ask before idle agents are closed
          --json     Print one JSON object
      -h, --help     Print help

    Examples:
      rekindle undo
      rekindle undo kxzmwtlp --dry-run
      rekindle undo 1a2b3c4d

    `rekindle history` lists the operations. Of a session only the last change of
    its transcript is undone. The undo of a restore closes what it opened: it asks
    before it closes idle agents, and agents that have worked since stay.
    "#);
    insta::assert_snapshot!(help(&["redo"]).unwrap(), @r#"
    Do again what was undone last, where nothing changed since

    Usage: rekindle redo [OPTIONS] [OPERATION|PATH]

    Arguments:
      [OPERATION|PATH]  An operation, or the path of a transcript: the one that was
                        undone last by default

    Options:
          --dry-run  Say what would be done, and change nothing
          --yes      Do not ask before agents are started
          --json     Print one JSON object
      -h, --help     Print help

    Examples:
      rekindle redo --dry-run
      rekindle redo kxzmwtlp
      rekindle redo ./copy/1a2b3c4d.jsonl

    A repair is done again only if its transcript still is what the undo left; what
    was said since stays. A restore is run again for its panes.
    "#);
}

#[test]
fn help_of_vault() {
    insta::assert_snapshot!(help(&["vault"]).unwrap(), @r#"
    The mirror of every conversation: bring it up to date, look into it, take things
    out

    Usage: rekindle vault <COMMAND>

    Commands:
      sync     Mirror what is new
      list     List the conversations in it
      verify   Check every stored bit, and say what a bad one touches
      restore  Put a conversation back byte for byte, keeping what was there
      prune    Let go of what is past its time, by way of a trash that keeps it a
               week more
      forget   Erase what rekindle keeps of a conversation for good
      status   The vault at a glance, and what was lost outside of it

    Options:
      -h, --help  Print help

    Examples:
      rekindle vault sync
      rekindle vault restore 1a2b3c4d
    "#);
}

#[test]
fn help_of_init() {
    insta::assert_snapshot!(help(&["init"]).unwrap(), @r#"
    Wire rekindle into your agents and shells, after showing what will change

    Usage: rekindle init [OPTIONS]

    Options:
          --statusline <WHAT>  A status line that is there already: keep it beside
                               ours, replace it, or skip ours [default: keep]
                               [possible values: keep, replace, skip]
          --preset <LOOK>      How the status line is written: `design` is dense,
                               `plain` is in words [possible values: design, plain]
          --tmux               Make tmux save and restore by itself: one line in its
                               configuration, and a file it reads
          --adopt              Move folders that stand in the way of our links into
                               the state directory
          --diff               Show every change line by line
          --yes                Do not ask
          --dry-run            Show what would change, and change nothing
          --json               Print one JSON object
      -h, --help               Print help

    Examples:
      rekindle init --dry-run
      rekindle init --tmux
      rekindle init --preset plain

    Taken back by `rekindle uninstall`.
    "#);
}

#[test]
fn help_of_doctor() {
    insta::assert_snapshot!(help(&["doctor"]).unwrap(), @r#"
    Check that everything works: what is wrong, why it matters, how to fix it

    Usage: rekindle doctor [OPTIONS]

    Options:
          --fix      Put right what is rekindle's own, after showing every change
          --yes      Do not ask
          --dry-run  Show what would be put right, and change nothing
          --json     Print one JSON object
      -h, --help     Print help

    Examples:
      rekindle doctor
      rekindle doctor --fix --dry-run

    Looking changes nothing. Every finding is explained in docs/doctor.md.
    "#);
}

#[test]
fn help_of_uninstall() {
    insta::assert_snapshot!(help(&["uninstall"]).unwrap(), @r#"
    Take out what `init` wired, and remove what rekindle remembers

    Usage: rekindle uninstall [OPTIONS]

    Options:
          --keep-data     Keep the state directory: records, journal and vault
          --forget-vault  Remove the vault also where it holds what exists nowhere
                          else
          --diff          Show every change line by line
          --yes           Do not ask
          --dry-run       Show what would change, and change nothing
          --json          Print one JSON object
      -h, --help          Print help

    Examples:
      rekindle uninstall --keep-data
      rekindle uninstall --dry-run

    The vault may hold the only copy of a conversation: then it is removed only with
    --forget-vault.
    "#);
}

#[test]
fn help_of_completions() {
    insta::assert_snapshot!(help(&["completions"]).unwrap(), @r#"
    Print completions for a shell

    Usage: rekindle completions <SHELL>

    Arguments:
      <SHELL>  Which shell [possible values: bash, elvish, fish, powershell, zsh]

    Options:
      -h, --help  Print help

    Example: rekindle completions bash >
    ~/.local/share/bash-completion/completions/rekindle
    "#);
}

#[test]
fn help_of_man() {
    insta::assert_snapshot!(help(&["man"]).unwrap(), @r#"
    Print the manual page, or write all pages into a directory

    Usage: rekindle man [OPTIONS]

    Options:
          --to <DIR>  Write one page per command there
      -h, --help      Print help

    Example: rekindle man --to ~/.local/share/man/man1
    "#);
}

#[test]
fn help_of_statusline() {
    insta::assert_snapshot!(help(&["statusline"]).unwrap(), @r#"
    Print the status line of an agent, which says on standard input how it is

    Usage: rekindle statusline [OPTIONS]

    Options:
          --keep <COMMAND>  A status line of before, run by a shell with the same
                            input and shown above this one
      -h, --help            Print help

    Example, in the agent's settings.json:
      "statusLine": {"type": "command", "command": "rekindle statusline"}

    Always succeeds. Its parts, glyphs and colours are chosen in [statusline] of the
    configuration.
    "#);
}
