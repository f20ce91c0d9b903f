use std::io::ErrorKind;
use std::path::Path;

use jiff::Timestamp;
use repair::{ScanAll, SessionScan, TargetError};
use serde::Serialize;
use serde_json::Value;
use transcript::{Finding, Status};

use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::label::Label;
use crate::output::{Bar, Cell, Colour, Column, Fit, Out, SCHEMA_VERSION, Table, age, bytes, count, say};

/// Check conversations for damage, without changing anything
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  rekindle scan --all\n  rekindle scan 1a2b3c4d --json")]
pub(crate) struct Args {
    /// A session's id or its beginning, a pane, a name, a directory, or a transcript's path
    #[arg(value_name = "TARGET", conflicts_with = "all")]
    target: Option<String>,
    /// Check every conversation (also what happens without a target)
    #[arg(long)]
    all: bool,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(context: &Context, args: &Args) -> Result<Exit, Failure> {
    crate::kept::look_again(context);
    let mut out = Out::new();
    match &args.target {
        Some(text) if args.json && is_missing(context, text) => {
            out.serialized(&missing(text));
            return out.finish_as(Exit::Failed);
        }
        Some(text) => {
            let scan = context.repairer.scan_one(&context.target(text)?)?;
            if args.json {
                out.serialized(&report(std::slice::from_ref(&scan), None));
            } else {
                details(context, &scan, &mut out);
            }
        }
        None => {
            let all = scan_all(context)?;
            if args.json {
                out.serialized(&report(&all.sessions, None));
            } else {
                summary(context, &all, &mut out);
            }
        }
    }
    out.finish()
}

/// Whether this is the path of a transcript that is not there, and that the vault does not have.
fn is_missing(context: &Context, text: &str) -> bool {
    let target = context.repairer.target(text);
    matches!(target, Err(TargetError::Unreadable { source, .. }) if source.kind() == ErrorKind::NotFound)
}

/// The verdict on a transcript that is not there.
fn missing(text: &str) -> Report<'_> {
    let path = Path::new(text);
    let session = SessionJson {
        session_id: path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default(),
        file_path: path,
        status: Status::Missing,
        live: false,
        chain_depth: 0,
        orphan_count: 0,
        message_count: 0,
        file_size: 0,
        findings: &[],
        forks: transcript::Forks::default(),
        loses: transcript::Loss::default(),
        missing: None,
    };
    let totals = Totals { sessions: 1, missing: 1, ..Totals::default() };
    Report { schema_version: SCHEMA_VERSION, sessions: vec![session], totals, vault: None }
}

/// Scans everything, with a bar where it takes long.
pub(crate) fn scan_all(context: &Context) -> Result<ScanAll, Failure> {
    let bar = Bar::new("checking");
    let all = context.repairer.scan_all(|done, total| bar.at(done, total))?;
    drop(bar);
    for path in &all.unreadable {
        say(&format!("rekindle: {} cannot be listed", path.display()));
    }
    for trouble in &all.troubles {
        say(&format!("rekindle: {}: cannot {}", trouble.path.display(), trouble.kind));
    }
    Ok(all)
}

/// The table of what is broken, and the totals.
pub(crate) fn summary(context: &Context, all: &ScanAll, out: &mut Out) {
    let now = Timestamp::now();
    let broken: Vec<&SessionScan> =
        all.sessions.iter().filter(|scan| !matches!(scan.status, Status::Healthy | Status::Empty)).collect();
    if !broken.is_empty() {
        let mut table = Table::new(&[
            Column::new("session", Fit::Whole),
            Column::new("status", Fit::Whole),
            Column::right("age", Fit::Drop(4)),
            Column::new("a resume loses", Fit::Wrap(14)),
            Column::new("why", Fit::CutThenDrop(6, 1)),
            Column::new("directory", Fit::CutPathThenDrop(8, 2)),
            Column::new("last prompt", Fit::CutThenDrop(12, 3)),
        ]);
        for scan in &broken {
            let label = Label::of(context, &scan.session, &scan.path);
            table.row([
                context.short_at(&scan.session, &scan.path).into(),
                Cell::painted(status_word(scan), Some(status_colour(scan.status))),
                changed(&scan.path, now).into(),
                losses(scan).into(),
                classes(&scan.findings).into(),
                label.directory.into(),
                label.prompt.into(),
            ]);
        }
        out.exact_line(&table.text());
        out.line("");
    }
    out.line(&totals_line(&all.sessions));
    for scan in &all.sessions {
        if let Some(missing) = &scan.missing {
            out.line(&format!("{}  {missing}", context.short_at(&scan.session, &scan.path)));
        }
    }
    let of = |status: Status| broken.iter().filter(move |scan| scan.status == status);
    if of(Status::Corrupted).any(|scan| !scan.live) {
        out.hint("`rekindle repair --all` mends corrupted ones; `rekindle scan ID` explains one.");
    }
    if let Some(live) = of(Status::Corrupted).find(|scan| scan.live) {
        let id = context.short_at(&live.session, &live.path);
        out.hint(&format!("The agent of {id} runs: end it, then mend it with `rekindle repair {id}`."));
    }
    if let Some(missing) = of(Status::Missing).next() {
        let id = context.short_at(&missing.session, &missing.path);
        out.hint(&format!("`rekindle repair {id}` puts a missing one back from the vault."));
    }
}

/// How long ago a transcript was written.
fn changed(path: &Path, now: Timestamp) -> String {
    let written = std::fs::metadata(path).and_then(|meta| meta.modified()).ok();
    let written = written.and_then(|written| Timestamp::try_from(written).ok());
    written.map(|written| age(written, now)).unwrap_or_default()
}

fn status_word(scan: &SessionScan) -> String {
    let live = if scan.live { " (live)" } else { "" };
    format!("{}{live}", scan.status.word())
}

fn status_colour(status: Status) -> Colour {
    match status {
        Status::Healthy | Status::Empty => Colour::Green,
        Status::Corrupted | Status::Missing => Colour::Yellow,
        Status::Unrecoverable | Status::Unreadable => Colour::Red,
    }
}

/// What a resume would lose, in a few words.
fn losses(scan: &SessionScan) -> String {
    let lost = scan.loss.older.max(scan.loss.newer);
    if lost > 0 {
        return format!("{lost} of {}", count(scan.loss.prompts, "prompt", "prompts"));
    }
    let worst = scan.findings.iter().map(|finding| finding.loses.as_str());
    let worst = worst.filter(|loses| !loses.starts_with("no")).max_by_key(|loses| rank(loses));
    match worst {
        Some(loses) => loses.split(':').next().unwrap_or(loses).to_owned(),
        None if matches!(scan.status, Status::Unreadable | Status::Unrecoverable) => "everything".to_owned(),
        None => "nothing yet".to_owned(),
    }
}

fn rank(loses: &str) -> usize {
    ["the whole", "every further turn", "the end", "the rows"]
        .iter()
        .rev()
        .position(|start| loses.starts_with(start))
        .map_or(0, |at| at + 1)
}

fn classes(findings: &[Finding]) -> String {
    let parts = findings.iter().map(|finding| match finding.count {
        0 | 1 => finding.class.id().to_owned(),
        more => format!("{}×{more}", finding.class.id()),
    });
    parts.collect::<Vec<_>>().join(" ")
}

/// `312 sessions: 300 healthy, 12 corrupted; 2 live; 602 MB`.
pub(crate) fn totals_line(sessions: &[SessionScan]) -> String {
    let words = [
        (Status::Healthy, "healthy"),
        (Status::Corrupted, "corrupted"),
        (Status::Missing, "missing"),
        (Status::Unreadable, "unreadable"),
        (Status::Unrecoverable, "unrecoverable"),
        (Status::Empty, "empty (nothing was ever said in them)"),
    ];
    let parts = words.iter().filter_map(|(status, word)| {
        let number = sessions.iter().filter(|scan| scan.status == *status).count();
        (number > 0).then(|| format!("{number} {word}"))
    });
    let live = sessions.iter().filter(|scan| scan.live).count();
    let size: u64 = sessions.iter().map(|scan| scan.file_size).sum();
    let mut line = count(sessions.len() as u64, "session", "sessions");
    let parts: Vec<String> = parts.collect();
    if !parts.is_empty() {
        line = format!("{line}: {}", parts.join(", "));
    }
    if live > 0 {
        line = format!("{line}; {live} live");
    }
    format!("{line}; {}", bytes(size))
}

/// Everything about one conversation.
fn details(context: &Context, scan: &SessionScan, out: &mut Out) {
    out.line(&format!("{}  {}", scan.session, status_colour(scan.status).paint(&status_word(scan))));
    if !scan.path.as_os_str().is_empty() {
        out.line(&format!("  {}", context.short_path(&scan.path)));
    }
    out.line(&format!(
        "  {}, {} on the chain, {}, {}",
        count(scan.message_count, "message", "messages"),
        scan.chain_depth,
        count(scan.orphan_count, "orphan", "orphans"),
        bytes(scan.file_size),
    ));
    if let Some(missing) = &scan.missing {
        out.line(&format!("  {missing}"));
    }
    if !scan.findings.is_empty() {
        out.line("");
        let mut table = Table::new(&[
            Column::new("class", Fit::Whole),
            Column::new("rows", Fit::Whole),
            Column::new("what", Fit::Wrap(16)),
            Column::new("a resume loses", Fit::Wrap(14)),
            Column::new("repair", Fit::Wrap(16)),
        ]);
        for finding in &scan.findings {
            table.row([
                finding.class.id().into(),
                rows(finding).into(),
                finding.class.title().into(),
                Cell::new(&finding.loses),
                Cell::new(&finding.repair),
            ]);
        }
        out.exact_line(&table.text());
    }
    if scan.status == Status::Empty {
        out.line("  nothing was ever said in it");
    }
    let id = context.short_at(&scan.session, &scan.path);
    match scan.status {
        Status::Corrupted if scan.live => {
            out.hint(&format!("Its agent runs: end it, then mend it with `rekindle repair {id}`."));
        }
        Status::Corrupted => out.hint(&format!("Mend it with `rekindle repair {id}`.")),
        Status::Missing => out.hint(&format!("Put it back with `rekindle repair {id}`.")),
        _ => {}
    }
}

fn rows(finding: &Finding) -> String {
    let shown: Vec<String> = finding.rows.iter().take(3).map(ToString::to_string).collect();
    let more = finding.count.saturating_sub(shown.len() as u64);
    match (shown.is_empty(), more) {
        (true, _) => "-".to_owned(),
        (_, 0) => shown.join(", "),
        (_, more) => format!("{} +{more}", shown.join(", ")),
    }
}

/// The JSON of some scans, as docs/contracts.md has it. Written straight from the scans: ten thousand of them as
/// values of their own would take longer than the scan.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Report<'a> {
    schema_version: u64,
    sessions: Vec<SessionJson<'a>>,
    totals: Totals,
    #[serde(skip_serializing_if = "Option::is_none")]
    vault: Option<Value>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SessionJson<'a> {
    session_id: &'a str,
    file_path: &'a Path,
    status: Status,
    live: bool,
    chain_depth: u64,
    orphan_count: u64,
    message_count: u64,
    file_size: u64,
    findings: &'a [Finding],
    forks: transcript::Forks,
    loses: transcript::Loss,
    missing: Option<&'a str>,
}

#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct Totals {
    sessions: usize,
    healthy: usize,
    corrupted: usize,
    empty: usize,
    unrecoverable: usize,
    missing: usize,
    unreadable: usize,
    live: usize,
    file_size: u64,
}

pub(crate) fn report(sessions: &[SessionScan], vault: Option<Value>) -> Report<'_> {
    let number = |status: Status| sessions.iter().filter(|scan| scan.status == status).count();
    let totals = Totals {
        sessions: sessions.len(),
        healthy: number(Status::Healthy),
        corrupted: number(Status::Corrupted),
        empty: number(Status::Empty),
        unrecoverable: number(Status::Unrecoverable),
        missing: number(Status::Missing),
        unreadable: number(Status::Unreadable),
        live: sessions.iter().filter(|scan| scan.live).count(),
        file_size: sessions.iter().map(|scan| scan.file_size).sum(),
    };
    let sessions = sessions.iter().map(session_json).collect();
    Report { schema_version: SCHEMA_VERSION, sessions, totals, vault }
}

fn session_json(scan: &SessionScan) -> SessionJson<'_> {
    SessionJson {
        session_id: scan.session.as_str(),
        file_path: &scan.path,
        status: scan.status,
        live: scan.live,
        chain_depth: scan.chain_depth,
        orphan_count: scan.orphan_count,
        message_count: scan.message_count,
        file_size: scan.file_size,
        findings: &scan.findings,
        forks: scan.forks,
        loses: scan.loss,
        missing: scan.missing.as_deref(),
    }
}
