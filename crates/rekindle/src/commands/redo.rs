//! `rekindle redo`: does again what was undone.

use std::path::Path;

use agents::SessionKey;
use jiff::Timestamp;
use recovery::{Asked, DecisionRecord, Outcome, PaneDecision, Restored, Selector, plan};
use serde_json::{Value, json};
use store::operations::{self, Effect, EffectKind, EffectState, Operation, OperationState};
use store::order::newest_first;

use crate::commands::history::{kind_word, operation_json};
use crate::commands::{recover, restore, undo};
use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::operations::{History, Standing, each};
use crate::output::{Busy, Consent, Out, WATCHING, agree, bytes, count, one_line, say};
use crate::restoring::{self, Done, Manner};

/// Do again what was undone last, where nothing changed since
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  rekindle redo --dry-run\n  rekindle redo kxzmwtlp\n  rekindle redo ./copy/1a2b3c4d.jsonl\n\nA repair is done again only if its transcript still is what the undo left; what\nwas said since stays. A restore is run again for its panes."
)]
pub(crate) struct Args {
    /// An operation, or the path of a transcript: the one that was undone last by default
    #[arg(value_name = "OPERATION|PATH")]
    operation: Option<String>,
    /// Say what would be done, and change nothing
    #[arg(long)]
    dry_run: bool,
    /// Do not ask before agents are started
    #[arg(long)]
    yes: bool,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// What became of one effect.
struct Reported {
    effect: Effect,
    redone: bool,
    reason: Option<String>,
    kept_since: Option<u64>,
    panes: Vec<Restored>,
}

pub(crate) fn run(context: &Context, args: &Args) -> Result<Exit, Failure> {
    let mut history = History::load(context);
    if !args.dry_run {
        context.may_change()?;
        history = history.finish_interrupted(context)?;
    }
    let operation = choose(context, &history, args)?;
    let undone = |effect: &&Effect| history.standing(effect) == Standing::Undone;
    let effects: Vec<&Effect> = operation.effects.iter().filter(undone).collect();
    let restores = effects.iter().any(|effect| effect.kind == EffectKind::Restore);
    if restores && !args.dry_run && !args.yes {
        let restores: Vec<&DecisionRecord> =
            effects.iter().filter_map(|effect| history.restore(effect)).collect();
        say_panes(&restores);
        agree(&mut Out::new(), Consent::Ask, "Restore?")?;
    }
    if !args.dry_run {
        history.file(context, operation)?;
    }
    let opened = (!args.dry_run).then(|| context.repairer.reopen_operation(operation));
    // Transcripts first: agents are started in what is there.
    let is_transcript = |effect: &&&Effect| effect.kind != EffectKind::Restore;
    let transcripts: Vec<&Effect> = effects.iter().filter(is_transcript).copied().collect();
    let busy = (!transcripts.is_empty() && !args.dry_run).then(|| Busy::new(WATCHING));
    let mut reports = each(&transcripts, |effect| transcript(context, effect, args.dry_run));
    drop(busy);
    for effect in effects.iter().filter(|effect| effect.kind == EffectKind::Restore) {
        let Some(record) = history.restore(effect) else {
            reports.push(refused(effect, "its decision record is no longer kept"));
            continue;
        };
        reports.push(panes(context, effect, record, args.dry_run)?);
    }
    drop(opened);
    if !args.dry_run {
        mark(context, operation, &reports)?;
    }
    tell(&history, operation, &reports, args)
}

/// The panes that would be restored again, for the question.
fn say_panes(restores: &[&DecisionRecord]) {
    let panes: Vec<&PaneDecision> = restores.iter().flat_map(|record| &record.panes).collect();
    say(&format!("This restores {} again:", count(panes.len() as u64, "pane", "panes")));
    for pane in panes {
        let session = pane.session_id.as_ref().map(|session| format!("  {}", session.short()));
        say(&one_line(&format!("  {}{}", pane.pane, session.unwrap_or_default()), 120));
    }
}

/// The operation that was named, else the one that was undone last.
fn choose<'a>(context: &Context, history: &'a History, args: &Args) -> Result<&'a Operation, Failure> {
    let has_undone = |operation: &&Operation| {
        operation.effects.iter().any(|effect| history.standing(effect) == Standing::Undone)
    };
    // A file in no agent's folder is done again by its path, as it is undone by its path.
    let path = args.operation.as_deref().filter(|text| text.contains('/')).map(Path::new);
    let path = path.map(|path| std::fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf()));
    if let Some(path) = &path {
        context.repairer.name_file(path);
    }
    let Some(text) = args.operation.as_ref().filter(|_| path.is_none()) else {
        let is_of = |operation: &&Operation| {
            path.is_none() || operation.effects.iter().any(|effect| effect.path == path)
        };
        history.say_damaged();
        let undone = history.all.iter().filter(has_undone).filter(is_of);
        let undone = undone.filter_map(|one| Some((one.undone_at?, one))).collect();
        let last = newest_first(undone, |(_, one)| one.undo_sequence, |(at, _)| *at, Timestamp::now());
        return last
            .first()
            .map(|(_, operation)| *operation)
            .ok_or_else(|| Failure::new(Exit::Refused, "there is nothing to redo"));
    };
    let Some(operation) = history.named(context, text)? else {
        return Err(Failure::new(Exit::Usage, format!("{text:?} is no operation"))
            .hint("rekindle history lists them"));
    };
    if operation.state == OperationState::Running || !has_undone(&operation) {
        let what =
            format!("the operation {} ({}) was not undone", history.short(operation), operation.command);
        return Err(Failure::new(Exit::Refused, what));
    }
    Ok(operation)
}

fn refused(effect: &Effect, reason: impl Into<String>) -> Reported {
    Reported {
        effect: effect.clone(),
        redone: false,
        reason: Some(reason.into()),
        kept_since: None,
        panes: Vec::new(),
    }
}

fn transcript(context: &Context, effect: &Effect, dry_run: bool) -> Reported {
    let Some(backup) = &effect.backup else { return refused(effect, "it has no backup") };
    match context.repairer.redo_change(backup, dry_run) {
        Err(error) => refused(effect, Failure::from(error).message()),
        Ok(None) => refused(effect, "its backup is no longer kept"),
        Ok(Some(Err(refusal))) => refused(effect, refusal.to_string()),
        Ok(Some(Ok(redone))) => Reported {
            effect: effect.clone(),
            redone: true,
            reason: None,
            kept_since: Some(redone.kept_since),
            panes: Vec::new(),
        },
    }
}

/// Runs a restore again for the panes that it was about.
fn panes(
    context: &Context,
    effect: &Effect,
    record: &DecisionRecord,
    dry_run: bool,
) -> Result<Reported, Failure> {
    let by_name = record.panes.iter().all(|pane| pane.mark.starts_with("wanted-"));
    let done = if by_name {
        by_name_again(context, record, dry_run)?
    } else {
        let Some((_, save)) = undo::source_of(context, effect, record) else {
            return Ok(refused(effect, "the save that was restored is no longer kept"));
        };
        let alone = restoring::alone(context)?;
        let settled = restoring::settled(context)?;
        let places: Vec<String> = record.panes.iter().map(|pane| pane.pane.clone()).collect();
        let sockets = record.panes.iter().map(|pane| pane.socket.clone()).collect();
        let alive = restoring::look(&sockets, &settled)?;
        let ground = restoring::ground(context, &settled);
        let wanted = restoring::wanted(context, true, Asked::All);
        let planned = plan(&save, &Selector::new(&places), &alive, &ground, wanted);
        drop(ground);
        if planned.is_empty() {
            return Ok(refused(effect, IS_THERE));
        }
        if dry_run {
            let panes: Vec<Restored> = planned.concerned().map(Restored::without_agent).collect();
            Done { total: panes.len(), panes, ..Done::default() }
        } else {
            let manner = Manner { save: save.id.as_deref(), ..Manner::default() };
            let done = restoring::act(context, &settled, &planned, manner, &record.by)?;
            drop(alone);
            restore::save_what_is_there(context, &planned, &done.panes, true);
            done
        }
    };
    let changes = |pane: &Restored| !matches!(pane.outcome, Outcome::AlreadyThere | Outcome::Refused);
    if !dry_run && !done.panes.iter().any(changes) && done.restored == 0 {
        let why = done.panes.iter().find(|pane| pane.outcome == Outcome::Refused);
        return Ok(refused(effect, why.map_or(IS_THERE, |pane| pane.reason.as_str())));
    }
    let failed = !done.panes.is_empty() && done.restored == 0 && done.total > 0 && !dry_run;
    let reason = failed.then(|| "no agent came back".to_owned());
    Ok(Reported { effect: effect.clone(), redone: !failed, reason, kept_since: None, panes: done.panes })
}

/// Why a restore is not run again: another one has done it since the undo.
const IS_THERE: &str = "everything that it restored is there already";

/// Conversations that were brought back by name.
fn by_name_again(context: &Context, record: &DecisionRecord, dry_run: bool) -> Result<Done, Failure> {
    let sessions: Vec<SessionKey> = record.panes.iter().filter_map(|pane| pane.session_id.clone()).collect();
    if dry_run {
        return Ok(Done { total: sessions.len(), ..Done::default() });
    }
    let _alone = restoring::alone(context)?;
    let settled = restoring::settled(context)?;
    // Nobody names them now: a session whose record is no longer this machine's own is left out.
    recover::bring_all_back(context, &settled, &sessions, Asked::All, "recover")
}

/// What was done again has an effect of its own by now, in the place of the one that was undone.
fn mark(context: &Context, operation: &Operation, reports: &[Reported]) -> Result<(), Failure> {
    let replaced = |effect: &Effect| {
        reports.iter().any(|report| {
            let same =
                (&report.effect.backup, &report.effect.restore_id) == (&effect.backup, &effect.restore_id);
            report.redone && same
        })
    };
    if !reports.iter().any(|report| report.redone) {
        return Ok(());
    }
    Ok(operations::change(&context.repairer.state, &operation.id, |mut operation| {
        operation.effects.retain(|effect| !replaced(effect));
        // What the undo had kept belongs to the whole again.
        let kept = operation.effects.iter_mut().filter(|effect| effect.state == EffectState::Kept);
        kept.for_each(|effect| effect.state = EffectState::Done);
        operation.state = OperationState::Done;
        operation.undone_at = None;
        operation.ended_at = Some(Timestamp::now());
        Some(operation)
    })?)
}

fn tell(
    history: &History,
    operation: &Operation,
    reports: &[Reported],
    args: &Args,
) -> Result<Exit, Failure> {
    let redone = reports.iter().filter(|report| report.redone).count();
    if let [only] = reports
        && !only.redone
    {
        return Err(Failure::new(Exit::Refused, only.reason.clone().unwrap_or_default()));
    }
    let exit = match (redone, reports.len() - redone) {
        (_, 0) => Exit::Done,
        (0, _) => Exit::Refused,
        _ => Exit::Partly,
    };
    let mut out = Out::new();
    if args.json {
        let effects: Vec<Value> = reports.iter().map(effect_json).collect();
        let operation = operation_json(history, operation);
        out.json(json!({"operation": operation, "effects": effects, "dryRun": args.dry_run}));
        return out.finish_as(exit);
    }
    for report in reports {
        let kind = kind_word(report.effect.kind);
        let session = report.effect.session_id.as_ref();
        let head = session.map(|session| format!("{}  ", session.short())).unwrap_or_default();
        let line = match (&report.reason, args.dry_run) {
            (Some(reason), _) => format!("{head}{kind} not redone: {reason}"),
            (None, true) => format!("{head}{kind} would be redone"),
            (None, false) => format!("{head}{kind} redone"),
        };
        let since = report.kept_since.filter(|kept| *kept > 0);
        let since = since.map(|kept| format!("; {} said since stay", bytes(kept))).unwrap_or_default();
        out.line(&format!("{line}{since}"));
        for pane in &report.panes {
            let outcome = json!(pane.outcome).as_str().unwrap_or_default().replace('_', " ");
            out.line(&format!("  {}  {outcome}", pane.pane));
        }
    }
    out.finish_as(exit)
}

fn effect_json(report: &Reported) -> Value {
    let effect = &report.effect;
    let status = if report.redone { "redone" } else { "refused" };
    let mut value = json!({
        "kind": effect.kind, "sessionId": effect.session_id, "filePath": effect.path, "status": status,
        "reason": report.reason, "keptSince": report.kept_since,
    });
    if effect.kind == EffectKind::Restore {
        value["panes"] = json!(report.panes);
    }
    value
}
