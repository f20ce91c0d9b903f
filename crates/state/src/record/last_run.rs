//! The process that was last in a conversation, for those that must know whether an agent may be in it.

use agents::SessionId;
use agents::claude::pid_domain::PidDomain;
use agents::claude::{LastRun, RunLookup};

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
pub fn last_run(state: &StateDir) -> RunLookup {
    let state = state.clone();
    Box::new(move |session: &SessionId| match load(&state, None, session) {
        Ok(held) => held.map_or(LastRun::None, |held| of(&held.record)),
        // It is made again from its spool by the next settle.
        Err(RecordError::Broken { .. }) => LastRun::None,
        Err(error) => LastRun::Unreadable { why: format!("rekindle cannot {error}") },
    })
}

fn of(record: &SessionRecord) -> LastRun {
    match record.run() {
        Some(run) if run.end_reason.as_deref() == Some(SAID_GONE) => LastRun::SaidGone { pid: run.pid },
        Some(run) if record.status == Status::Active => {
            LastRun::Active { pid: run.pid, start: run.proc_start, domain: run.domain() }
        }
        _ => LastRun::None,
    }
}
