//! Entries of a registry that name a process by its id alone, as 2.1.100 writes them: which process is meant.
#![expect(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test that cannot go on panics")]

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, SystemTime};

use agents::SessionId;
use agents::claude::pid_domain::Vantage;
use agents::claude::process::Processes;
use agents::claude::registry::{self, Registered};
use agents::claude::{ConfigDir, Owner, Owners, RecordedRun};
use serde_json::json;

const SESSION: &str = "5e551000-0000-4000-8000-00000000000c";

/// A process that waits for its standard input to close.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Under this name, with this home.
fn start(name: &str, home: &Path) -> Running {
    let mut command = Command::new("bash");
    command.args(["-c", &format!("exec -a {name} bash -c 'echo up; read' {name}")]);
    command.env_clear().env("PATH", std::env::var_os("PATH").unwrap()).env("HOME", home).current_dir("/");
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut said = [0; 3];
    std::io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut said).unwrap();
    Running(child)
}

fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
    i64::try_from(since.as_millis()).unwrap()
}

struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Place {
        let root = tempfile::tempdir().unwrap();
        for folder in [".claude/sessions", ".claude/projects/-p", "other/.claude/projects"] {
            std::fs::create_dir_all(root.path().join(folder)).unwrap();
        }
        Place(root)
    }

    fn config(&self) -> ConfigDir {
        ConfigDir::new(self.0.path().join(".claude"))
    }

    fn register(&self, pid: u32, at: i64) {
        let path = self.0.path().join(".claude/sessions/entry.json");
        std::fs::write(path, json!({"pid": pid, "sessionId": SESSION, "startedAt": at}).to_string()).unwrap();
    }

    fn alive(&self) -> Option<bool> {
        let entries: Vec<Registered> = registry::read(&self.config()).entries;
        entries.first().unwrap().alive(&self.config(), &Processes::look())
    }

    fn transcript(&self) -> PathBuf {
        self.0.path().join(".claude/projects/-p").join(format!("{SESSION}.jsonl"))
    }

    fn owner(&self, recorded: Vec<RecordedRun>) -> Owner {
        let owners = Owners::look(&[self.config()]).beside(Box::new(move |_, _| recorded.clone()));
        owners.of(&SessionId::new(SESSION).unwrap(), &self.transcript())
    }
}

/// What is known of an agent that is not here: from the initial namespace, that there is none.
fn not_here() -> Option<bool> {
    Vantage::look().namespaces.is_some().then_some(false)
}

#[test]
fn an_agent_of_the_account_with_that_id_is_meant() {
    let place = Place::new();
    let agent = start("claude", place.0.path());
    place.register(agent.0.id(), now_ms());
    assert_eq!(place.alive(), Some(true));
    assert!(matches!(place.owner(Vec::new()), Owner::Process(holder) if holder.pid == agent.0.id()));
    // It started after the entry was written.
    place.register(agent.0.id(), now_ms() - 600_000);
    assert_eq!(place.alive(), not_here());
}

#[test]
fn whatever_else_has_that_id_is_not() {
    let place = Place::new();
    let other = start("vim", place.0.path());
    let theirs = start("claude", &place.0.path().join("other"));
    // An agent that is the first process of its container says that it is process 1.
    for pid in [1, 2, other.0.id(), theirs.0.id()] {
        place.register(pid, now_ms() + 1_000);
        assert_eq!(place.alive(), not_here(), "{pid}");
        let owner = place.owner(Vec::new());
        match not_here() {
            Some(_) => assert_eq!(owner, Owner::Nobody, "{pid}"),
            None => assert!(matches!(owner, Owner::Unknown { .. }), "{owner:?}"),
        }
    }
}

#[test]
fn an_agent_in_a_container_is_unknown_until_it_has_ended() {
    let words = ["--pid", "--fork", "--mount-proc", "--kill-child", "bash", "-c"];
    let can = Command::new("unshare").args(&words[..5]).args(["-c", "true"]).status();
    if !can.is_ok_and(|status| status.success()) || not_here().is_none() {
        return;
    }
    let place = Place::new();
    let mut command = Command::new("unshare");
    command.args(words).arg("exec -a claude bash -c 'echo up; read' claude");
    command.env("HOME", place.0.path()).env_remove("CLAUDE_CONFIG_DIR");
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut said = [0; 3];
    std::io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut said).unwrap();
    let container = Running(child);
    place.register(1, now_ms());
    assert_eq!(place.alive(), None, "process 1 here is another one");
    assert!(matches!(place.owner(Vec::new()), Owner::Unknown { .. }));
    // A record that saw it end speaks of an earlier one.
    let ended = |at_ms| vec![RecordedRun::Ended { pid: 1, at_ms }];
    assert!(matches!(place.owner(ended(now_ms() - 60_000)), Owner::Unknown { .. }));
    assert_eq!(place.owner(ended(now_ms())), Owner::Nobody);
    drop(container);
    let gone = (0..100).any(|_| {
        std::thread::sleep(Duration::from_millis(50));
        place.alive() == Some(false)
    });
    assert!(gone);
}
