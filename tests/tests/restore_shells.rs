//! A shell that comes back shows what it showed, and is a shell like any other.
#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "throwaway files are damaged on purpose, and a test that cannot go on panics"
)]

use std::fs;
use std::path::PathBuf;
use std::process::Stdio;

use jiff::Timestamp;
use lab::home::Home;
use lab::process::{self, Finished, wait_until};
use lab::rekindle::DEADLINE;
use serde_json::{Value, json};

/// What a shell says when it waits for its user.
const PROMPT: &str = "READY>";
const RESTORED: &str = "-- restored by rekindle, saved ";

struct Desk {
    home: Home,
}

impl Desk {
    /// A home whose login shells have a prompt of their own.
    fn new() -> Desk {
        let home = Home::new().unwrap();
        fs::write(home.home().join(".bash_profile"), format!("PS1='{PROMPT} '\n")).unwrap();
        Desk { home }
    }

    /// A new session in a directory of its own, with a shell that waits.
    fn open(&self, session: &str) -> PathBuf {
        let folder = self.home.root().join(session);
        fs::create_dir_all(&folder).unwrap();
        let place = folder.to_str().unwrap();
        self.tmux(&["new-session", "-d", "-s", session, "-x", "100", "-y", "30", "-c", place]);
        self.shows(session, "a prompt", |screen| screen.contains(PROMPT));
        folder
    }

    fn tmux(&self, words: &[&str]) -> String {
        let mut command = self.home.adopt(self.home.tmux().command());
        let done = process::run(command.args(words), DEADLINE).unwrap();
        assert!(done.success(), "{words:?}: {}", done.words());
        done.stdout.trim().to_owned()
    }

    fn pane(&self, pane: &str, format: &str) -> String {
        self.tmux(&["display-message", "-p", "-t", pane, format])
    }

    fn screen(&self, pane: &str) -> String {
        self.tmux(&["capture-pane", "-p", "-J", "-S", "-2000", "-t", pane])
    }

    fn shows(&self, pane: &str, what: &str, is: impl Fn(&str) -> bool) -> String {
        let shown = wait_until(DEADLINE, || is(&self.screen(pane)));
        let screen = self.screen(pane);
        assert!(shown, "{what} is not in {screen}");
        screen
    }

    /// Types a line into a shell, and waits for what it answers.
    fn ask(&self, pane: &str, line: &str, answer: &str) {
        self.tmux(&["send-keys", "-t", pane, "-l", "--", line]);
        self.tmux(&["send-keys", "-t", pane, "Enter"]);
        let ends = |screen: &str| screen.trim_end().lines().last().is_some_and(|last| last.trim() == PROMPT);
        let has = |screen: &str| screen.lines().any(|known| known.trim_end() == answer) && ends(screen);
        self.shows(pane, answer, has);
    }

    /// Ends the server as a crash does, and waits until it is gone.
    fn crash(&self) {
        let pid =
            rustix::process::Pid::from_raw(self.tmux(&["display-message", "-p", "#{pid}"]).parse().unwrap());
        rustix::process::kill_process(pid.unwrap(), rustix::process::Signal::KILL).unwrap();
        assert!(wait_until(DEADLINE, || rustix::process::test_kill_process(pid.unwrap()).is_err()));
    }

    fn json(&self, words: &[&str]) -> Value {
        self.home.rekindle_json(words).unwrap()
    }

    fn restore(&self, more: &[&str], variables: &[(&str, &str)]) -> Value {
        let mut command = self.home.rekindle_command(&[&["restore", "--yes", "--json"], more].concat());
        let done: Finished = process::run(command.envs(variables.iter().copied()), DEADLINE).unwrap();
        assert!(done.success(), "{}", done.words());
        serde_json::from_str(&done.stdout).unwrap()
    }

    /// Waits until the text of before stands above our line, and that above a new prompt.
    fn has_come_back(&self, pane: &str, text: &str) -> String {
        self.shows(pane, text, |screen| {
            let Some((before, after)) = screen.rsplit_once(RESTORED) else { return false };
            before.lines().any(|line| line.trim_end() == text) && after.contains(PROMPT)
        })
    }
}

#[test]
fn a_shell_shows_what_it_showed_and_is_one_like_any_other() {
    let desk = Desk::new();
    let folder = desk.open("work");
    desk.ask("work", "echo first-$((40 + 2))", "first-42");
    desk.tmux(&["split-window", "-d", "-t", "work", "exec cat"]);
    let saved: Timestamp = desk.json(&["save"])["savedAt"].as_str().unwrap().parse().unwrap();
    desk.crash();
    assert_eq!(desk.restore(&[], &[("TZ", "LAB-5")])["panes"].as_array().unwrap().len(), 2);
    let screen = desk.has_come_back("work:0.0", "first-42");
    let zone = jiff::tz::TimeZone::fixed(jiff::tz::offset(5));
    let when = saved.to_zoned(zone).strftime("%Y-%m-%d %H:%M").to_string();
    assert!(screen.contains(&format!("{RESTORED}{when} --")), "{when}: {screen}");
    // Nothing was shown in the other one, so it was started as ever.
    assert_eq!(desk.pane("work:0.1", "#{pane_start_command}"), "");
    let there = desk.pane("work:0.0", "#{pane_current_command} #{pane_current_path}");
    assert_eq!(there, format!("bash {}", folder.display()));
    desk.ask("work:0.0", "echo $0 ${PWD##*/}", "-bash work");

    let panes = || desk.tmux(&["list-panes", "-a", "-F", "#{pane_id} #{pane_pid}"]);
    let before = panes();
    assert_eq!(desk.restore(&[], &[])["panes"], json!([]), "running it again does nothing");
    assert_eq!(panes(), before);
    desk.json(&["save", "--name", "after"]);
    let shown = desk.json(&["saves", "show", "after"]);
    let pane = &shown["save"]["servers"][0]["tmux"]["windows"][0]["panes"][0];
    assert_eq!((&pane["startCommand"], &pane["command"]), (&"".into(), &"bash".into()), "{pane}");
    let undone = desk.json(&["undo", "--dry-run"]);
    let what: Vec<&Value> =
        undone["effects"][0]["panes"].as_array().unwrap().iter().map(|pane| &pane["what"]).collect();
    assert_eq!(what, ["closed", "closed"], "{undone}");
    desk.tmux(&["send-keys", "-t", "work:0.0", "-l", "cat"]);
    desk.tmux(&["send-keys", "-t", "work:0.0", "Enter"]);
    assert!(wait_until(DEADLINE, || desk.pane("work:0.0", "#{pane_current_command}") == "cat"));
    let undone = desk.json(&["undo", "--dry-run"]);
    assert_eq!(undone["effects"][0]["panes"][0]["why"], "it runs cat", "{undone}");
    desk.tmux(&["send-keys", "-t", "work:0.0", "C-c"]);
    assert!(wait_until(DEADLINE, || desk.pane("work:0.0", "#{pane_current_command}") == "bash"));
    let undone = desk.json(&["undo"]);
    assert!(
        undone["effects"][0]["panes"].as_array().unwrap().iter().all(|pane| pane["what"] == "closed"),
        "{undone}"
    );
}

/// Nobody has saved in between, and no timer has looked at the panes.
#[test]
fn a_second_crash_loses_nothing() {
    let desk = Desk::new();
    desk.open("work");
    desk.ask("work", "echo first-$((40 + 2))", "first-42");
    desk.json(&["save"]);
    for _ in 0..2 {
        desk.crash();
        desk.restore(&[], &[]);
    }
    desk.has_come_back("work", "first-42");
}

/// What the one who restores has set is not what the user's shells have.
#[test]
fn a_shell_has_its_servers_environment() {
    let desk = Desk::new();
    desk.open("work");
    desk.ask("work", "echo first-$((40 + 2))", "first-42");
    desk.json(&["save", "--name", "one"]);
    desk.open("other");
    desk.tmux(&["kill-session", "-t", "work"]);
    let elsewhere = desk.home.root().join("elsewhere").display().to_string();
    desk.restore(&["one"], &[("CLAUDE_CONFIG_DIR", &elsewhere)]);
    desk.has_come_back("work", "first-42");
    desk.ask("work", "echo config=${CLAUDE_CONFIG_DIR-none}", "config=none");
}

/// Texts come from files, and a save may come from elsewhere.
#[test]
fn an_escape_in_a_text_does_nothing() {
    let desk = Desk::new();
    desk.open("work");
    desk.ask("work", "echo first-$((40 + 2))", "first-42");
    let id = desk.json(&["save"])["save"].as_str().unwrap().to_owned();
    let pane = desk.pane("work", "#{pane_id}");
    let file = desk.home.root().join("crafted");
    let text = "before\u{1b}]2;owned\u{7}\u{1b}[2J\u{9b}2Jafter\tend\r\n";
    let plain = format!("{}\n{text}\n", json!({"server": 0, "pane": pane, "bytes": text.len()}));
    let (source, packed) = (desk.home.root().join("plain"), desk.home.root().join("crafted.zst"));
    fs::write(&source, plain).unwrap();
    let mut pack = desk.home.command("zstd");
    pack.args(["-q", "-o"]).arg(&packed).arg(&source).stdin(Stdio::null());
    assert!(process::run(&mut pack, DEADLINE).unwrap().success());
    let saved = desk.home.state().join(format!("saves/{id}.json"));
    let mut save: Value = serde_json::from_slice(&fs::read(saved).unwrap()).unwrap();
    save["scrollback"]["bytes"] = fs::metadata(&packed).unwrap().len().into();
    fs::write(&file, save.to_string()).unwrap();
    desk.json(&["saves", "import", file.to_str().unwrap(), "--name", "crafted"]);
    desk.crash();
    desk.restore(&["crafted"], &[]);
    desk.has_come_back("work", "before]2;owned[2J2Jafter        end");
    assert_ne!(desk.pane("work", "#{pane_title}"), "owned");
}

#[test]
fn the_command_that_the_user_has_set_for_panes_is_run() {
    let desk = Desk::new();
    let profile = format!(
        "set -g default-command \"exec env 'MARKED=it is' PS1='{PROMPT} ' bash --norc --noprofile\"\n"
    );
    fs::write(desk.home.home().join(".tmux.conf"), profile).unwrap();
    desk.open("work");
    desk.ask("work", "echo first-$((40 + 2))", "first-42");
    desk.json(&["save"]);
    desk.crash();
    desk.restore(&[], &[]);
    desk.has_come_back("work", "first-42");
    desk.ask("work", "echo $0 $MARKED", "bash it is");
}

/// What cannot be shown is not shown; the shell comes all the same.
#[test]
fn a_text_that_cannot_be_read_costs_no_shell() {
    let desk = Desk::new();
    desk.open("work");
    desk.ask("work", "echo first-$((40 + 2))", "first-42");
    let id = desk.json(&["save"])["save"].as_str().unwrap().to_owned();
    let packed = desk.home.state().join(format!("saves/{id}.zst"));
    let mut bytes = fs::read(&packed).unwrap();
    bytes.reverse();
    fs::write(&packed, &bytes).unwrap();
    desk.crash();
    desk.restore(&[], &[]);
    let screen = desk.shows("work", "a prompt", |screen| screen.contains(PROMPT));
    assert!(!screen.contains("first-42"), "{screen}");
    let program = lab::program().display().to_string();
    for (at, state) in [(1, desk.home.state()), (2, desk.home.root().join("nowhere"))] {
        for save in [id.as_str(), "none"] {
            let words = ["--state", state.to_str().unwrap(), "--save", save, "--server", "7", "--pane", "%0"];
            let target = format!("work:{}", at * 10 + save.len());
            let window =
                [&["new-window", "-d", "-t", &target, &program, "pane", "shell"], &words[..]].concat();
            desk.tmux(&window);
            let screen = desk.shows(&target, "a prompt", |screen| screen.contains(PROMPT));
            assert!(!screen.contains("rekindle"), "{screen}");
        }
    }
}
