//! One finding: what is so, why it matters, what to do.

use serde::{Serialize, Serializer};

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// As it should be.
    Ok,
    /// Worth knowing.
    Note,
    /// May cost something.
    Warning,
    /// Something does not work, or conversations can be lost.
    Problem,
}

/// One finding.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// What kind of finding.
    pub id: Id,
    /// How bad it is.
    pub level: Level,
    /// What is so, in a sentence.
    pub what: String,
    /// Why it matters, in a sentence; empty where all is well.
    pub why: String,
    /// What to do, a command where there is one; empty where there is nothing to do.
    pub fix: String,
    /// Whether `rekindle doctor --fix` does it.
    pub fixable: bool,
}

/// What `--fix` is called.
const OURS: &str = "rekindle doctor --fix";

impl Finding {
    pub(crate) fn new(id: Id, level: Level, what: impl Into<String>) -> Finding {
        let (what, why, fix) = (what.into(), String::new(), String::new());
        Finding { id, level, what, why, fix, fixable: false }
    }

    pub(crate) fn problem(id: Id, what: impl Into<String>) -> Finding {
        Finding::new(id, Level::Problem, what)
    }

    pub(crate) fn warning(id: Id, what: impl Into<String>) -> Finding {
        Finding::new(id, Level::Warning, what)
    }

    pub(crate) fn note(id: Id, what: impl Into<String>) -> Finding {
        Finding::new(id, Level::Note, what)
    }

    pub(crate) fn why(mut self, why: impl Into<String>) -> Finding {
        self.why = why.into();
        self
    }

    pub(crate) fn fix(mut self, fix: impl Into<String>) -> Finding {
        self.fix = fix.into();
        self
    }

    /// `--fix` puts it right.
    pub(crate) fn ours(mut self) -> Finding {
        self.fix = OURS.to_owned();
        self.fixable = true;
        self
    }
}

/// Adds the line that says a theme is well, unless something in it is not.
pub(crate) fn or_well(mut findings: Vec<Finding>, id: Id, what: impl Into<String>) -> Vec<Finding> {
    if findings.iter().all(|finding| finding.level < Level::Warning) {
        findings.push(Finding::new(id, Level::Ok, what));
    }
    findings
}

/// How many findings of each level.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Totals {
    /// Problems.
    pub problems: usize,
    /// Warnings.
    pub warnings: usize,
    /// Notes.
    pub notes: usize,
    /// What is well.
    pub ok: usize,
    /// Of all of them, what `--fix` does.
    pub fixable: usize,
}

impl Totals {
    /// Counts findings.
    pub fn of(findings: &[Finding]) -> Totals {
        let level = |level| findings.iter().filter(|finding| finding.level == level).count();
        Totals {
            problems: level(Level::Problem),
            warnings: level(Level::Warning),
            notes: level(Level::Note),
            ok: level(Level::Ok),
            fixable: findings.iter().filter(|finding| finding.fixable).count(),
        }
    }
}

macro_rules! ids {
    ($($name:ident = $word:literal),* $(,)?) => {
        /// What kinds of findings there are. Their words are a contract: docs/doctor.md.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Id { $(#[doc = $word] $name),* }

        impl Id {
            /// All of them.
            pub const ALL: &[Id] = &[$(Id::$name),*];

            /// The word for it.
            pub fn word(self) -> &'static str {
                match self { $(Id::$name => $word),* }
            }
        }
    };
}

ids! {
    WiringWell = "wiring-well",
    NotWired = "not-wired",
    DirectoryNotWired = "directory-not-wired",
    HookEventUnsafe = "hook-event-unsafe",
    HookEventUnsafeForeign = "hook-event-unsafe-foreign",
    HookMissing = "hook-missing",
    HookProgramMissing = "hook-program-missing",
    HookProgramOther = "hook-program-other",
    PluginAndSettings = "plugin-and-settings",
    PluginYieldsToNothing = "plugin-yields-to-nothing",
    StatusLineNotOurs = "status-line-not-ours",
    LinkMissing = "link-missing",
    LinkForeign = "link-foreign",
    ProgramNotOnPath = "program-not-on-path",
    SettingsWell = "settings-well",
    SettingsBroken = "settings-broken",
    SettingsComments = "settings-comments",
    HooksDisabled = "hooks-disabled",
    ManagedHooksOnly = "managed-hooks-only",
    ManagedRetention = "managed-retention",
    CleanupNothingKept = "cleanup-nothing-kept",
    CleanupSoon = "cleanup-soon",
    ConfigBroken = "config-broken",
    ConfigUnknownKey = "config-unknown-key",
    TemplateBroken = "template-broken",
    AgentsWell = "agents-well",
    AgentMissing = "agent-missing",
    AgentSettingsDropped = "agent-drops-settings",
    AgentResumeBroken = "agent-resume-broken",
    AgentResumeOwnDirectory = "agent-resume-own-directory",
    AgentNoRegistry = "agent-no-registry",
    AgentArgumentsWiped = "agent-arguments-wiped",
    AgentsCrashed = "agents-crashed",
    AgentVersionsDiffer = "agent-versions-differ",
    ChildVariablesHere = "child-variables-here",
    ChildVariablesAgent = "child-variables-agent",
    TmuxWell = "tmux-well",
    TmuxMissing = "tmux-missing",
    TmuxTooOld = "tmux-too-old",
    TmuxNoDeathSignal = "tmux-no-death-signal",
    TmuxSilent = "tmux-silent",
    TmuxNoLinger = "tmux-no-linger",
    TmuxNotCalling = "tmux-not-calling",
    TmuxOtherRestorer = "tmux-other-restorer",
    ResurrectTooOld = "resurrect-too-old",
    ResurrectNotCalling = "resurrect-not-calling",
    TmuxSeveralFolders = "tmux-several-folders",
    StateWell = "state-well",
    StateForeign = "state-foreign",
    StateUnreadable = "state-unreadable",
    StateOpen = "state-open",
    StateFilesOpen = "state-files-open",
    KeyOpen = "key-open",
    KeyMissing = "key-missing",
    KeyBroken = "key-broken",
    RecordsForeign = "records-foreign",
    RecordsBroken = "records-broken",
    RecordsNewer = "records-newer",
    Paused = "paused",
    RefugeWaiting = "refuge-waiting",
    SpoolUnsettled = "spool-unsettled",
    LogErrors = "log-errors",
    ClockBehind = "clock-behind",
    VaultEmpty = "vault-empty",
    VaultBehind = "vault-behind",
    VaultFailing = "vault-failing",
    VaultUnreadable = "vault-unreadable",
    VaultLosses = "vault-losses",
    VaultDamaged = "vault-damaged",
    TranscriptsDamaged = "transcripts-damaged",
    TranscriptsDeleted = "transcripts-deleted",
    OldBackups = "old-backups",
    ForgetUnfinished = "forget-unfinished",
    TombstoneDoubtful = "tombstone-doubtful",
    DiskWell = "disk-well",
    DiskFull = "disk-full",
    StateOnNetwork = "state-on-network",
}

impl Serialize for Id {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(self.word())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_kebab_case_and_differ() {
        let words: std::collections::BTreeSet<&str> = Id::ALL.iter().map(|id| id.word()).collect();
        assert_eq!(words.len(), Id::ALL.len());
        assert!(words.iter().all(|word| word.chars().all(|c| c.is_ascii_lowercase() || c == '-')));
    }

    #[test]
    fn every_finding_is_documented_and_nothing_else_is() {
        let page = include_str!("../../../docs/doctor.md");
        let rows = page.lines().filter_map(|line| line.strip_prefix("| `")?.split_once('`'));
        let documented: std::collections::BTreeSet<&str> = rows.map(|(word, _)| word).collect();
        let known: std::collections::BTreeSet<&str> = Id::ALL.iter().map(|id| id.word()).collect();
        assert_eq!(documented.symmetric_difference(&known).collect::<Vec<_>>(), Vec::<&&str>::new());
    }
}
