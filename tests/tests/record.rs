//! What happens to real agents in a real tmux, and what record, map and journal say of it afterwards.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on panics")]

use lab::Lab;
use lab::agent::VERSIONS;
use lab::process::wait_until;
use lab::wired::PATIENCE;
use serde_json::{Value, json};

/// An agent typed into a shell, its first turn done: its record.
fn begun(lab: &Lab) -> Value {
    lab.wire().unwrap();
    lab.shell().unwrap();
    // A newer agent asks a server before it runs a tool, unless told to ask its user.
    lab.type_line("work:0.0", "claude --permission-mode default 'ask-00 please'").unwrap();
    lab.record_where("idle after its first turn", |record| {
        record["activity"]["state"] == "idle" && !record["lastPrompt"].is_null()
    })
    .unwrap()
}

/// Start, prompt, tool, `/exit`.
fn from_start_to_exit(version: &str) {
    let lab = Lab::new(version).unwrap();
    let record = begun(&lab);
    let session = record["sessionId"].as_str().unwrap().to_owned();
    let run = &record["runs"][0];
    assert_eq!(record["status"], "active");
    assert_eq!(record["place"]["ref"], "work:0.0");
    assert_eq!((&run["grade"], &run["tmux"]["pane"]), (&json!("proven"), &json!("%0")));
    assert_eq!(run["tty"], *lab.pane("work:0.0", "#{pane_tty}").unwrap());
    assert_eq!(run["cwd"], *lab.home.project().to_string_lossy());
    assert_eq!(run["claudeVersion"], version);
    let secrets = record.to_string();
    assert!(!secrets.contains(lab::home::KEY), "a key is on record");
    assert_eq!(run["env"]["ANTHROPIC_API_KEY"], "");
    let entry = &lab.map()["work:0.0"];
    assert_eq!((&entry["session_id"], &entry["live"]), (&json!(session), &json!(true)));
    assert_eq!(lab.pane("work:0.0", "#{@rekindle_id}").unwrap(), session);

    lab.type_line("work:0.0", "ask-01 RUNTOOL echo tool-$((40+2))").unwrap();
    let worked = lab.idle_at("work:0.0", "reply-01").unwrap();
    let rows = std::fs::read_to_string(worked["transcriptPath"].as_str().unwrap()).unwrap();
    assert!(rows.contains("tool-42"), "the tool did not run");
    assert_ne!(worked["lastPrompt"], record["lastPrompt"]);
    assert_eq!((&worked["sessionId"], worked["runs"].as_array().unwrap().len()), (&json!(session), 1));

    lab.type_line("work:0.0", "/exit").unwrap();
    let ended = lab.record_where("ended", |record| record["status"] == "ended_cleanly").unwrap();
    assert_eq!((&ended["sessionId"], &ended["reason"]), (&json!(session), &json!("prompt_input_exit")));
    let told = wait_until(PATIENCE, || lab.map()["work:0.0"]["status"] == "ended_cleanly");
    assert!(told, "{}", lab.map());
    let story = lab.story(&session);
    assert_eq!(story, ["session_started startup", "pane_bound work:0.0", "session_ended prompt_input_exit"]);
}

#[test]
fn from_start_to_exit_2_1_31() {
    from_start_to_exit(VERSIONS[0]);
}

#[test]
fn from_start_to_exit_2_1_100() {
    from_start_to_exit(VERSIONS[1]);
}

#[test]
fn from_start_to_exit_2_1_325() {
    from_start_to_exit(VERSIONS[2]);
}
