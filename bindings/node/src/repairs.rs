use std::collections::{HashSet, VecDeque};
use std::path::Path;

use doctor::{Places, RepairOptions};
use transcript::Buffer;

use crate::answer::Answer;
use crate::desk::Desk;
use crate::guard::guard;
use crate::values::{SessionRepairResult, session_id};

struct Request {
    places: Option<Places>,
    path: String,
    answer: Answer<SessionRepairResult>,
}

static DESK: Desk<Request> = Desk::new("rekindle-repairs", serve);

/// Repairs a file.
pub(crate) fn ask(
    places: Option<Places>,
    path: String,
    answer: Answer<SessionRepairResult>,
) -> napi::Result<()> {
    DESK.ask(Request { places, path, answer })
}

/// Repairs all who wait together: their old files are watched together, so that many take no longer than one.
fn serve(waiting: &mut VecDeque<Request>) {
    let round = next_round(waiting);
    let Some(places) = round.first().map(|request| request.places.clone()) else { return };
    let paths: Vec<&str> = round.iter().map(|request| request.path.as_str()).collect();
    let results = guard(|| repair_all(places.as_ref(), &paths));
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
    let places = waiting.front().map(|request| request.places.clone());
    let mut sessions = HashSet::new();
    let (mut round, mut later) = (Vec::new(), VecDeque::new());
    for request in waiting.drain(..) {
        if Some(&request.places) == places.as_ref() && sessions.insert(session_id(&request.path)) {
            round.push(request);
        } else {
            later.push_back(request);
        }
    }
    *waiting = later;
    round
}

fn repair_all(places: Option<&Places>, paths: &[&str]) -> Vec<SessionRepairResult> {
    let fail_all = |reason: String| {
        paths.iter().map(|path| SessionRepairResult::failed(path, reason.clone(), 0)).collect::<Vec<_>>()
    };
    let Some(places) = places else {
        return fail_all("there is no home directory; set HOME, or REKINDLE_STATE_DIR".to_owned());
    };
    let clinic = match places.config().map_err(anyhow::Error::from) {
        Ok(config) => places.clinic(&config).map_err(anyhow::Error::from),
        Err(error) => Err(error),
    };
    let clinic = match clinic {
        Ok(clinic) => clinic,
        Err(error) => return fail_all(sentence(&error)),
    };
    let files: Vec<_> = paths.iter().map(|path| clinic.transcript_at(Path::new(path))).collect();
    let there: Vec<_> = files.iter().flatten().cloned().collect();
    let mut outcomes = clinic.repair(&there, RepairOptions::default(), |_| {}).into_iter();
    let mut buffer = Buffer::default();
    let mut result = |path: &&str, file: Result<_, doctor::TargetError>| {
        let depth = doctor::scan_file(Path::new(path), &mut buffer).chain_depth;
        match file.map(|_| outcomes.next()) {
            Ok(Some(Ok(outcome))) => SessionRepairResult::of(path, outcome, depth),
            Ok(Some(Err(error))) => SessionRepairResult::failed(path, sentence(&error.into()), depth),
            Ok(None) => SessionRepairResult::failed(path, "nothing was done".to_owned(), depth),
            Err(error) => SessionRepairResult::failed(path, error.to_string(), depth),
        }
    };
    paths.iter().zip(files).map(|(path, file)| result(path, file)).collect()
}

/// The error and its causes, as the program says them.
fn sentence(error: &anyhow::Error) -> String {
    let causes: Vec<String> = error.chain().map(ToString::to_string).collect();
    format!("cannot {}", causes.join(": "))
}
