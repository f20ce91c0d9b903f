//! One configuration directory: what its settings shall be, and how that is written down.

use std::path::{Path, PathBuf};

use crate::record::SettingsRecord;
use crate::settings::{self, OldStatusLine, SettingsError, Traces, Wanted, Wired};

/// What becomes of a settings file, and what of it can be taken back exactly.
#[derive(Debug, Clone)]
pub(crate) struct Outcome {
    pub(crate) wired: Wired,
    pub(crate) origin: Origin,
}

/// What is known of a settings file before we came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Origin {
    /// What stands there now: nothing of ours is in it.
    Now,
    /// What the record has: nobody changed the file since.
    Recorded,
    /// Not known to the byte: it was changed with ours in it.
    Unknown,
}

/// Plans a settings file from what stands there and what an earlier run wrote down.
pub(crate) fn outcome(
    current: Option<&[u8]>,
    wanted: &Wanted,
    prior: Option<&SettingsRecord>,
) -> Result<Outcome, SettingsError> {
    let bytes = current.unwrap_or_default();
    let mut wired = settings::wire(bytes, wanted)?;
    let ours = settings::unwire(bytes, &wanted.program, None)? != bytes;
    if !ours {
        return Ok(Outcome { wired, origin: Origin::Now });
    }
    let Some(prior) = prior else { return Ok(Outcome { wired, origin: Origin::Unknown }) };
    wired.traces = merge(&prior.traces, &wired);
    let untouched = prior.after.as_deref().and_then(read).is_some_and(|after| after == bytes);
    let origin =
        if untouched && (prior.made || prior.before.is_some()) { Origin::Recorded } else { Origin::Unknown };
    Ok(Outcome { wired, origin })
}

fn read(path: &Path) -> Option<Vec<u8>> {
    store::files::read(path).ok()
}

/// What was empty, and which status line there was, is known best by who came first.
fn merge(prior: &Traces, wired: &Wired) -> Traces {
    let mut merged = wired.traces.clone();
    for part in &prior.kept_empty {
        if !merged.kept_empty.contains(part) {
            merged.kept_empty.push(part.clone());
        }
    }
    if wired.had_status_line && prior.status_line.is_some() {
        merged.status_line.clone_from(&prior.status_line);
    }
    merged
}

/// The settings file as it was before us, as well as it can be known. `None`: there was no file.
pub(crate) fn taken_back(
    current: &[u8],
    program: &crate::Program,
    record: Option<&SettingsRecord>,
) -> Result<Option<Vec<u8>>, SettingsError> {
    let Some(record) = record else {
        return settings::unwire(current, program, None).map(Some);
    };
    let after = record.after.as_deref().and_then(read);
    let before = if record.made { Some(Vec::new()) } else { record.before.as_deref().and_then(read) };
    let text = match (before, after) {
        (Some(before), Some(after)) => {
            settings::take_back(current, &before, &after, program, &record.traces)?
        }
        _ => settings::unwire(current, program, Some(&record.traces))?,
    };
    // A file that we made goes again, unless somebody has put something into it.
    let nothing = text.is_empty() || text.trim_ascii() == b"{}";
    Ok(if record.made && nothing && text != current { None } else { Some(text) })
}

/// The record of a settings file, with the copies that lie in this folder.
pub(crate) fn record(
    real: &Path,
    current: Option<&[u8]>,
    outcome: &Outcome,
    prior: Option<&SettingsRecord>,
    copies: &Copies,
) -> SettingsRecord {
    let (made, before) = match (outcome.origin, prior) {
        (Origin::Now, _) => (current.is_none(), current.map(|_| copies.before.clone())),
        (Origin::Recorded, Some(prior)) => (prior.made, prior.before.clone()),
        (_, prior) => (prior.is_some_and(|prior| prior.made), None),
    };
    let traces = outcome.wired.traces.clone();
    SettingsRecord { path: real.to_path_buf(), made, before, after: Some(copies.after.clone()), traces }
}

/// Where the copies of a settings file are.
#[derive(Debug, Clone)]
pub(crate) struct Copies {
    pub(crate) before: PathBuf,
    pub(crate) after: PathBuf,
}

/// Whether a status line stood there before and is now called by ours.
pub(crate) fn keeps_status_line(wired: &Wired) -> bool {
    matches!(wired.traces.status_line, Some(OldStatusLine::Command(_))) && !wired.had_status_line
}
