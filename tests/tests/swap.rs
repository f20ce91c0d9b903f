//! Rows of a process that has a transcript open across the very swap: none is lost, whenever they come.
//!
//! The program is stopped right before it exchanges the two files, so that the moment is met every time.
#![cfg(target_os = "linux")]
#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "throwaway files are damaged on purpose, and a test that cannot go on panics"
)]

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use lab::base::{Base, GHOST};
use lab::home::Home;
use lab::process::{Finished, wait_until};
use lab::talk;
use lab::trace::{self, Next};
use serde_json::Value;

const SESSION: &str = "99999999-bbbb-4bbb-8bbb-bbbbbbbbbbbb";
const DEADLINE: Duration = Duration::from_secs(60);

/// The rows of one more turn, as text.
fn late_rows(home: &Home, turn: u8) -> (Vec<Value>, Vec<u8>) {
    let whole = talk::talk(SESSION, &home.project(), turn);
    let parent = whole.uuid(whole.reply(turn - 1).unwrap());
    let rows = talk::turn_rows(SESSION, &home.project(), turn, &parent).to_vec();
    let text: String = rows.iter().map(|row| format!("{row}\n")).collect();
    (rows, text.into_bytes())
}

/// Runs a command and opens the transcript for appending right before the two files change places.
fn opened_before_the_swap(home: &Home, arguments: &[&str], rows: &[u8]) -> (Finished, fs::File) {
    let path = home.transcript(SESSION);
    let mut file = None;
    let done = trace::follow(&mut home.rekindle_command(arguments), |call| {
        if call.exchanges_files() && file.is_none() {
            let mut opened = fs::File::options().append(true).open(&path).unwrap();
            opened.write_all(rows).unwrap();
            file = Some(opened);
        }
        Next::GoOn
    })
    .unwrap();
    (done, file.unwrap())
}

/// How often each row is in the transcript.
fn counts(path: &Path, rows: &[Value]) -> Vec<usize> {
    let base = Base::read(&fs::read(path).unwrap(), SESSION).unwrap();
    let count = |row: &Value| base.rows().into_iter().filter(|at| base.uuid(*at) == row["uuid"]).count();
    rows.iter().map(count).collect()
}

/// What is beside the transcript and not a transcript.
fn beside(path: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(path.parent().unwrap()).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    paths.filter(|path| path.extension().is_none_or(|extension| extension != "jsonl")).collect()
}

/// The rest of each test: the command kept the old file and said so; rows that come much later reach the transcript; in the
/// end nothing is left.
fn late_rows_arrive(home: &Home, done: &Finished, mut writer: fs::File, turn: u8) {
    let path = home.transcript(SESSION);
    let said = format!("process {} (", std::process::id());
    assert!(done.stderr.contains(&said), "{}", done.words());
    assert!(done.stderr.contains("still has the old file of 99999999 open for writing"), "{}", done.words());
    assert_eq!(beside(&path).len(), 1, "{:?}", beside(&path));

    // The command is over and with it its watch. A settle carries over what comes, whichever settle it is.
    let (rows, text) = late_rows(home, turn);
    writer.write_all(&text).unwrap();
    let settled = home.rekindle(&["settle"]).unwrap();
    assert!(settled.success(), "{}", settled.words());
    assert!(wait_until(DEADLINE, || counts(&path, &rows) == [1, 1]), "{:?}", counts(&path, &rows));
    // A torn row waits until it is whole.
    let (more, text) = late_rows(home, turn + 1);
    let (begin, end) = text.split_at(30);
    writer.write_all(begin).unwrap();
    assert!(home.rekindle(&["scan", SESSION]).unwrap().success());
    writer.write_all(end).unwrap();
    drop(writer);
    let settled = home.rekindle(&["settle"]).unwrap();
    assert!(settled.success(), "{}", settled.words());
    assert!(wait_until(DEADLINE, || beside(&path).is_empty()), "{:?}", beside(&path));
    assert_eq!(counts(&path, &rows), [1, 1]);
    assert_eq!(counts(&path, &more), [1, 1]);
    assert!(!home.rekindle(&["settle"]).unwrap().stderr.contains("open for writing"));
}

#[test]
fn a_repair_while_a_process_has_the_file_open() {
    let home = Home::new().unwrap();
    let path = home.put_dangling(SESSION, 6, 3).unwrap();
    let (done, writer) = opened_before_the_swap(&home, &["repair", SESSION], b"");
    assert!(done.success(), "{}", done.words());
    late_rows_arrive(&home, &done, writer, 6);
    let after = Base::read(&fs::read(&path).unwrap(), SESSION).unwrap();
    assert_eq!(after.rows().len(), 16);
    assert!(after.rows().into_iter().all(|row| after[row]["parentUuid"] != GHOST));
    assert_eq!(home.scan(SESSION).unwrap()["status"], Value::from("healthy"));
    // What came late was said since, and stays.
    assert!(home.rekindle(&["undo"]).unwrap().success());
    assert_eq!(Base::read(&fs::read(&path).unwrap(), SESSION).unwrap().rows().len(), 16);
}

#[test]
fn an_undo_while_a_process_has_the_file_open() {
    let home = Home::new().unwrap();
    home.put_dangling(SESSION, 6, 3).unwrap();
    home.repair(&[SESSION]).unwrap();
    let (done, writer) = opened_before_the_swap(&home, &["undo", SESSION], b"");
    assert!(done.success(), "{}", done.words());
    late_rows_arrive(&home, &done, writer, 6);
    assert_eq!(home.rekindle(&["undo"]).unwrap().code(), Some(3), "there is nothing more to take back");
}

#[test]
fn a_putting_back_while_a_process_has_the_file_open() {
    let home = Home::new().unwrap();
    let path = home.put_talk(SESSION, 6).unwrap();
    assert!(home.rekindle(&["vault", "sync"]).unwrap().success());
    fs::write(&path, b"{\"type\":\"summary\",\"summary\":\"a stub\",\"leafUuid\":\"x\"}\n").unwrap();
    let (done, writer) = opened_before_the_swap(&home, &["vault", "restore", SESSION], b"");
    assert!(done.success(), "{}", done.words());
    late_rows_arrive(&home, &done, writer, 6);
}

#[test]
fn rows_written_right_before_the_swap_and_much_later() {
    let home = Home::new().unwrap();
    let path = home.put_dangling(SESSION, 6, 3).unwrap();
    let (rows, text) = late_rows(&home, 6);
    let (done, writer) = opened_before_the_swap(&home, &["repair", SESSION], &text);
    assert!(done.success(), "{}", done.words());
    assert_eq!(counts(&path, &rows), [1, 1]);
    late_rows_arrive(&home, &done, writer, 7);
}

/// A file that had been put back where none was goes again, and what is still written to it is kept.
#[test]
fn an_undo_that_takes_a_file_away_while_a_process_has_it_open() {
    let home = Home::new().unwrap();
    let path = home.put_talk(SESSION, 6).unwrap();
    assert!(home.rekindle(&["vault", "sync"]).unwrap().success());
    let whole = fs::read(&path).unwrap();
    fs::remove_file(&path).unwrap();
    home.repair(&[SESSION]).unwrap();
    let (mut writer, mut renames) = (None, 0);
    let done = trace::follow(&mut home.rekindle_command(&["undo"]), |call| {
        renames += u32::from(call.renames());
        // The first one says that the undo has begun; then it looks for owners, and the second one is the backup's record.
        if renames == 2 && writer.is_none() {
            writer = fs::File::options().append(true).open(&path).ok();
        }
        Next::GoOn
    })
    .unwrap();
    assert!(done.success(), "{}", done.words());
    assert!(!path.exists());
    assert!(done.stderr.contains("open for writing"), "{}", done.words());
    let (_, text) = late_rows(&home, 6);
    let mut writer = writer.unwrap();
    writer.write_all(&text).unwrap();
    drop(writer);
    assert!(home.rekindle(&["settle"]).unwrap().success());
    assert!(wait_until(DEADLINE, || beside(&path).is_empty()), "{:?}", beside(&path));
    assert!(!path.exists(), "its last rows alone are no conversation");
    let backups = home.state().join("vault/backups").join(SESSION);
    let kept = fs::read_dir(backups).unwrap().map(|entry| entry.unwrap().path().join("late"));
    let kept: Vec<Vec<u8>> = kept.filter_map(|late| fs::read(late).ok()).collect();
    assert_eq!(kept, [[whole, text].concat()]);
}

/// A process that has the transcript open before the very last look owns it.
#[test]
fn a_process_that_opens_it_earlier_is_seen() {
    let home = Home::new().unwrap();
    let path = home.put_dangling(SESSION, 6, 3).unwrap();
    let before = fs::read(&path).unwrap();
    let backups = home.state().join("vault/backups").join(SESSION);
    let mut writer = None;
    let done = trace::follow(&mut home.rekindle_command(&["repair", SESSION]), |call| {
        if call.renames() && writer.is_none() && backups.exists() {
            writer = fs::File::options().append(true).open(&path).ok();
        }
        Next::GoOn
    })
    .unwrap();
    assert_eq!(done.code(), Some(3), "{}", done.words());
    assert!(done.stdout.contains(&format!("process {} owns it", std::process::id())), "{}", done.words());
    assert_eq!(fs::read(&path).unwrap(), before);
    assert!(beside(&path).is_empty(), "{:?}", beside(&path));
}
