//! `rekindle saves`: the saves there are, what is in them, what changed, and how they leave and come in.

mod carry;
mod list;
mod scrollback;
mod show;

use std::path::PathBuf;

use clap::Subcommand;
use layouts::Save;
use store::saves::{Generation, Listed, Loaded};

use super::save::saver;
use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::output::say;

/// List saves of tmux, look into them, compare them, take them elsewhere
#[derive(Debug, clap::Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "Examples:\n  rekindle saves\n  rekindle saves diff before-upgrade current\n  rekindle saves import ~/.tmux/resurrect/last\n\nA SAVE is an id, the beginning of one, a name, or `current`."
)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Option<Command>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// List every save, the newest first (also what happens without a word)
    #[command(after_help = "Example: rekindle saves list")]
    List {
        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
    /// Show the sessions, windows and panes of a save, or what a pane showed
    #[command(
        after_help = "Examples:\n  rekindle saves show\n  rekindle saves show before-upgrade\n  rekindle saves show --scrollback work:1.0"
    )]
    Show {
        /// The save; the current one where none is given
        #[arg(value_name = "SAVE", default_value = "current")]
        save: String,
        /// Print what this pane showed: `work:1.0`, `%4`
        #[arg(long, value_name = "PANE")]
        scrollback: Option<String>,
        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
    /// Say in words what changed from one save to another
    #[command(after_help = "Example: rekindle saves diff before-upgrade")]
    Diff {
        /// The older one
        #[arg(value_name = "A")]
        old: String,
        /// The newer one; the current one where none is given
        #[arg(value_name = "B", default_value = "current")]
        new: String,
        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
    /// Copy a save into a file, its scrollback beside it
    #[command(after_help = "Example: rekindle saves export current ~/work.save")]
    Export {
        /// The save
        #[arg(value_name = "SAVE")]
        save: String,
        /// A file that does not exist yet
        #[arg(value_name = "FILE")]
        file: PathBuf,
        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
    /// Take a save from a file: an exported one, or one of tmux-resurrect
    #[command(
        after_help = "Example: rekindle saves import ~/.tmux/resurrect/last\n\nWhat is imported is a guess: it is offered, and nothing of it starts by itself."
    )]
    Import {
        /// The file
        #[arg(value_name = "FILE")]
        file: PathBuf,
        /// Give it a name; a save with a name is kept for good
        #[arg(long, value_name = "NAME")]
        name: Option<String>,
        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
}

pub(crate) fn run(context: &Context, args: &Args) -> Result<Exit, Failure> {
    match &args.command {
        None => list::list(context, args.json),
        Some(Command::List { json }) => list::list(context, *json),
        Some(Command::Show { save, scrollback: None, json }) => {
            show::show(context, &find(context, save)?, *json)
        }
        Some(Command::Show { save, scrollback: Some(pane), json }) => {
            scrollback::show(&find(context, save)?, pane, *json)
        }
        Some(Command::Diff { old, new, json }) => {
            show::diff(&find(context, old)?, &find(context, new)?, *json)
        }
        Some(Command::Export { save, file, json }) => {
            carry::export(context, &find(context, save)?.0, file, *json)
        }
        Some(Command::Import { file, name, json }) => carry::import(context, file, name.as_deref(), *json),
    }
}

/// Every save; what was passed over is said.
fn listed(context: &Context) -> Result<Listed, Failure> {
    let saver = saver(context)?;
    let listed = store::saves::list(&saver.state, saver.key.reading())?;
    for skipped in &listed.skipped {
        say(&format!("rekindle: passed over {}: {}", context.short_path(&skipped.path), skipped.why));
    }
    Ok(listed)
}

/// The save a text means.
pub(super) fn find(context: &Context, text: &str) -> Result<(Loaded, Save), Failure> {
    let listed = listed(context)?;
    let id = chosen(&listed, text)?;
    let saver = saver(context)?;
    let loaded = store::saves::load(&saver.state, saver.key.reading(), &id)?;
    let save = Save::of(&loaded).ok_or_else(|| {
        Failure::new(Exit::Failed, format!("cannot understand the servers in {id}")).hint("update rekindle")
    })?;
    Ok((loaded, save))
}

fn chosen(listed: &Listed, text: &str) -> Result<String, Failure> {
    let none = |why: String| {
        Failure::new(Exit::Usage, why).hint("rekindle saves lists what there is; rekindle save makes one")
    };
    if text == "current" {
        return listed.current.clone().ok_or_else(|| none("there is no save yet".to_owned()));
    }
    // The newest comes first: of several with one name it is the one that is meant.
    let named = |known: &&Generation| known.head.name.as_deref() == Some(text);
    if let Some(known) = listed.generations.iter().find(named) {
        return Ok(known.id.clone());
    }
    let fitting: Vec<&Generation> =
        listed.generations.iter().filter(|known| !text.is_empty() && known.id.starts_with(text)).collect();
    match fitting.as_slice() {
        [only] => Ok(only.id.clone()),
        [] => Err(none(format!("there is no save {text:?}"))),
        many => Err(none(format!("{text:?} is the beginning of {} saves; give more of it", many.len()))),
    }
}
