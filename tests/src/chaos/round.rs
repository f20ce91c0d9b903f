//! One round, from its scene to its verdict.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::Result;

use super::Plan;
use super::fault::{self, Fault};
use super::judge::{Fate, Trouble};
use super::killer::Killer;
use super::random::Random;
use super::scene;
use super::stage::Stage;

/// What a round showed.
#[derive(Debug, Clone)]
pub struct Record {
    /// The agent's version.
    pub agent: String,
    /// The round's seed.
    pub seed: u64,
    /// How many panes it had.
    pub panes: usize,
    /// How many agents.
    pub agents: usize,
    /// What went wrong.
    pub faults: BTreeSet<Fault>,
    /// What became of each agent.
    pub fates: Vec<Fate>,
    /// What must not be.
    pub troubles: Vec<Trouble>,
    /// Why it could not be run to its end.
    pub broken: Option<String>,
    /// How long it took.
    pub took: Duration,
    /// Where its folder was kept, unless all is well.
    pub folder: Option<PathBuf>,
}

impl Record {
    /// Whether nothing is wrong.
    pub fn is_well(&self) -> bool {
        self.troubles.is_empty() && self.broken.is_none()
    }
}

/// Runs a round. Whatever happens is in its record.
pub(super) fn run(version: &str, seed: u64, plan: &Plan) -> Record {
    let begin = Instant::now();
    let scene = scene::draw(&mut Random::of(seed, "scene"), &plan.panes);
    let faults = fault::draw(&mut Random::of(seed, "faults"));
    let mut record = Record {
        agent: version.to_owned(),
        seed,
        panes: scene.panes().count(),
        agents: scene.panes().filter(|pane| pane.agent.is_some()).count(),
        faults,
        fates: Vec::new(),
        troubles: Vec::new(),
        broken: None,
        took: Duration::ZERO,
        folder: None,
    };
    match Stage::build(version, &scene) {
        Ok(mut stage) => {
            if let Err(error) = play(&mut stage, &mut record) {
                stage.log.say(&format!("broken: {error:#}"));
                record.broken = Some(format!("{error:#}"));
            }
            stage.end();
            if !record.is_well() || plan.keep {
                record.folder = Some(stage.keep());
            }
        }
        Err(error) => record.broken = Some(format!("{error:#}")),
    }
    record.took = begin.elapsed();
    record
}

fn play(stage: &mut Stage, record: &mut Record) -> Result<()> {
    let faults = record.faults.clone();
    let has = |fault: Fault| faults.contains(&fault);
    let random = |fault: Fault| Random::of(record.seed, fault.words());
    stage.save()?;
    work(stage, &faults, record.seed)?;
    let mut hit = Hit::default();
    if has(Fault::TranscriptsTorn) {
        hit.torn = stage.vaulted(&mut random(Fault::TranscriptsTorn))?;
    }
    if has(Fault::TranscriptsDeleted) {
        hit.deleted = stage.vaulted(&mut random(Fault::TranscriptsDeleted))?;
        hit.torn.retain(|at| !hit.deleted.contains(at));
    }
    if has(Fault::InFlight) {
        stage.ask_slowly(&mut random(Fault::InFlight))?;
    }
    if has(Fault::AgentsKilled) {
        stage.kill_agents(&mut random(Fault::AgentsKilled))?;
    }
    let mut saved = None;
    if has(Fault::PowerCut) {
        stage.kill_all()?;
        stage.cut_power(&mut random(Fault::PowerCut))?;
    } else {
        stage.kill_server(&mut Random::of(record.seed, "crash"))?;
        if has(Fault::RestoreTooEarly) {
            saved = Some(stage.current()?);
            stage.restore()?;
        }
        stage.wait_for_end()?;
    }
    stage.tear_transcripts(&hit.torn, &mut random(Fault::TranscriptsTorn))?;
    stage.delete_transcripts(&hit.deleted, &mut random(Fault::TranscriptsDeleted))?;
    if has(Fault::SaveTorn) {
        stage.tear_save(&mut random(Fault::SaveTorn))?;
    }
    let saved = match saved {
        Some(saved) => saved,
        None => stage.current()?,
    };
    bring_back(stage, &faults, record.seed)?;
    (record.fates, record.troubles) = stage.judge(&saved)?;
    if has(Fault::Again) && record.troubles.is_empty() {
        // Whatever save is current by now, it must bring back what is there.
        let there = stage.moments.last().cloned().unwrap_or_default();
        stage.kill_server(&mut random(Fault::Again))?;
        stage.wait_for_end()?;
        stage.restore()?;
        (_, record.troubles) = stage.judge(&there)?;
    }
    Ok(())
}

/// The conversations whose transcripts are hit.
#[derive(Default)]
struct Hit {
    torn: Vec<usize>,
    deleted: Vec<usize>,
}

/// What happens between the first save and the crash while everybody works.
fn work(stage: &mut Stage, faults: &BTreeSet<Fault>, seed: u64) -> Result<()> {
    let has = |fault: Fault| faults.contains(&fault);
    let random = |fault: Fault| Random::of(seed, fault.words());
    if has(Fault::SavesKilled) {
        stage.save_killed(&mut random(Fault::SavesKilled))?;
    }
    let killer = has(Fault::SettlesKilled).then(|| Killer::start(stage, random(Fault::SettlesKilled)));
    let mut between = Random::of(seed, "between");
    for talker in 0..stage.talkers.len() {
        if between.chance(40) {
            stage.exchange(talker)?;
        }
    }
    if let Some(killer) = killer {
        let killed = killer.stop();
        stage.log.say(&format!("{killed} settles killed"));
    }
    if has(Fault::Reordered) {
        stage.reorder(&mut random(Fault::Reordered))?;
        if between.chance(50) {
            stage.save()?;
        }
    }
    if has(Fault::SaveTorn) || has(Fault::PowerCut) {
        stage.save()?;
    }
    if has(Fault::SaveOnFullDisk) {
        stage.save_on_full_disk(&mut random(Fault::SaveOnFullDisk))?;
    }
    if has(Fault::AgentUpdated) {
        stage.update_agent(&mut random(Fault::AgentUpdated))?;
    }
    Ok(())
}

/// Restores as the round's faults will have it, and in the end once more, as a user would who is not sure.
fn bring_back(stage: &mut Stage, faults: &BTreeSet<Fault>, seed: u64) -> Result<()> {
    let has = |fault: Fault| faults.contains(&fault);
    let random = |fault: Fault| Random::of(seed, fault.words());
    if has(Fault::SettlesKilled) {
        stage.settle_killed(&mut random(Fault::SettlesKilled))?;
    }
    if has(Fault::RestoresKilled) {
        stage.restore_killed(&mut random(Fault::RestoresKilled))?;
    }
    if has(Fault::RestoreThrice) {
        stage.restore_thrice()?;
    }
    if has(Fault::SavesDuringRestore) {
        stage.restore_with_saves()?;
    }
    if has(Fault::RestoreOnFullDisk) {
        stage.restore_on_full_disk(&mut random(Fault::RestoreOnFullDisk))?;
    }
    stage.restore()
}
