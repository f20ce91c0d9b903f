use std::path::PathBuf;

use agents::SessionId;
use agents::claude::Owners;
use clap::Subcommand;
use jiff::Timestamp;
use serde_json::{Value, json};
use vault::{Conversation, DamagedPlace, Doubt, Event, Policy, SyncOptions, SyncReport};

use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::output::{Bar, Out, Table, age, bytes, count, say};

/// The mirror of every conversation: bring it up to date, look into it, take things out
#[derive(Debug, clap::Args)]
#[command(
    arg_required_else_help = true,
    after_help = "Examples:\n  rekindle vault sync\n  rekindle vault restore 1a2b3c4d"
)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Mirror what is new
    #[command(after_help = "Example: rekindle vault sync")]
    Sync {
        /// Believe that files are gone, also where over a fifth went at once
        #[arg(long)]
        believe_deletions: bool,
        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
    /// List the conversations in it
    #[command(after_help = "Example: rekindle vault list")]
    List {
        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
    /// Check every stored bit, and say what a bad one touches
    #[command(after_help = "Example: rekindle vault verify")]
    Verify {
        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
    /// Put a conversation back byte for byte, keeping what was there
    #[command(
        after_help = "Examples:\n  rekindle vault restore 1a2b3c4d\n  rekindle vault restore 1a2b3c4d --generation 2 --to /tmp/old.jsonl"
    )]
    Restore {
        /// A session's id or the beginning of one
        #[arg(value_name = "ID")]
        session: String,
        /// Which version of it: the best where none is given
        #[arg(long, value_name = "N")]
        generation: Option<u32>,
        /// Write it to a new file instead
        #[arg(long, value_name = "PATH")]
        to: Option<PathBuf>,
        /// Say what would be done, and do nothing
        #[arg(long)]
        dry_run: bool,
        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
    /// Let go of what is past its time, by way of a trash that keeps it a week more
    #[command(after_help = "Example: rekindle vault prune")]
    Prune {
        /// Say what would be done, and do nothing
        #[arg(long)]
        dry_run: bool,
        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
    /// Erase a conversation from the vault for good
    #[command(after_help = "Example: rekindle vault forget 1a2b3c4d --yes")]
    Forget {
        /// A session's id or the beginning of one
        #[arg(value_name = "ID")]
        session: String,
        /// Do not ask: there is no way back
        #[arg(long)]
        yes: bool,
        /// Say what would be done, and do nothing
        #[arg(long, conflicts_with = "yes")]
        dry_run: bool,
        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
    /// The vault at a glance, and what was lost outside of it
    #[command(after_help = "Example: rekindle vault status")]
    Status {
        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
}

pub(crate) fn run(context: &Context, args: &Args) -> Result<Exit, Failure> {
    match &args.command {
        Command::Sync { believe_deletions, json } => {
            let report = sync_all(context, *believe_deletions)?;
            let mut out = Out::new();
            if *json {
                out.json(sync_json(&report));
            } else {
                sync_words(context, &report, &mut out)?;
            }
            out.finish_as(if report.failures.is_empty() { Exit::Done } else { Exit::Partly })
        }
        Command::List { json } => list(context, *json),
        Command::Verify { json } => verify(context, *json),
        Command::Restore { session, generation, to, dry_run, json } => {
            let session = find(context, session)?;
            match to {
                Some(path) => restore_to(context, &session, *generation, path, *dry_run, *json),
                None if *dry_run => plan_restore(context, &session, *generation, *json),
                None => put_back(context, &session, *generation, *json),
            }
        }
        Command::Prune { dry_run, json } => prune(context, *dry_run, *json),
        Command::Forget { session, yes, dry_run, json } => {
            forget(context, &find(context, session)?, *yes, *dry_run, *json)
        }
        Command::Status { json } => status(context, *json),
    }
}

/// Mirrors everything, with a bar where it takes long.
pub(crate) fn sync_all(context: &Context, believe: bool) -> Result<SyncReport, Failure> {
    let bar = Bar::new("mirroring");
    let live = Owners::look(&context.clinic.configs).live_sessions();
    let owner_alive = |source: &agents::claude::Source| {
        source.session.as_ref().is_some_and(|session| live.contains(session.as_str()))
    };
    let options =
        SyncOptions { now: Timestamp::now(), owner_alive: &owner_alive, believe_mass_deletion: believe };
    let report = context.clinic.vault.sync(&context.clinic.configs, &options, &|progress| {
        bar.at(progress.done, progress.total);
    })?;
    drop(bar);
    for (path, error) in &report.failures {
        say(&format!("rekindle: {} was not mirrored: {error}", path.display()));
    }
    for doubt in &report.doubts {
        say(&format!("rekindle: {}", doubt_words(doubt)));
    }
    Ok(report)
}

fn doubt_words(doubt: &Doubt) -> String {
    match doubt {
        Doubt::Root { config, known } => {
            format!(
                "{} cannot be listed, and {known} files were known there; nothing is taken for deleted",
                config.path().display()
            )
        }
        Doubt::OtherDevice { config, gone } => {
            format!(
                "{gone} files of {} are on a device that is not there; nothing is taken for deleted",
                config.path().display()
            )
        }
        Doubt::MassDisappearance { config, gone, known } => format!(
            "{gone} of {known} files of {} are gone at once; if that was meant: rekindle vault sync --believe-deletions",
            config.path().display()
        ),
        Doubt::Shrinking { path, from, to } => {
            format!(
                "{} shrank from {} to {} under a live agent; the next look will tell",
                path.display(),
                bytes(*from),
                bytes(*to)
            )
        }
    }
}

pub(crate) fn sync_words(context: &Context, report: &SyncReport, out: &mut Out) -> Result<(), Failure> {
    out.line(&format!(
        "vault: {}, {} changed, {} mirrored in {}",
        count(report.files as u64, "file", "files"),
        report.changed,
        bytes(report.bytes_read),
        bytes(report.bytes_stored),
    ));
    for happening in &report.events {
        if !context.clinic.loses(&happening.key, &happening.path, happening.event)? {
            continue;
        }
        let what = event_word(happening.event);
        let name = happening.session.as_ref().map_or("history", |session| session.short());
        out.line(&format!("{name}  was {what}; the vault has it: rekindle repair {name}"));
    }
    Ok(())
}

fn event_word(event: Event) -> &'static str {
    match event {
        Event::New => "new",
        Event::Appended => "appended to",
        Event::Truncated => "cut short",
        Event::Overwritten => "overwritten",
        Event::Emptied => "emptied",
        Event::Repaired => "repaired",
        Event::Deleted => "deleted",
        Event::Returned => "returned",
    }
}

pub(crate) fn sync_json(report: &SyncReport) -> Value {
    let events: Vec<Value> = report
        .events
        .iter()
        .map(|happening| {
            json!({
                "sessionId": happening.session.as_ref().map(|session| session.as_str()),
                "path": happening.path,
                "event": happening.event,
                "generation": happening.generation,
                "at": happening.at.to_string(),
            })
        })
        .collect();
    json!({
        "files": report.files,
        "changed": report.changed,
        "bytesRead": report.bytes_read,
        "bytesStored": report.bytes_stored,
        "events": events,
        "doubts": report.doubts.iter().map(doubt_words).collect::<Vec<_>>(),
        "failures": report.failures.iter().map(|(path, error)| json!({ "path": path, "error": error.to_string() })).collect::<Vec<_>>(),
    })
}

/// The session a text means, by what is in the vault.
fn find(context: &Context, text: &str) -> Result<SessionId, Failure> {
    let all = context.clinic.vault.list()?;
    let mut ids: Vec<SessionId> = all.into_iter().filter_map(|conversation| conversation.session).collect();
    ids.retain(|id| !text.is_empty() && id.as_str().starts_with(text));
    ids.sort();
    ids.dedup();
    match ids.as_slice() {
        [only] => Ok(only.clone()),
        [] => Err(Failure::new(Exit::Usage, format!("the vault has no session {text:?}"))
            .hint("rekindle vault list shows what it has")),
        _ => Err(Failure::new(
            Exit::Usage,
            format!("{text:?} is the beginning of {} sessions; give more of it", ids.len()),
        )),
    }
}

fn list(context: &Context, json: bool) -> Result<Exit, Failure> {
    let all = context.clinic.vault.list()?;
    let mut out = Out::new();
    if json {
        out.json(json!({ "conversations": all.iter().map(conversation_json).collect::<Vec<_>>() }));
        return out.finish();
    }
    let now = Timestamp::now();
    let mut table = Table::new(&["session", "versions", "rows", "size", "age", "state", "directory"])
        .right(1)
        .right(2)
        .right(3);
    for conversation in &all {
        let Some(file) = conversation.transcript() else { continue };
        let Some(newest) = file.generations.last() else { continue };
        table.row(&[
            conversation.session.as_ref().map_or("history", |session| session.short()).to_owned(),
            file.generations.len().to_string(),
            newest.rows.to_string(),
            bytes(newest.bytes),
            age(newest.until, now),
            if file.gone.is_some() { "deleted" } else { "there" }.to_owned(),
            conversation.slug().unwrap_or_default().to_owned(),
        ]);
    }
    if !all.is_empty() {
        out.line(&table.text());
        out.line("");
    }
    let stored: u64 = all.iter().map(|conversation| conversation.stored).sum();
    out.line(&format!("{} in {}", count(all.len() as u64, "conversation", "conversations"), bytes(stored)));
    out.finish()
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
        "configDir": conversation.config,
        "stored": conversation.stored,
        "files": files,
    })
}

fn verify(context: &Context, json: bool) -> Result<Exit, Failure> {
    let report = context.clinic.vault.verify()?;
    let mut out = Out::new();
    if json {
        let damage: Vec<Value> = report.damage.iter().map(|damage| {
            let touches: Vec<Value> = damage.touches.iter().map(|t| json!({ "file": t.file, "generation": t.generation, "bytes": t.bytes, "rows": t.rows })).collect();
            json!({ "conversation": damage.key.as_str(), "place": place_words(&damage.place), "touches": touches })
        }).collect();
        out.json(json!({ "conversations": report.conversations, "frames": report.frames, "bytes": report.bytes, "damage": damage }));
    } else {
        for damage in &report.damage {
            out.line(&format!("{}: {}", damage.key.as_str(), place_words(&damage.place)));
            for touched in &damage.touches {
                out.line(&format!(
                    "  touches {} (version {}), rows {} to {}",
                    touched.file,
                    touched.generation,
                    touched.rows.0 + 1,
                    touched.rows.1
                ));
            }
        }
        out.line(&format!(
            "{}, {} checked: {}",
            count(report.conversations as u64, "conversation", "conversations"),
            bytes(report.bytes),
            if report.is_clean() {
                "every bit is as it was written".to_owned()
            } else {
                count(report.damage.len() as u64, "place is damaged", "places are damaged")
            },
        ));
    }
    out.finish_as(if report.is_clean() { Exit::Done } else { Exit::Failed })
}

fn place_words(place: &DamagedPlace) -> String {
    match place {
        DamagedPlace::Manifest { line, .. } => format!("line {line} of its manifest is damaged"),
        DamagedPlace::Data { of, offset, error } => {
            format!("the frame at byte {offset} of {of} is damaged ({error})")
        }
    }
}

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
                "filePath": back.path,
                "backupPath": back.backup,
                "resumeId": back.session.as_str(),
                "orphansFixed": 0,
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
        let found = match generation {
            Some(number) => file.generations.iter().find(|known| known.number == number),
            None => file.best_generation(),
        };
        if let Some(found) = found {
            let (name, number) = (file.name.clone(), found.number);
            return Ok((conversation, name, number));
        }
    }
    Err(no_such_generation(session, generation))
}

fn restore_to(
    context: &Context,
    session: &SessionId,
    generation: Option<u32>,
    path: &std::path::Path,
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

fn plan_restore(
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
    path: &std::path::Path,
    dry_run: bool,
    json: bool,
) -> Result<Exit, Failure> {
    let mut out = Out::new();
    if json {
        out.json(
            json!({ "sessionId": session.as_str(), "generation": number, "path": path, "dryRun": dry_run }),
        );
    } else {
        let word = if dry_run { "would be written to" } else { "written to" };
        out.line(&format!("{}  version {number} {word} {}", session.short(), path.display()));
    }
    out.finish()
}

fn policy(context: &Context) -> Policy {
    Policy { keep_gone: context.config.vault.keep_gone, keep_backups: context.config.vault.keep_backups }
}

/// Cleans up what is past its time; a clock that stands wrong is no reason to fail.
pub(crate) fn prune_quietly(context: &Context) {
    if let Err(error) = context.clinic.vault.prune(&policy(context), Timestamp::now()) {
        say(&format!("rekindle: old copies were not cleaned up: {error}"));
    }
}

fn prune(context: &Context, dry_run: bool, json: bool) -> Result<Exit, Failure> {
    let (vault, now) = (&context.clinic.vault, Timestamp::now());
    let report = if dry_run {
        vault.prune_plan(&policy(context), now)?
    } else {
        vault.prune(&policy(context), now)?
    };
    let mut out = Out::new();
    if json {
        out.json(json!({ "trashed": report.trashed.iter().map(|key| key.as_str().to_owned()).collect::<Vec<_>>(), "backups": report.backups, "erased": report.erased, "dryRun": dry_run }));
    } else {
        out.line(&format!(
            "{}{} and {} to the trash, {} erased from it",
            if dry_run { "would be: " } else { "" },
            count(report.trashed.len() as u64, "conversation", "conversations"),
            count(report.backups as u64, "backup", "backups"),
            report.erased,
        ));
    }
    out.finish()
}

fn forget(
    context: &Context,
    session: &SessionId,
    yes: bool,
    dry_run: bool,
    json: bool,
) -> Result<Exit, Failure> {
    if !yes && !dry_run {
        return Err(Failure::new(
            Exit::Refused,
            format!("{session} would be erased from the vault for good"),
        )
        .hint("say so with --yes; the agent's own file is not touched"));
    }
    let found = context.clinic.vault.find(session)?;
    for conversation in found.iter().filter(|_| !dry_run) {
        context.clinic.vault.forget(&conversation.key, Timestamp::now())?;
    }
    let mut out = Out::new();
    if json {
        out.json(json!({ "sessionId": session.as_str(), "forgotten": found.len(), "dryRun": dry_run }));
    } else {
        out.line(&format!(
            "{}  {}",
            session.short(),
            if dry_run { "would be forgotten" } else { "forgotten" }
        ));
    }
    out.finish()
}

fn status(context: &Context, json: bool) -> Result<Exit, Failure> {
    let mut status = context.clinic.vault.status()?;
    let mut losses = Vec::new();
    for loss in std::mem::take(&mut status.losses) {
        if context.clinic.loses(&loss.key, &loss.path, loss.event)? {
            losses.push(loss);
        }
    }
    status.losses = losses;
    let mut out = Out::new();
    if json {
        let losses: Vec<Value> = status
            .losses
            .iter()
            .map(|loss| {
                json!({
                    "sessionId": loss.session.as_ref().map(|session| session.as_str()),
                    "path": loss.path, "event": loss.event, "generation": loss.generation,
                })
            })
            .collect();
        out.json(json!({
            "conversations": status.conversations, "files": status.files, "gone": status.gone,
            "generations": status.generations, "bytes": status.bytes, "stored": status.stored,
            "newest": status.newest.map(|at| at.to_string()), "forgotten": status.forgotten,
            "trash": status.trash, "losses": losses,
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
    if status.gone > 0 || status.forgotten > 0 || status.trash > 0 {
        out.line(&format!(
            "{} only here, {} forgotten, {} in the trash",
            status.gone, status.forgotten, status.trash
        ));
    }
    for loss in &status.losses {
        let name = loss.session.as_ref().map_or("history", |session| session.short());
        out.line(&format!("{name}  {}: {}", event_word(loss.event), context.short_path(&loss.path)));
    }
    out.finish()
}
