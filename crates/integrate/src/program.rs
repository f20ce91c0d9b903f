//! The commands that stand in the agent's settings: how they are written, and how ours are told from others.

use std::path::{Path, PathBuf};

use agents::claude::hook_events::HookEvent;

/// The name of the program, whatever folder it lies in.
const NAME: &str = "rekindle";

/// The program as settings name it: by a path that does not depend on anybody's `PATH`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    path: String,
}

/// The path of the program cannot stand in a settings file.
#[derive(Debug, thiserror::Error)]
#[error("write the program's path {} into settings: {why}", path.display())]
pub struct BadProgram {
    /// The path.
    pub path: PathBuf,
    why: &'static str,
}

/// What one of our commands does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Ours {
    /// Takes in an event of this name.
    Hook(String),
    /// Draws the status line, perhaps with one that was configured before.
    StatusLine {
        /// The command before.
        keep: Option<String>,
    },
}

impl Program {
    /// The program at this path.
    ///
    /// # Errors
    /// The path is relative, or no text.
    pub fn new(path: &Path) -> Result<Program, BadProgram> {
        let bad = |why| BadProgram { path: path.to_path_buf(), why };
        if !path.is_absolute() {
            return Err(bad("it is relative"));
        }
        let text = path.to_str().ok_or_else(|| bad("it is no UTF-8"))?;
        if text.chars().any(char::is_control) {
            return Err(bad("it has control characters"));
        }
        // What the kernel says of a program that was replaced while it ran.
        if text.ends_with(" (deleted)") {
            return Err(bad("it was replaced while it ran"));
        }
        Ok(Program { path: text.to_owned() })
    }

    /// Where it is.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The command for an event.
    pub fn hook(&self, event: HookEvent) -> String {
        shell_words::join([self.path.as_str(), "hook", event.name()])
    }

    /// The command for the status line.
    pub(crate) fn status_line(&self, keep: Option<&str>) -> String {
        match keep {
            Some(before) => shell_words::join([self.path.as_str(), "statusline", "--keep", before]),
            None => shell_words::join([self.path.as_str(), "statusline"]),
        }
    }

    /// The program that a command of ours calls: this one, or one of its name in another folder.
    pub(crate) fn called_by(&self, command: &str) -> Option<PathBuf> {
        self.understand(command)?;
        shell_words::split(command).ok()?.into_iter().next().map(PathBuf::from)
    }

    /// What a command does, if it is one of ours: this program, or one of its name in another folder.
    pub(crate) fn understand(&self, command: &str) -> Option<Ours> {
        let words = shell_words::split(command).ok()?;
        let (first, rest) = words.split_first()?;
        if *first != self.path && Path::new(first).file_name()?.to_str()? != NAME {
            return None;
        }
        match rest.iter().map(String::as_str).collect::<Vec<_>>()[..] {
            ["hook", event] => Some(Ours::Hook(event.to_owned())),
            ["statusline"] => Some(Ours::StatusLine { keep: None }),
            ["statusline", "--keep", before] => Some(Ours::StatusLine { keep: Some(before.to_owned()) }),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_quoted_for_the_shell_and_understood_again() {
        for path in ["/usr/bin/rekindle", "/home/a b/it's/rekindle", "/opt/$x/`y`/rekindle-dev"] {
            let program = Program::new(Path::new(path)).unwrap();
            let command = program.hook(HookEvent::Stop);
            assert_eq!(program.understand(&command), Some(Ours::Hook("Stop".to_owned())), "{command}");
            let keep = r#"bash -c 'echo "$HOME"' | cut -c1-80"#;
            let line = program.status_line(Some(keep));
            assert_eq!(program.understand(&line), Some(Ours::StatusLine { keep: Some(keep.to_owned()) }));
        }
    }

    #[test]
    fn only_ours_are_ours() {
        let program = Program::new(Path::new("/usr/bin/rekindle")).unwrap();
        assert!(program.understand("/old/place/rekindle hook Stop").is_some());
        for foreign in [
            "",
            "'",
            "echo rekindle hook Stop",
            "rekindle-notify hook Stop",
            "rekindle hook Stop; x",
            "rekindle scan",
        ] {
            assert_eq!(program.understand(foreign), None, "{foreign}");
        }
        for bad in ["rekindle", "/bin/reki\nndle", "/bin/rekindle (deleted)"] {
            assert!(Program::new(Path::new(bad)).is_err(), "{bad:?}");
        }
    }
}
