//! Rows of a shape that some agent cannot read, each beside the look-alike that every agent reads.
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
use support::talk::{bytes, row, talk};
use support::{SESSION, parse, show, timestamp, uuid};
use transcript::{Class, Plan, Status, Transcript, repair_bytes};

/// The rows of the repaired file. A scan names `class`, and afterwards every agent reaches these tokens.
#[track_caller]
fn mended(rows: &[Value], class: Class, reach: &[usize]) -> Vec<Value> {
    let broken = bytes(rows);
    let (scan, _) = Transcript::of(&broken, Some(SESSION)).examine().unwrap();
    assert_eq!(scan.status, Status::Corrupted);
    assert!(scan.findings.iter().any(|finding| finding.class == class), "{:?}", scan.findings);
    let (whole, _) = repair_bytes(&broken, Some(SESSION)).unwrap();
    assert!(rest(&whole).is_empty(), "a second repair changes {:?}", rest(&whole).changes);
    for agent in AGENTS {
        let reached = reached(agent, &whole);
        for token in reach {
            assert!(reached.contains(&format!("tok{token}")), "{agent:?} misses {token}\n{}", show(&whole));
        }
    }
    whole.split(|byte| *byte == b'\n').filter_map(parse).collect()
}

fn rest(bytes: &[u8]) -> Plan {
    Transcript::of(bytes, Some(SESSION)).examine().unwrap().1
}

/// The file is healthy, and a repair changes nothing.
#[track_caller]
fn healthy(rows: &[Value]) {
    let (scan, plan) = Transcript::of(&bytes(rows), Some(SESSION)).examine().unwrap();
    assert!(plan.is_empty(), "{:?}", plan.changes);
    assert_eq!(scan.status, Status::Healthy);
}

fn without(mut row: Value, key: &str) -> Value {
    row.as_object_mut().unwrap().remove(key);
    row
}

#[test]
fn a_row_without_a_type_gets_the_one_that_its_role_tells() {
    for at in 0..4 {
        for missing in [true, false] {
            let mut rows = talk("uaua");
            let kind = rows[at]["type"].clone();
            if missing {
                rows[at] = without(rows[at].clone(), "type");
            } else {
                rows[at]["type"] = Value::Null;
            }
            let whole = mended(&rows, Class::A8, &[1, 2, 3, 4]);
            assert_eq!(whole[at]["type"], kind);
            assert_eq!(whole, talk("uaua"));
        }
    }
    // A newer agent's index of large files expects the first key where the agent writes it.
    let mut rows = talk("uaua");
    rows[2] = without(rows[2].clone(), "type");
    let (whole, _) = repair_bytes(&bytes(&rows), Some(SESSION)).unwrap();
    let line = whole.split(|byte| *byte == b'\n').nth(2).unwrap();
    let keys = |line: &[u8]| String::from_utf8_lossy(line)[..14].to_owned();
    assert_eq!(keys(line), keys(bytes(&rows[2..3]).split(|byte| *byte == b'\n').next().unwrap()));
}

#[test]
fn a_row_without_a_type_that_no_agent_links_stays() {
    let mut rows = talk("uaua");
    // Neither a uuid nor a place in the tree: no turn of this conversation.
    rows.push(json!({"message": {"role": "user", "content": "tok9."}, "sessionId": SESSION}));
    healthy(&rows);
    let mut rows = talk("uaua");
    rows.push(json!({"uuid": uuid(9), "parentUuid": uuid(4), "sessionId": SESSION, "timestamp": timestamp(600_000), "data": 1}));
    healthy(&rows);
}

#[test]
fn times_that_every_agent_reads_stay() {
    let shapes: [fn(&str) -> String; 8] = [
        |time| time.trim_end_matches('Z').to_owned(),
        |time| time.replace('Z', "+0000"),
        |time| time.replace('T', " "),
        |time| time.replace('T', " ").replace('Z', ""),
        |time| time.replace('T', " ").replace('Z', " +0000"),
        |time| time.replace('Z', "-02:00"),
        |time| time.replace('Z', "-0200"),
        |time| time[..19].to_owned() + "Z",
    ];
    for shape in shapes {
        let mut rows = talk("uaua");
        for row in &mut rows {
            row["timestamp"] = shape(row["timestamp"].as_str().unwrap()).into();
        }
        println!("{}", rows[0]["timestamp"]);
        healthy(&rows);
    }
    let mut rows = talk("uaua");
    rows[3]["timestamp"] = "yesterday".into();
    let whole = mended(&rows, Class::A12, &[1, 2, 3, 4]);
    assert_eq!(whole[2]["timestamp"], rows[2]["timestamp"], "the other rows keep their times");
}

#[test]
fn a_sidechain_row_that_follows_a_row_of_a_subagents_file_is_healthy() {
    let folder = std::path::PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("sidechain");
    let subagents = folder.join(SESSION).join("subagents");
    std::fs::DirBuilder::new().recursive(true).create(&subagents).unwrap();
    let lost = json!({"type": "user", "uuid": uuid(77), "sessionId": SESSION});
    std::fs::write(subagents.join("agent-a1.jsonl"), format!("{lost}\n")).unwrap();
    let mut rows = talk("uaua");
    let mut aside = row(
        9,
        Some(uuid(77).into()),
        "assistant",
        json!({"id": "msg_s", "role": "assistant", "content": [{"type": "text", "text": "tok9."}]}),
    );
    aside["isSidechain"] = true.into();
    aside["timestamp"] = timestamp(150_000).into();
    rows.insert(2, aside);
    let path = folder.join(format!("{SESSION}.jsonl"));
    std::fs::write(&path, bytes(&rows)).unwrap();
    let (scan, plan) =
        Transcript::open(&path, &mut transcript::Buffer::default()).unwrap().examine().unwrap();
    assert_eq!((scan.status, scan.orphan_count), (Status::Healthy, 0), "{:?}", scan.findings);
    assert!(plan.is_empty(), "{:?}", plan.changes);
}

#[test]
fn a_reply_of_one_text_becomes_a_block() {
    let mut rows = talk("uaua");
    rows[1]["message"]["content"] = "tok2. \"said\"".into();
    let whole = mended(&rows, Class::A8, &[1, 2, 3, 4]);
    assert_eq!(whole[1]["message"]["content"], json!([{"type": "text", "text": "tok2. \"said\""}]));
    // A prompt of one text is what agents write.
    healthy(&talk("uaua"));
}

#[test]
fn a_tools_result_that_is_no_text_becomes_one() {
    let cases = [
        (json!(7), json!("7")),
        (json!(true), json!("true")),
        (json!({"a": [1, "b"]}), json!("{\"a\":[1,\"b\"]}")),
        (json!(["x", null]), json!([{"type": "text", "text": "x"}])),
        (
            json!([{"type": "text", "text": "x"}, 5]),
            json!([{"type": "text", "text": "x"}, {"type": "text", "text": "5"}]),
        ),
    ];
    for (output, expect) in cases {
        let mut rows = talk("ucrau");
        rows[2]["message"]["content"][0]["content"] = output;
        let whole = mended(&rows, Class::A8, &[1, 4, 5]);
        assert_eq!(whole[2]["message"]["content"][0]["content"], expect);
    }
    for output in [json!("done"), json!(""), json!(null), json!([]), json!([{"type": "text", "text": "x"}])] {
        let mut rows = talk("ucrau");
        rows[2]["message"]["content"][0]["content"] = output;
        healthy(&rows);
    }
}

#[test]
fn a_text_that_is_no_text_becomes_one() {
    let mut rows = talk("uaua");
    rows[1]["message"]["content"][0]["text"] = json!(7);
    let whole = mended(&rows, Class::A8, &[1, 3, 4]);
    assert_eq!(whole[1]["message"]["content"], json!([{"type": "text", "text": "7"}]));
}

#[test]
fn an_attachment_without_what_its_kind_needs_goes_aside() {
    let attached = |attachment: &Value| {
        let mut rows = talk("uaua");
        let mut row = row(9, Some(uuid(2).into()), "attachment", Value::Null);
        row = without(row, "message");
        row["attachment"] = attachment.clone();
        row["timestamp"] = timestamp(150_000).into();
        rows[2]["parentUuid"] = uuid(9).into();
        rows.insert(2, row);
        rows
    };
    let broken = [
        json!(null),
        json!({"type": "file", "filename": "/x"}),
        json!({"type": "file", "filename": "/x", "content": null}),
        json!({"type": "hook_additional_context"}),
        json!({"type": "hook_additional_context", "content": "text"}),
        json!({"type": "hook_blocking_error"}),
        json!({"type": "async_hook_response"}),
        json!({"type": "todo_reminder"}),
        json!({"type": "todo_reminder", "content": [null]}),
        json!({"type": "task_reminder"}),
        json!({"type": "selected_lines_in_ide"}),
        json!({"type": "invoked_skills"}),
        json!({"type": "nested_memory"}),
        json!({"type": "relevant_memories"}),
        json!({"type": "diagnostics"}),
        json!({"type": "diagnostics", "files": [{}]}),
        json!({"type": "relevant_memories", "memories": [{"content": "x"}]}),
        json!({"type": "deferred_tools_delta", "addedLines": []}),
        json!({"type": "agent_listing_delta", "removedTypes": []}),
        json!({"type": "mcp_instructions_delta"}),
    ];
    for attachment in &broken {
        println!("{attachment}");
        let whole = mended(&attached(attachment), Class::A8, &[1, 2, 3, 4]);
        assert_eq!(whole, talk("uaua"));
    }
    let whole = [
        json!({"type": "file", "filename": "/x", "content": {"type": "text"}}),
        json!({"type": "hook_additional_context", "content": []}),
        json!({"type": "hook_success"}),
        json!({"type": "todo_reminder", "content": []}),
        json!({"type": "todo"}),
        json!({"type": "diagnostics", "files": [{"uri": "file:///x", "diagnostics": []}]}),
        json!({"type": "relevant_memories", "memories": [{"path": "/x", "content": "x"}]}),
        json!({"type": "deferred_tools_delta", "addedLines": [], "removedNames": []}),
        json!({"type": "invented_tomorrow"}),
        json!({}),
    ];
    for attachment in &whole {
        println!("{attachment}");
        healthy(&attached(attachment));
    }
}
