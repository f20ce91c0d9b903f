//! Operations: what one command changed, in `operations/<stamp>-<id>.json`, so that `undo` takes back a whole command.
//!
//! An operation holds ids, paths and counts, never text of a conversation: `forget` must be able to erase all of that. The
//! file is written before the first effect and again with each one. An operation whose process is gone before it ended is
//! interrupted.

mod process;

use std::path::{Path, PathBuf};
use std::time::Duration;

use agents::{SessionId, SessionKey};
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::lock::{Lock, LockError};
use crate::{StateDir, durable, order};

pub use process::Process;

/// The format this version writes.
pub const SCHEMA: u32 = 1;

/// Adding an effect takes milliseconds; a hundred panes may add one at the same time.
const PATIENCE: Duration = Duration::from_secs(10);

/// More than anybody scrolls through, and few enough to be read in a moment.
const KEEP: usize = 1_000;

/// So many of the newest stay whatever the clock says: one that jumps ahead must not take the way back.
const KEEP_NEWEST: usize = 50;

/// How many letters of an id are shown at least.
const SHORT: usize = 8;

/// Why an operation was not written.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Another process holds the lock of the operations.
    #[error("wait for another change of the operations")]
    Lock(#[from] LockError),
    /// The file could not be written.
    #[error(transparent)]
    Write(#[from] durable::Error),
    /// A newer program has written it.
    #[error("change the operation {0}: a newer version of rekindle wrote it")]
    Newer(String),
    /// It is not there any more.
    #[error("find the operation {0}: it was removed")]
    Gone(String),
}

/// How an operation stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OperationState {
    /// Its process has not ended it yet.
    Running,
    /// It came to its end.
    Done,
    /// Its process is gone, and it never came to its end.
    Interrupted,
    /// All of it was undone.
    Undone,
}

impl OperationState {
    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            OperationState::Running => "running",
            OperationState::Done => "done",
            OperationState::Interrupted => "interrupted",
            OperationState::Undone => "undone",
        }
    }
}

/// What kind of change an effect is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EffectKind {
    /// A transcript was repaired.
    Repair,
    /// Another branch of a conversation was made the live one.
    Branch,
    /// A transcript came back from the vault.
    PutBack,
    /// A copy was written under a new id; the original stayed as it was.
    Copy,
    /// Panes were made and agents started.
    Restore,
    /// A conversation was erased.
    Forget,
    /// What was past its time was let go.
    Prune,
    /// Text was sent to a running agent.
    Inject,
    /// Something a newer version does.
    #[serde(other)]
    Unknown,
}

impl EffectKind {
    /// Why such a change cannot be undone; nothing where it can.
    pub fn not_undoable(self) -> Option<&'static str> {
        match self {
            EffectKind::Repair | EffectKind::Branch | EffectKind::PutBack | EffectKind::Restore => None,
            EffectKind::Copy => Some("it changed nothing that was there: remove the copy by hand"),
            EffectKind::Forget => Some("what is forgotten is erased for good"),
            EffectKind::Prune => Some("what was pruned is in the vault's trash for a week, then erased"),
            EffectKind::Inject => Some("the agent has read it"),
            EffectKind::Unknown => Some("a newer version of rekindle did it"),
        }
    }
}

/// How an effect stands.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EffectState {
    /// It was begun or done; the backup or the decision record has the details.
    #[default]
    Done,
    /// A guard stopped it, and nothing was changed.
    Refused,
    /// An undo has begun and has not ended.
    Undoing,
    /// It was undone.
    Undone,
    /// An undo has left it in force, because what is in it goes on.
    Kept,
}

/// One change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Effect {
    /// What kind.
    pub kind: EffectKind,
    /// How it stands.
    #[serde(default)]
    pub state: EffectState,
    /// The conversation, where it is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<SessionId>,
    /// The transcript.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<PathBuf>,
    /// The folder with what was there before, relative to the state directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backup: Option<PathBuf>,
    /// The decision record of a restore.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub restore_id: Option<String>,
    /// The save that was restored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub save: Option<String>,
    /// Conversations whose agents an undo of the restore has begun to close.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub closing: Vec<SessionKey>,
    /// What is in no copy at all, where parts of a conversation were joined without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missing: Option<String>,
    /// How many things it concerned, where it is about several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<u64>,
    /// The undone change that this one does again: the folder of its backup. A `redo` that was killed leaves both.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub redoes: Option<PathBuf>,
}

impl Effect {
    /// An effect of a kind, without details.
    pub fn new(kind: EffectKind) -> Effect {
        Effect {
            kind,
            state: EffectState::Done,
            session_id: None,
            path: None,
            backup: None,
            restore_id: None,
            save: None,
            closing: Vec::new(),
            missing: None,
            count: None,
            redoes: None,
        }
    }

    /// The same, about a conversation.
    #[must_use]
    pub fn of(mut self, session: &SessionId) -> Effect {
        self.session_id = Some(session.clone());
        self
    }
}

/// What one command changed.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Operation {
    /// The format's version.
    pub schema: u32,
    /// Twelve letters from `k` to `z`, which no beginning of a session's id can be.
    pub id: String,
    /// Its place among the operations and undos, which does not depend on a clock. Nothing where an older version did it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sequence: Option<u64>,
    /// The command, without what was typed behind it.
    pub command: String,
    /// When it began.
    pub started_at: Timestamp,
    /// When it ended.
    #[serde(default)]
    pub ended_at: Option<Timestamp>,
    /// How it stands.
    pub state: OperationState,
    /// When some of it was undone last.
    #[serde(default)]
    pub undone_at: Option<Timestamp>,
    /// The place of that undo among the operations and undos.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undo_sequence: Option<u64>,
    /// The process that runs it.
    #[serde(default)]
    pub process: Option<Process>,
    /// What it changed, in that order.
    pub effects: Vec<Effect>,
    /// Keys of the file that this version does not know.
    #[serde(skip)]
    others: Map<String, Value>,
}

impl Operation {
    /// One that begins now in this process.
    pub fn begin(command: &str, now: Timestamp) -> Operation {
        let process = Process::this();
        let seed = format!("{now} {command} {process:?}");
        Operation {
            schema: SCHEMA,
            id: id_of(&seed),
            sequence: None,
            command: command.to_owned(),
            started_at: now,
            ended_at: None,
            state: OperationState::Running,
            undone_at: None,
            undo_sequence: None,
            process: Some(process),
            effects: Vec::new(),
            others: Map::new(),
        }
    }

    /// One that an older version did without writing it down; `name` is what it is known by.
    pub fn of_older(name: &str, command: &str, at: Timestamp, state: OperationState) -> Operation {
        let mut operation = Operation::begin(command, at);
        (operation.id, operation.state, operation.process) = (id_of(name), state, None);
        operation.ended_at = (state != OperationState::Interrupted).then_some(at);
        operation
    }

    /// Why it cannot be undone; nothing where some of it can.
    pub fn not_undoable(&self) -> Option<&'static str> {
        let reasons = self.effects.iter().map(|effect| effect.kind.not_undoable());
        let mut all = reasons.collect::<Option<Vec<_>>>()?.into_iter();
        Some(all.next().unwrap_or("it changed nothing"))
    }

    /// Writes the file.
    fn store(&self, state: &StateDir) -> Result<(), Error> {
        if self.schema > SCHEMA {
            return Err(Error::Newer(self.id.clone()));
        }
        durable::private_dir(&state.operations())?;
        let mut whole = self.others.clone();
        if let Ok(Value::Object(known)) = serde_json::to_value(self) {
            whole.extend(known);
        }
        let text = format!("{:#}\n", Value::Object(whole));
        Ok(durable::replace(&path_of(state, self), text.as_bytes())?)
    }
}

/// Letters that name something: of 16, so that twelve of them are 48 bits.
fn id_of(name: &str) -> String {
    let hash = blake3::hash(name.as_bytes());
    let letter = |nibble: u8| char::from(b'z' - nibble);
    hash.as_bytes()[..6].iter().flat_map(|byte| [letter(byte >> 4), letter(byte & 15)]).collect()
}

fn path_of(state: &StateDir, operation: &Operation) -> PathBuf {
    let stamp = operation.started_at.strftime("%Y%m%dT%H%M%S.%3fZ");
    state.operations().join(format!("{stamp}-{}.json", operation.id))
}

/// Keeps every other process from writing operations, for one that rewrites their files by itself.
pub fn lock(state: &StateDir) -> Result<Lock, Error> {
    durable::private_dir(&state.locks())?;
    Ok(Lock::acquire(&state.locks().join("operations"), PATIENCE)?)
}

/// Every operation that can be read, newest first. One whose process is gone is interrupted.
pub fn list(state: &StateDir) -> Vec<Operation> {
    let all: Vec<Operation> = files(state).iter().filter_map(|path| read(path)).collect();
    let mut all = newest_first(all);
    for operation in &mut all {
        let gone = || operation.process.as_ref().is_none_or(|process| !process.is_running());
        if operation.state == OperationState::Running && gone() {
            operation.state = OperationState::Interrupted;
        }
    }
    all
}

/// An operation whose file cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DamagedOperation {
    /// The file.
    pub path: PathBuf,
    /// Its id, as the file's name says.
    pub id: String,
    /// When it began, as the file's name says.
    pub started_at: Option<Timestamp>,
}

/// Every operation whose file cannot be read, newest first: emptied, cut short, or another user's.
pub fn damaged(state: &StateDir) -> Vec<DamagedOperation> {
    let unreadable = files(state).into_iter().filter(|path| read(path).is_none());
    let mut found: Vec<DamagedOperation> = unreadable
        .map(|path| {
            let name = name_of(&path);
            let (stamp, id) = name.trim_end_matches(".json").rsplit_once('-').unwrap_or((&name, &name));
            let at = jiff::civil::DateTime::strptime("%Y%m%dT%H%M%S%.fZ", stamp).ok();
            let started_at = at.and_then(|at| at.to_zoned(jiff::tz::TimeZone::UTC).ok());
            DamagedOperation {
                id: id.to_owned(),
                started_at: started_at.map(|at| at.timestamp()),
                path: path.clone(),
            }
        })
        .collect();
    found.sort_by(|one, other| other.path.cmp(&one.path));
    found
}

/// The newest first, by their sequence numbers where they have some.
pub fn newest_first(mut all: Vec<Operation>) -> Vec<Operation> {
    all.sort_by(|one, other| other.id.cmp(&one.id));
    order::newest_first(all, |one| one.sequence, |one| one.started_at, Timestamp::now())
}

/// The number after all that were given. The operations are locked.
fn next_number(state: &StateDir) -> u64 {
    let all = files(state).into_iter().filter_map(|path| read(&path));
    let given = all.flat_map(|one| [one.sequence, one.undo_sequence]).flatten().max();
    given.unwrap_or_default().saturating_add(1)
}

/// Adds an operation as the newest, and lets go of those that ended longer ago than `keep`.
pub fn add(state: &StateDir, operation: &Operation, keep: Duration) -> Result<(), Error> {
    let _lock = lock(state)?;
    let sequence = Some(next_number(state));
    store_and_prune(state, &Operation { sequence, ..operation.clone() }, keep)
}

/// Adds one that an older version did: its time is all that is known of its place.
pub fn add_older(state: &StateDir, operation: &Operation, keep: Duration) -> Result<(), Error> {
    let _lock = lock(state)?;
    store_and_prune(state, operation, keep)
}

fn store_and_prune(state: &StateDir, operation: &Operation, keep: Duration) -> Result<(), Error> {
    operation.store(state)?;
    let since = SignedDuration::try_from(keep).ok().and_then(|keep| Timestamp::now().checked_sub(keep).ok());
    let all = list(state);
    let ended_before = |one: &Operation, since: Timestamp| one.ended_at.unwrap_or(one.started_at) < since;
    let old = |(at, one): &(usize, &Operation)| {
        *at >= KEEP || (*at >= KEEP_NEWEST && since.is_some_and(|since| ended_before(one, since)))
    };
    for (_, one) in all.iter().enumerate().filter(old).filter(|(_, one)| one.id != operation.id) {
        durable::remove_unsynced(&path_of(state, one))?;
    }
    Ok(())
}

/// Changes an operation as it is on disk; `None` from `change` removes it.
pub fn change(
    state: &StateDir,
    id: &str,
    change: impl FnOnce(Operation) -> Option<Operation>,
) -> Result<(), Error> {
    let _lock = lock(state)?;
    let path = files(state).into_iter().find(|path| name_of(path).ends_with(&format!("-{id}.json")));
    let Some((path, operation)) = path.and_then(|path| Some((path.clone(), read(&path)?))) else {
        return Err(Error::Gone(id.to_owned()));
    };
    let undone_at = operation.undone_at;
    match change(operation) {
        Some(mut changed) => {
            if changed.undone_at != undone_at {
                changed.undo_sequence = changed.undone_at.map(|_| next_number(state));
            }
            changed.store(state)
        }
        None => Ok(durable::remove(&path)?),
    }
}

/// The shortest beginning of each id that is no other's, of at least eight letters.
pub fn short<'a>(id: &'a str, all: &[Operation]) -> &'a str {
    let rivals = |length: usize| {
        all.iter().filter(|other| other.id != id && other.id.starts_with(&id[..length])).count()
    };
    let length = (SHORT..id.len()).find(|length| rivals(*length) == 0).unwrap_or(id.len());
    &id[..length.min(id.len())]
}

/// The operations whose id begins with a text; none where it can be no such beginning.
pub fn named<'a>(text: &str, all: &'a [Operation]) -> Vec<&'a Operation> {
    // Shorter ones would too often be the beginning of a name or a directory.
    const LEAST: usize = 4;
    let is_id = text.len() >= LEAST && text.bytes().all(|byte| (b'k'..=b'z').contains(&byte));
    all.iter().filter(|one| is_id && one.id.starts_with(text)).collect()
}

fn files(state: &StateDir) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(state.operations()).into_iter().flatten().flatten();
    let paths = entries.map(|entry| entry.path());
    paths
        .filter(|path| {
            let name = name_of(path);
            name.ends_with(".json") && !name.starts_with(durable::TEMPORARY_PREFIX)
        })
        .collect()
}

fn name_of(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

fn read(path: &Path) -> Option<Operation> {
    let bytes = crate::files::read_own(path).ok()?;
    let mut operation: Operation = serde_json::from_slice(&bytes).ok()?;
    operation.others = serde_json::from_slice(&bytes).ok()?;
    // An id is put together with others and cut by bytes: a file that holds anything else is not one of ours.
    operation.id.bytes().all(|byte| byte.is_ascii_lowercase()).then_some(operation)
}

#[cfg(test)]
mod tests;
