//! A terminal of its own for a command: what it shows there, with colour and all.

use std::io::Read;
use std::os::fd::OwnedFd;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use anyhow::{Result, bail, ensure};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

use crate::process::{Running, wait_until};

/// What a command shows on a terminal of this width, until it ends. A terminal of 0 columns does not know its width.
pub fn shown_in(command: &mut Command, columns: u16, deadline: Duration) -> Result<String> {
    let (master, terminal) = open(columns)?;
    command.stdin(Stdio::null()).stdout(terminal.try_clone()?).stderr(terminal.try_clone()?);
    let mut running = Running::start(command)?;
    // Reading ends when no process has the terminal open any more, this one included.
    command.stdout(Stdio::null()).stderr(Stdio::null());
    drop(terminal);
    let reader = read_all(master);
    let status = running.wait(deadline)?;
    drop(running);
    ensure!(status.is_some(), "{} has not ended", command.get_program().display());
    let bytes = reader.join().unwrap_or_default();
    Ok(String::from_utf8_lossy(&bytes).replace("\r\n", "\n"))
}

/// What a command showed on a terminal before its question was answered, and in the end.
#[derive(Debug)]
pub struct Asked {
    /// What the user saw when the last question was asked, the question included.
    pub before: String,
    /// Everything that was shown.
    pub all: String,
    /// The exit code.
    pub code: Option<i32>,
}

/// A command that runs on a terminal of its own; it ends with this value.
#[derive(Debug)]
pub struct Seated {
    running: Running,
    master: OwnedFd,
    screen: Arc<Mutex<Vec<u8>>>,
    reader: std::thread::JoinHandle<()>,
}

impl Seated {
    /// Starts it.
    pub fn start(command: &mut Command) -> Result<Seated> {
        Seated::start_in(command, 120)
    }

    /// Starts it on a terminal of this width.
    pub fn start_in(command: &mut Command, columns: u16) -> Result<Seated> {
        let (master, terminal) = open(columns)?;
        command.stdin(terminal.try_clone()?).stdout(terminal.try_clone()?).stderr(terminal.try_clone()?);
        let running = Running::start(command)?;
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        drop(terminal);
        let screen = Arc::new(Mutex::new(Vec::new()));
        let reader = follow(std::fs::File::from(master.try_clone()?), Arc::clone(&screen));
        Ok(Seated { running, master, screen, reader })
    }

    /// Everything that was shown so far.
    pub fn shown(&self) -> String {
        let bytes = self.screen.lock().map(|bytes| bytes.clone()).unwrap_or_default();
        String::from_utf8_lossy(&bytes).replace("\r\n", "\n")
    }

    /// Waits until this is shown.
    pub fn shows(&self, text: &str, deadline: Duration) -> Result<()> {
        ensure!(wait_until(deadline, || self.shown().contains(text)), "no {text:?} in {}", self.shown());
        Ok(())
    }

    /// Presses these keys.
    pub fn press(&self, keys: &str) -> Result<()> {
        rustix::io::write(&self.master, keys.as_bytes())?;
        Ok(())
    }

    /// Waits until it ends: its exit code, and everything that was shown.
    pub fn end(mut self, deadline: Duration) -> Result<(Option<i32>, String)> {
        let Some(status) = self.running.wait(deadline)? else {
            bail!("the command has not ended: {}", self.shown())
        };
        let Seated { running, master, screen, reader } = self;
        drop(running);
        // The end of a terminal comes when its last user has gone.
        let _ = reader.join();
        drop(master);
        let bytes = screen.lock().map(|bytes| bytes.clone()).unwrap_or_default();
        Ok((status.code(), String::from_utf8_lossy(&bytes).replace("\r\n", "\n")))
    }
}

/// Runs a command on a terminal, types an answer once `question` is on the screen, and waits until the command ends.
pub fn answered(command: &mut Command, question: &str, answer: &str, deadline: Duration) -> Result<Asked> {
    answered_all(command, &[(question, answer)], 120, deadline)
}

/// The same with several questions on a terminal of this width, each answered when it shows behind what was there before.
pub fn answered_all(
    command: &mut Command,
    dialogue: &[(&str, &str)],
    columns: u16,
    deadline: Duration,
) -> Result<Asked> {
    let seated = Seated::start_in(command, columns)?;
    let mut before = String::new();
    for (question, answer) in dialogue {
        let seen = before.len();
        let asked = || seated.shown().get(seen..).is_some_and(|rest| rest.contains(question));
        ensure!(wait_until(deadline, asked), "no {question:?} in {}", seated.shown());
        before = seated.shown();
        seated.press(&format!("{answer}\n"))?;
    }
    let (code, all) = seated.end(deadline)?;
    Ok(Asked { before, all, code })
}

/// A terminal of this width: our end, and the command's.
fn open(columns: u16) -> Result<(OwnedFd, OwnedFd)> {
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)?;
    grantpt(&master)?;
    unlockpt(&master)?;
    let name = ptsname(&master, Vec::new())?;
    let flags = rustix::fs::OFlags::RDWR | rustix::fs::OFlags::NOCTTY | rustix::fs::OFlags::CLOEXEC;
    let terminal = rustix::fs::open(&name, flags, rustix::fs::Mode::empty())?;
    let rows = if columns == 0 { 0 } else { 40 };
    tcsetwinsize(&terminal, Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 })?;
    Ok((master, terminal))
}

/// Keeps what is shown as it comes.
fn follow(mut master: std::fs::File, screen: Arc<Mutex<Vec<u8>>>) -> std::thread::JoinHandle<()> {
    std::thread::spawn(move || {
        let mut part = [0; 4096];
        // The end of a terminal is an error (EIO).
        while let Ok(count @ 1..) = master.read(&mut part) {
            if let (Ok(mut screen), Some(read)) = (screen.lock(), part.get(..count)) {
                screen.extend_from_slice(read);
            }
        }
    })
}

fn read_all(master: OwnedFd) -> std::thread::JoinHandle<Vec<u8>> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        // The end of a terminal is an error (EIO); what came before it counts.
        let _ = std::fs::File::from(master).read_to_end(&mut bytes);
        bytes
    })
}

/// A text without what paints it.
pub fn unpainted(text: &str) -> String {
    // A line that was erased is not seen.
    let lines = text.split('\n').map(|line| line.rsplit_once("\r\u{1b}[2K").map_or(line, |(_, rest)| rest));
    let text = lines.collect::<Vec<_>>().join("\n");
    let mut parts = text.split("\u{1b}[");
    let first = parts.next().unwrap_or_default().to_owned();
    first + &parts.map(|part| part.split_once('m').map_or(part, |(_, rest)| rest)).collect::<String>()
}
