//! Three and more damages at once, as the random search found them (`cargo xtask soak`); the name says what went wrong.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a test may panic and print"
)]

mod support;

use serde_json::{Value, json};
use support::agents::{AGENTS, reached};
use support::mended::{check, checkpoint, compacted, file, in_order, lines, minute, system};
use support::talk::{bytes, row, talk};
use support::{SESSION, show, timestamp, uuid};
use transcript::{Transcript, Version, repair_bytes};

const FAR_AHEAD: &str = "2099-01-01T00:00:00.000Z";

/// The guard refuses the repair, or every version reaches what it reached before of `live`, and nothing of `given_up`.
#[track_caller]
fn is_safe(broken: &[u8], live: &[usize], given_up: &[usize]) {
    let (whole, _) = repair_bytes(broken, Some(SESSION)).unwrap();
    let (before, after) = (Transcript::of(broken, Some(SESSION)), Transcript::of(&whole, Some(SESSION)));
    if after.harm_since(&before).unwrap().is_some() {
        return;
    }
    for agent in AGENTS {
        let (was, is) = (reached(agent, broken), reached(agent, &whole));
        let token = |n: &usize| format!("tok{n}");
        let lost: Vec<String> =
            live.iter().map(token).filter(|t| was.contains(t) && !is.contains(t)).collect();
        let back: Vec<String> = given_up.iter().map(token).filter(|t| is.contains(t)).collect();
        assert!(
            lost.is_empty() && back.is_empty(),
            "{agent:?} loses {lost:?}, has {back:?}\n{}",
            show(&whole)
        );
    }
}

/// Gives the rows times in their order, so near that newer agents bridge a gap.
fn close_together(mut rows: Vec<Value>) -> Vec<Value> {
    for (at, row) in (1..).zip(&mut rows) {
        row["timestamp"] = json!(timestamp(400 * at));
    }
    rows
}

fn without(mut row: Value, key: &str) -> Value {
    row.as_object_mut().unwrap().shift_remove(key);
    row
}

/// Tokens 3 and 4 were given up: 5 follows 2.
fn rewound() -> Vec<Value> {
    let mut rows = talk("uauaua");
    rows[4]["parentUuid"] = json!(uuid(2));
    rows
}

/// The summary is torn in the first of two copies of the file, and the prompt behind it in both.
#[test]
fn a_summary_that_only_the_second_copy_has_sums_up_nothing_that_was_said_since() {
    let copy = lines(&compacted());
    let mut first = copy.clone();
    first[5].truncate(16);
    first[6].truncate(16);
    let mut second = copy;
    second[6].truncate(16);
    is_safe(&file(&[first, second].concat()), &[7, 8, 9], &[]);
}

/// A stop hook's summary is there twice, and once its time lies far ahead.
#[test]
fn of_two_branches_the_later_one_by_time_stays_live_in_a_doubled_file() {
    let mut rows = talk("uauauauauaua");
    rows.insert(2, system(20, Some(2), "stop_hook_summary"));
    rows[3]["parentUuid"] = json!(uuid(20));
    rows[11]["parentUuid"] = json!(uuid(20));
    let rows = close_together(rows);
    let mut doubled = [rows.clone(), rows].concat();
    doubled[2]["timestamp"] = json!(FAR_AHEAD);
    is_safe(&bytes(&doubled), &[1, 2, 11, 12], &[3, 4, 5, 6, 7, 8, 9, 10]);
}
/// Newest first, and a prompt from before the compaction is the newest of all.
#[test]
fn a_time_far_ahead_does_not_undo_a_compaction_in_a_file_with_the_newest_row_first() {
    let mut rows = compacted();
    rows[2]["timestamp"] = json!(FAR_AHEAD);
    let ahead = rows.remove(2);
    rows.push(ahead);
    rows.reverse();
    rows.push(checkpoint(9));
    check(&bytes(&rows), &[5, 6, 7, 8, 9], &[]);
}

#[test]
fn a_row_without_a_date_that_was_sorted_to_the_end_goes_before_what_follows_it() {
    let mut rows = rewound();
    let mut prompt = rows.remove(2);
    prompt["timestamp"] = json!("yesterday");
    rows.push(prompt);
    check(&bytes(&rows), &[1, 2, 5, 6], &[3, 4]);
}

#[test]
fn a_time_far_ahead_takes_nothing_along_in_a_file_with_the_newest_row_first() {
    let mut rows = talk("uauaua");
    rows[3]["parentUuid"] = json!(uuid(99));
    let mut ahead = rows.remove(1);
    ahead["timestamp"] = json!(FAR_AHEAD);
    rows.reverse();
    rows.insert(0, ahead);
    check(&bytes(&rows), &[1, 2, 3, 4, 5, 6], &[]);
}

/// The reply of the branch that lives has a time far behind all others, and was sorted to the beginning.
#[test]
fn a_prompt_stays_where_its_own_time_says_when_its_reply_was_sorted_away() {
    let mut rows = talk("uauauauauaua");
    rows[10]["parentUuid"] = json!(uuid(8)); // 9 and 10 were given up
    let mut reply = rows.remove(11);
    reply["timestamp"] = json!("2001-01-01T00:00:00.000Z");
    rows.insert(0, reply);
    check(&bytes(&rows), &[1, 2, 7, 8, 11, 12], &[9, 10]);
}
/// Rows 3 and 7 name a row that is lost. It stood before row 7, where the reply to a result is missing.
#[test]
fn two_rows_that_name_a_lost_row_are_no_rewind_for_sure_where_the_later_one_misses_a_reply() {
    let mut rows = talk("uaucrauaua");
    rows.insert(8, system(20, Some(8), "stop_hook_summary"));
    rows[9]["parentUuid"] = json!(uuid(20));
    rows[2]["parentUuid"] = json!(uuid(6));
    rows.remove(5);
    is_safe(&bytes(&close_together(rows)), &[1, 2, 3, 7, 8, 9, 10], &[]);
}
#[test]
fn a_copy_without_an_id_and_without_a_time_goes_aside() {
    let rows: Vec<Value> = talk("uaua").into_iter().map(|row| without(row, "timestamp")).collect();
    let mut second = rows.clone();
    second[1] = without(second[1].clone(), "uuid");
    let whole = check(&bytes(&[rows, second].concat()), &[1, 2, 3, 4], &[]);
    assert_eq!(whole.split(|b| *b == b'\n').count(), 5, "\n{}", show(&whole));
}

#[test]
fn a_row_without_an_id_and_its_copy_with_other_words_are_both_reached() {
    let mut rows = talk("uaua");
    let mut copy = rows[3].clone();
    copy["message"]["content"] = json!([{"type": "text", "text": "tok40."}]);
    let mut nameless = rows.clone();
    nameless[3] = without(nameless[3].clone(), "uuid");
    nameless.push(copy);
    check(&bytes(&nameless), &[1, 2, 3, 4, 40], &[]);
    let mut copy = without(rows[2].clone(), "uuid");
    copy["message"]["content"] = json!("tok30.");
    rows.push(copy);
    check(&bytes(&rows), &[1, 2, 3, 4, 30], &[]);
}

/// All times are equal, and two prompts have one id; the file is reversed.
#[test]
fn a_first_prompt_whose_id_another_one_has_was_not_given_up() {
    let mut rows = talk("uauauaua");
    rows[4]["uuid"] = json!(uuid(1));
    rows[5]["parentUuid"] = json!(uuid(1));
    rows[6]["parentUuid"] = json!(uuid(4)); // 5 and 6 were given up
    for row in &mut rows {
        row["timestamp"] = minute(1);
    }
    rows.reverse();
    is_safe(&bytes(&rows), &[1, 2, 3, 4, 7, 8], &[]);
}

/// The row that a false link and a right one name has lost its id, and stands before the second.
#[test]
fn a_row_that_follows_one_without_an_id_stays_behind_it() {
    let mut rows = talk("uauaua");
    rows.insert(4, without(system(20, Some(4), "stop_hook_summary"), "uuid"));
    rows[5]["parentUuid"] = json!(uuid(20));
    let mut hook = row(21, Some(json!(uuid(20))), "attachment", Value::Null);
    hook["attachment"] = json!({"type": "todo"});
    rows.insert(1, hook);
    rows[2]["parentUuid"] = json!(uuid(21));
    check(&bytes(&in_order(rows)), &[1, 2, 3, 4, 5, 6], &[]);
}

/// Two prompts have one id, and the second one names it as its parent.
#[test]
fn a_prompt_that_names_its_own_id_gives_nothing_up() {
    let mut rows = close_together(talk("uauaua"));
    rows[4]["uuid"] = json!(uuid(1));
    rows[4]["parentUuid"] = json!(uuid(1));
    rows[5]["parentUuid"] = json!(uuid(1));
    is_safe(&bytes(&rows), &[1, 2, 3, 4, 5, 6], &[]);
}
#[test]
fn a_copy_that_moved_is_reached_where_the_row_behind_it_goes_aside() {
    let mut rows = talk("uaaua");
    rows[2]["message"]["id"] = rows[1]["message"]["id"].clone();
    rows[2]["message"]["content"] = json!([{"type": "text", "text": ""}]);
    let mut copy = rows[1].clone();
    copy["message"]["content"] = json!([{"type": "text", "text": "tok20."}]);
    rows.insert(2, copy);
    check(&bytes(&rows), &[1, 2, 20, 4, 5], &[]);
}
#[test]
fn a_reply_under_a_used_id_is_another_reply_also_without_a_parent() {
    let mut rows = talk("uauaua");
    rows[3]["uuid"] = json!(uuid(2));
    rows[3]["parentUuid"] = Value::Null;
    rows[4]["parentUuid"] = json!(uuid(2));
    check(&bytes(&rows), &[1, 2, 3, 4, 5, 6], &[]);
}

/// Tokens 3 and 6 were given up. All times are equal.
#[test]
fn a_prompt_under_the_id_of_a_result_does_not_take_its_place() {
    let mut rows = talk("uaucraua");
    rows[6]["parentUuid"] = json!(uuid(2));
    rows[6]["uuid"] = json!(uuid(5));
    rows[7]["parentUuid"] = json!(uuid(5));
    for row in &mut rows {
        row["timestamp"] = minute(1);
    }
    check(&bytes(&rows), &[1, 2, 7, 8], &[3, 6]);
}

#[test]
fn a_part_of_a_reply_that_was_swapped_with_the_one_it_follows_finds_it() {
    let mut rows = talk("uaacrau");
    for at in [2, 3] {
        rows[at]["message"]["id"] = rows[1]["message"]["id"].clone();
    }
    rows[3]["parentUuid"] = json!(uuid(99));
    rows.swap(2, 3);
    check(&bytes(&rows), &[1, 2, 3, 6, 7], &[]);
}

/// Tokens 3 to 6 were given up. A stop hook's summary at the fork is lost; that there are some, only one other prompt tells.
#[test]
fn a_lost_stop_hook_is_missed_also_where_another_prompt_is_broken() {
    let rows = || {
        let mut rows = talk("uauauaua");
        rows[2]["parentUuid"] = json!(uuid(20));
        rows[6]["parentUuid"] = json!(uuid(20));
        rows.insert(4, system(21, Some(4), "stop_hook_summary"));
        rows[5]["parentUuid"] = json!(uuid(21));
        rows
    };
    let mut wordless = rows();
    wordless[5] = without(wordless[5].clone(), "message");
    check(&bytes(&in_order(wordless)), &[1, 2, 7, 8], &[3, 4, 6]);
    let mut behind = rows();
    behind[5]["parentUuid"] = json!(uuid(30));
    behind.insert(6, row(30, Some(json!(uuid(21))), "progress", Value::Null));
    check(&bytes(&in_order(behind)), &[1, 2, 7, 8], &[3, 4, 5, 6]);
}

#[test]
fn copies_that_were_appended_to_a_reversed_file_go_where_the_row_belongs() {
    let mut rows = rewound();
    rows.reverse();
    let run = rows[2].clone();
    check(&bytes(&[rows.clone(), rows, vec![run]].concat()), &[1, 2, 5, 6], &[3, 4]);
}
/// The row at the fork is NUL, the file is reversed, and a subagent's row was appended.
#[test]
fn a_lost_row_stays_beside_its_neighbour_in_a_reversed_file() {
    let mut rows = rewound();
    rows.insert(2, system(20, Some(2), "stop_hook_summary"));
    rows[3]["parentUuid"] = json!(uuid(20));
    rows[5]["parentUuid"] = json!(uuid(20));
    let mut lines = lines(&in_order(rows));
    lines[2] = vec![0; 300];
    lines.reverse();
    let mut aside = row(50, None, "user", json!({"role": "user", "content": "aside"}));
    aside["isSidechain"] = json!(true);
    lines.push(aside.to_string().into_bytes());
    check(&file(&lines), &[1, 2, 5, 6], &[3, 4]);
}

/// The checkpoint names the prompt, and the reply, which stands before it, has lost its words.
#[test]
fn a_reply_without_words_is_sent_also_in_a_reversed_file() {
    let mut rows = talk("ua");
    rows[1]["message"]["content"] = json!("");
    rows.reverse();
    rows.push(checkpoint(1));
    let whole = check(&bytes(&rows), &[1], &[]);
    assert!(String::from_utf8_lossy(&whole).contains("(no content)"), "\n{}", show(&whole));
}

#[test]
fn a_bracket_among_broken_lines_makes_no_array() {
    let mut lines = lines(&talk("uaua"));
    for (at, line) in [&b"[2026] something"[..], b"null", b"{\"parentUuid\":"].iter().enumerate() {
        lines.insert(2 + at, line.to_vec());
    }
    let broken = file(&lines);
    let texts = Transcript::of(&broken, Some(SESSION)).texts_reached(Version::V31).unwrap();
    assert!(texts.contains("tok2.") && !texts.contains("tok4."), "nothing behind `null` is read: {texts:?}");
    check(&broken, &[1, 2, 3, 4], &[]);
}

#[test]
fn a_boundary_without_an_id_forgets_no_checkpoint() {
    let mut rows = talk("uaua");
    rows[2]["parentUuid"] = json!(uuid(99));
    rows.push(checkpoint(2));
    rows.push(without(system(40, None, "compact_boundary"), "uuid"));
    let texts = Transcript::of(&bytes(&rows), Some(SESSION)).texts_reached(Version::V325).unwrap();
    assert!(texts.contains("tok2.") && !texts.contains("tok4."), "{texts:?}");
}

/// 2.1.325 keeps a reply that has one block beside others that are none.
#[test]
fn a_reply_of_a_thought_and_a_block_that_is_none_is_kept() {
    let mut rows = talk("uaua");
    rows[3]["parentUuid"] = Value::Null;
    rows[3]["message"]["content"] =
        json!([{"type": "thinking", "thinking": "so", "signature": "QUJD"}, null]);
    let texts = Transcript::of(&bytes(&rows), Some(SESSION)).texts_reached(Version::V325).unwrap();
    assert!(texts.is_empty(), "it resumes there, at a root: {texts:?}");
}
