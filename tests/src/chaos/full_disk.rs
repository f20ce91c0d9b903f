//! A disk without room, for everybody: no file may grow beyond a few blocks. It needs no mount and no root, and leaves the
//! empty and half files that a full disk leaves.

use std::process::Command;

use anyhow::Result;
use rustix::process::{Pid, Resource, Rlimit, prlimit};

use super::random::Random;
use super::stage::Stage;
use crate::process;
use crate::rekindle::DEADLINE;

impl Stage {
    /// The same command on a full disk. A signal would end it at the first write; the error is what a full disk gives.
    fn on_full_disk(&self, command: &Command, random: &mut Random) -> Command {
        let blocks = *random.pick(&[0, 1, 4, 16]);
        let mut full = Command::new("sh");
        let line = format!("trap '' XFSZ; ulimit -S -f {blocks}; exec \"$0\" \"$@\"");
        full.arg("-c").arg(line).arg(command.get_program()).args(command.get_args());
        full.env_clear().current_dir(self.lab.home.project());
        full.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
        full
    }

    /// A save on a full disk: whatever it says, what was current is current, or a whole one is.
    pub(super) fn save_on_full_disk(&mut self, random: &mut Random) -> Result<()> {
        let save = self.lab.home.rekindle_command(&["save", "--json"]);
        let done = process::run(&mut self.on_full_disk(&save, random), DEADLINE)?;
        self.log.say(&format!("save on a full disk: {:?} {}", done.code(), done.words()));
        self.current()?;
        Ok(())
    }

    /// A restore on a full disk; then there is room again, for whatever it started, too.
    pub(super) fn restore_on_full_disk(&mut self, random: &mut Random) -> Result<()> {
        let restore = self.restore_command();
        let done = process::run(&mut self.on_full_disk(&restore, random), DEADLINE)?;
        self.note_restore(&done)?;
        for body in self.lab.home.bodies() {
            if let Some(pid) = i32::try_from(body.pid).ok().and_then(Pid::from_raw) {
                // One that has just ended is fine.
                let _ = prlimit(Some(pid), Resource::Fsize, Rlimit { current: None, maximum: None });
            }
        }
        Ok(())
    }
}
