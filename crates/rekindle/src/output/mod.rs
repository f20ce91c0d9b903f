//! How things are shown: one writer, one table, one kind of JSON, one progress bar.

mod ask;
mod bar;
mod choose;
mod table;
mod words;
mod wrap;

pub(crate) use ask::{Answer, Consent, agree, agree_or_show, ask, can_ask, reply};
pub(crate) use bar::{Bar, Busy};

/// What a repair, an undo and a redo do for two seconds: an agent may still write to the file that was replaced.
pub(crate) const WATCHING: &str = "Watching for late writes to the transcript…";

pub(crate) use choose::choose;
pub(crate) use table::{Cell, Colour, Column, Fit, Table};
pub(crate) use words::{age, ago, bytes, count, one_line, printable};
pub(crate) use wrap::wrap;

use std::io::{BufWriter, IsTerminal, StdoutLock, Write};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Map, Value, json};

use crate::exit::{Exit, Failure};

/// The version of everything this program prints as JSON.
pub(crate) const SCHEMA_VERSION: u64 = 1;

/// Whether an object was printed: there is one for each command, whatever happens after it.
static PRINTED: AtomicBool = AtomicBool::new(false);

/// Standard output. A reader that goes away (`| head`) is not an error.
pub(crate) struct Out {
    to: BufWriter<StdoutLock<'static>>,
    columns: Option<usize>,
    failed: Option<std::io::Error>,
}

impl Out {
    pub(crate) fn new() -> Out {
        Out {
            to: BufWriter::new(std::io::stdout().lock()),
            columns: terminal(std::io::stdout()),
            failed: None,
        }
    }

    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        if self.failed.is_none()
            && let Err(error) = self.to.write_all(bytes)
        {
            self.failed = Some(error);
        }
    }

    /// Words, which go on below where the terminal is too narrow for them.
    pub(crate) fn line(&mut self, text: &str) {
        self.exact_line(&wrap::fitted(text, self.columns));
    }

    /// What is to be seen, copied or read by a program as it is.
    pub(crate) fn exact_line(&mut self, text: &str) {
        self.bytes(text.as_bytes());
        self.bytes(b"\n");
    }

    /// Says what to do next, after everything that was written. Words go to standard error, which has no buffer.
    pub(crate) fn hint(&mut self, text: &str) {
        self.flush();
        say(text);
    }

    /// Shows what was written so far, before words or a question follow it.
    pub(crate) fn flush(&mut self) {
        if self.failed.is_none()
            && let Err(error) = self.to.flush()
        {
            self.failed = Some(error);
        }
    }

    /// Whether anybody still listens.
    pub(crate) fn listening(&self) -> bool {
        self.failed.is_none()
    }

    /// An object on one line, with the schema's version first.
    pub(crate) fn json(&mut self, value: Value) {
        let mut object = Map::new();
        object.insert("schemaVersion".to_owned(), SCHEMA_VERSION.into());
        if let Value::Object(members) = value {
            object.extend(members);
        }
        self.exact_line(&Value::Object(object).to_string());
        PRINTED.store(true, Ordering::Relaxed);
    }

    /// An object on one line that brings its own schema version.
    pub(crate) fn serialized(&mut self, value: &impl serde::Serialize) {
        if self.failed.is_none()
            && let Err(error) = serde_json::to_writer(&mut self.to, value)
        {
            self.failed = Some(error.into());
        }
        self.bytes(b"\n");
        PRINTED.store(true, Ordering::Relaxed);
    }

    pub(crate) fn finish(self) -> Result<Exit, Failure> {
        self.finish_as(Exit::Done)
    }

    pub(crate) fn finish_as(mut self, exit: Exit) -> Result<Exit, Failure> {
        let failed = self.failed.take().or_else(|| self.to.flush().err());
        match failed {
            Some(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
                Err(Failure::new(Exit::Failed, format!("cannot write to standard output: {error}")))
            }
            _ => Ok(exit),
        }
    }
}

/// Notes that an object is being written piece by piece.
pub(crate) fn printing_json() {
    PRINTED.store(true, Ordering::Relaxed);
}

/// The object of a command that failed before it could print its own.
pub(crate) fn json_error(exit_code: u8, message: &str, hint: Option<&str>) {
    if PRINTED.load(Ordering::Relaxed) {
        return;
    }
    let error = json!({"exitCode": exit_code, "message": message, "hint": hint});
    let object = json!({"schemaVersion": SCHEMA_VERSION, "error": error});
    let mut out = std::io::stdout().lock();
    // The exit code says it too.
    let _ = writeln!(out, "{object}");
}

/// Words for people go to standard error: data and words never mix.
pub(crate) fn say(text: &str) {
    let text = wrap::fitted(text, terminal(std::io::stderr()));
    let mut err = std::io::stderr().lock();
    // Nobody to tell is nobody to disturb.
    let _ = writeln!(err, "{text}");
}

/// Whether standard output is a terminal that wants colour.
pub(crate) fn colour() -> bool {
    std::io::stdout().is_terminal()
        && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
        && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
}

/// How wide lines may be: the terminal's width, else what `COLUMNS` says; nothing where another program reads them, and for
/// a terminal that does not know its own width (0 columns).
pub(crate) fn columns() -> Option<usize> {
    terminal(std::io::stdout()).or_else(|| {
        let given = std::env::var("COLUMNS").ok()?;
        given.parse().ok().filter(|columns| *columns > 0)
    })
}

/// The width of the terminal that a stream goes to.
fn terminal(stream: impl std::os::fd::AsFd) -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(stream).ok()?;
    Some(usize::from(size.ws_col)).filter(|columns| *columns > 0)
}

/// Text in a colour of the terminal's own, where one is wanted.
pub(crate) fn paint(text: &str, code: &str, colour: bool) -> String {
    if colour { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.to_owned() }
}

/// Answers `--version`.
pub(crate) fn version() -> ExitCode {
    let mut out = std::io::stdout().lock();
    let text = concat!("rekindle ", env!("CARGO_PKG_VERSION"), "\n");
    match out.write_all(text.as_bytes()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => ExitCode::FAILURE,
        _ => ExitCode::SUCCESS,
    }
}
