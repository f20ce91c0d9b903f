//! `recover ID --owner-gone`: the user knows what rekindle cannot see from here.

use std::path::Path;

use agents::SessionId;
use agents::claude::Owner;
use jiff::Timestamp;
use settle::Settled;
use state::journal::{Entry, Journal};
use state::record::{SAID_GONE, SessionRecord, Status};

use crate::commands::save::PATIENCE;
use crate::context::Context;
use crate::exit::{Exit, Failure};

/// Writes down that the agent of this one session is gone, by its user's word. Only what cannot be told is overruled: an
/// agent that is seen in the session stays its owner.
pub(super) fn overrule(context: &Context, settled: Settled, named: &[SessionId]) -> Result<Settled, Failure> {
    let [session] = named else {
        return Err(Failure::new(Exit::Usage, "--owner-gone is said of one session at a time"));
    };
    let record = settled.records.get(session);
    let path = record.and_then(|record| record.transcript_path.as_deref());
    let Owner::Unknown { why } =
        context.clinic.owners().of(session, path.unwrap_or(Path::new("/nonexistent")))
    else {
        return Ok(settled);
    };
    let now = Timestamp::now();
    let pid = record.and_then(SessionRecord::run).map(|run| run.pid);
    let entry = Entry::new(now, "owner_overruled").with("session", session.as_str());
    let entry = entry.with("pid", pid).with("why", why).with("by", "user");
    Journal::at(context.clinic.state.journal()).append(&entry)?;
    let gone = |record: &mut SessionRecord| {
        let newest = record.runs.len().saturating_sub(1);
        for (at, run) in record.runs.iter_mut().enumerate() {
            if at == newest || run.ended_at.is_none() {
                run.ended_at = Some(now);
                run.end_reason = Some(SAID_GONE.to_owned());
            }
        }
        record.status = Status::Crashed;
        record.reason = Some(SAID_GONE.to_owned());
    };
    Ok(context.settler()?.change(session, now, PATIENCE, gone)?.unwrap_or(settled))
}
