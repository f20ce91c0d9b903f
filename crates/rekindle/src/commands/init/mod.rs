//! `rekindle init`: a summary of what will be written where, the status line's look, a question, and the wiring.

mod preset;
mod summary;

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use agents::claude::{ConfigDir, config_dirs, versions};
use clap::{CommandFactory, ValueEnum};
use integrate::completions::{Completion, Shell, ShellPlaces};
use integrate::init::{Adopt, Request, Site};
use integrate::plan::{Change, Note, Part, PlanError};
use integrate::settings::StatusLineChoice;
use integrate::{ApplyError, Program, in_use};
use jiff::Timestamp;
use serde_json::{Value, json};
use store::StateDir;
use store::config::statusline::Preset;
use store::machine_key::MachineKey;

pub(crate) use self::summary::lines as summary;
use super::tmux_wish;
use crate::cli::Cli;
use crate::context::{Context, short_path};
use crate::exit::{Exit, Failure};
use crate::output::{Consent, Out, agree_or_show, can_ask, colour, count, paint, say};

/// Wire rekindle into your agents and shells, after showing what will change
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  rekindle init --dry-run\n  rekindle init --tmux\n  rekindle init --preset plain\n\nTaken back by `rekindle uninstall`."
)]
pub(crate) struct Args {
    /// A status line that is there already: keep it beside ours, replace it, or skip ours
    #[arg(long, value_name = "WHAT", default_value = "keep")]
    statusline: StatusLine,
    /// How the status line is written: `design` is dense, `plain` is in words
    #[arg(long, value_name = "LOOK")]
    preset: Option<preset::Look>,
    /// Make tmux save and restore by itself: one line in its configuration, and a file it reads
    #[arg(long)]
    tmux: bool,
    /// Move folders that stand in the way of our links into the state directory
    #[arg(long)]
    adopt: bool,
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

#[derive(Debug, Clone, Copy, ValueEnum)]
enum StatusLine {
    Keep,
    Replace,
    Skip,
}

pub(crate) fn run(args: &Args) -> Result<Exit, Failure> {
    let (around, home) = Context::paths()?;
    let config = Context::configuration(&around)?;
    let named = around.configs(&config);
    // One of somebody else's is refused before anything is asked; none is made before a yes.
    let known = StateDir::existing(&around.state)?;
    let mut notes = Vec::new();
    let mut request = request(&around.state, home.as_deref(), &named, args, &mut notes)?;
    let mut plan = integrate::init::plan(&request).map_err(|error| refuse(&error))?;
    let mut out = Out::new();
    let act = !args.dry_run;
    // Who has a status line of ours has chosen once, and `config.toml` is where to choose again.
    let open = config.statusline.preset.is_none() && plan.adds_status_line();
    let asks = open && act && !args.yes && !args.json && can_ask();
    let look = match args.preset {
        Some(look) => Some(look.into()),
        None if asks => Some(preset::ask(known.as_ref(), home.as_deref(), &config, &mut out)),
        None => None,
    };
    if let Some(look) = look {
        request.config = preset::line(&around, home.as_deref(), &config, look)?;
        plan = integrate::init::plan(&request).map_err(|error| refuse(&error))?;
    }
    notes.extend(plan.notes.iter().cloned());
    let changes = plan.changes();
    let shown = Shown { home: home.as_deref(), program: &request.program, changes: &changes, notes: &notes };
    if !args.json {
        shown.show(args.diff, &mut out);
    }
    if act && !changes.is_empty() {
        let consent = Consent::of(args.yes, args.json);
        agree_or_show(&mut out, consent, "Make these changes?", |out| shown.diff(out))?;
    }
    if act {
        let state = StateDir::open(&around.state)?;
        // Hooks seal what they write and never make a key: it must be there before the first of them runs. Without a home
        // there is no place for one.
        if home.is_some() {
            MachineKey::open(&state, &around.machine_key)?;
        }
        integrate::apply(&mut plan, Timestamp::now()).map_err(fail)?;
    }
    if args.json {
        out.json(json!({
            "dryRun": args.dry_run, "wired": act || changes.is_empty(),
            "changes": changes_json(&changes), "notes": notes_json(&notes),
            "preset": look.or(config.statusline.preset).unwrap_or(Preset::Design).word(),
        }));
    } else if changes.is_empty() {
        out.line("everything is wired");
    } else if act {
        out.line(&format!("wired: {}", count(changes.len() as u64, "change", "changes")));
        out.line("Restart running agents to pick this up.");
        if let Some(tmux) = changes.iter().find(|change| change.part == Part::Tmux) {
            let file = request.tmux.as_ref().map_or(&tmux.path, |tmux| &tmux.file);
            out.line(&format!("tmux servers that run already: tmux source-file {}", file.display()));
            out.line("To see agents and restores in tmux's status bar, add this to your tmux.conf:");
            out.exact_line("  set -ag status-right ' #{E:@rekindle_status}'");
        }
    }
    out.finish()
}

/// What is asked for, by what was typed and what is found.
fn request(
    state_dir: &Path,
    home: Option<&Path>,
    named: &[ConfigDir],
    args: &Args,
    notes: &mut Vec<Note>,
) -> Result<Request, Failure> {
    let path = Context::search_path();
    let at_home = home.is_some();
    let home = home.map(Path::to_path_buf).unwrap_or_default();
    let program = program(&path)?;
    if !path.iter().any(|folder| folder.join("rekindle").is_file()) {
        notes.push(Note::NotOnPath);
    }
    let base = |name: &str, default: &str| {
        Context::place(name).filter(|path| path.is_absolute()).unwrap_or_else(|| home.join(default))
    };
    let places = ShellPlaces {
        home: home.clone(),
        data: base("XDG_DATA_HOME", ".local/share"),
        config: base("XDG_CONFIG_HOME", ".config"),
        path: path.clone(),
    };
    let shells = Shell::ALL.iter().filter(|_| at_home);
    let places = shells.filter_map(|shell| Some((*shell, places.place(*shell, notes)?)));
    let completions = places.map(|(shell, path)| Completion { path, text: completion(shell) }).collect();
    let main = home.join(".claude");
    let adopt = if args.adopt { Adopt::Yes } else { Adopt::No };
    let sites = sites(named, &home, &path, state_dir);
    let links = sites.iter().any(|site| site.config.path() == main).then_some((main, adopt));
    let status_line = match args.statusline {
        StatusLine::Keep => StatusLineChoice::Keep,
        StatusLine::Replace => StatusLineChoice::Replace,
        StatusLine::Skip => StatusLineChoice::Skip,
    };
    let state_dir = state_dir.to_path_buf();
    // One that was wired before is kept up to date: the program may have moved.
    let tmux =
        at_home.then(|| tmux_wish::wish(&home, &program)).filter(|wish| args.tmux || wish.file.exists());
    Ok(Request {
        state_dir,
        program,
        sites,
        status_line,
        texts: true,
        completions,
        tmux,
        config: None,
        links,
    })
}

/// Every configuration directory, with the agents that use it.
pub(crate) fn sites(named: &[ConfigDir], home: &Path, path: &[PathBuf], state_dir: &Path) -> Vec<Site> {
    let now = SystemTime::now();
    let recorded = in_use::recorded(state_dir, now);
    let installed = versions::installed(home, path);
    configs(named, &recorded)
        .into_iter()
        .map(|config| {
            let mut agents = versions::in_config_dir(&config, now);
            let here = recorded.iter().filter(|recorded| recorded.config_dir == config.path());
            agents.extend(here.filter_map(|recorded| recorded.agent.clone()));
            agents.extend(installed.iter().cloned());
            Site { config, agents }
        })
        .collect()
}

/// The directories that the environment and the configuration name, and those on record.
fn configs(named: &[ConfigDir], recorded: &[in_use::Recorded]) -> Vec<ConfigDir> {
    let named = named.iter().map(|config| config.path().to_path_buf());
    let absolute = |path: PathBuf| std::path::absolute(&path).unwrap_or(path);
    let mut all: Vec<PathBuf> = named.map(absolute).collect();
    if Context::place("CLAUDE_CONFIG_DIR").is_none() {
        // One that is on record and gone was a try, or lies on another disk: nothing to speak of.
        all.extend(recorded.iter().map(|recorded| recorded.config_dir.clone()).filter(|path| path.is_dir()));
    }
    config_dirs(None, None, &all)
}

/// Where this program lies: as `PATH` has it, where that is the same, for a link there outlives updates.
pub(crate) fn program(path: &[PathBuf]) -> Result<Program, Failure> {
    let itself = std::env::current_exe()?;
    let real = std::fs::canonicalize(&itself).ok();
    let named = itself.file_name().unwrap_or_default();
    let on_path = path.iter().map(|folder| folder.join(named));
    let mut same = on_path.filter(|path| real.is_some() && std::fs::canonicalize(path).ok() == real);
    Program::new(&same.next().unwrap_or(itself)).map_err(|error| {
        Failure::new(Exit::Refused, format!("cannot {error}"))
            .hint("put the program somewhere else, and run it there")
    })
}

fn completion(shell: Shell) -> Vec<u8> {
    let shell = match shell {
        Shell::Bash => clap_complete::Shell::Bash,
        Shell::Zsh => clap_complete::Shell::Zsh,
        Shell::Fish => clap_complete::Shell::Fish,
    };
    let mut bytes = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "rekindle", &mut bytes);
    bytes
}

/// Changes as a user sees them.
pub(crate) struct Shown<'a> {
    pub(crate) home: Option<&'a Path>,
    pub(crate) program: &'a Program,
    pub(crate) changes: &'a [Change],
    pub(crate) notes: &'a [Note],
}

impl Shown<'_> {
    /// A line per place, or the diff where it is asked for; then what should be known about them.
    pub(crate) fn show(&self, diff: bool, out: &mut Out) {
        if diff {
            self.diff(out);
        } else {
            for line in summary(self.home, self.program, self.changes) {
                out.line(&line);
            }
        }
        say_notes(self.notes, out);
    }

    pub(crate) fn diff(&self, out: &mut Out) {
        show_diff(self.home, self.changes, out);
    }
}

/// Shows the changes as one diff, and what should be known about them.
pub(crate) fn show(home: Option<&Path>, changes: &[Change], notes: &[Note], out: &mut Out) {
    show_diff(home, changes, out);
    say_notes(notes, out);
}

fn say_notes(notes: &[Note], out: &mut Out) {
    out.flush();
    for note in notes {
        say(&format!("rekindle: {note}"));
    }
}

/// Shows the changes as one diff, the settings last.
fn show_diff(home: Option<&Path>, changes: &[Change], out: &mut Out) {
    let colours = colour();
    let mut ordered: Vec<&Change> = changes.iter().collect();
    // What stands right above the question is what matters most.
    ordered.sort_by_key(|change| change.part == Part::Settings);
    for change in ordered {
        if change.part == Part::Completion {
            // Hundreds of lines that nobody reads; `rekindle completions` prints them for who does.
            let lines = change
                .after
                .as_ref()
                .or(change.before.as_ref())
                .map_or(0, |text| text.split(|byte| *byte == b'\n').count());
            out.line(&format!("{} {} ({lines} lines)", change.action(), short_path(home, &change.path)));
            continue;
        }
        for line in change.diff(&short_path(home, &change.path)).lines() {
            let code = match line.as_bytes().first() {
                Some(b'+') => "32",
                Some(b'-') => "31",
                Some(b'@') => "36",
                _ => "0",
            };
            out.exact_line(&paint(line, code, colours && code != "0"));
        }
    }
    out.flush();
}

pub(crate) fn changes_json(changes: &[Change]) -> Value {
    let one = |change: &Change| {
        let path = change.path.to_string_lossy();
        json!({ "path": path, "kind": change.part.word(), "action": change.action(), "diff": change.diff(&path) })
    };
    changes.iter().map(one).collect()
}

pub(crate) fn notes_json(notes: &[Note]) -> Value {
    notes.iter().map(|note| Value::from(note.to_string())).collect()
}

/// A plan that was not made: nothing is changed, in any file.
pub(crate) fn refuse(error: &PlanError) -> Failure {
    let (exit, hint) = match error {
        PlanError::Settings { .. } => (Exit::Refused, "mend it by hand and try again; no file was changed"),
        PlanError::ReadOnly { .. } => (Exit::Refused, "make it writable and try again; no file was changed"),
        PlanError::DanglingLink { .. } => (Exit::Refused, "mend the link and try again; no file was changed"),
        PlanError::Record(_) => (Exit::Refused, "update rekindle; no file was changed"),
        PlanError::Unreadable { source, .. } => {
            return Failure::new(Exit::Failed, format!("cannot {error}: {source}"))
                .hint("no file was changed");
        }
    };
    Failure::new(exit, format!("cannot {error}")).hint(hint)
}

/// A plan that was not finished.
pub(crate) fn fail(error: ApplyError) -> Failure {
    match error {
        ApplyError::Plan(error) => refuse(&error),
        ApplyError::Restless { .. } => {
            Failure::new(Exit::Refused, format!("cannot {error}")).hint("try again")
        }
        error => Failure::from(error),
    }
}
