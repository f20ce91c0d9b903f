//! A restore while it runs: what becomes of each pane is written down as soon as it is known. A restore that is killed says
//! how far it came, and status lines that agents draw meanwhile show no figures of the restore before.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;

use agents::SessionKey;
use recovery::{DecisionRecord, Plan, Restored};
use store::operations::Process;
use store::record::SessionRecord;

use super::progress::Progress;
use super::{follow, name_panes, report};
use crate::context::Context;
use crate::exit::Failure;

/// A restore that runs.
pub(super) struct Running<'a> {
    context: &'a Context,
    plan: &'a Plan,
    progress: Progress<'a>,
    record: RefCell<DecisionRecord>,
    process: Process,
    /// Whether it has a record of its own. What comes of a pane that waited belongs to an earlier restore.
    is_recorded: bool,
    failed: Cell<Option<Failure>>,
}

impl<'a> Running<'a> {
    /// Begins a restore.
    pub(super) fn begin(
        context: &'a Context,
        records: &'a BTreeMap<SessionKey, SessionRecord>,
        plan: &'a Plan,
        record: DecisionRecord,
        is_recorded: bool,
    ) -> Running<'a> {
        let progress = Progress::new(plan, records, &record.by);
        let running = Running {
            context,
            plan,
            progress,
            record: RefCell::new(record),
            process: Process::this(),
            is_recorded,
            failed: Cell::new(None),
        };
        running.keep(running.write());
        running
    }

    /// Writes down what became of some panes.
    pub(super) fn note(&self, restored: &[Restored]) {
        let mut restored = restored.to_vec();
        name_panes(self.plan, &mut restored);
        restored.iter().for_each(|one| self.progress.told(one));
        self.record.borrow_mut().note(&restored);
        self.keep(self.write());
        self.keep(follow(self.context, self.plan, &restored));
    }

    /// The record with everything that was noted, and why something could not be written down meanwhile.
    pub(super) fn end(self) -> (DecisionRecord, Option<Failure>) {
        (self.record.into_inner(), self.failed.into_inner())
    }

    fn write(&self) -> Result<(), Failure> {
        if self.is_recorded {
            let record = self.record.borrow();
            record.store(&self.context.repairer.state, &self.context.writing_key()?)?;
            report::begun(&self.context.repairer.state, &record, &self.process)?;
        }
        Ok(())
    }

    /// A restore goes on where something could not be written down, and says so at its end.
    fn keep(&self, written: Result<(), Failure>) {
        if let Err(failure) = written {
            let first = self.failed.take();
            self.failed.set(Some(first.unwrap_or(failure)));
        }
    }
}
