//! A part of a window: some of its panes are there, or only some of them are asked for.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on panics")]

use lab::Lab;
use lab::agent::VERSIONS;
use lab::process::{run, wait_until};
use lab::wired::PATIENCE;
use serde_json::{Value, json};

const SHELL: &str = "exec bash --norc --noprofile";

fn tmux(lab: &Lab, words: &[&str]) -> String {
    let done = lab.tmux(words).unwrap();
    assert!(done.success(), "{words:?}: {}", done.words());
    done.stdout
}

/// A session whose first window has three panes, one of them below two.
fn new() -> Lab {
    let lab = Lab::new(VERSIONS[2]).unwrap();
    begin(&lab);
    tmux(&lab, &["split-window", "-d", "-v", "-l", "10", "-t", "=work:0.0", SHELL]);
    tmux(&lab, &["split-window", "-d", "-h", "-l", "33", "-t", "=work:0.0", SHELL]);
    tmux(&lab, &["new-window", "-d", "-t", "=work:4", SHELL]);
    lab
}

fn begin(lab: &Lab) {
    tmux(lab, &["new-session", "-d", "-s", "work", "-x", "120", "-y", "40", SHELL]);
    at_rest(lab);
}

/// Waits until every program has begun: before that it has no directory.
fn at_rest(lab: &Lab) {
    let begun = || {
        let seen = tmux(lab, &["list-panes", "-a", "-F", "|#{pane_current_path}|#{pane_current_command}"]);
        seen.lines().all(|line| !line.contains("||") && line.ends_with("|bash"))
    };
    assert!(wait_until(PATIENCE, begun));
}

fn save(lab: &Lab) {
    at_rest(lab);
    lab.home.rekindle_json(&["save", "--name", "whole"]).unwrap();
}

fn rekindle(lab: &Lab, words: &[&str]) -> Value {
    let mut command = lab.home.rekindle_command(words);
    command.env_clear().envs(lab.env());
    let done = run(&mut command, PATIENCE).unwrap();
    assert!(done.success(), "{}", done.words());
    at_rest(lab);
    serde_json::from_str(&done.stdout).unwrap()
}

fn restore(lab: &Lab, more: &[&str]) -> Vec<(String, String)> {
    let done = rekindle(lab, &[&["restore", "--yes", "--json"], more].concat());
    let word = |pane: &Value, key: &str| pane[key].as_str().unwrap().to_owned();
    let panes = done["panes"].as_array().unwrap();
    panes.iter().map(|pane| (word(pane, "was"), word(pane, "outcome"))).collect()
}

fn shells(panes: &[&str]) -> Vec<(String, String)> {
    panes.iter().map(|pane| ((*pane).to_owned(), "shell".to_owned())).collect()
}

fn shape(lab: &Lab) -> String {
    let format = "#{window_index}.#{pane_index} #{pane_width}x#{pane_height}+#{pane_left}+#{pane_top}";
    tmux(lab, &["list-panes", "-s", "-t", "=work", "-F", format])
}

fn kill_server(lab: &Lab) {
    tmux(lab, &["kill-server"]);
    let gone = || lab.tmux(&["list-sessions"]).unwrap().stderr.contains("no server");
    assert!(wait_until(PATIENCE, gone));
}

/// Each pane of a window that was closed comes back into its place, and is closed again by undo.
#[test]
fn a_shell_that_was_closed_comes_back_into_its_window() {
    let lab = new();
    save(&lab);
    let before = shape(&lab);
    for pane in ["0", "1", "2"] {
        tmux(&lab, &["select-pane", "-t", &format!("=work:0.{}", (pane.parse::<u32>().unwrap() + 1) % 3)]);
        tmux(&lab, &["kill-pane", "-t", &format!("=work:0.{pane}")]);
        let current = tmux(&lab, &["display-message", "-p", "-t", "=work:0", "#{pane_id}"]);
        let place = format!("work:0.{pane}");
        let only = ["whole", "--only", place.as_str()];
        assert_eq!(restore(&lab, &only), shells(&[&place]));
        assert_eq!(shape(&lab), before);
        assert_eq!(tmux(&lab, &["display-message", "-p", "-t", "=work:0", "#{pane_id}"]), current);
        assert_eq!(restore(&lab, &only), [], "running it again does nothing");
        assert_eq!(restore(&lab, &["whole"]), []);
    }
    let undone = rekindle(&lab, &["undo", "--json"]);
    assert_eq!(undone["effects"][0]["panes"][0]["what"], "closed", "{undone}");
    assert_eq!(shape(&lab).lines().count(), 3);
}

/// The user began again under the same name: the pane that is there is the first of three.
#[test]
fn a_window_of_which_one_pane_is_there_is_whole_again() {
    let lab = new();
    save(&lab);
    let before = shape(&lab);
    kill_server(&lab);
    begin(&lab);
    let pane = tmux(&lab, &["display-message", "-p", "-t", "=work:0.0", "#{pane_id} #{pane_pid}"]);
    assert_eq!(restore(&lab, &[]), shells(&["work:0.1", "work:0.2", "work:4.0"]));
    assert_eq!(shape(&lab), before);
    assert_eq!(tmux(&lab, &["display-message", "-p", "-t", "=work:0.0", "#{pane_id} #{pane_pid}"]), pane);
    assert_eq!(restore(&lab, &[]), [], "running it again does nothing");
}

/// What its user made of a window stays as it is.
#[test]
fn a_window_with_panes_of_its_users_own_is_left_as_it_is() {
    let lab = new();
    save(&lab);
    tmux(&lab, &["kill-pane", "-t", "=work:0.2"]);
    tmux(&lab, &["kill-pane", "-t", "=work:0.1"]);
    tmux(&lab, &["split-window", "-d", "-h", "-l", "20", "-t", "=work:0.0", SHELL]);
    at_rest(&lab);
    let before = shape(&lab);
    assert_eq!(restore(&lab, &["whole"]), shells(&["work:0.1", "work:0.2"]));
    let (old, new): (Vec<_>, Vec<_>) = {
        let after = shape(&lab);
        let known = |line: &&str| before.lines().any(|old| old == *line);
        let parts: (Vec<&str>, Vec<&str>) = after.lines().partition(known);
        (parts.0.iter().map(ToString::to_string).collect(), parts.1.iter().map(ToString::to_string).collect())
    };
    assert_eq!(old.join("\n") + "\n", before);
    assert_eq!(new.len(), 2, "each has a window of its own: {new:?}");
    let last = rekindle(&lab, &["restore", "--last", "--json"]);
    let really: Vec<&Value> = last["panes"].as_array().unwrap().iter().map(|pane| &pane["pane"]).collect();
    assert_eq!(really, ["work:5.0", "work:6.0"], "the report says where they are");
    assert!(new.iter().all(|line| line.contains(".0 120x40+0+0")), "{new:?}");
    assert_eq!(restore(&lab, &["whole"]), []);
}

/// One pane is one pane: its neighbours stay away, and undo leaves nothing of it.
#[test]
fn only_the_pane_that_was_asked_for_is_made() {
    let lab = new();
    save(&lab);
    let before = shape(&lab);
    kill_server(&lab);
    tmux(&lab, &["new-session", "-d", "-s", "other", SHELL]);
    let planned = rekindle(&lab, &["restore", "--dry-run", "--json", "--only", "work:0.1"]);
    assert_eq!(planned["panes"].as_array().unwrap().len(), 1, "{planned}");
    assert_eq!(restore(&lab, &["--only", "work:0.1"]), shells(&["work:0.1"]));
    assert_eq!(shape(&lab), "0.0 120x40+0+0\n");
    rekindle(&lab, &["undo", "--json"]);
    assert_eq!(tmux(&lab, &["list-sessions", "-F", "#{session_name}"]), "other\n");
    assert_eq!(restore(&lab, &["--only", "work:0.1"]), shells(&["work:0.1"]));
    assert_eq!(restore(&lab, &["--only", "work:0"]), shells(&["work:0.0", "work:0.2"]));
    assert_eq!(restore(&lab, &[]), shells(&["work:4.0"]));
    assert_eq!(shape(&lab), before);
}

/// After a reboot nothing of a restore is there to be taken back, and it does not hide a repair before it.
#[test]
fn a_restore_of_which_nothing_is_left_is_passed_over() {
    let lab = new();
    save(&lab);
    let session = "77777777-aaaa-4aaa-8aaa-aaaaaaaaaaaa";
    lab.home.put_dangling(session, 4, 2).unwrap();
    assert_eq!(lab.home.repair(&[session]).unwrap()["status"], "repaired");
    kill_server(&lab);
    restore(&lab, &[]);
    kill_server(&lab);
    assert_eq!(lab.home.rekindle_json(&["undo"]).unwrap()["effects"][0]["sessionId"], session);
    assert_eq!(lab.home.rekindle(&["undo"]).unwrap().code(), Some(3));
}

/// Whatever a window is called, it is the same one.
#[test]
fn a_window_is_found_by_every_session_that_shows_it() {
    let lab = new();
    tmux(&lab, &["new-session", "-d", "-s", "also", "-t", "=work"]);
    tmux(&lab, &["new-session", "-d", "-s", "linked", SHELL]);
    tmux(&lab, &["link-window", "-d", "-s", "=work:4", "-t", "=linked:9"]);
    save(&lab);
    kill_server(&lab);
    let windows = |only: &str| {
        restore(&lab, &["--only", only]);
        let seen = tmux(&lab, &["list-windows", "-a", "-F", "#{session_name}:#{window_index}"]);
        kill_server(&lab);
        seen.lines().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(windows("also:4"), ["work:4"]);
    assert_eq!(windows("work:4.0"), ["work:4"]);
    assert_eq!(windows("linked:9"), ["linked:9"]);
    assert_eq!(windows("also"), ["also:0", "also:4", "work:0", "work:4"]);
    assert_eq!(windows("work"), ["work:0", "work:4"]);
    let done = lab.home.rekindle(&["restore", "--yes", "--only", "also:9"]).unwrap();
    assert_eq!((done.code(), json!(done.stderr.contains("also:9"))), (Some(2), json!(true)));
}
