//! A sync killed at any moment leaves a vault that is sound, and the next one goes on.

#![expect(clippy::disallowed_methods, reason = "the agent does not write durably either")]

mod world;

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use agents::claude::ConfigDir;
use store::StateDir;
use vault::{SyncOptions, Vault};
use world::{World, at, rows};

const KILLS: u64 = 120;
const HOME: &str = "REKINDLE_TEST_KILLED_SYNC";

/// Runs in a process of its own, until it is killed.
#[test]
#[ignore = "the child of the test below"]
fn child() {
    let Ok(home) = std::env::var(HOME) else { return };
    let home = Path::new(&home);
    let config = ConfigDir::new(home.join("claude"));
    let vault = Vault::open(&StateDir::open(home.join("state")).unwrap()).unwrap();
    let mut round = u64::from(std::process::id()) << 20;
    loop {
        round += 1;
        let id = id(round % 4);
        let path = config.projects().join("-work").join(format!("{id}.jsonl"));
        let mut content = std::fs::read(&path).unwrap_or_default();
        match round % 7 {
            0 => content = rows(&id, 40, round),
            1 => content.truncate(content.len() / 2),
            _ => content.extend_from_slice(&rows(&id, 60, round)),
        }
        if content.len() > 600_000 {
            content.truncate(1_000);
        }
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, &content).unwrap();
        vault.sync(std::slice::from_ref(&config), &SyncOptions::at(at(0)), &|_| {}).unwrap();
        println!("\nround");
    }
}

fn id(n: u64) -> String {
    format!("{n:08}-0000-4000-8000-000000000000")
}

#[test]
fn a_killed_sync_leaves_a_sound_vault() {
    let world = World::new();
    let program = std::env::current_exe().unwrap();
    for kill in 0..KILLS {
        let mut child = Command::new(&program)
            .args(["--exact", "child", "--ignored", "--nocapture"])
            .env(HOME, world.dir.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        // After some rounds, and then some microseconds into the next one: every phase of a sync is hit.
        for _ in 0..kill % 3 {
            lines.find(|line| line.as_ref().is_ok_and(|line| line == "round")).unwrap().unwrap();
        }
        let until = Instant::now() + Duration::from_micros(kill * 7_919 % 9_000);
        while Instant::now() < until {
            std::hint::spin_loop();
        }
        child.kill().unwrap();
        child.wait().unwrap();
        let report = world.vault.verify().unwrap();
        assert!(report.is_clean(), "kill {kill}: {:?}", report.damage);
    }
    let vault = Vault::open(&StateDir::open(world.state()).unwrap()).unwrap();
    let report = vault.sync(std::slice::from_ref(&world.config), &SyncOptions::at(at(1)), &|_| {}).unwrap();
    assert!(report.failures.is_empty(), "{:?}", report.failures);
    for n in 0..4 {
        if let Ok(content) = std::fs::read(world.path(&id(n))) {
            assert_eq!(world.read(&id(n), None), content);
        }
    }
    let report = world.vault.verify().unwrap();
    assert!(report.is_clean() && report.torn.is_empty());
    assert!(report.frames > 0);
}
