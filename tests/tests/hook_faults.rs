//! `rekindle hook` when the state cannot be written: read-only, full, in the way, somebody else's, missing. The agent
//! notices nothing, and what waited in the refuge is folded when the fault is gone.
#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "throwaway files are made and damaged on purpose, and a test that cannot go on panics"
)]

use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Stdio};

use lab::home::Home;
use lab::process::wait_until;
use lab::rekindle::DEADLINE;
use serde_json::{Value, json};

/// Runs a command with an event on its input: success and silence.
fn quietly(mut command: Command, home: &Home, mark: &str) {
    let event =
        json!({"session_id": "waiting", "hook_event_name": "StopFailure", "cwd": "/p", "error": mark});
    let input = home.root().join("input");
    fs::write(&input, event.to_string()).unwrap();
    command.stdin(File::open(input).unwrap()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let done = command.output().unwrap();
    let said = [done.stdout, done.stderr].concat();
    assert_eq!((done.status.code(), String::from_utf8_lossy(&said).as_ref()), (Some(0), ""), "{mark}");
}

/// A hook after a shell line in a mount namespace of its own: what is mounted there is gone with it.
fn hook_behind(home: &Home, mounts: &str) -> Command {
    let mut command = home.command("unshare");
    let line = format!("set -e; {mounts}; exec '{}' hook StopFailure", lab::program().display());
    // A user namespace makes it possible for everybody, and the files stay ours.
    command.args(["--user", "--map-root-user", "--mount", "sh", "-c", &line]);
    command
}

/// A hook behind mounts; where nobody may mount anything, a file stands in the way of the spool instead.
fn behind(home: &Home, mounts: &str, mark: &str) {
    let mut trial = home.command("unshare");
    trial.args(["--user", "--map-root-user", "--mount", "mount", "-t", "tmpfs", "none"]).arg(home.bin());
    if lab::process::run(&mut trial, DEADLINE).is_ok_and(|done| done.success()) {
        quietly(hook_behind(home, mounts), home, mark);
    } else {
        in_the_way(home, mark);
    }
}

fn in_the_way(home: &Home, mark: &str) {
    let (spool, aside) = (home.state().join("spool"), home.root().join("aside"));
    fs::rename(&spool, &aside).unwrap();
    fs::write(&spool, "").unwrap();
    quietly(home.rekindle_command(&["hook", "StopFailure"]), home, mark);
    fs::remove_file(&spool).unwrap();
    fs::rename(&aside, &spool).unwrap();
}

fn healthy(home: &Home) -> Vec<u8> {
    let spool = home.state().join("spool");
    fs::create_dir_all(&spool).unwrap();
    let line = json!({"schema": 1, "event": "SessionStart", "at": 1, "input": {"cwd": "/p"}});
    fs::write(spool.join("healthy.jsonl"), format!("\n{line}\n")).unwrap();
    assert!(home.rekindle(&["settle"]).unwrap().success());
    fs::read(home.state().join("session-health/healthy.lock")).unwrap()
}

/// What the logs say: the state's where that can be written, else the refuge's.
fn logged(home: &Home) -> String {
    let refuges = fs::read_dir(home.root().join("run/rekindle")).into_iter().flatten().flatten();
    let logs = refuges.map(|refuge| refuge.path().join("hot.log"));
    let logs = logs.chain([home.state().join("log/hot.log")]);
    logs.filter_map(|log| fs::read_to_string(log).ok()).collect()
}

/// The fault is gone: what waited is folded, once, and nobody else has changed.
fn comes_home(home: &Home, mark: &str, before: &[u8]) {
    assert!(logged(home).contains("the event waits in"), "{}", logged(home));
    let journal = home.state().join("journal.jsonl");
    let told = || fs::read_to_string(&journal).unwrap_or_default().matches(mark).count();
    let folded = wait_until(DEADLINE, || home.rekindle(&["settle"]).unwrap().success() && told() > 0);
    assert!(folded, "{mark}");
    let record: Value =
        serde_json::from_slice(&fs::read(home.state().join("session-health/waiting.lock")).unwrap()).unwrap();
    assert_eq!((record["sessionId"].as_str(), told()), (Some("waiting"), 1));
    assert_eq!(fs::read(home.state().join("session-health/healthy.lock")).unwrap(), before);
}

#[test]
fn read_only_state() {
    let home = Home::new().unwrap();
    let before = healthy(&home);
    let state = home.state().display().to_string();
    let mounts = format!("mount --bind '{state}' '{state}'; mount -o remount,bind,ro '{state}'");
    behind(&home, &mounts, "read-only");
    comes_home(&home, "read-only", &before);
}

#[test]
fn full_disk() {
    let home = Home::new().unwrap();
    let before = healthy(&home);
    let spool = home.state().join("spool").display().to_string();
    let fill = format!("dd if=/dev/zero of='{spool}/fill' bs=4k 2>/dev/null || true");
    let mounts = format!("mount -t tmpfs -o size=16k none '{spool}'; {fill}");
    behind(&home, &mounts, "full-disk");
    comes_home(&home, "full-disk", &before);
}

#[test]
fn a_file_in_the_way_of_the_spool() {
    let home = Home::new().unwrap();
    let before = healthy(&home);
    in_the_way(&home, "in-the-way");
    comes_home(&home, "in-the-way", &before);
}

#[test]
fn a_missing_state_directory_is_made() {
    let home = Home::new().unwrap();
    fs::remove_dir_all(home.state()).unwrap();
    quietly(home.rekindle_command(&["hook", "StopFailure"]), &home, "missing");
    assert!(home.state().join("spool/waiting.jsonl").exists());
}

#[test]
fn somebody_elses_state_is_left_alone() {
    let home = Home::new().unwrap();
    healthy(&home);
    let mut command = home.rekindle_command(&["hook", "StopFailure"]);
    // Only root can give a folder away; everybody else has one of root's.
    if rustix::process::geteuid().is_root() {
        std::os::unix::fs::chown(home.state(), Some(12345), None).unwrap();
    } else {
        command.env("REKINDLE_STATE_DIR", "/");
    }
    quietly(command, &home, "not-ours");
    assert!(logged(&home).contains("belongs to user"), "{}", logged(&home));
    assert!(!home.state().join("spool/waiting.jsonl").exists());
}

#[test]
fn without_a_home() {
    let home = Home::new().unwrap();
    // Paused, nothing is settled, and the event stays where it is.
    fs::write(home.state().join("paused"), "").unwrap();
    let mut command = home.rekindle_command(&["hook", "StopFailure"]);
    command.env_remove("HOME");
    quietly(command, &home, "no-home");
    assert!(home.state().join("spool/waiting.jsonl").exists());
    // With nothing at all to go by, the refuge is the only place left: nothing is made at the root of the file system.
    let mut command = home.rekindle_command(&["hook", "StopFailure"]);
    command.env_remove("HOME").env_remove("REKINDLE_STATE_DIR");
    quietly(command, &home, "no-place");
    assert!(logged(&home).contains("the event waits in"), "{}", logged(&home));
    assert!(!Path::new("/nonexistent").exists());
}
