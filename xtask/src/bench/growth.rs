//! How the time of a scan and of a repair grows with the rows, for every shape that a transcript can have.

use std::io;
use std::time::Duration;

use anyhow::{Context, Result};
use transcript::{Transcript, repair_bytes};

use super::report::Line;

#[path = "../../../crates/transcript/tests/support/shapes.rs"]
mod shapes;

/// Twice the rows may take this many times as long: twice, and some for the logarithm, for caches and for a busy machine.
const LIMIT: f64 = 2.5;

/// The growth of a scan and of a repair from so many rows to twice as many.
pub(super) fn lines(rows: usize) -> Vec<Line> {
    let scan = |bytes: &[u8]| Transcript::of(bytes, None).examine().map(drop);
    let repair = |bytes: &[u8]| repair_bytes(bytes, None).map(drop);
    vec![line("scan", rows, scan), line("repair", rows, repair)]
}

fn line(name: &str, rows: usize, work: impl Fn(&[u8]) -> io::Result<()>) -> Line {
    let shapes = shapes::ALL.len();
    let what = format!("{name}, {rows} rows and twice as many, {shapes} shapes, the one that grows most");
    Line::of(what, "at most 2.5 times", || {
        let mut worst: Option<(f64, String, String)> = None;
        for (shape, make) in shapes::ALL {
            let few = fastest(&make(rows), &work)?;
            let many = fastest(&make(2 * rows), &work)?;
            let growth = many.as_secs_f64() / few.as_secs_f64();
            println!("  {shape}: {few:.0?}, {many:.0?}, {growth:.2} times");
            if worst.as_ref().is_none_or(|(most, ..)| growth > *most) {
                worst = Some((growth, format!("{shape}: {many:.0?}"), format!("{few:.0?}")));
            }
        }
        let (growth, many, few) = worst.context("no shape")?;
        Ok((many, format!("half the rows: {few}"), format!("{growth:.1} times"), growth <= LIMIT))
    })
}

/// The CPU time of the fastest of five runs: whatever else the machine does can only add to it.
fn fastest(bytes: &[u8], work: impl Fn(&[u8]) -> io::Result<()>) -> Result<Duration> {
    let mut fastest = Duration::MAX;
    for _ in 0..5 {
        let start = own_time();
        work(bytes)?;
        fastest = fastest.min(own_time().saturating_sub(start));
    }
    Ok(fastest)
}

/// The CPU time of this thread so far.
fn own_time() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is to a live value of the right type.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or_default())
}
