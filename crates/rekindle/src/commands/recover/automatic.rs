//! Recovering by itself, where its user has turned that on: what a timer does about agents that crashed.

use agents::SessionKey;
use jiff::{SignedDuration, Timestamp};
use recovery::{
    Asked, Automatic, BY_ITSELF, DecisionRecord, Outcome, Restored, automatic, crashed, genuine_decisions,
};
use serde_json::{Value, json};
use sessions::{Life, Settled};
use store::journal::{Entry, Journal};
use store::record::SessionRecord;

use super::act::bring_all_back;
use crate::commands::save::PATIENCE;
use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::output::{Out, say};
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
    let machine = settled.world.machine();
    let genuine = |record: &SessionRecord| Some(record.genuine_place(&machine)?.socket.clone());
    let places = settled.records.values().filter_map(genuine);
    let sockets = places.collect();
    settled.world.ask(&sockets);
    let key = context.reading_key();
    let decided: Vec<DecisionRecord> = genuine_decisions(&context.repairer.state, key.as_ref()).collect();
    let since = now.checked_sub(RECENT).unwrap_or(Timestamp::MIN);
    let told = Told::read(context)?;
    let mut due = Vec::new();
    for record in crashed(settled.records.values(), since) {
        match automatic(record, &decided, now) {
            _ if !server_lives(record, &settled) => {}
            Automatic::Due => due.push(record.session_id.clone()),
            Automatic::Stopped(why) => told.once(record, "auto_recover_stopped", "stopped", &why)?,
            Automatic::Later(_) => {}
        }
    }
    if due.is_empty() {
        return Ok(None);
    }
    let done = bring_all_back(context, &settled, &due, Asked::ByItself, BY_ITSELF)?;
    // One that was started and asks its user something shows that in its pane.
    let held = |pane: &&Restored| matches!(pane.outcome, Outcome::Refused | Outcome::Offered);
    for pane in done.panes.iter().filter(held) {
        let record = pane.session_id.as_ref().and_then(|session| settled.records.get(session));
        if let Some(record) = record {
            let word = json!(pane.outcome);
            told.once(record, "auto_recover_held", word.as_str().unwrap_or_default(), &pane.reason)?;
        }
    }
    Ok(Some(done))
}

/// Agents whose server went with them are a restore's.
fn server_lives(record: &SessionRecord, settled: &Settled) -> bool {
    let place = record.genuine_place(&settled.world.machine());
    place.is_some_and(|place| settled.world.server(place).0 == Life::Alive)
}

/// What has been said already of agents that do not come back by themselves: a timer would say it every few minutes.
struct Told {
    journal: Journal,
    before: Vec<Entry>,
}

impl Told {
    fn read(context: &Context) -> Result<Told, Failure> {
        let journal = Journal::at(context.repairer.state.journal());
        let before = journal.read_tail(2_000)?;
        Ok(Told { journal, before })
    }

    /// Says why an agent does not come back, once after each of its crashes.
    fn once(&self, record: &SessionRecord, event: &str, outcome: &str, why: &str) -> Result<(), Failure> {
        let session = json!(record.session_id);
        let same = |entry: &Entry| {
            let says = |key: &str, value: &Value| entry.details.get(key) == Some(value);
            entry.event == event && says("session", &session) && says("outcome", &json!(outcome))
        };
        if self.before.iter().any(|entry| same(entry) && entry.at >= record.gone_since()) {
            return Ok(());
        }
        say(&format!("rekindle: {} does not come back by itself: {why}", record.session_id.short()));
        let entry = Entry::new(Timestamp::now(), event)
            .with("session", session.clone())
            .with("outcome", outcome)
            .with("why", why);
        Ok(self.journal.append(&entry)?)
    }
}

/// Lets conversations be brought back by themselves, or not.
pub(super) fn allow(
    context: &Context,
    sessions: &[SessionKey],
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
