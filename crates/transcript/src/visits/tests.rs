//! Every shape costs a constant number of looks for each row, to judge it and to mend it.

use super::counted;
use crate::{MOST_ROUNDS, Transcript, repair_bytes};

#[path = "../../tests/support/shapes.rs"]
mod shapes;

/// Enough that a step which looks at all rows for each row stands out.
const ROWS: usize = 1_500;
/// The most looks for each row. A scan has about twenty passes, and each question about ancestors takes some.
const LOOKS: f64 = 250.0;
/// The most that the looks for each row may grow where there are twice as many rows: questions about ancestors take the
/// logarithm of all rows.
const GROWTH: f64 = 1.3;

/// The shapes whose `work` looks too often, and how often. `work` says how many times it went over all rows.
fn too_often(work: impl Fn(&[u8]) -> u64) -> Vec<String> {
    let looks_for_each_row = |bytes: &[u8]| {
        let rows = bytes.iter().filter(|byte| **byte == b'\n').count() as u64;
        let (times, looks) = counted(|| work(bytes));
        looks as f64 / (rows * times) as f64
    };
    let mut slow = Vec::new();
    for (name, shape) in shapes::ALL {
        let (few, many) = (looks_for_each_row(&shape(ROWS)), looks_for_each_row(&shape(2 * ROWS)));
        if many > LOOKS || many > GROWTH * few {
            slow.push(format!("{name}: {few:.0} looks for each row, {many:.0} in a file twice as long"));
        }
    }
    slow
}

#[test]
fn every_shape_is_scanned_in_linear_time() {
    let slow = too_often(|bytes| {
        Transcript::of(bytes, None).examine().unwrap();
        1
    });
    assert!(slow.is_empty(), "{slow:#?}");
}

#[test]
fn every_shape_is_repaired_in_linear_time() {
    let slow = too_often(|bytes| {
        let (_, plans) = repair_bytes(bytes, None).unwrap();
        assert!(plans.len() < MOST_ROUNDS);
        plans.len() as u64 + 1
    });
    assert!(slow.is_empty(), "{slow:#?}");
}

#[test]
fn every_shape_is_read_in_linear_time() {
    let slow = too_often(|bytes| {
        let transcript = Transcript::of(bytes, None);
        transcript.branches().unwrap();
        transcript.walked(|_| true).unwrap();
        transcript.conversation(|_| true).unwrap();
        transcript.last_turns(3).unwrap();
        1
    });
    assert!(slow.is_empty(), "{slow:#?}");
}
