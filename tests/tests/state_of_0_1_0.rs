//! What version 0.1.0 wrote is read, restored from and undone by this version.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "tests")]

use std::fs;
use std::path::PathBuf;

use lab::old_state::OldState;
use serde_json::Value;

const REPAIRED: &str = "af77719b-8d82-47f0-83f4-71cf2fe22595";

fn agents(state: &OldState) -> Vec<Value> {
    state.json(&["status", "--all"]).unwrap()["agents"].as_array().cloned().unwrap()
}

fn backup(state: &OldState) -> PathBuf {
    let folder = state.path("state/vault/backups").join(REPAIRED);
    let stamp = fs::read_dir(folder).unwrap().next().unwrap().unwrap();
    stamp.path().join("transcript")
}

#[test]
fn its_sessions_are_shown_with_what_waited_in_the_spool() {
    let state = OldState::unpack().unwrap();
    let agents = agents(&state);
    assert_eq!(agents.len(), 3, "{agents:?}");
    let shop = agents.iter().find(|agent| agent["name"] == "shop").unwrap();
    assert_eq!(shop["state"], "crashed");
    assert_eq!(shop["task"], "ask-03 and the cellar", "its last prompt was only in the spool");
    let explained = state.json(&["explain", "shop"]).unwrap();
    assert_eq!(explained["facts"]["session"]["grade"], "proven");
    assert_eq!(explained["restore"]["would"], "resumed", "{explained}");
}

#[test]
fn its_agents_are_restored() {
    let state = OldState::unpack().unwrap();
    let plan = state.json(&["restore", "--dry-run"]).unwrap();
    let panes = plan["panes"].as_array().unwrap();
    let resumed: Vec<&Value> = panes.iter().filter(|pane| pane["act"] == "resume").collect();
    assert_eq!(resumed.len(), 2, "{plan}");
    for pane in resumed {
        let words: Vec<&str> = pane["argv"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
        let session = pane["sessionId"].as_str().unwrap();
        assert_eq!(words, ["claude", "--resume", session, "--model", "sonnet"]);
    }
}

/// A server that its user started after the crash.
struct NewServer<'a>(&'a OldState);

impl NewServer<'_> {
    fn tmux(&self, words: &[&str]) {
        let words: Vec<&str> = ["tmux", "-f", "/dev/null"].into_iter().chain(words.iter().copied()).collect();
        let done = self.0.command(&words).output().unwrap();
        assert!(done.status.success(), "{words:?}: {done:?}");
    }
}

impl Drop for NewServer<'_> {
    fn drop(&mut self) {
        let _ = self.0.command(&["tmux", "kill-server"]).output();
    }
}

/// As many panes as before say nothing of who was in them.
#[test]
fn a_save_by_hand_keeps_the_crashed_agents_until_they_are_restored() {
    let state = OldState::unpack().unwrap();
    let resumed = || {
        let plan = state.json(&["restore", "--dry-run"]).unwrap();
        plan["panes"].as_array().unwrap().iter().filter(|pane| pane["act"] == "resume").count()
    };
    assert_eq!(resumed(), 2);
    let server = NewServer(&state);
    server.tmux(&["new-session", "-d", "-s", "a", "-x", "100", "-y", "40", "cat"]);
    for _ in 0..2 {
        server.tmux(&["split-window", "-t", "a", "cat"]);
    }
    for words in [&["save"][..], &["save", "--no-scrollback"]] {
        let planned = state.json(&[words, &["--dry-run"]].concat()).unwrap();
        let saved = state.rekindle(&[words, &["--json"]].concat()).unwrap();
        assert!(saved.success(), "{}", saved.words());
        assert!(saved.stderr.contains("with 2 agents of a tmux server that is gone"), "{}", saved.stderr);
        let told: Value = serde_json::from_str(&saved.stdout).unwrap();
        assert_eq!((&told["current"], &told["counts"]["agents"]), (&true.into(), &2.into()), "{told}");
        assert_eq!(planned["counts"], told["counts"]);
        assert_eq!(resumed(), 2, "{words:?}");
    }
    let forced = state.rekindle(&["save", "--force"]).unwrap();
    assert!(forced.success() && forced.stderr.contains("leaves out"), "{}", forced.words());
    assert_eq!(resumed(), 0, "a save by force has what is there alone");
}

#[test]
fn its_repair_is_undone_to_the_byte() {
    let state = OldState::unpack().unwrap();
    let transcript = state.path("home/.claude/projects/-mnt-project").join(format!("{REPAIRED}.jsonl"));
    let before = fs::read(backup(&state)).unwrap();
    assert_ne!(fs::read(&transcript).unwrap(), before);
    let done = state.rekindle(&["undo", REPAIRED]).unwrap();
    assert!(done.success(), "{}", done.words());
    assert_eq!(fs::read(&transcript).unwrap(), before);
}

/// It wrote no operations: each of its repairs and restores is one.
#[test]
fn its_repair_is_an_operation_that_is_undone_and_redone() {
    let state = OldState::unpack().unwrap();
    let transcript = state.path("home/.claude/projects/-mnt-project").join(format!("{REPAIRED}.jsonl"));
    let (before, repaired) = (fs::read(backup(&state)).unwrap(), fs::read(&transcript).unwrap());
    let listed = state.json(&["history"]).unwrap();
    let of_it = |one: &&Value| one["effects"][0]["sessionId"] == REPAIRED;
    let operation = listed["operations"].as_array().unwrap().iter().find(of_it).unwrap();
    assert_eq!((&operation["command"], &operation["undoable"]), (&"repair".into(), &true.into()), "{listed}");
    let id = operation["shortId"].as_str().unwrap();
    let done = state.rekindle(&["undo", id]).unwrap();
    assert!(done.success(), "{}", done.words());
    assert_eq!(fs::read(&transcript).unwrap(), before);
    let done = state.rekindle(&["redo", id]).unwrap();
    assert!(done.success(), "{}", done.words());
    assert_eq!(fs::read(&transcript).unwrap(), repaired);
}

#[test]
fn its_vault_is_whole_and_gives_every_conversation_back() {
    let state = OldState::unpack().unwrap();
    let verified = state.json(&["vault", "verify"]).unwrap();
    assert_eq!(verified["damage"].as_array().map(Vec::len), Some(0), "{verified}");
    let listed = state.json(&["vault", "list"]).unwrap();
    let sessions: Vec<&str> = listed["conversations"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|one| one["sessionId"].as_str())
        .collect();
    assert_eq!(sessions.len(), 3, "{listed}");
    for session in sessions {
        let done =
            state.rekindle(&["vault", "restore", session, "--to", &format!("/mnt/{session}.copy")]).unwrap();
        assert!(done.success(), "{}", done.words());
        let copy = fs::read(state.path(&format!("{session}.copy"))).unwrap();
        let folders = fs::read_dir(state.path("home/.claude/projects")).unwrap();
        let file = folders
            .map(|folder| folder.unwrap().path().join(format!("{session}.jsonl")))
            .find(|file| file.exists());
        let there = fs::read(file.unwrap()).unwrap();
        assert!(there.starts_with(&copy) && !copy.is_empty(), "{session}: {} of {}", copy.len(), there.len());
    }
}
