use jiff::Timestamp;
use serde_json::{Value, json};
use vault::OnlyHere;

use crate::commands::init::{agree, changes_json, fail, notes_json, program, refuse, show};
use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::output::{Out, bytes, count, say};

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

pub(crate) fn run(context: Context, args: &Args) -> Result<Exit, Failure> {
    let state_dir = context.clinic.state.path().to_path_buf();
    let program = program(&Context::search_path())?;
    let undoing = wiring::uninstall::plan(&state_dir, &program, &context.clinic.configs)
        .map_err(|error| refuse(&error))?;
    let held = if args.keep_data { None } else { Some(Held::look(&context)?) };
    let (changes, notes) = (undoing.changes(), undoing.notes.clone());
    let mut out = Out::new();
    if !args.json {
        show(context.home.as_deref(), &changes, &notes, &mut out);
        if let Some(held) = &held {
            say(&format!("rekindle: {}: {}", context.short_path(&state_dir), held.words(args.dry_run)));
        }
    }
    let act = !args.dry_run;
    if let Some(held) = &held
        && act
        && !held.only_here.is_empty()
        && !args.forget_vault
    {
        let lost = held.lost();
        return Err(Failure::new(Exit::Refused, format!("the vault holds what exists nowhere else: {lost}"))
            .hint(
                "keep it with --keep-data, or remove it for good with --forget-vault; nothing was changed",
            ));
    }
    if act && !(undoing.is_empty() && held.is_none()) {
        let question =
            if held.is_some() { "Undo this, and remove the state directory for good?" } else { "Undo this?" };
        agree(args.yes, question)?;
    }
    if act {
        wiring::uninstall::undo(&undoing, Timestamp::now()).map_err(fail)?;
    }
    let home = context.home.clone();
    let kept = match &held {
        Some(_) if act => context.clinic.state.erase()?,
        _ => Vec::new(),
    };
    if args.json {
        let state = json!({
            "path": state_dir.to_string_lossy(), "removed": act && held.is_some(),
            "conversations": held.as_ref().map(|held| held.conversations),
            "onlyHere": held.as_ref().map(|held| held.only_here.conversations.len()),
            "left": kept.iter().map(|path| Value::from(path.to_string_lossy())).collect::<Value>(),
        });
        out.json(json!({
            "dryRun": args.dry_run, "changes": changes_json(&changes), "notes": notes_json(&notes), "state": state,
        }));
        return out.finish();
    }
    for path in &kept {
        let short = home.as_deref().and_then(|home| path.strip_prefix(home).ok());
        let shown = short.map_or_else(|| path.display().to_string(), |rest| format!("~/{}", rest.display()));
        say(&format!("rekindle: {shown} is not ours: it stays"));
    }
    if changes.is_empty() {
        out.line("nothing is wired");
    } else if act {
        out.line(&format!("undone: {}", count(changes.len() as u64, "change", "changes")));
        out.line("agents that run already notice it when they start anew");
    }
    if act && held.is_some() {
        out.line("the state directory is removed");
    }
    out.finish()
}

/// What the state directory holds.
struct Held {
    conversations: usize,
    stored: u64,
    only_here: OnlyHere,
}

impl Held {
    fn look(context: &Context) -> Result<Held, Failure> {
        let vault = &context.clinic.vault;
        let all = vault.list()?;
        let stored = all.iter().map(|conversation| conversation.stored).sum();
        Ok(Held { conversations: all.len(), stored, only_here: vault.only_here()? })
    }

    fn words(&self, dry_run: bool) -> String {
        let what = count(self.conversations as u64, "conversation", "conversations");
        let would = if dry_run { "would be" } else { "will be" };
        let lost = if self.only_here.is_empty() {
            "all of it is outside of it too".to_owned()
        } else {
            format!("nowhere else: {}", self.lost())
        };
        format!("{would} removed, with {what} in the vault ({}); {lost}", bytes(self.stored))
    }

    /// What would be lost, in words.
    fn lost(&self) -> String {
        let OnlyHere { conversations, backups, trash } = &self.only_here;
        let parts = [
            (conversations.len(), "conversation", "conversations"),
            (*backups, "copy from before a repair", "copies from before a repair"),
            (*trash, "thing in its trash", "things in its trash"),
        ];
        let parts = parts.iter().filter(|(number, ..)| *number > 0);
        parts.map(|(number, one, many)| count(*number as u64, one, many)).collect::<Vec<_>>().join(" and ")
    }
}
