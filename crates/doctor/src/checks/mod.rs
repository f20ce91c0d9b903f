//! One file per theme. Each is a function of the facts alone.

mod agents;
mod disk;
mod settings;
mod state;
mod tmux;
pub(crate) mod wiring;

use crate::facts::Facts;
use crate::finding::Finding;

/// Every theme, in the order in which they are told.
pub(crate) const THEMES: [fn(&Facts) -> Vec<Finding>; 6] =
    [wiring::check, settings::check, agents::check, tmux::check, state::check, disk::check];

#[cfg(test)]
pub(crate) fn ids(check: fn(&Facts) -> Vec<Finding>, facts: &Facts) -> Vec<&'static str> {
    check(facts).iter().map(|finding| finding.id.word()).collect()
}
