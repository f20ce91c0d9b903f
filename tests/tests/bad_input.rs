//! Bad input: a stable exit code, one clear sentence, and not a byte of the agent's directory changed.
#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "throwaway files are damaged on purpose, and a test that cannot go on panics"
)]

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use lab::home::Home;
use lab::process::{self, Finished};
use lab::rekindle::DEADLINE;
use lab::{program, talk, tree};
use serde_json::{Value, json};

const ONE: &str = "11111111-aaaa-4aaa-8aaa-aaaaaaaaaaaa";
const TWO: &str = "11111111-bbbb-4bbb-8bbb-bbbbbbbbbbbb";
const USAGE: i32 = 2;
const FAILED: i32 = 1;

/// The commands that take a session or a path.
const READERS: [&[&str]; 4] = [&["scan"], &["repair"], &["show"], &["branches"]];

/// Runs a command that must fail without a trace, with and without `--json`.
fn fails(home: &Home, words: &[&str], code: i32, says: &str) {
    for json in [&[][..], &["--json"]] {
        let words = [words, json].concat();
        let before = tree::look(&home.home()).unwrap();
        let done = home.rekindle(&words).unwrap();
        assert_eq!(done.stdout.is_empty(), json.is_empty(), "{words:?}: {}", done.stdout);
        one_sentence(&done, &words, code, says);
        let changed = tree::differences(&before, &tree::look(&home.home()).unwrap());
        assert!(changed.is_empty(), "{words:?} changed {changed:#?}");
    }
}

/// One sentence of ours and perhaps a hint below it; on standard output nothing, or the same as one object for scripts.
fn one_sentence(done: &Finished, words: &[&str], code: i32, says: &str) {
    let all = format!("{words:?}: {:?}\n{}\n{}", done.code(), done.stdout, done.stderr);
    assert_eq!(done.code(), Some(code), "{all}");
    if !done.stdout.is_empty() {
        let told: Value = serde_json::from_str(&done.stdout).unwrap();
        assert_eq!((&told["schemaVersion"], &told["error"]["exitCode"]), (&json!(1), &json!(code)), "{all}");
        let words =
            [&told["error"]["message"], &told["error"]["hint"]].map(|text| text.as_str().unwrap_or_default());
        assert!(words.iter().any(|text| text.contains(says)), "no {says:?} in {all}");
    }
    let lines: Vec<&str> = done.stderr.lines().collect();
    assert!(lines.first().is_some_and(|line| line.starts_with("rekindle: ")), "{all}");
    assert!(lines.len() == 1 || lines.len() == 2 && lines[1].starts_with("  "), "{all}");
    assert!(done.stderr.contains(says), "no {says:?} in {all}");
}

/// Two conversations whose ids begin alike, both in the vault.
fn home() -> Home {
    let home = Home::new().unwrap();
    home.put_talk(ONE, 3).unwrap();
    home.put_talk(TWO, 3).unwrap();
    assert!(home.rekindle(&["vault", "sync"]).unwrap().success());
    home
}

#[test]
fn what_cannot_be_restored_or_recovered() {
    let home = home();
    // The first one makes the key that marks its own records.
    assert!(home.rekindle(&["settle"]).unwrap().success());
    fails(&home, &["restore"], USAGE, "there is no save");
    fails(&home, &["restore", "no-such", "--yes"], USAGE, "there is no save \"no-such\"");
    let nobody = home.rekindle(&["restore", "--max-parallel", "0", "--yes"]).unwrap();
    assert!(nobody.code() == Some(USAGE) && nobody.stderr.contains("0 is not in 1.."), "{}", nobody.words());
    fails(&home, &["saves", "show", "no-such"], USAGE, "there is no save \"no-such\"");
    fails(&home, &["recover", "no-such"], USAGE, "\"no-such\" is no session, pane or name here");
    fails(&home, &["inject", "no-such", "words"], USAGE, "\"no-such\" is no session, pane or name here");
}

#[test]
fn an_unknown_or_ambiguous_id() {
    let home = home();
    for reader in READERS {
        fails(&home, &[reader, &["no-such"]].concat(), USAGE, "no session");
        fails(&home, &[reader, &["1111"]].concat(), USAGE, "is the beginning of 2 sessions");
        fails(&home, &[reader, &[""]].concat(), USAGE, "sessions");
        // With --json, a scan of it prints its verdict.
        let words = [reader, &["/no/such.jsonl"]].concat();
        one_sentence(&home.rekindle(&words).unwrap(), &words, FAILED, "No such file");
    }
    fails(&home, &["vault", "restore", "no-such"], USAGE, "the vault has no session");
    fails(&home, &["vault", "restore", "1111"], USAGE, "is the beginning of 2 sessions");
    fails(&home, &["vault", "restore", "/dev/zero"], USAGE, "the vault has no session");
    fails(&home, &["vault", "restore", ONE, "--generation", "9"], USAGE, "no version 9");
    fails(&home, &["vault", "forget", ONE], USAGE, "nothing was changed");
    fails(&home, &["undo"], 3, "nothing to undo");
    fails(&home, &["repair", ONE, "--branch", "7"], USAGE, "no branch 7");
}

/// A script that asks about a path gets a verdict, as it does for a session whose transcript is gone.
#[test]
fn a_scan_of_no_file_says_missing() {
    let home = home();
    let done = home.rekindle(&["scan", "/no/such.jsonl", "--json"]).unwrap();
    assert_eq!((done.code(), done.stderr.as_str()), (Some(FAILED), ""), "{}", done.words());
    let told: serde_json::Value = serde_json::from_str(&done.stdout).unwrap();
    assert_eq!(told["schemaVersion"], 1);
    let session = &told["sessions"][0];
    assert_eq!((&session["status"], &session["filePath"]), (&"missing".into(), &"/no/such.jsonl".into()));
    assert_eq!((&session["sessionId"], &told["totals"]["missing"]), (&"such".into(), &1.into()));
}

#[test]
fn what_is_no_file() {
    let home = home();
    let pipe = home.transcript("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    fs::create_dir(home.transcript("folder")).unwrap();
    symlink(home.transcript("loop-b"), home.transcript("loop-a")).unwrap();
    symlink(home.transcript("loop-a"), home.transcript("loop-b")).unwrap();
    let text = |path: PathBuf| path.to_string_lossy().into_owned();
    for reader in READERS {
        fails(&home, &[reader, &["/dev/zero"]].concat(), USAGE, "a device or pipe");
        fails(&home, &[reader, &["/"]].concat(), USAGE, "a directory");
        fails(&home, &[reader, &[&text(pipe.clone())]].concat(), USAGE, "a device or pipe");
        fails(&home, &[reader, &["pipe"]].concat(), USAGE, "a device or pipe");
        fails(&home, &[reader, &[&text(home.transcript("folder"))]].concat(), USAGE, "a directory");
        fails(&home, &[reader, &[&text(home.transcript("loop-a"))]].concat(), FAILED, "symbolic links");
        fails(&home, &[reader, &["loop-a"]].concat(), FAILED, "symbolic links");
    }
    // What lies around is no reason to fail for those that look at everything.
    let before = tree::look(&home.home()).unwrap();
    for everything in [&["scan", "--all"][..], &["repair", "--all"], &["vault", "sync"], &["up"]] {
        let done = home.rekindle(everything).unwrap();
        assert!(done.success(), "{everything:?} {}", done.words());
    }
    assert!(tree::differences(&before, &tree::look(&home.home()).unwrap()).is_empty());
}

#[test]
fn what_is_no_conversation() {
    let home = home();
    home.put("empty", b"").unwrap();
    let garbage: Vec<u8> = (0..5_000_u32).flat_map(|n| n.wrapping_mul(2_654_435_761).to_le_bytes()).collect();
    home.put("garbage", &garbage).unwrap();
    for name in ["empty", "garbage"] {
        fails(&home, &["show", name], FAILED, "holds no conversation");
        fails(&home, &["branches", name], FAILED, "holds no conversation");
        let before = tree::look(&home.home()).unwrap();
        assert_eq!(home.scan(name).unwrap()["status"], "unreadable");
        let done = home.rekindle(&["repair", name, "--json"]).unwrap();
        assert_eq!((done.code(), done.stderr.as_str()), (Some(FAILED), ""));
        let said: Value = serde_json::from_str(&done.stdout).unwrap();
        assert_eq!(said["sessions"][0]["status"], "failed");
        assert!(said["sessions"][0]["reason"].as_str().is_some_and(|reason| reason.len() > 10), "{said}");
        assert!(tree::differences(&before, &tree::look(&home.home()).unwrap()).is_empty());
    }
}

#[test]
fn no_permission() {
    let home = home();
    let file = home.transcript(ONE);
    fs::set_permissions(&file, fs::Permissions::from_mode(0o000)).unwrap();
    let strange = unprivileged(&home);
    let folder = home.slug(&home.project());
    for (what, code) in [("show", FAILED), ("branches", FAILED), ("repair", FAILED)] {
        let before = tree::look(&home.home()).unwrap();
        let done = process::run(strange(&[what, ONE]).env("RUST_BACKTRACE", "0"), DEADLINE).unwrap();
        one_sentence(&done, &[what], code, "Permission denied");
        assert!(tree::differences(&before, &tree::look(&home.home()).unwrap()).is_empty());
    }
    let done = process::run(&mut strange(&["scan", ONE, "--json"]), DEADLINE).unwrap();
    let said: Value = serde_json::from_str(&done.stdout).unwrap();
    assert_eq!((done.code(), &said["sessions"][0]["status"]), (Some(0), &Value::from("unreadable")));
    // A folder that cannot be listed hides conversations; it does not make them unknown.
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o000)).unwrap();
    let hidden = process::run(&mut strange(&["repair", ONE]), DEADLINE).unwrap();
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).unwrap();
    one_sentence(&hidden, &["repair", "hidden"], FAILED, "Permission denied");
}

/// A command as somebody who may not read everything: root may, so root becomes nobody.
fn unprivileged(home: &Home) -> impl Fn(&[&str]) -> Command + '_ {
    let root = rustix::process::geteuid().is_root();
    let state = home.root().join("nobody");
    fs::create_dir(&state).unwrap();
    if root {
        fs::set_permissions(home.root(), fs::Permissions::from_mode(0o755)).unwrap();
        chown(&state, Some(65534), Some(65534)).unwrap();
        // The build may lie where nobody may look.
        fs::copy(program(), home.root().join("rekindle")).unwrap();
    }
    move |words: &[&str]| {
        let mut command = if root {
            let mut command = home.command("setpriv");
            command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]);
            command.arg(home.root().join("rekindle"));
            command
        } else {
            home.command(program())
        };
        command.args(words).env("REKINDLE_STATE_DIR", &state);
        command
    }
}

#[test]
fn an_id_in_two_places() {
    let home = home();
    let other = home.root().join("second/.claude");
    let copy = other.join("projects/-elsewhere").join(format!("{ONE}.jsonl"));
    fs::create_dir_all(copy.parent().unwrap()).unwrap();
    fs::write(&copy, talk::dangling(ONE, &home.project(), 3, 2).unwrap().bytes()).unwrap();
    let config = home.home().join(".config/rekindle/config.toml");
    fs::create_dir_all(config.parent().unwrap()).unwrap();
    let slot = format!("[[slots]]\nname = \"second\"\nconfig_dir = \"{}\"\n", other.display());
    fs::write(config, slot).unwrap();
    let refused = || {
        for reader in READERS {
            fails(&home, &[reader, &[ONE]].concat(), USAGE, "exists in 2 accounts; name one: ");
            let said = home.rekindle(&[reader, &[ONE]].concat()).unwrap().stderr;
            for account in ["home/.claude", "second/.claude"] {
                assert!(said.contains(&format!("{ONE}@{account}")), "{said}");
            }
        }
    };
    refused();
    for (account, path) in [("home/.claude", home.transcript(ONE)), ("second/.claude", copy.clone())] {
        assert_eq!(home.scan(&format!("{ONE}@{account}")).unwrap()["filePath"], *path.to_string_lossy());
        assert_eq!(home.scan(&path.to_string_lossy()).unwrap()["filePath"], *path.to_string_lossy());
    }
    // A record tells where a pane's conversation is, and not which one somebody means who types an id.
    let records = home.state().join("session-health");
    fs::create_dir_all(&records).unwrap();
    let decide = |config: &Path| {
        let long_ago = "2026-01-01T00:00:00Z";
        let run = serde_json::json!({"launchedAt": long_ago, "pid": 1, "procStart": 1, "configDir": config});
        let record = serde_json::json!({"schema": 1, "sessionId": ONE, "status": "active", "runs": [run],
            "created": long_ago, "lastSeen": long_ago})
        .to_string();
        fs::write(records.join(format!("{ONE}.lock")), record).unwrap();
    };
    decide(&other);
    refused();
    let original = fs::read(home.transcript(ONE)).unwrap();
    let named = home.repair(&[&format!("{ONE}@second/.claude")]).unwrap();
    assert_eq!(named["filePath"], *copy.to_string_lossy());
    assert_eq!(fs::read(home.transcript(ONE)).unwrap(), original);
}

#[test]
fn what_surrounds_it_is_broken() {
    let home = home();
    let before = tree::look(&home.home()).unwrap();
    let run = |variable: &str, value: &Path, says: &str| {
        let mut command = home.rekindle_command(&["scan", "--all", "--json"]);
        let done = process::run(command.env(variable, value), DEADLINE).unwrap();
        one_sentence(&done, &["scan"], FAILED, says);
    };
    let config = home.root().join("config.toml");
    for (text, says) in [
        ("[vault\n", "line 1 of"),
        ("[save]\n\n= 3\n", "line 3 of"),
        ("vault = 3\n", "may be a table"),
        ("[vault]\nkeep_gone = \"soon\"\n", "vault.keep_gone"),
        ("\u{0}", "line 1 of"),
    ] {
        fs::write(&config, text).unwrap();
        run("REKINDLE_CONFIG", &config, says);
    }
    run("REKINDLE_CONFIG", home.root(), "directory");
    run("REKINDLE_STATE_DIR", Path::new("/dev/null"), "/dev/null");
    if rustix::process::geteuid().is_root() {
        let theirs = home.root().join("theirs");
        fs::create_dir(&theirs).unwrap();
        chown(&theirs, Some(65534), None).unwrap();
        run("REKINDLE_STATE_DIR", &theirs, "belongs to user 65534");
        assert_eq!(fs::read_dir(&theirs).unwrap().count(), 0);
    }
    for words in [&["scan", "--no-such"][..], &["repair"], &["repair", ONE, "--all"], &["no-such"]] {
        let done = home.rekindle(words).unwrap();
        assert_eq!((done.code(), done.stdout.as_str()), (Some(USAGE), ""), "{words:?}");
        assert!(done.stderr.starts_with("error: ") && done.stderr.contains("--help"), "{}", done.stderr);
    }
    assert!(tree::differences(&before, &tree::look(&home.home()).unwrap()).is_empty());
}

/// A user without a home: root can become one. Anybody else's own home would be found, and is not for tests.
#[test]
fn without_a_home() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    const NOBODY_KNOWS: u32 = 54_321;
    let home = home();
    let state = home.root().join("homeless");
    fs::create_dir(&state).unwrap();
    chown(&state, Some(NOBODY_KNOWS), None).unwrap();
    fs::set_permissions(home.root(), fs::Permissions::from_mode(0o755)).unwrap();
    fs::copy(program(), home.root().join("rekindle")).unwrap();
    let homeless = || {
        let mut command = home.command("setpriv");
        command.args([&format!("--reuid={NOBODY_KNOWS}"), "--regid=54321", "--clear-groups"]);
        command.arg(home.root().join("rekindle")).args(["scan", "--all", "--json"]);
        command.env_remove("HOME").env("REKINDLE_STATE_DIR", &state);
        command
    };
    let done = process::run(&mut homeless(), DEADLINE).unwrap();
    one_sentence(&done, &["scan"], FAILED, "no home directory");
    let done = process::run(homeless().env("CLAUDE_CONFIG_DIR", home.config()), DEADLINE).unwrap();
    assert!(done.success(), "{}", done.words());
    let said: Value = serde_json::from_str(&done.stdout).unwrap();
    assert_eq!(said["totals"]["sessions"], 2);
}
