//! What becomes of one pane. Pure: everything that is known goes in, one decision with its reason comes out.
//!
//! **Nothing is guessed**: a pane gets back its own conversation or an explained refusal. Starting fresh costs one
//! history; resuming a stranger's hands over its authority.

#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use agents::SessionKey;
use agents::claude::Owner;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use store::age::is_within;
use store::config::{AutoResume, ResumeFallback};
use store::record::{Grade, Status};

use crate::known_accounts::UnknownAccount;
use crate::live_owner::LiveOwner;
use crate::plan::{Asked, Wanted};

/// What is known of the conversation that was in a pane.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remembered {
    /// The conversation.
    pub session: SessionKey,
    /// How sure it is that it belongs to this pane.
    pub grade: Grade,
    /// What became of it.
    pub status: Status,
    /// Why, in the record's word.
    pub reason: Option<String>,
    /// Why what its record says of its agent is not acted on; nothing where it is.
    pub distrusted: Option<&'static str>,
    /// Whether its user wants it back whatever happened.
    pub persistent: bool,
    /// When it was last heard of.
    pub last_seen: Timestamp,
    /// Whether nobody knows when that was: a clock was wrong.
    pub clock_doubted: bool,
    /// The directory of its account, where that is not looked at: nothing can be told of it then.
    pub out_of_sight: Option<PathBuf>,
    /// The directory of its account, where no genuine source names it: its settings could run anything.
    pub unknown_account: Option<UnknownAccount>,
    /// Who is in it now.
    pub owner: OwnerFact,
    /// What can be resumed of it.
    pub transcript: TranscriptFact,
    /// Whether the pane's place, its directory and the transcript's own directory say the same.
    pub places_agree: bool,
    /// Whether its directory is still there.
    pub directory_there: bool,
    /// Whether its transcript lies where an agent in that directory looks for it.
    pub transcript_there: bool,
    /// Whether its user has trusted that directory; nothing where it cannot be told.
    pub trusted: Option<bool>,
    /// Why its arguments cannot be used again; nothing where they can.
    pub argv_refused: Option<String>,
    /// What its user should know of how it is started again.
    pub notes: Vec<String>,
    /// Why its account has nothing left to work with.
    pub quota_spent: Option<String>,
}

/// Who is in a conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OwnerFact {
    /// Nobody.
    Nobody,
    /// An agent in this very pane.
    Here,
    /// An agent elsewhere.
    Elsewhere {
        /// Its process, and its pane where that is proven.
        whom: String,
        /// The command that leads there.
        way: Option<String>,
    },
    /// It cannot be told.
    Unknown {
        /// Why not.
        why: String,
    },
}

impl OwnerFact {
    /// From what is known of the owner, seen from inside the server on the socket `around` or from elsewhere.
    pub(crate) fn of(owner: Owner, live: Option<&LiveOwner>, around: Option<&Path>) -> OwnerFact {
        match (live, owner) {
            (Some(live), _) => OwnerFact::Elsewhere { whom: live.whom(), way: live.way(around) },
            (None, Owner::Nobody) => OwnerFact::Nobody,
            // The pane that a registry names may be a stranger's.
            (None, Owner::Process(holder)) => {
                OwnerFact::Elsewhere { whom: format!("process {}", holder.pid), way: None }
            }
            (None, Owner::Unknown { why }) => OwnerFact::Unknown { why },
        }
    }

    /// Why nobody may be started, where that is so.
    pub(crate) fn objection(&self, session: &SessionKey) -> Option<String> {
        match self {
            OwnerFact::Nobody | OwnerFact::Here => None,
            OwnerFact::Elsewhere { whom, way } => {
                let way = way.as_ref().map(|way| format!("; {way} goes there")).unwrap_or_default();
                Some(format!("{whom} is in it: two agents would write one conversation{way}"))
            }
            OwnerFact::Unknown { why } => Some(format!(
                "it cannot be told whether an agent is in it: {why}. If that agent is gone, \
                 `rekindle recover {session} --owner-gone` brings it back"
            )),
        }
    }
}

/// What can be resumed of a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TranscriptFact {
    /// All of it.
    Healthy,
    /// All of it, after a repair.
    Corrupted,
    /// Nothing is left in the file.
    Unrecoverable,
    /// There is a file, and nothing was ever said in it.
    Empty,
    /// There is no file.
    Missing {
        /// Whether the vault has it.
        in_vault: bool,
    },
    /// Nothing was ever said, so there never was a file.
    Never,
    /// The vault has another version, and nothing proves the order of the two: the user chooses.
    Undecided,
    /// It cannot be told: nothing may be done on the strength of that.
    Unknown,
}

/// What is done for a pane.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Act {
    /// Resume the conversation.
    Resume,
    /// Begin the conversation under its id: nothing was said in it yet.
    Begin,
    /// Repair the transcript and resume.
    RepairResume,
    /// Put the transcript back from the vault and resume.
    VaultResume,
    /// A fresh agent that is told what was going on.
    Fresh,
    /// Show what could be resumed, and wait for the user's word.
    Offer,
    /// Nothing but a shell, with the reason why.
    Refuse,
    /// A shell, as it was.
    Shell,
    /// Nothing: it is there.
    Nothing,
}

impl Act {
    /// Whether an agent is started.
    pub fn starts(self) -> bool {
        matches!(self, Act::Resume | Act::Begin | Act::RepairResume | Act::VaultResume | Act::Fresh)
    }

    /// Whether a pane that was made for it shows what it waits for.
    pub fn waits(self) -> bool {
        self.starts() || matches!(self, Act::Offer | Act::Refuse)
    }
}

impl Remembered {
    /// What is known, a sentence each: the evidence of a decision.
    pub fn says(&self) -> Vec<String> {
        let grade = match self.grade {
            Grade::Proven => "proven",
            Grade::Likely => "likely",
            Grade::Guess => "guessed",
        };
        let status = match (self.status, self.reason.as_deref()) {
            (Status::Active, _) => "not known to have ended".to_owned(),
            (Status::EndedCleanly, why) => format!("ended by its user ({})", why.unwrap_or("ended")),
            (Status::Crashed, why) => format!("crashed ({})", why.unwrap_or("unknown")),
        };
        let owner = match &self.owner {
            OwnerFact::Nobody => "nobody is in it".to_owned(),
            OwnerFact::Here => "its agent is there".to_owned(),
            OwnerFact::Elsewhere { whom, .. } => format!("{whom} is in it"),
            OwnerFact::Unknown { why } => format!("who is in it cannot be told: {why}"),
        };
        let transcript = match self.transcript {
            TranscriptFact::Healthy => "its transcript is whole",
            TranscriptFact::Corrupted => "its transcript is damaged and can be mended",
            TranscriptFact::Unrecoverable => "nothing is left in its transcript",
            TranscriptFact::Missing { in_vault: true } => "its transcript is gone; the vault has it",
            TranscriptFact::Missing { in_vault: false } => {
                "its transcript is gone; the vault does not have it"
            }
            TranscriptFact::Never | TranscriptFact::Empty => "nothing was ever said in it",
            TranscriptFact::Undecided => TWO_VERSIONS,
            TranscriptFact::Unknown => "what is left of its transcript cannot be told",
        };
        let mut says = vec![
            format!("that {} was here is {grade}", self.session.short()),
            status,
            owner,
            transcript.to_owned(),
            format!("last heard of at {}", self.last_seen.strftime("%Y-%m-%dT%H:%M:%SZ")),
        ];
        says.extend(self.notes.iter().cloned());
        says
    }
}

/// A decision, and why it was taken.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Decision {
    /// What is done.
    pub act: Act,
    /// Why, in a sentence.
    pub reason: String,
}

fn decision(act: Act, reason: impl Into<String>) -> Decision {
    Decision { act, reason: reason.into() }
}

/// Decides for a pane in which a conversation was.
pub fn decide(remembered: &Remembered, wanted: &Wanted) -> Decision {
    if let Some(decided) = guards(remembered, wanted) {
        return decided;
    }
    let mut decided = ladder(remembered.transcript, wanted.fallback);
    for note in &remembered.notes {
        decided.reason = format!("{}; {note}", decided.reason);
    }
    if wanted.resume == AutoResume::Never && decided.act.starts() {
        return decision(Act::Offer, "it waits for your word: claude.auto_resume_on_restore is false");
    }
    decided
}

/// What is said of a conversation of which file and vault have different versions.
const TWO_VERSIONS: &str =
    "the file and the vault have two versions of it, and rekindle cannot tell which one to resume";

/// What follows from the transcript alone.
pub(crate) fn ladder(transcript: TranscriptFact, fallback: ResumeFallback) -> Decision {
    let (act, why) = match transcript {
        TranscriptFact::Healthy => return decision(Act::Resume, "transcript is whole"),
        TranscriptFact::Never => return decision(Act::Begin, "nothing was said in it yet"),
        TranscriptFact::Unknown => {
            let why = "what is left of its transcript cannot be told: rekindle scan says why";
            return decision(Act::Refuse, why);
        }
        TranscriptFact::Undecided => return decision(Act::Refuse, TWO_VERSIONS),
        TranscriptFact::Corrupted => (Act::RepairResume, "its transcript is damaged and can be mended"),
        TranscriptFact::Missing { in_vault: true } => {
            (Act::VaultResume, "its transcript is gone, and the vault has it")
        }
        TranscriptFact::Missing { in_vault: false } => {
            (Act::Fresh, "its transcript is gone, and the vault does not have it")
        }
        TranscriptFact::Unrecoverable => (Act::Fresh, "nothing is left in its transcript"),
        // Neither `--resume` nor `--session-id` takes an id with a file in which nothing is said.
        TranscriptFact::Empty => (Act::Fresh, "nothing was ever said in it"),
    };
    let (instead, word) = match fallback {
        ResumeFallback::Repair => return decision(act, why),
        ResumeFallback::Fresh => (Act::Fresh, "fresh"),
        ResumeFallback::Shell => (Act::Shell, "shell"),
        ResumeFallback::Error => (Act::Refuse, "error"),
    };
    decision(instead, format!("{why}; claude.resume_fallback is {word}"))
}

/// What stands before any start, in the order in which a person would ask.
fn guards(remembered: &Remembered, wanted: &Wanted) -> Option<Decision> {
    if remembered.owner == OwnerFact::Here {
        return Some(decision(Act::Nothing, "its agent is there"));
    }
    if let Some(account) = &remembered.out_of_sight {
        let why = format!(
            "its account is in {}, which is not there, or not looked at since CLAUDE_CONFIG_DIR names another",
            account.display()
        );
        return Some(decision(Act::Refuse, why));
    }
    if let Some(why) = remembered.owner.objection(&remembered.session) {
        return Some(decision(Act::Refuse, why));
    }
    if remembered.status == Status::EndedCleanly && !remembered.persistent {
        let how = match remembered.reason.as_deref() {
            Some("pane_closed") => "its user closed the pane",
            Some("one_shot") => "it answered one prompt and went",
            _ => "its user ended it",
        };
        return Some(decision(Act::Shell, how));
    }
    if let Some(decided) = untrusted(remembered, wanted.asked) {
        return Some(decided);
    }
    if remembered.reason.as_deref() == Some("cleared") && !remembered.persistent {
        let why = "you had cleared it, and its agent was killed before the fresh conversation began";
        return Some(decision(Act::Offer, why));
    }
    if remembered.grade == Grade::Guess {
        return Some(decision(Act::Offer, "it is only guessed that this conversation was here"));
    }
    if remembered.grade == Grade::Likely && !remembered.places_agree {
        let why = "pane, directory and transcript do not say the same of where it was";
        return Some(decision(Act::Offer, why));
    }
    if remembered.clock_doubted {
        let why = "the clock was wrong when it was last heard of: rekindle cannot tell how long ago that was";
        return Some(decision(Act::Offer, why));
    }
    if !is_within(remembered.last_seen, wanted.now, wanted.stale_after) {
        return Some(decision(Act::Offer, "it was last heard of too long ago to come back by itself"));
    }
    if !remembered.directory_there {
        return Some(decision(Act::Refuse, "its directory is gone: make it again, then restore this pane"));
    }
    if !remembered.transcript_there {
        let why = "its transcript belongs to another directory: an agent in this one would not find it";
        return Some(decision(Act::Refuse, why));
    }
    if remembered.trusted == Some(false) {
        return Some(decision(Act::Refuse, "its directory is not trusted: that is yours to give"));
    }
    if let Some(why) = &remembered.argv_refused {
        return Some(decision(Act::Refuse, why.clone()));
    }
    remembered.quota_spent.as_ref().map(|why| decision(Act::Offer, why.clone()))
}

/// What a record decides that this machine did not write: nothing but that its conversation is offered. Its user may ask for the
/// conversation, and then for no more than that: an agent without flags in a directory that the user has trusted.
fn untrusted(remembered: &Remembered, asked: Asked) -> Option<Decision> {
    let id = remembered.session.short();
    if let Some(account) = &remembered.unknown_account {
        let how = format!("`rekindle trust {id}` shows what would start, and accepts it");
        return Some(decision(Act::Refuse, format!("{account}: {how}")));
    }
    let why = remembered.distrusted?;
    if asked != Asked::Name {
        let how = format!(
            "`rekindle recover {id}` resumes it without any recorded flags, `rekindle trust {id}` accepts its record"
        );
        return Some(decision(Act::Offer, format!("{why}: {how}")));
    }
    if remembered.trusted == Some(false) {
        return Some(decision(Act::Refuse, format!("{why}, and you have not trusted its directory")));
    }
    let left = ladder(remembered.transcript, ResumeFallback::Repair).act;
    matches!(left, Act::Fresh | Act::Begin).then(|| {
        let how = format!("`rekindle trust {id}` accepts its record");
        decision(Act::Refuse, format!("{why}, and no transcript of it is left to resume: {how}"))
    })
}
