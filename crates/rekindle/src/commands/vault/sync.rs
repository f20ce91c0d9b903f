//! Mirroring what is new, and saying what was noticed.

use agents::claude::Owners;
use jiff::Timestamp;
use serde_json::{Value, json};
use vault::{Doubt, Event, SyncOptions, SyncReport};

use crate::context::Context;
use crate::exit::Failure;
use crate::output::{Bar, Out, bytes, count, say};

/// Mirrors everything, with a bar where it takes long.
pub(crate) fn sync_all(context: &Context, believe: bool) -> Result<SyncReport, Failure> {
    let bar = Bar::new("mirroring");
    let live = Owners::look(&context.repairer.configs).live_sessions();
    let owner_alive = |source: &agents::claude::Source| {
        source.session.as_ref().is_some_and(|session| live.contains(session.as_str()))
    };
    let options =
        SyncOptions { now: Timestamp::now(), owner_alive: &owner_alive, believe_mass_deletion: believe };
    let report = context.repairer.vault.sync(&context.repairer.configs, &options, &|progress| {
        bar.at(progress.done, progress.total);
    })?;
    drop(bar);
    for words in unmirrored_words(&report) {
        say(&format!("rekindle: {words}"));
    }
    Ok(report)
}

/// What a sync could not copy, and what it could not believe.
pub(crate) fn unmirrored_words(report: &SyncReport) -> Vec<String> {
    let failure = |(path, error): &(std::path::PathBuf, vault::Error)| {
        format!("{} was not mirrored: {}", path.display(), vault::in_words(error))
    };
    report.failures.iter().map(failure).chain(report.doubts.iter().map(doubt_words)).collect()
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
                "{} shrank from {} to {} under a live agent; the vault has both versions, and the next look tells whether anything was lost",
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
        if !context.repairer.loses(&happening.key, &happening.path, happening.event)? {
            continue;
        }
        let what = event_word(happening.event);
        let Some(session) = &happening.session else {
            out.line(&format!("history  was {what}; the vault keeps every version of it"));
            continue;
        };
        let name = context.short_at(session, &happening.path);
        let main = happening.path.file_stem().is_some_and(|stem| stem == session.as_str());
        let whose = if main { String::new() } else { format!("{} ", context.short_path(&happening.path)) };
        out.line(&format!("{name}  {whose}was {what}; the vault has it: rekindle repair {name}"));
    }
    Ok(())
}

pub(super) fn event_word(event: Event) -> &'static str {
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
                "path": happening.path.to_string_lossy(),
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
        "failures": report.failures.iter().map(|(path, error)| json!({ "path": path.to_string_lossy(), "error": vault::in_words(error) })).collect::<Vec<_>>(),
    })
}
