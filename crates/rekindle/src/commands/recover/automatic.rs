//! Recovering by itself, where its user has turned that on: what a timer does about agents that crashed.

use agents::SessionId;
use jiff::{SignedDuration, Timestamp};
use recovery::{Automatic, BY_ITSELF, DecisionRecord, automatic, crashed, decisions, last_place};
use serde_json::json;
use settle::{Life, Settled};
use state::journal::{Entry, Journal};
use state::record::SessionRecord;

use super::act::bring_all_back;
use crate::commands::save::PATIENCE;
use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::output::Out;
use crate::restoring::{self, Done};

/// What crashed longer ago has been left as it is.
const RECENT: SignedDuration = SignedDuration::from_hours(24);

/// Brings back who is due; nothing where that is turned off or nobody is.
pub(crate) fn by_itself(context: &Context) -> Result<Option<Done>, Failure> {
    let chosen = &context.config.recovery;
    if !(chosen.enabled && chosen.auto_recover) {
        return Ok(None);
    }
    let _alone = restoring::alone(context)?;
    let mut settled = restoring::settled(context)?;
    let now = Timestamp::now();
    // A settle asks only the servers of those who are at work.
    let places = settled.records.values().filter_map(|record| Some(last_place(record)?.socket.clone()));
    let sockets = places.collect();
    settled.world.ask(&sockets);
    let decided: Vec<DecisionRecord> = decisions(&context.clinic.state).collect();
    let since = now.checked_sub(RECENT).unwrap_or(Timestamp::MIN);
    let (mut due, mut stopped) = (Vec::new(), Vec::new());
    for record in crashed(settled.records.values(), since) {
        match automatic(record, &decided, now) {
            _ if !server_lives(record, &settled) => {}
            Automatic::Due => due.push(record.session_id.clone()),
            Automatic::Stopped(why) => stopped.push((record.session_id.clone(), why)),
            Automatic::Later(_) => {}
        }
    }
    tell(context, &stopped, now)?;
    if due.is_empty() {
        return Ok(None);
    }
    bring_all_back(context, &settled, &due, BY_ITSELF).map(Some)
}

/// Agents whose server went with them are a restore's.
fn server_lives(record: &SessionRecord, settled: &Settled) -> bool {
    last_place(record).is_some_and(|place| settled.world.server(place).0 == Life::Alive)
}

/// Says once of each that it was given up.
fn tell(context: &Context, stopped: &[(SessionId, String)], now: Timestamp) -> Result<(), Failure> {
    let journal = Journal::at(context.clinic.state.journal());
    let told = journal.read_tail(2_000)?;
    for (session, why) in stopped {
        let same = |entry: &Entry| {
            entry.event == "auto_recover_stopped" && entry.details.get("session") == Some(&json!(session))
        };
        if !told.iter().any(same) {
            let entry = Entry::new(now, "auto_recover_stopped")
                .with("session", json!(session))
                .with("why", why.as_str());
            journal.append(&entry)?;
        }
    }
    Ok(())
}

/// Lets conversations be brought back by themselves, or not.
pub(super) fn allow(
    context: &Context,
    sessions: &[SessionId],
    on: bool,
    as_json: bool,
) -> Result<Exit, Failure> {
    let settler = context.settler()?;
    let mut out = Out::new();
    for session in sessions {
        let change = |record: &mut SessionRecord| record.given.no_auto_recover = !on;
        if settler.change(session, Timestamp::now(), PATIENCE, change)?.is_none() {
            return Err(Failure::new(Exit::Failed, format!("nothing is on record about {session}")));
        }
        if !as_json {
            let word = if on { "may be brought back by itself" } else { "is left to you when it crashes" };
            out.line(&format!("{}  {word}", session.short()));
        }
    }
    if as_json {
        out.json(json!({"sessions": sessions, "auto": on}));
    }
    out.finish()
}
