//! What `explain` says of agents in known states, whole.
#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "throwaway files are damaged on purpose, and a test that cannot go on panics"
)]

use std::fs;

use lab::believed::{Body, Said};
use lab::home::Home;
use lab::process;
use lab::rekindle::DEADLINE;
use serde_json::{Value, json};

const SHOP: &str = "1a2b3c4d-aaaa-4aaa-8aaa-aaaaaaaaaaaa";
const TILL: &str = "2b3c4d5e-bbbb-4bbb-8bbb-bbbbbbbbbbbb";

/// What a command says, without what differs from run to run.
fn said(home: &Home, words: &[&str], bodies: &[&Body]) -> String {
    let done = home.rekindle(words).unwrap();
    assert_eq!(done.code(), Some(0), "{words:?} {}", done.words());
    assert_eq!(done.stderr, "");
    let mut text = done.stdout.replace(&*home.root().to_string_lossy(), "ROOT");
    for body in bodies {
        text =
            text.replace(&body.pid.to_string(), "PID").replace(&format!("pts/{}", body.tty & 0xff), "pts/N");
    }
    text.lines().map(normal).collect::<Vec<_>>().join("\n")
}

/// Times of the journal, and ages of what was made a moment ago.
fn normal(line: &str) -> String {
    let is_stamp = |word: &str| word.len() >= 9 && word.ends_with('Z') && word.contains(':');
    let is_date = |word: &str| word.len() == 10 && word.starts_with("20") && word.matches('-').count() == 2;
    let mut words: Vec<&str> = line.split(' ').collect();
    for at in 0..words.len() {
        if is_stamp(words[at]) || is_date(words[at]) {
            words[at] = "TIME";
        }
        let number = words[at].trim_start_matches('(');
        if at + 1 < words.len() && words[at + 1] == "s" && number.parse::<u8>().is_ok() {
            words[at] = if words[at].starts_with('(') { "(N" } else { "N" };
        }
    }
    words.join(" ")
}

fn start(home: &Home) -> Said<'static> {
    let cwd = home.home().join("shop");
    Said::new("SessionStart", 7300).with(json!({"source": "startup", "cwd": cwd, "model": "claude-opus-4-1"}))
}

fn stop(home: &Home) -> Said<'static> {
    Said::new("Stop", 190).with(json!({"cwd": home.home().join("shop")}))
}

#[test]
fn a_live_agent_and_its_evidence() {
    let home = Home::new().unwrap();
    let (_, body) = home.lookalike("").unwrap();
    home.said(SHOP, &body, &[start(&home), stop(&home)]).unwrap();
    assert!(home.rekindle(&["note", SHOP, "waits for Ann"]).unwrap().success());
    insta::assert_snapshot!(said(&home, &["explain", "work:0.0"], &[&body]), @r#"
    session   1a2b3c4d-aaaa-4aaa-8aaa-aaaaaaaaaaaa  proven
      + hook        a hook of process PID names this conversation (2 h ago)
      + pane_option the option of pane %0 names 1a2b3c4d
    process   PID  proven
      + hook        a hook of process PID names this conversation (2 h ago)
      + process     it runs, with the start time on record
    pane      work:0.0 (%0)  proven
      + terminal    its process is on /dev/pts/N now, the pane's terminal (N s ago)
      + terminal    its terminal /dev/pts/N is the pane's (N s ago)
      + tmux        its server has the pane
      + pane_option pane %0 carries its id
    state     ○ idle  proven
      + hook        its newest event says idle (2 h ago)
    name      shop  guess
      + directory   the name of its directory
    cwd       ~/shop  proven
      + hook        the newest event names ROOT/home/shop (3 m ago)
      - process     its process works in ROOT/project
    model     claude-opus-4-1  proven
      + transcript  its newest reply or event names it
    seen      3 m ago  proven
      + hook        the newest event or entry (3 m ago)

    note
      waits for Ann

    runs
      process PID from 2 h ago, began by startup, in work:0.0

    journal
      TIME TIME session_started pid: PID, source: startup
      TIME TIME pane_bound grade: proven, id: %0, pane: work:0.0

    A restore would leave it alone: its agent runs.
    "#);
    let by_pane = said(&home, &["explain", "%0"], &[&body]);
    assert_eq!(by_pane, said(&home, &["explain", "shop"], &[&body]));

    let json = home.rekindle_json(&["explain", SHOP]).unwrap();
    let session = &json["facts"]["session"];
    assert_eq!((&session["value"], &session["grade"]), (&json!(SHOP), &json!("proven")));
    assert_eq!(session["evidence"][0]["source"], "hook");
    assert_eq!(json["facts"]["pane"]["value"]["pane"], "work:0.0");
    assert_eq!((&json["restore"]["would"], &json["live"]), (&json!("already_there"), &json!(true)));
    assert_eq!(json["runs"][0]["pid"], body.pid);
    assert_eq!(json["note"], "waits for Ann");
    assert_eq!(json["journal"][0]["event"], "session_started");
}

#[test]
fn what_speaks_against_it_is_shown() {
    let home = Home::new().unwrap();
    let (pane, body) = home.lookalike(&format!("--resume {TILL}")).unwrap();
    home.said(SHOP, &body, &[start(&home), stop(&home)]).unwrap();
    assert!(home.rekindle(&["settle"]).unwrap().success());
    home.in_tmux(&["set-option", "-p", "-t", &pane, "@rekindle_id", TILL]).unwrap();
    assert!(home.rekindle(&["pause"]).unwrap().success(), "else settle would put the tag right");
    let json = home.rekindle_json(&["explain", SHOP]).unwrap();
    let session = &json["facts"]["session"];
    assert_eq!((&session["value"], &session["grade"]), (&json!(SHOP), &json!("proven")));
    let against = |evidence: &&Value| evidence["speaks"] == "against";
    let against: Vec<_> = session["evidence"].as_array().unwrap().iter().filter(against).collect();
    let sources: Vec<_> = against.iter().map(|evidence| &evidence["source"]).collect();
    assert_eq!(sources, [&json!("process"), &json!("pane_option")]);
    let text = said(&home, &["explain", SHOP], &[&body]);
    assert!(text.contains("  - pane_option the option of pane %0 names 2b3c4d5e\n"), "{text}");
}

#[test]
fn what_a_restore_would_do() {
    let home = Home::new().unwrap();
    let (pane, body) = home.lookalike("").unwrap();
    home.said(SHOP, &body, &[start(&home), stop(&home)]).unwrap();
    assert!(home.rekindle(&["settle"]).unwrap().success());
    home.in_tmux(&["new-window", "-d", "-t", "work", "exec bash --norc -c 'read line'"]).unwrap();
    home.in_tmux(&["kill-pane", "-t", &pane]).unwrap();
    let gone = format!("/proc/{}", body.pid);
    assert!(process::wait_until(DEADLINE, || !fs::exists(&gone).unwrap()));
    insta::assert_snapshot!(said(&home, &["explain", SHOP], &[&body]), @r#"
    session   1a2b3c4d-aaaa-4aaa-8aaa-aaaaaaaaaaaa  proven
      + hook        a hook of process PID names this conversation (2 h ago)
    process   PID, not running  proven
      + hook        a hook of process PID names this conversation (2 h ago)
      + process     it is gone
    pane      work:0.0 (%0)  proven
      + terminal    its terminal /dev/pts/N is the pane's (N s ago)
      + tmux        its server lives, the pane is closed
    state     ✕ crashed  proven
      + machine     process_died: its process and its pane are gone without a word (3 m ago)
    name      shop  guess
      + directory   the name of its directory
    cwd       ~/shop  proven
      + hook        the newest event names ROOT/home/shop (3 m ago)
    model     claude-opus-4-1  proven
      + transcript  its newest reply or event names it
    seen      3 m ago  proven
      + hook        the newest event or entry (3 m ago)

    runs
      process PID from 2 h ago, began by startup, in work:0.0, ended N s ago

    journal
      TIME TIME session_started pid: PID, source: startup
      TIME TIME pane_bound grade: proven, id: %0, pane: work:0.0
      TIME TIME session_crashed why: its process and its pane are gone without a word, reason: process_died

    A restore would leave it alone: its pane was closed; rekindle recover 1a2b3c4d brings it back.
    "#);
    let path = home.state().join(format!("session-health/{SHOP}.lock"));
    let record = fs::read_to_string(&path).unwrap();
    fs::write(&path, record.replace("\"name\": \"shop\"", "\"name\": \"evil\"")).unwrap();
    let json = home.rekindle_json(&["explain", SHOP]).unwrap();
    assert_eq!(json["restore"]["would"], "offered");
    assert_eq!(json["facts"]["session"]["grade"], "guess");
    home.said(
        TILL,
        &Body::dead(1),
        &[start(&home), Said::new("SessionEnd", 5).with(json!({"reason": "logout"}))],
    )
    .unwrap();
    assert_eq!(home.rekindle_json(&["explain", TILL]).unwrap()["restore"]["would"], "not_restored");
}

#[test]
fn an_agent_that_nothing_names() {
    let home = Home::new().unwrap();
    let (_, body) = home.lookalike("").unwrap();
    insta::assert_snapshot!(said(&home, &["explain", "%0"], &[&body]), @r#"
    process   PID  proven
      + process     process PID is an agent that no hook and no registry names (N s ago)
    pane      work:0.0 (%0)  proven
      + terminal    its process is on /dev/pts/N now, the pane's terminal (N s ago)
    state     ? unknown  proven
      + process     running; no hook or registry reports its state (N s ago)
    name      project  guess
      + directory   the name of its directory
    cwd       ROOT/project  likely
      + process     its process works in ROOT/project

    A restore would leave it alone: its agent runs.
    "#);
}

#[test]
fn bad_input() {
    let home = Home::new().unwrap();
    home.in_tmux(&["new-session", "-d", "-s", "work", "exec bash --norc -c 'read line'"]).unwrap();
    home.put_talk(SHOP, 1).unwrap();
    let check = |words: &[&str], code: i32, says: &str| {
        let done = home.rekindle(words).unwrap();
        assert_eq!((done.code(), done.stdout.as_str()), (Some(code), ""), "{words:?} {}", done.stderr);
        assert!(done.stderr.contains(says), "{words:?} {}", done.stderr);
    };
    check(&["explain"], 2, "required");
    check(&["explain", "nobody"], 2, "is no session, pane or name here");
    check(&["explain", "%0"], 2, "pane %0 has no agent: it runs bash");
    check(&["explain", "%99"], 2, "%99 is no pane here, and none on record");
    check(&["explain", SHOP], 1, "nothing is on record about 1a2b3c4d");
    for (session, number) in [(SHOP, 1), (TILL, 2)] {
        home.said(session, &Body::dead(number), &[start(&home)]).unwrap();
    }
    fs::create_dir(home.home().join("shop")).unwrap();
    for session in [SHOP, TILL] {
        assert!(home.rekindle(&["name", session, "shop"]).unwrap().success());
    }
    check(&["explain", "shop"], 2, "\"shop\" means 2 conversations; give an id:\n  1a2b3c4d");
    let folder = home.home().join("shop");
    check(&["explain", &*folder.to_string_lossy()], 2, "means 2 conversations; give an id:\n  1a2b3c4d");
}

/// Its hooks were heard by a clock that was ahead: nobody knows how long ago that was, so nothing comes back by itself, and no
/// mode that asks nothing.
#[test]
fn a_session_heard_in_the_future_was_not_heard_lately() {
    const BYPASS: &[&str] = &["claude", "--dangerously-skip-permissions"];
    let home = Home::new().unwrap();
    home.put_talk(SHOP, 2).unwrap();
    let recovered = |says: &str| {
        let planned = home.rekindle_json(&["recover", SHOP, "--dry-run"]).unwrap();
        let why = planned["agents"][0]["why"].as_str().unwrap().to_owned();
        assert_eq!(planned["agents"][0]["act"], "resume", "{planned}");
        assert_eq!(why.contains("--dangerously-skip-permissions is left out"), says == "left out", "{why}");
    };
    let begin = |ago| Said::new("SessionStart", ago).started_with(BYPASS).with(json!({"source": "startup"}));
    home.said(SHOP, &Body::dead(1), &[begin(-30 * 86_400), Said::new("Stop", -30 * 86_400)]).unwrap();
    for _ in 0..2 {
        recovered("left out");
        let explained = home.rekindle_json(&["explain", SHOP]).unwrap();
        assert_ne!(explained["restore"]["would"], "resumed", "{explained}");
    }
    // Heard again, by a clock that is right.
    home.said(SHOP, &Body::dead(2), &[begin(0), Said::new("Stop", 0)]).unwrap();
    recovered("kept");
}
