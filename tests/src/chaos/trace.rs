//! A process that is killed at its n-th system call of those that leave traces: the same number kills at the same place.
//!
//! All of its threads are watched, what it starts is not: a tmux server or an agent goes on when its starter is killed.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitStatus, Stdio};

use anyhow::{Context, Result, bail};
use libc::{c_int, c_long, c_uint, pid_t};

use crate::process::{Finished, collect};

/// How a watched process ended.
#[derive(Debug)]
pub(super) struct Watched {
    /// What it left behind; no status where it was killed.
    pub(super) done: Finished,
    /// How many of the counted calls it made.
    pub(super) calls: u64,
}

/// What may be half done behind it: writing, renaming, locking, starting something, waiting for it.
const COUNTED: [c_long; 23] = [
    libc::SYS_write,
    libc::SYS_pwrite64,
    libc::SYS_writev,
    libc::SYS_ftruncate,
    libc::SYS_fsync,
    libc::SYS_fdatasync,
    libc::SYS_syncfs,
    libc::SYS_renameat2,
    libc::SYS_unlinkat,
    libc::SYS_mkdirat,
    libc::SYS_linkat,
    libc::SYS_symlinkat,
    libc::SYS_flock,
    libc::SYS_fchmod,
    libc::SYS_utimensat,
    libc::SYS_clone,
    libc::SYS_clone3,
    libc::SYS_execve,
    libc::SYS_wait4,
    libc::SYS_waitid,
    libc::SYS_clock_nanosleep,
    libc::SYS_kill,
    libc::SYS_socket,
];

/// Older calls that only some machines still have.
#[cfg(target_arch = "x86_64")]
const COUNTED_OLD: [c_long; 7] = [
    libc::SYS_rename,
    libc::SYS_unlink,
    libc::SYS_mkdir,
    libc::SYS_link,
    libc::SYS_symlink,
    libc::SYS_vfork,
    libc::SYS_poll,
];
#[cfg(not(target_arch = "x86_64"))]
const COUNTED_OLD: [c_long; 0] = [];

/// Runs a command and kills it at its n-th counted call; it ends by itself where it makes fewer.
pub(super) fn kill_at(command: &mut Command, nth: u64) -> Result<Watched> {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let ask_to_be_watched = || {
        // SAFETY: the request takes no pointers, and nothing is allocated between fork and exec.
        match unsafe { libc::ptrace(libc::PTRACE_TRACEME, 0, 0, 0) } {
            -1 => Err(io::Error::last_os_error()),
            _ => Ok(()),
        }
    };
    // SAFETY: the closure makes one system call and touches no memory of the parent.
    unsafe { command.pre_exec(ask_to_be_watched) };
    let mut child = command.spawn().context("cannot start a watched process")?;
    let (stdout, stderr) = (collect(child.stdout.take()), collect(child.stderr.take()));
    let (status, calls) = watch(child.id().cast_signed(), nth)?;
    let text = |reader: std::thread::JoinHandle<Vec<u8>>| {
        String::from_utf8_lossy(&reader.join().unwrap_or_default()).into_owned()
    };
    let status = Some(status).filter(|status| status.code().is_some());
    Ok(Watched { done: Finished { status, stdout: text(stdout), stderr: text(stderr) }, calls })
}

/// Follows every thread of a process from call to call until it has ended. The caller's own thread must have started it.
fn watch(main: pid_t, nth: u64) -> Result<(ExitStatus, u64)> {
    let mut calls = 0;
    let mut options_set = false;
    loop {
        let (pid, status) = wait()?;
        if libc::WIFEXITED(status) || libc::WIFSIGNALED(status) {
            if pid == main {
                return Ok((std::os::unix::process::ExitStatusExt::from_raw(status), calls));
            }
            continue;
        }
        if !options_set {
            // Threads, but not what it starts; and nothing of it outlives us.
            let options = libc::PTRACE_O_TRACESYSGOOD | libc::PTRACE_O_TRACECLONE | libc::PTRACE_O_EXITKILL;
            request(libc::PTRACE_SETOPTIONS, pid, c_long::from(options))?;
            options_set = true;
        }
        let signal = libc::WSTOPSIG(status);
        let pass_on = match signal {
            stopped if stopped == libc::SIGTRAP | 0x80 => {
                if entered(pid).is_some_and(|call| COUNTED.contains(&call) || COUNTED_OLD.contains(&call)) {
                    calls += 1;
                    if calls == nth {
                        // SAFETY: it is our own child, stopped, so its id means nobody else.
                        unsafe { libc::kill(main, libc::SIGKILL) };
                        continue;
                    }
                }
                0
            }
            // The exec, a new thread, and the word of its coming.
            libc::SIGTRAP | libc::SIGSTOP => 0,
            signal => signal,
        };
        // One that was killed meanwhile cannot go on; its end comes with the next wait.
        let _ = request(libc::PTRACE_SYSCALL, pid, c_long::from(pass_on));
    }
}

fn wait() -> Result<(pid_t, c_int)> {
    let mut status = 0;
    // Only what this thread started or watches: others of this process have children of their own.
    let options = libc::__WALL | libc::__WNOTHREAD;
    // SAFETY: the pointer is to a local that outlives the call.
    match unsafe { libc::waitpid(-1, &raw mut status, options) } {
        -1 => bail!("a watched process is gone: {}", io::Error::last_os_error()),
        pid => Ok((pid, status)),
    }
}

fn request(what: c_uint, pid: pid_t, data: c_long) -> Result<()> {
    // SAFETY: these requests take a number and no pointer.
    match unsafe { libc::ptrace(what, pid, 0, data) } {
        -1 => bail!("cannot watch {pid}: {}", io::Error::last_os_error()),
        _ => Ok(()),
    }
}

/// The call that a stopped thread is about to make; nothing where it comes back from one.
fn entered(pid: pid_t) -> Option<c_long> {
    // SAFETY: all of its fields are numbers, for which zeros are fine.
    let mut info: libc::ptrace_syscall_info = unsafe { std::mem::zeroed() };
    let size = std::mem::size_of_val(&info);
    // SAFETY: the kernel writes at most `size` bytes into a local of that size.
    let got = unsafe { libc::ptrace(libc::PTRACE_GET_SYSCALL_INFO, pid, size, &raw mut info) };
    if got == -1 || info.op != libc::PTRACE_SYSCALL_INFO_ENTRY {
        return None;
    }
    // SAFETY: `op` says that this is the variant the kernel filled in.
    c_long::try_from(unsafe { info.u.entry.nr }).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_killed_where_it_was_told_to_be() {
        let line = |nth: u64| {
            let mut command = Command::new("sh");
            kill_at(command.args(["-c", "echo one; echo two; echo three"]), nth).unwrap()
        };
        let whole = line(u64::MAX);
        assert!(whole.done.success(), "{whole:?}");
        assert_eq!((whole.calls, whole.done.stdout.as_str()), (3, "one\ntwo\nthree\n"));
        let killed = line(2);
        assert_eq!((killed.done.status, killed.done.stdout.as_str()), (None, "one\n"));
    }

    #[test]
    fn what_it_started_lives_on() {
        let mut command = Command::new("sh");
        // The first counted call starts the other one, the second would say `now`.
        let watched = kill_at(command.args(["-c", "sh -c 'echo later' & echo now"]), 2).unwrap();
        assert_eq!((watched.done.status, watched.done.stdout.as_str()), (None, "later\n"));
    }
}
