//! `--watch`: the same lines again and again, drawn where they stand.

use std::io::{self, IsTerminal, Read, Write};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::termios::{LocalModes, OptionalActions, Termios, Winsize, tcgetattr, tcgetwinsize, tcsetattr};

use crate::exit::{Exit, Failure};
use crate::output::{colour, one_line, paint};

/// A person sees a change within this.
const INTERVAL: Duration = Duration::from_secs(1);

const CTRL_C: u8 = 3;

/// What stands below the lines: how to leave, and how to get to an agent.
const KEYS: &str = "q quit, g go to the waiting agent; `rekindle go NAME` goes to any";
const KEYS_SHORT: &str = "q quit, g go to the waiting agent";

/// Looks again and again, until the user leaves; without a terminal the hint names the command. `go` takes the user to an agent,
/// and returns what to say where it cannot.
pub(crate) fn run(
    command: &str,
    look: impl Fn() -> Result<String, Failure>,
    go: impl Fn() -> Option<String>,
) -> Result<Exit, Failure> {
    if !io::stdout().is_terminal() || !io::stdin().is_terminal() {
        return Err(Failure::new(Exit::Usage, "--watch needs a terminal")
            .hint(format!("without one: rekindle {command} --json, as often as you like")));
    }
    let mut screen = Screen::open().map_err(lost)?;
    let (mut drawn, mut said) = (None, None);
    loop {
        let lines = look()?;
        let size = tcgetwinsize(io::stdout()).ok();
        let below = said.clone().unwrap_or_else(|| keys(size).to_owned());
        let now = Some((lines, below, size.map(|size| (size.ws_col, size.ws_row))));
        if drawn != now {
            if let Some((lines, below, _)) = &now {
                screen.draw(lines, below, size).map_err(lost)?;
            }
            drawn = now;
        }
        match pressed().map_err(lost)? {
            Some(Key::Leave) => return Ok(Exit::Done),
            Some(Key::Go) => {
                // Whatever takes the terminal meanwhile gets it as it was.
                drop(screen);
                said = go();
                screen = Screen::open().map_err(lost)?;
                drawn = None;
            }
            None => {}
        }
    }
}

/// The keys, as much of them as fits.
fn keys(size: Option<Winsize>) -> &'static str {
    match size {
        Some(size) if size.ws_col > 0 && usize::from(size.ws_col) < KEYS.len() => KEYS_SHORT,
        _ => KEYS,
    }
}

/// What the user wants.
enum Key {
    Leave,
    Go,
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

    /// Draws from the top, over what was drawn before; what does not fit is left out, but for the line below.
    fn draw(&self, lines: &str, below: &str, size: Option<Winsize>) -> io::Result<()> {
        let rows = size.map(|size| usize::from(size.ws_row)).filter(|rows| *rows > 0).unwrap_or(usize::MAX);
        let mut frame = String::from("\u{1b}[H");
        for line in lines.lines().take(rows.saturating_sub(3).max(1)) {
            frame.push_str(line);
            frame.push_str("\u{1b}[K\n");
        }
        frame.push_str("\u{1b}[K\n");
        let columns = size.map(|size| usize::from(size.ws_col)).filter(|columns| *columns > 0);
        frame.push_str(&paint(&one_line(below, columns.unwrap_or(usize::MAX)), "2", colour()));
        frame.push_str("\u{1b}[K");
        frame.push_str("\u{1b}[J");
        write(&frame)
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        // The line with the keys ends, so that what comes next, mostly a shell's prompt, begins a line of its own.
        let _ = write("\u{1b}[?25h\n");
        let _ = tcsetattr(io::stdin(), OptionalActions::Now, &self.before);
    }
}

fn write(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
}

/// Waits for the next look, or for a key.
fn pressed() -> io::Result<Option<Key>> {
    let until = Instant::now() + INTERVAL;
    loop {
        let rest = until.saturating_duration_since(Instant::now());
        if rest.is_zero() {
            return Ok(None);
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
                let keys = keys.get(..read).unwrap_or_default();
                if read == 0 || keys.iter().any(|key| matches!(*key, b'q' | CTRL_C)) {
                    return Ok(Some(Key::Leave));
                }
                if keys.contains(&b'g') {
                    return Ok(Some(Key::Go));
                }
            }
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}
