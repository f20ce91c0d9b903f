//! Saves that leave and saves that come in. **What comes in is a guess**, whoever it says that it is from.

use std::io;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde_json::{Map, Value};
use store::StateDir;
use store::durable;
use store::mac::Key;
use store::saves::{self, Draft, Head, Kind, Loaded, SCHEMA, SaveError, Scrollback};

use crate::resurrect::resurrected;
use crate::save::{body, count};

/// Why a save cannot be carried.
#[derive(Debug, thiserror::Error)]
pub enum CarryError {
    /// The file cannot be read.
    #[error("read {}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// The file is no save.
    #[error("import {}: {why}", path.display())]
    NoSave {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// Something stands where it should go.
    #[error("export to {}: it exists, and nothing is overwritten", path.display())]
    Exists {
        /// The file.
        path: PathBuf,
    },
    /// It cannot be kept.
    #[error(transparent)]
    Save(#[from] SaveError),
    /// It cannot be written.
    #[error(transparent)]
    Unwritable(#[from] durable::Error),
}

/// What was brought in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Imported {
    /// The save.
    pub written: saves::Written,
    /// Lines whose columns had to be put back.
    pub mended: usize,
    /// Lines that make no sense, by their number.
    pub skipped: Vec<usize>,
}

/// Where the scrollback of an exported save lies.
fn beside(file: &Path) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(".zst");
    name.into()
}

/// Copies a save byte for byte into a file, its scrollback beside it as `FILE.zst`; returns what was written.
///
/// # Errors
/// Something stands there already, or it cannot be written.
pub fn export(state: &StateDir, save: &Loaded, file: &Path) -> Result<Vec<PathBuf>, CarryError> {
    let mut copies = vec![(state.saves().join(format!("{}.json", save.id)), file.to_path_buf())];
    copies.extend(save.scrollback.as_ref().map(|path| (path.clone(), beside(file))));
    if let Some((_, path)) = copies.iter().find(|(_, to)| to.symlink_metadata().is_ok()) {
        return Err(CarryError::Exists { path: path.clone() });
    }
    for (from, to) in &copies {
        durable::copy_exact(from, to)?;
    }
    Ok(copies.into_iter().map(|(_, to)| to).collect())
}

/// Takes a save from a file: one of ours, or one of tmux-resurrect, which names no server and is taken for that of
/// `socket`. It never becomes current by itself. Hold [`layouts::lock`].
///
/// # Errors
/// The file cannot be read or is no save, or it cannot be kept.
pub fn import(
    state: &StateDir,
    key: &Key,
    file: &Path,
    name: Option<&str>,
    socket: &Path,
    now: Timestamp,
) -> Result<Imported, CarryError> {
    let unreadable = |source| CarryError::Unreadable { path: file.into(), source };
    let no_save = |why: &str| CarryError::NoSave { path: file.into(), why: why.to_owned() };
    let text = String::from_utf8_lossy(&store::files::read(file).map_err(unreadable)?).into_owned();
    let (mut draft, mended, skipped) = if text.trim_start().starts_with('{') {
        let whole = serde_json::from_str(&text).map_err(|error| no_save(&error.to_string()))?;
        let mut draft = ours(whole, file, now)?;
        draft.scrollback = scrollback(file, &draft.head);
        (draft, 0, Vec::new())
    } else {
        let mut read = resurrected(&text, now);
        if read.save.head.counts.panes == 0 {
            return Err(no_save("it is neither a save of rekindle nor one of tmux-resurrect"));
        }
        for server in &mut read.save.servers {
            server.tmux.socket = socket.to_path_buf();
        }
        let body = body(&read.save.servers).ok_or_else(|| no_save("it is no JSON"))?;
        (Draft { head: read.save.head, body, scrollback: None }, read.mended, read.skipped)
    };
    draft.head.name = name.map(str::to_owned).or(draft.head.name);
    draft.body.insert("importedFrom".to_owned(), file.to_string_lossy().into());
    let written = saves::store(state, key, &draft, count)?;
    Ok(Imported { written, mended, skipped })
}

/// A save of ours, with everything in it that is unknown here.
fn ours(mut whole: Map<String, Value>, file: &Path, now: Timestamp) -> Result<Draft, CarryError> {
    let no_save = |why: String| CarryError::NoSave { path: file.into(), why };
    let head: Head =
        serde_json::from_value(Value::Object(whole.clone())).map_err(|error| no_save(error.to_string()))?;
    if head.schema > SCHEMA {
        return Err(SaveError::Newer { path: file.into(), schema: head.schema }.into());
    }
    if count(&whole) != Some(head.counts) {
        return Err(no_save("it is not whole".to_owned()));
    }
    let known = serde_json::to_value(&head).map_err(|error| no_save(error.to_string()))?;
    for key in known.as_object().into_iter().flat_map(Map::keys).chain([&"mac".to_owned()]) {
        whole.shift_remove(key);
    }
    for server in whole.get_mut("servers").and_then(Value::as_array_mut).into_iter().flatten() {
        for agent in server.get_mut("agents").and_then(Value::as_array_mut).into_iter().flatten() {
            agent["grade"] = "guess".into();
        }
    }
    whole.insert("takenAt".to_owned(), head.saved_at.to_string().into());
    let head = Head { saved_at: now, kind: Kind::Imported, imported: true, held: None, ..head };
    Ok(Draft { head, body: whole, scrollback: None })
}

/// The scrollback beside a file, where it is the one that the save speaks of.
fn scrollback(file: &Path, head: &Head) -> Option<Scrollback> {
    let told = head.scrollback.as_ref()?;
    let bytes = store::files::read(beside(file)).ok()?;
    let texts = crate::scrollback::unpack(&bytes).ok()?;
    (bytes.len() as u64 == told.bytes).then_some(Scrollback {
        packed: bytes,
        panes: texts.len(),
        taken_at: told.taken_at,
    })
}
