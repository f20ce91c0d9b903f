//! The row reader takes exactly what `JSON.parse(buffer.toString("utf8"))` takes, by asking Node itself.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a test may panic and print"
)]

use std::io::{Read, Write};
use std::process::{Command, Stdio};

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

/// Answers each length-prefixed text on stdin with one byte, `1` where it parses.
const ORACLE: &str = r#"
const all = require("fs").readFileSync(0);
let at = 0, answers = "";
while (at < all.length) {
  const size = all.readUInt32LE(at); at += 4;
  try { JSON.parse(all.subarray(at, at + size).toString("utf8")); answers += "1"; } catch { answers += "0"; }
  at += size;
}
process.stdout.write(answers);
"#;

fn node(texts: &[Vec<u8>]) -> Vec<u8> {
    let mut child = Command::new("node")
        .args(["--stack-size=60000", "-e", ORACLE])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("Node is one of the project's prerequisites");
    let mut input = Vec::new();
    for text in texts {
        input.extend(u32::try_from(text.len()).unwrap().to_le_bytes());
        input.extend_from_slice(text);
    }
    child.stdin.take().unwrap().write_all(&input).unwrap();
    let mut answers = Vec::new();
    child.stdout.take().unwrap().read_to_end(&mut answers).unwrap();
    assert!(child.wait().unwrap().success());
    answers
}

/// What is known to divide readers.
fn hard_cases() -> Vec<Vec<u8>> {
    let mut cases: Vec<Vec<u8>> = [
        "",
        " ",
        "null",
        "nul",
        "nulll",
        "true",
        "false",
        "tru",
        "0",
        "-0",
        "-",
        "00",
        "01",
        "1.",
        ".5",
        "1.5",
        "1e400",
        "-1e400",
        "1e",
        "1e+",
        "1E-7",
        "+1",
        "0x10",
        "NaN",
        "Infinity",
        "1 2",
        "[]",
        "[1,]",
        "[,1]",
        "[1 2]",
        "{}",
        "{\"a\":1,}",
        "{,}",
        "{\"a\"}",
        "{\"a\":}",
        "{a:1}",
        "{\"a\":1,\"a\":2}",
        "{'a':1}",
        "\"\\ud83d\"",
        "\"\\ude00\\ud83d\"",
        "\"\\ud83d\\ude00\"",
        "\"\\uD83D\"",
        "\"\\u12\"",
        "\"\\u12g4\"",
        "\"\\x\"",
        "\"\\/\"",
        "\"\\b\\f\\n\\r\\t\"",
        "\"a\tb\"",
        "\"a\nb\"",
        "\"\u{7f}\"",
        "\"\u{2028}\u{2029}\"",
        "\u{feff}{}",
        "{}\u{feff}",
        "\u{a0}{}",
        "{}\0",
        "\0{}",
        "\"\0\"",
        "{}{}",
        "{} x",
        "\r\n\t {} \r\n\t",
        "\u{b}{}",
        "\u{c}{}",
        "[\"",
        "\"\\",
        "\"\\\"",
        "//x\n1",
        "/**/1",
        "\"\\u0000\"",
        "{\"\\u0061\":1}",
        "[[[[]]]]",
        "[[[[]]]",
        "{\"a\":{\"b\":[{}]}}",
    ]
    .iter()
    .map(|text| text.as_bytes().to_vec())
    .collect();
    for bytes in [
        &b"\"\xff\xfe\""[..],
        b"\"\xc3\"",
        b"\"\xed\xa0\x80\"",
        b"\"\xf0\x9f\x98\"",
        b"\xff",
        b"{\"\xff\":1}",
        b"{\"a\":1}\xff",
        b"\xef\xbb\xbf{}",
        b"\xef\xbb{}",
    ] {
        cases.push(bytes.to_vec());
    }
    for depth in [63, 64, 65, 127, 128, 129, 1_000, 4_000] {
        cases.push([vec![b'['; depth], vec![b']'; depth]].concat());
        cases.push([vec![b'['; depth], vec![b']'; depth - 1]].concat());
        cases.push([b"{\"a\":".repeat(depth), b"1".to_vec(), vec![b'}'; depth]].concat());
        cases.push([b"[{\"a\":".repeat(depth), b"1".to_vec(), b"}]".repeat(depth)].concat());
    }
    // Every place where a string's end, an escape or a control character can fall in a step of the wide reader.
    for length in 0..140 {
        for tail in ["\"", "\\\"", "\\\\\"", "\\", "\\u00e9\"", "\u{1}\"", "\\ud83d\\ude00\"", "é\"", ""] {
            cases.push(format!("\"{}{tail}", "x".repeat(length)).into_bytes());
            cases.push(format!("[\"{}{tail},1]", "\\n".repeat(length)).into_bytes());
        }
    }
    cases
}

fn json() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just("null".to_owned()),
        Just("true".to_owned()),
        any::<f64>().prop_map(|n| if n.is_finite() { n.to_string() } else { "1e999".to_owned() }),
        any::<String>().prop_map(|text| serde_json::Value::from(text).to_string()),
        "\"([a-z ]|\\\\n|\\\\u[0-9a-fA-F]{4}){0,80}\"",
    ];
    leaf.prop_recursive(5, 60, 6, |inner| {
        let pair = ("[a-z]{0,4}", inner.clone()).prop_map(|(key, value)| format!("\"{key}\" :{value}"));
        prop_oneof![
            prop::collection::vec(inner, 0..6).prop_map(|items| format!("[{}]", items.join(", "))),
            prop::collection::vec(pair, 0..6).prop_map(|members| format!("{{{}}}", members.join(","))),
        ]
    })
}

/// A valid text with a few bytes changed, lost, doubled or moved.
fn mutated() -> impl Strategy<Value = Vec<u8>> {
    let change = (
        0..4u8,
        any::<prop::sample::Index>(),
        any::<u8>(),
        prop::sample::select(&b"\"\\{}[],:\0\n\xff\xc3 e0-u"[..]),
    );
    (json(), prop::collection::vec(change, 0..4)).prop_map(|(text, changes)| {
        let mut bytes = text.into_bytes();
        for (how, place, any, likely) in changes {
            if bytes.is_empty() {
                break;
            }
            let at = place.index(bytes.len());
            match how {
                0 => bytes[at] = likely,
                1 => bytes[at] = any,
                2 => bytes.truncate(at),
                _ => bytes.insert(at, likely),
            }
        }
        bytes
    })
}

#[test]
fn row_reader_agrees_with_node() {
    let mut runner = TestRunner::deterministic();
    let mut texts = hard_cases();
    for _ in 0..4_000 {
        texts.push(mutated().new_tree(&mut runner).unwrap().current());
    }
    for _ in 0..1_000 {
        texts.push(prop::collection::vec(any::<u8>(), 0..40).new_tree(&mut runner).unwrap().current());
    }
    let answers = node(&texts);
    assert_eq!(answers.len(), texts.len());
    let valid = answers.iter().filter(|answer| **answer == b'1').count();
    assert!(
        valid > 1_000 && valid < texts.len() - 1_000,
        "{valid} of {} are valid: the mix says too little",
        texts.len()
    );
    for (text, answer) in texts.iter().zip(answers) {
        let shown = String::from_utf8_lossy(&text[..text.len().min(200)]);
        assert_eq!(
            transcript::json::parses(text),
            answer == b'1',
            "Node says {} to {shown:?} {text:x?}",
            char::from(answer)
        );
    }
}
