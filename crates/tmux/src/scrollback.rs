//! What many panes show and showed, in one command.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;
use std::time::Duration;

use crate::deadline::{Ran, run_with};
use crate::list::tmux;

/// Why there is no scrollback.
#[derive(Debug, thiserror::Error)]
#[error("capture panes: {0}")]
pub struct ScrollbackError(String);

/// The text of panes: so many lines of history and the screen, wrapped lines joined, without colours. A pane that went
/// meanwhile is missing.
///
/// `nonce` must be new and random. It stands between the panes, so a program that prints it could shift what belongs to
/// whom; what it begins is then in doubt, and nothing of it is believed.
///
/// # Errors
/// tmux does not answer, or a program forged the answer.
pub fn scrollback(
    socket: &Path,
    panes: &[&str],
    lines: u32,
    nonce: &str,
    deadline: Duration,
) -> Result<BTreeMap<String, String>, ScrollbackError> {
    if panes.is_empty() {
        return Ok(BTreeMap::new());
    }
    // From standard input: a command line over 16 KB is refused, and here an error ends one line, not the rest
    // (measured on 3.3a).
    let mut script = Vec::new();
    for pane in panes {
        if !pane.strip_prefix('%').is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit())) {
            return Err(ScrollbackError(format!("{pane:?} is no pane")));
        }
        let written = writeln!(script, "display-message -p -t {pane} '{nonce} #{{pane_id}}'")
            .and_then(|()| writeln!(script, "capture-pane -p -J -S -{lines} -t {pane}"));
        written.map_err(|error| ScrollbackError(error.to_string()))?;
    }
    let mut command = tmux(socket);
    command.args(["source-file", "-"]);
    match run_with(&mut command, script, deadline) {
        Ran::Done(output) => parse(&output.stdout, panes, nonce),
        Ran::TooLate => Err(ScrollbackError("tmux did not answer in time".to_owned())),
        Ran::NotStarted(error) => Err(ScrollbackError(error.to_string())),
    }
}

fn parse(answer: &[u8], panes: &[&str], nonce: &str) -> Result<BTreeMap<String, String>, ScrollbackError> {
    let text = String::from_utf8_lossy(answer);
    let mut found = BTreeMap::new();
    let mark = format!("{nonce} ");
    let mut pieces = text.split(&mark);
    let before = pieces.next().unwrap_or_default();
    // Every pane has its mark, also one that went: one mark too many or few means that somebody else printed it.
    let pieces: Vec<&str> = pieces.collect();
    if !before.is_empty() || (pieces.len() != panes.len() && !pieces.is_empty()) {
        return Err(ScrollbackError("the marks between the panes do not fit".to_owned()));
    }
    for (piece, pane) in pieces.iter().zip(panes) {
        let (id, text) = piece.split_once('\n').unwrap_or((piece, ""));
        if id == *pane {
            found.insert(id.to_owned(), text.trim_end().to_owned());
        } else if !id.is_empty() {
            return Err(ScrollbackError("the marks between the panes do not fit".to_owned()));
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// F-others-11
    #[test]
    fn a_forged_mark_spoils_the_answer() {
        let fine = b"N %1\nhello\n\n\nN \nN %3\n\n";
        let read = parse(fine, &["%1", "%2", "%3"], "N").unwrap();
        assert_eq!(read, BTreeMap::from([("%1".into(), "hello".into()), ("%3".into(), String::new())]));
        assert!(parse(b"N %1\nhello\nN %2\nmine\nN %2\n", &["%1", "%2"], "N").is_err());
        assert!(parse(b"N %2\n", &["%1"], "N").is_err());
    }

    #[test]
    fn only_panes_are_asked_for() {
        let asked = scrollback(Path::new("/nonexistent"), &["%1; run x"], 5, "N", Duration::from_secs(1));
        assert!(asked.is_err());
    }
}
