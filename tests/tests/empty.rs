//! Sessions in which nothing was ever said: counted in one line, never taken for a loss.
#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "throwaway files are damaged on purpose, and a test that cannot go on panics"
)]

use std::fs;

use lab::believed::{Body, Said};
use lab::home::Home;
use serde_json::json;

const TALK: &str = "1a2b3c4d-aaaa-4aaa-8aaa-aaaaaaaaaaaa";
const LOST: &str = "2b3c4d5e-bbbb-4bbb-8bbb-bbbbbbbbbbbb";

/// All that an agent writes before anything is said.
const NOTHING_SAID: &[u8] = b"{\"type\":\"mode\",\"mode\":\"normal\"}\n{\"type\":\"permission-mode\",\"permissionMode\":\"default\"}\n";

fn home() -> Home {
    let home = Home::new().unwrap();
    home.put_talk(TALK, 2).unwrap();
    for number in 1..=3 {
        home.put(&format!("3c4d5e6{number}-cccc-4ccc-8ccc-cccccccccccc"), NOTHING_SAID).unwrap();
    }
    home
}

fn shown(home: &Home, words: &[&str]) -> String {
    let done = home.rekindle(words).unwrap();
    assert_eq!(done.code(), Some(0), "{words:?} {}", done.words());
    done.stdout
}

#[test]
fn they_are_counted_in_one_line() {
    let home = home();
    for words in [&["scan"][..], &["up"]] {
        let text = shown(&home, words);
        assert!(text.contains("4 sessions: 1 healthy, 3 empty (nothing was ever said in them)"), "{text}");
        assert!(!text.contains("3c4d5e6") && !text.contains("unrecoverable"), "{text}");
    }
    let list = shown(&home, &["vault", "list"]);
    assert!(list.contains("1a2b3c4d") && !list.contains("3c4d5e6"), "{list}");
    assert!(list.contains("; 3 empty conversations not listed"), "{list}");
    let scan = home.rekindle_json(&["scan"]).unwrap();
    assert_eq!((&scan["totals"]["empty"], &scan["totals"]["unrecoverable"]), (&json!(3), &json!(0)));
    let one = home.scan("3c4d5e61").unwrap();
    assert_eq!((&one["status"], &one["findings"]), (&json!("empty"), &json!([])));
    assert!(shown(&home, &["scan", "3c4d5e61"]).contains("nothing was ever said in it"));
    assert_eq!(home.repair(&["3c4d5e61"]).unwrap()["status"], "already_healthy");
}

/// The vault, the record or the file itself show that something was said.
#[test]
fn what_was_there_and_is_gone_is_not_empty() {
    let home = home();
    let path = home.put_talk(LOST, 2).unwrap();
    let start = Said::new("SessionStart", 60).with(json!({"source": "startup"}));
    home.said(LOST, &Body::dead(1), &[start, Said::new("Stop", 30)]).unwrap();
    assert!(home.rekindle(&["up"]).unwrap().success());
    assert!(home.rekindle(&["status"]).unwrap().success());
    fs::write(&path, NOTHING_SAID).unwrap();
    assert_eq!(home.scan(LOST).unwrap()["status"], "corrupted", "the vault has it");
    home.lose_vault().unwrap();
    assert_eq!(home.scan(LOST).unwrap()["status"], "unrecoverable", "its record has its last prompt");
    let text = shown(&home, &["scan"]);
    assert!(text.contains("2b3c4d5e  unrecoverable") && text.contains("everything"), "{text}");
}
