//! `rekindle trust`: shows sessions whose records this machine did not write, and accepts them after a yes.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use agents::claude::launch::{NONCE, StartAccount, start_environment};
use jiff::Timestamp;
use serde_json::{Value, json};
use sessions::{Settler, Unaccepted};
use store::machine_key::MachineKey;
use store::record::SessionRecord;

use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::output::{Consent, Out, agree, count, one_line};

/// Show sessions whose records this machine did not write, and accept them
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  rekindle trust --dry-run\n  rekindle trust 1a2b3c4d\n  rekindle trust --yes\n\nA record that was edited, copied from another machine or sealed with another key\nstarts nothing by itself. This shows what it would start, and makes it this\nmachine's own after a yes. If the machine's key is lost, a new one is made."
)]
pub(crate) struct Args {
    /// Only these sessions; all of them where none is named
    #[arg(value_name = "SESSION")]
    sessions: Vec<String>,
    /// Accept without asking
    #[arg(long)]
    yes: bool,
    /// Show what would be accepted, and accept nothing
    #[arg(long, conflicts_with = "yes")]
    dry_run: bool,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// A settle takes a fraction of this.
const PATIENCE: Duration = Duration::from_secs(10);

pub(crate) fn run(context: &Context, args: &Args) -> Result<Exit, Failure> {
    let settler = context.settler()?;
    let unaccepted = chosen(context, &settler, &args.sessions)?;
    let lost_key = match settler.key {
        MachineKey::Ours(_) => None,
        MachineKey::Lost => Some("The key of this state directory is gone. A new one will be made."),
        MachineKey::Other { .. } => {
            Some("This state directory was sealed with another key. It will get the key of this machine.")
        }
    };
    let unreadable = settler.unreadable_records()?;
    let mut out = Out::new();
    if !args.json {
        unreadable.iter().for_each(|why| out.line(&format!("A record is left out: rekindle {why}")));
        lost_key.into_iter().for_each(|words| out.line(words));
        unaccepted.iter().for_each(|one| show(context, one, &mut out));
    }
    let needed = lost_key.is_some() || !unaccepted.is_empty();
    let accepts = needed && !args.dry_run;
    if accepts {
        let question = match lost_key {
            Some(_) => "Use this state directory on this machine, with what it starts?",
            None => "Accept what these records start?",
        };
        agree(&mut out, Consent::of(args.yes, args.json), question)?;
        settler.accept(&unaccepted, &context.around.machine_key, Timestamp::now(), PATIENCE)?;
    }
    if args.json {
        let sessions: Vec<Value> = unaccepted.iter().map(|one| as_json(context, one)).collect();
        out.json(json!({
            "unreadable": unreadable, "dryRun": args.dry_run, "accepted": accepts, "newKey": lost_key.is_some(), "sessions": sessions,
        }));
    } else if accepts {
        out.line(&format!("Accepted {}.", count(unaccepted.len() as u64, "session", "sessions")));
    } else if !needed && unreadable.is_empty() {
        out.line("Nothing to accept: what each record would start, this machine wrote itself.");
    }
    out.finish_as(if unreadable.is_empty() { Exit::Done } else { Exit::Partly })
}

/// The sessions that were named, or all; one that needs no acceptance is passed over.
fn chosen(context: &Context, settler: &Settler, named: &[String]) -> Result<Vec<Unaccepted>, Failure> {
    let mut unaccepted = settler.unaccepted()?;
    if !named.is_empty() {
        let ids = named.iter().map(|text| context.session(text)).collect::<Result<Vec<_>, _>>()?;
        unaccepted.retain(|one| ids.contains(&one.record.session_id));
    }
    Ok(unaccepted)
}

fn words_of(one: &Unaccepted) -> String {
    let argv = one.record.run().and_then(|run| run.argv.clone());
    argv.map_or_else(|| "claude, without recorded flags".to_owned(), shell_words::join)
}

/// The variables that a start would set and this process does not have, with the values they would get.
fn changes_of(context: &Context, one: &Unaccepted) -> BTreeMap<String, String> {
    let recorded = one.record.run().map(|run| run.env.clone()).unwrap_or_default();
    // The agent comes back in the tmux server that it was in.
    let server = recorded.get("TMUX").and_then(|value| value.split(',').next()).map(Path::new);
    let pairs = recorded.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    let account = one.record.account_dir();
    let account = account.as_deref().map(|dir| StartAccount::of(dir, context.home.as_deref()));
    let start = start_environment(pairs, account.unwrap_or(StartAccount::Unknown), server, "", |_| true);
    let differs = |(name, value): &(String, String)| {
        name != NONCE && !value.is_empty() && std::env::var(name).ok().as_ref() != Some(value)
    };
    start.set.into_iter().filter(differs).collect()
}

fn show(context: &Context, one: &Unaccepted, out: &mut Out) {
    let record = &one.record;
    let name = record.shown_name().unwrap_or("unnamed");
    let directory = record
        .project_dir
        .as_deref()
        .or(record.cwd.as_deref())
        .map(|cwd| context.short_path(cwd))
        .unwrap_or_default();
    out.line("");
    out.line(&one_line(&format!("{}  {name}  {directory}", record.session_id.short()), 200));
    out.line(&format!("  not trusted: {}", one.why));
    // Nothing of what is accepted is left out, however long it is.
    for (what, text) in words_said(record) {
        out.line(&format!("  {what}: {}", one_line(text, usize::MAX)));
    }
    out.line(&format!("  would start: {}", one_line(&words_of(one), usize::MAX)));
    for (name, value) in changes_of(context, one) {
        out.line(&format!("  with {}", one_line(&redact::redact(&format!("{name}={value}")), usize::MAX)));
    }
}

/// The words that agents are told once they are accepted.
fn words_said(record: &SessionRecord) -> impl Iterator<Item = (&'static str, &str)> {
    // Where the key is lost, nothing is set aside: everything is as it was.
    let given = record.untrusted_words.as_ref().map_or(&record.given, |words| &words.given);
    let name = given.name.as_deref().or_else(|| record.shown_name());
    let task = given.task.as_deref().or_else(|| record.shown_task());
    [("name", name), ("task", task)].into_iter().filter_map(|(what, text)| Some((what, text?)))
}

fn as_json(context: &Context, one: &Unaccepted) -> Value {
    json!({
        "sessionId": one.record.session_id.as_str(), "name": one.record.shown_name(), "task": one.record.shown_task(), "cwd": one.record.cwd,
        "why": one.why, "argv": one.record.run().and_then(|run| run.argv.clone()), "env": changes_of(context, one),
    })
}
