//! An agent that dies while its server lives comes back by itself where its user wants that: once, and not for ever.
#![expect(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test that cannot go on panics")]

use std::fs;

use lab::Lab;
use lab::agent::VERSIONS;
use lab::process::wait_until;
use lab::wired::PATIENCE;
use rustix::process::Signal;
use serde_json::{Value, json};
use store::mac::{Key, Subject};

/// What a tick did, and what it said. None of them fails.
fn tick_says(lab: &Lab) -> (Value, String) {
    let done = lab.rekindle(&["tick", "--json"]).unwrap();
    assert!(done.success() && !done.stdout.is_empty(), "{}", done.words());
    (serde_json::from_str(&done.stdout).unwrap(), done.stderr)
}

fn tick(lab: &Lab) -> Value {
    tick_says(lab).0
}

/// Kills the agent of a conversation, and waits until that is known.
fn kill(lab: &Lab, session: &str) {
    let active = |record: &Value| record["status"] == "active" && record["place"]["ref"] == "work:0.0";
    let record = lab.settle_until(session, "at work", active).unwrap();
    lab.signal(&record, Signal::KILL).unwrap();
    lab.settle_until(session, "crashed", |record| record["status"] == "crashed").unwrap();
}

#[test]
fn once_it_is_turned_on_and_not_again_at_once() {
    let lab = Lab::new(VERSIONS[2]).unwrap();
    lab.wire().unwrap();
    lab.shell().unwrap();
    lab.type_line("work:0.0", "claude 'ask-00 please'").unwrap();
    let session = lab.idle_at("work:0.0", "ask-00").unwrap()["sessionId"].as_str().unwrap().to_owned();
    kill(&lab, &session);
    assert_eq!(tick(&lab)["recovered"], json!(null), "off by default");

    let config = lab.home.home().join(".config/rekindle/config.toml");
    fs::create_dir_all(config.parent().unwrap()).unwrap();
    fs::write(&config, "[recovery]\nauto_recover = true\n").unwrap();
    assert!(lab.home.rekindle(&["recover", &session, "--auto", "off"]).unwrap().success());
    assert_eq!(tick(&lab)["recovered"], json!(null), "its user wants it left alone");
    assert!(lab.home.rekindle(&["recover", &session, "--auto", "on"]).unwrap().success());
    lab.home.distrust(&lab.home.project()).unwrap();
    let (ticked, said) = tick_says(&lab);
    assert_eq!((&ticked["recovered"], &ticked["failures"]), (&json!(0), &json!([])), "{ticked}");
    assert!(said.contains("not trusted"), "nobody is there to give trust: {said}");
    let (ticked, said) = tick_says(&lab);
    assert_eq!((&ticked["recovered"], said.as_str()), (&json!(0), ""), "it is told once: {ticked}");
    lab.home.trust(&lab.home.project()).unwrap();
    let ticked = tick(&lab);
    assert_eq!(ticked["recovered"], 1, "{ticked}");
    let decision = fs::read_dir(lab.home.state().join("decisions")).unwrap().next().unwrap().unwrap().path();
    let decided: Value = serde_json::from_slice(&fs::read(decision).unwrap()).unwrap();
    let asked = &decided["panes"][0]["evidence"][0]["says"];
    assert_eq!(asked, "nobody asked for it: it comes back by itself");
    assert!(decided["panes"][0]["backAt"].is_string(), "{decided}");

    // Taken back by its user, it stays so until its user wants it.
    let undone = lab.rekindle(&["undo", "--yes"]).unwrap();
    assert!(undone.success() && undone.stdout.contains("shell"), "{}", undone.words());
    let gone = lab.settle_until(&session, "gone", |record| record["status"] != "active").unwrap();
    assert_eq!(gone["status"], "crashed");
    let (ticked, said) = tick_says(&lab);
    assert_eq!(ticked["recovered"], json!(null), "{ticked}");
    assert!(said.contains("its restore was taken back"), "{said}");
    let asked = lab.rekindle(&["recover", &session]).unwrap();
    assert!(asked.success(), "{}", asked.words());
    assert!(lab.probe("work:0.0", "probe-one").unwrap().contains("ask-00"));

    kill(&lab, &session);
    assert_eq!(tick(&lab)["recovered"], json!(null), "the next try waits");
    assert_eq!(lab.home.rekindle_json(&["recover"]).unwrap()["agents"][0]["autoStopped"], json!(null));
    // Two tries more, and it is its user's.
    let key = Key::read(&lab.home.home().join(".config/rekindle/machine.key")).unwrap().unwrap();
    for again in ["a", "b"] {
        let mut copy = decided.clone();
        copy.as_object_mut().unwrap().remove("mac");
        copy["restoreId"] = json!(again);
        let sealed = key.seal(Subject::Decision(again), &format!("{copy:#}"));
        fs::write(lab.home.state().join("decisions").join(format!("{again}.json")), sealed).unwrap();
    }
    let listed = lab.home.rekindle(&["recover"]).unwrap();
    assert!(
        listed.stdout.contains("does not come back by itself: it crashed again after 3 tries"),
        "{}",
        listed.words()
    );
    assert!(wait_until(PATIENCE, || lab.pane("work:0.0", "#{pane_current_command}").unwrap() == "bash"));
}
