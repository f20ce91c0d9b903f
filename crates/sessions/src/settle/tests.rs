use super::*;
use crate::bench::{at, id};
use agents::claude::process::pid_domain;

/// A state directory of its own, with nothing else to look at.
fn room() -> (tempfile::TempDir, Settler) {
    let dir = tempfile::tempdir().unwrap();
    let state = StateDir::open(dir.path().join("state")).unwrap();
    let settler = Settler {
        refuge: FallbackSpool::of(state.path(), Some(dir.path()), dir.path()),
        key: MachineKey::open(&state, &dir.path().join("key")).unwrap(),
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
        let again = record::load(&settler.state, settler.key.reading(), &id("a"));
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

/// An event of this size, so that a new spool can be made as long as the old one.
fn padded(event: &str, length: usize) -> Vec<u8> {
    let mut line = line(event);
    let missing = length.checked_sub(line.len()).unwrap();
    let end = line.len() - 2;
    line.splice(end..end, std::iter::repeat_n(b' ', missing));
    line
}

fn loaded(settler: &Settler) -> SessionRecord {
    record::load(&settler.state, settler.key.reading(), &id("a")).unwrap().unwrap().record
}

/// A conversation that ended long ago, with a spool of 400 bytes that is folded in and not yet retired.
fn ended_long_ago() -> (tempfile::TempDir, Settler) {
    let (dir, mut settler) = room();
    spool(&settler, &padded("SessionStart", 200));
    spool(&settler, &padded("Stop", 200));
    settle(&settler);
    let end = |record: &mut SessionRecord| record.status = Status::EndedCleanly;
    settler.change(&id("a"), at(100), Duration::from_secs(30), end).unwrap();
    settler.keep_map = Duration::from_secs(10);
    (dir, settler)
}

#[test]
fn a_spool_that_is_begun_anew_is_read_from_its_beginning_wherever_retiring_was_killed() {
    let old = |settler: &Settler| settler.state.spool().join("a.jsonl");
    // What is on the disk after each step: the record, the lengths that are known, the spool.
    for (killed, steps) in [("before anything", 0), ("record stored", 1), ("lengths kept", 2), ("removed", 3)]
    {
        for (length, regrown) in [(150, true), (400, true), (600, true), (400, false)] {
            let (_dir, settler) = ended_long_ago();
            let folder = settler.state.session_health();
            let files = [folder.join("a.lock"), settler.state.settled(), old(&settler)];
            let before: Vec<Vec<u8>> = files.iter().map(|file| std::fs::read(file).unwrap()).collect();
            settle(&settler);
            assert!(!old(&settler).exists(), "it is retired");
            for (file, bytes) in files.iter().zip(&before).skip(steps) {
                durable::replace(file, bytes).unwrap();
            }
            if regrown {
                // `vault forget`, a cleaner or the retiring itself took the old one.
                durable::remove(&old(&settler)).unwrap();
            }
            spool(&settler, &padded("StopFailure", length));
            assert!(settler.has_news() || steps < 2, "{killed}, {length}");
            assert_eq!(settle(&settler).events, 1, "killed: {killed}; {length} bytes, new file: {regrown}");
            assert!(loaded(&settler).last_error.is_some(), "{killed}, {length}");
        }
    }
}

#[test]
fn a_record_of_0_1_0_gets_the_name_of_its_spool_before_that_is_removed() {
    let (_dir, settler) = ended_long_ago();
    let text = std::fs::read_to_string(file(&settler)).unwrap();
    let mut value: serde_json::Value = serde_json::from_str(&text).unwrap();
    value.as_object_mut().unwrap().shift_remove("spoolHead");
    durable::replace(&file(&settler), value.to_string().as_bytes()).unwrap();
    assert_eq!(settle(&settler).events, 0);
    assert!(loaded(&settler).spool_head.is_some() && !settler.state.spool().join("a.jsonl").exists());
}

/// Its record is not ours to write, so its spool is not ours to remove: the newer program has not read all of it.
#[test]
fn the_spool_of_a_newer_programs_record_stays() {
    let (_dir, settler) = ended_long_ago();
    let text = std::fs::read_to_string(file(&settler)).unwrap();
    durable::replace(&file(&settler), text.replace("\"schema\": 1", "\"schema\": 2").as_bytes()).unwrap();
    settle(&settler);
    assert_eq!(std::fs::metadata(settler.state.spool().join("a.jsonl")).unwrap().len(), 400);
}

/// The agent was killed 50 ms after `/clear`: it had told the end of the old conversation, and not the start of the new one.
#[test]
fn an_agent_that_was_killed_right_after_clear_has_crashed() {
    let (_dir, settler) = room();
    // A process that has been and gone: no other has its start time.
    let chain = r#"[{"pid":4194000,"start":7,"tty":0,"argv":["claude"]}]"#;
    let said = |event: &str, second: i64, input: &str| {
        let at = at(second).as_millisecond();
        let line = format!(
            "\n{{\"schema\":1,\"event\":\"{event}\",\"at\":{at},\"chain\":{chain},\"input\":{{\"cwd\":\"/p\"{input}}}}}\n"
        );
        spool(&settler, line.as_bytes());
    };
    said("SessionStart", 1, r#","source":"startup""#);
    said("SessionEnd", 5, r#","reason":"clear""#);
    let settled = settle(&settler);
    let record = &settled.records[&id("a")];
    assert_eq!((record.status, record.reason.as_deref()), (Status::Crashed, Some("cleared")), "{record:#?}");
}

/// Two accounts with one id share a spool and nothing else: a broken record is made again from its own events, also after a
/// settle that was killed before it did so, and nothing is folded into the other one twice.
#[test]
fn records_of_one_id_in_two_accounts_are_made_again_each_from_its_own_events() {
    const ID: &str = "0b1e6f5e-4a52-4b51-9a1e-0f6f3a1c2d3e";
    let (dir, settler) = room();
    let root = dir.path().canonicalize().unwrap();
    let accounts = [root.join("one"), root.join("two")];
    let id = SessionId::new(ID).unwrap();
    for (at, account) in accounts.iter().enumerate() {
        durable::private_dir(&account.join("projects")).unwrap();
        for event in ["SessionStart", "StopFailure"] {
            let input = serde_json::json!({"cwd": account, "error": format!("of {at}"),
                "transcript_path": account.join("projects/-x").join(format!("{ID}.jsonl"))});
            let launch = (event == "SessionStart").then(|| serde_json::json!({"pidDomain": pid_domain()}));
            let event = serde_json::json!(
                {"schema": 1, "event": event, "at": 1000 + at, "launch": launch, "input": input});
            let event = serde_json::from_value(event).unwrap();
            let key = settler.key.reading();
            spool::append(&settler.state.spool(), &id, &event, key, durable::Sync::No).unwrap();
        }
    }
    let keys = [SessionKey::first(id.clone()), SessionKey::of_account(id, &accounts[1])];
    let check = |settled: &Settled| {
        assert_eq!(settled.records.keys().collect::<Vec<_>>(), keys.iter().collect::<Vec<_>>());
        for (key, account) in keys.iter().zip(&accounts) {
            assert_eq!(settled.records[key].cwd.as_ref(), Some(account));
        }
    };
    check(&settle(&settler));
    let told = journal(&settler);
    assert_eq!(told, ["session_started", "turn_failed", "session_started", "turn_failed"]);
    for key in &keys {
        let path = settler.state.session_health().join(format!("{key}.lock"));
        durable::replace(&path, b"{").unwrap();
        check(&settle(&settler));
        // As a settle leaves it that was killed behind the renaming.
        durable::rename(&path, &path.with_extension("broken-1")).unwrap();
        check(&settle(&settler));
        assert_eq!(journal(&settler), told, "nothing is told twice");
        assert_eq!(settle(&settler).events, 0);
    }
}

/// A power cut takes the end of a spool, of which only the first and the last line are synced; the record has read more.
#[test]
fn what_is_written_behind_a_cut_is_heard() {
    let (_dir, settler) = room();
    let path = settler.state.spool().join("a.jsonl");
    let said = |event: &str, pid: u32, second: i64| {
        let event = serde_json::json!({"schema": 1, "event": event, "at": at(second).as_millisecond(),
            "chain": [{"pid": pid, "start": 7, "tty": 0, "argv": ["claude"]}], "input": {"cwd": "/p"}});
        let event = serde_json::from_value(event).unwrap();
        let key = settler.key.reading();
        spool::append(&settler.state.spool(), id("a").id(), &event, key, durable::Sync::No).unwrap();
    };
    let length = || std::fs::metadata(&path).unwrap().len();
    said("SessionStart", 4_194_000, 1);
    let first = length();
    said("Stop", 4_194_000, 2);
    said("Stop", 4_194_000, 3);
    settle(&settler);
    let cut = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
    cut.set_len(first).unwrap();
    said("SessionStart", 4_194_001, 4);
    assert!(length() < loaded(&settler).spool_offset);
    settle(&settler);
    assert_eq!(loaded(&settler).run().unwrap().pid, 4_194_001);
    // Here it has grown again beyond what was read before anybody looked.
    cut.set_len(first).unwrap();
    for second in 5..12 {
        said("SessionStart", 4_194_002, second);
    }
    settle(&settler);
    assert_eq!(loaded(&settler).run().unwrap().pid, 4_194_002);
}

/// The first account's record says that the shared spool is read: the second one's must be on the disk before.
#[test]
fn new_records_are_stored_first() {
    let record = |key: &SessionKey| SessionRecord::new(key.clone(), at(1));
    let keys = ["a", "b", "c"].map(id);
    let before: BTreeMap<SessionKey, SessionRecord> =
        [&keys[0], &keys[1]].map(|key| (key.clone(), record(key))).into_iter().collect();
    let mut after = before.clone();
    after.get_mut(&keys[0]).unwrap().spool_offset = 400;
    after.insert(keys[2].clone(), record(&keys[2]));
    let order: Vec<&SessionKey> = in_storing_order(&before, &after).map(|(key, _)| key).collect();
    assert_eq!(order, [&keys[2], &keys[0]]);
}

/// A clock that was 40 days ahead when hooks were heard: the session counts as heard lately neither now, nor on the day that
/// the clock had then.
#[test]
fn what_was_heard_by_a_clock_that_was_ahead_is_not_recent() {
    let (_dir, settler) = room();
    let ahead = at(40 * 86_400);
    let text = String::from_utf8(line("SessionStart")).unwrap();
    let text = text.replace(&at(1).as_millisecond().to_string(), &ahead.as_millisecond().to_string());
    spool(&settler, text.as_bytes());
    // The settle that the hook started has the same clock.
    settler.settle(ahead, Duration::from_secs(30)).unwrap();
    assert!(loaded(&settler).is_clock_doubted(at(100)));
    settle(&settler);
    let record = loaded(&settler);
    assert_eq!((record.last_seen, record.created), (at(100), at(100)));
    for day in [0, 30, 40, 41] {
        assert!(record.is_clock_doubted(at(200 + day * 86_400)), "day {day}");
    }
    // Its agent is heard again, by a clock that is right.
    let text = String::from_utf8(line("Stop")).unwrap();
    let text = text.replace(&at(1).as_millisecond().to_string(), &at(300).as_millisecond().to_string());
    spool(&settler, text.as_bytes());
    settler.settle(at(301), Duration::from_secs(30)).unwrap();
    assert!(!loaded(&settler).is_clock_doubted(at(301)));
    assert_eq!(loaded(&settler).last_seen, at(300));
}
