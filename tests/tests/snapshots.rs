//! What agents' panes showed is kept after every turn and by the timer: bounded, without secrets, not twice.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on panics")]

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use lab::Lab;
use lab::agent::VERSIONS;
use lab::process::{self, wait_until};
use lab::rekindle::DEADLINE;
use lab::wired::PATIENCE;
use serde_json::{Value, json};

const PANE: &str = "work:0.0";

/// Every snapshot of a conversation by its name, as its head and its text.
fn snapshots(lab: &Lab, session: &str) -> BTreeMap<String, (Value, String)> {
    let folder = lab.home.state().join("snapshots").join(session);
    let paths: Vec<PathBuf> =
        fs::read_dir(folder).into_iter().flatten().flatten().map(|e| e.path()).collect();
    let read = |path: PathBuf| {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let plain = process::run(lab.home.command("zstd").arg("-dc").arg(&path), DEADLINE).unwrap().stdout;
        let (head, text) = plain.split_once('\n')?;
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        Some((name, (serde_json::from_str(head).unwrap(), text.to_owned())))
    };
    paths.into_iter().filter_map(read).collect()
}

/// The agent is started in a shell that has printed a lot.
/// F-tmux-13
fn what_an_agent_shows_is_kept(version: &str, full_screen: bool) {
    let lab = Lab::new(version).unwrap();
    lab.wire().unwrap();
    lab.home.configure("[recovery]\nsnapshot_interval = \"1s\"\nmax_context_lines = 60\n").unwrap();
    lab.shell().unwrap();
    lab.type_line(PANE, "seq -f noise-%g 100").unwrap();
    lab.type_line(PANE, "claude 'ask-00 with PGPASSWORD=hunter2hunter psql'").unwrap();
    let record = lab.idle_at(PANE, "reply-00").unwrap();
    let session = record["sessionId"].as_str().unwrap();
    let newest = || snapshots(&lab, session).into_values().next_back();
    let shows = |text: &str| newest().is_some_and(|(_, shown)| shown.contains(text));
    assert!(wait_until(PATIENCE, || shows("reply-00")), "no snapshot after the turn: {:?}", newest());
    let (head, text) = newest().unwrap();
    assert_eq!(head["schema"], 1, "{head}");
    assert_eq!((&head["why"], &head["pane"]), (&json!("stop"), &json!(PANE)), "{head}");
    assert_eq!(head["screenOnly"], full_screen, "{head}");
    assert!(text.contains("ask-00 with") && !text.contains("hunter2"), "{text}");
    assert!(text.lines().count() <= 60, "{} lines", text.lines().count());
    if full_screen {
        assert!(!text.contains("noise"), "above a full screen stands another's output: {text}");
    }

    // By the timer: nothing new is nothing to keep, and what changed is kept.
    let tick = || lab.home.rekindle_json(&["tick"]).unwrap();
    assert!(wait_until(PATIENCE, || {
        let before = snapshots(&lab, session).len();
        tick();
        snapshots(&lab, session).len() == before
    }));
    lab.tmux(&["send-keys", "-t", PANE, "-l", "--", "a draft that nobody sends"]).unwrap();
    let kept = || tick()["snapshots"] == 1 && shows("a draft that nobody sends");
    assert!(wait_until(PATIENCE, kept), "{:?}", newest());
    assert_eq!(newest().unwrap().0["why"], "timer");
}

#[test]
fn what_an_agent_shows_is_kept_2_1_31() {
    what_an_agent_shows_is_kept(VERSIONS[0], false);
}

#[test]
fn what_an_agent_shows_is_kept_2_1_325() {
    what_an_agent_shows_is_kept(VERSIONS[2], true);
}

#[test]
fn snapshots_go_where_they_are_wanted_or_nowhere() {
    let lab = Lab::new(VERSIONS[2]).unwrap();
    lab.wire().unwrap();
    let elsewhere = lab.home.home().join("shots");
    lab.home.configure("[recovery]\nsnapshot_dir = \"~/shots\"\n").unwrap();
    lab.shell().unwrap();
    lab.type_line(PANE, "claude 'ask-00 please'").unwrap();
    lab.idle_at(PANE, "reply-00").unwrap();
    let there = || fs::read_dir(&elsewhere).map_or(0, Iterator::count);
    assert!(wait_until(PATIENCE, || there() == 1));
    assert!(!lab.home.state().join("snapshots").exists());
    lab.home.configure("[recovery]\nenabled = false\n").unwrap();
    assert_eq!(lab.home.rekindle_json(&["tick"]).unwrap()["snapshots"], Value::Null);
}
