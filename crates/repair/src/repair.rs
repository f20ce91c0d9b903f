//! Repairs one conversation in place: plan, copy, prove, swap.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::Duration;

use agents::SessionId;
use agents::claude::{ConfigDir, Owner, Owners, RunLookup, TranscriptFile};
use jiff::Timestamp;
use serde::Serialize;
use store::durable::{self, Kept};
use store::lock::Lock;
use transcript::{Buffer, Change, Finding, MOST_ROUNDS, Plan, Scan, Status, Transcript};

use crate::backup::Backup;
use crate::swap::{self, Placement, Swapped};
use crate::{Error, Refusal, Repairer, space};

/// Another repair of the same session is over in a few seconds.
const PATIENCE: Duration = Duration::from_secs(10);

/// How to repair.
#[derive(Debug, Clone, Copy, Default)]
pub struct RepairOptions {
    /// Only say what would be done.
    pub dry_run: bool,
    /// Make this branch the live one (its number in `branches`).
    pub branch: Option<usize>,
}

/// How a repair ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RepairStatus {
    /// It was broken and is whole; in a dry run: it would be.
    Repaired,
    /// There was nothing to do.
    AlreadyHealthy,
    /// A guard said no; nothing was changed.
    Refused,
    /// Nothing helps; nothing was changed.
    Failed,
}

/// What came of one repair.
#[derive(Debug, Clone)]
pub struct RepairOutcome {
    /// The session.
    pub session: SessionId,
    /// Its transcript.
    pub path: PathBuf,
    /// How it ended.
    pub status: RepairStatus,
    /// Why, where it did not go through.
    pub reason: Option<String>,
    /// What is in no copy at all, where that is known: the rest is whole without it.
    pub missing: Option<String>,
    /// Where the bytes are as they were.
    pub backup: Option<PathBuf>,
    /// Dangling parents that have a row now.
    pub orphans_fixed: u64,
    /// Rows on the walk after it.
    pub new_chain_depth: u64,
    /// What was wrong.
    pub findings: Vec<Finding>,
    /// Every value that changed.
    pub changes: Vec<Change>,
    /// The id to resume: another one where the conversation could only be kept as a copy.
    pub resume_id: SessionId,
    /// Subagents' files and tool results that are lost and could not be put back.
    pub left_out: Vec<String>,
}

impl RepairOutcome {
    pub(crate) fn new(file: &TranscriptFile, status: RepairStatus) -> RepairOutcome {
        RepairOutcome {
            session: file.session.clone(),
            path: file.path.clone(),
            status,
            reason: None,
            missing: None,
            backup: None,
            orphans_fixed: 0,
            new_chain_depth: 0,
            findings: Vec::new(),
            changes: Vec::new(),
            resume_id: file.session.clone(),
            left_out: Vec::new(),
        }
    }

    pub(crate) fn refused(file: &TranscriptFile, refusal: &Refusal) -> RepairOutcome {
        let mut outcome = RepairOutcome::new(file, RepairStatus::Refused);
        outcome.reason = Some(refusal.to_string());
        outcome
    }
}

impl Repairer {
    /// Repairs some conversations. Their old files are watched together, so that many take no longer than one.
    pub fn repair(
        &self,
        files: &[TranscriptFile],
        options: RepairOptions,
        mut each: impl FnMut(&RepairOutcome),
    ) -> Vec<Result<RepairOutcome, Error>> {
        let mut outcomes = Vec::with_capacity(files.len());
        let mut rest = files;
        while !rest.is_empty() {
            let (batch, later) = rest.split_at(batch_size(rest));
            outcomes.extend(self.repair_batch(batch, options, &mut each));
            rest = later;
        }
        outcomes
    }

    /// Repairs a few: every one holds a lock and its old file until the watch over all of them ends.
    fn repair_batch(
        &self,
        files: &[TranscriptFile],
        options: RepairOptions,
        each: &mut impl FnMut(&RepairOutcome),
    ) -> Vec<Result<RepairOutcome, Error>> {
        let mut swaps = Vec::new();
        let mut swapped = Vec::new();
        let mut locks = Vec::new();
        let mut outcomes = Vec::new();
        for (at, file) in files.iter().enumerate() {
            let before = swaps.len();
            let outcome = self.repair_one(file, options, &mut swaps, &mut locks);
            if let Ok(outcome) = &outcome {
                each(outcome);
            }
            if swaps.len() > before {
                swapped.push(at);
            }
            outcomes.push(outcome);
        }
        for (at, watched) in swapped.into_iter().zip(swap::watch(swaps)) {
            if let Err(error) = watched {
                outcomes[at] = Err(error);
            }
        }
        outcomes
    }

    fn repair_one<'repairer>(
        &'repairer self,
        file: &TranscriptFile,
        options: RepairOptions,
        swaps: &mut Vec<Swapped<'repairer>>,
        locks: &mut Vec<Lock>,
    ) -> Result<RepairOutcome, Error> {
        // The file behind a link is the one to change; the link stays.
        let path = std::fs::canonicalize(&file.path).unwrap_or_else(|_| file.path.clone());
        if !options.dry_run {
            durable::private_dir(&self.state.locks())?;
            locks
                .push(Lock::acquire(&self.state.locks().join(format!("repair-{}", file.session)), PATIENCE)?);
            self.recover(&path, &file.session)?;
        }
        let owners = self.owners_of(&file.path);
        if let Some(refusal) =
            refuse(owners.of(&file.session, &path)).or_else(|| refuse(owners.of(&file.session, &file.path)))
        {
            return Ok(RepairOutcome::refused(file, &refusal));
        }
        if let Some(outcome) = self.put_back_lost(file, &path, options.dry_run)? {
            return Ok(outcome);
        }
        let outcome = match self.mend(file, &path, options)? {
            Mended::Over(outcome) => *outcome,
            Mended::Ready(ready) => match self.install(file, &path, *ready)? {
                Ok((outcome, swapped)) => {
                    swaps.push(swapped);
                    outcome
                }
                Err(refusal) => RepairOutcome::refused(file, &refusal),
            },
        };
        self.with_side_files(file, outcome, options.dry_run)
    }

    /// A look at who owns what: by the known directories, and by the one a path lies in.
    pub(crate) fn owners_of(&self, path: &Path) -> Owners {
        let mut configs = self.configs.clone();
        if let Some(around) = path.ancestors().nth(3) {
            configs.push(ConfigDir::new(around));
        }
        Owners::look(&configs).beside(self.recorded_runs())
    }

    /// A look at who owns what, by the known directories and by what is on record.
    pub fn owners(&self) -> Owners {
        Owners::look(&self.configs).beside(self.recorded_runs())
    }

    fn recorded_runs(&self) -> RunLookup {
        store::record::recorded_runs(&self.state, self.machine_key.as_deref())
    }

    /// Held by whoever changes a conversation's file.
    ///
    /// # Errors
    /// Another process holds it still.
    pub fn lock(&self, session: &SessionId) -> Result<Lock, Error> {
        durable::private_dir(&self.state.locks())?;
        Ok(Lock::acquire(&self.state.locks().join(format!("repair-{session}")), PATIENCE)?)
    }

    /// Plans, round by round, into a file beside the transcript, and proves the result by scanning it.
    fn mend(&self, file: &TranscriptFile, path: &Path, options: RepairOptions) -> Result<Mended, Error> {
        let name = file.session.as_str().to_owned();
        let mut buffer = Buffer::default();
        let opened = Transcript::open(path, &mut buffer).map_err(Error::read(path))?;
        let meta = opened.file().metadata().map_err(Error::read(path))?;
        let examined = match options.branch {
            Some(branch) => opened.examine_with_branch(branch),
            None => opened.examine(),
        };
        let (before, plan) = examined.map_err(Error::read(path))?;
        let mut outcome = RepairOutcome::new(file, RepairStatus::Repaired);
        outcome.findings = before.findings.clone();
        outcome.new_chain_depth = before.chain_depth;
        // Where nobody says anything, a plan could only tidy up what is no conversation.
        let hopeless = matches!(before.status, Status::Unreadable | Status::Unrecoverable);
        if plan.is_empty() || hopeless || before.status == Status::Empty {
            outcome.status = if hopeless { RepairStatus::Failed } else { RepairStatus::AlreadyHealthy };
            outcome.reason =
                hopeless.then(|| "nothing of the conversation is left, and the vault has no copy".to_owned());
            return Ok(Mended::Over(Box::new(outcome)));
        }
        if let Err(refusal) = self.check_room(path, meta.len(), options.dry_run) {
            return Ok(Mended::Over(Box::new(RepairOutcome::refused(file, &refusal))));
        }
        let kept = Kept::of(&meta);
        // A dry run writes nothing beside the transcript.
        let beside = if options.dry_run { self.state.cache().join("dry-run") } else { path.to_path_buf() };
        let size = before.file_size;
        let write = |plan: &Plan, source: &File, size: u64| {
            durable::write_beside(&beside, kept, |out| plan.apply(source, size, out))
        };
        let mut plans = vec![plan];
        let mut files = vec![write(&plans[0], opened.file(), size)?];
        let after = loop {
            let Some(made) = files.last() else { break Err(not_proven("no round")) };
            let reopened = made.reopen().map_err(Error::read(made.path()))?;
            let subagents = Some(path.with_extension("").join("subagents"));
            let again = Transcript::from_file(reopened, Some(name.clone()), subagents, &mut buffer);
            let again = again.map_err(Error::read(made.path()))?;
            let (scan, plan) = again.examine().map_err(Error::read(made.path()))?;
            if plan.is_empty() {
                // It has grown to the largest row, and the guard reads rows, too.
                drop(buffer);
                // Which branch lives is the user's to say: then reaching something else is what was asked for.
                let harm = match options.branch {
                    Some(_) => None,
                    None => again.harm_since(&opened).map_err(Error::read(path))?,
                };
                break harm.map_or(Ok(scan), |harm| Err(Refusal::Harmful(Box::new(harm))));
            }
            if plans.len() == MOST_ROUNDS {
                let left: Vec<&str> = plan.findings.iter().map(|finding| finding.class.id()).collect();
                break Err(not_proven(&left.join(", ")));
            }
            files.push(write(&plan, again.file(), scan.file_size)?);
            plans.push(plan);
        };
        let after = match after.and_then(prove) {
            Ok(scan) => scan,
            Err(refusal) => {
                let mut refused = RepairOutcome::refused(file, &refusal);
                if !matches!(refusal, Refusal::Harmful(_)) {
                    refused.status = RepairStatus::Failed;
                }
                refused.findings = before.findings;
                return Ok(Mended::Over(Box::new(refused)));
            }
        };
        outcome.orphans_fixed = plans.iter().map(|plan| plan.orphans_fixed).sum();
        outcome.new_chain_depth = after.chain_depth;
        outcome.changes = plans.iter().flat_map(|plan| plan.changes.iter().cloned()).collect();
        if options.dry_run {
            return Ok(Mended::Over(Box::new(outcome)));
        }
        Ok(Mended::Ready(Box::new(Ready { old: opened.into_file(), meta, plans, files, outcome })))
    }

    /// Keeps a copy, looks once more for an owner, and exchanges the files.
    fn install(
        &self,
        file: &TranscriptFile,
        path: &Path,
        ready: Ready,
    ) -> Result<Result<(RepairOutcome, Swapped<'_>), Refusal>, Error> {
        let Ready { old, meta, plans, mut files, mut outcome } = ready;
        let now = Timestamp::now();
        if let Some(source) = self.source_of(file) {
            self.mirror(&source, vault::Origination::Theirs, now)?;
        }
        let backup = Backup::take(&self.vault.backups(), &file.session, path, now)?;
        let sources: Vec<File> = std::iter::once(old.try_clone())
            .chain(files.iter().map(tempfile_clone))
            .collect::<Result<_, _>>()
            .map_err(Error::read(path))?;
        for (round, (plan, source)) in plans.iter().zip(&sources).enumerate() {
            backup.keep_rejects(plan, source, round)?;
        }
        let Some(made) = files.pop() else { return Ok(Err(not_proven("no file"))) };
        let mut classes: Vec<String> = plans
            .iter()
            .flat_map(|plan| &plan.findings)
            .map(|finding| finding.class.id().to_owned())
            .collect();
        classes.sort();
        classes.dedup();
        outcome.backup = Some(backup.transcript());
        let folder = backup.folder.clone();
        let (session, told) = (&file.session, classes.clone());
        let placement = Placement { session, path, old, meta: &meta, made, backup, classes: told, now };
        match self.place(placement)? {
            Err(refusal) => Ok(Err(refusal)),
            Ok(swapped) => {
                self.tell("repair", |entry| {
                    entry
                        .with("sessionId", file.session.as_str())
                        .with("path", path.to_string_lossy())
                        .with("classes", classes)
                        .with("backup", folder.to_string_lossy())
                })?;
                Ok(Ok((outcome, swapped)))
            }
        }
    }

    fn check_room(&self, path: &Path, size: u64, dry_run: bool) -> Result<(), Refusal> {
        let beside = path.parent().unwrap_or(path);
        space::room_for(beside, size.saturating_mul(2))?;
        if dry_run { Ok(()) } else { space::room_for(self.state.path(), size) }
    }

    /// The transcript as the vault names it, where it lies in one of the known directories.
    pub(crate) fn source_of(&self, file: &TranscriptFile) -> Option<agents::claude::Source> {
        let config = self.config_of(&file.path)?.clone();
        let stamp = agents::Stamp::of(&std::fs::metadata(&file.path).ok()?);
        Some(agents::claude::Source {
            config,
            session: Some(file.session.clone()),
            path: file.path.clone(),
            kind: agents::claude::Kind::Transcript,
            stamp,
        })
    }
}

/// How many can be repaired together: not so many that descriptors run out, and no session twice, for each is locked.
fn batch_size(files: &[TranscriptFile]) -> usize {
    const MOST: usize = 64;
    let again = |at: &usize| files[..*at].iter().any(|file| file.session == files[*at].session);
    (1..files.len().min(MOST)).find(again).unwrap_or(files.len().min(MOST))
}

/// A repair that is over, or one whose file is ready to take its place.
enum Mended {
    Over(Box<RepairOutcome>),
    Ready(Box<Ready>),
}

struct Ready {
    old: File,
    meta: std::fs::Metadata,
    plans: Vec<Plan>,
    files: Vec<tempfile::NamedTempFile>,
    outcome: RepairOutcome,
}

fn tempfile_clone(file: &tempfile::NamedTempFile) -> std::io::Result<File> {
    file.reopen()
}

fn not_proven(why: &str) -> Refusal {
    Refusal::NotProven(why.to_owned())
}

/// Rule 6 of repairs: the result is healthy. That no agent reaches less than before is for [`transcript::Harm`] to say.
fn prove(after: Scan) -> Result<Scan, Refusal> {
    if after.status != Status::Healthy {
        return Err(not_proven(after.status.word()));
    }
    if after.orphan_count > 0 {
        return Err(not_proven("rows without a parent"));
    }
    Ok(after)
}

pub(crate) fn refuse(owner: Owner) -> Option<Refusal> {
    match owner {
        Owner::Nobody => None,
        Owner::Process(holder) => Some(Refusal::Owned(holder)),
        Owner::Unknown { why } => Some(Refusal::OwnerUnknown(why)),
    }
}
