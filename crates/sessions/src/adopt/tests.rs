use super::*;
use crate::bench::{agent, at, id, registered, server, start, told, world};

fn adopted(
    known: Vec<SessionRecord>,
    entries: Vec<Entry>,
    alive: &[(u32, i64)],
) -> (BTreeMap<SessionKey, SessionRecord>, usize) {
    let mut records = known.into_iter().map(|record| (record.session_id.clone(), record)).collect();
    let world = MachineState { registry: entries, ..world(alive, server(&[0])) };
    let notes = adopt(&mut records, &world, at(60));
    (records, notes.len())
}

#[test]
fn a_living_agent_that_no_hook_named_is_found_once() {
    let entry = || registered(5, "a", "cli", Life::Alive);
    let (records, notes) = adopted(vec![], vec![entry()], &[(5, 0)]);
    let record = &records[&id("a")];
    assert_eq!((notes, record.status), (1, Status::Active));
    assert_eq!((record.runs[0].tty.as_deref(), record.runs[0].proc_start), (Some("/dev/pts/0"), 50));
    assert_eq!(record.activity.map(|activity| activity.state), Some(Doing::Busy));
    assert_eq!(record.transcript_path.as_deref(), Some("/c/projects/-p/a.jsonl".as_ref()));
    let (_, notes) = adopted(records.into_values().collect(), vec![entry()], &[(5, 0)]);
    assert_eq!(notes, 0);
}

#[test]
fn the_dead_and_the_unknown_are_left_alone() {
    for life in [Life::Dead, Life::Unknown] {
        let (records, _) = adopted(vec![], vec![registered(5, "a", "cli", life)], &[(5, 0)]);
        assert!(records.is_empty());
    }
    let unlisted = adopted(vec![], vec![registered(5, "a", "cli", Life::Alive)], &[]);
    assert!(unlisted.0.is_empty(), "without a start time there is no identity");
}

#[test]
fn hooks_are_the_word_where_they_speak() {
    // The registry of 2.1.100 keeps the old id after /clear (measured).
    let (named, _) = told("new", &[start(agent(5, 0), 1)]);
    let (records, notes) = adopted(vec![named], vec![registered(5, "old", "cli", Life::Alive)], &[(5, 0)]);
    assert_eq!((records.len(), notes), (1, 0));
}

#[test]
fn one_shots_and_nested_agents_are_known_as_such() {
    let (records, _) = adopted(vec![], vec![registered(5, "a", "sdk-cli", Life::Alive)], &[(5, 0)]);
    assert!(records[&id("a")].runs[0].one_shot);
    // A guest in somebody's conversation does not become the one that counts.
    let (host, _) = told("a", &[start(agent(4, 0), 1)]);
    let (records, _) = adopted(vec![host], vec![registered(5, "a", "sdk-cli", Life::Alive)], &[(5, 0)]);
    assert_eq!(records[&id("a")].run().map(|run| run.pid), Some(4));
}

#[test]
fn a_hook_that_comes_after_the_registry_completes_the_run() {
    let (mut records, _) = adopted(vec![], vec![registered(5, "a", "cli", Life::Alive)], &[(5, 0)]);
    let record = records.get_mut(&id("a")).unwrap();
    let mut said = start(agent(5, 0), 61).with("source", "resume");
    said.chain[0].argv = vec!["claude".to_owned(), "--resume".to_owned(), "a".to_owned()];
    crate::apply_event::fold(record, &said.heard());
    assert_eq!((record.runs.len(), record.runs[0].source.as_deref()), (1, Some("resume")));
    assert_eq!(record.runs[0].argv.as_ref().map(Vec::len), Some(3));
    assert!(named_by_hook(record));
}

/// At --resume the registry of 2.1.100 names a conversation that its agent only passes through, and a settle may look just
/// before the hook's word is there.
#[test]
fn a_hook_s_word_is_newer_than_the_registry_s_first() {
    let mut entry = registered(5, "passed", "cli", Life::Alive);
    entry.registered.started_at = Some(at(10).as_millisecond());
    let (mut records, _) = adopted(vec![], vec![entry], &[(5, 0)]);
    let (real, _) = told("real", &[start(agent(5, 0), 59).with("source", "resume")]);
    records.insert(real.session_id.clone(), real);
    crate::follow::follow(&mut records, &world(&[(5, 0)], server(&[0])));
    assert_eq!(
        (records[&id("real")].status, records[&id("passed")].status),
        (Status::Active, Status::EndedCleanly)
    );
}
