//! A repair never makes any version reach less than before, and never brings back what was rewound: damage that once did
//! both. Of each kind the repair is whole, and the guard would refuse one that is not.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a test may panic and print"
)]

mod support;

use std::collections::HashSet;

use serde_json::{Value, json};
use support::mended::{check, checkpoint, compacted, file, in_order, lines};
use support::talk::{bytes, talk};
use support::{SESSION, timestamp, uuid};
use transcript::{HarmKind, Transcript, Version, repair_bytes};

const OTHER: &str = "5e551000-0000-4000-8000-000000000002";

/// Three turns, two that were given up, three turns: 7 to 10 were rewound, and 11 follows 6.
fn rewound() -> Vec<Value> {
    let mut rows = talk("uauauauauauauaua");
    rows[10]["parentUuid"] = json!(uuid(6));
    rows
}

const LIVE: [usize; 12] = [1, 2, 3, 4, 5, 6, 11, 12, 13, 14, 15, 16];
const GIVEN_UP: [usize; 4] = [7, 8, 9, 10];

fn without(tokens: &[usize], lost: usize) -> Vec<usize> {
    tokens.iter().copied().filter(|token| *token != lost).collect()
}

#[track_caller]
fn refused(before: &[u8], after: &[u8]) -> (HarmKind, Version) {
    let harm =
        Transcript::of(after, Some(SESSION)).harm_since(&Transcript::of(before, Some(SESSION))).unwrap();
    let harm = harm.expect("the guard sees nothing");
    (harm.kind, harm.version)
}

#[track_caller]
fn stays(bytes: &[u8]) {
    assert!(Transcript::of(bytes, Some(SESSION)).examine().unwrap().1.is_empty());
}

/// Every row over several lines; the row of this token is torn, on one line.
fn pretty_and_torn(rows: &[Value], torn: usize) -> Vec<u8> {
    let row = |row: &Value| match row["uuid"] == uuid(torn) {
        true => row.to_string()[..row.to_string().len() / 2].to_owned() + "\n",
        false => serde_json::to_string_pretty(row).unwrap() + "\n",
    };
    rows.iter().map(row).collect::<String>().into_bytes()
}

#[test]
fn rows_behind_a_torn_one_are_found_in_a_formatted_file() {
    for torn in [2, 4, 12] {
        let broken = pretty_and_torn(&rewound(), torn);
        check(&broken, &without(&LIVE, torn), &GIVEN_UP);
        let crlf = String::from_utf8(broken).unwrap().replace('\n', "\r\n");
        check(crlf.as_bytes(), &without(&LIVE, torn), &GIVEN_UP);
    }
    check(&pretty_and_torn(&compacted(), 2), &[5, 6, 7, 8, 9], &[1, 2, 3, 4]);
}

/// 2.1.325 reads what stands behind a torn row: a repair that does not is refused.
#[test]
fn the_guard_reads_a_formatted_file_as_the_agent_does() {
    let rows = rewound();
    let broken = pretty_and_torn(&rows, 4);
    let reached = |version| Transcript::of(&broken, Some(SESSION)).texts_reached(version).unwrap();
    assert!(reached(Version::V31).is_empty() && reached(Version::V100).is_empty());
    let behind: HashSet<String> = LIVE[5..].iter().map(|token| format!("tok{token}.")).collect();
    assert!(behind.is_subset(&reached(Version::V325)));
    assert_eq!(refused(&broken, &bytes(&rows[..3])).0, HarmKind::Loses);
    let rows = compacted();
    assert_eq!(refused(&pretty_and_torn(&rows, 2), &bytes(&rows[..4])).0, HarmKind::Loses);
}

/// From some row on, all rows have another session's id.
fn another_session(mut rows: Vec<Value>, from: usize) -> Vec<Value> {
    for row in &mut rows[from..] {
        row["sessionId"] = json!(OTHER);
    }
    rows
}

#[test]
fn a_session_whose_id_changes_on_the_way_is_one_session() {
    for logical in [true, false] {
        let mut rows = another_session(compacted(), 4);
        if logical {
            rows[4]["logicalParentUuid"] = json!(uuid(4));
        }
        stays(&bytes(&rows));
        assert_eq!(refused(&bytes(&rows), &bytes(&rows[..4])), (HarmKind::Loses, Version::V31));
        rows.push(checkpoint(2)); // a stale one
        check(&bytes(&rows), &[5, 6, 7, 8, 9], &[1, 2, 3, 4]);
    }
    stays(&bytes(&another_session(rewound(), 12)));
}

/// Another session, compacted itself, was appended: all of it goes.
#[test]
fn a_compaction_of_another_session_goes_with_it() {
    let mut other = another_session(compacted(), 0);
    for (row, n) in other.iter_mut().zip(60..) {
        let id = |value: &Value| value.as_str().map(|id| id.replacen("000000", "0000f0", 1));
        row["uuid"] = json!(id(&row["uuid"]));
        row["parentUuid"] = json!(id(&row["parentUuid"]));
        row["timestamp"] = json!(timestamp(60_000 * n));
        if row["message"].is_object() {
            row["message"]["content"] = json!([{"type": "text", "text": format!("tok{n}.")}]);
        }
    }
    let rows = [talk("uaua"), other].concat();
    let strangers: Vec<usize> = (60..70).collect();
    check(&bytes(&rows), &[1, 2, 3, 4], &strangers);
}

/// Nothing tells whether the row that the other session's rows follow was one of this session.
#[test]
fn rows_of_another_session_behind_a_lost_row_are_left_to_the_user() {
    let mut rows = another_session(talk("uauauaua"), 4);
    rows[4]["parentUuid"] = json!(uuid(99));
    let (whole, _) = repair_bytes(&bytes(&rows), Some(SESSION)).unwrap();
    assert_eq!(refused(&bytes(&rows), &whole).0, HarmKind::Loses);
}

/// The rows from here on come first.
fn rotated(mut rows: Vec<Value>, at: usize) -> Vec<Value> {
    rows.rotate_left(at);
    rows
}

#[test]
fn a_file_whose_halves_changed_places_is_put_together() {
    for at in [3, 5, 7, 9, 11, 13] {
        check(&bytes(&rotated(rewound(), at)), &LIVE, &GIVEN_UP);
        let mut checked = rewound();
        checked.push(checkpoint(16));
        check(&bytes(&rotated(checked, at)), &LIVE, &GIVEN_UP);
        let mut undated = rewound();
        undated[12]["timestamp"] = json!("1970-01-01T00:00:00.000Z");
        check(&bytes(&rotated(undated, at)), &LIVE, &GIVEN_UP);
        let mut unlinked = rewound();
        unlinked[14].as_object_mut().unwrap().remove("parentUuid");
        check(&bytes(&rotated(unlinked, at)), &LIVE, &GIVEN_UP);
    }
    for at in [2, 3, 4, 6, 7, 8] {
        check(&bytes(&rotated(compacted(), at)), &[5, 6, 7, 8, 9], &[1, 2, 3, 4]);
    }
}

/// In a rotated file the order of the lines is no proof of what was given up.
#[test]
fn the_guard_asks_the_times_where_lines_have_moved() {
    let rows = rewound();
    let broken = bytes(&rotated(rows.clone(), 8));
    // The branch that was given up becomes the live one.
    let mut stale = rows.clone();
    stale[9]["timestamp"] = json!(timestamp(60_000_000));
    let (harm, _) = refused(&broken, &bytes(&stale));
    assert!(matches!(harm, HarmKind::Loses | HarmKind::BringsBack), "{harm:?}");
    let mut back = rows;
    back[10]["parentUuid"] = json!(uuid(10));
    assert_eq!(refused(&broken, &bytes(&back)).0, HarmKind::BringsBack);
}

/// The prompt by which the user went back is torn; so is what hooks said before it.
#[test]
fn behind_a_torn_prompt_the_branch_begins_where_the_prompt_says() {
    let rows = rewound();
    for part in [40, 60, 90] {
        let mut torn = lines(&rows);
        // Agents write the parent first.
        let until = torn[10].len() * part / 100;
        torn[10].truncate(until);
        check(&file(&torn), &without(&LIVE, 11), &GIVEN_UP);
        let mut back = rows.clone();
        back[11]["parentUuid"] = json!(uuid(10));
        back.remove(10);
        assert_eq!(refused(&file(&torn), &bytes(&back)).0, HarmKind::BringsBack);
    }
}

/// The same where nobody went back: nothing else is lost.
#[test]
fn behind_any_other_torn_prompt_everything_before_it_is_reached() {
    let rows = talk("uauauaua");
    let mut torn = lines(&rows);
    torn[4] = format!("{{\"parentUuid\":\"{}\",\"isSidechain\":false,\"typ", uuid(4)).into_bytes();
    check(&file(&torn), &[1, 2, 3, 4, 6, 7, 8], &[]);
}

#[test]
fn an_id_in_another_spelling_names_its_row() {
    type Spelling = fn(&str) -> String;
    let spellings: [Spelling; 3] = [str::to_uppercase, |id| format!("{{{id}}}"), |id| id.replace('-', "")];
    let letters = |row: &mut Value, key: &str| {
        // Ids of letters, so that upper case is another spelling.
        if let Some(id) = row[key].as_str() {
            row[key] = json!(id.replacen("1111", "abcd", 1));
        }
    };
    for spelling in spellings {
        let mut rows = rewound();
        for row in &mut rows {
            letters(row, "uuid");
            letters(row, "parentUuid");
        }
        let whole = rows.clone();
        let spell = |row: &mut Value, key: &str| {
            if let Some(id) = row[key].as_str() {
                row[key] = json!(spelling(id));
            }
        };
        for row in &mut rows {
            spell(row, "parentUuid");
        }
        assert_eq!(check(&bytes(&rows), &LIVE, &GIVEN_UP), bytes(&whole));
        let mut back = whole.clone();
        back[10]["parentUuid"] = back[9]["uuid"].clone();
        assert_eq!(refused(&bytes(&rows), &bytes(&back)).0, HarmKind::BringsBack);
        let mut one = whole.clone();
        spell(&mut one[10], "parentUuid");
        assert_eq!(check(&bytes(&one), &LIVE, &GIVEN_UP), bytes(&whole));
        // The row has the other spelling, and the links to it do not.
        let mut own = whole.clone();
        spell(&mut own[5], "uuid");
        check(&bytes(&own), &LIVE, &GIVEN_UP);
    }
}

/// "No response requested." at the end, on a tool's result in the middle: nobody said anything there.
#[test]
fn what_the_agent_wrote_by_itself_on_an_old_row_ends_nothing() {
    let mut rows = talk("uauaua");
    rows[2]["message"]["content"] = json!([{"type": "tool_result", "tool_use_id": "t1", "content": "tok3."}]);
    rows[1]["message"]["content"] = json!([{"type": "text", "text": "tok2."}, {"type": "tool_use", "id": "t1", "name": "Bash", "input": {}}]);
    let mut nothing = rows[3].clone();
    nothing["uuid"] = json!(uuid(9));
    nothing["timestamp"] = json!(timestamp(60_000 * 60));
    nothing["message"] = json!({"id": "x", "role": "assistant", "model": "<synthetic>", "content": [{"type": "text", "text": "No response requested."}]});
    rows.push(nothing);
    check(&bytes(&in_order(rows.clone())), &[1, 2, 4, 5, 6], &[]);
    // Where the user went on from there, it was meant.
    let mut ask = rows[4].clone();
    ask["uuid"] = json!(uuid(10));
    ask["parentUuid"] = json!(uuid(9));
    ask["message"]["content"] = json!("tok10.");
    rows.push(ask);
    stays(&bytes(&in_order(rows)));
}

#[test]
fn content_that_can_be_read_is_kept() {
    let mut rows = talk("uaua");
    rows[1]["message"]["content"] = json!({"type": "text", "text": "tok2."});
    rows[2]["message"]["content"] = json!(["tok3."]);
    check(&bytes(&rows), &[1, 2, 3, 4], &[]);
}
