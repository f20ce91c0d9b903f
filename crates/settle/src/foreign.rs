//! Records that this machine did not write: **state is not code**. What such a record says is a guess, also after its next
//! change has given it our seal.

use jiff::Timestamp;
use state::record::{Evidence, Grade, Held, SessionRecord};
use state::seal::Origin;

const FACT: &str = "record";
const SOURCE: &str = "seal";

/// Notes in a record that it came from elsewhere, if it did.
pub(crate) fn mark(held: &mut Held, now: Timestamp) {
    if held.origin != Origin::Foreign {
        return;
    }
    for run in &mut held.record.runs {
        run.grade = Some(Grade::Guess);
    }
    for evidence in &mut held.record.evidence {
        evidence.grade = Grade::Guess;
        evidence.at = evidence.at.min(now);
    }
    held.record.believe(Evidence {
        fact: FACT.to_owned(),
        grade: Grade::Guess,
        source: SOURCE.to_owned(),
        detail: "the record was written elsewhere or changed by hand: it lacks this machine's seal"
            .to_owned(),
        at: now,
    });
}

/// Whether nothing was heard from an agent here since the record came from elsewhere.
pub fn is_foreign(record: &SessionRecord) -> bool {
    let Some(mark) = mark_of(record) else { return false };
    let heard = |evidence: &Evidence| evidence.fact == "process" && evidence.at > mark.at;
    !record.evidence.iter().any(heard)
}

/// What says that a record came from elsewhere.
pub(crate) fn mark_of(record: &SessionRecord) -> Option<&Evidence> {
    record.evidence.iter().find(|evidence| evidence.fact == FACT && evidence.source == SOURCE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use agents::SessionId;
    use jiff::SignedDuration;

    #[test]
    fn a_foreign_record_is_a_guess_until_its_agent_is_heard_here() {
        let now = Timestamp::UNIX_EPOCH + SignedDuration::from_hours(1);
        let record = SessionRecord::new(SessionId::new("s1").unwrap(), now);
        let mut held = Held::fresh(record);
        mark(&mut held, now);
        assert!(!is_foreign(&held.record));
        held.origin = Origin::Foreign;
        mark(&mut held, now);
        assert!(is_foreign(&held.record));
        let heard = |at| Evidence {
            fact: "process".to_owned(),
            grade: Grade::Proven,
            source: "hook".to_owned(),
            detail: String::new(),
            at,
        };
        held.record.believe(heard(now + SignedDuration::from_hours(9)));
        mark(&mut held, now);
        assert!(is_foreign(&held.record), "what it brought with it proves nothing");
        held.record.believe(heard(now + SignedDuration::from_hours(1)));
        assert!(!is_foreign(&held.record));
    }
}
