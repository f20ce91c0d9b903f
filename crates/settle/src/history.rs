//! The state directory as a git repository (`state.git`): a commit per settlement, readable and diffable.
//!
//! Secrets and bulk stay out of it: what hooks left as it came, the vault, scrollback, caches.

use std::path::Path;
use std::process::{Command, Output};
use std::time::Duration;

use mux::{Ran, run};
use state::durable;
use state::lock::{Lock, LockError};

use crate::settle::Settler;

/// What is never committed.
const IGNORED: &str = "# Written by rekindle: bulk, and what is not redacted.\n\
    /cache/\n/host/\n/inbox/\n/locks/\n/log/\n/saves/*.zst\n/snapshots/\n/spool/\n/vault/\n.rekindle-*\n";

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
        }
        let ignore = folder.join(".gitignore");
        if !ignore.exists() {
            durable::replace(&ignore, IGNORED.as_bytes())?;
        }
        git(folder, &["add", "--all"])?;
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
        ])
        .args(words)
        .env("GIT_TERMINAL_PROMPT", "0")
        .env_remove("GIT_DIR")
        .env_remove("GIT_WORK_TREE")
        .env_remove("GIT_INDEX_FILE");
    match run(&mut command, DEADLINE) {
        Ran::Done(output) => Ok(output),
        Ran::TooLate => Err(HistoryError::Git("git did not answer in time".to_owned())),
        Ran::NotStarted(error) => Err(HistoryError::Git(format!("git cannot be started: {error}"))),
    }
}

fn git(folder: &Path, words: &[&str]) -> Result<(), HistoryError> {
    let output = ask(folder, words)?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let first = said.lines().next().unwrap_or_default();
    Err(HistoryError::Git(format!("git {}: {first}", words.first().unwrap_or(&""))))
}
