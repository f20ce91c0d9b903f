//! What can be typed. The doc comments are the help.

use clap::{Parser, Subcommand};

use crate::commands::{
    branches, completions, doctor, explain, go, history, hook, init, inject, man, map, name, note, pane,
    pause, recover, redo, repair, restore, save, saves, scan, service, settle, show, status, statusline,
    task, tick, tmux_conf, tmux_status, trust, undo, uninstall, unpause, up, vault,
};

/// Coding agents that survive anything
#[derive(Debug, Parser)]
#[command(
    name = "rekindle",
    version,
    disable_help_subcommand = true,
    after_help = "Without a command it shows the status.\nFor agents, tmux and timers: hook, statusline, settle, tick, tmux-status,\ntmux-conf; each has its own --help."
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Up(up::Args),
    Status(status::Args),
    Map(map::Args),
    Explain(explain::Args),
    Go(go::Args),
    Name(name::Args),
    Task(task::Args),
    Note(note::Args),
    Pause(pause::Args),
    Unpause(unpause::Args),
    Scan(scan::Args),
    Repair(repair::Args),
    Branches(branches::Args),
    Show(show::Args),
    History(history::Args),
    Undo(undo::Args),
    Redo(redo::Args),
    Save(save::Args),
    Restore(restore::Args),
    Recover(recover::Args),
    Inject(inject::Args),
    Saves(saves::Args),
    Vault(vault::Args),
    Trust(trust::Args),
    Init(init::Args),
    Uninstall(uninstall::Args),
    Doctor(doctor::Args),
    Service(service::Args),
    #[command(hide = true)]
    Hook(hook::Args),
    #[command(hide = true)]
    Settle(settle::Args),
    #[command(hide = true)]
    Pane(pane::Args),
    #[command(hide = true)]
    Statusline(statusline::Args),
    #[command(hide = true)]
    Tick(tick::Args),
    #[command(hide = true)]
    TmuxConf(tmux_conf::Args),
    #[command(hide = true)]
    TmuxStatus(tmux_status::Args),
    Completions(completions::Args),
    Man(man::Args),
}
