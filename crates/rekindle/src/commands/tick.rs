use clap::ValueEnum;
use jiff::{SignedDuration, Timestamp};
use layouts::Followed;
use recovery::{Outcome, Restored};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sessions::{Settled, Snapped, Vaulted};
use store::StateDir;
use store::durable;
use store::lock::{Lock, LockError};
use store::saves::Kind;

use super::{recover, save, settle, vault};
use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::fast_path;
use crate::output::{Out, say};

/// Settle, save, mirror and tidy up: what a timer runs
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example: rekindle tick --json\n\nRun by a timer (rekindle service install). Says nothing where all is well; does\nnothing in a pause, and saves nothing while a restore runs."
)]
pub(crate) struct Args {
    /// Something has changed in tmux: save when it has come to rest, and do nothing else
    #[arg(long, conflicts_with = "json")]
    hook: bool,
    /// The same, for something that happened to an agent
    #[arg(long, hide = true, conflicts_with_all = ["json", "hook"])]
    event: bool,
    /// Wait for that rest, and save
    #[arg(long, hide = true, value_name = "KIND", conflicts_with_all = ["json", "hook"])]
    soon: Option<Soon>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Soon {
    Hook,
    Event,
}

/// What the last tick left for the next one, and for who asks how it went.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct LastTick {
    schema: u32,
    /// When it ended.
    pub(crate) at: Option<Timestamp>,
    /// What went wrong.
    pub(crate) failures: Vec<String>,
    /// When the vault was tidied up last.
    pruned_at: Option<Timestamp>,
}

/// What is past its time is measured in days.
const PRUNE_EVERY: SignedDuration = SignedDuration::from_hours(24);

/// Timers are late or early by a little: an interval that is nearly over is over.
const EARLY: f64 = 0.9;

pub(crate) fn run(args: &Args) -> Result<Exit, Failure> {
    if let Some(soon) = args.soon {
        return fast_path::debounce::wait(match soon {
            Soon::Hook => Kind::Hook,
            Soon::Event => Kind::Event,
        });
    }
    let context = Context::load()?;
    let state = &context.repairer.state;
    // Each alone is answered before the command line is built.
    if args.hook || args.event {
        fast_path::debounce::want(state, if args.hook { Kind::Hook } else { Kind::Event })?;
        return Ok(Exit::Done);
    }
    if store::pause::read(state).is_some() {
        return nothing(args, "paused");
    }
    durable::private_dir(&state.locks())?;
    let _alone = match Lock::try_alone(&state.locks().join("tick")) {
        Err(LockError::Held { .. }) => return nothing(args, "elsewhere"),
        lock => lock?,
    };
    tick(&context, args)
}

/// One after another, each whatever became of the one before. Recovering by itself comes last, when everything is on disk.
fn tick(context: &Context, args: &Args) -> Result<Exit, Failure> {
    let state = &context.repairer.state;
    let mut last = LastTick::read(state);
    let mut failures = Vec::new();
    let settled = noted(settle::settle_all(context), &mut failures);
    for trouble in settled.iter().flat_map(|(settled, _)| &settled.troubles) {
        say(&format!("rekindle: {trouble}"));
    }
    let snapped = settled.as_ref().and_then(|(settled, _)| snapshot(context, settled));
    for trouble in snapped.iter().flat_map(|snapped| &snapped.troubles) {
        say(&format!("rekindle: {trouble}"));
    }
    let after = context.config.save.interval.mul_f64(EARLY);
    let followed = noted(save::follow(context, Kind::Timer, Some(after)), &mut failures);
    let mirrored = match &settled {
        Some((_, true)) => Some(true),
        _ => noted(mirror(context), &mut failures),
    };
    let now = Timestamp::now();
    let prunes = last.pruned_at.is_none_or(|at| now.duration_since(at).abs() >= PRUNE_EVERY);
    if prunes {
        vault::prune_quietly(context);
        last.pruned_at = Some(now);
    }
    let recovered = noted(recover::by_itself(context), &mut failures).flatten();
    // Whom a guard holds back is no failure of the tick: that has been told.
    let failed = |pane: &&Restored| pane.outcome == Outcome::Failed;
    for pane in recovered.iter().flat_map(|done| &done.panes).filter(failed) {
        let words = format!("{} was not recovered: {}", pane.pane, pane.reason);
        failures.push(Failure::new(Exit::Failed, words));
    }
    last.at = Some(now);
    last.failures = failures.iter().map(|failure| failure.message().to_owned()).collect();
    last.write(state)?;
    let exit = match failures.len() {
        0 => Exit::Done,
        failed if failed >= STEPS => Exit::Failed,
        _ => Exit::Partly,
    };
    for failure in failures {
        failure.report(false);
    }
    let mut out = Out::new();
    if args.json {
        let events = settled.as_ref().map(|(settled, _)| settled.events);
        out.json(json!({"skipped": null, "events": events,
            "snapshots": snapped.map(|snapped| snapped.taken.len()), "save": saved_json(followed.as_ref()),
            "mirrored": mirrored, "pruned": prunes, "recovered": recovered.map(|done| done.restored), "failures": last.failures}));
    }
    out.finish_as(exit)
}

/// Settling, saving, mirroring.
const STEPS: usize = 3;

/// Keeps what agents' panes show, where the newest snapshot is old enough; nothing where that is turned off.
fn snapshot(context: &Context, settled: &Settled) -> Option<Snapped> {
    let interval = context.config.recovery.snapshot_interval;
    let snapper = context.snapper().filter(|_| !interval.is_zero())?;
    let nonce = uuid::Uuid::new_v4().to_string();
    Some(snapper.snapshot_due(settled, interval.mul_f64(EARLY), Timestamp::now(), &nonce))
}

fn noted<T>(done: Result<T, Failure>, failures: &mut Vec<Failure>) -> Option<T> {
    done.map_err(|failure| failures.push(failure)).ok()
}

/// Brings the vault up to date also with conversations of agents that call nobody; whether it did.
fn mirror(context: &Context) -> Result<bool, Failure> {
    Ok(matches!(context.settler()?.mirror(&context.repairer.vault)?, Vaulted::Done(_)))
}

fn nothing(args: &Args, why: &str) -> Result<Exit, Failure> {
    let mut out = Out::new();
    if args.json {
        out.json(json!({"skipped": why}));
    }
    out.finish()
}

fn saved_json(followed: Option<&Option<Followed>>) -> Value {
    let (word, id) = match followed {
        None => return Value::Null,
        Some(None) => ("restoring", None),
        Some(Some(Followed::Empty)) => ("empty", None),
        Some(Some(Followed::Unchanged { id })) => ("unchanged", Some(id)),
        Some(Some(Followed::Refreshed(saved))) => ("refreshed", Some(&saved.id)),
        Some(Some(Followed::Saved(saved))) => ("saved", Some(&saved.id)),
    };
    json!({"outcome": word, "save": id})
}

impl LastTick {
    /// The last tick; nothing is known where there was none.
    pub(crate) fn read(state: &StateDir) -> LastTick {
        let bytes = store::files::read(state.cache().join("tick.json")).unwrap_or_default();
        serde_json::from_slice(&bytes).unwrap_or_default()
    }

    fn write(&self, state: &StateDir) -> Result<(), Failure> {
        durable::private_dir(&state.cache())?;
        let whole = serde_json::to_vec_pretty(&LastTick { schema: 1, ..self.clone() })?;
        Ok(durable::replace_unsynced(&state.cache().join("tick.json"), &whole)?)
    }
}
