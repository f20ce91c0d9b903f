//! `cargo +nightly fuzz run repairer`: a repair of anything ends, does not panic, and has nothing left to do.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let name = Some("5e551000-0000-4000-8000-000000000001");
    let (whole, plans) = transcript::repair_bytes(bytes, name).expect("memory can be read");
    assert!(plans.len() < transcript::MOST_ROUNDS, "does not end");
    let (again, more) = transcript::repair_bytes(&whole, name).expect("memory can be read");
    assert!(more.is_empty(), "a second repair changes something");
    assert_eq!(whole, again);
});
