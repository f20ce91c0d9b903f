//! Backups of an earlier repair tool: removed where the vault has every row of them, after a yes.

use repair::{OldBackup, old_backups};
use serde_json::json;

use super::sync::sync_all;
use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::output::{Consent, Out, ago, agree, bytes, count, say};

/// How the user wants it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Manner {
    pub(super) yes: bool,
    pub(super) dry_run: bool,
    pub(super) json: bool,
}

pub(super) fn prune(context: &Context, manner: Manner) -> Result<Exit, Failure> {
    let all = old_backups(&context.repairer.configs);
    if !all.is_empty() && !manner.dry_run {
        // What the transcripts have must be in the vault before it can stand for a backup.
        sync_all(context, false)?;
    }
    let mut held = Vec::new();
    let mut kept = Vec::new();
    for backup in &all {
        match context.repairer.holds(backup) {
            Ok(true) => held.push(backup),
            Ok(false) => kept.push((backup, "the vault does not have every row of it".to_owned())),
            Err(error) => {
                kept.push((backup, format!("it cannot be compared: {}", Failure::from(error).message())));
            }
        }
    }
    let mut out = Out::new();
    if !manner.json {
        show(context, &held, &kept, manner.dry_run, &mut out);
    }
    let act = !manner.dry_run && !held.is_empty();
    if act {
        agree(&mut out, Consent::of(manner.yes, manner.json), "Remove these backups?")?;
        for backup in &held {
            context.repairer.remove_backup(backup)?;
        }
    }
    if manner.json {
        let path = |backup: &&OldBackup| backup.path.display().to_string();
        let kept: Vec<_> =
            kept.iter().map(|(backup, why)| json!({ "path": path(backup), "why": why })).collect();
        let held: Vec<_> = held.iter().map(path).collect();
        out.json(json!({ "dryRun": manner.dry_run, "removed": held, "kept": kept }));
    } else if act {
        out.line(&format!("removed: {}", count(held.len() as u64, "backup", "backups")));
    }
    out.finish()
}

fn show(context: &Context, held: &[&OldBackup], kept: &[(&OldBackup, String)], dry_run: bool, out: &mut Out) {
    if held.is_empty() && kept.is_empty() {
        out.line("No old backups.");
        return;
    }
    let name = |backup: &OldBackup| {
        let age = backup.made.map(|made| format!(", {}", ago(made))).unwrap_or_default();
        format!("{} ({}{age})", context.short_path(&backup.path), bytes(backup.bytes))
    };
    if !held.is_empty() {
        let would = if dry_run { "would be removed" } else { "can be removed" };
        out.line(&format!("Every row of these is in the vault. They {would}:"));
        for backup in held {
            out.line(&format!("  {}", name(backup)));
        }
    }
    out.flush();
    for (backup, why) in kept {
        say(&format!("rekindle: {} stays: {why}", name(backup)));
    }
}
