//! The help of saving, as people read it.

use lab::help::help;

#[test]
fn help_of_save() {
    insta::assert_snapshot!(help(&["save"]).unwrap(), @r#"
    Save every tmux session, window and pane, with the conversations in them

    Usage: rekindle save [OPTIONS]

    Options:
          --name <NAME>    Give it a name; a save with a name is kept for good
          --no-scrollback  Leave out what panes show
          --force          Save what is there alone and make it the one to restore,
                           even if it is empty or shrunken
          --dry-run        Say what would be saved, and write no save
          --json           Print one JSON object
      -h, --help           Print help

    Examples:
      rekindle save
      rekindle save --name before-upgrade

    A save that is empty, or lost most panes with their server, is kept but does not
    become the one to restore (exit code 3), unless --force says so. What
    else went with a server stays in the save until it is restored.
    "#);
}

#[test]
fn help_of_saves() {
    insta::assert_snapshot!(help(&["saves"]).unwrap(), @r#"
    List saves of tmux, look into them, compare them, take them elsewhere

    Usage: rekindle saves [OPTIONS]
           rekindle saves <COMMAND>

    Commands:
      list    List every save, the newest first (also what happens without a word)
      show    Show the sessions, windows and panes of a save, or what a pane showed
      diff    Say in words what changed from one save to another
      export  Copy a save into a file, its scrollback beside it
      import  Take a save from a file: an exported one, or one of tmux-resurrect

    Options:
          --json  Print one JSON object
      -h, --help  Print help

    Examples:
      rekindle saves
      rekindle saves diff before-upgrade current
      rekindle saves import ~/.tmux/resurrect/last

    A SAVE is an id, the beginning of one, a name, or `current`.
    "#);
}

#[test]
fn help_of_saves_list() {
    insta::assert_snapshot!(help(&["saves", "list"]).unwrap(), @r#"
    List every save, the newest first (also what happens without a word)

    Usage: rekindle saves list [OPTIONS]

    Options:
          --json  Print one JSON object
      -h, --help  Print help

    Example: rekindle saves list
    "#);
}

#[test]
fn help_of_saves_show() {
    insta::assert_snapshot!(help(&["saves", "show"]).unwrap(), @r#"
    Show the sessions, windows and panes of a save, or what a pane showed

    Usage: rekindle saves show [OPTIONS] [SAVE]

    Arguments:
      [SAVE]  The save; the current one where none is given [default: current]

    Options:
          --scrollback <PANE>  Print what this pane showed: `work:1.0`, `%4`
          --json               Print one JSON object
      -h, --help               Print help

    Examples:
      rekindle saves show
      rekindle saves show before-upgrade
      rekindle saves show --scrollback work:1.0
    "#);
}

#[test]
fn help_of_saves_diff() {
    insta::assert_snapshot!(help(&["saves", "diff"]).unwrap(), @r#"
    Say in words what changed from one save to another

    Usage: rekindle saves diff [OPTIONS] <A> [B]

    Arguments:
      <A>  The older one
      [B]  The newer one; the current one where none is given [default: current]

    Options:
          --json  Print one JSON object
      -h, --help  Print help

    Example: rekindle saves diff before-upgrade
    "#);
}

#[test]
fn help_of_saves_export() {
    insta::assert_snapshot!(help(&["saves", "export"]).unwrap(), @r#"
    Copy a save into a file, its scrollback beside it

    Usage: rekindle saves export [OPTIONS] <SAVE> <FILE>

    Arguments:
      <SAVE>  The save
      <FILE>  A file that does not exist yet

    Options:
          --json  Print one JSON object
      -h, --help  Print help

    Example: rekindle saves export current ~/work.save
    "#);
}

#[test]
fn help_of_saves_import() {
    insta::assert_snapshot!(help(&["saves", "import"]).unwrap(), @r#"
    Take a save from a file: an exported one, or one of tmux-resurrect

    Usage: rekindle saves import [OPTIONS] <FILE>

    Arguments:
      <FILE>  The file

    Options:
          --name <NAME>  Give it a name; a save with a name is kept for good
          --json         Print one JSON object
      -h, --help         Print help

    Example: rekindle saves import ~/.tmux/resurrect/last

    What is imported is a guess: it is offered, and nothing of it starts by itself.
    "#);
}

#[test]
fn help_of_restore() {
    insta::assert_snapshot!(help(&["restore"]).unwrap(), @r#"
    Bring back saved tmux sessions, each agent with its own conversation

    Usage: rekindle restore [OPTIONS] [SAVE]

    Arguments:
      [SAVE]  Which save: its id or name; the current one by default

    Options:
          --only <PLACE>      Only this session, window or pane: `work`, `work:1`,
                              `work:1.0`
          --dry-run           Say what would be done, and do nothing
          --yes               Do not ask
          --lazy              Let each pane show what it will resume, and resume it
                              when it is looked at
          --continue          Have agents go on at once: submit their prompt
          --last              Say what the last restore did, and do nothing
          --max-parallel <N>  Agents that start at once
          --json              Print one JSON object
      -h, --help              Print help

    Examples:
      rekindle restore --dry-run
      rekindle restore --yes

    Sessions that are there stay as they are: running it again does nothing. An
    agent comes back only into its own conversation, and says so itself; everything
    else is explained.
    "#);
}
