//! Chaos: real agents in a real tmux, everything that goes wrong, and what is left of each conversation afterwards.
//!
//! A round is drawn from its seed: a scene of panes and agents, and the faults that hit it. In the end each agent is asked
//! through its pane, and what it sends to the API is counted.

mod bring_back;
mod build;
mod crash;
mod damage;
pub mod fault;
mod full_disk;
mod judge;
mod killer;
mod ledger;
mod log;
mod random;
mod reorder;
pub mod report;
mod round;
mod saving;
pub mod scene;
mod shape;
mod speak;
mod stage;

use std::ops::{Range, RangeInclusive};

use anyhow::Result;

pub use judge::{Fate, Trouble};
pub use round::Record;

/// What to run.
#[derive(Debug, Clone)]
pub struct Plan {
    /// How many rounds.
    pub rounds: u64,
    /// The versions of the agent, in turn.
    pub versions: Vec<String>,
    /// How many panes a round has.
    pub panes: RangeInclusive<usize>,
    /// The seed of the first round; each next one has the next number.
    pub seed: u64,
    /// Whether the folders of rounds that are well are kept, too.
    pub keep: bool,
}

/// The seeds of the rounds that belong to every test run: they have every fault between them.
pub const SMOKE: Range<u64> = 9578..9583;

/// Runs the rounds one after another; `tell` hears of each as it ends.
pub fn run(plan: &Plan, mut tell: impl FnMut(&Record)) -> Result<Vec<Record>> {
    let mut records = Vec::new();
    for nth in 0..plan.rounds {
        let seed = plan.seed + nth;
        let at = usize::try_from(nth)? % plan.versions.len().max(1);
        let Some(version) = plan.versions.get(at) else { break };
        let record = round::run(version, seed, plan);
        tell(&record);
        records.push(record);
    }
    Ok(records)
}
