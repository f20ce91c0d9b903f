//! An agent in a time namespace of its own reads other start times than the host: it is the same agent for everyone.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test that cannot go on panics")]

use std::fs;
use std::process::Command;

use lab::home::Home;
use lab::process::{self, Finished, Running, wait_until};
use lab::rekindle::DEADLINE;
use serde_json::{Value, json};

const ID: &str = "5b5b5b5b-cccc-4ccc-8ccc-cccccccccccc";

/// How far ahead the namespace's clock since boot is, in seconds; a tick is a hundredth of a second on every Linux.
const AHEAD: u64 = 100_000;

/// A command that runs in a time namespace of its own.
fn shifted(home: &Home) -> Command {
    let mut command = home.command("unshare");
    if !rustix::process::geteuid().is_root() {
        command.args(["--user", "--map-root-user"]);
    }
    command.args(["--time", "--boottime", &AHEAD.to_string(), "--fork", "--kill-child"]);
    command
}

/// Whether this machine lets us make one; where it does not, there is nothing to try.
fn can_shift(home: &Home) -> bool {
    process::run(shifted(home).arg("true"), DEADLINE).is_ok_and(|done| done.success())
}

fn play_agent(home: &Home, command: Command) -> Running {
    let event = json!({
        "session_id": ID, "hook_event_name": "SessionStart", "source": "startup",
        "cwd": home.project(), "transcript_path": home.slug(&home.project()).join(format!("{ID}.jsonl")),
    });
    home.play_agent(command, "agent", &event).unwrap()
}

fn inside(home: &Home, words: &[&str]) -> Finished {
    process::run(shifted(home).arg(lab::program()).args(words), DEADLINE).unwrap()
}

fn outside(home: &Home, words: &[&str]) -> Finished {
    home.rekindle(words).unwrap()
}

fn record(home: &Home) -> Value {
    let path = home.state().join(format!("session-health/{ID}.lock"));
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

/// Everyone says that the agent is there, and starts no second one.
fn is_alive_for_everyone(home: &Home) {
    for run in [outside, inside] {
        assert!(run(home, &["settle"]).success());
        assert_eq!(record(home)["status"], "active", "{}", record(home));
        let refused = run(home, &["recover", ID, "--dry-run"]);
        let said = [refused.stdout.as_str(), &refused.stderr].concat();
        assert!(said.split_whitespace().collect::<Vec<_>>().join(" ").contains("is in it"), "{said}");
        assert_eq!(run(home, &["repair", ID]).code(), Some(3));
    }
}

/// The start time of a process as this test, on the host, reads it.
fn start_of(pid: u64) -> u64 {
    lab::believed::body(u32::try_from(pid).unwrap()).unwrap().start
}

#[test]
fn an_agent_in_another_time_namespace_is_alive_for_everyone() {
    let home = Home::new().unwrap();
    if !can_shift(&home) {
        return;
    }
    home.put_talk(ID, 2).unwrap();
    assert!(outside(&home, &["settle"]).success(), "it makes the key that the hook seals with");
    let agent = play_agent(&home, shifted(&home));
    is_alive_for_everyone(&home);
    let run = record(&home)["runs"][0].clone();
    let (pid, start) = (run["pid"].as_u64().unwrap(), run["procStart"].as_u64().unwrap());
    assert_eq!(start, start_of(pid), "it is written down as the host reads it");
    drop(agent);
    let crashed = || outside(&home, &["settle"]).success() && record(&home)["status"] == "crashed";
    assert!(wait_until(DEADLINE, crashed), "{}", record(&home));
}

/// What an agent writes into its own registry is what it reads itself, and so is what an earlier version of the hook left.
#[test]
fn a_start_time_that_the_agent_read_itself_is_its_own() {
    let home = Home::new().unwrap();
    if !can_shift(&home) {
        return;
    }
    home.put_talk(ID, 2).unwrap();
    assert!(outside(&home, &["settle"]).success());
    let _agent = play_agent(&home, shifted(&home));
    assert!(outside(&home, &["settle"]).success());
    let pid = record(&home)["runs"][0]["pid"].as_u64().unwrap();
    let read_itself = start_of(pid) + AHEAD * 100;

    // Its registry alone.
    fs::remove_dir_all(home.state().join("session-health")).unwrap();
    fs::remove_dir_all(home.state().join("spool")).unwrap();
    let registry = home.config().join("sessions");
    fs::create_dir_all(&registry).unwrap();
    let domain = format!(
        "linux:{}:{}",
        fs::read_to_string("/etc/machine-id").unwrap_or_default().trim(),
        fs::read_link("/proc/self/ns/pid").unwrap().display()
    );
    let entry = json!({"pid": pid, "sessionId": ID, "procStart": read_itself.to_string(), "pidDomain": domain,
        "cwd": home.project(), "startedAt": jiff::Timestamp::now().as_millisecond()});
    fs::write(registry.join(format!("{pid}.json")), entry.to_string()).unwrap();
    is_alive_for_everyone(&home);
    fs::remove_dir_all(&registry).unwrap();

    // A record as the hook of 0.1.0 left it.
    fs::remove_dir_all(home.state().join("session-health")).unwrap();
    let body = lab::believed::Body { pid: u32::try_from(pid).unwrap(), start: read_itself, tty: 0 };
    home.said(ID, &body, &[lab::believed::Said::new("SessionStart", 5).with(json!({"source": "startup"}))])
        .unwrap();
    is_alive_for_everyone(&home);
}
