//! What restoring and recovering have in common: the look at everything, the one who acts, and what is written down.

mod interrupted;
mod progress;
mod report;
mod running;
mod waited;

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use agents::SessionKey;
use jiff::{SignedDuration, Timestamp};
use recovery::{
    Act, Acted, Actor, Asked, BY_ITSELF, Briefing, DecisionRecord, GoingOn, Ground, KnownAccounts, Live,
    Outcome, PaneStep, Plan, Restored, Wanted,
};
use repair::OpenOperation;
use serde_json::{Value, json};
use sessions::Settled;
use store::config::Continue;
use store::durable;
use store::lock::{Lock, LockError};
use store::operations::{Effect, EffectKind};
use store::record::SessionRecord;

use crate::commands::save::PATIENCE;
use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::operations::restore_command;
use crate::output::say;
use crate::survey::follow_up;
use report::publish;
use running::Running;
use waited::{complete, waited_for};

pub(crate) use interrupted::{look_again, take_stock};
pub(crate) use report::{note_undone, panes as panes_json};
pub(crate) use waited::FROM_ITS_PANE;

/// A server that is alive answers within milliseconds, a loaded one within a second.
const TMUX_DEADLINE: Duration = Duration::from_secs(5);

/// How often an agent is started that does not get as far as its own word.
const TRIES: usize = 3;

/// What this program needs of its environment to find its files again, in a pane of a server that has another one.
const NEEDED: [&str; 7] = [
    "HOME",
    "REKINDLE_STATE_DIR",
    "REKINDLE_CONFIG",
    "CLAUDE_CONFIG_DIR",
    "XDG_STATE_HOME",
    "XDG_CONFIG_HOME",
    "TMUX_TMPDIR",
];

/// The turn to restore: nobody else restores or saves while it is held.
pub(crate) fn alone(context: &Context) -> Result<Lock, Failure> {
    let state = &context.repairer.state;
    durable::private_dir(&state.locks())?;
    // However many triggers there are, it happens once: who comes second finds everything there.
    Ok(Lock::acquire(&store::saves::restore_lock(state, None), PATIENCE)?)
}

/// Whether a restore runs now.
pub(crate) fn is_running(context: &Context) -> bool {
    let lock = store::saves::restore_lock(&context.repairer.state, None);
    matches!(Lock::try_alone(&lock), Err(LockError::Held { .. }))
}

/// Everything that hooks left, settled.
pub(crate) fn settled(context: &Context) -> Result<Settled, Failure> {
    Ok(context.settler()?.settle(Timestamp::now(), PATIENCE)?)
}

/// Where facts come from.
pub(crate) fn ground<'a>(context: &'a Context, settled: &'a Settled) -> Ground<'a> {
    let (home, spent_at) = (context.home.clone(), context.config.quota.switch_at);
    let accounts = known_accounts(context, settled);
    Ground::look(&context.repairer, settled, home, Context::around(), accounts, spent_at, Timestamp::now())
}

/// The configuration directories that an agent may be started with.
fn known_accounts(context: &Context, settled: &Settled) -> KnownAccounts {
    let named = context.around.named_configs(&context.config);
    KnownAccounts::of(named, settled.records.values(), settled.world.machine(), context.reading_key())
}

/// What is wanted, by the configuration.
pub(crate) fn wanted(context: &Context, again: bool, asked: Asked) -> Wanted {
    let stale_after =
        SignedDuration::try_from(context.config.restore.stale_after).unwrap_or(SignedDuration::MAX);
    let claude = &context.config.claude;
    let (resume, fallback) = (claude.auto_resume_on_restore, claude.resume_fallback);
    Wanted { now: Timestamp::now(), stale_after, again, asked, resume, fallback }
}

/// What there is on these servers.
pub(crate) fn look(sockets: &BTreeSet<PathBuf>, settled: &Settled) -> Result<Vec<Live>, Failure> {
    recovery::look(sockets, settled, TMUX_DEADLINE).map_err(|silent| {
        Failure::new(Exit::Refused, silent.to_string())
            .hint("nothing is restored where it cannot be told what is there")
    })
}

/// Whether agents that come back go on by themselves, by the configuration. Nobody is there to press Enter for one that comes
/// back by itself.
pub(crate) fn go_on(context: &Context, by_itself: bool) -> GoingOn {
    match context.config.recovery.r#continue {
        Continue::Ask if by_itself => GoingOn::CutOff,
        chosen => chosen.into(),
    }
}

/// How a plan is carried out.
#[derive(Clone, Copy, Default)]
pub(crate) struct Manner<'a> {
    pub(crate) max_parallel: Option<u32>,
    /// Whether panes wait for their user; the configuration says so where nobody does.
    pub(crate) lazy: Option<bool>,
    pub(crate) briefing: Option<&'a Briefing<'a>>,
    /// Whether agents go on by themselves; the configuration says so where nobody does.
    pub(crate) go_on: Option<GoingOn>,
    /// The save that is restored.
    pub(crate) save: Option<&'a str>,
}

/// What was done.
#[derive(Debug, Clone, Default)]
pub(crate) struct Done {
    pub(crate) restore_id: String,
    pub(crate) panes: Vec<Restored>,
    /// Agents that are back.
    pub(crate) restored: usize,
    /// Agents that were missing.
    pub(crate) total: usize,
    /// When everything was made and started.
    pub(crate) started: Option<Instant>,
    /// What is in no copy of the conversations that were put together for this, one sentence each.
    pub(crate) missing: Vec<String>,
}

/// Does what a plan says, and writes down what was decided before and what came of it after. `by` says what asked for it.
pub(crate) fn act(
    context: &Context,
    settled: &Settled,
    plan: &Plan,
    manner: Manner<'_>,
    by: &str,
) -> Result<Done, Failure> {
    let state = &context.repairer.state;
    let restore = &context.config.restore;
    let needed =
        |name: &&str| Some(((*name).to_owned(), std::env::var(name).ok().filter(|v| !v.is_empty())?));
    // What restores that were killed have left; nobody waits for so old a start.
    let _ = store::launch::sweep(state, Duration::from_secs(3600), std::time::SystemTime::now());
    recovery::sweep_context_files(state, std::time::SystemTime::now());
    let begun = Timestamp::now();
    let restore_id = begun.strftime("%Y%m%dT%H%M%S.%3fZ").to_string();
    // What an earlier one could not write down is known now, and not any more when this one has begun.
    interrupted::take_stock_now(context, settled);
    let record = DecisionRecord::of(plan, restore_id.clone(), by, begun);
    let waited = if by == FROM_ITS_PANE { waited_for(context, plan) } else { None };
    let _operation = match &waited {
        Some(waited) => reopened(context, waited.restore_id()),
        None => Some(context.begin_operation(&restore_command(by))),
    };
    if waited.is_none() {
        let mut effect = Effect::new(EffectKind::Restore);
        effect.restore_id = Some(restore_id.clone());
        effect.save = manner.save.map(str::to_owned);
        effect.count = Some(record.panes.len() as u64);
        context.repairer.note_effect(effect)?;
        record.store(state, &context.writing_key()?)?;
    }
    let total = agents_of(plan).count();
    let running = Running::begin(context, &settled.records, plan, record, waited.is_none());
    let told = |restored: &[Restored]| running.note(restored);
    let actor = Actor {
        state,
        repairer: &context.repairer,
        records: &settled.records,
        machine: settled.world.machine(),
        accounts: known_accounts(context, settled),
        key: context.reading_key(),
        max_parallel: manner.max_parallel.unwrap_or(restore.max_parallel) as usize,
        lazy: manner.lazy.unwrap_or(restore.lazy),
        least_memory: restore.min_free_memory.0,
        note_on_resume: restore.note_on_resume,
        go_on: manner.go_on.unwrap_or_else(|| go_on(context, by == BY_ITSELF)),
        briefing: manner.briefing,
        looked: Instant::now(),
        now: begun,
        zone: crate::zone::local(),
        program: std::env::current_exe()?,
        variables: NEEDED.iter().filter_map(needed).collect(),
        half_done: RefCell::default(),
        launched: RefCell::default(),
        // What comes back by itself has a back-off of its own.
        tries: if by == BY_ITSELF { 1 } else { TRIES },
        around: std::env::vars_os().filter_map(|(name, _)| name.into_string().ok()).collect(),
        scope: Context::has_scopes(),
        told: &told,
    };
    // Copied first: a resume has emptied transcripts before (cc#79298).
    if plan.panes().any(|step| step.decision.act.starts()) {
        keep_copies(context)?;
    }
    let Acted { mut panes, started, .. } = actor.act(plan);
    name_panes(plan, &mut panes);
    let (mut record, failed) = running.end();
    if let Some(waited) = waited {
        let done = complete(context, waited, panes, started)?;
        return failed.map_or(Ok(done), Err);
    }
    record.finish(&panes, Timestamp::now(), |socket| match tmux::list(socket, TMUX_DEADLINE) {
        tmux::Listing::Alive(server) => Some((server.id.pid, server.id.started)),
        _ => None,
    });
    record.store(state, &context.writing_key()?)?;
    let restored = panes.iter().filter(|pane| pane.outcome.is_back()).count();
    let missing = missing_rows(context);
    let done = Done { restore_id, panes, restored, total, started, missing };
    publish(context, &done, begun)?;
    failed.map_or(Ok(done), Err)
}

/// The panes of agents that a plan is about.
fn agents_of(plan: &Plan) -> impl Iterator<Item = &PaneStep> {
    let is_missing =
        |step: &&PaneStep| step.is_agents() && step.concerns() && step.decision.act != Act::Shell;
    plan.panes().filter(is_missing)
}

/// Names panes by where they are, as `status` shows it and `go` takes it. Only tmux knows which number the first pane of a new
/// window gets, and a window whose number is taken by now gets another one.
fn name_panes(plan: &Plan, panes: &mut [Restored]) {
    for server in &plan.servers {
        let ours = |pane: &&mut Restored| server.panes.iter().any(|step| step.mark == pane.mark);
        let mut known = panes.iter_mut().filter(|pane| pane.id.is_some()).filter(ours).peekable();
        if known.peek().is_none() {
            continue;
        }
        let tmux::Listing::Alive(alive) = tmux::list(&server.socket, TMUX_DEADLINE) else { continue };
        for pane in known {
            let there = pane.id.as_deref().and_then(|id| alive.pane(id));
            if let Some(there) = there {
                alive.reference(there).as_str().clone_into(&mut pane.pane);
            }
        }
    }
}

/// What the repairs of the operation that is open could find nowhere.
fn missing_rows(context: &Context) -> Vec<String> {
    let Some(open) = context.repairer.operation() else { return Vec::new() };
    let all = store::operations::list(&context.repairer.state);
    let effects = all.into_iter().filter(|one| one.id == open).flat_map(|one| one.effects);
    let words = |effect: Effect| {
        let session = effect.session_id.map(|session| session.short().to_owned()).unwrap_or_default();
        Some(format!("{session}: {}", effect.missing?))
    };
    effects.filter_map(words).collect()
}

/// The operation that a restore belongs to: what comes of a pane that waited belongs to it, too.
fn reopened<'a>(context: &'a Context, restore_id: &str) -> Option<OpenOperation<'a>> {
    let all = store::operations::list(&context.repairer.state);
    let ours = |effect: &Effect| effect.restore_id.as_deref() == Some(restore_id);
    let operation = all.iter().find(|operation| operation.effects.iter().any(ours))?;
    Some(context.repairer.reopen_operation(operation))
}

/// Brings the vault up to date. Where that fails agents come back all the same.
pub(crate) fn keep_copies(context: &Context) -> Result<(), Failure> {
    if let Err(error) = context.settler()?.mirror(&context.repairer.vault) {
        say(&format!("rekindle: the vault is not up to date: cannot {error}"));
    }
    Ok(())
}

/// Keeps what the panes of agents show that are about to be ended. Where that fails they end all the same: their
/// transcripts are what counts.
pub(crate) fn remember_screens<'a>(
    context: &Context,
    settled: &Settled,
    sessions: impl Iterator<Item = &'a SessionKey>,
) {
    let Some(snapper) = context.snapper() else { return };
    for session in sessions {
        let place = settled.records.get(session).and_then(|record| record.place.as_ref());
        if let Some(place) = place {
            let nonce = uuid::Uuid::new_v4().to_string();
            for trouble in snapper.snapshot_before_kill(session, place, Timestamp::now(), &nonce).troubles {
                say(&format!("rekindle: {trouble}"));
            }
        }
    }
}

/// A conversation that goes on under another id says so, and is waited for no longer. One whose fresh agent runs and has
/// not said a word yet does, too; where that ends without one, a settle takes it back.
fn follow(context: &Context, plan: &Plan, panes: &[Restored]) -> Result<(), Failure> {
    for step in plan.panes() {
        let (Some(old), Some(recipe)) = (&step.session, &step.recipe) else { continue };
        let new = recipe.session(Act::Fresh);
        let runs = |one: &Restored| one.outcome.is_back() || one.outcome == Outcome::Unverified;
        let began = |one: &&Restored| one.session_id.as_ref() == Some(new) && runs(one);
        if panes.iter().any(|one| began(&one)) {
            link(context, old, new)?;
        }
    }
    Ok(())
}

/// Writes down that a fresh agent has taken over a conversation.
fn link(context: &Context, old: &SessionKey, new: &SessionKey) -> Result<(), Failure> {
    let follow = |record: &mut SessionRecord| record.next_id = Some(new.clone());
    let (settler, now) = (context.settler()?, Timestamp::now());
    if let Some(settled) = settler.change(old, now, PATIENCE, follow)? {
        // The fresh agent's first events may be settled by this, and its status line waits for them. It is derived: where it
        // cannot be written, the next settle does it.
        let _ = settler.prepare(&settled, now);
        follow_up(&settler, &settled);
    }
    Ok(())
}

/// The outcomes as JSON, for `restore` and `recover`.
pub(crate) fn as_json(done: &Done) -> Value {
    json!({"restoreId": done.restore_id, "panes": done.panes, "restored": done.restored, "total": done.total,
        "missing": done.missing})
}
