//! Each agent comes back for its own account and with its own settings, whatever the place where it is restored has.
#![expect(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test that cannot go on panics")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use lab::Lab;
use lab::agent::VERSIONS;
use lab::process::{run, wait_until};
use lab::wired::PATIENCE;
use serde_json::{Value, json};

/// The environment of the agent of a conversation.
fn environment(lab: &Lab, session: &str) -> BTreeMap<String, String> {
    let active = |record: &Value| record["sessionId"] == session && record["status"] == "active";
    let record = lab.record_where("active", active).unwrap();
    let pid = record["runs"].as_array().unwrap().last().unwrap()["pid"].as_u64().unwrap();
    let bytes = fs::read(format!("/proc/{pid}/environ")).unwrap();
    let pairs = bytes.split(|byte| *byte == 0).map(|pair| String::from_utf8_lossy(pair).into_owned());
    pairs.filter_map(|pair| pair.split_once('=').map(|(k, v)| (k.to_owned(), v.to_owned()))).collect()
}

/// Another account, wired as the first one is.
fn second_account(lab: &Lab) -> PathBuf {
    let other = lab.home.root().join("other-account");
    fs::create_dir(&other).unwrap();
    fs::copy(lab.home.config().join("settings.json"), other.join("settings.json")).unwrap();
    fs::copy(lab.home.home().join(".claude.json"), other.join(".claude.json")).unwrap();
    other
}

/// Two accounts with one id, an agent of each at rest in a pane: the first one's record and the second one's.
fn one_id_in_two_accounts(lab: &Lab, other: &Path) -> (Value, Value) {
    lab.shell().unwrap();
    lab.type_line("work:0.0", &format!("claude --session-id {ID} 'ask-00 please'")).unwrap();
    let one = lab.idle_at("work:0.0", "ask-00").unwrap();
    let account = format!("CLAUDE_CONFIG_DIR={}", other.display());
    lab.window(&format!("{account} exec claude --session-id {ID} 'ask-01 please'")).unwrap();
    let two = lab.idle_at("work:1.0", "ask-01").unwrap();
    (one, two)
}

const ID: &str = "5e55105e-0000-4000-8000-00000000000a";

#[test]
fn each_agent_keeps_its_account_and_its_settings() {
    let lab = Lab::new(VERSIONS[2]).unwrap();
    lab.wire().unwrap();
    let other = second_account(&lab);
    let account = other.to_str().unwrap();
    lab.shell().unwrap();
    lab.type_line("work:0.0", "claude 'ask-00 please'").unwrap();
    let variables = format!(
        "CLAUDE_CONFIG_DIR={account} ANTHROPIC_MODEL=claude-opus-4-1 CLAUDE_CODE_MAX_OUTPUT_TOKENS=9000"
    );
    lab.window(&format!("{variables} exec claude 'ask-01 please'")).unwrap();
    let id = |record: Value| record["sessionId"].as_str().unwrap().to_owned();
    let one = id(lab.idle_at("work:0.0", "ask-00").unwrap());
    let two = id(lab.idle_at("work:1.0", "ask-01").unwrap());
    lab.home.rekindle_json(&["save"]).unwrap();
    lab.crash(&[&one, &two]).unwrap();

    // Who looks at one account only can tell nothing of the other.
    let mut narrow = lab.home.rekindle_command(&["restore", "--dry-run", "--json"]);
    narrow.env_clear().envs(lab.env()).env("CLAUDE_CONFIG_DIR", account);
    let done = run(&mut narrow, PATIENCE).unwrap();
    let plan: Value = serde_json::from_str(&done.stdout).unwrap_or_else(|_| panic!("{}", done.words()));
    let of = |session: &str| {
        plan["panes"].as_array().unwrap().iter().find(|pane| pane["sessionId"] == session).unwrap().clone()
    };
    assert_eq!(of(&one)["act"], "refuse", "{plan}");
    assert!(of(&one)["reason"].as_str().unwrap().contains("CLAUDE_CONFIG_DIR names another"), "{plan}");
    assert_eq!(of(&two)["act"], "resume", "{plan}");

    // Map and registry are derived: without them nothing is missing, and they come back.
    let instances = lab.home.state().join("instances");
    assert!(wait_until(PATIENCE, || fs::remove_dir_all(&instances).is_ok() || !instances.exists()));

    // The server that they come back on belongs to the other account.
    let mut server = lab.home.tmux().command();
    server.env_clear().envs(lab.env()).env("CLAUDE_CONFIG_DIR", account).env("ANTHROPIC_MODEL", "claude-x");
    server.args(["new-session", "-d", "-s", "beside"]).current_dir(lab.home.project());
    assert!(run(&mut server, PATIENCE).unwrap().success());
    let done = lab.rekindle(&["restore", "--yes", "--json"]).unwrap();
    let done: Value = serde_json::from_str(&done.stdout).unwrap_or_else(|_| panic!("{}", done.words()));
    assert_eq!((&done["restored"], &done["total"]), (&json!(2), &json!(2)), "{done}");
    let (first, second) = (environment(&lab, &one), environment(&lab, &two));
    let [config, model, most] = ["CLAUDE_CONFIG_DIR", "ANTHROPIC_MODEL", "CLAUDE_CODE_MAX_OUTPUT_TOKENS"];
    assert_eq!((first.get(config), first.get(model), first.get(most)), (None, None, None));
    let is = |name: &str, value: &str| second.get(name).map(String::as_str) == Some(value);
    assert!(is(config, account) && is(model, "claude-opus-4-1") && is(most, "9000"), "{second:?}");
    assert!(instances.join("pane-session-map.json").is_file());
    assert!(lab.probe("work:0.0", "probe-one").unwrap().contains("ask-00"));
    assert!(lab.probe("work:1.0", "probe-two").unwrap().contains("ask-01"));
}

/// One account is a copy of the other, so ids are shared: each has its own record, and comes back as what it was.
#[test]
fn one_id_in_two_accounts_is_two_sessions_and_each_comes_back() {
    let lab = Lab::new(VERSIONS[2]).unwrap();
    lab.wire().unwrap();
    let other = second_account(&lab);
    let (one, two) = one_id_in_two_accounts(&lab, &other);
    assert_eq!((&one["sessionId"], &two["sessionId"]), (&json!(ID), &json!(ID)));
    assert_eq!(lab.records().len(), 2, "{:#?}", lab.records());
    assert_ne!(one["transcriptPath"], two["transcriptPath"]);
    let marked = two["shortId"].as_str().unwrap();
    let mark = marked.strip_prefix("5e55105e@").unwrap();
    let second = format!("{ID}@{mark}");
    assert_eq!(lab.record(ID).unwrap()["place"]["ref"], "work:0.0");
    assert_eq!(lab.record(&second).unwrap()["place"]["ref"], "work:1.0");

    // What is shown can be typed back, and an id alone is refused with both accounts.
    let status = lab.rekindle(&["status"]).unwrap().stdout;
    assert!(status.contains(marked), "{status}");
    for (target, pane) in [(marked, "work:1.0"), (second.as_str(), "work:1.0"), ("work:0.0", "work:0.0")] {
        let explained = lab.rekindle(&["explain", target]).unwrap();
        assert!(explained.stdout.contains(pane), "{target}: {}", explained.words());
    }
    let named = lab.rekindle(&["name", marked, "the second"]).unwrap();
    assert!(named.success(), "{}", named.words());
    assert_eq!(lab.record(&second).unwrap()["name"], "the second");
    assert_ne!(lab.record(ID).unwrap()["name"], "the second");
    let refused = lab.rekindle(&["name", ID, "both"]).unwrap();
    assert_eq!(refused.code(), Some(2), "{}", refused.words());
    assert!(refused.stderr.contains("other-account"), "{}", refused.stderr);

    lab.home.rekindle_json(&["save"]).unwrap();
    lab.crash(&[ID, &second]).unwrap();
    let done = lab.rekindle(&["restore", "--yes", "--json"]).unwrap();
    let done: Value = serde_json::from_str(&done.stdout).unwrap_or_else(|_| panic!("{}", done.words()));
    assert_eq!((&done["restored"], &done["total"]), (&json!(2), &json!(2)), "{done}");
    let first = lab.probe("work:0.0", "probe-one").unwrap();
    assert!(first.contains("ask-00") && !first.contains("ask-01"), "{first}");
    let back = lab.probe("work:1.0", "probe-two").unwrap();
    assert!(back.contains("ask-01") && !back.contains("ask-00"), "{back}");

    // One of them crashes alone: the other is not taken for it, and recover brings back its own.
    lab.tmux(&["kill-pane", "-t", "work:1.0"]).unwrap();
    let ended = |record: &Value| record["shortId"] == marked && record["status"] != "active";
    lab.record_where("ended", ended).unwrap();
    let recovered = lab.rekindle(&["recover", marked]).unwrap();
    assert!(recovered.success(), "{}", recovered.words());
    let at = lab.record_where("back", |record| record["shortId"] == marked && record["status"] == "active");
    let place = at.unwrap()["place"]["ref"].as_str().unwrap().to_owned();
    assert!(lab.probe(&place, "probe-three").unwrap().contains("ask-01"));

    // Whatever names one of them names it in the form that every command takes.
    let taken = lab.rekindle(&["vault", "restore", &second, "--to", "copy.jsonl"]).unwrap();
    assert!(taken.stdout.contains(&format!("{marked}  version")), "{}", taken.words());
    let repaired = lab.rekindle(&["repair", marked, "--dry-run"]).unwrap();
    assert!(repaired.stdout.contains(marked), "{}", repaired.words());

    // What one account's user forgets, the other keeps.
    let forgot = lab.rekindle(&["vault", "forget", &second, "--yes"]).unwrap();
    assert!(forgot.success(), "{}", forgot.words());
    assert!(forgot.stdout.contains(&format!("{marked}  forgotten")), "{}", forgot.stdout);
    let transcripts = lab.rekindle(&["vault", "list", "--json"]).unwrap().stdout;
    assert!(transcripts.contains(ID), "{transcripts}");
    let task = |session: &str| lab.record(session).map(|record| record["task"].clone()).unwrap_or_default();
    assert!(task(ID).is_string());
    assert!(!task(&second).is_string(), "{}", task(&second));
}

/// A record that was edited gives a start no variables. The agent works for its own account all the same, and never for the
/// one that has the same id; and where its account is gone, its name does not mean the other one's.
#[test]
fn a_session_never_means_the_other_accounts_conversation() {
    let lab = Lab::new(VERSIONS[2]).unwrap();
    lab.wire().unwrap();
    let other = second_account(&lab);
    let (_, two) = one_id_in_two_accounts(&lab, &other);
    let marked = two["shortId"].as_str().unwrap();
    let second = format!("{ID}@{}", marked.strip_prefix("5e55105e@").unwrap());
    assert!(lab.rekindle(&["vault", "sync"]).unwrap().success());
    lab.crash(&[ID, &second]).unwrap();
    let path = lab.home.state().join(format!("session-health/{second}.lock"));
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replacen("\"schema\": 1", "\"schema\": 1,\n  \"edited\": true", 1)).unwrap();
    lab.shell().unwrap();
    let recovered = lab.rekindle(&["recover", &second]).unwrap();
    assert!(recovered.success(), "{}", recovered.words());
    let back = |record: &Value| record["shortId"] == marked && record["status"] == "active";
    let place = lab.record_where("back", back).unwrap()["place"]["ref"].as_str().unwrap().to_owned();
    let reached = lab.probe(&place, "probe-one").unwrap();
    assert!(reached.contains("ask-01") && !reached.contains("ask-00"), "{reached}");

    assert!(lab.rekindle(&["vault", "sync"]).unwrap().success());
    lab.crash(&[&second]).unwrap();
    fs::rename(&other, other.with_extension("away")).unwrap();
    let shown = lab.rekindle(&["show", &second]).unwrap();
    assert!(!shown.stdout.contains("ask-00"), "{}", shown.words());
    let before = lab.record(ID).unwrap();
    let named = lab.rekindle(&["name", &second, "away"]).unwrap();
    assert!(named.success(), "{}", named.words());
    assert_eq!(lab.record(ID).unwrap()["name"], before["name"]);
    let plan = lab.rekindle(&["repair", &second, "--dry-run"]).unwrap();
    assert!(!plan.stdout.contains("healthy"), "{}", plan.words());
}
