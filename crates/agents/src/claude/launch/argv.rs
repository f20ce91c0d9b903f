//! From the arguments of a recorded launch to those that resume its conversation.

use semver::Version;
use thiserror::Error;

use super::flags::{Flag, OnResume, Value, find};
use super::words::{Item, read};
use crate::SessionId;

/// What is known of a launch, and what is wanted.
#[derive(Debug, Clone, Copy)]
pub struct Resume<'a> {
    /// The words it was started with; `None` where the agent has overwritten them, as agents on Node do.
    pub recorded: Option<&'a [String]>,
    /// The version that was started with them.
    pub recorded_by: &'a Version,
    /// The version that will be started.
    pub version: &'a Version,
    /// The conversation.
    pub session: &'a SessionId,
    /// Whether it has a transcript.
    pub transcript: Transcript,
    /// What to do with a mode that asks nothing.
    pub bypass: Bypass,
}

/// Whether a conversation has a transcript: the agent refuses `--resume` without one and `--session-id` with one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transcript {
    /// It has one.
    Exists,
    /// Nothing was said in it yet.
    NotYet,
}

/// What to do with flags that bypass the agent's permission questions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bypass {
    /// Pass them on: the record is this machine's own and fresh.
    Keep,
    /// Leave them out and say so.
    LeaveOut,
    /// Refuse the resume.
    Refuse,
}

/// The words to start, the program first. No shell reads them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Argv {
    /// The words.
    pub words: Vec<String>,
    /// What the user should know of them.
    pub notes: Vec<Note>,
}

/// What a resume will not have of the first launch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Note {
    /// Its flags are not known: it is resumed without any.
    FlagsUnknown,
    /// This one was left out because it bypasses permission questions.
    BypassLeftOut(String),
}

/// Why there are no arguments for a resume; continues "cannot be resumed: ".
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Refusal {
    /// No agent mints such an id, and some hang when they are asked for one (B14).
    #[error("{0} is not an id of an agent's making")]
    NotAnId(SessionId),
    /// The words start something else.
    #[error("{0} is not an agent")]
    NotAnAgent(String),
    /// The words ran a sub-command.
    #[error("`claude {0}` holds no conversation")]
    SubCommand(String),
    /// A flag with which the agent only prints something.
    #[error("with {0} an agent holds no conversation")]
    NoConversation(String),
    /// A flag that is not in the table.
    #[error("agent {version} has no flag {flag}")]
    UnknownFlag {
        /// The flag as it was typed, without its value.
        flag: String,
        /// The version asked.
        version: Version,
    },
    /// A flag at the end that needs a value.
    #[error("{0} has no value")]
    MissingValue(String),
    /// Another program runs the conversation.
    #[error("with {0} another program runs the conversation")]
    Elsewhere(String),
    /// A flag that bypasses permissions, and the caller refuses those.
    #[error("{0} bypasses permission questions")]
    Bypass(String),
    /// The record does not hold the value: a secret was taken out of it, or it was no text.
    #[error("the value of {0} is not on record")]
    Withheld(String),
}

/// What `redact` leaves in the place of a secret, and what stands where bytes were no text.
const WITHHELD: [&str; 2] = ["[redacted: ", "\u{fffd}"];

/// The mode that asks nothing.
const BYPASS_MODE: &str = "bypassPermissions";

/// The arguments that resume a conversation: its identity first, then every flag of the first launch that still counts,
/// in order and as it was typed.
pub fn resume_argv(resume: &Resume<'_>) -> Result<Argv, Refusal> {
    if !resume.session.is_uuid() {
        return Err(Refusal::NotAnId(resume.session.clone()));
    }
    let identity = match resume.transcript {
        Transcript::Exists => "--resume",
        Transcript::NotYet => "--session-id",
    };
    let identity = [identity.to_owned(), resume.session.to_string()];
    let Some(recorded) = resume.recorded else {
        let words = ["claude".to_owned()].into_iter().chain(identity).collect();
        return Ok(Argv { words, notes: vec![Note::FlagsUnknown] });
    };
    let line = read(recorded, resume.recorded_by)?;
    let mut words: Vec<String> = line.program.to_vec();
    if words.iter().any(|word| withheld(word)) {
        return Err(Refusal::Withheld(words.swap_remove(0)));
    }
    words.extend(identity);
    let mut notes = Vec::new();
    for item in &line.items {
        match decide(item, resume)? {
            Decision::Keep => words.extend(for_version(item, resume.version)?),
            Decision::Drop => {}
            Decision::LeaveOut => notes.push(Note::BypassLeftOut(item.typed.clone())),
        }
    }
    Ok(Argv { words, notes })
}

enum Decision {
    Keep,
    Drop,
    LeaveOut,
}

fn decide(item: &Item, resume: &Resume<'_>) -> Result<Decision, Refusal> {
    let bypasses = |text: &String| text.contains(BYPASS_MODE);
    let bypass = match item.flag.on_resume {
        OnResume::Drop => return Ok(Decision::Drop),
        OnResume::InTranscript if resume.transcript == Transcript::Exists => return Ok(Decision::Drop),
        OnResume::Elsewhere => return Err(Refusal::Elsewhere(item.typed.clone())),
        OnResume::NoConversation => return Err(Refusal::NoConversation(item.typed.clone())),
        OnResume::Bypass => item.flag.value == Value::None || item.values.iter().any(bypasses),
        // Settings given as JSON may hold the mode too. Without them the agent would be another one: never left out.
        OnResume::Keep if item.flag.names == ["--settings"] => item.values.iter().any(bypasses),
        OnResume::Keep | OnResume::InTranscript => false,
    };
    match (bypass, resume.bypass) {
        (true, Bypass::LeaveOut) if item.flag.on_resume == OnResume::Bypass => return Ok(Decision::LeaveOut),
        (true, Bypass::Refuse | Bypass::LeaveOut) => return Err(Refusal::Bypass(item.typed.clone())),
        _ => {}
    }
    if item.values.iter().any(|value| withheld(value)) {
        return Err(Refusal::Withheld(item.typed.clone()));
    }
    Ok(Decision::Keep)
}

fn withheld(word: &str) -> bool {
    WITHHELD.iter().any(|mark| word.contains(mark))
}

/// A flag's words as the version to be started reads them.
fn for_version(item: &Item, version: &Version) -> Result<Vec<String>, Refusal> {
    let unknown = || Refusal::UnknownFlag { flag: item.typed.clone(), version: version.clone() };
    let now: Flag = find(&item.typed, version).ok_or_else(unknown)?;
    if now.value == item.flag.value {
        return Ok(item.words.clone());
    }
    match (item.flag.value, now.value) {
        // `--plugin-dir A B` of 2.1.31 is `--plugin-dir A --plugin-dir B` of 2.1.100; one value reads the same in both.
        (Value::Variadic, Value::Required) => {
            Ok(item.values.iter().flat_map(|value| [item.typed.clone(), value.clone()]).collect())
        }
        (Value::Required, Value::Variadic) => Ok(item.words.clone()),
        _ => Err(unknown()),
    }
}
