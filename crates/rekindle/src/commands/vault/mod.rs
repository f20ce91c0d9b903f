//! `rekindle vault`: the mirror of conversations from the command line.

mod forget;
mod keep;
mod list;
mod old_backups;
mod restore;
mod status;
mod sync;
mod verify;

use std::path::PathBuf;

use agents::claude::ConfigDir;
use clap::Subcommand;
use repair::{AccountSession, pick};
use vault::{Conversation, Wanted};

pub(crate) use keep::prune_quietly;
pub(crate) use restore::put_back;
pub(crate) use sync::{sync_all, sync_json, sync_words, unmirrored_words};

use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::output::Out;

/// The mirror of every conversation: bring it up to date, look into it, take things out
#[derive(Debug, clap::Args)]
#[command(
    arg_required_else_help = true,
    after_help = "Examples:\n  rekindle vault sync\n  rekindle vault restore 1a2b3c4d"
)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Mirror what is new
    #[command(after_help = "Example: rekindle vault sync")]
    Sync {
        /// Believe that files are gone, also where over a fifth went at once
        #[arg(long)]
        believe_deletions: bool,
        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
    /// List the conversations in it
    #[command(after_help = "Example: rekindle vault list")]
    List {
        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
    /// Check every stored bit, and say what a bad one touches
    #[command(after_help = "Example: rekindle vault verify")]
    Verify {
        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
    /// Put a conversation back byte for byte, keeping what was there
    #[command(
        after_help = "Examples:\n  rekindle vault restore 1a2b3c4d\n  rekindle vault restore 1a2b3c4d --version 2 --to /tmp/old.jsonl\n  rekindle vault restore 1a2b3c4d --provable"
    )]
    Restore {
        /// A session's id or its beginning, a pane, a name or a directory
        #[arg(value_name = "TARGET")]
        session: String,
        /// Which version of it: the best where none is given
        #[arg(long = "version", alias = "generation", value_name = "N")]
        generation: Option<u32>,
        /// Of a damaged copy: put back the newest version that can be proven, though more of it may be missing
        #[arg(long, alias = "whole", conflicts_with = "generation")]
        provable: bool,
        /// Write it to a new file instead
        #[arg(long, value_name = "PATH")]
        to: Option<PathBuf>,
        /// Say what would be done, and do nothing
        #[arg(long)]
        dry_run: bool,
        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
    /// Let go of what is past its time, by way of a trash that keeps it a week more
    #[command(
        after_help = "Examples:\n  rekindle vault prune\n  rekindle vault prune --old-backups --dry-run"
    )]
    Prune {
        /// Remove the backups (*.jsonl.backup-*) of an earlier repair tool instead, where the vault has every row of them
        #[arg(long)]
        old_backups: bool,
        /// Do not ask
        #[arg(long, requires = "old_backups")]
        yes: bool,
        /// Say what would be done, and do nothing
        #[arg(long)]
        dry_run: bool,
        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
    /// Erase what rekindle keeps of a conversation for good
    #[command(after_help = "Example: rekindle vault forget 1a2b3c4d --yes")]
    Forget {
        /// A session's id or its beginning, a pane, a name or a directory
        #[arg(value_name = "TARGET")]
        session: String,
        /// Erase without asking; there is no way back
        #[arg(long)]
        yes: bool,
        /// Say what would be done, and do nothing
        #[arg(long, conflicts_with = "yes")]
        dry_run: bool,
        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
    /// The vault at a glance, and what was lost outside of it
    #[command(after_help = "Example: rekindle vault status")]
    Status {
        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
}

pub(crate) fn run(context: &Context, args: &Args) -> Result<Exit, Failure> {
    match &args.command {
        Command::Sync { believe_deletions, json } => {
            let report = sync_all(context, *believe_deletions)?;
            let mut out = Out::new();
            if *json {
                out.json(sync_json(&report));
            } else {
                sync_words(context, &report, &mut out)?;
            }
            out.finish_as(if report.failures.is_empty() { Exit::Done } else { Exit::Partly })
        }
        Command::List { json } => list::list(context, *json),
        Command::Verify { json } => verify::verify(context, *json),
        Command::Restore { session, generation, provable, to, dry_run, json } => {
            let key = find(context, session)?;
            let wanted = match generation {
                Some(number) => Wanted::Number(*number),
                None if *provable => Wanted::Whole,
                None => Wanted::Best,
            };
            match to {
                Some(path) => restore::restore_to(context, &key, wanted, path, *dry_run, *json),
                None if *dry_run => restore::plan_restore(context, &key, wanted, *json),
                None => {
                    context.may_change()?;
                    let _operation = context.begin_operation("vault restore");
                    put_back(context, &key.session, Some(&key.config), wanted, *json)
                }
            }
        }
        Command::Prune { old_backups, yes, dry_run, json } => {
            if !*dry_run {
                context.may_change()?;
            }
            if *old_backups {
                let manner = old_backups::Manner { yes: *yes, dry_run: *dry_run, json: *json };
                return old_backups::prune(context, manner);
            }
            keep::prune(context, *dry_run, *json)
        }
        Command::Forget { session, yes, dry_run, json } => {
            forget::forget(context, session, *yes, *dry_run, *json)
        }
        Command::Status { json } => status::status(context, *json),
    }
}

/// The conversation a text means, by what is in the vault.
fn find(context: &Context, text: &str) -> Result<AccountSession, Failure> {
    find_among(context, text, vaulted(context)?)?.ok_or_else(|| {
        Failure::new(Exit::Usage, format!("the vault has no session {text:?}"))
            .hint("rekindle vault list shows what it has")
    })
}

/// Every conversation in the vault.
fn vaulted(context: &Context) -> Result<Vec<AccountSession>, Failure> {
    let all = context.repairer.vault.list()?.into_iter();
    let key = |conversation: Conversation| {
        let config = ConfigDir::new(conversation.config);
        Some(AccountSession { session: conversation.session?, config })
    };
    Ok(all.filter_map(key).collect())
}

/// The one of these that a text means: by its id, else by what records know of panes, names and directories.
fn find_among(
    context: &Context,
    text: &str,
    known: Vec<AccountSession>,
) -> Result<Option<AccountSession>, Failure> {
    let told = |error| context.untold(error);
    if let Some(key) = pick(text, &known).map_err(told)? {
        return Ok(Some(key));
    }
    let Some(session) = context.repairer.on_record(text).map_err(told)? else { return Ok(None) };
    let account = context.repairer.account_of(&session);
    let is_its = |key: &AccountSession| {
        key.session == *session.id() && account.as_ref().is_none_or(|account| *account == key.config)
    };
    let known: Vec<AccountSession> = known.into_iter().filter(is_its).collect();
    pick(session.id().as_str(), &known).map_err(told)
}
