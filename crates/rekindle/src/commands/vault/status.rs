//! The vault at a glance.

use std::collections::BTreeMap;
use std::path::PathBuf;

use agents::SessionKey;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::sync::event_word;
use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::output::{Out, age, bytes, count};

pub(super) fn status(context: &Context, json: bool) -> Result<Exit, Failure> {
    let status = context.repairer.vault.status()?;
    let losses = context.repairer.losses()?;
    let missing: BTreeMap<PathBuf, String> = context.repairer.missing_rows().into_iter().collect();
    let unmirrored = vault::unmirrored(&context.repairer.state, Timestamp::now());
    let mut out = Out::new();
    if json {
        let losses: Vec<Value> = losses
            .iter()
            .map(|(loss, lost)| {
                let key = loss.session.as_ref().map(|id| context.repairer.key_at(id, &loss.path));
                let remedy = lost.as_ref().zip(key).map(|(lost, key)| lost.remedy(&key));
                json!({
                    "sessionId": loss.session.as_ref().map(|session| session.as_str()),
                    "path": loss.path.to_string_lossy(), "event": loss.event, "generation": loss.generation,
                    "loses": lost.as_ref().map(repair::Lost::loses), "remedy": remedy,
                })
            })
            .collect();
        out.json(json!({
            "conversations": status.conversations, "files": status.files, "gone": status.gone,
            "generations": status.generations, "bytes": status.bytes, "stored": status.stored,
            "newest": status.newest.map(|at| at.to_string()), "forgotten": status.forgotten,
            "trash": status.trash, "losses": losses,
            "unusable": status.unusable.iter().map(|copy| json!({
                "sessionId": copy.key.session(), "conversation": copy.key.as_str(), "damage": copy.damage,
            })).collect::<Vec<_>>(),
            "doubtful": status.doubtful.iter().map(|one| json!({
                "sessionId": one.key.as_ref().and_then(vault::Key::session), "path": one.path,
                "doubt": one.doubt.word(), "mirrored": one.doubt.is_mirrored(),
            })).collect::<Vec<_>>(),
            "unmirrored": unmirrored.iter().map(|one| json!({
                "sessionId": one.session, "path": one.path, "why": one.why, "since": one.since,
            })).collect::<Vec<_>>(),
            "missing": missing.iter().map(|(path, what)| json!({ "path": path, "what": what })).collect::<Vec<_>>(),
            "unfinished": status.unfinished.iter().map(|key| key.as_str()).collect::<Vec<_>>(),
        }));
        return out.finish();
    }
    out.line(&format!(
        "{}, {}, {} of rows in {}",
        count(status.conversations as u64, "conversation", "conversations"),
        count(status.files as u64, "file", "files"),
        bytes(status.bytes),
        bytes(status.stored),
    ));
    if let Some(newest) = status.newest {
        out.line(&format!("newest copy: {} ago", age(newest, Timestamp::now())));
    }
    for one in &unmirrored {
        let name = one.session.as_ref().map(|id| context.repairer.key_at(id, &one.path).short());
        let name = name.unwrap_or_else(|| context.short_path(&one.path));
        let since = age(one.since, Timestamp::now());
        out.line(&format!("{name}  not copied since {since}: {}", one.why));
        out.line("  what was said since is only in its transcript; rekindle vault sync tries again");
    }
    if status.gone > 0 || status.forgotten > 0 || status.trash > 0 {
        out.line(&format!(
            "{} only here, {} forgotten, {} in the trash",
            status.gone, status.forgotten, status.trash
        ));
    }
    for key in &status.unfinished {
        let name = key.session().map(|session| session.to_string()).unwrap_or_default();
        out.line(&format!(
            "forgetting {name} was interrupted; finish it with: rekindle vault forget {name} --yes"
        ));
    }
    for copy in &status.unusable {
        let name = copy.key.session().map_or_else(|| "history".to_owned(), |id| id.short().to_owned());
        out.line(&format!("{name}  damaged copy: {}", copy.damage.join("; ")));
        out.line("  rekindle vault verify says what it touches");
    }
    for doubtful in &status.doubtful {
        out.line(&doubtful.to_string());
    }
    for (loss, lost) in &losses {
        let key = loss.session.as_ref().map(|id| context.repairer.key_at(id, &loss.path));
        let name = key.as_ref().map_or_else(|| "history".to_owned(), SessionKey::short);
        out.line(&format!("{name}  {}: {}", event_word(loss.event), context.short_path(&loss.path)));
        if let (Some(lost), Some(key)) = (lost, &key) {
            out.line(&format!("  a resume loses {}", lost.loses()));
            lost.remedy_lines(key).iter().for_each(|line| out.line(&format!("  {line}")));
        }
    }
    for (path, what) in &missing {
        out.line(&format!("{}: {what}", context.short_path(path)));
        out.line("  rekindle history names the change; rekindle undo takes it back");
    }
    out.finish()
}
