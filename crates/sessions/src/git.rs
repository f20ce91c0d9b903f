//! The state of a directory's repository, asked of git with a deadline.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use statusline::prepared::Git;
use tmux::{Ran, run};

/// Large repositories take seconds the first time; then the status line goes without.
const DEADLINE: Duration = Duration::from_secs(3);

/// Asks git; nothing where the directory is in no repository or git does not answer.
pub(crate) fn look(directory: &Path) -> Option<Git> {
    let mut command = Command::new("git");
    command
        .arg("-C")
        .arg(directory)
        // A repository's own settings may name programs; none of them is run for a number in a status line.
        .args(["-c", "core.fsmonitor=false", "status", "--porcelain=v2", "--branch", "-z"])
        .env("GIT_OPTIONAL_LOCKS", "0")
        .env_remove("GIT_DIR")
        .env_remove("GIT_WORK_TREE")
        .env_remove("GIT_INDEX_FILE");
    match run(&mut command, DEADLINE) {
        Ran::Done(output) if output.status.success() => Some(parse(&String::from_utf8_lossy(&output.stdout))),
        _ => None,
    }
}

fn parse(text: &str) -> Git {
    let mut git = Git::default();
    let mut commit = "";
    let mut entries = text.split('\0');
    while let Some(entry) = entries.next() {
        let mut words = entry.split(' ');
        match (words.next(), words.next()) {
            (Some("#"), Some("branch.oid")) => commit = words.next().unwrap_or_default(),
            (Some("#"), Some("branch.head")) => git.branch = words.collect::<Vec<_>>().join(" "),
            (Some("#"), Some("branch.ab")) => {
                let number = |word: Option<&str>| {
                    word.and_then(|word| word.get(1..)?.parse().ok()).unwrap_or_default()
                };
                (git.ahead, git.behind) = (number(words.next()), number(words.next()));
            }
            (Some("?"), _) => git.untracked += 1,
            (Some("u"), _) => git.changed += 1,
            (Some(kind @ ("1" | "2")), Some(state)) => {
                count(&mut git, state);
                if kind == "2" {
                    // The name a renamed file had before.
                    entries.next();
                }
            }
            _ => {}
        }
    }
    if git.branch == "(detached)" {
        git.detached = true;
        git.branch = commit.chars().take(8).collect();
    }
    git
}

fn count(git: &mut Git, state: &str) {
    match state.as_bytes() {
        [b'A', _] => git.added += 1,
        [b'D', _] | [_, b'D'] => git.deleted += 1,
        _ => git.changed += 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_what_git_tells() {
        let entries = [
            "# branch.oid 0123456789abcdef",
            "# branch.head main",
            "# branch.ab +2 -1",
            "1 A. N... 0 0 0 a b new file",
            "1 .M N... 0 0 0 a b changed",
            "1 D. N... 0 0 0 a b gone",
            "2 R. N... 0 0 0 a b R100 to",
            "from",
            "u UU N... 0 0 0 0 a b c both",
            "? unknown",
        ];
        let git = parse(&entries.join("\0"));
        assert_eq!((git.branch.as_str(), git.detached, git.ahead, git.behind), ("main", false, 2, 1));
        assert_eq!((git.added, git.changed, git.deleted, git.untracked), (1, 3, 1, 1));
        let detached = parse("# branch.oid 0123456789abcdef\0# branch.head (detached)\0");
        assert_eq!((detached.branch.as_str(), detached.detached), ("01234567", true));
        assert_eq!(parse("# branch.oid 0\0# branch.head a b\0").branch, "a b");
    }

    #[test]
    fn a_directory_without_a_repository_has_none() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(look(dir.path()), None);
    }
}
