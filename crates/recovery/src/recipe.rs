//! How the agent of a record is started: its own words, for whatever conversation it is to resume or begin.

use agents::SessionId;
use agents::claude::launch::{Argv, Bypass, Note, Refusal, Resume, Transcript, resume_argv};
use semver::Version;

use crate::decide::Act;

/// What the words of a start are made of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recipe {
    /// The words of the first start; nothing where the agent has overwritten them.
    pub(crate) recorded: Option<Vec<String>>,
    /// The version that was started with them.
    pub(crate) recorded_by: Version,
    /// The version that is there now.
    pub(crate) version: Version,
    /// Whether modes that ask nothing come back.
    pub(crate) bypass: Bypass,
    /// The conversation.
    pub(crate) session: SessionId,
    /// The one that begins where this one is not resumed.
    pub(crate) fresh: SessionId,
}

impl Recipe {
    /// The conversation that an agent is in after this.
    pub fn session(&self, act: Act) -> &SessionId {
        if act == Act::Fresh { &self.fresh } else { &self.session }
    }

    /// The words of a start.
    ///
    /// # Errors
    /// The words of the first start cannot be used again.
    pub fn argv(&self, act: Act) -> Result<Argv, Refusal> {
        resume_argv(&Resume {
            recorded: self.recorded.as_deref(),
            recorded_by: &self.recorded_by,
            version: &self.version,
            session: self.session(act),
            transcript: match act {
                Act::Fresh | Act::Begin => Transcript::NotYet,
                _ => Transcript::Exists,
            },
            bypass: self.bypass,
        })
    }
}

/// What its user should know of the words of a start.
pub(crate) fn in_words(note: &Note) -> String {
    match note {
        Note::FlagsUnknown => "the flags of its first start are not known: it starts without any".to_owned(),
        Note::BypassLeftOut(flag) => {
            format!("{flag} is left out: what bypasses permission questions comes back within a day only")
        }
    }
}
