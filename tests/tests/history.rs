//! What can be turned on: the state directory as a repository, and a log per conversation in its project.
#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "throwaway files are made on purpose, and a test that cannot go on panics"
)]

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use lab::home::Home;
use lab::process::{self, wait_until};
use lab::rekindle::DEADLINE;
use serde_json::{Value, json};

const ONE: &str = "0b1e6f5e-4a52-4b51-9a1e-0f6f3a1c2d3e";

/// A turn in which a secret is said.
fn turn(home: &Home) {
    home.hook("SessionStart", ONE, &json!({"source": "startup"})).unwrap();
    let secret = format!("use {} for it", secret());
    home.hook("UserPromptSubmit", ONE, &json!({"prompt": secret})).unwrap();
    home.hook("Stop", ONE, &json!({"last_assistant_message": "it is done"})).unwrap();
}

/// Looks like a key and is none; put together here so that nobody takes it for one.
fn secret() -> String {
    format!("{}_{}", "ghp", "Zx8Kq2Lm5Np7Rt9Vw1Yb3Cd4Ef6Gh0Jk2Lm4")
}

fn git(home: &Home, words: &[&str]) -> String {
    let mut command = home.adopt(Command::new("git"));
    let done = process::run(command.arg("-C").arg(home.state()).args(words), DEADLINE).unwrap();
    assert!(done.success(), "git {words:?}: {}", done.words());
    done.stdout
}

#[test]
fn the_state_is_a_repository_without_secrets_and_bulk() {
    let home = Home::new().unwrap();
    home.configure("[state]\ngit = true\n").unwrap();
    // What `init` keeps of the user's settings may hold keys.
    let settings = home.state().join("wiring/backups/1/settings.json");
    fs::create_dir_all(settings.parent().unwrap()).unwrap();
    fs::write(settings, format!("{{\"env\":{{\"KEY\":\"{}\"}}}}", secret())).unwrap();
    turn(&home);
    home.settle().unwrap();
    let record = format!("session-health/{ONE}.lock");
    let committed = wait_until(DEADLINE, || {
        home.state().join(".git/index").exists() && {
            home.settle().unwrap();
            git(&home, &["ls-files"]).contains(&record)
        }
    });
    assert!(committed);
    let files = git(&home, &["ls-files"]);
    for kept in
        ["instances/pane-session-map.json", "instances/registry.json", "journal.jsonl", record.as_str()]
    {
        assert!(files.lines().any(|file| file == kept), "{kept} is not committed: {files}");
    }
    for bulk in ["spool/", "vault/", "cache/", "locks/", "log/", "wiring/"] {
        assert!(!files.contains(bulk), "{bulk} is committed: {files}");
    }
    let everything = git(&home, &["log", "-p", "--all"]);
    assert!(!everything.contains(&secret()), "a secret is committed");
    let before = git(&home, &["rev-list", "--count", "HEAD"]);
    home.hook("SessionEnd", ONE, &json!({"reason": "prompt_input_exit"})).unwrap();
    let grows = wait_until(DEADLINE, || {
        home.settle().unwrap();
        git(&home, &["rev-list", "--count", "HEAD"]) != before
    });
    assert!(grows, "an end is no commit");
}

#[test]
fn nothing_of_it_is_there_unless_it_is_asked_for() {
    let home = Home::new().unwrap();
    turn(&home);
    home.settle().unwrap();
    assert!(!home.state().join(".git").exists());
    assert!(!home.project().join(".claude").exists());
}

#[test]
fn a_conversation_is_logged_in_its_project_and_out_of_its_repository() {
    let home = Home::new().unwrap();
    home.configure("[log]\nenabled = true\n").unwrap();
    turn(&home);
    home.settle().unwrap();
    let folder = home.project().join(".claude/logging");
    let log = || -> Option<PathBuf> {
        let mut folder = folder.clone();
        for _ in 0..3 {
            let mut entries = fs::read_dir(&folder).ok()?.flatten();
            folder = entries.find(|entry| entry.path().is_dir())?.path();
        }
        let mut files = fs::read_dir(&folder).ok()?.flatten().map(|entry| entry.path());
        files.find(|path| path.extension().is_some_and(|extension| extension == "jsonl"))
    };
    assert!(wait_until(DEADLINE, || log()
        .is_some_and(|log| fs::read_to_string(log).unwrap().contains("\"Stop\""))));
    let log = log().unwrap();
    let name = log.file_name().unwrap().to_string_lossy().into_owned();
    assert!(name.ends_with("-0b1e6f5e.jsonl") && name.len() == "HH-MM-SS-0b1e6f5e.jsonl".len(), "{name}");
    let text = fs::read_to_string(&log).unwrap();
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let types: Vec<&str> = lines.iter().map(|line| line["type"].as_str().unwrap()).collect();
    assert_eq!(types, ["SessionStart", "UserPromptSubmit", "AssistantResponse", "Stop"]);
    assert_eq!(lines[2]["content"], "it is done");
    let report = fs::read_to_string(log.with_extension("md")).unwrap();
    assert!(report.contains("## You") && report.contains("it is done"), "{report}");
    assert!(!text.contains(&secret()) && !report.contains(&secret()), "a secret is logged");
    assert_eq!(fs::read_to_string(folder.join(".gitignore")).unwrap(), "*\n");
    home.settle().unwrap();
    assert_eq!(fs::read_to_string(&log).unwrap(), text, "told twice");
}
