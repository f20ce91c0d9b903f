//! What happens by itself: tmux calls when something changes, a save follows when it has come to rest, and whoever asks for
//! a restore gets one.
#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "throwaway files are written by hand, and a test that cannot go on panics"
)]

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use lab::Lab;
use lab::agent::VERSIONS;
use lab::home::Home;
use lab::process::{self, wait_until};
use lab::rekindle::DEADLINE;
use serde_json::{Value, json};

/// A home whose tmux has read its user's configuration.
struct Desk {
    home: Home,
}

impl Desk {
    fn new() -> Desk {
        Desk { home: Home::new().unwrap() }
    }

    /// A home in which tmux was wired; nothing runs yet.
    fn wired() -> Desk {
        let desk = Desk::new();
        let done = desk.home.rekindle(&["init", "--tmux", "--yes"]).unwrap();
        assert!(done.success(), "{}", done.words());
        assert!(done.stdout.contains("tmux source-file"), "{}", done.stdout);
        assert!(done.stdout.contains("set -ag status-right ' #{E:@rekindle_status}'"), "{}", done.stdout);
        desk
    }

    fn config(&self, text: &str) {
        let folder = self.home.home().join(".config/rekindle");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("config.toml"), text).unwrap();
    }

    fn conf(&self) -> PathBuf {
        self.home.home().join(".tmux.conf")
    }

    /// A tmux that reads the configuration of this home, as its user's would.
    fn command(&self) -> Command {
        let mut command = Command::new("tmux");
        command.arg("-u").arg("-S").arg(self.home.tmux().socket());
        self.home.adopt(command)
    }

    fn tmux(&self, words: &[&str]) -> String {
        let done = process::run(self.command().args(words), DEADLINE).unwrap();
        assert!(done.success(), "{words:?}: {}", done.words());
        done.stdout.trim().to_owned()
    }

    fn open(&self, session: &str) {
        self.tmux(&["new-session", "-d", "-s", session, "-x", "160", "-y", "50", "exec cat"]);
    }

    fn sessions(&self) -> Vec<String> {
        let listed = process::run(self.command().args(["list-sessions", "-F", "#{session_name}"]), DEADLINE);
        let mut names: Vec<String> = listed.unwrap().stdout.lines().map(str::to_owned).collect();
        names.sort();
        names
    }

    fn panes(&self) -> usize {
        self.tmux(&["list-panes", "-a", "-F", "#{pane_id}"]).lines().count()
    }

    /// Ends the server as a crash does, and waits until it is gone.
    fn crash(&self) {
        let pid = self.tmux(&["display-message", "-p", "#{pid}"]).parse().unwrap();
        let pid = rustix::process::Pid::from_raw(pid).unwrap();
        rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
        assert!(wait_until(DEADLINE, || rustix::process::test_kill_process(pid).is_err()));
    }

    /// The save to restore, whole.
    fn current(&self) -> Option<Value> {
        let shown = self.home.rekindle(&["saves", "show", "--json"]).ok()?;
        Some(serde_json::from_str::<Value>(&shown.stdout).ok()?["save"].take())
    }

    /// Waits for a save that fits.
    fn saved(&self, what: &str, fits: impl Fn(&Value) -> bool) -> Value {
        let mut found = None;
        let done = wait_until(DEADLINE, || {
            found = self.current();
            found.as_ref().is_some_and(&fits)
        });
        let counts = found.as_ref().map(|save| save["counts"].clone());
        assert!(done, "no save is {what}: {counts:?} {}", self.log());
        found.unwrap()
    }

    fn saved_sessions(&self, names: &[&str]) -> Value {
        self.saved(&format!("of {names:?}"), |save| session_names(save) == names)
    }

    fn log(&self) -> String {
        ["hot.log", "settle.log"]
            .map(|name| fs::read_to_string(self.home.state().join("log").join(name)).unwrap_or_default())
            .concat()
    }

    fn journal(&self, event: &str) -> usize {
        let text = fs::read_to_string(self.home.state().join("journal.jsonl")).unwrap_or_default();
        let entries = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        entries.filter(|entry| entry["event"] == event).count()
    }
}

/// The sessions of all servers of a save.
fn session_names(save: &Value) -> Vec<String> {
    let servers = save["servers"].as_array().into_iter().flatten();
    let sessions = servers.flat_map(|server| server["tmux"]["sessions"].as_array().into_iter().flatten());
    let mut names: Vec<String> =
        sessions.map(|session| session["name"].as_str().unwrap_or_default().to_owned()).collect();
    names.sort();
    names
}

/// F-tmux-15
#[test]
fn many_changes_make_few_saves_hooks_of_others_stay_and_no_name_runs() {
    let desk = Desk::wired();
    let (foreign, trap) = (desk.home.root().join("foreign"), desk.home.root().join("ran"));
    let theirs =
        format!("set-hook -g 'window-layout-changed[0]' 'run-shell -b \"echo x >>{}\"'\n", foreign.display());
    let conf = fs::read_to_string(desk.conf()).unwrap();
    fs::write(desk.conf(), format!("{theirs}{conf}")).unwrap();
    desk.open("work");
    desk.tmux(&["split-window", "-d", "-t", "work", "exec cat"]);
    let evil = format!("#(touch {}) '\"; kill-server \u{1f980}", trap.display());
    let doubled = evil.replace('#', "##");
    desk.tmux(&["rename-window", "-t", "work:0", &doubled]);
    desk.tmux(&["select-pane", "-t", "work:0.0", "-T", &doubled]);
    desk.tmux(&["rename-session", "-t", "work", &doubled]);
    for step in 0..40 {
        desk.tmux(&["resize-pane", "-t", "%0", "-y", &format!("{}", 10 + step % 7)]);
    }
    desk.tmux(&["resize-pane", "-t", "%0", "-y", "33"]);
    let layout = desk.tmux(&["display-message", "-p", "-t", "%0", "#{window_layout}"]);
    let saved = desk.saved("of the last layout", |save| {
        save["servers"][0]["tmux"]["windows"][0]["layout"].as_str() == Some(&layout)
    });
    let window = &saved["servers"][0]["tmux"]["windows"][0];
    assert_eq!((&window["name"], &window["panes"][0]["title"]), (&json!(evil), &json!(evil)));
    assert_eq!(saved["kind"], "hook");
    let made = desk.journal("saved");
    assert!(made <= 4, "{made} saves of 46 changes");
    assert!(wait_until(DEADLINE, || fs::read_to_string(&foreign).unwrap_or_default().lines().count() >= 41));
    assert!(!trap.exists(), "a name ran");
    assert_eq!(desk.log(), "");
}

#[test]
fn a_fresh_server_brings_the_crashed_one_back_and_only_once() {
    let desk = Desk::wired();
    for session in ["one", "two"] {
        desk.open(session);
    }
    desk.tmux(&["split-window", "-d", "-t", "two", "exec cat"]);
    desk.saved("of three panes", |save| save["counts"]["panes"] == 3);
    desk.crash();
    desk.open("fresh");
    assert!(wait_until(DEADLINE, || desk.sessions() == ["fresh", "one", "two"]), "{:?}", desk.sessions());
    desk.saved("of all of them", |save| save["counts"]["panes"] == 4 && save["counts"]["servers"] == 1);
    let status = desk.home.rekindle(&["tmux-status"]).unwrap();
    assert_eq!((status.stdout.as_str(), status.code()), ("#[fg=green]Restored#[default]\n", Some(0)));
    // Read again, the configuration asks for nothing: what its user closes stays closed.
    desk.tmux(&["kill-session", "-t", "one"]);
    desk.tmux(&["source-file", &desk.conf().to_string_lossy()]);
    desk.saved_sessions(&["fresh", "two"]);
    assert_eq!((desk.sessions(), desk.journal("restored")), (vec!["fresh".to_owned(), "two".to_owned()], 1));
}

/// What a shell shows is taken with the events of agents and of tmux: no timer is needed for it.
#[test]
fn what_shells_show_is_as_new_as_the_newest_event() {
    let desk = Desk::wired();
    desk.open("one");
    desk.saved_sessions(&["one"]);
    desk.tmux(&["send-keys", "-t", "one", "said before the event", "Enter"]);
    assert!(wait_until(DEADLINE, || desk.tmux(&["capture-pane", "-p", "-t", "one"]).contains("said before")));
    assert!(desk.home.rekindle(&["tick", "--event"]).unwrap().success());
    let shows = || {
        let shown = desk.home.rekindle(&["saves", "show", "--scrollback", "one:0.0"]).unwrap();
        shown.stdout.contains("said before the event")
    };
    assert!(wait_until(DEADLINE, shows), "{:?} {}", desk.current(), desk.log());
}

/// F-others-1
#[test]
fn three_triggers_at_once_restore_once() {
    let desk = Desk::new();
    for session in ["one", "two", "three"] {
        desk.open(session);
        desk.tmux(&["split-window", "-d", "-t", session, "exec cat"]);
    }
    let saved = desk.home.rekindle_json(&["save"]).unwrap();
    assert_eq!(saved["counts"]["panes"], 6);
    desk.crash();
    std::thread::scope(|scope| {
        let restore = |by: &'static str| {
            let desk = &desk;
            scope.spawn(move || desk.home.rekindle(&["restore", "--yes", "--by", by]).unwrap())
        };
        let all = ["boot", "tmux", "resurrect"].map(restore);
        let said: Vec<String> = all
            .into_iter()
            .map(|one| {
                let done = one.join().unwrap();
                assert!(done.success(), "{}", done.words());
                done.stdout
            })
            .filter(|said| !said.is_empty())
            .collect();
        assert_eq!(said.len(), 1, "one restored, the others said nothing: {said:#?}");
    });
    assert_eq!((desk.sessions(), desk.panes()), (vec!["one".into(), "three".into(), "two".into()], 6));
    assert_eq!(desk.journal("restored"), 1);
}

#[test]
fn what_is_turned_off_or_paused_or_was_never_saved_is_not_restored() {
    let desk = Desk::new();
    let nothing = |why: &str| {
        let done = desk.home.rekindle(&["restore", "--by", "boot"]).unwrap();
        assert!(done.success(), "{why}: {}", done.words());
        assert_eq!((done.stdout.as_str(), done.stderr.as_str()), ("", ""), "{why}");
        assert!(desk.sessions().is_empty(), "{why}");
    };
    nothing("there is no save");
    desk.open("work");
    desk.home.rekindle_json(&["save"]).unwrap();
    desk.crash();
    desk.config("[restore]\nauto = false\n");
    nothing("restore.auto is off");
    desk.config("");
    assert!(desk.home.rekindle(&["pause"]).unwrap().success());
    nothing("everything is paused");
    assert!(desk.home.rekindle(&["unpause"]).unwrap().success());
    let lock = fs::File::create(desk.home.state().join("locks/restore")).unwrap();
    lock.lock().unwrap();
    nothing("a restore runs");
    drop(lock);
    let done = desk.home.rekindle(&["restore", "--by", "boot"]).unwrap();
    assert!(done.success(), "{}", done.words());
    assert_eq!(desk.sessions(), ["work"]);
}

#[test]
fn saves_after_a_crash_keep_what_was_not_brought_back() {
    let desk = Desk::wired();
    desk.config("[restore]\nauto = false\n");
    for session in ["one", "two"] {
        desk.open(session);
    }
    desk.saved_sessions(&["one", "two"]);
    desk.crash();
    desk.open("fresh");
    desk.tmux(&["split-window", "-d", "-t", "fresh", "exec cat"]);
    let saved = desk.saved("of old and new", |save| save["counts"]["panes"] == 4);
    assert_eq!(session_names(&saved), ["fresh", "one", "two"]);
    assert!(saved["servers"][1]["goneSince"].is_string(), "{}", saved["servers"][1]);
    assert_eq!(desk.sessions(), ["fresh"], "nothing was restored by itself");
    let done = desk.home.rekindle(&["restore", "--yes"]).unwrap();
    assert!(done.success(), "{}", done.words());
    assert_eq!(desk.sessions(), ["fresh", "one", "two"]);
    let saved = desk.saved("of one server", |save| save["counts"]["servers"] == 1);
    assert_eq!(session_names(&saved), ["fresh", "one", "two"]);
}

/// A plain `tmux` after a crash calls its session as the one before: of that session it has brought nothing back.
#[test]
fn a_session_of_the_same_name_is_not_the_one_that_crashed() {
    let desk = Desk::wired();
    desk.config("[restore]\nauto = false\n");
    desk.open("0");
    for _ in 0..2 {
        desk.tmux(&["new-window", "-d", "-t", "=0:", "exec cat"]);
    }
    desk.saved("of three windows", |save| save["counts"]["windows"] == 3);
    desk.crash();
    desk.open("0");
    desk.tmux(&["split-window", "-d", "-t", "=0:", "exec cat"]);
    let saved = desk.saved("of both", |save| save["counts"]["servers"] == 2);
    let windows = saved["servers"][1]["tmux"]["sessions"][0]["windows"].as_array().unwrap().iter();
    let numbers: Vec<&Value> = windows.map(|link| &link["index"]).collect();
    assert_eq!(numbers, [1, 2], "the first one is there, in its place and directory");
    let done = desk.home.rekindle(&["restore", "--yes"]).unwrap();
    assert!(done.success(), "{}", done.words());
    let saved = desk.saved("of one server", |save| save["counts"]["servers"] == 1);
    assert_eq!((desk.panes(), &saved["counts"]["windows"]), (4, &json!(3)));
}

/// F-tmux-19
#[test]
fn ticks_write_what_is_new_and_are_quiet() {
    let desk = Desk::new();
    desk.config("[save]\ninterval = \"0s\"\n");
    let tick = || desk.home.rekindle_json(&["tick"]).unwrap()["save"]["outcome"].clone();
    assert_eq!(tick(), "empty");
    desk.open("work");
    let begun = || desk.tmux(&["display-message", "-p", "-t", "work", "#{pane_current_command}"]) == "cat";
    assert!(wait_until(DEADLINE, begun));
    assert_eq!(tick(), "saved");
    assert_eq!(tick(), "unchanged");
    let saved = desk.current().unwrap();
    assert_eq!((&saved["kind"], &saved["scrollback"]["panes"]), (&json!("timer"), &json!(1)));
    desk.tmux(&["send-keys", "-t", "work", "words", "Enter"]);
    let shows = || desk.tmux(&["capture-pane", "-p", "-t", "work"]).matches("words").count() == 2;
    assert!(wait_until(DEADLINE, shows));
    assert_eq!(tick(), "refreshed", "what a pane shows passes");
    let listed = desk.home.rekindle_json(&["saves"]).unwrap();
    assert_eq!(listed["saves"].as_array().unwrap().len(), 1, "{listed}");
    let done = desk.home.rekindle(&["tick"]).unwrap();
    assert_eq!((done.stdout.as_str(), done.stderr.as_str(), done.code()), ("", "", Some(0)));
    let lock = fs::File::create(desk.home.state().join("locks/restore")).unwrap();
    lock.lock().unwrap();
    assert_eq!(tick(), "restoring");
    drop(lock);
    assert!(desk.home.rekindle(&["pause"]).unwrap().success());
    assert_eq!(desk.home.rekindle_json(&["tick"]).unwrap()["skipped"], "paused");
    assert!(desk.home.rekindle(&["tick", "--hook"]).unwrap().success());
    assert!(!desk.home.state().join("cache/save-wanted").exists(), "in a pause nobody asks for a save");
    assert!(desk.home.rekindle(&["unpause"]).unwrap().success());
    assert!(desk.home.rekindle(&["tick", "--hook"]).unwrap().success());
    assert!(desk.home.state().join("cache/save-wanted").exists());
}

/// A settle that watches a busy agent must not meet a save that settles and then goes: nobody would watch.
#[test]
fn a_save_by_itself_stands_in_no_settles_way() {
    let desk = Desk::new();
    desk.open("work");
    fs::create_dir_all(desk.home.state().join("locks")).unwrap();
    let settling = fs::File::create(desk.home.state().join("locks/settle")).unwrap();
    settling.lock().unwrap();
    desk.tmux(&["run-shell", "-b", &format!("{} tick --hook", lab::program().display())]);
    let made = || fs::read_dir(desk.home.state().join("saves")).is_ok_and(|saves| saves.count() > 1);
    assert!(wait_until(DEADLINE, made), "{}", desk.log());
}

/// The plugin as TPM runs it.
#[test]
fn the_plugin_sets_hooks_and_fills_the_status_bar() {
    let desk = Desk::new();
    let plugin = PathBuf::from(env!("CARGO_MANIFEST_DIR")).with_file_name("rekindle.tmux");
    let program = lab::program();
    let conf = format!(
        "set -g @rekindle-program '{}'\nset -g status-right 'a #{{rekindle_status}} b'\n\
         set -g @resurrect-hook-post-restore-all 'mine'\nrun-shell '{}'\n",
        program.display(),
        plugin.display()
    );
    fs::write(desk.conf(), conf).unwrap();
    desk.open("work");
    let option = |name: &str| desk.tmux(&["show-options", "-gqv", name]);
    assert!(
        wait_until(DEADLINE, || option("status-right") == "a #{E:@rekindle_status} b"),
        "{}",
        option("status-right")
    );
    assert!(option("@rekindle_status").contains("tmux-status"));
    assert_eq!(option("@resurrect-hook-post-restore-all"), "mine", "a hook of the user's own stays");
    desk.tmux(&["rename-session", "-t", "work", "play"]);
    desk.saved_sessions(&["play"]);
    // A plugin that finds no program does no harm.
    desk.tmux(&["set-option", "-g", "@rekindle-program", "/nonexistent"]);
    desk.tmux(&["run-shell", &plugin.to_string_lossy()]);
}

#[test]
fn what_init_adds_to_tmux_is_taken_out_to_the_byte() {
    let desk = Desk::new();
    let real = desk.home.root().join("dotfiles.conf");
    let before = "# mine\nset -g history-limit 5000 \\\n";
    fs::write(&real, before).unwrap();
    std::os::unix::fs::symlink(&real, desk.conf()).unwrap();
    let init = |words: &[&str]| desk.home.rekindle_json(&[&["init", "--tmux"], words].concat()).unwrap();
    let kinds = |made: &Value| -> Vec<String> {
        let changes = made["changes"].as_array().unwrap().iter();
        changes.filter(|change| change["kind"] == "tmux").map(|change| change["action"].to_string()).collect()
    };
    assert_eq!(kinds(&init(&["--dry-run"])), ["\"create\"", "\"change\""]);
    assert_eq!(fs::read_to_string(&real).unwrap(), before, "a dry run changes nothing");
    init(&["--yes"]);
    assert!(desk.conf().is_symlink());
    let wired = fs::read_to_string(&real).unwrap();
    assert!(wired.starts_with(before) && wired.contains("\n\nsource-file -q "), "{wired}");
    assert_eq!(init(&["--yes"])["changes"], json!([]), "a second run finds nothing to do");
    desk.open("work");
    let hooks = || desk.tmux(&["show-hooks", "-g", ";", "show-hooks", "-gw"]);
    assert_eq!(hooks().matches("[8371]").count(), 10, "{}", hooks());
    let undone = desk.home.rekindle(&["uninstall", "--keep-data", "--yes"]).unwrap();
    assert!(undone.success(), "{}", undone.words());
    assert_eq!(fs::read_to_string(&real).unwrap(), before);
    assert!(!desk.home.home().join(".config/rekindle/tmux.conf").exists());
    assert!(!hooks().contains("[8371]"), "live servers call nobody any more: {}", hooks());
}

#[test]
fn the_doctor_looks_at_hooks_and_at_tmux_resurrect() {
    let desk = Desk::wired();
    desk.open("work");
    let found = |id: &str| {
        let done = desk.home.rekindle(&["doctor", "--json"]).unwrap();
        let told: Value = serde_json::from_str(&done.stdout).unwrap();
        told["findings"].as_array().unwrap().iter().any(|finding| finding["id"] == id)
    };
    assert!(!found("tmux-not-calling"));
    let script = desk.home.root().join("restore.sh");
    desk.tmux(&["set-option", "-g", "@resurrect-restore-script-path", &script.to_string_lossy()]);
    fs::write(&script, "main\n").unwrap();
    assert!(found("resurrect-too-old"));
    fs::write(&script, "execute_hook \"post-restore-all\"\n").unwrap();
    assert!(!found("resurrect-too-old") && !found("resurrect-not-calling"));
    desk.tmux(&["set-option", "-g", "@resurrect-hook-post-restore-all", "mine"]);
    assert!(found("resurrect-not-calling"));
    for event in ["session-created", "session-closed", "session-renamed", "window-linked", "window-unlinked"]
        .into_iter()
        .chain([
            "after-rename-window",
            "window-layout-changed",
            "pane-exited",
            "pane-died",
            "client-detached",
        ])
    {
        desk.tmux(&["set-hook", "-g", event, "run-shell true"]);
    }
    assert!(found("tmux-not-calling"), "hooks without an index have cleared ours");
}

/// No hooks of tmux and no timer: the agents' own events are enough.
#[test]
fn an_agent_that_comes_and_goes_is_in_the_save() {
    let lab = Lab::new(VERSIONS[2]).unwrap();
    lab.wire().unwrap();
    lab.shell().unwrap();
    lab.type_line("work:0.0", "claude 'ask-00 please'").unwrap();
    let agents = |number: u64| {
        let current = || {
            let shown = lab.home.rekindle_json(&["saves", "show"]).ok()?;
            Some((shown["save"]["kind"].clone(), shown["save"]["counts"]["agents"].as_u64()?))
        };
        assert!(
            wait_until(DEADLINE, || current() == Some((json!("event"), number))),
            "not {number} agents: {:?}",
            current()
        );
    };
    agents(1);
    lab.record_where("answered", |record| record["lastReply"].is_object()).unwrap();
    lab.type_line("work:0.0", "/exit").unwrap();
    agents(0);
}
