use std::collections::BTreeSet;
use std::time::Duration;

use agents::claude::Owners;
use jiff::{SignedDuration, Timestamp};
use recovery::{Act, Actor, Ground, Outcome, Plan, Restored, plan};
use saves::Save;
use serde_json::json;
use state::durable;
use state::journal::{Entry, Journal};
use state::lock::Lock;

use crate::commands::save::PATIENCE;
use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::output::{Out, Table, count};

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
    /// Agents that start at once
    #[arg(long, value_name = "N")]
    max_parallel: Option<usize>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

const TMUX_DEADLINE: Duration = Duration::from_secs(5);

pub(crate) fn run(context: &Context, args: &Args) -> Result<Exit, Failure> {
    let state = &context.clinic.state;
    durable::private_dir(&state.locks())?;
    // However many triggers there are, it happens once: who comes second finds everything there.
    let _alone = Lock::acquire(&state::saves::restore_lock(state, None), PATIENCE)?;
    let settler = context.settler()?;
    let settled = settler.settle(Timestamp::now(), PATIENCE)?;
    let save = chosen(context, args.save.as_deref())?;
    let sockets: BTreeSet<_> = save.servers.iter().map(|server| server.tmux.socket.clone()).collect();
    let mut alive = Vec::new();
    for socket in &sockets {
        match mux::list(socket, TMUX_DEADLINE) {
            mux::Listing::Alive(server) => alive.push(server),
            mux::Listing::Gone => {}
            mux::Listing::Unknown { why } => {
                return Err(Failure::new(Exit::Refused, format!("{}: {why}", socket.display()))
                    .hint("nothing is restored where it cannot be told what is there"));
            }
        }
    }
    let ground = Ground {
        clinic: &context.clinic,
        settled: &settled,
        owners: Owners::look(&context.clinic.configs),
        now: Timestamp::now(),
    };
    let stale = SignedDuration::try_from(context.config.restore.stale_after).unwrap_or(SignedDuration::MAX);
    let mut planned = plan(&save, &alive, &ground, stale, Timestamp::now());
    narrow(&mut planned, &args.only);
    if args.dry_run {
        return show_plan(&planned, args.json);
    }
    if planned.is_empty() {
        let panes: Vec<Restored> = Vec::new();
        return report(context, &panes, &planned, args.json);
    }
    if !args.yes {
        if !args.json {
            show_plan(&planned, false)?;
        }
        super::init::agree(false, "Restore?")?;
    }
    let actor = Actor {
        state,
        clinic: &context.clinic,
        records: &settled.records,
        max_parallel: args.max_parallel.unwrap_or(context.config.restore.max_parallel as usize),
    };
    let panes = actor.act(&planned)?;
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
            .panes()
            .map(|pane| {
                json!({"pane": pane.reference, "sessionId": pane.session, "act": pane.decision.act,
                    "reason": pane.decision.reason, "argv": pane.argv.as_ref().map(|argv| &argv.words)})
            })
            .collect();
        out.json(json!({"dryRun": true, "panes": panes}));
        return out.finish();
    }
    let mut table = Table::new(&["pane", "session", "what", "why"]);
    for pane in planned.panes() {
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
        Act::Fresh | Act::Offer => "offer",
        Act::Refuse => "refuse",
        Act::Shell => "shell",
        Act::Nothing => "nothing",
    }
}

fn report(context: &Context, panes: &[Restored], planned: &Plan, as_json: bool) -> Result<Exit, Failure> {
    let resumed = |outcome: Outcome| {
        matches!(outcome, Outcome::Resumed | Outcome::RepairedResumed | Outcome::VaultResumed)
    };
    let total =
        planned.panes().filter(|pane| pane.session.is_some() && pane.decision.act != Act::Nothing).count();
    let restored = panes.iter().filter(|pane| resumed(pane.outcome)).count();
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
