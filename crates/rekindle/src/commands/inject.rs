use std::io::Read;
use std::path::{Path, PathBuf};

use agents::SessionKey;
use jiff::Timestamp;
use recovery::inject::{
    Confirmed, InjectError, Injected, Injector, Piece, Place, from_context, piece, place,
};
use serde_json::json;
use store::journal::{Entry, Journal};
use store::operations::{Effect, EffectKind};

use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::output::{Out, count, say};
use crate::survey::Survey;

/// Send text to a running agent, and see that it arrives
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  rekindle inject work:1.0 \"go on with the tests\"\n  rekindle inject %4 --file plan.md\n  git diff | rekindle inject shop - --no-submit\n  rekindle inject work:1.0\n\nPasted as you would paste it, sent with Enter, and confirmed by the agent's own\nevent, or else by its empty line. A text that begins with / is typed, as a\ncommand. Refused (exit 3): an agent that is busy, that asks something, or in\nwhose line something is typed. Exit 4: nobody can tell whether it has arrived."
)]
pub(crate) struct Args {
    /// A pane, a session's id or its beginning, a name or a directory
    #[arg(value_name = "PANE")]
    target: String,
    /// What to send, `-` for standard input; without it, what is on record about the conversation
    #[arg(value_name = "TEXT")]
    text: Option<String>,
    /// Send what is in this file
    #[arg(long, value_name = "FILE", conflicts_with = "text")]
    file: Option<PathBuf>,
    /// Leave it in the agent's line, without Enter
    #[arg(long)]
    no_submit: bool,
    /// Also while the agent is busy: it reads it after its turn
    #[arg(long)]
    queue: bool,
    /// Say what would be sent where, and send nothing
    #[arg(long)]
    dry_run: bool,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(context: &Context, args: &Args) -> Result<Exit, Failure> {
    // Before anything is looked up: standard input is there once.
    let given = given(args)?;
    let survey = Survey::take(context)?;
    let agent = survey.agent(context, &args.target)?;
    let place = place(agent).map_err(|refusal| refused(&args.target, &refusal))?;
    let (what, words) = match given {
        Some(words) => ("text", words),
        None => ("context", from_context(&prepared(context, &place.session)?)),
    };
    let piece = piece(&words).map_err(|error| Failure::new(Exit::Usage, error.to_string()))?;
    let what = if matches!(piece, Piece::Command(_)) { "command" } else { what };
    let told = Told { args, place: &place, piece: &piece, what };
    let injector = Injector { state: &context.repairer.state, place: &place, while_busy: args.queue };
    let failed = |error: InjectError| match error {
        InjectError::Refused(refusal) => refused(&place.reference, &refusal),
        other => other.into(),
    };
    if args.dry_run {
        injector.check().map_err(failed)?;
        return told.dry();
    }
    let done = injector.inject(&piece, !args.no_submit).map_err(failed)?;
    context.note_operation("inject", Effect::new(EffectKind::Inject).of(place.session.id()))?;
    let entry = Entry::new(Timestamp::now(), "injected")
        .with("session", place.session.as_str())
        .with("pane", place.reference.as_str())
        .with("what", what)
        .with("outcome", word(&done))
        .with("characters", piece.text().chars().count());
    Journal::at(context.repairer.state.journal()).append(&entry)?;
    told.done(&done)
}

fn refused(whom: &str, refusal: &recovery::inject::Refusal) -> Failure {
    Failure::new(Exit::Refused, format!("nothing was sent to {whom}: {refusal}")).hint(refusal.hint())
}

/// A text of this size is far too long to be sent, and is not read any further.
const MOST_BYTES: u64 = 32 << 20;

/// The words that were given, where some were.
fn given(args: &Args) -> Result<Option<String>, Failure> {
    let read = |from: &mut dyn Read, name: &str| {
        let mut bytes = Vec::new();
        from.take(MOST_BYTES)
            .read_to_end(&mut bytes)
            .map_err(|error| Failure::new(Exit::Failed, format!("cannot read {name}: {error}")))?;
        String::from_utf8(bytes)
            .map(Some)
            .map_err(|_| Failure::new(Exit::Usage, format!("{name} is no text in UTF-8")))
    };
    match (&args.text, &args.file) {
        (Some(text), _) if text == "-" => read(&mut std::io::stdin().lock(), "standard input"),
        (Some(text), _) => Ok(Some(text.clone())),
        (None, Some(path)) => {
            let mut file = open(path)?;
            read(&mut file, &path.display().to_string())
        }
        (None, None) => Ok(None),
    }
}

fn open(path: &Path) -> Result<std::fs::File, Failure> {
    store::files::open(path)
        .map_err(|error| Failure::new(Exit::Usage, format!("cannot read {}: {error}", path.display())))
}

/// What settle has prepared for an agent that knows nothing.
fn prepared(context: &Context, session: &SessionKey) -> Result<String, Failure> {
    let key = context.reading_key();
    let text = recovery::prepared(&context.repairer.state, session, key.as_ref()).unwrap_or_default();
    if text.trim().is_empty() {
        return Err(Failure::new(Exit::Failed, format!("nothing is on record about {}", session.short()))
            .hint("it is prepared at the end of each turn; give a text otherwise"));
    }
    Ok(text)
}

fn word(done: &Injected) -> &'static str {
    match done {
        Injected::Placed => "placed",
        Injected::Sent(_) => "confirmed",
        Injected::Unconfirmed { .. } => "unconfirmed",
    }
}

/// What is said about it.
struct Told<'a> {
    args: &'a Args,
    place: &'a Place,
    piece: &'a Piece,
    what: &'a str,
}

impl Told<'_> {
    fn json(&self, outcome: &str, by: Option<&str>, why: Option<&str>) -> serde_json::Value {
        json!({
            "sessionId": self.place.session.as_str(), "pane": self.place.reference, "paneId": self.place.pane,
            "what": self.what, "characters": self.piece.text().chars().count(),
            "outcome": outcome, "confirmedBy": by, "reason": why, "dryRun": self.args.dry_run,
        })
    }

    fn letters(&self) -> String {
        count(self.piece.text().chars().count() as u64, "character", "characters")
    }

    fn dry(&self) -> Result<Exit, Failure> {
        let mut out = Out::new();
        if self.args.json {
            let outcome = if self.args.no_submit { "placed" } else { "sent" };
            out.json(self.json(outcome, None, None));
        } else {
            let verb = match (self.args.no_submit, self.piece) {
                (true, _) => "would place",
                (false, Piece::Prompt(_)) => "would send",
                (false, Piece::Command(_)) => "would run",
            };
            out.line(&format!("{verb} {} in {}:", self.letters(), self.place.reference));
            out.exact_line(self.piece.text());
        }
        out.finish()
    }

    fn done(&self, done: &Injected) -> Result<Exit, Failure> {
        let (by, why, words) = match done {
            Injected::Placed => (None, None, "it is in the agent's line; Enter was not pressed"),
            Injected::Sent(Confirmed::Event) => (Some("event"), None, "the agent says that it has it"),
            Injected::Sent(Confirmed::Screen) => (Some("screen"), None, "it has left the agent's line"),
            Injected::Unconfirmed { why } => (None, Some(*why), "unconfirmed"),
        };
        let mut out = Out::new();
        if self.args.json {
            out.json(self.json(word(done), by, why));
        } else {
            out.line(&format!("{}: {}: {words}", self.place.reference, self.letters()));
        }
        if let Some(why) = why {
            out.flush();
            say(&format!("rekindle: unconfirmed: {why}"));
            return out.finish_as(Exit::Partly);
        }
        out.finish()
    }
}
