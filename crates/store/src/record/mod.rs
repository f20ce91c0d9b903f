//! The session record, `session-health/<session-id>.lock`: the truth about one conversation.
//!
//! Readable with `cat`, diffable, sealed with the machine's key. Unknown keys are kept; a record of a newer program is
//! read and never written.

mod account_key;
mod file;
mod provenance;
mod recorded_runs;
mod run;

pub use account_key::{Account, SeveralClaims, key_among, key_for};
pub use file::{Held, RecordError, keys, load, set_aside, store};
pub use provenance::{GenuineRun, Machine, Provenance, strip_power, untrusted_since};
pub use recorded_runs::{SAID_GONE, recorded_runs};
pub use run::{HostPlace, Run, TmuxPlace};

use std::path::{Path, PathBuf};

use agents::SessionKey;
use agents::claude::config_of;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::age;

/// The version of a record.
pub const SCHEMA: u32 = 1;

/// How sure a fact is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Grade {
    /// Directory, time, task: offered, never acted on.
    Guess,
    /// Arguments, environment, pane option, set by a tool.
    Likely,
    /// The process's own word, with its terminal being the pane's.
    Proven,
}

/// What became of a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// An agent is in it.
    Active,
    /// The user ended it, or closed its pane while the server lived.
    EndedCleanly,
    /// Its agent is gone without the user's doing.
    Crashed,
}

/// What the agent is at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Doing {
    /// Works on a turn.
    Busy,
    /// Has ended its turn.
    Idle,
    /// Needs its user.
    Waiting,
    /// Shows a shell of its own.
    Shell,
}

/// What the agent was at, and since when.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Activity {
    /// What.
    pub state: Doing,
    /// Since when.
    pub since: Timestamp,
}

/// Where something that was said stands in the transcript; its text is not kept here.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spoken {
    /// The row.
    pub uuid: Option<String>,
    /// Where the row begins.
    pub offset: u64,
    /// When it was said.
    pub at: Option<Timestamp>,
}

/// Where a summary comes from, the least telling first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SummarySource {
    /// The user's last prompt.
    Prompt,
    /// The title the agent gave.
    Title,
    /// What a compaction left.
    Compaction,
}

/// Why something is believed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Evidence {
    /// What is believed: `session`, `pane`, `process`, `end`.
    pub fact: String,
    /// How sure it is.
    pub grade: Grade,
    /// Who says so: `hook`, `registry`, `process`, `pane_option`.
    pub source: String,
    /// What exactly was seen.
    pub detail: String,
    /// When.
    pub at: Timestamp,
}

/// How often something was killed for lack of memory in the control group of an agent, when it was last seen alive.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryKills {
    /// The kernel's file that counts.
    pub counter: PathBuf,
    /// What it said.
    pub kills: u64,
}

/// What the user said about a conversation.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Given {
    /// Its name.
    pub name: Option<String>,
    /// Its task.
    pub task: Option<String>,
    /// That it is not brought back by itself.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub no_auto_recover: bool,
}

/// What a record without a valid code says of its conversation: shown to people, told to no agent.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct UntrustedWords {
    /// Its name.
    pub name: Option<String>,
    /// Its task.
    pub task: Option<String>,
    /// What its user is said to have said.
    pub given: Given,
}

/// One conversation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionRecord {
    /// The version of the record.
    pub schema: u32,
    /// The conversation. The file holds the agent's own id; the mark of a second account stands in the file's name.
    #[serde(serialize_with = "bare_id")]
    pub session_id: SessionKey,
    /// Its first eight characters.
    #[serde(default)]
    pub short_id: String,
    /// The conversations it came from by `/clear`, a fork or a resume under a new id, oldest first.
    #[serde(default)]
    pub previous_ids: Vec<SessionKey>,
    /// The conversation its agent went on to.
    #[serde(default)]
    pub next_id: Option<SessionKey>,
    /// Its transcript.
    #[serde(default)]
    pub transcript_path: Option<PathBuf>,
    /// Whose it is, once that is known; never computed again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub account: Option<Account>,
    /// The directory it belongs to: where its first agent was started.
    #[serde(default)]
    pub project_dir: Option<PathBuf>,
    /// Where its agent works now.
    #[serde(default)]
    pub cwd: Option<PathBuf>,
    /// What it is called, for good: `baseName`, with a number where another living session has that name.
    #[serde(default)]
    pub name: Option<String>,
    /// What its name is made from: given, else its title, else the directory's name. Absent in records of 0.1.0.
    #[serde(default)]
    pub base_name: Option<String>,
    /// What it is about: given, else the first line of its summary.
    #[serde(default)]
    pub task: Option<String>,
    /// The user's own words.
    #[serde(default)]
    pub given: Given,
    /// What stood in place of name, task and given when the record was found without a valid code. The words come back when
    /// their user accepts them (`rekindle trust`).
    #[serde(default)]
    pub untrusted_words: Option<UntrustedWords>,
    /// The model it last used.
    #[serde(default)]
    pub model: Option<String>,
    /// What its agent may do without asking, by its last event.
    #[serde(default)]
    pub permission_mode: Option<String>,
    /// What became of it.
    pub status: Status,
    /// Why, where it is not active: the agent's reason for its end, or the reason of a crash.
    #[serde(default)]
    pub reason: Option<String>,
    /// When it was first seen.
    pub created: Timestamp,
    /// When it was last heard of.
    pub last_seen: Timestamp,
    /// Why its last turn broke off; nothing after one that did not.
    #[serde(default)]
    pub last_error: Option<String>,
    /// What its agent is at.
    #[serde(default)]
    pub activity: Option<Activity>,
    /// The user's last prompt.
    #[serde(default)]
    pub last_prompt: Option<Spoken>,
    /// The agent's last reply.
    #[serde(default)]
    pub last_reply: Option<Spoken>,
    /// How much of the context window is used, in per cent.
    #[serde(default)]
    pub context_used: Option<u32>,
    /// SHA-256 of the last exchange.
    #[serde(default)]
    pub context_hash: Option<String>,
    /// SHA-256 of directory and task: finds the conversation again when its pane has moved.
    #[serde(default)]
    pub place_hash: Option<String>,
    /// Restored first.
    #[serde(default)]
    pub persistent: bool,
    /// Where its agent is now; the run has where it was started.
    #[serde(default)]
    pub place: Option<TmuxPlace>,
    /// When its version was last compared with the newest.
    #[serde(default)]
    pub last_version_check: Option<Timestamp>,
    /// When it was last found idle.
    #[serde(default)]
    pub last_idle_check: Option<Timestamp>,
    /// How often something was killed for lack of memory around its agent, when that was last seen alive.
    #[serde(default)]
    pub memory_kills: Option<MemoryKills>,
    /// When the vault last took it.
    #[serde(default)]
    pub vaulted_at: Option<Timestamp>,
    /// Why what stands here is believed; the newest of each fact.
    #[serde(default)]
    pub evidence: Vec<Evidence>,
    /// Where its summary comes from: a compaction, a title, a prompt. A better one is not replaced by a lesser one.
    #[serde(default)]
    pub summary_source: Option<SummarySource>,
    /// How far its spool is folded in.
    #[serde(default)]
    pub spool_offset: u64,
    /// Which spool that offset belongs to: the hash of its first line. A spool that begins with another line is a new one.
    #[serde(default)]
    pub spool_head: Option<String>,
    /// Every process that was an agent in it, oldest first.
    #[serde(default)]
    pub runs: Vec<Run>,
}

/// Other programs read the record, and know the agent's id alone.
fn bare_id<S: serde::Serializer>(session: &SessionKey, serializer: S) -> Result<S::Ok, S::Error> {
    session.id().serialize(serializer)
}

/// The evidence that a clock was wrong when a session was last heard of.
const LAST_SEEN: &str = "last_seen";
const CLOCK: &str = "clock";

impl SessionRecord {
    /// A record of a conversation that was not known before.
    pub fn new(session: SessionKey, now: Timestamp) -> Self {
        Self {
            schema: SCHEMA,
            short_id: session.prefix(),
            session_id: session,
            previous_ids: Vec::new(),
            next_id: None,
            transcript_path: None,
            account: None,
            project_dir: None,
            cwd: None,
            name: None,
            base_name: None,
            task: None,
            given: Given::default(),
            untrusted_words: None,
            model: None,
            permission_mode: None,
            status: Status::Active,
            reason: None,
            created: now,
            last_seen: now,
            last_error: None,
            activity: None,
            last_prompt: None,
            last_reply: None,
            context_used: None,
            context_hash: None,
            place_hash: None,
            persistent: false,
            place: None,
            last_version_check: None,
            last_idle_check: None,
            memory_kills: None,
            vaulted_at: None,
            evidence: Vec::new(),
            summary_source: None,
            spool_offset: 0,
            spool_head: None,
            runs: Vec::new(),
        }
    }

    /// The newest process that is or was in it.
    pub fn run(&self) -> Option<&Run> {
        self.runs.last()
    }

    /// The processes before the newest one of which no end is known: each may still be in it.
    pub fn earlier_open_runs(&self) -> impl Iterator<Item = &Run> {
        self.runs.iter().rev().skip(1).filter(|run| run.ended_at.is_none())
    }

    /// Since when nobody is in it, where nobody is: its last agent's end, else when it was last heard of.
    pub fn gone_since(&self) -> Timestamp {
        self.run().and_then(|run| run.ended_at).unwrap_or(self.last_seen)
    }

    /// The run of this process.
    pub fn run_of(&mut self, pid: u32, start: u64) -> Option<&mut Run> {
        self.runs.iter_mut().rev().find(|run| run.is(pid, start))
    }

    /// The configuration directory: the newest run's, else the one its transcript lies in.
    pub fn config_dir(&self) -> Option<PathBuf> {
        let of_transcript = || config_of(self.transcript_path.as_deref()?).map(Path::to_path_buf);
        self.runs.iter().rev().find_map(|run| run.config_dir.clone()).or_else(of_transcript)
    }

    /// Takes back what was heard by a clock that was ahead: nobody knows when it was. From then on the session counts as heard
    /// until now at the latest, and as heard lately not before its agent says something again.
    pub fn distrust_clock(&mut self, now: Timestamp) {
        if let Some(activity) = &mut self.activity
            && age::is_ahead(activity.since, now)
        {
            activity.since = now;
        }
        if age::is_ahead(self.last_seen, now) {
            (self.last_seen, self.created) = (now, self.created.min(now));
            self.believe(Evidence {
                fact: LAST_SEEN.to_owned(),
                grade: Grade::Guess,
                source: CLOCK.to_owned(),
                detail: "the clock was ahead when its agent was last heard".to_owned(),
                at: now,
            });
        }
    }

    /// Whether nobody knows when it was last heard of: a clock was wrong.
    pub fn is_clock_doubted(&self, now: Timestamp) -> bool {
        age::is_ahead(self.last_seen, now) || self.clock_doubted_at().is_some()
    }

    fn clock_doubted_at(&self) -> Option<Timestamp> {
        let doubt = self.evidence.iter().find(|one| one.fact == LAST_SEEN && one.source == CLOCK);
        doubt.map(|evidence| evidence.at)
    }

    /// Its agent was heard at this time.
    pub fn hear(&mut self, at: Timestamp) {
        self.last_seen = self.last_seen.max(at);
        if self.clock_doubted_at().is_some_and(|doubted| at > doubted) {
            self.evidence.retain(|one| one.fact != LAST_SEEN || one.source != CLOCK);
        }
    }

    /// Notes why a fact is believed, in place of what was believed before.
    pub fn believe(&mut self, evidence: Evidence) {
        self.evidence.retain(|old| !(old.fact == evidence.fact && old.source == evidence.source));
        self.evidence.push(evidence);
    }
}
