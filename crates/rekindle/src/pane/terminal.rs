//! The terminal of a pane: whose turn it is, and how it was before.

use std::io::{Read, Write};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::Pid;
use rustix::termios::{OptionalActions, QueueSelector, Termios, tcflush, tcgetattr, tcsetattr, tcsetpgrp};

/// What full-screen programs turn on and a killed one leaves on: the other screen, mouse, focus and paste reports, the
/// keyboard protocol, colours; and the cursor it turns off.
const SANE: &str = "\x1b[?1049l\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1006l\x1b[?1004l\x1b[?2004l\x1b[<u\x1b[>4;0m\x1b[?25h\x1b[0m";

/// The terminal as it was found.
pub(super) struct Terminal {
    before: Option<Termios>,
}

impl Terminal {
    pub(super) fn found() -> Terminal {
        Terminal { before: tcgetattr(std::io::stdin()).ok() }
    }

    /// Gives the terminal to a process group.
    pub(super) fn give(&self, group: Pid) {
        // Without a terminal there is nobody to share it with.
        let _ = tcsetpgrp(std::io::stdin(), group);
    }

    /// Takes the terminal back as it was.
    pub(super) fn take_back(&self) {
        self.give(rustix::process::getpgrp());
        if let Some(before) = &self.before {
            let _ = tcsetattr(std::io::stdin(), OptionalActions::Now, before);
        }
    }

    /// Turns off what a killed program has left on.
    pub(super) fn calm(&self) {
        let mut out = std::io::stdout().lock();
        let _ = out.write_all(SANE.as_bytes()).and_then(|()| out.flush());
    }

    /// Waits for keys that mean something; nothing where the terminal is gone.
    pub(super) fn key<T>(&self, understand: impl Fn(&[u8]) -> Option<T>) -> Option<T> {
        self.wait(None, understand)
    }

    /// The same, and `late` where nothing was typed for so many seconds.
    pub(super) fn key_or<T>(
        &self,
        (seconds, late): (u32, T),
        understand: impl Fn(&[u8]) -> Option<T>,
    ) -> Option<T> {
        self.wait(Some((seconds, late)), understand)
    }

    fn wait<T>(&self, mut late: Option<(u32, T)>, understand: impl Fn(&[u8]) -> Option<T>) -> Option<T> {
        self.raw();
        let meant = loop {
            if let Some((seconds, _)) = &late {
                let (stdin, limit) = (std::io::stdin(), Timespec { tv_sec: i64::from(*seconds), tv_nsec: 0 });
                // An interruption or an error is told by the read behind it.
                if poll(&mut [PollFd::new(&stdin, PollFlags::IN)], Some(&limit)) == Ok(0) {
                    break late.take().map(|(_, late)| late);
                }
            }
            let mut keys = [0; 64];
            let read = match std::io::stdin().lock().read(&mut keys) {
                Ok(0) => break None,
                Ok(read) => keys.get(..read).unwrap_or_default(),
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
                Err(_) => break None,
            };
            if let Some(meant) = understand(read) {
                break Some(meant);
            }
        };
        self.take_back();
        meant
    }

    /// Passes over what was typed and not read.
    pub(super) fn forget_typed(&self) {
        let _ = tcflush(std::io::stdin(), QueueSelector::IFlush);
    }

    /// Reads keys one by one, without showing them.
    pub(super) fn raw(&self) {
        if let Some(mut raw) = self.before.clone() {
            raw.make_raw();
            let _ = tcsetattr(std::io::stdin(), OptionalActions::Now, &raw);
        }
    }
}

/// Whether signals about a terminal that is somebody else's stop this process.
#[derive(Clone, Copy)]
pub(super) enum Background {
    Stops,
    GoesOn,
}

/// Who takes the terminal back from the background would be stopped for it. Not inherited: it must be set after the agent
/// was started and taken back before a shell is.
pub(super) fn in_background(what: Background) {
    let handler = match what {
        Background::Stops => libc::SIG_DFL,
        Background::GoesOn => libc::SIG_IGN,
    };
    // SAFETY: no handler runs: the signal is ignored or does what it does by default.
    unsafe {
        libc::signal(libc::SIGTTOU, handler);
        libc::signal(libc::SIGTTIN, handler);
    }
}

/// What the keys do that interrupt, quit or suspend a program.
#[derive(Clone, Copy)]
pub(super) enum Interrupts {
    Nothing,
    End,
}

/// A shell inherits what is ignored, so it must be taken back before one is started.
pub(super) fn interrupts(what: Interrupts) {
    let handler = match what {
        Interrupts::Nothing => libc::SIG_IGN,
        Interrupts::End => libc::SIG_DFL,
    };
    // SAFETY: no handler runs: the signal is ignored or does what it does by default.
    unsafe {
        for signal in [libc::SIGINT, libc::SIGQUIT, libc::SIGTSTP] {
            libc::signal(signal, handler);
        }
    }
}
