//! Which tmux is installed.

use std::process::Command;
use std::time::Duration;

use crate::deadline::{Ran, run};

/// The tmux that `PATH` leads to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Installed {
    /// There is none.
    #[default]
    None,
    /// It says this of itself, such as `3.3a`.
    Version(String),
    /// It is there and does not answer.
    Silent,
}

/// Asks the installed tmux for its version. No server is started.
pub fn installed(deadline: Duration) -> Installed {
    match run(Command::new("tmux").arg("-V"), deadline) {
        Ran::Done(output) if output.status.success() => {
            let text = String::from_utf8_lossy(&output.stdout);
            Installed::Version(text.trim().trim_start_matches("tmux ").to_owned())
        }
        Ran::Done(_) | Ran::TooLate => Installed::Silent,
        Ran::NotStarted(error) if error.kind() == std::io::ErrorKind::NotFound => Installed::None,
        Ran::NotStarted(_) => Installed::Silent,
    }
}

/// The two numbers of a version: `3.3a`, `next-3.5`. `None` for names that say nothing (`master`, `openbsd-7.4`).
pub fn numbers(version: &str) -> Option<(u32, u32)> {
    let version = version.strip_prefix("next-").unwrap_or(version);
    let (major, rest) = version.split_once('.')?;
    let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    Some((major.parse().ok()?, rest[..digits].parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_as_tmux_spells_them() {
        for (text, expect) in [
            ("3.3a", Some((3, 3))),
            ("3.2", Some((3, 2))),
            ("3.10-rc", Some((3, 10))),
            ("next-3.5", Some((3, 5))),
            ("openbsd-7.4", None),
            ("master", None),
            ("", None),
        ] {
            assert_eq!(numbers(text), expect, "{text}");
        }
    }

    #[test]
    fn the_installed_one_answers() {
        assert!(
            matches!(installed(Duration::from_secs(30)), Installed::Version(text) if numbers(&text).is_some())
        );
    }
}
