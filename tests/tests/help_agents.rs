//! The help of the commands that show and name agents, and of those that agents run.

use lab::help::help;

#[test]
fn help_of_status() {
    insta::assert_snapshot!(help(&["status"]).unwrap(), @r#"
    Show every agent: what it is at, where, on what; who needs you first

    Usage: rekindle status [OPTIONS] [TARGET]...

    Arguments:
      [TARGET]...  Only these: ids or their beginnings, panes, names, directories

    Options:
          --all    Also those that ended, crashed long ago, answer one prompt, or
                   belong to another agent
          --watch  Stay, and draw it again when something changes; q quits, g goes
                   to the waiting agent
          --json   Print one JSON object
      -h, --help   Print help

    Examples:
      rekindle status
      rekindle status --watch
      rekindle status work:1.0 --json

    Signs: ◐ waits for you, ✕ crashed, ● busy, ○ idle, ◌ waiting in its
    pane, ? unknown, · ended.
    AGE: how long it has been so. CTX: how full its context is. VAULT: the age of
    its newest copy. A name with a question mark is a guess: see `rekindle explain`.
    "#);
}

#[test]
fn help_of_map() {
    insta::assert_snapshot!(help(&["map"]).unwrap(), @r#"
    Show which pane has which conversation, and how sure that is

    Usage: rekindle map [OPTIONS]

    Options:
          --watch  Stay, and draw it again when something changes; q quits, g goes
                   to the waiting agent
          --json   Print one JSON object: `panes` is the file
                   `instances/pane-session-map.json`
      -h, --help   Print help

    Examples:
      rekindle map
      rekindle map --watch
      rekindle map --json

    Panes on other servers than the default one have the server's name before them.
    "#);
}

#[test]
fn help_of_go() {
    insta::assert_snapshot!(help(&["go"]).unwrap(), @r#"
    Go to the pane of an agent; without a target, to the one that has waited for you
    longest

    Usage: rekindle go [OPTIONS] [TARGET]

    Arguments:
      [TARGET]  A session's id or its beginning, a pane, a name or a directory

    Options:
          --dry-run  Only say where it would go, and by which command
          --json     Print one JSON object; a terminal outside of tmux is then not
                     attached
      -h, --help     Print help

    Examples:
      rekindle go
      rekindle go shop
      rekindle go work:1.0 --dry-run

    Inside tmux your client switches to the pane; in another terminal it attaches.
    A key for it, in tmux.conf: bind g run-shell -b 'rekindle go'
    "#);
}

#[test]
fn help_of_explain() {
    insta::assert_snapshot!(help(&["explain"]).unwrap(), @r#"
    Say what is believed about an agent, how sure it is, and what speaks for and
    against it

    Usage: rekindle explain [OPTIONS] <PANE|SESSION>

    Arguments:
      <PANE|SESSION>  A pane, a session's id or its beginning, a name or a directory

    Options:
          --json  Print one JSON object
      -h, --help  Print help

    Examples:
      rekindle explain work:1.0
      rekindle explain 1a2b3c4d --json

    proven: the agent's own word, in its own pane
    likely: arguments, environment, the pane's option
    guess: directory and time
    A + speaks for it, a - against it.
    "#);
}

#[test]
fn help_of_name_task_and_note() {
    insta::assert_snapshot!(help(&["name"]).unwrap(), @r#"
    Give a conversation a name

    Usage: rekindle name [OPTIONS] <TARGET> [TEXT]...

    Arguments:
      <TARGET>   A session's id or its beginning, a pane, a name or a directory
      [TEXT]...  What you say; without quotes several words count as one text

    Options:
          --clear  Take back what you said before
          --json   Print one JSON object
      -h, --help   Print help

    Examples:
      rekindle name work:1.0 shop
      rekindle name 1a2b3c4d --clear
    "#);
    insta::assert_snapshot!(help(&["task"]).unwrap(), @r#"
    Say what a conversation is about

    Usage: rekindle task [OPTIONS] <TARGET> [TEXT]...

    Arguments:
      <TARGET>   A session's id or its beginning, a pane, a name or a directory
      [TEXT]...  What you say; without quotes several words count as one text

    Options:
          --clear  Take back what you said before
          --json   Print one JSON object
      -h, --help   Print help

    Examples:
      rekindle task shop "mend the rounding of the cart"
      rekindle task shop --clear
    "#);
    insta::assert_snapshot!(help(&["note"]).unwrap(), @r#"
    Keep your own words about a conversation, or read them

    Usage: rekindle note [OPTIONS] <TARGET> [TEXT]...

    Arguments:
      <TARGET>   A session's id or its beginning, a pane, a name or a directory
      [TEXT]...  What you say; without it, what you said is shown

    Options:
          --clear  Take back what you said before
          --json   Print one JSON object
      -h, --help   Print help

    Examples:
      rekindle note shop "waits for the review of Ann"
      rekindle note shop
      rekindle note shop --clear
    "#);
}

#[test]
fn help_of_pause_and_unpause() {
    insta::assert_snapshot!(help(&["pause"]).unwrap(), @r#"
    Stop everything automatic until `rekindle unpause`; events are still written
    down

    Usage: rekindle pause [OPTIONS]

    Options:
          --why <TEXT>  What for: shown wherever states are shown
          --json        Print one JSON object
      -h, --help        Print help

    Examples:
      rekindle pause
      rekindle pause --why "moving the disk"
    "#);
    insta::assert_snapshot!(help(&["unpause"]).unwrap(), @r#"
    Go on after a pause, with what was written down meanwhile

    Usage: rekindle unpause [OPTIONS]

    Options:
          --json  Print one JSON object
      -h, --help  Print help

    Example: rekindle unpause
    "#);
}

#[test]
fn help_of_what_agents_and_timers_run() {
    insta::assert_snapshot!(help(&["hook"]).unwrap(), @r#"
    Write down an event of an agent, as it came on standard input, and go

    Usage: rekindle hook [EVENT]

    Arguments:
      [EVENT]  The event's name, for agents that do not say it themselves

    Options:
      -h, --help  Print help

    Example: echo '{"session_id":"1a2b3c4d"}' | rekindle hook Stop

    Run by agents. Always succeeds and prints nothing; what went wrong is in the
    log.
    "#);
    insta::assert_snapshot!(help(&["settle"]).unwrap(), @r#"
    Fold what hooks left into records, map and journal, and bring the vault up to
    date

    Usage: rekindle settle [OPTIONS]

    Options:
          --json  Print one JSON object
      -h, --help  Print help

    Example: rekindle settle

    Hooks and status lines start it by themselves; commands that show something run
    it first.
    "#);
}

#[test]
fn help_of_recover() {
    insta::assert_snapshot!(help(&["recover"]).unwrap(), @r#"
    Bring back agents that crashed, each with its conversation or with what is left
    of it

    Usage: rekindle recover [OPTIONS] [TARGET]...

    Arguments:
      [TARGET]...  Agents: a session's id or its beginning, a pane, a name, a
                   directory

    Options:
          --all            Every crashed agent, except those that `rekindle restore`
                           brings back with their layout
          --dry-run        Say what would be done, and do nothing
          --preview        Print what one of them would be told, and do nothing
          --continue       Have agents go on at once: submit their prompt
          --auto <ON|OFF>  Whether they may be brought back by themselves, where
                           recovery.auto_recover is on [possible values: on, off]
          --owner-gone     Recover one session although rekindle cannot tell whether
                           its agent still runs: you know that it is gone
          --again          Start another agent for a session whose work a fresh
                           agent has taken over
          --json           Print one JSON object
      -h, --help           Print help

    Examples:
      rekindle recover
      rekindle recover work:1.0
      rekindle recover --all --dry-run
      rekindle recover 1a2b3c4d --preview

    A conversation that can be resumed is resumed, mended first where it must be.
    One that cannot be goes on in a fresh agent, which is told what was said, what
    was done and what was half done. Whoever was ended by its user comes back only
    by name. --all leaves out agents whose panes are gone and in the current save:
    `rekindle restore` brings those back with their layout.
    "#);
}

#[test]
fn help_of_inject() {
    insta::assert_snapshot!(help(&["inject"]).unwrap(), @r#"
    Send text to a running agent, and see that it arrives

    Usage: rekindle inject [OPTIONS] <PANE> [TEXT]

    Arguments:
      <PANE>  A pane, a session's id or its beginning, a name or a directory
      [TEXT]  What to send, `-` for standard input; without it, what is on record
              about the conversation

    Options:
          --file <FILE>  Send what is in this file
          --no-submit    Leave it in the agent's line, without Enter
          --queue        Also while the agent is busy: it reads it after its turn
          --dry-run      Say what would be sent where, and send nothing
          --json         Print one JSON object
      -h, --help         Print help

    Examples:
      rekindle inject work:1.0 "go on with the tests"
      rekindle inject %4 --file plan.md
      git diff | rekindle inject shop - --no-submit
      rekindle inject work:1.0

    Pasted as you would paste it, sent with Enter, and confirmed by the agent's own
    event, or else by its empty line. A text that begins with / is typed, as a
    command. Refused (exit 3): an agent that is busy, that asks something, or in
    whose line something is typed. Exit 4: nobody can tell whether it has arrived.
    "#);
}

#[test]
fn help_of_trust() {
    insta::assert_snapshot!(help(&["trust"]).unwrap(), @r#"
    Show sessions whose records this machine did not write, and accept them

    Usage: rekindle trust [OPTIONS] [SESSION]...

    Arguments:
      [SESSION]...  Only these sessions; all of them where none is named

    Options:
          --yes      Accept without asking
          --dry-run  Show what would be accepted, and accept nothing
          --json     Print one JSON object
      -h, --help     Print help

    Examples:
      rekindle trust --dry-run
      rekindle trust 1a2b3c4d
      rekindle trust --yes

    A record that was edited, copied from another machine or sealed with another key
    starts nothing by itself. This shows what it would start, and makes it this
    machine's own after a yes. If the machine's key is lost, a new one is made.
    "#);
}
