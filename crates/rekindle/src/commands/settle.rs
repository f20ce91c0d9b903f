use std::collections::BTreeSet;
use std::time::Duration;

use agents::SessionKey;
use jiff::Timestamp;
use serde_json::json;
use sessions::{Settled, Settler, Vaulted, Watched};
use store::fallback_spool;
use store::lock::LockError;
use store::record::Status;

use crate::context::{self, Context};
use crate::exit::{Exit, Failure};
use crate::output::{Out, count, say};

/// Fold what hooks left into records, map and journal, and bring the vault up to date
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example: rekindle settle\n\nHooks and status lines start it by themselves; commands that show something run it first."
)]
pub(crate) struct Args {
    /// Leave the terminal and say nothing: how status lines start it
    #[arg(long, hide = true, conflicts_with = "json")]
    detached: bool,
    /// Look at this conversation's transcript again
    #[arg(long, hide = true, value_name = "ID")]
    again: Vec<SessionKey>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// A person waits this long for another settle to end; it takes a fraction of a second.
const PATIENCE: Duration = Duration::from_secs(30);

pub(crate) fn run(args: &Args) -> Result<Exit, Failure> {
    if args.detached {
        return detached(args.again.iter().cloned().collect());
    }
    let context = Context::load()?;
    let (settled, vaulted) = settle_all(&context)?;
    for trouble in &settled.troubles {
        say(&format!("rekindle: {trouble}"));
    }
    let mut out = Out::new();
    if args.json {
        let touched: Vec<&str> = settled.touched.iter().map(|id| id.as_str()).collect();
        out.json(json!({"events": settled.events, "sessions": touched, "troubles": settled.troubles,
            "alarms": settled.alarms, "mirrored": vaulted}));
    } else {
        let events = count(settled.events as u64, "event", "events");
        let sessions = count(settled.touched.len() as u64, "conversation", "conversations");
        out.line(&format!("settled {events} of {sessions}"));
        for alarm in &settled.alarms {
            out.line(&format!("alarm: {}", alarm.text));
        }
    }
    out.finish()
}

/// Settles everything, mirrors what has turned, and prepares what follows; whether it did mirror.
pub(crate) fn settle_all(context: &Context) -> Result<(Settled, bool), Failure> {
    let settler = context.settler()?;
    let mut settled = match settler.settle(Timestamp::now(), PATIENCE) {
        Ok(settled) => settled,
        Err(error) => {
            // What cannot be written down can still be copied.
            settler.mirror(&context.repairer.vault)?;
            return Err(error.into());
        }
    };
    // Hooks that saw the lock held have left it to us to look again; a busy machine may need a second look, no more.
    for _ in 0..2 {
        if !settler.has_news() {
            break;
        }
        let more = settler.settle(Timestamp::now(), PATIENCE)?;
        settled = settled.and(more);
    }
    crate::kept::look_again(context);
    let turned = settled.turned.clone();
    let (vaulted, unmirrored) = mirror(context, &settler, &settled, &turned)?;
    settled.troubles.extend(unmirrored);
    settler.look_at_mirror(&mut settled, Timestamp::now());
    settled.troubles.extend(snapshot(context, &settled, &settled.turned));
    settler.prepare(&settled, Timestamp::now())?;
    settler.tell_alarms(&settled.alarms, &context::desktop(), Timestamp::now())?;
    if context.config.state.git {
        settler.commit_state(&commit_words(&settled))?;
    }
    Ok((settled, vaulted))
}

/// Settles until there is no news, away from the agent's terminal: the hang-up that ends an agent must not end the one who
/// writes it down. What goes wrong goes into the log: nobody is watching.
pub(crate) fn detached(mut again: BTreeSet<SessionKey>) -> Result<Exit, Failure> {
    let _ = rustix::process::setsid();
    let _ = std::env::set_current_dir("/");
    let context = match Context::load() {
        Ok(context) => context,
        Err(failure) => {
            crate::fast_path::log(&format!("settle: {}", failure.message()));
            return Err(failure);
        }
    };
    if store::pause::read(&context.repairer.state).is_some() {
        return Ok(Exit::Done);
    }
    let log = |words: &str| {
        let folder = context.repairer.state.log();
        let line = format!("{} settle: {words}", Timestamp::now());
        let _ = store::durable::private_dir(&folder)
            .and_then(|()| fallback_spool::log(&folder.join("settle.log"), &line));
    };
    let settler = match context.settler() {
        Ok(settler) => settler,
        Err(failure) => {
            log(failure.message());
            return Err(failure);
        }
    };
    // Who holds the lock looks again before it ends, but does not know which transcripts had no end yet: a second look at
    // those is worth waiting for. And whoever has settled once stays as long as an agent is busy; others may not.
    let mut patience = if again.is_empty() { Duration::ZERO } else { PATIENCE };
    loop {
        let mut settled = match settler.settle_again(Timestamp::now(), patience, &again) {
            Ok(settled) => settled,
            Err(sessions::Error::Lock(LockError::Held { .. })) => return Ok(Exit::Done),
            Err(error) => {
                let failure = Failure::from(error);
                log(failure.message());
                mirror_alone(&context, &settler, &log);
                return Err(failure);
            }
        };
        patience = PATIENCE;
        for trouble in &settled.troubles {
            log(trouble);
        }
        let now = Timestamp::now();
        let after = [
            settler.prepare(&settled, now).map_err(Failure::from),
            settler.tell_alarms(&settled.alarms, &context::desktop(), now).map_err(Failure::from),
        ];
        for failure in after.into_iter().filter_map(Result::err) {
            log(failure.message());
        }
        if !(settled.moved.is_empty() && settled.turned.is_empty()) {
            crate::fast_path::debounce::announce()
                .unwrap_or_else(|error| log(&format!("cannot ask for a save: {error}")));
        }
        let looked_again = std::mem::replace(&mut again, settled.turned.clone());
        if !again.is_empty() {
            sessions::wait_for_rest(&settled.records, &again);
        }
        let turned = looked_again.union(&again).cloned().collect();
        match mirror(&context, &settler, &settled, &turned) {
            Ok((_, unmirrored)) => unmirrored.iter().for_each(|words| log(words)),
            Err(failure) => log(failure.message()),
        }
        let now = Timestamp::now();
        if settler.look_at_mirror(&mut settled, now) {
            let told = settler.tell_alarms(&settled.alarms, &context::desktop(), now);
            let after = [settler.prepare(&settled, now).map_err(Failure::from), told.map_err(Failure::from)];
            after.into_iter().filter_map(Result::err).for_each(|failure| log(failure.message()));
        }
        for trouble in snapshot(&context, &settled, &turned) {
            log(&trouble);
        }
        if context.config.state.git
            && let Err(error) = settler.commit_state(&commit_words(&settled))
        {
            log(Failure::from(error).message());
        }
        if again.is_empty() && !settler.has_news() && settler.watch(&settled) == Watched::Nothing {
            crate::kept::stay(&context).unwrap_or_else(|error| log(&format!("cannot {error}")));
            return Ok(Exit::Done);
        }
    }
}

fn commit_words(settled: &Settled) -> String {
    let names: Vec<String> = settled.touched.iter().map(|id| id.short()).take(5).collect();
    let more = if settled.touched.len() > names.len() { ", …" } else { "" };
    format!("settle {}{more}", names.join(", "))
}

/// Keeps what the panes of conversations whose turn ended show; what went wrong.
fn snapshot(context: &Context, settled: &Settled, turned: &BTreeSet<SessionKey>) -> Vec<String> {
    let Some(snapper) = context.snapper().filter(|_| !turned.is_empty()) else { return Vec::new() };
    let nonce = uuid::Uuid::new_v4().to_string();
    snapper.snapshot(settled, turned, Timestamp::now(), &nonce).troubles
}

/// Brings the vault up to date for conversations whose turn ended; whether it did, and what it could not copy.
fn mirror(
    context: &Context,
    settler: &Settler,
    settled: &Settled,
    turned: &BTreeSet<SessionKey>,
) -> Result<(bool, Vec<String>), Failure> {
    if turned.is_empty() {
        return Ok((false, Vec::new()));
    }
    let vault = &context.repairer.vault;
    let seen = Settler::transcripts(&settled.records, turned);
    match settler.mirror(vault)? {
        Vaulted::Elsewhere => Ok((false, Vec::new())),
        Vaulted::Done(report) => {
            // Only a copy that has the file as it was seen, or more of it, has the newest rows.
            let last_seen = vault.last_seen()?;
            let has = |(session, stamp): (&SessionKey, &_)| last_seen.holds(*stamp).then(|| session.clone());
            let mirrored = seen.iter().filter_map(has).collect();
            settler.note_mirrored(&mirrored, Timestamp::now(), PATIENCE)?;
            Ok((true, super::vault::unmirrored_words(&report)))
        }
    }
}

/// Copies the rows of a turn where nothing can be written down about it: those that are there, and those that follow.
fn mirror_alone(context: &Context, settler: &Settler, log: &dyn Fn(&str)) {
    let mirror = || match settler.mirror(&context.repairer.vault) {
        Ok(Vaulted::Done(report)) => {
            super::vault::unmirrored_words(&report).iter().for_each(|words| log(words));
        }
        Ok(Vaulted::Elsewhere) => {}
        Err(error) => log(&vault::in_words(&error)),
    };
    mirror();
    let Ok(looked) = settler.look() else { return };
    let active = looked.records.values().filter(|record| record.status == Status::Active);
    let active = active.map(|record| record.session_id.clone()).collect();
    sessions::wait_for_rest(&looked.records, &active);
    mirror();
}
