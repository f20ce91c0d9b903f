use layouts::Agent;
use store::record::Grade;
use tmux::{Link, Session, Window};

use super::*;

/// A server with one session, `work`, and one window of these panes: id, directory, title.
fn shot(pid: u32, panes: &[(&str, &str, &str)]) -> ServerSnapshot {
    let pane = |(index, (id, cwd, title)): (usize, &(&str, &str, &str))| PaneShot {
        id: (*id).to_owned(),
        index: index as u32,
        cwd: (*cwd).to_owned(),
        title: (*title).to_owned(),
        ..PaneShot::default()
    };
    let window = Window {
        id: "@0".to_owned(),
        name: "w".to_owned(),
        layout: String::new(),
        zoomed: false,
        width: 80,
        height: 24,
        automatic_rename: true,
        panes: panes.iter().enumerate().map(pane).collect(),
    };
    let link = Link { index: 0, window: "@0".to_owned(), active: true, last: false };
    let session = Session {
        id: "$0".to_owned(),
        name: "work".to_owned(),
        group: None,
        path: String::new(),
        attached: 0,
        windows: vec![link],
    };
    ServerSnapshot {
        socket: "/tmp/tmux-0/default".into(),
        pid,
        start_time: i64::from(pid),
        version: "3.3a".to_owned(),
        sessions: vec![session],
        windows: vec![window],
    }
}

fn id(text: &str) -> SessionKey {
    SessionKey::parse(text).unwrap()
}

/// A save of life 1 in which these panes had agents.
fn saved(panes: &[(&str, &str, &str)], agents: &[(&str, &str)]) -> SavedServer {
    let agent = |(pane, session): &(&str, &str)| Agent {
        pane: (*pane).to_owned(),
        session_id: id(session),
        grade: Grade::Proven,
        argv_known: true,
        cwd: None,
        config_dir: None,
    };
    SavedServer {
        tmux: shot(1, panes),
        agents: agents.iter().map(agent).collect(),
        gone_since: None,
        wanted: false,
    }
}

/// Life 2, with a shell in every pane.
fn live(panes: &[(&str, &str, &str)]) -> Live {
    let occupants = panes.iter().map(|(id, ..)| ((*id).to_owned(), Occupant::Shell)).collect();
    Live { shot: shot(2, panes), marks: BTreeMap::new(), occupants }
}

/// The seats alone.
fn seats(
    saved: &SavedServer,
    live: Option<&Live>,
    again: bool,
    others: &BTreeSet<String>,
) -> BTreeMap<String, Match> {
    super::seats(saved, live, again, others).0
}

fn there(pane: &str, rung: MatchedBy) -> Match {
    Match::There { pane: pane.to_owned(), rung }
}

#[test]
fn without_a_server_everything_is_made() {
    let found = seats(&saved(&[("%0", "/a", "")], &[]), None, false, &BTreeSet::new());
    assert_eq!(found["%0"], Match::New);
}

/// F-tmux-1
#[test]
fn in_the_same_life_a_pane_is_its_id_and_what_is_not_there_was_closed() {
    let old = saved(&[("%0", "/a", ""), ("%1", "/b", "")], &[]);
    let mut now = live(&[("%9", "/b", ""), ("%0", "/elsewhere", "")]);
    now.shot.pid = 1;
    now.shot.start_time = 1;
    let found = seats(&old, Some(&now), false, &BTreeSet::new());
    assert_eq!((&found["%0"], &found["%1"]), (&there("%0", MatchedBy::Identity), &Match::Closed));
    assert_eq!(seats(&old, Some(&now), true, &BTreeSet::new())["%1"], Match::New);
    now.marks.insert(old.tmux.mark("%1"), "%9".to_owned());
    let found = seats(&old, Some(&now), true, &BTreeSet::new());
    assert_eq!(found["%1"], there("%9", MatchedBy::Identity), "it was made again");
}

/// What stands at the old place is another one's: the pane itself says whose it is.
#[test]
fn identity_stands_above_the_place() {
    let old = saved(&[("%0", "/a", ""), ("%1", "/a", "")], &[("%0", "s0"), ("%1", "s1")]);
    let mut now = live(&[("%5", "/a", ""), ("%6", "/a", "")]);
    now.marks.insert(old.tmux.mark("%1"), "%5".to_owned());
    now.marks.insert(old.tmux.mark("%0"), "%6".to_owned());
    let found = seats(&old, Some(&now), false, &BTreeSet::new());
    assert_eq!(
        (&found["%0"], &found["%1"]),
        (&there("%6", MatchedBy::Identity), &there("%5", MatchedBy::Identity))
    );

    let mut tagged = live(&[("%5", "/a", ""), ("%6", "/a", "")]);
    tagged.shot.windows[0].panes[0].tag = Some("s1".to_owned());
    let found = seats(&old, Some(&tagged), false, &BTreeSet::new());
    assert_eq!(found["%1"], there("%5", MatchedBy::Identity));
}

/// No pane says who it is; in the same directory are two, and the place tells which.
#[test]
fn the_place_stands_above_the_directory() {
    let old = saved(&[("%0", "/a", ""), ("%1", "/a", "")], &[("%1", "s1")]);
    let found = seats(&old, Some(&live(&[("%5", "/a", ""), ("%6", "/a", "")])), false, &BTreeSet::new());
    assert_eq!(found["%1"], there("%6", MatchedBy::PaneRef));
}

/// The layout changed: at the old place is another directory, and the only one in its own is elsewhere.
#[test]
fn the_directory_is_right_where_the_place_is_not() {
    let old = saved(&[("%0", "/a", ""), ("%1", "/b", "")], &[("%1", "s1")]);
    let found = seats(&old, Some(&live(&[("%5", "/b", ""), ("%6", "/a", "")])), false, &BTreeSet::new());
    assert_eq!(found["%1"], there("%5", MatchedBy::Cwd));
}

/// The place is wrong and two are in the directory: the title tells which.
#[test]
fn the_title_is_right_where_the_directory_has_two() {
    let old = saved(&[("%0", "/x", ""), ("%1", "/b", "fix the login")], &[("%1", "s1")]);
    let now = live(&[("%5", "/b", "write notes"), ("%6", "/y", ""), ("%7", "/b", "fix the login now")]);
    assert_eq!(seats(&old, Some(&now), false, &BTreeSet::new())["%1"], there("%7", MatchedBy::Task));
}

/// Nothing tells which: the user does.
#[test]
fn the_choice_is_the_users_where_titles_say_nothing() {
    let old = saved(&[("%0", "/x", ""), ("%1", "/b", "host")], &[("%1", "s1")]);
    let now = live(&[("%5", "/b", "host"), ("%6", "/y", ""), ("%7", "/b", "host")]);
    let candidates = vec!["%5".to_owned(), "%7".to_owned()];
    assert_eq!(seats(&old, Some(&now), false, &BTreeSet::new())["%1"], Match::Choice { candidates });
}

/// Two agents of one directory and one pane in it: neither takes what may be the other's.
#[test]
fn two_do_not_race_for_one_pane() {
    let old = saved(&[("%0", "/x", ""), ("%1", "/b", "t"), ("%2", "/b", "t")], &[("%1", "s1"), ("%2", "s2")]);
    let found = seats(&old, Some(&live(&[("%5", "/b", "t")])), false, &BTreeSet::new());
    assert!(matches!(found["%1"], Match::Choice { .. }) && matches!(found["%2"], Match::Choice { .. }));
}

#[test]
fn a_pane_in_use_is_nobodys_seat() {
    let old = saved(&[("%0", "/a", "")], &[("%0", "s0")]);
    let check = |occupant: Occupant, seat: &Match| {
        let mut now = live(&[("%5", "/a", "")]);
        now.occupants.insert("%5".to_owned(), occupant);
        assert_eq!(seats(&old, Some(&now), false, &BTreeSet::new())["%0"], *seat);
    };
    check(Occupant::Program { name: "vim".to_owned() }, &Match::New);
    check(Occupant::Agent { session: Some(id("x")), empty: false }, &Match::New);
    check(Occupant::Agent { session: Some(id("x")), empty: true }, &there("%5", MatchedBy::PaneRef));
}

/// Another life of the server was here, too: what its panes have found is theirs, but for who says otherwise itself.
#[test]
fn what_another_life_has_found_is_not_given_away_again() {
    let old = saved(&[("%0", "/a", "")], &[("%0", "s0")]);
    let others = BTreeSet::from(["%5".to_owned()]);
    let mut now = live(&[("%5", "/a", "")]);
    assert_eq!(seats(&old, Some(&now), false, &others)["%0"], Match::New);
    now.marks.insert(old.tmux.mark("%0"), "%5".to_owned());
    assert_eq!(seats(&old, Some(&now), false, &others)["%0"], there("%5", MatchedBy::Identity));
}

#[test]
fn what_was_tried_for_each_pane_is_told() {
    let old = saved(&[("%0", "/a", ""), ("%1", "/b", "t")], &[("%1", "s1")]);
    let check = |now: &Live, expect: &str| {
        let (_, tried) = super::seats(&old, Some(now), false, &BTreeSet::new());
        assert_eq!(tried["%1"].to_string(), expect);
    };
    let marked = Live {
        marks: [(old.tmux.mark("%1"), "%5".to_owned())].into(),
        ..live(&[("%5", "/c", ""), ("%6", "/c", "")])
    };
    check(&marked, "by identity: 1");
    check(&live(&[("%5", "/a", ""), ("%6", "/b", "")]), "by identity: none; by pane_ref: 1");
    check(&live(&[("%5", "/b", "")]), "by identity: none; by pane_ref: none; by cwd: 1");
    let two = [("%5", "/b", ""), ("%6", "/c", ""), ("%7", "/b", "")];
    check(&live(&two), "by identity: none; by pane_ref: none; by cwd: 2; by task: none");
}
