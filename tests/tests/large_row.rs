//! A row of 200 MB is read, mended and shown, in little more memory than the row itself takes.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on panics")]

use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Instant;

use lab::home::Home;
use lab::process::Running;
use lab::rekindle::DEADLINE;
use lab::talk;

const SESSION: &str = "22222222-aaaa-4aaa-8aaa-aaaaaaaaaaaa";
const ROW: u64 = 200 << 20;
const MIB: u64 = 1 << 20;

/// Runs the program and watches its largest memory. It must succeed.
fn peak(home: &Home, words: &[&str]) -> u64 {
    let mut command = home.rekindle_command(words);
    let mut running =
        Running::start(command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null())).unwrap();
    let status = PathBuf::from(format!("/proc/{}/status", running.pid()));
    let (since, mut peak) = (Instant::now(), 0);
    // The kernel keeps the high-water mark, so nothing between two looks is missed but what follows the last.
    loop {
        let text = fs::read_to_string(&status).unwrap_or_default();
        let mark = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let mark = mark.and_then(|mark| mark.trim().strip_suffix(" kB")?.parse::<u64>().ok());
        peak = peak.max(mark.unwrap_or(0) * 1024);
        let gone = mark.is_none();
        if gone {
            assert!(running.wait(DEADLINE).unwrap().unwrap().success(), "{words:?}");
            return peak;
        }
        assert!(since.elapsed() < DEADLINE, "{words:?} hangs");
    }
}

/// A conversation with a dangling parent whose second reply is a row of so many bytes.
fn put(home: &Home, size: u64) -> PathBuf {
    let mut base = talk::dangling(SESSION, &home.project(), 4, 2).unwrap();
    let reply = base.reply(1).unwrap();
    base[reply]["message"]["content"][0]["text"] = "PAYLOAD".into();
    let bytes = String::from_utf8(base.bytes()).unwrap();
    let (head, tail) = bytes.split_once("PAYLOAD").unwrap();
    let path = home.put(SESSION, head.as_bytes()).unwrap();
    let mut file = fs::File::options().append(true).open(&path).unwrap();
    let piece: Vec<u8> = (b' '..=b'~').filter(|byte| !b"\"\\".contains(byte)).cycle().take(1 << 20).collect();
    for _ in 0..size / MIB {
        file.write_all(&piece).unwrap();
    }
    file.write_all(tail.as_bytes()).unwrap();
    drop(file);
    talk::set_age(&path, 3600).unwrap();
    path
}

#[test]
fn a_row_of_200_mb() {
    let home = Home::new().unwrap();
    // docs/benchmarks.md: 64 MB, 64 bytes per row, and the largest row. The first is just over a power of two.
    for row in [130 * MIB, ROW] {
        put(&home, row);
        let scanned = peak(&home, &["scan", SESSION]);
        assert!(scanned < 64 * MIB + row, "a scan took {} MiB", scanned / MIB);
    }
    let path = home.transcript(SESSION);
    let repaired = peak(&home, &["repair", SESSION]);
    assert!(repaired < 64 * MIB + 2 * ROW, "a repair took {} MiB", repaired / MIB);
    let scan = home.scan(SESSION).unwrap();
    assert_eq!((&scan["status"], &scan["messageCount"]), (&"healthy".into(), &8.into()));
    assert!(fs::metadata(&path).unwrap().len() > ROW);
    let findings: Vec<&str> =
        scan["findings"].as_array().unwrap().iter().filter_map(|finding| finding["class"].as_str()).collect();
    assert_eq!(findings, ["A5"]);
    // The row, its text, and the text as it is printed.
    let shown = peak(&home, &["show", SESSION]);
    assert!(shown < 64 * MIB + 4 * ROW, "show took {} MiB", shown / MIB);
}
