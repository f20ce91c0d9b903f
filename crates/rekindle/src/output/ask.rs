//! A question to whoever sits at the terminal.

use std::io::{BufRead, IsTerminal, Write};

/// What came of a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Answer {
    Yes,
    No,
    /// Nobody is there to be asked.
    Nobody,
}

/// Asks a question that only a clear yes affirms.
pub(crate) fn ask(question: &str) -> Answer {
    if !std::io::stdin().is_terminal() {
        return Answer::Nobody;
    }
    let mut err = std::io::stderr().lock();
    // Who cannot be shown the question answers nothing.
    let _ = write!(err, "{question} [y/N] ").and_then(|()| err.flush());
    let mut line = String::new();
    match std::io::stdin().lock().read_line(&mut line) {
        Ok(_) if matches!(line.trim().to_lowercase().as_str(), "y" | "yes") => Answer::Yes,
        _ => Answer::No,
    }
}
