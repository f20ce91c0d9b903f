//! What stands where a file should be: a FIFO, a device, a directory, a socket, a link to itself, another user's file. No
//! command waits for it or reads it without end, and each says what it found.
#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "throwaway files are made and damaged on purpose, and a test that cannot go on panics"
)]

use std::fs;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::time::Duration;

use lab::home::Home;
use lab::process::{self, Finished};
use serde_json::json;

const ID: &str = "7f7f7f7f-aaaa-4aaa-8aaa-aaaaaaaaaaaa";

/// Every command here takes a moment; what hangs would hang for good.
const MOMENT: Duration = Duration::from_secs(30);

fn fifo(path: &Path) {
    let _ = fs::remove_file(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let mode = rustix::fs::Mode::from_raw_mode(0o600);
    rustix::fs::mknodat(rustix::fs::CWD, path, rustix::fs::FileType::Fifo, mode, 0).unwrap();
}

fn run(home: &Home, words: &[&str]) -> Finished {
    let done = process::run(&mut home.rekindle_command(words), MOMENT).unwrap();
    assert!(done.status.is_some(), "{words:?} hangs: {}", done.words());
    done
}

/// Everything that can stand in a file's place, with what is said of it.
fn strange(home: &Home) -> Vec<(PathBuf, &'static str)> {
    let at = |name: &str| home.root().join(name);
    fifo(&at("fifo"));
    std::os::unix::fs::symlink("loop", at("loop")).unwrap();
    fs::create_dir(at("folder")).unwrap();
    // The socket stays when its listener goes.
    drop(UnixListener::bind(at("socket")).unwrap());
    let mut all = vec![
        (at("fifo"), "it is a FIFO, not a regular file"),
        (at("folder"), "it is a directory, not a regular file"),
        (at("socket"), "it is a socket, not a regular file"),
        (PathBuf::from("/dev/zero"), "it is a device, not a regular file"),
        (at("loop"), "symbolic links"),
    ];
    // Only root can give a file away.
    if rustix::process::geteuid().is_root() {
        fs::write(at("theirs.jsonl"), "{}\n").unwrap();
        std::os::unix::fs::chown(at("theirs.jsonl"), Some(12345), None).unwrap();
        all.push((at("theirs.jsonl"), "it belongs to another user (uid 12345)"));
    }
    all
}

#[test]
fn an_event_names_a_transcript_that_is_no_file_and_settle_ends_and_says_so() {
    let home = Home::new().unwrap();
    for (at, (path, says)) in strange(&home).into_iter().enumerate() {
        let input = json!({"cwd": "/p", "transcript_path": path});
        let line = json!({"schema": 1, "event": "SessionStart", "at": 1, "input": input});
        let spool = home.state().join(format!("spool/s{at}.jsonl"));
        fs::create_dir_all(spool.parent().unwrap()).unwrap();
        fs::write(spool, format!("\n{line}\n")).unwrap();
        let done = run(&home, &["settle"]);
        assert!(done.success() && done.stderr.contains(says), "{}: {}", path.display(), done.words());
        assert!(done.stderr.contains(&path.display().to_string()), "{}", done.words());
        // The lock is free again, and the record is there.
        assert!(home.state().join(format!("session-health/s{at}.lock")).is_file());
        assert!(run(&home, &["status"]).success());
    }
}

#[test]
fn a_target_that_is_no_file_is_named() {
    let home = Home::new().unwrap();
    for (path, says) in strange(&home).into_iter().filter(|(path, _)| !path.is_dir()) {
        // What another user lets us read may be looked at.
        if says.contains("another user") {
            continue;
        }
        for command in ["scan", "show", "branches", "repair"] {
            let done = run(&home, &[command, path.to_str().unwrap()]);
            let named = done.stderr.contains(says) || done.stderr.contains("not a transcript");
            assert!(!done.success() && named, "{command}: {}", done.words());
        }
        let done = run(&home, &["saves", "import", path.to_str().unwrap()]);
        assert!(!done.success() && done.stderr.contains(says), "import: {}", done.words());
    }
}

#[test]
fn a_fifo_in_place_of_any_file_is_waited_for_by_no_command() {
    let home = Home::new().unwrap();
    home.put_talk(ID, 2).unwrap();
    let spooled = home.state().join(format!("spool/{ID}.jsonl"));
    let line = json!({"schema": 1, "event": "SessionStart", "at": 1, "input": {"cwd": home.project()}});
    fs::create_dir_all(spooled.parent().unwrap()).unwrap();
    fs::write(&spooled, format!("\n{line}\n")).unwrap();
    for words in [&["settle"][..], &["vault", "sync"]] {
        assert!(run(&home, words).success());
    }
    let (state, config) = (home.state(), home.config());
    let transcript = home.slug(&home.project()).join(format!("{ID}.jsonl"));
    let record = state.join(format!("session-health/{ID}.lock"));
    let places: [(PathBuf, &[&str], Option<&str>); 12] = [
        (spooled.clone(), &["settle"], Some("a FIFO")),
        (record, &["settle"], Some("a FIFO")),
        (state.join(format!("spool/{ID}.status")), &["settle"], None),
        (state.join("locks/settle"), &["settle"], Some("a FIFO")),
        (config.join("sessions/1.json"), &["repair", ID], Some("a FIFO")),
        (config.join("history.jsonl"), &["scan"], Some("no regular file")),
        (
            transcript.with_file_name("22222222-aaaa-4aaa-8aaa-aaaaaaaaaaaa.jsonl"),
            &["scan"],
            Some("no regular file"),
        ),
        (transcript, &["vault", "sync"], None),
        (config.join("settings.json"), &["doctor"], Some("a FIFO")),
        (home.home().join(".claude.json"), &["doctor"], None),
        (home.home().join(".config/rekindle/config.toml"), &["status"], Some("a FIFO")),
        (home.home().join(".config/rekindle/machine.key"), &["settle"], Some("a FIFO")),
    ];
    for (place, words, says) in places {
        let kept = fs::read(&place).ok();
        fifo(&place);
        let done = run(&home, words);
        let said = [done.stdout.as_str(), &done.stderr].concat();
        assert!(says.is_none_or(|says| said.contains(says)), "{} {words:?}: {said}", place.display());
        for words in [&["status"][..], &["explain", ID], &["recover", "--dry-run"], &["vault", "status"]] {
            run(&home, words);
        }
        fs::remove_file(&place).unwrap();
        if let Some(kept) = kept {
            fs::write(&place, kept).unwrap();
        }
    }
}

#[test]
fn a_hook_waits_for_no_fifo_and_its_event_is_kept() {
    let home = Home::new().unwrap();
    let event = json!({"session_id": ID, "hook_event_name": "StopFailure", "cwd": "/p"});
    fifo(&home.state().join(format!("spool/{ID}.jsonl")));
    let mut hook = home.rekindle_command(&["hook", "StopFailure"]);
    let done = process::feed(&mut hook, event.to_string().as_bytes(), MOMENT).unwrap();
    assert!(done.success(), "{}", done.words());
    let refuges = fs::read_dir(home.root().join("run/rekindle")).unwrap().flatten();
    let waits = refuges.filter(|refuge| refuge.path().join(format!("spool/{ID}.jsonl")).is_file());
    assert_eq!(waits.count(), 1);
}
