//! What keeps a restore from starting an agent is said, never worked around; when it is gone, the agent comes back.
#![expect(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test that cannot go on panics")]

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

use lab::Lab;
use lab::agent::{Agent, VERSIONS};
use lab::process::{Finished, wait_until};
use lab::wired::PATIENCE;
use serde_json::{Value, json};

const NEWEST: &str = VERSIONS[2];

/// The file that starts an agent: the native program, or what Node runs.
fn program(version: &str) -> PathBuf {
    let words = Agent::install(version).unwrap().shell_words();
    words.trim_matches('\'').split("' '").last().unwrap().into()
}

/// `claude` is this version from now on, by its own file.
fn install(lab: &Lab, version: &str) {
    let link = lab.home.bin().join("claude");
    let _ = fs::remove_file(&link);
    symlink(program(version), link).unwrap();
}

fn json_of(done: &Finished) -> Value {
    serde_json::from_str(&done.stdout).unwrap_or_else(|_| panic!("{}", done.words()))
}

/// An agent in a shell of `work:0.0`, with a flag that only newer versions know, saved and crashed.
fn crashed() -> (Lab, String) {
    let lab = Lab::new(NEWEST).unwrap();
    lab.wire().unwrap();
    install(&lab, NEWEST);
    lab.shell().unwrap();
    lab.type_line("work:0.0", "claude --effort low 'ask-00 please'").unwrap();
    let session = lab.idle_at("work:0.0", "ask-00").unwrap()["sessionId"].as_str().unwrap().to_owned();
    lab.home.rekindle_json(&["save"]).unwrap();
    lab.crash(&[&session]).unwrap();
    (lab, session)
}

/// What would be done with the only agent, and why.
fn planned(lab: &Lab) -> (String, String) {
    let planned = json_of(&lab.rekindle(&["restore", "--dry-run", "--json"]).unwrap());
    let pane = &planned["panes"][0];
    (pane["act"].as_str().unwrap().to_owned(), pane["reason"].as_str().unwrap().to_owned())
}

#[track_caller]
fn is_planned(lab: &Lab, act: &str, words: &str) {
    let (is, why) = planned(lab);
    assert!(is == act && why.contains(words), "{is}: {why}");
}

#[test]
fn flags_trust_owners_and_quota_are_gates() {
    let (lab, session) = crashed();
    is_planned(&lab, "resume", "");

    install(&lab, VERSIONS[0]);
    is_planned(&lab, "refuse", "--effort");
    install(&lab, NEWEST);

    let settings = lab.home.home().join(".claude.json");
    let trusting = fs::read_to_string(&settings).unwrap();
    let mut wary: Value = serde_json::from_str(&trusting).unwrap();
    for project in wary["projects"].as_object_mut().unwrap().values_mut() {
        project["hasTrustDialogAccepted"] = json!(false);
    }
    fs::write(&settings, wary.to_string()).unwrap();
    is_planned(&lab, "refuse", "trust");
    let explained = json_of(&lab.rekindle(&["explain", &session, "--json"]).unwrap());
    assert_eq!(
        explained["restore"]["would"], "refused",
        "as the restore itself says: {}",
        explained["restore"]
    );
    fs::write(&settings, trusting).unwrap();

    let elsewhere = lab.home.config().join("sessions/424242.json");
    let entry = json!({"pid": 424_242, "sessionId": session, "cwd": lab.home.project(), "pidDomain": "linux:other:pid:[1]"});
    fs::create_dir_all(elsewhere.parent().unwrap()).unwrap();
    fs::write(&elsewhere, entry.to_string()).unwrap();
    is_planned(&lab, "refuse", "another machine or container");
    fs::remove_file(&elsewhere).unwrap();

    // Of two transcripts nobody knows which is its own: nothing is put back, and nothing begins anew.
    let transcript = lab.record(&session).unwrap()["transcriptPath"].as_str().unwrap().to_owned();
    let other = lab.home.config().join("projects/-elsewhere").join(format!("{session}.jsonl"));
    fs::create_dir_all(other.parent().unwrap()).unwrap();
    fs::copy(&transcript, &other).unwrap();
    is_planned(&lab, "refuse", "cannot be told");
    fs::remove_file(&other).unwrap();

    let quota = |used: u32| {
        let resets = jiff::Timestamp::now().as_second() + 3600;
        let said = json!({"session_id": session, "rate_limits":
            {"five_hour": {"used_percentage": used, "resets_at": resets}}});
        let input = lab.home.root().join("said.json");
        fs::write(&input, said.to_string()).unwrap();
        let mut line = lab.home.rekindle_command(&["statusline"]);
        assert!(line.stdin(fs::File::open(&input).unwrap()).output().unwrap().status.success());
    };
    quota(100);
    is_planned(&lab, "offer", "quota");
    // Not worked around: the pane is made, says why, and no agent runs in it.
    let done = json_of(&lab.rekindle(&["restore", "--yes", "--json"]).unwrap());
    assert_eq!(done["panes"][0]["outcome"], "offered", "{done}");
    let shows = || lab.screen("work:0.0");
    assert!(wait_until(PATIENCE, || shows().contains("quota")), "{}", shows());
    let live = || lab.home.rekindle_json(&["status"]).unwrap()["agents"].clone();
    assert!(live().as_array().unwrap().iter().all(|agent| agent["live"] != true), "{}", live());
    quota(3);
    lab.home.configure("[restore]\nstale_after = \"1s\"\n").unwrap();
    let stale = || planned(&lab).1.contains("too long ago");
    assert!(wait_until(PATIENCE, stale), "{:?}", planned(&lab));
    // Nobody has to be told what happened.
    lab.home.configure("[restore]\nnote_on_resume = false\n").unwrap();
    is_planned(&lab, "resume", "");
    let done = json_of(&lab.rekindle(&["restore", "--yes", "--json"]).unwrap());
    assert_eq!(done["panes"][0]["outcome"], "resumed", "{done}");
    let sent = lab.probe("work:0.0", "probe-one").unwrap();
    assert!(sent.contains("ask-00") && !sent.contains("RESTORATION CONTEXT"), "{sent}");
    let last = json_of(&lab.rekindle(&["restore", "--last", "--json"]).unwrap());
    assert_eq!((&last["restored"], &last["total"]), (&json!(1), &json!(1)), "{last}");
}

/// Hooks are off by now: the agent's own registry is asked instead.
#[test]
fn without_hooks_the_registry_is_the_proof() {
    let (lab, session) = crashed();
    let settings = lab.home.config().join("settings.json");
    let mut silent: Value = serde_json::from_slice(&fs::read(&settings).unwrap()).unwrap();
    silent["disableAllHooks"] = json!(true);
    fs::write(&settings, silent.to_string()).unwrap();
    let done = json_of(&lab.rekindle(&["restore", "--yes", "--json"]).unwrap());
    assert_eq!(done["panes"][0]["outcome"], "resumed", "{done}");
    assert!(done["panes"][0]["reason"].as_str().unwrap().contains("registry"), "{done}");
    assert_eq!(lab.pane("work:0.0", "#{@rekindle_id}").unwrap(), session);
    assert!(lab.probe("work:0.0", "probe-one").unwrap().contains("ask-00"));
}

/// A question that is not the agent's own about resuming is its user's: nothing is pressed, and nothing is called resumed.
#[test]
fn a_question_to_the_user_is_left_to_the_user() {
    let (lab, _) = crashed();
    let settings = lab.home.home().join(".claude.json");
    let mut known: Value = serde_json::from_slice(&fs::read(&settings).unwrap()).unwrap();
    known["customApiKeyResponses"] = json!({"approved": [], "rejected": []});
    fs::write(&settings, known.to_string()).unwrap();
    let done = json_of(&lab.rekindle(&["restore", "--yes", "--json"]).unwrap());
    assert_eq!(done["panes"][0]["outcome"], "unverified", "{done}");
    assert!(done["panes"][0]["reason"].as_str().unwrap().contains("asks its user"), "{done}");
    assert!(
        lab.screen("work:0.0").contains("Do you want to use this API key?"),
        "{}",
        lab.screen("work:0.0")
    );
    // Asked again, nobody starts a second agent.
    let again = json_of(&lab.rekindle(&["restore", "--yes", "--json"]).unwrap());
    assert_eq!(again["restored"], 0, "{again}");
    assert!(
        lab.screen("work:0.0").contains("Do you want to use this API key?"),
        "{}",
        lab.screen("work:0.0")
    );
}

/// Nobody else starts whose end could give memory back, so it waits a while; then it is offered.
#[test]
fn without_memory_an_agent_waits_and_is_offered() {
    let (lab, session) = crashed();
    lab.home.configure("[restore]\nmin_free_memory = \"900000GiB\"\n").unwrap();
    let done = json_of(&lab.rekindle(&["restore", "--yes", "--json"]).unwrap());
    assert_eq!(done["panes"][0]["outcome"], "offered", "{done}");
    let why = done["panes"][0]["reason"].as_str().unwrap();
    assert!(why.contains("restore.min_free_memory"), "{why}");
    let shows = || lab.screen("work:0.0");
    assert!(wait_until(PATIENCE, || shows().contains("memory")), "{}", shows());
    lab.home.configure("[restore]\nmin_free_memory = \"1MiB\"\n").unwrap();
    lab.tmux(&["send-keys", "-t", "work:0.0", "Enter"]).unwrap();
    let back = || lab.record(&session).is_some_and(|record| record["status"] == "active");
    assert!(wait_until(PATIENCE, || lab.home.rekindle(&["settle"]).is_ok() && back()), "{}", shows());
    assert!(lab.probe("work:0.0", "probe-one").unwrap().contains("ask-00"));
}

/// Its user ended it after the save, then everything crashed: a shell, and no agent that nobody wants.
#[test]
fn what_its_user_ended_stays_ended() {
    let lab = Lab::new(NEWEST).unwrap();
    lab.wire().unwrap();
    lab.shell().unwrap();
    lab.type_line("work:0.0", "claude 'ask-00 please'").unwrap();
    let session = lab.idle_at("work:0.0", "ask-00").unwrap()["sessionId"].as_str().unwrap().to_owned();
    lab.home.rekindle_json(&["save", "--name", "before"]).unwrap();
    lab.type_line("work:0.0", "/exit").unwrap();
    lab.settle_until(&session, "ended", |record| record["status"] == "ended_cleanly").unwrap();
    // It says so before it has gone.
    let command = || lab.pane("work:0.0", "#{pane_current_command}").unwrap();
    assert!(wait_until(PATIENCE, || command() == "bash"), "{}", command());
    lab.tmux(&["kill-server"]).unwrap();
    assert!(wait_until(PATIENCE, || !lab.tmux(&["list-sessions"]).unwrap().success()));
    let done = json_of(&lab.rekindle(&["restore", "before", "--yes", "--json"]).unwrap());
    assert_eq!(done["panes"][0]["outcome"], "shell", "{done}");
    assert_eq!(done["total"], 0, "{done}");
    assert!(wait_until(PATIENCE, || command() == "bash"), "{}", command());
}

/// Somebody looks at the server while it is restored, on a screen of another size: nothing moves that is theirs, and what
/// comes back has its own size.
#[test]
fn beside_somebody_who_looks_on() {
    let (lab, session) = crashed();
    let new = ["new-session", "-d", "-s", "mine", "-x", "90", "-y", "30", "exec bash --norc --noprofile"];
    lab.tmux(&new).unwrap();
    let socket = lab.home.tmux().socket().display().to_string();
    let mut viewer = std::process::Command::new("script");
    let attach = format!("stty cols 90 rows 31; exec tmux -u -S '{socket}' attach -t mine");
    viewer.args(["-qfc", &attach, "/dev/null"]);
    viewer.env_clear().envs(lab.env()).env("TERM", "xterm");
    viewer.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::null());
    let mut viewer = viewer.spawn().unwrap();
    let clients = || lab.tmux(&["list-clients", "-F", "#{client_session} #{client_width}"]).unwrap().stdout;
    assert!(wait_until(PATIENCE, || clients().starts_with("mine 90")), "{}", clients());
    // From inside, by hand.
    let done = lab.home.root().join("done.json");
    let program = lab::program();
    let line = format!("'{}' restore --yes --json > '{}'", program.display(), done.display());
    lab.type_line("mine:0.0", &line).unwrap();
    let said = || fs::read_to_string(&done).ok().and_then(|text| serde_json::from_str::<Value>(&text).ok());
    assert!(wait_until(PATIENCE, || said().is_some()), "{}", lab.screen("mine:0.0"));
    assert_eq!(said().unwrap()["restored"], 1, "{:?}", said());
    assert!(clients().starts_with("mine 90"), "{}", clients());
    assert_eq!(
        lab.pane("work:0.0", "#{window_width}x#{window_height} #{@rekindle_id}").unwrap(),
        format!("120x40 {session}")
    );
    assert!(lab.probe("work:0.0", "probe-one").unwrap().contains("ask-00"));
    viewer.kill().unwrap();
    viewer.wait().unwrap();
}
