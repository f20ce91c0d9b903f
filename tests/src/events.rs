//! Events fed to the program as an agent's hooks feed them.

use anyhow::{Result, bail};
use serde_json::{Value, json};

use crate::home::Home;
use crate::process::{self, Finished};
use crate::rekindle::DEADLINE;

impl Home {
    /// Runs `rekindle hook EVENT` with this on its standard input.
    pub fn hook_bytes(&self, event: &str, input: &[u8]) -> Result<Finished> {
        process::feed(&mut self.rekindle_command(&["hook", event]), input, DEADLINE)
    }

    /// An event of a session in the project, with these members beside the usual ones.
    pub fn hook(&self, event: &str, session: &str, more: &Value) -> Result<()> {
        let mut input = json!({
            "session_id": session, "hook_event_name": event, "cwd": self.project(),
            "transcript_path": self.transcript(session),
        });
        if let (Some(input), Some(more)) = (input.as_object_mut(), more.as_object()) {
            input.extend(more.clone());
        }
        let done = self.hook_bytes(event, input.to_string().as_bytes())?;
        if !done.success() || !done.stdout.is_empty() || !done.stderr.is_empty() {
            bail!("a hook must succeed and say nothing: {:?} {}", done.code(), done.words());
        }
        Ok(())
    }

    /// Settles, and returns what was said about it.
    pub fn settle(&self) -> Result<Value> {
        self.rekindle_json(&["settle"])
    }

    /// Writes the program's configuration.
    pub fn configure(&self, toml: &str) -> Result<()> {
        let path = self.home().join(".config/rekindle/config.toml");
        std::fs::create_dir_all(path.with_file_name(""))?;
        Ok(std::fs::write(path, toml)?)
    }
}
