//! `rekindle explain`: what is believed about an agent, and why.

mod facts;

use jiff::Timestamp;
use recovery::{Act, Asked, Decision, DecisionRecord, PaneDecision, Plan, decide};
use serde_json::{Value, json};
use sessions::view::{AgentView, Outlook, Speaks, State};
use store::journal::{Entry, Journal};
use store::record::{Grade, Run};
use tmux::Listing;

use facts::{Shown, facts};

use super::note;
use super::status::{pause_json, paused_words};
use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::output::{Out, age, ago, colour, one_line, paint, say};
use crate::restoring;
use crate::survey::Survey;

/// Say what is believed about an agent, how sure it is, and what speaks for and against it
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  rekindle explain work:1.0\n  rekindle explain 1a2b3c4d --json\n\nproven: the agent's own word, in its own pane\nlikely: arguments, environment, the pane's option\nguess: directory and time\nA + speaks for it, a - against it."
)]
pub(crate) struct Args {
    /// A pane, a session's id or its beginning, a name or a directory
    #[arg(value_name = "PANE|SESSION")]
    target: String,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// How much of the journal is searched, and how many entries about one conversation are shown.
const SEARCHED: usize = 4_000;
const TOLD: usize = 10;

pub(crate) fn run(context: &Context, args: &Args) -> Result<Exit, Failure> {
    let survey = Survey::take(context)?;
    let agent = survey.agent(context, &args.target)?;
    let record = survey.record(agent);
    let (would, why) = outlook(context, &survey, agent);
    let story = story(context, agent);
    let runs = record.map(|record| record.runs.as_slice()).unwrap_or_default();
    let note = agent.session.as_ref().and_then(|fact| note::read(context, &fact.value));
    let facts = facts(context, agent);
    for trouble in &survey.settled.troubles {
        say(&format!("rekindle: {trouble}"));
    }
    let decided = decided(context, agent);
    let mut out = Out::new();
    if args.json {
        out.json(json!({
            "paused": survey.pause.as_ref().map(pause_json),
            "stale": survey.stale,
            "sessionId": agent.session.as_ref().map(|fact| fact.value.as_str()),
            "live": agent.is_live(),
            "reason": agent.reason,
            "facts": facts.iter().map(|fact| (fact.what.to_owned(), fact.json())).collect::<serde_json::Map<_, _>>(),
            "note": note,
            "runs": runs,
            "journal": story.iter().map(entry_json).collect::<Vec<_>>(),
            "decision": decided.as_ref().map(|(record, pane)| json!({"restore": record.restore_id, "decided": pane})),
            "restore": {"would": would, "why": why},
        }));
        return out.finish();
    }
    if let Some(pause) = &survey.pause {
        out.line(&paused_words(pause, survey.now));
    }
    if let Some(why) = &survey.stale {
        out.line(&format!("not up to date: {why}"));
    }
    for fact in &facts {
        show(fact, survey.now, &mut out);
    }
    if let Some(note) = &note {
        section("note", &mut out);
        note.lines().for_each(|line| out.line(&format!("  {line}")));
    }
    if !runs.is_empty() {
        section("runs", &mut out);
        runs.iter().for_each(|run| out.line(&format!("  {}", run_words(run))));
    }
    if !story.is_empty() {
        section("journal", &mut out);
        story.iter().for_each(|entry| out.line(&format!("  {}", entry_words(entry))));
    }
    if let Some((record, pane)) = &decided {
        section("last restore", &mut out);
        let word = |value: &Value| value.as_str().unwrap_or_default().replace('_', " ");
        let decision = format!("{} by {}: {}: {}", ago(record.at), record.by, word(&pane.act), pane.reason);
        out.line(&format!("  {}", one_line(&decision, 300)));
        let told =
            pane.evidence.as_array().into_iter().flatten().filter_map(|weighed| weighed["says"].as_str());
        told.for_each(|says| out.line(&format!("  + {}", one_line(says, 200))));
        if let (Some(outcome), Some(why)) = (&pane.outcome, &pane.outcome_reason) {
            out.line(&format!("  {}", one_line(&format!("{}: {why}", word(outcome)), 200)));
        }
    }
    out.line("");
    out.line(&format!("{}.", capital(&why)));
    out.finish()
}

/// What the last restore that concerned it decided, and what came of it.
fn decided(context: &Context, agent: &AgentView) -> Option<(DecisionRecord, PaneDecision)> {
    let session = &agent.session.as_ref()?.value;
    recovery::decisions(&context.repairer.state, context.reading_key().as_ref()).find_map(|record| {
        // Of several that it may be, the one that it is.
        let is_its =
            |pane: &&PaneDecision| [&pane.session_id, &pane.now_in].contains(&&Some(session.clone()));
        let about = |pane: &&PaneDecision| pane.is_about(session);
        let mut panes = record.panes.iter();
        let pane = panes.clone().find(is_its).or_else(|| panes.find(about)).cloned()?;
        Some((record, pane))
    })
}

/// What a restore would do with it, as a word and as a sentence: by how sure its identity is, and then by everything that a
/// restore itself weighs.
fn outlook(context: &Context, survey: &Survey, agent: &AgentView) -> (&'static str, String) {
    let record = survey.record(agent);
    let outlook = Outlook::of(agent, record);
    // Sessions that are there, were ended, or answered one prompt are never decided upon.
    let undecided = matches!(outlook, Outlook::AlreadyThere)
        || agent.one_shot
        || agent.nested
        || agent.state.value == State::Ended;
    if undecided {
        return (outlook.word(), outlook.sentence());
    }
    // What a restore of the current save decides is what it does: nothing is decided a second time here.
    let planned = super::restore::plan_of_current(context, &survey.settled);
    let session = agent.session.as_ref().map(|fact| &fact.value);
    let step = planned.iter().flat_map(Plan::concerned).find(|step| step.session.as_ref() == session);
    if let Some(step) = step.filter(|step| step.session.is_some()) {
        return told(&step.decision, &outlook);
    }
    let (Some(record), Some(pane)) = (record, &agent.pane) else {
        return (outlook.word(), outlook.sentence());
    };
    let closed = survey.settled.world.servers.iter().any(|(_, listing)| match listing {
        Listing::Alive(server) => {
            (server.id.pid, server.id.started) == (pane.value.server, pane.value.started)
                && server.pane(&pane.value.pane).is_none()
        }
        _ => false,
    });
    if closed {
        let how = format!("rekindle recover {} brings it back", record.session_id.short());
        return ("not_restored", format!("a restore would leave it alone: its pane was closed; {how}"));
    }
    let ground = restoring::ground(context, &survey.settled);
    let wanted = restoring::wanted(context, false, Asked::ByItself);
    let agent = layouts::agent(&pane.value.pane, record);
    let known = ground.remember(&agent, &pane.value.reference, false, wanted.fallback);
    told(&decide(&known.facts, &wanted), &outlook)
}

/// A decision as a word and as a sentence.
fn told(decision: &Decision, outlook: &Outlook) -> (&'static str, String) {
    let Decision { act, reason } = decision;
    let (word, does) = match act {
        Act::Resume | Act::Begin => {
            let sure = matches!(outlook, Outlook::Resumed | Outlook::ResumedByAgreement);
            let sentence = format!("a restore would resume it by itself: {reason}");
            return ("resumed", if sure { outlook.sentence() } else { sentence });
        }
        Act::RepairResume => ("repaired_resumed", "mend its transcript and resume it by itself"),
        Act::VaultResume => ("vault_resumed", "put its transcript back and resume it by itself"),
        Act::Fresh => ("fresh_with_context", "begin anew and tell the agent what is known"),
        Act::Offer => ("offered", "offer it to you"),
        Act::Refuse => ("refused", "refuse it"),
        Act::Shell | Act::Nothing => ("not_restored", "leave it alone"),
    };
    (word, format!("a restore would {does}: {reason}"))
}

fn section(name: &str, out: &mut Out) {
    out.line("");
    out.line(&paint(name, "1", colour()));
}

fn show(fact: &Shown, now: Timestamp, out: &mut Out) {
    let grade = match fact.grade {
        Grade::Proven => paint("proven", "32", colour()),
        Grade::Likely => paint("likely", "33", colour()),
        Grade::Guess => paint("guess", "31", colour()),
    };
    out.line(&format!("{}  {}  {grade}", paint(&format!("{:<8}", fact.what), "1", colour()), fact.value));
    for told in &fact.evidence {
        let mark = if told.speaks == Speaks::For { '+' } else { '-' };
        let when = told.at.map(|at| format!(" ({} ago)", age(at, now))).unwrap_or_default();
        let detail = one_line(&told.detail, 200);
        out.line(&format!("  {mark} {:<11} {detail}{when}", told.source));
    }
}

fn run_words(run: &Run) -> String {
    let mut parts = vec![format!("process {} from {}", run.pid, ago(run.launched_at))];
    parts.extend(run.source.as_ref().map(|source| format!("began by {source}")));
    parts.extend(run.claude_version.as_ref().map(|version| format!("version {version}")));
    parts.extend(run.tmux.as_ref().map(|place| format!("in {}", place.reference)));
    parts.extend(run.slot_id.as_ref().map(|slot| format!("account {slot}")));
    if run.one_shot {
        parts.push("one prompt".to_owned());
    }
    if run.nested {
        parts.push("started by another agent".to_owned());
    }
    if let Some(ended) = run.ended_at {
        let why = run.end_reason.as_ref().map(|why| format!(" ({why})")).unwrap_or_default();
        parts.push(format!("ended {}{why}", ago(ended)));
    }
    one_line(&parts.join(", "), 300)
}

/// The newest entries of the journal about the conversation, oldest first.
fn story(context: &Context, agent: &AgentView) -> Vec<Entry> {
    let Some(session) = &agent.session else { return Vec::new() };
    let tail = Journal::at(context.repairer.state.journal()).read_tail(SEARCHED).unwrap_or_default();
    let about = |entry: &Entry| {
        let names =
            |key: &str| entry.details.get(key).and_then(Value::as_str) == Some(session.value.as_str());
        names("session") || names("from")
    };
    let mut story: Vec<Entry> = tail.into_iter().filter(about).collect();
    story.drain(..story.len().saturating_sub(TOLD));
    story
}

fn entry_words(entry: &Entry) -> String {
    // The session is the one that was asked for; the others only keep settle from telling a thing twice.
    let shown =
        entry.details.iter().filter(|(key, _)| !matches!(key.as_str(), "session" | "spool" | "about"));
    let details = shown.map(|(key, value)| match value.as_str() {
        Some(text) => format!("{key}: {text}"),
        None => format!("{key}: {value}"),
    });
    let details = details.collect::<Vec<_>>().join(", ");
    let at = entry.at.strftime("%Y-%m-%d %H:%M:%SZ");
    one_line(&format!("{at} {} {details}", entry.event), 200)
}

fn entry_json(entry: &Entry) -> Value {
    let mut object = json!({"at": entry.at, "event": entry.event});
    if let Value::Object(members) = &mut object {
        members.extend(entry.details.iter().map(|(key, value)| (key.clone(), value.clone())));
    }
    object
}

fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map(|first| first.to_uppercase().chain(chars).collect()).unwrap_or_default()
}
