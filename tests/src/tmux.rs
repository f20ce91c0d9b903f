//! A private tmux server, reached and ended by its own socket only.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group, test_kill_process};

use crate::process::wait_until;

/// A tmux server on a socket of its own; it ends when dropped, with everything in its panes.
#[derive(Debug)]
pub struct Tmux {
    socket: PathBuf,
}

impl Tmux {
    /// A server on this socket; nothing is started before the first command.
    pub(crate) fn new(socket: PathBuf) -> Tmux {
        Tmux { socket }
    }

    /// The socket, as for `tmux -S`.
    pub fn socket(&self) -> &Path {
        &self.socket
    }

    /// A tmux command on this server, without the user's configuration. Give it an environment: `Home::adopt`.
    pub fn command(&self) -> Command {
        let mut command = Command::new("tmux");
        command.arg("-u").arg("-S").arg(&self.socket).args(["-f", "/dev/null"]);
        command
    }

    fn pane_pids(&self) -> Vec<Pid> {
        let listed = self.command().args(["list-panes", "-a", "-F", "#{pane_pid}"]).output();
        let text = listed.map(|out| String::from_utf8_lossy(&out.stdout).into_owned()).unwrap_or_default();
        text.lines().filter_map(|line| Pid::from_raw(line.parse().ok()?)).collect()
    }
}

impl Drop for Tmux {
    fn drop(&mut self) {
        if !self.socket.exists() {
            return;
        }
        let panes = self.pane_pids();
        let _ = self.command().arg("kill-server").output();
        // An agent outlives its terminal by a moment and still writes; one that does not end is ended.
        let gone = || panes.iter().all(|pid| test_kill_process(*pid).is_err());
        if !wait_until(Duration::from_secs(3), gone) {
            for pid in &panes {
                let _ = kill_process_group(*pid, Signal::KILL);
            }
        }
    }
}
