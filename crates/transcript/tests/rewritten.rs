//! Files that another program wrote anew (A13): a scan says what they are, a repair gives every row back as it was.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a test may panic, print and write throwaway files"
)]

mod support;

use serde_json::{Value, json};
use support::agents::{AGENTS, reached};
use support::talk::{bytes, talk};
use support::{SESSION, parse};
use transcript::{Buffer, Class, Status, Transcript, repair_bytes};

/// Prompts and replies with words, escapes, characters of every length, and metadata at the end.
fn conversation() -> Vec<Value> {
    let mut rows = talk("uacrauauauau");
    rows[0]["message"]["content"] =
        json!(format!("tok1. {}", "many words of a prompt, again ".repeat(12).trim_end()));
    rows[1]["message"]["content"][0]["text"] = json!(format!(
        "tok2. {} \"quoted\" \\ and a \n newline",
        "gr\u{fc}n \u{1f600} \u{65e5}\u{672c}\u{8a9e} text ".repeat(9)
    ));
    rows[3]["message"]["content"][0]["content"] = json!("0123456789abcdef".repeat(40));
    rows.push(json!({"type": "ai-title", "aiTitle": "A { title } with \"marks\", [brackets]", "sessionId": SESSION}));
    rows.push(json!({"type": "last-prompt", "lastPrompt": "tok11.", "leafUuid": support::uuid(12), "sessionId": SESSION}));
    rows
}

/// Scan and repair of `broken` give exactly `whole` back.
#[track_caller]
fn check(broken: &[u8], whole: &[u8], says: &str) {
    let (scan, plan) = Transcript::of(broken, Some(SESSION)).examine().unwrap();
    assert_eq!(scan.status, Status::Corrupted);
    let finding = scan.findings.iter().find(|finding| finding.class == Class::A13);
    let finding = finding.unwrap_or_else(|| panic!("{says}: {:?}", scan.findings));
    assert!(finding.repair.contains(says), "{}", finding.repair);
    assert_eq!(scan.file_size, broken.len() as u64);
    assert!(!plan.is_empty());
    let (repaired, _) = repair_bytes(broken, Some(SESSION)).unwrap();
    assert!(repaired == whole, "{says}:\n{}", String::from_utf8_lossy(&repaired));
    for agent in AGENTS {
        assert!(reached(agent, broken).is_subset(&reached(agent, &repaired)), "{agent:?}");
    }
}

fn lines(rows: &[Value], line: impl Fn(&Value) -> String, between: &str) -> String {
    rows.iter().map(line).collect::<Vec<_>>().join(between)
}

fn pretty(row: &Value) -> String {
    serde_json::to_string_pretty(row).unwrap()
}

#[test]
fn pretty_printed_rows() {
    let rows = conversation();
    let whole = bytes(&rows);
    check(format!("{}\n", lines(&rows, pretty, "\n")).as_bytes(), &whole, "pretty-printed");
    check(lines(&rows, pretty, "\r\n").replace('\n', "\r\n").as_bytes(), &whole, "pretty-printed");
    // The agent went on behind what an editor had formatted.
    let mixed =
        format!("{}\n{}", lines(&rows[..8], pretty, "\n"), String::from_utf8(bytes(&rows[8..])).unwrap());
    check(mixed.as_bytes(), &whole, "pretty-printed");
}

#[test]
fn one_array() {
    let rows = conversation();
    let whole = bytes(&rows);
    check(Value::from(rows.clone()).to_string().as_bytes(), &whole, "array");
    check(pretty(&Value::from(rows.clone())).as_bytes(), &whole, "array");
    check(format!("[\n{}\n]\n", lines(&rows, Value::to_string, ",\n")).as_bytes(), &whole, "array");
    check(format!("\u{feff}[{}]", lines(&rows, Value::to_string, ",")).as_bytes(), &whole, "array");
}

#[test]
fn utf_16_of_either_order() {
    let rows = conversation();
    let whole = bytes(&rows);
    let text = String::from_utf8(whole.clone()).unwrap();
    let little = |text: &str| text.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>();
    let big = |text: &str| text.encode_utf16().flat_map(u16::to_be_bytes).collect::<Vec<u8>>();
    for mark in ["", "\u{feff}"] {
        check(&little(&format!("{mark}{text}")), &whole, "UTF-16");
        check(&big(&format!("{mark}{text}")), &whole, "UTF-16");
    }
    // What a shell of Windows makes of it.
    let array = format!("\u{feff}{}\r\n", pretty(&Value::from(rows)).replace('\n', "\r\n"));
    check(&little(&array), &whole, "UTF-16");
}

/// Cuts every line behind so many bytes, wherever that is.
fn folded(whole: &[u8], width: usize) -> Vec<u8> {
    let lines = whole.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    lines
        .flat_map(|line| line.chunks(width).collect::<Vec<_>>().join(&b'\n').into_iter().chain([b'\n']))
        .collect()
}

#[test]
fn lines_folded_at_a_width() {
    let whole = bytes(&conversation());
    for width in [20, 72, 80, 120] {
        check(&folded(&whole, width), &whole, "folded");
    }
    // By characters, as editors count.
    let text = String::from_utf8(whole.clone()).unwrap();
    let by_characters = text.lines().map(|line| {
        let line: Vec<char> = line.chars().collect();
        line.chunks(80).map(|part| part.iter().collect::<String>()).collect::<Vec<_>>().join("\n")
    });
    check(by_characters.collect::<Vec<_>>().join("\n").as_bytes(), &whole, "folded");
}

#[test]
fn lines_broken_between_words() {
    let whole = bytes(&conversation());
    let text = String::from_utf8(whole.clone()).unwrap();
    let mut wrapped = String::new();
    for line in text.lines() {
        let mut column = 0;
        for (no, word) in line.split(' ').enumerate() {
            if no > 0 && column + 1 + word.len() > 80 {
                wrapped.push('\n');
                column = 0;
            } else if no > 0 {
                wrapped.push(' ');
                column += 1;
            }
            wrapped.push_str(word);
            column += word.len();
        }
        wrapped.push('\n');
    }
    check(wrapped.as_bytes(), &whole, "folded");
}

#[test]
fn what_is_broken_besides_is_mended_too() {
    let rows = conversation();
    let text = lines(&rows, pretty, "\n");
    // The last row is cut off.
    let cut = &text[..text.len() - 30];
    let (repaired, _) = repair_bytes(cut.as_bytes(), Some(SESSION)).unwrap();
    let back: Vec<Value> = repaired.split(|byte| *byte == b'\n').filter_map(parse).collect();
    assert_eq!(back[..rows.len() - 1], rows[..rows.len() - 1]);
    let mut orphan = rows.clone();
    orphan[4]["parentUuid"] = support::uuid(99).into();
    let (scan, _) = Transcript::of(lines(&orphan, pretty, "\n").as_bytes(), Some(SESSION)).examine().unwrap();
    assert!(scan.findings.iter().any(|finding| finding.class == Class::B1), "{:?}", scan.findings);
    let (repaired, _) = repair_bytes(lines(&orphan, pretty, "\n").as_bytes(), Some(SESSION)).unwrap();
    for agent in AGENTS {
        assert!(reached(agent, &repaired).contains("tok1"), "{agent:?}");
    }
}

/// Torn rows one behind the other are no folded file: halves of two rows never become one.
#[test]
fn torn_rows_stay_torn() {
    let rows = conversation();
    let line = |no: usize| rows[no].to_string();
    let (head, tail) = (line(0), line(8));
    let torn = format!("{}\n{}\n", &head[..head.len() / 2], &tail[tail.find("tok").unwrap()..]);
    let text = format!(
        "{}{torn}{torn}{}",
        String::from_utf8(bytes(&rows[..4])).unwrap(),
        String::from_utf8(bytes(&rows[4..])).unwrap()
    );
    let (scan, _) = Transcript::of(text.as_bytes(), Some(SESSION)).examine().unwrap();
    assert!(!scan.findings.iter().any(|finding| finding.class == Class::A13), "{:?}", scan.findings);
    let (repaired, _) = repair_bytes(text.as_bytes(), Some(SESSION)).unwrap();
    assert!(repaired == bytes(&rows), "{}", String::from_utf8_lossy(&repaired));
}

/// Rows are read one at a time: an index of a rewritten file finds each row where it stands.
#[test]
fn a_rewritten_file_can_be_read_without_a_repair() {
    let rows = conversation();
    let folder = std::path::PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("rewritten");
    std::fs::DirBuilder::new().recursive(true).create(&folder).unwrap();
    let path = folder.join(format!("{SESSION}.jsonl"));
    let text = pretty(&Value::from(rows));
    std::fs::write(&path, text.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>()).unwrap();
    let opened = Transcript::open(&path, &mut Buffer::default()).unwrap();
    let mut said = Vec::new();
    opened
        .conversation(|utterance| {
            said.push(utterance.text);
            true
        })
        .unwrap();
    assert!(said.iter().any(|text| text.contains("gr\u{fc}n \u{1f600}")), "{said:?}");
    let (scan, plan) = opened.examine().unwrap();
    let mut out = Vec::new();
    plan.apply(opened.file(), scan.file_size, &mut out).unwrap();
    assert_eq!(Transcript::of(&out, Some(SESSION)).examine().unwrap().0.status, Status::Healthy);
}
