//! The operations that a user can see: those on disk, and what an older version did without writing one.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use agents::SessionId;
use agents::claude::{ConfigDir, are_two_accounts, config_of};
use jiff::Timestamp;
use recovery::{BY_ITSELF, DecisionRecord};
use repair::{Change, RepairState};
use store::StateDir;
use store::operations::{self, Effect, EffectKind, EffectState, Operation, OperationState};

use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::output::say;
use crate::restoring::FROM_ITS_PANE;

/// Every operation, newest first.
pub(crate) struct History {
    pub(crate) all: Vec<Operation>,
    /// Those that have a file.
    filed: BTreeSet<String>,
    state_dir: PathBuf,
    restores: BTreeMap<String, DecisionRecord>,
    changes: BTreeMap<PathBuf, Change>,
    /// Folders of backups whose record cannot be read.
    damaged_changes: BTreeSet<PathBuf>,
    /// What cannot be listed because its record cannot be read.
    pub(crate) damaged: Vec<Damaged>,
}

/// An operation, or a change that no operation names, whose record cannot be read.
#[derive(Debug, Clone)]
pub(crate) struct Damaged {
    /// The operation's id; nothing where the record is a backup's.
    pub(crate) id: Option<String>,
    /// When it was, where a name tells.
    pub(crate) at: Option<Timestamp>,
    /// The record.
    pub(crate) path: PathBuf,
}

/// How an effect stands, by what is on disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Standing {
    /// It can be undone.
    InForce,
    /// It is in force: an undo has left it alone, because what is in it goes on.
    Kept,
    /// It was undone.
    Undone,
    /// A guard stopped it: nothing was changed.
    Refused,
    /// What an undo needs is no longer kept.
    Gone,
    /// The record in its backup cannot be read.
    Damaged,
    /// It cannot be undone.
    Lasting,
}

impl Standing {
    /// Whether it can be undone, at least where its user names it.
    pub(crate) fn is_in_force(self) -> bool {
        matches!(self, Standing::InForce | Standing::Kept)
    }

    pub(crate) fn word(self) -> &'static str {
        match self {
            Standing::InForce | Standing::Lasting => "done",
            Standing::Undone => "undone",
            Standing::Kept => "kept",
            Standing::Refused => "refused",
            Standing::Gone => "done_without_backup",
            Standing::Damaged => "damaged",
        }
    }
}

impl History {
    pub(crate) fn load(context: &Context) -> History {
        let state = &context.repairer.state;
        let mut history = History {
            all: operations::list(state),
            filed: BTreeSet::new(),
            state_dir: state.path().to_path_buf(),
            restores: recovery::decisions(state, context.reading_key().as_ref())
                .map(|record| (record.restore_id.clone(), record))
                .collect(),
            changes: context.repairer.changes().into_iter().map(|one| (one.backup.clone(), one)).collect(),
            damaged_changes: context.repairer.damaged_changes().into_iter().collect(),
            damaged: Vec::new(),
        };
        history.damaged = history.find_damaged(state);
        history.filed = history.all.iter().map(|operation| operation.id.clone()).collect();
        let mut older = history.older_repairs();
        older.extend(history.older_restores());
        history.all.extend(older);
        for at in 0..history.all.len() {
            history.drop_redone(at);
            history.all[at].state = history.state(&history.all[at]);
        }
        // One in which everything was refused, or that was killed before its first change, changed nothing.
        let standing: Vec<bool> = history.all.iter().map(|one| history.changed_something(one)).collect();
        let mut standing = standing.into_iter();
        history.all.retain(|_| standing.next().unwrap_or(true));
        history.all = operations::newest_first(history.all);
        history
    }

    fn find_damaged(&self, state: &StateDir) -> Vec<Damaged> {
        let operations = operations::damaged(state).into_iter();
        let operations =
            operations.map(|one| Damaged { id: Some(one.id), at: one.started_at, path: one.path });
        let effects = self.all.iter().flat_map(|operation| &operation.effects);
        let named: BTreeSet<&PathBuf> = effects.filter_map(|effect| effect.backup.as_ref()).collect();
        let changes = self.damaged_changes.iter().filter(|folder| !named.contains(folder));
        let changes = changes.map(|folder| Damaged {
            id: None,
            at: None,
            path: self.state_dir.join(folder).join("repair.json"),
        });
        operations.chain(changes).collect()
    }

    /// Says of each damaged record that it is passed over.
    pub(crate) fn say_damaged(&self) {
        for damaged in &self.damaged {
            say(&format!("rekindle: passed over, because its record is damaged: {}", damaged.path.display()));
        }
    }

    /// Leaves out changes that were made again: a `redo` that was killed leaves the undone one beside the new one.
    fn drop_redone(&mut self, at: usize) {
        let effects = &self.all[at].effects;
        let counts = |effect: &&Effect| self.standing(effect) != Standing::Refused;
        let redone: BTreeSet<PathBuf> =
            effects.iter().filter(counts).filter_map(|effect| effect.redoes.clone()).collect();
        let replaced = |effect: &Effect| effect.backup.as_ref().is_some_and(|one| redone.contains(one));
        self.all[at].effects.retain(|effect| !replaced(effect));
    }

    /// Finishes or gives up what a killed repair has left half done, unless one is running: that decides what there is to
    /// undo, and what to do again.
    pub(crate) fn finish_interrupted(self, context: &Context) -> Result<History, Failure> {
        let half_done = self.changes.values().any(|change| change.half_done);
        if !half_done || self.all.iter().any(|one| one.state == OperationState::Running) {
            return Ok(self);
        }
        context.repairer.settle_intents(None)?;
        Ok(History::load(context))
    }

    /// Repairs of a version that wrote no operations, or of a program that uses the library.
    fn older_repairs(&self) -> Vec<Operation> {
        let effects = || self.all.iter().flat_map(|operation| &operation.effects);
        let known: BTreeSet<_> = effects().filter_map(|effect| effect.backup.clone()).collect();
        let unknown = self.changes.values().filter(|change| !known.contains(&change.backup));
        let older = |change: &Change| {
            let (state, kind) = match change.state {
                RepairState::Undone => return None,
                RepairState::Done => (OperationState::Done, change.put_back),
                RepairState::Intent => (OperationState::Interrupted, change.put_back),
            };
            let name = change.backup.to_string_lossy();
            let command = if change.put_back { "vault restore" } else { "repair" };
            let mut operation = Operation::of_older(&name, command, change.at, state);
            let kind = if kind { EffectKind::PutBack } else { EffectKind::Repair };
            let mut effect = Effect::new(kind).of(&change.session);
            effect.path = Some(change.path.clone());
            effect.backup = Some(change.backup.clone());
            operation.effects.push(effect);
            Some(operation)
        };
        unknown.filter_map(older).collect()
    }

    fn older_restores(&self) -> Vec<Operation> {
        let effects = || self.all.iter().flat_map(|operation| &operation.effects);
        let known: BTreeSet<_> = effects().filter_map(|effect| effect.restore_id.clone()).collect();
        let unknown = self.restores.values().filter(|record| !known.contains(&record.restore_id));
        // One that was undone and done again has another record.
        let unknown = unknown.filter(|record| record.undone.is_none());
        let older = |record: &DecisionRecord| {
            let state = if record.finished { OperationState::Done } else { OperationState::Interrupted };
            let command = restore_command(&record.by);
            let mut operation = Operation::of_older(&record.restore_id, &command, record.at, state);
            operation.ended_at = record.finished_at;
            let mut effect = Effect::new(EffectKind::Restore);
            effect.restore_id = Some(record.restore_id.clone());
            operation.effects.push(effect);
            operation
        };
        unknown.map(older).collect()
    }

    /// How an operation stands: a part may have been undone by itself, or done again.
    fn state(&self, operation: &Operation) -> OperationState {
        if operation.state == OperationState::Running {
            return operation.state;
        }
        let has = |standing: Standing| operation.effects.iter().any(|one| self.standing(one) == standing);
        if has(Standing::InForce) && operation.state == OperationState::Undone {
            return OperationState::Done;
        }
        if has(Standing::Undone) && !has(Standing::InForce) && !has(Standing::Gone) {
            return OperationState::Undone;
        }
        operation.state
    }

    fn changed_something(&self, operation: &Operation) -> bool {
        let all_refused = operation.effects.iter().all(|one| self.standing(one) == Standing::Refused);
        operation.state == OperationState::Running || !all_refused
    }

    pub(crate) fn standing(&self, effect: &Effect) -> Standing {
        if effect.kind.not_undoable().is_some() {
            return Standing::Lasting;
        }
        match effect.state {
            EffectState::Refused => return Standing::Refused,
            EffectState::Undone => return Standing::Undone,
            EffectState::Kept => return Standing::Kept,
            EffectState::Undoing => return Standing::InForce,
            EffectState::Done => {}
        }
        if effect.kind == EffectKind::Restore {
            return match self.restore(effect) {
                None => Standing::Gone,
                Some(record) if record.undone.is_some() => Standing::Undone,
                Some(_) => Standing::InForce,
            };
        }
        match effect.backup.as_ref().and_then(|backup| self.changes.get(backup)) {
            None if effect.backup.as_ref().is_some_and(|folder| self.damaged_changes.contains(folder)) => {
                Standing::Damaged
            }
            // Killed after the copy and before its record, nothing was changed.
            None if effect.backup.as_ref().is_some_and(|folder| self.state_dir.join(folder).exists()) => {
                Standing::Refused
            }
            None => Standing::Gone,
            Some(change) if !change.applied => Standing::Refused,
            Some(change) if change.state == RepairState::Undone => Standing::Undone,
            Some(_) => Standing::InForce,
        }
    }

    /// The decision record of a restore, where this machine wrote it. Those of 0.1.0 have no code: they are listed alone.
    pub(crate) fn restore(&self, effect: &Effect) -> Option<&DecisionRecord> {
        self.restores.get(effect.restore_id.as_ref()?).filter(|record| record.is_genuine)
    }

    /// Why an operation cannot be undone; nothing where some of it can.
    pub(crate) fn not_undoable(&self, operation: &Operation) -> Option<&'static str> {
        let in_force = |effect: &Effect| self.standing(effect).is_in_force();
        if operation.effects.iter().any(in_force) {
            return None;
        }
        let damaged = operation.effects.iter().any(|effect| self.standing(effect) == Standing::Damaged);
        operation.not_undoable().or(Some(match operation.state {
            _ if damaged => "the record in its backup is damaged",
            OperationState::Undone => "it was undone",
            _ => "its backup is no longer kept",
        }))
    }

    /// An id as it is shown: what is shown can be typed.
    pub(crate) fn short<'a>(&self, operation: &'a Operation) -> &'a str {
        operations::short(&operation.id, &self.all)
    }

    /// The operation that a text names; nothing where it names none.
    pub(crate) fn named(&self, context: &Context, text: &str) -> Result<Option<&Operation>, Failure> {
        if let Some(damaged) = self.damaged.iter().find(|one| one.id.as_deref() == Some(text)) {
            let what = format!("the record of the operation {text} is damaged: {}", damaged.path.display());
            return Err(Failure::new(Exit::Refused, what)
                .hint("the bytes from before its changes are below vault/backups in the state directory"));
        }
        match operations::named(text, &self.all).as_slice() {
            [] => Ok(None),
            [only] if text.len() < only.id.len() && context.session(text).is_ok() => {
                let what = format!("{text:?} is the beginning of an operation, and a session or its name");
                Err(Failure::new(Exit::Usage, what).hint(format!("give the whole id: {}", only.id)))
            }
            [only] => Ok(Some(only)),
            many => {
                let what = format!("{text:?} is the beginning of {} operations; give more of it", many.len());
                Err(Failure::new(Exit::Usage, what).hint("rekindle history lists them"))
            }
        }
    }

    /// The newest operation that changed a conversation's transcript and was not undone, and which effect of it.
    pub(crate) fn changed(
        &self,
        session: &SessionId,
        config: Option<&ConfigDir>,
    ) -> Option<(&Operation, usize)> {
        // Another account's session with the same id is another session.
        let is_anothers = |effect: &Effect| {
            let theirs = effect.path.as_deref().and_then(config_of);
            config.zip(theirs).is_some_and(|(own, theirs)| are_two_accounts(own.path(), theirs))
        };
        self.all.iter().find_map(|operation| {
            let ours = |effect: &Effect| {
                effect.kind != EffectKind::Restore
                    && effect.session_id.as_ref() == Some(session)
                    && !is_anothers(effect)
                    && self.standing(effect).is_in_force()
            };
            Some((operation, operation.effects.iter().rposition(ours)?))
        })
    }

    /// Writes an operation down that an older version did, before something of it is changed.
    pub(crate) fn file(&self, context: &Context, operation: &Operation) -> Result<(), Failure> {
        if self.filed.contains(&operation.id) {
            return Ok(());
        }
        Ok(operations::add_older(&context.repairer.state, operation, context.config.vault.keep_backups)?)
    }
}

/// The command of a restore, by what asked for it.
pub(crate) fn restore_command(by: &str) -> String {
    match by {
        "manual" => "restore".to_owned(),
        "recover" => "recover".to_owned(),
        BY_ITSELF => "recover, by itself".to_owned(),
        FROM_ITS_PANE => "recover, from its pane".to_owned(),
        other => format!("restore --by {other}"),
    }
}

/// Calls a function for each effect, many at a time: the change of a transcript is watched for two seconds. Those of one
/// conversation stay in their order. The results are in the order of the effects.
pub(crate) fn each<'a, T: Send>(effects: &[&'a Effect], act: impl Fn(&'a Effect) -> T + Sync) -> Vec<T> {
    /// They wait for most of their time.
    const AT_ONCE: usize = 16;
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for at in 0..effects.len() {
        let same = |group: &&mut Vec<usize>| effects[group[0]].session_id == effects[at].session_id;
        match groups.iter_mut().find(same) {
            Some(group) => group.push(at),
            None => groups.push(vec![at]),
        }
    }
    let queue = Mutex::new(groups);
    let take = || queue.lock().unwrap_or_else(PoisonError::into_inner).pop();
    let done = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..effects.len().min(AT_ONCE) {
            scope.spawn(|| {
                while let Some(group) = take() {
                    for at in group {
                        let result = act(effects[at]);
                        done.lock().unwrap_or_else(PoisonError::into_inner).push((at, result));
                    }
                }
            });
        }
    });
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_by_key(|(at, _)| *at);
    done.into_iter().map(|(_, result)| result).collect()
}
