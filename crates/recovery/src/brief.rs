//! What an agent is told when it comes back: a note after a resume, the context where it begins anew, and the prompt with
//! which it goes on.

use std::path::PathBuf;

use agents::SessionKey;
use context::{Back, GoOn, Resumed, Returned, Short, ToolCall, tokens};
use jiff::tz::TimeZone;
use store::StateDir;
use store::durable;
use store::mac::Key;
use store::record::{Doing, SessionRecord};

use crate::act::Actor;
use crate::briefing::{Briefing, prepared, running};
use crate::decide::Act;
use crate::go_on::GoingOn;
use crate::outcome::Outcome;

/// What an agent is told at its start.
#[derive(Debug, Default)]
pub struct Told {
    /// By its SessionStart hook.
    pub by_hook: Option<String>,
    /// The prompt with which it goes on.
    pub prompt: Option<String>,
}

impl Told {
    /// About how many tokens its hook tells it.
    pub fn tokens(&self) -> usize {
        self.by_hook.as_deref().map_or(0, tokens)
    }
}

/// What telling needs to know.
pub struct Teller<'a> {
    /// What rekindle remembers.
    pub state: &'a StateDir,
    /// What is known of the conversation, where this machine may tell an agent.
    pub record: Option<&'a SessionRecord>,
    /// The machine's key, where it is here: text without its code is told to no agent.
    pub key: Option<&'a Key>,
    /// The user's time zone.
    pub zone: &'a TimeZone,
    /// Tell a resumed agent what happened.
    pub note_on_resume: bool,
    /// Whether it goes on by itself.
    pub go_on: GoingOn,
    /// Tell a fresh agent everything; the short context where there is nothing to gather it.
    pub briefing: Option<&'a Briefing<'a>>,
}

impl Teller<'_> {
    /// What the agent of a conversation is told, and a long brief with the file that it belongs into.
    pub fn told(
        &self,
        act: Act,
        session: &SessionKey,
        how: Outcome,
        open: Option<&[ToolCall]>,
    ) -> (Told, Option<(PathBuf, String)>) {
        let turn_ended = self.record.and_then(turn_ended);
        let mut file = None;
        let (by_hook, prompt, is_due) = match (act, self.briefing) {
            (Act::Begin, _) => return (Told::default(), None),
            (Act::Fresh, Some(briefing)) => {
                let brief = briefing.brief(session);
                let by_hook = brief.by_hook();
                file = brief.context_file.map(|file| (file, brief.text));
                (Some(by_hook), brief.prompt, true)
            }
            (Act::Fresh, None) => {
                let mut text = short(self.state, session, self.record, self.zone, self.key);
                for command in self.record.map(running).unwrap_or_default() {
                    text = format!("{}\n{command}\n", text.trim_end());
                }
                let go_on = GoOn { back: Back::Fresh, open, turn_ended };
                (Some(text), go_on.prompt(), go_on.is_due())
            }
            _ => {
                let go_on = GoOn { back: Back::Resumed, open, turn_ended };
                let note = self.record.filter(|_| self.note_on_resume);
                let note = note.map(|record| note_on(record, how, open, self.zone));
                (note, go_on.prompt(), go_on.is_due())
            }
        };
        (Told { by_hook, prompt: self.go_on.prompts(is_due).then_some(prompt) }, file)
    }
}

impl Actor<'_> {
    /// What the agent of a conversation is told; a long brief is written to its file.
    ///
    /// # Errors
    /// That file cannot be written.
    pub(crate) fn told(
        &self,
        act: Act,
        session: &SessionKey,
        how: Outcome,
        open: Option<&[ToolCall]>,
    ) -> Result<Told, durable::Error> {
        // Text of a record that is not this machine's own is shown to people, and told to no agent.
        let record = self.records.get(session).filter(|record| record.distrust(&self.machine).is_none());
        let teller = Teller {
            state: self.state,
            record,
            key: self.key.as_ref(),
            zone: &self.zone,
            note_on_resume: self.note_on_resume,
            go_on: self.go_on,
            briefing: self.briefing,
        };
        let (told, file) = teller.told(act, session, how, open);
        if let Some((file, text)) = file {
            if let Some(folder) = file.parent() {
                durable::private_dir(folder)?;
            }
            durable::replace(&file, text.as_bytes())?;
        }
        Ok(told)
    }
}

/// Whether the last turn of a conversation had ended; nothing where that is not known.
fn turn_ended(record: &SessionRecord) -> Option<bool> {
    record.activity.and_then(|activity| match activity.state {
        Doing::Idle => Some(true),
        Doing::Busy | Doing::Waiting => Some(false),
        Doing::Shell => None,
    })
}

/// The note for a resumed agent.
fn note_on(record: &SessionRecord, how: Outcome, open: Option<&[ToolCall]>, zone: &TimeZone) -> String {
    let returned = match how {
        Outcome::RepairedResumed => Returned::Mended,
        Outcome::VaultResumed => Returned::PutBack,
        _ => Returned::Whole,
    };
    let resumed = Resumed {
        name: record.name.as_deref(),
        session: &record.session_id.short(),
        task: record.task.as_deref(),
        reason: record.reason.as_deref(),
        returned,
        last_active: record.last_seen,
        zone,
        open,
        running: &running(record),
        turn_ended: turn_ended(record),
    };
    resumed.note()
}

/// The short context for a fresh agent: what was prepared when the last turn ended, else what the record knows.
fn short(
    state: &StateDir,
    session: &SessionKey,
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
        session: &session.short(),
        task: record.and_then(|record| record.task.as_deref()),
        last_active: record.map(|record| record.last_seen).unwrap_or_default(),
        ending: None,
        summary: None,
        zone,
        most: ROOMY,
    };
    short.text()
}
