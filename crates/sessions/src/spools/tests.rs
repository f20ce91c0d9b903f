use super::*;
use store::spool;

fn room() -> (tempfile::TempDir, StateDir, FallbackSpool) {
    let dir = tempfile::tempdir().unwrap();
    let state = StateDir::open(dir.path().join("state")).unwrap();
    let refuge = FallbackSpool::of(state.path(), Some(dir.path()), dir.path());
    refuge.open().unwrap();
    (dir, state, refuge)
}

fn line(event: &str) -> Vec<u8> {
    format!("\n{{\"schema\":1,\"event\":\"{event}\",\"at\":1,\"input\":{{}}}}\n").into_bytes()
}

/// Puts lines into the refuge, at rest for long.
fn wait_in(refuge: &FallbackSpool, bytes: &[u8]) -> PathBuf {
    let path = refuge.spool().join("s1.jsonl");
    durable::append(&path, bytes, Sync::No).unwrap();
    let long_ago = SystemTime::now() - Duration::from_secs(60);
    durable::set_like(&path, durable::Kept { mode: None, mtime: Some(long_ago) }).unwrap();
    path
}

fn events(state: &StateDir) -> Vec<String> {
    let path = state.spool().join("s1.jsonl");
    spool::read(&path, 0, SessionKey::parse("s1").unwrap().id(), None, 0)
        .unwrap()
        .0
        .into_iter()
        .map(|read| read.event.event)
        .collect()
}

#[test]
fn what_waited_is_taken_once_even_when_taking_was_killed_half_way() {
    let (_dir, state, refuge) = room();
    let (mut troubles, waited) = (Vec::new(), [line("A"), line("B")].concat());
    let path = wait_in(&refuge, &waited);
    take_refuge(&refuge, &state, &mut troubles);
    assert_eq!((events(&state), path.exists()), (vec!["A".to_owned(), "B".to_owned()], false));
    // Killed after the append and before the removal: the same lines are there again, and newer ones.
    wait_in(&refuge, &[waited, line("C")].concat());
    take_refuge(&refuge, &state, &mut troubles);
    assert_eq!((events(&state).concat(), troubles), ("ABC".to_owned(), vec![]));
}

#[test]
fn a_file_that_a_hook_may_still_write_to_waits_on() {
    let (_dir, state, refuge) = room();
    let path = refuge.spool().join("s1.jsonl");
    durable::append(&path, &line("A"), Sync::No).unwrap();
    take_refuge(&refuge, &state, &mut Vec::new());
    assert!(path.exists() && events(&state).is_empty());
}

#[test]
fn what_cannot_be_taken_waits_and_is_reported() {
    let (_dir, state, refuge) = room();
    let path = wait_in(&refuge, &line("A"));
    durable::replace(&state.spool(), b"a file where the folder should be").unwrap();
    let mut troubles = Vec::new();
    take_refuge(&refuge, &state, &mut troubles);
    assert_eq!((troubles.len(), path.exists()), (1, true));
}

#[test]
fn other_files_are_no_spools() {
    let (_dir, state, _refuge) = room();
    durable::private_dir(&state.spool()).unwrap();
    for name in ["s1.jsonl", "s1.status", ".rekindle-x", "s3.txt", "s2.jsonl"] {
        durable::replace(&state.spool().join(name), b"\n").unwrap();
    }
    let found: Vec<String> =
        list(&state).unwrap().into_iter().map(|spooled| spooled.session.to_string()).collect();
    assert_eq!(found, ["s1", "s2"]);
}

#[test]
fn what_ended_long_ago_is_kept_no_longer() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.jsonl");
    let at = crate::bench::at;
    let check = |status, seen: i64, folded, head: Option<&str>, stays: bool| {
        durable::replace(&path, b"\nx\n").unwrap();
        let mut record = SessionRecord::new(crate::bench::id("a"), at(0));
        (record.status, record.last_seen, record.spool_offset) = (status, at(seen), folded);
        record.spool_head = head.map(str::to_owned);
        let spools = list_in(dir.path()).unwrap();
        let found = retired(&spools, |_| Some(vec![&record]), at(100));
        assert_eq!(found.is_empty(), stays, "{status:?} {seen} {folded} {head:?}");
        assert!(retired(&spools, |_| None, at(100)).is_empty(), "its record is not stored");
        found.into_iter().for_each(|spooled| remove(spooled).unwrap());
        assert_eq!(path.exists(), stays);
    };
    check(Status::EndedCleanly, 50, 3, Some("x"), false);
    check(Status::EndedCleanly, 50, 3, None, true);
    check(Status::Active, 50, 3, Some("x"), true);
    check(Status::EndedCleanly, 150, 3, Some("x"), true);
    check(Status::EndedCleanly, 50, 2, Some("x"), true);
}

#[test]
fn a_spool_that_has_grown_since_it_was_read_stays() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.jsonl");
    durable::replace(&path, b"\nx\n").unwrap();
    let spools = list_in(dir.path()).unwrap();
    durable::append(&path, b"\ny\n", Sync::No).unwrap();
    remove(&spools[0]).unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), b"\nx\n\ny\n");
}
