//! The vault by hand: versions, flipped bits, and what agents do to their own files, which is no loss.
#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "throwaway files are damaged on purpose, and a test that cannot go on panics"
)]

use std::fs;

use lab::base::Base;
use lab::home::Home;
use lab::talk;
use serde_json::{Value, json};

const SESSION: &str = "aaaaaaaa-aaaa-4aaa-8aaa-aaaaaaaaaaaa";

fn sync(home: &Home) {
    assert!(home.rekindle(&["vault", "sync"]).unwrap().success());
}

#[test]
fn versions_are_written_where_one_says() {
    let home = Home::new().unwrap();
    let path = home.put_talk(SESSION, 5).unwrap();
    let first = fs::read(&path).unwrap();
    sync(&home);
    let second = talk::talk("other", &home.project(), 3).bytes();
    fs::write(&path, &second).unwrap();
    sync(&home);
    let to = home.root().join("out.jsonl");
    let to_text = to.to_string_lossy().into_owned();
    for (number, bytes) in [("1", &first), ("2", &second)] {
        let words = ["vault", "restore", SESSION, "--generation", number, "--to", &to_text];
        let told = home.rekindle_json(&[&words[..], &["--dry-run"]].concat()).unwrap();
        assert_eq!((&told["path"], to.exists()), (&json!(to_text), false));
        assert_eq!(home.rekindle_json(&words).unwrap()["generation"].to_string(), number);
        assert_eq!(&fs::read(&to).unwrap(), bytes);
        let again = home.rekindle(&words).unwrap();
        assert_eq!((again.code(), again.stdout.as_str()), (Some(3), ""));
        assert!(again.stderr.contains("nothing is overwritten"), "{}", again.stderr);
        fs::remove_file(&to).unwrap();
    }
    assert_eq!(fs::read(&path).unwrap(), second);
    // In its place: a version of the same conversation replaces it, and what was there is kept.
    let longer = talk::talk(SESSION, &home.project(), 5).bytes();
    let shorter = talk::talk(SESSION, &home.project(), 3).bytes();
    fs::write(&path, &longer).unwrap();
    sync(&home);
    fs::write(&path, &shorter).unwrap();
    let told = home.rekindle_json(&["vault", "restore", SESSION, "--generation", "1"]).unwrap();
    assert_eq!(fs::read(&path).unwrap(), first);
    let backup = told["sessions"][0]["backupPath"].as_str().unwrap();
    assert_eq!(fs::read(backup).unwrap(), shorter);
}

#[test]
fn a_flipped_bit_is_found_and_named() {
    let home = Home::new().unwrap();
    home.put_talk(SESSION, 5).unwrap();
    home.put_talk("bbbbbbbb-bbbb-4bbb-8bbb-bbbbbbbbbbbb", 5).unwrap();
    sync(&home);
    let clean = home.rekindle(&["vault", "verify", "--json"]).unwrap();
    assert_eq!(clean.code(), Some(0));
    let mut configs = fs::read_dir(home.state().join("vault/conversations")).unwrap();
    let ours = configs.next().unwrap().unwrap().path().join(SESSION);
    let files = ["data", "manifest.jsonl"].map(|name| ours.join(name));
    for file in files {
        let good = fs::read(&file).unwrap();
        for at in [0, good.len() / 2, good.len() - 2] {
            let mut bad = good.clone();
            bad[at] ^= 0x10;
            fs::write(&file, bad).unwrap();
            let found = home.rekindle(&["vault", "verify", "--json"]).unwrap();
            assert_eq!(found.code(), Some(1), "byte {at} of {}", file.display());
            let told: Value = serde_json::from_str(&found.stdout).unwrap();
            let damage = told["damage"].as_array().unwrap();
            assert!(!damage.is_empty());
            for place in damage {
                assert!(place["conversation"].as_str().unwrap().contains(SESSION), "{place}");
            }
        }
        fs::write(&file, &good).unwrap();
    }
    assert_eq!(home.rekindle(&["vault", "verify"]).unwrap().code(), Some(0));
}

/// A damaged line of the manifest may have held more of the conversation: nothing comes back unless somebody asks for what is
/// left, and then it is said what is missing.
fn is_in_doubt(damage: impl Fn(&mut Vec<u8>, usize)) {
    let home = Home::new().unwrap();
    let half = talk::talk(SESSION, &home.project(), 3).bytes();
    let path = home.put(SESSION, &half).unwrap();
    sync(&home);
    fs::write(&path, talk::talk(SESSION, &home.project(), 6).bytes()).unwrap();
    sync(&home);
    let mut configs = fs::read_dir(home.state().join("vault/conversations")).unwrap();
    let manifest = configs.next().unwrap().unwrap().path().join(SESSION).join("manifest.jsonl");
    let mut bytes = fs::read(&manifest).unwrap();
    let last_line = bytes[..bytes.len() - 1].iter().rposition(|byte| *byte == b'\n').unwrap() + 1;
    damage(&mut bytes, last_line);
    fs::write(&manifest, &bytes).unwrap();
    fs::remove_file(&path).unwrap();
    for words in [&["vault", "restore", SESSION][..], &["repair", SESSION]] {
        let refused = home.rekindle(words).unwrap();
        assert_eq!(refused.code(), Some(3), "{}", refused.stderr);
        assert!(
            refused.stderr.contains("line") && refused.stderr.contains("--provable"),
            "{}",
            refused.stderr
        );
        assert!(!path.exists());
    }
    // Cut short, it is not filled up with a copy that may be short itself.
    fs::write(&path, &half[..half.len() / 2]).unwrap();
    assert_eq!(home.rekindle(&["repair", SESSION]).unwrap().code(), Some(3));
    assert_eq!(fs::read(&path).unwrap(), half[..half.len() / 2]);
    fs::remove_file(&path).unwrap();
    let asked = home.rekindle(&["vault", "restore", SESSION, "--provable", "--json"]).unwrap();
    assert_eq!(asked.code(), Some(4), "{}", asked.stderr);
    let told: Value = serde_json::from_str(&asked.stdout).unwrap();
    assert!(told["sessions"][0]["doubt"].is_string(), "{told}");
    assert_eq!(fs::read(&path).unwrap(), half);
    // It stays known that this may not be all, as long as the restore stands.
    let says = |words: &[&str]| home.rekindle(words).unwrap().stdout.contains("may be missing");
    let said = || [says(&["scan"]), says(&["scan", SESSION]), says(&["vault", "status"])];
    assert_eq!(said(), [true; 3]);
    assert!(home.rekindle(&["undo"]).unwrap().success());
    assert_eq!(said(), [false; 3]);
}

#[test]
fn a_copy_with_a_flipped_bit_in_its_manifest_is_put_back_only_when_asked() {
    is_in_doubt(|bytes, last_line| bytes[last_line + 40] ^= 0x10);
}

#[test]
fn a_copy_whose_manifest_lost_its_last_line_is_put_back_only_when_asked() {
    is_in_doubt(Vec::truncate);
}

/// What an agent does to its own file is no loss.
fn is_no_loss(before: &dyn Fn(&Home) -> Base, rewrite: &dyn Fn(&Home, Base) -> Vec<u8>) {
    let home = Home::new().unwrap();
    let base = before(&home);
    let path = home.put(SESSION, &base.bytes()).unwrap();
    sync(&home);
    let rewritten = rewrite(&home, base);
    fs::write(&path, &rewritten).unwrap();
    for _ in 0..2 {
        let scan = home.scan(SESSION).unwrap();
        assert_eq!(scan["status"], "healthy", "{scan}");
        assert_eq!(home.repair(&[SESSION]).unwrap()["status"], "already_healthy");
        assert_eq!(fs::read(&path).unwrap(), rewritten);
        assert!(home.rekindle(&["repair", "--all"]).unwrap().success());
        assert_eq!(fs::read(&path).unwrap(), rewritten);
        let synced = home.rekindle(&["vault", "sync"]).unwrap();
        assert!(!synced.stdout.contains("was "), "{}", synced.stdout);
        let status = home.rekindle_json(&["vault", "status"]).unwrap();
        assert_eq!(status["losses"], json!([]));
    }
    let all = home.rekindle_json(&["scan", "--all"]).unwrap();
    assert_eq!((&all["totals"]["healthy"], &all["totals"]["sessions"]), (&1.into(), &1.into()));
}

#[test]
fn rows_dropped_before_a_compaction_are_no_loss() {
    let compacted = |home: &Home| {
        let mut base = talk::talk(SESSION, &home.project(), 6);
        let last = base.reply(5).unwrap();
        let (boundary, summary) = (uuid::Uuid::new_v4().to_string(), uuid::Uuid::new_v4().to_string());
        let mut compact = base[last].clone();
        compact["type"] = "system".into();
        compact["subtype"] = "compact_boundary".into();
        compact["content"] = "Conversation compacted".into();
        compact["parentUuid"] = Value::Null;
        compact["logicalParentUuid"] = base.uuid(last);
        compact["uuid"] = boundary.clone().into();
        compact["timestamp"] = base.later(5).unwrap().into();
        compact.as_object_mut().unwrap().remove("message");
        let mut summed = base[base.ask(5).unwrap()].clone();
        summed["parentUuid"] = boundary.into();
        summed["uuid"] = summary.clone().into();
        summed["isCompactSummary"] = true.into();
        summed["message"]["content"] = "This session continues: ask-00 to ask-05.".into();
        summed["timestamp"] = base.later(6).unwrap().into();
        let turn = talk::turn_rows(SESSION, &home.project(), 9, &json!(summary));
        for row in [compact, summed].into_iter().chain(turn) {
            base.push(row);
        }
        base
    };
    is_no_loss(&compacted, &|home, mut base| {
        let boundary = base.find("boundary", |row| row["subtype"] == "compact_boundary").unwrap();
        let last = base.uuid(base.reply(9).unwrap());
        let at = base.at(boundary).unwrap();
        let dropped = base.rows()[..at].to_vec();
        base.drop_rows(&dropped);
        for row in talk::turn_rows(SESSION, &home.project(), 10, &last) {
            base.push(row);
        }
        base.bytes()
    });
}

#[test]
fn a_last_row_taken_back_and_written_anew_is_no_loss() {
    let plain = |home: &Home| talk::talk(SESSION, &home.project(), 6);
    is_no_loss(&plain, &|home, mut base| {
        let last = base.reply(5).unwrap();
        let mut reply = base[last].clone();
        reply["uuid"] = uuid::Uuid::new_v4().to_string().into();
        reply["message"]["id"] = "msg_again".into();
        reply["timestamp"] = base.later(30).unwrap().into();
        base.drop_rows(&[last]);
        let turn = talk::turn_rows(SESSION, &home.project(), 8, &reply["uuid"]);
        for row in std::iter::once(reply).chain(turn) {
            base.push(row);
        }
        base.bytes()
    });
}

/// Less than everything was put back because it was asked for: that it is there now proves nothing about the rest.
#[test]
fn a_copy_in_doubt_stays_in_doubt_after_it_was_put_back() {
    let home = Home::new().unwrap();
    let path = home.transcript(SESSION);
    for turns in [5, 10, 15] {
        let grown = talk::talk(SESSION, &home.project(), turns).bytes();
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, grown).unwrap();
        sync(&home);
    }
    let whole = fs::read(&path).unwrap();
    let mut configs = fs::read_dir(home.state().join("vault/conversations")).unwrap();
    let manifest = configs.next().unwrap().unwrap().path().join(SESSION).join("manifest.jsonl");
    let mut lines = fs::read(&manifest).unwrap();
    let last = lines[..lines.len() - 1].iter().rposition(|byte| *byte == b'\n').unwrap() + 1;
    lines[last + 130] ^= 1;
    fs::write(&manifest, lines).unwrap();
    fs::remove_file(&path).unwrap();
    let restore = |words: &[&str]| home.rekindle(&[&["vault", "restore", SESSION], words].concat()).unwrap();
    assert_eq!(restore(&[]).code(), Some(3));
    let asked = restore(&["--provable"]);
    assert_eq!(asked.code(), Some(4), "{}", asked.words());
    let part = fs::read(&path).unwrap();
    assert!(whole.starts_with(&part) && part.len() < whole.len());
    // Not after a sync, nor deleted again, nor when the agent has gone on from the part.
    for round in 0..3 {
        sync(&home);
        if round == 2 {
            let more = "{\"type\":\"summary\",\"summary\":\"x\",\"leafUuid\":\"y\"}\n";
            fs::write(&path, [part.as_slice(), more.as_bytes()].concat()).unwrap();
            sync(&home);
        }
        fs::remove_file(&path).unwrap();
        let again = restore(&[]);
        assert_eq!(again.code(), Some(3), "round {round}: {}", again.words());
        assert!(!path.exists(), "round {round}");
        let status = home.rekindle(&["vault", "status"]).unwrap();
        assert!(status.stdout.contains("damaged copy"), "{}", status.stdout);
        assert_eq!(restore(&["--provable"]).code(), Some(4), "round {round}");
    }
    // What was lost and is there again from elsewhere is seen by its user; rekindle cannot prove that it is all.
    fs::write(&path, &whole).unwrap();
    sync(&home);
    assert_eq!(fs::read(&path).unwrap(), whole);
}
