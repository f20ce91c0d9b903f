use super::*;
use crate::bench::{at, id};

/// A state directory of its own, with nothing else to look at.
fn room() -> (tempfile::TempDir, Settler) {
    let dir = tempfile::tempdir().unwrap();
    let state = StateDir::open(dir.path().join("state")).unwrap();
    let settler = Settler {
        refuge: Refuge::of(state.path(), Some(dir.path()), dir.path()),
        key: Key::open(&dir.path().join("key")).unwrap(),
        state,
        configs: Vec::new(),
        accounts: Vec::new(),
        sockets: BTreeSet::new(),
        keep_map: Duration::from_secs(1 << 20),
        context_limit: 2000,
        zone: TimeZone::UTC,
        log: false,
    };
    (dir, settler)
}

fn spool(settler: &Settler, bytes: &[u8]) {
    durable::private_dir(&settler.state.spool()).unwrap();
    durable::append(&settler.state.spool().join("a.jsonl"), bytes, durable::Sync::No).unwrap();
}

fn line(event: &str) -> Vec<u8> {
    let at = at(1).as_millisecond();
    format!("\n{{\"schema\":1,\"event\":\"{event}\",\"at\":{at},\"input\":{{\"cwd\":\"/p\"}}}}\n")
        .into_bytes()
}

fn settle(settler: &Settler) -> Settled {
    settler.settle(at(100), Duration::from_secs(30)).unwrap()
}

fn journal(settler: &Settler) -> Vec<String> {
    let entries = Journal::at(settler.state.journal()).read_tail(100).unwrap();
    entries.into_iter().map(|entry| entry.event).collect()
}

fn file(settler: &Settler) -> PathBuf {
    settler.state.session_health().join("a.lock")
}

#[test]
fn torn_and_garbage_lines_spoil_nothing_but_themselves() {
    let (_dir, settler) = room();
    let torn = b"\n{\"schema\":1,\"event\":\"St";
    spool(&settler, &[&line("SessionStart")[..], b"\nno json\n\xff\xfe\n{}\n", torn].concat());
    assert_eq!(settle(&settler).events, 1);
    spool(&settler, &line("StopFailure"));
    let settled = settle(&settler);
    assert_eq!((settled.events, settled.troubles), (1, vec![]));
    assert_eq!(journal(&settler), ["session_started", "turn_failed"]);
    assert!(!settler.has_news());
}

#[test]
fn a_broken_record_is_set_aside_and_made_again_and_told_once() {
    let (_dir, settler) = room();
    spool(&settler, &line("SessionStart"));
    settle(&settler);
    for broken in [&b"{"[..], b"", b"[]", b"\xff"] {
        durable::replace(&file(&settler), broken).unwrap();
        let settled = settle(&settler);
        assert_eq!(settled.troubles.len(), 1, "{broken:?}");
        let again = record::load(&settler.state, Some(&settler.key), &id("a"));
        assert_eq!(again.unwrap().unwrap().record.status, Status::Active, "{broken:?}");
    }
    assert_eq!(journal(&settler), ["session_started"]);
}

#[test]
fn a_record_of_a_newer_program_is_neither_written_nor_set_aside() {
    let (_dir, settler) = room();
    spool(&settler, &line("SessionStart"));
    settle(&settler);
    let ours = std::fs::read_to_string(file(&settler)).unwrap();
    let known = ours.replace("\"schema\": 1", "\"schema\": 2");
    for newer in [known.clone(), known.replace("\"active\"", "\"asleep\"")] {
        assert_ne!(newer, ours);
        durable::replace(&file(&settler), newer.as_bytes()).unwrap();
        spool(&settler, &line("StopFailure"));
        settle(&settler);
        assert_eq!(std::fs::read_to_string(file(&settler)).unwrap(), newer);
    }
    assert_eq!(journal(&settler), ["session_started"]);
}
