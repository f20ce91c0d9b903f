//! Hand-made worlds and records, and what is believed of them.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;

use agents::SessionKey;
use agents::claude::ConfigDir;
use jiff::{SignedDuration, Timestamp};
use serde_json::json;
use store::record::{Activity, Doing, Evidence, Grade, Run, SessionRecord, Status, TmuxPlace};
use tmux::{Listing, Pane, Server, ServerId};

use super::{AgentView, Outlook, Sources, Speaks, State, View};
use crate::machine_state::{Entry, Life, MachineState, Proc};

const A: &str = "aaaaaaaa-0000-4000-8000-000000000000";
const B: &str = "bbbbbbbb-0000-4000-8000-000000000000";

fn id(text: &str) -> SessionKey {
    SessionKey::parse(text).unwrap()
}

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_second(1_000_000 + seconds).unwrap()
}

fn socket() -> PathBuf {
    PathBuf::from("/tmp/tmux-0/default")
}

fn place(pane: &str, reference: &str) -> TmuxPlace {
    TmuxPlace {
        socket: socket(),
        server: 50,
        started: 5,
        pane: pane.to_owned(),
        reference: reference.to_owned(),
    }
}

/// A record with one proven run of process `pid` in pane `work:0.0`.
fn record(session: &str, pid: u32) -> SessionRecord {
    let mut record = SessionRecord::new(id(session), at(0));
    let run = json!({"launchedAt": at(0), "pid": pid, "procStart": u64::from(pid), "bootId": "b1",
        "grade": "proven", "provenance": "process", "claudeVersion": "2.1.325", "tmux": place("%0", "work:0.0")});
    record.runs.push(serde_json::from_value::<Run>(run).unwrap());
    record.cwd = Some("/w/shop".into());
    record.project_dir = Some("/w/shop".into());
    record.transcript_path = Some(format!("/c/projects/-w-shop/{session}.jsonl").into());
    record.name = Some("shop".to_owned());
    record.place = Some(place("%0", "work:0.0"));
    record.activity = Some(Activity { state: Doing::Busy, since: at(10) });
    record.last_seen = at(10);
    for (fact, source) in [("process", "hook"), ("pane", "terminal")] {
        record.believe(evidence(fact, source, Grade::Proven, at(0)));
    }
    record
}

fn evidence(fact: &str, source: &str, grade: Grade, at: Timestamp) -> Evidence {
    Evidence { fact: fact.to_owned(), source: source.to_owned(), detail: "seen".to_owned(), grade, at }
}

fn agent(pid: u32, tty: &str) -> Proc {
    Proc {
        start: u64::from(pid),
        tty: Some(tty.to_owned()),
        agent: true,
        cwd: Some("/w/shop".to_owned()),
        config: Some(ConfigDir::new("/c")),
        ..Proc::default()
    }
}

fn pane(pane: &str, index: u32, tag: Option<&str>) -> Pane {
    Pane {
        id: pane.to_owned(),
        tty: format!("/dev/pts/{index}"),
        session: "work".to_owned(),
        index,
        tag: tag.map(str::to_owned),
        ..Pane::default()
    }
}

fn world(processes: &[(u32, Proc)], panes: Vec<Pane>) -> MachineState {
    let server =
        Server { socket: socket(), id: ServerId { pid: 50, started: 5 }, version: "3.3a".to_owned(), panes };
    MachineState {
        boot_id: Some("b1".to_owned()),
        processes: Some(processes.iter().cloned().collect::<HashMap<_, _>>()),
        servers: vec![(socket(), Listing::Alive(server))],
        ..MachineState::default()
    }
}

fn entry(session: &str, pid: u32, life: Life) -> Entry {
    let registered = json!({"pid": pid, "sessionId": session, "cwd": "/w/shop", "version": "2.1.325",
        "status": "idle", "statusUpdatedAt": at(20).as_millisecond(), "name": "till"});
    Entry { registered: serde_json::from_value(registered).unwrap(), config: ConfigDir::new("/c"), life }
}

fn view_with(records: &[SessionRecord], world: &MachineState, newest: Option<&str>) -> View {
    let records: BTreeMap<SessionKey, SessionRecord> =
        records.iter().map(|record| (record.session_id.clone(), record.clone())).collect();
    let newest = |_: &ConfigDir, _: &str| newest.map(|text| id(text).id().clone());
    View::of(&Sources { records: &records, world, newest: &newest, now: at(60) })
}

fn only(view: View) -> AgentView {
    assert_eq!(view.agents.len(), 1, "{:#?}", view.agents);
    view.agents.into_iter().next().unwrap()
}

/// `+source` for, `-source` against.
fn told<T>(fact: Option<&super::Fact<T>>) -> Vec<String> {
    let mark = |speaks| if speaks == Speaks::For { '+' } else { '-' };
    let told = fact.into_iter().flat_map(|fact| &fact.evidence);
    told.map(|told| format!("{}{}", mark(told.speaks), told.source)).collect()
}

fn session(agent: &AgentView) -> Option<(&str, Grade)> {
    agent.session.as_ref().map(|fact| (fact.value.as_str(), fact.grade))
}

#[test]
fn a_live_agent_on_record_is_proven() {
    let world = world(&[(7, agent(7, "/dev/pts/0"))], vec![pane("%0", 0, Some(A))]);
    let agent = only(view_with(&[record(A, 7)], &world, Some(B)));
    assert_eq!(session(&agent), Some((A, Grade::Proven)));
    assert_eq!((agent.state.value, agent.since), (State::Busy, Some(at(10))));
    assert_eq!(told(agent.session.as_ref()), ["+hook", "+pane_option"]);
    assert_eq!(told(agent.process.as_ref()), ["+hook", "+process"]);
    assert_eq!(told(agent.pane.as_ref()), ["+terminal", "+terminal", "+tmux", "+pane_option"]);
    assert!(agent.is_live());
    assert_eq!(Outlook::of(&agent, None), Outlook::AlreadyThere);
}

#[test]
fn the_registrys_newer_word_counts_and_the_older_one_is_shown() {
    let mut world = world(&[(7, agent(7, "/dev/pts/0"))], vec![pane("%0", 0, None)]);
    world.registry.push(entry(A, 7, Life::Alive));
    let agent = only(view_with(&[record(A, 7)], &world, None));
    assert_eq!((agent.state.value, agent.since), (State::Idle, Some(at(20))));
    assert_eq!(told(Some(&agent.state)), ["+registry", "-hook"]);
    // The agent makes up another name at each start: what is on record stays.
    assert_eq!(agent.name.map(|fact| fact.value), Some("shop".to_owned()));
}

#[test]
fn the_registry_lags_behind_hooks() {
    let mut world = world(&[(7, agent(7, "/dev/pts/0"))], vec![pane("%0", 0, None)]);
    world.registry.push(entry(B, 7, Life::Alive));
    let agent = only(view_with(&[record(A, 7)], &world, None));
    assert_eq!(session(&agent), Some((A, Grade::Proven)));
    assert_eq!(told(agent.session.as_ref()), ["+hook", "-registry"]);
}

/// `/clear` (2.1.325) and the session that 2.1.31 throws away at `--continue`: the process lives, and is in one session.
#[test]
fn a_session_that_its_agent_left_is_no_live_agent() {
    let left = |session: &str, reason: &str| {
        let mut record = record(session, 7);
        record.status = Status::EndedCleanly;
        record.reason = Some(reason.to_owned());
        record.runs[0].ended_at = Some(at(10));
        record
    };
    let check = |old: SessionRecord, new: SessionRecord, registered: Option<&str>| {
        let mut world = world(&[(7, agent(7, "/dev/pts/0"))], vec![pane("%0", 0, None)]);
        world.registry.extend(registered.map(|session| entry(session, 7, Life::Alive)));
        let view = view_with(&[old.clone(), new.clone()], &world, None);
        assert_eq!(view.agents.len(), 2);
        let here: Vec<_> = view.in_pane("work:0.0").into_iter().map(session).collect();
        assert_eq!(here, [Some((new.session_id.as_str(), Grade::Proven))]);
        let old = view.of_session(&old.session_id).unwrap();
        assert_eq!((old.state.value, old.is_live(), old.left), (State::Ended, false, true));
        assert!(view.of_session(&new.session_id).is_some_and(|new| new.is_live() && !new.left));
    };
    // Whichever sorts first, and whatever the registry says: it may lag behind.
    for (old, new) in [(A, B), (B, A)] {
        for registered in [None, Some(new), Some(old)] {
            for reason in ["clear", "resume", "left"] {
                check(left(old, reason), record(new, 7), registered);
            }
            // Nobody has noted yet that it went on: the newest event tells.
            let mut newer = record(new, 7);
            newer.runs[0].heard_at = Some(at(30));
            check(record(old, 7), newer, registered);
        }
    }
}

#[test]
fn a_process_that_left_its_session_for_an_unknown_one_is_not_put_back_by_its_arguments() {
    let mut old = record(A, 7);
    (old.status, old.reason) = (Status::EndedCleanly, Some("clear".to_owned()));
    old.runs[0].ended_at = Some(at(10));
    let process = Proc { named: vec![A.to_owned()], ..agent(7, "/dev/pts/0") };
    let world = world(&[(7, process)], vec![pane("%0", 0, Some(A))]);
    let view = view_with(&[old], &world, None);
    let old = view.of_session(&id(A)).unwrap();
    assert_eq!((old.state.value, old.is_live()), (State::Ended, false));
    assert_eq!(view.agents.iter().filter(|agent| agent.is_live()).count(), 1);
}

#[test]
fn an_agent_that_only_the_registry_knows() {
    let mut world = world(&[(7, agent(7, "/dev/pts/0"))], vec![pane("%0", 0, None)]);
    world.registry.push(entry(A, 7, Life::Alive));
    let agent = only(view_with(&[], &world, None));
    assert_eq!(session(&agent), Some((A, Grade::Proven)));
    assert_eq!(
        agent.pane.map(|fact| (fact.value.reference, fact.grade)),
        Some(("work:0.0".to_owned(), Grade::Proven))
    );
    assert_eq!(agent.state.value, State::Idle);
    assert_eq!(agent.version.map(|fact| fact.value), Some("2.1.325".to_owned()));
}

/// F-resume-20
#[test]
fn an_entry_that_stayed_behind_is_a_crash() {
    let mut world = world(&[], vec![]);
    world.registry.push(entry(A, 7, Life::Dead));
    let agent = only(view_with(&[], &world, None));
    assert_eq!((agent.state.value, agent.state.grade), (State::Crashed, Grade::Likely));
    assert_eq!(session(&agent), Some((A, Grade::Likely)));
}

#[test]
fn a_process_that_nothing_names_by_what_it_shows() {
    let check = |named: &[&str],
                 tag: Option<&str>,
                 newest: Option<&str>,
                 expect: Option<(&str, Grade)>,
                 by: &[&str]| {
        let named = named.iter().map(ToString::to_string).collect();
        let process = Proc { named, ..agent(7, "/dev/pts/0") };
        let world = world(&[(7, process)], vec![pane("%0", 0, tag)]);
        let agent = only(view_with(&[], &world, newest));
        assert_eq!(session(&agent), expect);
        assert_eq!(told(agent.session.as_ref()), by);
        assert_eq!((agent.state.value, agent.is_live()), (State::Unknown, true));
        assert_eq!(agent.pane.map(|fact| fact.grade), Some(Grade::Proven));
        assert_eq!(agent.name.map(|fact| (fact.value, fact.grade)), Some(("shop".to_owned(), Grade::Guess)));
    };
    check(&[], None, None, None, &[]);
    check(&[], None, Some(A), Some((A, Grade::Guess)), &["+directory"]);
    check(&[A], None, Some(B), Some((A, Grade::Likely)), &["+process"]);
    check(&[], Some(A), None, Some((A, Grade::Likely)), &["+pane_option"]);
    check(&[A], Some(B), None, Some((A, Grade::Likely)), &["+process", "-pane_option"]);
    check(&["a title"], None, None, None, &[]);
}

/// F-others-4
#[test]
fn the_newest_conversation_is_no_guess_where_another_agent_is_in_it() {
    let panes = vec![pane("%0", 0, None), pane("%1", 1, None)];
    let world = world(&[(7, agent(7, "/dev/pts/0")), (8, agent(8, "/dev/pts/1"))], panes);
    let view = view_with(&[record(A, 7)], &world, Some(A));
    assert_eq!(view.agents.len(), 2);
    assert_eq!(session(&view.agents[1]), None);
}

#[test]
fn a_crashed_one_that_was_resumed_without_hooks_runs_again() {
    let mut crashed = record(A, 7);
    crashed.status = Status::Crashed;
    crashed.reason = Some("process_died".to_owned());
    crashed.runs[0].ended_at = Some(at(30));
    let resumed = Proc { named: vec![A.to_owned()], ..agent(9, "/dev/pts/0") };
    let world = world(&[(9, resumed)], vec![pane("%0", 0, Some(A))]);
    let agent = only(view_with(&[crashed.clone()], &world, None));
    assert_eq!((agent.state.value, agent.is_live()), (State::Unknown, true));
    assert_eq!(told(Some(&agent.state)), ["+process", "-hook"]);
    assert_eq!(agent.process.map(|fact| fact.value.pid), Some(9));
    assert_eq!(agent.reason, None);

    let nobody = only(view_with(&[crashed], &self::world(&[], vec![pane("%0", 0, Some(A))]), None));
    assert_eq!((nobody.state.value, nobody.reason.as_deref()), (State::Crashed, Some("process_died")));
    assert_eq!(Outlook::of(&nobody, None), Outlook::Resumed);
}

/// F-tmux-19
#[test]
fn a_dead_one_that_nobody_has_judged_yet() {
    let gone = only(view_with(&[record(A, 7)], &world(&[], vec![pane("%0", 0, None)]), None));
    assert_eq!((gone.state.value, gone.state.grade), (State::Crashed, Grade::Likely));
    assert_eq!(told(Some(&gone.state)), ["+machine", "-hook"]);
    let mut silent = world(&[], vec![]);
    silent.servers = vec![(socket(), Listing::Unknown { why: "late".to_owned() })];
    let unknown = only(view_with(&[record(A, 7)], &silent, None));
    assert_eq!(unknown.state.value, State::Unknown);
    assert!(matches!(Outlook::of(&unknown, None), Outlook::NotRestored(_)));
    let blind = MachineState { boot_id: Some("b1".to_owned()), ..MachineState::default() };
    let unseen = only(view_with(&[record(A, 7)], &blind, None));
    assert_eq!((unseen.state.value, unseen.life), (State::Unknown, Life::Unknown));
}

#[test]
fn a_record_from_elsewhere_is_a_guess() {
    let mut foreign = record(A, 7);
    foreign.believe(evidence("record", "seal", Grade::Guess, at(5)));
    foreign.runs[0].provenance = Some(store::record::Provenance::Untrusted);
    let world = world(&[(7, agent(7, "/dev/pts/0"))], vec![pane("%0", 0, None)]);
    let agent = only(view_with(&[foreign.clone()], &world, None));
    assert_eq!(session(&agent), Some((A, Grade::Guess)));
    assert_eq!(agent.state.grade, Grade::Guess);
    assert!(told(agent.session.as_ref()).contains(&"+seal".to_owned()));
    foreign.status = Status::Crashed;
    let gone = only(view_with(&[foreign.clone()], &self::world(&[], vec![]), None));
    assert!(matches!(Outlook::of(&gone, Some(&foreign)), Outlook::Offered(_)));
}

#[test]
fn a_likely_one_is_resumed_only_by_agreement() {
    let check = |change: &dyn Fn(&mut SessionRecord), expect: bool| {
        let mut likely = record(A, 7);
        likely.status = Status::Crashed;
        likely.runs[0].grade = Some(Grade::Likely);
        likely.evidence.retain(|evidence| evidence.fact != "pane");
        change(&mut likely);
        let agent = only(view_with(&[likely.clone()], &world(&[], vec![]), None));
        let outlook = Outlook::of(&agent, Some(&likely));
        assert_eq!(outlook == Outlook::ResumedByAgreement, expect, "{outlook:?}");
        assert_eq!(matches!(outlook, Outlook::Offered(_)), !expect);
    };
    check(&|_| {}, true);
    check(&|record| record.cwd = Some("/elsewhere".into()), false);
    check(&|record| record.place = Some(place("%0", "work:3.0")), false);
    check(&|record| record.transcript_path = None, false);
}

#[test]
fn who_needs_their_user_comes_first() {
    let mut records = Vec::new();
    let mut processes = Vec::new();
    let states = [
        ("idle", Status::Active, Doing::Idle, 50),
        ("busy", Status::Active, Doing::Busy, 20),
        ("gone", Status::Crashed, Doing::Busy, 10),
        ("over", Status::EndedCleanly, Doing::Idle, 40),
        ("ask2", Status::Active, Doing::Waiting, 30),
        ("ask1", Status::Active, Doing::Waiting, 5),
    ];
    for (pid, (name, status, doing, since)) in (100..).zip(states) {
        let mut record = record(name, pid);
        record.status = status;
        record.activity = Some(Activity { state: doing, since: at(since) });
        if status == Status::Active {
            processes.push((pid, agent(pid, "/dev/pts/9")));
        }
        records.push(record);
    }
    let mut view = view_with(&records, &world(&processes, vec![]), None);
    let order = |view: &View| -> Vec<String> {
        view.agents.iter().map(|agent| agent.session.as_ref().unwrap().value.to_string()).collect()
    };
    assert_eq!(order(&view), ["ask1", "ask2", "gone", "busy", "idle", "over"]);
    view.agents.iter_mut().filter(|agent| agent.is(&id("idle"))).for_each(|agent| agent.stalled = true);
    view.order();
    assert_eq!(order(&view), ["ask1", "ask2", "gone", "idle", "busy", "over"]);
}

#[test]
fn a_panes_agent_is_the_living_one_and_strangers_are_not_ours() {
    let mut old = record(A, 7);
    old.status = Status::EndedCleanly;
    let new = record(B, 8);
    let stranger = Proc { config: None, ..agent(9, "/dev/pts/0") };
    let world = world(&[(8, agent(8, "/dev/pts/0")), (9, stranger)], vec![pane("%0", 0, None)]);
    let view = view_with(&[old.clone(), new], &world, None);
    assert_eq!(view.agents.len(), 2);
    for text in ["%0", "work:0.0"] {
        let here: Vec<_> = view.in_pane(text).into_iter().map(session).collect();
        assert_eq!(here, [Some((B, Grade::Proven))]);
    }
    assert!(view.in_pane("%7").is_empty());
    let later = SignedDuration::from_secs(5);
    let mut older = record(B, 8);
    older.status = Status::Crashed;
    old.last_seen += later;
    let gone = view_with(&[old, older], &self::world(&[], vec![]), None);
    assert_eq!(
        gone.in_pane("work:0.0").into_iter().map(session).collect::<Vec<_>>(),
        [Some((A, Grade::Proven))]
    );
}
