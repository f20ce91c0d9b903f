//! Judges the repair of small files, and the rows they are made of.

use serde_json::{Value, json};
use transcript::{Transcript, repair_bytes};

use super::agents::{AGENTS, reached};
use super::talk::{row, talk};
use super::{SESSION, show, timestamp, uuid};

/// Every agent reaches these tokens after the repair and none of those, the guard agrees, and a second repair changes nothing.
#[track_caller]
pub fn check(broken: &[u8], reach: &[usize], never: &[usize]) -> Vec<u8> {
    let (whole, _) = repair_bytes(broken, Some(SESSION)).unwrap();
    let after = Transcript::of(&whole, Some(SESSION));
    assert!(after.examine().unwrap().1.is_empty(), "a second repair changes it\n{}", show(&whole));
    let harm = after.harm_since(&Transcript::of(broken, Some(SESSION))).unwrap();
    assert_eq!(harm, None, "\n{}", show(&whole));
    for agent in AGENTS {
        let reached = reached(agent, &whole);
        let has = |token: &usize| reached.contains(&format!("tok{token}"));
        let (missed, back): (Vec<_>, Vec<_>) =
            (reach.iter().filter(|n| !has(n)).collect(), never.iter().filter(|n| has(n)).collect());
        assert!(
            missed.is_empty() && back.is_empty(),
            "{agent:?} misses {missed:?}, has {back:?}\n{}",
            show(&whole)
        );
    }
    whole
}

pub fn minute(n: usize) -> Value {
    json!(timestamp(60_000 * i64::try_from(n).unwrap()))
}

/// Gives the rows times in their order, a minute apart.
pub fn in_order(mut rows: Vec<Value>) -> Vec<Value> {
    for (n, row) in rows.iter_mut().enumerate() {
        row["timestamp"] = minute(n + 1);
    }
    rows
}

pub fn system(n: usize, parent: Option<usize>, subtype: &str) -> Value {
    let mut system = row(n, parent.map(|n| json!(uuid(n))), "system", Value::Null);
    system["subtype"] = json!(subtype);
    system
}

pub fn checkpoint(leaf: usize) -> Value {
    json!({"type": "last-prompt", "leafUuid": uuid(leaf), "sessionId": SESSION})
}

/// Two turns, a compaction, its summary, two turns: tokens 5 to 9 are live.
pub fn compacted() -> Vec<Value> {
    let mut rows = talk("uauauauaa");
    rows[4]["isCompactSummary"] = json!(true);
    rows[4]["parentUuid"] = json!(uuid(40));
    rows.insert(4, system(40, None, "compact_boundary"));
    in_order(rows)
}

pub fn lines(rows: &[Value]) -> Vec<Vec<u8>> {
    rows.iter().map(|row| row.to_string().into_bytes()).collect()
}

pub fn file(lines: &[Vec<u8>]) -> Vec<u8> {
    lines.iter().flat_map(|line| [line.as_slice(), b"\n"].concat()).collect()
}
