//! A conversation whose parts are in the vault and in its file: joined where the order is proven, else its user chooses.
#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "throwaway files are damaged on purpose, and a test that cannot go on panics"
)]

use std::fs;
use std::path::PathBuf;

use lab::base::Base;
use lab::believed::{Body, Said};
use lab::home::Home;
use lab::talk;
use serde_json::{Value, json};

const SESSION: &str = "88888888-aaaa-4aaa-8aaa-aaaaaaaaaaaa";

struct World {
    home: Home,
    path: PathBuf,
}

/// The rows of some turns of one conversation.
fn turns(home: &Home, turns: std::ops::Range<u8>) -> Vec<u8> {
    let mut base = talk::talk(SESSION, &home.project(), turns.end);
    let dropped = base.rows()[..usize::from(turns.start) * 2].to_vec();
    base.drop_rows(&dropped);
    base.bytes()
}

/// A mirrored conversation of three turns.
fn world() -> World {
    let home = Home::new().unwrap();
    let path = home.put_talk(SESSION, 3).unwrap();
    let world = World { home, path };
    world.sync();
    world
}

impl World {
    fn sync(&self) {
        assert!(self.home.rekindle(&["vault", "sync"]).unwrap().success());
    }

    /// What a living agent does whose transcript was deleted: it writes a new file.
    fn goes_on_in(&self, rows: &[u8]) {
        fs::remove_file(&self.path).unwrap();
        fs::write(&self.path, rows).unwrap();
    }

    /// What `scan` and `vault status` say is lost.
    fn says_lost(&self, loses: &str, remedy: &str) {
        let scan = self.home.scan(SESSION).unwrap();
        assert_eq!(scan["status"], "corrupted", "{scan}");
        let all = self.home.rekindle_json(&["scan", "--all"]).unwrap();
        for scan in [&scan, &all["sessions"][0]] {
            let findings = scan["findings"].as_array().unwrap();
            let found = findings.iter().find(|finding| finding["class"] == "A7").unwrap();
            assert!(found["loses"].as_str().unwrap().contains(loses), "{scan}");
        }
        let status = self.home.rekindle_json(&["vault", "status"]).unwrap();
        let [loss] = status["losses"].as_array().unwrap().as_slice() else { panic!("{status}") };
        assert!(loss["loses"].as_str().unwrap().contains(loses), "{status}");
        assert!(loss["remedy"].as_str().unwrap().contains(remedy), "{status}");
    }

    fn is_whole(&self, turns: u8) {
        assert_eq!(fs::read(&self.path).unwrap(), talk::talk(SESSION, &self.home.project(), turns).bytes());
        assert_eq!(self.home.scan(SESSION).unwrap()["status"], "healthy");
        self.sync();
        assert_eq!(self.home.rekindle_json(&["vault", "status"]).unwrap()["losses"], json!([]));
        assert_eq!(self.home.repair(&[SESSION]).unwrap()["status"], "already_healthy");
    }

    fn repairs(&self) -> Value {
        let told = self.home.repair(&[SESSION]).unwrap();
        assert_eq!((&told["status"], &told["resumeId"]), (&json!("repaired"), &json!(SESSION)), "{told}");
        told
    }
}

#[test]
fn a_file_that_goes_on_is_joined_with_and_without_a_sync_in_between_and_taken_back() {
    for seen in [false, true] {
        let world = world();
        let newer = turns(&world.home, 3..5);
        world.goes_on_in(&newer);
        if seen {
            world.sync();
        }
        world.says_lost("3 prompts", "`rekindle repair 88888888` puts it back");
        let dry = world.home.repair(&[SESSION, "--dry-run"]).unwrap();
        assert_eq!(dry["reason"], "version 1 of the vault would be put back, with the newer rows behind");
        assert_eq!(fs::read(&world.path).unwrap(), newer);
        let told = world.repairs();
        assert_eq!(told["newChainDepth"], 10, "{told}");
        assert_eq!(fs::read(told["backupPath"].as_str().unwrap()).unwrap(), newer);
        world.is_whole(5);
        // Taken back, the loss is there again, and so is the way out of it.
        assert!(world.home.rekindle(&["undo", SESSION]).unwrap().success());
        assert_eq!(fs::read(&world.path).unwrap(), newer);
        assert_eq!(world.home.scan(SESSION).unwrap()["status"], "corrupted", "seen: {seen}");
        world.repairs();
        world.is_whole(5);
    }
}

#[test]
fn a_file_cut_in_place_that_goes_on_is_joined() {
    let world = world();
    let left = talk::talk(SESSION, &world.home.project(), 1).bytes();
    fs::write(&world.path, [left, turns(&world.home, 3..5)].concat()).unwrap();
    world.sync();
    world.says_lost("2 prompts", "repair");
    world.repairs();
    world.is_whole(5);
}

#[test]
fn every_part_of_a_file_that_was_lost_twice_is_joined() {
    for gone in [false, true] {
        let world = world();
        world.goes_on_in(&turns(&world.home, 3..5));
        world.sync();
        world.goes_on_in(&turns(&world.home, 5..6));
        world.sync();
        world.says_lost("5 prompts", "repair");
        if gone {
            fs::remove_file(&world.path).unwrap();
            world.sync();
            assert_eq!(world.home.scan(SESSION).unwrap()["status"], "missing");
            assert!(world.home.rekindle(&["vault", "restore", SESSION]).unwrap().success());
        } else {
            world.repairs();
        }
        world.is_whole(6);
    }
}

#[test]
fn a_repair_of_all_joins_too() {
    let world = world();
    world.goes_on_in(&turns(&world.home, 3..4));
    assert!(world.home.rekindle(&["repair", "--all"]).unwrap().success());
    world.is_whole(4);
}

/// A turn that no sync saw is in neither part: the parts are joined, and what is missing is said before, with it, and after.
#[test]
fn a_turn_that_is_in_neither_part_is_said_to_be_missing() {
    let world = world();
    let newer = turns(&world.home, 4..6);
    world.goes_on_in(&newer);
    world.says_lost("at least one row between the vault's rows and the newer ones is in neither", "repair");
    let dry = world.home.rekindle(&["repair", SESSION, "--dry-run"]).unwrap();
    assert!(dry.code() == Some(4) && dry.stdout.contains("is in neither"), "{}", dry.stdout);
    let repaired = world.home.rekindle(&["repair", SESSION]).unwrap();
    assert_eq!(repaired.code(), Some(4), "{}", repaired.words());
    assert!(repaired.stdout.contains("is in neither"), "{}", repaired.stdout);
    // The join removes the only trace of it from the file.
    let scan = world.home.scan(SESSION).unwrap();
    assert_eq!(scan["status"], "healthy", "{scan}");
    assert!(scan["missing"].as_str().unwrap().contains("is in neither"), "{scan}");
    for words in [&["scan", SESSION][..], &["scan"]] {
        let said = world.home.rekindle(words).unwrap();
        assert!(said.stdout.contains("is in neither"), "{words:?}: {}", said.stdout);
    }
    let history = world.home.rekindle_json(&["history"]).unwrap();
    assert!(history["operations"][0]["effects"][0]["missing"].is_string(), "{history}");
    // Taken back, the file tells it again by itself.
    assert!(world.home.rekindle(&["undo", SESSION]).unwrap().success());
    assert_eq!(fs::read(&world.path).unwrap(), newer);
    assert_eq!(world.home.scan(SESSION).unwrap()["missing"], Value::Null);
    // Without a file, the vault's parts are joined just so.
    world.sync();
    fs::remove_file(&world.path).unwrap();
    let restored = world.home.rekindle(&["vault", "restore", SESSION]).unwrap();
    assert_eq!(restored.code(), Some(4), "{}", restored.words());
    assert!(restored.stderr.contains("is in neither"), "{}", restored.stderr);
}

/// A version that cannot be put in order: offered everywhere, merged nowhere, and both are kept.
fn is_a_choice(newer: &dyn Fn(&Home) -> Vec<u8>, why: &str) {
    let world = world();
    let older = fs::read(&world.path).unwrap();
    let newer = newer(&world.home);
    world.goes_on_in(&newer);
    world.sync();
    world.says_lost("the other version", "`rekindle vault restore 88888888 --version 1`");
    let scan = world.home.scan(SESSION).unwrap();
    let offer = scan["findings"].to_string();
    for part in [why, &format!("`claude --resume {SESSION}`"), "`rekindle repair 88888888` keeps both"] {
        assert!(offer.contains(part), "{part}: {offer}");
    }
    let listed = world.home.rekindle(&["vault", "list"]).unwrap();
    assert!(listed.stdout.contains("rekindle vault restore 88888888 --version 1"), "{}", listed.words());
    let shown = world.home.rekindle(&["show", SESSION]).unwrap();
    assert!(shown.stderr.contains("rekindle vault restore 88888888 --version 1"), "{}", shown.words());
    let told = world.home.repair(&[SESSION]).unwrap();
    let new = told["resumeId"].as_str().unwrap();
    assert_ne!(new, SESSION, "{told}");
    assert_eq!(fs::read(&world.path).unwrap(), newer);
    let back = fs::read_to_string(world.home.transcript(new)).unwrap();
    assert_eq!(back.replace(new, SESSION).into_bytes(), older);
    assert_eq!(world.home.rekindle_json(&["vault", "status"]).unwrap()["losses"], json!([]));
    assert_eq!(world.home.repair(&[SESSION]).unwrap()["status"], "already_healthy");
    // The copy is what the repair changed, and the operation says so.
    let listed = world.home.rekindle_json(&["history"]).unwrap();
    let effect = &listed["operations"][0]["effects"][0];
    let copy = json!(world.home.transcript(new));
    assert_eq!((&effect["kind"], &effect["filePath"]), (&json!("copy"), &copy), "{listed:#}");
}

#[test]
fn a_conversation_begun_anew_under_the_id_is_a_choice() {
    let fresh = |home: &Home| {
        let mut base = Base::read(&turns(home, 3..5), SESSION).unwrap();
        let first = base.rows()[0];
        base[first]["parentUuid"] = Value::Null;
        base.bytes()
    };
    is_a_choice(&fresh, "the file begins a conversation of its own");
}

#[test]
fn another_branch_of_the_conversation_is_a_choice() {
    let branch = |home: &Home| {
        let mut base = talk::talk(SESSION, &home.project(), 1);
        let end = base.uuid(base.reply(0).unwrap());
        for row in talk::turn_rows(SESSION, &home.project(), 9, &end) {
            base.push(row);
        }
        base.bytes()
    };
    is_a_choice(&branch, "both begin alike and go on differently");
}

#[test]
fn a_strangers_rows_under_the_id_are_a_choice() {
    let stranger =
        |home: &Home| talk::talk("99999999-bbbb-4bbb-8bbb-bbbbbbbbbbbb", &home.project(), 4).bytes();
    is_a_choice(&stranger, "the file has rows of another session");
}

#[test]
fn a_choice_whose_file_went_too_is_refused_until_it_is_made() {
    let world = world();
    let stranger = talk::talk("99999999-bbbb-4bbb-8bbb-bbbbbbbbbbbb", &world.home.project(), 1).bytes();
    world.goes_on_in(&stranger);
    world.sync();
    fs::remove_file(&world.path).unwrap();
    world.sync();
    let refused = world.home.rekindle(&["vault", "restore", SESSION]).unwrap();
    assert_eq!(refused.code(), Some(3), "{}", refused.words());
    assert!(refused.stderr.contains("--version 1"), "{}", refused.words());
    assert!(!world.path.exists());
    let chosen = world.home.rekindle_json(&["vault", "restore", SESSION, "--version", "1"]).unwrap();
    assert_eq!(chosen["resume_id"], SESSION, "{chosen}");
    assert_eq!(fs::read(&world.path).unwrap(), talk::talk(SESSION, &world.home.project(), 3).bytes());
}

#[test]
fn nothing_is_resumed_while_a_choice_is_open() {
    let world = world();
    let stranger = talk::talk("99999999-bbbb-4bbb-8bbb-bbbbbbbbbbbb", &world.home.project(), 4).bytes();
    world.goes_on_in(&stranger);
    let events = [Said::new("SessionStart", 90), Said::new("UserPromptSubmit", 70), Said::new("Stop", 60)];
    world.home.said(SESSION, &Body::dead(1), &events).unwrap();
    assert!(world.home.rekindle(&["settle"]).unwrap().success());
    let listed = world.home.rekindle_json(&["recover"]).unwrap();
    let found = &listed["agents"][0];
    assert_eq!((&found["sessionId"], &found["act"]), (&json!(SESSION), &json!("refuse")), "{listed}");
    let words = world.home.rekindle(&["recover"]).unwrap().stdout;
    assert!(words.contains("rekindle vault restore 88888888 --version 1"), "{words}");
    assert_eq!(fs::read(&world.path).unwrap(), stranger);
}
