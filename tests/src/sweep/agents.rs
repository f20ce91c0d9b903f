//! Restoring a real agent after a crash: it comes back once, in its own conversation, wherever the restore was killed.

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::{Place, Scene, Subject};
use crate::Lab;
use crate::agent::VERSIONS;
use crate::process::{Finished, wait_until};
use crate::wired::PATIENCE;

pub(super) const RESTORE: Subject = Subject {
    name: "restore of an agent",
    arguments: &["restore", "--yes"],
    prepare: crashed,
    after_kill: |_| Ok(()),
    judge: restored,
};

fn crashed() -> Result<Scene> {
    let lab = Lab::new(VERSIONS[2])?;
    lab.wire()?;
    lab.shell()?;
    lab.type_line("work:0.0", "claude 'ask-00 please'")?;
    let record = lab.idle_at("work:0.0", "ask-00")?;
    lab.home.rekindle_json(&["save"])?;
    lab.crash(&[record["sessionId"].as_str().context("no id")?])?;
    Ok(Scene { home: Place::Lab(Box::new(lab)), old: None, new: None })
}

fn restored(scene: &Scene, again: &Finished) -> Result<()> {
    let Place::Lab(lab) = &scene.home else { anyhow::bail!("a scene without an agent") };
    ensure!(again.success(), "ended with {:?}", again.code());
    // The second run may find an agent of the killed one that has not come up yet.
    let live = || -> Result<Vec<Value>> {
        let shown = scene.ends(&["status", "--json"], &[0])?;
        let shown: Value = serde_json::from_str(&shown.stdout)?;
        let agents = shown["agents"].as_array().context("no agents")?;
        Ok(agents.iter().filter(|agent| agent["live"] == true).cloned().collect())
    };
    let back = || live().is_ok_and(|live| live.len() == 1 && live[0]["pane"] == "work:0.0");
    ensure!(wait_until(PATIENCE, back), "live agents: {:?}; {}", live()?, lab.screen("work:0.0"));
    let panes = lab.tmux(&["list-panes", "-a", "-F", "#{session_name}:#{window_index}.#{pane_index}"])?;
    ensure!(panes.stdout.trim() == "work:0.0", "panes {}", panes.stdout);
    let sent = lab.probe("work:0.0", "ask-01 please")?;
    ensure!(sent.contains("ask-00 please"), "the agent has lost its conversation: {sent}");
    Ok(())
}
