use std::collections::BTreeMap;

use agents::claude::Holder;
use jiff::Timestamp;
use sessions::Proc;
use sessions::view::Sources;
use store::record::{Activity, Doing, Evidence, Run, SessionRecord};
use tmux::{Listing, Pane, Server};

use super::*;

const SOCKET: &str = "/tmp/tmux-0/default";

fn session() -> SessionKey {
    SessionKey::parse("9de6caf9-7c6b-4a9b-b41f-a84d0c76689d").unwrap()
}

/// Process 7 is in the conversation by its own hook's word, on the terminal of a pane.
fn seen() -> (SessionRecord, MachineState) {
    let now = Timestamp::from_second(1_000).unwrap();
    let mut record = SessionRecord::new(session(), now);
    let run = serde_json::json!({"launchedAt": now, "pid": 7, "procStart": 70, "provenance": "process", "tty": "/dev/pts/3"});
    record.runs.push(serde_json::from_value::<Run>(run).unwrap());
    record.activity = Some(Activity { state: Doing::Idle, since: now });
    let text = str::to_owned;
    let (fact, source, detail) = (text("process"), text("hook"), text("it said so"));
    record.believe(Evidence { fact, grade: Grade::Proven, source, detail, at: now });
    let pane = Pane {
        id: text("%4"),
        tty: text("/dev/pts/3"),
        pid: 5,
        session: text("work"),
        window: 1,
        ..Pane::default()
    };
    let id = ServerId { pid: 2, started: 20 };
    let server = Server { socket: SOCKET.into(), id, version: text("3.3a"), panes: vec![pane] };
    let proc = |start, agent| Proc { start, agent, tty: Some(text("/dev/pts/3")), ..Proc::default() };
    let world = MachineState {
        processes: Some([(5, proc(50, false)), (7, proc(70, true))].into()),
        servers: vec![(SOCKET.into(), Listing::Alive(server))],
        ..MachineState::default()
    };
    (record, world)
}

fn owner(pid: u32) -> Owner {
    Owner::Process(Holder { pid, since_ms: None, evidence: "a test", pane: None })
}

fn found(record: SessionRecord, world: &MachineState, owner: &Owner) -> Option<LiveOwner> {
    let records = BTreeMap::from([(session(), record)]);
    let now = Timestamp::from_second(2_000).unwrap();
    let view = View::of(&Sources { records: &records, world, newest: &|_, _| None, now });
    LiveOwner::of(&session(), owner, &view, world)
}

#[test]
fn it_is_known_only_beyond_doubt() {
    let check = |expect: bool, owner: &Owner, change: &dyn Fn(&mut SessionRecord, &mut MachineState)| {
        let (mut record, mut world) = seen();
        change(&mut record, &mut world);
        assert_eq!(found(record, &world, owner).is_some(), expect);
    };
    check(true, &owner(7), &|_, _| {});
    check(false, &owner(8), &|_, _| {});
    check(false, &Owner::Nobody, &|_, _| {});
    check(false, &Owner::Unknown { why: String::new() }, &|_, _| {});
    check(false, &owner(7), &|record, _| record.runs[0].proc_start = 71);
    check(false, &owner(7), &|record, _| record.runs[0].nested = true);
    check(false, &owner(7), &|record, _| record.runs[0].one_shot = true);
    check(false, &owner(7), &|record, _| record.evidence[0].grade = Grade::Guess);
    check(false, &owner(7), &|_, world| world.processes = None);
}

#[test]
fn its_pane_is_the_one_of_its_terminal() {
    let check = |expect: &str, change: &dyn Fn(&mut MachineState)| {
        let (record, mut world) = seen();
        change(&mut world);
        assert_eq!(found(record, &world, &owner(7)).unwrap().whom(), expect);
    };
    let process = |world: &mut MachineState, pid: u32, change: &dyn Fn(&mut Proc)| {
        change(world.processes.as_mut().unwrap().get_mut(&pid).unwrap());
    };
    check("process 7 in work:1.0", &|_| {});
    check("process 7 on pts/9", &|world| process(world, 7, &|it| it.tty = Some("/dev/pts/9".to_owned())));
    check("process 7 on pts/3", &|world| process(world, 5, &|it| it.start = 71));
    check("process 7", &|world| process(world, 7, &|it| it.tty = None));
    check("process 7", &|world| world.servers[0].1 = Listing::Unknown { why: String::new() });
}

#[test]
fn what_is_offered_would_work() {
    let here = ServerId { pid: 2, started: 20 };
    let (another, later) = (ServerId { pid: 3, started: 20 }, ServerId { pid: 2, started: 21 });
    let (record, world) = seen();
    let idle = found(record, &world, &owner(7)).unwrap();
    let At::Pane(place) = idle.at.clone() else { panic!("{idle:?}") };
    let of = |at: &At, state| LiveOwner { at: at.clone(), state, ..idle.clone() };
    let taking = |at: &At, state, here| of(at, state).taking(here);
    let pane = &idle.at;
    // Whatever it is at: nothing is ended when its pane is brought.
    for state in [State::Idle, State::Busy, State::Unknown] {
        assert_eq!(taking(pane, state, Some(&here)), Taking::Bring(place.clone()));
    }
    let terminal = &At::Terminal("/dev/pts/9".to_owned());
    let never = |taking: Taking, words: &str| match taking {
        Taking::Never { why } => assert!(why.contains(words), "{why}"),
        other => panic!("{other:?}"),
    };
    for (at, server) in [(pane, Some(&another)), (pane, Some(&later)), (pane, None), (terminal, Some(&here))]
    {
        assert_eq!(taking(at, State::Idle, server), Taking::End);
        assert_eq!(taking(at, State::Waiting, server), Taking::End);
        never(taking(at, State::Busy, server), "at work");
        never(taking(at, State::Shell, server), "at work");
        never(taking(at, State::Unknown, server), "cannot be told");
    }
    never(taking(&At::Nowhere, State::Idle, Some(&here)), "terminal");
    assert_eq!(idle.way(Some(Path::new(SOCKET))).as_deref(), Some("tmux switch-client -t %4"));
    assert_eq!(idle.way(None).as_deref(), Some("tmux -S /tmp/tmux-0/default attach -t %4"));
    assert_eq!(of(terminal, State::Idle).way(None), None);
}
