use super::*;
use crate::bench::{agent, at, id, place, run, server, start, told, world};
use store::record::Provenance;
use tmux::Listing;

fn unknown() -> Listing {
    Listing::Unknown { why: "no answer".to_owned() }
}

#[test]
fn a_pane_is_proven_by_the_terminal_alone() {
    let check = |run: Run, world: &MachineState, expect: &str| {
        let run = Run { provenance: Some(Provenance::Process), ..run };
        let found = match binding(run.genuine(&world.machine()).unwrap(), world) {
            Binding::Here(here, Grade::Proven) => format!("proven {}", here.pane),
            Binding::Here(here, _) => format!("likely {}", here.pane),
            Binding::Nowhere { refused } => format!("nowhere, refused: {}", refused.is_some()),
            Binding::Unknown => "unknown".to_owned(),
        };
        assert_eq!(found, expect);
    };
    let two = |alive: &[(u32, i64)]| world(alive, server(&[0, 1]));
    check(run(5, 0), &two(&[(5, 0)]), "proven %0");
    // `TMUX_PANE` says %0, the terminal is that of %1.
    check(run(5, 1), &two(&[(5, 1)]), "proven %1");
    check(run(5, 7), &two(&[(5, 7)]), "nowhere, refused: true");
    check(run(5, -1), &two(&[(5, -1)]), "nowhere, refused: true");
    check(Run { env: BTreeMap::new(), ..run(5, 7) }, &two(&[(5, 7)]), "nowhere, refused: false");
    check(Run { nested: true, ..run(5, 0) }, &two(&[(5, 0)]), "nowhere, refused: true");
    check(Run { one_shot: true, ..run(5, 0) }, &two(&[(5, 0)]), "nowhere, refused: true");
    // Dead already: only what agrees in pane and terminal is remembered, and never as proven.
    check(run(5, 0), &two(&[]), "likely %0");
    check(run(5, 1), &two(&[]), "unknown");
    // Another life of the server, with a pane of the same number on a terminal of the same number.
    let Listing::Alive(mut other) = server(&[0]) else { panic!("no server") };
    other.id.pid = 2;
    check(run(5, 0), &world(&[], Listing::Alive(other.clone())), "unknown");
    other.panes[0].pid = 9;
    check(run(5, 0), &world(&[(5, 0), (9, 0)], Listing::Alive(other)), "nowhere, refused: true");
    check(run(5, 0), &world(&[(5, 0)], unknown()), "unknown");
    check(run(5, 0), &world(&[], Listing::Gone), "unknown");
}

/// A forged line that names a living process must not bind that process's pane to its conversation.
#[test]
fn a_run_that_is_not_genuine_binds_no_pane() {
    for provenance in [Some(Provenance::Untrusted), None] {
        let (mut record, _) = told("a", &[start(agent(5, 0), 1)]);
        record.runs.push(Run { provenance, ..run(6, 1) });
        let world = world(&[(6, 1)], server(&[0, 1]));
        let (record, notes) = bound(record, &world);
        assert_eq!((record.place, notes), (None, vec![]), "{provenance:?}");
    }
    let (mut record, _) = told("a", &[start(agent(5, 0), 1)]);
    let world = world(&[(5, 0)], server(&[0]));
    record.place = Some(place(0));
    assert_eq!(owners([&record].into_iter(), &world).len(), 1);
    record.runs[0].provenance = Some(Provenance::Untrusted);
    assert!(owners([&record].into_iter(), &world).is_empty(), "it owns no pane either");
}

fn bound(record: SessionRecord, world: &MachineState) -> (SessionRecord, Vec<String>) {
    let session = record.session_id.clone();
    let mut records = BTreeMap::from([(session.clone(), record)]);
    let notes = bind(&mut records, world, at(9));
    (records.remove(&session).unwrap(), notes.into_iter().map(|note| note.event).collect())
}

#[test]
fn a_bound_pane_is_told_once_and_stays_when_the_server_is_silent() {
    let (record, _) = told("a", &[start(agent(5, 0), 1)]);
    let (record, notes) = bound(record, &world(&[(5, 0)], server(&[0])));
    assert_eq!((notes, &record.place), (vec!["pane_bound".to_owned()], &Some(place(0))));
    for silent in [server(&[0]), unknown(), Listing::Gone] {
        let (after, notes) = bound(record.clone(), &world(&[(5, 0)], silent));
        assert_eq!((after.place, notes), (Some(place(0)), vec![]));
    }
}

#[test]
fn a_refusal_is_told_once() {
    let (record, _) = told("a", &[start(agent(5, 7), 1)]);
    let (record, notes) = bound(record, &world(&[(5, 7)], server(&[0])));
    assert_eq!((notes, record.place.clone()), (vec!["bind_refused".to_owned()], None));
    assert_eq!(bound(record, &world(&[(5, 7)], server(&[0]))).1, Vec::<String>::new());
}

#[test]
fn an_agent_outside_of_tmux_does_not_own_the_pane_its_conversation_was_in() {
    let (mut record, _) = told("a", &[start(agent(5, 0), 1), start(agent(6, 9), 5)]);
    record.place = Some(place(0));
    record.runs[1].env.clear();
    let world = world(&[(6, 9)], server(&[0]));
    let (record, _) = bound(record, &world);
    assert_eq!(record.place, None);
    assert!(owners([&record].into_iter(), &world).is_empty());
}

#[test]
fn the_newest_living_agent_owns_a_pane() {
    let records: Vec<SessionRecord> = [("a", 5), ("b", 7)]
        .map(|(session, pid)| {
            let (mut record, _) = told(session, &[start(agent(pid, 0), 1)]);
            record.place = Some(place(0));
            record
        })
        .into();
    let owner = |alive: &[(u32, i64)], records: &[SessionRecord]| {
        let world = world(alive, server(&[0]));
        owners(records.iter(), &world).values().next().map(|record| record.session_id.clone())
    };
    assert_eq!(owner(&[(5, 0), (7, 0)], &records), Some(id("b")));
    let reversed: Vec<SessionRecord> = records.iter().rev().cloned().collect();
    assert_eq!(owner(&[(5, 0), (7, 0)], &reversed), Some(id("b")));
    assert_eq!(owner(&[(5, 0)], &records), Some(id("a")), "the newer one is gone");
    assert_eq!(owner(&[], &records), None);
    let mut ended = records;
    ended[1].status = Status::EndedCleanly;
    assert_eq!(owner(&[(5, 0), (7, 0)], &ended), Some(id("a")));
}
