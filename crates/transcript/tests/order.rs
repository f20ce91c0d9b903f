//! Which rows belong where: another order, one id on two rows, rows of another session, a lost row at a fork. Beside each
//! kind stands the healthy conversation that looks like it.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a test may panic and print"
)]

mod support;

use serde_json::{Value, json};
use support::agents::{AGENTS, reached};
use support::talk::{bytes, row, talk};
use support::{SESSION, show, timestamp, uuid};
use transcript::{Class, Transcript, repair_bytes};

const OTHER: &str = "0bad5e55-0000-4000-8000-000000000002";

/// Every agent reaches these tokens after the repair, and none of those; the guard agrees.
#[track_caller]
fn check(rows: &[Value], reach: &[usize], never: &[usize]) -> Vec<u8> {
    let broken = bytes(rows);
    let (whole, plans) = repair_bytes(&broken, Some(SESSION)).unwrap();
    assert!(!plans.is_empty(), "called healthy");
    let after = Transcript::of(&whole, Some(SESSION));
    assert!(after.examine().unwrap().1.is_empty(), "a second repair changes it\n{}", show(&whole));
    assert_eq!(
        after.harm_since(&Transcript::of(&broken, Some(SESSION))).unwrap(),
        None,
        "\n{}",
        show(&whole)
    );
    for agent in AGENTS {
        let reached = reached(agent, &whole);
        let has = |token: &usize| reached.contains(&format!("tok{token}"));
        for token in reach {
            assert!(has(token), "{agent:?} misses {token}\n{}", show(&whole));
        }
        for token in never {
            assert!(!has(token), "{agent:?} has {token}\n{}", show(&whole));
        }
    }
    whole
}

/// Nothing is found, and not a byte changes.
#[track_caller]
fn stays(rows: &[Value]) {
    let file = bytes(rows);
    let (whole, plans) = repair_bytes(&file, Some(SESSION)).unwrap();
    let changes: Vec<_> = plans.iter().flat_map(|plan| &plan.changes).collect();
    assert!(whole == file, "{changes:?}\n{}", show(&file));
}

fn checkpoint(leaf: usize) -> Value {
    json!({"type": "last-prompt", "leafUuid": uuid(leaf), "sessionId": SESSION})
}

fn attachment(n: usize, parent: usize) -> Value {
    let time = timestamp(60_000 * i64::try_from(n).unwrap());
    json!({"parentUuid": uuid(parent), "isSidechain": false, "type": "attachment", "sessionId": SESSION, "attachment": {"type": "hook_success"}, "uuid": uuid(n), "timestamp": time})
}

/// Six turns as 2.1.325 writes them, with a checkpoint behind each.
fn checked() -> Vec<Value> {
    let mut rows = talk("uauauauauaua");
    for turn in (1..=6).rev() {
        rows.insert(2 * turn, checkpoint(2 * turn));
    }
    rows
}

const ALL: [usize; 12] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12];

#[test]
fn reversed_rows_get_their_order_back_byte_for_byte() {
    let rows = checked();
    let turned: Vec<Value> = rows.iter().rev().cloned().collect();
    assert_eq!(check(&turned, &ALL, &[]), bytes(&rows));
}

#[test]
fn rows_sorted_by_time_keep_every_turn() {
    let time = |row: &Value| row["timestamp"].as_str().map(str::to_owned);
    // Two rows of one moment, and the tool puts the child first; metadata without a time comes before all.
    let mut rows = checked();
    rows[7]["timestamp"] = rows[6]["timestamp"].clone();
    rows.swap(6, 7);
    rows.sort_by_key(time);
    stays(&rows); // every version reads it whole
    rows[12]["parentUuid"] = json!(uuid(99));
    check(&rows, &ALL, &[]);
    let mut newest_first = checked();
    newest_first.sort_by_key(|row| std::cmp::Reverse(time(row)));
    newest_first.push(checkpoint(4)); // a stale one
    check(&newest_first, &ALL, &[]);
}

#[test]
fn a_reply_before_its_prompt_keeps_its_link_whatever_else_is_wrong() {
    let mut rows = talk("uauaua");
    rows.swap(4, 5);
    stays(&rows);
    rows[5]["parentUuid"] = json!(uuid(99)); // the prompt dangles; the reply's link is intact
    let whole = check(&rows, &[1, 2, 3, 4, 5, 6], &[]);
    assert!(String::from_utf8(whole).unwrap().contains(&format!("\"parentUuid\":\"{}\"", uuid(5))));
}

#[test]
fn one_id_on_two_rows_with_children_of_both_becomes_two_ids() {
    let mut rows = talk("uauauauaua");
    rows[7]["uuid"] = json!(uuid(2)); // the fourth reply has the id of the first
    rows[8]["parentUuid"] = json!(uuid(2));
    check(&rows, &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10], &[]);
    // The same row once more is no twin.
    let mut again = talk("uauaua");
    again.push(again[1].clone());
    let whole = check(&again, &[1, 2, 3, 4, 5, 6], &[]);
    assert_eq!(whole, bytes(&talk("uauaua")));
}

/// A rewind to 4: turns 5 and 6 were given up. Each branch begins with what a hook said.
fn rewound() -> Vec<Value> {
    let mut rows = talk("uauauaua");
    rows[4]["parentUuid"] = json!(uuid(21));
    rows[6]["parentUuid"] = json!(uuid(22));
    rows.insert(4, attachment(21, 4));
    rows.insert(7, attachment(22, 4));
    for (n, row) in rows.iter_mut().enumerate() {
        row["timestamp"] = json!(timestamp(60_000 * i64::try_from(n + 1).unwrap()));
    }
    rows
}

#[test]
fn what_was_rewound_stays_so_when_the_row_at_the_fork_is_lost() {
    stays(&rewound());
    let mut lost = rewound();
    lost.remove(3);
    check(&lost, &[1, 2, 3, 7, 8], &[5, 6]);
    // A thought is left of the reply.
    let mut thought = rewound();
    thought[2]["message"] = json!({"id": "msg_3", "role": "assistant", "content": [{"type": "thinking", "thinking": "x", "signature": "QUJD"}]});
    thought[2]["type"] = json!("assistant");
    thought.remove(3);
    check(&thought, &[1, 2, 7, 8], &[5, 6]);
    // Only one of the branches begins with a hook.
    let mut mixed = rewound();
    mixed[8]["parentUuid"] = json!(uuid(4));
    mixed.remove(7);
    mixed.remove(3);
    check(&mixed, &[1, 2, 3, 7, 8], &[5, 6]);
    // A stop hook's summary stands at every fork, and one is lost.
    let mut hooked = talk("uauauaua");
    for (n, at) in [(31, 2), (32, 5)] {
        let mut summary = row(n, Some(hooked[at - 1]["uuid"].clone()), "system", Value::Null);
        summary["subtype"] = json!("stop_hook_summary");
        hooked[at]["parentUuid"] = json!(uuid(n));
        hooked.insert(at, summary);
    }
    hooked[8]["parentUuid"] = json!(uuid(32));
    for (n, row) in hooked.iter_mut().enumerate() {
        row["timestamp"] = json!(timestamp(60_000 * i64::try_from(n + 1).unwrap()));
    }
    stays(&hooked);
    hooked.remove(5);
    check(&hooked, &[1, 2, 3, 4, 7, 8], &[5, 6]);
}

#[test]
fn what_was_rewound_stays_so_when_the_row_at_the_fork_is_torn_or_nul() {
    let lines: Vec<String> = rewound().iter().map(Value::to_string).collect();
    for broken in [lines[3][..lines[3].len() / 2].to_owned(), "\0".repeat(lines[3].len())] {
        let mut lines = lines.clone();
        lines[3] = broken;
        let file = lines.iter().map(|line| format!("{line}\n")).collect::<String>().into_bytes();
        let (whole, _) = repair_bytes(&file, Some(SESSION)).unwrap();
        for agent in AGENTS {
            let reached = reached(agent, &whole);
            assert!([1, 2, 3, 7, 8].iter().all(|n| reached.contains(&format!("tok{n}"))), "{}", show(&whole));
            assert!(!reached.contains("tok5") && !reached.contains("tok6"), "{}", show(&whole));
        }
    }
}

#[test]
fn two_prompts_with_one_wrong_name_are_both_live() {
    let mut rows = talk("uauauaua");
    rows[2]["parentUuid"] = json!(uuid(99));
    rows[6]["parentUuid"] = json!(uuid(99));
    check(&rows, &[1, 2, 3, 4, 5, 6, 7, 8], &[]);
}

/// As 2.1.31 wrote it: result and reply have one time, it resumed at the result and answered that by itself.
#[test]
fn a_reply_beside_no_response_requested_is_not_lost() {
    let mut rows = talk("ucrauu");
    rows[2]["timestamp"] = rows[3]["timestamp"].clone();
    let synthetic = json!({"id": "msg_s", "model": "<synthetic>", "role": "assistant", "content": [{"type": "text", "text": "No response requested."}]});
    rows[4] = row(5, Some(json!(uuid(3))), "assistant", synthetic);
    rows[5]["parentUuid"] = json!(uuid(5));
    check(&rows, &[1, 4, 6], &[]);
    // Behind a prompt that was broken off the same words are where they belong.
    let mut healthy = talk("uauu");
    healthy[2]["message"]["content"] = json!("[Request interrupted by user]");
    let last = healthy.pop().unwrap();
    let synthetic = json!({"id": "msg_s", "model": "<synthetic>", "role": "assistant", "content": [{"type": "text", "text": "No response requested."}]});
    healthy.push(row(5, Some(json!(uuid(3))), "assistant", synthetic));
    healthy.push(last);
    healthy[4]["parentUuid"] = json!(uuid(5));
    healthy[4]["timestamp"] = json!(timestamp(360_000));
    stays(&healthy);
}

/// Two turns of another session.
fn strangers() -> Vec<Value> {
    let mut rows = talk("uaua");
    for (n, row) in rows.iter_mut().enumerate() {
        row["sessionId"] = json!(OTHER);
        row["uuid"] = json!(uuid(50 + n));
        row["timestamp"] = json!(timestamp(3_600_000 + 60_000 * i64::try_from(n).unwrap()));
        row["parentUuid"] = if n == 0 { Value::Null } else { json!(uuid(49 + n)) };
        let text = format!("tok{}.", 50 + n);
        row["message"]["content"] = json!([{"type": "text", "text": text}]);
    }
    rows.push(json!({"type": "last-prompt", "leafUuid": uuid(53), "sessionId": OTHER}));
    rows
}

#[test]
fn rows_of_another_session_go_aside() {
    let mut rows = checked();
    rows.extend(strangers());
    let whole = check(&rows, &ALL, &[50, 51, 52, 53]);
    assert_eq!(whole, bytes(&checked()));
    let (scan, plan) = Transcript::of(&bytes(&rows), Some(SESSION)).examine().unwrap();
    assert!(scan.findings.iter().any(|finding| finding.class == Class::B16 && finding.count == 5));
    assert_eq!(plan.rejects.len(), 5, "nothing is thrown away");
    // A file that goes on from another session's rows is healthy.
    let mut goes_on = talk("uauaua");
    for row in &mut goes_on[..2] {
        row["sessionId"] = json!(OTHER);
    }
    stays(&goes_on);
}

/// Damage that came in pairs, as reported: each reached less after its repair than before it.
#[test]
fn two_damages_at_once() {
    let time = |row: &Value| row["timestamp"].as_str().map(str::to_owned);
    let reversed = |mut rows: Vec<Value>| {
        rows.reverse();
        rows
    };
    let mut stale = checked();
    stale.push(checkpoint(4));
    stale.sort_by_key(time);
    stays(&stale);
    let mut foreign = [checked(), strangers()].concat();
    foreign.sort_by_key(time);
    check(&foreign, &ALL, &[50, 51, 52, 53]);
    check(&reversed([checked(), strangers()].concat()), &ALL, &[50, 51, 52, 53]);
    let mut run = checked();
    run.extend(checked()[3..8].to_vec());
    check(&reversed(run.clone()), &ALL, &[]);
    run.sort_by_key(time);
    check(&run, &ALL, &[]);
    let mut doubled = [checked(), checked()].concat();
    check(&reversed(doubled.clone()), &ALL, &[]);
    doubled.swap(3, 4);
    check(&doubled, &ALL, &[]);
}

/// Four turns, a compaction, two turns.
fn compacted() -> Vec<Value> {
    let mut rows = talk("uauauauaua");
    let mut boundary = row(40, None, "system", Value::Null);
    boundary["subtype"] = json!("compact_boundary");
    rows[4]["isCompactSummary"] = json!(true);
    rows[4]["parentUuid"] = json!(uuid(40));
    rows.insert(4, boundary);
    for (n, row) in rows.iter_mut().enumerate() {
        row["timestamp"] = json!(timestamp(60_000 * i64::try_from(n + 1).unwrap()));
    }
    rows
}

#[test]
fn no_row_moves_across_a_compaction() {
    stays(&compacted());
    // One id on two rows, one on each side, and the row before the later one is lost.
    let mut rows = compacted();
    rows[8]["uuid"] = json!(uuid(2));
    rows[9]["parentUuid"] = json!(uuid(2));
    rows.remove(7);
    check(&rows, &[5, 6, 8, 9, 10], &[1, 2, 3, 4]);
    // Doubled and swapped: the boundary that counts is not the one that came to nothing.
    let mut doubled = [compacted(), compacted()].concat();
    doubled.swap(4, 5);
    check(&doubled, &[5, 6, 7, 8, 9, 10], &[1, 2, 3, 4]);
    let mut swapped = compacted();
    swapped.swap(3, 4);
    stays(&swapped);
}

#[test]
fn an_unanswered_call_beside_a_sidechain_is_mended() {
    let mut rows = talk("ucraua");
    rows.remove(2);
    rows[2]["parentUuid"] = json!(uuid(2));
    let mut aside = row(60, Some(json!(uuid(99))), "user", json!({"role": "user", "content": "aside"}));
    aside["isSidechain"] = json!(true);
    rows.insert(3, aside);
    check(&rows, &[1, 4, 5, 6], &[]);
}
