//! Agents that are in a pane's way and not in the pane: nested, one-shot, with somebody else's `TMUX_PANE`, without hooks.
#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "an event is made by hand, and a test that cannot go on panics"
)]

use lab::Lab;
use lab::agent::VERSIONS;
use lab::process::wait_until;
use lab::wired::PATIENCE;
use serde_json::{Value, json};

const HOST: &str = "work:0.0";

fn id(record: &Value) -> String {
    record["sessionId"].as_str().unwrap().to_owned()
}

/// Whatever the others did, this conversation is in this pane.
fn unmoved(lab: &Lab, session: &str, place: &str) {
    let record = lab.record(session).unwrap();
    assert_eq!((&record["status"], &record["place"]["ref"]), (&json!("active"), &json!(place)));
    let entry = &lab.map()[place];
    assert_eq!((&entry["session_id"], &entry["live"]), (&json!(session), &json!(true)));
    assert_eq!(lab.tag(place), session);
}

/// A conversation that has answered its one prompt: ended, and nowhere.
fn answered(lab: &Lab, word: &str) -> Value {
    let record = lab.record_where(&format!("the one-shot of {word}"), |record| {
        let transcript = record["transcriptPath"].as_str().unwrap_or_default();
        record["reason"] == "one_shot"
            && std::fs::read_to_string(transcript).is_ok_and(|rows| rows.contains(word))
    });
    let record = record.unwrap();
    assert_eq!((&record["status"], &record["place"]), (&json!("ended_cleanly"), &Value::Null));
    record
}

/// `claude -p` from an agent's tool, typed in a pane, and in somebody's conversation.
fn one_shots(lab: &Lab, host: &str) {
    let nested = answered(lab, "ask-61");
    assert_eq!((&nested["runs"][0]["nested"], &nested["runs"][0]["oneShot"]), (&json!(true), &json!(true)));
    unmoved(lab, host, HOST);

    let shell = lab.another_shell().unwrap();
    lab.type_line(&shell, "claude -p 'ask-62 please'").unwrap();
    let typed = answered(lab, "ask-62");
    assert_eq!((&typed["runs"][0]["nested"], &typed["runs"][0]["oneShot"]), (&json!(false), &json!(true)));
    assert_eq!(lab.tag(&shell), "");
    unmoved(lab, host, HOST);

    lab.type_line(&shell, &format!("clear; claude -p --resume {host} 'ask-63 please'")).unwrap();
    let visited = lab.record_where("visited", |record| {
        let runs = record["runs"].as_array().unwrap();
        record["sessionId"] == *host
            && runs.iter().any(|run| run["oneShot"] == true && !run["endedAt"].is_null())
    });
    assert_eq!(visited.unwrap()["runs"].as_array().unwrap().last().unwrap()["oneShot"], false);
    unmoved(lab, host, HOST);
    lab.tmux(&["kill-pane", "-t", &shell]).unwrap();
}

/// An agent in the same directory with the host's `TMUX_PANE`, and what a dead agent's late word does to it.
fn inherited(lab: &Lab, host: &str) {
    let shell = lab.another_shell().unwrap();
    lab.type_line(&shell, "TMUX_PANE=%0 claude 'ask-02 please'").unwrap();
    let place = lab.pane(&shell, "#{session_name}:#{window_index}.#{pane_index}").unwrap();
    let other = lab.idle_at(&place, "ask-02").unwrap();
    let run = &other["runs"][0];
    assert_eq!((&run["grade"], &run["tmux"]["pane"]), (&json!("proven"), &json!(shell)));
    assert_eq!(run["env"]["TMUX_PANE"], "%0");
    assert_eq!(other["cwd"], lab.record(host).unwrap()["cwd"]);
    let tagged = wait_until(PATIENCE, || lab.tag(&shell) == id(&other));
    assert!(tagged, "{}", lab.tag(&shell));
    unmoved(lab, host, HOST);

    lab.type_line(&shell, "/exit").unwrap();
    lab.record_where("ended", |record| {
        record["sessionId"] == *id(&other) && record["reason"] == "prompt_input_exit"
    })
    .unwrap();
    assert!(wait_until(PATIENCE, || lab.pane(&shell, "#{pane_current_command}").unwrap() == "bash"));
    // A hook that outlived its agent: the words are that one's, the process is nobody's.
    let event = json!({"session_id": id(&other), "hook_event_name": "SessionStart", "source": "startup"});
    std::fs::write(lab.home.root().join("late.json"), event.to_string()).unwrap();
    let late = format!("clear; '{}' hook SessionStart < ../late.json", lab::program().display());
    lab.type_line(&shell, &late).unwrap();
    let heard =
        wait_until(PATIENCE, || lab.story(&id(&other)).contains(&"late_event_ignored startup".to_owned()));
    assert!(heard, "{:?}", lab.story(&id(&other)));
    assert_eq!(lab.record(&id(&other)).unwrap()["status"], "ended_cleanly");
    unmoved(lab, host, HOST);
    lab.tmux(&["kill-pane", "-t", &shell]).unwrap();
}

/// Without hooks the agent's registry tells, from 2.1.100 on; before that nothing does, and nothing is made up.
fn without_hooks(lab: &Lab, host: &str, version: &str) {
    let known = lab.records().len();
    let shell = lab.another_shell().unwrap();
    let place = lab.pane(&shell, "#{session_name}:#{window_index}.#{pane_index}").unwrap();
    lab.type_line(&shell, r#"claude --settings '{"disableAllHooks":true}' 'ask-03 please'"#).unwrap();
    assert!(wait_until(PATIENCE, || lab.screen(&shell).contains("reply-03")), "{}", lab.screen(&shell));
    assert!(lab.home.rekindle(&["settle"]).unwrap().success());
    unmoved(lab, host, HOST);
    if version == VERSIONS[0] {
        assert_eq!(lab.records().len(), known);
        return;
    }
    let quiet = lab
        .record_where("found", |record| record["place"]["ref"] == *place && record["status"] == "active")
        .unwrap();
    assert_eq!(quiet["runs"][0]["grade"], "proven");
    assert_eq!(lab.story(&id(&quiet)), ["session_found registry", &format!("pane_bound {place}")]);
    assert_eq!(lab.tag(&shell), id(&quiet));
    lab.type_line(&shell, "/exit").unwrap();
    assert!(wait_until(PATIENCE, || lab.pane(&shell, "#{pane_current_command}").unwrap() == "bash"));
    let ended = lab.settle_until(&id(&quiet), "ended", |record| record["status"] != "active").unwrap();
    assert_eq!((&ended["status"], &ended["reason"]), (&json!("ended_cleanly"), &json!("prompt_input_exit")));
}

/// F-others-4
fn strangers(version: &str) {
    let lab = Lab::new(version).unwrap();
    lab.wire().unwrap();
    lab.shell().unwrap();
    // A newer agent asks a server before it runs a tool, unless told to ask its user.
    let host = "claude --permission-mode default 'ask-01 RUNTOOL claude -p ask-61'";
    lab.type_line(HOST, host).unwrap();
    let host = id(&lab.idle_at(HOST, "reply-61").unwrap());
    one_shots(&lab, &host);
    inherited(&lab, &host);
    without_hooks(&lab, &host, version);
}

#[test]
fn strangers_2_1_31() {
    strangers(VERSIONS[0]);
}

#[test]
fn strangers_2_1_100() {
    strangers(VERSIONS[1]);
}

#[test]
fn strangers_2_1_325() {
    strangers(VERSIONS[2]);
}
