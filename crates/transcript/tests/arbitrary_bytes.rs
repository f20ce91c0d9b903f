//! What the fuzz target `repairer` checks, as a plain test: no bytes at all make a repair panic, hang or go on.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a test may panic and print"
)]

mod support;

use proptest::prelude::*;
use proptest::test_runner::{Config, RngSeed};
use support::SESSION;
use support::conversation::{Conversation, steps};
use support::file;
use transcript::{MOST_ROUNDS, repair_bytes};

fn config() -> Config {
    let hunt = std::env::var("PROPTEST_CASES").ok().and_then(|n| n.parse().ok());
    let rng_seed = if hunt.is_some() { RngSeed::Random } else { RngSeed::Fixed(20_261_115) };
    Config { cases: hunt.unwrap_or(300), failure_persistence: None, rng_seed, ..Config::default() }
}

fn check(bytes: &[u8]) -> Result<(), TestCaseError> {
    let (whole, plans) = repair_bytes(bytes, Some(SESSION))?;
    prop_assert!(plans.len() < MOST_ROUNDS, "does not end: {:?}", plans.last().map(|plan| &plan.changes));
    let (again, more) = repair_bytes(&whole, Some(SESSION))?;
    prop_assert!(more.is_empty(), "{:?}", more[0].changes);
    prop_assert_eq!(whole, again);
    Ok(())
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn any_bytes(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        check(&bytes)?;
    }

    #[test]
    fn any_bytes_in_a_conversation(
        steps in steps(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0..4u8, 0..60usize), 1..12),
    ) {
        let mut bytes = file(&Conversation::new(&steps, false).lines);
        for (place, byte, how, length) in changes {
            let at = place.index(bytes.len().max(1)).min(bytes.len());
            let end = (at + length).min(bytes.len());
            match how {
                0 if at < bytes.len() => bytes[at] = byte,
                1 => drop(bytes.drain(at..end)),
                2 => {
                    let copy = bytes[at..end].to_vec();
                    bytes.splice(at..at, copy);
                }
                _ => drop(bytes.splice(at..end, vec![byte; length])),
            }
        }
        check(&bytes)?;
    }
}
