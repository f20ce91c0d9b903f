//! Taking conversations out of the vault.

use std::path::Path;

use agents::SessionId;
use serde_json::json;
use transcript::{Buffer, Transcript};
use vault::Conversation;

use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::output::{Out, count};

/// Puts a conversation back where the agent looks for it.
pub(crate) fn put_back(
    context: &Context,
    session: &SessionId,
    generation: Option<u32>,
    json: bool,
) -> Result<Exit, Failure> {
    let back = match context.clinic.restore(session, generation)? {
        None => return Err(no_such_generation(session, generation)),
        Some(Err(refusal)) => return Err(Failure::new(Exit::Refused, refusal.to_string())),
        Some(Ok(back)) => back,
    };
    let mut out = Out::new();
    if json {
        out.json(json!({
            "resume_id": back.session.as_str(),
            "sessions": [{
                "sessionId": session.as_str(),
                "status": "repaired",
                "reason": format!("generation {} of the vault was put back", back.generation),
                "filePath": back.path.to_string_lossy(),
                "backupPath": back.backup.as_deref().map(Path::to_string_lossy),
                "resumeId": back.session.as_str(),
                "orphansFixed": 0,
                "newChainDepth": chain_depth(&back.path),
                "changes": [],
            }],
        }));
    } else {
        out.line(&format!("{}  put back: {}", back.session.short(), context.short_path(&back.path)));
        if back.session != *session {
            out.line(&format!(
                "  {} holds another conversation by now, so this one has a new id",
                session.short()
            ));
        }
        if back.others > 0 {
            out.line(&format!("  with {}", count(back.others as u64, "other file", "other files")));
        }
        if let Some(backup) = &back.backup {
            out.line(&format!("  what was there: {}", context.short_path(backup)));
        }
    }
    out.finish()
}

/// Rows on the walk of a transcript that was put back.
fn chain_depth(path: &Path) -> u64 {
    let opened = Transcript::open(path, &mut Buffer::default());
    opened.and_then(|transcript| transcript.examine()).map_or(0, |(scan, _)| scan.chain_depth)
}

fn no_such_generation(session: &SessionId, generation: Option<u32>) -> Failure {
    let what = match generation {
        Some(number) => format!("the vault has no version {number} of {session}"),
        None => format!("the vault has no whole version of {session}"),
    };
    Failure::new(Exit::Usage, what).hint("rekindle vault list --json shows the versions")
}

/// Which version a restore means, as the vault's names for it.
fn chosen(
    context: &Context,
    session: &SessionId,
    generation: Option<u32>,
) -> Result<(Conversation, String, u32), Failure> {
    for conversation in context.clinic.vault.find(session)? {
        let Some(file) = conversation.transcript() else { continue };
        if let Some(found) = file.generation(generation) {
            let (name, number) = (file.name.clone(), found.number);
            return Ok((conversation, name, number));
        }
    }
    Err(no_such_generation(session, generation))
}

pub(super) fn restore_to(
    context: &Context,
    session: &SessionId,
    generation: Option<u32>,
    path: &Path,
    dry_run: bool,
    json: bool,
) -> Result<Exit, Failure> {
    let (conversation, name, number) = chosen(context, session, generation)?;
    if path.exists() {
        return Err(Failure::new(
            Exit::Refused,
            format!("{} exists; nothing is overwritten", path.display()),
        ));
    }
    if !dry_run {
        context.clinic.vault.restore_to(
            &conversation.key,
            &name,
            Some(number),
            path,
            state::durable::Kept::default(),
        )?;
    }
    say_restored(session, number, path, dry_run, json)
}

pub(super) fn plan_restore(
    context: &Context,
    session: &SessionId,
    generation: Option<u32>,
    json: bool,
) -> Result<Exit, Failure> {
    let (conversation, name, number) = chosen(context, session, generation)?;
    say_restored(session, number, &conversation.config.join(name), true, json)
}

fn say_restored(
    session: &SessionId,
    number: u32,
    path: &Path,
    dry_run: bool,
    json: bool,
) -> Result<Exit, Failure> {
    let mut out = Out::new();
    if json {
        out.json(
            json!({ "sessionId": session.as_str(), "generation": number, "path": path.to_string_lossy(), "dryRun": dry_run }),
        );
    } else {
        let word = if dry_run { "would be written to" } else { "written to" };
        out.line(&format!("{}  version {number} {word} {}", session.short(), path.display()));
    }
    out.finish()
}
