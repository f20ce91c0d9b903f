//! One file per command: what can be typed after it, and what it does.

pub(crate) mod branches;
pub(crate) mod completions;
pub(crate) mod doctor;
pub(crate) mod explain;
pub(crate) mod go;
pub(crate) mod history;
pub(crate) mod hook;
pub(crate) mod init;
pub(crate) mod inject;
pub(crate) mod man;
pub(crate) mod map;
pub(crate) mod name;
pub(crate) mod note;
pub(crate) mod pane;
pub(crate) mod pause;
pub(crate) mod recover;
pub(crate) mod redo;
pub(crate) mod repair;
pub(crate) mod restore;
pub(crate) mod save;
pub(crate) mod saves;
pub(crate) mod scan;
pub(crate) mod service;
pub(crate) mod settle;
pub(crate) mod show;
pub(crate) mod status;
pub(crate) mod statusline;
pub(crate) mod task;
pub(crate) mod tick;
pub(crate) mod tmux_conf;
pub(crate) mod tmux_status;
pub(crate) mod tmux_wish;
pub(crate) mod trigger;
pub(crate) mod trust;
pub(crate) mod undo;
pub(crate) mod uninstall;
pub(crate) mod unpause;
pub(crate) mod up;
pub(crate) mod vault;

use crate::cli::{Cli, Command};
use crate::context::Context;
use crate::exit::{Exit, Failure};

/// Runs what was typed.
pub(crate) fn run(cli: Cli) -> Result<Exit, Failure> {
    let Some(command) = cli.command else {
        return status::run(&Context::load_to_read()?, &status::Args::default());
    };
    match command {
        // Answered before the command line is built, but for its help.
        Command::Hook(_) => Ok(Exit::Done),
        Command::Statusline(args) => statusline::run(&args),
        Command::Completions(args) => completions::run(&args),
        Command::Man(args) => man::run(&args),
        Command::Init(args) => init::run(&args),
        Command::Uninstall(args) => uninstall::run(&args),
        Command::Doctor(args) => doctor::run(&args),
        Command::Service(args) => service::run(&args),
        Command::Up(args) => up::run(&Context::load()?, &args),
        Command::Status(args) => status::run(&Context::load_to_read()?, &args),
        Command::Map(args) => map::run(&Context::load_to_read()?, &args),
        Command::Explain(args) => explain::run(&Context::load()?, &args),
        Command::Go(args) => go::run(&Context::load()?, &args),
        Command::Name(args) => name::run(&Context::load()?, &args),
        Command::Task(args) => task::run(&Context::load()?, &args),
        Command::Note(args) => note::run(&Context::load()?, &args),
        Command::Pause(args) => pause::run(&Context::load()?, &args),
        Command::Unpause(args) => unpause::run(&Context::load()?, &args),
        Command::Scan(args) => scan::run(&Context::load_to_read()?, &args),
        Command::Repair(args) => repair::run(&Context::load()?, &args),
        Command::Branches(args) => branches::run(&Context::load_to_read()?, &args),
        Command::Show(args) => show::run(&Context::load_to_read()?, &args),
        Command::History(args) => history::run(&Context::load()?, &args),
        Command::Undo(args) => undo::run(&Context::load()?, &args),
        Command::Redo(args) => redo::run(&Context::load()?, &args),
        Command::Save(args) => save::run(&Context::load()?, &args),
        Command::Restore(args) => restore::run(&Context::load()?, &args),
        Command::Recover(args) => recover::run(&Context::load()?, &args),
        Command::Inject(args) => inject::run(&Context::load()?, &args),
        Command::Trust(args) => trust::run(&Context::load()?, &args),
        Command::Saves(args) => saves::run(&Context::load()?, &args),
        Command::Settle(args) => settle::run(&args),
        Command::Pane(args) => pane::run(&args),
        Command::Tick(args) => tick::run(&args),
        Command::TmuxConf(args) => tmux_conf::run(&args),
        Command::TmuxStatus(args) => Ok(tmux_status::run(&args)),
        Command::Vault(args) => vault::run(&Context::load()?, &args),
    }
}

/// A conversation whose transcript is not there.
fn gone(context: &Context, session: &agents::SessionId) -> Failure {
    let failure = Failure::new(Exit::Failed, format!("the transcript of {session} is gone"));
    let copies = context.repairer.vault.find(session).unwrap_or_default();
    if copies.iter().any(::vault::Conversation::talks) {
        failure.hint(format!("the vault has it: rekindle repair {}", session.short()))
    } else {
        failure.hint("the vault has no copy of it")
    }
}

/// A file in which nobody says anything.
fn silent(path: &std::path::Path) -> Failure {
    Failure::new(Exit::Failed, format!("{} holds no conversation", path.display()))
        .hint("rekindle scan says what is wrong with it")
}
