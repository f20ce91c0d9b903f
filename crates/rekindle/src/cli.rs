//! What can be typed. The doc comments are the help.

use clap::{Parser, Subcommand};

use crate::commands::{
    branches, completions, init, man, repair, save, saves, scan, settle, show, statusline, undo, uninstall,
    up, vault,
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
    Save(save::Args),
    Saves(saves::Args),
    Vault(vault::Args),
    Init(init::Args),
    Uninstall(uninstall::Args),
    Settle(settle::Args),
    Statusline(statusline::Args),
    Completions(completions::Args),
    Man(man::Args),
}
