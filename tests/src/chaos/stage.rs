//! A round's stage: the lab with its tmux, the agents in their panes, and who of them said what.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

use anyhow::{Result, bail};

use super::bring_back::Report;
use super::ledger::Talker;
use super::log::Log;
use super::saving::Moment;
use super::scene::Scene;
use crate::Lab;
use crate::bodies::Body;
use crate::process::wait_until;

/// SIGKILL takes a moment on a busy machine.
const ENDING: Duration = Duration::from_secs(10);

/// Everything that a round works with.
#[derive(Debug)]
pub(super) struct Stage {
    /// Home, API and agent.
    pub(super) lab: Lab,
    /// The conversations.
    pub(super) talkers: Vec<Talker>,
    /// What was seen of tmux, the newest last.
    pub(super) moments: Vec<Moment>,
    /// The saves that the round itself made, the newest last.
    pub(super) saves: Vec<String>,
    /// What restores said, the newest last.
    pub(super) reports: Vec<Report>,
    /// The conversations of which the round destroyed so much that they may be refused.
    pub(super) excuses: BTreeSet<String>,
    /// The conversations whose copies in the vault are all that is left of them.
    pub(super) spared: BTreeSet<String>,
    /// The agents of the server that was killed last.
    pub(super) dying: Vec<Body>,
    pub(super) log: Log,
    next: AtomicU8,
}

impl Stage {
    /// A new lab with everything that a scene has.
    pub(super) fn build(version: &str, scene: &Scene) -> Result<Stage> {
        let lab = Lab::new(version)?;
        let log = Log::new(lab.home.root())?;
        let mut stage = Stage {
            lab,
            talkers: Vec::new(),
            moments: Vec::new(),
            saves: Vec::new(),
            reports: Vec::new(),
            excuses: BTreeSet::new(),
            spared: BTreeSet::new(),
            dying: Vec::new(),
            log,
            next: AtomicU8::new(0),
        };
        let built = stage.set(scene);
        stage.log.say(&format!("built: {built:?}"));
        match built {
            Ok(()) => Ok(stage),
            Err(error) => {
                stage.end();
                let root = stage.keep();
                Err(error.context(format!("the scene could not be built, see {}", root.display())))
            }
        }
    }

    /// The number of the next exchange.
    pub(super) fn number(&self) -> Result<u8> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        // The API answers numbers of two digits.
        if number > 98 { bail!("a round has 99 exchanges at most") } else { Ok(number) }
    }

    /// Ends everything that still runs, so that nothing writes into a folder that goes.
    pub(super) fn end(&self) {
        let none_left = || {
            let left = self.lab.home.bodies();
            left.iter().for_each(Body::kill);
            left.is_empty()
        };
        wait_until(ENDING, none_left);
    }

    /// Keeps the round's folder for whoever wants to look, and says where it is.
    pub(super) fn keep(&mut self) -> PathBuf {
        self.lab.home.keep();
        self.lab.home.root().to_path_buf()
    }
}
