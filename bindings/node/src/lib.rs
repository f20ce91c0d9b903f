//! `scan`, `repair` and `scanBatch` for Node.js: off the event loop, errors as values, never a crash.
//!
//! The environment is read on Node's own thread, in the call: `process.env` may be written at any moment, and only
//! by that thread. All other work is done on threads of our own, not libuv's: a repair watches a file for two
//! seconds, and four of them would keep Node from opening any file at all.

mod answer;
mod batcher;
mod guard;
mod repairs;
mod scans;
mod values;

use napi::Env;
use napi::bindgen_prelude::Object;
use napi_derive::napi;
use repair::Paths;

use crate::answer::Answer;
use crate::values::{SessionRepairResult, SessionScanResult};

/// Checks one transcript, without changing it.
#[napi(catch_unwind)]
pub fn scan<'env>(env: &'env Env, file_path: String) -> napi::Result<Object<'env>> {
    let (answer, promise) = Answer::<SessionScanResult>::new(env)?;
    scans::ask(machine_paths(), vec![file_path], move |results| {
        answer.give(results.and_then(|results| results.into_iter().next().ok_or_else(|| "no result".into())));
    })?;
    Ok(promise)
}

/// Checks several transcripts in parallel; the results are in the order of the paths.
#[napi(catch_unwind)]
pub fn scan_batch<'env>(env: &'env Env, file_paths: Vec<String>) -> napi::Result<Object<'env>> {
    let (answer, promise) = Answer::<Vec<SessionScanResult>>::new(env)?;
    scans::ask(machine_paths(), file_paths, move |results| answer.give(results))?;
    Ok(promise)
}

/// Mends one transcript; every byte that was there is kept.
#[napi(catch_unwind)]
pub fn repair<'env>(env: &'env Env, file_path: String) -> napi::Result<Object<'env>> {
    let (answer, promise) = Answer::<SessionRepairResult>::new(env)?;
    repairs::ask(machine_paths(), file_path, answer)?;
    Ok(promise)
}

/// What the environment says at this moment; `None` where there is no home directory.
fn machine_paths() -> Option<Paths> {
    let home = etcetera::home_dir().ok()?;
    Some(Paths::new(&home, |name| std::env::var_os(name)))
}
