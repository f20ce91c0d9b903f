//! `rekindle recover`: who crashed, what is left of each, and bringing them back.

mod act;
mod automatic;
mod list;
mod owner_gone;
mod preview;
mod steps;

pub(crate) use act::{bring_all_back, taken_over};
pub(crate) use automatic::by_itself;

use std::io::IsTerminal;

use agents::{SessionId, SessionKey};
use clap::ValueEnum;
use jiff::{SignedDuration, Timestamp};
use recovery::{Asked, GoingOn, crashed};
use sessions::Settled;

use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::held::Held;
use crate::output::{Out, choose, say};
use crate::restoring;
use crate::survey::Survey;

/// Bring back agents that crashed, each with its conversation or with what is left of it
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  rekindle recover\n  rekindle recover work:1.0\n  rekindle recover --all --dry-run\n  rekindle recover 1a2b3c4d --preview\n\nA conversation that can be resumed is resumed, mended first where it must be.\nOne that cannot be goes on in a fresh agent, which is told what was said, what\nwas done and what was half done. Whoever was ended by its user comes back only\nby name. --all leaves out agents whose panes are gone and in the current save:\n`rekindle restore` brings those back with their layout."
)]
pub(crate) struct Args {
    /// Agents: a session's id or its beginning, a pane, a name, a directory
    #[arg(value_name = "TARGET")]
    targets: Vec<String>,
    /// Every crashed agent, except those that `rekindle restore` brings back with their layout
    #[arg(long, conflicts_with = "targets")]
    all: bool,
    /// Say what would be done, and do nothing
    #[arg(long)]
    dry_run: bool,
    /// Print what one of them would be told, and do nothing
    #[arg(long, conflicts_with_all = ["all", "dry_run"])]
    preview: bool,
    /// Have agents go on at once: submit their prompt
    #[arg(long = "continue", conflicts_with_all = ["dry_run", "auto"])]
    go_on: bool,
    /// Whether they may be brought back by themselves, where recovery.auto_recover is on
    #[arg(long, value_name = "ON|OFF", requires = "targets", conflicts_with_all = ["dry_run", "preview"])]
    auto: Option<Switch>,
    /// Recover one session although rekindle cannot tell whether its agent still runs: you know that it is gone
    #[arg(long, requires = "targets", conflicts_with_all = ["preview", "auto"])]
    owner_gone: bool,
    /// Start another agent for a session whose work a fresh agent has taken over
    #[arg(long, requires = "targets", conflicts_with_all = ["preview", "auto"])]
    again: bool,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Switch {
    On,
    Off,
}

pub(crate) fn run(context: &Context, args: &Args) -> Result<Exit, Failure> {
    let named = named(context, &args.targets)?;
    if let Some(switch) = args.auto {
        return automatic::allow(context, &named, switch == Switch::On, args.json);
    }
    let asked = if named.is_empty() { Asked::All } else { Asked::Name };
    let request = act::Request {
        asked,
        go_on: args.go_on.then_some(GoingOn::All),
        again: args.again,
        leave_held: args.all,
        as_json: args.json,
    };
    if args.preview {
        return preview(context, &named, request);
    }
    let acts = !args.dry_run && (args.all || !named.is_empty());
    if acts {
        let _alone = restoring::alone(context)?;
        let settled = restoring::settled(context)?;
        if args.owner_gone {
            return owner_gone::recover(context, settled, &named, request);
        }
        let wanted = if args.all { all(context, &settled) } else { named };
        return act::recover(context, &settled, &wanted, request);
    }
    let asks =
        !args.dry_run && !args.json && std::io::stdin().is_terminal() && std::io::stderr().is_terminal();
    if args.go_on && !asks {
        return Err(Failure::new(Exit::Usage, "--continue needs an agent to recover")
            .hint("name one, or use --all: rekindle recover --all --continue"));
    }
    let survey = surveyed(context)?;
    let waiting = if named.is_empty() { waiting_in_panes(context, &survey.settled) } else { 0 };
    let wanted = if named.is_empty() { all(context, &survey.settled) } else { named };
    let said_gone = if args.owner_gone { Some(owner_gone::one(&wanted)?) } else { None };
    let held =
        if args.targets.is_empty() { held(context, &survey.settled, &wanted) } else { Held::default() };
    let found = list::find(context, &survey.settled, &wanted, said_gone, &held, request)?;
    let does = does(args);
    list::show(&found, waiting, survey.now, does.as_deref(), &held, args.json)?;
    if !asks || found.is_empty() {
        return Out::new().finish();
    }
    let chosen: Vec<SessionKey> = choose("Recover which?", found.len())
        .into_iter()
        .filter_map(|at| Some(found.get(at)?.session.clone()))
        .collect();
    if chosen.is_empty() {
        say("nothing was recovered");
        return Out::new().finish();
    }
    drop(found);
    let _alone = restoring::alone(context)?;
    let settled = restoring::settled(context)?;
    // Each was chosen from a list that says what is known of it.
    act::recover(context, &settled, &chosen, act::Request { asked: Asked::Name, ..request })
}

/// The command that does what a dry run has shown.
fn does(args: &Args) -> Option<String> {
    let mut words = vec!["rekindle", "recover"];
    words.extend(args.targets.iter().map(String::as_str));
    words.extend(args.owner_gone.then_some("--owner-gone"));
    words.extend(args.again.then_some("--again"));
    let is_named = !args.targets.is_empty();
    let all = "Do it with `rekindle recover --all`, or name one: `rekindle recover ID`.";
    let named = || format!("Do it with `{}`.", shell_words::join(words));
    args.dry_run.then(|| if is_named { named() } else { all.to_owned() })
}

/// Those whose panes a save holds.
fn held(context: &Context, settled: &Settled, sessions: &[SessionKey]) -> Held {
    Held::look(context, sessions.iter().filter_map(|session| settled.records.get(session)))
}

/// A look at everything, with a word on standard error of what is missing from it.
fn surveyed(context: &Context) -> Result<Survey, Failure> {
    let survey = Survey::take(context)?;
    for trouble in survey.settled.troubles.iter().chain(&survey.not_settled()) {
        say(&format!("rekindle: {trouble}"));
    }
    Ok(survey)
}

fn named(context: &Context, targets: &[String]) -> Result<Vec<SessionKey>, Failure> {
    let mut named: Vec<SessionKey> = Vec::new();
    for target in targets {
        let session = context.session(target)?;
        if !named.contains(&session) {
            named.push(session);
        }
    }
    Ok(named)
}

/// Everybody that crashed lately enough to be of use. An agent that waits in its pane is on its way back.
fn all(context: &Context, settled: &Settled) -> Vec<SessionKey> {
    lately(context, settled).into_iter().filter(|session| !settled.world.waits_for(session)).collect()
}

/// How many agents wait in their panes.
fn waiting_in_panes(context: &Context, settled: &Settled) -> usize {
    lately(context, settled).iter().filter(|session| settled.world.waits_for(session)).count()
}

fn lately(context: &Context, settled: &Settled) -> Vec<SessionKey> {
    let keep = SignedDuration::try_from(context.config.restore.keep_map).unwrap_or(SignedDuration::MAX);
    let since = Timestamp::now().checked_sub(keep).unwrap_or(Timestamp::MIN);
    crashed(settled.records.values(), since).into_iter().map(|record| record.session_id.clone()).collect()
}

/// What an agent would be told, or what a living one may know of itself, and nothing else on standard output.
fn preview(context: &Context, named: &[SessionKey], request: act::Request) -> Result<Exit, Failure> {
    let survey = surveyed(context)?;
    let waiting = all(context, &survey.settled);
    // Asked by an agent about its own conversation.
    let own = std::env::var("CLAUDE_CODE_SESSION_ID").ok().and_then(|id| SessionId::new(&id).ok());
    let own = own.map(|id| context.repairer.key_of(&id, context.own_account().as_ref()));
    let own: Vec<SessionKey> = own.filter(|_| named.is_empty()).into_iter().collect();
    let named = if own.is_empty() { named } else { &own };
    let session = match (named, waiting.as_slice()) {
        ([only], _) | ([], [only]) => only,
        ([], []) => {
            return Err(Failure::new(Exit::Usage, "No crashed sessions.")
                .hint("name one: rekindle recover ID --preview"));
        }
        ([], several) => {
            return Err(Failure::new(Exit::Usage, format!("{} agents crashed", several.len()))
                .hint("name a session: rekindle recover lists them"));
        }
        _ => return Err(Failure::new(Exit::Usage, "only one brief can be shown at a time")),
    };
    // Whoever asks about its own conversation is alive, whatever the record says.
    let running = survey.view.agents.iter().any(|agent| agent.is(session) && agent.is_live());
    let alive = !own.is_empty() || running;
    preview::preview(context, &survey.settled, session, alive, request)
}
