//! A throwaway configuration directory, a state directory and the vault in it.

#![allow(
    dead_code,
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "shared by several test programs"
)]

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use agents::claude::{ConfigDir, Source, walk};
use agents::{SessionId, Stamp};
use jiff::Timestamp;
use store::StateDir;
use vault::{Conversation, Event, Key, SyncOptions, SyncReport, Vault};

pub(crate) struct World {
    pub(crate) dir: tempfile::TempDir,
    pub(crate) config: ConfigDir,
    pub(crate) vault: Vault,
}

pub(crate) const ID: &str = "0b1e6f5e-4a52-4b51-9a1e-0f6f3a1c2d3e";
pub(crate) const FORK: &str = "ffffffff-4a52-4b51-9a1e-0f6f3a1c2d3e";

pub(crate) fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_800_000_000 + second).unwrap()
}

impl World {
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let config = ConfigDir::new(dir.path().join("claude"));
        fs::create_dir_all(config.projects()).unwrap();
        let vault = Vault::open(&StateDir::open(dir.path().join("state")).unwrap()).unwrap();
        Self { dir, config, vault }
    }

    pub(crate) fn state(&self) -> PathBuf {
        self.dir.path().join("state")
    }

    pub(crate) fn path(&self, id: &str) -> PathBuf {
        self.config.projects().join("-work").join(format!("{id}.jsonl"))
    }

    pub(crate) fn put(&self, path: &Path, bytes: &[u8]) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }

    pub(crate) fn append(&self, path: &Path, bytes: &[u8]) {
        OpenOptions::new().append(true).open(path).unwrap().write_all(bytes).unwrap();
    }

    pub(crate) fn sync(&self) -> SyncReport {
        self.sync_at(0)
    }

    pub(crate) fn sync_at(&self, second: i64) -> SyncReport {
        self.sync_with(&SyncOptions::at(at(second)))
    }

    pub(crate) fn sync_with(&self, options: &SyncOptions<'_>) -> SyncReport {
        let report = self.vault.sync(std::slice::from_ref(&self.config), options, &|_| {}).unwrap();
        assert!(report.failures.is_empty(), "{:?}", report.failures);
        report
    }

    pub(crate) fn key(&self, id: &str) -> Key {
        Key::new(&self.config, Some(&SessionId::new(id).unwrap()))
    }

    pub(crate) fn conversation(&self, id: &str) -> Conversation {
        self.vault.conversation(&self.key(id)).unwrap().unwrap()
    }

    pub(crate) fn read(&self, id: &str, generation: Option<u32>) -> Vec<u8> {
        let mut out = Vec::new();
        self.vault.read(&self.key(id), &format!("projects/-work/{id}.jsonl"), generation, &mut out).unwrap();
        out
    }

    pub(crate) fn folder(&self, id: &str) -> PathBuf {
        self.state().join("vault/conversations").join(self.key(id).as_str())
    }

    pub(crate) fn source(&self, id: &str) -> Source {
        let found = walk(&self.config).sources.into_iter().find(|source| source.path == self.path(id));
        found.unwrap()
    }

    pub(crate) fn verify(&self) {
        let report = self.vault.verify().unwrap();
        assert!(report.is_clean(), "{:?}", report.damage);
    }
}

pub(crate) fn events(report: &SyncReport) -> Vec<Event> {
    report.events.iter().map(|happening| happening.event).collect()
}

pub(crate) fn stamp(path: &Path) -> Stamp {
    Stamp::of(&fs::metadata(path).unwrap())
}

pub(crate) fn set_mtime(path: &Path, time: SystemTime) {
    OpenOptions::new().append(true).open(path).unwrap().set_modified(time).unwrap();
}

/// Rows as an agent writes them, of a conversation that can be forked: the same seed gives the same rows.
pub(crate) fn rows(id: &str, count: usize, seed: u64) -> Vec<u8> {
    let mut out = Vec::new();
    let mut state = seed.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    for n in 0..count {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let kind = if n % 2 == 0 { "user" } else { "assistant" };
        let mut text = String::new();
        for word in 0..(state >> 57) {
            text.push_str(&format!("w{:x} ", state.rotate_left(word as u32) & 0xffff));
        }
        out.extend_from_slice(
            format!(
                "{{\"parentUuid\":null,\"sessionId\":\"{id}\",\"type\":\"{kind}\",\"message\":\"{text}\",\"uuid\":\"{state:016x}\",\"n\":{n}}}\n"
            )
            .as_bytes(),
        );
    }
    out
}
