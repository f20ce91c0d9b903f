//! `rekindle hook` against everything: many at once, killed at random, garbage, faults of the disk. It exits 0, says
//! nothing, loses nothing that it took, and leaves a line in a log.
#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "throwaway files are made and damaged on purpose, and a test that cannot go on panics"
)]

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::process::{Command, Stdio};
use std::time::Duration;

use lab::home::Home;
use lab::process::{Running, wait_until};
use lab::rekindle::DEADLINE;
use serde_json::{Value, json};

/// An event as an agent sends it; its mark comes back in the journal as the reason of a failed turn.
fn event(session: &str, mark: &str) -> Value {
    json!({"session_id": session, "hook_event_name": "StopFailure", "cwd": "/p", "error": mark})
}

/// A hook that reads these bytes.
fn hook(home: &Home, bytes: &[u8]) -> Command {
    fed(home.rekindle_command(&["hook", "StopFailure"]), home, bytes)
}

fn fed(mut command: Command, home: &Home, bytes: &[u8]) -> Command {
    let input = home.root().join(format!("input-{}", name_of(bytes)));
    fs::write(&input, bytes).unwrap();
    command.stdin(File::open(input).unwrap());
    command
}

/// A name for an input.
fn name_of(bytes: &[u8]) -> u64 {
    bytes.iter().fold(bytes.len() as u64, |sum, byte| sum.wrapping_mul(31).wrapping_add(u64::from(*byte)))
}

/// Runs a hook: whatever happens, the agent sees success and silence.
fn quietly(mut command: Command, what: &str) {
    let done = command.stdout(Stdio::piped()).stderr(Stdio::piped()).output().unwrap();
    let said = [done.stdout, done.stderr].concat();
    assert_eq!((done.status.code(), String::from_utf8_lossy(&said).as_ref()), (Some(0), ""), "{what}");
}

fn lines(path: impl AsRef<std::path::Path>) -> Vec<String> {
    let text = String::from_utf8_lossy(&fs::read(path).unwrap_or_default()).into_owned();
    text.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect()
}

/// How often the journal tells each mark. Every line of it must be whole.
fn told(home: &Home) -> BTreeMap<String, usize> {
    let mut marks = BTreeMap::new();
    for line in lines(home.state().join("journal.jsonl")) {
        let entry: Value = serde_json::from_str(&line).unwrap();
        if entry["event"] == "turn_failed" {
            *marks.entry(entry["why"].as_str().unwrap().to_owned()).or_default() += 1;
        }
    }
    marks
}

/// Settles until every spool is folded to its end; every record must be whole.
fn settle(home: &Home) {
    let folded = wait_until(DEADLINE, || {
        home.rekindle(&["settle"]).unwrap().success()
            && fs::read_dir(home.state().join("spool")).unwrap().all(|spool| {
                let path = spool.unwrap().path();
                let name = format!("{}.lock", path.file_stem().unwrap().to_string_lossy());
                let record = fs::read(home.state().join("session-health").join(name)).unwrap();
                let record: Value = serde_json::from_slice(&record).unwrap();
                record["spoolOffset"].as_u64().unwrap() == fs::metadata(path).unwrap().len()
            })
    });
    assert!(folded);
}

/// What the logs of hooks say, in the state and in the refuge.
fn logged(home: &Home) -> Vec<String> {
    let mut said = lines(home.state().join("log/hot.log"));
    for refuge in fs::read_dir(home.root().join("run/rekindle")).into_iter().flatten().flatten() {
        said.extend(lines(refuge.path().join("hot.log")));
    }
    said
}

#[test]
fn sixty_four_at_once_lose_nothing_and_are_folded_once() {
    let home = Home::new().unwrap();
    std::thread::scope(|scope| {
        for session in 0..8 {
            for number in 0..8 {
                let (home, mark) = (&home, format!("mark-{session}-{number}"));
                let bytes = event(&format!("session-{session}"), &mark).to_string();
                scope.spawn(move || quietly(hook(home, bytes.as_bytes()), &mark));
            }
        }
    });
    settle(&home);
    for session in 0..8 {
        assert_eq!(lines(home.state().join(format!("spool/session-{session}.jsonl"))).len(), 8);
    }
    let told = told(&home);
    assert_eq!((told.len(), told.values().max()), (64, Some(&1)));
}

/// Numbers that look random and are the same at every run.
fn dice(seed: &mut u64) -> u64 {
    *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    *seed >> 33
}

#[test]
fn killed_at_random_no_event_of_a_hook_that_returned_is_lost_or_told_twice() {
    let home = Home::new().unwrap();
    let returned: Vec<String> = std::thread::scope(|scope| {
        let hooks: Vec<_> = (0..8_u64)
            .map(|session| {
                let home = &home;
                scope.spawn(move || {
                    let (mut seed, mut returned) = (session + 1, Vec::new());
                    for number in 0..16 {
                        let mark = format!("mark-{session}-{number}");
                        let bytes = event(&format!("session-{session}"), &mark).to_string();
                        // With its own settle, as long as that is in its group; dropped, it is killed.
                        let mut running = Running::start(&mut hook(home, bytes.as_bytes())).unwrap();
                        let patience =
                            if dice(&mut seed).is_multiple_of(3) { dice(&mut seed) % 6 } else { 60_000 };
                        let status = running.wait(Duration::from_millis(patience)).unwrap();
                        if status.is_some_and(|status| status.success()) {
                            returned.push(mark);
                        }
                    }
                    returned
                })
            })
            .collect();
        scope.spawn(|| {
            let mut seed = 99;
            for _ in 0..40 {
                let mut settle = home.rekindle_command(&["settle"]);
                let mut running = Running::start(settle.stdout(Stdio::null()).stderr(Stdio::null())).unwrap();
                running.wait(Duration::from_millis(dice(&mut seed) % 60)).unwrap();
            }
        });
        hooks.into_iter().flat_map(|hooks| hooks.join().unwrap()).collect()
    });
    settle(&home);
    let told = told(&home);
    assert!(returned.len() > 20, "only {} returned", returned.len());
    for mark in &returned {
        assert_eq!(told.get(mark), Some(&1), "{mark}");
    }
    assert_eq!(told.values().max(), Some(&1));
}

#[test]
fn whatever_comes_in_is_taken_or_logged_and_hurts_nobody_else() {
    let home = Home::new().unwrap();
    quietly(hook(&home, event("healthy", "before").to_string().as_bytes()), "healthy");
    let large = |size: usize| event("large", &"x".repeat(size)).to_string().into_bytes();
    let refused: [(&str, Vec<u8>); 8] = [
        ("garbage", b"\x00\x01 no json at all {{{".to_vec()),
        ("empty", Vec::new()),
        ("20 MB", large(20 << 20)),
        ("invalid UTF-8", b"{\"session_id\":\"healthy\",\"error\":\"\xff\xfe\"}".to_vec()),
        ("no session", br#"{"hook_event_name":"Stop"}"#.to_vec()),
        ("a number", br#"{"session_id":7}"#.to_vec()),
        ("a path", br#"{"session_id":"../../healthy","hook_event_name":"Stop"}"#.to_vec()),
        ("torn", br#"{"session_id":"healthy","hook_event_na"#.to_vec()),
    ];
    let spool = fs::read(home.state().join("spool/healthy.jsonl")).unwrap();
    for (count, (what, bytes)) in refused.iter().enumerate() {
        quietly(hook(&home, bytes), what);
        assert_eq!(logged(&home).len(), count + 1, "{what}: {:?}", logged(&home).last());
    }
    assert_eq!(fs::read(home.state().join("spool/healthy.jsonl")).unwrap(), spool);
    assert!(logged(&home).iter().all(|line| line.len() < 1000), "what came is not in the log");

    quietly(hook(&home, &large(10 << 20)), "10 MB");
    assert!(fs::metadata(home.state().join("spool/large.jsonl")).unwrap().len() < 64 * 1024);
    let names: Vec<_> =
        fs::read_dir(home.state().join("spool")).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(names.len(), 2, "{names:?}");
    quietly(hook(&home, event("healthy", "after").to_string().as_bytes()), "healthy");
    settle(&home);
    assert_eq!(
        told(&home),
        BTreeMap::from([("before", 1), ("after", 1), ("unknown", 1)].map(|(k, n)| (k.to_owned(), n)))
    );
}
