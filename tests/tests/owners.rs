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

/// A change of a record by hand.
type Edit = fn(&mut Value);

const ID: &str = "0e0e0e0e-aaaa-4aaa-8aaa-aaaaaaaaaaaa";

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
    home.play_agent(home.command("env"), name, &event).unwrap()
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

#[test]
fn an_agent_whose_events_nobody_has_read_owns_its_conversation() {
    let home = damaged_home();
    let damaged = fs::read(home.transcript(ID)).unwrap();
    // A conversation that rekindle has never heard of can be repaired.
    assert!(!record_path(&home).exists());
    assert!(home.rekindle(&["repair", ID]).unwrap().success());
    let repaired = fs::read(home.transcript(ID)).unwrap();
    assert_ne!(repaired, damaged);

    assert!(home.rekindle(&["pause"]).unwrap().success());
    let agent = play_agent(&home, "agent");
    assert!(!record_path(&home).exists(), "a paused rekindle reads no event");
    let owner = format!("process {} ", agent.pid());
    let undone = home.rekindle(&["undo"]).unwrap();
    assert_eq!(undone.code(), Some(3), "{}", words(&undone));
    assert!(words(&undone).contains(&owner), "{}", words(&undone));
    assert_eq!(fs::read(home.transcript(ID)).unwrap(), repaired);
    fs::write(home.transcript(ID), &damaged).unwrap();
    lab::talk::set_age(&home.transcript(ID), 3600).unwrap();
    repair_is_refused(&home, &home.rekindle(&["repair", ID]).unwrap(), &damaged, &owner);

    drop(agent);
    assert!(home.rekindle(&["repair", ID]).unwrap().success(), "the process table shows that it is gone");
}

#[test]
fn an_edited_or_broken_record_takes_no_agent_its_conversation() {
    let home = damaged_home();
    let before = fs::read(home.transcript(ID)).unwrap();
    let agent = play_agent(&home, "agent");
    assert!(home.rekindle(&["settle"]).unwrap().success());
    let genuine = fs::read(record_path(&home)).unwrap();
    let owner = format!("process {} ", agent.pid());
    let edits: [(&str, Edit); 4] = [
        ("crashed", |record| record["status"] = json!("crashed")),
        ("ended", |record| {
            record["status"] = json!("ended_cleanly");
            record["runs"][0]["endedAt"] = record["lastSeen"].clone();
        }),
        ("said to be gone", |record| {
            (record["status"], record["reason"]) = (json!("crashed"), json!("owner_gone"));
            record["runs"][0]["endReason"] = json!("owner_gone");
        }),
        ("forgotten", |record| {
            (record["runs"], record["status"]) = (json!([]), json!("crashed"));
        }),
    ];
    for (name, edit) in edits {
        let mut edited: Value = serde_json::from_slice(&genuine).unwrap();
        edit(&mut edited);
        fs::write(record_path(&home), serde_json::to_string_pretty(&edited).unwrap() + "\n").unwrap();
        eprintln!("{name}");
        repair_is_refused(&home, &home.rekindle(&["repair", ID]).unwrap(), &before, &owner);
        let recovered = words(&home.rekindle(&["recover", ID, "--dry-run"]).unwrap());
        assert!(recovered.contains(&owner), "{name}: {recovered}");
        // That gave the record a new code, and no word of it more weight.
        repair_is_refused(&home, &home.rekindle(&["repair", ID]).unwrap(), &before, &owner);
    }
    for broken in ["", "{\"schema\": 1, \"sess"] {
        fs::write(record_path(&home), broken).unwrap();
        repair_is_refused(&home, &home.rekindle(&["repair", ID]).unwrap(), &before, "rekindle settle");
    }
    fs::remove_file(record_path(&home)).unwrap();
    repair_is_refused(&home, &home.rekindle(&["repair", ID]).unwrap(), &before, &owner);

    drop(agent);
    fs::write(record_path(&home), "").unwrap();
    repair_is_refused(&home, &home.rekindle(&["repair", ID]).unwrap(), &before, "rekindle settle");
    assert!(home.rekindle(&["settle"]).unwrap().success());
    assert!(home.rekindle(&["repair", ID]).unwrap().success());
}
