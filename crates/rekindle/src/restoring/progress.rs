//! A line for each agent as it comes back: a restore of many takes many seconds.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::io::IsTerminal;

use agents::SessionKey;
use recovery::Restored;
use store::record::SessionRecord;

use crate::output::{one_line, say};

/// Tells on a terminal how far a restore is. Nothing is told where another program reads: the report has it all.
pub(super) struct Progress<'a> {
    total: usize,
    done: Cell<usize>,
    records: &'a BTreeMap<SessionKey, SessionRecord>,
}

impl<'a> Progress<'a> {
    pub(super) fn new(total: usize, records: &'a BTreeMap<SessionKey, SessionRecord>) -> Progress<'a> {
        Progress { total, done: Cell::new(0), records }
    }

    pub(super) fn told(&self, restored: &Restored) {
        self.done.set(self.done.get() + 1);
        // One agent is back before its line could be read.
        if self.total > 1 && std::io::stderr().is_terminal() {
            say(&self.line(restored));
        }
    }

    /// `3/14  work:1.0  shop  resumed`.
    fn line(&self, restored: &Restored) -> String {
        let record = restored.session_id.as_ref().and_then(|session| self.records.get(session));
        let name = record.and_then(|record| record.name.as_deref()).unwrap_or_default();
        let parts = [&*restored.pane, &*one_line(name, 30), restored.outcome.word()];
        let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        format!("{}/{}  {}", self.done.get(), self.total, parts.join("  "))
    }
}
