//! Slash commands and skills: the plugin's own files, so that plugin and `init` cannot drift apart.

use crate::plan::Part;

/// One text, and where it goes in a configuration directory.
pub(crate) struct Text {
    /// Below the configuration directory. A command's folder is the part before the colon: `/rekindle:status`.
    pub(crate) place: &'static str,
    pub(crate) part: Part,
    pub(crate) text: &'static str,
}

/// All of them.
pub(crate) const TEXTS: [Text; 7] = [
    Text {
        place: "commands/rekindle/status.md",
        part: Part::SlashCommand,
        text: include_str!("../../../commands/status.md"),
    },
    Text {
        place: "commands/rekindle/map.md",
        part: Part::SlashCommand,
        text: include_str!("../../../commands/map.md"),
    },
    Text {
        place: "commands/rekindle/restore.md",
        part: Part::SlashCommand,
        text: include_str!("../../../commands/restore.md"),
    },
    Text {
        place: "commands/rekindle/inject.md",
        part: Part::SlashCommand,
        text: include_str!("../../../commands/inject.md"),
    },
    Text {
        place: "skills/rekindle-save/SKILL.md",
        part: Part::Skill,
        text: include_str!("../../../skills/rekindle-save/SKILL.md"),
    },
    Text {
        place: "skills/rekindle-restore/SKILL.md",
        part: Part::Skill,
        text: include_str!("../../../skills/rekindle-restore/SKILL.md"),
    },
    Text {
        place: "skills/rekindle-and-tmux-resurrect/SKILL.md",
        part: Part::Skill,
        text: include_str!("../../../skills/rekindle-and-tmux-resurrect/SKILL.md"),
    },
];
