//! Wherever a command that changes several conversations, or its undo, is killed: it is one operation, and one more undo
//! brings every byte back.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on panics")]

use std::fs;
use std::path::PathBuf;

use lab::home::Home;
use lab::trace::kill_at_change;
use serde_json::Value;

const OLDER: &str = "97777777-aaaa-4aaa-8aaa-aaaaaaaaaaaa";

struct Desk {
    home: Home,
    files: Vec<(PathBuf, Vec<u8>)>,
    /// A repair from before, which no undo may touch here.
    older: (PathBuf, Vec<u8>),
}

fn desk() -> Desk {
    let home = Home::new().unwrap();
    let path = home.put_dangling(OLDER, 4, 2).unwrap();
    assert!(home.rekindle(&["repair", OLDER]).unwrap().success());
    let older = (path.clone(), fs::read(path).unwrap());
    let put = |number: usize| {
        let session = format!("{number}7777777-aaaa-4aaa-8aaa-aaaaaaaaaaaa");
        let path = home.put_dangling(&session, 4, 2).unwrap();
        (path.clone(), fs::read(path).unwrap())
    };
    let files = (0..2).map(put).collect();
    Desk { home, files, older }
}

impl Desk {
    fn operations(&self) -> Vec<Value> {
        self.home.rekindle_json(&["history"]).unwrap()["operations"].as_array().unwrap().clone()
    }

    fn is_as_it_was(&self) -> bool {
        self.files.iter().chain([&self.older]).all(|(path, old)| fs::read(path).unwrap() == *old)
    }

    fn is_repaired(&self) -> bool {
        self.files.iter().any(|(path, old)| fs::read(path).unwrap() != *old)
    }
}

/// Kills at every `step`-th change of a file, from `first` on, until the command ends before it is killed.
fn sweep(first: u64, step: u64, kill: impl Fn(&Desk, u64) -> (bool, String)) {
    let mut nth = first;
    loop {
        let desk = desk();
        let (over, words) = kill(&desk, nth);
        assert!(desk.operations().len() <= 2, "killed at change {nth}: more than one operation\n{words}");
        assert!(desk.is_as_it_was(), "killed at change {nth}: {words}");
        if over {
            return;
        }
        nth += step;
    }
}

/// Many at once: they wait for most of their time.
fn side_by_side(kill: impl Fn(&Desk, u64) -> (bool, String) + Sync) {
    const SIDES: u64 = 6;
    let kill = &kill;
    std::thread::scope(|scope| {
        for side in 0..SIDES {
            // Every eleventh point in all: the tests of the swap go through each of them.
            scope.spawn(move || sweep(1 + side * 11, SIDES * 11, kill));
        }
    });
}

#[test]
fn a_repair_of_several_is_undone_as_far_as_it_came() {
    side_by_side(|desk, nth| {
        let killed = kill_at_change(&mut desk.home.rekindle_command(&["repair", "--all"]), nth).unwrap();
        let over = killed.done.status.is_some();
        // One that was killed before its first swap changed nothing: an undo would take the operation before it.
        if !desk.is_repaired() {
            return (over, "nothing was done".to_owned());
        }
        let undone = desk.home.rekindle(&["undo"]).unwrap();
        (over, undone.words())
    });
}

#[test]
fn an_undo_of_several_is_completed_by_the_next_and_takes_nothing_else() {
    side_by_side(|desk, nth| {
        assert!(desk.home.rekindle(&["repair", "--all"]).unwrap().success());
        let killed = kill_at_change(&mut desk.home.rekindle_command(&["undo"]), nth).unwrap();
        let over = killed.done.status.is_some();
        // Killed while it printed, it is complete.
        if over || desk.operations()[0]["state"] == "undone" {
            return (over, killed.done.words());
        }
        let undone = desk.home.rekindle(&["undo"]).unwrap();
        (over, undone.words())
    });
}
