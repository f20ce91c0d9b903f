use serde_json::{Value, json};
use tmux::{PaneShot, ServerSnapshot};

use super::*;
use crate::plan::Plan;

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_000_000 + second).unwrap()
}

/// A restore that began at 0 and put the conversation `s1` into the pane `%1`, which it made.
fn restore(change: impl FnOnce(&mut DecisionRecord)) -> DecisionRecord {
    let pane = json!({"mark": "9.9-1", "pane": "work:0.0", "sessionId": "s1", "act": "resume", "reason": "",
        "socket": "/s", "made": true, "id": "%1", "server": [11, 22]});
    let mut record = DecisionRecord::of(&Plan::default(), "r".to_owned(), "manual", at(0));
    record.panes.push(serde_json::from_value(pane).unwrap());
    (record.finished, record.finished_at) = (true, Some(at(60)));
    change(&mut record);
    record
}

fn killed(record: &mut DecisionRecord) {
    (record.finished, record.finished_at) = (false, None);
    let pane = &mut record.panes[0];
    (pane.id, pane.server, pane.back_at) = (None, None, None);
}

fn live(occupant: Occupant) -> Live {
    let pane = PaneShot { id: "%1".into(), cwd: "/pane".into(), ..PaneShot::default() };
    let window = json!({"id": "@0", "name": "", "layout": "", "width": 80, "height": 24, "panes": [pane]});
    let shot = ServerSnapshot {
        socket: "/s".into(),
        pid: 11,
        start_time: 22,
        version: "3.3a".into(),
        sessions: Vec::new(),
        windows: vec![serde_json::from_value(window).unwrap()],
    };
    let marks = BTreeMap::from([("9.9-1".to_owned(), "%1".to_owned())]);
    Live { shot, marks, occupants: BTreeMap::from([("%1".into(), occupant)]) }
}

fn its_agent() -> Occupant {
    Occupant::Agent { session: Some(SessionKey::parse("s1").unwrap()), empty: false }
}

/// The conversation: launched and idle since these times.
fn conversation(launched: i64, idle: i64) -> BTreeMap<SessionKey, SessionRecord> {
    let mut record = SessionRecord::new(SessionKey::parse("s1").unwrap(), at(-900));
    record.status = Status::Active;
    record.project_dir = Some("/project".into());
    let activity: Value = json!({"state": "idle", "since": at(idle)});
    record.activity = serde_json::from_value(activity).unwrap();
    for second in [-900, launched] {
        let run =
            json!({"launchedAt": at(second), "pid": 1, "procStart": second + 1000, "provenance": "process"});
        record.runs.push(serde_json::from_value(run).unwrap());
    }
    BTreeMap::from([(record.session_id.clone(), record)])
}

fn plan(
    record: &DecisionRecord,
    occupant: Occupant,
    records: &BTreeMap<SessionKey, SessionRecord>,
) -> Vec<TakenBack> {
    undo_plan(record, &[live(occupant)], records).into_iter().map(|step| step.what).collect()
}

#[test]
fn what_an_agent_did_while_others_were_waited_for_is_its_work() {
    let back = restore(|record| record.panes[0].back_at = Some(at(2)));
    let kept = [TakenBack::Keep("its agent has worked since".to_owned())];
    assert_eq!(plan(&back, its_agent(), &conversation(2, 10)), kept);
    assert_eq!(plan(&back, its_agent(), &conversation(2, 2)), [TakenBack::Close]);
    // Where the record does not say when it was back, its first run since does; a later one is its user's.
    let unknown = restore(|_| {});
    assert_eq!(plan(&unknown, its_agent(), &conversation(2, 10)), kept);
    assert_eq!(plan(&unknown, its_agent(), &conversation(2, 2)), [TakenBack::Close]);
    assert_eq!(plan(&unknown, its_agent(), &conversation(-800, 1)), kept);
}

#[test]
fn a_shell_comes_back_where_its_conversation_was() {
    let there = restore(|record| record.panes[0].made = false);
    let steps = undo_plan(&there, &[live(its_agent())], &conversation(2, 2));
    assert_eq!((&steps[0].what, steps[0].cwd.to_str()), (&TakenBack::Shell, Some("/project")));
    let steps = undo_plan(&there, &[live(Occupant::Waiting)], &BTreeMap::new());
    assert_eq!((&steps[0].what, steps[0].cwd.to_str()), (&TakenBack::Shell, Some("/pane")));
}

/// What it made is found by its marks, and what it began in panes of others by the conversation.
#[test]
fn a_restore_that_was_killed_is_taken_back_as_far_as_it_came() {
    let made = restore(killed);
    assert_eq!(plan(&made, its_agent(), &conversation(2, 2)), [TakenBack::Close]);
    assert_eq!(plan(&made, Occupant::Waiting, &BTreeMap::new()), [TakenBack::Close]);
    let nothing = restore(|record| {
        killed(record);
        record.panes[0].mark = "9.9-2".to_owned();
    });
    assert_eq!(plan(&nothing, its_agent(), &conversation(2, 2)), []);

    let there = restore(|record| {
        killed(record);
        (record.panes[0].made, record.panes[0].id) = (false, Some("%1".to_owned()));
    });
    assert_eq!(plan(&there, its_agent(), &conversation(2, 2)), [TakenBack::Shell]);
    let other = Occupant::Agent { session: Some(SessionKey::parse("s2").unwrap()), empty: false };
    assert_eq!(plan(&there, other, &BTreeMap::new()), []);
    assert_eq!(plan(&there, Occupant::Waiting, &BTreeMap::new()), []);
}

/// A record that says to have made a pane which does not carry its mark was edited.
#[test]
fn a_pane_without_the_mark_of_the_restore_stays() {
    let edited = restore(|record| record.panes[0].mark = "9.9-2".to_owned());
    assert_eq!(plan(&edited, Occupant::Shell, &BTreeMap::new()), []);
    assert_eq!(plan(&edited, its_agent(), &conversation(2, 2)), []);
    let own = restore(|_| {});
    assert_eq!(plan(&own, Occupant::Shell, &BTreeMap::new()), [TakenBack::Close]);
}

#[test]
fn another_life_of_the_server_is_nobodys() {
    let before = restore(|record| record.panes[0].server = Some((10, 22)));
    assert_eq!(plan(&before, its_agent(), &conversation(2, 2)), []);
}
