//! Each of these was a bug that random damage found; the name says what went wrong.
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
use transcript::{Class, Plan, Transcript, repair_bytes};

/// Every agent reaches these tokens after the repair, and none of those.
#[track_caller]
fn check(rows: &[Value], reach: &[usize], never: &[usize]) -> (Vec<u8>, Vec<Plan>) {
    let (whole, plans) = repair_bytes(&bytes(rows), Some(SESSION)).unwrap();
    let (_, rest) = Transcript::of(&whole, Some(SESSION)).examine().unwrap();
    assert!(rest.is_empty(), "a second repair changes {:?}", rest.changes);
    for agent in AGENTS {
        let reached = reached(agent, &whole);
        for token in reach {
            assert!(reached.contains(&format!("tok{token}")), "{agent:?} misses {token}\n{}", show(&whole));
        }
        for token in never {
            assert!(!reached.contains(&format!("tok{token}")), "{agent:?} has {token}\n{}", show(&whole));
        }
    }
    (whole, plans)
}

fn system(n: usize, parent: usize, subtype: &str) -> Value {
    let time = timestamp(60_000 * i64::try_from(n).unwrap());
    json!({"parentUuid": uuid(parent), "isSidechain": false, "type": "system", "subtype": subtype, "sessionId": SESSION, "uuid": uuid(n), "timestamp": time})
}

fn checkpoint(leaf: usize) -> Value {
    json!({"type": "last-prompt", "leafUuid": uuid(leaf), "sessionId": SESSION})
}

#[test]
fn a_checkpoint_on_the_stop_hooks_summary_is_healthy() {
    let mut rows = talk("uaua");
    rows.extend([system(5, 4, "stop_hook_summary"), checkpoint(5)]);
    let (whole, plans) = check(&rows, &[1, 2, 3, 4], &[]);
    assert!(plans.is_empty());
    assert_eq!(whole, bytes(&rows));
}

#[test]
fn a_system_row_on_an_old_row_does_not_end_the_conversation() {
    let mut rows = talk("uauaua");
    rows.push(system(9, 2, "informational"));
    check(&rows, &[1, 2, 3, 4, 5, 6], &[]);
}

#[test]
fn a_compaction_that_was_cut_off_does_not_hide_everything() {
    let mut rows = talk("uaua");
    let mut boundary = system(9, 4, "compact_boundary");
    boundary["parentUuid"] = Value::Null;
    rows.push(boundary);
    check(&rows, &[1, 2, 3, 4], &[]);
}

#[test]
fn a_time_in_the_future_is_lowered_not_outdone() {
    let mut rows = talk("uauauauauaua");
    rows[3]["timestamp"] = json!("2099-01-01T00:00:00.000Z");
    let (whole, _) = check(&rows, &[1, 2, 3, 4, 5, 6, 12], &[]);
    assert!(
        !String::from_utf8(whole).unwrap().contains("2099"),
        "the next turn would be older than the last"
    );
}

#[test]
fn a_row_without_a_uuid_keeps_its_place() {
    let mut rows = talk("uauaua");
    rows[3].as_object_mut().unwrap().shift_remove("uuid");
    check(&rows, &[1, 2, 3, 4, 5, 6], &[]);
}

#[test]
fn a_copy_with_another_message_at_the_end_is_not_the_end() {
    let mut rows = talk("uauaua");
    let mut copy = rows[1].clone();
    copy["message"]["content"][0]["text"] = json!("tok99.");
    rows.push(copy);
    check(&rows, &[1, 2, 3, 4, 5, 6, 99], &[]);
}

#[test]
fn a_message_that_only_the_copy_has_is_kept() {
    let mut rows = talk("uaua");
    rows.push(rows[1].clone());
    rows[1]["message"] = Value::Null;
    check(&rows, &[1, 2, 3, 4], &[]);
}

#[test]
fn two_prompts_on_a_lost_row_stay_siblings() {
    let mut rows = talk("uauauaua");
    rows[6]["parentUuid"] = json!(uuid(4));
    rows.remove(3);
    check(&rows, &[1, 2, 3, 7, 8], &[5, 6]);
}

#[test]
fn a_second_result_does_not_end_the_conversation() {
    let mut rows = talk("ucra");
    rows.push(row(9, Some(json!(uuid(2))), "user", rows[2]["message"].clone()));
    check(&rows, &[1, 4], &[]);
}

#[test]
fn a_continuation_on_an_abandoned_call_goes_to_the_end() {
    let mut rows = talk("ucua");
    rows[2]["parentUuid"] = json!(uuid(1));
    let mut on = row(
        9,
        Some(json!(uuid(2))),
        "user",
        json!({"role": "user", "content": "Continue from where you left off."}),
    );
    on["isMeta"] = json!(true);
    rows.push(on);
    check(&rows, &[1, 3, 4], &[]);
}

#[test]
fn a_progress_row_behind_an_unknown_kind_is_bridged() {
    let mut rows = talk("uaua");
    let unknown = row(8, Some(json!(uuid(2))), "new-invention", Value::Null);
    let progress = row(9, Some(json!(uuid(8))), "progress", Value::Null);
    rows[2]["parentUuid"] = json!(uuid(9));
    rows.splice(2..2, [unknown, progress]);
    for (n, row) in rows.iter_mut().enumerate() {
        row["timestamp"] = json!(timestamp(60_000 * i64::try_from(n + 1).unwrap()));
    }
    check(&rows, &[1, 2, 3, 4], &[]);
}

#[test]
fn parts_of_a_reply_are_all_seen_by_older_agents() {
    let mut rows = talk("uaua");
    let thought = json!({"id": "msg_4", "role": "assistant", "content": [{"type": "thinking", "thinking": "x", "signature": "QUJD"}]});
    rows.insert(3, row(9, Some(json!(uuid(3))), "assistant", thought));
    rows[4]["parentUuid"] = json!(uuid(9));
    check(&rows, &[1, 2, 3, 4], &[]);
}

#[test]
fn a_ring_that_a_lost_row_opened_is_closed_the_right_way() {
    let mut rows = talk("uauauaua");
    rows[1]["parentUuid"] = json!(uuid(7));
    rows.remove(4);
    check(&rows, &[1, 2, 3, 4, 6, 7, 8], &[]);
}

#[test]
fn a_foreign_id_of_a_progress_row_is_renamed() {
    let mut rows = talk("ucra");
    let mut progress = row(9, Some(json!(uuid(2))), "progress", Value::Null);
    progress["uuid"] = json!("progress-1");
    progress["timestamp"] = rows[1]["timestamp"].clone();
    rows[2]["parentUuid"] = json!("progress-1");
    rows.insert(2, progress);
    check(&rows, &[1, 4], &[]);
}

#[test]
fn a_uuid_in_capitals_can_be_linked_to() {
    let mut rows = talk("uauaua");
    rows[1]["uuid"] = json!("ABCDEF00-0000-4000-8000-00000000000A");
    rows[2]["parentUuid"] = json!(uuid(77));
    check(&rows, &[1, 2, 3, 4, 5, 6], &[]);
}

#[test]
fn a_placeholder_is_the_first_speaker() {
    let mut rows = talk("uaua");
    rows[0]["message"] = Value::Null;
    let (whole, plans) = check(&rows, &[2, 3, 4], &[]);
    assert!(
        plans.iter().flat_map(|plan| &plan.changes).all(|change| change.class == Class::A8),
        "\n{}",
        show(&whole)
    );
}

#[test]
fn a_conversation_without_any_time_and_without_its_beginning_does_not_panic() {
    let mut rows = talk("uaua");
    rows.remove(0);
    for row in &mut rows {
        row.as_object_mut().unwrap().shift_remove("timestamp");
    }
    check(&rows, &[2, 3, 4], &[]);
}

#[test]
fn what_the_user_went_back_to_on_purpose_counts_even_if_it_is_binding() {
    let mut rows = talk("uaua");
    let mut back = checkpoint(2);
    back["explicit"] = json!(true);
    rows.insert(2, back);
    check(&rows, &[1, 2, 3, 4], &[]);
}

#[test]
fn a_root_behind_its_child_is_the_beginning() {
    let mut rows = talk("uaua");
    rows.swap(0, 1);
    let file = bytes(&rows);
    assert_eq!(repair_bytes(&file, Some(SESSION)).unwrap().0, file);
}

/// F-resume-22
#[test]
fn a_reply_that_stands_before_its_prompt_is_healthy() {
    let mut rows = talk("uauaua");
    rows.swap(4, 5);
    let (whole, plans) = check(&rows, &[1, 2, 3, 4, 5, 6], &[]);
    assert!(plans.is_empty(), "{plans:?}");
    assert_eq!(whole, bytes(&rows));
}

#[test]
fn what_was_rewound_to_a_row_without_an_id_stays_so() {
    let mut rows = talk("uauaua");
    let mut nameless = system(9, 2, "stop_hook_summary");
    nameless["timestamp"] = rows[1]["timestamp"].clone();
    nameless["uuid"] = Value::Null;
    for prompt in [2, 4] {
        rows[prompt]["parentUuid"] = uuid(9).into();
    }
    rows.insert(2, nameless);
    check(&rows, &[1, 2, 5, 6], &[3, 4]);
}

#[test]
fn a_branch_between_a_reply_and_its_prompt_is_not_joined() {
    let mut rows = talk("uauaua");
    rows[4]["parentUuid"] = uuid(2).into();
    rows.swap(2, 3);
    let prompt = rows.remove(3);
    rows.push(prompt);
    let (whole, _) = repair_bytes(&bytes(&rows), Some(SESSION)).unwrap();
    let lines = whole.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    let mended: Vec<Value> = lines.map(|line| serde_json::from_slice(line).unwrap()).collect();
    for row in &rows {
        let now = mended.iter().find(|now| now["uuid"] == row["uuid"]).unwrap();
        assert_eq!(now["parentUuid"], row["parentUuid"], "{}", show(&whole));
    }
}

/// 2.1.31 west of Greenwich took rows without a zone for the newest and resumed there.
#[test]
fn times_without_a_zone_get_one_beside_times_that_have_one() {
    let without_zone = |rows: &mut [Value]| {
        for row in rows {
            let time = row["timestamp"].as_str().unwrap().trim_end_matches('Z').to_owned();
            row["timestamp"] = json!(time);
        }
    };
    let healthy = talk("uauaua");
    let mut mixed = healthy.clone();
    without_zone(&mut mixed[..4]);
    let (whole, _) = check(&mixed, &[1, 2, 3, 4, 5, 6], &[]);
    assert_eq!(whole, bytes(&healthy));
    // The order is the same in every zone.
    let mut all = healthy.clone();
    without_zone(&mut all);
    let mut next_day = mixed.clone();
    for row in &mut next_day[4..] {
        row["timestamp"] = json!(timestamp(80_000_000));
    }
    next_day[5]["timestamp"] = json!(timestamp(80_060_000));
    for rows in [all, next_day] {
        let (whole, plans) = repair_bytes(&bytes(&rows), Some(SESSION)).unwrap();
        assert!(plans.is_empty(), "{:?}", plans[0].changes);
        assert_eq!(whole, bytes(&rows));
    }
}
