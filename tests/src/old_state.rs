//! A machine as an earlier version of the program left it, mounted where its records say it was.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use tempfile::TempDir;

use crate::process::{self, Finished};
use crate::rekindle::DEADLINE;

/// The machine id under which the records were written.
const MACHINE: &str = "0123456789abcdef0123456789abcdef";

/// Where everything was, and is again inside the mount namespace.
const ROOT: &str = "/mnt";

/// The state of 0.1.0, unpacked into a folder of its own.
#[derive(Debug)]
pub struct OldState {
    folder: TempDir,
    machine: PathBuf,
}

impl OldState {
    /// Unpacks it, as on the machine that wrote it.
    pub fn unpack() -> Result<OldState> {
        OldState::on_machine(MACHINE)
    }

    /// Unpacks it, as on another machine to which everything was copied, the key included.
    pub fn unpack_elsewhere() -> Result<OldState> {
        OldState::on_machine("fedcba9876543210fedcba9876543210")
    }

    fn on_machine(id: &str) -> Result<OldState> {
        let folder = tempfile::Builder::new().prefix("rk-").tempdir_in("/tmp")?;
        let archive = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/state-0.1.0.tar.zst");
        let root = folder.path().join("root");
        fs::create_dir(&root)?;
        let mut tar = Command::new("tar");
        tar.arg("--zstd").arg("-xpf").arg(&archive).arg("-C").arg(&root);
        let done = process::run(&mut tar, DEADLINE)?;
        ensure!(done.success(), "cannot unpack {}: {}", archive.display(), done.words());
        for made in ["bin", "run"] {
            fs::create_dir(root.join(made))?;
        }
        let machine = folder.path().join("machine-id");
        fs::write(&machine, format!("{id}\n"))?;
        // Its sessions are as old as the file; how long ago that was must not matter.
        let config = "[restore]\nstale_after = \"36500d\"\nkeep_map = \"36500d\"\n";
        fs::write(root.join("home/.config/rekindle/config.toml"), config)?;
        let state = OldState { folder, machine };
        state.script("claude", "echo '2.1.325 (Claude Code)'")?;
        Ok(state)
    }

    /// The same on another machine, to which everything was copied.
    pub fn moved_elsewhere(self) -> Result<OldState> {
        fs::write(&self.machine, "fedcba9876543210fedcba9876543210\n")?;
        Ok(self)
    }

    /// A file of it, as seen from outside the namespace.
    pub fn path(&self, inside: &str) -> PathBuf {
        self.folder.path().join("root").join(inside)
    }

    /// Puts a shell script at the front of its `PATH`.
    pub fn script(&self, name: &str, line: &str) -> Result<()> {
        let file = self.path("bin").join(name);
        fs::write(&file, format!("#!/bin/sh\n{line}\n"))?;
        fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o755))?;
        Ok(())
    }

    /// A command in its environment, with its files at their old paths.
    pub fn command(&self, words: &[&str]) -> Command {
        let mount = "mount --bind \"$1\" /mnt && mount --bind \"$2\" /etc/machine-id && shift 2 && cd /mnt/project \
                     && exec \"$@\"";
        let mut command = Command::new("unshare");
        if !rustix::process::getuid().is_root() {
            command.arg("--map-root-user");
        }
        command.args(["--mount", "--propagation", "private", "sh", "-c", mount, "sh"]);
        command.arg(self.folder.path().join("root")).arg(&self.machine).args(words);
        let inside = |name: &str| format!("{ROOT}/{name}");
        command.env_clear().envs([
            ("PATH", format!("{ROOT}/bin:/usr/local/bin:/usr/bin:/bin")),
            ("HOME", inside("home")),
            ("TERM", "xterm-256color".to_owned()),
            ("LANG", "C.UTF-8".to_owned()),
            ("USER", "lab".to_owned()),
            ("SHELL", "/bin/bash".to_owned()),
            ("TMUX_TMPDIR", ROOT.to_owned()),
            ("XDG_RUNTIME_DIR", inside("run")),
            ("REKINDLE_STATE_DIR", inside("state")),
        ]);
        command
    }

    /// Runs the program on it.
    pub fn rekindle(&self, words: &[&str]) -> Result<Finished> {
        let program = crate::program().canonicalize().context("the program is not built")?;
        let program = program.to_string_lossy().into_owned();
        let words: Vec<&str> = std::iter::once(program.as_str()).chain(words.iter().copied()).collect();
        process::run(&mut self.command(&words), DEADLINE)
    }

    /// Runs the program on it with `--json` and reads what it printed. It must succeed.
    pub fn json(&self, words: &[&str]) -> Result<Value> {
        let done = self.rekindle(&[words, &["--json"]].concat())?;
        ensure!(done.success(), "{words:?} ended with {:?}: {}", done.code(), done.words());
        serde_json::from_str(&done.stdout).with_context(|| format!("{words:?} printed {}", done.stdout))
    }
}
