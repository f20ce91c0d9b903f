//! The processes that a record knows of a conversation, to tell whether an agent may be in it.

use agents::SessionId;
use agents::claude::pid_domain::PidDomain;
use agents::claude::{RecordedRun, RunLookup};

use super::{RecordError, Run, SessionRecord, Status, load};
use crate::StateDir;

/// Why a run ended whose user said that its process is gone (`recover ID --owner-gone`).
pub const SAID_GONE: &str = "owner_gone";

impl Run {
    /// Where its process id means something.
    pub fn domain(&self) -> PidDomain {
        let known = |part: &Option<String>| part.clone().filter(|part| !part.is_empty());
        PidDomain {
            machine: known(&self.machine_id),
            boot: known(&self.boot_id),
            namespace: known(&self.pid_namespace),
        }
    }
}

/// Looks into the records of this state directory. Whether a record is genuine does not matter here: all it can do is keep
/// an agent from being started.
pub fn recorded_runs(state: &StateDir) -> RunLookup {
    let state = state.clone();
    Box::new(move |session: &SessionId| match load(&state, None, session) {
        Ok(held) => held.map_or_else(Vec::new, |held| of(&held.record)),
        // It is made again from its spool by the next settle.
        Err(RecordError::Broken { .. }) => Vec::new(),
        Err(error) => vec![RecordedRun::Unreadable { why: format!("rekindle cannot {error}") }],
    })
}

/// The processes that may still be in the conversation. The newest is in it as long as the record is active: what it said of
/// its end may have been another one's. An earlier one may live on behind a newer one that has crashed.
fn of(record: &SessionRecord) -> Vec<RecordedRun> {
    let open = |run: &Run| RecordedRun::Open { pid: run.pid, start: run.proc_start, domain: run.domain() };
    let newest = record.run().filter(|_| record.status == Status::Active);
    let said_gone = record.runs.iter().filter(|run| run.end_reason.as_deref() == Some(SAID_GONE));
    newest
        .into_iter()
        .filter(|run| run.end_reason.as_deref() != Some(SAID_GONE))
        .chain(record.earlier_open_runs())
        .map(open)
        .chain(said_gone.map(|run| RecordedRun::SaidGone { pid: run.pid }))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::Timestamp;

    fn run(pid: u32, ended: bool, reason: Option<&str>) -> Run {
        let ended_at = ended.then_some(Timestamp::UNIX_EPOCH);
        serde_json::from_value(serde_json::json!({
            "launchedAt": Timestamp::UNIX_EPOCH, "pid": pid, "procStart": 9, "endedAt": ended_at,
            "endReason": reason,
        }))
        .unwrap()
    }

    fn check(status: Status, runs: &[Run], open: &[u32], said_gone: &[u32]) {
        let mut record = SessionRecord::new(SessionId::new("s1").unwrap(), Timestamp::UNIX_EPOCH);
        (record.status, record.runs) = (status, runs.to_vec());
        let mut found: (Vec<u32>, Vec<u32>) = Default::default();
        for known in of(&record) {
            match known {
                RecordedRun::Open { pid, .. } => found.0.push(pid),
                RecordedRun::SaidGone { pid } => found.1.push(pid),
                RecordedRun::Unreadable { why } => panic!("{why}"),
            }
        }
        found.0.sort_unstable();
        assert_eq!(found, (open.to_vec(), said_gone.to_vec()), "{status:?} {runs:?}");
    }

    #[test]
    fn every_run_without_an_end_counts() {
        let (open, over) = (run(1, false, None), run(2, true, Some("other")));
        check(Status::Active, &[run(1, false, None)], &[1], &[]);
        // The newest one said that it ended; as long as nothing shows it, it may be there.
        check(Status::Active, std::slice::from_ref(&over), &[2], &[]);
        check(Status::Crashed, std::slice::from_ref(&over), &[], &[]);
        check(Status::Crashed, &[open.clone(), over.clone()], &[1], &[]);
        check(Status::EndedCleanly, &[open.clone(), over.clone()], &[1], &[]);
        check(Status::Active, &[open.clone(), run(3, false, None)], &[1, 3], &[]);
        // 0.1.0 noted no end where an agent had left without a word.
        check(Status::EndedCleanly, &[over, run(3, false, None)], &[], &[]);
        let gone = run(4, true, Some(SAID_GONE));
        check(Status::Crashed, std::slice::from_ref(&gone), &[], &[4]);
        check(Status::Crashed, &[open, gone], &[1], &[4]);
    }
}
