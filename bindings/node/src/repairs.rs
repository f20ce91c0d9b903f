use std::collections::{HashSet, VecDeque};
use std::path::Path;

use agents::claude::TranscriptFile;
use repair::{Paths, PutBack, RepairOptions, RepairOutcome, RepairStatus, Repairer};
use transcript::{Buffer, Status};

use crate::answer::Answer;
use crate::batcher::Batcher;
use crate::guard::guard;
use crate::values::{SessionRepairResult, session_id};

struct Request {
    machine_paths: Option<Paths>,
    path: String,
    answer: Answer<SessionRepairResult>,
}

static BATCHER: Batcher<Request> = Batcher::new("rekindle-repairs", serve);

/// Repairs a file.
pub(crate) fn ask(
    machine_paths: Option<Paths>,
    path: String,
    answer: Answer<SessionRepairResult>,
) -> napi::Result<()> {
    BATCHER.ask(Request { machine_paths, path, answer })
}

/// Repairs all who wait together: their old files are watched together, so that many take no longer than one.
fn serve(waiting: &mut VecDeque<Request>) {
    let round = next_round(waiting);
    let Some(machine_paths) = round.first().map(|request| request.machine_paths.clone()) else { return };
    let paths: Vec<&str> = round.iter().map(|request| request.path.as_str()).collect();
    let results = guard(|| repair_all(machine_paths.as_ref(), &paths));
    match results {
        Ok(results) => {
            for (request, result) in round.into_iter().zip(results) {
                request.answer.give(Ok(result));
            }
        }
        Err(message) => {
            for request in round {
                request.answer.give(Err(message.clone()));
            }
        }
    }
}

/// Takes each session once: a repair holds its session's lock until the round is over.
fn next_round(waiting: &mut VecDeque<Request>) -> Vec<Request> {
    let machine_paths = waiting.front().map(|request| request.machine_paths.clone());
    let mut sessions = HashSet::new();
    let (mut round, mut later) = (Vec::new(), VecDeque::new());
    for request in waiting.drain(..) {
        if Some(&request.machine_paths) == machine_paths.as_ref()
            && sessions.insert(session_id(&request.path))
        {
            round.push(request);
        } else {
            later.push_back(request);
        }
    }
    *waiting = later;
    round
}

fn repair_all(machine_paths: Option<&Paths>, paths: &[&str]) -> Vec<SessionRepairResult> {
    let fail_all = |reason: String| {
        paths.iter().map(|path| SessionRepairResult::failed(path, reason.clone(), 0)).collect::<Vec<_>>()
    };
    let Some(machine_paths) = machine_paths else {
        return fail_all("there is no home directory; set HOME, or REKINDLE_STATE_DIR".to_owned());
    };
    let repairer = match machine_paths.config().map_err(anyhow::Error::from) {
        Ok(config) => machine_paths.repairer(&config).map_err(anyhow::Error::from),
        Err(error) => Err(error),
    };
    let repairer = match repairer {
        Ok(repairer) => repairer,
        Err(error) => return fail_all(sentence(&error)),
    };
    let files: Vec<_> = paths.iter().map(|path| repairer.transcript_at(Path::new(path))).collect();
    let there: Vec<_> = files.iter().flatten().cloned().collect();
    let mut outcomes = repair_files(&repairer, &there).into_iter();
    let mut buffer = Buffer::default();
    let mut result = |path: &&str, file: Result<_, repair::TargetError>| {
        let depth = repair::scan_file(Path::new(path), &mut buffer).chain_depth;
        match file.map(|_| outcomes.next()) {
            Ok(Some(Ok(outcome))) => SessionRepairResult::of(path, outcome, depth),
            Ok(Some(Err(error))) => SessionRepairResult::failed(path, sentence(&error.into()), depth),
            Ok(None) => SessionRepairResult::failed(path, "nothing was done".to_owned(), depth),
            Err(error) => SessionRepairResult::failed(path, error.to_string(), depth),
        }
    };
    paths.iter().zip(files).map(|(path, file)| result(path, file)).collect()
}

/// Puts back what is gone, mends what is broken, and mends what came back broken.
fn repair_files(repairer: &Repairer, files: &[TranscriptFile]) -> Vec<Result<RepairOutcome, repair::Error>> {
    let repair = |files: &[TranscriptFile]| repairer.repair(files, RepairOptions::default(), |_| {});
    // Where that fails or is refused, the repair finds the same and says it.
    let back = |file: &TranscriptFile| repairer.restore_at(file).ok()?.and_then(Result::ok);
    let backs: Vec<Option<PutBack>> =
        files.iter().map(|file| if file.path.exists() { None } else { back(file) }).collect();
    let mut outcomes = repair(files);
    for (outcome, back) in outcomes.iter_mut().zip(backs) {
        if let (Ok(outcome), Some(back)) = (outcome, back)
            && matches!(outcome.status, RepairStatus::AlreadyHealthy | RepairStatus::Repaired)
        {
            outcome.status = RepairStatus::Repaired;
            outcome.reason = Some(format!("generation {} of the vault was put back", back.generation));
        }
    }
    let mut buffer = Buffer::default();
    let mut is_broken = |outcome: &RepairOutcome| {
        outcome.status == RepairStatus::Repaired
            && repair::scan_file(&outcome.path, &mut buffer).status == Status::Corrupted
    };
    let (at, broken): (Vec<usize>, Vec<TranscriptFile>) = (0..)
        .zip(files)
        .filter(|(at, _)| outcomes.get(*at).is_some_and(|outcome| outcome.as_ref().is_ok_and(&mut is_broken)))
        .map(|(at, file)| (at, file.clone()))
        .unzip();
    for (at, second) in at.into_iter().zip(repair(&broken)) {
        let Some(slot) = outcomes.get_mut(at) else { continue };
        let first = std::mem::replace(slot, second);
        if let (Ok(first), Ok(second)) = (first, slot)
            && second.status == RepairStatus::Repaired
        {
            // The bytes as they were before the first.
            second.backup = first.backup.or(second.backup.take());
            second.reason = first.reason;
        }
    }
    outcomes
}

/// The error and its causes, as the program says them.
fn sentence(error: &anyhow::Error) -> String {
    let causes: Vec<String> = error.chain().map(ToString::to_string).collect();
    format!("cannot {}", causes.join(": "))
}
