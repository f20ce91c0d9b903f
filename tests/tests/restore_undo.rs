//! A restore that was undone is one that can be done again: nothing of it counts as closed by its user.
#![cfg(target_os = "linux")] // ptrace
#![expect(clippy::unwrap_used, reason = "a test that cannot go on panics")]

use std::collections::BTreeSet;

use lab::Lab;
use lab::agent::VERSIONS;
use lab::process::{Finished, run, wait_until};
use lab::trace::kill_at_change;
use lab::wired::PATIENCE;
use serde_json::{Value, json};

const SHELL: &str = "exec bash --norc --noprofile";

fn tmux(lab: &Lab, words: &[&str]) -> String {
    let done = lab.tmux(words).unwrap();
    assert!(done.success(), "{words:?}: {}", done.words());
    done.stdout
}

/// Waits until every program has begun: before that it has no directory.
fn at_rest(lab: &Lab) {
    let begun = || {
        let seen = tmux(lab, &["list-panes", "-a", "-F", "|#{pane_current_path}|#{pane_current_command}"]);
        seen.lines().all(|line| !line.contains("||") && line.ends_with("|bash"))
    };
    assert!(wait_until(PATIENCE, begun));
}

fn rekindle(lab: &Lab, words: &[&str]) -> Finished {
    let mut command = lab.home.rekindle_command(words);
    command.env_clear().envs(lab.env());
    run(&mut command, PATIENCE).unwrap()
}

fn told(lab: &Lab, words: &[&str]) -> Value {
    let done = rekindle(lab, words);
    assert!(done.success(), "{words:?}: {}", done.words());
    serde_json::from_str(&done.stdout).unwrap()
}

fn kill_server(lab: &Lab) {
    tmux(lab, &["kill-server"]);
    let gone = || lab.tmux(&["list-sessions"]).unwrap().stderr.contains("no server");
    assert!(wait_until(PATIENCE, gone));
}

fn places(lab: &Lab) -> BTreeSet<String> {
    let format = "#{session_name}:#{window_index}.#{pane_index}";
    tmux(lab, &["list-panes", "-a", "-F", format]).lines().map(str::to_owned).collect()
}

/// Seven panes in two sessions; the server dies, and its user begins again with one pane before anything is restored.
#[test]
fn after_restore_and_undo_a_restore_brings_back_the_same_panes() {
    let lab = Lab::new(VERSIONS[2]).unwrap();
    tmux(&lab, &["new-session", "-d", "-s", "work", "-x", "120", "-y", "40", SHELL]);
    tmux(&lab, &["split-window", "-d", "-h", "-t", "=work:0.0", SHELL]);
    tmux(&lab, &["split-window", "-d", "-v", "-t", "=work:0.0", SHELL]);
    tmux(&lab, &["new-window", "-d", "-t", "=work:4", SHELL]);
    tmux(&lab, &["new-session", "-d", "-s", "other", "-x", "120", "-y", "40", SHELL]);
    tmux(&lab, &["split-window", "-d", "-h", "-t", "=other:0.0", SHELL]);
    tmux(&lab, &["new-window", "-d", "-t", "=other:1", SHELL]);
    at_rest(&lab);
    let all = places(&lab);
    assert_eq!(all.len(), 7);
    told(&lab, &["save", "--json"]);
    kill_server(&lab);
    tmux(&lab, &["new-session", "-d", "-s", "work", "-x", "120", "-y", "40", SHELL]);
    at_rest(&lab);
    let first = told(&lab, &["restore", "--yes", "--json"]);
    assert_eq!(first["panes"].as_array().unwrap().len(), 6, "{first}");
    at_rest(&lab);
    assert_eq!(places(&lab), all);

    // The user moves things about: the undo speaks of what is seen now.
    tmux(&lab, &["rename-session", "-t", "=other", "moved"]);
    let undone = told(&lab, &["undo", "--json"]);
    assert_eq!(undone["operation"]["command"], "restore", "{undone}");
    let effect = &undone["effects"][0];
    let panes = effect["panes"].as_array().unwrap();
    assert_eq!((panes.len(), &effect["status"]), (6, &json!("undone")), "{undone}");
    let moved: Vec<&Value> =
        panes.iter().filter(|pane| pane["pane"].as_str().unwrap().starts_with("moved:")).collect();
    assert_eq!(moved.len(), 3, "{undone}");
    assert!(moved.iter().all(|pane| pane["was"].as_str().unwrap().starts_with("other:")), "{undone}");
    assert_eq!(places(&lab), BTreeSet::from(["work:0.0".to_owned()]));

    // Automatic saves in between forget nothing.
    assert!(rekindle(&lab, &["tick"]).success());
    let second = told(&lab, &["restore", "--yes", "--json"]);
    assert_eq!(second["panes"].as_array().unwrap().len(), 6, "{second}");
    at_rest(&lab);
    assert_eq!(places(&lab), all);
    assert_eq!(
        told(&lab, &["restore", "--yes", "--json"])["panes"],
        json!([]),
        "running it again does nothing"
    );

    // What the second restore has done cannot be done again, and the first one stays undone.
    let again = rekindle(&lab, &["redo", "--yes"]);
    assert_eq!(again.code(), Some(3), "{}", again.words());
    assert!(again.stderr.contains("is there already"), "{}", again.words());
    let listed = told(&lab, &["history", "--json"]);
    let states: Vec<&Value> =
        listed["operations"].as_array().unwrap().iter().map(|one| &one["state"]).collect();
    assert_eq!(states, ["done", "undone"], "{listed}");

    // And a redo is the same as another restore.
    told(&lab, &["undo", "--json"]);
    assert_eq!(places(&lab).len(), 1);
    let nobody = rekindle(&lab, &["redo"]);
    assert_eq!(nobody.code(), Some(2), "{}", nobody.words());
    let redone = told(&lab, &["redo", "--yes", "--json"]);
    assert_eq!(redone["effects"][0]["status"], "redone", "{redone}");
    at_rest(&lab);
    assert_eq!(places(&lab), all);
    let listed = told(&lab, &["history", "--json"]);
    let states: Vec<&Value> =
        listed["operations"].as_array().unwrap().iter().map(|one| &one["state"]).collect();
    assert_eq!(states, ["done", "undone"], "{listed}");
    told(&lab, &["undo", "--json"]);
    assert_eq!(places(&lab).len(), 1);
}

/// Wherever the undo of a restore is killed, the next undo completes it, and the next restore brings everything back.
#[test]
fn a_killed_undo_of_a_restore_is_completed() {
    let lab = Lab::new(VERSIONS[2]).unwrap();
    tmux(&lab, &["new-session", "-d", "-s", "work", "-x", "120", "-y", "40", SHELL]);
    tmux(&lab, &["split-window", "-d", "-h", "-t", "=work:0.0", SHELL]);
    tmux(&lab, &["new-session", "-d", "-s", "other", "-x", "120", "-y", "40", SHELL]);
    at_rest(&lab);
    told(&lab, &["save", "--json"]);
    kill_server(&lab);
    tmux(&lab, &["new-session", "-d", "-s", "fresh", "-x", "120", "-y", "40", SHELL]);
    at_rest(&lab);
    let mut nth = 1;
    loop {
        let done = told(&lab, &["restore", "--yes", "--json"]);
        assert_eq!(done["panes"].as_array().unwrap().len(), 3, "before change {nth}: {done}");
        at_rest(&lab);
        let mut command = lab.home.rekindle_command(&["undo"]);
        command.env_clear().envs(lab.env());
        let over = kill_at_change(&mut command, nth).unwrap().done.status.is_some();
        let newest = &told(&lab, &["history", "-n", "1", "--json"])["operations"][0];
        if newest["state"] != "undone" {
            let undone = told(&lab, &["undo", "--json"]);
            assert_eq!(undone["operation"]["id"], newest["id"], "killed at change {nth}: {undone}");
        }
        assert_eq!(places(&lab), BTreeSet::from(["fresh:0.0".to_owned()]), "killed at change {nth}");
        if over {
            return;
        }
        nth += 9;
    }
}

/// Two agents and a shell come back beside what the user has begun again, are undone after a yes, and come back again,
/// each with its own conversation.
#[test]
fn after_restore_and_undo_a_restore_brings_back_the_same_agents() {
    let lab = Lab::new(VERSIONS[2]).unwrap();
    lab.wire().unwrap();
    lab.shell().unwrap();
    lab.type_line("work:0.0", "claude 'ask-00 please'").unwrap();
    lab.window("exec claude 'ask-01 please'").unwrap();
    lab.another_shell().unwrap();
    let one = lab.idle_at("work:0.0", "ask-00").unwrap()["sessionId"].as_str().unwrap().to_owned();
    let two = lab.idle_at("work:1.0", "ask-01").unwrap()["sessionId"].as_str().unwrap().to_owned();
    let all = places(&lab);
    told(&lab, &["save", "--json"]);
    lab.crash(&[&one, &two]).unwrap();
    tmux(&lab, &["new-session", "-d", "-s", "fresh", "-x", "120", "-y", "40", SHELL]);
    let whole: BTreeSet<String> = all.iter().cloned().chain(["fresh:0.0".to_owned()]).collect();
    let first = told(&lab, &["restore", "--yes", "--json"]);
    assert_eq!(first["restored"], 2, "{first}");
    assert_eq!(places(&lab), whole);

    let asked = rekindle(&lab, &["undo"]);
    assert_eq!(asked.code(), Some(2), "{}", asked.words());
    for name in ["work:0.0", "work:1.0", &one[..8], &two[..8], "--yes"] {
        assert!(asked.stderr.contains(name), "{name}: {}", asked.words());
    }
    assert_eq!(places(&lab), whole, "nothing was closed");
    let undone = told(&lab, &["undo", "--yes", "--json"]);
    assert_eq!(undone["effects"][0]["status"], "undone", "{undone}");
    assert_eq!(places(&lab), BTreeSet::from(["fresh:0.0".to_owned()]));
    assert!(rekindle(&lab, &["tick"]).success());
    for session in [&one, &two] {
        assert_eq!(lab.record(session).unwrap()["status"], "crashed", "its user has not ended it");
    }

    let second = told(&lab, &["restore", "--yes", "--json"]);
    assert_eq!((&second["restored"], &second["total"]), (&json!(2), &json!(2)), "{second}");
    assert_eq!(places(&lab), whole);
    let sent = lab.probe("work:0.0", "probe-one").unwrap();
    assert!(sent.contains("ask-00") && !sent.contains("ask-01"), "{sent}");
    let sent = lab.probe("work:1.0", "probe-two").unwrap();
    assert!(sent.contains("ask-01") && !sent.contains("ask-00"), "{sent}");
    // Agents that have worked since are never closed.
    let kept = told(&lab, &["undo", "--json"]);
    let panes = kept["effects"][0]["panes"].as_array().unwrap().iter();
    let kept: Vec<&Value> = panes.filter(|pane| pane["what"] == "kept").map(|pane| &pane["pane"]).collect();
    assert_eq!(kept, ["work:0.0", "work:1.0"]);
}
