//! Saving tmux, and restoring it after a crash. The panes run `cat`; `agents` has one with a real agent.

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::{Scene, Subject};
use crate::home::Home;
use crate::process::{self, Finished, wait_until};
use crate::rekindle::DEADLINE;

pub(super) const SAVE: Subject = Subject {
    name: "save",
    arguments: &["save"],
    prepare: saved_and_changed,
    after_kill: has_a_save,
    judge: saved,
};

pub(super) const FIRST_SAVE: Subject = Subject {
    name: "the first save",
    arguments: &["save"],
    prepare: never_saved,
    after_kill: |_| Ok(()),
    judge: saved,
};

pub(super) const RESTORE: Subject = Subject {
    name: "restore",
    arguments: &["restore", "--yes"],
    prepare: crashed,
    after_kill: has_a_save,
    judge: restored,
};

fn tmux(home: &Home, words: &[&str]) -> Result<String> {
    let mut command = home.adopt(home.tmux().command());
    let done = process::run(command.args(words), DEADLINE)?;
    ensure!(done.success(), "tmux {words:?}: {}", done.words());
    Ok(done.stdout.trim().to_owned())
}

fn never_saved() -> Result<Scene> {
    let home = Home::new()?;
    tmux(&home, &["new-session", "-d", "-s", "work", "-x", "160", "-y", "50", "exec cat"])?;
    tmux(&home, &["new-window", "-d", "-t", "work", "exec cat"])?;
    tmux(&home, &["split-window", "-d", "-t", "work:0", "exec cat"])?;
    tmux(&home, &["new-session", "-d", "-s", "play", "-x", "160", "-y", "50", "exec cat"])?;
    Ok(Scene::of(home))
}

fn saved_and_changed() -> Result<Scene> {
    let scene = never_saved()?;
    tmux(&scene.home, &["kill-session", "-t", "play"])?;
    scene.ends(&["save"], &[0])?;
    tmux(&scene.home, &["new-session", "-d", "-s", "play", "-x", "160", "-y", "50", "exec cat"])?;
    Ok(scene)
}

/// The server is gone as in a crash; the save has two sessions with four panes.
fn crashed() -> Result<Scene> {
    let scene = never_saved()?;
    scene.ends(&["save"], &[0])?;
    let pid = tmux(&scene.home, &["display-message", "-p", "#{pid}"])?.parse()?;
    let pid = rustix::process::Pid::from_raw(pid).context("no server")?;
    rustix::process::kill_process(pid, rustix::process::Signal::KILL)?;
    ensure!(wait_until(DEADLINE, || rustix::process::test_kill_process(pid).is_err()), "the server lives");
    Ok(scene)
}

/// How many panes each save has, newest first, as `saves list` says.
fn panes_of_saves(scene: &Scene) -> Result<Vec<u64>> {
    let listed = scene.ends(&["saves", "list", "--json"], &[0])?;
    let listed: Value = serde_json::from_str(&listed.stdout)?;
    let saves = listed["saves"].as_array().context("no list of saves")?;
    Ok(saves.iter().filter_map(|save| save["counts"]["panes"].as_u64()).collect())
}

/// The last good save is there, whatever the killed one left.
fn has_a_save(scene: &Scene) -> Result<()> {
    let panes = panes_of_saves(scene)?;
    ensure!(panes.iter().any(|panes| *panes >= 3), "saves with {panes:?} panes");
    Ok(())
}

fn saved(scene: &Scene, again: &Finished) -> Result<()> {
    ensure!(again.success(), "ended with {:?}", again.code());
    let panes = panes_of_saves(scene)?;
    ensure!(panes.first() == Some(&4), "saves with {panes:?} panes");
    scene.ends(&["restore", "--dry-run"], &[0])?;
    Ok(())
}

/// Every session and pane is there, and none twice.
fn restored(scene: &Scene, again: &Finished) -> Result<()> {
    ensure!(again.success(), "ended with {:?}", again.code());
    let panes =
        tmux(&scene.home, &["list-panes", "-a", "-F", "#{session_name}:#{window_index}.#{pane_index}"])?;
    let mut panes: Vec<&str> = panes.lines().collect();
    panes.sort_unstable();
    ensure!(panes == ["play:0.0", "work:0.0", "work:0.1", "work:1.0"], "panes {panes:?}");
    scene.ends(&["restore", "--yes"], &[0])?;
    let after = tmux(&scene.home, &["list-panes", "-a", "-F", "x"])?;
    ensure!(after.lines().count() == 4, "a third restore made panes");
    Ok(())
}
