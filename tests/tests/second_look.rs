//! The last rows of a turn come after its Stop: whoever settles looks a second time, also when somebody else settles at that
//! very moment.
#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "throwaway files are written by hand, and a test that cannot go on panics"
)]

use std::fs::{self, File};
use std::io::Write;
use std::time::Duration;

use lab::home::Home;
use lab::process::wait_until;
use lab::talk;
use serde_json::{Value, json};

fn record(home: &Home, session: &str) -> Value {
    let path = home.state().join("session-health").join(format!("{session}.lock"));
    fs::read(path).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default()
}

fn settles(home: &Home) -> bool {
    home.bodies().iter().any(lab::bodies::Body::is_rekindle)
}

/// Whether the lock was taken before the second look; if so, what the record said of the last reply afterwards.
fn held_up(home: &Home, session: &str) -> Option<bool> {
    let cwd = home.project();
    let path = home.put_talk(session, 1).unwrap();
    let before = fs::read_to_string(&path).unwrap();
    let parent = serde_json::from_str::<Value>(before.lines().last().unwrap()).unwrap()["uuid"].clone();
    let [ask, reply] = talk::turn_rows(session, &cwd, 1, &parent);
    fs::write(&path, format!("{before}{ask}\n")).unwrap();
    home.hook("SessionStart", session, &json!({"source": "startup"})).unwrap();
    home.hook("UserPromptSubmit", session, &json!({"prompt": "ask-01 please"})).unwrap();
    home.hook("Stop", session, &json!({})).unwrap();
    assert!(wait_until(Duration::from_secs(30), || record(home, session)["activity"]["state"] == "idle"));
    // Somebody else settles and mirrors at this moment.
    let locks = ["settle", "mirror"].map(|name| {
        let path = home.state().join("locks").join(name);
        let lock = File::options().append(true).create(true).open(path).unwrap();
        lock.lock().unwrap();
        lock
    });
    let in_time = settles(home);
    File::options().append(true).open(&path).unwrap().write_all(format!("{reply}\n").as_bytes()).unwrap();
    // One that gives up ends within this time; one that waits is still there.
    wait_until(Duration::from_secs(2), || !settles(home));
    drop(locks);
    let seen =
        wait_until(Duration::from_secs(10), || record(home, session)["lastReply"]["uuid"] == reply["uuid"]);
    in_time.then_some(seen)
}

#[test]
fn a_second_look_waits_for_its_turn() {
    let home = Home::new().unwrap();
    // On a busy machine the second look may be over before the lock is taken: then another conversation is tried.
    let tries = (0..9).map(|number| format!("aaaaaaaa-aaaa-4aaa-8aaa-aaaaaaaaaaa{number}"));
    let seen = tries.into_iter().find_map(|session| held_up(&home, &session));
    assert_eq!(seen, Some(true), "the last reply is in no record");
}
