//! What is known of a machine before it is judged: plain values, so that every check can be tried on hand-made ones.

use std::path::PathBuf;

use agents::claude::versions::Seen;
use integrate::safety::UnsafeEvent;
use integrate::settings::Reading;
use jiff::Timestamp;
use semver::Version;
use sessions::alarm::{Space, Sweep};

/// Everything that is judged.
#[derive(Debug, Clone, Default)]
pub struct Facts {
    /// When it was looked at.
    pub now: Timestamp,
    /// Whether `PATH` has this program under its name.
    pub on_path: bool,
    /// The agents' configuration directories, the main one first.
    pub sites: Vec<SiteFacts>,
    /// The links into the state directory; none where there is no main directory.
    pub links: Vec<LinkFacts>,
    /// An organisation's settings.
    pub managed: ManagedFacts,
    /// The agents.
    pub agents: AgentFacts,
    /// tmux.
    pub tmux: TmuxFacts,
    /// What rekindle remembers.
    pub state: StateFacts,
    /// The mirror of conversations.
    pub vault: VaultFacts,
    /// File systems, each once.
    pub disks: Vec<(PathBuf, Space)>,
    /// The kind of network file system that the state lies on.
    pub network: Option<&'static str>,
    /// rekindle's own configuration.
    pub config: ConfigFacts,
}

/// One configuration directory.
#[derive(Debug, Clone, Default)]
pub struct SiteFacts {
    /// The directory.
    pub path: PathBuf,
    /// Whether it is there.
    pub there: bool,
    /// What its settings say, or why they cannot be understood.
    pub settings: Settings,
    /// The programs that our hooks call there.
    pub programs: Vec<(PathBuf, Called)>,
    /// Events that make an agent in use drop the whole file.
    pub unsafe_events: Vec<UnsafeEvent>,
    /// Events that all agents in use know and that do not call us.
    pub missing_events: Vec<&'static str>,
    /// `init` left its mark for this directory: a plugin's hooks yield.
    pub marked: bool,
    /// The agents that use it.
    pub agents: Vec<Seen>,
    /// What the agent will delete there.
    pub sweep: Option<Sweep>,
}

/// A settings file as it was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Settings {
    /// It says this; a missing file says nothing.
    Read(Reading),
    /// It cannot be read or understood.
    Broken(String),
}

impl Default for Settings {
    fn default() -> Settings {
        Settings::Read(Reading::default())
    }
}

impl SiteFacts {
    /// What its settings say, where they can be understood.
    pub fn reading(&self) -> Option<&Reading> {
        match &self.settings {
            Settings::Read(reading) => Some(reading),
            Settings::Broken(_) => None,
        }
    }

    /// Whether hooks of ours stand in its settings.
    pub fn wired(&self) -> bool {
        self.reading().is_some_and(|reading| reading.events.iter().any(|event| event.ours))
    }

    /// Whether the plugin is enabled there.
    pub fn plugin(&self) -> bool {
        self.reading().is_some_and(|reading| reading.plugin)
    }
}

/// The program that a hook calls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Called {
    /// This one.
    Same,
    /// Nothing that could be run is there.
    Missing,
    /// Another one, and what version it says it is.
    Other(Option<String>),
}

/// One of the links into the state directory.
#[derive(Debug, Clone)]
pub struct LinkFacts {
    /// Where it stands.
    pub path: PathBuf,
    /// What stands there.
    pub found: LinkFound,
}

/// What stands in a link's place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinkFound {
    /// Our link.
    Ours,
    /// Nothing.
    Nothing,
    /// A folder, which could be moved in.
    Folder,
    /// Something else.
    Foreign,
}

/// What an organisation's managed settings say.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ManagedFacts {
    /// Only hooks of the organisation run.
    pub hooks_only: bool,
    /// No hooks run at all.
    pub hooks_disabled: bool,
    /// After how many days conversations are deleted.
    pub cleanup_days: Option<u64>,
}

/// The agents that are installed and that run.
#[derive(Debug, Clone, Default)]
pub struct AgentFacts {
    /// `claude` on `PATH`, and its version where it can be told.
    pub on_path: Option<(PathBuf, Option<Version>)>,
    /// Installed agents that run on Node.
    pub on_node: Vec<Seen>,
    /// Running agents that were started with what another agent sets for its children.
    pub inheriting: Vec<Inheriting>,
    /// Variables of an agent in the environment that this check runs in.
    pub inherited_here: Vec<String>,
    /// Agents that crashed lately and are not back, each by its name and short id.
    pub crashed: Vec<String>,
    /// How many of them have a pane that is gone and that the current save holds.
    pub held_by_save: usize,
}

/// A running agent that may save nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inheriting {
    /// Its process.
    pub pid: u32,
    /// Where it works.
    pub cwd: Option<String>,
    /// The variables.
    pub variables: Vec<String>,
}

/// tmux and its servers.
#[derive(Debug, Clone, Default)]
pub struct TmuxFacts {
    /// The one that is installed.
    pub installed: tmux::Installed,
    /// Whether its configuration was wired (`init --tmux`).
    pub wired: bool,
    /// The servers that could be found.
    pub servers: Vec<ServerFacts>,
    /// Whether processes of this user live on after the last logout; nothing where no logind says.
    pub linger: Option<bool>,
}

/// One tmux server.
#[derive(Debug, Clone, Default)]
pub struct ServerFacts {
    /// Its socket.
    pub socket: PathBuf,
    /// Its version, or why it did not answer.
    pub answer: Answer,
    /// It belongs to a login session, and goes with it.
    pub in_login_session: bool,
    /// Whether it calls us when something changes.
    pub hooked: bool,
    /// The options that its user has set.
    pub options: Vec<(String, String)>,
    /// Whether its tmux-resurrect calls others when it has restored; nothing where it has none, or that cannot be read.
    pub resurrect_calls: Option<bool>,
}

/// What a server answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// Its version.
    Version(String),
    /// Why it did not answer.
    Silent(String),
}

impl Default for Answer {
    fn default() -> Answer {
        Answer::Version(String::new())
    }
}

/// What rekindle remembers.
#[derive(Debug, Clone, Default)]
pub struct StateFacts {
    /// The directory.
    pub path: PathBuf,
    /// What stands there.
    pub found: StateFound,
    /// The directory's mode, where others may read it.
    pub open: Option<u32>,
    /// Files and folders in it that others could read.
    pub open_inside: Vec<(PathBuf, u32)>,
    /// The machine's key.
    pub key: KeyFacts,
    /// Session records.
    pub records: RecordFacts,
    /// Since when everything automatic is paused; nothing where it is not.
    pub paused: Option<Timestamp>,
    /// Sessions whose events wait outside of the state directory.
    pub in_refuge: usize,
    /// Sessions with events that no settle took in.
    pub unsettled: usize,
    /// Errors of the last day.
    pub errors: Vec<LogLine>,
    /// The newest time in the journal.
    pub newest_journal: Option<Timestamp>,
}

/// What stands at the state directory's path.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum StateFound {
    /// Nothing yet.
    #[default]
    Nothing,
    /// Ours.
    Ours,
    /// Another user's.
    Foreign {
        /// Who owns it.
        owner: u32,
        /// Who looks.
        user: u32,
    },
    /// It cannot be looked at.
    Unreadable(String),
}

/// The machine's key.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KeyFacts {
    /// Where it is, or should be.
    pub path: PathBuf,
    /// What is there.
    pub found: KeyFound,
}

/// What stands in the key's place.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum KeyFound {
    /// Nothing.
    #[default]
    Nothing,
    /// A key, and its mode.
    Key(u32),
    /// Something that is no key.
    Broken,
}

/// Session records.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RecordFacts {
    /// How many there are.
    pub all: usize,
    /// Of those, how many were not written here.
    pub foreign: usize,
    /// Those that cannot be read or understood.
    pub broken: Vec<PathBuf>,
    /// How many a newer program wrote.
    pub newer: usize,
}

/// A line of a log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogLine {
    /// When.
    pub at: Timestamp,
    /// What it says.
    pub text: String,
}

/// The mirror of conversations.
#[derive(Debug, Clone, Default)]
pub struct VaultFacts {
    /// When it was last brought up to date.
    pub synced: Option<Timestamp>,
    /// How many conversations the agents have.
    pub transcripts: usize,
    /// When the newest of them was written.
    pub newest_transcript: Option<Timestamp>,
    /// Conversations that the last sync could not copy, with the reason.
    pub unmirrored: Vec<String>,
    /// Conversations that lost something which the vault has; the short id, and what happened.
    pub losses: Vec<String>,
    /// Conversations that a repair would mend; short ids.
    pub damaged: Vec<String>,
    /// Damaged conversations whose agents run, which no repair touches; short ids.
    pub damaged_live: Vec<String>,
    /// Conversations that cannot be read, and of which the vault has nothing; short ids.
    pub unreadable: Vec<String>,
    /// Conversations that are only in the vault; short ids.
    pub deleted: Vec<String>,
    /// Backups that an earlier repair tool left beside transcripts, and how many bytes they have.
    pub old_backups: (usize, u64),
    /// Conversations whose forgetting was interrupted.
    pub unfinished: Vec<String>,
    /// Conversations whose copy is damaged: the short id.
    pub unusable: Vec<String>,
    /// Tombstones that are in doubt, one sentence each.
    pub doubtful: Vec<String>,
    /// Why it cannot be read.
    pub trouble: Option<String>,
}

/// rekindle's own configuration.
#[derive(Debug, Clone, Default)]
pub struct ConfigFacts {
    /// The file.
    pub path: PathBuf,
    /// Why it cannot be used.
    pub error: Option<String>,
    /// Keys that mean nothing.
    pub unknown: Vec<String>,
    /// Why the template of recovery prompts cannot be used.
    pub template: Option<String>,
}

#[cfg(test)]
pub(crate) mod tests;
