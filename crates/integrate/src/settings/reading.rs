//! What stands in a settings text, for who only looks.

use std::path::PathBuf;

use serde_json::Value;

use super::{Document, SettingsError, WiredEvent, hooks};
use crate::Program;
use crate::program::Ours;

/// What a settings text says, as far as it concerns us.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reading {
    /// Every event that it names.
    pub events: Vec<WiredEvent>,
    /// The programs that our hooks and our status line call, each once.
    pub programs: Vec<PathBuf>,
    /// Its status line.
    pub status_line: StatusLineSeen,
    /// All hooks are turned off.
    pub hooks_disabled: bool,
    /// It has comments or trailing commas, which no agent reads.
    pub comments: bool,
    /// The rekindle plugin is enabled.
    pub plugin: bool,
}

/// Whose status line stands there.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum StatusLineSeen {
    /// There is none.
    #[default]
    None,
    /// Ours.
    Ours,
    /// Somebody else's.
    Foreign,
}

/// Reads a settings text; one that is empty says nothing.
///
/// # Errors
/// The text cannot be understood.
pub fn look(bytes: &[u8], program: &Program) -> Result<Reading, SettingsError> {
    let document = Document::parse(bytes)?;
    let settings = document.value();
    let commands = settings["hooks"].as_object().into_iter().flatten().flat_map(|(_, groups)| {
        let groups = groups.as_array().into_iter().flatten();
        groups.flat_map(|group| group["hooks"].as_array().into_iter().flatten())
    });
    let line = &settings["statusLine"];
    let mut programs: Vec<PathBuf> = Vec::new();
    for command in commands.chain([line]).filter_map(|hook| hook["command"].as_str()) {
        if let Some(path) = program.called_by(command)
            && !programs.contains(&path)
        {
            programs.push(path);
        }
    }
    let ours = line["command"].as_str().and_then(|command| program.understand(command));
    let plugin = |(name, on): (&String, &Value)| name.split('@').next() == Some("rekindle") && on == true;
    Ok(Reading {
        events: hooks::events(&document.root, program)?,
        programs,
        status_line: match (line, ours) {
            (Value::Null, _) => StatusLineSeen::None,
            (_, Some(Ours::StatusLine { .. })) => StatusLineSeen::Ours,
            _ => StatusLineSeen::Foreign,
        },
        hooks_disabled: settings["disableAllHooks"] == true,
        comments: !document.plain && !bytes.trim_ascii().is_empty(),
        plugin: settings["enabledPlugins"].as_object().is_some_and(|plugins| plugins.iter().any(plugin)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn says_who_is_called_and_what_is_off() {
        let program = Program::new(Path::new("/bin/rekindle")).unwrap();
        let text = br#"{"hooks": {
            "Stop": [{"hooks": [{"command": "/bin/rekindle hook Stop"}, {"command": "say done"}]}],
            "SessionEnd": [{"hooks": [{"command": "/old/rekindle hook SessionEnd"}]}]},
            "statusLine": {"type": "command", "command": "/bin/rekindle statusline"},
            "disableAllHooks": true, "enabledPlugins": {"rekindle@rekindle": true}, // mine
        }"#;
        let seen = look(text, &program).unwrap();
        assert_eq!(seen.programs, [Path::new("/bin/rekindle"), Path::new("/old/rekindle")]);
        assert_eq!(seen.events.len(), 2);
        assert_eq!(seen.status_line, StatusLineSeen::Ours);
        assert!(seen.hooks_disabled && seen.comments && seen.plugin);
        let other = br#"{"statusLine": {"type": "command", "command": "x"}, "enabledPlugins": {"rekindle@r": false}}"#;
        let other = look(other, &program).unwrap();
        assert_eq!(other.status_line, StatusLineSeen::Foreign);
        assert!(!other.plugin && !other.comments && !other.hooks_disabled);
        assert_eq!(look(b"", &program).unwrap(), Reading::default());
        assert!(look(b"{", &program).is_err());
    }
}
