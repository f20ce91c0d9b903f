//! What the agent's command line knows in one version, read from the table beside it.

use semver::Version;

use super::table::{COMMANDS, FLAGS};

/// What a flag takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Value {
    /// Nothing.
    None,
    /// Nothing, or a value behind `=`; never the next word.
    Attached,
    /// The next word, unless it looks like a flag.
    Optional,
    /// The next word, whatever it is.
    Required,
    /// The next word, whatever it is, and those behind it up to one that looks like a flag.
    Variadic,
}

/// What a resume does with a flag of the first launch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnResume {
    /// Passes it on.
    Keep,
    /// Leaves it out: it chose the conversation, belonged to its first prompt or was done once.
    Drop,
    /// Leaves it out where there is a transcript, which holds it: given again it would undo what came later.
    InTranscript,
    /// Asks its caller: it takes away the agent's questions. Of a mode, only `bypassPermissions` does.
    Bypass,
    /// Refuses: another program runs the conversation (a lead, a host, the background service, the cloud).
    Elsewhere,
    /// Refuses: with it the agent holds no conversation.
    NoConversation,
}

/// Which versions have something. Three were measured; of the ones between two that differ, nothing is denied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Known {
    /// Every measured one.
    Always,
    /// Those after this one, which was measured and lacks it.
    After(Version),
    /// Those before this one, which was measured and lacks it.
    Before(Version),
}

impl Known {
    fn to(&self, version: &Version) -> bool {
        match self {
            Known::Always => true,
            Known::After(lacking) => version > lacking,
            Known::Before(lacking) => version < lacking,
        }
    }
}

/// One flag of the agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flag {
    /// Its names, the short one first where there is one.
    pub names: Vec<&'static str>,
    /// What it takes.
    pub value: Value,
    /// What a resume does with it.
    pub on_resume: OnResume,
}

impl Flag {
    /// Reads a flag as the agent's help writes it: `-r, --resume [value]`, `--add-dir <directories...>`.
    fn read(text: &'static str, on_resume: OnResume) -> Flag {
        let mut names = text;
        let mut value = Value::None;
        if let Some((before, taken)) = text.split_once(['<', '[']) {
            names = before;
            value = match (text.as_bytes().get(before.len()), taken.starts_with('=')) {
                (Some(b'<'), _) if taken.ends_with("...>") => Value::Variadic,
                (Some(b'<'), _) => Value::Required,
                (_, true) => Value::Attached,
                _ => Value::Optional,
            };
        }
        Flag { names: names.split(',').map(str::trim).collect(), value, on_resume }
    }
}

/// Every flag that an agent of this version knows.
pub fn flags(version: &Version) -> impl Iterator<Item = Flag> {
    let known = FLAGS.iter().filter(|(known, ..)| known.to(version));
    known.flat_map(|(_, on_resume, texts)| texts.iter().map(|text| Flag::read(text, *on_resume)))
}

/// The flag of this name, as an agent of this version understands it.
pub fn find(name: &str, version: &Version) -> Option<Flag> {
    flags(version).find(|flag| flag.names.contains(&name))
}

/// The sub-commands of an agent of this version. Who runs one holds no conversation.
pub fn commands(version: &Version) -> impl Iterator<Item = &'static str> {
    COMMANDS.iter().filter(|(known, _)| known.to(version)).flat_map(|(_, names)| names.iter().copied())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(text: &str) -> Version {
        Version::parse(text).unwrap()
    }

    #[test]
    fn flags_are_read_as_the_help_writes_them() {
        let check = |name: &str, names: &[&str], value: Value| {
            let flag = find(name, &version("2.1.325")).unwrap();
            assert_eq!((flag.names.as_slice(), flag.value), (names, value), "{name}");
        };
        check("-r", &["-r", "--resume"], Value::Optional);
        check("--allowed-tools", &["--allowedTools", "--allowed-tools"], Value::Variadic);
        check("--model", &["--model"], Value::Required);
        check("--tmux", &["--tmux"], Value::Attached);
        check("-d2e", &["-d2e", "--debug-to-stderr"], Value::None);
        check("--cloud", &["--cloud"], Value::Optional);
        assert_eq!(find("--no-such-flag", &version("2.1.325")), None);
    }

    #[test]
    fn a_version_knows_its_own_flags_and_between_two_nothing_is_denied() {
        let known = |name: &str, at: &str| find(name, &version(at)).is_some();
        assert!(!known("--effort", "2.1.31") && known("--effort", "2.1.32") && known("--effort", "2.1.100"));
        assert!(!known("--safe-mode", "2.1.100") && known("--safe-mode", "2.1.325"));
        assert!(known("--mcp-debug", "2.1.100") && !known("--mcp-debug", "2.1.325"));
        assert!(known("--safe-mode", "2.1.400"));
        let value = |at: &str| find("--plugin-dir", &version(at)).unwrap().value;
        assert_eq!((value("2.1.31"), value("2.1.100")), (Value::Variadic, Value::Required));
        // Where it is not known whether the next word is a second folder or the prompt, it is the prompt.
        assert_eq!(value("2.1.60"), Value::Required);
    }

    #[test]
    fn no_name_stands_for_two_flags_of_a_measured_version() {
        for at in ["2.1.31", "2.1.100", "2.1.325"] {
            let mut names: Vec<&str> = flags(&version(at)).flat_map(|flag| flag.names).collect();
            let all = names.len();
            names.sort_unstable();
            names.dedup();
            assert_eq!(names.len(), all, "{at}");
        }
    }
}
