//! What an agent is told when it comes back: three lines after a resume, the context where it begins anew.

use agents::SessionId;
use context::{Deed, Resumed, Returned, Short};
use jiff::tz::TimeZone;
use state::StateDir;
use state::durable;
use state::record::{Doing, SessionRecord};
use state::seal::Key;

use crate::act::Actor;
use crate::briefing::{prepared, running};
use crate::decide::Act;
use crate::outcome::Outcome;

/// What an agent is told at its start.
#[derive(Debug, Default)]
pub(crate) struct Told {
    /// By its SessionStart hook.
    pub(crate) by_hook: Option<String>,
    /// As its first prompt.
    pub(crate) prompt: Option<String>,
}

impl Actor<'_> {
    /// What the agent of a conversation is told; a long brief is written to its file.
    ///
    /// # Errors
    /// That file cannot be written.
    pub(crate) fn told(
        &self,
        act: Act,
        session: &SessionId,
        how: Outcome,
        open: &[Deed],
    ) -> Result<Told, durable::Error> {
        // Text of a record that is not this machine's own is shown to people, and told to no agent.
        let record = self.records.get(session).filter(|record| record.distrust(&self.machine).is_none());
        let by_hook = |text: String| Told { by_hook: Some(text), prompt: None };
        match (act, self.briefing, record) {
            (Act::Begin, ..) => Ok(Told::default()),
            (Act::Fresh, Some(briefing), _) => {
                let brief = briefing.brief(session);
                let Some(file) = &brief.context_file else { return Ok(by_hook(brief.text)) };
                if let Some(folder) = file.parent() {
                    durable::private_dir(folder)?;
                }
                durable::replace(file, brief.text.as_bytes())?;
                Ok(Told { by_hook: None, prompt: brief.first_prompt() })
            }
            (Act::Fresh, None, _) => {
                let mut text = short(self.state, session, record, &self.zone, self.key.as_ref());
                for command in record.map(running).unwrap_or_default() {
                    text = format!("{}\n{command}\n", text.trim_end());
                }
                Ok(by_hook(text))
            }
            (_, _, Some(record)) if self.note_on_resume => Ok(by_hook(note(record, how, open, &self.zone))),
            _ => Ok(Told::default()),
        }
    }
}

/// The note for a resumed agent.
fn note(record: &SessionRecord, how: Outcome, open: &[Deed], zone: &TimeZone) -> String {
    let returned = match how {
        Outcome::RepairedResumed => Returned::Mended,
        Outcome::VaultResumed => Returned::PutBack,
        _ => Returned::Whole,
    };
    let turn_ended = record.activity.and_then(|activity| match activity.state {
        Doing::Idle => Some(true),
        Doing::Busy | Doing::Waiting => Some(false),
        Doing::Shell => None,
    });
    let resumed = Resumed {
        reason: record.reason.as_deref(),
        returned,
        last_active: record.last_seen,
        zone,
        open,
        running: &running(record),
        turn_ended,
    };
    resumed.note()
}

/// The short context for a fresh agent: what was prepared when the last turn ended, else what the record knows.
fn short(
    state: &StateDir,
    session: &SessionId,
    record: Option<&SessionRecord>,
    zone: &TimeZone,
    key: Option<&Key>,
) -> String {
    if let (Some(_), Some(text)) = (record, prepared(state, session, key)) {
        return text;
    }
    /// Nothing but a head is in it: no limit is met.
    const ROOMY: usize = 2_000;
    let short = Short {
        name: record.and_then(|record| record.name.as_deref()),
        session: session.short(),
        task: record.and_then(|record| record.task.as_deref()),
        last_active: record.map(|record| record.last_seen).unwrap_or_default(),
        ending: None,
        summary: None,
        zone,
        most: ROOMY,
    };
    short.text()
}
