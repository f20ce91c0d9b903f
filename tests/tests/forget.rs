//! Forgetting means everywhere: no file, no compressed frame and no git object holds a word of the conversation afterwards,
//! wherever the forgetting was killed before.
#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "throwaway files are written by hand, and a test that cannot go on panics"
)]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use lab::believed::Said;
use lab::home::Home;
use lab::process::{self, Finished, wait_until};
use lab::rekindle::DEADLINE;
use lab::talk;
use serde_json::{Value, json};

// An id that no other test has: its agent is a process that all of them see.
const SESSION: &str = "f0f0f0f0-aaaa-4aaa-8aaa-aaaaaaaaaaaa";
const FORK: &str = "bbbbbbbb-bbbb-4bbb-8bbb-bbbbbbbbbbbb";
const OTHER: &str = "cccccccc-cccc-4ccc-8ccc-cccccccccccc";

/// What was said, and what must be nowhere.
const SAID: &str = "purple elephants guard the western vault";
const NEEDLE: &[u8] = b"purple elephants";

/// What others said, and what must stay.
const KEPT: &str = "green turtles carry the eastern lamp";

fn said_in(session: &str, home: &Home, turns: u8, said: &str) -> Vec<u8> {
    let text = String::from_utf8(talk::talk(session, &home.project(), turns).bytes()).unwrap();
    text.replace("ask-0", &format!("{said} ask-0")).into_bytes()
}

fn write(path: PathBuf, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// A machine on which the conversation left its words in every place that rekindle has.
fn filled() -> Home {
    let home = Home::new().unwrap();
    home.configure("[state]\ngit = true\n\n[log]\nenabled = true\n").unwrap();
    home.put(SESSION, &said_in(SESSION, &home, 4, SAID)).unwrap();
    home.put(OTHER, &said_in(OTHER, &home, 4, KEPT)).unwrap();
    let (pane, body) = home.lookalike(&format!("--resume {SESSION}")).unwrap();
    home.in_tmux(&["select-pane", "-t", &pane, "-T", SAID]).unwrap();
    home.in_tmux(&["send-keys", "-t", &pane, "-l", SAID]).unwrap();
    let shell = home.in_tmux(&["new-window", "-d", "-P", "-F", "#{pane_id}", "exec cat"]).unwrap();
    home.in_tmux(&["set-option", "-p", "-t", &shell, "@rekindle_id", SESSION]).unwrap();
    let other = home.in_tmux(&["new-window", "-d", "-P", "-F", "#{pane_id}", "exec cat"]).unwrap();
    for (pane, text) in [(&shell, SAID), (&other, KEPT)] {
        home.in_tmux(&["send-keys", "-t", pane, "-l", text]).unwrap();
        let shown = || home.in_tmux(&["capture-pane", "-p", "-t", pane]).unwrap().contains(text);
        assert!(wait_until(DEADLINE, shown), "{pane}");
    }
    let event = |event, input| Said { event, ago: 5, input };
    let events = [
        event("SessionStart", json!({"source": "startup"})),
        event("UserPromptSubmit", json!({"prompt": SAID})),
        event("Stop", json!({"last_assistant_message": SAID})),
    ];
    home.said(SESSION, &body, &events).unwrap();
    home.settle().unwrap();
    for words in [&["name", SESSION, SAID][..], &["task", SESSION, SAID], &["note", SESSION, SAID], &["save"]]
    {
        let done = home.rekindle(words).unwrap();
        assert!(done.success(), "{words:?}: {}", done.words());
    }
    let state = home.state();
    write(state.join(format!("spool/{SESSION}.status")), &json!({"session_name": SAID}).to_string());
    // A fork has the same rows under another id.
    let forked = String::from_utf8(said_in(SESSION, &home, 4, SAID)).unwrap().replace(SESSION, FORK);
    home.put(FORK, forked.as_bytes()).unwrap();
    home.settle().unwrap();
    assert!(home.rekindle(&["vault", "sync"]).unwrap().success());
    write(state.join(format!("vault/backups/{SESSION}/20260101T000000Z/transcript")), SAID);
    write(state.join(format!("vault/trash/1~backups~{SESSION}~20250101T000000Z/transcript")), SAID);
    write(state.join(format!("cache/launch/00000000-0000-4000-8000-000000000000/{SESSION}.txt")), SAID);
    write(state.join(format!("snapshots/context/{SESSION}.md")), SAID);
    write(state.join(format!("session-health/{SESSION}.broken-1")), SAID);
    let decided = json!({"schema": 1, "panes": [
        {"sessionId": SESSION, "reason": SAID, "evidence": [{"says": SAID}]},
        {"sessionId": OTHER, "reason": KEPT},
    ]});
    write(state.join("decisions/20260101T000000Z.json"), &decided.to_string());
    write(state.join("instances/restore/last-restore.json"), &decided.to_string());
    let alarm =
        |text: &str| json!({"schema": 1, "at": "2026-01-01T00:00:00Z", "event": "alarm", "text": text});
    let journal = fs::read_to_string(state.join("journal.jsonl")).unwrap();
    write(state.join("journal.jsonl"), &format!("{journal}{}\n{}\n", alarm(SAID), alarm(KEPT)));
    write(state.join("log/settle.log"), &format!("2026-01-01 settle: {SAID}\n2026-01-01 settle: {KEPT}\n"));
    write(refuge(&home).join(format!("spool/{SESSION}.jsonl")), SAID);
    commit(&home);
    home
}

/// Where events wait when the state directory cannot be written.
fn refuge(home: &Home) -> PathBuf {
    let hash =
        home.state().as_os_str().as_encoded_bytes().iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
        });
    home.root().join(format!("run/rekindle/{hash:016x}"))
}

/// Puts everything that may be committed into the history of the state.
fn commit(home: &Home) {
    for words in ["add -A instances session-health decisions saves journal.jsonl", "commit -qm all"] {
        let mut git = home.command("git");
        git.current_dir(home.state()).args(["-c", "user.name=t", "-c", "user.email=t@localhost"]);
        assert!(process::run(git.args(words.split(' ')), DEADLINE).unwrap().success(), "{words}");
    }
}

/// Every file of rekindle's, the unpacked frames in it, and every git object; by where it is.
fn everything(home: &Home) -> Vec<(String, Vec<u8>)> {
    let mut all = Vec::new();
    let mut left = vec![home.state(), home.root().join("run"), home.project().join(".claude")];
    while let Some(path) = left.pop() {
        let name = path.display().to_string();
        if path.is_dir() && !path.is_symlink() {
            if path.join("objects").is_dir() {
                all.push((format!("objects of {name}"), objects(&path)));
            }
            left.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        } else if let Ok(bytes) = fs::read(&path) {
            for at in 0..bytes.len().saturating_sub(3) {
                if bytes[at..].starts_with(&[0x28, 0xb5, 0x2f, 0xfd]) {
                    let mut frame = Vec::new();
                    let reader = zstd::Decoder::with_buffer(&bytes[at..]).unwrap().single_frame();
                    // What is no frame has nothing in it, and a torn one has its beginning.
                    let _ = std::io::copy(&mut { reader }, &mut frame);
                    all.push((format!("frame at {at} of {name}"), frame));
                }
            }
            all.push((name, bytes));
        }
    }
    all
}

/// The content of every object of a repository, reachable or not.
fn objects(git: &Path) -> Vec<u8> {
    let mut command = Command::new("git");
    command.arg("--git-dir").arg(git).args(["cat-file", "--batch-all-objects", "--batch"]);
    process::run(&mut command, DEADLINE).map(|done| done.stdout.into_bytes()).unwrap_or_default()
}

fn holds(bytes: &[u8], needle: &[u8]) -> bool {
    bytes.windows(needle.len()).any(|piece| piece == needle)
}

/// Where the words are, without the fork that holds them by right.
fn places(home: &Home) -> Vec<String> {
    let all = everything(home).into_iter();
    all.filter(|(name, bytes)| !name.contains(FORK) && holds(bytes, NEEDLE)).map(|(name, _)| name).collect()
}

fn kept(home: &Home) -> usize {
    everything(home).iter().filter(|(_, bytes)| holds(bytes, KEPT.as_bytes())).count()
}

fn forget(home: &Home) -> Finished {
    home.rekindle(&["vault", "forget", SESSION, "--yes"]).unwrap()
}

#[test]
fn nothing_is_left_of_what_was_said() {
    let home = filled();
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
        "vault/conversations/",
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
    let events = [
        Said { event: "UserPromptSubmit", ago: 1, input: json!({"prompt": "and now"}) },
        Said { event: "Stop", ago: 0, input: json!({}) },
    ];
    home.said(SESSION, &body, &events).unwrap();
    home.settle().unwrap();
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
    home.put(SESSION, &said_in(SESSION, &home, 4, SAID)).unwrap();
    assert!(home.rekindle(&["vault", "sync"]).unwrap().success());
    let quoted = format!("{{\"quoted\": \"{SAID} ask-01\"}}");
    for name in ["todo.txt", "mine.json", "mine.jsonl", "notes/deep.log"] {
        write(home.state().join(name), &quoted);
    }
    home.put(OTHER, &said_in(OTHER, &home, 4, KEPT)).unwrap();
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

/// The system calls that change what is on the disk.
const CHANGES: [&str; 12] = [
    "openat",
    "write",
    "pwrite64",
    "unlink",
    "unlinkat",
    "rename",
    "renameat2",
    "mkdir",
    "mkdirat",
    "rmdir",
    "fsync",
    "fdatasync",
];

/// How often a thread of a whole run makes each of them.
fn counts(home: &Home) -> BTreeMap<&'static str, usize> {
    let log = home.root().join("strace.log");
    let mut command =
        traced(home, &["-o", &log.to_string_lossy(), "-e", &format!("trace={}", CHANGES.join(","))]);
    assert!(process::run(&mut command, DEADLINE).unwrap().success());
    let mut counts: BTreeMap<(String, &'static str), usize> = BTreeMap::new();
    for line in fs::read_to_string(&log).unwrap().lines() {
        let Some((thread, call)) = line.split_once(' ') else { continue };
        if let Some(name) = CHANGES.iter().find(|name| call.trim_start().starts_with(&format!("{name}("))) {
            *counts.entry((thread.to_owned(), name)).or_default() += 1;
        }
    }
    let mut most: BTreeMap<&'static str, usize> = BTreeMap::new();
    for ((_, name), count) in counts {
        let entry = most.entry(name).or_default();
        *entry = (*entry).max(count);
    }
    most
}

fn traced(home: &Home, words: &[&str]) -> Command {
    let mut command = home.command("strace");
    command.args(["-f", "-qq"]).args(words).arg(lab::program());
    command.args(["vault", "forget", SESSION, "--yes"]);
    command
}

/// Keeps what a home holds, and puts it back: the agent and its terminal live on meanwhile.
struct Kept(PathBuf);

impl Kept {
    const PARTS: [&'static str; 3] = ["state", "run", "project"];

    fn of(home: &Home) -> Kept {
        let kept = Kept(home.root().join("kept.tar"));
        let mut tar = Command::new("tar");
        tar.arg("-C").arg(home.root()).arg("-cpf").arg(&kept.0).args(Self::PARTS);
        assert!(process::run(&mut tar, DEADLINE).unwrap().success());
        kept
    }

    fn put_back(&self, home: &Home) {
        for part in Self::PARTS {
            fs::remove_dir_all(home.root().join(part)).unwrap();
        }
        let mut tar = Command::new("tar");
        tar.arg("-C").arg(home.root()).arg("-xpf").arg(&self.0);
        assert!(process::run(&mut tar, DEADLINE).unwrap().success());
    }
}

/// Kills the forgetting at the n-th call of each kind, and runs it again: then nothing is left.
fn sweep(share: usize) -> usize {
    let home = filled();
    let kept = Kept::of(&home);
    let counts = counts(&home);
    let points = counts.iter().flat_map(|(call, count)| (1..=*count).map(move |number| (*call, number)));
    let mut killed = 0;
    for (call, number) in points.step_by(share) {
        kept.put_back(&home);
        let inject = format!("inject={call}:signal=KILL:when={number}");
        let log = home.root().join("strace.log");
        let words = ["-o", &*log.to_string_lossy(), "-e", &format!("trace={call}"), "-e", &inject];
        let first = process::run(&mut traced(&home, &words), DEADLINE).unwrap();
        killed += usize::from(!first.success());
        let again = forget(&home);
        assert!(again.success(), "{call} {number}: {}", again.words());
        assert_eq!(places(&home), Vec::<String>::new(), "{call} {number}");
        let verified = home.rekindle(&["vault", "verify"]).unwrap();
        assert!(verified.success(), "{call} {number}: {}", verified.words());
    }
    killed
}

/// Every 150th point; `REKINDLE_KILL_EVERY=1` tries each, which takes minutes.
#[test]
fn killed_anywhere_the_next_run_forgets_the_rest() {
    let share = std::env::var("REKINDLE_KILL_EVERY").ok().and_then(|text| text.parse().ok()).unwrap_or(150);
    assert!(sweep(share) > 1);
}
