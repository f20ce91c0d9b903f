//! What stands in the way of a copy is said: tombstones that are not this machine's, and copies that cannot be used.
#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "throwaway files are damaged on purpose, and a test that cannot go on panics"
)]

use std::fs;
use std::path::{Path, PathBuf};

use lab::home::Home;
use serde_json::{Value, json};

const SESSION: &str = "d0d0d0d0-aaaa-4aaa-8aaa-aaaaaaaaaaaa";
const OTHER: &str = "d1d1d1d1-aaaa-4aaa-8aaa-aaaaaaaaaaaa";

/// A home in which the vault has one conversation, and the folder of its copy.
fn mirrored() -> (Home, PathBuf) {
    let home = Home::new().unwrap();
    home.put_talk(SESSION, 3).unwrap();
    assert!(home.rekindle(&["vault", "sync"]).unwrap().success());
    let account = fs::read_dir(home.state().join("vault/conversations")).unwrap().next().unwrap().unwrap();
    let folder = account.path().join(SESSION);
    assert!(folder.is_dir());
    (home, folder)
}

/// The file that marks a conversation of the same account as forgotten.
fn tombstone(home: &Home, copy: &Path, session: &str) -> (PathBuf, String) {
    let account = copy.parent().unwrap().file_name().unwrap().to_string_lossy().into_owned();
    let key = format!("{account}/{session}");
    let folder = home.state().join("vault/forgotten");
    fs::create_dir_all(&folder).unwrap();
    (folder.join(format!("{}.json", blake3::hash(key.as_bytes()).to_hex())), key)
}

fn doubts(home: &Home) -> Vec<Value> {
    home.rekindle_json(&["vault", "status"]).unwrap()["doubtful"].as_array().unwrap().clone()
}

fn finds(home: &Home, id: &str) -> bool {
    home.rekindle(&["doctor", "--json"]).unwrap().stdout.contains(id)
}

/// Whether a sync brings the vault's copy up to date with a longer transcript.
fn is_still_mirrored(home: &Home, session: &str) -> bool {
    let path = home.put_talk(session, 6).unwrap();
    assert!(home.rekindle(&["vault", "sync"]).unwrap().success());
    let copy = home.root().join("copy");
    let to = copy.to_string_lossy().into_owned();
    let _ = fs::remove_file(&copy);
    home.rekindle(&["vault", "restore", session, "--to", &to]).unwrap();
    fs::read(&copy).ok() == fs::read(path).ok()
}

#[test]
fn a_tombstone_of_another_machine_stops_no_mirroring_and_is_said() {
    let (home, copy) = mirrored();
    let (file, key) = tombstone(&home, &copy, SESSION);
    let at = "2026-01-01T00:00:00Z";
    let foreign = json!({"schema": 1, "key": key, "at": at, "state": "forgotten", "machine": "another"});
    fs::write(&file, foreign.to_string()).unwrap();
    assert!(is_still_mirrored(&home, SESSION));
    let found = doubts(&home);
    assert_eq!((&found[0]["sessionId"], &found[0]["doubt"]), (&json!(SESSION), &json!("other_machine")));
    assert!(finds(&home, "tombstone-doubtful"));
    let said = home.rekindle(&["vault", "status"]).unwrap().stdout;
    assert!(said.contains("forgotten on another machine"), "{said}");
    // The user means it here, too: it is this machine's own then.
    assert!(home.rekindle(&["vault", "forget", SESSION, "--yes"]).unwrap().success());
    assert_eq!((doubts(&home), copy.exists()), (vec![], false));
    assert!(!is_still_mirrored(&home, SESSION));
}

#[test]
fn a_tombstone_beside_a_copy_that_forgetting_would_have_erased_does_not_count() {
    let (home, copy) = mirrored();
    let (file, key) = tombstone(&home, &copy, SESSION);
    fs::write(&file, json!({"schema": 1, "key": key, "at": "2026-01-01T00:00:00Z"}).to_string()).unwrap();
    assert!(is_still_mirrored(&home, SESSION));
    assert_eq!(doubts(&home)[0]["doubt"], "has_copy");
}

#[test]
fn what_0_1_0_has_forgotten_stays_forgotten_and_a_damaged_tombstone_is_said() {
    let (home, copy) = mirrored();
    let (file, key) = tombstone(&home, &copy, OTHER);
    fs::write(&file, json!({"schema": 1, "key": key, "at": "2026-01-01T00:00:00Z"}).to_string()).unwrap();
    assert!(!is_still_mirrored(&home, OTHER));
    assert_eq!(doubts(&home), Vec::<Value>::new());
    // Emptied, it may still be what the user wanted: the conversation stays out, and the user hears of it.
    fs::write(&file, b"").unwrap();
    assert!(!is_still_mirrored(&home, OTHER));
    assert_eq!((&doubts(&home)[0]["doubt"], &doubts(&home)[0]["path"]), (&json!("unreadable"), &json!(file)));
    assert!(finds(&home, "tombstone-doubtful"));
}

#[test]
fn damaged_copies_are_named_by_status_and_doctor() {
    let (home, copy) = mirrored();
    assert!(!finds(&home, "vault-damaged"));
    let unusable = |home: &Home| home.rekindle_json(&["vault", "status"]).unwrap()["unusable"].clone();
    assert_eq!(unusable(&home), json!([]));
    let (manifest, data) = (copy.join("manifest.jsonl"), copy.join("data"));
    for (file, word) in [(&manifest, "manifest"), (&data, "data")] {
        let whole = fs::read(file).unwrap();
        if file == &manifest {
            let mut bytes = whole.clone();
            let middle = bytes.len() / 2;
            bytes[middle] ^= 1;
            fs::write(file, bytes).unwrap();
        } else {
            fs::write(file, &whole[..whole.len() / 2]).unwrap();
        }
        let found = unusable(&home);
        assert_eq!(found[0]["sessionId"], SESSION, "{word}: {found}");
        assert!(found[0]["damage"].to_string().contains(word), "{found}");
        assert!(finds(&home, "vault-damaged"), "{word}");
        fs::write(file, whole).unwrap();
    }
}
