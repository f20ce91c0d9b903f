//! Follows a process from system call to system call, and kills it or acts before a chosen one: the same number stops it at
//! the same place.
//!
//! All of its threads are followed. What it starts is not: a tmux server or an agent goes on when its starter is killed.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitStatus, Stdio};

use anyhow::{Context, Result, bail};
use libc::{c_int, c_long, c_uint, pid_t};

use crate::process::{Finished, collect};

/// How a followed process ended.
#[derive(Debug)]
pub struct Watched {
    /// What it left behind; no status where it was killed.
    pub done: Finished,
    /// How many of the counted calls it made.
    pub calls: u64,
}

/// A system call that a thread is about to make.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Call {
    /// Its number.
    pub number: c_long,
    /// Its arguments.
    pub arguments: [u64; 6],
}

/// What happens at a system call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// The call is made.
    GoOn,
    /// The call is not made: the process is killed.
    Kill,
}

impl Call {
    /// Whether this call may change a file, a folder, or what of them is on the disk. Between two such calls a kill leaves
    /// the same files behind, wherever it falls.
    pub fn changes_files(&self) -> bool {
        let creates = |flags: u64| flags & (libc::O_CREAT | libc::O_TRUNC) as u64 != 0;
        match self.number {
            libc::SYS_openat => creates(self.arguments[2]),
            number => CHANGING.contains(&number) || CHANGING_OLD.contains(&number),
        }
    }

    /// Whether this call gives a file another name.
    pub fn renames(&self) -> bool {
        #[cfg(target_arch = "x86_64")]
        let old = self.number == libc::SYS_rename;
        #[cfg(not(target_arch = "x86_64"))]
        let old = false;
        old || [libc::SYS_renameat, libc::SYS_renameat2].contains(&self.number)
    }

    /// Whether this call exchanges two files: the moment of a swap.
    pub fn exchanges_files(&self) -> bool {
        self.number == libc::SYS_renameat2 && self.arguments[4] & u64::from(libc::RENAME_EXCHANGE) != 0
    }
}

/// What changes files, folders, or what of them is on the disk.
const CHANGING: [c_long; 21] = [
    libc::SYS_write,
    libc::SYS_pwrite64,
    libc::SYS_writev,
    libc::SYS_pwritev,
    libc::SYS_pwritev2,
    libc::SYS_copy_file_range,
    libc::SYS_sendfile,
    libc::SYS_ftruncate,
    libc::SYS_truncate,
    libc::SYS_fallocate,
    libc::SYS_fsync,
    libc::SYS_fdatasync,
    libc::SYS_syncfs,
    libc::SYS_renameat2,
    libc::SYS_unlinkat,
    libc::SYS_mkdirat,
    libc::SYS_linkat,
    libc::SYS_symlinkat,
    libc::SYS_fchmod,
    libc::SYS_fchmodat,
    libc::SYS_utimensat,
];
#[cfg(target_arch = "x86_64")]
const CHANGING_OLD: [c_long; 8] = [
    libc::SYS_rename,
    libc::SYS_renameat,
    libc::SYS_unlink,
    libc::SYS_rmdir,
    libc::SYS_mkdir,
    libc::SYS_link,
    libc::SYS_symlink,
    libc::SYS_chmod,
];
#[cfg(not(target_arch = "x86_64"))]
const CHANGING_OLD: [c_long; 1] = [libc::SYS_renameat];

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
pub fn kill_at(command: &mut Command, nth: u64) -> Result<Watched> {
    kill_at_nth(command, nth, |call| COUNTED.contains(&call.number) || COUNTED_OLD.contains(&call.number))
}

/// Runs a command and kills it at its n-th call that may change a file; it ends by itself where it makes fewer.
pub fn kill_at_change(command: &mut Command, nth: u64) -> Result<Watched> {
    kill_at_nth(command, nth, Call::changes_files)
}

fn kill_at_nth(command: &mut Command, nth: u64, counts: impl Fn(&Call) -> bool) -> Result<Watched> {
    let mut calls = 0;
    let done = follow(command, |call| {
        calls += u64::from(counts(call));
        if counts(call) && calls == nth { Next::Kill } else { Next::GoOn }
    })?;
    Ok(Watched { done, calls })
}

/// Runs a command and asks before each of its system calls what is to happen. Whoever is asked may take their time, and act:
/// the thread waits.
pub fn follow(command: &mut Command, at: impl FnMut(&Call) -> Next) -> Result<Finished> {
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
    let status = watch(child.id().cast_signed(), at)?;
    let text = |reader: std::thread::JoinHandle<Vec<u8>>| {
        String::from_utf8_lossy(&reader.join().unwrap_or_default()).into_owned()
    };
    let status = Some(status).filter(|status| status.code().is_some());
    Ok(Finished { status, stdout: text(stdout), stderr: text(stderr) })
}

/// Follows every thread of a process from call to call until it has ended. The caller's own thread must have started it.
fn watch(main: pid_t, mut at: impl FnMut(&Call) -> Next) -> Result<ExitStatus> {
    let mut options_set = false;
    loop {
        let (pid, status) = wait()?;
        if libc::WIFEXITED(status) || libc::WIFSIGNALED(status) {
            if pid == main {
                return Ok(std::os::unix::process::ExitStatusExt::from_raw(status));
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
                if entered(pid).is_some_and(|call| at(&call) == Next::Kill) {
                    // SAFETY: it is our own child, stopped, so its id means nobody else.
                    unsafe { libc::kill(main, libc::SIGKILL) };
                    continue;
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
fn entered(pid: pid_t) -> Option<Call> {
    // SAFETY: all of its fields are numbers, for which zeros are fine.
    let mut info: libc::ptrace_syscall_info = unsafe { std::mem::zeroed() };
    let size = std::mem::size_of_val(&info);
    // SAFETY: the kernel writes at most `size` bytes into a local of that size.
    let got = unsafe { libc::ptrace(libc::PTRACE_GET_SYSCALL_INFO, pid, size, &raw mut info) };
    if got == -1 || info.op != libc::PTRACE_SYSCALL_INFO_ENTRY {
        return None;
    }
    // SAFETY: `op` says that this is the variant the kernel filled in.
    let entry = unsafe { info.u.entry };
    Some(Call { number: c_long::try_from(entry.nr).ok()?, arguments: entry.args })
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
