//! What was done in a round, for whoever looks into a folder that was kept.

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use anyhow::{Context, Result};

/// A file of lines, each with the milliseconds since the round began.
#[derive(Debug)]
pub(super) struct Log {
    since: Instant,
    file: Mutex<File>,
}

impl Log {
    pub(super) fn new(root: &Path) -> Result<Log> {
        let file = File::create(root.join("chaos.log")).context("no log")?;
        Ok(Log { since: Instant::now(), file: Mutex::new(file) })
    }

    pub(super) fn say(&self, words: &str) {
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        // A round does not fail for want of its log.
        let _ = writeln!(file, "{:6} {words}", self.since.elapsed().as_millis());
    }
}
