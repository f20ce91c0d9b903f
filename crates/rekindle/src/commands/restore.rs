use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::{Duration, Instant};

use layouts::{Save, Taken};
use recovery::{
    Act, Asked, Continued, DecisionRecord, GoingOn, Match, Outcome, Plan, Restored, Selector, carried, plan,
};
use serde_json::{Value, json};
use sessions::Settled;
use store::record::SessionRecord;

use crate::commands::status::WAKE;
use crate::commands::trigger::Trigger;
use crate::context::{Context, pane_around};
use crate::exit::{Exit, Failure};
use crate::output::{Cell, Column, Consent, Fit, Out, Table, ago, agree, count, one_line, say};
use crate::restoring::{self, Done, Manner};

/// Bring back saved tmux sessions, each agent with its own conversation
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  rekindle restore --dry-run\n  rekindle restore --yes\n\nSessions that are there stay as they are: running it again does nothing. An\nagent comes back only into its own conversation, and says so itself; everything\nelse is explained."
)]
pub(crate) struct Args {
    /// Which save: its id or name; the current one by default
    #[arg(value_name = "SAVE")]
    save: Option<String>,
    /// Only this session, window or pane: `work`, `work:1`, `work:1.0`
    #[arg(long, value_name = "PLACE")]
    only: Vec<String>,
    /// Say what would be done, and do nothing
    #[arg(long)]
    dry_run: bool,
    /// Do not ask
    #[arg(long)]
    yes: bool,
    /// Let each pane show what it will resume, and resume it when it is looked at
    #[arg(long)]
    lazy: bool,
    /// Have agents go on at once: submit their prompt
    #[arg(long = "continue")]
    go_on: bool,
    /// Say what the last restore did, and do nothing
    #[arg(long, conflicts_with_all = ["save", "only", "dry_run", "yes", "lazy", "go_on"])]
    last: bool,
    /// Agents that start at once
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    max_parallel: Option<u32>,
    /// What asks for it
    #[arg(long, hide = true, value_enum, default_value_t = Trigger::Manual)]
    by: Trigger,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(context: &Context, args: &Args) -> Result<Exit, Failure> {
    if args.last {
        return last(context, args.json);
    }
    let begun = Instant::now();
    if args.by.stays(context)?.is_some() {
        return Ok(Exit::Done);
    }
    let mut alone = restoring::alone(context)?;
    let (mut settled, mut planned, mut save) = planned(context, args)?;
    if !args.dry_run && !planned.is_empty() && !args.yes && !args.by.is_automatic() {
        // Nobody knows how long the question stands: others may save and restore meanwhile, and what is done is planned anew.
        drop(alone);
        if !args.json {
            show_plan(&planned, &settled.records, false, false)?;
        }
        agree(&mut Out::new(), Consent::of(false, args.json), "Restore?")?;
        alone = restoring::alone(context)?;
        (settled, planned, save) = self::planned(context, args)?;
    }
    if args.dry_run {
        return show_plan(&planned, &settled.records, true, args.json);
    }
    if planned.is_empty() && args.by.is_automatic() {
        return Ok(Exit::Done);
    }
    if planned.is_empty() {
        return report(&unmoved(&planned), &planned, &settled.records, None, args.json);
    }
    let (lazy, save) = (args.lazy.then_some(true), save.id.as_deref());
    let go_on = args.go_on.then_some(GoingOn::All);
    let manner = Manner { max_parallel: args.max_parallel, lazy, briefing: None, go_on, save };
    let done = restoring::act(context, &settled, &planned, manner, args.by.word())?;
    drop(alone);
    if args.only.is_empty() {
        save_what_is_there(context, &planned, &done.panes, args.save.is_none());
    }
    let started = done.started.map(|at| at.duration_since(begun));
    report(&done, &planned, &settled.records, started, args.json)
}

/// Looks at everything, and makes the plan.
fn planned(context: &Context, args: &Args) -> Result<(Settled, Plan, Save), Failure> {
    let settled = restoring::settled(context)?;
    let save = super::saves::find(context, args.save.as_deref().unwrap_or("current"))?.1;
    let only = Selector::new(&args.only);
    if let Some(place) = only.unknown(&save) {
        return Err(Failure::new(Exit::Usage, format!("no saved pane is in {place}"))
            .hint("rekindle restore --dry-run lists what would be restored"));
    }
    let sockets: BTreeSet<_> = save.servers.iter().map(|server| server.tmux.socket.clone()).collect();
    let alive = restoring::look(&sockets, &settled)?;
    let ground = restoring::ground(context, &settled);
    let again = args.save.is_some() || !args.only.is_empty();
    let wanted = restoring::wanted(context, again, args.by.asked());
    let planned = plan(&save, &only, &alive, &ground, wanted);
    drop(ground);
    Ok((settled, planned, save))
}

/// What a restore of the current save would do now, for `explain`; nothing where there is none, or a server does not answer.
pub(super) fn plan_of_current(context: &Context, settled: &Settled) -> Option<Plan> {
    let save = super::saves::find(context, "current").ok()?.1;
    let sockets: BTreeSet<_> = save.servers.iter().map(|server| server.tmux.socket.clone()).collect();
    let alive = restoring::look(&sockets, settled).ok()?;
    let ground = restoring::ground(context, settled);
    Some(plan(
        &save,
        &Selector::new(&[]),
        &alive,
        &ground,
        restoring::wanted(context, false, Asked::ByItself),
    ))
}

/// What the last restore did.
fn last(context: &Context, as_json: bool) -> Result<Exit, Failure> {
    restoring::look_again(context);
    let newest = recovery::decisions(&context.repairer.state, context.reading_key().as_ref()).next();
    if let Some(record) = newest.filter(DecisionRecord::is_open) {
        return unfinished(context, &record, as_json);
    }
    let path = context.repairer.state.instances().join("restore/last-restore.json");
    let text = match store::files::read(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return Err(Failure::new(Exit::Failed, "nothing was restored yet"));
        }
        Err(error) => {
            return Err(Failure::new(Exit::Failed, format!("cannot read {}: {error}", path.display())));
        }
    };
    let report: Value = serde_json::from_slice(&text).map_err(|error| {
        Failure::new(Exit::Failed, format!("cannot understand {}: {error}", path.display()))
    })?;
    let mut out = Out::new();
    if as_json {
        out.json(report);
        return out.finish();
    }
    let mut table = outcomes("outcome");
    let mut waiting = false;
    for pane in report["panes"].as_array().into_iter().flatten() {
        let word = |key: &str| pane[key].as_str().unwrap_or_default().to_owned();
        let id = word("sessionId");
        let session = agents::SessionKey::parse(&id).map_or_else(|_| id.clone(), |key| key.short());
        waiting |= pane["outcome"] == json!(Outcome::Offered);
        let [name, task] = labels(recorded(context, &id).as_ref());
        let outcome = outcome_word(&pane["outcome"]);
        let why = with_move(&word("reason"), &word("pane"), &word("was"));
        table.row([word("pane").into(), session.into(), name, task, outcome.into(), why.into()]);
    }
    out.exact_line(&table.text());
    let at = report["at"].as_str().and_then(|at| at.parse().ok());
    let ago = at.map(|at| format!(", {}", ago(at))).unwrap_or_default();
    out.line(&format!("\nRestored {}/{}{ago}", report["restored"], report["total"]));
    if waiting {
        out.line(WAKE);
    }
    out.finish()
}

/// An outcome of a report as a person reads it; one of a newer program as it is.
fn outcome_word(outcome: &Value) -> String {
    let known = serde_json::from_value::<Outcome>(outcome.clone());
    let said = || outcome.as_str().unwrap_or_default().replace('_', " ");
    known.map_or_else(|_| said(), |outcome| outcome.word().to_owned())
}

/// What a restore did that has not come to its end: it runs, or it was interrupted.
fn unfinished(context: &Context, record: &DecisionRecord, as_json: bool) -> Result<Exit, Failure> {
    let runs = restoring::is_running(context);
    let (restored, total) = record.tally();
    let mut out = Out::new();
    if as_json {
        out.json(json!({"restoreId": record.restore_id, "at": record.at, "interrupted": !runs,
            "panes": restoring::panes_json(record), "restored": restored, "total": total}));
        return out.finish();
    }
    let mut table = outcomes("outcome");
    for pane in &record.panes {
        let session = pane.now_in.as_ref().or(pane.session_id.as_ref());
        let session = session.map(agents::SessionKey::short).unwrap_or_default();
        let place = pane.now_at.as_ref().unwrap_or(&pane.pane);
        let outcome = pane.outcome.as_ref().map_or_else(|| "not done".to_owned(), outcome_word);
        let reason = pane.outcome_reason.as_ref().unwrap_or(&pane.reason);
        let why = with_move(reason, place, &pane.pane);
        let known = pane
            .now_in
            .as_ref()
            .or(pane.session_id.as_ref())
            .and_then(|session| recorded(context, session.as_str()));
        let [name, task] = labels(known.as_ref());
        table.row([Cell::new(place), session.into(), name, task, outcome.into(), why.into()]);
    }
    out.exact_line(&table.text());
    let began = ago(record.at);
    if runs {
        out.line(&format!("\nA restore is running: {restored}/{total} agents are back, begun {began}"));
    } else {
        out.line(&format!(
            "\nThe last restore was interrupted: {restored}/{total} agents are back, begun {began}"
        ));
        out.hint("`rekindle restore` completes it.");
    }
    out.finish()
}

/// What a restore that has nothing to do says: who is still missing.
fn unmoved(planned: &Plan) -> Done {
    let panes: Vec<Restored> = planned.concerned().map(Restored::without_agent).collect();
    Done { total: panes.len(), panes, ..Done::default() }
}

/// From now on what is there counts, and of what was there before the crash only what could not be brought back. Where that
/// fails, the save before stays.
pub(super) fn save_what_is_there(context: &Context, planned: &Plan, done: &[Restored], of_current: bool) {
    let kept = context.config.save.scrollback_lines > 0;
    let texts = |taken: &Taken| carried(&context.repairer.state, planned, done, taken).filter(|_| kept);
    let made = done.iter().filter(|pane| pane.id.is_some()).map(|pane| pane.mark.clone());
    let found = planned.panes().filter(|step| step.seat != Match::New).map(|step| step.mark.clone());
    let there: BTreeSet<String> = made.chain(found).collect();
    if let Err(failure) = super::save::after_restore(context, of_current.then_some(&there), texts) {
        say(&format!("rekindle: nothing was saved after the restore: {}", failure.message()));
    }
}

fn show_plan(
    planned: &Plan,
    records: &BTreeMap<agents::SessionKey, SessionRecord>,
    dry_run: bool,
    as_json: bool,
) -> Result<Exit, Failure> {
    let mut out = Out::new();
    if as_json {
        let panes: Vec<_> = planned
            .concerned()
            .map(|pane| {
                json!({"pane": pane.reference, "sessionId": pane.session, "act": pane.decision.act,
                    "reason": pane.decision.reason, "argv": pane.words()})
            })
            .collect();
        out.json(json!({"dryRun": true, "panes": panes}));
        return out.finish();
    }
    if planned.concerned().next().is_none() {
        out.line(NOTHING_MISSING);
        return out.finish();
    }
    let mut table = outcomes("what");
    for pane in planned.concerned() {
        let session = pane.session.as_ref();
        let record = session.and_then(|session| records.get(session));
        let [name, task] = labels(record);
        table.row([
            Cell::new(&pane.reference),
            session.map(agents::SessionKey::short).unwrap_or_default().into(),
            name,
            task,
            word(pane.decision.act).into(),
            Cell::new(&pane.decision.reason),
        ]);
    }
    out.exact_line(&table.text());
    if dry_run && !planned.is_empty() {
        out.hint("Do it with `rekindle restore`.");
    }
    out.finish()
}

pub(super) fn word(act: Act) -> &'static str {
    match act {
        Act::Resume | Act::Begin => "resume",
        Act::RepairResume => "repair and resume",
        Act::VaultResume => "put back and resume",
        Act::Fresh => "start fresh",
        Act::Offer => "offer",
        Act::Refuse => "refuse",
        Act::Shell => "shell",
        Act::Nothing => "nothing",
    }
}

fn report(
    done: &Done,
    planned: &Plan,
    records: &BTreeMap<agents::SessionKey, SessionRecord>,
    started: Option<Duration>,
    as_json: bool,
) -> Result<Exit, Failure> {
    let panes = &done.panes;
    let mut out = Out::new();
    if as_json {
        let mut object = restoring::as_json(done);
        object["startedMs"] = json!(started.map(|took| u64::try_from(took.as_millis()).unwrap_or(u64::MAX)));
        out.json(object);
    } else if panes.is_empty() {
        out.line(NOTHING_MISSING);
    } else {
        let mut table = outcomes("outcome");
        for pane in panes {
            table.row(outcome_cells(pane, records));
        }
        out.exact_line(&table.text());
        done.missing.iter().for_each(|words| out.line(words));
        if planned.is_empty() {
            out.line("\nEverything else is there.");
        } else {
            let waiting = panes.iter().filter(|pane| pane.outcome == Outcome::Offered).count();
            let waiting_words = match waiting {
                0 => String::new(),
                1 => "; 1 waiting in its pane".to_owned(),
                several => format!("; {several} waiting in their panes"),
            };
            let number = count(panes.len() as u64, "pane", "panes");
            out.line(&format!(
                "\nRestored {}/{} agents in {number}{waiting_words}",
                done.restored, done.total
            ));
            if waiting > 0 {
                out.line(WAKE);
            }
            going_on(panes).iter().for_each(|line| out.line(line));
            if let Some(ways) = ways(panes, planned) {
                out.hint(&format!("Go there with {ways}."));
            }
            out.hint("Take it back with `rekindle undo`.");
        }
    }
    let exit = match exit(panes, planned.is_empty()) {
        Exit::Done if !done.missing.is_empty() => Exit::Partly,
        exit => exit,
    };
    out.finish_as(exit)
}

/// Who goes on, and who has a prompt ready.
pub(super) fn going_on(panes: &[Restored]) -> Vec<String> {
    let those = |how: Continued| panes.iter().filter(move |pane| pane.continued == Some(how));
    let mut lines = Vec::new();
    let (told, unsure) = (those(Continued::Submitted).count(), those(Continued::Unconfirmed).count());
    if told + unsure > 0 {
        let words =
            if unsure > 0 { format!(" ({unsure} not confirmed: look at the pane)") } else { String::new() };
        lines.push(format!(
            "{} told to go on{words}",
            count((told + unsure) as u64, "agent was", "agents were")
        ));
    }
    let ready: Vec<&str> = those(Continued::Ready).map(|pane| pane.pane.as_str()).collect();
    if !ready.is_empty() {
        lines.push(format!("A prompt to go on is ready: press Enter in {}", ready.join(", ")));
    }
    lines
}

const NOTHING_MISSING: &str = "Nothing to restore: everything is there.";

/// The commands that lead to what came back, one for each tmux session, each as code.
pub(super) fn ways(panes: &[Restored], planned: &Plan) -> Option<String> {
    let mut ways: Vec<String> = Vec::new();
    for server in &planned.servers {
        let back = panes.iter().filter(|pane| pane.id.is_some());
        for pane in back.filter(|pane| server.panes.iter().any(|step| step.mark == pane.mark)) {
            ways.extend(way(&pane.pane, &server.socket).filter(|way| !ways.contains(way)));
        }
    }
    let ways: Vec<String> = ways.iter().map(|way| format!("`{way}`")).collect();
    match ways.as_slice() {
        [] => None,
        [only] => Some(only.clone()),
        [first @ .., last] => Some(format!("{} or {last}", first.join(", "))),
    }
}

/// The command that leads to the session of a pane.
fn way(pane: &str, socket: &Path) -> Option<String> {
    let (name, place) = match pane.split_once("//") {
        Some((name, place)) => (Some(name), place),
        None => (None, pane),
    };
    let session = shell_words::quote(place.rsplit_once(':')?.0);
    if pane_around().is_some_and(|(around, _)| around == socket) {
        return Some(format!("tmux switch-client -t {session}"));
    }
    Some(match name {
        None => format!("tmux attach -t {session}"),
        Some(name) if name.contains('/') => {
            format!("tmux -S {} attach -t {session}", shell_words::quote(name))
        }
        Some(name) => format!("tmux -L {} attach -t {session}", shell_words::quote(name)),
    })
}

/// A table of panes with one word and a reason for each.
pub(super) fn panes_table(word: &'static str) -> Table {
    Table::new(&[
        Column::new("pane", Fit::Whole),
        Column::new("session", Fit::Whole),
        Column::new(word, Fit::Whole),
        Column::new("why", Fit::Wrap(24)),
    ])
}

/// A reason, with where the pane was before where it could not come back there. A window alone was planned, not saved.
fn with_move(reason: &str, pane: &str, was: &str) -> String {
    let was_saved = was.rsplit_once(':').is_some_and(|(_, place)| place.contains('.'));
    let moved = (pane != was && was_saved).then(|| format!("it was {was}"));
    let parts = [Some(reason.to_owned()).filter(|reason| !reason.is_empty()), moved];
    parts.into_iter().flatten().collect::<Vec<_>>().join("; ")
}

/// The table of what became of each pane, for `restore` and `recover`.
pub(super) fn outcomes(word: &'static str) -> Table {
    Table::new(&[
        Column::new("pane", Fit::Whole),
        Column::new("session", Fit::Whole),
        Column::new("name", Fit::CutThenDrop(10, 2)),
        Column::new("task", Fit::CutThenDrop(12, 1)),
        Column::new(word, Fit::Whole),
        Column::new("why", Fit::Wrap(24)),
    ])
}

/// What tells its user which session it is.
fn labels(record: Option<&SessionRecord>) -> [Cell; 2] {
    let name = record.and_then(|record| record.name.as_deref()).unwrap_or_default();
    let task = record.and_then(|record| record.task.as_deref()).unwrap_or_default();
    [one_line(name, 30).into(), one_line(task, 50).into()]
}

/// The record of a session that a report names.
fn recorded(context: &Context, session: &str) -> Option<SessionRecord> {
    let key = agents::SessionKey::parse(session).ok()?;
    Some(store::record::load(&context.repairer.state, None, &key).ok()??.record)
}

pub(super) fn outcome_cells(
    pane: &Restored,
    records: &BTreeMap<agents::SessionKey, SessionRecord>,
) -> [Cell; 6] {
    let session = pane.session_id.as_ref();
    let [name, task] = labels(session.and_then(|session| records.get(session)));
    [
        Cell::new(&pane.pane),
        session.map(|session| session.short()).unwrap_or_default().into(),
        name,
        task,
        pane.outcome.word().into(),
        with_move(&pane.reason, &pane.pane, &pane.was).into(),
    ]
}

/// Whoever is refused has not come back: a script that goes on as if everybody had would be wrong.
fn exit(panes: &[Restored], nothing_done: bool) -> Exit {
    let any = |outcome: Outcome| panes.iter().any(|pane| pane.outcome == outcome);
    match (any(Outcome::Failed) || any(Outcome::Unverified), any(Outcome::Refused)) {
        (false, false) => Exit::Done,
        (false, true) if nothing_done => Exit::Refused,
        _ => Exit::Partly,
    }
}
