//! The undo of a restore: what it opened is closed, and counts as missing again.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use agents::SessionKey;
use agents::claude::Owner;
use jiff::Timestamp;
use layouts::{Save, Texts, UndoneRestore};
use recovery::{DecisionRecord, TakenBack, UndoStep, undo_plan};
use sessions::{Life, Settled};
use store::journal::{Entry, Journal};
use store::lock::Lock;
use store::operations::{self, Effect, EffectState, Operation};
use store::record::{SessionRecord, Status};
use store::saves::Loaded;
use tmux::Respawn;

use crate::commands::save::{PATIENCE, after_undo, saver};
use crate::context::Context;
use crate::exit::Failure;
use crate::output::say;
use crate::restoring;

const TMUX_DEADLINE: Duration = Duration::from_secs(5);

/// An agent takes a moment to end, and a settle a moment to hear of it.
const FAREWELL: Duration = Duration::from_secs(20);

/// What a conversation says of itself whose agent was ended with its restore: it is to be brought back as before.
const REASON: &str = "unknown";

/// Everything as it was looked at. While this is held, nobody restores or saves.
pub(super) struct Desk {
    pub(super) settled: Settled,
    alone: Lock,
}

impl Desk {
    pub(super) fn look(context: &Context) -> Result<Desk, Failure> {
        let alone = restoring::alone(context)?;
        Ok(Desk { settled: restoring::settled(context)?, alone })
    }

    /// What would become of the panes of a restore.
    pub(super) fn steps(&self, record: &DecisionRecord) -> Result<Vec<UndoStep>, Failure> {
        let sockets: BTreeSet<_> = record.panes.iter().map(|pane| pane.socket.clone()).collect();
        let alive = restoring::look(&sockets, &self.settled)?;
        Ok(undo_plan(record, &alive, &self.settled.records))
    }

    /// Closes what some restores of an operation have opened. Killed anywhere, the next undo does the rest: which agents are
    /// to be closed is on the disk before the first one is.
    pub(super) fn act(
        self,
        context: &Context,
        operation: &Operation,
        restores: &[(usize, DecisionRecord, Vec<UndoStep>)],
    ) -> Result<(), Failure> {
        let Desk { settled, alone } = self;
        let mut closing: Vec<SessionKey> = Vec::new();
        for (at, record, steps) in restores {
            let ended = steps.iter().filter(|step| step.is_closed()).filter_map(|step| step.session.clone());
            // An operation has no code: what it says to be closing counts only for sessions of this restore.
            let known = |session: &&SessionKey| record.panes.iter().any(|pane| pane.is_about(session));
            closing.extend(operation.effects[*at].closing.iter().filter(known).cloned().chain(ended));
        }
        mark(context, operation, restores, |effect| {
            (effect.state, effect.closing) = (EffectState::Undoing, closing.clone());
        })?;
        restoring::remember_screens(context, &settled, closing.iter());
        for step in restores.iter().flat_map(|(_, _, steps)| steps) {
            close(step)?;
        }
        as_before(context, &closing)?;
        let sources: Vec<_> = restores
            .iter()
            .filter_map(|(at, record, _)| source_of(context, &operation.effects[*at], record))
            .collect();
        drop(alone);
        for (loaded, save) in &sources {
            let texts = texts_of(loaded);
            after_undo(context, Some(UndoneRestore { save, texts: texts.as_ref() }))?;
        }
        for (_, record, steps) in restores {
            let undone = DecisionRecord { undone: Some(Timestamp::now()), ..record.clone() };
            undone.store(&context.repairer.state, &context.writing_key()?)?;
            restoring::note_undone(context, &record.restore_id)?;
            let closed = steps.iter().filter(|step| step.is_closed()).count();
            let entry = Entry::new(Timestamp::now(), "restore_undone")
                .with("restore", record.restore_id.as_str())
                .with("panes", closed as u64);
            Journal::at(context.repairer.state.journal()).append(&entry)?;
        }
        mark(context, operation, restores, |effect| effect.state = EffectState::Undone)
    }
}

fn mark(
    context: &Context,
    operation: &Operation,
    restores: &[(usize, DecisionRecord, Vec<UndoStep>)],
    change: impl Fn(&mut Effect),
) -> Result<(), Failure> {
    let ours = |effect: &&mut Effect| {
        let id = effect.restore_id.as_ref();
        restores.iter().any(|(_, record, _)| id == Some(&record.restore_id))
    };
    Ok(operations::change(&context.repairer.state, &operation.id, |mut operation| {
        operation.effects.iter_mut().filter(ours).for_each(&change);
        Some(operation)
    })?)
}

fn close(step: &UndoStep) -> Result<(), Failure> {
    match &step.what {
        TakenBack::Keep(_) => Ok(()),
        TakenBack::Close => {
            tmux::close(&step.socket, &[&step.id], TMUX_DEADLINE);
            Ok(())
        }
        TakenBack::Shell => {
            let shell = crate::pane::users_shell().to_string_lossy().into_owned();
            // Two words, so that no shell reads them.
            let words = vec!["env".to_owned(), shell];
            let (pane, cwd) = (step.id.clone(), step.cwd.to_string_lossy().into_owned());
            let respawn = Respawn { pane, cwd, variables: Vec::new(), words };
            Ok(tmux::respawn(&step.socket, &[respawn], TMUX_DEADLINE)?)
        }
    }
}

/// Closing a pane by hand means that its user is done with it; an undo does not: its conversations count as crashed, so
/// that they can be restored. That waits until their agents are gone, whose last words would say otherwise.
fn as_before(context: &Context, closed: &[SessionKey]) -> Result<(), Failure> {
    let settler = context.settler()?;
    let begun = Instant::now();
    for session in closed {
        while begun.elapsed() < FAREWELL {
            let settled = settler.settle(Timestamp::now(), PATIENCE)?;
            let Some(record) = settled.records.get(session) else { break };
            let lives = |record: &SessionRecord| {
                record.run().is_some_and(|run| settled.world.process(run.pid, run.proc_start) == Life::Alive)
            };
            // One that a killed restore had started may not have been heard yet, and takes as long to end.
            let expected = recovery::expected_transcript(session, Some(record));
            let owner = context.repairer.owners().of(session.id(), &expected);
            let is_owned = matches!(owner, Owner::Process(_));
            if record.status != Status::Active && !lives(record) && !is_owned {
                break;
            }
            pause();
        }
        let as_before = |record: &mut SessionRecord| {
            if record.status == Status::EndedCleanly {
                (record.status, record.reason) = (Status::Crashed, Some(REASON.to_owned()));
            }
        };
        settler.change(session, Timestamp::now(), PATIENCE, as_before)?;
    }
    Ok(())
}

#[expect(clippy::disallowed_methods, reason = "a poll interval: an agent that ends tells a file")]
fn pause() {
    std::thread::sleep(Duration::from_millis(50));
}

/// The save that was restored: the one on record, else the newest from before the restore that has its panes. Nothing
/// where one conversation was brought back by name.
pub(crate) fn source_of(
    context: &Context,
    effect: &Effect,
    record: &DecisionRecord,
) -> Option<(Loaded, Save)> {
    let saver = saver(context).ok()?;
    let load = |id: &str| {
        let loaded = store::saves::load(&saver.state, saver.key.reading(), id).ok()?;
        let save = Save::of(&loaded)?;
        Some((loaded, save))
    };
    let has = |save: &Save| {
        save.servers.iter().any(|server| {
            let mark = |pane: &tmux::PaneShot| server.tmux.mark(&pane.id);
            let ours = |mark: &String| record.panes.iter().any(|pane| pane.mark == *mark);
            server.tmux.panes().map(mark).any(|mark| ours(&mark))
        })
    };
    if record.panes.iter().all(|pane| pane.mark.starts_with("wanted-")) {
        return None;
    }
    let known = effect.save.as_deref().and_then(load);
    let found = known.or_else(|| {
        let listed = store::saves::list(&saver.state, saver.key.reading()).ok()?;
        let before = listed.generations.iter().filter(|save| save.head.saved_at <= record.at);
        before.filter_map(|save| load(&save.id)).find(|(_, save)| has(save))
    });
    if found.is_none() {
        say("rekindle: the save that was restored is no longer kept; the next restore leaves its panes out");
    }
    found
}

fn texts_of(loaded: &Loaded) -> Option<Texts> {
    let panes = layouts::unpack(&loaded.packed()?).ok()?;
    Some(Texts { panes, taken_at: loaded.head.scrollback_taken()? })
}
