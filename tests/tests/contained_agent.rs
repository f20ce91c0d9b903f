//! The real agent in a pid namespace of its own, as in a container, and `recover` on the other side of it: no second agent.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on panics")]

use std::process::Command;

use lab::Lab;
use lab::agent::VERSIONS;
use lab::process::{Finished, run};
use lab::wired::PATIENCE;
use rustix::process::Signal;
use serde_json::Value;

const CONTAINED: [&str; 4] = ["--pid", "--fork", "--mount-proc", "--kill-child"];

/// Runs the program in a namespace of its own.
fn inside(lab: &Lab, words: &[&str]) -> Finished {
    let mut command = lab.home.command("unshare");
    command.args(CONTAINED).arg(lab::program()).args(words).env_clear().envs(lab.env());
    run(&mut command, PATIENCE).unwrap()
}

fn refused(lab: &Lab, done: &Finished, says: &str) {
    assert_eq!(done.code(), Some(3), "{}", done.words());
    assert!(done.stdout.contains(says), "{}", done.words());
    let panes = lab.tmux(&["list-panes", "-a", "-F", "#{pane_id}"]).unwrap();
    assert_eq!(panes.stdout.lines().count(), 1, "a second agent has a pane: {}", panes.stdout);
}

fn answered(lab: &Lab, command: &str) -> Value {
    lab.wire().unwrap();
    lab.shell().unwrap();
    lab.type_line("work:0.0", &format!("{command} 'ask-00 please'")).unwrap();
    lab.idle_at("work:0.0", "ask-00").unwrap()
}

fn id(record: &Value) -> String {
    record["sessionId"].as_str().unwrap().to_owned()
}

/// 2.1.31 has no registry: only the record knows of it.
#[test]
fn no_second_agent_beside_one_in_a_container_or_outside_of_it() {
    let can = Command::new("unshare").args(CONTAINED).arg("true").status();
    if !can.is_ok_and(|status| status.success()) {
        return;
    }
    let lab = Lab::new(VERSIONS[0]).unwrap();
    let record = answered(&lab, &format!("unshare {} claude", CONTAINED.join(" ")));
    assert_eq!(record["runs"][0]["pid"], 1, "{record}");
    // Outside of all containers its process is seen, under another id. Another container does not see it.
    refused(&lab, &lab.rekindle(&["recover", &id(&record), "--json"]).unwrap(), "is in it");
    refused(&lab, &inside(&lab, &["recover", &id(&record), "--json"]), "--owner-gone");
    assert_eq!(lab.record(&id(&record)).unwrap()["status"], "active");
    drop(lab);

    let lab = Lab::new(VERSIONS[0]).unwrap();
    let record = answered(&lab, "claude");
    refused(&lab, &inside(&lab, &["recover", &id(&record), "--json"]), "--owner-gone");
    lab.signal(&record, Signal::KILL).unwrap();
    // From in there it still cannot be told.
    refused(&lab, &inside(&lab, &["recover", &id(&record), "--json"]), "--owner-gone");
    let done = inside(&lab, &["recover", &id(&record), "--owner-gone", "--json"]);
    assert!(done.stdout.contains("resumed"), "{}", done.words());
    assert_eq!(lab.story(&id(&record)).iter().filter(|event| *event == "owner_overruled").count(), 1);
}

/// 2.1.100 writes into its registry neither when its process started nor in which namespace: process 1 and 2 out here are
/// the machine's own.
#[test]
fn an_agent_that_registers_by_its_id_alone_is_no_process_of_the_host() {
    let can = Command::new("unshare").args(CONTAINED).arg("true").status();
    if !can.is_ok_and(|status| status.success()) {
        return;
    }
    for (pid, command) in [(1, "claude"), (2, "bash -c '\"$0\" \"$@\"; exit' claude")] {
        let lab = Lab::new(VERSIONS[1]).unwrap();
        let record = answered(&lab, &format!("unshare {} {command}", CONTAINED.join(" ")));
        let session = id(&record);
        assert_eq!(record["runs"][0]["pid"], pid, "{record}");
        assert!(lab.rekindle(&["settle"]).unwrap().success());
        let settled = lab.record(&session).unwrap();
        assert_eq!(settled["runs"].as_array().unwrap().len(), 1, "{settled}");
        assert_eq!(settled["runs"][0]["pidNamespace"], record["runs"][0]["pidNamespace"]);
        refused(&lab, &lab.rekindle(&["recover", &session, "--json"]).unwrap(), "is in it");
        refused(&lab, &inside(&lab, &["recover", &session, "--json"]), "--owner-gone");

        // The container ends, and its agent cannot take its entry back.
        let shell = lab.tmux(&["display-message", "-p", "-t", "work:0.0", "#{pane_pid}"]).unwrap();
        let shell: u32 = shell.stdout.trim().parse().unwrap();
        for child in children(shell) {
            rustix::process::kill_process(rustix::process::Pid::from_raw(child).unwrap(), Signal::KILL)
                .unwrap();
        }
        lab.settle_until(&session, "crashed", |record| record["status"] == "crashed").unwrap();
        let done = lab.rekindle(&["recover", &session, "--json"]).unwrap();
        assert!(done.stdout.contains("resumed"), "{}", done.words());
    }
}

fn children(of: u32) -> Vec<i32> {
    let listed = std::fs::read_to_string(format!("/proc/{of}/task/{of}/children")).unwrap_or_default();
    listed.split_ascii_whitespace().map(|pid| pid.parse().unwrap()).collect()
}
