//! What the program prints, whole: ids are fixed, places and times are put into words.
#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "throwaway files are damaged on purpose, and a test that cannot go on panics"
)]

use std::fs;
use std::process::Stdio;
use std::time::Duration;

use lab::home::Home;
use lab::process::{self, Running};
use lab::rekindle::DEADLINE;
use lab::talk;

const BROKEN: &str = "dddddddd-aaaa-4aaa-8aaa-aaaaaaaaaaaa";
const LOST: &str = "eeeeeeee-bbbb-4bbb-8bbb-bbbbbbbbbbbb";
const COMMANDS: [&str; 19] = [
    "up",
    "status",
    "map",
    "explain",
    "name",
    "task",
    "note",
    "pause",
    "unpause",
    "scan",
    "repair",
    "branches",
    "show",
    "history",
    "undo",
    "redo",
    "vault",
    "completions",
    "man",
];
const OF_THE_VAULT: [&str; 7] = ["sync", "list", "verify", "restore", "prune", "forget", "status"];

/// A broken conversation, a healthy one, and one that was cut short after the vault saw it.
fn home() -> Home {
    let home = Home::new().unwrap();
    home.put_talk("ffffffff-cccc-4ccc-8ccc-cccccccccccc", 2).unwrap();
    let lost = home.put_talk(LOST, 5).unwrap();
    home.put_dangling(BROKEN, 4, 2).unwrap();
    assert!(home.rekindle(&["vault", "sync"]).unwrap().success());
    fs::write(lost, talk::talk(LOST, &home.project(), 2).bytes()).unwrap();
    assert!(home.rekindle(&["vault", "sync"]).unwrap().success());
    home
}

/// Output and words of a command that must succeed, without what differs from run to run.
fn said(home: &Home, words: &[&str]) -> String {
    let done = home.rekindle(words).unwrap();
    assert!(done.success(), "{words:?} {}", done.words());
    assert!(!done.stdout.contains('\u{1b}') && !done.stderr.contains('\u{1b}'), "colour in a pipe");
    let words = if done.stderr.is_empty() { String::new() } else { format!("--- words\n{}", done.stderr) };
    normal(home, &format!("{}{words}", done.stdout))
}

fn normal(home: &Home, text: &str) -> String {
    let root = home.root().to_string_lossy().into_owned();
    let slug: String = root.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    let text = text.replace(&root, "ROOT").replace(&slug, "-ROOT");
    text.lines().map(normal_line).collect::<Vec<_>>().join("\n")
}

fn normal_line(line: &str) -> String {
    let mut words: Vec<&str> = line.split(' ').collect();
    for at in 1..words.len() {
        // The age of something made a moment ago.
        if words[at] == "s" && words[at - 1].parse::<u8>().is_ok() {
            words[at - 1] = "N";
        }
        // How well the throwaway folder's name compresses.
        if words[at - 1] == "in" && words.get(at + 1) == Some(&"kB") {
            words[at] = "N.N";
        }
    }
    // The name of a backup's folder is a time.
    let is_stamp = |part: &&str| part.len() > 15 && part.starts_with("20") && part.ends_with('Z');
    let parts = words.join(" ");
    let parts = parts.split('/').map(|part| if is_stamp(&part) { "STAMP" } else { part });
    parts.collect::<Vec<_>>().join("/")
}

#[test]
fn scan_of_everything() {
    insta::assert_snapshot!(said(&home(), &["scan", "--all"]), @r#"
     SESSION   STATUS     AGE  A RESUME LOSES               WHY  DIRECTORY               LAST PROMPT
     dddddddd  corrupted  1 h  2 of 4 prompts               B1   ROOT/project  ask-03 please
     eeeeeeee  corrupted  N s  the end of the conversation  A7   ROOT/project  ask-01 please

    3 sessions: 1 healthy, 2 corrupted; 7.2 kB
    --- words
    `rekindle repair --all` mends corrupted ones; `rekindle scan ID` explains one.
    "#);
}

#[test]
fn scan_of_one() {
    insta::assert_snapshot!(said(&home(), &["scan", BROKEN]), @r#"
    dddddddd-aaaa-4aaa-8aaa-aaaaaaaaaaaa  corrupted
      ~/.claude/projects/-ROOT-project/dddddddd-aaaa-4aaa-8aaa-aaaaaaaaaaaa.jsonl
      8 messages, 4 on the chain, 1 orphan, 3.6 kB

     CLASS  ROWS  WHAT                                                   A RESUME LOSES  REPAIR
     B1     5     dangling parent: the row before it is not in the file  2 of 4 prompts  it follows the nearest row before it
    --- words
    Mend it with `rekindle repair dddddddd`.
    "#);
}

#[test]
fn scan_of_one_that_was_cut_short() {
    insta::assert_snapshot!(said(&home(), &["scan", LOST]), @r#"
    eeeeeeee-bbbb-4bbb-8bbb-bbbbbbbbbbbb  corrupted
      ~/.claude/projects/-ROOT-project/eeeeeeee-bbbb-4bbb-8bbb-bbbbbbbbbbbb.jsonl
      4 messages, 4 on the chain, 0 orphans, 1.8 kB

     CLASS  ROWS  WHAT                                                     A RESUME LOSES               REPAIR
     A7     -     overwritten: rows that stood here are only in the vault  the end of the conversation  the vault's copy is put back
    --- words
    Mend it with `rekindle repair eeeeeeee`.
    "#);
}

#[test]
fn repair_and_undo() {
    let home = home();
    insta::assert_snapshot!(said(&home, &["repair", "--all", "--dry-run"]), @r#"
    dddddddd  would be repaired: 1 change (B1)
      row 5 parentUuid (B1 dangling parent: the row before it is not in the file)
        - "deadbeef-0000-4000-8000-000000000000"
        + "669e7758-6527-5208-90b4-93d7427c9a18"
    eeeeeeee  would be repaired: version 1 of the vault would be put back
    "#);
    insta::assert_snapshot!(said(&home, &["repair", BROKEN]), @r#"
    dddddddd  repaired: 1 change (B1)
      as it was: ROOT/state/vault/backups/dddddddd-aaaa-4aaa-8aaa-aaaaaaaaaaaa/STAMP/transcript
    --- words
    Take it back with `rekindle undo`.
    "#);
    insta::assert_snapshot!(said(&home, &["repair", BROKEN]), @r#"
    dddddddd  already healthy
    "#);
    insta::assert_snapshot!(said(&home, &["undo"]), @r#"
    dddddddd  repair of N s ago undone
    --- words
    Do it again with `rekindle redo`.
    "#);
}

#[test]
fn branches_and_show() {
    let home = home();
    let mut base = talk::talk(BROKEN, &home.project(), 3);
    let fork = base.uuid(base.reply(0).unwrap());
    for row in talk::turn_rows(BROKEN, &home.project(), 5, &fork) {
        base.push(row);
    }
    home.put(BROKEN, &base.bytes()).unwrap();
    // The conversation is as old as its rows say, and gets older.
    let drawn = said(&home, &["branches", BROKEN]);
    let drawn: Vec<&str> =
        drawn.lines().map(|line| line.rsplit_once(", ").map_or(line, |(line, _)| line)).collect();
    insta::assert_snapshot!(drawn.join("\n"), @r#"
    ● 1  live, 2 turns
    │     last prompt: ask-05 please
    └─ 2  rewind after turn 1: 2 turns
          last prompt: ask-02 please
    "#);
    let mut command = home.rekindle_command(&["show", BROKEN]);
    let shown = process::run(command.env("TZ", "UTC"), DEADLINE).unwrap().stdout;
    insta::assert_snapshot!(shown.lines().skip(6).collect::<Vec<_>>().join("\n"), @r#"
    you · 2026-01-02 03:04:45 · stranded: a resume does not reach this
    ask-01 please

    agent · 2026-01-02 03:05:05 · stranded: a resume does not reach this
    reply-01: noted

    you · 2026-01-02 03:05:25 · stranded: a resume does not reach this
    ask-02 please

    agent · 2026-01-02 03:05:45 · stranded: a resume does not reach this
    reply-02: noted

    you · 2026-01-02 03:07:25
    ask-05 please

    agent · 2026-01-02 03:07:45
    reply-05: noted
    "#);
}

#[test]
fn vault_list_and_status() {
    let home = home();
    insta::assert_snapshot!(said(&home, &["vault", "list"]), @r#"
     SESSION   VERSIONS  ROWS    SIZE  AGE  STATE  DIRECTORY               LAST PROMPT
     dddddddd         1     8  3.6 kB  N s  there  ROOT/project  ask-03 please
     eeeeeeee         2     4  1.8 kB  N s  there  ROOT/project  ask-01 please
     ffffffff         1     4  1.8 kB  N s  there  ROOT/project  ask-01 please

    3 conversations in N.N kB
    "#);
    insta::assert_snapshot!(said(&home, &["vault", "status"]), @r#"
    3 conversations, 3 files, 7.2 kB of rows in N.N kB
    newest copy: N s ago
    eeeeeeee  cut short: ~/.claude/projects/-ROOT-project/eeeeeeee-bbbb-4bbb-8bbb-bbbbbbbbbbbb.jsonl
      a resume loses rows that only the vault has
      `rekindle repair eeeeeeee` puts it back
    "#);
}

#[test]
fn completions_and_man_know_every_command() {
    let home = home();
    for shell in ["bash", "zsh", "fish"] {
        let text = said(&home, &["completions", shell]);
        for command in COMMANDS.iter().chain(&OF_THE_VAULT) {
            assert!(text.contains(command), "{shell} does not know {command}");
        }
    }
    let man = said(&home, &["man"]);
    for command in COMMANDS {
        assert!(man.contains(command), "the manual does not know {command}");
    }
    let to = home.root().join("man");
    said(&home, &["man", "--to", &to.to_string_lossy()]);
    for command in COMMANDS {
        let page = fs::read_to_string(to.join(format!("rekindle-{command}.1"))).unwrap();
        assert!(page.contains(".TH") && page.len() > 200, "{command}");
    }
}

/// `| head -1`: the reader goes away at once, and nobody minds.
#[test]
fn a_reader_that_goes_away_is_no_error() {
    let home = home();
    let long = talk::talk(BROKEN, &home.project(), 250).bytes();
    home.put(BROKEN, &long).unwrap();
    for words in [
        &["scan", "--all"][..],
        &["scan", "--all", "--json"],
        &["show", BROKEN],
        &["show", BROKEN, "--json"],
        &["vault", "list", "--json"],
        &["completions", "bash"],
        &["man"],
        &["--help"],
        &["--version"],
    ] {
        let mut command = home.rekindle_command(words);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        drop(child.stdout.take());
        let done = child.wait_with_output().unwrap();
        let complaints = String::from_utf8_lossy(&done.stderr).into_owned();
        assert!(!complaints.contains("panicked"), "{words:?} {complaints}");
        assert_eq!(done.status.code(), Some(0), "{words:?} {complaints}");
    }
}

/// On a terminal of 80 columns: nothing wider, colour, and none where `NO_COLOR` says so.
#[test]
fn on_a_terminal() {
    let home = home();
    for (no_colour, wanted) in [("", true), ("NO_COLOR=1 ", false)] {
        let line = format!("{no_colour}{} scan --all; echo END; read line", lab::program().display());
        let mut tmux = home.adopt(home.tmux().command());
        tmux.args(["new-session", "-d", "-s", "work", "-x", "80", "-y", "40", &line]);
        assert!(process::run(&mut tmux, DEADLINE).unwrap().success());
        let mut screen = String::new();
        let shown = process::wait_until(Duration::from_secs(30), || {
            let mut capture = home.adopt(home.tmux().command());
            capture.args(["capture-pane", "-e", "-J", "-p", "-t", "work"]);
            screen = process::run(&mut capture, DEADLINE).map(|done| done.stdout).unwrap_or_default();
            screen.contains("END")
        });
        assert!(shown, "{screen}");
        assert_eq!(screen.contains('\u{1b}'), wanted, "{no_colour:?} {screen}");
        let wide: Vec<&str> = screen.lines().filter(|line| line.chars().count() > 80).collect();
        assert!(wanted || wide.is_empty(), "{wide:#?}");
        let mut kill =
            Running::start(home.adopt(home.tmux().command()).args(["kill-session", "-t", "work"])).unwrap();
        kill.wait(DEADLINE).unwrap();
    }
}

/// A conversation whose transcript was deleted is read from the vault, as text and as one object.
#[test]
fn show_reads_from_the_vault_what_is_gone() {
    let home = home();
    let before = said(&home, &["show", BROKEN]);
    fs::remove_file(home.transcript(BROKEN)).unwrap();
    let after = said(&home, &["show", BROKEN]);
    let hint = "The transcript is gone; this is the vault's copy. `rekindle repair dddddddd` puts it back.";
    assert_eq!(after, format!("{before}\n--- words\n{hint}"));
    let json = home.rekindle_json(&["show", BROKEN]).unwrap();
    assert_eq!((&json["schemaVersion"], &json["sessionId"]), (&1.into(), &BROKEN.into()));
    assert_eq!(json["turns"][0]["text"], "ask-00 please");
}

/// What needs attention is named, with the command that deals with it.
#[test]
fn doctor_and_up_name_what_is_damaged_and_what_is_deleted() {
    let home = home();
    let deleted = "ffffffff-cccc-4ccc-8ccc-cccccccccccc";
    fs::remove_file(home.transcript(deleted)).unwrap();
    // Each of them notices it by itself, before any sync has.
    for command in ["scan --all", "doctor", "vault status"] {
        let shown = home.rekindle(&command.split(' ').collect::<Vec<_>>()).unwrap().stdout;
        let line = shown.lines().find(|line| line.contains("ffffffff"));
        assert!(line.is_some_and(|line| line.contains("missing") || line.contains("deleted")), "{shown}");
    }
    let words = said(&home, &["up"]);
    assert!(words.contains("`rekindle repair --all` mends corrupted ones"), "{words}");
    assert!(words.contains("`rekindle repair ffffffff` puts a missing one back from the vault."), "{words}");
    let found = home.rekindle(&["doctor"]).unwrap().stdout;
    assert!(found.contains("1 conversation is damaged: dddddddd"), "{found}");
    assert!(found.contains("1 deleted conversation is in the vault: ffffffff"), "{found}");
    assert!(found.contains("fix: rekindle repair ffffffff"), "the command can be copied: {found}");
    assert!(found.contains("1 conversation lost rows that the vault has: eeeeeeee"), "{found}");
}

/// A state directory that cannot be made keeps nobody from looking, and is said where something would be written.
#[test]
fn commands_that_only_look_need_no_state_directory() {
    let home = home();
    let run = |words: &[&str]| {
        let mut command = home.rekindle_command(words);
        process::run(command.env("REKINDLE_STATE_DIR", "/proc/no-state"), DEADLINE).unwrap()
    };
    let scanned = run(&["scan", "--all"]);
    assert!(scanned.success() && scanned.stdout.contains("dddddddd  corrupted"), "{}", scanned.words());
    let shown = run(&["show", BROKEN]);
    assert!(shown.success() && shown.stdout.contains("ask-00 please"), "{}", shown.words());
    for words in [&["status"][..], &["map"], &["branches", BROKEN]] {
        let done = run(words);
        assert!(done.success(), "{words:?}: {}", done.words());
    }
    // A vault that is there and cannot be used is no empty one.
    let unusable = home.root().join("unusable");
    fs::create_dir(&unusable).unwrap();
    std::os::unix::fs::symlink("/nowhere", unusable.join("vault")).unwrap();
    let mut command = home.rekindle_command(&["scan", "--all"]);
    let done = process::run(command.env("REKINDLE_STATE_DIR", &unusable), DEADLINE).unwrap();
    assert!(done.code() == Some(1) && done.stderr.contains("the vault"), "{}", done.words());
    let repaired = run(&["repair", BROKEN]);
    assert_eq!(repaired.code(), Some(1), "{}", repaired.words());
    assert!(repaired.stderr.contains("cannot make /proc/no-state"), "{}", repaired.stderr);
}

/// The agent's own list of prompts is in the vault, and no command takes it: it is not listed as a conversation.
#[test]
fn vault_list_shows_conversations_alone() {
    let home = home();
    fs::write(home.config().join("history.jsonl"), "{\"display\":\"ask-00 please\"}\n").unwrap();
    said(&home, &["vault", "sync"]);
    let listed = said(&home, &["vault", "list"]);
    assert!(listed.contains("3 conversations in ") && !listed.contains("history"), "{listed}");
}

#[test]
fn help_of_a_command_in_both_ways() {
    let home = Home::new().unwrap();
    for words in [&[][..], &["scan"], &["vault", "restore"]] {
        let asked = said(&home, &[&["help"], words].concat());
        assert_eq!(asked, said(&home, &[words, &["--help"]].concat()));
    }
    let unknown = home.rekindle(&["help", "no-such"]).unwrap();
    assert_eq!(unknown.code(), Some(2), "{}", unknown.words());
}
