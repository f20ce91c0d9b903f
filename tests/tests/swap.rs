//! Rows that reach the old file around the very swap are carried over: nothing is left to chance here.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on panics")]

use std::fs;
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

use lab::base::{Base, GHOST};
use lab::home::Home;
use lab::process::Running;
use lab::talk;
use serde_json::Value;
use uuid::Uuid;

const PATIENCE: Duration = Duration::from_secs(60);
/// So often each moment must be met, and so often it is tried.
const HITS: usize = 2;
const TRIES: usize = 40;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Moment {
    /// Opened and written behind the repair's look for owners, before the swap.
    Before,
    /// Opened before the swap, written behind it: the row goes to a file that has no name any more.
    After,
}

fn spin(what: &str, mut holds: impl FnMut() -> bool) {
    let since = Instant::now();
    while !holds() {
        assert!(since.elapsed() < PATIENCE, "{what}");
        thread::yield_now();
    }
}

/// The last thing a repair does before the swap is to write down that it will, and to see that nothing changed.
fn intends(backups: &Path) -> bool {
    let entries = fs::read_dir(backups).into_iter().flatten().flatten();
    entries.map(|entry| entry.path().join("repair.json")).any(|record| record.exists())
}

/// One repair with one late row; whether the moment was met.
fn late_row(home: &Home, moment: Moment) -> bool {
    let session = Uuid::new_v4().to_string();
    let path = home.put_dangling(&session, 6, 3).unwrap();
    let base = Base::read(&fs::read(&path).unwrap(), &session).unwrap();
    let parent = base.uuid(base.reply(5).unwrap());
    let rows = talk::turn_rows(&session, &home.project(), 6, &parent);
    let text: String = rows.iter().map(|row| format!("{row}\n")).collect();
    let ino = || fs::metadata(&path).unwrap().ino();
    let before = ino();

    let mut command = home.rekindle_command(&["repair", &session, "--json"]);
    let mut running =
        Running::start(command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null())).unwrap();
    let backups = home.state().join("vault/backups").join(&session);
    spin("no intent", || intends(&backups));
    let mut file = fs::File::options().append(true).open(&path).unwrap();
    let old = file.metadata().unwrap().ino() == before;
    if moment == Moment::After {
        spin("no swap", || ino() != before);
    }
    file.write_all(text.as_bytes()).unwrap();
    let met = old && (moment == Moment::After || ino() == before);
    drop(file);
    let ended = running.wait(PATIENCE).unwrap().unwrap();
    if moment == Moment::Before && ended.code() == Some(3) {
        // Seen in time: nothing was changed, and the row is where it was written.
        let kept = [base.bytes(), text.into_bytes()].concat();
        assert!(fs::read(&path).unwrap() == kept, "a refused repair changed the file");
        return old;
    }
    assert!(ended.success());

    let after = Base::read(&fs::read(&path).unwrap(), &session).unwrap();
    for row in &rows {
        let count = after.rows().into_iter().filter(|other| after.uuid(*other) == row["uuid"]).count();
        assert_eq!(count, 1, "{moment:?}, met: {met}");
    }
    assert_eq!(after.rows().len(), 14);
    assert!(after.rows().into_iter().all(|row| after[row]["parentUuid"] != GHOST));
    assert_eq!(home.scan(&session).unwrap()["status"], Value::from("healthy"));
    met
}

fn meets(moment: Moment) {
    let home = Home::new().unwrap();
    let mut hits = 0;
    for _ in 0..TRIES {
        hits += usize::from(late_row(&home, moment));
        if hits == HITS {
            return;
        }
    }
    panic!("the moment was met {hits} times");
}

#[test]
fn a_row_right_before_the_swap() {
    meets(Moment::Before);
}

#[test]
fn a_row_right_behind_the_swap() {
    meets(Moment::After);
}
