//! `rekindle service`: what the machine starts by itself, installed, looked at, taken out.

mod manager;
mod status;

use clap::Subcommand;
use integrate::plan::Part;
use integrate::service::{Manager, Service};
use integrate::uninstall::Undoing;
use jiff::Timestamp;
use serde_json::{Value, json};
use store::{StateDir, durable};

use self::manager::Linger;
use super::init::{changes_json, fail, notes_json, refuse, show};
use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::output::{Answer, Consent, Out, agree, ask, count, say};

/// Save by a timer and restore at login: units of your service manager, installed or taken out
#[derive(Debug, clap::Args)]
#[command(
    arg_required_else_help = true,
    after_help = "Examples:\n  rekindle service install\n  rekindle service status\n\nsystemd's user manager on Linux, launchd on macOS."
)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Write the units and enable them, after showing every change
    #[command(
        after_help = "Examples:\n  rekindle service install --dry-run\n  rekindle service install --linger\n\nTaken back by `rekindle service uninstall`."
    )]
    Install(Installing),
    /// Say what is installed, whether it runs, when it ran and when it will
    #[command(after_help = "Example: rekindle service status")]
    Status {
        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
    /// Disable the units and remove them
    #[command(after_help = "Example: rekindle service uninstall --dry-run")]
    Uninstall(Removing),
}

#[derive(Debug, clap::Args)]
struct Installing {
    /// Also start your services at boot and keep them after logout (loginctl enable-linger)
    #[arg(long)]
    linger: bool,
    /// Do not ask
    #[arg(long)]
    yes: bool,
    /// Show what would change, and change nothing
    #[arg(long)]
    dry_run: bool,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Debug, clap::Args)]
struct Removing {
    /// Do not ask
    #[arg(long)]
    yes: bool,
    /// Show what would change, and change nothing
    #[arg(long)]
    dry_run: bool,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args) -> Result<Exit, Failure> {
    match &args.command {
        Command::Install(args) => install(args),
        Command::Status { json } => status::run(*json),
        Command::Uninstall(args) => uninstall(args),
    }
}

fn install(args: &Installing) -> Result<Exit, Failure> {
    let (around, home) = Context::paths()?;
    let config = Context::configuration(&around)?;
    StateDir::existing(&around.state)?;
    let service = manager::service(&around, config.save.interval)?;
    manager::is_there(&service)?;
    let plan = integrate::service::plan(&around.state, &service).map_err(|error| refuse(&error))?;
    if let Some(path) = plan.foreign() {
        return Err(Failure::new(Exit::Refused, format!("{} is not ours", path.display()))
            .hint("move it away and try again; no file was changed"));
    }
    let changes = plan.changes();
    let mut out = Out::new();
    if !args.json {
        show(home.as_deref(), &changes, &plan.notes, &mut out);
    }
    let act = !args.dry_run;
    if act && !changes.is_empty() {
        agree(&mut out, Consent::of(args.yes, args.json), "Install this?")?;
    }
    let mut linger = manager::linger(&service);
    if act {
        StateDir::open(&around.state)?;
        integrate::service::apply(&plan, Timestamp::now()).map_err(fail)?;
        manager::run_all(&service.enable())?;
        if linger != Linger::On && wants_linger(args, linger) {
            manager::enable_linger()?;
            linger = Linger::On;
        }
    }
    if args.json {
        out.json(json!({
            "dryRun": args.dry_run, "installed": act, "changes": changes_json(&changes),
            "commands": calls_json(&service), "linger": linger.as_json(), "notes": notes_json(&plan.notes),
        }));
        return out.finish();
    }
    if act {
        out.line(&format!("installed: {}, enabled", count(service.files().len() as u64, "file", "files")));
        out.line("rekindle service status says when it runs");
    } else {
        for call in service.enable() {
            out.line(&format!("would run: {}", call.words.join(" ")));
        }
    }
    if linger == Linger::Off {
        out.flush();
        say("rekindle: your services stop at the last logout and start with the next login");
        say("  loginctl enable-linger keeps them, and restores at boot");
    }
    out.finish()
}

/// Only a clear word turns linger on: it is about all services of this user.
fn wants_linger(args: &Installing, linger: Linger) -> bool {
    let question = "Start your services at boot and keep them after logout (loginctl enable-linger)?";
    args.linger || (linger == Linger::Off && !args.yes && ask(question) == Answer::Yes)
}

fn calls_json(service: &Service) -> Value {
    service.enable().into_iter().map(|call| Value::from(call.words)).collect()
}

fn uninstall(args: &Removing) -> Result<Exit, Failure> {
    let (around, home) = Context::paths()?;
    let service = manager::service(&around, std::time::Duration::ZERO)?;
    let undoing = integrate::uninstall::service(&around.state, &service.program, &paths(&service))
        .map_err(|error| refuse(&error))?;
    let changes = undoing.changes();
    let mut out = Out::new();
    if !args.json {
        show(home.as_deref(), &changes, &undoing.notes, &mut out);
    }
    let act = !args.dry_run && !undoing.is_empty();
    if act {
        if !changes.is_empty() {
            agree(&mut out, Consent::of(args.yes, args.json), "Take this out?")?;
        }
        let_go(&service, &undoing)?;
        integrate::uninstall::undo(&undoing, Timestamp::now()).map_err(fail)?;
        forget(&service, &undoing)?;
    }
    if args.json {
        out.json(json!({
            "dryRun": args.dry_run, "changes": changes_json(&changes), "notes": notes_json(&undoing.notes),
        }));
        return out.finish();
    }
    match changes.len() as u64 {
        0 => out.line("nothing is installed"),
        number if act => out.line(&format!("removed: {}", count(number, "file", "files"))),
        _ => {}
    }
    out.finish()
}

/// The places of all files.
pub(crate) fn paths(service: &Service) -> Vec<std::path::PathBuf> {
    service.files().into_iter().map(|file| file.path).collect()
}

/// The service as this machine would have it, where it has a home.
pub(crate) fn of(around: &repair::Paths) -> Result<Service, Failure> {
    manager::service(around, std::time::Duration::ZERO)
}

fn concerns(undoing: &Undoing) -> bool {
    undoing.changes().iter().any(|change| change.part == Part::Service)
}

/// Before the files go: nothing of ours runs any more.
pub(crate) fn let_go(service: &Service, undoing: &Undoing) -> Result<(), Failure> {
    if concerns(undoing) { manager::run_all(&service.disable()) } else { Ok(()) }
}

/// After the files have gone: no link leads to them, and the manager knows that they are gone.
pub(crate) fn forget(service: &Service, undoing: &Undoing) -> Result<(), Failure> {
    if !concerns(undoing) {
        return Ok(());
    }
    for (link, target) in service.links() {
        if std::fs::read_link(&link).is_ok_and(|leads| leads == target) && !target.exists() {
            durable::remove(&link)?;
        }
    }
    manager::run_all(&service.forget())
}

/// The word for a manager in output.
fn word(manager: Manager) -> &'static str {
    match manager {
        Manager::Systemd => "systemd",
        Manager::Launchd => "launchd",
    }
}
