//! Forgetting means everywhere: no file, no compressed frame and no git object holds a word of the conversation afterwards.
//! The kill sweep (`lab::sweep`) shows it for a run that was killed before.
#![expect(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test that cannot go on panics")]

use std::fs;
use std::path::PathBuf;

use lab::believed::Said;
use lab::home::Home;
use lab::process::{Finished, run, wait_until};
use lab::spoken::{self, FORK, KEPT, OTHER, SAID, said_in};
use lab::wired::PATIENCE;
use serde_json::{Value, json};

// An id that no other test has: its agent is a process that all of them see.
const SESSION: &str = "f0f0f0f0-aaaa-4aaa-8aaa-aaaaaaaaaaaa";

fn places(home: &Home) -> Vec<String> {
    spoken::places(home).unwrap()
}

fn kept(home: &Home) -> usize {
    spoken::kept(home).unwrap()
}

fn forget(home: &Home) -> Finished {
    home.rekindle(&["vault", "forget", SESSION, "--yes"]).unwrap()
}

#[test]
fn nothing_is_left_of_what_was_said() {
    let home = spoken::filled(SESSION).unwrap();
    let before = places(&home);
    for part in [
        "spool/",
        "session-health/",
        "summaries/",
        "descriptions/",
        "context-cache/",
        "registry.json",
        "map.json",
        "cache/statusline/",
        "snapshots/",
        "saves/",
        "decisions/",
        "last-restore",
        "journal.jsonl",
        "log/",
        "launch/",
        &format!("/{SESSION}/data"),
        "/.history/data",
        "vault/backups/",
        "vault/trash/",
        "run/rekindle/",
        ".claude/logging/",
        "objects of",
    ] {
        assert!(before.iter().any(|place| place.contains(part)), "{part} is not among {before:#?}");
    }
    let kept_before = kept(&home);
    let transcript = fs::read(home.transcript(SESSION)).unwrap();
    let done = forget(&home);
    assert!(done.success(), "{}", done.words());
    assert!(done.stdout.contains(FORK), "the fork is named: {}", done.stdout);
    assert_eq!(places(&home), Vec::<String>::new());
    let prompts = home.config().join("history.jsonl");
    assert!(
        done.stderr.contains(&format!("2 prompts of it are in {}", prompts.display())),
        "{}",
        done.stderr
    );
    let left = fs::read_to_string(&prompts).unwrap();
    assert_eq!(left.matches(SAID).count(), 2, "the agent's history is the agent's");
    // The history of the state begins anew, and has one commit less of what others said.
    assert!(kept(&home) + 2 >= kept_before, "{} of {kept_before}", kept(&home));
    assert_eq!(fs::read(home.transcript(SESSION)).unwrap(), transcript, "the agent's file is the agent's");
    assert!(home.rekindle(&["vault", "verify"]).unwrap().success());
    let status = home.rekindle_json(&["vault", "status"]).unwrap();
    assert_eq!((&status["forgotten"], &status["unfinished"]), (&json!(1), &json!([])));
    is_not_brought_back(&home);
}

/// The agent lives on, its user goes on, rekindle is asked about it: the words of before stay away.
fn is_not_brought_back(home: &Home) {
    let record: Value = serde_json::from_slice(
        &fs::read(home.state().join(format!("session-health/{SESSION}.lock"))).unwrap(),
    )
    .unwrap();
    let run = record["runs"].as_array().unwrap().last().unwrap();
    let body = lab::believed::Body {
        pid: run["pid"].as_u64().unwrap().try_into().unwrap(),
        start: run["procStart"].as_u64().unwrap(),
        tty: 0,
    };
    let events = [Said::new("UserPromptSubmit", 1).with(json!({"prompt": "and now"})), Said::new("Stop", 0)];
    home.said(SESSION, &body, &events).unwrap();
    home.settle().unwrap();
    let prompts = home.config().join("history.jsonl");
    let row = json!({"display": format!("{SAID} again"), "sessionId": SESSION});
    let all = format!("{}{row}\n", fs::read_to_string(&prompts).unwrap());
    spoken::write(prompts, &all).unwrap();
    for words in [&["status", "--all"][..], &["explain", SESSION], &["vault", "sync"], &["save"], &["tick"]] {
        let done = home.rekindle(words).unwrap();
        assert!(done.success(), "{words:?}: {}", done.words());
    }
    assert_eq!(places(home), Vec::<String>::new());
    let shown = home.rekindle_json(&["status", "--all"]).unwrap();
    let agents = shown["agents"].as_array().unwrap();
    assert!(agents.iter().any(|agent| agent["sessionId"] == SESSION && agent["live"] == true), "{shown:#}");
}

#[test]
fn what_is_not_rekindles_is_left_alone() {
    let home = Home::new().unwrap();
    home.put(SESSION, &said_in(SESSION, &home, 4, SAID).unwrap()).unwrap();
    assert!(home.rekindle(&["vault", "sync"]).unwrap().success());
    let quoted = format!("{{\"quoted\": \"{SAID} ask-01\"}}");
    for name in ["todo.txt", "mine.json", "mine.jsonl", "notes/deep.log"] {
        spoken::write(home.state().join(name), &quoted).unwrap();
    }
    home.put(OTHER, &said_in(OTHER, &home, 4, KEPT).unwrap()).unwrap();
    assert!(home.rekindle(&["vault", "sync"]).unwrap().success());
    assert!(forget(&home).success());
    let found = home.rekindle(&["doctor", "--json"]).unwrap().stdout;
    assert!(!found.contains("vault-empty"), "the other conversation is still in the vault: {found}");
    for name in ["todo.txt", "mine.json", "mine.jsonl", "notes/deep.log"] {
        assert_eq!(fs::read_to_string(home.state().join(name)).unwrap(), quoted, "{name}");
    }
}

#[test]
fn a_forgotten_conversation_can_still_be_repaired() {
    // An id of its own: agents of other tests run on this machine, too.
    const WOUNDED: &str = "f1f1f1f1-dddd-4ddd-8ddd-dddddddddddd";
    let home = Home::new().unwrap();
    let path = home.put_dangling(WOUNDED, 6, 3).unwrap();
    assert!(home.rekindle(&["vault", "sync"]).unwrap().success());
    assert!(home.rekindle(&["vault", "forget", WOUNDED, "--yes"]).unwrap().success());
    let told = home.repair(&[WOUNDED]).unwrap();
    assert_eq!(told["status"], "repaired", "{told}");
    assert_eq!(home.scan(WOUNDED).unwrap()["status"], "healthy");
    assert!(home.rekindle(&["undo", WOUNDED]).unwrap().success());
    assert!(path.exists());
    let listed = home.rekindle_json(&["vault", "list"]).unwrap();
    assert_eq!(listed["conversations"], json!([]), "the vault has nothing of it");
}

/// Operations are rewritten under the lock that every other writer of them takes.
#[cfg(target_os = "linux")]
#[test]
fn operations_are_rewritten_under_their_lock() {
    const TITLED: &str = "f2f2f2f2-dddd-4ddd-8ddd-dddddddddddd";
    let home = Home::new().unwrap();
    home.put(TITLED, &said_in(TITLED, &home, 4, SAID).unwrap()).unwrap();
    assert!(home.rekindle(&["vault", "sync"]).unwrap().success());
    let operation = json!({"schema": 1, "id": "kkkkkkkkkkkk", "command": SAID, "startedAt": "2026-01-01T00:00:00Z",
        "state": "done", "effects": []});
    let folder = home.state().join("operations");
    spoken::write(folder.join("20260101T000000.000Z-kkkkkkkkkkkk.json"), &operation.to_string()).unwrap();
    let is_written = || {
        let entries = fs::read_dir(&folder).unwrap().flatten();
        entries.map(|entry| entry.file_name()).any(|name| name.to_string_lossy().starts_with(".rekindle-"))
    };
    let mut held = Vec::new();
    let mut command = home.rekindle_command(&["vault", "forget", TITLED, "--yes"]);
    let done = lab::trace::follow(&mut command, |call| {
        if call.renames() && is_written() {
            let lock = fs::File::open(home.state().join("locks/operations")).unwrap();
            held.push(lock.try_lock().is_err());
        }
        lab::trace::Next::GoOn
    });
    assert!(done.unwrap().success());
    // The file is rewritten, and the operation of forgetting itself is added.
    assert!(held.len() >= 2 && held.iter().all(|held| *held), "{held:?}");
}

/// A fork that went on shares no whole frame with where it came from, only rows. So does a shortened copy.
#[test]
fn a_fork_that_went_on_and_a_short_copy_are_named() {
    let home = Home::new().unwrap();
    let said = said_in(SESSION, &home, 4, SAID).unwrap();
    home.put(SESSION, &said).unwrap();
    let mut forked = String::from_utf8(said).unwrap().replace(SESSION, FORK);
    let end = forked.lines().last().map(|row| serde_json::from_str::<Value>(row).unwrap()).unwrap();
    let row = json!({
        "parentUuid": end["uuid"], "isSidechain": false, "type": "user", "sessionId": FORK, "version": "2.1.325",
        "uuid": "0f0f0f0f-1111-4111-8111-111111111111", "timestamp": "2027-01-01T00:00:00.000Z",
        "cwd": home.project(), "message": {"role": "user", "content": "and now something else"},
    });
    forked.push_str(&format!("{row}\n"));
    home.put(FORK, forked.as_bytes()).unwrap();
    // Another conversation with the same words and rows of its own is none of its forks.
    let other = String::from_utf8(said_in(OTHER, &home, 4, SAID).unwrap()).unwrap();
    let mut rows: Vec<Value> = other.lines().map(|row| serde_json::from_str(row).unwrap()).collect();
    for row in &mut rows {
        for link in ["uuid", "parentUuid"] {
            if let Some(id) = row[link].as_str() {
                row[link] = json!(format!("dddd{}", &id[4..]));
            }
        }
    }
    let other: String = rows.iter().map(|row| format!("{row}\n")).collect();
    home.put(OTHER, other.as_bytes()).unwrap();
    let copied = home.rekindle_json(&["repair", SESSION, "--last", "2"]).unwrap();
    let copy = copied["resume_id"].as_str().unwrap().to_owned();
    assert!(home.rekindle(&["vault", "sync"]).unwrap().success());
    let planned = home.rekindle(&["vault", "forget", SESSION, "--dry-run"]).unwrap();
    let done = forget(&home);
    for told in [&planned, &done] {
        assert!(told.success(), "{}", told.words());
        for holder in [FORK, &copy] {
            let named = format!("{holder} holds a part");
            assert!(told.stdout.contains(&named), "no {named:?} in {}", told.stdout);
        }
        assert!(!told.stdout.contains(OTHER), "{}", told.stdout);
    }
}

/// The log in the project is found without the record: by the transcript, and by whatever an edited record still says.
#[test]
fn the_log_goes_where_the_record_is_edited_or_gone() {
    for gone in [false, true] {
        let home = spoken::filled(SESSION).unwrap();
        let record = home.state().join(format!("session-health/{SESSION}.lock"));
        assert!(places(&home).iter().any(|place| place.contains(".claude/logging/")));
        if gone {
            fs::remove_file(&record).unwrap();
            fs::remove_file(home.state().join(format!("spool/{SESSION}.jsonl"))).unwrap();
        } else {
            let text = fs::read_to_string(&record).unwrap();
            fs::write(&record, text.replacen("\"schema\"", "\"edited\": 1, \"schema\"", 1)).unwrap();
        }
        let done = forget(&home);
        assert!(done.success(), "{}", done.words());
        assert_eq!(places(&home), Vec::<String>::new(), "gone: {gone}");
    }
}

/// A repair that runs has the whole text in a file beside the transcript.
#[test]
fn forgetting_waits_for_a_repair_and_takes_what_repairs_left() {
    const LEFT: &str = "f3f3f3f3-dddd-4ddd-8ddd-dddddddddddd";
    let home = Home::new().unwrap();
    let transcript = home.put(LEFT, &said_in(LEFT, &home, 4, SAID).unwrap()).unwrap();
    assert!(home.rekindle(&["vault", "sync"]).unwrap().success());
    let locks = home.state().join("locks");
    fs::create_dir_all(&locks).unwrap();
    let path = locks.join(format!("repair-{LEFT}"));
    let lock = fs::File::options().append(true).create(true).open(&path).unwrap();
    lock.lock().unwrap();
    let mut command = home.rekindle_command(&["vault", "forget", LEFT, "--yes"]);
    let mut forgets = command.stdout(std::process::Stdio::null()).spawn().unwrap();
    let fds = PathBuf::from(format!("/proc/{}/fd", forgets.id()));
    let waits = || {
        let open = fs::read_dir(&fds).into_iter().flatten().flatten();
        open.into_iter().any(|fd| fs::read_link(fd.path()).is_ok_and(|file| file == path))
    };
    let waited = wait_until(PATIENCE, || waits() || forgets.try_wait().unwrap().is_some());
    assert!(waited && forgets.try_wait().unwrap().is_none(), "it does not wait for the repair");
    // What the repair leaves when it is killed now.
    let aside = transcript.with_file_name(format!(".rekindle-{LEFT}.swap"));
    fs::copy(&transcript, &aside).unwrap();
    drop(lock);
    assert!(forgets.wait().unwrap().success());
    assert!(!aside.exists());
    assert_eq!(places(&home), Vec::<String>::new());
}

/// One directory is one account, by whatever path it is reached.
#[test]
fn what_is_forgotten_does_not_come_back_through_a_link() {
    const LINKED: &str = "f4f4f4f4-dddd-4ddd-8ddd-dddddddddddd";
    let home = Home::new().unwrap();
    home.put(LINKED, &said_in(LINKED, &home, 4, SAID).unwrap()).unwrap();
    let link = home.home().join(".claude-link");
    std::os::unix::fs::symlink(home.config(), &link).unwrap();
    let through_link = |words: &[&str]| {
        let mut command = home.rekindle_command(words);
        run(command.env("CLAUDE_CONFIG_DIR", &link), PATIENCE).unwrap()
    };
    let folders = || {
        let accounts = fs::read_dir(home.state().join("vault/conversations")).unwrap().flatten();
        accounts.filter(|account| account.path().join(LINKED).exists()).count()
    };
    assert!(home.rekindle(&["vault", "sync"]).unwrap().success());
    assert!(through_link(&["vault", "sync"]).success());
    assert_eq!(folders(), 1, "one account has one copy");
    assert!(home.rekindle(&["vault", "verify"]).unwrap().success());
    assert!(through_link(&["repair", LINKED]).success());
    assert!(home.rekindle(&["vault", "forget", LINKED, "--yes"]).unwrap().success());
    for done in [through_link(&["vault", "sync"]), home.rekindle(&["vault", "sync"]).unwrap()] {
        assert!(done.success(), "{}", done.words());
        assert_eq!(folders(), 0);
        assert_eq!(places(&home), Vec::<String>::new());
    }
}
