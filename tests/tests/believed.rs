//! What is believed of real agents in a real tmux, with hooks and without them.
#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "throwaway files are made on purpose, and a test that cannot go on panics"
)]

use std::fs;
use std::time::Duration;

use lab::Lab;
use lab::agent::VERSIONS;
use lab::api::Settings;
use lab::process::wait_until;
use lab::wired::PATIENCE;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

/// The only agent that `status` shows, once it fits.
fn shown(lab: &Lab, what: &str, fits: impl Fn(&Value) -> bool) -> Value {
    let mut found = Value::Null;
    let fit = wait_until(PATIENCE, || {
        let status = lab.home.rekindle_json(&["status"]).unwrap();
        found = status["agents"][0].clone();
        status["agents"].as_array().is_some_and(|agents| agents.len() == 1) && fits(&found)
    });
    assert!(fit, "no agent is {what}: {found:#}\n{}", lab.screen("work:0.0"));
    found
}

fn explained(lab: &Lab, target: &str) -> Value {
    lab.home.rekindle_json(&["explain", target]).unwrap()
}

fn sources(fact: &Value) -> Vec<&str> {
    fact["evidence"].as_array().unwrap().iter().filter_map(|evidence| evidence["source"].as_str()).collect()
}

fn kill(agent: &Value) {
    let pid = i32::try_from(agent["pid"].as_u64().unwrap()).unwrap();
    kill_process(Pid::from_raw(pid).unwrap(), Signal::KILL).unwrap();
}

/// Busy, idle, killed.
fn with_hooks(version: &str) {
    let slow = Settings { slow: Duration::from_secs(3), ..Settings::default() };
    let lab = Lab::with(version, slow).unwrap();
    lab.wire().unwrap();
    lab.shell().unwrap();
    lab.type_line("work:0.0", "claude 'ask-00 SLOW please'").unwrap();
    // The registry may say so a moment before the hook is heard; the task comes with the hook, while the turn still runs.
    let busy = shown(&lab, "busy", |agent| agent["state"] == "busy" && agent["task"].is_string());
    assert_eq!(busy["task"], "ask-00 SLOW please", "the task is there with the first prompt");
    assert_eq!(
        (&busy["pane"], &busy["paneGrade"], &busy["grade"]),
        (&json!("work:0.0"), &json!("proven"), &json!("proven"))
    );
    let idle = shown(&lab, "idle", |agent| agent["state"] == "idle" && agent["version"] == version);
    assert_eq!(idle["sessionId"], busy["sessionId"]);
    let why = explained(&lab, "work:0.0");
    assert_eq!(why["sessionId"], idle["sessionId"]);
    assert!(sources(&why["facts"]["session"]).contains(&"hook"), "{why:#}");
    assert!(sources(&why["facts"]["pane"]).contains(&"terminal"), "{why:#}");
    kill(&idle);
    let crashed = shown(&lab, "crashed", |agent| agent["state"] == "crashed");
    assert_eq!((&crashed["sessionId"], &crashed["reason"]), (&idle["sessionId"], &json!("process_died")));
    let why = explained(&lab, "%0");
    assert_eq!(why["restore"]["would"], "resumed");
}

#[test]
fn with_hooks_2_1_31() {
    with_hooks(VERSIONS[0]);
}

#[test]
fn with_hooks_2_1_325() {
    with_hooks(VERSIONS[2]);
}

fn without_hooks(version: &str) -> Lab {
    let lab = Lab::new(version).unwrap();
    lab.wire().unwrap();
    let path = lab.home.config().join("settings.json");
    let mut settings: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    settings["disableAllHooks"] = json!(true);
    fs::write(path, settings.to_string()).unwrap();
    lab.shell().unwrap();
    lab.type_line("work:0.0", "claude 'ask-00 please'").unwrap();
    lab
}

/// The registry names it: conversation, process and state are proven.
/// F-resume-7
#[test]
fn hooks_disabled_2_1_325() {
    let lab = without_hooks(VERSIONS[2]);
    let idle = shown(&lab, "idle", |agent| agent["state"] == "idle" && agent["pane"] == "work:0.0");
    assert_eq!((&idle["grade"], &idle["version"]), (&json!("proven"), &json!(VERSIONS[2])));
    let why = explained(&lab, "work:0.0");
    assert!(sources(&why["facts"]["session"]).contains(&"registry"), "{why:#}");
    assert!(!sources(&why["facts"]["session"]).contains(&"hook"), "{why:#}");
    kill(&idle);
    shown(&lab, "crashed", |agent| agent["state"] == "crashed");
}

/// Nothing names it: a process in a pane, its conversation a guess.
/// F-resume-7
#[test]
fn hooks_disabled_2_1_31() {
    let lab = without_hooks(VERSIONS[0]);
    let found = shown(&lab, "found", |agent| agent["grade"] == "guess");
    assert_eq!((&found["state"], &found["live"]), (&json!("unknown"), &json!(true)));
    assert_eq!((&found["pane"], &found["paneGrade"]), (&json!("work:0.0"), &json!("proven")));
    let why = explained(&lab, "%0");
    assert_eq!(sources(&why["facts"]["session"]), ["directory"]);
    assert_eq!(sources(&why["facts"]["process"]), ["process"]);
    let refused = lab.home.rekindle(&["name", "%0", "mine"]).unwrap();
    assert_eq!(refused.code(), Some(3), "{}", refused.words());
}
