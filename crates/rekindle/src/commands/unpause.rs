use serde_json::json;
use store::pause;

use super::pause::tell_status_lines;
use super::settle::settle_all;
use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::output::{Out, count, say};

/// Go on after a pause, with what was written down meanwhile
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: rekindle unpause")]
pub(crate) struct Args {
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(context: &Context, args: &Args) -> Result<Exit, Failure> {
    // With another key nothing could go on.
    context.may_change()?;
    let before = pause::clear(&context.repairer.state)?;
    let mut out = Out::new();
    if before.is_none() {
        if args.json {
            out.json(json!({"paused": null, "changed": false, "events": 0}));
        } else {
            out.line("It was not paused.");
        }
        return out.finish();
    }
    let (settled, _) = settle_all(context)?;
    tell_status_lines(context);
    for trouble in &settled.troubles {
        say(&format!("rekindle: {trouble}"));
    }
    if args.json {
        out.json(json!({"paused": null, "changed": true, "events": settled.events}));
    } else {
        let events = count(settled.events as u64, "event", "events");
        out.line(&format!("It goes on; {events} had waited."));
    }
    out.finish()
}
