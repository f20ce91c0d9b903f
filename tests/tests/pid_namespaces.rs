//! An agent in a container (a pid namespace of its own) is in its session for everyone: no second agent is started while it
//! lives, or while that cannot be told.
#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "throwaway files are made on purpose, and a test that cannot go on panics"
)]

use std::fs;
use std::path::Path;
use std::process::Command;

use lab::home::Home;
use lab::process::{self, Finished, Running, wait_until};
use lab::rekindle::DEADLINE;
use serde_json::{Value, json};

const ID: &str = "11111111-aaaa-4aaa-8aaa-aaaaaaaaaaaa";

/// A command that runs in a new pid namespace, which ends with it.
fn contained(home: &Home) -> Command {
    let mut command = home.command("unshare");
    if !rustix::process::geteuid().is_root() {
        command.args(["--user", "--map-root-user"]);
    }
    command.args(["--pid", "--fork", "--mount-proc", "--kill-child"]);
    command
}

/// Whether this machine lets us make one; where it does not, there is nothing to try.
fn can_contain(home: &Home) -> bool {
    process::run(contained(home).arg("true"), DEADLINE).is_ok_and(|done| done.success())
}

/// Whether all processes can be seen from here.
fn sees_all() -> bool {
    fs::read_link("/proc/self/ns/pid").is_ok_and(|own| own == Path::new("pid:[4026531836]"))
}

/// A program that plays the agent: it calls its hook as an agent does, and lives on.
fn play_agent(home: &Home, mut command: Command) -> Running {
    let event = json!({
        "session_id": ID, "hook_event_name": "SessionStart", "source": "startup",
        "cwd": home.project(), "transcript_path": home.slug(&home.project()).join(format!("{ID}.jsonl")),
    });
    let input = home.root().join("event");
    fs::write(&input, event.to_string()).unwrap();
    let ready = home.root().join("ready");
    let line = format!(
        "'{}' hook SessionStart < '{}'; touch '{}'; while :; do sleep 0.2; done",
        lab::program().display(),
        input.display(),
        ready.display()
    );
    let named = format!("exec -a claude bash -c \"{line}\"");
    let agent = Running::start(command.args(["bash", "-c", &named])).unwrap();
    assert!(wait_until(DEADLINE, || ready.exists()), "the hook did not come back");
    agent
}

fn plain(home: &Home) -> Command {
    home.command("env")
}

/// Runs the program in a namespace of its own.
fn inside(home: &Home, words: &[&str]) -> Finished {
    process::run(contained(home).arg(lab::program()).args(words), DEADLINE).unwrap()
}

fn outside(home: &Home, words: &[&str]) -> Finished {
    home.rekindle(words).unwrap()
}

fn record(home: &Home) -> Value {
    let path = home.state().join(format!("session-health/{ID}.lock"));
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

/// No second agent: neither by `recover` nor by `repair`, and the sentence says what the user can do.
fn refused(done: &Finished, says: &str) {
    let said = [done.stdout.as_str(), &done.stderr].concat().split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains(says), "no {says:?} in {said}");
    assert!(!said.contains("resumed"), "{said}");
}

#[test]
fn an_agent_in_a_container_is_in_its_session_for_everyone_outside() {
    let home = Home::new().unwrap();
    if !can_contain(&home) {
        return;
    }
    home.put_talk(ID, 2).unwrap();
    let agent = play_agent(&home, contained(&home));
    assert!(outside(&home, &["settle"]).success());
    let run = &record(&home)["runs"][0];
    // The agent is the first process of its container, and is heard.
    assert_eq!((run["pid"].as_u64(), record(&home)["status"].as_str()), (Some(1), Some("active")));
    refused(&outside(&home, &["recover", ID, "--dry-run"]), "--owner-gone");
    refused(&outside(&home, &["repair", ID]), "it cannot be told whether an agent owns it");
    refused(&inside(&home, &["recover", ID, "--dry-run"]), "--owner-gone");
    assert_eq!(record(&home)["status"], "active");

    // The container is restarted: its agent died with it. Another container cannot see that.
    drop(agent);
    refused(&inside(&home, &["recover", ID, "--dry-run"]), "cannot be seen from here");
    refused(&inside(&home, &["recover", ID, "--dry-run"]), "--owner-gone");
    assert_eq!(record(&home)["status"], "active");
    if sees_all() {
        let gone = wait_until(DEADLINE, || {
            assert!(outside(&home, &["settle"]).success());
            record(&home)["status"] == "crashed"
        });
        assert!(gone, "{}", record(&home));
        let done = outside(&home, &["recover", ID, "--dry-run"]);
        assert!(done.success() && !done.stdout.contains("--owner-gone"), "{}", done.words());
    }
}

#[test]
fn an_agent_outside_is_in_its_session_for_every_container_until_its_user_says_that_it_is_gone() {
    let home = Home::new().unwrap();
    if !can_contain(&home) {
        return;
    }
    home.put_talk(ID, 2).unwrap();
    let agent = play_agent(&home, plain(&home));
    refused(&inside(&home, &["recover", ID, "--dry-run"]), "--owner-gone");
    refused(&outside(&home, &["recover", ID, "--dry-run"]), "is in it");
    // What is seen is not overruled.
    refused(&outside(&home, &["recover", ID, "--owner-gone"]), "");
    assert_eq!(record(&home)["status"], "active");
    drop(agent);

    refused(&inside(&home, &["recover", ID, "--dry-run"]), "--owner-gone");
    let none = inside(&home, &["recover", "--owner-gone"]);
    assert_eq!(none.code(), Some(2), "{}", none.words());
    inside(&home, &["recover", ID, "--owner-gone"]);
    assert_eq!(
        (record(&home)["status"].as_str(), record(&home)["reason"].as_str()),
        (Some("crashed"), Some("owner_gone"))
    );
    let journal = fs::read_to_string(home.state().join("journal.jsonl")).unwrap();
    let lines = journal.lines().filter(|line| line.contains("owner_overruled") && line.contains(ID));
    assert_eq!(lines.count(), 1, "{journal}");
    let done = inside(&home, &["recover", ID, "--dry-run"]);
    assert!(done.success() && !done.stdout.contains("--owner-gone"), "{}", done.words());
}
