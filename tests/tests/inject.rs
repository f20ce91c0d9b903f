//! Text into running agents: what arrives at the API is what was sent, and what must not be disturbed is not.
#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a test that cannot go on panics, and throwaway files"
)]

use std::fs;
use std::time::Duration;

use lab::Lab;
use lab::agent::VERSIONS;
use lab::process::{self, Finished, wait_until};
use lab::wired::PATIENCE;
use serde_json::{Value, json};

const PANE: &str = "work:0.0";

/// An agent as the only pane's own command, at rest.
fn agent(version: &str, arguments: &str) -> Lab {
    let lab = Lab::new(version).unwrap();
    lab.wire().unwrap();
    start(&lab, arguments);
    lab
}

fn start(lab: &Lab, arguments: &str) {
    let command = format!("exec claude {arguments}");
    lab.tmux(&["new-session", "-d", "-s", "work", "-x", "120", "-y", "40", &command]).unwrap();
    let known = || {
        let shown = lab.home.rekindle_json(&["status"]).unwrap();
        shown["agents"].as_array().unwrap().iter().any(|agent| agent["paneGrade"] == "proven")
    };
    assert!(wait_until(PATIENCE, || lab.screen(PANE).contains('❯') && known()), "{}", lab.screen(PANE));
}

fn inject(lab: &Lab, arguments: &[&str], input: &str) -> Finished {
    let mut command = lab.home.rekindle_command(&[&["inject", PANE, "--json"], arguments].concat());
    process::feed(&mut command, input.as_bytes(), Duration::from_secs(180)).unwrap()
}

/// Sends a text once the agent is at rest, and returns what was said about it.
fn send(lab: &Lab, arguments: &[&str], input: &str) -> Value {
    let mut done = None;
    let sent = wait_until(PATIENCE, || {
        let tried = inject(lab, arguments, input);
        // Busy with the turn before, or it draws: nothing was typed.
        let over = tried.code() != Some(3);
        done = Some(tried);
        over
    });
    let done = done.unwrap();
    assert!(sent, "{} {}", done.words(), lab.screen(PANE));
    serde_json::from_str(&done.stdout).unwrap_or_else(|_| panic!("{}", done.words()))
}

/// Whether the agent sent a message that is this text.
fn arrived(lab: &Lab, begin: &str, text: &str) -> bool {
    lab.api.requests_with(begin).iter().filter(|request| request.main).any(|request| {
        let messages: Value = serde_json::from_str(&request.messages).unwrap();
        let blocks = messages.as_array().unwrap().iter().flat_map(|message| match &message["content"] {
            Value::Array(blocks) => blocks.clone(),
            content => vec![json!({"text": content})],
        });
        blocks.into_iter().any(|block| block["text"].as_str().is_some_and(|said| said.trim() == text.trim()))
    })
}

/// F-inject-1, F-inject-2, F-inject-6, F-tmux-2, F-tmux-3, F-tmux-4, F-tmux-5, F-tmux-6, F-tmux-7, F-tmux-8
fn every_text_arrives_as_it_is(version: &str) {
    let lab = agent(version, "");
    fs::write(lab.home.project().join("notes.md"), "n").unwrap();
    lab.tmux(&["set-buffer", "-b", "mine", "a buffer of the user's"]).unwrap();
    let texts = [
        ("ask-01", "-R ask-01 begins like a flag", "-R ask-01 begins like a flag"),
        ("ask-02", "ask-02 of\ntwo lines; and an end;", "ask-02 of\ntwo lines; and an end;"),
        (
            "ask-03",
            "ask-03 #(touch ran-1) $(touch ran-2) #{pane_id}",
            "ask-03 #(touch ran-1) $(touch ran-2) #{pane_id}",
        ),
        ("ask-04", "ask-04 👩‍👩‍👧 ü 漢字 עברית", "ask-04 👩‍👩‍👧 ü 漢字 עברית"),
        ("ask-05", "ask-05 before\u{1b}[201~after\u{7} \u{1b}[31mred", "ask-05 beforeafter red"),
        ("ask-06", "!touch ran-3 ask-06", "!touch ran-3 ask-06"),
        ("ask-07", "ask-07 ends in \\", "ask-07 ends in \\"),
        ("ask-08", "ask-08 looks at @not", "ask-08 looks at @not"),
        ("ask-09", "ask-09\r\nof Windows\r\n", "ask-09\nof Windows"),
    ];
    for (begin, text, expect) in texts {
        let told = send(&lab, &["-"], text);
        assert_eq!(
            (&told["outcome"], &told["confirmedBy"]),
            (&json!("confirmed"), &json!("event")),
            "{told}"
        );
        assert!(wait_until(PATIENCE, || arrived(&lab, begin, expect)), "{begin}: {}", lab.screen(PANE));
    }

    lab.tmux(&["copy-mode", "-t", PANE]).unwrap();
    let told = send(&lab, &["ask-10 while somebody scrolls"], "");
    assert_eq!(told["confirmedBy"], "event", "{told}");
    assert!(wait_until(PATIENCE, || arrived(&lab, "ask-10", "ask-10 while somebody scrolls")));
    assert_eq!(lab.pane(PANE, "#{pane_in_mode}").unwrap(), "0");

    let mut long = String::from("ask-11 begins, ");
    let mut number = 0_u32;
    while long.chars().count() < 480_000 - 10 {
        long.push_str(&format!("{number} "));
        number += 1;
    }
    long.push_str(&"x".repeat(480_000 - long.chars().count()));
    let file = lab.home.root().join("long.txt");
    fs::write(&file, &long).unwrap();
    let told = send(&lab, &["--file", &file.to_string_lossy()], "");
    assert_eq!((&told["characters"], &told["confirmedBy"]), (&json!(480_000), &json!("event")), "{told}");
    assert!(wait_until(PATIENCE, || arrived(&lab, "ask-11", &long)), "not as it was sent");

    let ran = fs::read_dir(lab.home.project()).unwrap().flatten();
    let ran: Vec<_> =
        ran.map(|entry| entry.file_name()).filter(|name| name.to_string_lossy().contains("ran")).collect();
    assert!(ran.is_empty(), "{ran:?}");
    let buffers = lab.tmux(&["list-buffers", "-F", "#{buffer_name}"]).unwrap().stdout;
    assert_eq!(buffers, "mine\n", "no buffer of ours stays, and nobody else's goes");
}

#[test]
fn every_text_arrives_as_it_is_2_1_31() {
    every_text_arrives_as_it_is(VERSIONS[0]);
}

#[test]
fn every_text_arrives_as_it_is_2_1_100() {
    every_text_arrives_as_it_is(VERSIONS[1]);
}

#[test]
fn every_text_arrives_as_it_is_2_1_325() {
    every_text_arrives_as_it_is(VERSIONS[2]);
}

/// A draft, a question, a turn, a window that types everywhere: nothing is typed, and nothing is lost.
/// F-inject-5, F-tmux-24
fn what_must_not_be_disturbed_is_not(version: &str) {
    let lab = agent(version, "--permission-mode default");
    let refused = |says: &str| {
        let done = inject(&lab, &["intruder"], "");
        assert_eq!(done.code(), Some(3), "{} {}", done.words(), lab.screen(PANE));
        assert!(done.stderr.contains(says), "{} {}", done.words(), lab.screen(PANE));
    };
    let told = send(&lab, &["ask-01 please", "--no-submit"], "");
    assert_eq!(told["outcome"], "placed", "{told}");
    refused("something is typed there");
    assert!(lab.screen(PANE).contains("❯\u{a0}ask-01 please"), "the draft is still there");
    assert!(lab.api.requests_with("ask-01").is_empty(), "nobody pressed Enter");
    lab.tmux(&["send-keys", "-t", PANE, "Enter"]).unwrap();
    lab.idle_at(PANE, "ask-01").unwrap();

    lab.split("exec cat").unwrap();
    lab.tmux(&["set-option", "-w", "-t", "work:0", "synchronize-panes", "on"]).unwrap();
    refused("goes to all panes");
    lab.tmux(&["set-option", "-w", "-t", "work:0", "synchronize-panes", "off"]).unwrap();

    let told = send(&lab, &["ask-02 please", "--dry-run"], "");
    assert_eq!((&told["dryRun"], &told["outcome"]), (&json!(true), &json!("sent")), "{told}");
    assert!(lab.api.requests_with("ask-02").is_empty(), "{}", lab.screen(PANE));

    let told = send(&lab, &["ask-03 SLOW please"], "");
    assert_eq!(told["outcome"], "confirmed", "{told}");
    refused("busy");
    let queued = inject(&lab, &["ask-04 please", "--queue"], "");
    assert!(queued.success(), "{} {}", queued.words(), lab.screen(PANE));
    assert!(wait_until(PATIENCE, || arrived(&lab, "ask-04", "ask-04 please")), "{}", lab.screen(PANE));
    lab.idle_at(PANE, "ask-04").unwrap();
    assert!(lab.api.requests_with("intruder").is_empty());
}

#[test]
fn what_must_not_be_disturbed_is_not_2_1_31() {
    what_must_not_be_disturbed_is_not(VERSIONS[0]);
}

#[test]
fn what_must_not_be_disturbed_is_not_2_1_325() {
    what_must_not_be_disturbed_is_not(VERSIONS[2]);
}

/// A question is its user's to answer, also while everything else is allowed.
/// F-resume-14
fn questions_stay_questions(version: &str) {
    // The settings allow every command; the agent is told to ask all the same.
    let lab = agent(version, r#"--permission-mode default --settings '{"permissions":{"ask":["Bash"]}}'"#);
    let told = send(&lab, &["ask-01 RUNTOOL touch answered"], "");
    assert_eq!(told["outcome"], "confirmed", "{told}");
    let asks = || lab.screen(PANE).contains("Do you want to proceed?");
    assert!(wait_until(PATIENCE, asks), "{}", lab.screen(PANE));
    let done = inject(&lab, &["intruder", "--queue"], "");
    assert_eq!(done.code(), Some(3), "{}", done.words());
    assert!(done.stderr.contains("asks something"), "{}", done.words());
    assert!(asks() && !lab.home.project().join("answered").exists());
}

#[test]
fn questions_stay_questions_2_1_31() {
    questions_stay_questions(VERSIONS[0]);
}

#[test]
fn questions_stay_questions_2_1_325() {
    questions_stay_questions(VERSIONS[2]);
}

/// Commands are typed and seen to run; one that would become another one is not sent.
/// F-inject-3, F-tmux-9
fn commands_are_typed(version: &str) {
    let lab = agent(version, "");
    send(&lab, &["ask-00 please"], "");
    lab.idle_at(PANE, "ask-00").unwrap();
    let told = send(&lab, &["/rename the;talk;"], "");
    assert_eq!((&told["what"], &told["outcome"]), (&json!("command"), &json!("confirmed")), "{told}");
    assert!(
        wait_until(PATIENCE, || lab.screen(PANE).contains("renamed to: the;talk;")),
        "{}",
        lab.screen(PANE)
    );
    let done = inject(&lab, &["/renam"], "");
    assert_eq!(done.code(), Some(4), "{}", done.words());
    assert!(
        done.stderr.contains("unconfirmed") && done.stderr.contains("another command"),
        "{}",
        done.words()
    );
    assert!(lab.screen(PANE).contains("❯\u{a0}/renam"), "{}", lab.screen(PANE));
}

#[test]
fn commands_are_typed_2_1_31() {
    commands_are_typed(VERSIONS[0]);
}

#[test]
fn commands_are_typed_2_1_325() {
    commands_are_typed(VERSIONS[2]);
}

#[test]
fn the_context_is_sent_with_its_label() {
    let lab = agent(VERSIONS[2], "");
    let nothing = inject(&lab, &[], "");
    assert_eq!(nothing.code(), Some(1), "{}", nothing.words());
    send(&lab, &["ask-01 please"], "");
    lab.idle_at(PANE, "ask-01").unwrap();
    let told = send(&lab, &[], "");
    assert_eq!((&told["what"], &told["confirmedBy"]), (&json!("context"), &json!("event")), "{told}");
    let sent = || lab.api.requests_with("RESTORATION CONTEXT").into_iter().find(|request| request.main);
    assert!(wait_until(PATIENCE, || sent().is_some()), "{}", lab.screen(PANE));
    let sent = sent().unwrap().messages;
    assert!(sent.contains("not typed by the user") && sent.contains("Last prompt: ask-01 please"));
    let session = told["sessionId"].as_str().unwrap();
    assert!(lab.story(session).contains(&format!("injected {PANE}")), "{:?}", lab.story(session));
}

/// An agent without hooks says nothing: its empty line must do.
/// F-resume-7
#[test]
fn without_hooks_the_empty_line_confirms() {
    let lab = agent(VERSIONS[2], "--setting-sources project");
    let told = send(&lab, &["ask-01 please"], "");
    assert_eq!((&told["outcome"], &told["confirmedBy"]), (&json!("confirmed"), &json!("screen")), "{told}");
    assert!(wait_until(PATIENCE, || arrived(&lab, "ask-01", "ask-01 please")));
}

/// F-others-6
#[test]
fn only_agents_are_sent_text() {
    let lab = Lab::new(VERSIONS[2]).unwrap();
    lab.shell().unwrap();
    let done = inject(&lab, &["ls"], "");
    assert_eq!(done.code(), Some(2), "{}", done.words());
    assert!(done.stderr.contains("has no agent: it runs bash"), "{}", done.words());
    for (arguments, says) in [
        (&["/x a", "--file", "y"][..], "cannot be used with"),
        (&["--file", "none"], "cannot read none"),
        (&["-"], "nothing in that text"),
    ] {
        let done = inject(&lab, arguments, "\u{1b}[201~\n");
        let wrong = done.code() == Some(2) && (done.stderr.contains(says) || says.starts_with("nothing"));
        assert!(wrong, "{arguments:?}: {}", done.words());
    }
    assert!(!lab.screen(PANE).contains("ls"), "{}", lab.screen(PANE));
}
