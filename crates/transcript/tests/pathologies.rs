//! Files that are large or strange must not take minutes: each of these took quadratic time in some draft.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a test may panic and print"
)]

mod support;

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use support::{SESSION, timestamp, uuid};
use transcript::{MOST_ROUNDS, repair_bytes};

/// Enough rows that quadratic work takes minutes, few enough for a debug build.
const ROWS: usize = 20_000;
/// Linear work takes about a second in a debug build on a busy machine.
const LIMIT: Duration = Duration::from_secs(40);

/// What no agent writes may take longer, if it ends.
const STRANGE_ROWS: usize = 3_000;

/// A conversation of `ROWS` rows; `edit` may change the parent and the id of each, or leave it out.
fn conversation(edit: impl Fn(usize, &mut String, &mut String) -> bool) -> Vec<u8> {
    let mut out = String::new();
    for n in 1..=ROWS {
        let mut parent = if n == 1 { "null".to_owned() } else { format!("\"{}\"", uuid(n - 1)) };
        let mut id = uuid(n);
        if !edit(n, &mut parent, &mut id) {
            continue;
        }
        let time = timestamp(i64::try_from(n).unwrap() * 1000);
        let (kind, message) = if n % 2 == 1 {
            ("user", format!(r#"{{"role":"user","content":"ask {n}"}}"#))
        } else {
            (
                "assistant",
                format!(
                    r#"{{"id":"msg_{n}","role":"assistant","content":[{{"type":"text","text":"reply {n}"}}]}}"#
                ),
            )
        };
        let _ = writeln!(
            out,
            r#"{{"parentUuid":{parent},"isSidechain":false,"type":"{kind}","sessionId":"{SESSION}","message":{message},"uuid":"{id}","timestamp":"{time}"}}"#
        );
    }
    out.into_bytes()
}

#[track_caller]
fn ends(name: &str, bytes: &[u8]) {
    let start = Instant::now();
    let (whole, plans) = repair_bytes(bytes, Some(SESSION)).unwrap();
    let took = start.elapsed();
    println!("{name}: {} MB, {} rounds, {took:?}", bytes.len() >> 20, plans.len());
    assert!(plans.len() < MOST_ROUNDS, "{name} does not end");
    assert!(took < LIMIT, "{name} took {took:?}");
    assert!(!whole.is_empty());
}

#[test]
fn many_orphans() {
    ends(
        "orphans",
        &conversation(|n, parent, _| {
            if n % 4 == 0 {
                *parent = format!("\"{}\"", uuid(900_000 + n));
            }
            true
        }),
    );
}

#[test]
fn many_lost_rows() {
    ends("lost", &conversation(|n, _, _| n % 4 != 0));
}

#[test]
fn many_copies() {
    ends(
        "copies",
        &conversation(|n, _, id| {
            if n % 4 == 0 {
                *id = uuid(n - 2);
            }
            true
        }),
    );
}

#[test]
fn one_id_on_every_row() {
    ends(
        "one id",
        &conversation(|n, _, id| {
            if n % 2 == 0 {
                *id = uuid(2);
            }
            true
        }),
    );
}

#[test]
fn many_false_roots() {
    ends(
        "roots",
        &conversation(|n, parent, _| {
            if n % 4 == 1 {
                *parent = "null".to_owned();
            }
            true
        }),
    );
}

#[test]
fn every_parent_stands_behind_its_child() {
    ends(
        "backwards",
        &conversation(|n, parent, _| {
            *parent = if n == STRANGE_ROWS { "null".to_owned() } else { format!("\"{}\"", uuid(n + 1)) };
            n <= STRANGE_ROWS
        }),
    );
}

#[test]
fn many_orphans_and_one_child_before_its_parent() {
    let file = conversation(|n, parent, _| {
        if n % 3 == 0 {
            *parent = format!("\"{}\"", uuid(900_000 + n));
        }
        true
    });
    let mut lines: Vec<&[u8]> = file.split_inclusive(|byte| *byte == b'\n').collect();
    lines.swap(3, 4);
    ends("orphans behind a child before its parent", &lines.concat());
}

#[test]
fn many_rings() {
    ends(
        "rings",
        &conversation(|n, parent, _| {
            if n % 8 == 1 {
                *parent = format!("\"{}\"", uuid(n + 7));
            }
            true
        }),
    );
}

#[test]
fn many_foreign_ids() {
    ends(
        "foreign",
        &conversation(|n, parent, id| {
            if n > 1 {
                *parent = format!("\"row-{}\"", n - 1);
            }
            *id = format!("row-{n}");
            true
        }),
    );
}

#[test]
fn one_row_has_all_children() {
    ends(
        "star",
        &conversation(|n, parent, _| {
            if n > 1 {
                *parent = format!("\"{}\"", uuid(1));
            }
            true
        }),
    );
}

#[test]
fn many_emptied_rows_and_open_calls() {
    let text = String::from_utf8(conversation(|_, _, _| true)).unwrap();
    let empty: String = text
        .lines()
        .enumerate()
        .map(|(n, line)| match n % 8 {
            1 => line.replace(&format!("reply {}", n + 1), "") + "\n",
            3 => {
                line.replace(r#""type":"text","text":""#, r#""type":"tool_use","name":"x","input":{},"id":""#)
                    + "\n"
            }
            4 => {
                line.replace(
                    &format!("\"ask {}\"", n + 1),
                    r#"[{"type":"tool_result","tool_use_id":"lost"}]"#,
                ) + "\n"
            }
            _ => line.to_owned() + "\n",
        })
        .collect();
    ends("emptied", empty.as_bytes());
}

#[test]
fn many_stop_hooks_and_broken_lines() {
    let text = String::from_utf8(conversation(|_, _, _| true)).unwrap();
    let mut out = String::new();
    for (n, line) in text.lines().enumerate() {
        out.push_str(line);
        out.push_str(if n % 5 == 0 { "\0\0\n" } else { "\n" });
        if n % 4 == 1 {
            let time = timestamp(i64::try_from(n).unwrap() * 1000 + 500);
            let _ = writeln!(
                out,
                r#"{{"parentUuid":"{}","isSidechain":false,"type":"system","subtype":"stop_hook_summary","sessionId":"{SESSION}","uuid":"{}","timestamp":"{time}"}}"#,
                uuid(n),
                uuid(800_000 + n)
            );
        }
    }
    ends("hooks", out.as_bytes());
}

#[test]
fn a_row_of_fifty_megabytes_and_a_deep_one() {
    let mut bytes = conversation(|n, _, _| n < 5);
    let row = format!(
        r#"{{"parentUuid":"{}","type":"user","sessionId":"{SESSION}","message":{{"role":"user","content":"{}"}},"uuid":"{}","timestamp":"bad"}}"#,
        uuid(99),
        "x\\n".repeat(17 << 20),
        uuid(7)
    );
    bytes.extend(row.into_bytes());
    bytes.push(b'\n');
    let deep = format!(
        r#"{{"parentUuid":"{}","type":"user","sessionId":"{SESSION}","deep":{}{},"message":{{"role":"user","content":""}},"uuid":"{}","timestamp":"bad"}}"#,
        uuid(98),
        "[".repeat(200_000),
        "]".repeat(200_000),
        uuid(8)
    );
    bytes.extend(deep.into_bytes());
    bytes.extend(vec![b'{'; 1 << 20]);
    ends("large", &bytes);
}
