//! `rekindle uninstall`: what was wired is taken out, what is remembered goes.

mod held;
mod key;
mod tags;

use integrate::uninstall::Shapes;
use jiff::Timestamp;
use serde_json::{Value, json};
use store::StateDir;

use self::held::{Alone, Held, may_go};
use crate::commands::init::{Shown, changes_json, fail, notes_json, program, refuse};
use crate::commands::service;
use crate::commands::tmux_wish;
use crate::context::{Context, short_path};
use crate::exit::{Exit, Failure};
use crate::output::{Consent, Out, agree_or_show, count, say};

/// Take out what `init` wired, and remove what rekindle remembers
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  rekindle uninstall --keep-data\n  rekindle uninstall --dry-run\n\nThe vault may hold the only copy of a conversation: then it is removed only with\n--forget-vault."
)]
pub(crate) struct Args {
    /// Keep the state directory: records, journal and vault
    #[arg(long)]
    keep_data: bool,
    /// Remove the vault also where it holds what exists nowhere else
    #[arg(long, conflicts_with = "keep_data")]
    forget_vault: bool,
    /// Show every change line by line
    #[arg(long)]
    diff: bool,
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
    let (around, home) = Context::paths()?;
    let configs = around.configs(&Context::configuration(&around)?);
    let short = |path: &std::path::Path| short_path(home.as_deref(), path);
    let state = StateDir::existing(&around.state)?;
    let program = program(&Context::search_path())?;
    let tmux = home.as_deref().map(|home| tmux_wish::wish(home, &program));
    let service = service::of(&around)?;
    let shapes = Shapes { tmux, files: service::paths(&service) };
    let undoing = integrate::uninstall::plan(&around.state, &program, &configs, &shapes)
        .map_err(|error| refuse(&error))?;
    let held = if args.keep_data { None } else { Some(Held::look(state.as_ref())?) };
    let key = key::of(&around).filter(|_| held.is_some());
    let (changes, notes) = (undoing.changes(), undoing.notes.clone());
    let shown = Shown { home: home.as_deref(), program: &program, changes: &changes, notes: &notes };
    let mut out = Out::new();
    if !args.json {
        shown.show(args.diff, &mut out);
        if let Some(held) = &held {
            say(&format!(
                "rekindle: {}: {}",
                short(&around.state),
                held.words(args.dry_run, args.forget_vault)
            ));
        }
        if let Some(key) = &key {
            say(&format!("rekindle: {}: {}", short(key.path()), key.words(args.dry_run)));
        }
    }
    let act = !args.dry_run;
    if act
        && held.is_some()
        && let Some(damaged) = undoing.damaged_records().next()
    {
        let what = format!(
            "{} is damaged, so rekindle cannot tell which files below {} were yours before `rekindle init --adopt`",
            short(damaged),
            short(&around.state)
        );
        let hint = "save what is yours, remove the damaged file and run this again; `rekindle uninstall --keep-data` takes out the wiring alone";
        return Err(Failure::new(Exit::Refused, what).hint(hint));
    }
    if let Some(held) = &held
        && act
        && !args.forget_vault
    {
        may_go(&held.only_here)?;
    }
    if act && !(undoing.is_empty() && held.is_none()) {
        let question = if held.is_some() {
            "Take all this out, and remove the state directory for good?"
        } else {
            "Take all this out?"
        };
        let consent = Consent::of(args.yes, args.json);
        agree_or_show(&mut out, consent, question, |out| shown.diff(out))?;
    }
    let mut only_here = held.as_ref().map(|held| held.only_here.conversations.len());
    let (mut left, mut untagged) = (Vec::new(), 0);
    if act {
        // The answer may have taken its time, and a conversation may have been deleted since.
        let alone = match &state {
            Some(state) if held.is_some() => Some(Alone::wait(state)?),
            _ => None,
        };
        if let Some(alone) = &alone {
            if !args.forget_vault {
                may_go(&alone.only_here)?;
            }
            only_here = Some(alone.only_here.conversations.len());
        }
        service::let_go(&service, &undoing)?;
        integrate::uninstall::undo(&undoing, Timestamp::now()).map_err(fail)?;
        service::forget(&service, &undoing)?;
        untagged = tags::take_off(state.as_ref());
        // The undoing itself has left a word in it.
        if held.is_some()
            && let Some(state) = StateDir::existing(&around.state)?
        {
            left = state.erase()?;
        }
        if let Some(key) = &key {
            key.remove()?;
        }
    }
    if args.json {
        let state = json!({
            "path": around.state.to_string_lossy(), "removed": act && held.is_some(),
            "conversations": held.as_ref().map(|held| held.conversations),
            "onlyHere": only_here,
            "left": left.iter().map(|path| Value::from(path.to_string_lossy())).collect::<Value>(),
        });
        out.json(json!({
            "dryRun": args.dry_run, "changes": changes_json(&changes), "notes": notes_json(&notes), "state": state,
            "untagged": untagged,
        }));
        return out.finish();
    }
    for path in &left {
        let why = if path.ends_with(".git") { "may be the history of more than ours" } else { "is not ours" };
        say(&format!("rekindle: {} {why}: it stays", short(path)));
    }
    if changes.is_empty() {
        out.line("nothing is wired");
    } else if act {
        let panes = match untagged {
            0 => String::new(),
            _ => format!(" and the option on {}", count(untagged as u64, "pane", "panes")),
        };
        out.line(&format!("Removed {}{panes}.", count(changes.len() as u64, "change", "changes")));
        out.line("Restart running agents to pick this up.");
    }
    if untagged > 0 && changes.is_empty() {
        out.line(&format!("Removed the option on {}.", count(untagged as u64, "pane", "panes")));
    }
    if act && held.is_some() {
        out.line("the state directory is removed");
    }
    out.finish()
}
