//! `save` beside one `tmux list-panes` that asks for what tmux-resurrect asks for.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Result, ensure};

use super::measure;
use super::report::Line;
use crate::workspace;

/// Enough for a median that does not move.
const TIMES: usize = 60;
const PANES: usize = 96;

/// The least that knowing the panes takes: their places, layouts, titles, directories and commands, once each.
const REFERENCE: &str = "#{session_name} #{window_index} #{window_name} #{window_active} #{window_flags} \
    #{window_layout} #{pane_index} #{pane_title} #{pane_current_path} #{pane_active} #{pane_current_command} \
    #{pane_pid} #{history_size}";

/// How long a save of many panes takes beside asking for them.
pub(super) fn line(program: &Path) -> Line {
    Line::of(format!("`save --no-scrollback`, {PANES} panes, median of {TIMES}"), "under 3 times", || {
        let desk = Desk::open(program)?;
        let (reference, ours) = desk.measure()?;
        let ratio = ours.as_secs_f64() / reference.as_secs_f64();
        Ok((
            time(ours),
            format!("`tmux list-panes`: {}", time(reference)),
            format!("{ratio:.2} times"),
            ratio < 3.0,
        ))
    })
}

/// A home with a private tmux, which ends with it.
struct Desk<'a> {
    program: &'a Path,
    home: PathBuf,
    // Not below the target: the path of a socket may have 107 bytes at most.
    _sockets: tempfile::TempDir,
    socket: PathBuf,
    base: PathBuf,
}

impl<'a> Desk<'a> {
    fn open(program: &'a Path) -> Result<Desk<'a>> {
        let home = workspace::target().join("bench").join("save");
        let _ = fs::remove_dir_all(&home);
        fs::create_dir_all(home.join("state"))?;
        let sockets = tempfile::Builder::new().prefix("rk-").tempdir_in("/tmp")?;
        let base = sockets.path().to_path_buf();
        // SAFETY: it has no precondition.
        let folder = base.join(format!("tmux-{}", unsafe { libc::geteuid() }));
        fs::create_dir(&folder)?;
        fs::set_permissions(&folder, std::os::unix::fs::PermissionsExt::from_mode(0o700))?;
        let desk = Desk { program, home, _sockets: sockets, socket: folder.join("default"), base };
        let mut script = String::new();
        for pane in 1..PANES {
            // Four panes a window.
            let verb = if pane % 4 == 0 { "new-window -a" } else { "split-window" };
            script.push_str(&format!("{verb} -d -t 'bench:{{end}}' 'exec cat'\n"));
            script.push_str("select-layout -t 'bench:{end}' tiled\n");
        }
        let path = desk.home.join("panes.tmux");
        fs::write(&path, script)?;
        let new = ["new-session", "-d", "-s", "bench", "-x", "200", "-y", "60", "exec cat"];
        measure::run(desk.tmux().args(new))?;
        measure::run(desk.tmux().arg("source-file").arg(&path))?;
        let listed = desk.tmux().args(["list-panes", "-a", "-F", "#{pane_id}"]).output()?.stdout;
        let panes = String::from_utf8_lossy(&listed).lines().count();
        ensure!(panes == PANES, "{panes} of {PANES} panes are open");
        Ok(desk)
    }

    fn tmux(&self) -> Command {
        let mut command = Command::new("tmux");
        command.arg("-u").arg("-S").arg(&self.socket).args(["-f", "/dev/null"]);
        self.adopt(command)
    }

    fn adopt(&self, mut command: Command) -> Command {
        command.env_clear().env("HOME", &self.home).env("TERM", "xterm").env("TMUX_TMPDIR", &self.base);
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.env("REKINDLE_STATE_DIR", self.home.join("state")).env("XDG_RUNTIME_DIR", &self.home);
        command
    }

    /// In turn, so that a busy machine is busy for both.
    fn measure(&self) -> Result<(Duration, Duration)> {
        let (mut reference, mut ours) = (Vec::new(), Vec::new());
        for _ in 0..TIMES {
            reference.push(measure::run(self.tmux().args(["list-panes", "-a", "-F", REFERENCE]))?.wall);
            let mut save = self.adopt(Command::new(self.program));
            ours.push(measure::run(save.args(["save", "--no-scrollback"]))?.wall);
        }
        let mut shown = self.adopt(Command::new(self.program));
        let said = shown.args(["saves", "show", "--json"]).output()?.stdout;
        let said: serde_json::Value = serde_json::from_slice(&said)?;
        ensure!(
            said["save"]["counts"]["panes"] == PANES,
            "the save has other panes: {}",
            said["save"]["counts"]
        );
        let median = |mut times: Vec<Duration>| {
            times.sort_unstable();
            times[TIMES / 2]
        };
        Ok((median(reference), median(ours)))
    }
}

impl Drop for Desk<'_> {
    fn drop(&mut self) {
        let _ = self.tmux().arg("kill-server").output();
    }
}

fn time(time: Duration) -> String {
    format!("{:.2} ms", time.as_secs_f64() * 1e3)
}
