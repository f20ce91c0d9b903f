//! The program under test, run in a throwaway home.

use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::home::Home;
use crate::process::{self, Finished};

/// Everything here takes a second or two; a row of 200 MB on a loaded machine some more. Who hangs is caught by this.
pub const DEADLINE: Duration = Duration::from_secs(120);

impl Home {
    /// A command that runs the program in this home.
    pub fn rekindle_command(&self, arguments: &[&str]) -> Command {
        let mut command = self.command(crate::program());
        command.args(arguments);
        command
    }

    /// Runs the program in this home.
    pub fn rekindle(&self, arguments: &[&str]) -> Result<Finished> {
        process::run(&mut self.rekindle_command(arguments), DEADLINE)
    }

    /// A command that runs the program on a machine that has nothing but what the home has.
    pub fn bare_command(&self, arguments: &[&str]) -> Command {
        let mut command = self.rekindle_command(arguments);
        command.env("PATH", format!("{}:/usr/bin:/bin", self.bin().display()));
        command
    }

    /// Runs the program on such a machine.
    pub fn bare(&self, arguments: &[&str]) -> Result<Finished> {
        process::run(&mut self.bare_command(arguments), DEADLINE)
    }

    /// Runs the program on such a machine. It must succeed.
    pub fn bare_done(&self, arguments: &[&str]) -> Result<Finished> {
        let done = self.bare(arguments)?;
        if !done.success() {
            bail!("{arguments:?} ended with {:?}: {}", done.code(), done.words());
        }
        Ok(done)
    }

    /// Runs the program with `--json` and reads what it printed. It must succeed.
    pub fn rekindle_json(&self, arguments: &[&str]) -> Result<Value> {
        let done = self.rekindle(&[arguments, &["--json"]].concat())?;
        if !done.success() {
            bail!("{arguments:?} ended with {:?}: {}", done.code(), done.words());
        }
        serde_json::from_str(&done.stdout).with_context(|| format!("{arguments:?} printed {}", done.stdout))
    }

    /// Scans one conversation.
    pub fn scan(&self, target: &str) -> Result<Value> {
        Ok(self.rekindle_json(&["scan", target])?["sessions"][0].take())
    }

    /// Repairs one conversation, which must go through.
    pub fn repair(&self, arguments: &[&str]) -> Result<Value> {
        Ok(self.rekindle_json(&[&["repair"], arguments].concat())?["sessions"][0].take())
    }
}

impl Finished {
    /// The exit code; `None` when it was killed.
    pub fn code(&self) -> Option<i32> {
        self.status.and_then(|status| status.code())
    }
}
