//! Measures scanning against reading: `scan_speed make DIR` writes a corpus, `scan_speed scan DIR` scans it.
//!
//! ```text
//! cargo run --release -p transcript --example scan_speed -- make /tmp/corpus
//! cargo run --release -p transcript --example scan_speed -- scan /tmp/corpus
//! ```
//! Both times are CPU time, user and system, of this one thread; the reference reads the same files with `read`.
#![allow(clippy::print_stdout, clippy::disallowed_methods, clippy::unwrap_used, reason = "a tool for people")]

use std::fmt::Write as _;
use std::io::{Read, Write as _};
use std::path::{Path, PathBuf};

/// The corpus: 300 files, 200 B to 20 MB, 600 MB in all, a tenth of them damaged.
const FILES: u64 = 300;
const TOTAL: u64 = 600 << 20;

fn main() {
    let args: Vec<String> = std::env::args().collect();
    match (args.get(1).map(String::as_str), args.get(2)) {
        (Some("make"), Some(folder)) => make(Path::new(folder)),
        (Some("scan"), Some(folder)) => scan(Path::new(folder)),
        _ => println!("scan_speed make|scan DIR"),
    }
}

/// A small generator of numbers: the corpus is the same everywhere.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }
}

fn make(folder: &Path) {
    std::fs::create_dir_all(folder).unwrap();
    let mut dice = Dice(7);
    // Sizes grow geometrically from 200 B to 20 MB, and are then scaled to the total.
    let sizes: Vec<f64> =
        (0..FILES).map(|n| 200.0 * 100_000f64.powf(n as f64 / (FILES - 1) as f64)).collect();
    let scale = TOTAL as f64 / sizes.iter().sum::<f64>();
    for (n, size) in sizes.iter().enumerate() {
        let size = ((size * scale) as usize).clamp(200, 20 << 20);
        let session = format!("5e551000-0000-4000-8000-{n:012x}");
        let mut bytes = conversation(&session, size, &mut dice);
        if n % 10 == 9 {
            damage(&mut bytes, &mut dice);
        }
        std::fs::File::create(folder.join(format!("{session}.jsonl"))).unwrap().write_all(&bytes).unwrap();
    }
}

/// Prompts, replies with tools, results with source code, as long as there is room.
fn conversation(session: &str, size: usize, dice: &mut Dice) -> Vec<u8> {
    let mut out = String::new();
    let mut parent = "null".to_owned();
    let (mut count, mut time) = (0u64, 0u64);
    while out.len() < size {
        for step in ["user", "text", "tool", "result"] {
            count += 1;
            time += 1 + dice.roll(3_000);
            let uuid = format!(
                "{:08x}-{:04x}-4{:03x}-8000-{count:012x}",
                dice.roll(1 << 32),
                dice.roll(65_536),
                dice.roll(4096)
            );
            let words = match step {
                "user" => 20 + dice.roll(60),
                "text" => 30 + dice.roll(200),
                "tool" => 10 + dice.roll(80),
                _ => 20 + dice.roll(1_500),
            };
            let text = prose(words, step == "result", dice);
            let (kind, message) = match step {
                "user" => ("user", format!(r#"{{"role":"user","content":"{text}"}}"#)),
                "text" => ("assistant", reply(count, &format!(r#"{{"type":"text","text":"{text}"}}"#))),
                "tool" => (
                    "assistant",
                    reply(
                        count,
                        &format!(
                            r#"{{"type":"tool_use","id":"toolu_{count}","name":"Edit","input":{{"command":"{text}"}}}}"#
                        ),
                    ),
                ),
                _ => (
                    "user",
                    format!(
                        r#"{{"role":"user","content":[{{"tool_use_id":"toolu_{}","type":"tool_result","content":"{text}"}}]}}"#,
                        count - 1
                    ),
                ),
            };
            let _ = writeln!(
                out,
                r#"{{"parentUuid":{parent},"isSidechain":false,"userType":"external","cwd":"/home/user/project","sessionId":"{session}","version":"2.1.100","gitBranch":"main","type":"{kind}","message":{message},"uuid":"{uuid}","timestamp":"2026-11-{:02}T{:02}:{:02}:{:02}.{:03}Z"}}"#,
                1 + time / 86_400_000 % 28,
                time / 3_600_000 % 24,
                time / 60_000 % 60,
                time / 1_000 % 60,
                time % 1_000
            );
            parent = format!("\"{uuid}\"");
            if out.len() >= size && step != "tool" {
                break;
            }
        }
    }
    out.into_bytes()
}

fn reply(count: u64, block: &str) -> String {
    format!(
        r#"{{"id":"msg_{count}","type":"message","role":"assistant","model":"m","content":[{block}],"stop_reason":null,"usage":{{"input_tokens":{count},"cache_read_input_tokens":100,"output_tokens":5}}}}"#
    )
}

/// Text with an escape every line, as source code in JSON has.
fn prose(words: u64, code: bool, dice: &mut Dice) -> String {
    let mut out = String::new();
    for _ in 0..words {
        out.push_str(
            ["let value = ", "the transcript ", "returns ", "a_longer_identifier ", "foo(bar); ", "überall "]
                [dice.roll(6) as usize],
        );
        if dice.roll(if code { 6 } else { 30 }) == 0 {
            out.push_str(["\\n", "\\\"", "\\n        ", "\\t"][dice.roll(4) as usize]);
        }
    }
    out
}

fn damage(bytes: &mut Vec<u8>, dice: &mut Dice) {
    match dice.roll(4) {
        0 => bytes.truncate(bytes.len() - bytes.len().min(40)),
        1 => {
            // A dangling parent somewhere in the middle.
            let from = bytes.len() / 2;
            if let Some(at) = bytes[from..].windows(14).position(|w| w == b"\"parentUuid\":\"") {
                bytes[from + at + 14] = b'f';
                bytes[from + at + 15] = b'f';
            }
        }
        2 => {
            let at = bytes.iter().position(|b| *b == b'\n').unwrap_or(0);
            bytes.splice(at..=at, vec![0; 512]);
        }
        _ => {
            let at = bytes.len() / 3;
            let end = bytes[at..].iter().position(|b| *b == b'\n').map_or(bytes.len(), |n| at + n + 1);
            bytes.drain(at..end);
        }
    }
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

fn scan(folder: &Path) {
    let files = files(folder);
    for _ in 0..3 {
        let start = cpu();
        let mut block = vec![0; 128 * 1024];
        let mut size = 0;
        for file in &files {
            let mut file = std::fs::File::open(file).unwrap();
            while let Ok(read @ 1..) = file.read(&mut block) {
                size += read;
            }
        }
        let read = cpu() - start;
        let start = cpu();
        let mut buffer = transcript::Buffer::default();
        let (mut rows, mut broken, mut findings) = (0, 0, 0);
        for file in &files {
            let (scan, _) = transcript::Transcript::open(file, &mut buffer).unwrap().examine().unwrap();
            rows += scan.message_count;
            broken += u64::from(scan.status != transcript::Status::Healthy);
            findings += scan.findings.len();
        }
        let scanned = cpu() - start;
        println!(
            "{} files, {} MB, {rows} rows, {broken} broken, {findings} findings: read {read:.3} s, scan {scanned:.3} s, {:.2} times, {:.2} GB/s; peak {} MB",
            files.len(),
            size >> 20,
            scanned / read,
            size as f64 / scanned / 1e9,
            peak()
        );
    }
}

/// CPU seconds of this process, user and system.
fn cpu() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/schedstat").unwrap();
    stat.split(' ').next().unwrap().parse::<f64>().unwrap() / 1e9
}

fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() / 1024
}
