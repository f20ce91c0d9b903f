//! What `--fix` does, as a value: only what is ours alone. Settings of the agent are changed by a plan of `integrate`.

use std::path::PathBuf;

use store::durable::{self, Kept};

use crate::checks::wiring::is_ours_to_mend;
use crate::facts::{Facts, KeyFound, LinkFound, SiteFacts, StateFound};

/// A mode that is set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mode {
    /// Of what.
    pub path: PathBuf,
    /// The mode it has.
    pub from: u32,
    /// The mode it gets.
    pub to: u32,
}

impl Mode {
    /// Sets it.
    ///
    /// # Errors
    /// The system refuses.
    pub fn apply(&self) -> Result<(), durable::Error> {
        durable::set_like(&self.path, Kept { mode: Some(self.to), mtime: None })
    }
}

/// Everything that can be put right without asking anything of the user.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Remedy {
    /// Modes to be set.
    pub modes: Vec<Mode>,
    /// Whether what waits is settled.
    pub settle: bool,
    /// Configuration directories whose hooks of ours are put right.
    pub sites: Vec<PathBuf>,
    /// Whether missing links are made.
    pub links: bool,
}

impl Remedy {
    /// What can be put right.
    pub fn of(facts: &Facts) -> Remedy {
        let state = &facts.state;
        if matches!(state.found, StateFound::Foreign { .. } | StateFound::Unreadable(_)) {
            return Remedy::default();
        }
        let closed = |path: &PathBuf, mode: u32| Mode { path: path.clone(), from: mode, to: mode & 0o700 };
        let mut modes: Vec<Mode> = state.open.iter().map(|mode| closed(&state.path, *mode)).collect();
        modes.extend(state.open_inside.iter().map(|(path, mode)| closed(path, *mode)));
        if let KeyFound::Key(mode) = state.key.found
            && mode & 0o077 != 0
        {
            modes.push(closed(&state.key.path, mode));
        }
        let waits = state.in_refuge + state.unsettled + state.records.broken.len() > 0;
        let main_wired = facts.sites.first().is_some_and(SiteFacts::wired);
        let missing = |link: &crate::facts::LinkFacts| link.found == LinkFound::Nothing;
        Remedy {
            modes,
            settle: waits && state.paused.is_none(),
            sites: facts
                .sites
                .iter()
                .filter(|site| is_ours_to_mend(site))
                .map(|site| site.path.clone())
                .collect(),
            links: main_wired && facts.links.iter().any(missing),
        }
    }

    /// Whether there is nothing to do.
    pub fn is_empty(&self) -> bool {
        *self == Remedy::default()
    }

    /// Whether files of other programs are changed.
    pub fn wires(&self) -> bool {
        self.links || !self.sites.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::tests::broken_in_many_ways;

    #[test]
    fn nothing_of_another_users_state_is_touched() {
        let mut facts = broken_in_many_ways();
        facts.state.found = StateFound::Foreign { owner: 0, user: 1 };
        assert!(Remedy::of(&facts).is_empty());
    }

    #[test]
    fn a_pause_is_respected_and_modes_keep_the_owners_part() {
        let mut facts = broken_in_many_ways();
        facts.state.paused = Some(facts.now);
        let remedy = Remedy::of(&facts);
        assert!(!remedy.settle);
        assert!(remedy.modes.iter().all(|mode| mode.to & 0o077 == 0 && mode.to == mode.from & 0o700));
    }
}
