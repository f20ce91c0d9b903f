//! `recover ID --owner-gone`: the user knows what rekindle cannot see from here.

use agents::SessionKey;
use agents::claude::Owner;
use jiff::Timestamp;
use recovery::Outcome;
use sessions::Settled;
use store::journal::{Entry, Journal};
use store::record::{Provenance, SAID_GONE, SessionRecord, Status};

use super::act::{self, Brought, Request};
use crate::commands::save::PATIENCE;
use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::restoring::Done;

/// The one session that the flag is about.
pub(super) fn one(named: &[SessionKey]) -> Result<&SessionKey, Failure> {
    match named {
        [session] => Ok(session),
        _ => Err(Failure::new(Exit::Usage, "--owner-gone is said of one session at a time")),
    }
}

/// Recovers this one session although rekindle cannot tell whether its agent still runs. What is seen is not overruled, and
/// the word of the user is written down only for a start that happens: otherwise a later `recover` would act on it.
pub(super) fn recover(
    context: &Context,
    settled: Settled,
    named: &[SessionKey],
    request: Request,
) -> Result<Exit, Failure> {
    let session = one(named)?;
    let Some(why) = unknown_owner(context, &settled, session) else {
        return act::recover(context, &settled, named, request);
    };
    if let Some(refused) = act::refused(context, &settled, session)? {
        return act::report(&Brought::nothing(refused), &settled, request);
    }
    let before = settled.records.get(session).cloned();
    let settled = overrule(context, settled, session, why)?;
    let brought = act::bring(context, &settled, named, request);
    if !brought.as_ref().is_ok_and(|brought| has_started(&brought.done)) {
        take_back(context, session, before.as_ref())?;
    }
    act::report(&brought?, &settled, request)
}

/// Why rekindle cannot tell whether an agent is in a session.
fn unknown_owner(context: &Context, settled: &Settled, session: &SessionKey) -> Option<String> {
    let expected = recovery::expected_transcript(session, settled.records.get(session));
    match context.repairer.owners().of(session.id(), &expected) {
        Owner::Unknown { why } => Some(why),
        Owner::Nobody | Owner::Process(_) => None,
    }
}

fn has_started(done: &Done) -> bool {
    done.panes.iter().any(|pane| pane.outcome.is_back() || pane.outcome == Outcome::Unverified)
}

/// Writes down that the agent of this one session is gone, by its user's word.
fn overrule(
    context: &Context,
    settled: Settled,
    session: &SessionKey,
    why: String,
) -> Result<Settled, Failure> {
    let now = Timestamp::now();
    let pid = settled.records.get(session).and_then(SessionRecord::run).map(|run| run.pid);
    let entry = Entry::new(now, "owner_overruled").with("session", session.as_str());
    let entry = entry.with("pid", pid).with("why", why).with("by", "user");
    Journal::at(context.repairer.state.journal()).append(&entry)?;
    let gone = |record: &mut SessionRecord| {
        let newest = record.runs.len().saturating_sub(1);
        for (at, run) in record.runs.iter_mut().enumerate() {
            let believed = run.provenance.is_some_and(|known| known != Provenance::Untrusted);
            if at == newest || run.ended_at.is_none() || !believed {
                run.ended_at = Some(now);
                run.end_reason = Some(SAID_GONE.to_owned());
            }
        }
        record.status = Status::Crashed;
        record.reason = Some(SAID_GONE.to_owned());
    };
    Ok(context.settler()?.change(session, now, PATIENCE, gone)?.unwrap_or(settled))
}

/// No agent was started: the record says again what it said before.
fn take_back(context: &Context, session: &SessionKey, before: Option<&SessionRecord>) -> Result<(), Failure> {
    let Some(before) = before else { return Ok(()) };
    let now = Timestamp::now();
    let again = |record: &mut SessionRecord| {
        let Some((run, old)) = record.runs.last_mut().zip(before.run()) else { return };
        let is_same = (run.pid, run.proc_start) == (old.pid, old.proc_start);
        if is_same && run.end_reason.as_deref() == Some(SAID_GONE) {
            (run.ended_at, run.end_reason) = (old.ended_at, old.end_reason.clone());
            (record.status, record.reason) = (before.status, before.reason.clone());
        }
    };
    context.settler()?.change(session, now, PATIENCE, again)?;
    let entry = Entry::new(now, "owner_overrule_withdrawn").with("session", session.as_str());
    Journal::at(context.repairer.state.journal()).append(&entry)?;
    Ok(())
}
