//! Many at once: more broken files than a process may open, and one id in two folders.
#![expect(clippy::disallowed_methods, reason = "throwaway files are damaged on purpose")]

use std::fs;

use lab::home::Home;
use lab::process;
use lab::rekindle::DEADLINE;

const ONE: &str = "aaaaaaaa-0001-4aaa-8aaa-aaaaaaaaaaaa";

#[test]
fn more_broken_files_than_descriptors() {
    let home = Home::new().unwrap();
    for number in 0..150 {
        home.put_dangling(&format!("bbbbbbbb-{number:04}-4aaa-8aaa-aaaaaaaaaaaa"), 3, 1).unwrap();
    }
    let program = home.rekindle_command(&["repair", "--all", "--json"]);
    // Far fewer than two for each file; what a process needs by itself and for 64 together fits.
    let mut limited = home.command("prlimit");
    limited.arg("--nofile=160").arg(program.get_program()).args(program.get_args());
    for (name, value) in program.get_envs() {
        if let Some(value) = value {
            limited.env(name, value);
        }
    }
    let done = process::run(&mut limited, DEADLINE).unwrap();
    assert!(done.success(), "{}", done.words());
    let totals = home.rekindle_json(&["scan", "--all"]).unwrap()["totals"].clone();
    assert_eq!((&totals["healthy"], &totals["corrupted"]), (&150.into(), &0.into()));
}

#[test]
fn one_id_in_two_folders() {
    let home = Home::new().unwrap();
    let first = home.put_dangling(ONE, 3, 1).unwrap();
    let other = first.parent().unwrap().with_file_name("-elsewhere");
    fs::create_dir(&other).unwrap();
    fs::copy(&first, other.join(first.file_name().unwrap())).unwrap();
    let done = home.rekindle(&["repair", "--all"]).unwrap();
    assert!(done.success(), "{}", done.words());
    assert_eq!(home.rekindle_json(&["scan", "--all"]).unwrap()["totals"]["healthy"], 2);
}
