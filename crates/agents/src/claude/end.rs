//! Asking one process to end, and waiting until it has. **Nobody is killed**: who does not end stays.

use std::time::Duration;

/// Why a process has not ended.
#[derive(Debug, thiserror::Error)]
pub enum EndError {
    /// Its number is another's by now, or nobody's.
    #[error("process {0} is not the one that was meant: it is gone, or another has its number")]
    Another(u32),
    /// It was asked, and is still there.
    #[error("process {0} was asked to end and has not")]
    Still(u32),
    /// The system does not let us.
    #[error("process {0} cannot be asked to end: {1}")]
    Refused(u32, std::io::Error),
}

/// Asks the process with this id that started at this moment (the kernel's ticks) to end, and waits for it so long.
///
/// # Errors
/// It is another process, it may not be asked, or it has not ended in time.
#[cfg(target_os = "linux")]
pub fn end(pid: u32, start_ticks: u64, patience: Duration) -> Result<(), EndError> {
    use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

    use super::process::Stat;

    let refused = |error: rustix::io::Errno| EndError::Refused(pid, error.into());
    let raw = i32::try_from(pid).ok().and_then(Pid::from_raw).ok_or(EndError::Another(pid))?;
    // The descriptor is of whoever has the number now, for good: what is asked after it was opened is asked of that one.
    let process = match pidfd_open(raw, PidfdFlags::empty()) {
        Err(rustix::io::Errno::SRCH) => return Err(EndError::Another(pid)),
        opened => opened.map_err(refused)?,
    };
    let same = Stat::read(&pid.to_string()).is_some_and(|stat| stat.start_ticks == start_ticks);
    if !same {
        return Err(EndError::Another(pid));
    }
    match pidfd_send_signal(&process, Signal::TERM) {
        // It has just ended by itself.
        Err(rustix::io::Errno::SRCH) => return Ok(()),
        sent => sent.map_err(refused)?,
    }
    if ended(&process, patience).map_err(refused)? { Ok(()) } else { Err(EndError::Still(pid)) }
}

/// Waits until a process has ended; false when it has not.
#[cfg(target_os = "linux")]
fn ended(process: &std::os::fd::OwnedFd, patience: Duration) -> rustix::io::Result<bool> {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};

    let since = std::time::Instant::now();
    loop {
        let left = patience.saturating_sub(since.elapsed());
        let left = Timespec::try_from(left).unwrap_or(Timespec { tv_sec: 1, tv_nsec: 0 });
        match poll(&mut [PollFd::new(process, PollFlags::IN)], Some(&left)) {
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error),
            Ok(ready) => return Ok(ready > 0),
        }
    }
}

/// Where a process cannot be held by a descriptor, its number may be another's when the signal comes: nobody is asked.
#[cfg(not(target_os = "linux"))]
pub fn end(pid: u32, _start_ticks: u64, _patience: Duration) -> Result<(), EndError> {
    Err(EndError::Refused(pid, std::io::ErrorKind::Unsupported.into()))
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use std::io::Read;
    use std::process::{Child, Command, Stdio};

    use super::*;
    use crate::claude::process::{Stat, is_gone};

    /// A shell that says when it is ready, and its start.
    fn shell(script: &str) -> (Child, u64) {
        let mut child = Command::new("sh")
            .args(["-c", script])
            .stdout(Stdio::piped())
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        let mut ready = [0; 1];
        child.stdout.as_mut().unwrap().read_exact(&mut ready).unwrap();
        let start = Stat::read(&child.id().to_string()).unwrap().start_ticks;
        (child, start)
    }

    #[test]
    fn only_the_process_that_was_meant_ends() {
        let (mut child, start) = shell("echo x; read line");
        let pid = child.id();
        assert!(matches!(end(pid, start + 1, Duration::ZERO), Err(EndError::Another(_))));
        assert!(!is_gone(pid));
        end(pid, start, Duration::from_secs(30)).unwrap();
        assert!(is_gone(pid));
        child.wait().unwrap();
        assert!(matches!(end(pid, start, Duration::ZERO), Err(EndError::Another(_))));
        assert!(matches!(end(u32::MAX, start, Duration::ZERO), Err(EndError::Another(_))));
    }

    #[test]
    fn who_does_not_end_stays() {
        let (mut child, start) = shell("trap '' TERM; echo x; read line");
        let pid = child.id();
        assert!(matches!(end(pid, start, Duration::from_millis(50)), Err(EndError::Still(_))));
        assert!(!is_gone(pid));
        drop(child.stdin.take());
        child.wait().unwrap();
    }
}
