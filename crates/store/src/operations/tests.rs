use super::*;

const YEAR: Duration = Duration::from_secs(365 * 86_400);

struct Desk {
    _root: tempfile::TempDir,
    state: StateDir,
}

fn desk() -> Desk {
    let root = tempfile::tempdir().unwrap();
    let state = StateDir::open(root.path().join("state")).unwrap();
    Desk { _root: root, state }
}

fn at(second: i64) -> Timestamp {
    Timestamp::now().checked_add(SignedDuration::from_secs(second)).unwrap()
}

fn operation(command: &str, second: i64) -> Operation {
    let mut operation = Operation::begin(command, at(second));
    operation.effects.push(Effect::new(EffectKind::Repair));
    operation
}

#[test]
fn the_newest_comes_first_and_a_running_one_is_running() {
    let desk = desk();
    for (command, second) in [("first", -3), ("second", -2), ("third", -1)] {
        add(&desk.state, &operation(command, second), YEAR).unwrap();
    }
    let all = list(&desk.state);
    let commands: Vec<&str> = all.iter().map(|one| one.command.as_str()).collect();
    assert_eq!(commands, ["third", "second", "first"]);
    assert!(all.iter().all(|one| one.state == OperationState::Running));
}

#[test]
fn a_clock_that_jumped_changes_no_order() {
    let desk = desk();
    let commands = || list(&desk.state).into_iter().map(|one| one.command).collect::<Vec<_>>();
    for (command, second) in [("first", 0), ("ahead", 86_400), ("back", -5), ("behind", -86_400)] {
        add(&desk.state, &operation(command, second), YEAR).unwrap();
    }
    assert_eq!(commands(), ["behind", "back", "ahead", "first"]);
    // One of an older version, which gave no numbers.
    let older = Operation::of_older("x", "older", at(-30), OperationState::Done);
    add_older(&desk.state, &older, YEAR).unwrap();
    assert_eq!(commands(), ["behind", "back", "ahead", "first", "older"]);
    // An undo has its place as well, and keeps it whatever else is changed.
    let undo = |command: &str, second: i64| {
        let id = list(&desk.state).into_iter().find(|one| one.command == command).unwrap().id;
        change(&desk.state, &id, |one| Some(Operation { undone_at: Some(at(second)), ..one })).unwrap();
        change(&desk.state, &id, |one| Some(Operation { ended_at: Some(at(second)), ..one })).unwrap();
    };
    undo("ahead", 86_400);
    undo("older", 0);
    let undone = list(&desk.state).into_iter().filter_map(|one| Some((one.undo_sequence?, one.command)));
    assert_eq!(undone.collect::<Vec<_>>(), [(5, "ahead".to_owned()), (6, "older".to_owned())]);
}

#[test]
fn one_whose_process_is_gone_is_interrupted() {
    let desk = desk();
    let mut gone = operation("repair", 0);
    let check = |process: Option<Process>, gone: &mut Operation| {
        gone.process = process;
        add(&desk.state, gone, YEAR).unwrap();
        list(&desk.state)[0].state
    };
    let this = Process::this();
    assert_eq!(check(Some(this.clone()), &mut gone), OperationState::Running);
    for other in [
        Process { start: this.start.map(|start| start + 1), ..this.clone() },
        Process { boot: Some("another".to_owned()), ..this.clone() },
        Process { pid: u32::MAX, ..this.clone() },
        Process { namespace: Some("pid:[1]".to_owned()), ..this },
    ] {
        assert_eq!(check(Some(other.clone()), &mut gone), OperationState::Interrupted, "{other:?}");
    }
    assert_eq!(check(None, &mut gone), OperationState::Interrupted);
}

#[test]
fn what_is_old_goes_and_what_is_newer_is_left_alone() {
    let desk = desk();
    let day = Duration::from_secs(86_400);
    add(&desk.state, &operation("oldest", -90_001), YEAR).unwrap();
    for _ in 1..KEEP_NEWEST {
        add(&desk.state, &operation("old", -90_000), YEAR).unwrap();
    }
    // A clock that jumped ahead makes all of them old: the newest stay.
    add(&desk.state, &operation("new", 0), day).unwrap();
    let all = list(&desk.state);
    assert_eq!((all.len(), all[0].command.as_str()), (KEEP_NEWEST, "new"));
    assert!(!all.iter().any(|one| one.command == "oldest"));
    for path in files(&desk.state).iter().filter(|path| !name_of(path).contains(&all[0].id)) {
        durable::remove(path).unwrap();
    }

    // A newer version's file is shown and never written; unknown keys of our own stay.
    let path = files(&desk.state).remove(0);
    let text = std::fs::read_to_string(&path).unwrap();
    durable::replace(&path, text.replacen('{', "{\"note\": 7,", 1).as_bytes()).unwrap();
    change(&desk.state, &all[0].id, |one| Some(Operation { state: OperationState::Undone, ..one })).unwrap();
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(text.contains("\"note\": 7") && text.contains("\"undone\""), "{text}");
    durable::replace(&path, text.replace("\"schema\": 1", "\"schema\": 2").as_bytes()).unwrap();
    assert!(matches!(change(&desk.state, &all[0].id, Some), Err(Error::Newer(_))));
    assert_eq!(list(&desk.state).len(), 1);
}

#[test]
fn what_is_shown_can_be_typed() {
    let mut all: Vec<Operation> = (0..3).map(|second| operation("repair", second)).collect();
    all[1].id = format!("{}{}", &all[0].id[..10], if all[0].id.ends_with("kk") { "zz" } else { "kk" });
    for one in &all {
        let shown = short(&one.id, &all);
        assert!(shown.len() >= 8 && named(shown, &all).len() == 1, "{shown}");
        assert_eq!(named(shown, &all)[0].id, one.id);
        assert!(one.id.bytes().all(|byte| (b'k'..=b'z').contains(&byte)), "{}", one.id);
    }
    assert_eq!(short(&all[2].id, &all).len(), 8);
    assert!(named("abcd", &all).is_empty() && named("", &all).is_empty() && named("é", &all).is_empty());
}

#[test]
fn only_what_can_be_undone_is_undoable() {
    let with = |kinds: &[EffectKind]| {
        let mut operation = Operation::begin("x", at(0));
        operation.effects = kinds.iter().map(|kind| Effect::new(*kind)).collect();
        operation.not_undoable()
    };
    assert_eq!(with(&[EffectKind::Repair, EffectKind::Forget]), None);
    assert_eq!(with(&[EffectKind::Inject]), Some("the agent has read it"));
    assert_eq!(with(&[]), Some("it changed nothing"));
}
