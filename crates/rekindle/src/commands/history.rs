//! `rekindle history`: what commands changed, newest first.

use recovery::DecisionRecord;
use serde_json::{Value, json};
use store::operations::{Effect, EffectKind, Operation, OperationState};

use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::operations::{History, Standing};
use crate::output::{Cell, Column, Fit, Out, Table, ago, count};
use crate::restoring;

/// List what commands changed, newest first, and what can be undone
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  rekindle history\n  rekindle history --limit 5 --json\n\nOne command is one operation. `rekindle undo OPERATION` undoes all of it and\n`rekindle redo OPERATION` does it again; the beginning of an id is enough."
)]
pub(crate) struct Args {
    /// Show only so many
    #[arg(long, short = 'n', value_name = "N")]
    limit: Option<usize>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(context: &Context, args: &Args) -> Result<Exit, Failure> {
    restoring::look_again(context);
    let history = History::load(context);
    let shown = history.all.iter().take(args.limit.unwrap_or(usize::MAX));
    let mut out = Out::new();
    if args.json {
        let operations: Vec<Value> = shown.map(|operation| full_json(context, &history, operation)).collect();
        let damaged = history.damaged.iter();
        let damaged = damaged.map(|one| json!({"id": one.id, "startedAt": one.at, "path": one.path}));
        out.json(json!({ "operations": operations, "damaged": damaged.collect::<Vec<_>>() }));
        return out.finish();
    }
    if history.all.is_empty() && history.damaged.is_empty() {
        out.line("No operations yet.");
        return out.finish();
    }
    let mut table = Table::new(&[
        Column::new("operation", Fit::Whole),
        Column::new("when", Fit::Drop(1)),
        Column::new("state", Fit::Whole),
        Column::new("command", Fit::CutThenDrop(14, 2)),
        Column::new("what it changed", Fit::Wrap(24)),
    ]);
    // First, whatever their age: what is not known of them matters to the reading of all others.
    for damaged in &history.damaged {
        table.row([
            damaged.id.clone().unwrap_or_default().into(),
            damaged.at.map(ago).unwrap_or_default().into(),
            "damaged".into(),
            "".into(),
            format!("its record cannot be read: {}", damaged.path.display()).into(),
        ]);
    }
    for operation in shown {
        let mut what = summary(&history, operation);
        let why = history.not_undoable(operation);
        if let Some(why) = why.filter(|_| operation.state != OperationState::Undone) {
            what = format!("{what} (cannot be undone: {why})");
        }
        table.row([
            history.short(operation).into(),
            ago(operation.started_at).into(),
            operation.state.word().into(),
            Cell::new(&operation.command),
            what.into(),
        ]);
    }
    out.exact_line(&table.text());
    out.finish()
}

/// The word for a kind of change.
pub(crate) fn kind_word(kind: EffectKind) -> &'static str {
    match kind {
        EffectKind::Repair => "repair",
        EffectKind::Branch => "change of branch",
        EffectKind::PutBack => "putting back",
        EffectKind::Copy => "copy",
        EffectKind::Restore => "restore",
        EffectKind::Forget => "forgetting",
        EffectKind::Prune => "pruning",
        EffectKind::Inject => "text",
        EffectKind::Unknown => "change",
    }
}

/// What an operation changed, on one line.
fn summary(history: &History, operation: &Operation) -> String {
    /// As many as one looks at; `--json` has all.
    const NAMED: usize = 3;
    let kinds = [
        (EffectKind::Restore, "restored"),
        (EffectKind::Repair, "repaired"),
        (EffectKind::Branch, "changed the branch of"),
        (EffectKind::PutBack, "put back"),
        (EffectKind::Copy, "copied"),
        (EffectKind::Forget, "forgot"),
        (EffectKind::Prune, "pruned"),
        (EffectKind::Inject, "sent text to"),
        (EffectKind::Unknown, "changed"),
    ];
    let mut parts = Vec::new();
    for (kind, verb) in kinds {
        let counted = |effect: &&Effect| effect.kind == kind && history.standing(effect) != Standing::Refused;
        let effects: Vec<&Effect> = operation.effects.iter().filter(counted).collect();
        let numbers: Vec<u64> = effects.iter().filter_map(|effect| number(history, effect)).collect();
        let names: Vec<String> = effects
            .iter()
            .filter_map(|effect| Some(effect.session_id.as_ref()?.short().to_owned()))
            .collect();
        let open =
            effects.iter().rev().find_map(|effect| history.restore(effect)).filter(|one| one.is_open());
        let what = if let Some(record) = open.filter(|_| kind == EffectKind::Restore) {
            how_far(record)
        } else if let Some(number) = numbers.last() {
            let (one, many) = if kind == EffectKind::Restore { ("pane", "panes") } else { ("item", "items") };
            count(*number, one, many)
        } else if names.is_empty() {
            continue;
        } else {
            let more = names.len().saturating_sub(NAMED);
            let named = names[..names.len().min(NAMED)].join(", ");
            if more > 0 { format!("{named} and {more} more") } else { named }
        };
        parts.push(format!("{verb} {what}"));
    }
    parts.join("; ")
}

/// How far a restore came that has not come to its end.
fn how_far(record: &DecisionRecord) -> String {
    match record.tally() {
        (_, 0) => {
            let done = record.panes.iter().filter(|pane| pane.outcome.is_some()).count();
            format!("{done} of {}", count(record.panes.len() as u64, "pane", "panes"))
        }
        (back, total) => format!("{back} of {}", count(total as u64, "agent", "agents")),
    }
}

/// How many panes a restore was about, or things a command.
fn number(history: &History, effect: &Effect) -> Option<u64> {
    let panes = history.restore(effect).map(|record| record.panes.len() as u64);
    panes.or(effect.count)
}

/// An operation without its effects.
pub(crate) fn operation_json(history: &History, operation: &Operation) -> Value {
    json!({
        "id": operation.id, "shortId": history.short(operation), "command": operation.command,
        "startedAt": operation.started_at, "endedAt": operation.ended_at, "state": operation.state,
    })
}

fn full_json(context: &Context, history: &History, operation: &Operation) -> Value {
    let effect = |effect: &Effect| {
        json!({
            "kind": effect.kind, "state": history.standing(effect).word(), "sessionId": effect.session_id,
            "filePath": effect.path, "restoreId": effect.restore_id, "count": number(history, effect),
            "missing": effect.missing,
            "backupPath": effect.backup.as_ref().map(|backup| context.repairer.state.path().join(backup)),
        })
    };
    let why = history.not_undoable(operation);
    let mut value = operation_json(history, operation);
    value["undoable"] = json!(why.is_none());
    value["why"] = json!(why);
    value["effects"] = operation.effects.iter().map(effect).collect();
    value
}
