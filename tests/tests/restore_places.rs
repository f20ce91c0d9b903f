//! Sessions, windows and panes come back as they were: names, layouts, groups, links, directories; once, and beside others.
#![expect(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test that cannot go on panics")]

use std::collections::BTreeSet;
use std::fs;

use lab::Lab;
use lab::agent::VERSIONS;
use lab::process::{run, wait_until};
use lab::wired::PATIENCE;
use serde_json::{Value, json};

const SHELL: &str = "exec bash --norc --noprofile";

fn new() -> Lab {
    Lab::new(VERSIONS[2]).unwrap()
}

fn tmux(lab: &Lab, words: &[&str]) -> String {
    let done = lab.tmux(words).unwrap();
    assert!(done.success(), "{words:?}: {}", done.words());
    done.stdout
}

/// Every pane of every session as its user sees it.
fn shape(lab: &Lab) -> BTreeSet<String> {
    let parts = [
        "#{session_name}|#{session_group}|#{window_index}|#{window_name}|#{window_active}#{window_last_flag}",
        "#{window_zoomed_flag}|#{window_width}x#{window_height}|#{pane_index}|#{pane_active}|#{pane_title}",
        "#{pane_width}x#{pane_height}+#{pane_left}+#{pane_top}|#{pane_current_path}",
    ];
    tmux(lab, &["list-panes", "-a", "-F", &parts.join("|")]).lines().map(str::to_owned).collect()
}

/// Waits until all is as it was: tmux takes half a second until it calls a window after the shell that a pane has become.
fn is_as(lab: &Lab, before: &BTreeSet<String>) {
    wait_until(PATIENCE, || shape(lab) == *before);
    let now = shape(lab);
    let missing: Vec<_> = before.difference(&now).collect();
    let made: Vec<_> = now.difference(before).collect();
    assert!(missing.is_empty() && made.is_empty(), "missing {missing:#?}\nmade {made:#?}");
}

fn restore(lab: &Lab, more: &[&str]) -> Value {
    let mut command = lab.home.rekindle_command(&[&["restore", "--yes", "--json"], more].concat());
    command.env_clear().envs(lab.env());
    let done = run(&mut command, PATIENCE).unwrap();
    assert!(done.success(), "{}", done.words());
    serde_json::from_str(&done.stdout).unwrap()
}

/// Ends the server, and waits until its socket is free: who comes a moment too early is sent away.
fn kill_server(lab: &Lab) {
    tmux(lab, &["kill-server"]);
    let gone = || lab.tmux(&["list-sessions"]).unwrap().stderr.contains("no server");
    assert!(wait_until(PATIENCE, gone));
}

fn save(lab: &Lab) {
    // A program that has not begun yet has no directory.
    let begun = || !tmux(lab, &["list-panes", "-a", "-F", "|#{pane_current_path}|"]).contains("||");
    assert!(wait_until(PATIENCE, begun));
    lab.home.rekindle_json(&["save"]).unwrap();
}

/// A server with everything that is hard to make again.
fn build(lab: &Lab) {
    let (one, two) = (lab.home.root().join("one"), lab.home.root().join("#(touch ran)'s \"two\""));
    fs::create_dir(&one).unwrap();
    fs::create_dir(&two).unwrap();
    let (one, two) = (one.to_str().unwrap(), two.to_str().unwrap().replace('#', "##"));
    let size = ["-x", "200", "-y", "60"];
    let plain = ["work", "work2", "-bar", "--", "🔥 emoji", "t\tab", "new\nline"];
    for name in plain
        .into_iter()
        .chain(["a 'b' \"c\"; kill-server", "$HOME {x}", "$1", "##(touch ran)"])
        .chain(["#", "a##", "##[fg=red]x"])
    {
        let words = [&["new-session", "-d", "-s", name], &size[..], &["-c", one, SHELL]].concat();
        tmux(lab, &words);
    }
    for at in 1..30 {
        tmux(lab, &["split-window", "-d", "-t", "=work:0", "-c", one, SHELL]);
        tmux(lab, &["select-layout", "-t", "=work:0", if at % 2 == 0 { "tiled" } else { "main-vertical" }]);
    }
    tmux(lab, &["new-window", "-d", "-t", "=work:7", "-n", "a:b.c #{pane_id}; x", "-c", &two, SHELL]);
    tmux(lab, &["split-window", "-d", "-h", "-t", "=work:7", "-c", one, SHELL]);
    tmux(lab, &["select-pane", "-t", "=work:7.1", "-T", "it's ##(touch ran) a title"]);
    tmux(lab, &["resize-pane", "-Z", "-t", "=work:7.1"]);
    tmux(lab, &["set-option", "-p", "-t", "=work:7.1", "@note", "it's \"#(touch ran)\"; $HOME \\\n🔥\tend "]);
    tmux(lab, &["set-option", "-p", "-t", "=work:7.1", "@empty", ""]);
    tmux(lab, &["set-option", "-g", "@note", "everybody's"]);
    // tmux keeps the first name as it is given, and escapes the second.
    tmux(lab, &["new-window", "-d", "-t", "=work2:5", "-n", "$HOME {x}", "-c", one, SHELL]);
    tmux(lab, &["new-window", "-d", "-t", "=work2:6", "-c", one, SHELL]);
    tmux(lab, &["new-window", "-d", "-t", "=work2:8", "-n", "-x", "-c", one, SHELL]);
    tmux(lab, &["new-window", "-d", "-t", "=work2:9", "-n", "two\nlines", "-c", one, SHELL]);
    tmux(lab, &["rename-window", "-t", "=work2:6", "$HOME a\\b"]);
    tmux(lab, &["link-window", "-d", "-s", "=work:7", "-t", "=work2:4"]);
    tmux(lab, &["new-session", "-d", "-s", "same", "-t", "=work"]);
    tmux(lab, &["select-window", "-t", "=work:7"]);
    tmux(lab, &["select-window", "-t", "=same:0"]);
}

/// F-tmux-14, F-tmux-20, F-tmux-22
#[test]
fn everything_comes_back_as_it_was_and_only_once() {
    let lab = new();
    build(&lab);
    save(&lab);
    let before = shape(&lab);
    let options = |pane: &str| {
        let shown = tmux(&lab, &["show-options", "-p", "-t", pane]);
        shown.lines().filter(|line| !line.contains("@rekindle_")).map(str::to_owned).collect::<Vec<_>>()
    };
    let own = ["=work:7.0", "=work:7.1"].map(options);
    assert_eq!(own.each_ref().map(Vec::len), [0, 2], "{own:?}");
    kill_server(&lab);
    restore(&lab, &[]);
    assert_eq!(["=work:7.0", "=work:7.1"].map(options), own, "what users set on a pane, and nothing else");
    is_as(&lab, &before);
    assert_eq!(restore(&lab, &[])["panes"], json!([]), "running it again does nothing");
    assert_eq!(shape(&lab), before);
    let ran = walk(lab.home.root()).into_iter().find(|name| name == "ran");
    assert_eq!(ran, None, "a name was run as a command");
}

fn walk(folder: &std::path::Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

#[test]
fn every_session_that_came_back_is_named_with_the_way_to_it() {
    let lab = new();
    for name in ["work", "other"] {
        tmux(&lab, &["new-session", "-d", "-s", name, "-x", "120", "-y", "40", SHELL]);
    }
    save(&lab);
    kill_server(&lab);
    let done = lab.rekindle(&["restore", "--yes"]).unwrap();
    let way = done.stderr.lines().find(|line| line.starts_with("Go there with ")).unwrap_or_default();
    assert!(way.contains(" attach -t other`") && way.contains(" attach -t work`"), "{}", done.words());
}

/// F-others-1
#[test]
fn three_triggers_at_once_restore_once() {
    let lab = new();
    tmux(&lab, &["new-session", "-d", "-s", "work", "-x", "120", "-y", "40", SHELL]);
    tmux(&lab, &["split-window", "-d", "-t", "=work:0", SHELL]);
    tmux(&lab, &["new-session", "-d", "-s", "other", "-x", "120", "-y", "40", SHELL]);
    save(&lab);
    let before = shape(&lab);
    kill_server(&lab);
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| restore(&lab, &[]));
        }
    });
    is_as(&lab, &before);
}

/// F-others-6
#[test]
fn what_runs_stays_and_what_is_missing_is_added() {
    let lab = new();
    let folder = lab.home.root().join("deep");
    fs::create_dir(&folder).unwrap();
    let at = ["-x", "120", "-y", "40", "-c", folder.to_str().unwrap(), SHELL];
    tmux(&lab, &[&["new-session", "-d", "-s", "work"], &at[..]].concat());
    tmux(&lab, &["new-window", "-d", "-t", "=work:3", "-n", "kept", SHELL]);
    tmux(&lab, &["new-session", "-d", "-s", "gone", "-x", "120", "-y", "40", SHELL]);
    save(&lab);
    kill_server(&lab);
    // The user has begun again in the meantime, under the same name and elsewhere.
    tmux(&lab, &["new-session", "-d", "-s", "work", "-x", "100", "-y", "30", SHELL]);
    let pid = tmux(&lab, &["list-panes", "-t", "=work:0", "-F", "#{pane_pid}"]);
    restore(&lab, &[]);
    assert_eq!(tmux(&lab, &["list-panes", "-t", "=work:0", "-F", "#{pane_pid}"]), pid);
    let windows = tmux(&lab, &["list-windows", "-a", "-F", "#{session_name}:#{window_index}"]);
    // Its number is taken, so the old window stands behind all others.
    assert_eq!(windows.lines().collect::<Vec<_>>(), ["gone:0", "work:0", "work:3", "work:4"]);
    let cwd = || tmux(&lab, &["list-panes", "-t", "=work:4", "-F", "#{pane_current_path}"]);
    assert!(wait_until(PATIENCE, || cwd().trim() == folder.to_str().unwrap()), "{}", cwd());
    assert_eq!(restore(&lab, &[])["panes"], json!([]));
}

#[test]
fn a_directory_that_is_gone_keeps_no_pane_from_coming_back() {
    let lab = new();
    let folder = lab.home.root().join("soon gone");
    fs::create_dir(&folder).unwrap();
    let at = ["-x", "120", "-y", "40", "-c", folder.to_str().unwrap(), SHELL];
    tmux(&lab, &[&["new-session", "-d", "-s", "work"], &at[..]].concat());
    assert!(
        wait_until(PATIENCE, || tmux(&lab, &["list-panes", "-F", "#{pane_current_path}"]).contains("soon"))
    );
    save(&lab);
    kill_server(&lab);
    fs::remove_dir(&folder).unwrap();
    restore(&lab, &[]);
    assert_eq!(tmux(&lab, &["list-windows", "-a", "-F", "#{session_name}:#{window_index}"]), "work:0\n");
}

#[test]
fn what_was_closed_stays_closed_until_it_is_named() {
    let lab = new();
    tmux(&lab, &["new-session", "-d", "-s", "work", "-x", "120", "-y", "40", SHELL]);
    tmux(&lab, &["new-session", "-d", "-s", "closed", "-x", "120", "-y", "40", SHELL]);
    save(&lab);
    tmux(&lab, &["kill-session", "-t", "=closed"]);
    assert_eq!(restore(&lab, &[])["panes"], json!([]));
    assert!(!tmux(&lab, &["list-sessions"]).contains("closed"));
    restore(&lab, &["--only", "closed"]);
    assert!(tmux(&lab, &["list-sessions"]).contains("closed"));
    let cases: [(&[&str], &str); 2] = [
        (&["restore", "--yes", "--only", "nowhere"], "no saved pane is in nowhere"),
        (&["restore", "--yes", "no-such"], "there is no save \"no-such\""),
    ];
    for (words, says) in cases {
        let done = lab.home.rekindle(words).unwrap();
        assert_eq!(done.code(), Some(2), "{}", done.words());
        assert!(done.stderr.contains(says), "{}", done.words());
    }
}

/// Some panes of much: a window of a session whose others, links and groups stay away.
#[test]
fn only_what_was_asked_for_comes_back() {
    let lab = new();
    build(&lab);
    save(&lab);
    kill_server(&lab);
    restore(&lab, &["--only", "same:7"]);
    let windows = tmux(&lab, &["list-windows", "-a", "-F", "#{session_name}:#{window_index}"]);
    assert_eq!(windows.lines().collect::<Vec<_>>(), ["work:7"]);
}

/// Whole parts count: a window 1 is no window 10, and `work` is not `work2`.
#[test]
fn names_that_begin_alike_stay_away() {
    let lab = new();
    for name in ["work", "work2"] {
        tmux(&lab, &["new-session", "-d", "-s", name, "-x", "120", "-y", "40", SHELL]);
        for window in ["1", "10"] {
            tmux(&lab, &["new-window", "-d", "-t", &format!("={name}:{window}"), SHELL]);
        }
    }
    save(&lab);
    kill_server(&lab);
    let windows = || tmux(&lab, &["list-windows", "-a", "-F", "#{session_name}:#{window_index}"]);
    restore(&lab, &["--only", "work:1"]);
    assert_eq!(windows(), "work:1\n");
    restore(&lab, &["--only", "work"]);
    assert_eq!(windows(), "work:0\nwork:1\nwork:10\n");
}

/// Two files of tmux-resurrect are two servers, though neither names one.
#[test]
fn a_file_of_tmux_resurrect_is_not_taken_for_another() {
    let lab = new();
    let folder = lab.home.root().display().to_string();
    for name in ["one", "two"] {
        let file = lab.home.root().join(name);
        fs::write(&file, format!("pane\t{name}\t0\t1\t:*\t0\tt\t:{folder}\t1\tbash\t:\n")).unwrap();
        lab.home.rekindle_json(&["saves", "import", file.to_str().unwrap(), "--name", name]).unwrap();
        restore(&lab, &[name]);
        assert_eq!(restore(&lab, &[name])["panes"], json!([]), "running it again does nothing");
    }
    assert_eq!(tmux(&lab, &["list-sessions", "-F", "#{session_name}"]), "one\ntwo\n");
}

/// A file of tmux-resurrect names no server. It is brought back where a plain `tmux` finds it, also windows of which it has
/// panes alone, and one whose line is torn.
#[test]
fn a_file_of_tmux_resurrect_comes_back_on_the_default_server() {
    let lab = new();
    let folders = ["one", "two", "three"].map(|name| lab.home.root().join(name));
    folders.iter().for_each(|folder| fs::create_dir(folder).unwrap());
    let [one, two, three] = folders.each_ref().map(|folder| folder.to_str().unwrap());
    let text = format!(
        "pane\twork\t0\t0\t:-\t0\tleft\t:{one}\t1\tbash\t:\npane\twork\t0\t0\t:-\t1\tright\t:{two}\t0\tbash\t:\n\
         pane\twork\t3\t1\t:*\t0\tlogs\t:{three}\t1\ttail\t:tail -f log\npane\tother\t1\t1\t:*\t0\thost\t:{one}\t1\tbash\t:\n\
         window\twork\t0\t:code\t0\t:-\tf91d,120x40,0,0{{60x40,0,0,0,59x40,61,0,1}}\toff\n\
         window\twork\t3\t:logs\t1\t:*\tf91d,120x40,0,0{{60x4"
    );
    let file = lab.home.root().join("last");
    fs::write(&file, text).unwrap();
    lab.home.rekindle_json(&["saves", "import", file.to_str().unwrap(), "--name", "old"]).unwrap();
    let done = restore(&lab, &["old"]);
    let panes: Vec<&str> =
        done["panes"].as_array().unwrap().iter().map(|pane| pane["pane"].as_str().unwrap()).collect();
    assert_eq!(panes, ["work:0.0", "work:0.1", "work:3.0", "other:1.0"]);
    let format =
        "#{session_name}:#{window_index}.#{pane_index} #{window_width}x#{window_height} #{pane_current_path}";
    let there = || tmux(&lab, &["list-panes", "-a", "-F", format]);
    let expect = format!(
        "other:1.0 120x40 {one}\nwork:0.0 120x40 {one}\nwork:0.1 120x40 {two}\nwork:3.0 120x40 {three}\n"
    );
    assert!(wait_until(PATIENCE, || there() == expect), "{}", there());
    assert_eq!(tmux(&lab, &["list-panes", "-t", "=work:0", "-F", "#{pane_width}"]), "60\n59\n");
    assert_eq!(tmux(&lab, &["display-message", "-p", "-t", "=work:0", "#{window_name}"]), "code\n");
    assert_eq!(restore(&lab, &["old"])["panes"], json!([]), "running it again does nothing");
}
