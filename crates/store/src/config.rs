//! `config.toml`: what a user can choose, typed, with the defaults of everything that is not said.

mod read;
pub mod statusline;
mod units;

pub use units::{ByteSize, parse_duration, parse_size};

use std::path::{Path, PathBuf};
use std::time::Duration;

use read::Section;

/// Why a configuration cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file is there and cannot be read.
    #[error("read {}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: std::io::Error,
    },
    /// The file is no TOML.
    #[error("understand line {line} of {}: {why}", path.display())]
    Syntax {
        /// The file.
        path: PathBuf,
        /// Where, counted from 1.
        line: usize,
        /// Why, on one line.
        why: String,
    },
    /// A key has a value that it cannot have.
    #[error("use {key} of {}: it is {found}, and may be {allowed}", path.display())]
    Value {
        /// The file.
        path: PathBuf,
        /// The key, with its section.
        key: String,
        /// What stands there.
        found: String,
        /// What may.
        allowed: String,
    },
}

/// When agents are resumed at a restore.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AutoResume {
    /// As far as the identity is certain.
    Auto,
    /// Always (`true`).
    Always,
    /// Never (`false`).
    Never,
}

/// What becomes of a conversation that cannot simply be resumed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ResumeFallback {
    /// Mend the transcript or put it back, then resume; a fresh agent with context where nothing is left.
    #[default]
    Repair,
    /// A fresh agent with context.
    Fresh,
    /// A shell.
    Shell,
    /// Nothing but the message.
    Error,
}

/// Whether an agent that comes back goes on by itself.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Continue {
    /// The prompt stands ready in its pane: one Enter, and it goes on.
    #[default]
    Ask,
    /// The prompt is submitted.
    Always,
    /// There is no prompt.
    Never,
}

macro_rules! sections {
    ($($(#[$doc:meta])* $name:ident { $($(#[$field_doc:meta])* $field:ident: $type:ty = $default:expr,)* })*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq)]
        pub struct $name { $($(#[$field_doc])* pub $field: $type,)* }

        impl Default for $name {
            fn default() -> Self {
                Self { $($field: $default,)* }
            }
        }

        impl $name {
            fn read(section: &mut Section<'_>) -> Result<Self, ConfigError> {
                let default = Self::default();
                Ok(Self { $($field: section.take(stringify!($field).trim_start_matches("r#"), default.$field)?,)* })
            }
        }
    )*};
}

const MINUTE: u64 = 60;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;

sections! {
    /// `[restore]`
    Restore {
        /// Bring sessions back without being asked.
        auto: bool = true,
        /// How many agents start at once.
        max_parallel: u32 = 4,
        /// Start an agent only when its pane is looked at.
        lazy: bool = false,
        /// Older saves are offered, not restored.
        stale_after: Duration = Duration::from_secs(DAY),
        /// How long entries of the map stay.
        keep_map: Duration = Duration::from_secs(7 * DAY),
        /// Below this nothing more is started.
        min_free_memory: ByteSize = ByteSize(1 << 30),
        /// Tell a resumed agent what happened.
        note_on_resume: bool = true,
    }
    /// `[save]`
    Save {
        /// Time between saves.
        interval: Duration = Duration::from_secs(5 * MINUTE),
        /// Lines of scrollback per pane.
        scrollback_lines: u32 = 2000,
        /// Saves that are kept.
        keep: u32 = 50,
    }
    /// `[recovery]`
    Recovery {
        /// Whether crashes are noticed at all.
        enabled: bool = true,
        /// Whether they are acted on without being asked.
        auto_recover: bool = false,
        /// Whether agents that come back go on by themselves.
        r#continue: Continue = Continue::Ask,
        /// Lines of context for a fresh agent.
        max_context_lines: u32 = 10_000,
        /// Tokens of context for a fresh agent.
        max_context_tokens: u32 = 120_000,
        /// Time between scrollback snapshots.
        snapshot_interval: Duration = Duration::from_secs(5 * MINUTE),
        /// Where snapshots go; empty means the state directory.
        snapshot_dir: String = String::new(),
        /// Characters given to the agent directly; the rest goes into a file.
        inject_limit: u32 = 2000,
    }
    /// `[recovery.prompts]`
    Prompts {
        /// The prompt of a fresh agent; empty means the built-in one.
        template: String = String::new(),
    }
    /// `[claude]`
    Claude {
        /// Give new agents an id of ours.
        auto_assign_session_id: bool = true,
        /// Whether a restore starts agents.
        auto_resume_on_restore: AutoResume = AutoResume::Auto,
        /// What becomes of conversations that cannot simply be resumed.
        resume_fallback: ResumeFallback = ResumeFallback::Repair,
        /// Bring every session back, also ended ones.
        auto_persistent: bool = false,
    }
    /// `[lifecycle]`
    Lifecycle {
        /// Restart agents into new versions.
        auto_update: bool = false,
        /// Switch slots near a quota.
        auto_switch: bool = false,
        /// Time between looks for a new version.
        version_check_interval: Duration = Duration::from_secs(4 * HOUR),
        /// How long an agent must be idle before it is touched.
        idle_dwell: Duration = Duration::from_secs(30),
        /// Restarts of one agent per hour.
        max_restarts_per_hour: u32 = 3,
        /// Time between two restarts of one agent.
        restart_cooldown: Duration = Duration::from_secs(15 * MINUTE),
        /// Save before every restart.
        force_save: bool = false,
    }
    /// `[quota]`
    Quota {
        /// Per cent used at which a slot is left.
        switch_at: u32 = 99,
        /// Per cent used at which leaving is recommended.
        recommend_at: u32 = 90,
        /// Per cent the other slot may have used.
        alternative_max: u32 = 50,
    }
    /// `[vault]`
    Vault {
        /// How long conversations stay after the agent's file is gone.
        keep_gone: Duration = Duration::from_secs(365 * DAY),
        /// How long copies made by repairs stay.
        keep_backups: Duration = Duration::from_secs(30 * DAY),
    }
    /// `[statusline]`
    Statusline {
        /// How the whole of it is written; `design` where nothing is said.
        preset: Option<statusline::Preset> = None,
        /// What stands before a part.
        glyphs: statusline::Glyphs = statusline::Glyphs::Emoji,
        /// Whether warnings have colours; `NO_COLOR` counts more.
        colour: bool = true,
        /// The parts of each line, in order; the preset's where nothing is said.
        lines: statusline::Lines = statusline::Lines::default(),
        /// Whether notices stand below.
        notices: bool = true,
        /// How the account is shown.
        slot: statusline::SlotForm = statusline::SlotForm::Short,
        /// How the time of day is written.
        clock: statusline::Clock = statusline::Clock::Hours24,
        /// Columns that the agent keeps for itself beside a line: two on each side (measured on 2.1.31 and 2.1.325).
        margin: u32 = 4,
    }
    /// `[log]`
    Log {
        /// Whether panes are logged.
        enabled: bool = false,
    }
    /// `[state]`
    State {
        /// Whether the state directory is kept in git.
        git: bool = false,
    }
}

/// One account: `[[slots]]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Slot {
    /// What the user calls it.
    pub name: String,
    /// Its configuration directory.
    pub config_dir: PathBuf,
}

/// The whole configuration.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Config {
    /// `[restore]`
    pub restore: Restore,
    /// `[save]`
    pub save: Save,
    /// `[recovery]`
    pub recovery: Recovery,
    /// `[recovery.prompts]`
    pub prompts: Prompts,
    /// `[claude]`
    pub claude: Claude,
    /// `[lifecycle]`
    pub lifecycle: Lifecycle,
    /// `[quota]`
    pub quota: Quota,
    /// `[vault]`
    pub vault: Vault,
    /// `[statusline]`
    pub statusline: Statusline,
    /// `[log]`
    pub log: Log,
    /// `[state]`
    pub state: State,
    /// `[[slots]]`
    pub slots: Vec<Slot>,
    /// Keys nobody knows, for the program to name: a typing error, or a newer version's.
    pub unknown: Vec<String>,
}

impl Config {
    /// Reads a configuration; no path, or no file there, means the defaults.
    pub fn load(path: Option<&Path>) -> Result<Self, ConfigError> {
        let Some(path) = path else { return Ok(Self::default()) };
        match crate::files::read_to_string(path) {
            Ok(text) => Self::parse(path, &text),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Self::default()),
            Err(source) => Err(ConfigError::Unreadable { path: path.to_path_buf(), source }),
        }
    }

    /// Reads the text of a configuration; the path is for complaints.
    pub fn parse(path: &Path, text: &str) -> Result<Self, ConfigError> {
        let table: toml::Table = text.parse().map_err(|error: toml::de::Error| {
            let until = error.span().map_or(0, |span| span.start);
            let line = text.bytes().take(until).filter(|byte| *byte == b'\n').count() + 1;
            let why = error.message().lines().collect::<Vec<_>>().join(", ");
            ConfigError::Syntax { path: path.to_path_buf(), line, why }
        })?;
        let mut root = Section::root(path, table);
        let mut unknown = Vec::new();
        let mut recovery = root.section("recovery")?;
        let mut prompts = recovery.section("prompts")?;
        macro_rules! read {
            ($type:ident, $key:literal) => {{
                let mut section = root.section($key)?;
                let read = $type::read(&mut section)?;
                unknown.extend(section.left());
                read
            }};
        }
        let mut config = Self {
            restore: read!(Restore, "restore"),
            save: read!(Save, "save"),
            recovery: Recovery::read(&mut recovery)?,
            prompts: Prompts::read(&mut prompts)?,
            claude: read!(Claude, "claude"),
            lifecycle: read!(Lifecycle, "lifecycle"),
            quota: read!(Quota, "quota"),
            vault: read!(Vault, "vault"),
            statusline: read!(Statusline, "statusline"),
            log: read!(Log, "log"),
            state: read!(State, "state"),
            slots: Vec::new(),
            unknown: Vec::new(),
        };
        for mut slot in root.sections("slots")? {
            config.slots.push(Slot {
                name: slot.required("name")?,
                config_dir: PathBuf::from(slot.required::<String>("config_dir")?),
            });
            unknown.extend(slot.left());
        }
        unknown.extend(recovery.left());
        unknown.extend(prompts.left());
        unknown.extend(root.left());
        unknown.sort();
        config.unknown = unknown;
        Ok(config)
    }
}

#[cfg(test)]
mod tests;
