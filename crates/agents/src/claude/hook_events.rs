//! Which hook events there are, and since which version of the agent.
//!
//! It matters: up to 2.1.100 one event in `settings.json` that the agent does not know makes it drop the whole file in
//! silence, the user's deny rules included (measured on 2.1.31 and 2.1.100; 2.1.101 is the first that passes it over).

use semver::Version;

/// An event that rekindle listens to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum HookEvent {
    /// A conversation begins: started, resumed, cleared, compacted, forked.
    SessionStart,
    /// The user sent a prompt.
    UserPromptSubmit,
    /// A turn ended.
    Stop,
    /// A turn ended by an error of the API.
    StopFailure,
    /// The agent wants the user.
    Notification,
    /// The conversation is about to be compacted.
    PreCompact,
    /// It was compacted.
    PostCompact,
    /// A subagent ended.
    SubagentStop,
    /// The agent works in another directory.
    CwdChanged,
    /// A conversation ends in this process.
    SessionEnd,
}

impl HookEvent {
    /// All of them, in the order of a session's life.
    pub const ALL: [HookEvent; 10] = [
        HookEvent::SessionStart,
        HookEvent::UserPromptSubmit,
        HookEvent::Stop,
        HookEvent::StopFailure,
        HookEvent::Notification,
        HookEvent::PreCompact,
        HookEvent::PostCompact,
        HookEvent::SubagentStop,
        HookEvent::CwdChanged,
        HookEvent::SessionEnd,
    ];

    /// Its name in the agent's settings.
    pub fn name(self) -> &'static str {
        match self {
            HookEvent::SessionStart => "SessionStart",
            HookEvent::UserPromptSubmit => "UserPromptSubmit",
            HookEvent::Stop => "Stop",
            HookEvent::StopFailure => "StopFailure",
            HookEvent::Notification => "Notification",
            HookEvent::PreCompact => "PreCompact",
            HookEvent::PostCompact => "PostCompact",
            HookEvent::SubagentStop => "SubagentStop",
            HookEvent::CwdChanged => "CwdChanged",
            HookEvent::SessionEnd => "SessionEnd",
        }
    }

    /// The event of this name.
    pub fn parse(name: &str) -> Option<HookEvent> {
        HookEvent::ALL.into_iter().find(|event| event.name() == name)
    }

    /// Whether an agent of this version knows it.
    pub fn known_to(self, version: &Version) -> bool {
        first_version(self.name()).is_some_and(|first| *version >= first)
    }
}

/// The oldest agent whose events were measured: what it knows is safe where no version can be told.
pub const OLDEST_MEASURED: Version = Version::new(2, 1, 31);

/// The first version that passes over an event it does not know.
pub const UNKNOWN_IS_HARMLESS: Version = Version::new(2, 1, 101);

/// The events that each of these versions knows; of no version, those that every measured one knows.
pub fn known_to_all(versions: &[Version]) -> Vec<HookEvent> {
    let oldest = versions.iter().min().cloned().unwrap_or(OLDEST_MEASURED);
    HookEvent::ALL.into_iter().filter(|event| event.known_to(&oldest)).collect()
}

/// The first version that knows an event; `None` for a name that no measured version has.
pub fn first_version(event: &str) -> Option<Version> {
    let (_, version) = FIRST.iter().find(|(name, _)| *name == event)?;
    Some(version.clone())
}

/// From 2.1.31 on by the lists in the agents' own packages, each version beside the one before it. What 2.1.31 has
/// already is by the agent's changelog. Those that stand at 2.1.325 came somewhere after 2.1.100.
static FIRST: [(&str, Version); 33] = [
    ("PreToolUse", Version::new(1, 0, 38)),
    ("PostToolUse", Version::new(1, 0, 38)),
    ("Notification", Version::new(1, 0, 38)),
    ("Stop", Version::new(1, 0, 38)),
    ("SubagentStop", Version::new(1, 0, 41)),
    ("PreCompact", Version::new(1, 0, 48)),
    ("UserPromptSubmit", Version::new(1, 0, 54)),
    ("SessionStart", Version::new(1, 0, 62)),
    ("SessionEnd", Version::new(1, 0, 85)),
    ("PostToolUseFailure", OLDEST_MEASURED),
    ("SubagentStart", OLDEST_MEASURED),
    ("PermissionRequest", OLDEST_MEASURED),
    ("Setup", OLDEST_MEASURED),
    ("TaskCompleted", Version::new(2, 1, 33)),
    ("TeammateIdle", Version::new(2, 1, 33)),
    ("ConfigChange", Version::new(2, 1, 48)),
    ("WorktreeCreate", Version::new(2, 1, 50)),
    ("WorktreeRemove", Version::new(2, 1, 50)),
    ("Elicitation", Version::new(2, 1, 63)),
    ("ElicitationResult", Version::new(2, 1, 63)),
    ("InstructionsLoaded", Version::new(2, 1, 69)),
    ("PostCompact", Version::new(2, 1, 76)),
    ("StopFailure", Version::new(2, 1, 78)),
    ("CwdChanged", Version::new(2, 1, 83)),
    ("FileChanged", Version::new(2, 1, 83)),
    ("TaskCreated", Version::new(2, 1, 84)),
    ("PermissionDenied", Version::new(2, 1, 88)),
    ("PostToolBatch", Version::new(2, 1, 325)),
    ("UserPromptExpansion", Version::new(2, 1, 325)),
    ("PreModelSwitch", Version::new(2, 1, 325)),
    ("PostModelSwitch", Version::new(2, 1, 325)),
    ("DirectoryAdded", Version::new(2, 1, 325)),
    ("MessageDisplay", Version::new(2, 1, 325)),
];

#[cfg(test)]
mod tests {
    use super::*;

    fn names(versions: &[&str]) -> Vec<&'static str> {
        let versions: Vec<Version> = versions.iter().map(|text| Version::parse(text).unwrap()).collect();
        known_to_all(&versions).into_iter().map(HookEvent::name).collect()
    }

    const OLD: [&str; 7] = [
        "SessionStart",
        "UserPromptSubmit",
        "Stop",
        "Notification",
        "PreCompact",
        "SubagentStop",
        "SessionEnd",
    ];

    #[test]
    fn the_oldest_agent_decides() {
        assert_eq!(names(&["2.1.325"]).len(), 10);
        assert_eq!(names(&["2.1.325", "2.1.31"]), OLD);
        assert!(!names(&["2.1.81"]).contains(&"CwdChanged"));
        assert!(names(&["2.1.83"]).contains(&"CwdChanged"));
        assert!(!names(&["1.0.60"]).contains(&"SessionStart"));
    }

    #[test]
    fn without_a_version_only_what_all_know() {
        assert_eq!(names(&[]), OLD);
    }

    #[test]
    fn every_event_has_a_name_and_a_first_version() {
        for event in HookEvent::ALL {
            assert_eq!(HookEvent::parse(event.name()), Some(event));
            assert!(first_version(event.name()).is_some());
        }
        assert_eq!(HookEvent::parse("NoSuch"), None);
    }
}
