//! A terminal of its own for a command: what it shows there, with colour and all.

use std::io::Read;
use std::os::fd::OwnedFd;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Result, ensure};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

use crate::process::Running;

/// What a command shows on a terminal of this width, until it ends. A terminal of 0 columns does not know its width.
pub fn shown_in(command: &mut Command, columns: u16, deadline: Duration) -> Result<String> {
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)?;
    grantpt(&master)?;
    unlockpt(&master)?;
    let name = ptsname(&master, Vec::new())?;
    let flags = rustix::fs::OFlags::RDWR | rustix::fs::OFlags::NOCTTY | rustix::fs::OFlags::CLOEXEC;
    let terminal = rustix::fs::open(&name, flags, rustix::fs::Mode::empty())?;
    let rows = if columns == 0 { 0 } else { 40 };
    tcsetwinsize(&terminal, Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 })?;
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
    let mut parts = text.split("\u{1b}[");
    let first = parts.next().unwrap_or_default().to_owned();
    first + &parts.map(|part| part.split_once('m').map_or(part, |(_, rest)| rest)).collect::<String>()
}
