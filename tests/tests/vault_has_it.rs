//! What the vault has is put back before a repair invents anything, and a damaged copy is never taken for everything.
#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "throwaway files are damaged on purpose, and a test that cannot go on panics"
)]

use std::fs;
use std::path::{Path, PathBuf};

use lab::home::Home;
use lab::talk;
use serde_json::{Value, json};

const SESSION: &str = "d2d2d2d2-aaaa-4aaa-8aaa-aaaaaaaaaaaa";

fn sync(home: &Home) {
    assert!(home.rekindle(&["vault", "sync"]).unwrap().success());
}

fn manifest(home: &Home) -> PathBuf {
    let account = fs::read_dir(home.state().join("vault/conversations")).unwrap().next().unwrap().unwrap();
    account.path().join(SESSION).join("manifest.jsonl")
}

/// The agent lost its transcript and went on in a new file; then a bit of the vault's first version flips.
#[test]
fn a_flipped_bit_makes_no_repair_and_no_restore_give_less_than_everything() {
    let home = Home::new().unwrap();
    let path = home.put_talk(SESSION, 10).unwrap();
    let whole = talk::talk(SESSION, &home.project(), 12).bytes();
    let first = fs::read(&path).unwrap();
    assert!(whole.starts_with(&first));
    sync(&home);
    fs::remove_file(&path).unwrap();
    let rest = &whole[first.len()..];
    fs::write(&path, rest).unwrap();
    sync(&home);
    let manifest = manifest(&home);
    let mut bytes = fs::read(&manifest).unwrap();
    let line = bytes.iter().position(|byte| *byte == b'\n').unwrap() + 1;
    bytes[line + 60] ^= 1;
    fs::write(&manifest, bytes).unwrap();
    for _ in 0..2 {
        let scan = home.scan(SESSION).unwrap();
        let classes: Vec<&Value> =
            scan["findings"].as_array().unwrap().iter().map(|finding| &finding["class"]).collect();
        assert!(classes.contains(&&json!("A7")), "{scan}");
        let told = home.rekindle(&["repair", SESSION]).unwrap();
        assert_eq!(told.code(), Some(3), "{}", told.words());
        assert_eq!(fs::read(&path).unwrap(), rest, "nothing is changed");
        sync(&home);
    }
    for words in [&["vault", "list"][..], &["vault", "status"]] {
        let told = home.rekindle(words).unwrap().stdout;
        assert!(told.contains("line 2 of its manifest is damaged"), "{words:?}: {told}");
    }
    // The way on that the refusal leaves: a mended copy of what is there.
    assert!(home.rekindle(&["repair", SESSION, "--as-copy"]).unwrap().success());
    fs::remove_file(&path).unwrap();
    for _ in 0..2 {
        let told = home.rekindle(&["vault", "restore", SESSION]).unwrap();
        assert_eq!(told.code(), Some(3), "{}", told.words());
        assert!(!path.exists());
        sync(&home);
    }
    let told = home.rekindle(&["vault", "restore", SESSION, "--whole"]).unwrap();
    assert_eq!(told.code(), Some(4), "{}", told.words());
}

/// Two calls at once, as agents write them: the first result is a leaf, and the conversation goes on behind the second.
fn parallel(home: &Home) -> Vec<Value> {
    let id = |n: usize| format!("{n:08}-1111-4222-8333-000000000000");
    let row = |n: usize, parent: Option<usize>, kind: &str, content: Value, reply: &str| {
        let mut message = json!({"role": kind, "content": content});
        if kind == "assistant" {
            for (key, value) in [("id", reply), ("type", "message"), ("model", "m")] {
                message[key] = json!(value);
            }
        }
        json!({"parentUuid": parent.map(id), "isSidechain": false, "userType": "external", "cwd": home.project(),
            "sessionId": SESSION, "version": "2.1.325", "type": kind, "message": message, "uuid": id(n),
            "timestamp": format!("2026-11-16T10:{n:02}:00.000Z")})
    };
    let call =
        |id: &str| json!([{"type": "tool_use", "id": id, "name": "Read", "input": {"file_path": "/a"}}]);
    let result = |id: &str, text: &str| json!([{"type": "tool_result", "tool_use_id": id, "content": text}]);
    let says = |text: &str| json!([{"type": "text", "text": text}]);
    vec![
        row(0, None, "user", json!("read both files"), ""),
        row(1, Some(0), "assistant", call("toolu_A"), "m1"),
        row(2, Some(1), "assistant", call("toolu_B"), "m1"),
        row(3, Some(1), "user", result("toolu_A", "PRECIOUS"), ""),
        row(4, Some(2), "user", result("toolu_B", "other"), ""),
        row(5, Some(4), "assistant", says("both read"), "m2"),
        row(6, Some(5), "user", json!("go on"), ""),
        row(7, Some(6), "assistant", says("done"), "m3"),
    ]
}

fn bytes(rows: &[Value]) -> Vec<u8> {
    rows.iter().flat_map(|row| format!("{row}\n").into_bytes()).collect()
}

/// A power cut left NUL bytes, and an editor left empty words: with and without a sync that saw it.
#[test]
fn rows_that_the_vault_has_are_put_back_and_not_invented() {
    for seen in [false, true] {
        for damage in ["nul", "emptied", "vanished"] {
            let home = Home::new().unwrap();
            let mut rows = parallel(&home);
            let whole = bytes(&rows);
            let path = home.put(SESSION, &whole).unwrap();
            sync(&home);
            let hurt = match damage {
                "nul" => {
                    let start = bytes(&rows[..3]).len();
                    let end = bytes(&rows[..4]).len() - 1;
                    let mut hurt = whole.clone();
                    hurt[start..end].fill(0);
                    hurt
                }
                "emptied" => {
                    rows[6]["message"]["content"] = json!("");
                    rows[5]["message"]["content"][0]["text"] = json!("");
                    bytes(&rows)
                }
                _ => {
                    rows.remove(3);
                    bytes(&rows)
                }
            };
            fs::write(&path, hurt).unwrap();
            if seen {
                sync(&home);
            }
            let scan = home.scan(SESSION).unwrap();
            assert!(scan["findings"].to_string().contains("\"A7\""), "{damage}, seen: {seen}: {scan}");
            let told = home.repair(&[SESSION]).unwrap();
            assert_eq!(told["status"], "repaired", "{damage}, seen: {seen}: {told}");
            let found = fs::read(&path).unwrap();
            assert!(found == whole, "{damage}, seen: {seen}: {}", String::from_utf8_lossy(&found));
            assert_eq!(home.scan(SESSION).unwrap()["status"], "healthy", "{damage}, seen: {seen}");
        }
    }
}

fn beside(path: &Path) -> [(PathBuf, &'static str); 2] {
    let folder = path.with_extension("");
    [
        (folder.join("subagents/agent-a1.jsonl"), "{\"type\":\"user\"}\n"),
        (folder.join("tool-results/t1.txt"), "a long result"),
    ]
}

fn with_side_files() -> (Home, PathBuf) {
    let home = Home::new().unwrap();
    let path = home.put_talk(SESSION, 4).unwrap();
    for (file, text) in beside(&path) {
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
    }
    sync(&home);
    (home, path)
}

#[test]
fn what_a_sync_says_a_repair_brings_back_comes_back() {
    for command in [&["repair", SESSION][..], &["vault", "restore", SESSION]] {
        let (home, path) = with_side_files();
        let [(agent, rows), (result, text)] = beside(&path);
        fs::remove_file(&agent).unwrap();
        fs::write(&result, "").unwrap();
        let told = home.rekindle(&["vault", "sync"]).unwrap().stdout;
        assert!(told.contains("t1.txt was cut short; the vault has it: rekindle repair"), "{told}");
        let done = home.rekindle(command).unwrap();
        assert!(done.success(), "{command:?}: {}", done.words());
        assert_eq!(fs::read_to_string(&agent).unwrap(), rows, "{command:?}");
        assert_eq!(fs::read_to_string(&result).unwrap(), text, "{command:?}");
        sync(&home);
        assert_eq!(home.rekindle_json(&["vault", "status"]).unwrap()["losses"], json!([]), "{command:?}");
        assert_eq!(home.repair(&[SESSION]).unwrap()["status"], "already_healthy");
    }
}

/// One result whose copy is damaged keeps nothing else away, and is named.
#[test]
fn a_damaged_side_file_is_named_and_the_rest_comes_back() {
    for command in [&["repair", SESSION][..], &["vault", "restore", SESSION]] {
        let (home, path) = with_side_files();
        let whole = fs::read(&path).unwrap();
        let [(agent, rows), (result, text)] = beside(&path);
        let data = manifest(&home).with_file_name("data");
        let mut stored = fs::read(&data).unwrap();
        let packed = stored.windows(text.len()).position(|part| part == text.as_bytes()).unwrap();
        stored[packed] ^= 1;
        fs::write(&data, stored).unwrap();
        for file in [&path, &agent, &result] {
            fs::remove_file(file).unwrap();
        }
        let done = home.rekindle(command).unwrap();
        assert_eq!(done.code(), Some(4), "{command:?}: {}", done.words());
        assert!(done.words().contains("t1.txt"), "{command:?}: {}", done.words());
        assert_eq!(fs::read(&path).unwrap(), whole, "{command:?}");
        assert_eq!(fs::read_to_string(&agent).unwrap(), rows, "{command:?}");
        assert!(!result.exists());
    }
}
