//! One process may go from conversation to conversation: `/clear`, `/resume`, a fork. The chain of ids is kept.
//!
//! Where a process is now is told by what was heard last, not by its last SessionStart: a forking 2.1.31 starts in the new
//! conversation, then in the old one, and goes on in the new one (measured).

use std::collections::{BTreeMap, HashMap};

use agents::SessionId;
use jiff::Timestamp;
use state::journal::Entry;
use state::record::{SessionRecord, Status};

use crate::note::note;

/// Links the conversations of each process and ends those that it has left.
pub(crate) fn follow(records: &mut BTreeMap<SessionId, SessionRecord>) -> Vec<Entry> {
    let mut notes = Vec::new();
    for mut visits in visits(records) {
        visits.sort_by_key(|visit| visit.heard_at);
        for at in 1..visits.len() {
            let (from, to) = (visits[at - 1].session.clone(), visits[at].session.clone());
            notes.extend(go_on(records, &from, &to, visits[at].heard_at));
        }
    }
    notes
}

struct Visit {
    session: SessionId,
    heard_at: Timestamp,
}

/// The conversations in which a process was heard, for each process that was heard in several.
fn visits(records: &BTreeMap<SessionId, SessionRecord>) -> Vec<Vec<Visit>> {
    let mut by_process: HashMap<(u32, u64, Option<&str>), Vec<Visit>> = HashMap::new();
    for record in records.values() {
        for run in &record.runs {
            let process = (run.pid, run.proc_start, run.boot_id.as_deref());
            let heard_at = run.heard_at.unwrap_or(run.launched_at);
            let visit = Visit { session: record.session_id.clone(), heard_at };
            by_process.entry(process).or_default().push(visit);
        }
    }
    by_process.into_values().filter(|visits| visits.len() > 1).collect()
}

fn go_on(
    records: &mut BTreeMap<SessionId, SessionRecord>,
    from: &SessionId,
    to: &SessionId,
    at: Timestamp,
) -> Option<Entry> {
    let left = records.get_mut(from)?;
    if left.next_id.as_ref() == Some(to) {
        return None;
    }
    // 2.1.31 begins every resume in a conversation that it throws away before a word is said (measured).
    let empty = left.last_prompt.is_none() && left.transcript_path.as_ref().is_none_or(|path| !path.exists());
    let mut chain = left.previous_ids.clone();
    if !empty {
        chain.push(from.clone());
    }
    left.next_id = Some(to.clone());
    if left.status == Status::Active {
        left.status = Status::EndedCleanly;
        left.reason = Some("left".to_owned());
    }
    let place = left.place.take();
    let entered = records.get_mut(to)?;
    for id in chain {
        if id != *to && !entered.previous_ids.contains(&id) {
            entered.previous_ids.push(id);
        }
    }
    if entered.place.is_none() {
        entered.place = place;
    }
    Some(note(at, "session_followed", to).with("from", from.as_str()))
}
