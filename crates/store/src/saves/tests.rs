use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use serde_json::{Map, Value, json};

use super::*;
use crate::lock::LockError;
use crate::mac::{Key, Origin};

struct Room {
    dir: tempfile::TempDir,
    state: StateDir,
    key: Key,
}

fn room() -> Room {
    let dir = tempfile::tempdir().unwrap();
    let state = StateDir::open(dir.path().join("state")).unwrap();
    let key = Key::create(&dir.path().join("key")).unwrap();
    Room { dir, state, key }
}

fn count(body: &Map<String, Value>) -> Option<Counts> {
    Some(Counts { panes: body.get("panes")?.as_array()?.len(), ..Counts::default() })
}

impl Room {
    fn draft(&self, second: i64, panes: usize) -> Draft {
        let head = Head {
            schema: SCHEMA,
            saved_at: Timestamp::from_second(second).unwrap(),
            kind: Kind::Manual,
            name: None,
            imported: false,
            held: None,
            counts: Counts::default(),
            scrollback: None,
        };
        let Value::Object(body) = json!({"panes": vec![1; panes], "theirs": 5}) else { panic!() };
        Draft { head, body, scrollback: None }
    }

    fn store(&self, draft: &Draft) -> Written {
        store(&self.state, &self.key, draft, count).unwrap()
    }

    fn current(&self, second: i64, panes: usize) -> String {
        let written = self.store(&self.draft(second, panes));
        make_current(&self.state, &written.id).unwrap();
        written.id
    }

    fn list(&self) -> Listed {
        list(&self.state, Some(&self.key)).unwrap()
    }
}

#[test]
fn a_save_reads_back_sealed_private_and_with_unknown_keys() {
    let room = room();
    let mut draft = room.draft(5, 3);
    draft.scrollback = Some(Scrollback { packed: b"text".to_vec(), panes: 1, taken_at: None });
    let written = room.store(&draft);
    assert_eq!(written.id, "19700101T000005.000Z-manual");
    let read = load(&room.state, Some(&room.key), &written.id).unwrap();
    assert_eq!((read.head.counts.panes, read.origin), (3, Origin::Genuine));
    assert_eq!(read.whole["theirs"], 5);
    assert_eq!(std::fs::read(read.scrollback.unwrap()).unwrap(), b"text");
    let mode = std::fs::metadata(&written.path).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    assert_ne!(room.store(&draft).id, written.id);
    assert_eq!(room.list().current().unwrap().bytes, room.list().generations[0].bytes);
}

#[test]
fn what_does_not_count_the_same_again_is_no_save() {
    let room = room();
    let good = room.current(1, 2);
    let times = std::cell::Cell::new(0);
    let drifting = |_: &Map<String, Value>| {
        times.set(times.get() + 1);
        Some(Counts { panes: times.get(), ..Counts::default() })
    };
    let mut draft = room.draft(2, 2);
    draft.scrollback = Some(Scrollback { packed: b"x".to_vec(), panes: 1, taken_at: None });
    let stored = store(&room.state, &room.key, &draft, drifting);
    assert!(matches!(stored, Err(SaveError::NotAsWritten { .. })));
    let listed = room.list();
    assert_eq!((listed.generations.len(), listed.current), (1, Some(good)));
    assert_eq!(std::fs::read_dir(room.state.saves()).unwrap().count(), 2);
}

#[test]
fn torn_and_empty_files_are_passed_over_and_the_newest_good_one_is_current() {
    let room = room();
    let older = room.current(1, 2);
    let newer = room.current(2, 2);
    let mut held = room.draft(3, 0);
    held.head.held = Some("it is empty".to_owned());
    room.store(&held);
    assert_eq!(room.list().current, Some(newer.clone()));
    let path = room.state.saves().join(format!("{newer}.json"));
    let text = std::fs::read(&path).unwrap();
    for torn in [&b""[..], &text[..text.len() / 2], &vec![0; text.len()]] {
        durable::replace(&path, torn).unwrap();
        let listed = room.list();
        assert_eq!(listed.current, Some(older.clone()));
        assert_eq!(listed.skipped.len(), 2, "{:?}", listed.skipped);
    }
    durable::replace(&path, &text).unwrap();
    assert_eq!(room.list().current, Some(newer));
    assert!(room.list().skipped.is_empty());
}

#[test]
fn pruning_spares_the_current_one_and_names_and_counts_held_ones_apart() {
    let room = room();
    let current = room.current(1, 5);
    for (second, name) in [(2, Some("release")), (3, Some("release")), (4, None), (5, None), (6, None)] {
        let mut draft = room.draft(second, 5);
        draft.head.name = name.map(str::to_owned);
        draft.scrollback = Some(Scrollback { packed: b"x".to_vec(), panes: 1, taken_at: None });
        room.store(&draft);
    }
    for second in 10..15 {
        let mut draft = room.draft(second, 0);
        draft.head.held = Some("it is empty".to_owned());
        room.store(&draft);
    }
    durable::replace(&room.state.saves().join(".rekindle-left"), b"x").unwrap();
    durable::replace(&room.state.saves().join("19700101T000000.000Z-timer.zst"), b"x").unwrap();
    let gone = prune(&room.state, room.list().current.as_deref(), 2).unwrap();
    assert_eq!(gone.len(), 4, "{gone:?}");
    let seconds: Vec<i64> =
        room.list().generations.iter().map(|known| known.head.saved_at.as_second()).collect();
    assert_eq!(seconds, [14, 13, 6, 5, 3, 2, 1]);
    assert_eq!(room.list().current, Some(current));
    let files = std::fs::read_dir(room.state.saves()).unwrap().count();
    assert_eq!(files, 7 + 4 + 1, "seven saves, four with scrollback, and the pointer");
}

#[test]
fn a_newer_save_is_listed_and_never_written() {
    let room = room();
    let mut draft = room.draft(1, 1);
    draft.head.schema = SCHEMA + 1;
    let stored = store(&room.state, &room.key, &draft, count);
    assert!(matches!(stored, Err(SaveError::Newer { .. })));
    let newer = json!({"schema": 9, "savedAt": "2026-01-01T00:00:00Z", "kind": "dream", "more": true});
    durable::private_dir(&room.state.saves()).unwrap();
    durable::replace(&room.state.saves().join("x.json"), newer.to_string().as_bytes()).unwrap();
    let listed = room.list();
    assert_eq!((listed.generations[0].head.schema, listed.generations[0].head.kind), (9, Kind::Unknown));
    assert_eq!(listed.generations[0].origin, Origin::Foreign);
}

#[test]
fn a_restore_that_holds_its_lock_is_noticed() {
    let room = room();
    drop(lock(&room.state, Duration::ZERO).unwrap());
    assert!(no_restore(&room.state, None).unwrap().is_some());
    assert!(no_restore(&room.state, Some((7, 9))).unwrap().is_none());
    let held = Lock::try_alone(&restore_lock(&room.state, Some((7, 9)))).unwrap();
    assert!(matches!(no_restore(&room.state, Some((7, 9))), Err(LockError::Held { .. })));
    drop(held);
    let shared = no_restore(&room.state, None).unwrap();
    assert!(matches!(Lock::try_alone(&restore_lock(&room.state, None)), Err(LockError::Held { .. })));
    drop((shared, room.dir));
}
