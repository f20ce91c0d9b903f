//! Two processes in one conversation: both branches are told, and the user chooses which one is live.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on panics")]

use std::collections::HashMap;

use lab::base::Base;
use lab::home::Home;
use lab::talk;
use serde_json::{Value, json};

const SESSION: &str = "66666666-aaaa-4aaa-8aaa-aaaaaaaaaaaa";

/// Three turns, then turns 3 and 4 of one process and 5 and 6 of another, row by row in turn. The second one wrote
/// last, newest, and perhaps the checkpoint.
fn interleaved(home: &Home, checkpoint: bool) -> Base {
    let mut base = talk::talk(SESSION, &home.project(), 3);
    let fork = base.uuid(base.reply(2).unwrap());
    let branch = |turns: [u8; 2]| {
        let first = talk::turn_rows(SESSION, &home.project(), turns[0], &fork);
        let second = talk::turn_rows(SESSION, &home.project(), turns[1], &first[1]["uuid"]);
        [first, second].concat()
    };
    for (one, two) in branch([3, 4]).into_iter().zip(branch([5, 6])) {
        base.push(one);
        base.push(two);
    }
    let leaf = base.uuid(base.reply(6).unwrap());
    let prompt = json!({
        "type": "last-prompt", "lastPrompt": "ask-06 please", "leafUuid": leaf, "sessionId": SESSION,
    });
    if checkpoint {
        base.push(prompt);
    }
    base
}

/// The turns on the walk from a row to the root.
fn turns_from(base: &Base, leaf: &Value) -> Vec<u8> {
    let tree = base.rows().into_iter().filter(|row| base[*row]["uuid"].is_string());
    let parents: HashMap<String, Value> =
        tree.map(|row| (base.uuid(row).to_string(), base[row].clone())).collect();
    let mut turns = Vec::new();
    let mut at = leaf.to_string();
    while let Some(row) = parents.get(&at) {
        let said = row["message"]["content"].to_string();
        turns.extend(said.split_once("ask-").and_then(|(_, rest)| rest[..2].parse::<u8>().ok()));
        at = row["parentUuid"].to_string();
    }
    turns.reverse();
    turns
}

/// Where agents resume (docs/damage.md): older ones at the newest time, newer ones at the checkpoint unless the last
/// row follows from it, else at the last row.
fn resumes(base: &Base) -> [Vec<u8>; 2] {
    let tree: Vec<_> = base.rows().into_iter().filter(|row| base[*row]["uuid"].is_string()).collect();
    let time = |row: &lab::base::Row| base[*row]["timestamp"].as_str().unwrap_or_default().to_owned();
    let newest = tree.iter().map(time).max().unwrap();
    let newest = turns_from(base, &base.uuid(*tree.iter().find(|row| time(row) == newest).unwrap()));
    let last = turns_from(base, &base.uuid(*tree.last().unwrap()));
    let checkpoint = base.find_last("checkpoint", |row| row["type"] == "last-prompt");
    let named = checkpoint.map(|row| turns_from(base, &base[row]["leafUuid"]));
    let newer = named.ok().filter(|named| !last.starts_with(named)).unwrap_or(last);
    [newest, newer]
}

fn shown(home: &Home) -> (Vec<u8>, Vec<u8>) {
    let whole = home.rekindle_json(&["show", SESSION]).unwrap();
    assert_eq!((&whole["schemaVersion"], &whole["sessionId"]), (&1.into(), &SESSION.into()));
    let (mut live, mut stranded) = (Vec::new(), Vec::new());
    for said in whole["turns"].as_array().unwrap() {
        let text = said["text"].as_str().unwrap();
        let to = if said["stranded"] == true { &mut stranded } else { &mut live };
        to.extend(text.strip_prefix("ask-").and_then(|rest| rest[..2].parse::<u8>().ok()));
    }
    (live, stranded)
}

fn read(home: &Home) -> Base {
    Base::read(&std::fs::read(home.transcript(SESSION)).unwrap(), SESSION).unwrap()
}

#[test]
fn the_user_chooses_between_two_processes() {
    choose(false);
}

#[test]
fn the_user_chooses_against_a_checkpoint() {
    choose(true);
}

fn choose(checkpoint: bool) {
    let home = Home::new().unwrap();
    let made = interleaved(&home, checkpoint);
    home.put(SESSION, &made.bytes()).unwrap();
    assert_eq!(resumes(&made), [(); 2].map(|()| vec![0, 1, 2, 5, 6]));

    // Told, and not called damage: it looks exactly like a rewind.
    let scan = home.scan(SESSION).unwrap();
    assert_eq!((&scan["status"], &scan["forks"]["stranded"]), (&"healthy".into(), &1.into()), "{scan}");
    assert!(scan["findings"].as_array().unwrap().iter().any(|finding| finding["class"] == "B7"), "{scan}");
    assert_eq!(home.repair(&[SESSION]).unwrap()["status"], "already_healthy");
    assert_eq!(read(&home).bytes(), made.bytes());

    let list = home.rekindle_json(&["branches", SESSION]).unwrap();
    let told: Vec<_> =
        list["branches"].as_array().unwrap().iter().map(|b| (&b["kind"], &b["turns"])).collect();
    assert_eq!(told, [(&"live".into(), &5.into()), (&"stranded".into(), &2.into())]);
    let other = &list["branches"][1];
    assert_eq!((&other["number"], &other["leavesAfterTurn"]), (&2.into(), &3.into()));
    assert_eq!(other["lastPrompt"], "ask-04 please");
    assert_eq!(shown(&home), (vec![0, 1, 2, 5, 6], vec![3, 4]));

    let told = home.repair(&[SESSION, "--branch", "2"]).unwrap();
    assert_eq!(told["status"], "repaired", "{told}");
    let chosen = read(&home);
    assert_eq!(resumes(&chosen), [(); 2].map(|()| vec![0, 1, 2, 3, 4]));
    assert_eq!(shown(&home), (vec![0, 1, 2, 3, 4], vec![5, 6]));
    assert_eq!(home.scan(SESSION).unwrap()["status"], "healthy");
    assert_eq!(home.repair(&[SESSION]).unwrap()["status"], "already_healthy");
    // Not a word is lost by choosing, and the choice can be made again.
    for turn in 0..7 {
        assert!(chosen.ask(turn).is_ok() && chosen.reply(turn).is_ok(), "turn {turn}");
    }
    home.repair(&[SESSION, "--branch", "2"]).unwrap();
    assert_eq!(resumes(&read(&home)), [(); 2].map(|()| vec![0, 1, 2, 5, 6]));

    assert!(home.rekindle(&["undo"]).unwrap().success());
    assert!(home.rekindle(&["undo"]).unwrap().success());
    assert_eq!(read(&home).bytes(), made.bytes());
}
