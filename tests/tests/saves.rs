//! Saves of a real tmux: what is in them, what guards them, what survives kills and a full disk.
#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "throwaway files are damaged on purpose, and a test that cannot go on panics"
)]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::{Duration, Instant};

use lab::Lab;
use lab::agent::VERSIONS;
use lab::home::Home;
use lab::process::{self, Finished, Running, wait_until};
use lab::rekindle::DEADLINE;
use serde_json::{Value, json};

struct Desk {
    home: Home,
}

impl Desk {
    /// A server with one session, `work`, and so many panes that run `cat`.
    fn with(panes: usize) -> Desk {
        let desk = Desk { home: Home::new().unwrap() };
        desk.open("work", panes);
        desk
    }

    fn open(&self, session: &str, panes: usize) {
        self.tmux(&["new-session", "-d", "-s", session, "-x", "160", "-y", "50", "exec cat"]);
        for _ in 1..panes {
            self.tmux(&["new-window", "-d", "-t", session, "exec cat"]);
        }
    }

    fn tmux(&self, words: &[&str]) -> String {
        let mut command = self.home.adopt(self.home.tmux().command());
        let done = process::run(command.args(words), DEADLINE).unwrap();
        assert!(done.success(), "{words:?}: {}", done.words());
        done.stdout.trim().to_owned()
    }

    /// Ends the server as a crash does, and waits until it is gone.
    fn crash(&self) {
        let pid = self.tmux(&["display-message", "-p", "#{pid}"]).parse().unwrap();
        let pid = rustix::process::Pid::from_raw(pid).unwrap();
        rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
        assert!(wait_until(DEADLINE, || rustix::process::test_kill_process(pid).is_err()));
    }

    fn save(&self, more: &[&str]) -> Value {
        self.home.rekindle_json(&[&["save"], more].concat()).unwrap()
    }

    fn run(&self, words: &[&str]) -> Finished {
        self.home.rekindle(words).unwrap()
    }

    fn list(&self) -> Value {
        self.home.rekindle_json(&["saves"]).unwrap()
    }

    fn folder(&self) -> PathBuf {
        self.home.state().join("saves")
    }
}

/// Types into a pane that runs `cat`, and waits until it shows.
fn print(desk: &Desk, pane: &str, text: &str) {
    desk.tmux(&["send-keys", "-t", pane, "-l", "--", text]);
    desk.tmux(&["send-keys", "-t", pane, "Enter"]);
    let shows = || desk.tmux(&["capture-pane", "-p", "-t", pane]).matches(text).count() > 1;
    assert!(wait_until(DEADLINE, shows), "{text:?} does not show");
}

#[test]
fn everything_is_saved_privately_and_no_name_runs() {
    let desk = Desk::with(2);
    let trap = desk.home.project().join("ran");
    let evil = format!("#(touch {}) 'a' \"b\":.\u{1f980}", trap.display());
    desk.tmux(&["rename-window", "-t", "work:1", &evil.replace('#', "##")]);
    desk.tmux(&["new-session", "-d", "-t", "work", "-s", "mirror"]);
    desk.tmux(&["split-window", "-d", "-t", "work:0", "exec cat"]);
    desk.tmux(&["resize-pane", "-Z", "-t", "work:0.1"]);
    print(&desk, "work:1", "export PGPASSWORD=hunter2hunter2");
    let saved = desk.save(&["--name", "first"]);
    let counts = json!({"servers": 1, "sessions": 2, "windows": 2, "panes": 3, "agents": 0});
    assert_eq!(
        (&saved["counts"], &saved["current"], &saved["scrollback"]),
        (&counts, &true.into(), &3.into())
    );
    assert!(!trap.exists(), "a name ran");
    let shown = desk.home.rekindle_json(&["saves", "show", "first"]).unwrap();
    let shot = &shown["save"]["servers"][0]["tmux"];
    assert_eq!(shot["windows"][1]["name"], evil);
    assert_eq!((&shot["windows"][0]["zoomed"], &shot["windows"][0]["width"]), (&true.into(), &160.into()));
    assert_eq!(
        shot["windows"][0]["layout"],
        desk.tmux(&["display-message", "-p", "-t", "work:0", "#{window_layout}"])
    );
    assert_eq!(shot["sessions"][0]["group"], shot["sessions"][1]["group"]);
    assert!(desk.run(&["saves", "show"]).success());
    for entry in fs::read_dir(desk.folder()).unwrap() {
        let path = entry.unwrap().path();
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{}", path.display());
        let plain = match path.extension().is_some_and(|ending| ending == "zst") {
            true => process::run(desk.home.command("zstd").arg("-dc").arg(&path), DEADLINE).unwrap().stdout,
            false => fs::read_to_string(&path).unwrap(),
        };
        assert!(!plain.contains("hunter2"), "{} holds a secret", path.display());
        if path.extension().is_some_and(|ending| ending == "zst") {
            assert!(plain.contains("PGPASSWORD"), "the scrollback is empty");
        }
    }
    let listed = desk.list();
    assert_eq!((&listed["saves"][0]["name"], &listed["current"]), (&"first".into(), &saved["save"]));
    let bare = desk.save(&["--no-scrollback"]);
    assert_eq!(bare["scrollback"], Value::Null);
}

#[test]
fn what_a_pane_showed_can_be_read() {
    let desk = Desk::with(2);
    desk.tmux(&["new-session", "-d", "-t", "work", "-s", "zoo"]);
    print(&desk, "work:1", "hello there");
    let pane = desk.tmux(&["display-message", "-p", "-t", "work:1", "#{pane_id}"]);
    let saved = desk.save(&["--name", "first"]);
    let show = |save: &str, pane: &str| desk.run(&["saves", "show", save, "--scrollback", pane]);
    for name in ["work:1.0", "zoo:1.0", &pane] {
        let shown = show("first", name);
        assert_eq!((shown.code(), shown.stdout.as_str()), (Some(0), "hello there\nhello there\n"), "{name}");
    }
    let told = desk.home.rekindle_json(&["saves", "show", "--scrollback", &pane]).unwrap();
    let expect = json!({"schemaVersion": 1, "save": saved["save"], "pane": "work:1.0", "id": pane,
        "takenAt": saved["savedAt"], "text": "hello there\nhello there"});
    assert_eq!(told, expect);
    let refused = |save: &str, pane: &str, code: i32, why: &str| {
        let done = show(save, pane);
        assert_eq!((done.code(), done.stdout.as_str()), (Some(code), ""), "{}", done.words());
        assert!(done.stderr.contains(why), "{}", done.stderr);
    };
    refused("first", "work:0.0", 1, "nothing is kept of what work:0.0 showed");
    refused("first", "work:7.0", 2, "no pane of the save");
    let packed = desk.folder().join(format!("{}.zst", saved["save"].as_str().unwrap()));
    fs::write(&packed, b"torn").unwrap();
    refused("first", "work:1.0", 1, "is gone or damaged");
    desk.save(&["--no-scrollback"]);
    refused("current", "work:1.0", 1, "has no scrollback");
}

#[test]
fn a_dry_run_writes_no_save() {
    let desk = Desk::with(3);
    let said = desk.save(&["--dry-run"]);
    assert_eq!(
        (&said["counts"]["panes"], &said["save"], &said["dryRun"]),
        (&3.into(), &Value::Null, &true.into())
    );
    assert_eq!(desk.list()["saves"], json!([]));
}

#[test]
fn a_crashed_server_never_takes_the_place_of_a_good_save() {
    let desk = Desk::with(8);
    let good = desk.save(&[])["save"].clone();
    desk.crash();
    let empty = desk.run(&["save"]);
    assert_eq!(empty.code(), Some(3), "{}", empty.words());
    assert!(empty.stderr.contains("stays the one to restore"), "{}", empty.stderr);
    desk.open("fresh", 2);
    assert_eq!(desk.run(&["save", "--by", "timer"]).code(), Some(3));
    let listed = desk.list();
    assert_eq!((&listed["current"], listed["saves"].as_array().unwrap().len()), (&good, 3));
    assert!(listed["saves"][0]["held"].as_str().unwrap().contains("8 panes"), "{listed}");
    let journal = fs::read_to_string(desk.home.state().join("journal.jsonl")).unwrap();
    assert_eq!(journal.matches("\"save_held\"").count(), 2, "{journal}");
    let forced = desk.save(&["--force"]);
    assert_eq!(desk.list()["current"], forced["save"]);
}

#[test]
fn a_server_that_lives_may_close_its_panes() {
    let desk = Desk::with(6);
    desk.save(&[]);
    for window in 1..6 {
        desk.tmux(&["kill-window", "-t", &format!("work:{window}")]);
    }
    let saved = desk.save(&[]);
    assert_eq!((&saved["current"], &saved["counts"]["panes"]), (&true.into(), &1.into()));
}

/// F-others-2
#[test]
fn nothing_is_saved_while_a_restore_runs() {
    let desk = Desk::with(1);
    let saved = desk.save(&[]);
    let ids = desk.tmux(&["display-message", "-p", "#{pid}-#{start_time}"]);
    for name in ["restore".to_owned(), format!("restore-{ids}")] {
        let lock = fs::File::create(desk.home.state().join("locks").join(name)).unwrap();
        lock.lock().unwrap();
        let refused = desk.run(&["save"]);
        assert_eq!(refused.code(), Some(3), "{}", refused.words());
        assert!(refused.stderr.contains("a restore is running"), "{}", refused.stderr);
    }
    assert_eq!(desk.list()["saves"].as_array().unwrap().len(), 1);
    assert_eq!(desk.list()["current"], saved["save"]);
    desk.save(&[]);
}

#[test]
fn old_saves_go_and_named_ones_stay() {
    let desk = Desk::with(1);
    let config = desk.home.home().join(".config/rekindle");
    fs::create_dir_all(&config).unwrap();
    fs::write(config.join("config.toml"), "[save]\nkeep = 2\n").unwrap();
    let named = desk.save(&["--name", "kept"])["save"].clone();
    for _ in 0..4 {
        desk.save(&[]);
    }
    let listed = desk.list();
    let ids: Vec<&Value> = listed["saves"].as_array().unwrap().iter().map(|save| &save["save"]).collect();
    assert_eq!(ids.len(), 3, "{ids:?}");
    assert_eq!((ids[2], ids[0]), (&named, &listed["current"]));
}

/// F-others-3
#[test]
fn a_torn_save_is_passed_over_with_a_word() {
    let desk = Desk::with(1);
    let good = desk.save(&[])["save"].clone();
    let torn = desk.save(&[])["save"].as_str().unwrap().to_owned();
    let path = desk.folder().join(format!("{torn}.json"));
    let text = fs::read(&path).unwrap();
    for left in [&text[..0], &text[..text.len() / 2]] {
        fs::write(&path, left).unwrap();
        let said = desk.run(&["saves"]);
        assert!(said.success() && said.stderr.contains("passed over"), "{}", said.stderr);
        assert_eq!(desk.list()["current"], good);
    }
    let next = desk.save(&[]);
    assert_eq!(desk.list()["current"], next["save"]);
}

#[test]
fn saves_leave_come_in_and_are_compared() {
    let desk = Desk::with(2);
    // By hand: tmux names windows after their command some time later.
    desk.tmux(&["rename-window", "-t", "work:1", "notes"]);
    desk.save(&["--name", "before"]);
    desk.tmux(&["rename-window", "-t", "work:1", "logs"]);
    desk.tmux(&["new-session", "-d", "-s", "more", "exec cat"]);
    desk.save(&[]);
    let diff = desk.run(&["saves", "diff", "before"]).stdout;
    assert!(diff.contains("session more is new, with 1 pane"), "{diff}");
    assert!(diff.contains("window 1 name: notes → logs"), "{diff}");
    let file = desk.home.root().join("out.save");
    let to = file.to_str().unwrap();
    assert!(desk.run(&["saves", "export", "before", to]).success());
    assert_eq!(desk.run(&["saves", "export", "before", to]).code(), Some(3));
    let current = desk.list()["current"].clone();
    let text = fs::read_to_string(&file).unwrap().replacen("{\n", "{\n  \"theirs\": 5,\n", 1);
    fs::write(&file, text).unwrap();
    let back = desk.home.rekindle_json(&["saves", "import", to]).unwrap();
    assert_eq!(back["counts"]["panes"], 2);
    let listed = desk.list();
    assert_eq!((&listed["current"], &listed["saves"][0]["imported"]), (&current, &true.into()));
    assert_eq!(listed["saves"][0]["scrollback"], 2);
    let shown = desk.home.rekindle_json(&["saves", "show", back["save"].as_str().unwrap()]).unwrap();
    assert_eq!(shown["save"]["theirs"], 5);
    let same = desk.run(&["saves", "diff", "before", back["save"].as_str().unwrap()]);
    assert_eq!(same.stdout, "nothing changed\n");
    fs::write(&file, "{\"schema\":9,\"savedAt\":\"2026-01-01T00:00:00Z\",\"kind\":\"manual\"}").unwrap();
    assert_eq!(desk.run(&["saves", "import", to]).code(), Some(3));
    fs::write(&file, "neither\n").unwrap();
    assert_eq!(desk.run(&["saves", "import", to]).code(), Some(2));
}

#[test]
fn files_of_tmux_resurrect_come_in_with_their_columns_mended() {
    let desk = Desk { home: Home::new().unwrap() };
    let file = desk.home.root().join("last");
    let text = "pane\twork\t0\t1\t:*\t0\thost\t:/srv\t1\tvim\t:vim a\npane\twork\t0\t1\t:*\t1\t:/home/me\t0\tbash\t4711\t:\n\
                window\twork\t0\t:code\t1\t:*\tb25f,80x24,0,0{40x24,0,0,0,39x24,41,0,1}\toff\nstate\twork\t\n";
    fs::write(&file, text).unwrap();
    let said =
        desk.home.rekindle_json(&["saves", "import", file.to_str().unwrap(), "--name", "old"]).unwrap();
    assert_eq!((&said["mended"], &said["counts"]["panes"]), (&1.into(), &2.into()));
    let shown = desk.home.rekindle_json(&["saves", "show", "old"]).unwrap();
    let panes = &shown["save"]["servers"][0]["tmux"]["windows"][0]["panes"];
    assert_eq!((&panes[1]["cwd"], &panes[1]["title"]), (&"/home/me".into(), &"".into()));
    assert_eq!(desk.list()["current"], Value::Null, "a guess became current");
}

#[test]
fn a_full_disk_leaves_what_was_current() {
    let desk = Desk::with(30);
    let good = desk.save(&[])["save"].clone();
    let names = || fs::read_dir(desk.folder()).unwrap().count();
    let before = names();
    let program = lab::program();
    // No file may grow beyond 8 KB: a write then fails as on a full disk, in the middle of the save.
    let line = format!("trap '' XFSZ; ulimit -f 16; exec '{}' save", program.display());
    let done = process::run(desk.home.command("sh").args(["-c", &line]), DEADLINE).unwrap();
    assert_eq!(done.code(), Some(1), "{}", done.words());
    assert_eq!((desk.list()["current"].clone(), names()), (good, before));
    desk.save(&[]);
}

#[test]
fn saves_at_once_are_all_whole() {
    let desk = Desk::with(4);
    let start = || {
        let mut command = desk.home.rekindle_command(&["save", "--json"]);
        Running::start(command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null())).unwrap()
    };
    let mut running: Vec<Running> = (0..6).map(|_| start()).collect();
    for one in &mut running {
        assert!(one.wait(DEADLINE).unwrap().unwrap().success());
    }
    let listed = desk.list();
    assert_eq!((listed["saves"].as_array().unwrap().len(), &listed["skipped"]), (6, &json!([])));
    assert_eq!(listed["current"], listed["saves"][0]["save"]);
}

/// From 0 up to 1, well spread (the golden ratio's multiples).
fn spread(round: usize) -> f64 {
    (round as f64 * 0.618_033_988_75).fract()
}

/// F-others-3
#[test]
fn killed_anywhere_the_current_save_is_whole() {
    let desk = Desk::with(12);
    let since = Instant::now();
    desk.save(&[]);
    let whole = since.elapsed();
    let mut currents = std::collections::BTreeSet::new();
    for round in 0..80 {
        let mut command = desk.home.rekindle_command(&["save"]);
        let since = Instant::now();
        let running =
            Running::start(command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null())).unwrap();
        let until = since + whole.mul_f64(spread(round) * 1.3);
        while Instant::now() < until {
            std::thread::yield_now();
        }
        drop(running);
        let listed = desk.list();
        assert_eq!(listed["skipped"], json!([]), "round {round}");
        let current = listed["current"].as_str().unwrap().to_owned();
        let text = fs::read_to_string(desk.folder().join("current")).unwrap();
        assert_eq!(text.trim(), current, "round {round}");
        let shown = desk.home.rekindle_json(&["saves", "show"]).unwrap();
        assert_eq!(shown["save"]["counts"]["panes"], 12, "round {round}");
        currents.insert(current);
    }
    // Otherwise every kill came too early or too late, and this proved nothing.
    assert!(currents.len() > 4 && currents.len() < 80, "{} saves became current", currents.len());
    desk.save(&[]);
    let left = fs::read_dir(desk.folder())
        .unwrap()
        .filter(|entry| entry.as_ref().unwrap().file_name().to_string_lossy().starts_with(".rekindle-"));
    assert_eq!(left.count(), 0, "the next save sweeps what killed ones left");
}

#[test]
fn an_agents_pane_has_its_conversation_and_no_scrollback() {
    let lab = Lab::new(VERSIONS[2]).unwrap();
    lab.wire().unwrap();
    lab.shell().unwrap();
    lab.type_line("work:0.0", "claude 'ask-00 please'").unwrap();
    let record = lab.record_where("idle", |record| {
        record["activity"]["state"] == "idle" && !record["lastPrompt"].is_null()
    });
    let session = record.unwrap()["sessionId"].clone();
    lab.split("exec cat").unwrap();
    let saved = lab.home.rekindle_json(&["save"]).unwrap();
    assert_eq!((&saved["counts"]["agents"], &saved["scrollback"]), (&1.into(), &1.into()), "{saved}");
    let shown = lab.home.rekindle_json(&["saves", "show"]).unwrap();
    let agent = &shown["save"]["servers"][0]["agents"][0];
    assert_eq!(
        (&agent["sessionId"], &agent["pane"], &agent["grade"]),
        (&session, &"%0".into(), &"proven".into())
    );
    assert_eq!(agent["cwd"], *lab.home.project().to_string_lossy());
    assert_eq!(agent["configDir"], *lab.home.config().to_string_lossy());
    let words = lab.home.rekindle(&["saves", "show"]).unwrap().stdout;
    assert!(words.contains(&format!("agent {}", &session.as_str().unwrap()[..8])), "{words}");
    assert!(wait_until(Duration::from_secs(1), || lab.map()["work:0.0"]["session_id"] == session));
}
