use agents::SessionKey;
use jiff::Timestamp;
use serde_json::{Value, json};
use sessions::Settler;
use std::time::Duration;
use store::record::SessionRecord;

use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::output::{Out, one_line};
use crate::survey::{Survey, follow_up};

/// Give a conversation a name
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  rekindle name work:1.0 shop\n  rekindle name 1a2b3c4d --clear")]
pub(crate) struct Args {
    #[command(flatten)]
    pub(super) words: Words,
}

/// What is said about which conversation.
#[derive(Debug, clap::Args)]
pub(crate) struct Words {
    /// A session's id or its beginning, a pane, a name or a directory
    #[arg(value_name = "TARGET")]
    pub(super) target: String,
    /// What you say; without quotes several words count as one text
    #[arg(value_name = "TEXT", required_unless_present = "clear", num_args = 0..)]
    pub(super) text: Vec<String>,
    /// Take back what you said before
    #[arg(long, conflicts_with = "text")]
    pub(super) clear: bool,
    /// Print one JSON object
    #[arg(long)]
    pub(super) json: bool,
}

/// A name fits a status line.
const LONGEST: usize = 64;

/// A settle takes a fraction of this.
const PATIENCE: Duration = Duration::from_secs(10);

pub(crate) fn run(context: &Context, args: &Args) -> Result<Exit, Failure> {
    let name = given(&args.words, LONGEST)?;
    give(context, &args.words, "name", |record| {
        record.given.name.clone_from(&name);
        // What is not given is found out again.
        (record.name, record.base_name) = (None, None);
    })
}

/// The words as they are kept: one line, bounded, without control characters and secrets.
pub(super) fn given(words: &Words, longest: usize) -> Result<Option<String>, Failure> {
    if words.clear {
        return Ok(None);
    }
    let text = one_line(&redact::redact(&words.text.join(" ")), longest);
    if text.is_empty() {
        return Err(Failure::new(Exit::Usage, "there is nothing in that text to show")
            .hint("--clear removes what you set before"));
    }
    Ok(Some(text))
}

/// Changes a record, and shows what it says now.
pub(super) fn give(
    context: &Context,
    words: &Words,
    what: &str,
    change: impl FnOnce(&mut SessionRecord),
) -> Result<Exit, Failure> {
    context.may_change()?;
    let session = recorded(context, &words.target)?;
    let settler = context.settler()?;
    let record = changed(&settler, &session, change)?;
    let now = if what == "name" { &record.name } else { &record.task };
    let mut out = Out::new();
    if words.json {
        let mut object = json!({"sessionId": session.as_str(), "name": record.name, "task": record.task});
        object["given"] = Value::Bool(!words.clear);
        out.json(object);
    } else {
        out.line(&format!("{}  {what}: {}", session.short(), now.as_deref().unwrap_or("none")));
    }
    out.finish()
}

fn changed(
    settler: &Settler,
    session: &SessionKey,
    change: impl FnOnce(&mut SessionRecord),
) -> Result<SessionRecord, Failure> {
    let settled = settler.change(session, Timestamp::now(), PATIENCE, change)?;
    if let Some(settled) = &settled {
        follow_up(settler, settled);
    }
    settled.and_then(|mut settled| settled.records.remove(session)).ok_or_else(|| {
        Failure::new(Exit::Failed, format!("nothing is on record about {session}"))
            .hint("agents are recorded from their next start once `rekindle init` has connected them")
    })
}

/// The conversation that a target means, the agents that run now included.
pub(super) fn recorded(context: &Context, text: &str) -> Result<SessionKey, Failure> {
    let survey = Survey::take(context)?;
    let agent = survey.agent(context, text)?;
    match &agent.session {
        Some(fact) if fact.grade > store::record::Grade::Guess => Ok(fact.value.clone()),
        _ => Err(Failure::new(Exit::Refused, format!("which conversation {text} has is only a guess"))
            .hint(format!("rekindle explain {text} says why; name it by its id"))),
    }
}
