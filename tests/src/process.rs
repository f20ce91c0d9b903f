//! Child processes with a deadline, each in a group of its own, so that what it started goes with it.

use std::io::{Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use rustix::process::{Pid, Signal, kill_process_group};

/// How often a condition is looked at: fast beside a process start, slow enough to cost nothing.
const POLL: Duration = Duration::from_millis(10);

/// What a finished process left behind.
#[derive(Debug)]
pub struct Finished {
    /// `None` when the deadline passed and it was killed.
    pub status: Option<ExitStatus>,
    /// Everything it printed.
    pub stdout: String,
    /// Everything it complained about.
    pub stderr: String,
}

impl Finished {
    /// Whether it ended by itself with status 0.
    pub fn success(&self) -> bool {
        self.status.is_some_and(|status| status.success())
    }

    /// What it last said, for people: its complaints, else its output, cut short.
    pub fn words(&self) -> String {
        let text = if self.stderr.trim().is_empty() { &self.stdout } else { &self.stderr };
        text.trim().chars().take(300).collect()
    }
}

/// Whether a process can still do anything.
pub fn runs(pid: u64) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"));
    stat.is_ok_and(|stat| stat.rsplit_once(") ").is_some_and(|(_, state)| !state.starts_with('Z')))
}

/// A process that dies with this value, and everything in its group with it.
#[derive(Debug)]
pub struct Running(Child);

impl Running {
    /// Starts a command in a process group of its own.
    pub fn start(command: &mut Command) -> Result<Running> {
        let child = command.process_group(0).spawn();
        Ok(Running(child.with_context(|| format!("cannot start {}", command.get_program().display()))?))
    }

    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.0.id()
    }

    /// Waits until it ends by itself; `None` when the deadline passes first.
    pub fn wait(&mut self, deadline: Duration) -> Result<Option<ExitStatus>> {
        let mut status = None;
        wait_until(deadline, || {
            status = self.0.try_wait().ok().flatten();
            status.is_some()
        });
        Ok(status)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(group) = Pid::from_raw(self.0.id().cast_signed()) {
            // Gone already is fine.
            let _ = kill_process_group(group, Signal::KILL);
        }
        let _ = self.0.wait();
    }
}

/// Runs a command without input and collects what it says, at most until the deadline.
pub fn run(command: &mut Command, deadline: Duration) -> Result<Finished> {
    finish(command.stdin(Stdio::null()), &[], deadline)
}

/// The same with this input.
pub fn feed(command: &mut Command, input: &[u8], deadline: Duration) -> Result<Finished> {
    finish(command.stdin(Stdio::piped()), input, deadline)
}

fn finish(command: &mut Command, input: &[u8], deadline: Duration) -> Result<Finished> {
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut running = Running::start(command)?;
    if let Some(mut pipe) = running.0.stdin.take() {
        let input = input.to_vec();
        // One that does not read all of its input is fine: the pipe breaks.
        std::thread::spawn(move || pipe.write_all(&input));
    }
    let stdout = collect(running.0.stdout.take());
    let stderr = collect(running.0.stderr.take());
    let status = running.wait(deadline)?;
    drop(running);
    let text = |reader: std::thread::JoinHandle<Vec<u8>>| {
        String::from_utf8_lossy(&reader.join().unwrap_or_default()).into_owned()
    };
    Ok(Finished { status, stdout: text(stdout), stderr: text(stderr) })
}

pub(crate) fn collect(pipe: Option<impl Read + Send + 'static>) -> std::thread::JoinHandle<Vec<u8>> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut pipe) = pipe {
            // A broken pipe ends the reading; what came before it counts.
            let _ = pipe.read_to_end(&mut bytes);
        }
        bytes
    })
}

/// Looks at a condition until it holds; false when the deadline passes first.
pub fn wait_until(deadline: Duration, mut holds: impl FnMut() -> bool) -> bool {
    let start = Instant::now();
    loop {
        if holds() {
            return true;
        }
        if start.elapsed() > deadline {
            return false;
        }
        std::thread::sleep(POLL);
    }
}
