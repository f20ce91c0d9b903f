//! What cannot be stored is not silently left out: where rekindle cannot settle, `recover` shows the same crashed agents as
//! `status` and says why the list may not be complete, and a command that must write refuses.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "tests")]

use std::collections::BTreeSet;
use std::fs;

use lab::old_state::OldState;
use lab::process::{self, Finished};
use lab::rekindle::DEADLINE;
use serde_json::Value;

/// Ways to keep rekindle from storing anything, as shell lines in the machine's mount namespace; and what is said of each.
const UNWRITABLE: [(&str, &str); 3] = [
    ("mount --bind /mnt/state /mnt/state && mount -o remount,bind,ro /mnt/state", "Read-only file system"),
    (
        "mkdir -p /mnt/full && mount -t tmpfs -o size=64m none /mnt/full && cp -a /mnt/state /mnt/full/ \
         && { head -c 100M /dev/zero > /mnt/full/zeros; mount --bind /mnt/full/state /mnt/state; } 2>/dev/null",
        "No space left on device",
    ),
    ("rm -f /mnt/state/journal.jsonl && mkfifo /mnt/state/journal.jsonl", "journal.jsonl"),
];

/// Runs the program after a shell line in the same mount namespace.
fn after(state: &OldState, line: &str, words: &[&str]) -> Finished {
    let program = lab::program().canonicalize().unwrap();
    let script = format!("{line} && exec \"$@\"");
    let program = program.to_string_lossy();
    let all: Vec<&str> =
        ["sh", "-c", &script, "sh", &program].into_iter().chain(words.iter().copied()).collect();
    process::run(&mut state.command(&all), DEADLINE).unwrap()
}

/// The sessions that a listing says have crashed.
fn crashed(done: &Finished) -> BTreeSet<String> {
    let value: Value = serde_json::from_str(&done.stdout).unwrap_or_else(|_| panic!("{}", done.words()));
    let agents = value["agents"].as_array().unwrap().iter();
    // `recover` lists crashed agents alone, and no state of theirs.
    let is = |agent: &&Value| agent.get("state").is_none_or(|state| state == "crashed");
    agents.filter(is).map(|agent| agent["sessionId"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn recover_lists_the_crashed_agents_of_status_where_nothing_can_be_stored() {
    for (line, why) in UNWRITABLE {
        let state = OldState::unpack().unwrap();
        let expected = crashed(&after(&state, line, &["status", "--all", "--json"]));
        assert_eq!(expected.len(), 2, "{line}");
        for words in [&["recover", "--json"][..], &["recover", "--all", "--dry-run", "--json"]] {
            let done = after(&state, line, words);
            assert_eq!(crashed(&done), expected, "{line}: {words:?}: {}", done.words());
            assert!(
                done.stderr.contains("nothing was stored") && done.stderr.contains(why),
                "{}",
                done.stderr
            );
        }
        let preview = after(&state, line, &["recover", "--preview"]);
        assert_eq!(preview.code(), Some(2), "{}", preview.words());
        assert!(preview.stderr.contains("2 agents crashed"), "{}", preview.stderr);
        let acts = after(&state, line, &["recover", "--all"]);
        assert!(matches!(acts.code(), Some(1 | 3)), "{line}: {}", acts.words());
        assert!(acts.stderr.contains(why) && !acts.stdout.contains("nobody"), "{line}: {}", acts.words());
    }
}

#[test]
fn recover_lists_the_crashed_agents_of_status_during_a_pause() {
    let state = OldState::unpack().unwrap();
    // A pause that is there before the first settle.
    let paused = state.rekindle(&["pause"]).unwrap();
    assert!(paused.success(), "{}", paused.words());
    let done = state.rekindle(&["recover", "--json"]).unwrap();
    assert!(done.success(), "{}", done.words());
    assert_eq!(crashed(&done), crashed(&state.rekindle(&["status", "--all", "--json"]).unwrap()));
    assert_eq!(crashed(&done).len(), 2);
    assert!(done.stderr.contains("rekindle is paused"), "{}", done.stderr);
    let records = fs::read_dir(state.path("state/session-health")).unwrap();
    let stored = records.map(|entry| fs::read_to_string(entry.unwrap().path()).unwrap());
    assert_eq!(stored.filter(|text| text.contains("\"crashed\"")).count(), 0, "a pause stores no verdict");
}

/// What only reads works on a read-only state directory; a scan is only slower without its cache.
#[test]
fn scan_and_show_need_no_writable_state() {
    let state = OldState::unpack().unwrap();
    for words in [&["scan", "--json"][..], &["scan", "c59c9e3e", "--json"], &["show", "c59c9e3e"]] {
        let written = state.rekindle(words).unwrap();
        assert!(written.success() && !written.stdout.is_empty(), "{words:?}: {}", written.words());
        for (line, _) in &UNWRITABLE[..2] {
            let done = after(&state, line, words);
            assert!(done.success(), "{line}: {words:?}: {}", done.words());
            assert_eq!(done.stdout, written.stdout, "{line}: {words:?}");
        }
    }
}
