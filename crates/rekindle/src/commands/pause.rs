use jiff::Timestamp;
use serde_json::json;
use store::pause::{self, Pause};
use store::record::Status;

use super::status::{pause_json, paused_words};
use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::output::{Out, one_line, say};

/// Stop everything automatic until `rekindle unpause`; events are still written down
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  rekindle pause\n  rekindle pause --why \"moving the disk\"")]
pub(crate) struct Args {
    /// What for: shown wherever states are shown
    #[arg(long, value_name = "TEXT")]
    why: Option<String>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(context: &Context, args: &Args) -> Result<Exit, Failure> {
    let now = Timestamp::now();
    let why = args.why.as_deref().map(|why| one_line(&redact::redact(why), 200));
    let fresh =
        Pause { since: Some(now), by: user(), why: why.filter(|why| !why.is_empty()), ..Pause::default() };
    let before = pause::set(&context.repairer.state, &fresh)?;
    tell_status_lines(context);
    let mut out = Out::new();
    let shown = before.as_ref().unwrap_or(&fresh);
    if args.json {
        out.json(json!({"paused": pause_json(shown), "changed": before.is_none()}));
    } else if before.is_some() {
        out.line(&format!("It was paused already. {}", paused_words(shown, now)));
    } else {
        out.line(&paused_words(shown, now));
    }
    out.finish()
}

/// Status lines show what the last settle left for them, and in a pause there is none.
pub(super) fn tell_status_lines(context: &Context) {
    let now = Timestamp::now();
    let Ok(settler) = context.settler() else { return };
    let Ok(mut seen) = settler.look() else { return };
    let active = seen.records.values().filter(|record| record.status == Status::Active);
    seen.touched = active.map(|record| record.session_id.clone()).collect();
    if let Err(error) = settler.prepare(&seen, now) {
        say(&format!("rekindle: status lines do not show it: {error}"));
    }
}

/// Who says so, where the environment has a name.
fn user() -> Option<String> {
    let name = std::env::var("USER").ok().filter(|name| !name.is_empty())?;
    Some(one_line(&name, 40))
}
