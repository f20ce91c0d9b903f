//! `cargo +nightly fuzz run row_reader`: the row reader takes what JSON is, as the agent reads it.
//!
//! serde_json is the oracle in one direction: all that it takes must be taken. In the other it is too strict (depth,
//! lone surrogates, invalid UTF-8, `1e400`), so there only shallow ASCII without `\u` and exponents is compared.
//! `tests/row_reader_agrees_with_node.rs` asks Node, which is the agent's own reader.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let ours = transcript::json::parses(bytes);
    let theirs = serde_json::from_slice::<serde_json::Value>(bytes).is_ok();
    if theirs {
        assert!(ours, "refused, though it is JSON");
    }
    let deep = bytes.iter().filter(|b| matches!(b, b'[' | b'{')).count() > 120;
    let differs = bytes.iter().any(|b| !b.is_ascii() || matches!(b, b'e' | b'E' | b'u'));
    if ours && !deep && !differs && bytes.len() < 300 {
        assert!(theirs, "taken, though it is no JSON");
    }
});
