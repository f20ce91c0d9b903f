//! Agents that go from conversation to conversation: `/clear`, `/compact`, resumes, forks; and the chain that is kept.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on panics")]

use std::time::Duration;

use lab::Lab;
use lab::agent::VERSIONS;
use lab::process::wait_until;
use lab::wired::PATIENCE;
use serde_json::{Value, json};

const PANE: &str = "work:0.0";

fn id(record: &Value) -> String {
    record["sessionId"].as_str().unwrap().to_owned()
}

/// The pane belongs to this conversation: in its record, on the map and by its tag.
fn lives_here(lab: &Lab, session: &str) {
    let here = wait_until(PATIENCE, || {
        let entry = &lab.map()[PANE];
        entry["session_id"] == session && entry["live"] == true && lab.tag(PANE) == session
    });
    let entry = &lab.map()[PANE];
    assert!(here, "{session}: {} {} {}", entry["session_id"], entry["live"], lab.tag(PANE));
    let active: Vec<String> =
        lab.records().iter().filter(|record| record["status"] == "active").map(id).collect();
    assert_eq!(active, [session]);
    // A process is in one session: whichever it left is no agent any more, though its process lives.
    let status = lab.home.rekindle_json(&["status", "--all"]).unwrap();
    let live = |agent: &&Value| agent["live"] == true;
    let live: Vec<String> = status["agents"].as_array().unwrap().iter().filter(live).map(id).collect();
    assert_eq!(live, [session], "{status}");
    let explained = lab.home.rekindle_json(&["explain", PANE]).unwrap();
    assert_eq!(explained["sessionId"], session, "{explained}");
}

fn exit(lab: &Lab, session: &str) -> Value {
    lab.type_line(PANE, "/exit").unwrap();
    let ended = || lab.record(session).is_some_and(|record| record["reason"] == "prompt_input_exit");
    // While a resumed conversation is still being drawn, the first Enter may get lost, or all that was typed.
    let gone = (0..20).any(|_| {
        let gone = wait_until(Duration::from_secs(4), ended);
        // What was said before may have the same words: the composer is the last line that begins so.
        let screen = lab.screen(PANE);
        let composer = screen.lines().rev().find(|line| line.trim_start().starts_with('❯'));
        if !gone && composer.is_some_and(|line| line.contains("/exit")) {
            lab.tmux(&["send-keys", "-t", PANE, "Enter"]).unwrap();
        } else if !gone {
            lab.type_line(PANE, "/exit").unwrap();
        }
        gone
    });
    assert!(gone, "{}", lab.screen(PANE));
    // The shell is back: what is typed next must not reach the agent.
    let back = wait_until(PATIENCE, || lab.pane(PANE, "#{pane_current_command}").unwrap() == "bash");
    assert!(back, "{} runs: {}", lab.pane(PANE, "#{pane_current_command}").unwrap(), lab.screen(PANE));
    lab.tmux(&["send-keys", "-t", PANE, "-R"]).unwrap();
    lab.tmux(&["clear-history", "-t", PANE]).unwrap();
    lab.record(session).unwrap()
}

/// A conversation that was cleared, and the one after it, which is compacted.
fn cleared_and_compacted(lab: &Lab) -> (String, String) {
    lab.type_line(PANE, "claude 'ask-00 please'").unwrap();
    let first = id(&lab.idle_at(PANE, "ask-00").unwrap());
    lives_here(lab, &first);
    lab.type_line(PANE, "/clear").unwrap();
    let next = lab.record_where("after /clear", |record| {
        record["sessionId"] != *first && record["place"]["ref"] == PANE && record["status"] == "active"
    });
    let next = id(&next.unwrap());
    lives_here(lab, &next);
    lab.type_line(PANE, "ask-01 please").unwrap();
    let record = lab.idle_at(PANE, "ask-01").unwrap();
    assert_eq!((id(&record), &record["previousIds"]), (next.clone(), &json!([first])));
    let old = lab.record(&first).unwrap();
    assert_eq!((&old["status"], &old["reason"]), (&json!("ended_cleanly"), &json!("clear")));
    assert_eq!((&old["nextId"], &old["place"]), (&json!(next), &Value::Null));
    let story = ["session_started clear", &format!("session_followed {first}")];
    assert_eq!(lab.story_becomes(&next, &story), story);

    lab.type_line(PANE, "/compact").unwrap();
    let compacted = wait_until(PATIENCE, || lab.story(&next).contains(&"session_started compact".to_owned()));
    assert!(compacted, "{:?}", lab.story(&next));
    lives_here(lab, &next);
    (first, next)
}

fn follow(version: &str) {
    let lab = Lab::new(version).unwrap();
    lab.wire().unwrap();
    lab.shell().unwrap();
    let (first, session) = cleared_and_compacted(&lab);
    exit(&lab, &session);

    lab.type_line(PANE, &format!("claude --resume {session} 'ask-02 please'")).unwrap();
    let resumed = lab.idle_at(PANE, "ask-02").unwrap();
    assert_eq!((id(&resumed), &resumed["previousIds"]), (session.clone(), &json!([first])));
    assert_eq!(resumed["runs"].as_array().unwrap().len(), 2);
    assert_eq!(resumed["runs"][1]["source"], "resume");
    lives_here(&lab, &session);
    exit(&lab, &session);

    lab.type_line(PANE, "claude --continue 'ask-03 please'").unwrap();
    let continued = lab.idle_at(PANE, "ask-03").unwrap();
    assert_eq!((id(&continued), continued["runs"].as_array().unwrap().len()), (session.clone(), 3));
    lives_here(&lab, &session);
    exit(&lab, &session);

    lab.type_line(PANE, &format!("claude --resume {session} --fork-session 'ask-04 please'")).unwrap();
    let forked = lab.record_where("the fork", |record| {
        record["sessionId"] != *session
            && record["place"]["ref"] == PANE
            && record["activity"]["state"] == "idle"
            && !record["lastPrompt"].is_null()
    });
    let forked = id(&forked.unwrap());
    lives_here(&lab, &forked);
    assert_eq!(lab.record(&session).unwrap()["status"], "ended_cleanly");
    assert_eq!(lab.record(&forked).unwrap()["previousIds"], json!([first, session]));
    assert_eq!(lab.record(&session).unwrap()["nextId"], json!(forked));

    lab.type_line(PANE, &format!("/resume {session}")).unwrap();
    let back = lab.record_where("resumed inside", |record| {
        record["sessionId"] == *session && record["status"] == "active" && record["place"]["ref"] == PANE
    });
    assert_eq!(back.unwrap()["runs"].as_array().unwrap().last().unwrap()["source"], "resume");
    lives_here(&lab, &session);
    let left = lab.record(&forked).unwrap();
    assert_eq!((&left["status"], &left["nextId"]), (&json!("ended_cleanly"), &json!(session)));
    let ended = exit(&lab, &session);
    assert_eq!(ended["status"], "ended_cleanly");
}

#[test]
fn follow_2_1_31() {
    follow(VERSIONS[0]);
}

#[test]
fn follow_2_1_100() {
    follow(VERSIONS[1]);
}

#[test]
fn follow_2_1_325() {
    follow(VERSIONS[2]);
}
