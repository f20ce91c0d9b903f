//! Forgetting a conversation: everywhere, for good.

use std::time::Duration;

use agents::claude::ConfigDir;
use forget::Eraser;
use jiff::Timestamp;
use repair::{AccountSession, Target};
use serde_json::json;
use store::operations::{Effect, EffectKind};
use vault::Key;

use super::{find_among, vaulted};
use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::output::{Consent, Out, agree, can_ask, count, say};

/// A settle takes a fraction of a second; past this somebody is stuck.
const PATIENCE: Duration = Duration::from_secs(30);

pub(super) fn forget(
    context: &Context,
    text: &str,
    yes: bool,
    dry_run: bool,
    json: bool,
) -> Result<Exit, Failure> {
    let key = find(context, text)?;
    let AccountSession { config, session } = &key;
    let mut out = Out::new();
    if dry_run || !yes && !json && can_ask() {
        let held_by = context.repairer.vault.held_by(&context.repairer.vault.key(config, Some(session)))?;
        if json {
            let held_by: Vec<&str> = held_by.iter().map(Key::as_str).collect();
            out.json(json!({
                "sessionId": session.as_str(), "configDir": config.path().to_string_lossy(), "forgotten": 1,
                "dryRun": true, "heldBy": held_by,
            }));
        } else {
            plan(context, &key, &mut out)?;
            held_by.iter().for_each(|holder| out.line(&keeps(holder.as_str())));
        }
        if dry_run {
            return out.finish();
        }
    }
    agree(&mut out, Consent::of(yes, json), "Erase it for good?")?;
    // Rows of the old file may still have to be carried over, and the copy of the repair tells how.
    context.repairer.watch_kept()?;
    if context.repairer.kept_files().iter().any(|kept| kept.session == *session) {
        let text = format!("a process still has the old transcript of {session} open, from before a repair");
        return Err(Failure::new(Exit::Refused, text).hint("end that process, then forget the conversation"));
    }
    // Its record, which tells it from another account's, goes with it.
    let name = context.short_in(session, Some(config));
    // What hooks left is folded into the record first: what is not, would come back.
    let settler = context.settler()?;
    settler.settle(Timestamp::now(), PATIENCE)?;
    let eraser =
        Eraser { settler: &settler, repairer: &context.repairer, snapshots: context.snapshot_folder() };
    let forgotten = eraser.forget(config, session, Timestamp::now()).map_err(|error| {
        Failure::from(error)
            .hint(format!("some of it may still be there; go on with: rekindle vault forget {session} --yes"))
    })?;
    context.note_operation("vault forget", Effect::new(EffectKind::Forget).of(session))?;
    // Map, registry and names are made from the records, without what was said.
    settler.settle(Timestamp::now(), PATIENCE)?;
    if json {
        out.json(json!({
            "sessionId": session.as_str(), "configDir": config.path().to_string_lossy(), "forgotten": 1, "dryRun": false,
            "heldBy": forgotten.held_by, "unreachable": forgotten.unreachable,
            "left": forgotten.left,
        }));
    } else {
        out.line(&format!("{name}  forgotten"));
        for holder in &forgotten.held_by {
            out.line(&keeps(holder));
        }
    }
    for words in forgotten.left.iter().chain(&forgotten.unreachable) {
        say(&format!("rekindle: {words}"));
    }
    out.finish_as(if forgotten.left.is_empty() { Exit::Done } else { Exit::Partly })
}

/// What would be erased.
fn plan(context: &Context, key: &AccountSession, out: &mut Out) -> Result<(), Failure> {
    let AccountSession { config, session } = key;
    let copy = context.repairer.vault.conversation(&context.repairer.vault.key(config, Some(session)));
    let versions: usize = match &copy {
        Ok(Some(copy)) => copy.files.iter().map(|file| file.generations.len()).sum(),
        _ => 0,
    };
    out.line(&format!(
        "{session}  would be forgotten: everything that rekindle keeps of what was said in it"
    ));
    let versions = count(versions as u64, "version", "versions");
    out.line(&format!(
        "  {versions} of its files in the vault, copies of repairs, saves, snapshots, records, logs"
    ));
    out.line("  the agent's own transcript stays as it is; there is no undo");
    Ok(())
}

/// That another conversation keeps its part, by the name that commands take.
fn keeps(holder: &str) -> String {
    let name = holder.rsplit('/').next().unwrap_or(holder);
    format!("  {name} holds a part of the same text, and keeps it")
}

/// The conversation that is meant: one of the vault, one whose forgetting was begun, or one that has only a transcript.
fn find(context: &Context, text: &str) -> Result<AccountSession, Failure> {
    let mut known = vaulted(context)?;
    for tombstone in context.repairer.vault.tombstones()? {
        let account = tombstone.config.map(ConfigDir::new).or_else(|| account_of(context, &tombstone.key));
        if let (Some(session), Some(config)) = (tombstone.key.session(), account) {
            let one = AccountSession { config, session };
            if !known.contains(&one) {
                known.push(one);
            }
        }
    }
    if let Some(key) = find_among(context, text, known)? {
        return Ok(key);
    }
    match context.target(text)? {
        Target::File(file) => Ok(AccountSession { config: file.config, session: file.session }),
        Target::Gone(absent) => match absent.config {
            Some(config) => Ok(AccountSession { config, session: absent.session }),
            None => Err(Failure::new(Exit::Usage, format!("rekindle keeps nothing of {text:?}"))),
        },
    }
}

/// What 0.1.0 forgot has no account in its tombstone: one of those in use has the same name.
fn account_of(context: &Context, key: &Key) -> Option<ConfigDir> {
    let session = key.session()?;
    context.repairer.configs.iter().find(|config| Key::new(config, Some(&session)) == *key).cloned()
}
