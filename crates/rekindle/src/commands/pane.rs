use std::time::Duration;

use agents::SessionKey;
use agents::claude::end;
use clap::Subcommand;
use jiff::Timestamp;
use recovery::{Act, Asked, Destination, GoingOn, LiveOwner, Taking, bring_back, if_nobody_were_in_it};
use store::journal::{Entry, Journal};

use crate::commands::recover::taken_over;
use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::output::Out;
use crate::pane::found::{Found, Here};
use crate::pane::{rest, run, shell, wait};
use crate::restoring::{self, FROM_ITS_PANE, Manner};

/// What runs in restored panes
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example: rekindle pane wait -- 1a2b3c4d-0000-4000-8000-000000000000\n\nRun by rekindle itself in the panes that it restores."
)]
pub(crate) struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    Run(run::Args),
    Wait(wait::Args),
    Rest(rest::Args),
    Shell(shell::Args),
    Start(StartArgs),
    Take(TakeArgs),
}

/// Bring a conversation back into the pane around
#[derive(Debug, clap::Args)]
pub(crate) struct StartArgs {
    /// Submit the prompt with which it goes on
    #[arg(long = "continue")]
    go_on: bool,
    /// The conversation
    #[arg(value_name = "SESSION", last = true)]
    session: SessionKey,
}

/// End the agent that is in a conversation elsewhere, and bring it back into the pane around
#[derive(Debug, clap::Args)]
pub(crate) struct TakeArgs {
    /// The process that its user was asked about
    #[arg(long, value_name = "PID")]
    process: u32,
    /// When that started, in the kernel's ticks
    #[arg(long, value_name = "TICKS")]
    started: u64,
    /// The conversation
    #[arg(value_name = "SESSION", last = true)]
    session: SessionKey,
}

/// An agent takes two seconds to end, and more where its hooks are slow or the machine is busy.
const END_PATIENCE: Duration = Duration::from_secs(20);

pub(crate) fn run(args: &Args) -> Result<Exit, Failure> {
    match &args.what {
        What::Run(args) => run::run(args),
        What::Wait(args) => wait::run(args),
        What::Rest(args) => rest::run(args),
        What::Shell(args) => shell::run(args),
        What::Start(args) => start(args),
        What::Take(args) => take(args),
    }
}

fn around() -> Result<Here, Failure> {
    Here::around().ok_or_else(|| {
        Failure::new(Exit::Usage, "there is no tmux pane around")
            .hint("rekindle recover brings a conversation back from anywhere")
    })
}

/// Its user is there and has asked for this conversation.
fn start(args: &StartArgs) -> Result<Exit, Failure> {
    let here = around()?;
    let context = Context::load()?;
    let _alone = restoring::alone(&context)?;
    bring(&context, &args.session, here, args.go_on.then_some(GoingOn::All))
}

/// Brings a conversation back into a pane. The turn to restore is held.
fn bring(
    context: &Context,
    session: &SessionKey,
    here: Here,
    go_on: Option<GoingOn>,
) -> Result<Exit, Failure> {
    let settled = restoring::settled(context)?;
    if let Some(why) = taken_over(&settled, session) {
        return Err(Failure::new(Exit::Refused, why));
    }
    let ground = restoring::ground(context, &settled);
    let destination = Destination::Pane { reference: here.pane.clone(), pane: here.pane, in_front: None };
    let wanted = restoring::wanted(context, true, Asked::Name);
    let plan = bring_back(&ground, session, here.socket, &destination, wanted);
    let refused = plan.panes().find(|step| !step.decision.act.starts());
    if let Some(step) = refused {
        return Err(Failure::new(Exit::Refused, step.decision.reason.clone()));
    }
    let at_once = Manner { lazy: Some(false), go_on, ..Manner::default() };
    let restored = restoring::act(context, &settled, &plan, at_once, FROM_ITS_PANE)?;
    match restored.panes.iter().find(|one| !one.outcome.is_back()) {
        Some(failed) => Err(Failure::new(Exit::Failed, failed.reason.clone())),
        None => Out::new().finish(),
    }
}

/// Its user was asked twice. Everything is looked at once more, and kept, before anybody is ended.
fn take(args: &TakeArgs) -> Result<Exit, Failure> {
    let here = around()?;
    let context = Context::load()?;
    // Nobody brings it back elsewhere meanwhile.
    let _alone = restoring::alone(&context)?;
    // Copies take a while: whether it works is asked after that.
    restoring::keep_copies(&context)?;
    let who = may_be_ended(&context, args, &here)?;
    let process = who.process;
    end(process.pid, process.start, END_PATIENCE)
        .map_err(|error| Failure::new(Exit::Failed, format!("{error}: nothing else was done")))?;
    let entry = Entry::new(Timestamp::now(), "taken_over")
        .with("session", args.session.as_str())
        .with("from", who.whom())
        .with("how", "ended")
        .with("pane", here.pane.as_str());
    // It has ended: where nothing can be written down it is brought back all the same.
    let _ = Journal::at(context.repairer.state.journal()).append(&entry);
    bring(&context, &args.session, here, None)
}

/// Whom its user was asked about, if that is still who is in it, does not work, and its conversation can come back.
fn may_be_ended(context: &Context, args: &TakeArgs, here: &Here) -> Result<LiveOwner, Failure> {
    let refused = |why: String| Failure::new(Exit::Refused, why);
    let session = &args.session;
    let settled = restoring::settled(context)?;
    let ground = restoring::ground(context, &settled);
    let who = ground
        .inside(session)
        .filter(|who| (who.process.pid, who.process.start) == (args.process, args.started));
    let Some(who) = who else {
        return Err(refused(format!("process {} is not in it any more, or not surely", args.process)));
    };
    match Found::seen_from(who, Some(here), &settled.world) {
        Found::Somebody { who, taking: Taking::End } => {
            let decided =
                if_nobody_were_in_it(&ground, session, restoring::wanted(context, true, Asked::Name));
            // An agent that knows nothing is no answer: this one may remember.
            if !decided.act.starts() || matches!(decided.act, Act::Fresh | Act::Begin) {
                return Err(refused(format!("{} stays: {}", who.whom(), decided.reason)));
            }
            restoring::remember_screens(context, &settled, std::iter::once(session));
            Ok(who)
        }
        Found::Somebody { taking: Taking::Never { why }, .. } => Err(refused(why.to_owned())),
        _ => Err(refused("it is on this very server, where nobody has to be ended for it".to_owned())),
    }
}
