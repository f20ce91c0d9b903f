//! Saves of a round: what tmux showed when each was taken.

use anyhow::{Context, Result, bail};
use serde_json::Value;

use super::random::Random;
use super::shape::{PaneShape, Place};
use super::stage::Stage;
use super::trace::kill_at;

/// A save, and what it should hold.
#[derive(Debug, Clone)]
pub(super) struct Saved {
    /// Its id.
    pub(super) id: String,
    /// tmux at that moment.
    pub(super) shape: Vec<PaneShape>,
    /// Where each talker was.
    pub(super) places: Vec<Option<Place>>,
}

/// As many counted calls as a save of a dozen panes makes (measured); it ends by itself where it makes fewer.
const TYPICAL_CALLS: usize = 60;

impl Stage {
    /// Saves, which must work, and remembers what was there.
    pub(super) fn save(&mut self) -> Result<()> {
        let shape = self.lab.shape()?;
        let said = self.lab.home.rekindle_json(&["save"])?;
        self.log.say(&format!("saved {said}"));
        if said["current"] != true {
            bail!("a save of everything was held: {said}");
        }
        let living = self.lab.home.agents().len();
        if said["counts"]["agents"] != living {
            bail!("{living} agents live, and a save has {said}");
        }
        self.remember(said["save"].as_str().unwrap_or_default(), shape);
        Ok(())
    }

    /// Kills a few saves half way. Whatever is current afterwards is whole.
    pub(super) fn save_killed(&mut self, random: &mut Random) -> Result<()> {
        let mut calls = TYPICAL_CALLS;
        for _ in 0..random.between(1..=3) {
            let shape = self.lab.shape()?;
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
            self.remember_new(&shape)?;
            self.current()?;
        }
        Ok(())
    }

    /// Notes the saves that nobody has noted yet.
    pub(super) fn remember_new(&mut self, shape: &[PaneShape]) -> Result<()> {
        let listed = self.lab.home.rekindle_json(&["saves"])?;
        let ids = listed["saves"].as_array().into_iter().flatten().filter_map(|save| save["save"].as_str());
        for id in ids {
            if self.saves.iter().all(|saved| saved.id != id) {
                self.remember(id, shape.to_vec());
            }
        }
        Ok(())
    }

    /// Notes what a save should hold.
    pub(super) fn remember(&mut self, id: &str, shape: Vec<PaneShape>) {
        let place = |pane: &str| shape.iter().find(|shown| shown.id == pane).map(|shown| shown.place.clone());
        let places = self.talkers.iter().map(|talker| place(&talker.pane)).collect();
        self.saves.push(Saved { id: id.to_owned(), shape, places });
    }

    /// The save that a restore takes now, by the program's own word.
    pub(super) fn current(&self) -> Result<Saved> {
        let listed: Value = self.lab.home.rekindle_json(&["saves"])?;
        let current = listed["current"].as_str().unwrap_or_default();
        let known = self.saves.iter().find(|saved| saved.id == current);
        known.cloned().with_context(|| format!("{current:?} is current, which nobody made: {listed}"))
    }
}
