//! Backups that an earlier repair tool left beside transcripts: named by `doctor`, removed on request, never the only copy.
#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "throwaway files are changed on purpose, and a test that cannot go on panics"
)]

use std::fs;
use std::path::Path;

use lab::home::Home;
use lab::rekindle::DEADLINE;
use lab::terminal::answered;
use serde_json::json;

const ONE: &str = "0a0a0a0a-aaaa-4aaa-8aaa-aaaaaaaaaaaa";
const TWO: &str = "0b0b0b0b-aaaa-4aaa-8aaa-aaaaaaaaaaaa";
const GONE: &str = "0c0c0c0c-aaaa-4aaa-8aaa-aaaaaaaaaaaa";

/// A backup with another link in its last row, as before the tool mended it.
fn back_up(home: &Home, session: &str) -> std::path::PathBuf {
    let text = fs::read_to_string(home.transcript(session)).unwrap();
    let (rest, last) = text.trim_end().rsplit_once('\n').unwrap();
    let mut last: serde_json::Value = serde_json::from_str(last).unwrap();
    last["parentUuid"] = json!("deadbeef-0000-4000-8000-000000000000");
    let path = home.transcript(session).with_extension("jsonl.backup-1706644800000");
    fs::write(&path, format!("{rest}\n{last}\n")).unwrap();
    path
}

#[test]
fn old_backups_are_named_and_go_only_where_the_vault_has_all_of_them() {
    let home = Home::new().unwrap();
    for session in [ONE, TWO, GONE] {
        home.put_talk(session, 3).unwrap();
    }
    let held = back_up(&home, ONE);
    // One has a row more than any other copy, and of one there is no other copy at all.
    let more = back_up(&home, TWO);
    let row = format!("{{\"uuid\":\"x\",\"sessionId\":\"{TWO}\"}}\n");
    fs::write(&more, fs::read_to_string(&more).unwrap() + &row).unwrap();
    let only = back_up(&home, GONE);
    fs::remove_file(home.transcript(GONE)).unwrap();
    let there = || [&held, &more, &only].map(|path: &std::path::PathBuf| Path::new(path).exists());

    let doctor = home.rekindle(&["doctor"]).unwrap().stdout;
    assert!(doctor.contains("3 backups of an earlier repair tool"), "{doctor}");
    assert!(doctor.contains("rekindle vault prune --old-backups"), "{doctor}");
    let prune = ["vault", "prune", "--old-backups"];
    let refused = home.rekindle(&prune).unwrap();
    assert_eq!((refused.code(), there()), (Some(2), [true; 3]), "{}", refused.words());
    let asked = answered(&mut home.rekindle_command(&prune), "Remove these backups? [y/N]", "n", DEADLINE);
    assert_eq!((asked.unwrap().code, there()), (Some(3), [true; 3]));

    let done = home.rekindle(&[&prune[..], &["--yes"]].concat()).unwrap();
    assert!(done.success(), "{}", done.words());
    assert_eq!(there(), [false, true, true], "{}", done.words());
    assert!(done.stdout.contains("removed: 1 backup\n"), "{}", done.stdout);
    assert_eq!(done.stderr.matches("stays: the vault does not have every row of it").count(), 2);
    let left = home.rekindle_json(&[&prune[..], &["--dry-run"]].concat()).unwrap();
    assert_eq!((&left["removed"], left["kept"].as_array().map(Vec::len)), (&json!([]), Some(2)));
}
