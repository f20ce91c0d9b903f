//! Files that change between the plan and the act, as agents change them, and runs that meet each other.
#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a test that cannot go on panics, and it reads its own throwaway files"
)]

use std::fs;
use std::path::{Path, PathBuf};

use agents::claude::ConfigDir;
use integrate::Program;
use integrate::init::{Adopt, Plan, Request, Site, plan};
use integrate::settings::StatusLineChoice;
use integrate::uninstall;
use jiff::Timestamp;
use serde_json::{Value, json};
use store::durable::{private_dir, replace};

struct World {
    root: tempfile::TempDir,
}

impl World {
    fn new(settings: &str) -> World {
        let world = World { root: tempfile::tempdir().unwrap() };
        private_dir(&world.config()).unwrap();
        replace(&world.settings(), settings.as_bytes()).unwrap();
        world
    }

    fn config(&self) -> PathBuf {
        self.root.path().join(".claude")
    }

    fn settings(&self) -> PathBuf {
        self.config().join("settings.json")
    }

    fn state(&self) -> PathBuf {
        self.root.path().join("state")
    }

    fn program(&self) -> Program {
        Program::new(Path::new("/usr/bin/rekindle")).unwrap()
    }

    fn request(&self) -> Request {
        Request {
            state_dir: self.state(),
            program: self.program(),
            sites: vec![Site { config: ConfigDir::new(self.config()), agents: Vec::new() }],
            status_line: StatusLineChoice::Keep,
            texts: true,
            completions: Vec::new(),
            tmux: None,
            config: None,
            links: Some((self.config(), Adopt::No)),
        }
    }

    fn plan(&self) -> Plan {
        plan(&self.request()).unwrap()
    }

    fn undo(&self) {
        let undoing = uninstall::plan(
            &self.state(),
            &self.program(),
            &[ConfigDir::new(self.config())],
            &uninstall::Shapes::default(),
        )
        .unwrap();
        uninstall::undo(&undoing, Timestamp::now()).unwrap();
    }

    fn value(&self) -> Value {
        serde_json::from_slice(&fs::read(self.settings()).unwrap()).unwrap()
    }
}

#[test]
fn settings_that_changed_since_the_plan_are_planned_anew() {
    let world = World::new("{\"model\": \"opus\"}");
    let mut plan = world.plan();
    let theirs = "{\n  \"model\": \"sonnet\",\n  \"theme\": \"dark\"\n}\n";
    replace(&world.settings(), theirs.as_bytes()).unwrap();
    integrate::apply(&mut plan, Timestamp::now()).unwrap();
    assert_eq!((&world.value()["model"], &world.value()["theme"]), (&json!("sonnet"), &json!("dark")));
    assert!(world.value()["hooks"]["Stop"].is_array());
    world.undo();
    assert_eq!(fs::read_to_string(world.settings()).unwrap(), theirs);
}

#[test]
fn settings_that_broke_since_the_plan_stay_as_they_are() {
    let world = World::new("{}");
    let mut plan = world.plan();
    replace(&world.settings(), b"{ half").unwrap();
    assert!(integrate::apply(&mut plan, Timestamp::now()).is_err());
    assert_eq!(fs::read(world.settings()).unwrap(), b"{ half");
}

#[test]
fn settings_that_vanished_and_appeared() {
    let world = World::new("{}");
    let mut plan = world.plan();
    store::durable::remove(&world.settings()).unwrap();
    integrate::apply(&mut plan, Timestamp::now()).unwrap();
    assert!(world.value()["hooks"]["Stop"].is_array());
    world.undo();
    assert!(!world.settings().exists());

    let mut plan = world.plan();
    replace(&world.settings(), b"{\"a\": 1}").unwrap();
    integrate::apply(&mut plan, Timestamp::now()).unwrap();
    world.undo();
    assert_eq!(fs::read(world.settings()).unwrap(), b"{\"a\": 1}");
}

#[test]
fn runs_that_were_planned_at_once_end_as_one() {
    let before = "{\n  \"statusLine\": {\"type\": \"command\", \"command\": \"mine\"}\n}\n";
    let world = World::new(before);
    let plans: Vec<Plan> = (0..8).map(|_| world.plan()).collect();
    std::thread::scope(|scope| {
        for mut plan in plans {
            scope.spawn(move || integrate::apply(&mut plan, Timestamp::now()).unwrap());
        }
    });
    assert!(world.plan().changes().is_empty());
    assert_eq!(world.value()["hooks"]["Stop"].as_array().unwrap().len(), 1);
    world.undo();
    assert_eq!(fs::read_to_string(world.settings()).unwrap(), before);
    assert_eq!(fs::read_dir(world.config()).unwrap().count(), 1);
}

#[test]
fn without_its_record_the_wiring_still_goes() {
    let world = World::new("{\n  \"statusLine\": {\"type\": \"command\", \"command\": \"mine\"}\n}\n");
    let before = world.value();
    integrate::apply(&mut world.plan(), Timestamp::now()).unwrap();
    store::durable::remove_tree(&world.state()).unwrap();
    world.undo();
    assert_eq!(world.value(), before);
    assert!(!world.config().join("skills/rekindle-save").exists());
}

#[test]
fn damaged_copies_are_not_believed() {
    let world = World::new("{\"a\": 1}");
    integrate::apply(&mut world.plan(), Timestamp::now()).unwrap();
    let backups = fs::read_dir(world.state().join("wiring/backups")).unwrap().next().unwrap().unwrap().path();
    for entry in fs::read_dir(backups).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "json") {
            replace(&path, b"{\"a\": 2}").unwrap();
        }
    }
    world.undo();
    assert_eq!(world.value(), json!({"a": 1}));
}

#[test]
fn the_mark_says_when_a_plugin_has_nothing_to_do() {
    let world = World::new("{}");
    assert!(!integrate::is_wired(&world.state(), &world.config()));
    integrate::apply(&mut world.plan(), Timestamp::now()).unwrap();
    assert!(integrate::is_wired(&world.state(), &world.config()));
    world.undo();
    assert!(!integrate::is_wired(&world.state(), &world.config()));
}
