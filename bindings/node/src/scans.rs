use std::collections::VecDeque;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};
use repair::{Paths, Repairer, Survey};
use transcript::Buffer;

use crate::batcher::Batcher;
use crate::guard::guard;
use crate::values::SessionScanResult;

type Results = Result<Vec<SessionScanResult>, String>;

struct Request {
    machine_paths: Option<Paths>,
    paths: Vec<String>,
    answer: Box<dyn FnOnce(Results) + Send>,
}

static BATCHER: Batcher<Request> = Batcher::new("rekindle-scans", serve);

/// Scans some files, and hands the results over on a thread of our own.
pub(crate) fn ask(
    machine_paths: Option<Paths>,
    paths: Vec<String>,
    answer: impl FnOnce(Results) + Send + 'static,
) -> napi::Result<()> {
    BATCHER.ask(Request { machine_paths, paths, answer: Box::new(answer) })
}

/// Looks around once for all who wait: a thousand scans must not read the process table a thousand times.
fn serve(waiting: &mut VecDeque<Request>) {
    let Some(machine_paths) = waiting.front().map(|request| request.machine_paths.clone()) else { return };
    let same = waiting.iter().take_while(|request| request.machine_paths == machine_paths).count();
    let round: Vec<Request> = waiting.drain(..same).collect();
    let around = guard(|| machine_paths.as_ref().and_then(Around::look)).map(Arc::new);
    for Request { paths, answer, .. } in round {
        let around = around.clone();
        let work = move || answer(around.and_then(|around| guard(|| scan_all((*around).as_ref(), &paths))));
        // Guarded twice: to tell who asked, and because rayon ends the process where a panic gets out.
        let work = || drop(guard(work));
        match pool() {
            Some(pool) => pool.spawn(work),
            None => work(),
        }
    }
}

/// What is known besides the files.
struct Around {
    repairer: Repairer,
    survey: Survey,
}

impl Around {
    /// `None` where the state directory or the vault cannot be used: a scan goes by the file alone then.
    fn look(machine_paths: &Paths) -> Option<Around> {
        let repairer = machine_paths.repairer(&machine_paths.config().ok()?).ok()?;
        let survey = repairer.survey().ok()?;
        Some(Around { repairer, survey })
    }
}

fn scan_all(around: Option<&Around>, paths: &[String]) -> Vec<SessionScanResult> {
    let paths = paths.par_iter();
    paths.map_init(Buffer::default, |buffer, path| scan(around, path, buffer)).collect()
}

fn scan(around: Option<&Around>, path: &str, buffer: &mut Buffer) -> SessionScanResult {
    let at = Path::new(path);
    let known = around.and_then(|Around { repairer, survey }| {
        let file = repairer.transcript_at(at).ok()?;
        repairer.scan_file(&file, survey, buffer).ok()
    });
    match known {
        Some(scan) => SessionScanResult::of_session(path, scan),
        None => SessionScanResult::of_file(path, repair::scan_file(at, buffer)),
    }
}

/// One thread for each core; `None` where not even one can be started.
fn pool() -> Option<&'static ThreadPool> {
    static POOL: OnceLock<Option<ThreadPool>> = OnceLock::new();
    POOL.get_or_init(|| {
        // Given, because rayon would ask the environment, which is not safe here.
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let named = |number| format!("rekindle-{number}");
        ThreadPoolBuilder::new().num_threads(threads).thread_name(named).build().ok()
    })
    .as_ref()
}
