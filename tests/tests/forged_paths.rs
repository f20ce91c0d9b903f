//! State names no path but its own: what a forged manifest or repair record names elsewhere is neither written nor read.
#![cfg(target_os = "linux")]
#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "throwaway files are forged on purpose, and a test that cannot go on panics"
)]

use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};

use lab::old_state::OldState;
use serde_json::{Value, json};

const REPAIRED: &str = "af77719b-8d82-47f0-83f4-71cf2fe22595";
const OTHER: &str = "c59c9e3e-36d1-4531-b9e6-7cb75f8f1c72";

fn transcript(state: &OldState, session: &str) -> PathBuf {
    state.path("home/.claude/projects/-mnt-project").join(format!("{session}.jsonl"))
}

/// The vault's folder of a conversation.
fn vaulted(state: &OldState, session: &str) -> PathBuf {
    let mut accounts = fs::read_dir(state.path("state/vault/conversations")).unwrap();
    accounts.next().unwrap().unwrap().path().join(session)
}

/// Replaces a text in a manifest and makes every chain value anew, as anybody can who knows the format.
fn forge_manifest(folder: &Path, from: &str, to: &str) {
    let file = folder.join("manifest.jsonl");
    let (mut prev, mut forged) = ("0".repeat(64), String::new());
    let text = fs::read_to_string(&file).unwrap();
    assert!(text.contains(from), "{text}");
    for line in text.lines() {
        let body = &line[..line.rfind(",\"chain\":\"").unwrap()];
        let body = body.replace(from, to);
        let at = body.rfind("\"prev\":\"").unwrap();
        let body = format!("{}\"prev\":\"{prev}\"{}", &body[..at], &body[at + 8 + 65..]);
        prev = blake3::hash(format!("{body}}}").as_bytes()).to_hex().to_string();
        forged.push_str(&format!("{body},\"chain\":\"{prev}\"}}\n"));
    }
    fs::write(file, forged).unwrap();
}

/// Every file outside of the state directory, with its content.
fn outside(state: &OldState) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    let mut folders = vec![state.path("home"), state.path("project"), state.path("elsewhere")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let kind = entry.file_type().unwrap();
            if kind.is_dir() {
                folders.push(entry.path());
            } else if kind.is_file() {
                found.push((entry.path(), fs::read(entry.path()).unwrap()));
            }
        }
    }
    found.sort();
    found
}

fn assert_refused(state: &OldState, words: &[&str], says: &str) {
    let done = state.rekindle(words).unwrap();
    assert!(!done.success() && done.code() != Some(101), "{words:?}: {}{}", done.stdout, done.words());
    let said = format!("{}{}", done.stdout, done.stderr);
    assert!(said.contains(says), "{words:?}: {said}");
}

#[test]
fn a_forged_manifest_writes_nothing_outside_of_its_conversation() {
    let name = format!("projects/-mnt-project/{OTHER}.jsonl");
    for (from, to) in [
        (name.as_str(), "../.bash_profile"),
        (name.as_str(), "settings.json"),
        (name.as_str(), "/mnt/elsewhere/x.jsonl"),
        (name.as_str(), "projects/x/../../../.bash_profile"),
        (name.as_str(), "projects/-mnt-project/af77719b-8d82-47f0-83f4-71cf2fe22595.jsonl"),
        ("\"config\":\"/mnt/home/.claude\"", "\"config\":\"/mnt/elsewhere\""),
    ] {
        let state = OldState::unpack().unwrap();
        fs::create_dir(state.path("elsewhere")).unwrap();
        fs::remove_file(transcript(&state, OTHER)).unwrap();
        forge_manifest(&vaulted(&state, OTHER), from, to);
        let before = outside(&state);
        assert_refused(&state, &["vault", "verify"], "its manifest names");
        assert_refused(&state, &["vault", "list"], "its manifest names");
        assert_refused(&state, &["vault", "restore", OTHER], "its manifest names");
        assert_refused(&state, &["vault", "restore", OTHER, "--provable"], "its manifest names");
        assert_refused(
            &state,
            &["vault", "restore", OTHER, "--to", "/mnt/elsewhere/copy"],
            "its manifest names",
        );
        for words in [&["repair", OTHER][..], &["recover", OTHER, "--dry-run"], &["settle"], &["scan"]] {
            let done = state.rekindle(words).unwrap();
            assert_ne!(done.code(), Some(101), "{}", done.words());
        }
        // It keeps no other conversation from being looked at.
        state.rekindle(&["vault", "sync"]).unwrap();
        let scanned = state.rekindle(&["scan", "--json"]).unwrap();
        let scanned: Value =
            serde_json::from_str(&scanned.stdout).unwrap_or_else(|_| panic!("{}", scanned.words()));
        assert!(scanned.to_string().contains(REPAIRED), "{scanned}");
        assert_eq!(outside(&state), before, "{to}");
    }
}

#[test]
fn exchanged_folders_of_the_vault_give_no_conversation_anothers() {
    let state = OldState::unpack().unwrap();
    let (one, other) = (vaulted(&state, REPAIRED), vaulted(&state, OTHER));
    let aside = one.with_file_name("aside");
    for (from, to) in [(&one, &aside), (&other, &one), (&aside, &other)] {
        fs::rename(from, to).unwrap();
    }
    let before = outside(&state);
    assert_refused(&state, &["vault", "verify"], "its manifest is of");
    for session in [REPAIRED, OTHER] {
        assert_refused(&state, &["vault", "restore", session], "its manifest is of");
    }
    assert_eq!(outside(&state), before);
    // What the agents go on to say does not go behind another's rows.
    let mut said = fs::read(transcript(&state, OTHER)).unwrap();
    said.extend_from_slice(b"{\"type\":\"mode\"}\n");
    fs::write(transcript(&state, OTHER), said).unwrap();
    let manifest = fs::read(one.join("manifest.jsonl")).unwrap();
    assert_refused(&state, &["vault", "sync"], "its manifest is of");
    assert_eq!(fs::read(one.join("manifest.jsonl")).unwrap(), manifest);
}

fn backup(state: &OldState) -> PathBuf {
    let mut folders = fs::read_dir(state.path("state/vault/backups").join(REPAIRED)).unwrap();
    folders.next().unwrap().unwrap().path()
}

fn forge_record(state: &OldState, change: impl FnOnce(&mut Value)) {
    let path = backup(state).join("repair.json");
    let mut record: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    change(&mut record);
    fs::write(path, record.to_string()).unwrap();
}

fn mark(bytes: &[u8], ino: u64) -> Value {
    json!({"ino": ino, "size": bytes.len(), "blake3": blake3::hash(bytes).to_hex().to_string()})
}

#[test]
fn an_undo_changes_no_file_that_a_forged_record_names() {
    for path in ["/mnt/home/.bashrc", "/mnt/home/.claude/settings.json", "/mnt/project/x.jsonl"] {
        for link in [false, true] {
            let state = OldState::unpack().unwrap();
            for file in ["home/.bashrc", "project/x.jsonl"] {
                fs::write(state.path(file), "mine\n").unwrap();
            }
            let there = fs::read(state.path(path.strip_prefix("/mnt/").unwrap())).unwrap();
            let named = format!("/mnt/state/{REPAIRED}.jsonl");
            if link {
                symlink(path, state.path(named.strip_prefix("/mnt/").unwrap())).unwrap();
            }
            let named = if link { named.as_str() } else { path };
            forge_record(&state, |record| {
                record["path"] = json!(named);
                record["aside"] =
                    json!(Path::new(named).with_file_name(format!(".rekindle-{REPAIRED}.swap")));
                record["new"] = mark(&there, 1);
            });
            let before = outside(&state);
            for words in [&["undo"][..], &["undo", REPAIRED], &["undo", "--dry-run"]] {
                assert_refused(&state, words, "which is no transcript of af77719b");
            }
            assert_eq!(outside(&state), before, "{named}");
        }
    }
}

#[test]
fn a_forged_name_of_the_old_file_removes_and_replaces_nothing() {
    let state = OldState::unpack().unwrap();
    forge_record(&state, |record| record["aside"] = json!("/mnt/home/.claude/settings.json"));
    let before = outside(&state);
    assert_refused(&state, &["undo"], "which no swap has made");
    assert!(state.rekindle(&["settle"]).unwrap().success());
    assert_eq!(outside(&state), before);
}

#[test]
fn a_settle_appends_to_no_file_that_a_forged_record_names() {
    let state = OldState::unpack().unwrap();
    fs::write(state.path("home/.bashrc"), "mine\n").unwrap();
    let old = b"echo forged\n";
    let aside = state.path(&format!("state/.rekindle-{REPAIRED}.swap"));
    fs::write(&aside, old).unwrap();
    symlink("/mnt/home/.bashrc", state.path(&format!("state/{REPAIRED}.jsonl"))).unwrap();
    let ino = fs::metadata(&aside).unwrap().ino();
    forge_record(&state, |record| {
        record["path"] = json!(format!("/mnt/state/{REPAIRED}.jsonl"));
        record["aside"] = json!(format!("/mnt/state/.rekindle-{REPAIRED}.swap"));
        record["old"] = mark(old, ino);
        record["watched"] = json!({"carried": 0, "provable": true});
    });
    let before = outside(&state);
    let done = state.rekindle(&["settle"]).unwrap();
    assert!(done.stderr.contains("which is no transcript of af77719b"), "{}", done.stderr);
    for words in [&["scan"][..], &["status"], &["repair", "--all"], &["undo"]] {
        state.rekindle(words).unwrap();
    }
    assert_eq!(outside(&state), before);
    assert_eq!(fs::read(&aside).unwrap(), old, "what is not ours is not removed");
}

#[test]
fn an_undo_puts_back_no_damaged_or_replaced_backup() {
    let damage: [fn(&Path); 4] = [
        |file| fs::write(file, b"{\"type\":\"user\"}\n").unwrap(),
        |file| {
            let mut bytes = fs::read(file).unwrap();
            bytes[40] ^= 1;
            fs::write(file, bytes).unwrap();
        },
        |file| {
            fs::rename(file, file.with_file_name("moved")).unwrap();
            symlink("moved", file).unwrap();
        },
        |file| fs::remove_file(file).unwrap(),
    ];
    for damage in damage {
        let state = OldState::unpack().unwrap();
        damage(&backup(&state).join("transcript"));
        let before = outside(&state);
        for words in [&["undo", "--dry-run"][..], &["undo", REPAIRED]] {
            assert_refused(&state, words, "nothing was changed; what the vault has of it");
        }
        assert_eq!(outside(&state), before);
    }
}

#[test]
fn a_file_that_was_repaired_by_its_path_is_undone_by_its_path_only() {
    let state = OldState::unpack().unwrap();
    let before = fs::read(backup(&state).join("transcript")).unwrap();
    fs::create_dir(state.path("elsewhere")).unwrap();
    let (file, name) = (state.path("elsewhere/copy.jsonl"), "/mnt/elsewhere/copy.jsonl");
    fs::write(&file, &before).unwrap();
    let done = state.rekindle(&["repair", name]).unwrap();
    assert!(done.success(), "{}", done.words());
    let repaired = fs::read(&file).unwrap();
    assert_ne!(repaired, before);
    assert_refused(&state, &["undo"], "rekindle undo PATH");
    assert_eq!(fs::read(&file).unwrap(), repaired);
    let done = state.rekindle(&["undo", name]).unwrap();
    assert!(done.success(), "{}", done.words());
    assert_eq!(fs::read(&file).unwrap(), before);
    let done = state.rekindle(&["redo", name]).unwrap();
    assert!(done.success(), "{}", done.words());
    assert_eq!(fs::read(&file).unwrap(), repaired);
}
