use agents::SessionKey;
use serde_json::json;
use store::{SessionText, durable};

use super::name::recorded;
use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::output::{Out, printable};

/// Keep your own words about a conversation, or read them
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  rekindle note shop \"waits for the review of Ann\"\n  rekindle note shop\n  rekindle note shop --clear"
)]
pub(crate) struct Args {
    /// A session's id or its beginning, a pane, a name or a directory
    #[arg(value_name = "TARGET")]
    target: String,
    /// What you say; without it, what you said is shown
    #[arg(value_name = "TEXT")]
    text: Vec<String>,
    /// Take back what you said before
    #[arg(long, conflicts_with = "text")]
    clear: bool,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// A page of text; more belongs into the project.
const LONGEST: usize = 4_000;

pub(crate) fn run(context: &Context, args: &Args) -> Result<Exit, Failure> {
    if args.clear || !args.text.is_empty() {
        context.may_change()?;
    }
    let session = recorded(context, &args.target)?;
    let state = &context.repairer.state;
    if args.clear {
        SessionText::Note.remove(state, &session)?;
    } else if !args.text.is_empty() {
        let text = kept(&args.text.join(" "));
        if text.is_empty() {
            return Err(Failure::new(Exit::Usage, "there is nothing in that text to keep")
                .hint("--clear removes what you set before"));
        }
        durable::private_dir(&SessionText::Note.folder(state))?;
        durable::replace(&SessionText::Note.path(state, &session), format!("{text}\n").as_bytes())?;
    }
    let note = read(context, &session);
    let mut out = Out::new();
    if args.json {
        out.json(json!({"sessionId": session.as_str(), "note": note}));
    } else {
        match note {
            Some(note) => out.exact_line(&note),
            None => out.line(&format!("{}  no note", session.short())),
        }
    }
    out.finish()
}

/// The user's own words about a conversation. Whatever stands in the file, a terminal gets no control characters.
pub(super) fn read(context: &Context, session: &SessionKey) -> Option<String> {
    let text = SessionText::Note.read(&context.repairer.state, session)?;
    let text = printable(text.trim_end());
    (!text.is_empty()).then_some(text)
}

/// The words as they are kept: bounded, without control characters and secrets. Lines stay.
fn kept(text: &str) -> String {
    let clean = printable(&redact::redact(text));
    let mut short: String = clean.trim().chars().take(LONGEST).collect();
    if short.len() < clean.trim().len() {
        short.pop();
        short.push('…');
    }
    short
}

#[cfg(test)]
mod tests {
    use super::{LONGEST, kept};

    #[test]
    fn lines_stay_and_control_characters_go() {
        assert_eq!(kept(" a\u{1b}[31mb\r\n\tc\u{7} \n"), "a[31mb\n\tc");
        let long = kept(&"ü ".repeat(LONGEST));
        assert_eq!(long.chars().count(), LONGEST);
        assert!(long.ends_with('…'));
    }
}
