use std::io::IsTerminal;

use agents::claude::TranscriptFile;
use repair::{CopyOptions, RepairOptions, RepairOutcome, RepairStatus, Target};
use serde_json::{Value, json};
use store::operations::{Effect, EffectKind};
use transcript::Change;

use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::output::{Bar, Busy, Out, WATCHING, colour, count, one_line, paint, say};

/// Mend damaged conversations; every byte that was there is kept
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  rekindle repair --all --dry-run\n  rekindle repair 1a2b3c4d\n  rekindle repair 1a2b3c4d --branch 2\n\nA repair is taken back by `rekindle undo`."
)]
#[command(group(clap::ArgGroup::new("what").required(true).args(["target", "all"])))]
pub(crate) struct Args {
    /// A session's id or its beginning, a pane, a name, a directory, or a transcript's path
    #[arg(value_name = "TARGET")]
    target: Option<String>,
    /// Mend every conversation that is broken
    #[arg(long)]
    all: bool,
    /// Show what would change, and change nothing
    #[arg(long)]
    dry_run: bool,
    /// Leave the original alone and write a mended copy under a new id
    #[arg(long, conflicts_with = "all")]
    as_copy: bool,
    /// Make another branch the live one: its number in `rekindle branches`
    #[arg(long, value_name = "N", conflicts_with_all = ["all", "as_copy", "last"])]
    branch: Option<usize>,
    /// Write a copy that holds only the last turns, for a conversation too long to resume
    #[arg(long, value_name = "TURNS", conflicts_with = "all")]
    last: Option<u64>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(context: &Context, args: &Args) -> Result<Exit, Failure> {
    if !args.dry_run {
        context.may_change()?;
    }
    let files = match &args.target {
        None => {
            if !args.dry_run {
                context.repairer.settle_intents(None)?;
            }
            let bar = Bar::new("checking");
            let broken = context.repairer.broken(|done, total| bar.at(done, total))?;
            drop(bar);
            if broken.is_empty() && !args.json {
                say("Every conversation is healthy.");
            }
            broken
        }
        Some(text) => match context.target(text)? {
            Target::File(file) => vec![file],
            Target::Gone(absent) => return put_back(context, args, &absent),
        },
    };
    if args.as_copy || args.last.is_some() {
        return copy(context, args, &files);
    }
    let options = RepairOptions { dry_run: args.dry_run, branch: args.branch };
    let operation = match (args.branch, args.all) {
        (Some(_), _) => context.repairer.begin_branch("repair --branch", context.config.vault.keep_backups),
        (None, true) => context.begin_operation("repair --all"),
        (None, false) => context.begin_operation("repair"),
    };
    let mut done = 0;
    let busy = (files.len() == 1 && !args.dry_run).then(|| Busy::new(WATCHING));
    let results = context.repairer.repair(&files, options, |outcome| {
        done += 1;
        // Many take many seconds, and where another program reads the report has it all.
        if files.len() > 1 && std::io::stderr().is_terminal() {
            let word = word(outcome.status, args.dry_run);
            let name = context.short_at(&outcome.session, &outcome.path);
            say(&format!("{done}/{}  {name}  {word}", files.len()));
        }
    });
    drop(busy);
    drop(operation);
    let mut out = Out::new();
    let mut outcomes = Vec::new();
    let mut failures = Vec::new();
    for (file, result) in files.iter().zip(results) {
        match result {
            Ok(outcome) => outcomes.push(outcome),
            Err(error) => {
                if let Some(text) = invalid(&error) {
                    return Err(Failure::new(Exit::Usage, text));
                }
                let failure = Failure::from(error);
                if files.len() == 1 {
                    return Err(failure);
                }
                failures.push(context.short_in(&file.session, Some(&file.config)));
                failure.report(false);
            }
        }
    }
    show(context, args, &outcomes, &mut out);
    if !args.dry_run {
        let sessions: Vec<_> = files.iter().map(|file| &file.session).collect();
        crate::kept::tell(context, &sessions);
    }
    out.finish_as(verdict(&outcomes, failures.len()))
}

/// A branch that does not exist is the user's mistake, not the machine's.
fn invalid(error: &repair::Error) -> Option<String> {
    match error {
        repair::Error::Read { source, .. } if source.kind() == std::io::ErrorKind::InvalidInput => {
            Some(source.to_string())
        }
        _ => None,
    }
}

fn verdict(outcomes: &[RepairOutcome], errors: usize) -> Exit {
    let number = |status| outcomes.iter().filter(|outcome| outcome.status == status).count();
    let refused = number(RepairStatus::Refused);
    let failed = number(RepairStatus::Failed) + errors;
    let done = outcomes.len() - refused - number(RepairStatus::Failed);
    let partly = outcomes.iter().any(|outcome| outcome.missing.is_some() || !outcome.left_out.is_empty());
    match (done, refused, failed) {
        (_, 0, 0) if partly => Exit::Partly,
        (_, 0, 0) => Exit::Done,
        (0, _, 0) => Exit::Refused,
        (0, _, _) => Exit::Failed,
        _ => Exit::Partly,
    }
}

fn word(status: RepairStatus, dry_run: bool) -> &'static str {
    match (status, dry_run) {
        (RepairStatus::Repaired, true) => "would be repaired",
        (RepairStatus::Repaired, false) => "repaired",
        (RepairStatus::AlreadyHealthy, _) => "already healthy",
        (RepairStatus::Refused, _) => "refused",
        (RepairStatus::Failed, _) => "failed",
    }
}

fn show(context: &Context, args: &Args, outcomes: &[RepairOutcome], out: &mut Out) {
    if args.json {
        out.json(report(outcomes));
        return;
    }
    for outcome in outcomes {
        let word = word(outcome.status, args.dry_run);
        let code = match outcome.status {
            RepairStatus::Repaired | RepairStatus::AlreadyHealthy => "32",
            RepairStatus::Refused => "33",
            RepairStatus::Failed => "31",
        };
        let name = context.short_at(&outcome.session, &outcome.path);
        let mut line = format!("{name}  {}", paint(word, code, colour()));
        if let Some(reason) = &outcome.reason {
            line = format!("{line}: {reason}");
        } else if outcome.status == RepairStatus::Repaired {
            let classes: Vec<&str> = outcome.findings.iter().map(|finding| finding.class.id()).collect();
            line = format!(
                "{line}: {} ({})",
                count(outcome.changes.len() as u64, "change", "changes"),
                classes.join(", ")
            );
        }
        out.line(&line);
        if let Some(missing) = &outcome.missing {
            out.line(&format!("  {missing}"));
        }
        if outcome.resume_id != outcome.session {
            out.line(&format!("  resume it as {}", outcome.resume_id));
        }
        for name in &outcome.left_out {
            out.line(&format!("  not put back, because the vault's copy is damaged: {name}"));
        }
        if args.dry_run {
            for change in &outcome.changes {
                diff(change, out);
            }
        } else if let Some(backup) = &outcome.backup {
            out.line(&format!("  as it was: {}", context.short_path(backup)));
        }
    }
    if !args.dry_run && outcomes.iter().any(|outcome| outcome.backup.is_some()) {
        out.hint("Take it back with `rekindle undo`.");
    }
}

/// One change as a diff of the value concerned.
fn diff(change: &Change, out: &mut Out) {
    const WIDTH: usize = 100;
    let what = if change.what.is_empty() { "row" } else { &change.what };
    out.line(&format!("  row {} {what} ({} {})", change.row, change.class.id(), change.class.title()));
    if let Some(before) = &change.before {
        out.exact_line(&paint(&format!("    - {}", one_line(before, WIDTH)), "31", colour()));
    }
    if let Some(after) = &change.after {
        out.exact_line(&paint(&format!("    + {}", one_line(after, WIDTH)), "32", colour()));
    }
}

/// The JSON of some repairs, as docs/contracts.md has it.
fn report(outcomes: &[RepairOutcome]) -> Value {
    let sessions: Vec<Value> = outcomes
        .iter()
        .map(|outcome| {
            json!({
                "sessionId": outcome.session.as_str(),
                "filePath": outcome.path.to_string_lossy(),
                "status": outcome.status,
                "reason": outcome.reason,
                "missing": outcome.missing,
                "backupPath": outcome.backup.as_deref().map(std::path::Path::to_string_lossy),
                "orphansFixed": outcome.orphans_fixed,
                "newChainDepth": outcome.new_chain_depth,
                "resumeId": outcome.resume_id.as_str(),
                "changes": outcome.changes,
                "leftOut": outcome.left_out,
            })
        })
        .collect();
    let resume = match outcomes {
        [only] => Value::from(only.resume_id.as_str()),
        _ => Value::Null,
    };
    json!({ "resume_id": resume, "sessions": sessions })
}

fn copy(context: &Context, args: &Args, files: &[TranscriptFile]) -> Result<Exit, Failure> {
    let mut out = Out::new();
    for file in files {
        let options = CopyOptions { last_turns: args.last, dry_run: args.dry_run };
        let copied = match context.repairer.copy(file, options)? {
            Ok(copied) => copied,
            Err(refusal) => return Err(Failure::new(Exit::Failed, refusal.to_string())),
        };
        if !args.dry_run {
            let mut effect = Effect::new(EffectKind::Copy).of(&copied.session);
            effect.path = Some(copied.path.clone());
            let command = if args.last.is_some() { "repair --last" } else { "repair --as-copy" };
            context.note_operation(command, effect)?;
        }
        if args.json {
            out.json(json!({
                "resume_id": copied.session.as_str(),
                "sessions": [{
                    "sessionId": file.session.as_str(),
                    "filePath": copied.path.to_string_lossy(),
                    "status": "repaired",
                    "backupPath": null,
                    "orphansFixed": copied.orphans_fixed,
                    "newChainDepth": copied.chain_depth,
                    "resumeId": copied.session.as_str(),
                    "changes": copied.changes,
                }],
            }));
        } else if args.dry_run {
            out.line(&format!(
                "{}  would be copied with {}",
                context.short_in(&file.session, Some(&file.config)),
                count(copied.changes.len() as u64, "change", "changes")
            ));
            for change in &copied.changes {
                diff(change, &mut out);
            }
        } else {
            let name = context.short_in(&file.session, Some(&file.config));
            out.line(&format!("{name}  copied to {}", copied.session));
            out.line(&format!("  {}", context.short_path(&copied.path)));
        }
    }
    out.finish()
}

/// A transcript that is gone comes back from the vault.
fn put_back(context: &Context, args: &Args, absent: &repair::Absent) -> Result<Exit, Failure> {
    let session = &absent.session;
    if args.as_copy || args.last.is_some() || args.branch.is_some() {
        let message =
            format!("the transcript of {session} is gone, and only a transcript can be copied or changed");
        return Err(Failure::new(Exit::Usage, message).hint(format!(
            "put it back first: rekindle repair {}",
            context.short_in(session, absent.config.as_ref())
        )));
    }
    if args.dry_run {
        let mut out = Out::new();
        if args.json {
            out.json(json!({
                "resume_id": session.as_str(),
                "sessions": [{
                    "sessionId": session.as_str(),
                    "filePath": null,
                    "status": "repaired",
                    "reason": "the vault's copy would be put back",
                    "backupPath": null,
                    "orphansFixed": 0,
                    "newChainDepth": 0,
                    "resumeId": session.as_str(),
                    "changes": [],
                }],
            }));
        } else {
            out.line(&format!(
                "{}  would be put back from the vault",
                context.short_in(session, absent.config.as_ref())
            ));
        }
        return out.finish();
    }
    let _operation = context.begin_operation("repair");
    super::vault::put_back(context, session, absent.config.as_ref(), repair::Wanted::Best, args.json)
}
