use agents::SessionId;
use clap::Subcommand;
use recovery::{Destination, bring_back};

use crate::context::{Context, pane_around};
use crate::exit::{Exit, Failure};
use crate::output::Out;
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
    /// Wait for the end of a restore, then a shell
    Rest,
    Shell(shell::Args),
    Start(StartArgs),
}

/// Bring a conversation back into the pane around
#[derive(Debug, clap::Args)]
pub(crate) struct StartArgs {
    /// The conversation
    #[arg(value_name = "SESSION", last = true)]
    session: SessionId,
}

pub(crate) fn run(args: &Args) -> Result<Exit, Failure> {
    match &args.what {
        What::Run(args) => run::run(args),
        What::Wait(args) => wait::run(args),
        What::Rest => rest::run(),
        What::Shell(args) => shell::run(args),
        What::Start(args) => start(&args.session),
    }
}

/// Its user is there and has asked for this conversation.
fn start(session: &SessionId) -> Result<Exit, Failure> {
    let Some((socket, pane)) = pane_around() else {
        return Err(Failure::new(Exit::Usage, "there is no tmux pane around")
            .hint("rekindle recover brings a conversation back from anywhere"));
    };
    let context = Context::load()?;
    let _alone = restoring::alone(&context)?;
    let settled = restoring::settled(&context)?;
    let ground = restoring::ground(&context, &settled);
    let destination = Destination::Pane { reference: pane.clone(), pane };
    let plan = bring_back(&ground, session, socket, &destination, restoring::wanted(&context, true, false));
    let refused = plan.panes().find(|step| !step.decision.act.starts());
    if let Some(step) = refused {
        return Err(Failure::new(Exit::Refused, step.decision.reason.clone()));
    }
    let at_once = Manner { lazy: Some(false), ..Manner::default() };
    let restored = restoring::act(&context, &settled, &plan, at_once, FROM_ITS_PANE)?;
    match restored.panes.iter().find(|one| !one.outcome.is_back()) {
        Some(failed) => Err(Failure::new(Exit::Failed, failed.reason.clone())),
        None => Out::new().finish(),
    }
}
