//! Saves of a round, and what tmux showed when each was taken.

use std::collections::BTreeSet;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use super::random::Random;
use super::shape::{PaneShape, Place};
use super::stage::Stage;
use crate::trace::kill_at;

/// What tmux showed at one moment, and where each talker was.
#[derive(Debug, Clone, Default)]
pub(super) struct Moment {
    /// Every pane.
    pub(super) shape: Vec<PaneShape>,
    /// The talkers' panes, as far as their agents lived.
    pub(super) places: Vec<Option<Place>>,
}

/// As many counted calls as a save of a dozen panes makes (measured); it ends by itself where it makes fewer.
const TYPICAL_CALLS: usize = 60;

impl Stage {
    /// Looks at tmux and remembers it: a save that somebody makes holds one of the moments that were seen.
    pub(super) fn observe(&mut self) -> Result<()> {
        let shape = self.lab.shape()?;
        let agents = self.lab.home.agents();
        let bodies = self.lab.home.bodies();
        let place = |pane: &str| {
            let shown = shape.iter().find(|shown| shown.id == pane)?;
            let lives = agents.iter().any(|agent| agent.is_in(&bodies, shown.pid));
            lives.then(|| shown.place.clone())
        };
        let places = self.talkers.iter().map(|talker| place(&talker.pane)).collect();
        self.moments.push(Moment { shape, places });
        Ok(())
    }

    /// Saves, which must work.
    pub(super) fn save(&mut self) -> Result<()> {
        let said = self.lab.home.rekindle_json(&["save"])?;
        self.log.say(&format!("saved {said}"));
        if said["current"] != true {
            bail!("a save of everything was held: {said}");
        }
        let living = self.lab.home.agents().len();
        if said["counts"]["agents"] != living {
            bail!("{living} agents live, and a save has {said}");
        }
        self.saves.push(said["save"].as_str().unwrap_or_default().to_owned());
        Ok(())
    }

    /// Kills a few saves half way. Whatever is current afterwards is whole.
    pub(super) fn save_killed(&mut self, random: &mut Random) -> Result<()> {
        let mut calls = TYPICAL_CALLS;
        for _ in 0..random.between(1..=4) {
            let nth = random.between(1..=calls);
            let watched = kill_at(&mut self.lab.home.rekindle_command(&["save", "--json"]), nth as u64)?;
            self.log.say(&format!(
                "save killed at {nth}: {:?} {}",
                watched.done.code(),
                watched.done.words()
            ));
            if watched.done.status.is_some() {
                calls = usize::try_from(watched.calls)?;
            }
            self.current()?;
        }
        Ok(())
    }

    /// The save that is current, by the program's own word.
    pub(super) fn current_id(&self) -> Result<String> {
        let listed = self.lab.home.rekindle_json(&["saves"])?;
        let id = listed["current"].as_str().with_context(|| format!("no save is current: {listed}"))?;
        Ok(id.to_owned())
    }

    /// What a restore would bring back now: the moment that the current save holds, by the program's own word.
    pub(super) fn current(&self) -> Result<Moment> {
        let id = self.current_id()?;
        let shown = self.lab.home.rekindle_json(&["saves", "show", &id])?;
        let (panes, agents) = held(&shown["save"]);
        let holds = |moment: &&Moment| {
            let seen: BTreeSet<(Place, String)> =
                moment.shape.iter().map(|pane| (pane.place.clone(), pane.id.clone())).collect();
            seen == panes && moment.places.iter().flatten().count() == agents
        };
        let moment = self.moments.iter().rev().find(holds);
        let moment = moment.with_context(|| {
            let last = self.moments.last().map(|moment| (moment.shape.len(), moment.places.clone()));
            format!("{id} holds what never was: {agents} agents in {panes:?}; last seen: {last:?}")
        })?;
        self.log.say(&format!("current is {id}, {} panes, {agents} agents", moment.shape.len()));
        Ok(moment.clone())
    }
}

/// The panes that a save holds with their places, and how many agents.
fn held(save: &Value) -> (BTreeSet<(Place, String)>, usize) {
    let mut panes = BTreeSet::new();
    let mut agents = 0;
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let number =
        |value: &Value| value.as_u64().and_then(|number| u32::try_from(number).ok()).unwrap_or_default();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    for server in list(&save["servers"]) {
        agents += list(&server["agents"]).len();
        let windows = list(&server["tmux"]["windows"]);
        for session in list(&server["tmux"]["sessions"]) {
            for link in list(&session["windows"]) {
                let Some(window) = windows.iter().find(|window| window["id"] == link["window"]) else {
                    continue;
                };
                for pane in list(&window["panes"]) {
                    let place = (text(&session["name"]), number(&link["index"]), number(&pane["index"]));
                    panes.insert((place, text(&pane["id"])));
                }
            }
        }
    }
    (panes, agents)
}
