//! Losses: what happened to a mirrored conversation is told, and what was lost comes back byte for byte.
#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "throwaway files are damaged on purpose, and a test that cannot go on panics"
)]

use std::fs;
use std::path::{Path, PathBuf};

use lab::home::Home;
use lab::{talk, tree};
use serde_json::{Value, json};

const LOST: &str = "88888888-aaaa-4aaa-8aaa-aaaaaaaaaaaa";
const KEPT: &str = "99999999-bbbb-4bbb-8bbb-bbbbbbbbbbbb";

/// A mirrored conversation with a subagent and a tool's result, and a newer one beside it.
struct World {
    home: Home,
    path: PathBuf,
    whole: Vec<u8>,
}

fn world() -> World {
    let home = Home::new().unwrap();
    let path = home.put_talk(LOST, 5).unwrap();
    talk::set_age(&home.put_talk(KEPT, 2).unwrap(), 1800).unwrap();
    for (name, text) in others() {
        let file = path.with_file_name(LOST).join(name);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
    }
    let whole = fs::read(&path).unwrap();
    let world = World { home, path, whole };
    world.sync();
    assert_eq!(world.status(), json!([]));
    world
}

fn others() -> [(&'static str, String); 2] {
    let mut agent = talk::talk(LOST, Path::new("/"), 1);
    for row in agent.rows() {
        agent[row]["isSidechain"] = true.into();
    }
    let rows = String::from_utf8(agent.bytes()).unwrap();
    [("subagents/agent-1.jsonl", rows), ("tool-results/call.txt", "a long result".to_owned())]
}

impl World {
    fn sync(&self) -> Value {
        self.home.rekindle_json(&["vault", "sync"]).unwrap()
    }

    /// What the vault says was lost of main transcripts: session and event.
    fn status(&self) -> Value {
        let told = self.home.rekindle_json(&["vault", "status"]).unwrap();
        let main = told["losses"].as_array().unwrap().iter().filter(|loss| {
            loss["path"].as_str().is_some_and(|path| Path::new(path).parent() == self.path.parent())
        });
        main.map(|loss| json!([loss["sessionId"], loss["event"]])).collect()
    }

    fn scan(&self) -> Value {
        self.home.scan(LOST).unwrap()
    }
}

/// Loses something with and without a sync that sees it; then the conversation must come back to its place.
fn comes_back(event: &str, status: &str, lose: impl Fn(&World)) {
    for seen in [false, true] {
        let world = world();
        lose(&world);
        let left = fs::read(&world.path).ok();
        if seen {
            world.sync();
            assert_eq!(world.status(), json!([[LOST, event]]));
            let scan = world.scan();
            assert_eq!(scan["status"], status, "{event}: {scan}");
            let all = world.home.rekindle_json(&["scan", "--all"]).unwrap();
            assert_eq!(all["totals"][status], 1, "{event}: {all}");
        }
        let told = world.home.repair(&[LOST]).unwrap();
        assert_eq!((&told["status"], &told["resumeId"]), (&"repaired".into(), &LOST.into()), "{event}");
        assert_eq!(fs::read(&world.path).unwrap(), world.whole, "{event}, seen: {seen}");
        let backup = told["backupPath"].as_str();
        assert_eq!(backup.map(|path| fs::read(path).unwrap()), left, "{event}, seen: {seen}");
        // Not newer than the newest of its folder: `--continue` must not change its mind.
        let time = |path: &Path| fs::metadata(path).unwrap().modified().unwrap();
        assert!(time(&world.path) <= time(&world.home.transcript(KEPT)), "{event}");
        assert_eq!(world.scan()["status"], "healthy", "{event}, seen: {seen}");
        world.sync();
        assert_eq!(world.status(), json!([]), "{event}, seen: {seen}");
        assert_eq!(world.home.repair(&[LOST]).unwrap()["status"], "already_healthy", "{event}");
    }
}

#[test]
fn deleted() {
    comes_back("deleted", "missing", |world| fs::remove_file(&world.path).unwrap());
}

#[test]
fn emptied_to_a_stub() {
    let stub = format!("{{\"type\":\"summary\",\"summary\":\"x\",\"leafUuid\":\"{KEPT}\"}}\n");
    comes_back("emptied", "corrupted", |world| fs::write(&world.path, &stub).unwrap());
}

#[test]
fn emptied_to_nothing() {
    comes_back("emptied", "corrupted", |world| fs::write(&world.path, "").unwrap());
}

#[test]
fn truncated() {
    comes_back("truncated", "corrupted", |world| {
        let rows = talk::talk(LOST, &world.home.project(), 2).bytes();
        assert!(world.whole.starts_with(&rows));
        fs::write(&world.path, rows).unwrap();
    });
}

#[test]
fn subagents_and_results_come_back_too() {
    let world = world();
    fs::remove_file(&world.path).unwrap();
    fs::remove_dir_all(world.path.with_file_name(LOST)).unwrap();
    world.sync();
    assert!(world.home.rekindle(&["repair", LOST]).unwrap().success());
    assert_eq!(fs::read(&world.path).unwrap(), world.whole);
    for (name, text) in others() {
        assert_eq!(fs::read_to_string(world.path.with_file_name(LOST).join(name)).unwrap(), text);
    }
}

#[test]
fn overwritten_by_another_conversation() {
    for (seen, turns) in [(false, 8), (true, 8), (false, 2), (true, 2)] {
        let world = world();
        let other = talk::talk("another", &world.home.project(), turns).bytes();
        fs::write(&world.path, &other).unwrap();
        if seen {
            world.sync();
            assert_eq!(world.status(), json!([[LOST, "overwritten"]]));
            let scan = world.scan();
            assert!(scan["findings"].as_array().unwrap().iter().any(|f| f["class"] == "A7"), "{scan}");
        }
        let told = world.home.repair(&[LOST]).unwrap();
        assert_eq!(told["status"], "repaired", "{told}");
        let new = told["resumeId"].as_str().unwrap();
        assert_ne!(new, LOST);
        assert_eq!(fs::read(&world.path).unwrap(), other);
        let back = fs::read_to_string(world.home.transcript(new)).unwrap();
        assert_eq!(back.replace(new, LOST).into_bytes(), world.whole);
        assert_eq!(world.home.scan(new).unwrap()["status"], "healthy");
        // It came back once: asking again makes no second copy.
        world.sync();
        let before = tree::look(&world.home.home()).unwrap();
        assert_eq!(world.home.repair(&[LOST]).unwrap()["status"], "already_healthy", "seen: {seen}");
        assert!(world.home.rekindle(&["repair", "--all"]).unwrap().success());
        assert_eq!(tree::differences(&before, &tree::look(&world.home.home()).unwrap()), [""; 0]);
    }
}

#[test]
fn all_does_not_revive_what_was_deleted() {
    let world = world();
    fs::remove_file(&world.path).unwrap();
    world.sync();
    assert!(world.home.rekindle(&["repair", "--all"]).unwrap().success());
    assert!(!world.path.exists());
}

#[test]
fn what_is_forgotten_stays_so() {
    let world = world();
    assert!(world.home.rekindle(&["vault", "forget", LOST, "--yes"]).unwrap().success());
    assert_eq!(fs::read(&world.path).unwrap(), world.whole);
    let synced = world.sync();
    assert_eq!(synced["changed"], 0);
    let listed = world.home.rekindle_json(&["vault", "list"]).unwrap();
    let ids: Vec<&Value> =
        listed["conversations"].as_array().unwrap().iter().map(|c| &c["sessionId"]).collect();
    assert_eq!(ids, [KEPT]);
    fs::remove_file(&world.path).unwrap();
    world.sync();
    assert_eq!(world.status(), json!([]));
    for revive in [&["repair", LOST][..], &["vault", "restore", LOST]] {
        assert_eq!(world.home.rekindle(revive).unwrap().code(), Some(2), "{revive:?}");
    }
    assert!(world.home.rekindle(&["repair", "--all"]).unwrap().success());
    assert!(!world.path.exists());
    let mut stored = vec![world.home.state().join("vault")];
    while let Some(path) = stored.pop() {
        if path.is_dir() {
            stored.extend(fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()));
        } else {
            let bytes = fs::read(&path).unwrap();
            assert!(!bytes.windows(8).any(|piece| piece == b"reply-04"), "{}", path.display());
        }
    }
}

#[test]
fn a_file_with_more_keeps_its_place() {
    let world = world();
    let more = talk::talk(LOST, &world.home.project(), 7).bytes();
    assert!(more.starts_with(&world.whole));
    fs::write(&world.path, &more).unwrap();
    let told = world.home.rekindle_json(&["vault", "restore", LOST]).unwrap();
    assert_eq!(fs::read(&world.path).unwrap(), more);
    assert_ne!(told["resume_id"], LOST);
}
