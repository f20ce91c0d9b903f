//! A sample of the kill sweep; `cargo xtask sweep` does all of it.
#![cfg(target_os = "linux")]

use lab::sweep::{Kills, Points, Report, SUBJECTS, sweep};

/// So many kills of each command; another seed on another day meets others.
const SAMPLE: Points = Points::Sample { count: 3, seed: 20_261_116 };
/// Most of a run is waiting.
const THREADS: usize = 5;

#[test]
fn killed_commands_leave_nothing_that_must_not_be() {
    let bad: Vec<String> = std::thread::scope(|scope| {
        let swept: Vec<_> = SUBJECTS
            .chunks(SUBJECTS.len().div_ceil(THREADS))
            .map(|subjects| {
                scope.spawn(move || -> Vec<Report> {
                    subjects.iter().map(|subject| sweep(subject, SAMPLE, Kills::Once, 3).unwrap()).collect()
                })
            })
            .collect();
        let reports = swept.into_iter().flat_map(|reports| reports.join().unwrap());
        let bad = reports.flat_map(|report| {
            let name = report.name;
            assert!(report.killed > 0, "{name}: no run was killed");
            report.bad.into_iter().map(move |(call, why)| format!("{name} at call {call}: {why}"))
        });
        bad.collect()
    });
    assert!(bad.is_empty(), "{bad:#?}");
}
