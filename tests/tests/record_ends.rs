//! How agents end without their user's `/exit`: signals, a closed pane, a killed tmux server; and what is said of it.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on panics")]

use lab::Lab;
use lab::agent::VERSIONS;
use lab::process::wait_until;
use lab::wired::PATIENCE;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

fn id(record: &Value) -> String {
    record["sessionId"].as_str().unwrap().to_owned()
}

/// Record, map and journal say how it ended; the journal says it once.
fn ended(lab: &Lab, before: &Value, status: &str, reason: &str, said: bool) {
    let (session, place) = (id(before), before["place"]["ref"].as_str().unwrap().to_owned());
    let record =
        lab.record_where(reason, |record| record["sessionId"] == *session && record["status"] == status);
    let record = record.unwrap();
    assert_eq!((&record["reason"], &record["status"]), (&json!(reason), &json!(status)));
    assert_eq!(record["runs"].as_array().unwrap().len(), 1);
    let told = wait_until(PATIENCE, || lab.map()[&place]["status"] == status);
    let entry = &lab.map()[&place];
    assert!(told, "{entry}");
    assert_eq!(
        (&entry["session_id"], &entry["live"], &entry["reason"]),
        (&json!(session), &json!(false), &json!(reason))
    );
    let verdict = if status == "crashed" { "session_crashed" } else { "session_closed" };
    let mut story = vec![
        format!("pane_bound {place}"),
        format!("{verdict} {reason}"),
        "session_started startup".to_owned(),
    ];
    story.extend(said.then(|| "session_ended other".to_owned()));
    story.sort();
    // Another agent's settle may find it in the registry before its own first word is read, and the pane with it.
    let told = || {
        let mut told = lab.story(&session);
        told.retain(|word| word != "session_found registry");
        told.sort();
        told
    };
    wait_until(PATIENCE, || told() == story);
    assert_eq!(told(), story);
}

/// SIGTERM, SIGKILL, a closed pane, and in the end `kill-server`; each agent in a window of its own.
/// F-resume-18, F-resume-19
fn ends(version: &str) {
    let lab = Lab::new(version).unwrap();
    lab.wire().unwrap();
    lab.shell().unwrap();
    for _ in 0..2 {
        lab.another_shell().unwrap();
    }
    let own = lab.window("claude 'ask-03 please'").unwrap();
    for window in 0..3 {
        lab.type_line(&format!("work:{window}.0"), &format!("claude 'ask-0{window} please'")).unwrap();
    }
    let agents: Vec<Value> =
        (0..4).map(|n| lab.idle_at(&format!("work:{n}.0"), &format!("ask-0{n}")).unwrap()).collect();
    for agent in &agents {
        let place = agent["place"]["ref"].as_str().unwrap();
        let tagged = wait_until(PATIENCE, || lab.tag(place) == id(agent));
        assert!(tagged, "{place} has the tag {}", lab.tag(place));
        assert_eq!(agent["runs"][0]["grade"], "proven");
    }

    lab.signal(&agents[1], Signal::TERM).unwrap();
    ended(&lab, &agents[1], "crashed", "killed", true);
    // Nothing tells of a SIGKILL: whoever settles next sees it.
    lab.signal(&agents[2], Signal::KILL).unwrap();
    lab.settle_until(&id(&agents[2]), "crashed", |record| record["status"] == "crashed").unwrap();
    ended(&lab, &agents[2], "crashed", "process_died", false);
    lab.tmux(&["kill-pane", "-t", &own]).unwrap();
    ended(&lab, &agents[3], "ended_cleanly", "pane_closed", true);
    assert_eq!(lab.record(&id(&agents[0])).unwrap()["status"], "active");
    lab.tmux(&["kill-server"]).unwrap();
    ended(&lab, &agents[0], "crashed", "server_exit", true);
    // Settling again finds nothing new to say.
    let before = std::fs::read(lab.journal()).unwrap();
    assert!(lab.home.rekindle(&["settle"]).unwrap().success());
    assert_eq!(std::fs::read(lab.journal()).unwrap(), before);
}

/// A tmux server that is killed with SIGKILL cleans nothing up.
/// F-resume-18
fn server_killed(version: &str) {
    let lab = Lab::new(version).unwrap();
    lab.wire().unwrap();
    lab.shell().unwrap();
    lab.type_line("work:0.0", "claude 'ask-00 please'").unwrap();
    let agent = lab.idle_at("work:0.0", "ask-00").unwrap();
    let server = lab.pane("work:0.0", "#{pid}").unwrap().parse().unwrap();
    kill_process(Pid::from_raw(server).unwrap(), Signal::KILL).unwrap();
    ended(&lab, &agent, "crashed", "server_exit", true);
}

#[test]
fn ends_2_1_31() {
    ends(VERSIONS[0]);
}

#[test]
fn ends_2_1_100() {
    ends(VERSIONS[1]);
}

#[test]
fn ends_2_1_325() {
    ends(VERSIONS[2]);
}

#[test]
fn server_killed_2_1_31() {
    server_killed(VERSIONS[0]);
}

#[test]
fn server_killed_2_1_100() {
    server_killed(VERSIONS[1]);
}

#[test]
fn server_killed_2_1_325() {
    server_killed(VERSIONS[2]);
}
