//! `rekindle undo`: takes back what one command changed.

mod restore;
mod tell;

pub(crate) use restore::source_of;

use agents::SessionId;
use agents::claude::ConfigDir;
use jiff::Timestamp;
use recovery::{DecisionRecord, UndoStep};
use repair::{Refusal, Target};
use store::operations::{self, Effect, EffectKind, EffectState, Operation, OperationState};

use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::operations::{History, Standing, each};
use crate::output::{Busy, Consent, Out, WATCHING, agree, say};

/// Undo what the last command changed; what was said since stays
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  rekindle undo\n  rekindle undo kxzmwtlp --dry-run\n  rekindle undo 1a2b3c4d\n\n`rekindle history` lists the operations. Of a session only the last change of\nits transcript is undone. The undo of a restore closes what it opened: it asks\nbefore it closes idle agents, and agents that have worked since stay."
)]
pub(crate) struct Args {
    /// An operation, or a session: the newest operation by default
    #[arg(value_name = "OPERATION|TARGET")]
    what: Option<String>,
    /// Say what would be undone, and change nothing
    #[arg(long)]
    dry_run: bool,
    /// Do not ask before idle agents are closed
    #[arg(long)]
    yes: bool,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// What is to be undone.
struct Chosen<'a> {
    operation: &'a Operation,
    /// Which of its effects.
    effects: Vec<usize>,
    /// Panes, where one of the effects is a restore.
    panes: Option<Panes>,
}

/// What an undo would do about panes. While this is held, nobody restores or saves.
struct Panes {
    desk: restore::Desk,
    restores: Vec<(usize, DecisionRecord, Vec<UndoStep>)>,
}

/// What became of one effect.
struct Reported {
    effect: Effect,
    status: Status,
    reason: Option<String>,
    /// Bytes that were said since the change, and stay.
    kept_since: Option<u64>,
    changed_at: Option<Timestamp>,
    /// Whether it was refused because of what was said since.
    said_since: bool,
    /// Of a restore: whether it was killed before its end, and its panes.
    interrupted: bool,
    panes: Vec<UndoStep>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Status {
    Undone,
    AlreadyUndone,
    /// What is in it goes on, as an agent that has worked since a restore does.
    Kept,
    Refused,
    Failed,
    NotUndoable,
}

impl Reported {
    fn new(effect: &Effect, status: Status) -> Reported {
        Reported {
            effect: effect.clone(),
            status,
            reason: None,
            kept_since: None,
            changed_at: None,
            said_since: false,
            interrupted: false,
            panes: Vec::new(),
        }
    }

    fn because(effect: &Effect, status: Status, reason: impl Into<String>) -> Reported {
        Reported { reason: Some(reason.into()), ..Reported::new(effect, status) }
    }
}

pub(crate) fn run(context: &Context, args: &Args) -> Result<Exit, Failure> {
    let mut history = History::load(context);
    if !args.dry_run {
        context.may_change()?;
        history = history.finish_interrupted(context)?;
    }
    let mut chosen = choose(context, &history, args)?;
    if !args.dry_run && !args.yes && chosen.panes.as_ref().is_some_and(Panes::ends_agents) {
        if let Some(panes) = &chosen.panes {
            tell::agents(panes);
        }
        let wanted = chosen.operation.id.clone();
        // The question may stand for long: others may save and restore meanwhile, and everything is looked at again.
        drop(chosen);
        agree(&mut Out::new(), Consent::Ask, "Close these agents?")?;
        history = History::load(context);
        chosen = whole(context, &history, &wanted)?;
    }
    let Chosen { operation, effects, panes } = chosen;
    if args.what.is_some() && effects.len() < in_force(&history, operation).len() {
        let others = in_force(&history, operation).len() - effects.len();
        say(&format!(
            "Only this change is undone. The operation {} ({}) has {others} more: rekindle undo {}",
            history.short(operation),
            operation.command,
            history.short(operation),
        ));
    }
    if !args.dry_run {
        history.file(context, operation)?;
        begin(context, operation, &effects)?;
    }
    let busy = (panes.is_none() && !args.dry_run).then(|| Busy::new(WATCHING));
    let reports = undo(context, &history, operation, &effects, panes, args.dry_run)?;
    drop(busy);
    if !args.dry_run {
        mark(context, operation, &reports)?;
        let changed = reports.iter().filter(|report| report.status == Status::Undone);
        let sessions: Vec<_> = changed.filter_map(|report| report.effect.session_id.as_ref()).collect();
        crate::kept::tell(context, &sessions);
    }
    if let [only] = &reports[..]
        && matches!(only.status, Status::Refused | Status::Failed)
    {
        let exit = if only.status == Status::Failed { Exit::Failed } else { Exit::Refused };
        return Err(Failure::new(exit, only.reason.clone().unwrap_or_default()));
    }
    tell::tell(context, &history, operation, &reports, args)
}

impl Panes {
    fn ends_agents(&self) -> bool {
        self.restores.iter().flat_map(|(_, _, steps)| steps).any(UndoStep::ends_agent)
    }
}

/// What is meant: an operation, the last change of a conversation, or the newest operation that can be undone.
fn choose<'a>(context: &Context, history: &'a History, args: &Args) -> Result<Chosen<'a>, Failure> {
    let Some(text) = &args.what else {
        history.say_damaged();
        return newest(context, history);
    };
    if let Some(operation) = history.named(context, text)? {
        return whole(context, history, &operation.id);
    }
    let known = context.target(text).map_err(|failure| failure.hint("`rekindle history` lists operations"));
    let (session, config) = match known? {
        Target::File(file) => {
            if text.contains('/') || text.ends_with(".jsonl") {
                context.repairer.name_file(&file.path);
            }
            (file.session, Some(file.config))
        }
        Target::Gone(absent) => (absent.session, absent.config),
    };
    last_change(history, &session, config.as_ref())
}

fn last_change<'a>(
    history: &'a History,
    session: &SessionId,
    config: Option<&ConfigDir>,
) -> Result<Chosen<'a>, Failure> {
    let Some((operation, at)) = history.changed(session, config) else {
        return Err(nothing()
            .hint(format!("rekindle history lists what was done; {} was not changed", session.short())));
    };
    still_running(history, operation)?;
    Ok(Chosen { operation, effects: vec![at], panes: None })
}

fn nothing() -> Failure {
    Failure::new(Exit::Refused, "there is nothing to undo")
}

fn still_running(history: &History, operation: &Operation) -> Result<(), Failure> {
    if operation.state != OperationState::Running {
        return Ok(());
    }
    let pid = operation.process.as_ref().map_or(0, |process| process.pid);
    let id = history.short(operation);
    let what = format!("the operation {id} ({}) is still running, as process {pid}", operation.command);
    Err(Failure::new(Exit::Refused, what).hint("undo it when it has ended"))
}

fn in_force(history: &History, operation: &Operation) -> Vec<usize> {
    let effects = operation.effects.iter().enumerate();
    effects.filter(|(_, effect)| history.standing(effect) == Standing::InForce).map(|(at, _)| at).collect()
}

/// One operation that the user named.
fn whole<'a>(context: &Context, history: &'a History, id: &str) -> Result<Chosen<'a>, Failure> {
    let Some(operation) = history.all.iter().find(|operation| operation.id == id) else {
        return Err(nothing());
    };
    still_running(history, operation)?;
    let name = history.short(operation);
    if let Some(why) = history.not_undoable(operation) {
        let what = format!("the operation {name} ({}) cannot be undone: {why}", operation.command);
        let failure = Failure::new(Exit::Refused, what);
        let undone = operation.state == OperationState::Undone;
        return Err(if undone {
            failure.hint(format!("rekindle redo {name} does it again"))
        } else {
            failure
        });
    }
    // What an earlier undo has kept is tried again only where its user names it.
    let named = |at: &usize| history.standing(&operation.effects[*at]).is_in_force();
    chosen(context, history, operation, (0..operation.effects.len()).filter(named).collect())
}

/// Some effects of an operation, with what would become of panes.
fn chosen<'a>(
    context: &Context,
    history: &History,
    operation: &'a Operation,
    effects: Vec<usize>,
) -> Result<Chosen<'a>, Failure> {
    let mut desk = None;
    let panes = restores(context, history, operation, &effects, &mut desk)?;
    let panes = desk.map(|desk| Panes { desk, restores: panes });
    Ok(Chosen { operation, effects, panes })
}

/// The operation whose undo was killed, else the newest one that was not undone. One that cannot be undone is refused: its
/// user would not expect an older one to go. A restore of which nothing is there any more is passed over.
fn newest<'a>(context: &Context, history: &'a History) -> Result<Chosen<'a>, Failure> {
    let half_undone = |effect: &Effect| effect.state == EffectState::Undoing;
    if let Some(operation) = history.all.iter().find(|one| one.effects.iter().any(half_undone)) {
        let of_it = |at: &usize| half_undone(&operation.effects[*at]);
        let effects: Vec<usize> = (0..operation.effects.len()).filter(of_it).collect();
        return chosen(context, history, operation, effects);
    }
    let mut desk = None;
    for operation in &history.all {
        if operation.state == OperationState::Running && operation.not_undoable().is_none() {
            still_running(history, operation)?;
        }
        let effects = in_force(history, operation);
        if effects.is_empty() {
            match stays(history, operation) {
                Some(why) => return Err(in_the_way(history, operation, why)),
                None => continue,
            }
        }
        let restores = restores(context, history, operation, &effects, &mut desk)?;
        let idle = |(at, _, steps): &(usize, DecisionRecord, Vec<UndoStep>)| {
            steps.is_empty() && operation.effects[*at].state != EffectState::Undoing
        };
        if restores.len() == effects.len() && restores.iter().all(idle) {
            continue;
        }
        let panes = desk.take().filter(|_| !restores.is_empty()).map(|desk| Panes { desk, restores });
        return Ok(Chosen { operation, effects, panes });
    }
    Err(nothing())
}

/// Why an operation that is in force would be left so by an undo; nothing where it was undone or changed nothing.
fn stays(history: &History, operation: &Operation) -> Option<&'static str> {
    let has = |standing: Standing| operation.effects.iter().any(|one| history.standing(one) == standing);
    if has(Standing::Kept) {
        return Some("an undo has kept it, because what is in it goes on");
    }
    operation.not_undoable().filter(|_| has(Standing::Lasting))
}

/// The newest operation cannot be undone: whichever is meant must be named.
fn in_the_way(history: &History, newest: &Operation, why: &str) -> Failure {
    let name = history.short(newest);
    let what = format!("the newest operation {name} ({}) cannot be undone: {why}", newest.command);
    let older = history.all.iter().skip_while(|one| one.id != newest.id).skip(1);
    let mut hints = Vec::new();
    if history.not_undoable(newest).is_none() {
        hints.push(format!("`rekindle undo {name}` tries it again"));
    }
    if let Some(older) = older.into_iter().find(|one| !in_force(history, one).is_empty()) {
        hints.push(format!(
            "`rekindle undo {}` undoes the one before ({})",
            history.short(older),
            older.command
        ));
    }
    let failure = Failure::new(Exit::Refused, what);
    if hints.is_empty() { failure } else { failure.hint(hints.join("; ")) }
}

type Planned = Vec<(usize, DecisionRecord, Vec<UndoStep>)>;

/// The restores among some effects, each with what would become of its panes.
fn restores(
    context: &Context,
    history: &History,
    operation: &Operation,
    effects: &[usize],
    desk: &mut Option<restore::Desk>,
) -> Result<Planned, Failure> {
    let mut planned = Vec::new();
    for at in effects {
        let Some(record) = history.restore(&operation.effects[*at]) else { continue };
        let held = match desk.take() {
            Some(held) => held,
            None => restore::Desk::look(context)?,
        };
        let steps = held.steps(record)?;
        *desk = Some(held);
        planned.push((*at, record.clone(), steps));
    }
    Ok(planned)
}

/// Undoes some effects of an operation: first panes, whose agents own transcripts, then transcripts, the last one first.
fn undo(
    context: &Context,
    history: &History,
    operation: &Operation,
    effects: &[usize],
    panes: Option<Panes>,
    dry_run: bool,
) -> Result<Vec<Reported>, Failure> {
    let mut reports = Vec::new();
    let mut kept = Vec::new();
    if let Some(Panes { desk, restores }) = panes {
        for (at, record, steps) in &restores {
            let effect = &operation.effects[*at];
            kept.extend(
                steps.iter().filter(|step| !step.is_closed()).filter_map(|step| step.session.clone()),
            );
            let mut report = match keeps_all(steps) {
                true => Reported::because(effect, Status::Kept, "its panes are in use"),
                false => Reported::new(effect, Status::Undone),
            };
            (report.panes, report.interrupted) = (steps.clone(), !record.finished);
            report.changed_at = Some(record.at);
            reports.push(report);
        }
        let acting: Planned = restores.into_iter().filter(|(_, _, steps)| !keeps_all(steps)).collect();
        if !dry_run && !acting.is_empty() {
            desk.act(context, operation, &acting)?;
        }
    }
    let transcripts = effects.iter().rev().map(|at| &operation.effects[*at]);
    let transcripts: Vec<&Effect> = transcripts.filter(|effect| effect.kind != EffectKind::Restore).collect();
    let of_a_restore = operation.effects.iter().any(|effect| effect.kind == EffectKind::Restore);
    reports.extend(each(&transcripts, |effect| {
        if effect.session_id.as_ref().is_some_and(|session| kept.iter().any(|key| key.id() == session)) {
            return Reported::because(effect, Status::Kept, "its agent was kept, and goes on with it");
        }
        let mut report = transcript(context, effect, dry_run);
        if report.status == Status::Refused && of_a_restore && report.said_since {
            report.status = Status::Kept;
        }
        report
    }));
    for effect in &operation.effects {
        if history.standing(effect) == Standing::Lasting && effects.len() > 1 {
            let why = effect.kind.not_undoable().unwrap_or_default();
            reports.push(Reported::because(effect, Status::NotUndoable, why));
        }
    }
    Ok(reports)
}

/// Whether an undo would leave every pane of a restore as it is.
fn keeps_all(steps: &[UndoStep]) -> bool {
    !steps.is_empty() && !steps.iter().any(UndoStep::is_closed)
}

/// Undoes the change of one transcript.
fn transcript(context: &Context, effect: &Effect, dry_run: bool) -> Reported {
    let Some(backup) = &effect.backup else {
        return Reported::because(effect, Status::Failed, "it has no backup");
    };
    match context.repairer.undo_change(backup, dry_run) {
        Err(error) => {
            let why = Failure::from(error).message().to_owned();
            Reported::because(effect, Status::Failed, why)
        }
        Ok(None) => Reported::new(effect, Status::AlreadyUndone),
        Ok(Some(Err(refusal))) => Reported {
            said_since: matches!(refusal, Refusal::SaidSince { .. }),
            ..Reported::because(effect, Status::Refused, refusal.to_string())
        },
        Ok(Some(Ok(undone))) => Reported {
            kept_since: Some(undone.kept_since),
            changed_at: Some(undone.repaired_at),
            ..Reported::new(effect, Status::Undone)
        },
    }
}

/// Writes down that the undo of some effects has begun: killed, the next undo completes this one and takes nothing else.
fn begin(context: &Context, operation: &Operation, effects: &[usize]) -> Result<(), Failure> {
    let chosen: Vec<&Effect> = effects.iter().map(|at| &operation.effects[*at]).collect();
    let known = &operation.effects;
    Ok(operations::change(&context.repairer.state, &operation.id, |mut operation| {
        // Those that were done again have gone from the history, and go from the file now.
        operation.effects.retain(|effect| known.iter().any(|one| is_same(one, effect)));
        let ours = |effect: &&mut Effect| chosen.iter().any(|one| is_same(one, effect));
        operation.effects.iter_mut().filter(ours).for_each(|effect| effect.state = EffectState::Undoing);
        Some(operation)
    })?)
}

/// Whether two are the same effect of one operation.
fn is_same(one: &Effect, other: &Effect) -> bool {
    (&one.backup, &one.restore_id) == (&other.backup, &other.restore_id)
}

/// Writes down what was undone. What was refused stays as it is, so that the next undo tries it again.
fn mark(context: &Context, operation: &Operation, reports: &[Reported]) -> Result<(), Failure> {
    let status = |effect: &Effect| {
        let same = |report: &&Reported| is_same(&report.effect, effect);
        reports.iter().find(same).map(|report| report.status)
    };
    operations::change(&context.repairer.state, &operation.id, |mut operation| {
        for effect in &mut operation.effects {
            effect.state = match status(effect) {
                Some(Status::Undone | Status::AlreadyUndone) => EffectState::Undone,
                Some(Status::Kept) => EffectState::Kept,
                Some(Status::Refused | Status::Failed) => EffectState::Done,
                Some(Status::NotUndoable) | None => continue,
            };
            effect.closing.clear();
        }
        operation.undone_at = Some(Timestamp::now());
        Some(operation)
    })?;
    let history = History::load(context);
    let is_undone = |known: &Operation| {
        let undone = |effect: &Effect| history.standing(effect) == Standing::Undone;
        in_force(&history, known).is_empty() && known.effects.iter().any(undone)
    };
    if history.all.iter().any(|known| known.id == operation.id && is_undone(known)) {
        operations::change(&context.repairer.state, &operation.id, |mut operation| {
            operation.state = OperationState::Undone;
            Some(operation)
        })?;
    }
    Ok(())
}
