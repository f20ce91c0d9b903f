use super::*;
use crate::bench::{Said, agent, end, id, place, run, server, start, told, world};

fn all(records: Vec<SessionRecord>) -> BTreeMap<SessionKey, SessionRecord> {
    records.into_iter().map(|record| (record.session_id.clone(), record)).collect()
}

/// A record whose conversation has said something.
fn spoken(session: &str, events: &[Said]) -> SessionRecord {
    let (mut record, _) = told(session, events);
    record.last_prompt = Some(store::record::Spoken { uuid: None, offset: 0, at: None });
    record
}

fn here() -> MachineState {
    world(&[(5, 0), (7, 1)], server(&[0, 1]))
}

fn names(ids: &[SessionKey]) -> Vec<&str> {
    ids.iter().map(SessionKey::as_str).collect()
}

fn prompt(at: i64) -> Said {
    Said::by(agent(5, 0), "UserPromptSubmit", at)
}

#[test]
fn clear_leads_on_with_the_chain_and_the_place_and_is_told_once() {
    let mut old = spoken("a", &[start(agent(5, 0), 1), end(agent(5, 0), 5, "clear")]);
    old.previous_ids = vec![id("z")];
    old.place = Some(place(0));
    let mut records = all(vec![old, spoken("b", &[start(agent(5, 0), 6).with("source", "clear")])]);
    assert_eq!(follow(&mut records, &here()).len(), 1);
    let (old, new) = (&records[&id("a")], &records[&id("b")]);
    assert_eq!(
        (old.next_id.as_ref(), old.reason.as_deref(), &old.place),
        (Some(&id("b")), Some("clear"), &None)
    );
    assert_eq!((names(&new.previous_ids), new.status), (vec!["z", "a"], Status::Active));
    assert_eq!(new.place, Some(place(0)));
    let before = records.clone();
    assert_eq!(follow(&mut records, &here()).len(), 0);
    assert_eq!(records, before);
}

#[test]
fn a_start_that_is_heard_after_the_death_was_judged_leads_on() {
    let mut old = spoken("a", &[start(agent(5, 0), 1), end(agent(5, 0), 5, "clear")]);
    (old.status, old.reason) = (Status::Crashed, Some(CLEARED.to_owned()));
    let mut records = all(vec![old, spoken("b", &[start(agent(5, 0), 6).with("source", "clear")])]);
    follow(&mut records, &world(&[], server(&[0])));
    let old = &records[&id("a")];
    assert_eq!((old.status, old.next_id.as_ref()), (Status::EndedCleanly, Some(&id("b"))));
}

#[test]
fn a_clock_that_jumped_back_at_clear_does_not_turn_the_chain_round() {
    let old = spoken("a", &[start(agent(5, 0), 100), end(agent(5, 0), 101, "clear")]);
    let mut records = all(vec![old, spoken("b", &[start(agent(5, 0), 50)])]);
    follow(&mut records, &here());
    assert_eq!(records[&id("a")].next_id, Some(id("b")));
    assert_eq!(records[&id("b")].status, Status::Active);
}

#[test]
fn the_beginning_that_2_1_31_throws_away_is_not_in_the_chain() {
    let (thrown, _) = told("t", &[start(agent(5, 0), 1)]);
    let real = spoken("a", &[start(agent(5, 0), 2).with("source", "resume")]);
    let mut records = all(vec![thrown, real]);
    follow(&mut records, &here());
    assert!(records[&id("a")].previous_ids.is_empty());
    assert_eq!(records[&id("t")].reason.as_deref(), Some("left"));
}

#[test]
fn forks_end_in_the_new_conversation_on_every_version() {
    // 2.1.31: the new one, the old one, and settled, before the new one speaks.
    let mut records = all(vec![
        told("new", &[start(agent(5, 0), 1)]).0,
        spoken("old", &[start(agent(5, 0), 2).with("source", "resume")]),
    ]);
    follow(&mut records, &here());
    let new = records.get_mut(&id("new")).unwrap();
    crate::apply_event::fold(new, &prompt(9).heard());
    follow(&mut records, &here());
    assert_eq!((records[&id("new")].status, &records[&id("new")].next_id), (Status::Active, &None));
    assert_eq!(names(&records[&id("new")].previous_ids), ["old"]);
    assert_eq!(records[&id("old")].next_id, Some(id("new")));
    // 2.1.100: the old one only, then words in the new one without a SessionStart.
    let mut records = all(vec![
        spoken("old", &[start(agent(5, 0), 2).with("source", "resume")]),
        told("new", &[prompt(9)]).0,
    ]);
    follow(&mut records, &here());
    let new = &records[&id("new")];
    assert_eq!((new.status, names(&new.previous_ids)), (Status::Active, vec!["old"]));
    assert_eq!(new.runs[0].boot_id.as_deref(), Some("boot-1"), "what the other run knows of the launch");
    assert_eq!(new.runs[0].env.get("TMUX_PANE").map(String::as_str), Some("%0"));
    assert_eq!(records[&id("old")].reason.as_deref(), Some("left"));
}

#[test]
fn a_guest_that_goes_on_elsewhere_takes_nothing_along() {
    let guest = |name, at| {
        let mut said = Said::by(agent(9, 1), name, at);
        said.entrypoint = Some("sdk-cli");
        said
    };
    let mut host = spoken("a", &[start(agent(5, 0), 1), guest("SessionStart", 5)]);
    host.place = Some(place(0));
    let mut records = all(vec![host, told("b", &[guest("SessionStart", 6)]).0]);
    follow(&mut records, &here());
    let host = &records[&id("a")];
    assert_eq!((host.status, &host.next_id, &host.place), (Status::Active, &None, &Some(place(0))));
    assert_eq!(records[&id("b")].place, None);
    assert_eq!(names(&records[&id("b")].previous_ids), ["a"]);
    assert!(follow(&mut records, &here()).is_empty(), "told once");
}

#[test]
fn whoever_forks_a_conversation_leaves_it_to_the_agent_that_is_in_it() {
    let resumed = start(agent(7, 1), 5).with("source", "resume");
    let mut old = spoken("a", &[start(agent(5, 0), 1), resumed]);
    old.runs[0].tmux = Some(place(0));
    old.place = Some(place(1));
    let fork = told("b", &[Said::by(agent(7, 1), "UserPromptSubmit", 9)]).0;
    let mut records = all(vec![old, fork]);
    follow(&mut records, &here());
    let old = &records[&id("a")];
    assert_eq!((old.status, old.run().map(|run| run.pid)), (Status::Active, Some(5)));
    assert_eq!((&old.place, &old.next_id), (&Some(place(0)), &None));
    assert_eq!(names(&records[&id("b")].previous_ids), ["a"]);
    assert!(follow(&mut records, &here()).is_empty(), "told once");
}

/// F-resume-9
#[test]
fn the_same_process_id_of_another_boot_is_another_process() {
    let (mut old, new) = (spoken("a", &[start(agent(5, 0), 1)]), spoken("b", &[start(agent(5, 0), 9)]));
    old.runs[0] = Run { boot_id: Some("boot-0".to_owned()), ..run(5, 0) };
    let mut records = all(vec![old, new]);
    assert!(follow(&mut records, &here()).is_empty());
    assert_eq!(records[&id("a")].next_id, None);
}

#[test]
fn a_fresh_agent_that_never_spoke_leaves_the_old_conversation_waiting() {
    let mut old = spoken("a", &[start(agent(5, 0), 1)]);
    (old.status, old.next_id) = (Status::Crashed, Some(id("b")));
    let waits = |records: Vec<SessionRecord>, world: &MachineState, closed: &[SessionKey]| {
        let mut records = all(records);
        dead_ends(&mut records, world, &closed.iter().cloned().collect());
        records[&id("a")].next_id.is_none()
    };
    let gone = world(&[], server(&[0]));
    assert!(waits(vec![old.clone()], &gone, &[]));
    // At a question to its user it has no record yet. The process may be what started it in its pane.
    let mut asks = world(&[(7, 0)], server(&[0]));
    let processes = asks.processes.as_mut().unwrap();
    processes.get_mut(&7).unwrap().named = vec!["b".to_owned()];
    assert!(!waits(vec![old.clone()], &asks, &[]));
    assert!(!waits(vec![old.clone()], &MachineState::default(), &[]), "unknown is an answer");
    assert!(!waits(vec![old.clone()], &gone, &[id("b")]), "it is on record, and cannot be read");
    assert!(!waits(vec![old, spoken("b", &[start(agent(7, 0), 6)])], &gone, &[]), "it has begun");
}

#[test]
fn a_fresh_agent_names_the_conversation_that_it_has_taken_over() {
    let mut old = told("old", &[start(agent(5, 0), 1)]).0;
    (old.status, old.next_id, old.previous_ids) = (Status::Crashed, Some(id("new")), vec![id("oldest")]);
    old.task = Some("mend the cart".to_owned());
    let mut records = all(vec![old, told("new", &[start(agent(6, 0), 2)]).0]);
    assert_eq!(takeovers(&mut records).len(), 1);
    assert_eq!(records[&id("new")].task.as_deref(), Some("mend the cart"));
    assert_eq!(names(&records[&id("new")].previous_ids), ["oldest", "old"]);
    assert!(takeovers(&mut records).is_empty(), "it is told once");
}
