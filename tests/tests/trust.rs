//! State is not code: what was edited, forged, exchanged or copied from another machine starts nothing by itself.
#![cfg(target_os = "linux")]
#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "throwaway files are edited on purpose, and a test that cannot go on panics"
)]

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use lab::old_state::OldState;
use serde_json::{Value, json};

/// The sessions of the fixture, by where they were.
fn session_at(state: &OldState, place: &str) -> String {
    let folder = fs::read_dir(state.path("state/session-health")).unwrap();
    let mut records = folder.map(|entry| fs::read_to_string(entry.unwrap().path()).unwrap());
    let found = records.find(|text| text.contains(&format!("\"ref\": \"{place}\""))).unwrap();
    let record: Value = serde_json::from_str(&found).unwrap();
    record["sessionId"].as_str().unwrap().to_owned()
}

fn record(state: &OldState, session: &str) -> std::path::PathBuf {
    state.path("state/session-health").join(format!("{session}.lock"))
}

/// What a restore would do with a session: its act and its words.
fn planned(state: &OldState, session: &str) -> (String, Vec<String>) {
    let plan = state.json(&["restore", "--dry-run"]).unwrap();
    let pane = plan["panes"].as_array().unwrap().iter().find(|pane| pane["sessionId"] == session).cloned();
    let pane = pane.unwrap_or_else(|| panic!("{plan}"));
    let words = pane["argv"].as_array().into_iter().flatten().filter_map(Value::as_str);
    (pane["act"].as_str().unwrap().to_owned(), words.map(str::to_owned).collect())
}

/// What `recover SESSION` would do, which is the user's own wish.
fn recovered_by_hand(state: &OldState, session: &str) -> Value {
    let done = state.rekindle(&["recover", session, "--dry-run", "--json"]).unwrap();
    assert!(done.success(), "{}", done.words());
    serde_json::from_str(&done.stdout).unwrap()
}

fn would(state: &OldState, session: &str) -> String {
    let explained = state.json(&["explain", session]).unwrap();
    explained["restore"]["would"].as_str().unwrap().to_owned()
}

/// Edits the newest run of a record by hand.
fn edit_run(state: &OldState, session: &str, change: impl FnOnce(&mut Value)) {
    let path = record(state, session);
    let mut value: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    change(value["runs"].as_array_mut().unwrap().last_mut().unwrap());
    fs::write(path, serde_json::to_string_pretty(&value).unwrap() + "\n").unwrap();
}

/// A shell in a new server, and everything that the restore's panes run.
fn restore_for_real(state: &OldState) -> String {
    fs::create_dir_all(state.path("tmux-0")).unwrap();
    fs::set_permissions(state.path("tmux-0"), std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
    // An agent that writes down how it was started, and ends: no word of it is waited for longer than that.
    let line = "printf '%s\\n' \"$0 $*\" >> /mnt/started; env >> /mnt/started; exit 1";
    state
        .script(
            "claude",
            &format!("case \"$1\" in --version) echo '2.1.325 (Claude Code)';; *) {line};; esac"),
        )
        .unwrap();
    let done = state.rekindle(&["restore", "--yes"]).unwrap();
    let mut end = state.command(&["tmux", "-S", "/mnt/tmux-0/default", "kill-server"]);
    end.output().unwrap();
    format!("{}{}", done.stdout, done.words())
}

#[test]
fn an_edited_record_starts_nothing_by_itself_and_gives_no_words() {
    let state = OldState::unpack().unwrap();
    let session = session_at(&state, "work:1.0");
    assert_eq!(planned(&state, &session).0, "resume", "unedited it would come back");
    let evil = "#!/bin/sh\ntouch /mnt/executed\n";
    fs::create_dir(state.path("evil")).unwrap();
    fs::write(state.path("evil/claude"), evil).unwrap();
    fs::set_permissions(state.path("evil/claude"), std::os::unix::fs::PermissionsExt::from_mode(0o755))
        .unwrap();
    edit_run(&state, &session, |run| {
        run["argv"] = json!(["/mnt/evil/claude", "--dangerously-skip-permissions"]);
        run["env"]["LD_PRELOAD"] = json!("/mnt/evil/lib.so");
        run["env"]["PATH"] = json!("/mnt/evil:/usr/bin:/bin");
    });
    assert_eq!(planned(&state, &session).0, "offer");
    assert_eq!(would(&state, &session), "offered", "explain says what the restore does");
    let why = state.json(&["explain", &session]).unwrap()["restore"]["why"].as_str().unwrap().to_owned();
    assert!(why.contains("its record was edited"), "{why}");
    // A later settle gives the record a new code, and no power.
    for _ in 0..2 {
        state.json(&["status", "--all"]).unwrap();
        assert_eq!(planned(&state, &session).0, "offer");
    }
    let by_hand = recovered_by_hand(&state, &session).to_string();
    assert!(!by_hand.contains("evil") && !by_hand.contains("dangerously"), "{by_hand}");
    let said = restore_for_real(&state);
    assert!(!state.path("executed").exists(), "{said}");
    let started = fs::read_to_string(state.path("started")).unwrap_or_default();
    assert!(!started.contains(&session) && !started.contains("LD_PRELOAD"), "{started}");
}

#[test]
fn a_record_copied_over_another_gives_that_one_nothing() {
    let state = OldState::unpack().unwrap();
    let (one, other) = (session_at(&state, "work:1.0"), session_at(&state, "work:2.0"));
    fs::copy(record(&state, &one), record(&state, &other)).unwrap();
    state.json(&["status", "--all"]).unwrap();
    let plan = state.json(&["restore", "--dry-run"]).unwrap().to_string();
    assert_eq!(plan.matches(&format!("\"--resume\",\"{one}\"")).count(), 1, "{plan}");
    assert_ne!(planned(&state, &other).0, "resume");
}

#[test]
fn a_forged_line_in_a_spool_starts_nothing() {
    let state = OldState::unpack().unwrap();
    let session = session_at(&state, "work:1.0");
    state.json(&["status", "--all"]).unwrap();
    let forged = json!({
        "schema": 1, "event": "SessionStart", "at": 1_900_000_000_000_i64,
        "chain": [{"pid": 4_000_000, "start": 1, "tty": 34816, "comm": "claude",
            "argv": ["/mnt/evil/claude", "--dangerously-skip-permissions"]}],
        "launch": {"env": [["PATH", "/mnt/evil"], ["LD_PRELOAD", "/mnt/evil.so"]], "entrypoint": "cli",
            "boot_id": null, "pid_domain": null},
        "input": {"session_id": session, "cwd": "/mnt/evil", "source": "startup",
            "transcript_path": "/mnt/evil/x.jsonl", "permission_mode": "bypassPermissions"},
    });
    let spool = state.path("state/spool").join(format!("{session}.jsonl"));
    let text = fs::read_to_string(&spool).unwrap();
    fs::write(&spool, format!("{text}\n{forged}\n")).unwrap();
    let (act, words) = planned(&state, &session);
    assert!(!words.iter().any(|word| word.contains("evil") || word.contains("dangerously")), "{words:?}");
    assert!(act == "resume" || act == "offer", "{act}");
    let stored = fs::read_to_string(record(&state, &session)).unwrap();
    let stored: Value = serde_json::from_str(&stored).unwrap();
    assert_eq!(stored["projectDir"], "/mnt/project");
    assert_eq!(stored["cwd"], "/mnt/project");
    // In a spool of a session that is known nowhere else.
    let unknown = "11111111-2222-4333-8444-555555555555";
    let forged = forged.to_string().replace(&session, unknown);
    fs::write(state.path("state/spool").join(format!("{unknown}.jsonl")), format!("\n{forged}\n")).unwrap();
    state.json(&["status", "--all"]).unwrap();
    assert_eq!(would(&state, unknown), "offered");
}

#[test]
fn exchanged_ids_in_a_save_give_no_pane_anothers_conversation() {
    let state = OldState::unpack().unwrap();
    let (one, other) = (session_at(&state, "work:1.0"), session_at(&state, "work:2.0"));
    let saves = fs::read_dir(state.path("state/saves")).unwrap();
    for path in
        saves.map(|entry| entry.unwrap().path()).filter(|path| path.extension().is_some_and(|e| e == "json"))
    {
        let text = fs::read_to_string(&path).unwrap();
        fs::write(&path, text.replace(&one, "@").replace(&other, &one).replace('@', &other)).unwrap();
    }
    let plan = state.json(&["restore", "--dry-run"]).unwrap();
    for pane in plan["panes"].as_array().unwrap().iter().filter(|pane| !pane["sessionId"].is_null()) {
        assert_eq!(pane["act"], "offer", "{pane}");
    }
    // `explain` says what the restore decides, and the save is marked where it stands.
    for session in [&one, &other] {
        let explained = state.json(&["explain", session]).unwrap();
        assert_eq!(explained["restore"]["would"], "offered", "{explained}");
        assert!(explained["restore"]["why"].as_str().unwrap().contains("only guessed"), "{explained}");
    }
    let listed = state.rekindle(&["saves", "list"]).unwrap().stdout;
    let current = listed.lines().find(|line| line.contains("current")).unwrap();
    assert!(current.contains("not written here"), "{listed}");
    // Nor after a restore has made the panes and the next save has written them down.
    let said = restore_for_real(&state);
    assert!(!fs::read_to_string(state.path("started")).unwrap_or_default().contains("--resume"), "{said}");
}

#[test]
fn a_pane_offered_from_an_edited_save_is_not_surer_in_the_next_save() {
    let state = OldState::unpack().unwrap();
    let saves = fs::read_dir(state.path("state/saves")).unwrap();
    for path in
        saves.map(|entry| entry.unwrap().path()).filter(|path| path.extension().is_some_and(|e| e == "json"))
    {
        let text = fs::read_to_string(&path).unwrap();
        fs::write(&path, text.replacen("\"title\": \"", "\"title\": \"x", 1)).unwrap();
    }
    let listed = state.rekindle(&["saves", "list"]).unwrap();
    assert!(listed.stdout.contains("not written here"), "{}", listed.stdout);
    fs::create_dir_all(state.path("tmux-0")).unwrap();
    fs::set_permissions(state.path("tmux-0"), std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
    state
        .script("claude", "case \"$1\" in --version) echo '2.1.325 (Claude Code)';; *) exit 1;; esac")
        .unwrap();
    let restored = state.rekindle(&["restore", "--yes"]).unwrap();
    let saved = state.rekindle(&["save"]).unwrap();
    let kept = state.json(&["saves", "list"]).unwrap();
    state.command(&["tmux", "-S", "/mnt/tmux-0/default", "kill-server"]).output().unwrap();
    assert!(saved.success(), "{}{}", restored.words(), saved.words());
    let current = kept["saves"].as_array().unwrap().iter().find(|save| save["current"] == true).unwrap();
    assert_eq!((&current["genuine"], &current["kind"]), (&json!(true), &json!("manual")), "{kept}");
    let plan = state.json(&["restore", "--dry-run"]).unwrap();
    let panes = plan["panes"].as_array().unwrap().iter().filter(|pane| !pane["sessionId"].is_null());
    let acts: Vec<&Value> = panes.map(|pane| &pane["act"]).collect();
    assert!(acts.len() > 1 && acts.iter().all(|act| **act == "offer"), "{plan}");
}

#[test]
fn a_record_that_cannot_be_read_is_not_called_this_machines_own() {
    let state = OldState::unpack().unwrap();
    let path = record(&state, &session_at(&state, "work:1.0"));
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    let shown = state.rekindle(&["trust"]).unwrap();
    assert_eq!(shown.code(), Some(4), "{}{}", shown.stdout, shown.words());
    assert!(shown.stdout.contains("A record is left out: rekindle cannot read"), "{}", shown.stdout);
    assert!(!shown.stdout.contains("Nothing to accept"), "{}", shown.stdout);
}

#[test]
fn a_copy_of_everything_on_another_machine_starts_nothing_by_itself() {
    let state = OldState::unpack_elsewhere().unwrap();
    let session = session_at(&state, "work:1.0");
    let (act, _) = planned(&state, &session);
    let would = would(&state, &session);
    assert!(
        matches!((act.as_str(), would.as_str()), ("offer", "offered") | ("refuse", "refused")),
        "{act}, {would}"
    );
}

#[test]
fn without_its_key_the_state_is_read_and_not_written_until_it_is_adopted() {
    let state = OldState::unpack().unwrap();
    let session = session_at(&state, "work:1.0");
    fs::remove_file(state.path("home/.config/rekindle/machine.key")).unwrap();
    let before = fs::read(record(&state, &session)).unwrap();
    let shown = state.json(&["status", "--all"]).unwrap();
    assert_eq!(shown["agents"].as_array().map(Vec::len), Some(3), "{shown}");
    assert!(shown["stale"].as_str().is_some_and(|why| why.contains("rekindle trust")), "{shown}");
    assert!(!state.path("home/.config/rekindle/machine.key").exists(), "no new key is made by itself");
    assert_eq!(fs::read(record(&state, &session)).unwrap(), before);
    let restored = state.rekindle(&["restore", "--yes"]).unwrap();
    assert_eq!(restored.code(), Some(3), "{}", restored.words());
    let listed = state.rekindle(&["trust"]).unwrap();
    assert_eq!(listed.code(), Some(2), "without a terminal it wants --yes: {}", listed.words());
    assert!(listed.stdout.contains("claude --model sonnet"), "{}", listed.stdout);
    assert!(!state.path("home/.config/rekindle/machine.key").exists());
    let adopted = state.rekindle(&["trust", "--yes"]).unwrap();
    assert!(adopted.success(), "{}", adopted.words());
    let (act, words) = planned(&state, &session);
    assert_eq!(act, "resume");
    assert_eq!(words[..3], ["claude", "--resume", session.as_str()]);
}

#[test]
fn an_edited_record_is_accepted_only_after_its_user_has_seen_it() {
    let state = OldState::unpack().unwrap();
    let session = session_at(&state, "work:1.0");
    let long = "A".repeat(900);
    edit_run(&state, &session, |run| {
        run["argv"] = json!(["claude", "--append-system-prompt", long, "--model", "opus"]);
    });
    state.json(&["status", "--all"]).unwrap();
    assert_eq!(planned(&state, &session).0, "offer");
    let shown = state.rekindle(&["trust", &session]).unwrap();
    assert!(shown.stdout.contains(&format!("{long} --model opus")), "{}{}", shown.stdout, shown.words());
    assert_eq!(planned(&state, &session).0, "offer", "showing accepts nothing");
    // What was not shown is not accepted: where it starts, what it goes on as.
    let path = record(&state, &session);
    let mut value: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    (value["projectDir"], value["nextId"]) = (json!("/mnt/evil"), json!(session_at(&state, "work:2.0")));
    fs::write(&path, serde_json::to_string_pretty(&value).unwrap() + "\n").unwrap();
    assert!(state.rekindle(&["trust", &session, "--yes"]).unwrap().success());
    let stored: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    assert_eq!((&stored["projectDir"], &stored["nextId"]), (&Value::Null, &Value::Null));
    let (act, words) = planned(&state, &session);
    assert_eq!((act.as_str(), &words[5..]), ("resume", &["--model".to_owned(), "opus".to_owned()][..]));
    let state = state.moved_elsewhere().unwrap();
    assert_ne!(planned(&state, &session).0, "resume", "it was accepted for the other machine");
}

/// Everything below the state directory but what is derived, and what mirroring may add to.
fn sealed_state(state: &OldState) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut files = BTreeMap::new();
    let mut folders = vec![state.path("state")];
    while let Some(folder) = folders.pop() {
        for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            let name = path.strip_prefix(state.path("state")).unwrap().to_path_buf();
            let derived = ["cache", "locks", "vault/conversations", "vault/index", "journal.jsonl"];
            if derived.iter().any(|part| name.starts_with(part)) || name.ends_with("lock") {
                continue;
            }
            if path.is_dir() {
                folders.push(path);
            } else {
                files.insert(name, fs::read(&path).unwrap());
            }
        }
    }
    files
}

#[test]
fn with_another_key_nothing_is_changed_but_the_mirror() {
    let state = OldState::unpack().unwrap();
    let session = session_at(&state, "work:1.0");
    fs::write(state.path("home/.config/rekindle/machine.key"), [7; 32]).unwrap();
    let transcript = state.path("home/.claude/projects/-mnt-project").join(format!("{session}.jsonl"));
    let rows = fs::read_to_string(&transcript).unwrap();
    let spoken = rows.lines().filter(|row| row.contains("\"type\":\"assistant\"")).nth(1).unwrap();
    let damaged = rows.replace(&format!("{spoken}\n"), "");
    fs::write(&transcript, &damaged).unwrap();
    let before = sealed_state(&state);
    let is_unchanged = |words: &[&str]| {
        let after = sealed_state(&state);
        let is_new = |(path, bytes): &(&PathBuf, &Vec<u8>)| before.get(*path) != Some(*bytes);
        let changed: Vec<&PathBuf> = after.iter().filter(is_new).map(|(path, _)| path).collect();
        assert!(changed.is_empty() && after.len() == before.len(), "{words:?} changed {changed:?}");
    };
    let mirrored = state.rekindle(&["vault", "sync"]).unwrap();
    is_unchanged(&["vault", "sync"]);
    assert!(mirrored.success(), "a conversation is mirrored all the same: {}", mirrored.words());
    for words in [
        &["repair", &session][..],
        &["repair", "--all"],
        &["undo"],
        &["redo"],
        &["vault", "restore", &session],
        &["vault", "prune"],
        &["vault", "forget", &session, "--yes"],
        &["restore", "--yes"],
        &["save"],
        &["note", &session, "mine"],
        &["note", &session, "--clear"],
        &["name", &session, "mine"],
        &["recover", &session, "--auto", "off"],
        &["unpause"],
    ] {
        let refused = state.rekindle(words).unwrap();
        assert_eq!(refused.code(), Some(3), "{words:?}: {}{}", refused.stdout, refused.words());
        assert!(refused.stderr.contains("rekindle trust"), "{words:?}: {}", refused.stderr);
        is_unchanged(words);
    }
    assert_eq!(fs::read_to_string(&transcript).unwrap(), damaged);
    // Stopping everything automatic takes no key.
    assert!(state.rekindle(&["pause"]).unwrap().success());
    fs::remove_file(state.path("state/paused")).unwrap();
    // What is only looked at is shown.
    for words in [&["scan"][..], &["repair", &session, "--dry-run"], &["history"], &["vault", "status"]] {
        let shown = state.rekindle(words).unwrap();
        assert!(shown.success(), "{words:?}: {}", shown.words());
    }
    fs::remove_file(state.path("home/.config/rekindle/machine.key")).unwrap();
    let found = state.rekindle(&["doctor"]).unwrap();
    let said = found.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("run `rekindle trust`"), "{said}");
    assert_eq!(state.rekindle(&["repair", &session]).unwrap().code(), Some(3), "nor without any key");
}
