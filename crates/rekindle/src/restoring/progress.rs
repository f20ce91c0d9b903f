//! A line for each agent as it comes back: a restore of many takes many seconds.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::io::IsTerminal;

use agents::SessionKey;
use recovery::{BY_ITSELF, Plan, Restored};
use store::record::SessionRecord;

use super::agents_of;
use crate::commands::trigger::Trigger;
use crate::output::{one_line, say};

/// Tells on standard error how far a restore is, a line for each agent.
pub(super) struct Progress<'a> {
    agents: BTreeSet<&'a str>,
    speaks: bool,
    done: Cell<usize>,
    records: &'a BTreeMap<SessionKey, SessionRecord>,
}

impl<'a> Progress<'a> {
    pub(super) fn new(
        plan: &'a Plan,
        records: &'a BTreeMap<SessionKey, SessionRecord>,
        by: &str,
    ) -> Progress<'a> {
        let agents: BTreeSet<&str> = agents_of(plan).map(|step| step.mark.as_str()).collect();
        // What tmux or a timer has started would show the lines in a pane, or fill a log with them.
        let nobody_asked = by == BY_ITSELF || Trigger::AUTOMATIC.iter().any(|trigger| trigger.word() == by);
        // One agent is back before its line could be read.
        let speaks = agents.len() > 1 && (!nobody_asked || std::io::stderr().is_terminal());
        Progress { agents, speaks, done: Cell::new(0), records }
    }

    pub(super) fn told(&self, restored: &Restored) {
        if !self.agents.contains(restored.mark.as_str()) {
            return;
        }
        self.done.set(self.done.get() + 1);
        if self.speaks {
            say(&self.line(restored));
        }
    }

    /// `3/14  work:1.0  shop  resumed`.
    fn line(&self, restored: &Restored) -> String {
        let record = restored.session_id.as_ref().and_then(|session| self.records.get(session));
        let name = record.and_then(|record| record.name.as_deref()).unwrap_or_default();
        let parts = [&*restored.pane, &*one_line(name, 30), restored.outcome.word()];
        let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        format!("{}/{}  {}", self.done.get(), self.agents.len(), parts.join("  "))
    }
}
