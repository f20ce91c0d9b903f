//! Which conversations wait to be recovered, and where each of them comes back.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use mux::PaneShot;
use state::record::{SessionRecord, Status, TmuxPlace};

use crate::seats::{Live, Occupant};
use crate::single::Destination;

/// The conversations whose agents are gone without their user's doing, and have not gone on under another id; the newest
/// first. One that its user ended, or whose pane was closed, is none of them.
pub fn crashed<'a>(
    records: impl Iterator<Item = &'a SessionRecord>,
    since: Timestamp,
) -> Vec<&'a SessionRecord> {
    let waits = |record: &&SessionRecord| {
        let passing = record.run().is_some_and(|run| run.is_passing());
        record.status == Status::Crashed && record.next_id.is_none() && !passing && record.last_seen >= since
    };
    let mut found: Vec<&SessionRecord> = records.filter(waits).collect();
    found.sort_by(|a, b| b.last_seen.cmp(&a.last_seen).then_with(|| a.session_id.cmp(&b.session_id)));
    found
}

/// The pane that a conversation was in last.
pub fn last_place(record: &SessionRecord) -> Option<&TmuxPlace> {
    record.place.as_ref().or(record.run().and_then(|run| run.tmux.as_ref()))
}

/// What stands at a conversation's place in another life of its server, in the same directory: a shell where its agent should
/// be, or an agent that knows nothing, as tmux-resurrect leaves them. The pane, and the word for why its agent is gone.
pub fn left_in_place(record: &SessionRecord, live: &Live) -> Option<(String, &'static str)> {
    let place = last_place(record)?;
    if (live.shot.pid, live.shot.start_time) == (place.server, place.started) {
        return None;
    }
    let same = |pane: &&PaneShot| {
        live.shot.reference(&pane.id).is_some_and(|known| known.as_str() == place.reference)
            && record.cwd.as_deref() == Some(Path::new(&pane.cwd))
    };
    let pane = live.shot.panes().find(same)?;
    let word = match live.occupants.get(&pane.id)? {
        Occupant::Shell | Occupant::Waiting => "shell_instead",
        Occupant::Agent { empty: true, .. } => "restored_empty",
        _ => return None,
    };
    Some((pane.id.clone(), word))
}

/// Where conversations come back: each in its own pane where only a shell is left in it, else in a new window of its
/// session.
#[derive(Debug, Default)]
pub struct Places {
    /// The next free window of each session.
    next: BTreeMap<(PathBuf, String), u32>,
}

impl Places {
    /// The destination of a conversation that was in this place. `live` is what there is on its server now.
    pub fn of(&mut self, place: &TmuxPlace, live: Option<&Live>) -> Destination {
        if let Some(live) = live
            && (live.shot.pid, live.shot.start_time) == (place.server, place.started)
            && matches!(live.occupants.get(&place.pane), Some(Occupant::Shell | Occupant::Waiting))
        {
            return Destination::Pane { pane: place.pane.clone(), reference: place.reference.clone() };
        }
        self.window(place.socket.clone(), session_of(&place.reference), live)
    }

    /// A new window of a session, which is made where it is not there.
    pub fn window(&mut self, socket: PathBuf, session: &str, live: Option<&Live>) -> Destination {
        let there = live.and_then(|live| live.shot.sessions.iter().find(|known| known.name == session));
        let free = || {
            let windows = there.into_iter().flat_map(|there| &there.windows);
            windows.map(|link| link.index + 1).max().unwrap_or_default()
        };
        let next = self.next.entry((socket, session.to_owned())).or_insert_with(free);
        let index = *next;
        *next += 1;
        let there = there.map(|there| there.id.clone());
        Destination::Window { session: session.to_owned(), there, index }
    }
}

/// The session in `session:window.pane` or `socket//session:window.pane`. A session's name has no colon.
fn session_of(reference: &str) -> &str {
    let pane = reference.rsplit_once("//").map_or(reference, |(_, pane)| pane);
    pane.split_once(':').map_or(pane, |(session, _)| session)
}

#[cfg(test)]
mod tests {
    use super::*;
    use agents::SessionId;
    use mux::{Link, Session, Shot, Window};
    use state::record::Run;

    fn record(id: &str, seen: i64, change: impl FnOnce(&mut SessionRecord)) -> SessionRecord {
        let mut record =
            SessionRecord::new(SessionId::new(id).unwrap(), Timestamp::from_second(seen).unwrap());
        record.status = Status::Crashed;
        let run = serde_json::json!({"launchedAt": record.created, "pid": 7, "procStart": 9});
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
            record("gone-on", 30, |record| record.next_id = Some(SessionId::new("b").unwrap())),
            record("one-shot", 30, |record| record.runs[0].one_shot = true),
            record("nested", 30, |record| record.runs[0].nested = true),
        ];
        let found = crashed(records.iter(), Timestamp::from_second(10).unwrap());
        let ids: Vec<&str> = found.iter().map(|record| record.session_id.as_str()).collect();
        assert_eq!(ids, ["b", "a"]);
    }

    fn live(occupant: Occupant) -> Live {
        let link = |index: u32| Link { index, window: format!("@{index}"), active: false, last: false };
        let session = Session {
            id: "$3".into(),
            name: "work".into(),
            group: None,
            path: String::new(),
            attached: 0,
            windows: vec![link(0), link(4)],
        };
        let shot = Shot {
            socket: "/s".into(),
            pid: 11,
            start_time: 22,
            version: "3.3a".into(),
            sessions: vec![session],
            windows: Vec::new(),
        };
        Live { shot, marks: BTreeMap::new(), occupants: BTreeMap::from([("%2".into(), occupant)]) }
    }

    #[test]
    fn everybody_gets_the_own_pane_or_a_window_of_the_own() {
        let place = |reference: &str, server: u32| TmuxPlace {
            socket: "/s".into(),
            server,
            started: 22,
            pane: "%2".into(),
            reference: reference.into(),
        };
        let mut places = Places::default();
        let window = |session: &str, there: Option<&str>, index: u32| Destination::Window {
            session: session.into(),
            there: there.map(str::to_owned),
            index,
        };
        let here = places.of(&place("work:0.1", 11), Some(&live(Occupant::Shell)));
        assert_eq!(here, Destination::Pane { pane: "%2".into(), reference: "work:0.1".into() });
        let busy = live(Occupant::Program { name: "vim".into() });
        assert_eq!(places.of(&place("work:0.1", 11), Some(&busy)), window("work", Some("$3"), 5));
        let other = live(Occupant::Shell);
        assert_eq!(places.of(&place("sock//work:0.1", 12), Some(&other)), window("work", Some("$3"), 6));
        assert_eq!(places.of(&place("home:3.0", 11), None), window("home", None, 0));
        assert_eq!(places.of(&place("home:4.0", 11), None), window("home", None, 1));
    }

    #[test]
    fn what_stands_in_its_place_tells_why_it_is_gone() {
        let gone = record("s1", 1, |record| {
            record.cwd = Some("/a".into());
            record.place = Some(TmuxPlace {
                socket: "/tmp/tmux-0/default".into(),
                server: 1,
                started: 1,
                pane: "%7".to_owned(),
                reference: "work:0.0".to_owned(),
            });
        });
        let live = |pid: u32, cwd: &str, occupant: Occupant| {
            let pane = PaneShot { id: "%3".to_owned(), cwd: cwd.to_owned(), ..PaneShot::default() };
            let window = Window {
                id: "@0".to_owned(),
                name: String::new(),
                layout: String::new(),
                zoomed: false,
                width: 80,
                height: 24,
                automatic_rename: true,
                panes: vec![pane],
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
            Live {
                shot: Shot {
                    socket: "/tmp/tmux-0/default".into(),
                    pid,
                    start_time: i64::from(pid),
                    version: "3.3a".to_owned(),
                    sessions: vec![session],
                    windows: vec![window],
                },
                marks: BTreeMap::new(),
                occupants: [("%3".to_owned(), occupant)].into(),
            }
        };
        let check = |live: Live, word: Option<&str>| {
            assert_eq!(left_in_place(&gone, &live).map(|(_, word)| word), word);
        };
        let agent = |empty| Occupant::Agent { session: None, empty };
        check(live(2, "/a", Occupant::Shell), Some("shell_instead"));
        check(live(2, "/a", agent(true)), Some("restored_empty"));
        check(live(2, "/a", agent(false)), None);
        check(live(2, "/b", Occupant::Shell), None);
        check(live(1, "/a", Occupant::Shell), None);
    }
}
