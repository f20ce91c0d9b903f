//! Live conversations: an agent that is in one is respected, and a writer loses not one row to a repair.
#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "throwaway files are damaged on purpose, and a test that cannot go on panics"
)]

use std::collections::HashMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use lab::Lab;
use lab::agent::VERSIONS;
use lab::base::{Base, GHOST};
use lab::home::Home;
use lab::process::{self, wait_until};
use lab::talk;
use serde_json::{Value, json};
use uuid::Uuid;

/// An agent's cold start took seven seconds on a loaded machine; a turn takes two.
const PATIENCE: Duration = Duration::from_secs(90);

#[test]
fn an_agent_in_it_is_respected_2_1_31() {
    respects(VERSIONS[0]);
}

#[test]
fn an_agent_in_it_is_respected_2_1_100() {
    respects(VERSIONS[1]);
}

#[test]
fn an_agent_in_it_is_respected_2_1_325() {
    respects(VERSIONS[2]);
}

/// A real agent in a terminal holds the conversation; its transcript is torn as a crash of the machine would.
/// F-resume-8
fn respects(version: &str) {
    let lab = Lab::new(version).unwrap();
    let home = &lab.home;
    let tmux = |words: &[&str]| {
        let mut command = home.tmux().command();
        command.env_clear().envs(lab.env()).current_dir(home.project()).args(words);
        process::run(&mut command, PATIENCE).unwrap()
    };
    tmux(&["new-session", "-d", "-s", "work", "-x", "120", "-y", "40", "exec claude 'ask-00 please'"]);
    let mut found = None;
    let answered = wait_until(PATIENCE, || {
        found = transcript(home);
        found
            .as_ref()
            .is_some_and(|path| fs::read_to_string(path).is_ok_and(|text| text.contains("reply-00")))
    });
    assert!(answered, "{}", tmux(&["capture-pane", "-p", "-t", "work"]).stdout);
    let path = found.unwrap();
    let session = path.file_stem().unwrap().to_string_lossy().into_owned();
    let pid = tmux(&["display-message", "-p", "-t", "work", "#{pane_pid}"]).stdout.trim().to_owned();
    fs::File::options().append(true).open(&path).unwrap().write_all(b"{\"torn\":\"in the mid").unwrap();

    for how in [&["repair", &session][..], &["repair", "--all"], &["repair", &session, "--branch", "1"]] {
        let refused = home.rekindle(&[how, &["--json"]].concat()).unwrap();
        assert_eq!(refused.code(), Some(3), "{how:?} {}", refused.words());
        let said: Value = serde_json::from_str(&refused.stdout).unwrap();
        let told = &said["sessions"][0];
        assert_eq!((&told["status"], &told["changes"]), (&json!("refused"), &json!([])), "{how:?}");
        let reason = told["reason"].as_str().unwrap();
        // Agents before 2.1.100 have no registry, and this one has no record.
        let known = ["owns it", "may be writing it"].map(|how| format!("process {pid} {how}"));
        assert!(known.iter().any(|known| reason.contains(known)), "{told}");
    }
    assert!(!home.state().join("vault/backups").exists());

    tmux(&["kill-session", "-t", "work"]);
    let process = PathBuf::from(format!("/proc/{pid}"));
    assert!(wait_until(PATIENCE, || !process.exists()), "the agent does not end");
    assert_eq!(home.repair(&[&session]).unwrap()["status"], "repaired");
    let recall = lab.recall(&session).unwrap();
    assert!(recall.ok && recall.asks.contains(&0) && recall.replies.contains(&0), "{recall:?}");
}

/// The only transcript of the project.
fn transcript(home: &Home) -> Option<PathBuf> {
    let entries = fs::read_dir(home.slug(&home.project())).ok()?;
    let mut paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    paths.find(|path| path.extension().is_some_and(|extension| extension == "jsonl"))
}

/// Appends rows as an agent does, one open, one write, one close each, until told to stop. Returns their ids.
fn write_on(
    path: &Path,
    session: &str,
    from: Value,
    seed: u64,
    stop: &AtomicBool,
    (done, refused): (&AtomicUsize, &AtomicUsize),
) -> Vec<String> {
    let model = talk::turn_rows(session, Path::new("/"), 0, &Value::Null);
    let (mut ids, mut parent, mut random) = (Vec::new(), from, seed);
    while !stop.load(Ordering::Relaxed) {
        let mut row = model[ids.len() % 2].clone();
        let id = Uuid::new_v4().to_string();
        row["uuid"] = id.clone().into();
        row["parentUuid"] = parent;
        row["timestamp"] = jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%S.%3fZ").to_string().into();
        row["message"]["id"] = format!("msg_{id}").into();
        let mut file = fs::File::options().append(true).open(path).unwrap();
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let dice = random >> 33;
        // Some rows are a while in coming: then the swap may happen between open and write.
        thread::sleep(Duration::from_micros(if dice % 4 == 0 { dice % 3_000 } else { 0 }));
        file.write_all(format!("{row}\n").as_bytes()).unwrap();
        drop(file);
        parent = id.clone().into();
        ids.push(id);
        done.store(ids.len(), Ordering::Relaxed);
        // Every few milliseconds, and now and then a pause for thought, which is when a repair gets its chance. A machine that
        // is slow needs a longer one.
        let slow = 10 * refused.load(Ordering::Relaxed) as u64;
        let pause = if dice % 16 == 0 { 20 + dice % 150 + slow } else { 1 + dice % 4 };
        thread::sleep(Duration::from_millis(pause));
    }
    ids
}

/// Ends a writer, also where the test fails.
struct Stops<'a>(&'a AtomicBool);

impl Drop for Stops<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// A repair goes through while somebody writes; every row is there once, and the wound is mended.
fn loses_no_row(seed: u64) {
    let home = Home::new().unwrap();
    let session = Uuid::new_v4().to_string();
    let path = home.put_dangling(&session, 30, 15).unwrap();
    let before = Base::read(&fs::read(&path).unwrap(), &session).unwrap();
    let last = before.uuid(before.reply(29).unwrap());
    let (stop, written, refused) = (AtomicBool::new(false), AtomicUsize::new(0), AtomicUsize::new(0));
    let more = |rows: usize| {
        let goal = written.load(Ordering::Relaxed) + rows;
        assert!(wait_until(PATIENCE, || written.load(Ordering::Relaxed) >= goal), "the writer is stuck");
    };
    let (ids, refusals) = thread::scope(|scope| {
        let writer = scope.spawn(|| write_on(&path, &session, last, seed, &stop, (&written, &refused)));
        let stops = Stops(&stop);
        more(20);
        let since = Instant::now();
        loop {
            let done = home.rekindle(&["repair", &session, "--json"]).unwrap();
            match done.code() {
                Some(0) => break,
                Some(3) => refused.fetch_add(1, Ordering::Relaxed),
                _ => panic!("{}", done.words()),
            };
            assert!(since.elapsed() < 2 * PATIENCE, "{refused:?} refusals: {}", done.words());
        }
        more(20);
        drop(stops);
        (writer.join().unwrap(), refused.load(Ordering::Relaxed))
    });
    let after = Base::read(&fs::read(&path).unwrap(), &session).unwrap();
    let mut count: HashMap<String, usize> = HashMap::new();
    for row in after.rows() {
        *count.entry(after[row]["uuid"].as_str().unwrap().to_owned()).or_default() += 1;
        assert_ne!(after[row]["parentUuid"], GHOST);
    }
    for id in ids
        .iter()
        .map(String::as_str)
        .chain(before.rows().iter().map(|row| before[*row]["uuid"].as_str().unwrap()))
    {
        assert_eq!(count.remove(id), Some(1), "seed {seed}: row {id} of {} ({refusals} refusals)", ids.len());
    }
    assert!(count.is_empty(), "rows that nobody wrote: {count:?}");
    let scan = home.scan(&session).unwrap();
    assert_eq!(scan["orphanCount"], 0, "{scan}");
    assert_eq!(home.scan(&session).unwrap()["status"], "healthy", "{scan}");
    assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
}

/// F-resume-8
#[test]
fn a_writer_loses_no_row_to_a_repair() {
    for seeds in [[1, 2], [3, 4]] {
        thread::scope(|scope| {
            for seed in seeds {
                scope.spawn(move || loses_no_row(seed));
            }
        });
    }
}
