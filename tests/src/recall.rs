//! The runner: every case on every version of the agent, before a repair and after it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use anyhow::{Context, Result, bail};
use serde::Serialize;
use serde_json::Value;
use uuid::Uuid;

use crate::base::Base;
use crate::cases::{Before, Case, Damage, Place};
use crate::conversation::{Lab, Story};
use crate::process;

/// A repair of eight turns takes milliseconds; a vault sync of a home full of cases some more.
const REPAIR_DEADLINE: Duration = Duration::from_secs(120);

/// What to run.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The versions of the agent.
    pub versions: Vec<String>,
    /// The cases.
    pub cases: Vec<Case>,
    /// The program that repairs; without it only the damage is judged.
    pub rekindle: Option<PathBuf>,
    /// Whether to judge the damage without a repair, too.
    pub before: bool,
    /// How many agents run at once.
    pub jobs: usize,
    /// Whether cases that name a version run on that one alone.
    pub sample: bool,
}

/// What a resume got back of one case.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Verdict {
    /// Everything it must.
    Whole,
    /// Less, or more than it should, or the repair did what it must not.
    Short(String),
}

/// One case on one version.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Record {
    /// The agent's version.
    pub agent: String,
    /// The case.
    pub case: &'static str,
    /// Whether the case is a healthy conversation that must stay as it is.
    pub unchanged: bool,
    /// The classes it stands for.
    pub classes: Vec<&'static str>,
    /// The classes that `rekindle scan` named before the repair.
    pub found: Vec<String>,
    /// Without a repair.
    pub before: Option<Verdict>,
    /// After the repair.
    pub after: Option<Verdict>,
}

impl Record {
    /// The verdict that counts: after the repair where there was one.
    pub fn verdict(&self) -> Option<&Verdict> {
        self.after.as_ref().or(self.before.as_ref())
    }
}

/// Runs the plan; `tell` hears of each record as it is there. The records come in the order of the plan.
pub fn run(plan: &Plan, tell: impl Fn(&Record) + Sync) -> Result<Vec<Record>> {
    let labs: Vec<Lab> = plan.versions.iter().map(|version| Lab::new(version)).collect::<Result<_>>()?;
    let stories: BTreeSet<Story> = plan.cases.iter().map(|case| case.story).collect();
    let stories: Vec<Story> = stories.into_iter().collect();
    let held = cross(&labs, &stories);
    let bases = parallel(plan.jobs, &held, |(lab, story)| lab.converse(**story))?;
    let bases: BTreeMap<(&str, Story), &String> = held
        .iter()
        .zip(&bases)
        .map(|((lab, story), session)| ((lab.agent.version.as_str(), **story), session))
        .collect();
    let mut work = cross(&labs, &plan.cases);
    work.retain(|(lab, case)| {
        !plan.sample || case.sample.is_none_or(|version| version == lab.agent.version.as_str())
    });
    parallel(plan.jobs, &work, |(lab, case)| {
        let base = bases.get(&(lab.agent.version.as_str(), case.story)).context("no base conversation")?;
        let record = judge(plan, lab, case, base)
            .with_context(|| format!("case {} on agent {}", case.name, lab.agent.version))?;
        tell(&record);
        Ok(record)
    })
}

fn cross<'a, T>(labs: &'a [Lab], items: &'a [T]) -> Vec<(&'a Lab, &'a T)> {
    labs.iter().flat_map(|lab| items.iter().map(move |item| (lab, item))).collect()
}

/// Maps over items on a few threads; results come in the items' order, an error after the others are done.
fn parallel<T: Sync, R: Send>(
    jobs: usize,
    items: &[T],
    work: impl Fn(&T) -> Result<R> + Sync,
) -> Result<Vec<R>> {
    let next = AtomicUsize::new(0);
    let done: Mutex<BTreeMap<usize, Result<R>>> = Mutex::default();
    std::thread::scope(|scope| {
        for _ in 0..jobs.max(1) {
            scope.spawn(|| {
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let Some(item) = items.get(at) else { break };
                    let result = work(item);
                    done.lock().unwrap_or_else(PoisonError::into_inner).insert(at, result);
                }
            });
        }
    });
    done.into_inner().unwrap_or_else(PoisonError::into_inner).into_values().collect()
}

fn judge(plan: &Plan, lab: &Lab, case: &Case, base: &str) -> Result<Record> {
    let mut record = Record {
        agent: lab.agent.version.clone(),
        case: case.name,
        unchanged: case.unchanged,
        classes: case.classes.iter().map(|class| class.id()).collect(),
        found: Vec::new(),
        before: None,
        after: None,
    };
    if plan.before || plan.rekindle.is_none() {
        let damaged = damage(lab, case, base, None)?;
        record.before = Some(resume(lab, case, &damaged.session, &lab.home.project())?);
    }
    if let Some(rekindle) = &plan.rekindle {
        let damaged = damage(lab, case, base, Some(rekindle))?;
        record.found = scan(lab, &damaged.session, rekindle)?;
        record.after = Some(after(lab, case, &damaged, rekindle)?);
    }
    Ok(record)
}

fn after(lab: &Lab, case: &Case, damaged: &Damaged, rekindle: &Path) -> Result<Verdict> {
    let bytes = fs::read(&damaged.file).ok();
    let resumed = match repair(lab, &damaged.session, rekindle) {
        Ok(resumed) => resumed,
        Err(error) => return Ok(Verdict::Short(format!("{error:#}"))),
    };
    if case.unchanged && bytes != fs::read(&damaged.file).ok() {
        return Ok(Verdict::Short("the repair changed a transcript that is well".to_owned()));
    }
    let repaired = fs::read(&damaged.file).ok();
    let again = repair(lab, &damaged.session, rekindle);
    if again.is_err() || repaired != fs::read(&damaged.file).ok() {
        return Ok(Verdict::Short("a second repair changed it again".to_owned()));
    }
    let length = |path: &Path| fs::metadata(path).map_or(0, |data| data.len());
    if case.shrinks && 2 * length(&damaged.file) > bytes.map_or(0, |bytes| bytes.len() as u64) {
        return Ok(Verdict::Short("the repair left the bloat".to_owned()));
    }
    let file = damaged.file.with_file_name(format!("{resumed}.jsonl"));
    if let Some(why) = fs::read(file).ok().filter(|_| !case.unchanged).and_then(|bytes| unsound(&bytes)) {
        return Ok(Verdict::Short(format!("the repair left {why}")));
    }
    let folder = match case.recreate {
        Some(name) => lab.home.root().join(name),
        None => lab.home.project(),
    };
    fs::create_dir_all(&folder)?;
    resume(lab, case, &resumed, &folder)
}

/// What of a repaired file is not whole rows. The newest agents forgive much of it, the next append does not.
fn unsound(bytes: &[u8]) -> Option<String> {
    if bytes.last() != Some(&b'\n') {
        return Some("a last row without its end".to_owned());
    }
    let lines = bytes.split(|byte| *byte == b'\n').enumerate().filter(|(_, line)| !line.is_empty());
    let mut broken = lines.filter(|(_, line)| serde_json::from_slice::<serde::de::IgnoredAny>(line).is_err());
    broken.next().map(|(at, _)| format!("line {}, which is no row", at + 1))
}

fn resume(lab: &Lab, case: &Case, session: &str, folder: &Path) -> Result<Verdict> {
    let got = lab.recall_in(session, folder)?;
    if let Some(why) = case.judge(&got) {
        return Ok(Verdict::Short(why));
    }
    if case.goes_on {
        let again = lab.recall_in(session, folder)?;
        if let Some(why) = case.judge(&again) {
            return Ok(Verdict::Short(format!("one turn later: {why}")));
        }
        if !again.text.contains(&got.probe) {
            return Ok(Verdict::Short("the turn after it was lost".to_owned()));
        }
    }
    Ok(Verdict::Whole)
}

/// A damaged copy of a conversation.
struct Damaged {
    session: String,
    file: PathBuf,
}

/// Copies the base conversation under a new id and damages the copy; with a program, the vault may see it before.
fn damage(lab: &Lab, case: &Case, base: &str, rekindle: Option<&Path>) -> Result<Damaged> {
    let original = fs::read(lab.home.transcript(base)).context("the base conversation has no transcript")?;
    let session = Uuid::new_v4().to_string();
    let file = lab.home.transcript(&session);
    let mut rows = Base::read(&original, &session)?.spread_out()?;
    fs::write(&file, rows.bytes())?;
    if let (Before::Synced, Some(rekindle)) = (case.before, rekindle) {
        neighbours(lab, &original)?;
        let mut sync = rekindle_command(lab, &session, rekindle);
        let done = process::run(sync.args(["vault", "sync"]), REPAIR_DEADLINE)?;
        if !done.success() {
            bail!("vault sync failed: {}", done.words());
        }
    }
    let file = match case.damage {
        Damage::Rows(make) => {
            make(&mut rows)?;
            fs::write(&file, rows.bytes())?;
            file
        }
        Damage::Bytes(make) => {
            let bytes = make(&mut rows)?;
            fs::write(&file, bytes)?;
            file
        }
        Damage::Place(make) => make(&Place { home: &lab.home, session: &session, file })?,
    };
    // It broke an hour ago. Other cases run their agents in the same project at this moment, and a file that changed
    // since an agent of its directory started may well be that agent's.
    if let Ok(opened) = fs::File::options().append(true).open(&file) {
        opened.set_modified(SystemTime::now() - Duration::from_secs(3600))?;
    }
    Ok(Damaged { session, file })
}

/// Other conversations beside it: one that vanishes must not be a fifth of all, which would mean a lost disk.
fn neighbours(lab: &Lab, original: &[u8]) -> Result<()> {
    for _ in 0..9 {
        let session = Uuid::new_v4().to_string();
        fs::write(lab.home.transcript(&session), Base::read(original, &session)?.spread_out()?.bytes())?;
    }
    Ok(())
}

/// Each case has a state of its own, so that cases can run side by side.
fn rekindle_command(lab: &Lab, session: &str, rekindle: &Path) -> std::process::Command {
    let mut command = lab.home.command(rekindle);
    command.env("CLAUDE_CONFIG_DIR", lab.home.config());
    command.env("REKINDLE_STATE_DIR", lab.home.state().join(session));
    command
}

/// The classes of damage that a scan names; none where it says nothing that can be read.
fn scan(lab: &Lab, session: &str, rekindle: &Path) -> Result<Vec<String>> {
    let mut command = rekindle_command(lab, session, rekindle);
    let done = process::run(command.args(["scan", session, "--json"]), REPAIR_DEADLINE)?;
    let said: Value =
        serde_json::from_str(done.stdout.trim().lines().last().unwrap_or_default()).unwrap_or_default();
    let findings = said["sessions"]
        .as_array()
        .into_iter()
        .flatten()
        .flat_map(|s| s["findings"].as_array().into_iter().flatten());
    Ok(findings.filter_map(|finding| finding["class"].as_str().map(str::to_owned)).collect())
}

/// Repairs a session and tells which one to resume.
fn repair(lab: &Lab, session: &str, rekindle: &Path) -> Result<String> {
    let mut command = rekindle_command(lab, session, rekindle);
    let done = process::run(command.args(["repair", session, "--json"]), REPAIR_DEADLINE)?;
    let Some(line) = done.stdout.trim().lines().last() else {
        bail!("the repair said nothing: {}", done.words());
    };
    let said: Value =
        serde_json::from_str(line).with_context(|| format!("the repair said {}", done.words()))?;
    let told = &said["sessions"][0];
    if told["status"] == "refused" || told["status"] == "failed" {
        bail!("the repair was {}: {told} {}", told["status"], done.stderr.trim());
    }
    Ok(said["resume_id"].as_str().unwrap_or(session).to_owned())
}
