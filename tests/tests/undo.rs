//! Taking repairs back: byte for byte, with everything that was said since.
#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "throwaway files are damaged on purpose, and a test that cannot go on panics"
)]

use std::fs;
use std::io::Write;
use std::os::unix::fs::MetadataExt;

use lab::home::Home;
use lab::{talk, tree};
use serde_json::Value;

const SESSION: &str = "77777777-aaaa-4aaa-8aaa-aaaaaaaaaaaa";

fn repaired() -> (Home, Vec<u8>) {
    let home = Home::new().unwrap();
    let path = home.put_dangling(SESSION, 4, 2).unwrap();
    let old = fs::read(&path).unwrap();
    assert_eq!(home.repair(&[SESSION]).unwrap()["status"], "repaired");
    assert_ne!(fs::read(&path).unwrap(), old);
    (home, old)
}

#[test]
fn byte_for_byte_and_only_once() {
    let (home, old) = repaired();
    let path = home.transcript(SESSION);
    let before = tree::look(&home.home()).unwrap();
    let told = home.rekindle_json(&["undo", "--dry-run"]).unwrap();
    assert_eq!((&told["effects"][0]["sessionId"], &told["dryRun"]), (&SESSION.into(), &true.into()));
    assert_eq!(tree::differences(&before, &tree::look(&home.home()).unwrap()), [""; 0]);

    let time = fs::metadata(&path).unwrap().modified().unwrap();
    let told = home.rekindle_json(&["undo", SESSION]).unwrap();
    assert_eq!((&told["effects"][0]["keptSince"], &told["dryRun"]), (&0.into(), &false.into()));
    assert_eq!(fs::read(&path).unwrap(), old);
    assert_eq!(fs::metadata(&path).unwrap().modified().unwrap(), time);
    assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);

    let again = home.rekindle(&["undo"]).unwrap();
    assert_eq!((again.code(), again.stdout.as_str()), (Some(3), ""));
    assert_eq!(again.stderr, "rekindle: there is nothing to undo\n");
    assert_eq!(fs::read(&path).unwrap(), old);
    // The wound is there again, and can be mended and taken back again.
    assert_eq!(home.repair(&[SESSION]).unwrap()["status"], "repaired");
    assert!(home.rekindle(&["undo"]).unwrap().success());
    assert_eq!(fs::read(&path).unwrap(), old);
}

/// Files that another program wrote anew become what the agent wrote, and undo brings the other program's bytes back.
#[test]
fn a_file_of_another_form_comes_back_byte_for_byte() {
    let home = Home::new().unwrap();
    let whole = talk::talk(SESSION, &home.project(), 4).bytes();
    let text = String::from_utf8(whole.clone()).unwrap();
    let rows: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let pretty: Vec<String> = rows.iter().map(|row| serde_json::to_string_pretty(row).unwrap()).collect();
    let folded: Vec<Vec<u8>> =
        text.lines().map(|line| line.as_bytes().chunks(80).collect::<Vec<_>>().join(&b'\n')).collect();
    let forms = [
        ("pretty-printed", pretty.join("\n").into_bytes()),
        ("one JSON array", Value::from(rows).to_string().into_bytes()),
        ("UTF-16", format!("\u{feff}{text}").encode_utf16().flat_map(u16::to_le_bytes).collect()),
        ("UTF-16", text.encode_utf16().flat_map(u16::to_be_bytes).collect()),
        ("folded", folded.join(&b'\n')),
    ];
    for (name, old) in forms {
        let path = home.put(SESSION, &old).unwrap();
        let scan = home.rekindle_json(&["scan", SESSION]).unwrap();
        let found = &scan["sessions"][0];
        assert_eq!(
            (&found["status"], &found["findings"][0]["class"]),
            (&"corrupted".into(), &"A13".into()),
            "{name}"
        );
        assert!(found["findings"][0]["repair"].as_str().unwrap().contains(name), "{found}");
        assert_eq!(home.repair(&[SESSION]).unwrap()["status"], "repaired", "{name}");
        assert_eq!(fs::read(&path).unwrap(), whole, "{name}");
        assert!(home.rekindle(&["undo"]).unwrap().success(), "{name}");
        assert_eq!(fs::read(&path).unwrap(), old, "{name}");
    }
}

#[test]
fn what_was_said_since_stays() {
    let (home, old) = repaired();
    let path = home.transcript(SESSION);
    let last = talk::talk(SESSION, &home.project(), 4);
    let parent = last.uuid(last.reply(3).unwrap());
    let rows = talk::turn_rows(SESSION, &home.project(), 4, &parent);
    let since: String = rows.iter().map(|row| format!("{row}\n")).collect();
    fs::File::options().append(true).open(&path).unwrap().write_all(since.as_bytes()).unwrap();
    let told = home.rekindle_json(&["undo"]).unwrap();
    assert_eq!(told["effects"][0]["keptSince"], since.len());
    assert_eq!(fs::read(&path).unwrap(), [old, since.into_bytes()].concat());
}

#[test]
fn another_content_is_not_taken_back() {
    let (home, _) = repaired();
    let path = home.transcript(SESSION);
    let other = talk::talk("another", &home.project(), 9).bytes();
    fs::write(&path, &other).unwrap();
    let before = tree::look(&home.home()).unwrap();
    let refused = home.rekindle(&["undo"]).unwrap();
    assert_eq!((refused.code(), refused.stdout.as_str()), (Some(3), ""));
    assert!(refused.stderr.contains("no longer what the repair made"), "{}", refused.stderr);
    assert_eq!(tree::differences(&before, &tree::look(&home.home()).unwrap()), [""; 0]);
}

#[test]
fn a_conversation_that_was_put_back() {
    let home = Home::new().unwrap();
    let path = home.put_talk(SESSION, 4).unwrap();
    let whole = fs::read(&path).unwrap();
    assert!(home.rekindle(&["vault", "sync"]).unwrap().success());

    // Where nothing was, nothing is again; the vault still has it.
    fs::remove_file(&path).unwrap();
    assert_eq!(home.repair(&[SESSION]).unwrap()["status"], "repaired");
    assert_eq!(fs::read(&path).unwrap(), whole);
    let done = home.rekindle(&["undo"]).unwrap();
    assert!(done.success(), "{}", done.words());
    assert!(!path.exists());
    assert_eq!(home.repair(&[SESSION]).unwrap()["status"], "repaired");
    assert_eq!(fs::read(&path).unwrap(), whole);

    // Where a stub was, the stub is again.
    let stub = b"{\"type\":\"summary\",\"summary\":\"a stub\",\"leafUuid\":\"x\"}\n";
    fs::write(&path, stub).unwrap();
    let told: Value = home.repair(&[SESSION]).unwrap();
    assert_eq!(fs::read(&path).unwrap(), whole, "{told}");
    assert_eq!(fs::read(told["backupPath"].as_str().unwrap()).unwrap(), stub);
    assert!(home.rekindle(&["undo"]).unwrap().success());
    assert_eq!(fs::read(&path).unwrap(), stub);
}

#[test]
fn a_repair_killed_before_its_swap_blocks_no_undo() {
    let (home, old) = repaired();
    let path = home.transcript(SESSION);
    let backups = home.state().join("vault/backups").join(SESSION);
    let done = fs::read_dir(&backups).unwrap().next().unwrap().unwrap().path();
    let mut record: Value = serde_json::from_slice(&fs::read(done.join("repair.json")).unwrap()).unwrap();
    let aside = path.with_file_name(format!(".rekindle-{SESSION}.swap"));
    fs::write(&aside, "never got its place\n").unwrap();
    record["state"] = "intent".into();
    record["at"] = "2099-01-01T00:00:00Z".into();
    record["old"]["ino"] = fs::metadata(&path).unwrap().ino().into();
    record["new"]["ino"] = fs::metadata(&aside).unwrap().ino().into();
    let killed = backups.join("20990101T000000Z");
    fs::create_dir(&killed).unwrap();
    fs::write(killed.join("repair.json"), record.to_string()).unwrap();
    let undone = home.rekindle(&["undo"]).unwrap();
    assert!(undone.success(), "{}", undone.words());
    assert_eq!(fs::read(&path).unwrap(), old);
    assert!(!aside.exists());
}
