//! The guard of a repair: what each version of the agent reached before, it reaches after.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a test may panic and print"
)]

mod support;

use serde_json::{Value, json};
use support::talk::{bytes, talk};
use support::{SESSION, timestamp, uuid};
use transcript::{Harm, HarmKind, Transcript, Version};

fn harm(before: &[Value], after: &[Value]) -> Option<Harm> {
    let (before, after) = (bytes(before), bytes(after));
    Transcript::of(&after, Some(SESSION)).harm_since(&Transcript::of(&before, Some(SESSION))).unwrap()
}

fn kind(harm: Option<Harm>) -> Option<(HarmKind, Version, u64)> {
    harm.map(|harm| (harm.kind, harm.version, harm.row))
}

/// Turns 3 and 4 were rewound: 5 follows 2.
fn rewound() -> Vec<Value> {
    let mut rows = talk("uauaua");
    rows[4]["parentUuid"] = json!(uuid(2));
    rows
}

#[test]
fn a_repair_that_loses_a_prompt_or_a_reply_is_harmful() {
    let before = talk("uauaua");
    let mut no_prompt = before.clone();
    no_prompt[3]["parentUuid"] = json!(uuid(2));
    assert_eq!(kind(harm(&before, &no_prompt)), Some((HarmKind::Loses, Version::V31, 3)));
    let mut no_reply = before.clone();
    no_reply[4]["parentUuid"] = json!(uuid(3));
    assert_eq!(kind(harm(&before, &no_reply)), Some((HarmKind::Loses, Version::V31, 4)));
    let said = harm(&before, &no_reply).unwrap().to_string();
    assert_eq!(said, "Claude Code 2.1.31 would no longer reach row 4 (\"tok4.\")");
    assert_eq!(harm(&before, &before), None);
}

#[test]
fn one_version_is_enough() {
    let before = talk("uauaua");
    let mut stale = before.clone();
    stale.push(json!({"type": "last-prompt", "leafUuid": uuid(2), "sessionId": SESSION, "explicit": true}));
    assert_eq!(kind(harm(&before, &stale)), Some((HarmKind::Loses, Version::V325, 3)));
    let mut newest = before.clone();
    newest[1]["timestamp"] = json!(timestamp(80_000_000));
    assert_eq!(kind(harm(&before, &newest)), Some((HarmKind::Loses, Version::V31, 3)));
}

#[test]
fn what_was_rewound_must_not_come_back() {
    let before = rewound();
    let mut back = before.clone();
    back[4]["parentUuid"] = json!(uuid(4));
    assert_eq!(kind(harm(&before, &back)), Some((HarmKind::BringsBack, Version::V31, 3)));
}

/// The branch begins with what a hook said.
#[test]
fn what_was_rewound_behind_a_hook_must_not_come_back() {
    let mut before = rewound();
    let hook = json!({"parentUuid": uuid(2), "isSidechain": false, "type": "attachment", "sessionId": SESSION, "attachment": {"type": "hook_success"}, "uuid": uuid(9), "timestamp": timestamp(130_000)});
    before[2]["parentUuid"] = json!(uuid(9));
    before.insert(2, hook);
    let mut back = before.clone();
    back[5]["parentUuid"] = json!(uuid(4));
    assert_eq!(kind(harm(&before, &back)), Some((HarmKind::BringsBack, Version::V31, 4)));
}

#[test]
fn a_version_that_was_on_the_rewound_branch_may_leave_it() {
    let mut before = rewound();
    before.push(json!({"type": "last-prompt", "leafUuid": uuid(4), "sessionId": SESSION}));
    let mut after = before.clone();
    after[6]["leafUuid"] = json!(uuid(6));
    assert_eq!(harm(&before, &after), None);
    // But not the other way round.
    assert_eq!(kind(harm(&after, &before)), Some((HarmKind::Loses, Version::V325, 5)));
}

#[test]
fn what_a_compaction_summed_up_may_go_and_its_summary_may_not() {
    let mut before = talk("uauaua");
    let boundary = json!({"parentUuid": null, "isSidechain": false, "type": "system", "subtype": "compact_boundary", "sessionId": SESSION, "uuid": uuid(9), "timestamp": timestamp(121_000)});
    before[2]["isCompactSummary"] = json!(true);
    before[2]["parentUuid"] = json!(uuid(9));
    before.insert(2, boundary);
    let mut undone = before.clone();
    undone[2]["parentUuid"] = json!(uuid(2));
    undone[2]["subtype"] = json!("informational");
    assert_eq!(harm(&undone, &before), None);
    let mut cut = before.clone();
    cut[4]["parentUuid"] = json!(uuid(2));
    assert_eq!(kind(harm(&before, &cut)), Some((HarmKind::Loses, Version::V31, 4)));
}

/// All times are equal, and a prompt that was given up has the id of an earlier one: they are not one row.
#[test]
fn what_was_rewound_must_not_come_back_under_the_id_of_another_row() {
    let mut before = talk("uauauaua");
    for row in &mut before {
        row["timestamp"] = json!(timestamp(60_000));
    }
    before[6]["parentUuid"] = json!(uuid(4)); // 5 and 6 were rewound
    before[4]["uuid"] = json!(uuid(3));
    before[5]["parentUuid"] = json!(uuid(3));
    let mut back = before.clone();
    back[2]["message"] = back.remove(4)["message"].clone();
    back[6]["timestamp"] = json!(timestamp(60_001));
    assert_eq!(kind(harm(&before, &back)), Some((HarmKind::BringsBack, Version::V31, 5)));
}

/// The first rows after the rewind have older times than what was given up; no line has moved.
#[test]
fn a_rewind_after_which_the_clock_went_back_is_one() {
    let mut before = rewound();
    before[4]["timestamp"] = json!(timestamp(1_000));
    before[5]["timestamp"] = json!(timestamp(2_000));
    let mut after = before.clone();
    after[5]["timestamp"] = json!(timestamp(240_001));
    assert_eq!(harm(&before, &after), None);
}

/// Behind a copy the order of the file is in doubt: what is the newest by all times was not given up.
#[test]
fn where_rows_are_there_twice_the_times_must_tell_of_a_rewind_too() {
    let mut before = rewound();
    let later = before.split_off(4);
    before.splice(2..2, later);
    before.push(before[0].clone());
    let mut after = before.clone();
    after.pop();
    after[5]["timestamp"] = json!(timestamp(360_001));
    assert_eq!(kind(harm(&before, &after)), Some((HarmKind::Loses, Version::V31, 3)));
}

/// No version loses anything, but 2.1.31 does not follow the others, which bridge five seconds.
#[test]
fn all_versions_resume_at_the_same_turn_after_a_repair() {
    let mut before = talk("uauaua");
    before[4]["parentUuid"] = json!(uuid(99));
    let mut after = before.clone();
    after[4]["timestamp"] = json!(timestamp(241_000));
    assert_eq!(kind(harm(&before, &after)), Some((HarmKind::Parts, Version::V31, 1)));
    assert_eq!(harm(&after, &after), None, "where they part already, nothing got worse");
}
