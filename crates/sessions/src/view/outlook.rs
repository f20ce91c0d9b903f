//! What a restore would do with a conversation, by how sure its identity is.

use agents::claude::slug;
use store::record::{Grade, SessionRecord};

use super::{AgentView, State};

/// What a restore would do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outlook {
    /// Nothing: its agent runs.
    AlreadyThere,
    /// Nothing, for this reason.
    NotRestored(&'static str),
    /// It would be resumed by itself.
    Resumed,
    /// It would be resumed by itself, for pane, directory and transcript agree.
    ResumedByAgreement,
    /// It would be offered to the user, for this reason.
    Offered(String),
}

impl Outlook {
    /// The outlook of an agent; `record` is what is remembered of its conversation.
    pub fn of(agent: &AgentView, record: Option<&SessionRecord>) -> Outlook {
        if agent.is_live() {
            return Outlook::AlreadyThere;
        }
        if agent.one_shot {
            return Outlook::NotRestored("it answered one prompt and went");
        }
        if agent.nested {
            return Outlook::NotRestored("another agent started it");
        }
        if agent.state.value == State::Ended {
            return Outlook::NotRestored("it was ended by its user");
        }
        if agent.state.value == State::Unknown {
            return Outlook::NotRestored("whether it still runs cannot be told");
        }
        let Some(session) = &agent.session else {
            return Outlook::Offered("its conversation is not known".to_owned());
        };
        let Some(pane) = &agent.pane else { return Outlook::Offered("it was in no pane".to_owned()) };
        match (session.grade.min(pane.grade), record) {
            (Grade::Proven, _) => Outlook::Resumed,
            (Grade::Likely, Some(record)) => match disagreement(record) {
                None => Outlook::ResumedByAgreement,
                Some(why) => Outlook::Offered(format!("its identity is only likely, and {why}")),
            },
            (Grade::Likely, None) => {
                Outlook::Offered("its identity is only likely, and nothing is on record".to_owned())
            }
            (Grade::Guess, _) => Outlook::Offered("its identity is a guess".to_owned()),
        }
    }

    /// The word for scripts.
    pub fn word(&self) -> &'static str {
        match self {
            Outlook::AlreadyThere => "already_there",
            Outlook::NotRestored(_) => "not_restored",
            Outlook::Resumed | Outlook::ResumedByAgreement => "resumed",
            Outlook::Offered(_) => "offered",
        }
    }

    /// The sentence for people.
    pub fn sentence(&self) -> String {
        match self {
            Outlook::AlreadyThere => "a restore would leave it alone: its agent runs".to_owned(),
            Outlook::NotRestored(why) => format!("a restore would leave it alone: {why}"),
            Outlook::Resumed => "a restore would resume it by itself: what is known is proven".to_owned(),
            Outlook::ResumedByAgreement => {
                "a restore would resume it by itself: likely, and pane, directory and transcript agree"
                    .to_owned()
            }
            Outlook::Offered(why) => format!("a restore would offer it to you: {why}"),
        }
    }
}

/// Why pane, directory and transcript do not agree.
fn disagreement(record: &SessionRecord) -> Option<String> {
    let Some(place) = &record.place else { return Some("no pane is on record".to_owned()) };
    let Some(cwd) = &record.cwd else { return Some("its directory is not on record".to_owned()) };
    let folder = record.transcript_path.as_deref().and_then(|path| path.parent()?.file_name());
    let Some(folder) = folder else { return Some("its transcript is not on record".to_owned()) };
    if slug(&cwd.to_string_lossy()).is_none_or(|slug| folder != slug.as_str()) {
        return Some("its transcript belongs to another directory".to_owned());
    }
    let launched = record.run().and_then(|run| run.tmux.as_ref());
    if launched.is_some_and(|launched| launched.reference != place.reference) {
        return Some("its pane is called otherwise than at its start".to_owned());
    }
    None
}
