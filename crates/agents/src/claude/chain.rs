//! The processes above a hook, innermost first: what shows whose event it is.
//!
//! Hooks run through a shell, so the agent is an ancestor and not always the parent (measured). The chain is read while
//! the hook runs, for a moment later some of it is gone; what it means is judged by whoever reads the event.

use std::ffi::OsStr;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::process::{Stat, cmdline};

/// One process of the chain.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Link {
    /// Its id.
    pub pid: u32,
    /// When it started, in the kernel's ticks since boot: with the id it names a process for ever.
    pub start: u64,
    /// Its controlling terminal as the kernel numbers it; 0 without one, also after a hang-up.
    #[serde(default)]
    pub tty: u32,
    /// Its name; often not the program's.
    #[serde(default)]
    pub comm: String,
    /// Its arguments, where they were asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub argv: Vec<String>,
    /// Whether there were more arguments than are kept: then they tell what runs, and not how it was started.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cut: bool,
}

/// Whether arguments are wanted: they cost a read for each process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arguments {
    /// Read them.
    Read,
    /// Leave them.
    Skip,
}

/// Deeper chains are cut: a shell in an agent in a shell in a pane has six.
const DEEPEST: usize = 24;

/// A prompt given as an argument may be long, and only the beginning tells what runs.
const LONGEST_ARGUMENTS: usize = 16 * 1024;

/// The chain above this process, itself not included. Empty where there is no `/proc`.
pub fn chain(arguments: Arguments) -> Vec<Link> {
    let mut links = Vec::new();
    let Some((_, mut above)) = read("self", Arguments::Skip) else { return links };
    // The agent itself can be the first process of its container.
    while above > 0 && links.len() < DEEPEST {
        let Some((link, next)) = read(&above.to_string(), arguments) else { break };
        links.push(link);
        above = next;
    }
    links
}

fn read(process: &str, arguments: Arguments) -> Option<(Link, u32)> {
    let Stat { pid, comm, start_ticks, parent, tty, .. } = Stat::read(process)?;
    let (argv, cut) = match arguments {
        Arguments::Skip => (Vec::new(), false),
        Arguments::Read => argv(process),
    };
    // Of others only what runs: their arguments are nobody's business, and may hold keys.
    let argv = if is_agent(&argv) { argv } else { argv.into_iter().take(1).collect() };
    Some((Link { pid, start: start_ticks, tty, comm, argv, cut }, parent))
}

/// The arguments of a process as the kernel has them, blanks and all: agents on Node overwrite theirs with their name and blanks
/// (measured on 2.1.100). Nothing where there are more than are kept.
pub fn raw_arguments(pid: u32) -> Option<Vec<String>> {
    let (argv, cut) = argv(&pid.to_string());
    (!cut && !argv.is_empty()).then_some(argv)
}

fn argv(process: &str) -> (Vec<String>, bool) {
    let mut cmdline = cmdline(process);
    let cut = cmdline.len() > LONGEST_ARGUMENTS;
    cmdline.truncate(LONGEST_ARGUMENTS);
    let arguments = cmdline.strip_suffix(b"\0").unwrap_or(&cmdline).split(|byte| *byte == 0);
    (arguments.map(|argument| String::from_utf8_lossy(argument).into_owned()).collect(), cut)
}

impl Link {
    /// Whether it looks like an agent: `claude` itself, or Node with its script.
    pub fn is_agent(&self) -> bool {
        // Some builds are called by their version.
        let versions =
            || !self.comm.is_empty() && self.comm.split('.').count() == 3 && self.comm.split('.').all(digits);
        is_agent(&self.argv) || (self.argv.is_empty() && (self.comm == "claude" || versions()))
    }
}

fn digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Whether these arguments are an agent's. Agents that run on Node overwrite theirs with `claude` (measured on 2.1.100).
pub(super) fn is_agent(argv: &[String]) -> bool {
    let claude =
        |argument: &String| Path::new(argument.trim()).file_name().and_then(OsStr::to_str) == Some("claude");
    argv.first().is_some_and(claude)
        || argv.iter().take(4).any(|argument| argument.ends_with("claude-code/cli.js"))
}

/// The device of a terminal's number, as `/dev/pts/3`; nothing for no terminal or one of another kind.
pub fn tty_name(tty: u32) -> Option<String> {
    let major = (tty >> 8) & 0xfff;
    let minor = (tty & 0xff) | ((tty >> 12) & 0xf_ff00);
    match major {
        // Unix 98 pseudo terminals have eight majors of 256 each, and beyond that wide minors of the first.
        136..=143 => Some(format!("/dev/pts/{}", (major - 136) * 256 + minor)),
        4 if minor < 64 => Some(format!("/dev/tty{minor}")),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn begins_with_the_parent_of_this_process() {
        let links = chain(Arguments::Read);
        let parent = std::os::unix::process::parent_id();
        assert_eq!(links.first().map(|link| link.pid), Some(parent));
        assert!(links.first().is_some_and(|link| link.start > 0 && !link.argv.is_empty()));
    }

    #[test]
    fn names_terminals() {
        assert_eq!(tty_name(0), None);
        assert_eq!(tty_name(34816).as_deref(), Some("/dev/pts/0"));
        assert_eq!(tty_name(34819).as_deref(), Some("/dev/pts/3"));
        // 300 = 0x12c: the low byte stays, the rest moves above the major.
        assert_eq!(tty_name((136 << 8) | 0x2c | (0x100 << 12)).as_deref(), Some("/dev/pts/300"));
        assert_eq!(tty_name(0x401).as_deref(), Some("/dev/tty1"));
    }

    /// F-resume-17
    #[test]
    fn knows_an_agent_by_its_arguments() {
        let check = |argv: &[&str], expect| {
            let argv: Vec<String> = argv.iter().map(ToString::to_string).collect();
            assert_eq!(is_agent(&argv), expect, "{argv:?}");
        };
        check(&["/opt/x/claude", "--resume", "a"], true);
        check(&["claude"], true);
        check(&["node", "/x/@anthropic-ai/claude-code/cli.js"], true);
        check(&["bash", "-c", "claude"], false);
        check(&["vim", "claude"], false);
        check(&[], false);
    }
}
