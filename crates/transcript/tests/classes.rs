//! One small file for every class of damage that a repair of the file mends: what is found, and what changes.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a test may panic and print"
)]

mod support;

use std::collections::BTreeSet;
use std::sync::Mutex;

use serde_json::{Value, json};
use support::agents::{AGENTS, Agent, reached, resume};
use support::talk::{bytes, row, talk};
use support::{SESSION, api, timestamp, uuid};
use transcript::{Class, Recipe, Status, Transcript, repair_bytes};

static SEEN: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());

/// The class is found, `what` of some row changes because of it, and all agents then reach every `token`.
#[track_caller]
fn check(broken: &[u8], class: Class, what: &str, tokens: &[usize]) -> Vec<u8> {
    let (scan, plan) = Transcript::of(broken, Some(SESSION)).examine().unwrap();
    assert!(scan.findings.iter().any(|f| f.class == class && f.count > 0), "{:?}", scan.findings);
    assert_eq!(scan.status, Status::Corrupted);
    assert!(plan.changes.iter().any(|c| c.class == class && c.what == what), "{:?}", plan.changes);
    let (whole, plans) = repair_bytes(broken, Some(SESSION)).unwrap();
    assert!(plans.len() <= 2, "{} rounds", plans.len());
    for agent in AGENTS {
        let reached = reached(agent, &whole);
        for token in tokens {
            assert!(
                reached.contains(&format!("tok{token}")),
                "{agent:?} misses tok{token}\n{}",
                support::show(&whole)
            );
        }
    }
    assert_eq!(api::refusal(&resume(Agent::A, &whole)), None, "\n{}", support::show(&whole));
    SEEN.lock().unwrap().insert(class.id());
    whole
}

fn edited(kinds: &str, edit: impl FnOnce(&mut Vec<Value>)) -> Vec<u8> {
    let mut rows = talk(kinds);
    edit(&mut rows);
    bytes(&rows)
}

fn bytes_edited(kinds: &str, edit: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut all = bytes(&talk(kinds));
    edit(&mut all);
    all
}

fn bytes_classes() {
    let pretty: Vec<String> =
        talk("uaua").iter().map(|row| serde_json::to_string_pretty(row).unwrap()).collect();
    check(pretty.join("\n").as_bytes(), Class::A13, "file", &[1, 2, 3, 4]);
    let torn = bytes_edited("uaua", |all| all.truncate(all.len() - 9));
    check(&torn, Class::A1, "line", &[1, 2, 3]);
    let open = bytes_edited("uaua", |all| all.truncate(all.len() - 1));
    check(&open, Class::A1, "newline", &[1, 2, 3, 4]);
    let mut lines: Vec<Vec<u8>> = talk("uauaua").iter().map(|row| row.to_string().into_bytes()).collect();
    let next = lines.remove(3);
    lines[2] = [&lines[2][..20], &next].concat();
    check(&[lines.join(&b'\n'), b"\n".to_vec()].concat(), Class::A2, "line", &[1, 2, 4, 5, 6]);
    let glued = bytes_edited("uaua", |all| {
        let at = all.iter().position(|b| *b == b'\n').unwrap();
        all.remove(at);
    });
    check(&glued, Class::A3, "line", &[1, 2, 3, 4]);
    let nul = bytes_edited("uaua", |all| {
        let at = all.iter().position(|b| *b == b'\n').unwrap();
        all.splice(at + 1..at + 1, vec![0; 300]);
    });
    check(&nul, Class::A4, "line", &[1, 2, 3, 4]);
}

fn row_classes() {
    for bad in [
        Value::Null,
        json!(5),
        json!({"role": "user", "content": null}),
        json!({"role": "user", "content": [null]}),
    ] {
        check(&edited("uaua", |rows| rows[2]["message"] = bad), Class::A8, "message", &[1, 2, 4]);
    }
    check(
        &edited("ucraua", |rows| rows[1]["message"]["content"][0]["input"] = json!("x")),
        Class::A8,
        "message",
        &[1, 4, 5, 6],
    );
    check(
        &edited("uaua", |rows| rows[3]["message"]["content"][0]["text"] = json!("tok4. HALF")),
        Class::A9,
        "message",
        &[1, 2, 3, 4],
    );
    check(&edited("uaua", |rows| rows.insert(3, rows[2].clone())), Class::A11, "", &[1, 2, 3, 4]);
    for bad in [json!("yesterday"), json!(1), Value::Null] {
        check(&edited("uaua", |rows| rows[3]["timestamp"] = bad), Class::A12, "timestamp", &[1, 2, 3, 4]);
    }
}

fn tree_classes() {
    check(
        &edited("uauaua", |rows| rows[4]["parentUuid"] = json!(uuid(99))),
        Class::B1,
        "parentUuid",
        &[1, 2, 3, 4, 5, 6],
    );
    let through = edited("uaua", |rows| {
        let mut progress = row(9, Some(json!(uuid(2))), "progress", Value::Null);
        progress["uuid"] = json!(uuid(9));
        rows[2]["parentUuid"] = json!(uuid(9));
        rows.insert(3, progress);
    });
    check(&through, Class::B2, "parentUuid", &[1, 2, 3, 4]);
    let hook = edited("uaua", |rows| {
        rows.insert(2, json!({"parentUuid": uuid(77), "isSidechain": false, "type": "system", "subtype": "stop_hook_summary", "sessionId": SESSION, "uuid": uuid(8), "timestamp": timestamp(121_000)}));
        rows[3]["parentUuid"] = json!(uuid(8));
    });
    check(&hook, Class::B4, "parentUuid", &[1, 2, 3, 4]);
    check(
        &edited("uauaua", |rows| rows[2]["parentUuid"] = json!(uuid(5))),
        Class::B5,
        "parentUuid",
        &[1, 2, 3, 4, 5, 6],
    );
    check(
        &edited("uauaua", |rows| rows[2]["parentUuid"] = json!(uuid(3))),
        Class::B5,
        "parentUuid",
        &[1, 2, 3, 4, 5, 6],
    );
    let copy = edited("uauaua", |rows| {
        let mut copy = rows[1].clone();
        copy["parentUuid"] = Value::Null;
        rows.push(copy);
    });
    check(&copy, Class::B6, "", &[1, 2, 3, 4, 5, 6]);
    let stale = edited("uauau", |rows| {
        rows[4]["message"]["content"] = json!("Continue from where you left off.");
        rows[4]["isMeta"] = json!(true);
        rows[4]["parentUuid"] = json!(uuid(1));
    });
    check(&stale, Class::B7, "parentUuid", &[1, 2, 3, 4]);
    let late = edited("ucraua", |rows| {
        let mut late = row(9, Some(json!(uuid(2))), "user", rows[2]["message"].clone());
        late["uuid"] = json!(uuid(9));
        rows.push(late);
    });
    check(&late, Class::B7, "", &[1, 4, 5, 6]);
    check(
        &edited("uauaua", |rows| rows[1]["timestamp"] = json!("2030-01-01T00:00:00.000Z")),
        Class::B8,
        "timestamp",
        &[1, 2, 3, 4, 5, 6],
    );
    let elsewhere = edited("uauaua", |rows| {
        rows[4]["parentUuid"] = json!(uuid(2));
        rows.push(json!({"type": "last-prompt", "leafUuid": uuid(4), "sessionId": SESSION}));
    });
    check(&elsewhere, Class::B8, "leafUuid", &[1, 2, 5, 6]);
    let summary = edited("uauaua", |rows| {
        let boundary = json!({"parentUuid": null, "isSidechain": false, "type": "system", "subtype": "compact_boundary", "sessionId": SESSION, "uuid": uuid(8), "timestamp": timestamp(121_000), "compactMetadata": {}});
        rows[2]["isCompactSummary"] = json!(true);
        rows[2]["parentUuid"] = json!(uuid(8));
        rows[3]["parentUuid"] = json!(uuid(99));
        rows.insert(2, boundary);
    });
    check(&summary, Class::B9, "parentUuid", &[3, 4, 5, 6]);
    check(
        &edited("uauaua", |rows| rows[4]["parentUuid"] = Value::Null),
        Class::B12,
        "parentUuid",
        &[1, 2, 3, 4, 5, 6],
    );
    let no_key = edited("uaua", |rows| drop(rows[2].as_object_mut().unwrap().shift_remove("parentUuid")));
    check(&no_key, Class::B13, "parentUuid", &[1, 2, 3, 4]);
    let foreign = edited("uaua", |rows| {
        rows[1]["uuid"] = json!("row-2");
        rows[2]["parentUuid"] = json!("row-2");
    });
    check(&foreign, Class::B14, "uuid", &[1, 2, 3, 4]);
}

fn order_classes() {
    let turned = edited("uauaua", |rows| {
        rows.insert(2, json!({"type": "last-prompt", "leafUuid": uuid(2), "sessionId": SESSION}));
        rows.push(json!({"type": "last-prompt", "leafUuid": uuid(6), "sessionId": SESSION}));
        rows.reverse();
    });
    check(&turned, Class::B15, "place", &[1, 2, 3, 4, 5, 6]);
    let appended = edited("uauaua", |rows| {
        for row in &mut rows[4..] {
            row["sessionId"] = json!("0bad5e55-0000-4000-8000-000000000002");
        }
        rows[4]["parentUuid"] = Value::Null;
    });
    check(&appended, Class::B16, "", &[1, 2, 3, 4]);
}

fn request_classes() {
    let lost_result = edited("ucraua", |rows| {
        rows[3]["parentUuid"] = json!(uuid(2));
        rows.remove(2);
    });
    check(&lost_result, Class::C1, "", &[1, 4, 5, 6]);
    let lost_call = edited("ucraua", |rows| drop(rows.remove(1)));
    check(&lost_call, Class::C2, "", &[1, 4, 5, 6]);
    let twice = edited("ucracra", |rows| {
        rows[4]["message"]["content"][0]["id"] = json!("toolu_2");
        rows[5]["message"]["content"][0]["tool_use_id"] = json!("toolu_2");
    });
    check(&twice, Class::C3, "", &[1, 4, 7]);
    for block in [
        json!({"type": "thinking", "thinking": "", "signature": "QUJD"}),
        json!({"type": "thinking", "thinking": "x", "signature": "!"}),
    ] {
        let thought =
            edited("uaua", |rows| rows[1]["message"]["content"].as_array_mut().unwrap().insert(0, block));
        check(&thought, Class::C4, "message", &[1, 2, 3, 4]);
    }
    for empty in [json!(""), json!(" \n"), json!([{"type": "text", "text": ""}]), json!([])] {
        check(
            &edited("uauaua", |rows| rows[2]["message"]["content"] = empty),
            Class::C5,
            "message",
            &[1, 2, 4, 5, 6],
        );
    }
    let image = |data: &str| json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}});
    let page = edited("uaua", |rows| {
        rows[2]["message"]["content"] =
            json!([{"type": "text", "text": "tok3."}, image("PCFkb2N0eXBlIGh0bWw+")]);
    });
    check(&page, Class::C6, "message", &[1, 2, 3, 4]);
    check(
        &edited("uaua", |rows| rows[3]["message"]["content"][0]["text"] = json!("tok4. \0")),
        Class::C9,
        "message",
        &[1, 2, 3, 4],
    );
    let split = edited("uauaua", |rows| {
        rows[1]["message"]["content"] =
            json!([{"type": "server_tool_use", "id": "srv_1", "name": "web_search", "input": {}}]);
        rows[3]["message"] = json!({"id": "msg_2", "type": "message", "role": "assistant", "content": [{"type": "web_search_tool_result", "tool_use_id": "srv_1", "content": []}]});
    });
    check(&split, Class::C10, "parentUuid", &[1, 3, 5, 6]);
}

/// C7 and C8: pictures the API takes one by one, but not so large or so many.
fn large_payloads() {
    // The header of a PNG of 9000×20 pixels; nobody decodes the rest.
    let png = "iVBORw0KGgoAAAANSUhEUgAAIygAAAAUCAYAAAA=";
    let picture = |data: &str| json!([{"type": "text", "text": "tok3."}, {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}}]);
    let wide = edited("uaua", |rows| rows[2]["message"]["content"] = picture(png));
    check(&wide, Class::C7, "message", &[1, 2, 3, 4]);
    let small = "iVBORw0KGgoAAAANSUhEUgAAABQAAAAUCAYAAAA";
    let heavy = edited("uaua", |rows| {
        rows[2]["message"]["content"] = picture(&format!("{small}{}", "A".repeat(33 << 20)));
    });
    check(&heavy, Class::C8, "message", &[1, 2, 3, 4]);
    // A byte order mark does harm in large files only.
    let long = edited("uaua", |rows| rows[1]["padding"] = json!("x".repeat(6 << 20)));
    check(&[&b"\xef\xbb\xbf"[..], &long].concat(), Class::A10, "byte order mark", &[1, 2, 3, 4]);
    let short = [&b"\xef\xbb\xbf"[..], &edited("uaua", |_| {})].concat();
    assert_eq!(repair_bytes(&short, Some(SESSION)).unwrap().0, short);
}

#[test]
fn every_class_with_a_recipe_is_found_and_mended() {
    bytes_classes();
    row_classes();
    tree_classes();
    order_classes();
    request_classes();
    large_payloads();
    let seen = SEEN.lock().unwrap();
    // B3 needs a subagent's file beside the transcript: tests/fixtures.rs has it.
    let missing: Vec<&str> = Class::ALL
        .iter()
        .filter(|class| class.recipe() == Recipe::File && **class != Class::B3)
        .map(|class| class.id())
        .filter(|id| !seen.contains(id))
        .collect();
    assert!(missing.is_empty(), "no case for {missing:?}");
}
