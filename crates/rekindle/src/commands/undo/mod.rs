mod restore;

use doctor::Target;
use jiff::Timestamp;
use serde_json::json;

use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::output::{Out, ago, bytes};

/// Take the last repair or restore back; what was said since stays
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  rekindle undo\n  rekindle undo 1a2b3c4d --dry-run\n\nA restore is taken back by closing what it opened; agents that have worked since\nstay."
)]
pub(crate) struct Args {
    /// The session, where it was not the last one repaired
    #[arg(value_name = "TARGET")]
    target: Option<String>,
    /// Say what would be done, and do nothing
    #[arg(long)]
    dry_run: bool,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(context: &Context, args: &Args) -> Result<Exit, Failure> {
    if args.target.is_none()
        && let Some(last) = restore::last(context, last_repair(context)?)?
    {
        return restore::run(context, &last, args.dry_run, args.json);
    }
    let session = match &args.target {
        None => None,
        Some(text) => Some(match context.target(text)? {
            Target::File(file) => file.session,
            Target::Gone(session) => session,
        }),
    };
    let undone = match context.clinic.undo(session.as_ref().map(|id| id.as_str()), args.dry_run)? {
        None => return Err(Failure::new(Exit::Refused, "there is nothing to take back")),
        Some(Err(refusal)) => return Err(Failure::new(Exit::Refused, refusal.to_string())),
        Some(Ok(undone)) => undone,
    };
    if !args.dry_run {
        crate::kept::tell(context, &[&undone.session]);
    }
    let mut out = Out::new();
    if args.json {
        out.json(json!({
            "sessionId": undone.session.as_str(),
            "filePath": undone.path.to_string_lossy(),
            "repairedAt": undone.repaired_at.to_string(),
            "keptSince": undone.kept_since,
            "dryRun": args.dry_run,
        }));
        return out.finish();
    }
    let word = if args.dry_run { "would be taken back" } else { "taken back" };
    let since = if undone.kept_since > 0 {
        format!("; {} said since stay", bytes(undone.kept_since))
    } else {
        String::new()
    };
    out.line(&format!("{}  repair of {} {word}{since}", undone.session.short(), ago(undone.repaired_at)));
    out.finish()
}

/// When the last repair was that can be taken back.
fn last_repair(context: &Context) -> Result<Option<Timestamp>, Failure> {
    Ok(match context.clinic.undo(None, true)? {
        Some(Ok(repair)) => Some(repair.repaired_at),
        _ => None,
    })
}
