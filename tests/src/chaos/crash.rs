//! How a round's machine goes down.

use std::time::Duration;

use anyhow::{Context, Result, bail};
use rustix::process::{Pid, Signal, kill_process};

use super::random::Random;
use super::saving::Moment;
use super::stage::Stage;
use crate::agent::{Agent, VERSIONS};
use crate::bodies::Body;
use crate::process::wait_until;

/// An agent that is hung up has 1.5 s for its last hooks.
const DYING: Duration = Duration::from_secs(30);

impl Stage {
    /// Kills the tmux server, most times with SIGKILL.
    pub(super) fn kill_server(&mut self, random: &mut Random) -> Result<()> {
        self.look();
        self.dying = self.lab.home.agents();
        if random.chance(70) {
            let pid = self.lab.tmux(&["display-message", "-p", "#{pid}"])?.stdout;
            let pid = pid.trim().parse().ok().and_then(Pid::from_raw).context("tmux has no pid")?;
            self.log.say(&format!("kill -9 of tmux, {pid:?}"));
            kill_process(pid, Signal::KILL)?;
        } else {
            self.log.say("tmux kill-server");
            self.lab.tmux(&["kill-server"])?;
        }
        Ok(())
    }

    /// Waits until the agents of a dead server have gone.
    pub(super) fn wait_for_end(&self) -> Result<()> {
        let dying = |pid: u32| self.dying.iter().any(|agent| agent.pid == pid);
        let gone = || !self.lab.home.agents().iter().any(|agent| dying(agent.pid));
        if wait_until(DYING, gone) { Ok(()) } else { bail!("agents outlive their server: {:?}", self.dying) }
    }

    /// Everything of this home dies at once, as a machine does that loses its power.
    pub(super) fn kill_all(&mut self) -> Result<()> {
        self.look();
        let bodies = self.lab.home.bodies();
        self.log.say(&format!("kill -9 of {} processes", bodies.len()));
        bodies.iter().for_each(Body::kill);
        // What was just being started was not in the list.
        self.end();
        let left = self.lab.home.bodies();
        if left.is_empty() { Ok(()) } else { bail!("processes outlive SIGKILL: {left:?}") }
    }

    /// Asks a few agents something that takes them seconds, and leaves them at it.
    pub(super) fn ask_slowly(&mut self, random: &mut Random) -> Result<()> {
        for at in 0..self.talkers.len() {
            if random.chance(50) {
                let number = self.number()?;
                self.talkers[at].begin(number);
                let pane = self.talkers[at].pane.clone();
                self.ask(&pane, number, "SLOW please")?;
                self.log.say(&format!("{} answers {number}", self.talkers[at].word));
            }
        }
        Ok(())
    }

    /// From now on `claude` means another version.
    pub(super) fn update_agent(&mut self, random: &mut Random) -> Result<()> {
        let others: Vec<&str> =
            VERSIONS.into_iter().filter(|version| *version != self.lab.agent.version).collect();
        let agent = Agent::install(random.pick::<&str>(&others))?;
        self.log.say(&format!("claude is {}", agent.version));
        self.lab.home.script("claude", &format!("exec {} \"$@\"", agent.shell_words()))
    }

    /// Kills a few agents where they are, one after another.
    pub(super) fn kill_agents(&mut self, random: &mut Random) -> Result<()> {
        self.look();
        let many = random.between(1..=self.talkers.len().saturating_sub(1).max(1));
        for at in 0..many {
            let (pane, typed) = (self.talkers[at].pane.clone(), self.talkers[at].typed);
            let before = self.lab.shape()?;
            let shown = before.iter().find(|shown| shown.id == pane).context("a talker has no pane")?;
            let (bodies, agents) = (self.lab.home.bodies(), self.lab.home.agents());
            let agent =
                agents.iter().find(|agent| agent.is_in(&bodies, shown.pid)).context("no agent in it")?;
            self.log.say(&format!("kill -9 of {}, {}", self.talkers[at].word, agent.pid));
            agent.kill();
            // A save may see the agent gone and its pane still there.
            let mut places = self.moments.last().map(|moment| moment.places.clone()).unwrap_or_default();
            if let Some(place) = places.get_mut(at) {
                *place = None;
            }
            self.moments.push(Moment { shape: before.clone(), places });
            let gone = || {
                let lives = self.lab.home.agents().iter().any(|other| other.pid == agent.pid);
                !lives && (typed || self.lab.shape().is_ok_and(|shape| shape.len() < before.len()))
            };
            if !wait_until(DYING, gone) {
                bail!("a killed agent lives: {agent:?}");
            }
            self.observe()?;
        }
        Ok(())
    }

    /// Notes which exchanges are whole before something goes wrong.
    pub(super) fn look(&mut self) {
        self.talkers.iter_mut().for_each(super::ledger::Talker::look);
    }
}
