//! Rows that are there twice, and different rows under one id, together with other damage, as the random search found them
//! (`cargo xtask soak`); the name says what went wrong.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a test may panic and print"
)]

mod support;

use serde_json::{Value, json};
use support::mended::{check, compacted, file, in_order, lines, minute, system};
use support::talk::{bytes, row, talk};
use support::uuid;

/// Tokens 3 and 4 were given up. Between the first turn and the fork stands a stop hook's summary, row 20.
fn rewound() -> Vec<Value> {
    let mut rows = talk("uauaua");
    rows.insert(2, system(20, Some(2), "stop_hook_summary"));
    for at in [3, 5] {
        rows[at]["parentUuid"] = json!(uuid(20));
    }
    in_order(rows)
}

/// Gives the row at `second` the id of the one at `first`, and the rows that follow it, too.
fn share_id(rows: &mut [Value], first: usize, second: usize) {
    let (keep, lose) = (rows[first]["uuid"].clone(), rows[second]["uuid"].clone());
    for row in rows {
        for key in ["uuid", "parentUuid"] {
            if row[key] == lose {
                row[key] = keep.clone();
            }
        }
    }
}

/// "Duplicated run + reversed", wherever the run was repeated and however long it is.
#[test]
fn a_run_that_was_repeated_before_the_file_was_reversed_costs_nothing() {
    for start in 0..10 {
        for len in 1..=10 - start {
            let mut rows = compacted();
            rows.extend(rows[start..start + len].to_vec());
            rows.reverse();
            check(&bytes(&rows), &[5, 6, 7, 8, 9], &[1, 2, 3, 4]);
        }
    }
}

#[test]
fn a_run_that_was_repeated_after_the_file_was_reversed_costs_nothing() {
    for start in 0..10 {
        for len in 1..=10 - start {
            let mut rows = compacted();
            rows.reverse();
            rows.extend(rows[start..start + len].to_vec());
            check(&bytes(&rows), &[5, 6, 7, 8, 9], &[1, 2, 3, 4]);
        }
    }
}

#[test]
fn one_copy_of_a_row_anywhere_in_a_reversed_file_costs_nothing() {
    for from in 0..10 {
        for to in 0..=10 {
            let mut rows = compacted();
            rows.reverse();
            rows.insert(to, rows[from].clone());
            check(&bytes(&rows), &[5, 6, 7, 8, 9], &[1, 2, 3, 4]);
        }
    }
}

/// Behind a boundary and its copy the next row still follows the compaction.
#[test]
fn a_reversed_file_that_is_there_twice_keeps_its_fork_behind_a_compaction() {
    let mut rows = talk("uauuauaua");
    rows[2]["isCompactSummary"] = json!(true);
    rows[2]["parentUuid"] = json!(uuid(40));
    rows.insert(2, system(40, None, "compact_boundary"));
    rows[8]["parentUuid"] = json!(uuid(3));
    let mut rows = in_order(rows);
    rows.remove(3); // the summary, which both branches follow
    rows.reverse();
    check(&bytes(&[rows.clone(), rows].concat()), &[8, 9], &[1, 2, 4, 5, 6, 7]);
}

/// A row is there three times: in both copies of the file, and in a run that was repeated.
#[test]
fn a_row_that_only_later_copies_have_goes_where_its_child_stands() {
    let rows = compacted();
    let mut first = rows.clone();
    first.remove(1);
    let broken = [first, rows.clone(), rows[..3].to_vec()].concat();
    check(&bytes(&broken), &[5, 6, 7, 8, 9], &[1, 2, 3, 4]);
}

/// Exact copies that stand one behind the other are in order, whatever else is wrong.
#[test]
fn a_ring_beside_a_row_that_is_there_twice_comes_to_an_end() {
    let mut rows = talk("uauaua");
    rows[0]["parentUuid"] = json!(uuid(6));
    for row in &mut rows {
        row["timestamp"] = minute(1);
    }
    let mut one_twice = rows.clone();
    one_twice.insert(3, rows[2].clone());
    check(&bytes(&one_twice), &[1, 2, 3, 4, 5, 6], &[]);
    check(&bytes(&[rows.clone(), rows].concat()), &[1, 2, 3, 4, 5, 6], &[]);
}

#[test]
fn a_copy_that_has_lost_its_id_is_no_turn_of_its_own() {
    let rows = talk("uaua");
    let mut second = rows.clone();
    second[2].as_object_mut().unwrap().shift_remove("uuid");
    check(&bytes(&[rows, second].concat()), &[1, 2, 3, 4], &[]);
}

/// It stands behind the compaction of the first copy of the file, but is no other row.
#[test]
fn a_copy_that_has_lost_its_time_is_no_twin() {
    let rows = compacted();
    let mut second = rows.clone();
    second[1]["timestamp"] = json!("yesterday");
    let mut stray = system(60, None, "informational");
    stray["timestamp"] = minute(90);
    check(&bytes(&[rows, second, vec![stray]].concat()), &[5, 6, 7, 8, 9], &[1, 2, 3, 4]);
}

/// The children of both twins name one id, and the second twin was swapped with its child.
#[test]
fn a_twin_that_stands_behind_its_child_goes_before_it() {
    let mut rows = talk("uauaua");
    share_id(&mut rows, 1, 3);
    rows.swap(3, 4);
    check(&bytes(&rows), &[1, 2, 3, 4, 5, 6], &[]);
}

#[test]
fn twins_in_a_reversed_file_keep_their_own_children() {
    for (first, second) in [(1, 3), (1, 5), (3, 5), (2, 4)] {
        let mut rows = talk("uauauaua");
        share_id(&mut rows, first, second);
        rows.reverse();
        check(&bytes(&rows), &[1, 2, 3, 4, 5, 6, 7, 8], &[]);
        rows.extend(rows[1..4].to_vec());
        check(&bytes(&rows), &[1, 2, 3, 4, 5, 6, 7, 8], &[]);
    }
}

/// A row of the main conversation never follows a subagent's.
#[test]
fn a_twin_among_a_subagents_rows_takes_no_children_away() {
    let mut rows = talk("uaua");
    let said = json!({"id": "msg_s", "role": "assistant", "content": [{"type": "text", "text": "aside"}]});
    let mut aside = row(2, None, "assistant", said);
    aside["isSidechain"] = json!(true);
    aside["timestamp"] = json!("2026-11-01T00:02:30.000Z");
    rows.insert(2, aside);
    check(&bytes(&rows), &[1, 2, 3, 4], &[]);
}

/// The user went back, and the prompt that was said instead has the id of the one that was given up.
#[test]
fn two_prompts_on_one_row_that_share_an_id_stay_two_branches() {
    let mut rows = rewound();
    share_id(&mut rows, 3, 5);
    check(&bytes(&rows), &[1, 2, 5, 6], &[3, 4]);
}

/// All times are equal: another parent and other words still tell that these are two rows.
#[test]
fn twins_of_one_time_are_not_merged() {
    let mut rows = rewound();
    for row in &mut rows {
        row["timestamp"] = minute(1);
    }
    let thought = json!([{"type": "thinking", "thinking": "so", "signature": "QUJD"}]);
    rows[1]["message"]["content"] = thought;
    share_id(&mut rows, 1, 4);
    check(&bytes(&rows), &[1, 5, 6], &[3, 4]);
}

/// The row at the fork is NUL. That must still be seen in the round after the one in which twins get ids.
#[test]
fn what_was_rewound_stays_so_beside_twins_when_the_row_at_the_fork_is_nul() {
    let mut rows = rewound();
    let mut later = talk("uauauaua").split_off(6);
    later[0]["timestamp"] = minute(20);
    later[1]["timestamp"] = minute(21);
    rows.extend(later);
    share_id(&mut rows, 3, 7);
    let mut lines = lines(&rows);
    lines[2] = vec![0; 300];
    check(&file(&lines), &[1, 2, 5, 6, 7, 8], &[3, 4]);
}
