//! One save on disk.

use std::io;
use std::path::{Path, PathBuf};

use jiff::{SignedDuration, Timestamp};
use serde_json::{Map, Value};

use super::{Beside, Counts, Head, SCHEMA, SaveError};
use crate::StateDir;
use crate::durable::{self, Kept};
use crate::mac::{Key, Origin, Subject};

/// Ends the id of a save with a name of its own.
pub(super) const NAMED: &str = "-named";
/// Ends the id of a save that did not become current by itself.
pub(super) const HELD: &str = "-held";

/// A save that is on no disk yet.
#[derive(Debug, Clone)]
pub struct Draft {
    /// What it says first; counts and scrollback are filled in.
    pub head: Head,
    /// Everything else.
    pub body: Map<String, Value>,
    /// Its scrollback.
    pub scrollback: Option<Scrollback>,
}

/// What panes showed, compressed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scrollback {
    /// The file as it will be.
    pub packed: Vec<u8>,
    /// Of how many panes.
    pub panes: usize,
    /// When they showed it, where that is known.
    pub taken_at: Option<Timestamp>,
}

impl Scrollback {
    /// BLAKE3 of the file.
    pub fn hash(&self) -> String {
        blake3::hash(&self.packed).to_hex().to_string()
    }
}

/// A save as it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    /// Its id: the name of the file, without its ending.
    pub id: String,
    /// The file.
    pub path: PathBuf,
    /// What it says first.
    pub head: Head,
}

/// A save as it was read.
#[derive(Debug, Clone)]
pub struct Loaded {
    /// Its id.
    pub id: String,
    /// What it says first.
    pub head: Head,
    /// All of it, with what is unknown here.
    pub whole: Map<String, Value>,
    /// Whether it was written here.
    pub origin: Origin,
    /// Its scrollback's file, where it has one that is there.
    pub scrollback: Option<PathBuf>,
}

impl Loaded {
    /// Its scrollback's file as it lies there; nothing where that is not the one that the save speaks of.
    pub fn packed(&self) -> Option<Vec<u8>> {
        let told = self.head.scrollback.as_ref()?;
        let packed = crate::files::read_own(self.scrollback.as_ref()?).ok()?;
        (blake3::hash(&packed).to_hex().as_str() == told.blake3).then_some(packed)
    }

    /// Whether this is its scrollback.
    pub fn has(&self, scrollback: &Scrollback) -> bool {
        self.head.scrollback.as_ref().is_some_and(|beside| beside.blake3 == scrollback.hash())
    }
}

/// Writes a save, whole, and reads it back; `current` is not touched. Hold [`super::lock`].
///
/// # Errors
/// It cannot be written, is of a newer version, or does not read back as it was written; then it is no save, and what
/// was current stays.
pub fn store(
    state: &StateDir,
    key: &Key,
    draft: &Draft,
    count: impl Fn(&Map<String, Value>) -> Option<Counts>,
) -> Result<Written, SaveError> {
    let folder = state.saves();
    durable::private_dir(&folder)?;
    let mut head = draft.head.clone();
    let (id, path) = free_name(&folder, &head);
    if head.schema > SCHEMA {
        return Err(SaveError::Newer { path, schema: head.schema });
    }
    let broken = |why: &str| SaveError::Broken { path: path.clone(), why: why.to_owned() };
    head.counts = count(&draft.body).ok_or_else(|| broken("its parts cannot be counted"))?;
    head.scrollback = None;
    let beside = path.with_extension("zst");
    if let Some(scrollback) = &draft.scrollback {
        durable::create_new(&beside, Kept::default(), |out| out.write_all(&scrollback.packed))?;
        head.scrollback = Some(Beside {
            panes: scrollback.panes,
            bytes: scrollback.packed.len() as u64,
            blake3: scrollback.hash(),
            taken_at: scrollback.taken_at,
        });
    }
    let written =
        write(key, &id, &path, &head, &draft.body).and_then(|()| check(state, key, &id, &head, &count));
    if let Err(error) = written {
        // What is not whole must not be taken for a save. Where even that fails, listing passes it over.
        let _ = durable::remove(&path).and_then(|()| durable::remove(&beside));
        return Err(error);
    }
    Ok(Written { id, path, head })
}

fn write(key: &Key, id: &str, path: &Path, head: &Head, body: &Map<String, Value>) -> Result<(), SaveError> {
    let broken = |error: serde_json::Error| SaveError::Broken { path: path.into(), why: error.to_string() };
    let Value::Object(mut whole) = serde_json::to_value(head).map_err(broken)? else {
        return Err(SaveError::Broken { path: path.into(), why: "it is no object".to_owned() });
    };
    for (name, value) in body.iter().filter(|(name, _)| *name != "mac") {
        whole.entry(name.clone()).or_insert_with(|| value.clone());
    }
    let text = serde_json::to_string_pretty(&whole).map_err(broken)?;
    durable::create_new(path, Kept::default(), |out| {
        out.write_all(key.seal(Subject::Save(id), &text).as_bytes())
    })?;
    Ok(())
}

/// Reads a new save back and compares it with what it should be.
fn check(
    state: &StateDir,
    key: &Key,
    id: &str,
    head: &Head,
    count: &impl Fn(&Map<String, Value>) -> Option<Counts>,
) -> Result<(), SaveError> {
    let read = load(state, Some(key), id)?;
    let path = state.saves().join(format!("{id}.json"));
    let differs = |why: &str| Err(SaveError::NotAsWritten { path: path.clone(), why: why.to_owned() });
    if read.origin != Origin::Genuine || read.head != *head {
        return differs("it reads back differently");
    }
    if count(&read.whole) != Some(head.counts) {
        return differs("it has other numbers than it should");
    }
    if let Some(beside) = &head.scrollback {
        let bytes = read.scrollback.and_then(|path| crate::files::read_own(path).ok());
        if bytes.is_none_or(|bytes| blake3::hash(&bytes).to_hex().as_str() != beside.blake3) {
            return differs("its scrollback reads back differently");
        }
    }
    Ok(())
}

/// A name that nothing has: two saves within a millisecond get different ones.
fn free_name(folder: &Path, head: &Head) -> (String, PathBuf) {
    let mut at = head.saved_at;
    loop {
        let mut id = format!("{}-{}", stamp(at), head.kind.word());
        // Pruning goes by names alone: it happens at every save, and reading fifty would take longer than saving.
        id.push_str(if head.name.is_some() { NAMED } else { "" });
        id.push_str(if head.held.is_some() { HELD } else { "" });
        let path = folder.join(format!("{id}.json"));
        if !path.exists() && !path.with_extension("zst").exists() {
            return (id, path);
        }
        at = at.checked_add(SignedDuration::from_millis(1)).unwrap_or(at);
    }
}

/// Whether a save has the name it was given: the codes of 0.1.0 do not cover it. A name that was taken moved by
/// milliseconds.
fn is_named_after(id: &str, head: &Head) -> bool {
    let second = |at: Timestamp| stamp(at).get(..15).map(str::to_owned);
    let later = head.saved_at.checked_add(SignedDuration::from_secs(1)).ok();
    let named = id.get(..15).map(str::to_owned);
    named.is_some() && (named == second(head.saved_at) || named == later.and_then(second))
}

fn stamp(at: Timestamp) -> String {
    at.strftime("%Y%m%dT%H%M%S.%3fZ").to_string()
}

/// Reads a save.
///
/// # Errors
/// It cannot be read, or is torn.
pub fn load(state: &StateDir, key: Option<&Key>, id: &str) -> Result<Loaded, SaveError> {
    let path = state.saves().join(format!("{id}.json"));
    let unreadable = |source: io::Error| SaveError::Unreadable { path: path.clone(), source };
    let text = crate::files::read_own(&path).map_err(unreadable)?;
    let broken = |why: String| SaveError::Broken { path: path.clone(), why };
    if text.is_empty() {
        return Err(broken("it is empty".to_owned()));
    }
    let text = String::from_utf8(text).map_err(|_| broken("it is no text".to_owned()))?;
    let whole: Map<String, Value> = serde_json::from_str(&text).map_err(|error| broken(error.to_string()))?;
    let head: Head = serde_json::from_str(&text).map_err(|error| broken(error.to_string()))?;
    let origin = match key.map_or(Origin::Foreign, |key| key.origin(Subject::Save(id), &text)) {
        Origin::Genuine if is_named_after(id, &head) => Origin::Genuine,
        _ => Origin::Foreign,
    };
    let beside = path.with_extension("zst");
    let scrollback = beside.exists().then_some(beside);
    Ok(Loaded { id: id.to_owned(), head, whole, origin, scrollback })
}

/// Writes a save again that something was taken out of, and its scrollback where that changed: `Some(None)` where none of it
/// is left. What was not written here does not become genuine by it. Hold [`super::lock`].
///
/// # Errors
/// It cannot be written, or is of a newer version.
pub fn rewrite(
    state: &StateDir,
    key: &Key,
    loaded: &Loaded,
    mut whole: Map<String, Value>,
    scrollback: Option<Option<Scrollback>>,
) -> Result<(), SaveError> {
    let path = state.saves().join(format!("{}.json", loaded.id));
    if loaded.head.schema > SCHEMA {
        return Err(SaveError::Newer { path, schema: loaded.head.schema });
    }
    let broken = |error: serde_json::Error| SaveError::Broken { path: path.clone(), why: error.to_string() };
    let beside = path.with_extension("zst");
    if let Some(changed) = &scrollback {
        let told = changed.as_ref().map(|new| Beside {
            panes: new.panes,
            bytes: new.packed.len() as u64,
            blake3: new.hash(),
            taken_at: loaded.head.scrollback_taken(),
        });
        whole.insert("scrollback".to_owned(), serde_json::to_value(told).map_err(broken)?);
    }
    // The save first: killed in between, the old scrollback is not the one that it speaks of, and is found again.
    let genuine = loaded.origin == Origin::Genuine;
    if genuine {
        whole.remove("mac");
    }
    let text = serde_json::to_string_pretty(&whole).map_err(broken)?;
    let text = if genuine { key.seal(Subject::Save(&loaded.id), &text) } else { text };
    durable::replace(&path, text.as_bytes())?;
    match scrollback {
        Some(Some(new)) => durable::replace(&beside, &new.packed)?,
        Some(None) => durable::remove(&beside)?,
        None => {}
    }
    Ok(())
}

/// Makes a save the one to restore. Hold [`super::lock`].
///
/// # Errors
/// The pointer cannot be written; it names what it named before.
pub fn make_current(state: &StateDir, id: &str) -> Result<(), SaveError> {
    Ok(durable::replace(&state.saves().join("current"), format!("{id}\n").as_bytes())?)
}

/// The save that `current` names, where it is whole.
pub fn named_current(state: &StateDir, key: Option<&Key>) -> Option<Loaded> {
    let named = crate::files::read_own_to_string(state.saves().join("current")).ok()?;
    load(state, key, named.trim()).ok()
}

/// Gives the save that `current` names a code of this key: its user has accepted what the directory holds.
///
/// # Errors
/// It cannot be written. One that cannot be read stays as it is.
pub fn accept_current(state: &StateDir, key: &Key) -> Result<(), SaveError> {
    let Some(loaded) = named_current(state, None) else { return Ok(()) };
    let path = state.saves().join(format!("{}.json", loaded.id));
    let mut whole = loaded.whole;
    whole.shift_remove("mac");
    let broken = |error: serde_json::Error| SaveError::Broken { path: path.clone(), why: error.to_string() };
    let text = serde_json::to_string_pretty(&whole).map_err(broken)?;
    durable::replace(&path, key.seal(Subject::Save(&loaded.id), &text).as_bytes())?;
    Ok(())
}
