//! What an agent is told when it comes back: three lines after a resume, the context where it begins anew.

use agents::SessionId;
use jiff::tz::TimeZone;
use state::StateDir;
use state::record::SessionRecord;

use crate::outcome::Outcome;

const HEADING: &str = "RESTORATION CONTEXT";

/// The note for a resumed agent.
pub(crate) fn note(record: &SessionRecord, how: Outcome, zone: &TimeZone) -> String {
    let why = match record.reason.as_deref() {
        Some("server_exit") => "its terminal server ended",
        Some("oom") => "the machine ran out of memory",
        Some("killed") => "its process was killed",
        _ => "its process ended without its user's doing",
    };
    let state = match how {
        Outcome::RepairedResumed => "Its transcript was damaged and has been mended; nothing was made up.",
        Outcome::VaultResumed => "Its transcript was lost and has been put back from a copy.",
        _ => "Its transcript is whole.",
    };
    let seen = record.last_seen.to_zoned(zone.clone()).strftime("%Y-%m-%d %H:%M %Z");
    format!(
        "{HEADING}\nThis conversation was resumed after {why}. {state}\nLast active: {seen}. Time has passed since: \
         files and processes may have changed.\nA command or edit that was under way then did not finish: check before \
         you rely on it.\n"
    )
}

/// The context for a fresh agent: what was prepared when the last turn ended, else what the record knows.
pub(crate) fn context(
    state: &StateDir,
    session: &SessionId,
    record: Option<&SessionRecord>,
    zone: &TimeZone,
) -> String {
    let prepared = state.instances().join("restore/context-cache").join(format!("{session}.txt"));
    if let Ok(text) = std::fs::read_to_string(prepared) {
        return text;
    }
    let mut lines = vec![HEADING.to_owned()];
    lines.push(format!("You take up the work of a conversation that is lost ({}).", session.short()));
    if let Some(record) = record {
        lines.extend(record.name.as_ref().map(|name| format!("Name: {name}")));
        lines.extend(record.task.as_ref().map(|task| format!("Task: {task}")));
        let seen = record.last_seen.to_zoned(zone.clone()).strftime("%Y-%m-%d %H:%M %Z");
        lines.push(format!("Last active: {seen}"));
    }
    format!("{}\n", redact::redact(&lines.join("\n")))
}
