//! The seven fixtures of the design and its lists of unit tests for scanner and repair.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a test may panic and print"
)]

mod support;

use std::fs::OpenOptions;
use std::io::{ErrorKind, Write};
use std::path::PathBuf;

use serde_json::{Value, json};
use support::{SESSION, parse, timestamp, uuid};
use transcript::{Buffer, Class, Scan, Status, Transcript, repair_bytes};

/// `count` rows that follow each other, a minute apart; `size` bytes of text in each.
fn healthy(count: usize, size: usize) -> Vec<Value> {
    let rows = (1..=count).map(|n| {
        let (kind, message) = match n % 2 {
            1 => ("user", json!({"role": "user", "content": "x".repeat(size)})),
            _ => ("assistant", json!({"id": format!("msg_{n}"), "role": "assistant", "content": [{"type": "text", "text": "y".repeat(size)}]})),
        };
        let parent = (n > 1).then(|| uuid(n - 1));
        let time = timestamp(i64::try_from(n).unwrap() * 60_000);
        json!({"parentUuid": parent, "isSidechain": false, "type": kind, "sessionId": SESSION, "message": message, "uuid": uuid(n), "timestamp": time})
    });
    rows.collect()
}

/// A file whose row at `depth` from the end has a parent that is no row.
fn corrupted(count: usize, depths: &[usize]) -> Vec<u8> {
    let mut rows = healthy(count, 10);
    for depth in depths {
        rows[count - depth]["parentUuid"] = json!(uuid(900 + depth));
    }
    lines(&rows)
}

fn lines(rows: &[Value]) -> Vec<u8> {
    rows.iter().map(|row| format!("{row}\n")).collect::<String>().into_bytes()
}

fn scan(bytes: &[u8]) -> Scan {
    Transcript::of(bytes, Some(SESSION)).examine().unwrap().0
}

/// Status, depth, orphans, messages.
#[track_caller]
fn check(bytes: &[u8], expect: (Status, u64, u64, u64)) {
    let scan = scan(bytes);
    assert_eq!((scan.status, scan.chain_depth, scan.orphan_count, scan.message_count), expect);
    assert_eq!(scan.file_size, bytes.len() as u64);
}

#[test]
fn scanner() {
    check(&lines(&healthy(20, 10)), (Status::Healthy, 20, 0, 20));
    check(&corrupted(20, &[2]), (Status::Corrupted, 2, 1, 20));
    check(&corrupted(100, &[50]), (Status::Corrupted, 50, 1, 100));
    check(&corrupted(100, &[3, 40, 77]), (Status::Corrupted, 3, 3, 100));
    check(b"not json\n{\"a\":\nnull\n", (Status::Unreadable, 0, 0, 0));
    check(b"", (Status::Unreadable, 0, 0, 0));
    let mut malformed = lines(&healthy(6, 10));
    malformed.extend_from_slice(b"{\"torn\":\n");
    check(&malformed, (Status::Corrupted, 6, 0, 6));
    check(b"{\"type\":\"mode\",\"mode\":\"plan\"}\n", (Status::Empty, 0, 0, 0));
    check(b"{\"type\":\"mode\",\"mode\":\"plan\"}\n{\"torn\":\n", (Status::Unrecoverable, 0, 0, 0));
    check(b"{\"type\":\"last-prompt\",\"lastPrompt\":\"hi\"}\n", (Status::Unrecoverable, 0, 0, 0));
    let hook = br#"{"type":"system","uuid":"5f0d6a3e-0000-4000-8000-000000000001","parentUuid":"5f0d6a3e-0000-4000-8000-000000000002"}"#;
    check(&[&hook[..], b"\n"].concat(), (Status::Unrecoverable, 1, 1, 1));
}

/// Numbers of rows are numbers of lines, as an editor shows them: blank and broken lines count.
#[test]
fn rows_are_lines_of_the_file() {
    let bytes = corrupted(20, &[7]);
    let lines: Vec<&[u8]> = bytes.split_inclusive(|byte| *byte == b'\n').collect();
    let orphan = |scan: &transcript::Scan| {
        let found = scan.findings.iter().find(|finding| finding.class.id().starts_with('B'));
        found.map(|finding| finding.rows.clone()).unwrap_or_default()
    };
    let before = orphan(&scan(&bytes));
    assert!(!before.is_empty() && before[0] > 2, "{before:?}");
    let shifted = [&b"\n"[..], lines[0], lines[1], b"{\"torn\":\n", &lines[2..].concat()].concat();
    let after = scan(&shifted);
    assert_eq!(orphan(&after), before.iter().map(|row| row + 2).collect::<Vec<_>>());
    let torn = after.findings.iter().find(|finding| finding.class.id().starts_with('A'));
    assert_eq!(torn.map(|finding| finding.rows.as_slice()), Some(&[4_u64][..]));
    // Two rows on one line have one number.
    let glued = [lines[0].trim_ascii_end(), lines[1], &lines[2..].concat()].concat();
    let after = scan(&glued);
    assert_eq!(orphan(&after), before.iter().map(|row| row - 1).collect::<Vec<_>>());
}

#[test]
fn repair() {
    for (broken, orphans) in
        [(corrupted(20, &[2]), 1), (corrupted(100, &[50]), 1), (corrupted(100, &[3, 40, 77]), 3)]
    {
        let (whole, plans) = repair_bytes(&broken, Some(SESSION)).unwrap();
        assert_eq!(plans.iter().map(|plan| plan.orphans_fixed).sum::<u64>(), orphans);
        let (before, after) = (scan(&broken), scan(&whole));
        assert_eq!(after.status, Status::Healthy);
        assert_eq!(after.chain_depth, before.message_count, "the chain reaches the root");
        assert_eq!((after.orphan_count, after.message_count), (0, before.message_count));
        // Nothing but `parentUuid` changes, and only in the orphans.
        let rows = |bytes: &[u8]| bytes.split(|b| *b == b'\n').filter_map(parse).collect::<Vec<Value>>();
        let mut changed = 0;
        for (mut old, new) in rows(&broken).into_iter().zip(rows(&whole)) {
            changed += u64::from(old != new);
            old["parentUuid"] = new["parentUuid"].clone();
            assert_eq!(old.to_string(), new.to_string());
        }
        assert_eq!(changed, orphans);
        assert!(repair_bytes(&whole, Some(SESSION)).unwrap().1.is_empty(), "a second repair changes nothing");
    }
    let whole = lines(&healthy(20, 10));
    assert_eq!(repair_bytes(&whole, Some(SESSION)).unwrap().0, whole);
    assert_eq!(repair_bytes(b"", Some(SESSION)).unwrap().0, b"");
}

#[test]
fn large() {
    let mut rows = healthy(600, 10_000);
    rows[300]["parentUuid"] = json!(uuid(999));
    let broken = lines(&rows);
    assert!(broken.len() > 5 << 20);
    check(&broken, (Status::Corrupted, 300, 1, 600));
    check(&repair_bytes(&broken, Some(SESSION)).unwrap().0, (Status::Healthy, 600, 0, 600));
}

fn folder(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}", std::process::id()));
    std::fs::DirBuilder::new().recursive(true).create(&folder).unwrap();
    folder
}

fn put(path: &std::path::Path, bytes: &[u8]) {
    OpenOptions::new().write(true).create(true).truncate(true).open(path).unwrap().write_all(bytes).unwrap();
}

#[test]
fn files() {
    let folder = folder("files");
    let missing = Transcript::open(&folder.join("none.jsonl"), &mut Buffer::default());
    assert_eq!(missing.map(drop).unwrap_err().kind(), ErrorKind::NotFound);
    let directory = Transcript::open(&folder, &mut Buffer::default());
    assert_eq!(directory.map(drop).unwrap_err().kind(), ErrorKind::IsADirectory);
    let device = Transcript::open(std::path::Path::new("/dev/zero"), &mut Buffer::default());
    assert_eq!(device.map(drop).unwrap_err().kind(), ErrorKind::InvalidInput);
    let path = folder.join(format!("{SESSION}.jsonl"));
    put(&path, &corrupted(20, &[2]));
    let (of_file, plan) = Transcript::open(&path, &mut Buffer::default()).unwrap().examine().unwrap();
    assert_eq!((of_file.status, of_file.orphan_count), (Status::Corrupted, 1));
    let mut out = Vec::new();
    let file = OpenOptions::new().read(true).open(&path).unwrap();
    plan.apply(&file, of_file.file_size, &mut out).unwrap();
    assert_eq!(scan(&out).status, Status::Healthy);
}

/// B3: the lost parent is a row of a subagent's file.
#[test]
fn a_parent_in_a_subagents_file() {
    let folder = folder("subagents");
    let path = folder.join(format!("{SESSION}.jsonl"));
    put(&path, &corrupted(20, &[2]));
    let beside = folder.join(SESSION).join("subagents");
    std::fs::DirBuilder::new().recursive(true).create(&beside).unwrap();
    put(
        &beside.join("agent-a1.jsonl"),
        format!("{}\n", json!({"type": "user", "uuid": uuid(902)})).as_bytes(),
    );
    let (scan, plan) = Transcript::open(&path, &mut Buffer::default()).unwrap().examine().unwrap();
    assert!(scan.findings.iter().any(|finding| finding.class == Class::B3), "{:?}", scan.findings);
    assert!(plan.changes.iter().any(|change| change.class == Class::B3 && change.what == "parentUuid"));
}
