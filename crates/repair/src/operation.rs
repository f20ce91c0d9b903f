//! The operation that a command has open: every change of a transcript is added to it before the change happens.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use agents::SessionId;
use jiff::Timestamp;
use store::operations::{self, Effect, EffectKind, EffectState, Operation, OperationState};

use crate::backup::{self, Backup, RepairState};
use crate::{Error, Repairer};

/// The operation that is open, if one is.
#[derive(Debug, Default)]
pub(crate) struct Current(Mutex<Option<Open>>);

#[derive(Debug)]
struct Open {
    operation: Operation,
    /// Whether its file is there: it is written with the first effect.
    written: bool,
    /// What the change of a transcript counts as.
    change: EffectKind,
    keep: Duration,
    /// The backups of the changes that were added.
    backups: Vec<PathBuf>,
}

/// An operation while it is open; dropped, it has ended.
#[must_use = "the operation ends when this is dropped"]
pub struct OpenOperation<'a> {
    /// Nothing where it is a part of another one.
    repairer: Option<&'a Repairer>,
}

/// A change of a transcript that a backup tells of.
#[derive(Debug, Clone)]
pub struct Change {
    /// The backup's folder, relative to the state directory.
    pub backup: PathBuf,
    /// The conversation.
    pub session: SessionId,
    /// Its transcript.
    pub path: PathBuf,
    /// When.
    pub at: Timestamp,
    /// How it stands.
    pub state: RepairState,
    /// Whether the transcript came from the vault.
    pub put_back: bool,
    /// Whether no transcript was there before.
    pub absent: bool,
    /// Whether the transcript was changed at all: a guard or a kill may have come first.
    pub applied: bool,
    /// Whether a kill left something of it beside the transcript that `settle_intents` settles.
    pub half_done: bool,
}

impl Current {
    fn get(&self) -> MutexGuard<'_, Option<Open>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Repairer {
    /// Begins an operation: what is changed from now on belongs to it. Within another operation it belongs to that one.
    /// Operations that ended longer ago than `keep` are let go.
    pub fn begin_operation(&self, command: &str, keep: Duration) -> OpenOperation<'_> {
        self.hold(Open {
            operation: Operation::begin(command, Timestamp::now()),
            written: false,
            change: EffectKind::Repair,
            keep,
            backups: Vec::new(),
        })
    }

    /// The same for a command that makes another branch the live one.
    pub fn begin_branch(&self, command: &str, keep: Duration) -> OpenOperation<'_> {
        let opened = self.begin_operation(command, keep);
        if let Some(open) = self.operation.get().as_mut() {
            open.change = EffectKind::Branch;
        }
        opened
    }

    /// Opens an operation that is there: what is changed from now on is added to it.
    pub fn reopen_operation(&self, operation: &Operation) -> OpenOperation<'_> {
        let change = match operation.effects.first().map(|effect| effect.kind) {
            Some(EffectKind::Branch) => EffectKind::Branch,
            _ => EffectKind::Repair,
        };
        let (operation, keep) = (operation.clone(), Duration::MAX);
        self.hold(Open { operation, written: true, change, keep, backups: Vec::new() })
    }

    fn hold(&self, open: Open) -> OpenOperation<'_> {
        let mut current = self.operation.get();
        if current.is_some() {
            return OpenOperation { repairer: None };
        }
        *current = Some(open);
        OpenOperation { repairer: Some(self) }
    }

    /// The id of the operation that is open.
    pub fn operation(&self) -> Option<String> {
        self.operation.get().as_ref().map(|open| open.operation.id.clone())
    }

    /// Adds an effect to the operation that is open, on the disk, before it happens.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn note_effect(&self, effect: Effect) -> Result<(), Error> {
        let mut current = self.operation.get();
        let Some(open) = current.as_mut() else { return Ok(()) };
        open.backups.extend(effect.backup.clone());
        if open.written {
            return Ok(operations::change(&self.state, &open.operation.id, |mut operation| {
                operation.effects.push(effect);
                Some(operation)
            })?);
        }
        open.operation.effects.push(effect);
        operations::add(&self.state, &open.operation, open.keep)?;
        open.written = true;
        Ok(())
    }

    /// Adds the change of a transcript to the operation that is open; `redoes` is the undone change that it makes again.
    pub(crate) fn note_change(
        &self,
        session: &SessionId,
        path: &Path,
        backup: &Backup,
        put_back: bool,
        redoes: Option<&Backup>,
    ) -> Result<(), Error> {
        let Some(change) = self.operation.get().as_ref().map(|open| open.change) else { return Ok(()) };
        let put_back = put_back && change == EffectKind::Repair;
        let mut effect = Effect::new(if put_back { EffectKind::PutBack } else { change }).of(session);
        effect.path = Some(path.to_path_buf());
        effect.backup = Some(self.within_state(&backup.folder));
        effect.redoes = redoes.map(|undone| self.within_state(&undone.folder));
        self.note_effect(effect)
    }

    /// Adds a copy under a new id to the operation that is open.
    pub(crate) fn note_copy(&self, session: &SessionId, path: &Path) -> Result<(), Error> {
        let mut effect = Effect::new(EffectKind::Copy).of(session);
        effect.path = Some(path.to_path_buf());
        self.note_effect(effect)
    }

    /// Keeps with the last change of a conversation what could not be put back, and in the journal: once the parts are joined,
    /// nothing in the transcript shows it any more.
    pub(crate) fn note_missing(&self, session: &SessionId, missing: &str) -> Result<(), Error> {
        self.tell("rows_missing", |entry| entry.with("sessionId", session.as_str()).with("what", missing))?;
        let Some(open) = self.operation() else { return Ok(()) };
        Ok(operations::change(&self.state, &open, |mut operation| {
            let of_session = |effect: &&mut Effect| effect.session_id.as_ref() == Some(session);
            if let Some(effect) = operation.effects.iter_mut().rev().find(of_session) {
                effect.missing = Some(missing.to_owned());
            }
            Some(operation)
        })?)
    }

    /// What is missing from transcripts, by the changes of them that are in force: a newer copy that was put back whole ends
    /// it, mending the file does not.
    pub fn missing_rows(&self) -> HashMap<PathBuf, String> {
        let newest_first = operations::list(&self.state).into_iter();
        let effects = newest_first.flat_map(|operation| operation.effects.into_iter().rev());
        let in_force = effects.filter(|effect| matches!(effect.state, EffectState::Done | EffectState::Kept));
        let decides = |effect: &Effect| effect.missing.is_some() || effect.kind == EffectKind::PutBack;
        let mut known: HashMap<PathBuf, Option<String>> = HashMap::new();
        for effect in in_force.filter(decides) {
            if let Some(path) = effect.path {
                known.entry(path).or_insert(effect.missing);
            }
        }
        known.into_iter().filter_map(|(path, missing)| Some((path, missing?))).collect()
    }

    fn close(&self) -> Result<(), Error> {
        let Some(open) = self.operation.get().take().filter(|open| open.written) else { return Ok(()) };
        Ok(operations::change(&self.state, &open.operation.id, |mut operation| {
            for effect in &mut operation.effects {
                let ours = |folder: &&PathBuf| open.backups.contains(folder);
                let Some(folder) = effect.backup.as_ref().filter(ours) else { continue };
                let state = self.change(folder).map(|change| change.state);
                if matches!(state, None | Some(RepairState::Undone)) {
                    effect.state = EffectState::Refused;
                }
            }
            if operation.state == OperationState::Running {
                (operation.state, operation.ended_at) = (OperationState::Done, Some(Timestamp::now()));
            }
            let changed = operation.effects.iter().any(|effect| effect.state != EffectState::Refused);
            changed.then_some(operation)
        })?)
    }

    /// Every change of a transcript that a backup tells of, newest first.
    pub fn changes(&self) -> Vec<Change> {
        let all = backup::repairs(&self.vault.backups(), None).into_iter();
        all.filter_map(|(backup, _)| self.change(&backup.folder)).collect()
    }

    /// The folders of backups whose record cannot be read, relative to the state directory.
    pub fn damaged_changes(&self) -> Vec<PathBuf> {
        let damaged = backup::damaged(&self.vault.backups());
        damaged.into_iter().map(|backup| self.within_state(&backup.folder)).collect()
    }

    /// The change that a backup tells of: its folder, whole or relative to the state directory.
    pub fn change(&self, backup: &Path) -> Option<Change> {
        let folder = self.state.path().join(backup);
        let record = Backup::at(folder.clone()).record().filter(|record| record.undoes.is_none())?;
        let watched = record.watched.is_some();
        Some(Change {
            half_done: record.state == RepairState::Intent || (!watched && record.aside.exists()),
            backup: self.within_state(&folder),
            session: SessionId::new(&record.session_id).ok()?,
            path: record.path,
            at: record.at,
            state: record.state,
            put_back: record.absent || record.classes.is_empty(),
            absent: record.absent,
            applied: !record.not_applied,
        })
    }

    fn within_state(&self, folder: &Path) -> PathBuf {
        folder.strip_prefix(self.state.path()).unwrap_or(folder).to_path_buf()
    }
}

impl Drop for OpenOperation<'_> {
    fn drop(&mut self) {
        // One that cannot be ended is shown as interrupted, and can be undone all the same.
        let _ = self.repairer.map(Repairer::close);
    }
}
