//! The real agent in the laboratory, in short; `cargo xtask recall` is the long way.

use lab::Lab;
use lab::agent::VERSIONS;
use lab::conversation::Story;

#[test]
fn a_healthy_conversation_is_recalled() {
    let lab = Lab::new(VERSIONS[VERSIONS.len() - 1]).unwrap();
    let session = lab.converse(Story::Parallel).unwrap();
    assert!(lab.home.transcript(&session).exists());
    let recall = lab.recall(&session).unwrap();
    assert!(recall.ok, "{}", recall.why);
    assert_eq!(recall.asks, [0, 1, 2].into());
    assert_eq!(recall.replies, [0, 1, 2].into());
    let missing = lab.recall("00000000-0000-4000-8000-000000000000").unwrap();
    assert!(!missing.ok && missing.why.contains("No conversation found"), "{}", missing.why);
}
