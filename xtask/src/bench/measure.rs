//! What a child process used of time and memory.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

/// The cost of one run.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cost {
    /// From start to end.
    pub(super) wall: Duration,
    /// User and system time of the process and its threads.
    pub(super) cpu: Duration,
    /// The most memory it held, in bytes.
    pub(super) memory: u64,
}

/// Runs a command to its end, without input; what it prints goes to `/dev/null`, so that it is written but not kept.
pub(super) fn run(command: &mut Command) -> Result<Cost> {
    run_as_is(command.stdin(Stdio::null()))
}

/// The same with the input that the command has.
pub(super) fn run_as_is(command: &mut Command) -> Result<Cost> {
    let start = Instant::now();
    let child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn();
    let mut child = child.with_context(|| format!("cannot start {}", command.get_program().display()))?;
    let mut complaint = String::new();
    if let Some(mut pipe) = child.stderr.take() {
        std::io::Read::read_to_string(&mut pipe, &mut complaint)?;
    }
    let pid = child.id().cast_signed();
    let mut status = 0;
    // SAFETY: `rusage` is plain numbers, for which zeros are a valid value.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: both pointers are to live values of the right type; the child was started here and is waited for once.
    let waited = unsafe { libc::wait4(pid, &raw mut status, 0, &raw mut usage) };
    let wall = start.elapsed();
    if waited != pid {
        bail!("cannot wait for {}", command.get_program().display());
    }
    // Findings are no failure: `scan` may end with a status that says "something is broken".
    if libc::WIFSIGNALED(status) || libc::WEXITSTATUS(status) > 2 {
        let words: String = complaint.trim().chars().take(200).collect();
        bail!("{} failed: {words}", command.get_program().display());
    }
    let time = |time: libc::timeval| {
        Duration::from_secs(time.tv_sec.unsigned_abs()) + Duration::from_micros(time.tv_usec.unsigned_abs())
    };
    // Linux counts the peak in kilobytes.
    Ok(Cost {
        wall,
        cpu: time(usage.ru_utime) + time(usage.ru_stime),
        memory: usage.ru_maxrss.unsigned_abs() * 1024,
    })
}

/// The middle of several runs by one of their costs; before each run `prepare` makes the command.
pub(super) fn median(
    times: usize,
    by: impl Fn(&Cost) -> Duration,
    mut prepare: impl FnMut() -> Result<Command>,
) -> Result<Cost> {
    let mut costs = Vec::with_capacity(times);
    for _ in 0..times {
        costs.push(run(&mut prepare()?)?);
    }
    costs.sort_by_key(|cost| by(cost));
    costs.get(times / 2).copied().context("no run")
}
