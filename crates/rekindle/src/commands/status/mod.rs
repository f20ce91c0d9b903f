//! `rekindle status`: every agent in a line, who needs you first.

mod json;
mod table;

use std::path::Path;

use sessions::view::{AgentView, State};

pub(crate) use json::pause_json;
pub(crate) use table::paused_words;

use super::go;
use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::held::Held;
use crate::output::{Out, ago, colour, paint, say};
use crate::restoring;
use crate::survey::Survey;
use crate::watch;

/// Show every agent: what it is at, where, on what; who needs you first
#[derive(Debug, Default, clap::Args)]
#[command(
    after_help = "Examples:\n  rekindle status\n  rekindle status --watch\n  rekindle status work:1.0 --json\n\nSigns: ◐ waits for you, ✕ crashed, ● busy, ○ idle, ◌ waiting in its\npane, ? unknown, · ended.\nAGE: how long it has been so. CTX: how full its context is. VAULT: the age of\nits newest copy. A name with a question mark is a guess: see `rekindle explain`."
)]
pub(crate) struct Args {
    /// Only these: ids or their beginnings, panes, names, directories
    #[arg(value_name = "TARGET")]
    targets: Vec<String>,
    /// Also those that ended, crashed long ago, answer one prompt, or belong to another agent
    #[arg(long)]
    all: bool,
    /// Stay, and draw it again when something changes; q quits, g goes to the waiting agent
    #[arg(long, conflicts_with = "json")]
    watch: bool,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(context: &Context, args: &Args) -> Result<Exit, Failure> {
    if args.watch {
        let look = || {
            let survey = Survey::take(context)?;
            restoring::take_stock(context, &survey);
            Ok(text(context, &survey, &shown(context, &survey, args)?, args))
        };
        return watch::run("status", look, || go::from_watch(context));
    }
    let survey = Survey::take(context)?;
    restoring::take_stock(context, &survey);
    let shown = shown(context, &survey, args)?;
    let mut out = Out::new();
    if args.json {
        out.json(json::status(&survey, &shown, &survey.lost(context, &shown)));
    } else {
        out.line(&text(context, &survey, &shown, args));
    }
    for trouble in &survey.settled.troubles {
        say(&format!("rekindle: {trouble}"));
    }
    out.finish()
}

/// The agents that were asked for.
fn shown<'a>(context: &Context, survey: &'a Survey, args: &Args) -> Result<Vec<&'a AgentView>, Failure> {
    if args.targets.is_empty() {
        return Ok(survey
            .view
            .agents
            .iter()
            .filter(|agent| args.all || matters(context, survey, agent))
            .collect());
    }
    let mut wanted: Vec<&AgentView> = Vec::new();
    for text in &args.targets {
        let directory = Path::new(text);
        let more: Vec<&AgentView> = if directory.is_dir() {
            let real = std::fs::canonicalize(directory).unwrap_or_else(|_| directory.to_path_buf());
            let here = |agent: &&AgentView| agent.cwd.as_ref().is_some_and(|cwd| cwd.value == real);
            let here = survey.view.agents.iter().filter(here);
            here.filter(|agent| args.all || matters(context, survey, agent)).collect()
        } else {
            vec![survey.agent(context, text)?]
        };
        wanted.extend(
            more.into_iter()
                .filter(|agent| !wanted.iter().any(|known| std::ptr::eq(*known, *agent)))
                .collect::<Vec<_>>(),
        );
    }
    // In the order of the view: who needs its user first.
    Ok(survey
        .view
        .agents
        .iter()
        .filter(|agent| wanted.iter().any(|known| std::ptr::eq(*known, *agent)))
        .collect())
}

/// Whether an agent is shown without being asked for: it lives, or it crashed while the map still keeps it.
fn matters(context: &Context, survey: &Survey, agent: &AgentView) -> bool {
    if agent.nested || agent.one_shot {
        return false;
    }
    let seen = agent.last_seen.as_ref().map(|fact| fact.value);
    let age = seen.map(|seen| survey.now.duration_since(seen).unsigned_abs());
    let recent = age.is_some_and(|age| age <= context.config.restore.keep_map);
    match agent.state.value {
        State::Ended => false,
        // One that goes on in a fresh agent is waited for no longer.
        State::Crashed => recent && survey.record(agent).is_none_or(|record| record.next_id.is_none()),
        State::Dormant => true,
        State::Unknown => agent.is_live() || recent,
        _ => true,
    }
}

/// Everything that is shown, as lines.
fn text(context: &Context, survey: &Survey, shown: &[&AgentView], args: &Args) -> String {
    let mut lines = Vec::new();
    lines.extend(survey.pause.as_ref().map(|pause| paused_words(pause, survey.now)));
    lines.extend(survey.stale.as_ref().map(|why| format!("not up to date: {why}")));
    if shown.is_empty() {
        lines.push(nobody(context, survey, args));
    } else {
        lines.push(table::table(context, survey, shown));
        lines.push(String::new());
        lines.push(table::totals(survey, shown, args.all || !args.targets.is_empty()));
        let crashed: Vec<&AgentView> =
            shown.iter().copied().filter(|agent| agent.state.value == State::Crashed).collect();
        if !crashed.is_empty() {
            let held = Held::look(context, crashed.iter().filter_map(|agent| survey.record(agent)));
            lines.push(held.hint(crashed.len()));
        }
        if shown.iter().any(|agent| agent.state.value == State::Dormant) {
            lines.push(WAKE.to_owned());
        }
    }
    lines.extend(crate::fast_path::restored(&context.repairer.state, survey.now).map(|restored| {
        format!("{} ({}): `rekindle restore --last` shows it", restored.words(), ago(restored.at))
    }));
    if !survey.settled.alarms.is_empty() {
        lines.push(String::new());
        let alarms = survey.settled.alarms.iter();
        lines.extend(alarms.map(|alarm| paint(&format!("! {}", alarm.text), "31", colour())));
    }
    let lost = survey.lost(context, shown);
    if !lost.is_empty() {
        lines.push(String::new());
    }
    for (session, lost) in &lost {
        let lives = shown.iter().any(|agent| agent.is(session) && agent.is_live());
        let remedy = if lives {
            "rekindle puts it back before the next resume".to_owned()
        } else {
            lost.remedy(session)
        };
        let words = format!("! {}: a resume loses {}; {remedy}", session.short(), lost.loses());
        lines.push(paint(&words, "31", colour()));
    }
    lines.join("\n")
}

/// How an agent is started that waits in its pane.
pub(crate) const WAKE: &str = "To start a waiting agent, press Enter in its pane, or run `rekindle restore`.";

/// What there is to say when there is nobody to show.
fn nobody(context: &Context, survey: &Survey, args: &Args) -> String {
    if survey.view.agents.is_empty() {
        let state = context.repairer.state.path();
        let wired = context.repairer.configs.iter().any(|config| integrate::is_wired(state, config.path()));
        let how = if wired { "start one" } else { "connect them with `rekindle init`, then start one" };
        return format!("No agents yet: {how}.");
    }
    if args.targets.is_empty() {
        let known = crate::output::count(survey.view.agents.len() as u64, "conversation", "conversations");
        return format!("No agent runs. {known} on record: `rekindle status --all` shows them.");
    }
    "No agent runs there.".to_owned()
}
