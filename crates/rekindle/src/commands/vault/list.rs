//! What is in the vault.

use agents::claude::ConfigDir;
use jiff::Timestamp;
use serde_json::{Value, json};
use transcript::Ending;
use vault::{Conversation, GenerationInfo, LastSeen};

use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::label::Label;
use crate::output::{Column, Fit, Out, Table, age, bytes, count, say};

pub(super) fn list(context: &Context, json: bool) -> Result<Exit, Failure> {
    let all = context.repairer.vault.list()?;
    let unusable: Vec<(&vault::Key, &String)> =
        all.iter().filter_map(|one| Some((&one.key, one.foreign.as_ref()?))).collect();
    let exit = if unusable.is_empty() { Exit::Done } else { Exit::Failed };
    let mut out = Out::new();
    if json {
        out.json(json!({ "conversations": all.iter().map(conversation_json).collect::<Vec<_>>() }));
        return out.finish_as(exit);
    }
    for (key, what) in &unusable {
        say(&format!("rekindle: {key}: {what}; nothing of it is used"));
    }
    let now = Timestamp::now();
    let mut table = Table::new(&[
        Column::new("session", Fit::Whole),
        Column::right("versions", Fit::Drop(1)),
        Column::right("rows", Fit::Drop(2)),
        Column::right("size", Fit::Drop(3)),
        Column::right("age", Fit::Whole),
        Column::new("state", Fit::Whole),
        Column::new("directory", Fit::CutPathThenDrop(12, 4)),
        Column::new("last prompt", Fit::CutThenDrop(12, 5)),
    ]);
    let seen = context.repairer.vault.last_seen()?;
    for conversation in &all {
        let Some(file) = conversation.transcript() else { continue };
        let Some(newest) = file.generations.last() else { continue };
        if conversation.session.is_none() || is_empty(conversation) {
            continue;
        }
        let label = label(context, conversation, &file.name, newest, &seen);
        table.row([
            name_of(context, conversation).into(),
            file.generations.len().to_string().into(),
            newest.rows.to_string().into(),
            bytes(newest.bytes).into(),
            age(newest.until, now).into(),
            if file.gone.is_some() { "deleted" } else { "there" }.into(),
            label.directory.into(),
            label.prompt.into(),
        ]);
    }
    // The agent's own list of prompts is mirrored too, but is no conversation: no command takes it.
    let histories = all.iter().filter(|one| one.session.is_none()).count();
    let empty = all.iter().filter(|conversation| is_empty(conversation)).count();
    if all.len() > empty + histories {
        out.exact_line(&table.text());
        out.line("");
    }
    for copy in all.iter().filter(|one| one.foreign.is_none() && !one.damage.is_empty()) {
        let name = name_of(context, copy);
        out.line(&format!("{name}  damaged copy: {}", copy.damage.join("; ")));
    }
    for (loss, lost) in context.repairer.losses()? {
        if let (Some(session), Some(lost @ repair::Lost::Choice { .. })) = (&loss.session, &lost) {
            let key = context.repairer.key_at(session, &loss.path);
            out.line(&key.short());
            lost.remedy_lines(&key).iter().for_each(|line| out.line(&format!("  {line}")));
        }
    }
    let stored: u64 = all.iter().map(|conversation| conversation.stored).sum();
    let mut total = format!(
        "{} in {}",
        count((all.len() - histories) as u64, "conversation", "conversations"),
        bytes(stored)
    );
    if empty > 0 {
        let empty = count(empty as u64, "empty conversation", "empty conversations");
        total = format!("{total}; {empty} not listed");
    }
    out.line(&total);
    out.finish_as(exit)
}

/// Whether no version of a conversation says anything. The agent's own list of prompts is no conversation.
fn is_empty(conversation: &Conversation) -> bool {
    let versions = conversation.transcript().map(|file| file.generations.as_slice()).unwrap_or_default();
    conversation.session.is_some()
        && conversation.damage.is_empty()
        && conversation.foreign.is_none()
        && !versions.is_empty()
        && !versions.iter().any(|version| version.talks)
}

/// As much of a copy as mostly holds the last prompt.
const END: u64 = 256 * 1024;

fn label(
    context: &Context,
    conversation: &Conversation,
    name: &str,
    newest: &GenerationInfo,
    seen: &LastSeen,
) -> Label {
    match &conversation.session {
        Some(session) => {
            let path = conversation.config.join(name);
            let stamp = std::fs::metadata(&path).ok().map(|meta| agents::Stamp::of(&meta));
            if stamp.is_some_and(|stamp| seen.is_as_seen(&path, stamp)) {
                return Label::of(context, session, &path);
            }
            let end = context.repairer.vault.read_end(&conversation.key, name, newest.number, END);
            let ending = end.map(|(bytes, begin)| Ending::of(&bytes, begin)).unwrap_or_default();
            Label::of_copy(context, session, &path, ending)
        }
        // The agent's own list of prompts belongs to no directory.
        None => Label { directory: String::new(), prompt: String::new() },
    }
}

fn conversation_json(conversation: &Conversation) -> Value {
    let files: Vec<Value> = conversation
        .files
        .iter()
        .map(|file| {
            let generations: Vec<Value> = file
                .generations
                .iter()
                .map(|generation| {
                    json!({
                        "generation": generation.number,
                        "event": generation.event,
                        "since": generation.since.to_string(),
                        "until": generation.until.to_string(),
                        "rows": generation.rows,
                        "bytes": generation.bytes,
                    })
                })
                .collect();
            json!({ "name": file.name, "gone": file.gone.map(|at| at.to_string()), "generations": generations })
        })
        .collect();
    json!({
        "sessionId": conversation.session.as_ref().map(|session| session.as_str()),
        "configDir": conversation.config.to_string_lossy(),
        "stored": conversation.stored,
        "files": files,
        "unusable": conversation.foreign,
        "damage": conversation.damage,
    })
}

/// What a copy is called: as every command takes it.
fn name_of(context: &Context, copy: &vault::Conversation) -> String {
    let config = ConfigDir::new(&copy.config);
    let key = copy.session.as_ref().map(|session| context.repairer.key_of(session, Some(&config)));
    key.map_or_else(|| "history".to_owned(), |key| key.short())
}
