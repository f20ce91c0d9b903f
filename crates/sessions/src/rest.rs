//! Waiting for the rows of a turn, and for the end of an agent: agents write the last rows after they have said that the
//! turn is over, and live on for a moment after they have said that they end.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use agents::SessionKey;
use agents::claude::process::is_gone;
use store::record::SessionRecord;

/// At the first Stop the transcript was missing or nearly empty in half of all runs, and complete a second later
/// (measured on 2.1.31 and 2.1.325).
const LONGEST_WAIT: Duration = Duration::from_secs(4);

/// Rows of a turn come within some milliseconds of each other.
const QUIET: Duration = Duration::from_millis(400);

const POLL: Duration = Duration::from_millis(50);

/// Waits until the transcripts of these conversations are there and grow no more, and until the processes that said that
/// they end are gone; for a few seconds at most.
pub fn wait_for_rest(records: &BTreeMap<SessionKey, SessionRecord>, sessions: &BTreeSet<SessionKey>) {
    let transcripts: Vec<PathBuf> =
        sessions.iter().filter_map(|session| records.get(session)?.transcript_path.clone()).collect();
    let runs = sessions.iter().filter_map(|session| records.get(session)?.run());
    let ending: Vec<u32> = runs.filter(|run| run.end_reason.is_some()).map(|run| run.pid).collect();
    let lengths = || -> Vec<Option<u64>> {
        transcripts.iter().map(|path| std::fs::metadata(path).ok().map(|meta| meta.len())).collect()
    };
    let start = Instant::now();
    let (mut known, mut since) = (lengths(), start);
    while start.elapsed() < LONGEST_WAIT {
        poll();
        let now = lengths();
        if now != known {
            (known, since) = (now, Instant::now());
        } else if known.iter().all(Option::is_some)
            && since.elapsed() >= QUIET
            && ending.iter().all(|pid| is_gone(*pid))
        {
            return;
        }
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "a poll interval: nothing tells when an agent has written its last row"
)]
fn poll() {
    std::thread::sleep(POLL);
}
