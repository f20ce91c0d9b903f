//! The status line a user had before ours: run as the agent would have run it, with an end in time and size.

use std::ffi::OsStr;
use std::io::{self, Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group, set_parent_process_death_signal};

/// A status line that takes longer is of no use: the agent asks anew with every event.
const PATIENCE: Duration = Duration::from_secs(2);
/// How long a killed one may take to let go of its output.
const FAREWELL: Duration = Duration::from_millis(100);
/// More does not fit on any screen.
const MOST_BYTES: u64 = 64 * 1024;

/// A kept status line at work.
pub(super) struct Kept {
    child: Child,
    output: Receiver<Vec<u8>>,
    started: Instant,
}

impl Kept {
    /// Starts it through a shell, as agents do, with the same input.
    pub(super) fn start(line: &OsStr, input: &[u8]) -> io::Result<Kept> {
        let mut command = Command::new("sh");
        command.arg("-c").arg(line).stdin(Stdio::piped()).stdout(Stdio::piped());
        // A group of its own, so that everything it starts can be ended with it.
        command.process_group(0);
        // SAFETY: between fork and exec only a system call is made, which is safe there.
        unsafe {
            // An agent that gives up on us ends only us.
            command.pre_exec(|| Ok(set_parent_process_death_signal(Some(Signal::KILL))?));
        }
        let mut child = command.spawn()?;
        let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
        let input = input.to_vec();
        std::thread::spawn(move || {
            // One that does not read its input is none the worse for it.
            let _ = stdin.map(|mut stdin| stdin.write_all(&input));
        });
        let (send, output) = channel();
        std::thread::spawn(move || {
            let mut bytes = Vec::new();
            let _ = stdout.map(|stdout| stdout.take(MOST_BYTES).read_to_end(&mut bytes));
            let _ = send.send(bytes);
        });
        Ok(Kept { child, output, started: Instant::now() })
    }

    /// What it printed, in whole lines; one that is not done in time is ended, and what it printed until then counts.
    pub(super) fn finish(mut self) -> Vec<u8> {
        let left = PATIENCE.saturating_sub(self.started.elapsed());
        let in_time = self.output.recv_timeout(left).ok();
        if let Some(group) = Pid::from_raw(self.child.id().cast_signed()) {
            // One that is done has nobody left to end, but for what it may have left behind in its group.
            if in_time.as_ref().is_none_or(|bytes| bytes.len() as u64 == MOST_BYTES) {
                let _ = kill_process_group(group, Signal::KILL);
            }
        }
        let mut bytes = in_time.or_else(|| self.output.recv_timeout(FAREWELL).ok()).unwrap_or_default();
        let _ = self.child.try_wait();
        if bytes.len() as u64 == MOST_BYTES {
            // Cut between lines: never inside of a character or an escape sequence.
            let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |last| last + 1);
            bytes.truncate(whole);
        }
        if bytes.last().is_some_and(|last| *last != b'\n') {
            bytes.push(b'\n');
        }
        bytes
    }
}
