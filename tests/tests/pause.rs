//! `pause` and `unpause`: events wait, everything shows it, nothing is lost.
#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "throwaway files are made on purpose, and a test that cannot go on panics"
)]

use std::fs;

use lab::believed::{Body, Said};
use lab::home::Home;
use lab::rekindle::DEADLINE;
use serde_json::json;

const SHOP: &str = "1a2b3c4d-aaaa-4aaa-8aaa-aaaaaaaaaaaa";

fn said(home: &Home, words: &[&str]) -> String {
    let mut command = home.rekindle_command(words);
    let done = lab::process::run(command.env("COLUMNS", "80"), DEADLINE).unwrap();
    assert_eq!(done.code(), Some(0), "{words:?} {}", done.words());
    let text = format!("{}{}", done.stdout, done.stderr);
    let mut words: Vec<&str> = text.split(' ').collect();
    for at in 1..words.len() {
        if words[at] == "s" && words[at - 1].parse::<u8>().is_ok() {
            words[at - 1] = "N";
        }
    }
    words.join(" ")
}

#[test]
fn events_wait_and_everything_shows_it() {
    let home = Home::new().unwrap();
    insta::assert_snapshot!(said(&home, &["unpause"]), @r#"
    It was not paused.
    "#);
    insta::assert_snapshot!(said(&home, &["pause", "--why", "moving the\u{1b}[2J disk"]), @r#"
    Paused for N s by lab (moving the [2J disk): events wait until `rekindle unpause`.
    "#);
    insta::assert_snapshot!(said(&home, &["pause"]), @r#"
    It was paused already. Paused for N s by lab (moving the [2J disk): events wait until `rekindle unpause`.
    "#);
    let start = Said::new("SessionStart", 60).with(json!({"source": "startup"}));
    let end = Said::new("SessionEnd", 50).with(json!({"reason": "prompt_input_exit"}));
    home.said(SHOP, &Body::dead(1), &[start, end]).unwrap();
    insta::assert_snapshot!(said(&home, &["status"]), @r#"
    Paused for N s by lab (moving the [2J disk): events wait until `rekindle unpause`.
    No agents yet: connect them with `rekindle init`, then start one.
    "#);
    insta::assert_snapshot!(said(&home, &["map"]), @r#"
    Paused for N s by lab (moving the [2J disk): events wait until `rekindle unpause`.
    No agent is in a pane: start one in tmux.
    "#);
    assert!(!home.state().join("session-health").exists(), "what came in a pause was settled");
    // How hooks start it; a person may say `rekindle settle` at any time.
    assert!(home.rekindle(&["settle", "--detached"]).unwrap().success());
    assert!(!home.state().join("session-health").exists(), "what came in a pause was settled");
    let status = home.rekindle_json(&["status"]).unwrap();
    assert_eq!(
        (&status["paused"]["by"], &status["paused"]["why"]),
        (&json!("lab"), &json!("moving the [2J disk"))
    );
    assert!(home.rekindle_json(&["map"]).unwrap()["paused"]["since"].is_string());
    insta::assert_snapshot!(said(&home, &["unpause"]), @r#"
    It goes on; 2 events had waited.
    "#);
    let status = home.rekindle_json(&["status", "--all"]).unwrap();
    assert_eq!((&status["paused"], &status["agents"][0]["state"]), (&json!(null), &json!("ended")));
}

/// A timer or a container has no name for its user; a number would mean nothing to anybody.
#[test]
fn by_nobody_in_particular() {
    let home = Home::new().unwrap();
    let mut command = home.rekindle_command(&["pause"]);
    let done = lab::process::run(command.env_remove("USER"), DEADLINE).unwrap();
    assert!(done.success() && done.stdout.starts_with("Paused for "), "{}", done.words());
    assert!(!done.stdout.contains(" by "), "{}", done.stdout);
    assert_eq!(home.rekindle_json(&["status"]).unwrap()["paused"]["by"], json!(null));
}

#[test]
fn for_scripts() {
    let home = Home::new().unwrap();
    let pause = home.rekindle_json(&["pause"]).unwrap();
    assert_eq!((&pause["changed"], &pause["paused"]["by"]), (&json!(true), &json!("lab")));
    assert_eq!(home.rekindle_json(&["pause"]).unwrap()["changed"], json!(false));
    let file: serde_json::Value =
        serde_json::from_slice(&fs::read(home.state().join("paused")).unwrap()).unwrap();
    assert_eq!((&file["schema"], &file["since"]), (&json!(1), &pause["paused"]["since"]));
    let unpause = home.rekindle_json(&["unpause"]).unwrap();
    assert_eq!(unpause, json!({"schemaVersion": 1, "paused": null, "changed": true, "events": 0}));
    assert_eq!(home.rekindle_json(&["unpause"]).unwrap()["changed"], json!(false));
    // An empty file pauses too: somebody put it there.
    fs::write(home.state().join("paused"), "").unwrap();
    assert!(said(&home, &["status"]).starts_with("Paused: "));
}

/// What status lines show comes from the last settle, and a pause has none: so both commands tell them.
#[test]
fn status_lines_show_it() {
    let home = Home::new().unwrap();
    let (_, body) = home.lookalike("").unwrap();
    let start = Said::new("SessionStart", 60).with(json!({"source": "startup"}));
    home.said(SHOP, &body, &[start]).unwrap();
    assert!(home.rekindle(&["settle"]).unwrap().success());
    let prepared = home.state().join(format!("cache/statusline/{SHOP}.json"));
    for (command, paused) in [("pause", true), ("unpause", false)] {
        assert!(home.rekindle(&[command]).unwrap().success());
        let told: serde_json::Value = serde_json::from_slice(&fs::read(&prepared).unwrap()).unwrap();
        assert_eq!(told["paused"], paused, "{command}");
    }
}
