//! Taking conversations out of the vault.

use std::path::Path;

use agents::SessionId;
use agents::claude::ConfigDir;
use repair::{AccountSession, Refusal};
use serde_json::json;
use transcript::{Buffer, Transcript};
use vault::{Choice, Conversation, Wanted};

use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::output::{Out, count, say};

/// Puts a conversation back where the agent looks for it.
pub(crate) fn put_back(
    context: &Context,
    session: &SessionId,
    account: Option<&ConfigDir>,
    wanted: Wanted,
    json: bool,
) -> Result<Exit, Failure> {
    let back = match context.repairer.restore(session, account, wanted)? {
        None => return Err(no_such_generation(session, wanted)),
        Some(Err(Refusal::Doubtful(what))) => {
            return Err(in_doubt(&context.short_in(session, account), &what));
        }
        Some(Err(refusal)) => return Err(Failure::new(Exit::Refused, refusal.to_string())),
        Some(Ok(back)) => back,
    };
    crate::kept::tell(context, &[session]);
    let mut out = Out::new();
    if json {
        out.json(json!({
            "resume_id": back.session.as_str(),
            "sessions": [{
                "sessionId": session.as_str(),
                "status": "repaired",
                "reason": format!("version {} of the vault was put back", back.generation),
                "filePath": back.path.to_string_lossy(),
                "backupPath": back.backup.as_deref().map(Path::to_string_lossy),
                "resumeId": back.session.as_str(),
                "orphansFixed": 0,
                "newChainDepth": chain_depth(&back.path),
                "changes": [],
                "doubt": back.doubt,
                "leftOut": back.left_out,
            }],
        }));
    } else {
        out.line(&format!(
            "{}  put back: {}",
            context.short_at(&back.session, &back.path),
            context.short_path(&back.path)
        ));
        if back.session != *session {
            out.line(&format!(
                "  {} holds another conversation by now, so this one has a new id",
                context.short_at(session, &back.path)
            ));
        }
        if back.others > 0 {
            out.line(&format!("  with {}", count(back.others as u64, "other file", "other files")));
        }
        if let Some(backup) = &back.backup {
            out.line(&format!("  what was there: {}", context.short_path(backup)));
        }
        out.hint("Take it back with `rekindle undo`.");
    }
    for name in &back.left_out {
        say(&format!("rekindle: {name} was not put back: the vault cannot prove what it last held"));
    }
    if let Some(doubt) = &back.doubt {
        say(&format!("rekindle: this may not be all of it: {doubt}"));
    }
    let partly = back.doubt.is_some() || !back.left_out.is_empty();
    out.finish_as(if partly { Exit::Partly } else { Exit::Done })
}

/// Rows on the walk of a transcript that was put back.
fn chain_depth(path: &Path) -> u64 {
    let opened = Transcript::open(path, &mut Buffer::default());
    opened.and_then(|transcript| transcript.examine()).map_or(0, |(scan, _)| scan.chain_depth)
}

fn no_such_generation(session: &SessionId, wanted: Wanted) -> Failure {
    let what = match wanted {
        Wanted::Number(number) => format!("the vault has no version {number} of {session}"),
        Wanted::Best | Wanted::Whole => format!("the vault has no whole version of {session}"),
    };
    Failure::new(Exit::Usage, what).hint("rekindle vault list --json shows the versions")
}

fn in_doubt(name: &str, what: &str) -> Failure {
    let text = format!("the vault's copy of {name} may not be all of it, so nothing was put back: {what}");
    Failure::new(Exit::Refused, text)
        .hint(format!("rekindle vault restore {name} --provable puts back what is provable"))
}

/// Which version a restore means.
fn chosen(
    context: &Context,
    key: &AccountSession,
    wanted: Wanted,
) -> Result<(Conversation, String, Choice), Failure> {
    let (vault, session) = (&context.repairer.vault, &key.session);
    let none = || no_such_generation(session, wanted);
    // Says so where a copy is there that cannot be used.
    vault.find(session)?;
    let conversation = vault.conversation(&vault.key(&key.config, Some(session)))?.ok_or_else(none)?;
    let file = conversation.transcript().ok_or_else(none)?;
    let choice = match vault.choose(&conversation, file, wanted) {
        Err(vault::Error::Doubtful { what, .. }) => {
            return Err(in_doubt(&context.short_in(session, Some(&key.config)), &what));
        }
        choice => choice?.ok_or_else(none)?,
    };
    let name = file.name.clone();
    Ok((conversation, name, choice))
}

pub(super) fn restore_to(
    context: &Context,
    key: &AccountSession,
    wanted: Wanted,
    path: &Path,
    dry_run: bool,
    json: bool,
) -> Result<Exit, Failure> {
    let (conversation, name, choice) = chosen(context, key, wanted)?;
    if path.exists() {
        return Err(Failure::new(
            Exit::Refused,
            format!("{} exists; nothing is overwritten", path.display()),
        ));
    }
    if !dry_run {
        context.repairer.vault.restore_to(
            &conversation.key,
            &name,
            Some(choice.generation.number),
            path,
            store::durable::Kept::default(),
        )?;
    }
    say_restored(context, key, &choice, path, dry_run, json)
}

pub(super) fn plan_restore(
    context: &Context,
    key: &AccountSession,
    wanted: Wanted,
    json: bool,
) -> Result<Exit, Failure> {
    let (conversation, name, choice) = chosen(context, key, wanted)?;
    say_restored(context, key, &choice, &conversation.config.join(name), true, json)
}

fn say_restored(
    context: &Context,
    key: &AccountSession,
    choice: &Choice,
    path: &Path,
    dry_run: bool,
    json: bool,
) -> Result<Exit, Failure> {
    let number = choice.generation.number;
    let mut out = Out::new();
    if json {
        out.json(json!({
            "sessionId": key.session.as_str(), "generation": number, "path": path.to_string_lossy(),
            "dryRun": dry_run, "doubt": choice.doubt,
        }));
    } else {
        let word = if dry_run { "would be written to" } else { "written to" };
        let name = context.short_in(&key.session, Some(&key.config));
        out.line(&format!("{name}  version {number} {word} {}", path.display()));
    }
    if let Some(doubt) = &choice.doubt {
        say(&format!("rekindle: this may not be all of it: {doubt}"));
    }
    out.finish_as(if choice.doubt.is_some() { Exit::Partly } else { Exit::Done })
}
