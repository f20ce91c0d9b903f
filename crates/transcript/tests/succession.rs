//! A file that took the place of an older copy: joined where the order is proven, else nothing is decided.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

mod support;

use std::collections::BTreeSet;

use proptest::prelude::*;
use proptest::test_runner::{Config, RngSeed};
use serde_json::{Value, json};
use support::agents::{AGENTS, reached, resume};
use support::conversation::{Conversation, steps};
use support::talk::{bytes, row, talk};
use support::{Line, SESSION, api, file, show, uuid};
use transcript::{Doubt, Joined, Proof, Status, Succession, Transcript, succession};

fn config(cases: u32) -> Config {
    let hunt = std::env::var("PROPTEST_CASES").ok().and_then(|n| n.parse().ok());
    let rng_seed = if hunt.is_some() { RngSeed::Random } else { RngSeed::Fixed(20_261_116) };
    let cases = hunt.unwrap_or(cases);
    Config { cases, max_shrink_iters: 20_000, failure_persistence: None, rng_seed, ..Config::default() }
}

fn compare(older: &[u8], newer: &[u8]) -> Succession {
    succession(older, newer, Some(SESSION), &|_| false).unwrap()
}

fn joined(older: &[u8], newer: &[u8]) -> Joined {
    match compare(older, newer) {
        Succession::Continued(joined) => joined,
        other => panic!("{other:?}\n{}\n{}", show(older), show(newer)),
    }
}

fn talks(lines: &[Line]) -> bool {
    lines
        .iter()
        .filter_map(Line::row)
        .any(|row| matches!(row["type"].as_str(), Some("user" | "assistant")) && row["isSidechain"] != true)
}

/// Rows of a conversation from this turn on, hung on a row, under ids that follow `from`.
fn later(kinds: &str, from: usize, parent: Value) -> Vec<Value> {
    let mut rows: Vec<Value> = talk(&format!("{}{kinds}", "u".repeat(from)));
    rows.drain(..from);
    rows[0]["parentUuid"] = parent;
    rows
}

#[test]
fn rows_that_name_a_parent_of_the_older_copy_stand_behind_it_byte_for_byte() {
    let whole = talk("uauauaua");
    for cut in 1..8 {
        let (older, newer) = (bytes(&whole[..cut]), bytes(&whole[cut..]));
        let joined = joined(&older, &newer);
        assert_eq!(joined.bytes, bytes(&whole), "cut {cut}");
        assert_eq!((joined.proof, joined.gap), (Proof::Links, false));
        assert_eq!(joined.regained, cut.div_ceil(2) as u64, "cut {cut}");
    }
}

#[test]
fn a_call_that_is_answered_in_the_newer_file_keeps_its_answer() {
    let whole = talk("uacrauacra");
    let joined = joined(&bytes(&whole[..3]), &bytes(&whole[3..]));
    assert_eq!(joined.bytes, bytes(&whole));
}

#[test]
fn a_torn_last_row_of_the_older_copy_costs_only_itself() {
    let whole = talk("uauaua");
    let mut older = bytes(&whole[..3]);
    older.truncate(older.len() - 20);
    let joined = joined(&older, &bytes(&whole[2..]));
    assert_eq!(Transcript::of(&joined.bytes, Some(SESSION)).examine().unwrap().0.status, Status::Healthy);
    for agent in AGENTS {
        let all: BTreeSet<String> = (1..=6).map(|n| format!("tok{n}")).collect();
        assert_eq!(reached(agent, &joined.bytes), all, "{agent:?}");
    }
}

#[test]
fn rows_that_were_never_copied_do_not_hide_the_order() {
    let whole = talk("uauauaua");
    // The rows 4 and 5 went with the file before anything copied them.
    let joined = joined(&bytes(&whole[..3]), &bytes(&whole[5..]));
    assert_eq!((joined.proof, joined.regained), (Proof::Times, 2));
    assert!(joined.gap, "its first row names one that is in neither");
    let said: BTreeSet<String> = [1, 2, 3, 6, 7, 8].map(|n| format!("tok{n}")).into();
    for agent in AGENTS {
        assert_eq!(reached(agent, &joined.bytes), said, "{agent:?}\n{}", show(&joined.bytes));
        assert_eq!(api::refusal(&resume(agent, &joined.bytes)), None);
    }
}

#[test]
fn a_fresh_root_is_a_continuation_only_of_an_agent_that_lived_through_it() {
    let older = bytes(&talk("uaua"));
    let newer = bytes(&later("uaua", 4, Value::Null));
    assert_eq!(compare(&older, &newer), Succession::Unproven(Doubt::FreshStart));
    let lived = |span: std::ops::Range<i64>| span.end - span.start == 60_000;
    let Succession::Continued(joined) = succession(&older, &newer, Some(SESSION), &lived).unwrap() else {
        panic!("not joined");
    };
    let all: BTreeSet<String> = (1..=8).map(|n| format!("tok{n}")).collect();
    for agent in AGENTS {
        assert_eq!(reached(agent, &joined.bytes), all, "{agent:?}");
    }
}

#[test]
fn another_conversation_is_never_joined() {
    let older = talk("uauaua");
    let unnamed = json!(uuid(999));
    let check = |newer: &[Value], doubt: Doubt| {
        let (older, newer) = (bytes(&older), bytes(newer));
        let lived = |_| true;
        let found = succession(&older, &newer, Some(SESSION), &lived).unwrap();
        assert_eq!(found, Succession::Unproven(doubt));
    };
    let mut foreign = later("uaua", 6, unnamed.clone());
    for row in &mut foreign {
        row["sessionId"] = json!("5e551000-0000-4000-8000-00000000beef");
    }
    check(&foreign, Doubt::OtherSession);
    let mut early = later("uaua", 6, unnamed.clone());
    early[0]["timestamp"] = older[4]["timestamp"].clone();
    check(&early, Doubt::Times);
    let mut again = later("uaua", 6, unnamed);
    again[0]["message"]["content"] = older[0]["message"]["content"].clone();
    check(&again, Doubt::SameBeginning);
    // Both begin alike: somebody put an older copy back and went on with that.
    let branch = [talk("ua"), later("ua", 6, json!(uuid(2)))].concat();
    check(&branch, Doubt::Diverged);
    let mut earlier = [talk("ua"), later("ua", 6, json!(uuid(2)))].concat();
    earlier[2]["timestamp"] = older[3]["timestamp"].clone();
    earlier[3]["timestamp"] = older[4]["timestamp"].clone();
    check(&earlier, Doubt::Diverged);
    let mut rewritten = [talk("ua"), later("ua", 6, json!(uuid(6)))].concat();
    rewritten[1]["message"]["content"][0]["text"] = json!("tok99.");
    check(&rewritten, Doubt::Rewritten);
}

#[test]
fn a_file_that_holds_less_is_cut_short_and_one_that_holds_all_is_complete() {
    let whole = talk("uauaua");
    assert_eq!(compare(&bytes(&whole), &bytes(&whole[..4])), Succession::CutShort);
    assert_eq!(compare(&bytes(&whole), &bytes(&whole[3..])), Succession::CutShort, "its head is gone");
    assert_eq!(compare(&bytes(&whole), b""), Succession::CutShort);
    let title = b"{\"type\":\"custom-title\",\"customTitle\":\"x\"}\n";
    assert_eq!(compare(&bytes(&whole), title), Succession::CutShort);
    assert_eq!(compare(&bytes(&whole[..4]), &bytes(&whole)), Succession::Complete);
    assert_eq!(compare(&bytes(&whole), &bytes(&whole)), Succession::Complete);
    assert_eq!(compare(title, &bytes(&whole)), Succession::Complete);
}

#[test]
fn what_an_agent_drops_by_itself_is_complete() {
    // The last reply is taken back and said anew.
    let mut anew = talk("uaua");
    anew[3]["uuid"] = json!(uuid(77));
    anew.extend(later("ua", 6, json!(uuid(77))));
    assert_eq!(compare(&bytes(&talk("uaua")), &bytes(&anew)), Succession::Complete);
    // Rows before a compaction go.
    let mut boundary = row(7, None, "system", Value::Null);
    boundary["subtype"] = json!("compact_boundary");
    boundary["logicalParentUuid"] = json!(uuid(6));
    let summary = {
        let mut summary = row(8, Some(json!(uuid(7))), "user", json!({"role": "user", "content": "tok8."}));
        summary["isCompactSummary"] = json!(true);
        summary
    };
    let behind = [vec![boundary, summary], later("ua", 8, json!(uuid(8)))].concat();
    let compacted = [talk("uauaua"), behind.clone()].concat();
    let dropped = [behind.clone(), later("ua", 10, json!(uuid(10)))].concat();
    assert_eq!(compare(&bytes(&compacted), &bytes(&dropped)), Succession::Complete);
    // Deleted, then compacted in memory: what was said before stands before, and is not reached again.
    let joined = joined(&bytes(&talk("uauaua")), &bytes(&behind));
    assert_eq!(joined.bytes, bytes(&compacted));
    assert_eq!(joined.regained, 0);
}

#[test]
fn what_was_rewound_in_memory_does_not_come_back() {
    // The user went back to the first turn, then the file was deleted, then the next prompt was written.
    let older = bytes(&talk("uauaua"));
    let newer = bytes(&later("ua", 6, json!(uuid(2))));
    let joined = joined(&older, &newer);
    let said: BTreeSet<String> = [1, 2, 7, 8].map(|n| format!("tok{n}")).into();
    for agent in AGENTS {
        assert_eq!(reached(agent, &joined.bytes), said, "{agent:?}");
    }
}

proptest! {
    #![proptest_config(config(100))]

    /// Wherever a file is lost under its agent, the joined file is the one that would be there.
    #[test]
    fn a_loss_at_any_row_leaves_no_trace(
        steps in steps(), checkpoints: bool, at in 0.0..1.0f64, keeps in 0.0..1.0f64, truncated: bool
    ) {
        let whole = Conversation::new(&steps, checkpoints);
        let cut = ((whole.lines.len() as f64) * at) as usize;
        let kept = if truncated { ((cut as f64) * keeps) as usize } else { 0 };
        let (older, newer) = (&whole.lines[..cut], [&whole.lines[..kept], &whole.lines[cut..]].concat());
        let all = file(&whole.lines);
        let healthy = Transcript::of(&all, Some(SESSION)).examine()?.1.is_empty();
        prop_assume!(healthy && talks(older) && talks(&newer));
        let (older, newer) = (file(older), file(&newer));
        match compare(&older, &newer) {
            Succession::Continued(joined) => {
                for agent in AGENTS {
                    prop_assert_eq!(
                        reached(agent, &joined.bytes), reached(agent, &all),
                        "{:?} {:?}\n{}\n---\n{}\n---\n{}", agent, joined.proof, show(&older), show(&newer), show(&joined.bytes)
                    );
                    let refusal = |bytes: &[u8]| api::refusal(&resume(agent, bytes));
                    prop_assert_eq!(refusal(&joined.bytes), refusal(&all));
                }
            }
            Succession::CutShort => prop_assert_eq!(show(&older), show(&all), "{}", show(&newer)),
            Succession::Complete => {
                let reach = |bytes: &[u8]| reached(AGENTS[2], bytes);
                prop_assert_eq!(reach(&newer), reach(&all), "{}\n---\n{}", show(&older), show(&newer));
            }
            Succession::Unproven(_) => {}
        }
    }
}

/// Most losses are proven: a comparison that always doubts would pass everything above.
#[test]
fn most_losses_are_proven() {
    use proptest::strategy::ValueTree;
    use proptest::test_runner::TestRunner;
    let mut runner = TestRunner::new_with_rng(
        Config::default(),
        proptest::test_runner::TestRng::deterministic_rng(proptest::test_runner::RngAlgorithm::ChaCha),
    );
    let (mut tried, mut proven, mut said) = (0, 0, Vec::new());
    for _ in 0..14 {
        let steps = steps().new_tree(&mut runner).unwrap().current();
        let whole = Conversation::new(&steps, true);
        let all = file(&whole.lines);
        for cut in 1..whole.lines.len() {
            let (older, newer) = whole.lines.split_at(cut);
            let healthy = Transcript::of(&all, Some(SESSION)).examine().unwrap().1.is_empty();
            if !healthy || !talks(older) || !talks(newer) {
                continue;
            }
            tried += 1;
            match compare(&file(older), &file(newer)) {
                Succession::Continued(joined) if joined.bytes == all => proven += 1,
                other => said.push(format!("{:.60}", format!("{other:?}"))),
            }
        }
    }
    said.sort();
    assert!(tried > 100 && proven * 100 >= tried * 95, "{proven} of {tried}: {said:#?}");
}

#[test]
fn a_result_that_became_nul_bytes_is_put_back_and_not_invented() {
    let mut whole = talk("uacracra");
    // The first result is a leaf, as with calls in parallel: what follows hangs on its call.
    whole[4]["parentUuid"] = whole[2]["uuid"].clone();
    let is_leaf = |at: usize| at == 3;
    for lost in whole.iter().enumerate().filter(|(_, row)| row["type"] == "user").map(|(at, _)| at).skip(1) {
        let mut lines: Vec<Vec<u8>> = whole.iter().map(|row| bytes(std::slice::from_ref(row))).collect();
        let end = lines[lost].len() - 1;
        lines[lost][..end].fill(0);
        let newer = lines.concat();
        match compare(&bytes(&whole), &newer) {
            Succession::Continued(joined) => assert_eq!(joined.bytes, bytes(&whole), "{lost}"),
            Succession::CutShort => assert!(!is_leaf(lost)),
            other => panic!("row {lost}: {other:?}"),
        }
    }
}

#[test]
fn rows_that_were_emptied_in_place_get_their_words_back() {
    let whole = talk("uauaua");
    for (at, empty) in
        [(0, json!("")), (1, json!([])), (2, json!(" ")), (3, json!([{"type": "text", "text": ""}]))]
    {
        let mut emptied = whole.clone();
        emptied[at]["message"]["content"] = empty;
        // The agent went on since.
        let longer = [emptied.clone(), later("ua", 6, emptied[5]["uuid"].clone())].concat();
        let expect = [whole.clone(), longer[6..].to_vec()].concat();
        assert_eq!(joined(&bytes(&whole), &bytes(&emptied)).bytes, bytes(&whole), "row {at}");
        assert_eq!(joined(&bytes(&whole), &bytes(&longer)).bytes, bytes(&expect), "row {at}, and more");
        // What was edited and still says something is its user's.
        let mut edited = whole.clone();
        edited[at]["message"]["content"] = json!([{"type": "text", "text": "other words"}]);
        assert_eq!(compare(&bytes(&whole), &bytes(&edited)), Succession::Complete, "row {at}");
    }
}

#[test]
fn a_branch_that_vanished_without_a_compaction_is_a_loss() {
    let mut whole = talk("uauaua");
    // The user went back behind the first answer: rows 2 and 3 are a branch that is not live.
    whole[4]["parentUuid"] = whole[1]["uuid"].clone();
    let without: Vec<Value> = [&whole[..2], &whole[4..]].concat();
    assert_eq!(compare(&bytes(&whole), &bytes(&without)), Succession::CutShort);
}
