//! What can be typed. The doc comments are the help.

use clap::{Parser, Subcommand};

use crate::commands::{
    branches, completions, doctor, init, man, repair, scan, settle, show, statusline, undo, uninstall, up,
    vault,
};

/// Coding agents that survive anything
#[derive(Debug, Parser)]
#[command(name = "rekindle", version, disable_help_subcommand = true, arg_required_else_help = true)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Up(up::Args),
    Scan(scan::Args),
    Repair(repair::Args),
    Branches(branches::Args),
    Show(show::Args),
    Undo(undo::Args),
    Vault(vault::Args),
    Init(init::Args),
    Uninstall(uninstall::Args),
    Doctor(doctor::Args),
    Settle(settle::Args),
    Statusline(statusline::Args),
    Completions(completions::Args),
    Man(man::Args),
}
