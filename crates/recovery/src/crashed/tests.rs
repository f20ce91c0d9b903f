use std::collections::BTreeMap;

use agents::SessionKey;
use store::record::Run;
use tmux::{Link, ServerSnapshot, Session, SessionPlan, Window};

use super::*;
use crate::pane_match::{Match, MatchedBy};
use crate::plan::{PaneStep, ServerPlan, a_step, an_empty_window};

fn record(id: &str, seen: i64, change: impl FnOnce(&mut SessionRecord)) -> SessionRecord {
    let mut record =
        SessionRecord::new(SessionKey::parse(id).unwrap(), Timestamp::from_second(seen).unwrap());
    record.status = Status::Crashed;
    let run =
        serde_json::json!({"launchedAt": record.created, "pid": 7, "procStart": 9, "provenance": "process"});
    record.runs.push(serde_json::from_value::<Run>(run).unwrap());
    change(&mut record);
    record
}

#[test]
fn only_what_nobody_ended_waits() {
    let records = [
        record("old", 5, |_| {}),
        record("a", 20, |_| {}),
        record("b", 30, |_| {}),
        record("ended", 30, |record| record.status = Status::EndedCleanly),
        record("live", 30, |record| record.status = Status::Active),
        record("gone-on", 30, |record| record.next_id = Some(SessionKey::parse("b").unwrap())),
        record("one-shot", 30, |record| record.runs[0].one_shot = true),
        record("nested", 30, |record| record.runs[0].nested = true),
    ];
    let found = crashed(records.iter(), Timestamp::from_second(10).unwrap());
    let ids: Vec<&str> = found.iter().map(|record| record.session_id.as_str()).collect();
    assert_eq!(ids, ["b", "a"]);
}

/// A server with the session `work`: the window 0 with one pane, `%2`, in `/a`, and another window, 4.
fn live(pid: u32, occupant: Occupant) -> Live {
    let pane = |id: &str| PaneShot {
        id: id.to_owned(),
        cwd: "/a".to_owned(),
        command: "bash".to_owned(),
        ..PaneShot::default()
    };
    let window = |number: u32, pane: PaneShot| Window {
        id: format!("@{number}"),
        name: String::new(),
        layout: String::new(),
        zoomed: false,
        width: 80,
        height: 24,
        automatic_rename: true,
        panes: vec![pane],
    };
    let link = |index: u32| Link { index, window: format!("@{index}"), active: false, last: false };
    let session = Session {
        id: "$3".to_owned(),
        name: "work".to_owned(),
        group: None,
        path: String::new(),
        attached: 0,
        windows: vec![link(0), link(4)],
    };
    let shot = ServerSnapshot {
        socket: SOCKET.into(),
        pid,
        start_time: i64::from(pid),
        version: "3.3a".to_owned(),
        sessions: vec![session],
        windows: vec![window(0, pane("%2")), window(4, pane("%5"))],
    };
    let occupants = [("%2".to_owned(), occupant), ("%5".to_owned(), Occupant::Shell)];
    Live { shot, marks: BTreeMap::new(), occupants: occupants.into() }
}

const SOCKET: &str = "/tmp/tmux-0/default";

/// A conversation that crashed in `%2` of this life of the server, in `/a`.
fn crashed_in(id: &str, server: u32, reference: &str) -> SessionRecord {
    let place = TmuxPlace {
        socket: SOCKET.into(),
        server,
        started: i64::from(server),
        pane: "%2".to_owned(),
        reference: reference.to_owned(),
    };
    record(id, 1, |record| (record.cwd, record.place) = (Some("/a".into()), Some(place)))
}

/// The plan that brings a conversation back there, and those before it.
fn with(mut before: Plan, record: &SessionRecord, destination: &Destination) -> Plan {
    let (seat, sessions) = match destination {
        Destination::Pane { pane, .. } => {
            (Match::There { pane: pane.clone(), rung: MatchedBy::Identity }, Vec::new())
        }
        Destination::Window { session, there, index } => {
            let window = an_empty_window(*index);
            let (name, there) = (session.clone(), there.clone());
            (Match::New, vec![SessionPlan { name, there, windows: vec![window], ..SessionPlan::default() }])
        }
    };
    let session = Some(record.session_id.clone());
    let step = PaneStep { session, ..a_step(record.session_id.as_str(), seat) };
    let server = ServerPlan { socket: SOCKET.into(), sessions, fills: Vec::new(), panes: vec![step] };
    before.join(Plan { servers: vec![server], ..Plan::default() });
    before
}

fn window(session: &str, there: Option<&str>, index: u32) -> Destination {
    Destination::Window { session: session.into(), there: there.map(str::to_owned), index }
}

#[test]
fn everybody_gets_the_own_pane_or_a_window_of_the_own() {
    let check = |record: &SessionRecord, live: Option<Live>, expect: Destination| {
        assert_eq!(own_place(record, &Machine::default(), live.as_ref(), &Plan::default()), Some(expect));
    };
    let own = || Destination::Pane {
        pane: "%2".into(),
        reference: "work:0.0".into(),
        in_front: Some("bash".into()),
    };
    let gone = crashed_in("a", 11, "work:0.0");
    check(&gone, Some(live(11, Occupant::Shell)), own());
    check(&gone, Some(live(12, Occupant::Shell)), own());
    let busy = Occupant::Program { name: "vim".into() };
    check(&gone, Some(live(11, busy.clone())), window("work", Some("$3"), 5));
    check(&gone, Some(live(12, busy)), window("work", Some("$3"), 5));
    let elsewhere = crashed_in("a", 11, "work:1.0");
    check(&elsewhere, Some(live(12, Occupant::Shell)), window("work", Some("$3"), 5));
    check(&gone, None, window("work", None, 0));
    check(&crashed_in("a", 11, "a//b:3.0"), None, window("a//b", None, 0));
}

/// Two crashed in one pane, one after the other: started in it both, the second would end the first.
#[test]
fn a_pane_is_given_away_once() {
    for life in [11, 12] {
        let now = live(life, Occupant::Shell);
        let mut plan = Plan::default();
        let mut places = Vec::new();
        for id in ["newest", "older", "oldest"] {
            let gone = crashed_in(id, 11, "work:0.0");
            let place = own_place(&gone, &Machine::default(), Some(&now), &plan).unwrap();
            plan = with(plan, &gone, &place);
            places.push(place);
        }
        assert!(matches!(&places[0], Destination::Pane { pane, .. } if pane == "%2"), "{places:?}");
        assert_eq!(places[1..], [window("work", Some("$3"), 5), window("work", Some("$3"), 6)]);
        assert_eq!(new_window(Path::new(SOCKET), "work", Some(&now), &plan), window("work", Some("$3"), 7));
        assert_eq!(new_window(Path::new("/s"), "work", None, &plan), window("work", None, 0));
    }
}

#[test]
fn what_stands_in_its_place_tells_why_it_is_gone() {
    let gone = crashed_in("s1", 1, "work:0.0");
    let mut moved = gone.clone();
    moved.cwd = Some("/b".into());
    let check = |record: &SessionRecord, live: Live, expect: Option<&str>| {
        assert_eq!(left_in_place(record, &Machine::default(), &live).map(|(_, word)| word), expect);
    };
    let agent = |empty| Occupant::Agent { session: None, empty };
    check(&gone, live(2, Occupant::Shell), Some("shell_instead"));
    check(&gone, live(2, agent(true)), Some("restored_empty"));
    check(&gone, live(2, agent(false)), None);
    check(&moved, live(2, Occupant::Shell), None);
    check(&gone, live(1, Occupant::Shell), None);
}
