//! `name`, `task` and `note`, and targets by what was given.
#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "throwaway files are made on purpose, and a test that cannot go on panics"
)]

use std::fs;

use lab::believed::{Body, Said};
use lab::home::Home;
use serde_json::{Value, json};

const SHOP: &str = "1a2b3c4d-aaaa-4aaa-8aaa-aaaaaaaaaaaa";
const TILL: &str = "2b3c4d5e-bbbb-4bbb-8bbb-bbbbbbbbbbbb";

/// A conversation with a transcript in a pane, and one that has ended.
fn home() -> Home {
    let home = Home::new().unwrap();
    let (_, body) = home.lookalike("").unwrap();
    home.put_talk(SHOP, 2).unwrap();
    home.put_talk(TILL, 1).unwrap();
    let start = || Said::new("SessionStart", 60).with(json!({"source": "startup"}));
    home.said(SHOP, &body, &[start(), Said::new("Stop", 30)]).unwrap();
    let end = Said::new("SessionEnd", 20).with(json!({"reason": "prompt_input_exit"}));
    home.said(TILL, &Body::dead(1), &[start(), end]).unwrap();
    home
}

fn said(home: &Home, words: &[&str]) -> String {
    let done = home.rekindle(words).unwrap();
    assert_eq!((done.code(), done.stderr.as_str()), (Some(0), ""), "{words:?}");
    done.stdout.trim_end().to_owned()
}

fn file(home: &Home, name: &str) -> Value {
    serde_json::from_slice(&fs::read(home.state().join(name)).unwrap()).unwrap()
}

#[test]
fn what_is_given_is_shown_at_once_and_can_be_taken_back() {
    let home = home();
    assert_eq!(said(&home, &["name", "work:0.0", "cart"]), "1a2b3c4d  name: cart");
    assert_eq!(
        said(&home, &["task", "cart", "mend", "the", "rounding"]),
        "1a2b3c4d  task: mend the rounding"
    );
    assert_eq!(file(&home, "instances/registry.json")[SHOP]["name"], "cart");
    let entry = &file(&home, "instances/pane-session-map.json")["work:0.0"];
    assert_eq!((&entry["name"], &entry["task"]), (&json!("cart"), &json!("mend the rounding")));
    assert_eq!(said(&home, &["name", "cart", "--clear"]), "1a2b3c4d  name: project");
    assert_eq!(said(&home, &["task", SHOP, "--clear"]), "1a2b3c4d  task: ask-01 please");
    assert_eq!(file(&home, "instances/pane-session-map.json")["work:0.0"]["name"], "project");
    let json = home.rekindle_json(&["name", SHOP, "again"]).unwrap();
    assert_eq!(
        json,
        json!({"schemaVersion": 1, "sessionId": SHOP, "name": "again", "task": "ask-01 please", "given": true})
    );
}

#[test]
fn notes_are_kept_shown_and_taken_back() {
    let home = home();
    assert_eq!(said(&home, &["note", "%0"]), "1a2b3c4d  no note");
    assert_eq!(said(&home, &["note", "%0", "waits for Ann\nuntil Monday"]), "waits for Ann\nuntil Monday");
    let path = home.state().join("instances/descriptions").join(format!("{SHOP}.txt"));
    assert_eq!(fs::read_to_string(&path).unwrap(), "waits for Ann\nuntil Monday\n");
    assert_eq!(home.rekindle_json(&["note", SHOP]).unwrap()["note"], "waits for Ann\nuntil Monday");
    assert_eq!(said(&home, &["note", SHOP, "--clear"]), "1a2b3c4d  no note");
    assert!(!path.exists());
}

#[test]
fn what_is_given_is_cleaned_and_bounded() {
    let home = home();
    let secret = format!("ghp_{}", "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8");
    for command in ["name", "task", "note"] {
        let text = said(&home, &[command, SHOP, &format!("a\u{1b}[31mb key {secret}")]);
        assert!(!text.contains('\u{1b}') && !text.contains(&secret), "{text}");
        assert!(text.contains("a [31mb key") || text.contains("a[31mb key"), "{text}");
        let long = said(&home, &[command, SHOP, &"word ".repeat(4000)]);
        assert!(long.chars().count() < 4100, "{command}: {}", long.len());
    }
    let name = file(&home, "instances/registry.json")[SHOP]["name"].as_str().unwrap().to_owned();
    assert!(name.chars().count() <= 64 && name.ends_with("word…"), "{name}");
}

/// Every command that takes a conversation takes it by name, pane and directory.
#[test]
fn targets_by_what_was_given() {
    let home = home();
    said(&home, &["name", SHOP, "cart"]);
    let folder = home.project();
    let folder = folder.to_string_lossy();
    for target in ["cart", "work:0.0", "%0", "."] {
        assert_eq!(
            home.rekindle_json(&["scan", target]).unwrap()["sessions"][0]["sessionId"],
            SHOP,
            "{target}"
        );
        assert_eq!(home.rekindle_json(&["branches", target]).unwrap()["sessionId"], SHOP, "{target}");
        assert!(said(&home, &["show", target]).contains("ask-01 please"));
    }
    assert_eq!(home.rekindle_json(&["scan", &folder]).unwrap()["sessions"][0]["sessionId"], SHOP);
    assert!(home.rekindle(&["vault", "sync"]).unwrap().success());
    for target in ["cart", "%0"] {
        let done = home.rekindle(&["vault", "forget", target, "--dry-run"]).unwrap();
        assert!(done.stdout.starts_with(&format!("{SHOP}  would be forgotten")), "{}", done.words());
    }
    let repaired = home.rekindle(&["repair", "cart", "--json"]).unwrap();
    assert!(repaired.stdout.contains(SHOP), "{}", repaired.words());
}

/// The agent's registry, with a name that the agent makes up at each start.
fn register(home: &Home, session: &str, body: &Body, name: &str) {
    let folder = home.config().join("sessions");
    fs::create_dir_all(&folder).unwrap();
    let entry = json!({"pid": body.pid, "procStart": body.start.to_string(), "sessionId": session,
        "cwd": home.project(), "name": name, "kind": "interactive", "entrypoint": "cli"});
    fs::write(folder.join(format!("{}.json", body.pid)), entry.to_string()).unwrap();
}

#[test]
fn one_name_for_each_session_that_stays_and_can_be_typed() {
    let home = Home::new().unwrap();
    let began = |source: &str, ago| Said::new("SessionStart", ago).with(json!({"source": source}));
    for session in [SHOP, TILL] {
        home.put_talk(session, 1).unwrap();
    }
    let (_, shop) = home.lookalike("").unwrap();
    home.said(SHOP, &shop, &[began("startup", 60)]).unwrap();
    register(&home, SHOP, &shop, "project-a8");
    assert!(home.rekindle(&["settle"]).unwrap().success());
    let (_, till) = home.lookalike("").unwrap();
    home.said(TILL, &till, &[began("startup", 50)]).unwrap();
    register(&home, TILL, &till, "project-07");
    let names = || {
        let status = home.rekindle_json(&["status", "--all"]).unwrap();
        let mut shown: Vec<(String, String)> = status["agents"]
            .as_array()
            .unwrap()
            .iter()
            .map(|agent| {
                (agent["shortId"].as_str().unwrap().to_owned(), agent["name"].as_str().unwrap().to_owned())
            })
            .collect();
        shown.sort();
        let map = file(&home, "instances/pane-session-map.json");
        let mut mapped: Vec<(String, String)> = map
            .as_object()
            .unwrap()
            .values()
            .map(|entry| {
                (entry["short_id"].as_str().unwrap().to_owned(), entry["name"].as_str().unwrap().to_owned())
            })
            .collect();
        mapped.sort();
        assert_eq!(shown, mapped, "status and map agree");
        shown.into_iter().map(|(_, name)| name).collect::<Vec<_>>()
    };
    assert_eq!(names(), ["project", "project-2"]);
    for (name, session) in [("project", SHOP), ("project-2", TILL)] {
        let is = |words: &[&str], at: &str| {
            let value = home.rekindle_json(words).unwrap();
            assert_eq!(value.pointer(at), Some(&json!(session)), "{words:?}");
        };
        is(&["explain", name], "/sessionId");
        is(&["status", name], "/agents/0/sessionId");
        is(&["scan", name], "/sessions/0/sessionId");
        is(&["branches", name], "/sessionId");
        is(&["show", name], "/sessionId");
        is(&["go", name, "--dry-run"], "/sessionId");
        is(&["recover", name, "--dry-run"], "/agents/0/sessionId");
    }
    // It is resumed elsewhere, under another name of the registry.
    home.in_tmux(&["kill-pane", "-t", "%0"]).unwrap();
    assert!(home.rekindle(&["settle"]).unwrap().success());
    let (_, again) = home.lookalike("").unwrap();
    home.said(SHOP, &again, &[began("resume", 1)]).unwrap();
    register(&home, SHOP, &again, "project-f3");
    assert_eq!(names(), ["project", "project-2"]);
    // A given name wins; one that was given twice means both, and each is told from the other.
    said(&home, &["name", TILL, "project"]);
    assert_eq!(names(), ["project-2", "project"]);
    said(&home, &["name", SHOP, "project"]);
    said(&home, &["task", SHOP, "sell more"]);
    let both = home.rekindle(&["explain", "project"]).unwrap();
    assert_eq!(both.code(), Some(2));
    let lines: Vec<&str> = both.stderr.lines().collect();
    assert_eq!(lines[0], "rekindle: \"project\" means 2 conversations; give an id:");
    assert!(
        lines[1].starts_with(&format!("  {SHOP} (work:"))
            && lines[1].contains(", sell more, ")
            && lines[1].ends_with(" s ago)"),
        "{lines:?}"
    );
    assert!(lines[2].starts_with(&format!("  {TILL} (work:1.0, ask-00 please, ")), "{lines:?}");
}

#[test]
fn bad_input() {
    let home = home();
    let check = |words: &[&str], code: i32, says: &str| {
        let done = home.rekindle(words).unwrap();
        assert_eq!((done.code(), done.stdout.as_str()), (Some(code), ""), "{words:?} {}", done.stderr);
        assert!(done.stderr.contains(says), "{words:?} {}", done.stderr);
    };
    for command in ["name", "task"] {
        check(&[command, SHOP], 2, "required");
        check(&[command, SHOP, "\u{7} "], 2, "nothing in that text to show");
        check(&[command, SHOP, "x", "--clear"], 2, "cannot be used with");
        check(&[command, "nobody", "x"], 2, "is no session, pane or name here");
        check(&[command, "work:7.7", "x"], 2, "work:7.7 is no pane here");
    }
    check(&["note", SHOP, "\u{1b}"], 2, "nothing in that text to keep");
    check(&["note", "nobody"], 2, "is no session, pane or name here");
    said(&home, &["name", SHOP, "same"]);
    said(&home, &["name", TILL, "same"]);
    // The one that has ended is meant only where no other is.
    assert_eq!(said(&home, &["name", "same", "other"]), "1a2b3c4d  name: other");
    let stranger = "5e6f7081-eeee-4eee-8eee-eeeeeeeeeeee";
    home.put_talk(stranger, 1).unwrap();
    check(&["name", stranger, "x"], 1, "nothing is on record about 5e6f7081");
    check(&["scan", "%7"], 2, "%7 is no pane here, and none on record");
}
