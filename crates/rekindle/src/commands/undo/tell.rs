//! What an undo says.

use recovery::{TakenBack, UndoStep};
use serde_json::{Value, json};
use store::operations::{EffectKind, Operation};

use super::{Args, Panes, Reported, Status};
use crate::commands::history::{kind_word, operation_json};
use crate::commands::restore::panes_table;
use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::operations::History;
use crate::output::{Cell, Column, Fit, Out, Table, ago, bytes, count, one_line, say};

/// The idle agents that an undo would close, for the question.
pub(super) fn agents(panes: &Panes) {
    let mut table = Table::new(&[
        Column::new("pane", Fit::Whole),
        Column::new("session", Fit::Whole),
        Column::new("name", Fit::Cut(10)),
        Column::new("task", Fit::CutThenDrop(16, 1)),
    ]);
    let steps = panes.restores.iter().flat_map(|(_, _, steps)| steps);
    for step in steps.filter(|step| step.ends_agent()) {
        let record = step.session.as_ref().and_then(|session| panes.desk.settled.records.get(session));
        let name = record.and_then(|record| record.name.clone()).unwrap_or_default();
        let task = record.and_then(|record| record.task.clone()).unwrap_or_default();
        table.row([step.pane.clone(), short(step), one_line(&name, 30), one_line(&task, 50)].map(Cell::new));
    }
    say("This closes idle agents:");
    say(&table.text());
}

fn short(step: &UndoStep) -> String {
    step.session.as_ref().map(|session| session.short().to_owned()).unwrap_or_default()
}

fn words(step: &UndoStep) -> (&'static str, String) {
    match &step.what {
        TakenBack::Close => ("closed", String::new()),
        TakenBack::Shell => ("shell", "the pane was there before".to_owned()),
        TakenBack::Keep(why) => ("kept", why.clone()),
    }
}

pub(super) fn tell(
    context: &Context,
    history: &History,
    operation: &Operation,
    reports: &[Reported],
    args: &Args,
) -> Result<Exit, Failure> {
    let is = |status: Status| reports.iter().filter(|report| report.status == status).count();
    let stopped = is(Status::Refused) + is(Status::Failed);
    let undone = is(Status::Undone) + is(Status::AlreadyUndone);
    let exit = match (undone, stopped) {
        (0, 0) => Exit::Refused,
        (_, 0) => Exit::Done,
        (0, _) => Exit::Refused,
        _ => Exit::Partly,
    };
    let mut out = Out::new();
    if args.json {
        let effects: Vec<Value> = reports.iter().map(|report| effect_json(context, report)).collect();
        let operation = operation_json(history, operation);
        out.json(json!({"operation": operation, "effects": effects, "dryRun": args.dry_run}));
        return out.finish_as(exit);
    }
    for report in reports {
        if report.effect.kind == EffectKind::Restore {
            panes(report, args.dry_run, &mut out);
        } else {
            out.line(&transcript(report, args.dry_run));
        }
    }
    let (id, command) = (history.short(operation), &operation.command);
    if reports.len() > 1 {
        let done = is(Status::Undone) + is(Status::AlreadyUndone);
        let word = if args.dry_run { "would be undone" } else { "undone" };
        let all = count(reports.len() as u64, "change", "changes");
        out.line(&format!("\n{done} of {all} of {id} ({command}) {word}"));
    }
    if stopped > 0 && !args.dry_run {
        out.hint("Try the rest again with `rekindle undo`.");
    } else if !args.dry_run && undone > 0 {
        out.hint("Do it again with `rekindle redo`.");
    }
    out.finish_as(exit)
}

fn transcript(report: &Reported, dry_run: bool) -> String {
    let session = report.effect.session_id.as_ref();
    let session = session.map(|session| session.short().to_owned()).unwrap_or_default();
    let kind = kind_word(report.effect.kind);
    let when = report.changed_at.map(|at| format!(" of {}", ago(at))).unwrap_or_default();
    let reason = report.reason.clone().unwrap_or_default();
    match report.status {
        Status::Undone => {
            let word = if dry_run { "would be undone" } else { "undone" };
            let since = report.kept_since.filter(|kept| *kept > 0);
            let since = since.map(|kept| format!("; {} said since stay", bytes(kept))).unwrap_or_default();
            format!("{session}  {kind}{when} {word}{since}")
        }
        Status::AlreadyUndone => format!("{session}  {kind} was undone before"),
        Status::Kept | Status::Refused => format!("{session}  {kind} not undone: {reason}"),
        Status::Failed => format!("{session}  {kind} failed to be undone: {reason}"),
        Status::NotUndoable => format!("{session}  {kind} cannot be undone: {reason}"),
    }
}

fn panes(report: &Reported, dry_run: bool, out: &mut Out) {
    if !report.panes.is_empty() {
        let mut table = panes_table("what");
        for step in &report.panes {
            let (what, why) = words(step);
            table.row([step.pane.clone(), short(step), what.to_owned(), why].map(Cell::new));
        }
        out.exact_line(&table.text());
        out.line("");
    }
    let word = match (report.status, dry_run) {
        (Status::Kept, _) => "not undone: its panes are in use",
        (_, true) => "would be undone",
        (_, false) => "undone",
    };
    let how = if report.interrupted { ", which was interrupted," } else { "" };
    let when = report.changed_at.map(|at| format!(" of {}", ago(at))).unwrap_or_default();
    out.line(&format!("restore{when}{how} {word}"));
}

fn effect_json(context: &Context, report: &Reported) -> Value {
    let effect = &report.effect;
    let status = match report.status {
        Status::Undone => "undone",
        Status::AlreadyUndone => "already_undone",
        Status::Kept => "kept",
        Status::Refused => "refused",
        Status::Failed => "failed",
        Status::NotUndoable => "not_undoable",
    };
    let mut value = json!({
        "kind": effect.kind, "sessionId": effect.session_id, "filePath": effect.path, "status": status,
        "reason": report.reason, "changedAt": report.changed_at, "keptSince": report.kept_since,
        "backupPath": effect.backup.as_ref().map(|backup| context.repairer.state.path().join(backup)),
    });
    if effect.kind == EffectKind::Restore {
        let pane = |step: &UndoStep| -> Value {
            let (what, why) = words(step);
            json!({"pane": step.pane, "was": step.was, "id": step.id, "sessionId": step.session,
                "what": what, "why": why})
        };
        value["restoreId"] = json!(effect.restore_id);
        value["interrupted"] = json!(report.interrupted);
        value["panes"] = report.panes.iter().map(pane).collect();
    }
    value
}
