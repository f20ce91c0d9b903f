//! Random conversations in files that were rotated, formatted and torn, with links in another spelling, with another session's
//! id, or with a torn prompt where the user went back: every version reaches what is live, and nothing comes back.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a test may panic and print"
)]

mod support;

use std::collections::BTreeSet;

use proptest::prelude::*;
use proptest::test_runner::{Config, RngSeed, TestCaseError};
use serde_json::{Value, json};
use support::agents::{AGENTS, reached};
use support::conversation::{Conversation, steps};
use support::{Line, SESSION, file, parse, show, tokens};
use transcript::{Transcript, repair_bytes};

/// The same cases in every run; `PROPTEST_CASES=5000` hunts for new ones.
fn config() -> Config {
    let hunt = std::env::var("PROPTEST_CASES").ok().and_then(|n| n.parse().ok());
    let rng_seed = if hunt.is_some() { RngSeed::Random } else { RngSeed::Fixed(20_261_118) };
    let cases = hunt.unwrap_or(150);
    Config { cases, max_shrink_iters: 5_000, failure_persistence: None, rng_seed, ..Config::default() }
}

/// Every version reaches what is live and still in the file, and none what was given up.
fn is_whole(
    conversation: &Conversation,
    broken: &[u8],
    left: &BTreeSet<String>,
) -> Result<(), TestCaseError> {
    let (whole, plans) = repair_bytes(broken, Some(SESSION))?;
    let harm = Transcript::of(&whole, Some(SESSION)).harm_since(&Transcript::of(broken, Some(SESSION)))?;
    let shown = || {
        let changes = plans.iter().flat_map(|plan| &plan.changes);
        let changes: String = changes
            .map(|c| format!("{} row {} {}: {:?} → {:?}\n", c.class.id(), c.row, c.what, c.before, c.after))
            .collect();
        format!("{}{changes}{}", show(broken), show(&whole))
    };
    prop_assert!(
        harm.is_none(),
        "the guard would refuse: {}\n{}",
        harm.map_or(String::new(), |h| h.to_string()),
        shown()
    );
    for agent in AGENTS {
        let after = reached(agent, &whole);
        let lost: Vec<&String> =
            conversation.live.intersection(left).filter(|token| !after.contains(*token)).collect();
        prop_assert!(lost.is_empty(), "{agent:?} does not reach {lost:?}\n{}", shown());
        let back: Vec<&String> = after.intersection(&conversation.abandoned).collect();
        prop_assert!(back.is_empty(), "{agent:?} gets back {back:?}\n{}", shown());
    }
    Ok(())
}

fn said<'a>(lines: impl IntoIterator<Item = &'a Line>) -> BTreeSet<String> {
    lines.into_iter().filter_map(Line::row).flat_map(|row| tokens(&row["message"].to_string())).collect()
}

fn rows_mut(lines: &mut [Line]) -> impl Iterator<Item = &mut Value> {
    lines.iter_mut().filter_map(|line| match line {
        Line::Row(row) => Some(row),
        Line::Raw(_) => None,
    })
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn a_rotated_file_is_put_together(steps in steps(), checkpoints: bool, at in 0..1000usize) {
        let conversation = Conversation::new(&steps, checkpoints);
        let mut lines = conversation.lines.clone();
        let cut = at % lines.len().max(1);
        lines.rotate_left(cut);
        is_whole(&conversation, &file(&lines), &said(&lines))?;
    }

    #[test]
    fn links_in_another_spelling_hold(steps in steps(), checkpoints: bool, from in 0..1000usize, all: bool) {
        let conversation = Conversation::new(&steps, checkpoints);
        let mut lines = conversation.lines.clone();
        let from = from % lines.len().max(1);
        let one_or_all = if all { usize::MAX } else { 1 };
        for row in rows_mut(&mut lines).skip(from).filter(|row| row["parentUuid"].is_string()).take(one_or_all) {
            row["parentUuid"] = json!(format!("{{{}}}", row["parentUuid"].as_str().unwrap()));
        }
        is_whole(&conversation, &file(&lines), &said(&lines))?;
    }

    #[test]
    fn a_session_whose_id_changes_is_one(steps in steps(), checkpoints: bool, from in 0..1000usize) {
        let conversation = Conversation::new(&steps, checkpoints);
        let mut lines = conversation.lines.clone();
        let from = from % lines.len().max(1);
        for row in rows_mut(&mut lines).skip(from.max(1)).filter(|row| row["sessionId"].is_string()) {
            row["sessionId"] = json!("0bad5e55-0000-4000-8000-000000000009");
        }
        is_whole(&conversation, &file(&lines), &said(&lines))?;
    }

    #[test]
    fn a_torn_prompt_tells_where_its_branch_begins(steps in steps(), checkpoints: bool, at in 0..1000usize) {
        let conversation = Conversation::new(&steps, checkpoints);
        let mut lines = conversation.lines.clone();
        let is_prompt = |line: &Line| line.row().is_some_and(|row| {
            row["type"] == "user" && row["message"]["content"].is_string() && row["parentUuid"].is_string()
                && row["isSidechain"] != true && row["isMeta"] != true && row["isCompactSummary"] != true
        });
        let prompts: Vec<usize> = (0..lines.len()).filter(|at| is_prompt(&lines[*at])).collect();
        prop_assume!(!prompts.is_empty());
        let torn = prompts[at % prompts.len()];
        let line = lines[torn].bytes();
        lines[torn] = Line::Raw(line[..line.len() * 3 / 4].to_vec());
        is_whole(&conversation, &file(&lines), &said(&lines))?;
    }

    /// A formatted file with torn rows is the file that it was before, with the same rows torn.
    #[test]
    fn formatting_changes_nothing(steps in steps(), checkpoints: bool, torn in prop::collection::vec((0..1000usize, 10..90usize), 0..4)) {
        let conversation = Conversation::new(&steps, checkpoints);
        let mut plain: Vec<Vec<u8>> = conversation.lines.iter().map(Line::bytes).collect();
        let mut pretty: Vec<Vec<u8>> = plain
            .iter()
            .map(|line| parse(line).map_or(line.clone(), |row| serde_json::to_vec_pretty(&row).unwrap()))
            .collect();
        for (at, part) in torn {
            let at = at % plain.len();
            let until = plain[at].len() * part / 100;
            plain[at].truncate(until);
            pretty[at] = plain[at].clone();
        }
        let lines = |lines: Vec<Vec<u8>>| lines.into_iter().flat_map(|line| [line, b"\n".to_vec()].concat()).collect();
        let (plain, pretty): (Vec<u8>, Vec<u8>) = (lines(plain), lines(pretty));
        let (expected, _) = repair_bytes(&plain, Some(SESSION))?;
        let (got, _) = repair_bytes(&pretty, Some(SESSION))?;
        prop_assert_eq!(show(&got), show(&expected), "{}", String::from_utf8_lossy(&pretty));
        let harm = Transcript::of(&got, Some(SESSION)).harm_since(&Transcript::of(&pretty, Some(SESSION)))?;
        prop_assert!(harm.is_none(), "{}", harm.map_or(String::new(), |h| h.to_string()));
    }
}
