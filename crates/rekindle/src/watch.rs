//! `--watch`: the same lines again and again, drawn where they stand.

use std::io::{self, IsTerminal, Read, Write};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::termios::{LocalModes, OptionalActions, Termios, Winsize, tcgetattr, tcgetwinsize, tcsetattr};

use crate::exit::{Exit, Failure};

/// A person sees a change within this.
const INTERVAL: Duration = Duration::from_secs(1);

const CTRL_C: u8 = 3;

/// Looks again and again, until the user leaves; without a terminal the hint names the command.
pub(crate) fn run(command: &str, look: impl Fn() -> Result<String, Failure>) -> Result<Exit, Failure> {
    if !io::stdout().is_terminal() || !io::stdin().is_terminal() {
        return Err(Failure::new(Exit::Usage, "--watch needs a terminal")
            .hint(format!("without one: rekindle {command} --json, as often as you like")));
    }
    let screen = Screen::open().map_err(lost)?;
    let mut drawn = None;
    loop {
        let lines = look()?;
        let size = tcgetwinsize(io::stdout()).ok();
        let now = Some((lines.clone(), size.map(|size| (size.ws_col, size.ws_row))));
        if drawn != now {
            screen.draw(&lines, size).map_err(lost)?;
            drawn = now;
        }
        if left().map_err(lost)? {
            return Ok(Exit::Done);
        }
    }
}

fn lost(error: impl std::fmt::Display) -> Failure {
    Failure::new(Exit::Failed, format!("the terminal is gone: {error}"))
}

/// A terminal without echo and cursor, and as it was when dropped.
struct Screen {
    before: Termios,
}

impl Screen {
    fn open() -> io::Result<Screen> {
        let before = tcgetattr(io::stdin())?;
        let mut quiet = before.clone();
        // Ctrl-C comes as a key, so that the cursor can be given back.
        quiet.local_modes -= LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG;
        tcsetattr(io::stdin(), OptionalActions::Now, &quiet)?;
        let screen = Screen { before };
        write("\u{1b}[?25l\u{1b}[2J")?;
        Ok(screen)
    }

    /// Draws from the top, over what was drawn before; what does not fit is left out.
    fn draw(&self, lines: &str, size: Option<Winsize>) -> io::Result<()> {
        let most = size.map_or(usize::MAX, |size| usize::from(size.ws_row)).saturating_sub(1).max(1);
        let mut frame = String::from("\u{1b}[H");
        for line in lines.lines().take(most) {
            frame.push_str(line);
            frame.push_str("\u{1b}[K\n");
        }
        frame.push_str("\u{1b}[J");
        write(&frame)
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        let _ = write("\u{1b}[?25h");
        let _ = tcsetattr(io::stdin(), OptionalActions::Now, &self.before);
    }
}

fn write(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
}

/// Waits for the next look; whether the user wants to leave.
fn left() -> io::Result<bool> {
    let until = Instant::now() + INTERVAL;
    loop {
        let rest = until.saturating_duration_since(Instant::now());
        if rest.is_zero() {
            return Ok(false);
        }
        let stdin = io::stdin();
        let mut waiting = [PollFd::new(&stdin, PollFlags::IN)];
        let wait = Timespec { tv_sec: rest.as_secs().cast_signed(), tv_nsec: rest.subsec_nanos().into() };
        match poll(&mut waiting, Some(&wait)) {
            Ok(0) => {}
            Ok(_) => {
                let mut keys = [0; 64];
                let read = stdin.lock().read(&mut keys)?;
                // A terminal that has nothing to say any more is gone.
                if read == 0 || keys[..read].iter().any(|key| matches!(*key, b'q' | CTRL_C)) {
                    return Ok(true);
                }
            }
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}
