//! Text into a program that runs in a pane, as a person would paste it.
//!
//! Never by `send-keys`: without `--` it reads a leading `-` as flags, it eats a trailing `;`, a command over about 16 KB
//! fails, and a line break submits half a message (measured on 3.3a). A buffer has none of these, and takes 0.05 s where
//! keys take 40.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use crate::deadline::{Ran, run, run_with};
use crate::fields::Form;
use crate::list::tmux;
use crate::pane::ServerId;

/// tmux refused, or did not answer.
#[derive(Debug, thiserror::Error)]
#[error("{what}: {why}")]
pub struct PasteError {
    what: &'static str,
    why: String,
}

/// A pane at one moment: what it shows, and what would happen to text that comes in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sight {
    /// Which server this is.
    pub server: ServerId,
    /// Its terminal.
    pub tty: String,
    /// Whether tmux itself has the keys, as in copy mode.
    pub in_mode: bool,
    /// Whether its program gets no input (`select-pane -d`).
    pub input_off: bool,
    /// Whether keys go into every pane of the window (`synchronize-panes`): pasted text does not, Enter does (measured).
    pub synchronized: bool,
    /// Whether its process has ended.
    pub dead: bool,
    /// The screen, with its colours as escape sequences.
    pub screen: String,
}

const FIELDS: [&str; 7] =
    ["pid", "start_time", "pane_tty", "pane_in_mode", "pane_input_off", "pane_synchronized", "pane_dead"];

/// Looks at a pane; nothing where there is no such pane.
///
/// # Errors
/// tmux does not answer, or in an unknown form.
pub fn sight(socket: &Path, pane: &str, deadline: Duration) -> Result<Option<Sight>, PasteError> {
    const WHAT: &str = "look at the pane";
    let form = Form::new();
    let mut command = tmux(socket);
    // A pane that is gone is no error to the first command (it exits 0 and prints empty fields), but to the second.
    command.args(["display-message", "-p", "-t", pane, &form.ask(FIELDS), ";"]);
    command.args(["capture-pane", "-p", "-e", "-t", pane]);
    match run(&mut command, deadline) {
        Ran::Done(output) if output.status.success() => match parse(&form, &output.stdout) {
            Some(sight) => Ok(Some(sight)),
            None => Err(PasteError { what: WHAT, why: "tmux answered in an unknown form".to_owned() }),
        },
        Ran::Done(output) => {
            let words = String::from_utf8_lossy(&output.stderr).trim().to_owned();
            let gone = ["can't find pane", "no server running", "No such file", "Connection refused"];
            if gone.iter().any(|text| words.contains(text)) {
                return Ok(None);
            }
            Err(PasteError { what: WHAT, why: words })
        }
        Ran::TooLate => Err(late(WHAT)),
        Ran::NotStarted(cause) => Err(not_started(WHAT, &cause)),
    }
}

fn parse(form: &Form, answer: &[u8]) -> Option<Sight> {
    let mut fields = form.read(answer);
    let server = ServerId { pid: fields.number()?, started: fields.number()? };
    let tty = fields.text()?;
    let (in_mode, input_off) = (fields.text()?, fields.flag()?);
    let (synchronized, dead) = (fields.flag()?, fields.flag()?);
    fields.end_of_row()?;
    let screen = fields.rest();
    // Modes stand on each other: the field says how many there are.
    let in_mode = !matches!(in_mode.as_str(), "" | "0");
    Some(Sight { server, tty, in_mode, input_off, synchronized, dead, screen })
}

/// Leaves copy mode and every other mode of tmux in a pane. The program in it hears nothing of this.
///
/// # Errors
/// tmux refuses, or does not answer.
pub fn leave_modes(socket: &Path, pane: &str, deadline: Duration) -> Result<(), PasteError> {
    let mut command = tmux(socket);
    command.args(["copy-mode", "-q", "-t", pane]);
    send(run(&mut command, deadline), "leave copy mode")
}

/// Pastes text into a pane, as one piece where its program asks for that (bracketed paste).
///
/// The text must hold no control characters: an `ESC[201~` in it would end the piece early (measured). `buffer` must be
/// a new name: nobody else's buffer is touched, and this one is gone afterwards.
///
/// # Errors
/// tmux refuses, or does not answer. Whether anything has arrived then is unknown.
pub fn paste(
    socket: &Path,
    pane: &str,
    text: &str,
    buffer: &str,
    deadline: Duration,
) -> Result<(), PasteError> {
    let mut command = tmux(socket);
    command.args(["load-buffer", "-b", buffer, "-", ";"]);
    command.args(["paste-buffer", "-p", "-d", "-b", buffer, "-t", pane]);
    let pasted = send(run_with(&mut command, text.as_bytes().to_vec(), deadline), "paste the text");
    if pasted.is_err() {
        // What could not be pasted must not stay for the next one who pastes.
        let mut command = tmux(socket);
        command.args(["delete-buffer", "-b", buffer]);
        let _ = run(&mut command, deadline);
    }
    pasted
}

/// Types one short line into a pane, key by key. Line breaks in it would submit half of it.
///
/// # Errors
/// tmux refuses, or does not answer.
pub fn type_line(socket: &Path, pane: &str, text: &str, deadline: Duration) -> Result<(), PasteError> {
    let mut command = tmux(socket);
    // A word that ends in a semicolon would end the command.
    let word = match text.strip_suffix(';') {
        Some(open) => format!("{open}\\;"),
        None => text.to_owned(),
    };
    command.args(["send-keys", "-t", pane, "-l", "--", &word]);
    send(run(&mut command, deadline), "type the text")
}

/// Presses Enter in a pane.
///
/// # Errors
/// tmux refuses, or does not answer.
pub fn press_enter(socket: &Path, pane: &str, deadline: Duration) -> Result<(), PasteError> {
    let mut command: Command = tmux(socket);
    command.args(["send-keys", "-t", pane, "Enter"]);
    send(run(&mut command, deadline), "press Enter")
}

fn send(ran: Ran, what: &'static str) -> Result<(), PasteError> {
    match ran {
        Ran::Done(output) if output.status.success() => Ok(()),
        Ran::Done(output) => {
            Err(PasteError { what, why: String::from_utf8_lossy(&output.stderr).trim().to_owned() })
        }
        Ran::TooLate => Err(late(what)),
        Ran::NotStarted(cause) => Err(not_started(what, &cause)),
    }
}

fn late(what: &'static str) -> PasteError {
    PasteError { what, why: "tmux did not answer in time".to_owned() }
}

fn not_started(what: &'static str, cause: &std::io::Error) -> PasteError {
    PasteError { what, why: format!("tmux cannot be started: {cause}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_screen_follows_the_facts() {
        let form = Form::new();
        let answer = b":7|:99|:/dev/pts/3|:2|:0|:|:0|\nfirst\n\x1b[2msecond\n";
        let sight = parse(&form, answer).unwrap();
        assert_eq!(sight.server, ServerId { pid: 7, started: 99 });
        assert_eq!((sight.tty.as_str(), sight.in_mode, sight.input_off), ("/dev/pts/3", true, false));
        assert_eq!((sight.synchronized, sight.dead), (false, false));
        assert_eq!(sight.screen, "first\n\x1b[2msecond\n");
        assert_eq!(parse(&form, b":|:|:|:|:|:|:|\n"), None);
    }

    #[test]
    fn nobody_there_is_no_pane() {
        let dir = tempfile::tempdir().unwrap();
        let seen = sight(&dir.path().join("none"), "%0", Duration::from_secs(30)).unwrap();
        assert_eq!(seen, None);
    }
}
