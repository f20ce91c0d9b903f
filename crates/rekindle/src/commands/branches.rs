use jiff::Timestamp;
use repair::Target;
use serde_json::{Value, json};
use transcript::{Branch, BranchKind, Buffer, Transcript};

use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::output::{Out, ago, colour, count, one_line, paint};

/// Draw the branches of a conversation with their last prompts
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example: rekindle branches 1a2b3c4d\n\nAnother branch is made the live one by `rekindle repair ID --branch N`."
)]
pub(crate) struct Args {
    /// A session's id or its beginning, a pane, a name, a directory, or a transcript's path
    #[arg(value_name = "TARGET")]
    target: String,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(context: &Context, args: &Args) -> Result<Exit, Failure> {
    let file = match context.target(&args.target)? {
        Target::File(file) => file,
        Target::Gone(absent) => return Err(super::gone(context, &absent.session)),
    };
    let read = |error| Failure::new(Exit::Failed, format!("cannot read {}: {error}", file.path.display()));
    let transcript = Transcript::open(&file.path, &mut Buffer::default()).map_err(read)?;
    let branches = transcript.branches().map_err(read)?;
    if branches.is_empty() {
        return Err(super::silent(&file.path));
    }
    let mut out = Out::new();
    if args.json {
        let list: Vec<Value> =
            branches.iter().enumerate().map(|(at, branch)| branch_json(at + 1, branch)).collect();
        out.json(json!({ "sessionId": file.session.as_str(), "branches": list }));
        return out.finish();
    }
    for (at, branch) in branches.iter().enumerate() {
        draw(at + 1, branch, at + 1 == branches.len(), &mut out);
    }
    if branches.iter().any(|branch| branch.kind == BranchKind::Stranded) {
        let name = context.short_in(&file.session, Some(&file.config));
        out.hint(&format!("Make one live with `rekindle repair {name} --branch N`."));
    }
    out.finish()
}

fn draw(number: usize, branch: &Branch, last: bool, out: &mut Out) {
    let when =
        branch.last_ms.and_then(|ms| Timestamp::from_millisecond(ms).ok()).map(ago).unwrap_or_default();
    let turns = count(branch.turns, "turn", "turns");
    let kind = match branch.kind {
        BranchKind::Live => paint("live", "32", colour()),
        BranchKind::Stranded => paint("stranded", "33", colour()),
        other => other.word().to_owned(),
    };
    let head = match branch.leaves_after {
        None => format!("● {number}  {kind}, {turns}, {when}"),
        Some(after) => {
            let corner = if last { "└" } else { "├" };
            format!("{corner}─ {number}  {kind} after turn {after}: {turns}, {when}")
        }
    };
    out.line(&head);
    let bar = if last { " " } else { "│" };
    if !branch.last_prompt.is_empty() {
        out.line(&format!("{bar}     last prompt: {}", one_line(&branch.last_prompt, 60)));
    }
}

fn branch_json(number: usize, branch: &Branch) -> Value {
    json!({
        "number": number,
        "kind": branch.kind.word(),
        "turns": branch.turns,
        "leavesAfterTurn": branch.leaves_after,
        "lastPrompt": branch.last_prompt,
        "lastAt": branch.last_ms.and_then(|ms| Timestamp::from_millisecond(ms).ok()).map(|at| at.to_string()),
    })
}
