use super::*;
use crate::bench::{agent, at, place, server, start, told, world};
use tmux::{Listing, ServerId};

/// A record of process 5 in pane %0.
fn record() -> SessionRecord {
    let (mut record, _) = told("a", &[start(agent(5, 0), 1)]);
    record.place = Some(place(0));
    record
}

fn check(
    change: impl Fn(&mut SessionRecord, &mut MachineState),
    exited: bool,
    expect: Option<(Status, &str)>,
) {
    let (mut record, mut world) = (record(), world(&[], server(&[0, 1])));
    change(&mut record, &mut world);
    let found = verdict(&record, &world, exited).map(|verdict| (verdict.status, verdict.reason));
    assert_eq!(found, expect);
}

fn said(record: &mut SessionRecord, hung_up: bool) {
    record.runs[0].end_reason = Some("other".to_owned());
    record.runs[0].hung_up = hung_up;
}

fn pane_gone(world: &mut MachineState) {
    world.servers[0].1 = server(&[1]);
}

const CRASHED: Status = Status::Crashed;
const ENDED: Status = Status::EndedCleanly;

/// F-resume-9, F-others-10
#[test]
fn what_cannot_be_asked_decides_nothing() {
    check(|_, world| *world = crate::bench::world(&[(5, 0)], server(&[0])), false, None);
    check(|_, world| world.processes = None, false, None);
    check(|_, world| world.servers[0].1 = Listing::Unknown { why: String::new() }, false, None);
    check(|_, world| world.servers.clear(), false, None);
    let elsewhere = |record: &mut SessionRecord, world: &mut MachineState| {
        record.runs[0].machine_id = Some("m".to_owned());
        record.runs[0].pid_namespace = Some("pid:[1]".to_owned());
        world.pid_domain = Some("linux:m:pid:[2]".to_owned());
    };
    check(elsewhere, false, None);
}

/// F-resume-19, F-tmux-18
#[test]
fn deaths_are_told_apart() {
    check(|_, _| {}, false, Some((CRASHED, "process_died")));
    check(|_, world| pane_gone(world), false, Some((CRASHED, "process_died")));
    check(|record, _| said(record, false), false, Some((CRASHED, "killed")));
    let with_pane = |record: &mut SessionRecord, world: &mut MachineState| {
        said(record, false);
        pane_gone(world);
    };
    check(with_pane, false, Some((CRASHED, "killed")));
    let closed = |record: &mut SessionRecord, world: &mut MachineState| {
        said(record, true);
        pane_gone(world);
    };
    check(closed, false, Some((ENDED, "pane_closed")));
}

#[test]
fn a_server_that_is_gone_or_another_one_took_its_agents_along() {
    let gone = |record: &mut SessionRecord, world: &mut MachineState| {
        said(record, true);
        world.servers[0].1 = Listing::Gone;
    };
    check(gone, false, Some((CRASHED, "server_exit")));
    let another = |record: &mut SessionRecord, world: &mut MachineState| {
        said(record, true);
        if let Listing::Alive(server) = &mut world.servers[0].1 {
            server.id = ServerId { pid: 2, started: 9 };
        }
    };
    check(another, false, Some((CRASHED, "server_exit")));
}

#[test]
fn another_boot_is_a_crash_whatever_the_processes_say() {
    let rebooted = |_: &mut SessionRecord, world: &mut MachineState| {
        *world = crate::bench::world(&[(5, 0)], server(&[0]));
        world.boot_id = Some("boot-2".to_owned());
    };
    check(rebooted, false, Some((CRASHED, "server_exit")));
}

#[test]
fn without_a_pane_the_agents_own_word_counts() {
    let outside = |record: &mut SessionRecord| record.place = None;
    check(|record, _| outside(record), false, Some((CRASHED, "process_died")));
    let signal = |record: &mut SessionRecord, _: &mut MachineState| {
        outside(record);
        said(record, false);
    };
    check(signal, false, Some((CRASHED, "killed")));
    let hang_up = |record: &mut SessionRecord, _: &mut MachineState| {
        outside(record);
        said(record, true);
    };
    check(hang_up, false, Some((CRASHED, "server_exit")));
}

#[test]
fn the_users_own_exit_and_one_shots_are_clean() {
    check(|_, _| {}, true, Some((ENDED, "prompt_input_exit")));
    // It said that it was interrupted: an earlier /exit in the history is another one.
    check(|record, _| said(record, false), true, Some((CRASHED, "killed")));
    check(|record, _| record.runs[0].one_shot = true, false, Some((ENDED, "one_shot")));
}

#[test]
fn a_verdict_is_written_down_with_what_shows_it() {
    let mut record = record();
    let verdict = verdict(&record, &world(&[], Listing::Gone), false).unwrap();
    let entry = pronounce(&mut record, &verdict, at(30));
    assert_eq!((record.status, record.reason.as_deref()), (CRASHED, Some("server_exit")));
    assert_eq!((entry.event.as_str(), record.runs[0].ended_at), ("session_crashed", Some(at(30))));
    assert!(record.evidence.iter().any(|evidence| evidence.fact == "end"));
}

/// Killed between the SessionEnd of the old conversation and the SessionStart of the new one.
#[test]
fn a_user_who_cleared_has_not_left_the_agent() {
    for reason in ["clear", "resume"] {
        let (mut record, _) = told("a", &[start(agent(5, 0), 1), crate::bench::end(agent(5, 0), 5, reason)]);
        assert_eq!((record.status, left_for_nowhere(&record)), (ENDED, true));
        let living = world(&[(5, 0)], server(&[0]));
        assert_eq!(verdict(&record, &living, false), None, "its SessionStart may still come");
        let found = verdict(&record, &world(&[], server(&[0])), false).unwrap();
        assert_eq!((found.status, found.reason), (CRASHED, CLEARED));
        pronounce(&mut record, &found, at(30));
        assert_eq!((record.status, record.reason.as_deref()), (CRASHED, Some("cleared")));
        record.next_id = Some(crate::bench::id("b"));
        assert!(!left_for_nowhere(&record), "it went on");
    }
    let (exited, _) = told("a", &[start(agent(5, 0), 1), crate::bench::end(agent(5, 0), 5, "logout")]);
    assert!(!left_for_nowhere(&exited));
}

#[test]
fn an_earlier_agent_that_may_live_keeps_its_conversation_from_being_crashed() {
    let two = || told("a", &[start(agent(5, 0), 1), start(agent(7, 1), 2)]).0;
    let record = two();
    assert_eq!(record.runs.len(), 2);
    assert_eq!(verdict(&record, &world(&[(5, 0)], server(&[0, 1])), false), None, "it lives");
    let mut contained = two();
    contained.runs[0].machine_id = Some("m".to_owned());
    contained.runs[0].pid_namespace = Some("pid:[1]".to_owned());
    let mut elsewhere = world(&[], server(&[0, 1]));
    elsewhere.pid_domain = Some("linux:m:pid:[2]".to_owned());
    assert_eq!(verdict(&contained, &elsewhere, false), None, "that cannot be told");
    end_dead_runs(&mut contained, &elsewhere, at(9));
    assert_eq!(contained.runs[0].ended_at, None, "nor is it written down");
    let nothing_lives = world(&[], server(&[0, 1]));
    assert_eq!(verdict(&record, &nothing_lives, false).map(|verdict| verdict.status), Some(CRASHED));
    let mut gone = two();
    end_dead_runs(&mut gone, &nothing_lives, at(9));
    assert_eq!((gone.runs[0].ended_at, gone.runs[1].ended_at), (Some(at(9)), None));
}
