//! What is going wrong is told while it can still be helped: an agent that saves nothing, above all.
#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "throwaway files are written by hand, and a test that cannot go on panics"
)]

use std::fs;
use std::process::Stdio;
use std::time::{SystemTime, UNIX_EPOCH};

use lab::Lab;
use lab::agent::VERSIONS;
use lab::home::Home;
use lab::process::{Running, wait_until};
use lab::wired::PATIENCE;
use serde_json::{Value, json};

const ONE: &str = "0b1e6f5e-4a52-4b51-9a1e-0f6f3a1c2d3e";

/// A process that is called as an agent is, and does nothing.
fn sleeper(home: &Home) -> Running {
    home.script("claude", "while :; do sleep 1; done").unwrap();
    let mut command = home.command(home.bin().join("claude"));
    Running::start(command.stdin(Stdio::null()).stdout(Stdio::null())).unwrap()
}

/// Writes events of that process into the spool, each so many seconds old.
fn events(home: &Home, agent: &Running, events: &[(&str, i64)]) {
    events_of(home, ONE, agent, events);
}

fn events_of(home: &Home, session: &str, agent: &Running, events: &[(&str, i64)]) {
    let stat = fs::read_to_string(format!("/proc/{}/stat", agent.pid())).unwrap();
    let start: u64 = stat.rsplit_once(") ").unwrap().1.split(' ').nth(19).unwrap().parse().unwrap();
    let chain = json!([{"pid": agent.pid(), "start": start, "tty": 0, "comm": "claude"}]);
    let now = i64::try_from(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis()).unwrap();
    let line = |(event, age): &(&str, i64)| {
        let input = json!({"session_id": session, "cwd": home.project(), "transcript_path": home.transcript(session)});
        format!(
            "\n{}\n",
            json!({"schema": 1, "event": event, "at": now - age * 1000, "chain": chain, "input": input})
        )
    };
    let spool = home.state().join("spool");
    fs::create_dir_all(&spool).unwrap();
    fs::write(spool.join(format!("{session}.jsonl")), events.iter().map(line).collect::<String>()).unwrap();
}

fn kinds(home: &Home) -> Vec<String> {
    let settled = home.settle().unwrap();
    settled["alarms"]
        .as_array()
        .unwrap()
        .iter()
        .map(|alarm| alarm["kind"].as_str().unwrap().to_owned())
        .collect()
}

fn journal(home: &Home, event: &str) -> usize {
    let text = fs::read_to_string(home.state().join("journal.jsonl")).unwrap_or_default();
    let entries = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    entries.filter(|entry| entry["event"] == event).count()
}

#[test]
fn work_without_a_word_on_disk() {
    let home = Home::new().unwrap();
    let agent = sleeper(&home);
    events(&home, &agent, &[("SessionStart", 100), ("UserPromptSubmit", 30)]);
    assert_eq!(kinds(&home), Vec::<String>::new(), "half a minute is no reason");

    events(&home, &agent, &[("SessionStart", 300), ("UserPromptSubmit", 90), ("SubagentStop", 80)]);
    fs::remove_dir_all(home.state().join("session-health")).unwrap();
    assert_eq!(kinds(&home), ["not_saving"]);
    assert_eq!(kinds(&home), ["not_saving"], "it is still so");
    assert_eq!(journal(&home, "alarm"), 1, "told twice");
    let prepared: Value =
        serde_json::from_slice(&fs::read(home.state().join(format!("cache/statusline/{ONE}.json"))).unwrap())
            .unwrap();
    assert_eq!(prepared["notices"][0]["kind"], "alarm", "{prepared}");

    home.put_talk(ONE, 3).unwrap();
    lab::talk::set_age(&home.transcript(ONE), 0).unwrap();
    assert_eq!(kinds(&home), Vec::<String>::new(), "the transcript grows");
    assert_eq!(journal(&home, "alarm_over"), 1);
}

#[test]
fn a_person_is_called_once() {
    let home = Home::new().unwrap();
    let agent = sleeper(&home);
    let called = home.root().join("called");
    home.script("notify-send", &format!("printf '%s\\n' \"$*\" >> '{}'", called.display())).unwrap();
    events(&home, &agent, &[("SessionStart", 300), ("UserPromptSubmit", 90)]);
    for _ in 0..2 {
        let mut command = home.rekindle_command(&["settle"]);
        assert!(lab::process::run(command.env("DISPLAY", ":99"), PATIENCE).unwrap().success());
    }
    let said = fs::read_to_string(called).unwrap();
    assert_eq!(said.lines().count(), 1, "{said}");
    assert!(said.contains("nothing of this turn is saved"), "{said}");
}

/// Nobody asks and no event comes: the settle that found the agent busy has stayed.
/// F-others-10
#[test]
fn silence_is_noticed_by_itself() {
    let home = Home::new().unwrap();
    let agent = sleeper(&home);
    events(&home, &agent, &[("SessionStart", 300), ("UserPromptSubmit", 55)]);
    // Any session's event starts a settle, which finds this one busy.
    home.hook("Stop", "another", &json!({})).unwrap();
    assert!(wait_until(PATIENCE, || journal(&home, "alarm") == 1), "nobody noticed");
    drop(agent);
    assert!(wait_until(PATIENCE, || journal(&home, "session_crashed") == 1), "nobody noticed its death");
}

/// The watch began with another agent that was busy, and which writes.
#[test]
fn a_second_silent_agent_is_noticed_too() {
    let home = Home::new().unwrap();
    let (writes, silent) = (sleeper(&home), sleeper(&home));
    home.put_talk(ONE, 3).unwrap();
    lab::talk::set_age(&home.transcript(ONE), 0).unwrap();
    events_of(&home, ONE, &writes, &[("SessionStart", 300), ("UserPromptSubmit", 5)]);
    home.hook("Stop", "another", &json!({})).unwrap();
    let watching = home.state().join("locks/watch");
    let held = || fs::File::open(&watching).is_ok_and(|lock| lock.try_lock().is_err());
    assert!(wait_until(PATIENCE, held), "nobody watches");
    events_of(&home, "second", &silent, &[("SessionStart", 300), ("UserPromptSubmit", 50)]);
    home.hook("Stop", "another", &json!({})).unwrap();
    assert!(wait_until(PATIENCE, || journal(&home, "alarm") == 1), "nobody noticed");
}

/// F-resume-13
#[test]
fn variables_of_another_agent() {
    let lab = Lab::new(VERSIONS[2]).unwrap();
    lab.wire().unwrap();
    lab.shell().unwrap();
    lab.type_line("work:0.0", "CLAUDE_CODE_CHILD_SESSION=1 claude 'ask-00 please'").unwrap();
    lab.record_where("active", |record| record["status"] == "active").unwrap();
    let mut said = Vec::new();
    assert!(
        wait_until(PATIENCE, || {
            said = kinds(&lab.home);
            said == ["child_variables"]
        }),
        "{said:?}"
    );
}

/// F-resume-12
#[test]
fn two_agents_in_one_conversation() {
    let lab = Lab::new(VERSIONS[2]).unwrap();
    lab.wire().unwrap();
    lab.shell().unwrap();
    lab.type_line("work:0.0", "claude 'ask-00 please'").unwrap();
    let record = lab.record_where("idle", |record| record["lastReply"].is_object()).unwrap();
    let session = record["sessionId"].as_str().unwrap();
    lab.split(&format!("exec claude --resume {session}")).unwrap();
    lab.record_where("in two processes", |record| {
        record["runs"].as_array().is_some_and(|runs| runs.len() == 2)
    })
    .unwrap();
    assert!(wait_until(PATIENCE, || kinds(&lab.home).contains(&"two_agents".to_owned())));
}
