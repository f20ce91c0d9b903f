//! The server is gone; one command brings every pane back, each agent with its own conversation, by its own word.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on panics")]

use lab::Lab;
use lab::agent::VERSIONS;
use lab::process::wait_until;
use lab::wired::PATIENCE;
use serde_json::{Value, json};

/// Two agents and a shell, saved; the server is killed; restored; each agent knows its own conversation.
/// F-resume-4, F-resume-5, F-resume-6, F-tmux-11
fn after_a_crash(version: &str) {
    let lab = Lab::new(version).unwrap();
    lab.wire().unwrap();
    lab.shell().unwrap();
    lab.type_line("work:0.0", "claude 'ask-00 please'").unwrap();
    let one = lab.record_where("answered", |record| record["lastReply"].is_object()).unwrap();
    let one = one["sessionId"].as_str().unwrap().to_owned();
    lab.split("exec claude 'ask-01 please'").unwrap();
    let two = lab
        .record_where("answered, too", |record| {
            record["lastReply"].is_object() && record["sessionId"] != *one
        })
        .unwrap();
    let two = two["sessionId"].as_str().unwrap().to_owned();
    lab.split("exec bash --norc --noprofile").unwrap();
    let shape = || {
        let format = "#{pane_width}x#{pane_height}+#{pane_left}+#{pane_top} #{pane_current_path}";
        lab.tmux(&["list-panes", "-t", "work:0", "-F", format]).unwrap().stdout
    };
    // tmux knows no current path of a pane whose process has not begun.
    assert!(wait_until(PATIENCE, || !shape().contains(" \n")), "{}", shape());
    let before = shape();
    let saved = lab.home.rekindle_json(&["save"]).unwrap();
    assert_eq!(saved["counts"]["agents"], 2, "{saved}");

    lab.crash(&[&one, &two]).unwrap();

    let planned = lab.home.rekindle_json(&["restore", "--dry-run"]).unwrap();
    let acts: Vec<&Value> = planned["panes"].as_array().unwrap().iter().map(|pane| &pane["act"]).collect();
    assert_eq!(acts, [&json!("resume"), &json!("shell"), &json!("resume")], "{planned}");

    let nobody = lab.home.rekindle(&["restore", "--json"]).unwrap();
    assert_eq!(nobody.code(), Some(2), "nobody said yes: {}", nobody.words());
    assert!(!lab.tmux(&["list-sessions"]).unwrap().success(), "and nothing was made");
    let mut command = lab.home.rekindle_command(&["restore", "--yes", "--json"]);
    command.env_clear().envs(lab.env());
    let done = lab::process::run(&mut command, PATIENCE).unwrap();
    assert!(done.success(), "{}", done.words());
    let restored: Value = serde_json::from_str(&done.stdout).unwrap();
    assert_eq!((&restored["restored"], &restored["total"]), (&json!(2), &json!(2)), "{restored}");
    for (pane, session) in [("work:0.0", &one), ("work:0.2", &two)] {
        assert!(wait_until(PATIENCE, || lab.pane(pane, "#{@rekindle_id}").unwrap() == **session), "{pane}");
    }
    assert!(wait_until(PATIENCE, || shape() == before), "{before}{}", shape());

    // Memory, counted at the API: each agent sends its own conversation and nobody else's.
    let sent = lab.probe("work:0.0", "probe-one").unwrap();
    assert!(sent.contains("ask-00") && !sent.contains("ask-01"), "{sent}");

    let again = lab.home.rekindle_json(&["restore", "--yes"]).unwrap();
    assert_eq!(again["panes"], json!([]), "running it again does nothing: {again}");
}

#[test]
fn after_a_crash_2_1_31() {
    after_a_crash(VERSIONS[0]);
}

#[test]
fn after_a_crash_2_1_100() {
    after_a_crash(VERSIONS[1]);
}

#[test]
fn after_a_crash_2_1_325() {
    after_a_crash(VERSIONS[2]);
}
