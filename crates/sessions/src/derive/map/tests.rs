use super::*;
use crate::bench::{agent, at, place, server, start, told, world};
use crate::bind::owners;

/// A conversation in pane %0 that was last heard of then.
fn record(session: &str, pid: u32, seen: i64) -> SessionRecord {
    let (mut record, _) = told(session, &[start(agent(pid, 0), seen)]);
    record.place = Some(place(0));
    record
}

/// Who is on the map at `work:0.0`, and whether it lives.
fn shown(records: &[SessionRecord], alive: &[(u32, i64)], since: i64) -> Option<(String, bool)> {
    let world = world(alive, server(&[0]));
    let owners = owners(records.iter(), &world);
    let map = map(records.iter(), &owners, Path::new("/s"), at(since), |_| None);
    let entry = map.get("work:0.0")?;
    Some((entry["session_id"].as_str()?.to_owned(), entry["live"].as_bool()?))
}

#[test]
fn a_living_owner_comes_first_then_the_newest() {
    let both = [record("old", 5, 10), record("new", 7, 20)];
    assert_eq!(shown(&both, &[(5, 0), (7, 0)], 0), Some(("new".to_owned(), true)));
    assert_eq!(shown(&both, &[(5, 0)], 0), Some(("old".to_owned(), true)));
    assert_eq!(shown(&both, &[], 0), Some(("new".to_owned(), false)));
}

#[test]
fn what_is_too_old_or_nowhere_is_not_on_it() {
    assert_eq!(shown(&[record("a", 5, 10)], &[], 11), None);
    let mut nowhere = record("a", 5, 10);
    nowhere.place = None;
    assert_eq!(shown(&[nowhere], &[(5, 0)], 0), None);
}
