//! An agent in a container (a pid namespace of its own) is in its session for everyone: no second agent is started while it
//! lives, or while that cannot be told.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on panics")]

use std::fs;
use std::path::Path;
use std::process::Command;

use lab::home::Home;
use lab::process::{self, Finished, Running, wait_until};
use lab::rekindle::DEADLINE;
use serde_json::{Value, json};

const ID: &str = "5b5b5b5b-aaaa-4aaa-8aaa-aaaaaaaaaaaa";

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
fn play_agent(home: &Home, command: Command) -> Running {
    let event = json!({
        "session_id": ID, "hook_event_name": "SessionStart", "source": "startup",
        "cwd": home.project(), "transcript_path": home.slug(&home.project()).join(format!("{ID}.jsonl")),
    });
    home.play_agent(command, "agent", &event).unwrap()
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
    if sees_all() {
        // Seen from outside by its id there: no word of the user overrules that.
        refused(&outside(&home, &["recover", ID, "--dry-run"]), "is in it");
        refused(&outside(&home, &["recover", ID, "--owner-gone", "--dry-run"]), "is in it");
        let done = outside(&home, &["recover", ID, "--owner-gone"]);
        assert_eq!((done.code(), overruled(&home)), (Some(3), 0), "{}", done.words());
        assert_eq!(outside(&home, &["repair", ID]).code(), Some(3));
    } else {
        refused(&outside(&home, &["recover", ID, "--dry-run"]), "--owner-gone");
        refused(&outside(&home, &["repair", ID]), "it cannot be told whether an agent owns it");
    }
    refused(&inside(&home, &["recover", ID, "--dry-run"]), &format!("rekindle recover {ID} --owner-gone"));
    assert_eq!(record(&home)["status"], "active");

    // The container is restarted: its agent died with it. Another container cannot see that. The kernel gives the number of
    // a namespace that is gone to the next one, and a container of the same number knows that its agent is gone.
    let _number = fs::File::open(format!("/proc/{}/ns/pid_for_children", agent.pid())).unwrap();
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
    // What is refused changes nothing: outside of tmux there is no place for it, whatever its user says.
    let before = record(&home);
    let nowhere = inside(&home, &["recover", ID, "--owner-gone"]);
    assert_eq!(nowhere.code(), Some(3), "{}", nowhere.words());
    refused(&nowhere, "it was in no tmux pane");
    assert_eq!(record(&home)["runs"], before["runs"]);
    assert_eq!(record(&home)["status"], "active");
    assert_eq!(overruled(&home), 0);
    refused(&in_tmux(&home, &["recover", ID]), "--owner-gone");
    drop(agent);

    refused(&inside(&home, &["recover", ID, "--dry-run"]), "--owner-gone");
    let none = inside(&home, &["recover", "--owner-gone"]);
    assert_eq!(none.code(), Some(2), "{}", none.words());
    let planned = inside(&home, &["recover", ID, "--owner-gone", "--dry-run"]);
    assert!(planned.success() && !planned.stdout.contains("--owner-gone"), "{}", planned.words());
    assert_eq!((record(&home)["status"].as_str(), overruled(&home)), (Some("active"), 0));
    // With a place for it, the word counts and is written down.
    let started = in_tmux(&home, &["recover", ID, "--owner-gone"]);
    let said = [started.stdout.as_str(), &started.stderr].concat();
    assert!(fs::read_to_string(home.root().join("started")).unwrap_or_default().contains(ID), "{said}");
    assert_eq!((overruled(&home), started.code()), (1, Some(0)), "{said}");
}

/// How often the journal says that the user overruled what cannot be told.
fn overruled(home: &Home) -> usize {
    let journal = fs::read_to_string(home.state().join("journal.jsonl")).unwrap_or_default();
    journal.lines().filter(|line| line.contains("owner_overruled") && line.contains(ID)).count()
}

/// Runs the program in a namespace of its own, as from a pane of a tmux server outside of it. An agent that is started there
/// writes its arguments down, calls its hook and lives on.
fn in_tmux(home: &Home, words: &[&str]) -> Finished {
    let hook = format!(
        "'{}' hook SessionStart < '{}'",
        lab::program().display(),
        home.root().join("agent.event").display()
    );
    let started = home.root().join("started");
    let line = format!(
        "case \"$1\" in --version) echo '2.1.31 (Claude Code)'; exit;; esac\necho \"$*\" >> '{}'\n{hook}\nwhile :; do sleep 0.2; done",
        started.display()
    );
    home.script("claude", &line).unwrap();
    home.trust(&home.project()).unwrap();
    let tmux =
        |words: &[&str]| process::run(home.adopt(home.tmux().command()).args(words), DEADLINE).unwrap();
    if !tmux(&["has-session", "-t", "=work"]).success() {
        let made = tmux(&["new-session", "-d", "-s", "work", "exec bash --norc --noprofile"]);
        assert!(made.success(), "{}", made.words());
    }
    let pane = tmux(&["display-message", "-p", "-t", "work:", "#{pane_id} #{pid}"]);
    let (pane, pid) = pane.stdout.trim().split_once(' ').unwrap();
    let mut command = contained(home);
    command.env("TMUX", format!("{},{pid},0", home.tmux().socket().display())).env("TMUX_PANE", pane);
    process::run(command.arg(lab::program()).args(words), DEADLINE).unwrap()
}
