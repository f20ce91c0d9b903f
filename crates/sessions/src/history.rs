//! The state directory as a git repository (`state.git`): a commit per settlement, readable and diffable.
//!
//! Secrets and bulk stay out of it: what hooks left as it came, the vault, scrollback, caches.

use std::path::Path;
use std::process::{Command, Output};
use std::time::Duration;

use store::durable;
use store::lock::{Lock, LockError};
use tmux::{Ran, run};

use crate::settle::Settler;

/// The only parts that are committed: what was redacted, and is no bulk. A part that is not named here stays out.
const COMMITTED: [&str; 6] =
    ["instances", "session-health", "decisions", "saves", "journal.jsonl", "audit.jsonl"];

/// What is not even shown as missing; its first line says whose repository it is.
const IGNORED: &str = "# Written by rekindle: bulk, and what is not redacted.\n\
    /cache/\n/host/\n/locks/\n/log/\n/machine-key-id\n/operations/\n/paused\n/snapshots/\n/spool/\n/vault/\n/wiring/\n*.zst\n.rekindle-*\n";

const DEADLINE: Duration = Duration::from_secs(20);

/// Why the state was not committed.
#[derive(Debug, thiserror::Error)]
pub enum HistoryError {
    /// The ignore file or the lock could not be written.
    #[error(transparent)]
    Write(#[from] durable::Error),
    /// The lock could not be used.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// Git refused or did not answer.
    #[error("commit the state: {0}")]
    Git(String),
}

impl Settler {
    /// Commits what has changed, and pushes it where the user has set an upstream.
    ///
    /// # Errors
    /// Git is missing or refuses. Nothing else depends on it.
    pub fn commit_state(&self, what: &str) -> Result<(), HistoryError> {
        // Who comes second finds everything committed by the first, or commits it the next time.
        let _alone = match Lock::try_alone(&self.state.locks().join("git")) {
            Ok(alone) => alone,
            Err(LockError::Held { .. }) => return Ok(()),
            Err(error) => return Err(error.into()),
        };
        let folder = self.state.path();
        if !folder.join(".git").exists() {
            git(folder, &["init", "--quiet", "--initial-branch=main"])?;
            // Only in a repository of our own making: in the user's the rules are the user's.
            durable::private_dir(&folder.join(".git/info"))?;
            durable::replace(&folder.join(".git/info/exclude"), IGNORED.as_bytes())?;
        }
        let parts = COMMITTED.iter().copied().filter(|part| folder.join(part).exists());
        git(folder, &["add", "--all", "--"].into_iter().chain(parts).collect::<Vec<_>>())?;
        if ask(folder, &["diff", "--cached", "--quiet"])?.status.success() {
            return Ok(());
        }
        git(folder, &["commit", "--quiet", "--no-verify", "-m", what])?;
        if ask(folder, &["rev-parse", "--abbrev-ref", "@{upstream}"])?.status.success() {
            git(folder, &["push", "--quiet"])?;
        }
        Ok(())
    }
}

fn ask(folder: &Path, words: &[&str]) -> Result<Output, HistoryError> {
    ask_git(folder, None, words, DEADLINE).map_err(HistoryError::Git)
}

/// Asks git about the history of a state directory, or about another repository of the same folder. The error says why git did
/// not answer.
///
/// # Errors
/// Git is missing, or takes too long.
pub fn ask_git(
    folder: &Path,
    repository: Option<&Path>,
    words: &[&str],
    deadline: Duration,
) -> Result<Output, String> {
    let mut command = Command::new("git");
    command
        .arg("-C")
        .arg(folder)
        .args([
            "-c",
            "user.name=rekindle",
            "-c",
            "user.email=rekindle@localhost",
            "-c",
            "commit.gpgsign=false",
            "-c",
            "gc.auto=0",
        ])
        .args(words)
        .env("GIT_TERMINAL_PROMPT", "0")
        .env_remove("GIT_DIR")
        .env_remove("GIT_WORK_TREE")
        .env_remove("GIT_INDEX_FILE");
    if let Some(repository) = repository {
        command.env("GIT_DIR", repository).env("GIT_WORK_TREE", folder);
    }
    match run(&mut command, deadline) {
        Ran::Done(output) => Ok(output),
        Ran::TooLate => Err("git did not answer in time".to_owned()),
        Ran::NotStarted(error) => Err(format!("git cannot be started: {error}")),
    }
}

/// The first line of what git said where it refused.
///
/// # Errors
/// It refused.
pub fn git_agreed(output: &Output) -> Result<(), String> {
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(said.lines().next().unwrap_or_default().to_owned())
}

fn git(folder: &Path, words: &[&str]) -> Result<(), HistoryError> {
    let first = words.first().unwrap_or(&"");
    git_agreed(&ask(folder, words)?).map_err(|said| HistoryError::Git(format!("git {first}: {said}")))
}
