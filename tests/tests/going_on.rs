//! Which restored agents go on by themselves: `restore --continue` and `recovery.continue`, counted at the API.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on panics")]

use lab::Lab;
use lab::agent::VERSIONS;
use lab::process::wait_until;
use lab::wired::PATIENCE;
use serde_json::{Value, json};

/// The end of the prompt with which agents go on.
const GO_ON: &str = "Do not apologise for the interruption: just go on.";

/// An agent in `work:0.0` whose command ran and one in `work:1.0` whose turn had ended, after their server has died.
fn crashed() -> Lab {
    let lab = Lab::new(VERSIONS[2]).unwrap();
    lab.wire().unwrap();
    lab.shell().unwrap();
    lab.type_line("work:0.0", "claude --permission-mode default 'ask-00 please'").unwrap();
    lab.window("exec claude 'ask-01 please'").unwrap();
    let at_work = lab.idle_at("work:0.0", "ask-00").unwrap();
    let idle = lab.idle_at("work:1.0", "ask-01").unwrap();
    let root = lab.home.root().display().to_string();
    // A command that never ends, but does not outlive this test.
    let endless = format!("ask-02 RUNTOOL touch {root}/begun; while [ -d {root} ]; do sleep 0.3; done");
    lab.type_line("work:0.0", &endless).unwrap();
    // An Enter can be lost while the agent draws.
    let begun = (0..10).any(|_| {
        wait_until(std::time::Duration::from_secs(6), || lab.home.root().join("begun").exists())
            || lab.tmux(&["send-keys", "-t", "work:0.0", "Enter"]).is_err()
    });
    assert!(begun, "{}", lab.screen("work:0.0"));
    lab.home.rekindle_json(&["save"]).unwrap();
    lab.crash(&[at_work["sessionId"].as_str().unwrap(), idle["sessionId"].as_str().unwrap()]).unwrap();
    lab
}

/// Restores, and returns what became of the prompts of `work:0.0` and `work:1.0`.
fn continued(lab: &Lab, more: &[&str]) -> [Value; 2] {
    let done = lab.rekindle(&[&["restore", "--yes", "--json"], more].concat()).unwrap();
    assert!(done.success(), "{}", done.words());
    let told: Value = serde_json::from_str(&done.stdout).unwrap();
    ["work:0.0", "work:1.0"].map(|place| {
        let pane = told["panes"].as_array().unwrap().iter().find(|pane| pane["pane"] == place);
        pane.unwrap_or_else(|| panic!("{place} is missing: {told}"))["continued"].clone()
    })
}

/// The requests of agents that went on; each agent is told once.
fn gone_on(lab: &Lab) -> Vec<String> {
    let requests = lab.api.requests_with(GO_ON).into_iter().filter(|request| request.main);
    let sent: Vec<String> = requests.map(|request| request.messages).collect();
    assert!(sent.iter().all(|messages| messages.matches(GO_ON).count() == 1), "{sent:?}");
    sent
}

fn went_on(lab: &Lab, first_prompt: &str) -> bool {
    gone_on(lab).iter().any(|messages| messages.contains(first_prompt))
}

#[test]
fn with_continue_every_restored_agent_goes_on() {
    let lab = crashed();
    assert_eq!(continued(&lab, &["--continue"]), [json!("submitted"), json!("submitted")]);
    let both = || went_on(&lab, "ask-00") && went_on(&lab, "ask-01");
    assert!(wait_until(PATIENCE, both), "{:?}", gone_on(&lab));
}

#[test]
fn always_continues_what_was_cut_off_and_leaves_an_idle_agent_alone() {
    let lab = crashed();
    lab.home.configure("[recovery]\ncontinue = \"always\"\n").unwrap();
    assert_eq!(continued(&lab, &[]), [json!("submitted"), Value::Null]);
    assert!(wait_until(PATIENCE, || went_on(&lab, "ask-00")), "{}", lab.screen("work:0.0"));
    assert!(!lab.probe("work:1.0", "ask-03 please").unwrap().contains(GO_ON));
}

#[test]
fn never_continues_nothing_and_places_no_prompt() {
    let lab = crashed();
    lab.home.configure("[recovery]\ncontinue = \"never\"\n").unwrap();
    assert_eq!(continued(&lab, &[]), [Value::Null, Value::Null]);
    // What is typed is the whole prompt: nothing stood in the line before it.
    let sent = lab.probe("work:0.0", "ask-03 please").unwrap();
    assert!(sent.contains("ask-00") && !sent.contains(GO_ON), "{sent}");
    assert_eq!(gone_on(&lab), Vec::<String>::new());
}
