//! Shells that come back: a pane that showed something begins with it.

use std::collections::{BTreeMap, BTreeSet};

use layouts::{PaneText, Taken, Texts};
use store::StateDir;

use super::Actor;
use crate::outcome::Restored;
use crate::plan::{PaneStep, Plan, SavedText};

/// Which panes of which save showed something.
pub(super) struct Shown(BTreeMap<String, BTreeSet<(usize, String)>>);

impl Shown {
    /// Looks into the saves that these panes come from, each once. What cannot be read shows nothing.
    pub(super) fn of(state: &StateDir, steps: &[PaneStep]) -> Shown {
        let saves: BTreeSet<&str> =
            steps.iter().filter_map(PaneStep::begins_with).map(|text| text.save.as_str()).collect();
        let panes = |id: &str| {
            let packed = store::saves::load(state, None, id).ok()?.packed()?;
            Some((id.to_owned(), layouts::panes_in(&packed).ok()?))
        };
        Shown(saves.into_iter().filter_map(panes).collect())
    }

    /// The text that a pane begins with, where there is one.
    pub(super) fn of_step<'s>(&self, step: &'s PaneStep) -> Option<&'s SavedText> {
        let known = |text: &&SavedText| {
            self.0.get(&text.save).is_some_and(|panes| panes.contains(&(text.server, text.pane.clone())))
        };
        step.begins_with().filter(known)
    }
}

impl Actor<'_> {
    /// The words that show what a pane showed and become the shell that tmux would have started. Everything is said in
    /// words: variables would stay with the shell, and whatever its user starts there.
    pub(super) fn shell(&self, text: &SavedText, default_command: &str) -> Vec<String> {
        let (state, server) = (self.state.path().to_string_lossy(), text.server.to_string());
        let mut words = self.words(&["pane", "shell", "--state", &state, "--save", &text.save]);
        words.extend(["--server", &server, "--pane", &text.pane].map(str::to_owned));
        if !default_command.is_empty() {
            // In one word: it may begin with a dash.
            words.push(format!("--command={default_command}"));
        }
        words
    }
}

/// What the panes that were made by a restore have got to show, as a part of the next save: it may be taken before they
/// show it, and a second crash may come before the one after. Nothing where nothing was shown.
pub fn carried(state: &StateDir, plan: &Plan, done: &[Restored], taken: &Taken) -> Option<Texts> {
    let mut all = Texts { panes: Vec::new(), taken_at: jiff::Timestamp::MAX };
    for server in &plan.servers {
        let is_here = |known: &&layouts::SavedServer| known.tmux.socket == server.socket;
        let Some(at) = taken.servers.iter().position(|known| is_here(&known)) else { continue };
        let mut saves: BTreeMap<&str, Vec<PaneText>> = BTreeMap::new();
        for step in &server.panes {
            let Some(text) = step.begins_with() else { continue };
            let texts = saves.entry(&text.save).or_insert_with(|| {
                let save = store::saves::load(state, None, &text.save).ok();
                let taken_at = save.as_ref().and_then(|save| save.head.scrollback_taken());
                all.taken_at = taken_at.map_or(all.taken_at, |at| at.min(all.taken_at));
                save.and_then(|save| layouts::unpack(&save.packed()?).ok()).unwrap_or_default()
            });
            let id = done.iter().find(|one| one.mark == step.mark).and_then(|one| one.id.clone());
            let shown = texts.iter().find(|known| (known.server, &known.pane) == (text.server, &text.pane));
            if let (Some(pane), Some(shown)) = (id, shown.filter(|shown| !shown.text.is_empty())) {
                all.panes.push(PaneText { server: at, pane, text: shown.text.clone() });
            }
        }
    }
    (!all.panes.is_empty()).then_some(all)
}
