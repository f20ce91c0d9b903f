//! How the agent of a record is started: its own words, for whatever conversation it is to resume or begin.

use agents::SessionKey;
use agents::claude::launch::{Argv, Bypass, Note, Refusal, Resume, Transcript, resume_argv};
use semver::Version;
use store::record::{GenuineRun, SessionRecord};

use crate::decide::Act;

/// What the words of a start are made of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recipe {
    /// The words of the first start.
    pub(crate) recorded: Launch,
    /// The version that was started with them.
    pub(crate) recorded_by: Version,
    /// The version that is there now.
    pub(crate) version: Version,
    /// Whether modes that ask nothing come back.
    pub(crate) bypass: Bypass,
    /// The conversation.
    pub(crate) session: SessionKey,
    /// The one that begins where this one is not resumed.
    pub(crate) fresh: SessionKey,
}

impl Recipe {
    /// What its user should know of a start whose flags no genuine run gives.
    pub(crate) fn says_untrusted(&self) -> Option<String> {
        let id = self.session.short();
        (self.recorded.0 == Recorded::Untrusted).then(|| {
            format!(
                "it starts without its recorded flags, because this machine did not write its record; \
                 `rekindle trust {id}` shows them"
            )
        })
    }

    /// The conversation that an agent is in after this.
    pub fn session(&self, act: Act) -> &SessionKey {
        if act == Act::Fresh { &self.fresh } else { &self.session }
    }

    /// The words of a start.
    ///
    /// # Errors
    /// The words of the first start cannot be used again.
    pub fn argv(&self, act: Act) -> Result<Argv, Refusal> {
        resume_argv(&Resume {
            recorded: self.recorded.words(),
            recorded_by: &self.recorded_by,
            version: &self.version,
            session: self.session(act).id(),
            transcript: match act {
                Act::Fresh | Act::Begin => Transcript::NotYet,
                _ => Transcript::Exists,
            },
            bypass: self.bypass,
        })
    }
}

/// The words of a run's first start, as far as they may be used again. Only a genuine run gives any.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Launch(Recorded);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Recorded {
    Words(Vec<String>),
    /// The agent has overwritten them, or no run is on record.
    Unknown,
    /// The record is not this machine's own.
    Untrusted,
}

impl Launch {
    /// The words of this run; a record without a genuine one gives none.
    pub(crate) fn of(record: Option<&SessionRecord>, genuine: Option<GenuineRun<'_>>) -> Launch {
        Launch(match (genuine, record.and_then(SessionRecord::run)) {
            (Some(run), _) => run.argv().map_or(Recorded::Unknown, |words| Recorded::Words(words.to_vec())),
            (None, Some(_)) => Recorded::Untrusted,
            (None, None) => Recorded::Unknown,
        })
    }

    fn words(&self) -> Option<&[String]> {
        match &self.0 {
            Recorded::Words(words) => Some(words),
            Recorded::Unknown | Recorded::Untrusted => None,
        }
    }
}

/// What its user should know of the words of a start.
pub(crate) fn in_words(note: &Note) -> String {
    match note {
        Note::FlagsUnknown => "its original flags are unknown, so it starts with none".to_owned(),
        Note::BypassLeftOut(flag) => {
            format!("{flag} is left out: what bypasses permission questions comes back within a day only")
        }
    }
}
