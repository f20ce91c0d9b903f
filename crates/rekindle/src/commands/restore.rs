use std::collections::BTreeSet;

use jiff::Timestamp;
use recovery::{Act, Outcome, Plan, Restored, plan};
use saves::Save;
use serde_json::json;
use state::durable;
use state::journal::{Entry, Journal};

use crate::commands::trigger::Trigger;
use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::output::{Out, Table, count};
use crate::restoring::{self, Manner};

/// Bring back saved tmux sessions, each agent with its own conversation
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  rekindle restore --dry-run\n  rekindle restore --yes\n\nSessions that are there stay as they are: running it again does nothing. An\nagent comes back only into its own conversation, and says so itself; everything\nelse is explained."
)]
pub(crate) struct Args {
    /// Which save: its id or name; the current one by default
    #[arg(value_name = "SAVE")]
    save: Option<String>,
    /// Only panes whose `session:window.pane` begins with this
    #[arg(long, value_name = "PANE")]
    only: Vec<String>,
    /// Say what would be done, and do nothing
    #[arg(long)]
    dry_run: bool,
    /// Do not ask
    #[arg(long)]
    yes: bool,
    /// Let each pane show what it will resume, and resume it when it is looked at
    #[arg(long)]
    lazy: bool,
    /// Agents that start at once
    #[arg(long, value_name = "N")]
    max_parallel: Option<usize>,
    /// What asks for it
    #[arg(long, hide = true, value_enum, default_value_t = Trigger::Manual)]
    by: Trigger,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(context: &Context, args: &Args) -> Result<Exit, Failure> {
    if args.by.stays(context)?.is_some() {
        return Ok(Exit::Done);
    }
    let _alone = restoring::alone(context)?;
    let settled = restoring::settled(context)?;
    let save = chosen(context, args.save.as_deref())?;
    let sockets: BTreeSet<_> = save.servers.iter().map(|server| server.tmux.socket.clone()).collect();
    let alive = restoring::look(&sockets, &settled)?;
    let ground = restoring::ground(context, &settled);
    let again = args.save.is_some() || !args.only.is_empty();
    let mut planned = plan(&save, &alive, &ground, restoring::wanted(context, again, args.by.is_automatic()));
    narrow(&mut planned, &args.only);
    if args.dry_run {
        return show_plan(&planned, args.json);
    }
    if planned.is_empty() && args.by.is_automatic() {
        return Ok(Exit::Done);
    }
    if planned.is_empty() {
        return report(context, &[], &planned, args.json);
    }
    if !args.yes && !args.by.is_automatic() {
        if !args.json {
            show_plan(&planned, false)?;
        }
        super::init::agree(false, "Restore?")?;
    }
    let manner = Manner { max_parallel: args.max_parallel, lazy: args.lazy };
    let panes = restoring::act(context, &settled, &planned, manner)?;
    report(context, &panes, &planned, args.json)
}

fn chosen(context: &Context, name: Option<&str>) -> Result<Save, Failure> {
    let key = context.settler()?.key;
    let listed = state::saves::list(&context.clinic.state, Some(&key))?;
    let found = match name {
        None => listed.current(),
        Some(name) => listed
            .generations
            .iter()
            .find(|generation| generation.id == name || generation.head.name.as_deref() == Some(name)),
    };
    let Some(found) = found else {
        let what = name.map_or("there is no save yet".to_owned(), |name| format!("no save is called {name}"));
        return Err(Failure::new(Exit::Usage, what)
            .hint("rekindle saves lists what there is; rekindle save makes one"));
    };
    let loaded = state::saves::load(&context.clinic.state, Some(&key), &found.id)?;
    Save::of(&loaded)
        .ok_or_else(|| Failure::new(Exit::Failed, format!("the save {} cannot be read", found.id)))
}

/// Leaves only what was asked for.
fn narrow(planned: &mut Plan, only: &[String]) {
    if only.is_empty() {
        return;
    }
    let wanted = |reference: &str| only.iter().any(|begin| reference.starts_with(begin.as_str()));
    for server in &mut planned.servers {
        server.panes.retain(|pane| wanted(&pane.reference));
        let marks: BTreeSet<String> = server.panes.iter().map(|pane| pane.mark.clone()).collect();
        for session in &mut server.sessions {
            session.windows.retain(|window| window.panes.iter().any(|pane| marks.contains(&pane.mark)));
        }
        server.sessions.retain(|session| !session.windows.is_empty());
    }
}

fn show_plan(planned: &Plan, as_json: bool) -> Result<Exit, Failure> {
    let mut out = Out::new();
    if as_json {
        let panes: Vec<_> = planned
            .concerned()
            .map(|pane| {
                json!({"pane": pane.reference, "sessionId": pane.session, "act": pane.decision.act,
                    "reason": pane.decision.reason, "argv": pane.argv.as_ref().map(|argv| &argv.words)})
            })
            .collect();
        out.json(json!({"dryRun": true, "panes": panes}));
        return out.finish();
    }
    let mut table = Table::new(&["pane", "session", "what", "why"]);
    for pane in planned.concerned() {
        let session = pane.session.as_ref().map(|session| session.short().to_owned()).unwrap_or_default();
        table.row(&[
            pane.reference.clone(),
            session,
            word(pane.decision.act).to_owned(),
            pane.decision.reason.clone(),
        ]);
    }
    out.line(&table.text());
    out.finish()
}

fn word(act: Act) -> &'static str {
    match act {
        Act::Resume => "resume",
        Act::Begin => "begin",
        Act::RepairResume => "repair and resume",
        Act::VaultResume => "put back and resume",
        Act::Fresh => "begin anew",
        Act::Offer => "offer",
        Act::Refuse => "refuse",
        Act::Shell => "shell",
        Act::Nothing => "nothing",
    }
}

fn report(context: &Context, panes: &[Restored], planned: &Plan, as_json: bool) -> Result<Exit, Failure> {
    let total =
        planned.panes().filter(|pane| pane.session.is_some() && pane.decision.act != Act::Nothing).count();
    let restored = panes.iter().filter(|pane| pane.outcome.is_back()).count();
    let failed = panes.iter().any(|pane| matches!(pane.outcome, Outcome::Failed | Outcome::Unverified));
    let now = Timestamp::now();
    let value = json!({"restoreId": now.strftime("%Y%m%dT%H%M%SZ").to_string(), "panes": panes,
        "restored": restored, "total": total});
    if !panes.is_empty() {
        let folder = context.clinic.state.instances().join("restore");
        durable::private_dir(&folder)?;
        let mut whole = json!({"schema": 1, "at": now});
        if let (Some(whole), Some(value)) = (whole.as_object_mut(), value.as_object()) {
            whole.extend(value.clone());
        }
        durable::replace(&folder.join("last-restore.json"), format!("{whole:#}\n").as_bytes())?;
        let entry = Entry::new(now, "restored").with("restored", restored as u64).with("total", total as u64);
        Journal::at(context.clinic.state.journal()).append(&entry)?;
    }
    let mut out = Out::new();
    if as_json {
        out.json(value);
    } else if panes.is_empty() {
        out.line("everything is there");
    } else {
        let mut table = Table::new(&["pane", "session", "outcome", "why"]);
        for pane in panes {
            let session =
                pane.session_id.as_ref().map(|session| session.short().to_owned()).unwrap_or_default();
            let outcome = json!(pane.outcome).as_str().unwrap_or_default().replace('_', " ");
            table.row(&[pane.pane.clone(), session, outcome, pane.reason.clone()]);
        }
        out.line(&table.text());
        out.line(&format!("\nRestored {restored}/{total} of {}", count(panes.len() as u64, "pane", "panes")));
    }
    out.finish_as(if failed { Exit::Partly } else { Exit::Done })
}
