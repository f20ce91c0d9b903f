//! Several damages at once, as the random search found them (`cargo xtask soak`); the name says what went wrong.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a test may panic and print"
)]

mod support;

use serde_json::{Value, json};
use support::mended::{check, checkpoint, compacted, file, in_order, lines, minute, system};
use support::talk::{bytes, row, talk};
use support::{SESSION, show, uuid};
use transcript::{Transcript, Version};

#[test]
fn a_reversed_file_with_two_rows_on_a_line_comes_to_an_end() {
    let mut rows = talk("uauaua");
    rows.reverse();
    let mut lines = lines(&rows);
    let next = lines.remove(1);
    lines[0].extend(next);
    check(&file(&lines), &[1, 2, 3, 4, 5, 6], &[]);
}

#[test]
fn a_row_that_only_the_second_copy_of_the_file_has_goes_before_the_compaction() {
    let mut first = compacted();
    first.remove(1);
    let whole = check(&bytes(&[first, compacted()].concat()), &[5, 6, 7, 8, 9], &[1, 2, 3, 4]);
    assert_eq!(whole, bytes(&compacted()), "\n{}", show(&whole));
}

/// Token 3 and 4 were given up: 5 follows 2. The row that both branches follow is NUL, and the file is reversed.
#[test]
fn in_a_reversed_file_a_lost_row_is_before_the_row_behind_it() {
    let mut rows = talk("uauaua");
    rows.insert(2, system(20, Some(2), "stop_hook_summary"));
    rows[3]["parentUuid"] = json!(uuid(20));
    rows[5]["parentUuid"] = json!(uuid(20));
    let rows = in_order(rows);
    let mut lines = lines(&rows);
    lines[2] = vec![0; lines[2].len()];
    lines.reverse();
    check(&file(&lines), &[1, 2, 5, 6], &[3, 4]);
}

#[test]
fn of_two_copies_in_a_reversed_file_the_one_right_behind_its_parent_counts() {
    let mut rows = talk("uauaua");
    rows.reverse();
    let mut copy = rows[1].clone();
    copy["parentUuid"] = json!(uuid(2));
    rows.insert(4, copy);
    check(&bytes(&rows), &[1, 2, 3, 4, 5, 6], &[]);
}

/// The boundary that stands in the second copy makes no twins of the rows behind it.
#[test]
fn a_doubled_file_that_was_resumed_at_an_equal_time_keeps_its_last_reply() {
    let mut rows = talk("uauucra");
    rows[2]["isCompactSummary"] = json!(true);
    rows[2]["parentUuid"] = json!(uuid(40));
    rows.insert(2, system(40, None, "compact_boundary"));
    let rows = in_order(rows);
    let mut doubled = [rows.clone(), rows].concat();
    doubled[6]["timestamp"] = doubled[7]["timestamp"].clone();
    let said = json!({"id": "msg_s", "model": "<synthetic>", "role": "assistant", "content": [{"type": "text", "text": "No response requested."}]});
    doubled.push(row(50, Some(json!(uuid(6))), "assistant", said));
    doubled.push(row(51, Some(json!(uuid(50))), "user", json!({"role": "user", "content": "tok51."})));
    check(&bytes(&doubled), &[3, 4, 7, 51], &[1, 2]);
}

/// Sorted by time, a row whose time lies far ahead stands at the end; the conversation went on long since.
#[test]
fn a_time_far_ahead_in_a_sorted_file_hides_no_compaction() {
    let mut rows = compacted();
    let mut ahead = rows.remove(2);
    ahead["timestamp"] = json!("2099-01-01T00:00:00.000Z");
    rows.push(ahead);
    check(&bytes(&rows), &[5, 6, 7, 8, 9], &[1, 2, 3, 4]);
}

#[test]
fn a_boundary_behind_which_a_progress_row_stands_stays_a_beginning() {
    let mut rows = compacted();
    let mut progress = row(41, None, "progress", Value::Null);
    progress["timestamp"] = rows[4]["timestamp"].clone();
    rows[4]["parentUuid"] = json!(uuid(41));
    rows.insert(5, progress);
    check(&bytes(&rows), &[5, 6, 7, 8, 9], &[1, 2, 3, 4]);
}

/// Every version resumes at the same old turn: the stray row is the newest, and the last checkpoint of the file an old one.
#[test]
fn a_reversed_file_is_not_healthy_because_every_version_reaches_the_same_too_little() {
    let mut rows = talk("uaua");
    rows.insert(2, checkpoint(2));
    rows.push(checkpoint(4));
    let mut stray = system(30, Some(2), "informational");
    stray["timestamp"] = minute(90);
    rows.push(stray);
    rows.reverse();
    check(&bytes(&rows), &[1, 2, 3, 4], &[]);
}

/// Behind a fragment on the same line no version reads a row, so an older checkpoint counts.
#[test]
fn a_checkpoint_behind_a_fragment_is_not_read() {
    let mut rows = talk("uaua");
    rows[2]["parentUuid"] = json!(uuid(99));
    rows.insert(2, checkpoint(2));
    let torn = [&lines(&rows[..1])[0][..60], &lines(&[checkpoint(4)])[0]].concat();
    let broken = [bytes(&rows), torn, b"\n".to_vec()].concat();
    let texts = Transcript::of(&broken, Some(SESSION)).texts_reached(Version::V325).unwrap();
    assert!(texts.contains("tok2.") && !texts.contains("tok4."), "{texts:?}");
    check(&broken, &[1, 2, 3, 4], &[]);
}

/// As 2.1.31 wrote it, with the result as old as the reply; every version agrees on too little.
#[test]
fn in_another_order_a_resume_at_an_equal_time_is_found() {
    let mut rows = talk("uaucrauu");
    rows[4]["timestamp"] = rows[5]["timestamp"].clone();
    let said = json!({"id": "msg_s", "model": "<synthetic>", "role": "assistant", "content": [{"type": "text", "text": "No response requested."}]});
    rows[6] = row(7, Some(json!(uuid(5))), "assistant", said);
    rows[7]["parentUuid"] = json!(uuid(7));
    check(&bytes(&rows), &[1, 2, 3, 6, 8], &[]);
    let mut swapped = rows.clone();
    swapped.swap(4, 5);
    check(&bytes(&swapped), &[1, 2, 3, 6, 8], &[]);
    rows.reverse();
    check(&bytes(&rows), &[1, 2, 3, 6, 8], &[]);
}

/// Without times the rows around it tell where a row belongs that only the second copy of the file has.
#[test]
fn a_row_among_copies_belongs_where_their_originals_are() {
    let mut rows = talk("uauauaua");
    rows.insert(4, system(20, Some(4), "stop_hook_summary"));
    for at in [5, 7] {
        rows[at]["parentUuid"] = json!(uuid(20)); // tokens 5 and 6 were given up
    }
    for row in &mut rows {
        row["timestamp"] = minute(1);
    }
    let mut first = lines(&rows);
    first[4].truncate(14);
    let broken = file(&[first, lines(&rows)].concat());
    check(&broken, &[1, 2, 3, 4, 7, 8], &[5, 6]);
}

#[test]
fn a_reversed_chain_through_a_progress_row_stays_one() {
    let mut rows = talk("uacraua");
    let mut progress = row(30, Some(json!(uuid(3))), "progress", Value::Null);
    rows[3]["parentUuid"] = json!(uuid(30));
    progress["timestamp"] = minute(3);
    rows.insert(3, progress);
    let mut rows = in_order(rows);
    rows.extend(rows[1..2].to_vec());
    rows.reverse();
    check(&bytes(&rows), &[1, 2, 5, 6, 7], &[]);
}

/// Tokens 3 and 4 were given up. The row that both branches follow has lost its id, and the prompt of the first its words.
#[test]
fn a_branch_that_begins_with_a_result_of_no_call_is_not_joined() {
    let mut rows = talk("uauaua");
    let mut summary = system(20, Some(2), "stop_hook_summary");
    if let Some(summary) = summary.as_object_mut() {
        summary.shift_remove("uuid");
    }
    rows.insert(2, summary);
    rows[3]["parentUuid"] = json!(uuid(20));
    rows[3]["message"]["content"] =
        json!([{"type": "tool_result", "tool_use_id": "toolu_none", "content": "x"}]);
    rows[5]["parentUuid"] = json!(uuid(20));
    check(&bytes(&in_order(rows)), &[1, 2, 5, 6], &[4]);
}

#[test]
fn in_another_order_the_whole_request_is_judged() {
    let mut rows = talk("uauaua");
    rows[2]["message"]["content"] = json!("");
    rows.reverse();
    rows.extend([checkpoint(2), checkpoint(6)]);
    let whole = check(&bytes(&rows), &[1, 2, 4, 5, 6], &[]);
    assert!(String::from_utf8_lossy(&whole).contains("(no content)"), "\n{}", show(&whole));
}

/// The first copy of a prompt has lost its words; the second one has them.
#[test]
fn a_prompt_whose_words_only_the_second_copy_of_the_file_has_is_not_lost() {
    let mut first = compacted();
    first[7]["message"]["content"] =
        json!([{"type": "tool_result", "tool_use_id": "toolu_none", "content": "x"}]);
    check(&bytes(&[first, compacted()].concat()), &[5, 6, 7, 8, 9], &[1, 2, 3, 4]);
}

/// The guard takes a compaction that is there twice for one: what stands behind the first of the two is not summed up.
#[test]
fn a_reply_behind_a_compaction_that_is_there_twice_counts() {
    let doubled = bytes(&[compacted(), compacted()].concat());
    let mut without = compacted();
    without[8]["parentUuid"] = json!(uuid(6));
    let harm = Transcript::of(&bytes(&without), Some(SESSION))
        .harm_since(&Transcript::of(&doubled, Some(SESSION)))
        .unwrap();
    assert!(harm.is_some(), "token 7 is lost");
}

/// A kind that no agent knows has a time far ahead; the file is short, so its rows are put in the order of their times.
#[test]
fn a_row_of_an_unknown_kind_does_not_take_others_to_the_end() {
    let mut rows = talk("uauaa");
    let mut unknown = row(30, Some(json!(uuid(2))), "new-invention", Value::Null);
    unknown["timestamp"] = minute(900);
    rows[2]["parentUuid"] = json!(uuid(30));
    rows.insert(2, unknown);
    rows.swap(4, 5);
    check(&bytes(&rows), &[1, 2, 3, 4, 5], &[]);
}

/// Tokens 3 and 4 were given up. The row that both branches follow is NUL, and the two rows before it are swapped.
#[test]
fn a_lost_row_stays_in_its_place_when_the_rows_before_it_are_put_in_order() {
    let mut rows = talk("uauaua");
    rows.insert(2, system(20, Some(2), "stop_hook_summary"));
    rows[3]["parentUuid"] = json!(uuid(20));
    rows[5]["parentUuid"] = json!(uuid(20));
    let mut lines = lines(&in_order(rows));
    lines[2] = vec![0; lines[2].len()];
    lines.swap(0, 1);
    check(&file(&lines), &[1, 2, 5, 6], &[3, 4]);
}

/// Tokens 3 and 4 were given up. The row that both branches follow is torn, and the next one stands on the same line.
#[test]
fn what_was_rewound_stays_so_when_the_row_at_the_fork_is_torn_before_another_row() {
    let mut lines = lines(&rewound());
    let next = lines.remove(3);
    lines[2].truncate(14);
    lines[2].extend(next);
    check(&file(&lines), &[1, 2, 5, 6], &[3, 4]);
}

/// The same, and the line of which only NUL bytes are left was swapped with one of its neighbours.
#[test]
fn what_was_rewound_stays_so_when_the_lost_row_at_the_fork_was_swapped() {
    for (a, b) in [(1, 2), (2, 3)] {
        let mut lines = lines(&rewound());
        lines[2] = vec![0; 300];
        lines.swap(a, b);
        check(&file(&lines), &[1, 2, 5, 6], &[3, 4]);
    }
}

/// Two turns on a stop hook's summary, row 20; the first of them was given up.
fn rewound() -> Vec<Value> {
    let mut rows = talk("uauaua");
    rows.insert(2, system(20, Some(2), "stop_hook_summary"));
    for at in [3, 5] {
        rows[at]["parentUuid"] = json!(uuid(20));
    }
    in_order(rows)
}

/// A result without a time was sorted to the beginning, away from the progress row that it follows, across a compaction.
#[test]
fn a_result_that_was_sorted_away_from_its_progress_row_comes_back() {
    let mut rows = talk("uauauacra");
    rows[2]["isCompactSummary"] = json!(true);
    rows[2]["parentUuid"] = json!(uuid(40));
    let mut boundary = system(40, None, "compact_boundary");
    boundary["compactMetadata"] = json!({
        "preservedSegment": {"headUuid": uuid(2), "anchorUuid": uuid(3), "tailUuid": uuid(2)},
        "preservedMessages": {"anchorUuid": uuid(3), "uuids": [uuid(2)]},
    });
    rows.insert(2, boundary);
    rows.insert(8, row(50, Some(json!(uuid(7))), "progress", Value::Null));
    rows[9]["parentUuid"] = json!(uuid(50));
    let mut rows = in_order(rows);
    let mut result = rows.remove(9);
    result.as_object_mut().unwrap().shift_remove("timestamp");
    rows.insert(0, result);
    rows.insert(1, rows[1].clone());
    check(&bytes(&rows), &[3, 4, 5, 6, 9], &[1]);
}

/// 2.1.31 answered a result by itself, beside the reply; and the two replies were swapped.
#[test]
fn a_reply_that_was_swapped_with_no_response_requested_is_not_lost() {
    let mut rows = talk("uacra");
    rows[3]["timestamp"] = rows[4]["timestamp"].clone();
    let said = json!({"id": "msg_s", "model": "<synthetic>", "role": "assistant", "content": [{"type": "text", "text": "No response requested."}]});
    rows.insert(4, row(20, Some(json!(uuid(4))), "assistant", said));
    rows.push(row(21, Some(json!(uuid(20))), "user", json!({"role": "user", "content": "tok21."})));
    check(&bytes(&rows), &[1, 2, 5, 21], &[]);
}

/// A row of an unknown kind has the newest time, and its child stays where its own time says.
#[test]
fn a_row_of_an_unknown_kind_that_is_the_newest_does_not_take_its_child_along() {
    let mut rows = talk("uauaua");
    let mut unknown = row(30, Some(json!(uuid(2))), "new-invention", Value::Null);
    unknown["timestamp"] = minute(90);
    rows[2]["parentUuid"] = json!(uuid(30));
    rows.remove(3); // and its reply is lost
    rows.reverse();
    rows.insert(0, unknown);
    check(&bytes(&rows), &[1, 2, 3, 5, 6], &[]);
}

/// The parts of a reply were swapped, and the second one has lost its link.
#[test]
fn a_part_of_a_reply_that_stands_before_the_first_one_follows_it() {
    let mut rows = talk("uacrau");
    rows[2]["message"]["id"] = rows[1]["message"]["id"].clone();
    rows[2]["parentUuid"] = json!(uuid(99));
    rows.swap(1, 2);
    check(&bytes(&rows), &[1, 2, 5, 6], &[]);
}

/// A time far behind all others, or far ahead at the beginning, is wrong; the link is not.
#[test]
fn a_time_far_from_all_others_makes_no_link_false() {
    let mut rows = compacted();
    let mut first = rows.remove(6);
    first["timestamp"] = json!("2001-01-01T00:00:00.000Z");
    rows.insert(0, first);
    check(&bytes(&rows), &[5, 6, 7, 8, 9], &[1, 2, 3, 4]);
    let mut rows = compacted();
    rows[0]["timestamp"] = json!("2099-01-01T00:00:00.000Z");
    let first = rows.remove(0);
    rows.reverse();
    rows.insert(0, first);
    check(&bytes(&rows), &[5, 6, 7, 8, 9], &[1, 2, 3, 4]);
}

/// Changes name lines of the file, as users count them, also where lines are no rows.
#[test]
fn moved_rows_are_named_by_their_lines() {
    let mut lines = lines(&compacted());
    lines.swap(6, 7);
    lines.push(lines[9].clone());
    lines.insert(7, b"garbage".to_vec());
    lines.insert(0, b"garbage".to_vec());
    let (_, plan) = Transcript::of(&file(&lines), Some(SESSION)).examine().unwrap();
    let moved: Vec<_> =
        plan.changes.iter().map(|c| (c.row, c.before.as_deref(), c.after.as_deref())).collect();
    assert_eq!(moved, [(8, Some("line 8"), Some("line 10"))]);
}
