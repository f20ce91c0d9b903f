//! Questions to the user at the terminal.

use std::io::{BufRead, IsTerminal, Write};

use super::Out;
use crate::exit::{Exit, Failure};

/// What came of a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Answer {
    Yes,
    No,
    /// Nobody is there to be asked.
    Nobody,
}

/// How a command gets the yes that it needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Consent {
    /// The user gave it with `--yes`.
    Given,
    /// The command has shown what it would do, and asks.
    Ask,
    /// The command prints JSON at its end and has shown nothing, so it cannot ask.
    NotShown,
}

impl Consent {
    pub(crate) fn of(yes: bool, json: bool) -> Consent {
        match (yes, json) {
            (true, _) => Consent::Given,
            (false, false) => Consent::Ask,
            (false, true) => Consent::NotShown,
        }
    }
}

/// Goes on only with a yes. Everything that was written before the question is on the screen when it is asked.
pub(crate) fn agree(shown: &mut Out, consent: Consent, question: &str) -> Result<(), Failure> {
    shown.flush();
    let answer = match consent {
        Consent::Given => Answer::Yes,
        Consent::Ask if can_ask() => ask(question),
        Consent::Ask | Consent::NotShown => Answer::Nobody,
    };
    agreed(answer, consent)
}

/// The same for what was shown in short: the answer `d` shows the details, and the question is asked again.
pub(crate) fn agree_or_show(
    shown: &mut Out,
    consent: Consent,
    question: &str,
    details: impl Fn(&mut Out),
) -> Result<(), Failure> {
    shown.flush();
    let answer = match consent {
        Consent::Given => Answer::Yes,
        Consent::Ask if can_ask() => loop {
            match reply(&format!("{question} [y/N, d shows every line] ")).as_deref() {
                Some("y" | "yes") => break Answer::Yes,
                Some("d" | "diff") => {
                    details(shown);
                    shown.flush();
                }
                _ => break Answer::No,
            }
        },
        Consent::Ask | Consent::NotShown => Answer::Nobody,
    };
    agreed(answer, consent)
}

fn agreed(answer: Answer, consent: Consent) -> Result<(), Failure> {
    match answer {
        Answer::Yes => Ok(()),
        Answer::No => Err(Failure::new(Exit::Refused, "nothing was changed")),
        Answer::Nobody => {
            let why = if consent == Consent::NotShown {
                "--json asks no question, and nothing was changed"
            } else {
                "there is nobody to ask, and nothing was changed"
            };
            Err(Failure::new(Exit::Usage, why)
                .hint("add --yes to go on without asking, or --dry-run to see what would change"))
        }
    }
}

/// Whether the user sees what is shown and can answer.
pub(crate) fn can_ask() -> bool {
    std::io::stdin().is_terminal() && std::io::stdout().is_terminal() && std::io::stderr().is_terminal()
}

/// Asks a question that only a clear yes affirms.
pub(crate) fn ask(question: &str) -> Answer {
    if !std::io::stdin().is_terminal() {
        return Answer::Nobody;
    }
    match reply(&format!("{question} [y/N] ")).as_deref() {
        Some("y" | "yes") => Answer::Yes,
        _ => Answer::No,
    }
}

/// What is typed after a question, in lower case; `None` at the end of the input.
pub(crate) fn reply(question: &str) -> Option<String> {
    let mut err = std::io::stderr().lock();
    // A question that cannot be shown gets no answer.
    let _ = write!(err, "{question}").and_then(|()| err.flush());
    let mut line = String::new();
    let read = std::io::stdin().lock().read_line(&mut line).ok()?;
    (read > 0).then(|| line.trim().to_lowercase())
}
