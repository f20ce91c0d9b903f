use std::path::{Path, PathBuf};

use agents::claude::MANAGED_SETTINGS;
use doctor::facts::ConfigFacts;
use doctor::{Facts, Finding, Level, Places, Remedy, Totals, examine, gather};
use integrate::Program;
use integrate::init::{Adopt, Plan, Request};
use integrate::settings::StatusLineChoice;
use jiff::Timestamp;
use repair::Paths;
use serde_json::{Value, json};
use store::config::Config;

use super::init::{changes_json, fail, program, show as show_changes, sites};
use super::settle;
use crate::context::{Context, refuge, short_path};
use crate::exit::{Exit, Failure};
use crate::output::{Consent, Out, agree, colour, count, paint, say, wrap};

/// Check that everything works: what is wrong, why it matters, how to fix it
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  rekindle doctor\n  rekindle doctor --fix --dry-run\n\nLooking changes nothing. Every finding is explained in docs/doctor.md."
)]
pub(crate) struct Args {
    /// Put right what is rekindle's own, after showing every change
    #[arg(long)]
    fix: bool,
    /// Do not ask
    #[arg(long, requires = "fix")]
    yes: bool,
    /// Show what would be put right, and change nothing
    #[arg(long, requires = "fix")]
    dry_run: bool,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// Something that was put right, and how that is taken back.
struct Done {
    what: String,
    undo: String,
}

/// What `--fix` did.
#[derive(Default)]
struct Fixed {
    done: Vec<Done>,
    changes: Option<Value>,
    failures: Vec<String>,
}

pub(crate) fn run(args: &Args) -> Result<Exit, Failure> {
    let (around, home) = Context::paths()?;
    let places = places(&around, home.clone())?;
    let mut facts = gather(&places);
    let mut out = Out::new();
    let mut fixed = Fixed::default();
    if args.fix {
        fixed = fix(&places, &facts, args, &mut out)?;
        if !args.dry_run {
            facts = gather(&self::places(&around, home.clone())?);
        }
    }
    let findings = examine(&facts);
    let totals = Totals::of(&findings);
    if args.json {
        let mut object = json!({ "findings": findings, "totals": totals });
        if args.fix {
            let done = |done: &Done| json!({ "what": done.what, "undo": done.undo });
            object["dryRun"] = args.dry_run.into();
            object["fixed"] = fixed.done.iter().map(done).collect();
            object["changes"] = fixed.changes.unwrap_or_else(|| json!([]));
            object["failures"] = fixed.failures.clone().into();
        }
        out.json(object);
    } else {
        show_fixed(&fixed, args.dry_run, &mut out);
        show(&findings, totals, home.as_deref(), args.fix, &mut out);
    }
    let well = totals.problems == 0 && fixed.failures.is_empty();
    out.finish_as(if well { Exit::Done } else { Exit::Failed })
}

/// Where to look. Nothing is opened or made: what cannot be used is a finding and no failure.
fn places(around: &Paths, home: Option<PathBuf>) -> Result<Places, Failure> {
    let (config, error) = match around.config() {
        Ok(config) => (config, None),
        Err(error) => (Config::default(), Some(Failure::from(error).message().to_owned())),
    };
    let template =
        crate::briefing::template(&config, around).err().map(|failure| failure.message().to_owned());
    let path = Context::search_path();
    let base = home.clone().unwrap_or_default();
    let program_file = std::env::current_exe().ok();
    // A program that no settings could name still knows its own hooks by their shape.
    let program = match program(&path) {
        Ok(program) => program,
        Err(_) => Program::new(Path::new("/rekindle"))?,
    };
    Ok(Places {
        now: Timestamp::now(),
        sites: sites(&around.configs(&config), &base, &path, &around.state),
        path,
        state: around.state.clone(),
        machine_key: around.machine_key.clone(),
        refuge: refuge(&around.state),
        program,
        program_file,
        version: env!("CARGO_PKG_VERSION"),
        tmux_base: Context::place("TMUX_TMPDIR").unwrap_or_else(|| "/tmp".into()),
        variables: std::env::vars_os().filter_map(|(name, _)| name.into_string().ok()).collect(),
        managed: MANAGED_SETTINGS.into(),
        config: ConfigFacts { path: around.config.clone(), error, unknown: config.unknown, template },
        home,
    })
}

/// Shows, asks and does what is ours to do.
fn fix(places: &Places, facts: &Facts, args: &Args, out: &mut Out) -> Result<Fixed, Failure> {
    let remedy = Remedy::of(facts);
    let mut fixed = Fixed::default();
    let mut plan = None;
    if remedy.wires() {
        match rewiring(places, &remedy) {
            Ok(made) => plan = Some(made),
            Err(failure) => fixed.failures.push(failure.message().to_owned()),
        }
    }
    if let Some(plan) = &plan {
        let changes = plan.changes();
        fixed.changes = Some(changes_json(&changes));
        if !args.json {
            show_changes(places.home.as_deref(), &changes, &[], out);
        }
        if !args.dry_run && !changes.is_empty() {
            agree(out, Consent::of(args.yes, args.json), "Make these changes?")?;
        }
    }
    if let Some(mut plan) = plan {
        let what = plan
            .changes()
            .iter()
            .map(|change| short_path(places.home.as_deref(), &change.path))
            .collect::<Vec<_>>();
        let done =
            if args.dry_run { Ok(()) } else { integrate::apply(&mut plan, Timestamp::now()).map_err(fail) };
        let undo = format!(
            "rekindle uninstall takes all of the wiring out; what was there is in {}",
            places.state.join("wiring/backups").display()
        );
        fixed.note(done, format!("wired anew: {}", what.join(", ")), undo);
    }
    for mode in &remedy.modes {
        let done = if args.dry_run { Ok(()) } else { mode.apply().map_err(Failure::from) };
        let path = mode.path.display();
        let what = format!("closed {path} (mode {:04o}, was {:04o})", mode.to, mode.from);
        fixed.note(done, what, format!("chmod {:04o} {path}", mode.from));
    }
    if remedy.settle {
        let done = if args.dry_run {
            Ok(())
        } else {
            Context::load().and_then(|context| settle::settle_all(&context).map(drop))
        };
        let undo = "nothing to undo: what agents said stays in the spool".to_owned();
        fixed.note(done, "settled what was waiting".to_owned(), undo);
    }
    Ok(fixed)
}

impl Fixed {
    fn note(&mut self, done: Result<(), Failure>, what: String, undo: String) {
        match done {
            Ok(()) => self.done.push(Done { what, undo }),
            Err(failure) => self.failures.push(failure.message().to_owned()),
        }
    }
}

/// The plan that puts hooks and links right, and touches neither status lines of others nor files that are not there.
fn rewiring(places: &Places, remedy: &Remedy) -> Result<Plan, Failure> {
    let main = places.home.as_ref().map(|home| home.join(".claude"));
    let wanted = |site: &&integrate::init::Site| remedy.sites.iter().any(|path| path == site.config.path());
    let request = Request {
        state_dir: places.state.clone(),
        program: program(&places.path)?,
        sites: places.sites.iter().filter(wanted).cloned().collect(),
        status_line: StatusLineChoice::Skip,
        texts: false,
        completions: Vec::new(),
        tmux: None,
        config: None,
        links: main.filter(|_| remedy.links).map(|main| (main, Adopt::No)),
    };
    integrate::init::plan(&request).map_err(|error| super::init::refuse(&error))
}

const WIDTH: usize = 80;

fn show_fixed(fixed: &Fixed, dry_run: bool, out: &mut Out) {
    let verb = if dry_run { "would do" } else { "done" };
    for done in &fixed.done {
        block(out, &format!("{verb}: {}", done.what), "", &[("undo", &done.undo)]);
    }
    if !fixed.done.is_empty() {
        out.line("");
    }
    out.flush();
    for failure in &fixed.failures {
        say(&format!("rekindle: {failure}"));
    }
}

fn show(findings: &[Finding], totals: Totals, home: Option<&Path>, fixing: bool, out: &mut Out) {
    let colours = colour();
    let short = |text: &str| match home.and_then(Path::to_str).filter(|home| home.len() > 1) {
        Some(home) => text.replace(&format!("{home}/"), "~/"),
        None => text.to_owned(),
    };
    let (well, told): (Vec<&Finding>, Vec<&Finding>) =
        findings.iter().partition(|finding| finding.level == Level::Ok);
    for finding in told {
        let (mark, code) = match finding.level {
            Level::Problem => ("✗ ", "31"),
            Level::Warning => ("! ", "33"),
            Level::Note | Level::Ok => ("· ", "36"),
        };
        let (why, fix) = (short(&finding.why), short(&finding.fix));
        block(out, &short(&finding.what), &paint(mark, code, colours), &[("why", &why), ("fix", &fix)]);
        out.line("");
    }
    for finding in well {
        block(out, &short(&finding.what), &paint("✓ ", "32", colours), &[]);
    }
    let mut words = Vec::new();
    for (number, one, many) in [
        (totals.problems, "problem", "problems"),
        (totals.warnings, "warning", "warnings"),
        (totals.notes, "note", "notes"),
    ] {
        if number > 0 {
            words.push(count(number as u64, one, many));
        }
    }
    let mut line = if words.is_empty() { "all is well".to_owned() } else { words.join(", ") };
    if totals.fixable > 0 && !fixing {
        line.push_str(&format!("; rekindle doctor --fix puts {} right", totals.fixable));
    }
    out.line(&line);
}

/// A sentence behind a mark of two columns, and what belongs to it below.
fn block(out: &mut Out, what: &str, mark: &str, more: &[(&str, &str)]) {
    let indent = if mark.is_empty() { "" } else { "  " };
    for (number, line) in wrap(what, WIDTH - indent.len()).iter().enumerate() {
        out.line(&format!("{}{line}", if number == 0 { mark } else { indent }));
    }
    for (name, text) in more {
        let margin = "  ".len() + name.len() + 2;
        for (number, line) in wrap(text, WIDTH - margin).iter().enumerate() {
            let name = if number == 0 { format!("  {name}: ") } else { " ".repeat(margin) };
            out.line(&format!("{name}{line}"));
        }
    }
}
