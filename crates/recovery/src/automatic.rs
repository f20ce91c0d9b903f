//! Recovering by itself (off by default): who is due, who waits, and when to stop. Pure.
//!
//! The same agent that crashes again and again is not started again and again: each try waits longer than the one before,
//! and after the third its user decides.

use agents::SessionKey;
use jiff::{SignedDuration, Timestamp};
use store::record::{Grade, SessionRecord};

use crate::record::{DecisionRecord, PaneDecision};

/// What a decision record says of a restore that nobody asked for.
pub const BY_ITSELF: &str = "auto";

/// Tries within a day.
const MOST_TRIES: usize = 3;
const WITHIN: SignedDuration = SignedDuration::from_hours(24);

/// The wait after the first try; four times as long after each further one.
const FIRST_WAIT: SignedDuration = SignedDuration::from_mins(1);

/// What becomes of a crashed agent by itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Automatic {
    /// It is brought back now.
    Due,
    /// Not before this time.
    Later(Timestamp),
    /// Its user decides, for this reason.
    Stopped(String),
}

/// When a conversation was last brought back by itself, the newest first.
fn tries(session: &SessionKey, decisions: &[DecisionRecord], now: Timestamp) -> Vec<Timestamp> {
    let ours = |record: &&DecisionRecord| {
        record.by == BY_ITSELF && record.panes.iter().any(|pane| pane.session_id.as_ref() == Some(session))
    };
    let mut tries: Vec<Timestamp> = decisions.iter().filter(ours).map(|record| record.at).collect();
    // A clock that went back makes a try look as if it were still to come: it counts.
    tries.retain(|at| now.duration_since(*at) < WITHIN);
    tries.sort_by(|a, b| b.cmp(a));
    tries
}

/// Whether a restore that brought it back was taken back after its agent had gone: that was its user's word.
fn taken_back(record: &SessionRecord, decisions: &[DecisionRecord]) -> bool {
    let gone = record.gone_since();
    let ours = |pane: &PaneDecision| {
        [&pane.session_id, &pane.now_in].into_iter().flatten().any(|session| *session == record.session_id)
    };
    let taken = |decided: &&DecisionRecord| decided.undone.is_some_and(|at| at >= gone);
    decisions.iter().filter(taken).any(|decided| decided.panes.iter().any(ours))
}

/// Decides about one crashed agent.
pub fn automatic(record: &SessionRecord, decisions: &[DecisionRecord], now: Timestamp) -> Automatic {
    let stopped = |why: &str| Automatic::Stopped(why.to_owned());
    if record.given.no_auto_recover {
        return stopped("its user wants it left alone");
    }
    if record.run().and_then(|run| run.grade) != Some(Grade::Proven) {
        return stopped("where it belongs is not proven");
    }
    if record.reason.as_deref() == Some("cleared") {
        return stopped("its user had cleared it");
    }
    if taken_back(record, decisions) {
        return stopped("its restore was taken back");
    }
    let tries = tries(&record.session_id, decisions, now);
    if tries.len() >= MOST_TRIES {
        return Automatic::Stopped(format!("it crashed again after {} tries within a day", tries.len()));
    }
    let Some(last) = tries.first() else { return Automatic::Due };
    let wait = FIRST_WAIT * 4_i32.pow(u32::try_from(tries.len() - 1).unwrap_or(0));
    let due = last.checked_add(wait).unwrap_or(Timestamp::MAX);
    if now >= due { Automatic::Due } else { Automatic::Later(due) }
}

#[cfg(test)]
mod tests {
    use store::record::Run;

    use super::*;
    use crate::plan::Plan;

    fn record() -> SessionRecord {
        let mut record = SessionRecord::new(SessionKey::parse("s1").unwrap(), Timestamp::UNIX_EPOCH);
        let run = serde_json::json!({"launchedAt": "2026-01-01T00:00:00Z", "pid": 1, "procStart": 1, "provenance": "process", "grade": "proven"});
        record.runs.push(serde_json::from_value::<Run>(run).unwrap());
        record
    }

    fn at(minute: i64) -> Timestamp {
        Timestamp::from_second(1_000_000 + 60 * minute).unwrap()
    }

    fn tried(minutes: &[i64], by: &str) -> Vec<DecisionRecord> {
        let pane = serde_json::json!({"pane": "work:0.0", "sessionId": "s1", "act": "resume", "reason": "", "socket": "/s", "made": false});
        let one = |minute: &i64| {
            let mut record = DecisionRecord::of(&Plan::default(), minute.to_string(), by, at(*minute));
            record.panes.push(serde_json::from_value::<PaneDecision>(pane.clone()).unwrap());
            record
        };
        minutes.iter().map(one).collect()
    }

    #[test]
    fn each_try_waits_longer_and_the_fourth_is_its_users() {
        let ask = |minutes: &[i64], now: i64| automatic(&record(), &tried(minutes, BY_ITSELF), at(now));
        assert_eq!(ask(&[], 0), Automatic::Due);
        assert_eq!(ask(&[0], 0), Automatic::Later(at(1)));
        assert_eq!(ask(&[0], 1), Automatic::Due);
        assert_eq!(ask(&[0, 1], 3), Automatic::Later(at(5)));
        assert_eq!(ask(&[0, 1], 5), Automatic::Due);
        assert!(matches!(ask(&[0, 1, 5], 600), Automatic::Stopped(why) if why.contains("3 tries")));
        assert_eq!(ask(&[0, 1, 5], 24 * 60 + 6), Automatic::Due);
        assert_eq!(automatic(&record(), &tried(&[0, 1, 2], "manual"), at(3)), Automatic::Due);
    }

    #[test]
    fn what_was_taken_back_stays_until_it_runs_again() {
        let mut gone = record();
        gone.runs[0].ended_at = Some(at(2));
        let mut decided = tried(&[0], "tmux");
        assert_eq!(automatic(&gone, &decided, at(10)), Automatic::Due);
        decided[0].undone = Some(at(3));
        assert!(
            matches!(automatic(&gone, &decided, at(10)), Automatic::Stopped(why) if why.contains("taken back"))
        );
        let mut fresh = gone.clone();
        fresh.session_id = SessionKey::parse("s2").unwrap();
        assert_eq!(automatic(&fresh, &decided, at(10)), Automatic::Due, "another conversation");
        decided[0].panes[0].now_in = Some(fresh.session_id.clone());
        assert!(
            matches!(automatic(&fresh, &decided, at(10)), Automatic::Stopped(_)),
            "it went on as this one"
        );
        gone.runs[0].ended_at = Some(at(4));
        assert_eq!(automatic(&gone, &decided, at(10)), Automatic::Due, "it has crashed since");
    }

    #[test]
    fn what_its_user_said_and_what_is_not_proven_stays() {
        let mut left = record();
        left.given.no_auto_recover = true;
        assert!(matches!(automatic(&left, &[], at(0)), Automatic::Stopped(_)));
        let mut likely = record();
        likely.runs[0].grade = Some(Grade::Likely);
        assert!(matches!(automatic(&likely, &[], at(0)), Automatic::Stopped(_)));
    }
}
