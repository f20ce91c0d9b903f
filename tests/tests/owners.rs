//! An agent that lives owns its conversation, whatever became of other agents in it, and whatever the state directory says.
#![cfg(target_os = "linux")]
#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "throwaway files are edited on purpose, and a test that cannot go on panics"
)]

use std::fs;
use std::path::PathBuf;

use lab::home::Home;
use lab::process::{Finished, Running, wait_until};
use lab::rekindle::DEADLINE;
use serde_json::{Value, json};

const ID: &str = "11111111-aaaa-4aaa-8aaa-aaaaaaaaaaaa";

/// A home with one damaged conversation.
fn damaged_home() -> Home {
    let home = Home::new().unwrap();
    home.put_dangling(ID, 3, 2).unwrap();
    home
}

/// A program that plays an agent of 2.1.31, which has no registry: it calls its hook once, says nothing, and lives on.
fn play_agent(home: &Home, name: &str) -> Running {
    let event = json!({
        "session_id": ID, "hook_event_name": "SessionStart", "source": "resume",
        "cwd": home.project(), "transcript_path": home.transcript(ID),
    });
    let input = home.root().join(format!("{name}.event"));
    fs::write(&input, event.to_string()).unwrap();
    let ready = home.root().join(format!("{name}.ready"));
    let line = format!(
        "'{}' hook SessionStart < '{}'; touch '{}'; while :; do sleep 0.2; done",
        lab::program().display(),
        input.display(),
        ready.display()
    );
    let named = format!("exec -a claude bash -c \"{line}\"");
    let agent = Running::start(home.command("env").args(["bash", "-c", &named])).unwrap();
    assert!(wait_until(DEADLINE, || ready.exists()), "the hook did not come back");
    agent
}

fn record_path(home: &Home) -> PathBuf {
    home.state().join(format!("session-health/{ID}.lock"))
}

fn record(home: &Home) -> Value {
    serde_json::from_slice(&fs::read(record_path(home)).unwrap()).unwrap()
}

fn words(done: &Finished) -> String {
    [done.stdout.as_str(), &done.stderr].concat().split_whitespace().collect::<Vec<_>>().join(" ")
}

/// `repair` changes nothing and says why.
fn repair_is_refused(home: &Home, done: &Finished, before: &[u8], says: &str) {
    let said = words(done);
    assert_eq!(done.code(), Some(3), "{said}");
    assert!(said.contains(says), "no {says:?} in {said}");
    assert_eq!(fs::read(home.transcript(ID)).unwrap(), before, "the transcript was changed");
}

#[test]
fn a_live_agent_keeps_its_conversation_when_a_newer_one_in_it_dies() {
    let home = damaged_home();
    let before = fs::read(home.transcript(ID)).unwrap();
    let first = play_agent(&home, "first");
    let second = play_agent(&home, "second");
    assert!(home.rekindle(&["settle"]).unwrap().success());
    assert_eq!(record(&home)["runs"].as_array().map(Vec::len), Some(2), "{}", record(&home));
    drop(second);
    let owner = format!("process {} ", first.pid());
    for round in ["before a settle", "after it"] {
        let recovered = home.rekindle(&["recover", ID, "--dry-run"]).unwrap();
        let said = words(&recovered);
        assert!(said.contains(&owner) && said.contains("is in it"), "{round}: {said}");
        assert!(!said.contains("resume"), "{round}: {said}");
        repair_is_refused(&home, &home.rekindle(&["repair", ID]).unwrap(), &before, &owner);
        let settled = wait_until(DEADLINE, || {
            assert!(home.rekindle(&["settle"]).unwrap().success());
            record(&home)["runs"].as_array().unwrap().iter().any(|run| !run["endedAt"].is_null())
        });
        assert!(settled, "{round}: {}", record(&home));
    }
    let known = record(&home);
    assert_eq!(
        (&known["status"], &known["runs"][1]["pid"]),
        (&json!("active"), &json!(first.pid())),
        "{known}"
    );

    drop(first);
    let crashed = wait_until(DEADLINE, || {
        assert!(home.rekindle(&["settle"]).unwrap().success());
        record(&home)["status"] == "crashed"
    });
    assert!(crashed, "{}", record(&home));
    assert!(home.rekindle(&["repair", ID]).unwrap().success());
}
