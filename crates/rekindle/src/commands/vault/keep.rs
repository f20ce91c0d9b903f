//! Letting go of what is past its time.

use std::path::Path;
use std::time::Duration;

use agents::claude::{MANAGED_SETTINGS, managed_retention};
use jiff::Timestamp;
use serde_json::json;
use store::operations::{Effect, EffectKind};
use vault::Policy;

use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::output::{Out, count, say};

/// How long things stay: as configured, and never longer than a managed policy says.
fn policy(context: &Context) -> Policy {
    let configured = &context.config.vault;
    let managed = managed_retention(Path::new(MANAGED_SETTINGS));
    // A policy counts by the clock, whatever that says.
    let idle = if managed.is_some() { Duration::MAX } else { Policy::IDLE };
    let managed = managed.unwrap_or(Duration::MAX);
    Policy {
        idle,
        keep_gone: configured.keep_gone.min(managed),
        keep_backups: configured.keep_backups.min(managed),
    }
}

/// Cleans up what is past its time; a clock that stands wrong is no reason to fail.
pub(crate) fn prune_quietly(context: &Context) {
    if let Err(error) = context.repairer.vault.prune(&policy(context), Timestamp::now()) {
        say(&format!("rekindle: old copies were not cleaned up: {error}"));
    }
}

pub(super) fn prune(context: &Context, dry_run: bool, json: bool) -> Result<Exit, Failure> {
    let (vault, now) = (&context.repairer.vault, Timestamp::now());
    let report = if dry_run {
        vault.prune_plan(&policy(context), now)?
    } else {
        vault.prune(&policy(context), now)?
    };
    if !dry_run && !report.is_empty() {
        let mut effect = Effect::new(EffectKind::Prune);
        effect.count = Some((report.trashed.len() + report.backups + report.erased) as u64);
        context.note_operation("vault prune", effect)?;
    }
    let mut out = Out::new();
    if json {
        out.json(json!({ "trashed": report.trashed.iter().map(|key| key.as_str().to_owned()).collect::<Vec<_>>(), "backups": report.backups, "erased": report.erased, "waiting": report.waiting, "dryRun": dry_run }));
    } else {
        out.line(&format!(
            "{}{} and {} to the trash, {} erased from it",
            if dry_run { "would be: " } else { "" },
            count(report.trashed.len() as u64, "conversation", "conversations"),
            count(report.backups as u64, "backup", "backups"),
            report.erased,
        ));
        if report.waiting > 0 {
            out.line(&format!(
                "{} more by the clock, but rekindle was not at work for that long since: the clock may have jumped, so they stay",
                report.waiting
            ));
        }
    }
    out.finish()
}
