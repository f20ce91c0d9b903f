//! Decision records and operations that somebody edited: they are shown, and nothing is done because of them.
#![expect(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test that cannot go on panics")]

use std::fs;

use lab::believed::{Body, Said};
use lab::home::Home;
use serde_json::{Value, json};

const CRASHED: &str = "1a2b3c4d-0001-4aaa-8aaa-aaaaaaaaaaaa";
const LIVING: &str = "1a2b3c4d-0002-4bbb-8bbb-bbbbbbbbbbbb";

/// A machine with one session that crashed, and one whose agent runs.
fn home() -> Home {
    let home = Home::new().unwrap();
    home.put_talk(CRASHED, 3).unwrap();
    home.put_talk(LIVING, 3).unwrap();
    let (_, body) = home.lookalike(&format!("--resume {LIVING}")).unwrap();
    home.said(LIVING, &body, &[Said::new("SessionStart", 60)]).unwrap();
    home.said(CRASHED, &Body::dead(1), &[Said::new("SessionStart", 90), Said::new("Stop", 60)]).unwrap();
    home.settle().unwrap();
    home
}

fn forge(home: &Home, name: &str, restore_id: &str, pane: &Value) {
    let record = json!({"schema": 1, "restoreId": restore_id, "at": "2026-01-01T00:00:00Z", "by": "restore",
        "finished": false, "panes": [pane]});
    fs::create_dir_all(home.state().join("decisions")).unwrap();
    fs::write(home.state().join("decisions").join(name), record.to_string()).unwrap();
}

#[test]
fn a_forged_decision_record_writes_no_file_and_links_no_sessions() {
    let home = home();
    let precious = home.root().join("precious.json");
    fs::write(&precious, "mine").unwrap();
    let pane = json!({"mark": "m", "pane": "work:0.0", "sessionId": CRASHED, "freshId": LIVING, "act": "fresh",
        "reason": "", "socket": "/nowhere", "made": true});
    let id = home.root().join("precious").display().to_string();
    forge(&home, "29990101T000000.000Z.json", &id, &pane);
    forge(&home, "29990102T000000.000Z.json", "29990102T000000.000Z", &pane);
    for words in [&["status"][..], &["history"], &["restore", "--last"], &["recover"]] {
        home.rekindle(words).unwrap();
    }
    assert_eq!(fs::read_to_string(&precious).unwrap(), "mine");
    let crashed = home.rekindle_json(&["recover"]).unwrap();
    assert_eq!(crashed["agents"][0]["sessionId"], CRASHED, "the crashed session is still offered: {crashed}");
    let record = fs::read_to_string(home.state().join(format!("session-health/{CRASHED}.lock"))).unwrap();
    assert!(!record.contains(LIVING), "{record}");
    let undone = home.rekindle(&["undo", "--yes"]).unwrap();
    assert_ne!(undone.code(), Some(0), "{}", undone.words());
}
