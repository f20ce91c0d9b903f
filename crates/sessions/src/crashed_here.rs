//! The conversation that crashed in the place where another agent was started by hand: it is offered, never taken.

use std::collections::BTreeMap;

use agents::SessionKey;
use agents::claude::launch::NONCE;
use jiff::{SignedDuration, Timestamp};
use store::age;
use store::record::{SessionRecord, Status};

/// Older ones have been left behind, not lost.
const RECENT: SignedDuration = SignedDuration::from_hours(24);

/// The newest conversation that crashed where this one's agent is now: in the same pane, or at the same place by name and
/// in the same directory. Nothing where this one goes on from it, or where rekindle has started this agent: then it was started
/// for a conversation that its user wanted, and a fresh agent may be in place of the one that crashed.
pub(crate) fn left_here<'a>(
    record: &SessionRecord,
    records: &'a BTreeMap<SessionKey, SessionRecord>,
    now: Timestamp,
) -> Option<&'a SessionRecord> {
    let here = record.place.as_ref().filter(|_| record.status == Status::Active)?;
    if record.run().is_some_and(|run| run.env.contains_key(NONCE)) {
        return None;
    }
    let was_here = |other: &&SessionRecord| {
        other.place.as_ref().is_some_and(|place| {
            place.same_pane(here) || (place.reference == here.reference && other.cwd == record.cwd)
        })
    };
    let crashed = records
        .values()
        .filter(|other| other.session_id != record.session_id && other.status == Status::Crashed)
        .filter(|other| other.next_id.is_none() && !record.previous_ids.contains(&other.session_id))
        .filter(|other| other.last_prompt.is_some() && age::is_within(other.last_seen, now, RECENT));
    crashed.filter(was_here).max_by_key(|other| other.last_seen)
}

#[cfg(test)]
mod tests {
    use store::record::{Spoken, TmuxPlace};

    use super::*;

    fn record(id: &str, pane: &str, reference: &str, cwd: &str, status: Status) -> SessionRecord {
        let mut record = SessionRecord::new(SessionKey::parse(id).unwrap(), Timestamp::UNIX_EPOCH);
        record.status = status;
        record.cwd = Some(cwd.into());
        record.last_prompt = Some(Spoken { uuid: None, offset: 0, at: None });
        record.place = Some(TmuxPlace {
            socket: "/s".into(),
            server: 1,
            started: 1,
            pane: pane.to_owned(),
            reference: reference.to_owned(),
        });
        record
    }

    #[test]
    fn what_crashed_here_is_offered_and_nothing_else() {
        let new = record("new", "%1", "work:0.1", "/a", Status::Active);
        let check = |other: SessionRecord, offered: bool| {
            let records = [(other.session_id.clone(), other)].into();
            assert_eq!(left_here(&new, &records, Timestamp::UNIX_EPOCH).is_some(), offered);
        };
        check(record("old", "%1", "work:5.0", "/x", Status::Crashed), true);
        check(record("old", "%9", "work:0.1", "/a", Status::Crashed), true);
        check(record("old", "%9", "work:0.1", "/b", Status::Crashed), false);
        check(record("old", "%1", "work:0.1", "/a", Status::EndedCleanly), false);
        let mut followed = record("old", "%1", "work:0.1", "/a", Status::Crashed);
        followed.next_id = Some(SessionKey::parse("other").unwrap());
        check(followed, false);

        let run = serde_json::json!({"launchedAt": Timestamp::UNIX_EPOCH, "pid": 1, "procStart": 1, "env": {NONCE: "n"}});
        let mut started_by_us = new.clone();
        started_by_us.runs.push(serde_json::from_value(run).unwrap());
        let old = record("old", "%1", "work:0.1", "/a", Status::Crashed);
        let records = [(old.session_id.clone(), old)].into();
        assert!(left_here(&started_by_us, &records, Timestamp::UNIX_EPOCH).is_none(), "a fresh takeover");
    }
}
