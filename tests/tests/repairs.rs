//! Repairs in place and as copies: what changes, what must not, and what is kept.
#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "throwaway files are damaged on purpose, and a test that cannot go on panics"
)]

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::time::Duration;

use lab::base::{Base, GHOST};
use lab::home::Home;
use lab::process::{self, Running};
use lab::{talk, tree};
use serde_json::{Value, json};

const ONE: &str = "33333333-aaaa-4aaa-8aaa-aaaaaaaaaaaa";
const TWO: &str = "44444444-bbbb-4bbb-8bbb-bbbbbbbbbbbb";
const THREE: &str = "55555555-cccc-4ccc-8ccc-cccccccccccc";
const FRAGMENT: &str = "{\"parentUuid\":\"torn in the mid";

/// A dangling parent in the middle and a torn row at the end.
fn wounded(home: &Home, session: &str) -> Vec<u8> {
    let rows = talk::dangling(session, &home.project(), 4, 2).unwrap();
    [rows.bytes(), FRAGMENT.as_bytes().to_vec()].concat()
}

fn rows(path: &Path) -> Vec<Value> {
    let bytes = fs::read(path).unwrap();
    assert_eq!(bytes.last(), Some(&b'\n'));
    bytes
        .split(|b| *b == b'\n')
        .filter(|l| !l.is_empty())
        .map(|l| serde_json::from_slice(l).unwrap())
        .collect()
}

/// A process that says it is in this conversation, and does nothing.
fn owner(home: &Home, session: &str) -> Running {
    let mut command = home.command("sh");
    command.args(["-c", "read line", "sh", "--resume", session]).stdin(std::process::Stdio::piped());
    Running::start(&mut command).unwrap()
}

/// An agent without a registry entry in the project's directory, which nothing tells the conversation of.
#[test]
fn an_old_agent_in_the_directory_is_named_with_a_way_to_go_on() {
    let home = Home::new().unwrap();
    let mut agent = home.command("bash");
    agent.args(["-c", "exec -a claude bash -c read"]).current_dir(home.project());
    let agent = Running::start(agent.stdin(std::process::Stdio::piped())).unwrap();
    // The rows have no times: that of the file counts, and it was written since the agent started.
    let untimed = String::from_utf8(wounded(&home, ONE)).unwrap().replace("\"timestamp\"", "\"when\"");
    let path = home.put(ONE, b"").unwrap();
    fs::write(&path, &untimed).unwrap();
    let named =
        |pid: u32| std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default().starts_with(b"claude");
    assert!(process::wait_until(Duration::from_secs(20), || named(agent.pid())));
    let refused = home.rekindle(&["repair", ONE]).unwrap();
    assert_eq!(refused.code(), Some(3), "{}", refused.words());
    let said = format!("{}{}", refused.stdout, refused.stderr);
    assert!(said.contains(&format!("process {} may be writing it", agent.pid())), "{said}");
    assert!(said.contains("rekindle repair ID --as-copy"), "{said}");
    assert_eq!(fs::read(&path).unwrap(), untimed.as_bytes());
    assert!(home.rekindle(&["repair", ONE, "--as-copy"]).unwrap().success());
}

#[test]
fn a_dry_run_changes_nothing() {
    let home = Home::new().unwrap();
    home.put(ONE, &wounded(&home, ONE)).unwrap();
    let before = tree::look(&home.home()).unwrap();
    for how in [&[ONE][..], &["--all"], &[ONE, "--as-copy"], &[ONE, "--last", "1"], &[ONE, "--branch", "1"]] {
        let told = home.repair(&[how, &["--dry-run"]].concat()).unwrap();
        assert_eq!((&told["status"], &told["backupPath"]), (&"repaired".into(), &Value::Null), "{how:?}");
        let changes = told["changes"].as_array().unwrap();
        assert!(changes.iter().any(|change| change["class"] == "B1"
            && change["what"] == "parentUuid"
            && change["before"].to_string().contains(GHOST)));
        assert!(home.rekindle(&[&["repair"], how, &["--dry-run"]].concat()).unwrap().success());
    }
    assert_eq!(tree::differences(&before, &tree::look(&home.home()).unwrap()), [""; 0]);
    assert!(!home.state().join("vault/backups").exists());
}

/// F-resume-10
#[test]
fn in_place_keeps_id_mode_time_and_every_other_byte() {
    let home = Home::new().unwrap();
    let old = wounded(&home, ONE);
    let path = home.put(ONE, &old).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    let before = fs::metadata(&path).unwrap();
    let told = home.repair(&[ONE]).unwrap();
    assert_eq!(told["status"], "repaired");
    assert_eq!((&told["sessionId"], &told["resumeId"]), (&ONE.into(), &ONE.into()));
    assert_eq!((&told["orphansFixed"], &told["newChainDepth"]), (&1.into(), &8.into()));
    let after = fs::metadata(&path).unwrap();
    assert_eq!(after.mode(), before.mode());
    assert_eq!((after.mtime(), after.mtime_nsec()), (before.mtime(), before.mtime_nsec()));

    // Only the one link differs, and the fragment is gone: every other row is the same bytes.
    let healthy = talk::talk(ONE, &home.project(), 4).bytes();
    assert_eq!(String::from_utf8(fs::read(&path).unwrap()).unwrap(), String::from_utf8(healthy).unwrap());
    assert_eq!(home.scan(ONE).unwrap()["status"], "healthy");

    let backup = PathBuf::from(told["backupPath"].as_str().unwrap());
    assert!(backup.starts_with(home.state()));
    assert_eq!(fs::read(&backup).unwrap(), old);
    let rejects = fs::read_to_string(backup.with_file_name("rejects")).unwrap();
    assert!(rejects.contains(FRAGMENT), "{rejects}");
    let beside: Vec<_> = fs::read_dir(path.parent().unwrap()).unwrap().collect();
    assert_eq!(beside.len(), 1, "{beside:?}");

    let settled = tree::look(&home.home()).unwrap();
    assert_eq!(home.repair(&[ONE]).unwrap()["status"], "already_healthy");
    assert_eq!(tree::differences(&settled, &tree::look(&home.home()).unwrap()), [""; 0]);
}

#[test]
fn a_symlinked_transcript_is_mended_where_it_lies() {
    let home = Home::new().unwrap();
    let link = home.put(ONE, &wounded(&home, ONE)).unwrap();
    let real = home.root().join("elsewhere").join("kept.jsonl");
    fs::create_dir(real.parent().unwrap()).unwrap();
    fs::rename(&link, &real).unwrap();
    symlink(&real, &link).unwrap();
    assert_eq!(home.repair(&[ONE]).unwrap()["status"], "repaired");
    assert_eq!(fs::read_link(&link).unwrap(), real);
    assert_eq!(fs::read(&real).unwrap(), talk::talk(ONE, &home.project(), 4).bytes());
    assert_eq!(fs::read_dir(real.parent().unwrap()).unwrap().count(), 1);
    let undone = home.rekindle(&["undo"]).unwrap();
    assert!(undone.success(), "{}", undone.words());
    assert_eq!(fs::read_link(&link).unwrap(), real);
    assert_eq!(fs::read(&real).unwrap(), wounded(&home, ONE));
}

#[test]
fn a_copy_leaves_the_original_alone() {
    let home = Home::new().unwrap();
    let path = home.put(ONE, &wounded(&home, ONE)).unwrap();
    let own = path.with_file_name(ONE);
    fs::create_dir_all(own.join("subagents")).unwrap();
    fs::create_dir_all(own.join("tool-results")).unwrap();
    let mut agent = talk::talk(ONE, &home.project(), 1);
    for row in agent.rows() {
        agent[row]["isSidechain"] = true.into();
    }
    fs::write(own.join("subagents/agent-1.jsonl"), agent.bytes()).unwrap();
    fs::write(own.join("tool-results/call.txt"), "a result").unwrap();
    let history = home.config().join("file-history").join(ONE);
    fs::create_dir_all(&history).unwrap();
    fs::write(history.join("abc@v1"), "a file as it was").unwrap();
    let originals =
        [path.clone(), own.clone(), history].map(|place| (place.clone(), tree::look(&place).unwrap()));

    let told = home.repair(&[ONE, "--as-copy"]).unwrap();
    let new = told["resumeId"].as_str().unwrap();
    assert_ne!(new, ONE);
    for (place, before) in &originals {
        assert_eq!(tree::differences(before, &tree::look(place).unwrap()), [""; 0]);
    }
    let copy = home.transcript(new);
    assert_eq!(told["filePath"], *copy.to_string_lossy());
    assert!(rows(&copy).iter().all(|row| row["sessionId"] == new));
    let mine = fs::read_to_string(&copy).unwrap();
    assert_eq!(mine.replace(new, ONE).as_bytes(), talk::talk(ONE, &home.project(), 4).bytes());
    assert_eq!(home.scan(new).unwrap()["status"], "healthy");
    assert_eq!(home.scan(ONE).unwrap()["status"], "corrupted");
    let beside = copy.with_file_name(new);
    assert!(rows(&beside.join("subagents/agent-1.jsonl")).iter().all(|row| row["sessionId"] == new));
    assert_eq!(fs::read(beside.join("tool-results/call.txt")).unwrap(), b"a result");
    let kept = home.config().join("file-history").join(new).join("abc@v1");
    assert_eq!(fs::read(kept).unwrap(), b"a file as it was");
}

#[test]
fn the_last_turns_alone() {
    let home = Home::new().unwrap();
    let path = home.put(ONE, &wounded(&home, ONE)).unwrap();
    let before = tree::look(&path).unwrap();
    let told = home.repair(&[ONE, "--last", "2"]).unwrap();
    assert_eq!(tree::differences(&before, &tree::look(&path).unwrap()), [""; 0]);
    let new = told["resumeId"].as_str().unwrap();
    let copy = Base::read(&fs::read(home.transcript(new)).unwrap(), new).unwrap();
    assert!(copy.ask(1).is_err() && copy.reply(1).is_err());
    assert!([copy.ask(2), copy.reply(2), copy.ask(3), copy.reply(3)].iter().all(Result::is_ok));
    assert_eq!(copy[copy.ask(2).unwrap()]["parentUuid"], Value::Null);
    assert_eq!(home.scan(new).unwrap()["status"], "healthy");
    assert_eq!(home.scan(new).unwrap()["chainDepth"], 4);
}

#[test]
fn all_of_them_and_the_exit_codes() {
    let home = Home::new().unwrap();
    // Its owner is seen machine-wide, so no other test may have the same id.
    let owned = uuid::Uuid::new_v4().to_string();
    let owned = owned.as_str();
    for session in [owned, TWO] {
        home.put(session, &wounded(&home, session)).unwrap();
    }
    home.put_talk(THREE, 3).unwrap();
    let untouched = tree::look(&home.transcript(THREE)).unwrap();

    let holder = owner(&home, owned);
    let refused = home.rekindle(&["repair", owned, "--json"]).unwrap();
    assert_eq!(refused.code(), Some(3), "{}", refused.words());
    assert!(refused.stdout.contains(&format!("process {} owns it", holder.pid())), "{}", refused.stdout);
    assert_eq!(fs::read(home.transcript(owned)).unwrap(), wounded(&home, owned));
    assert!(home.scan(owned).unwrap()["live"].as_bool().unwrap());

    // One goes through, the other waits for its owner.
    let partly = home.rekindle(&["repair", "--all", "--json"]).unwrap();
    assert_eq!(partly.code(), Some(4), "{}", partly.words());
    let said: Value = serde_json::from_str(&partly.stdout).unwrap();
    assert_eq!((&said["resume_id"], said["sessions"].as_array().unwrap().len()), (&Value::Null, 2));
    let only_refused = home.rekindle(&["repair", "--all", "--json"]).unwrap();
    assert_eq!(only_refused.code(), Some(3), "{}", only_refused.words());
    drop(holder);

    home.put(TWO, &wounded(&home, TWO)).unwrap();
    let all = home.rekindle(&["repair", "--all"]).unwrap();
    assert_eq!(all.code(), Some(0), "{}", all.words());
    for session in [owned, TWO] {
        assert_eq!(home.scan(session).unwrap()["status"], "healthy");
        assert_eq!(
            fs::read(home.transcript(session)).unwrap(),
            talk::talk(session, &home.project(), 4).bytes()
        );
    }
    assert_eq!(tree::differences(&untouched, &tree::look(&home.transcript(THREE)).unwrap()), [""; 0]);
    let none = home.rekindle(&["repair", "--all"]).unwrap();
    assert_eq!((none.code(), none.stdout.as_str()), (Some(0), ""));
    assert_eq!(none.stderr, "Every conversation is healthy.\n");
}

/// Which permissions hold at a resume is what the last of such rows says: none may go, and none may move.
/// F-resume-11
#[test]
fn a_repair_keeps_the_last_word_of_metadata() {
    let home = Home::new().unwrap();
    let mut base = talk::dangling(ONE, &home.project(), 5, 3).unwrap();
    for mode in ["plan", "default", "plan", "default"] {
        base.push(json!({"type": "permission-mode", "permissionMode": mode, "sessionId": ONE}));
        base.push(json!({"type": "mode", "mode": "normal", "sessionId": ONE}));
    }
    let path = home.put(ONE, &base.bytes()).unwrap();
    let metadata = |path: &Path| -> Vec<String> {
        let text = fs::read_to_string(path).unwrap();
        text.lines().filter(|row| !row.contains("\"uuid\"")).map(str::to_owned).collect()
    };
    let before = metadata(&path);
    assert_eq!(before.len(), 8);
    assert_eq!(home.repair(&[ONE]).unwrap()["status"], "repaired");
    assert_eq!(metadata(&path), before);
}
