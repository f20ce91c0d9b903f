//! `rekindle statusline` as an agent runs it: whatever happens it succeeds, and what it prints can be shown.
#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "throwaway files are damaged on purpose, and a test that cannot go on panics"
)]

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use lab::home::Home;
use lab::process::{self, Finished, wait_until};
use lab::rekindle::DEADLINE;
use lab::{program, talk, tree};
use serde_json::{Value, json};

const SESSION: &str = "38781704-d577-4a61-adde-b05ffab31832";

fn input(home: &Home, session: &str) -> Vec<u8> {
    let project = home.home().join("project");
    json!({
        "session_id": session, "cwd": project, "version": "2.1.325",
        "model": {"id": "claude-opus-4-5", "display_name": "Opus 4.5"},
        "workspace": {"current_dir": project},
        "cost": {"total_cost_usd": 332.1, "total_duration_ms": 150_574_307},
        "context_window": {"context_window_size": 200_000, "used_percentage": 92, "total_output_tokens": 8211,
            "current_usage": {"input_tokens": 184_000}},
        "rate_limits": {"five_hour": {"used_percentage": 1}, "seven_day": {"used_percentage": 75}},
    })
    .to_string()
    .into_bytes()
}

/// What settle would have left.
fn prepare(home: &Home, settled: jiff::Timestamp) {
    let folder = home.state().join("cache/statusline");
    fs::create_dir_all(&folder).unwrap();
    let prepared = json!({
        "schema": 1, "settledAt": settled, "git": {"branch": "main", "added": 12, "changed": 3},
        "lastPrompt": {"text": "continue please", "at": settled},
        "slot": {"id": "slot-1", "position": 1, "names": ["slot-1", "slot-2"], "percent": 95, "state": "ok"},
        "notices": [{"kind": "update", "text": "Update to 2.1.326 available"}],
    });
    fs::write(folder.join(format!("{SESSION}.json")), prepared.to_string()).unwrap();
}

fn command(home: &Home, words: &[&str]) -> Command {
    let mut command = home.rekindle_command(&[&["statusline"], words].concat());
    command.env("COLUMNS", "80").env("NO_COLOR", "1").env("XDG_RUNTIME_DIR", home.root().join("run"));
    command
}

/// Runs it; it must succeed in silence and print lines that fit.
#[track_caller]
fn lines(command: &mut Command, input: &[u8]) -> Vec<String> {
    sane(&process::feed(command, input, DEADLINE).unwrap())
}

#[track_caller]
fn sane(done: &Finished) -> Vec<String> {
    assert_eq!((done.code(), done.stderr.as_str()), (Some(0), ""), "{}", done.words());
    for line in done.stdout.lines() {
        assert!(!line.is_empty() && !line.contains(|c: char| c.is_control()), "{line:?}");
        assert!(line.chars().count() <= 76, "{line:?}");
    }
    done.stdout.lines().map(str::to_owned).collect()
}

/// Everything that was written into either log.
fn log(home: &Home) -> String {
    let refuges = fs::read_dir(home.root().join("run/rekindle")).into_iter().flatten().flatten();
    let files = refuges.map(|refuge| refuge.path().join("hot.log"));
    let files = files.chain([home.state().join("log/hot.log")]);
    files.filter_map(|file| fs::read_to_string(file).ok()).collect()
}

/// A line with its time of day as `HH:MM`.
fn timeless(line: &str) -> String {
    match line.split_once("🕐:") {
        Some((before, clock)) => {
            assert!(clock.len() == 5 && clock.contains(':'), "{line}");
            format!("{before}🕐:HH:MM")
        }
        None => line.to_owned(),
    }
}

#[test]
fn the_lines_and_what_is_left_for_settle() {
    let home = Home::new().unwrap();
    prepare(&home, jiff::Timestamp::now());
    let said = input(&home, SESSION);
    let shown = lines(&mut command(&home, &[]), &said);
    insta::assert_snapshot!(shown.iter().map(|line| timeless(line)).collect::<Vec<_>>().join("\n"), @"
    📁:~/project 🌿:main+12*3 🤖:Opus4.5 🧠:184k[━━━━━━━━┃─] 🕐:HH:MM
    ⌛:1%|📅:75%|{S1} 💰:$332|$7.94/h 💬:8kt
    💬:(<1m) continue please
    ⚠ Update to 2.1.326 available
    ");
    let status = home.state().join("spool").join(format!("{SESSION}.status"));
    assert_eq!(fs::read(&status).unwrap().trim_ascii_end(), said);
    assert_eq!(fs::metadata(&status).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(log(&home), "");
}

#[test]
fn settle_is_started_when_the_last_one_is_old() {
    let home = Home::new().unwrap();
    let begun = json!({"session_id": SESSION, "cwd": home.project(), "hook_event_name": "SessionStart"});
    let mut hook = home.rekindle_command(&["hook", "SessionStart"]);
    process::feed(&mut hook, begun.to_string().as_bytes(), DEADLINE).unwrap();
    let file = home.state().join("cache/statusline").join(format!("{SESSION}.json"));
    assert!(wait_until(DEADLINE, || file.exists()), "settle prepares nothing");
    assert!(home.rekindle(&["settle"]).unwrap().success());

    let old = jiff::Timestamp::now() - jiff::SignedDuration::from_secs(90);
    prepare(&home, old);
    talk::set_age(&file, 90).unwrap();
    talk::set_age(&home.state().join("cache/settled.json"), 90).unwrap();
    lines(&mut command(&home, &[]), &input(&home, SESSION));
    let settled = || {
        let prepared: Option<Value> =
            fs::read(&file).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok());
        prepared.and_then(|prepared| prepared["settledAt"].as_str()?.parse().ok())
    };
    let renewed = || settled().is_some_and(|at: jiff::Timestamp| at > old);
    assert!(wait_until(DEADLINE, renewed), "{:?}", settled());
}

#[test]
fn colours_widths_and_zones_are_the_environments() {
    let home = Home::new().unwrap();
    prepare(&home, jiff::Timestamp::now());
    let said = input(&home, SESSION);
    let run = |change: &dyn Fn(&mut Command)| {
        let mut command = command(&home, &[]);
        change(&mut command);
        let done = process::feed(&mut command, &said, DEADLINE).unwrap();
        assert_eq!(done.code(), Some(0));
        done.stdout
    };
    assert!(run(&|command| _ = command.env_remove("NO_COLOR")).contains("\u{1b}[31m184k["));
    assert!(!run(&|command| _ = command.env("TERM", "dumb")).contains('\u{1b}'));
    assert!(run(&|command| _ = command.env("COLUMNS", "44")).lines().all(|line| line.chars().count() <= 40));
    let wide = run(&|command| _ = command.env("COLUMNS", "no number"));
    assert_eq!(wide, run(&|_| ()));
    for (zone, hours) in [("UTC", 0), ("LAB-5", 5), ("Nowhere/Town", 0)] {
        let shown = run(&|command| _ = command.env("TZ", zone));
        let now = jiff::Timestamp::now() + jiff::SignedDuration::from_hours(hours);
        let near = [0, 60]
            .map(|past| now - jiff::SignedDuration::from_secs(past))
            .map(|at| at.strftime("🕐:%H:%M").to_string());
        assert!(near.iter().any(|clock| shown.contains(clock.as_str())), "{zone}: {shown}");
    }
    assert!(run(&|command| _ = command.env_remove("HOME")).starts_with("📁:…/"));
}

#[test]
fn the_configuration_chooses() {
    let home = Home::new().unwrap();
    prepare(&home, jiff::Timestamp::now());
    let file = home.home().join(".config/rekindle/config.toml");
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    let with = |text: &str| {
        fs::write(&file, text).unwrap();
        let shown = lines(&mut command(&home, &[]), &input(&home, SESSION));
        shown.iter().map(|line| timeless(line)).collect::<Vec<_>>().join("\n")
    };
    let chosen = with(
        "[statusline]\nglyphs = \"plain\"\nlines = [[\"model\", \"dir\"], [\"slot\"]]\nnotices = false\nslot = \"all\"",
    );
    assert_eq!(chosen, "model:Opus4.5 dir:~/project\n{[S1]/S2}");
    assert_eq!(log(&home), "");
    let default = with("");
    for broken in ["[statusline", "[statusline]\nlines = [[\"wether\"]]"] {
        assert_eq!(with(broken), default);
    }
    assert!(log(&home).contains("and may be a list of lines"), "{}", log(&home));
    assert_eq!(log(&home).lines().count(), 2);
}

#[test]
fn whatever_comes_in() {
    let home = Home::new().unwrap();
    let large = |bytes: usize| {
        [b"{\"session_id\":\"x\",\"a\":\"".to_vec(), vec![b'x'; bytes], b"\"}".to_vec()].concat()
    };
    let cases: [(&str, Vec<u8>); 9] = [
        ("nothing", Vec::new()),
        ("a word", b"hello".to_vec()),
        ("a list", b"[1,2".to_vec()),
        ("zeros", vec![0; 4096]),
        ("no text", vec![0xff; 4096]),
        ("10 MB", large(10_000_000)),
        ("20 MB, more than is read", large(20_000_000)),
        ("deep", vec![b'['; 1_000_000]),
        ("a bad id", br#"{"session_id":"../../etc/passwd","cwd":"/p"}"#.to_vec()),
    ];
    for (name, bytes) in cases {
        let shown = lines(&mut command(&home, &[]), &bytes);
        assert!(shown.iter().all(|line| line.contains("🕐:")), "{name}: {shown:#?}");
    }
    assert_eq!(log(&home).lines().count(), 8, "{}", log(&home));
    assert!(!home.state().join("spool").exists());
}

#[test]
fn what_settle_left_may_be_garbage() {
    let home = Home::new().unwrap();
    prepare(&home, jiff::Timestamp::now());
    let file = home.state().join("cache/statusline").join(format!("{SESSION}.json"));
    let said = input(&home, SESSION);
    for garbage in [&b"{\"schema\":1,"[..], b"", b"[]", &[0xff; 100], &vec![b' '; 3 << 20]] {
        fs::write(&file, garbage).unwrap();
        let shown = lines(&mut command(&home, &[]), &said);
        assert!(shown[0].starts_with("📁:~/project 🤖:Opus4.5 🧠:184k"), "{shown:#?}");
    }
    fs::remove_file(&file).unwrap();
    fs::create_dir(&file).unwrap();
    assert_eq!(lines(&mut command(&home, &[]), &said).len(), 2);
}

/// Runs it with the state directory on a file system of its own, in a namespace of its own.
fn on_a_mount(home: &Home, options: &str, before: &str, input: &[u8]) -> Finished {
    let script = format!(
        "mount -t tmpfs -o size=32k none \"$REKINDLE_STATE_DIR\" && {before} mount -o remount,{options} \
         \"$REKINDLE_STATE_DIR\" && exec \"$0\" statusline"
    );
    let mut unshare = Command::new("unshare");
    unshare.args(["--map-root-user", "--mount", "sh", "-c", &script]).arg(program());
    let words = command(home, &[]);
    unshare.env_clear().envs(words.get_envs().filter_map(|(name, value)| Some((name, value?))));
    process::feed(&mut unshare, input, DEADLINE).unwrap()
}

/// Some machines let nobody mount anything.
fn can_mount(home: &Home) -> bool {
    let mut unshare = Command::new("unshare");
    unshare.args(["--map-root-user", "--mount", "mount", "-t", "tmpfs", "none"]).arg(home.state());
    process::run(&mut unshare, DEADLINE).is_ok_and(|done| done.success())
}

#[test]
fn no_file_can_grow() {
    let home = Home::new().unwrap();
    let mut shell = Command::new("bash");
    shell.args(["-c", "trap '' XFSZ; ulimit -f 0; exec \"$0\" statusline"]).arg(program());
    let words = command(&home, &[]);
    shell.env_clear().envs(words.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let shown = lines(&mut shell, &input(&home, SESSION));
    assert!(shown[0].starts_with("📁:~/project 🤖:Opus4.5"), "{shown:#?}");
}

#[test]
fn a_state_that_cannot_be_written() {
    let home = Home::new().unwrap();
    if !can_mount(&home) {
        return;
    }
    fs::create_dir_all(home.root().join("run")).unwrap();
    fs::set_permissions(home.root().join("run"), fs::Permissions::from_mode(0o700)).unwrap();
    let said = input(&home, SESSION);
    let shown = sane(&on_a_mount(&home, "ro", "", &said));
    assert!(shown[0].starts_with("📁:~/project 🤖:Opus4.5"), "{shown:#?}");
    assert!(log(&home).contains("Read-only file system"), "{}", log(&home));

    let fill = "chmod 700 \"$REKINDLE_STATE_DIR\" && mkdir \"$REKINDLE_STATE_DIR/spool\" && \
        { head -c 1000000 /dev/zero > \"$REKINDLE_STATE_DIR/full\"; true; } 2>/dev/null &&";
    let shown = sane(&on_a_mount(&home, "rw", fill, &said));
    assert!(shown[0].starts_with("📁:~/project 🤖:Opus4.5"), "{shown:#?}");
    assert!(log(&home).contains("No space left on device"), "{}", log(&home));
}

#[test]
fn a_state_of_somebody_elses() {
    let home = Home::new().unwrap();
    fs::create_dir_all(home.root().join("run")).unwrap();
    // Only root can make a directory of somebody else's; elsewhere the file system's root serves.
    let theirs = if rustix_is_root() {
        chown(home.state(), Some(12345), None).unwrap();
        home.state()
    } else {
        PathBuf::from("/")
    };
    let before = tree::look(&home.state()).unwrap();
    let mut command = command(&home, &[]);
    let shown = lines(command.env("REKINDLE_STATE_DIR", theirs), &input(&home, SESSION));
    assert!(shown[0].starts_with("📁:~/project 🤖:Opus4.5"), "{shown:#?}");
    assert!(tree::differences(&before, &tree::look(&home.state()).unwrap()).is_empty());
    assert!(log(&home).contains("it belongs to user"), "{}", log(&home));
}

fn rustix_is_root() -> bool {
    fs::metadata("/proc/self").is_ok_and(|meta| std::os::unix::fs::MetadataExt::uid(&meta) == 0)
}

#[test]
fn nobody_who_listens() {
    let home = Home::new().unwrap();
    let file = home.root().join("input");
    fs::write(&file, input(&home, SESSION)).unwrap();
    for (words, status) in [("> /dev/full", 0), (">&-", 0), ("| true; exit ${PIPESTATUS[0]}", 0)] {
        let mut shell = Command::new("bash");
        let line = format!("\"$0\" statusline < \"$1\" {words}");
        shell.arg("-c").arg(line).arg(program()).arg(&file).env_clear().envs(home.env());
        let done = process::run(&mut shell, DEADLINE).unwrap();
        assert_eq!((done.code(), done.stderr.as_str()), (Some(status), ""), "{words}");
    }
}

#[test]
fn sixty_four_at_once() {
    let home = Home::new().unwrap();
    prepare(&home, jiff::Timestamp::now());
    let said = input(&home, SESSION);
    let expected = lines(&mut command(&home, &[]), &said).len();
    thread::scope(|scope| {
        for number in 0..64 {
            let (home, said) = (&home, &said);
            scope.spawn(move || {
                let own = format!("38781704-d577-4a61-adde-{:012}", number % 8);
                let (bytes, count) =
                    if number < 32 { (said.clone(), expected) } else { (input(home, &own), 2) };
                assert_eq!(lines(&mut command(home, &[]), &bytes).len(), count);
            });
        }
    });
    let mut names = Vec::new();
    for entry in fs::read_dir(home.state().join("spool")).unwrap() {
        let path = entry.unwrap().path();
        let status: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        assert_eq!(name, format!("{}.status", status["session_id"].as_str().unwrap()));
        names.push(name);
    }
    assert_eq!(names.len(), 9, "{names:#?}");
}

mod kept {
    use super::*;

    #[test]
    fn stands_above_with_the_same_input() {
        let home = Home::new().unwrap();
        let said = input(&home, SESSION);
        let copy = home.root().join("copy");
        let line = format!("printf '%s in %s' mine \"$(pwd)\"; cat > '{}'", copy.display());
        let mut with = command(&home, &["--keep", &line]);
        let shown = lines(with.current_dir(home.project()), &said);
        assert_eq!(shown[0], format!("mine in {}", home.project().display()));
        assert!(shown[1].starts_with("📁:"), "{shown:#?}");
        assert_eq!(fs::read(copy).unwrap(), said);
        let shown = lines(&mut command(&home, &["--keep=echo one; echo two; exit 7"]), &said);
        assert_eq!(shown[..2], ["one", "two"]);
        for silent in ["exit 3", "", "true"] {
            assert!(lines(&mut command(&home, &["--keep", silent]), &said)[0].starts_with("📁:"), "{silent}");
        }
    }

    #[test]
    fn one_that_hangs_is_ended_with_all_it_started() {
        let home = Home::new().unwrap();
        let pids = home.root().join("pids");
        let line = format!("echo early; sleep 60 & echo $! $$ > '{}'; wait", pids.display());
        let start = Instant::now();
        let shown = lines(&mut command(&home, &["--keep", &line]), &input(&home, SESSION));
        assert!(start.elapsed() < Duration::from_secs(30), "{:?}", start.elapsed());
        assert_eq!(shown[0], "early");
        assert!(shown[1].starts_with("📁:"), "{shown:#?}");
        let pids = fs::read_to_string(pids).unwrap();
        for pid in pids.split_whitespace() {
            let gone = || {
                fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|line| line.is_empty())
                    || !Path::new(&format!("/proc/{pid}")).exists()
            };
            assert!(wait_until(Duration::from_secs(10), gone), "{pid} lives on");
        }
    }

    #[test]
    fn one_that_prints_without_end_is_cut_between_lines() {
        let home = Home::new().unwrap();
        let done = process::feed(
            &mut command(&home, &["--keep", "yes 0123456789"]),
            &input(&home, SESSION),
            DEADLINE,
        );
        let done = done.unwrap();
        assert_eq!(done.code(), Some(0));
        let (kept, ours): (Vec<&str>, Vec<&str>) =
            done.stdout.lines().partition(|line| *line == "0123456789");
        assert!((1..7000).contains(&kept.len()), "{}", kept.len());
        assert!(ours[0].starts_with("📁:"), "{ours:#?}");
    }

    #[test]
    fn one_that_does_not_read_its_input() {
        let home = Home::new().unwrap();
        let mut said = input(&home, SESSION);
        said.extend(vec![b' '; 900_000]);
        let shown = lines(&mut command(&home, &["--keep", "echo mine"]), &said);
        assert_eq!(shown[0], "mine");
        assert!(shown[1].starts_with("📁:"), "{shown:#?}");
    }
}

mod shown {
    use super::*;
    use lab::Lab;
    use lab::agent::VERSIONS;
    use lab::wired::PATIENCE;

    /// A real agent shows all lines, colours and all, and a kept one above them; in a narrow pane none is wrapped.
    fn by_the_agent(version: &str) {
        let lab = Lab::new(version).unwrap();
        lab.wire().unwrap();
        let file = lab.home.config().join("settings.json");
        let mut settings: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
        let line = format!("'{}' statusline --keep 'echo kept line'", program().display());
        settings["statusLine"] = json!({"type": "command", "command": line});
        fs::write(&file, settings.to_string()).unwrap();
        lab.tmux(&[
            "new-session",
            "-d",
            "-s",
            "work",
            "-x",
            "120",
            "-y",
            "40",
            "exec claude 'ask-00 please'",
        ])
        .unwrap();
        let all = || {
            let screen = lab.screen("work:0.0");
            ["  kept line\n", "  📁:", "🕐:", "  💰:$"].iter().all(|words| screen.contains(words))
        };
        assert!(wait_until(PATIENCE, all), "{}", lab.screen("work:0.0"));

        lab.tmux(&["resize-window", "-t", "work", "-x", "34", "-y", "40"]).unwrap();
        lab.type_line("work:0.0", "ask-01 please").unwrap();
        let narrow = || {
            let screen = lab.screen("work:0.0");
            let line = screen.lines().find(|line| line.contains("📁:"));
            screen.contains("reply-01")
                && screen.contains("  💬:(<1m) ask-0")
                && line.is_some_and(|line| !line.contains("🕐:"))
        };
        assert!(wait_until(PATIENCE, narrow), "{}", lab.screen("work:0.0"));
    }

    #[test]
    fn by_2_1_31() {
        by_the_agent(VERSIONS[0]);
    }

    #[test]
    fn by_2_1_100() {
        by_the_agent(VERSIONS[1]);
    }

    #[test]
    fn by_2_1_325() {
        by_the_agent(VERSIONS[2]);
    }
}

/// An agent that came back says so for a while: it gives its pane another title within two seconds.
#[test]
fn a_restore_is_told_to_those_that_it_brought_back() {
    let home = Home::new().unwrap();
    prepare(&home, jiff::Timestamp::now());
    let folder = home.state().join("instances/restore");
    fs::create_dir_all(&folder).unwrap();
    let at = jiff::Timestamp::now();
    let report =
        json!({"at": at, "restored": 4, "total": 4, "panes": [{"sessionId": SESSION, "outcome": "resumed"}]});
    fs::write(folder.join("last-restore.json"), report.to_string()).unwrap();
    let shown = lines(&mut command(&home, &[]), &input(&home, SESSION));
    assert!(shown.iter().any(|line| line.contains("Restored: 4/4 sessions")), "{shown:?}");
    let other = lines(&mut command(&home, &[]), &input(&home, "38781704-d577-4a61-adde-b05ffab31833"));
    assert!(!other.iter().any(|line| line.contains("Restored")), "{other:?}");
}
