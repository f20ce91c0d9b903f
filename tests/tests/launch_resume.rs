//! A recorded launch, crashed and started again by its resume arguments: the real agents, in a real tmux.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on panics")]

use std::fs;

use agents::SessionId;
use agents::claude::launch::{
    Bypass, Resume, StartAccount, Transcript, recognise, resume_argv, start_environment,
};
use lab::Lab;
use lab::agent::VERSIONS;
use lab::process::wait_until;
use lab::wired::PATIENCE;
use semver::Version;
use serde_json::{Value, json};

const PANE: &str = "work:0.0";
const NONCE: &str = "nonce-of-this-start";

/// Starts words as the pane's own command, as a restore does: no shell between.
fn respawn(lab: &Lab, env: &[(String, String)], unset: &[&str], words: &[String]) {
    for name in unset {
        lab.tmux(&["set-environment", "-t", "work", "-r", name]).unwrap();
    }
    let project = lab.home.project().to_string_lossy().into_owned();
    let pairs: Vec<String> = env.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let mut all = vec!["respawn-pane", "-k", "-t", PANE, "-c", &project];
    for pair in &pairs {
        all.extend(["-e", pair]);
    }
    all.push("--");
    all.extend(words.iter().map(String::as_str));
    let done = lab.tmux(&all).unwrap();
    assert!(done.success(), "{}", done.words());
}

/// The SessionStart events in a session's spool.
fn starts(lab: &Lab, session: &str) -> Vec<Value> {
    let text =
        fs::read_to_string(lab.home.state().join(format!("spool/{session}.jsonl"))).unwrap_or_default();
    let events = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    events.filter(|event| event["event"] == "SessionStart").collect()
}

fn words(text: &[&str]) -> Vec<String> {
    text.iter().map(ToString::to_string).collect()
}

/// F-resume-3, F-resume-5, F-resume-13, F-tmux-11, F-others-7
fn a_crashed_launch_comes_back(version: &str) {
    let lab = Lab::new(version).unwrap();
    lab.wire().unwrap();
    lab.shell().unwrap();
    lab.tmux(&["set-option", "-g", "remain-on-exit", "on"]).unwrap();
    let extra = lab.home.root().join("extra");
    fs::create_dir(&extra).unwrap();
    let extra = extra.to_string_lossy().into_owned();
    let flags = [
        "--model",
        "haiku",
        "--add-dir",
        &extra,
        "--append-system-prompt",
        "mark-of-the-launch; $(touch no)",
    ];
    let typed = words(&[&["claude", "ask-00 please"], &flags[..]].concat());
    respawn(&lab, &[], &[], &typed);
    let record = lab
        .record_where("idle after its first turn", |record| {
            record["activity"]["state"] == "idle" && !record["lastPrompt"].is_null()
        })
        .unwrap();
    let session = record["sessionId"].as_str().unwrap().to_owned();
    let transcript = lab.home.transcript(&session);
    assert!(
        wait_until(PATIENCE, || fs::read_to_string(&transcript).is_ok_and(|text| text.contains("reply-00")))
    );
    let pid = lab.pane(PANE, "#{pane_pid}").unwrap();
    let pid = rustix::process::Pid::from_raw(pid.parse().unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    assert!(wait_until(PATIENCE, || lab.pane(PANE, "#{pane_dead}").is_ok_and(|dead| dead == "1")));
    let asked = lab.api.requests_with("ask-00 please").len();

    // An agent that runs on Node has overwritten its arguments; a launch of our own knows them all the same.
    let run = &record["runs"][0];
    let recorded: Option<Vec<String>> = serde_json::from_value(run["argv"].clone()).unwrap();
    assert_eq!(recorded.is_some(), version == VERSIONS[2], "{:?}", run["argv"]);
    let recorded = recorded.unwrap_or(typed);
    let at = Version::parse(version).unwrap();
    let id = SessionId::new(&session).unwrap();
    let argv = resume_argv(&Resume {
        recorded: Some(&recorded),
        recorded_by: &at,
        version: &at,
        session: &id,
        transcript: Transcript::Exists,
        bypass: Bypass::Refuse,
    })
    .unwrap();
    assert_eq!(argv.words[1..], [&["--resume", &session], &flags[..]].concat());

    // What the server was started with, an agent's own variables among it, must not reach the new one.
    for stranger in ["CLAUDECODE", "CLAUDE_CODE_SESSION_ID", "CLAUDE_CODE_CHILD_SESSION"] {
        lab.tmux(&["set-environment", "-g", stranger, "1"]).unwrap();
    }
    let env = run["env"].as_object().unwrap();
    let env = env.iter().map(|(name, value)| (name.as_str(), value.as_str().unwrap_or_default()));
    let present = |name: &str| lab.env().iter().any(|(known, _)| known == name);
    let start = start_environment(env, StartAccount::Unknown, Some(lab.home.tmux().socket()), NONCE, present);
    assert_eq!(start.missing, [""; 0]);
    respawn(&lab, &start.set, &start.unset, &argv.words);

    let resumed = || {
        let mut starts = starts(&lab, &session).into_iter();
        starts.find(|event| event["input"]["source"] == "resume")
    };
    let came = wait_until(PATIENCE, || resumed().is_some());
    assert!(came, "no SessionStart: {}", lab.screen(PANE));
    let event = resumed().unwrap();
    assert_eq!(event["input"]["session_id"], session);
    let env = event["launch"]["env"].as_array().unwrap();
    assert!(env.contains(&json!(["REKINDLE_NONCE", NONCE])), "{}", event["launch"]);
    let pid = lab.pane(PANE, "#{pane_pid}").unwrap();
    let environ = fs::read_to_string(format!("/proc/{pid}/environ")).unwrap();
    assert!(
        !environ
            .split('\0')
            .any(|pair| pair.starts_with("CLAUDECODE=") || pair.starts_with("CLAUDE_CODE_SESS"))
    );

    assert!(wait_until(PATIENCE, || lab.screen(PANE).contains("reply-00")), "{}", lab.screen(PANE));
    assert_eq!(recognise(&lab.screen(PANE)), None);
    lab.type_line(PANE, "ask-01 please").unwrap();
    let sent = || lab.api.requests_with("ask-01 please").into_iter().find(|request| request.main);
    assert!(wait_until(PATIENCE, || sent().is_some()), "{}", lab.screen(PANE));
    let sent = sent().unwrap();
    assert_eq!(sent.messages.matches("ask-00 please").count(), 1, "the prompt was submitted again");
    assert!(sent.messages.contains("reply-00"));
    assert!(sent.model.contains("haiku"), "{}", sent.model);
    assert!(sent.system.contains("mark-of-the-launch; $(touch no)"));
    assert!(sent.system.contains(&extra) || sent.messages.contains(&extra), "{extra} is not in the request");
    assert!(!lab.home.project().join("no").exists());
    // Nothing was asked between the crash and the new prompt.
    let between = lab.api.requests_with("ask-00 please").into_iter().skip(asked);
    assert_eq!(between.filter(|request| !request.messages.contains("ask-01")).count(), 0);
}

#[test]
fn a_crashed_launch_comes_back_2_1_31() {
    a_crashed_launch_comes_back(VERSIONS[0]);
}

#[test]
fn a_crashed_launch_comes_back_2_1_100() {
    a_crashed_launch_comes_back(VERSIONS[1]);
}

#[test]
fn a_crashed_launch_comes_back_2_1_325() {
    a_crashed_launch_comes_back(VERSIONS[2]);
}
