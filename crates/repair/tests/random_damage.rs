//! Random damage of a vault whose conversation was lost under its agent: a scan, a repair and a restore bring back all of it, or
//! say that they cannot. Each is asked twice, with a sync in between.

#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "damage is not written durably, and a test that cannot go on panics"
)]

use std::fs;
use std::path::{Path, PathBuf};

use agents::SessionId;
use agents::claude::{ConfigDir, TranscriptFile};
use jiff::Timestamp;
use repair::{Lost, RepairOptions, RepairStatus, Repairer};
use serde_json::{Value, json};
use store::StateDir;
use vault::{Key, SyncOptions, Wanted};

const ID: &str = "0b1e6f5e-4a52-4b51-9a1e-0f6f3a1c2d3e";
const ROWS: usize = 12;
const CUT: usize = 8;

/// Rows as an agent writes them: prompt and answer in turn.
fn rows(range: std::ops::Range<usize>) -> String {
    let id = |n: usize| format!("{n:08}-1111-4222-8333-000000000000");
    let row = |n: usize| -> Value {
        let message = if n.is_multiple_of(2) {
            json!({"role": "user", "content": format!("prompt {n}")})
        } else {
            json!({"role": "assistant", "id": format!("msg_{n}"), "type": "message", "model": "m",
                "content": [{"type": "text", "text": format!("answer {n}")}], "stop_reason": "end_turn"})
        };
        json!({"parentUuid": n.checked_sub(1).map(id), "isSidechain": false, "userType": "external", "cwd": "/",
            "sessionId": ID, "version": "2.1.325", "type": if n.is_multiple_of(2) { "user" } else { "assistant" },
            "message": message, "uuid": id(n), "timestamp": format!("2026-11-16T10:{n:02}:00.000Z")})
    };
    range.map(|n| format!("{}\n", row(n))).collect()
}

struct World {
    root: tempfile::TempDir,
    repairer: Repairer,
    file: TranscriptFile,
}

impl World {
    /// The agent lost its transcript and went on in a new file; the vault saw both.
    fn new() -> World {
        let root = tempfile::tempdir().unwrap();
        let config = ConfigDir::new(root.path().join("claude"));
        let path = config.projects().join(format!("-work/{ID}.jsonl"));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let file = TranscriptFile { config: config.clone(), session: session(), path };
        let repairer = open(root.path(), &config);
        let world = World { root, repairer, file };
        for part in [0..CUT, CUT..ROWS] {
            let _ = fs::remove_file(&world.file.path);
            fs::write(&world.file.path, rows(part)).unwrap();
            world.sync();
        }
        world
    }

    fn sync(&self) {
        let configs = std::slice::from_ref(&self.file.config);
        // A damaged manifest may refuse to be written behind; that is told, and nothing of this test's.
        let _ = self.repairer.vault.sync(configs, &SyncOptions::at(Timestamp::now()), &|_| {});
    }

    fn folder(&self) -> PathBuf {
        let key = Key::new(&self.file.config, Some(&self.file.session));
        self.root.path().join("state/vault/conversations").join(key.as_str())
    }

    /// Puts the vault and the transcript back as they were.
    fn renew(&mut self, kept: &[(PathBuf, Vec<u8>)]) {
        let root = self.root.path().to_path_buf();
        fs::remove_dir_all(root.join("state")).unwrap();
        fs::remove_dir_all(root.join("claude")).unwrap();
        for (path, bytes) in kept {
            let path = root.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, bytes).unwrap();
        }
        self.repairer = open(&root, &self.file.config);
    }

    fn lost(&self) -> Option<Lost> {
        let key = Key::new(&self.file.config, Some(&self.file.session));
        self.repairer.lost(&key, &self.file.path).unwrap_or(Some(Lost::Doubtful))
    }

    /// How a repair would end; a vault that cannot be used is a refusal too.
    fn repair(&self) -> (RepairStatus, Option<String>) {
        let options = RepairOptions { dry_run: true, branch: None };
        match self.repairer.repair(std::slice::from_ref(&self.file), options, |_| {}).remove(0) {
            Ok(outcome) => (outcome.status, outcome.reason),
            Err(error) => (RepairStatus::Refused, Some(error.to_string())),
        }
    }
}

fn session() -> SessionId {
    SessionId::new(ID).unwrap()
}

fn open(root: &Path, config: &ConfigDir) -> Repairer {
    Repairer::open(StateDir::open(root.join("state")).unwrap(), vec![config.clone()]).unwrap()
}

fn kept(root: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut all = Vec::new();
    let mut left = vec![root.join("state"), root.join("claude")];
    while let Some(path) = left.pop() {
        if path.is_dir() {
            left.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        } else {
            all.push((path.strip_prefix(root).unwrap().to_path_buf(), fs::read(&path).unwrap()));
        }
    }
    all
}

/// Whatever is damaged: nothing is put back or mended that holds less than everything, and that is said.
fn check(world: &World, told: &str) {
    for time in 1..=2 {
        let lost = world.lost();
        assert!(lost.is_some(), "{told}, time {time}: a scan finds nothing missing");
        match world.repair() {
            (RepairStatus::Refused | RepairStatus::Failed, _) => {}
            (status, reason) => {
                let back = reason.as_deref().is_some_and(|reason| reason.contains("put back"));
                assert!(back, "{told}, time {time}: {status:?} {reason:?}");
            }
        }
        world.sync();
    }
    fs::remove_file(&world.file.path).unwrap();
    for time in 1..=2 {
        if let Ok(Some(Ok(back))) = world.repairer.restore(&session(), None, Wanted::Best) {
            assert_eq!(back.doubt, None);
            let found = fs::read_to_string(&world.file.path).unwrap();
            assert_eq!(found, rows(0..ROWS), "{told}, time {time}: less than everything, without a word");
            return;
        }
        assert!(!world.file.path.exists(), "{told}, time {time}: refused, and something is there");
        world.sync();
    }
}

#[test]
fn without_damage_everything_comes_back() {
    let world = World::new();
    assert!(matches!(world.lost(), Some(Lost::Parts { .. })));
    check(&world, "whole");
    assert!(world.file.path.exists());
}

/// One bit in the only line of the first version: what is left looks like a conversation of its own.
#[test]
fn a_bit_in_any_line_of_the_manifest_is_no_reason_to_give_less() {
    let mut world = World::new();
    let kept = kept(world.root.path());
    let manifest = world.folder().join("manifest.jsonl");
    let whole = fs::read(&manifest).unwrap();
    let mut start = 0;
    for (number, line) in whole.split_inclusive(|byte| *byte == b'\n').enumerate() {
        world.renew(&kept);
        let mut bytes = whole.clone();
        bytes[start + line.len() / 2] ^= 1;
        fs::write(&manifest, bytes).unwrap();
        check(&world, &format!("line {}", number + 1));
        start += line.len();
    }
}

#[test]
fn random_damages_give_everything_or_a_refusal() {
    const DAMAGES: u64 = 80;
    let mut world = World::new();
    let kept = kept(world.root.path());
    for seed in 0..DAMAGES {
        world.renew(&kept);
        let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(1);
        let mut below = |limit: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            usize::try_from((state >> 33) % limit.max(1) as u64).unwrap()
        };
        let name = ["manifest.jsonl", "manifest.jsonl", "manifest.jsonl", "data", "head"][below(5)];
        let path = world.folder().join(name);
        let mut bytes = fs::read(&path).unwrap();
        let at = below(bytes.len());
        let end = (at + 1 + below(200)).min(bytes.len());
        match below(4) {
            0 | 1 => bytes[at] ^= 1 << below(8),
            2 => bytes[at..end].fill(0),
            _ => drop(bytes.drain(at..end)),
        }
        fs::write(&path, bytes).unwrap();
        check(&world, &format!("seed {seed}, {name}"));
    }
}
