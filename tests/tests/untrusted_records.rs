//! A record that this machine did not write chooses neither the account directory, nor the pane, nor the moment of a start.
#![expect(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test that cannot go on panics")]

use std::fs;
use std::path::{Path, PathBuf};

use lab::Lab;
use lab::agent::VERSIONS;
use lab::process::Finished;
use rustix::process::Signal;
use serde_json::{Value, json};

const FORGED: &str = "11111111-2222-4333-8444-555555555555";

fn id(record: &Value) -> String {
    record["sessionId"].as_str().unwrap().to_owned()
}

/// What a command said, on one line.
fn said(done: &Finished) -> String {
    [done.stdout.as_str(), &done.stderr].concat().split_whitespace().collect::<Vec<_>>().join(" ")
}

/// An agent that was killed in `work:0.0`, and a shell in `work:1.0`.
fn crashed_agent() -> (Lab, Value) {
    let lab = Lab::new(VERSIONS[2]).unwrap();
    lab.wire().unwrap();
    lab.shell().unwrap();
    lab.another_shell().unwrap();
    lab.type_line("work:0.0", "claude --model sonnet --permission-mode default 'ask-00 please'").unwrap();
    let record = lab.idle_at("work:0.0", "ask-00").unwrap();
    kill(&lab, &record);
    (lab, record)
}

fn kill(lab: &Lab, record: &Value) {
    lab.signal(record, Signal::KILL).unwrap();
    lab.settle_until(&id(record), "crashed", |record| record["status"] == "crashed").unwrap();
}

fn record_path(lab: &Lab, session: &str) -> PathBuf {
    lab.home.state().join("session-health").join(format!("{session}.lock"))
}

/// Another account, whose settings run a command when an agent starts with it.
fn trap(lab: &Lab) -> PathBuf {
    let trap = lab.home.home().join(".trap");
    fs::create_dir(&trap).unwrap();
    let command = format!("touch '{}'", lab.home.root().join("sprung").display());
    let settings = json!({"hooks": {"SessionStart": [{"hooks": [{"type": "command", "command": command}]}]}});
    fs::write(trap.join("settings.json"), settings.to_string()).unwrap();
    fs::copy(lab.home.home().join(".claude.json"), trap.join(".claude.json")).unwrap();
    trap
}

fn is_sprung(lab: &Lab) -> bool {
    lab.home.root().join("sprung").exists()
}

/// A record without a code that says: this conversation belongs to that account, and was in the pane of `like`.
fn forge(lab: &Lab, like: &Value, account: &Path) {
    let transcript = Path::new(like["transcriptPath"].as_str().unwrap());
    let folder = account.join("projects").join(transcript.parent().unwrap().file_name().unwrap());
    fs::create_dir_all(&folder).unwrap();
    let forged_transcript = folder.join(format!("{FORGED}.jsonl"));
    let rows = fs::read_to_string(transcript).unwrap();
    fs::write(&forged_transcript, rows.replace(&id(like), FORGED)).unwrap();
    let text = fs::read_to_string(record_path(lab, &id(like))).unwrap().replace(&id(like), FORGED);
    let mut forged: Value = serde_json::from_str(&text).unwrap();
    forged.as_object_mut().unwrap().remove("mac");
    (forged["shortId"], forged["account"]) = (json!("11111111"), Value::Null);
    forged["transcriptPath"] = json!(forged_transcript);
    let run = forged["runs"].as_array_mut().unwrap().last_mut().unwrap();
    run["configDir"] = json!(account);
    run["env"]["CLAUDE_CONFIG_DIR"] = json!(account);
    fs::write(record_path(lab, FORGED), forged.to_string()).unwrap();
}

#[test]
fn an_unsealed_record_chooses_no_account_and_is_not_started_by_recover_all() {
    let (lab, genuine) = crashed_agent();
    let trap = trap(&lab);
    forge(&lab, &genuine, &trap);
    // The directory is looked at from now on.
    assert!(lab.rekindle(&["status", "--all"]).unwrap().success());

    // Named by its user: the account is known from no genuine source, so its settings would be anybody's code.
    for words in [&["recover", FORGED][..], &["recover", &format!("{FORGED}@.trap")]] {
        let refused = lab.rekindle(words).unwrap();
        assert_eq!(refused.code(), Some(3), "{}", said(&refused));
        assert!(said(&refused).contains("rekindle trust 11111111"), "{}", said(&refused));
        assert!(said(&refused).contains(".trap"), "{}", said(&refused));
    }
    let planned = lab.rekindle(&["recover", FORGED, "--dry-run", "--json"]).unwrap();
    let planned: Value = serde_json::from_str(&planned.stdout).unwrap();
    assert_eq!(planned["agents"][0]["act"], "refuse", "{planned}");
    assert!(!is_sprung(&lab));

    // Nobody named it: the other one is brought back in its own pane, and this one is named.
    let planned = lab.rekindle(&["recover", "--all", "--dry-run", "--json"]).unwrap();
    let planned: Value = serde_json::from_str(&planned.stdout).unwrap();
    let act = |session: &str| {
        let agents = planned["agents"].as_array().unwrap().iter();
        agents.clone().find(|agent| agent["sessionId"] == session).unwrap()["act"].clone()
    };
    assert_eq!((act(&id(&genuine)), act(FORGED)), (json!("resume"), json!("refuse")), "{planned}");
    let done = lab.rekindle(&["recover", "--all"]).unwrap();
    assert_eq!(done.code(), Some(4), "{}", said(&done));
    assert!(said(&done).contains("rekindle trust 11111111"), "{}", said(&done));
    let back = lab.idle_at("work:0.0", "ask-00").unwrap();
    assert_eq!(back["sessionId"], genuine["sessionId"]);
    assert_eq!(lab.home.agents().len(), 1, "{}", said(&done));
    assert!(!is_sprung(&lab));

    // What its user has seen and accepted is started as it says.
    let shown = lab.rekindle(&["trust", FORGED, "--dry-run"]).unwrap();
    assert!(said(&shown).contains(&format!("CLAUDE_CONFIG_DIR={}", trap.display())), "{}", said(&shown));
    assert!(lab.rekindle(&["trust", FORGED, "--yes"]).unwrap().success());
    let planned = lab.rekindle(&["recover", FORGED, "--dry-run", "--json"]).unwrap();
    let planned: Value = serde_json::from_str(&planned.stdout).unwrap();
    assert_eq!(planned["agents"][0]["act"], "resume", "{planned}");
}

#[test]
fn an_edited_record_takes_nobodys_pane_and_waits_for_its_name() {
    let (lab, genuine) = crashed_agent();
    let shell = lab.pane("work:1.0", "#{pane_pid}").unwrap();
    let other = lab.pane("work:1.0", "#{pane_id}").unwrap();
    let path = record_path(&lab, &id(&genuine));
    let mut edited: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    let run = edited["runs"].as_array_mut().unwrap().last_mut().unwrap();
    (run["tmux"]["pane"], run["tmux"]["ref"]) = (json!(other), json!("work:1.0"));
    (edited["place"]["pane"], edited["place"]["ref"]) = (json!(other), json!("work:1.0"));
    fs::write(&path, edited.to_string()).unwrap();

    // Together with everything else it is not started, and that is all there is.
    let planned = lab.rekindle(&["recover", "--all", "--dry-run", "--json"]).unwrap();
    let planned: Value = serde_json::from_str(&planned.stdout).unwrap();
    assert_eq!(
        (&planned["agents"][0]["act"], &planned["agents"][0]["pane"]),
        (&json!("offer"), &Value::Null)
    );
    let all = lab.rekindle(&["recover", "--all"]).unwrap();
    assert_eq!(all.code(), Some(3), "{}", said(&all));
    assert!(!said(&all).contains("waiting in its pane"), "{}", said(&all));
    for way in ["rekindle recover", "rekindle trust"] {
        assert!(said(&all).contains(&format!("{way} {}", &id(&genuine)[..8])), "{}", said(&all));
    }
    assert_eq!(lab.home.agents().len(), 0);

    // By its name it comes back in a new pane, and its user is told what it does not have.
    let done = lab.rekindle(&["recover", &id(&genuine)]).unwrap();
    assert_eq!(done.code(), Some(0), "{}", said(&done));
    assert!(said(&done).contains("without its recorded flags"), "{}", said(&done));
    assert_eq!(lab.pane("work:1.0", "#{pane_pid}").unwrap(), shell, "its user's shell was replaced");
    let back = lab.record_where("back", |record| record["status"] == "active").unwrap();
    assert_eq!(back["place"]["ref"], "work:2.0", "{}", said(&done));
    let newest = back["runs"].as_array().unwrap().last().unwrap();
    assert_eq!(newest["argv"].as_array().unwrap()[1..], [json!("--resume"), json!(id(&genuine))], "{newest}");
    let trusted = lab.rekindle(&["trust", "--dry-run"]).unwrap();
    assert!(said(&trusted).contains("Nothing to accept"), "{}", said(&trusted));
    assert!(!said(&trusted).contains("wrote every record"), "{}", said(&trusted));
}
