//! A throwaway home: what an agent and rekindle see of a machine, and gone when dropped.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::tmux::Tmux;

/// Never a real key: it only has to be approved in the home's own settings and sent to the loopback API.
pub const KEY: &str = "dummy-key-for-loopback-only";

/// A root with `home/`, `project/` and `state/`, onboarded and trusted, so that an agent starts without a question.
#[derive(Debug)]
pub struct Home {
    // Dropped first: nothing of this home may write into the folder while it goes.
    tmux: Tmux,
    path: PathBuf,
    folder: TempDir,
}

impl Home {
    /// Makes a new one.
    pub fn new() -> Result<Home> {
        // Directly under /tmp: the path of a socket may have 107 bytes at most.
        let root =
            tempfile::Builder::new().prefix("rk-").tempdir_in("/tmp").context("no throwaway folder")?;
        let path = root.path().canonicalize()?;
        // Where tmux itself looks for the default server under `TMUX_TMPDIR`: a plain `tmux` in this home is private.
        let sockets = path.join(format!("tmux-{}", rustix::process::getuid().as_raw()));
        fs::DirBuilder::new().mode(0o700).create(&sockets)?;
        let home = Home { tmux: Tmux::new(sockets.join("default")), path, folder: root };
        for folder in [home.config(), home.project(), home.state(), home.bin(), home.path.join("run")] {
            fs::create_dir_all(folder)?;
        }
        home.trust(&home.project())?;
        fs::write(
            home.config().join("settings.json"),
            json!({"permissions": {"allow": ["Bash"]}}).to_string(),
        )?;
        Ok(home)
    }

    /// Accepts onboarding, key and this project's trust beforehand. Tests may; rekindle itself never does.
    pub fn trust(&self, project: &Path) -> Result<()> {
        let file = self.home().join(".claude.json");
        let mut known = match fs::read(&file) {
            Ok(bytes) => serde_json::from_slice(&bytes)?,
            Err(_) => json!({
                "hasCompletedOnboarding": true, "theme": "dark", "projects": {},
                // The agent knows an approved key by its last 20 characters.
                "customApiKeyResponses": {"approved": [&KEY[KEY.len() - 20..]], "rejected": []},
            }),
        };
        known["projects"][project.to_string_lossy().as_ref()] = json!({"hasTrustDialogAccepted": true});
        fs::write(file, known.to_string())?;
        Ok(())
    }

    /// Takes this project's trust back: the agent asks for it at its next start.
    pub fn distrust(&self, project: &Path) -> Result<()> {
        let file = self.home().join(".claude.json");
        let mut known: Value = serde_json::from_slice(&fs::read(&file)?)?;
        known["projects"][project.to_string_lossy().as_ref()]["hasTrustDialogAccepted"] = json!(false);
        fs::write(file, known.to_string())?;
        Ok(())
    }

    /// Leaves the folder behind when this value goes; its tmux server ends all the same.
    pub fn keep(&mut self) {
        self.folder.disable_cleanup(true);
    }

    /// The folder that holds everything.
    pub fn root(&self) -> &Path {
        &self.path
    }

    /// `$HOME`.
    pub fn home(&self) -> PathBuf {
        self.path.join("home")
    }

    /// The agent's config directory.
    pub fn config(&self) -> PathBuf {
        self.home().join(".claude")
    }

    /// The project the agent works in.
    pub fn project(&self) -> PathBuf {
        self.path.join("project")
    }

    /// `$REKINDLE_STATE_DIR`.
    pub fn state(&self) -> PathBuf {
        self.path.join("state")
    }

    /// Deletes the vault, while nobody mirrors anything into it.
    pub fn lose_vault(&self) -> Result<()> {
        let turn = fs::File::create(self.state().join("locks/mirror"))?;
        turn.lock()?;
        match fs::remove_dir_all(self.state().join("vault")) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
            removed => Ok(removed?),
        }
    }

    /// A folder at the front of `PATH`.
    pub fn bin(&self) -> PathBuf {
        self.path.join("bin")
    }

    /// Where the agent keeps the conversations of a project directory.
    pub fn slug(&self, project: &Path) -> PathBuf {
        let name: String = project
            .to_string_lossy()
            .chars()
            .map(|c| if c.is_ascii_alphanumeric() { c } else { '-' })
            .collect();
        self.config().join("projects").join(name)
    }

    /// The transcript of a session of the project.
    pub fn transcript(&self, session: &str) -> PathBuf {
        self.slug(&self.project()).join(format!("{session}.jsonl"))
    }

    /// Puts a small shell script at the front of `PATH`.
    pub fn script(&self, name: &str, line: &str) -> Result<()> {
        let file = self.bin().join(name);
        fs::write(&file, format!("#!/bin/sh\n{line}\n"))?;
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755))?;
        Ok(())
    }

    /// An agent that knows no more than its version.
    pub fn pretend_agent(&self, version: &str) -> Result<()> {
        self.script("claude", &format!("echo '{version} (Claude Code)'"))
    }

    /// A private tmux server, started by its first command and killed with the home.
    pub fn tmux(&self) -> &Tmux {
        &self.tmux
    }

    /// A clean environment: an inherited `CLAUDE*` variable can stop the agent from saving its transcript at all.
    pub fn env(&self) -> Vec<(String, String)> {
        let outer = std::env::var("PATH").unwrap_or_default();
        let text = |path: PathBuf| path.to_string_lossy().into_owned();
        let pairs = [
            ("PATH", format!("{}:{outer}", self.bin().display())),
            ("HOME", text(self.home())),
            ("TERM", "xterm-256color".to_owned()),
            ("LANG", "C.UTF-8".to_owned()),
            ("USER", "lab".to_owned()),
            ("SHELL", "/bin/bash".to_owned()),
            ("TMUX_TMPDIR", text(self.path.clone())),
            ("XDG_RUNTIME_DIR", text(self.path.join("run"))),
            ("REKINDLE_STATE_DIR", text(self.state())),
            ("DISABLE_AUTOUPDATER", "1".to_owned()),
            ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1".to_owned()),
            ("DISABLE_TELEMETRY", "1".to_owned()),
        ];
        pairs.map(|(name, value)| (name.to_owned(), value)).into()
    }

    /// A command in this home's environment and project.
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        self.adopt(Command::new(program))
    }

    /// Puts a command into this home's environment and project.
    pub fn adopt(&self, mut command: Command) -> Command {
        command.env_clear().envs(self.env()).current_dir(self.project());
        command
    }
}
