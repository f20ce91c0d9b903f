//! Events in a settings file that an agent in use does not know.

use agents::claude::hook_events::{UNKNOWN_IS_HARMLESS, first_version};
use semver::Version;

use crate::Program;
use crate::settings::{SettingsError, wired_events};

/// An event that makes an agent drop its settings, the user's deny rules included.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnsafeEvent {
    /// The event.
    pub name: String,
    /// A hook of ours is why it stands there: `init` takes it out.
    pub ours: bool,
    /// Somebody else's hook stands there: only its user can take it out.
    pub foreign: bool,
    /// The agents that do not know it.
    pub unknown_to: Vec<Version>,
}

/// The events of a settings text that break one of these agents.
///
/// # Errors
/// The text cannot be understood.
pub fn unsafe_events(
    settings: &[u8],
    program: &Program,
    agents: &[Version],
) -> Result<Vec<UnsafeEvent>, SettingsError> {
    let mut found = Vec::new();
    for event in wired_events(settings, program)? {
        let first = first_version(&event.name);
        let breaks = |agent: &&Version| {
            **agent < UNKNOWN_IS_HARMLESS && first.as_ref().is_none_or(|first| **agent < *first)
        };
        let mut unknown_to: Vec<Version> = agents.iter().filter(breaks).cloned().collect();
        unknown_to.sort();
        unknown_to.dedup();
        if !unknown_to.is_empty() {
            let (name, ours, foreign) = (event.name, event.ours, event.foreign);
            found.push(UnsafeEvent { name, ours, foreign, unknown_to });
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn only_old_agents_are_broken_by_new_events() {
        let program = Program::new(Path::new("/bin/rekindle")).unwrap();
        let text = br#"{"hooks": {
            "Stop": [{"hooks": [{"type": "command", "command": "/bin/rekindle hook Stop"}]}],
            "CwdChanged": [{"hooks": [{"type": "command", "command": "/bin/rekindle hook CwdChanged"}]}],
            "NoSuchEvent": []}}"#;
        let check = |agents: &[&str], expect: &[(&str, bool, bool)]| {
            let agents: Vec<Version> = agents.iter().map(|text| Version::parse(text).unwrap()).collect();
            let found = unsafe_events(text, &program, &agents).unwrap();
            let found: Vec<_> =
                found.iter().map(|event| (event.name.as_str(), event.ours, event.foreign)).collect();
            assert_eq!(found, expect, "{agents:?}");
        };
        check(&[], &[]);
        check(&["2.1.325"], &[]);
        check(&["2.1.101"], &[]);
        check(&["2.1.100"], &[("NoSuchEvent", false, true)]);
        check(&["2.1.325", "2.1.31"], &[("CwdChanged", true, false), ("NoSuchEvent", false, true)]);
    }
}
