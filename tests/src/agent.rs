//! The agents under test: which versions, where they lie, how they are started.

use std::ffi::OsString;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use etcetera::{BaseStrategy, choose_base_strategy};

use crate::process;

/// One that heals nothing, one that heals some, a recent one: users run every one of these.
pub const VERSIONS: [&str; 3] = ["2.1.31", "2.1.100", "2.1.325"];

/// An installed agent of one version.
#[derive(Debug, Clone)]
pub struct Agent {
    /// Its version.
    pub version: String,
    program: Vec<OsString>,
}

impl Agent {
    /// The agent of this version, from the cache or else from npm. Safe when several do it at once.
    pub fn install(version: &str) -> Result<Agent> {
        let cache = cache_dir()?;
        let folder = cache.join(version);
        if let Some(agent) = find(version, &folder) {
            return Ok(agent);
        }
        fs::create_dir_all(&cache).with_context(|| format!("cannot make {}", cache.display()))?;
        let lock = File::create(cache.join(format!("{version}.lock")))?;
        lock.lock().context("cannot lock the cache of agents")?;
        if let Some(agent) = find(version, &folder) {
            return Ok(agent); // another process was faster
        }
        // Made beside and renamed, so that a reader without the lock sees all of it or nothing.
        let partial = cache.join(format!("{version}.partial"));
        let _ = fs::remove_dir_all(&partial);
        fs::create_dir_all(&partial)?;
        fs::write(partial.join("package.json"), "{}")?;
        let mut npm = Command::new("npm");
        npm.args(["install", "--silent", "--no-fund", "--no-audit"]);
        npm.arg(format!("@anthropic-ai/claude-code@{version}")).current_dir(&partial);
        let done = process::run(&mut npm, Duration::from_secs(600))?;
        if !done.success() {
            bail!("npm could not install agent {version}: {}", done.words());
        }
        let _ = fs::remove_dir_all(&folder);
        fs::rename(&partial, &folder)?;
        find(version, &folder).with_context(|| format!("npm installed no agent {version}"))
    }

    /// A command that starts it.
    pub fn command(&self) -> Command {
        let mut words = self.program.iter();
        let mut command = Command::new(words.next().map_or("claude".as_ref(), OsString::as_os_str));
        command.args(words);
        command
    }

    /// The words that start it, as a shell line.
    pub fn shell_words(&self) -> String {
        let quoted = self.program.iter().map(|word| format!("'{}'", word.to_string_lossy()));
        quoted.collect::<Vec<_>>().join(" ")
    }
}

/// `$REKINDLE_LAB_CACHE`, else the user's cache directory.
fn cache_dir() -> Result<PathBuf> {
    if let Some(given) = std::env::var_os("REKINDLE_LAB_CACHE") {
        return Ok(given.into());
    }
    Ok(choose_base_strategy()?.cache_dir().join("rekindle-lab"))
}

/// Old versions are a script for Node, new ones a native program in a package per platform.
fn find(version: &str, folder: &Path) -> Option<Agent> {
    let packages = folder.join("node_modules").join("@anthropic-ai");
    let entries = fs::read_dir(&packages).ok()?.filter_map(Result::ok);
    let native = entries.map(|entry| entry.path().join("claude")).find(|path| path.is_file());
    let script = packages.join("claude-code").join("cli.js");
    let program = match native {
        Some(native) => vec![native.into_os_string()],
        None if script.is_file() => vec!["node".into(), script.into_os_string()],
        None => return None,
    };
    Some(Agent { version: version.to_owned(), program })
}
