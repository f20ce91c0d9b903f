//! Doing what a plan says: sessions first, then agents, a few at a time, each proven by its own word.

mod heal;
mod proof;
mod start;

use std::collections::{BTreeMap, VecDeque};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use agents::SessionId;
use agents::claude::CHILD_VARIABLES;
use doctor::Clinic;
use jiff::tz::TimeZone;
use mux::{Birth, Respawn, Title};
use state::StateDir;
use state::launch::making;
use state::lock::Lock;
use state::record::SessionRecord;

use crate::briefing::Briefing;
use crate::outcome::{Outcome, Restored};
use crate::plan::{PaneStep, Plan, ServerPlan};
use crate::seats::Seat;
use proof::Judgement;
use start::Started;

/// What acting needs.
pub struct Actor<'a> {
    /// What rekindle remembers.
    pub state: &'a StateDir,
    /// Transcripts and vault.
    pub clinic: &'a Clinic,
    /// The records, by conversation.
    pub records: &'a BTreeMap<SessionId, SessionRecord>,
    /// How many agents start at once.
    pub max_parallel: usize,
    /// Show what would be resumed, and wait for the user in each pane.
    pub lazy: bool,
    /// Below this much free memory no agent is started.
    pub least_memory: u64,
    /// Tell a resumed agent what happened.
    pub note_on_resume: bool,
    /// Tell a fresh agent everything; the short context where there is nothing to gather it.
    pub briefing: Option<&'a Briefing<'a>>,
    /// When the machine was looked at for the plan.
    pub looked: Instant,
    /// The user's time zone.
    pub zone: TimeZone,
    /// This program, which panes run.
    pub program: PathBuf,
    /// What this program needs of the environment to find its files again.
    pub variables: Vec<(String, String)>,
    /// Whether a server that is started gets a scope of its own, so that it outlives the unit or login that restores.
    pub scope: bool,
}

/// What was done.
#[derive(Debug, Default)]
pub struct Acted {
    /// What became of each pane.
    pub panes: Vec<Restored>,
    /// When the last pane was made or the last agent started; what follows is waiting for their word.
    pub started: Option<Instant>,
}

pub(crate) const TMUX_DEADLINE: Duration = Duration::from_secs(20);

const POLL: Duration = Duration::from_millis(20);

/// Said of a pane that tmux did not make.
const NO_PANE: &str = "its pane was not made";

/// How long a start waits for memory before its pane waits for its user instead.
const MEMORY_PATIENCE: Duration = Duration::from_secs(20);

impl Actor<'_> {
    /// Does everything, and says what became of each pane. A server that fails keeps no other from coming back.
    pub fn act(&self, plan: &Plan) -> Acted {
        let mut acted = Acted::default();
        for server in &plan.servers {
            self.act_on(server, &mut acted);
        }
        acted
    }

    fn act_on(&self, server: &ServerPlan, acted: &mut Acted) {
        let socket = server.socket.as_path();
        let (mut born, mut done) = self.firstborn(server);
        let (ids, no_pane) = match self.make(server, &born) {
            Ok(made) => made,
            Err(error) => (BTreeMap::new(), format!("cannot {error}")),
        };
        acted.started = Some(Instant::now());
        let seated = |step: &PaneStep| match &step.seat {
            Seat::There { pane, .. } => Some(pane.clone()),
            _ => ids.get(&step.mark).cloned(),
        };
        let judged: Vec<&str> = born.iter().map(|one| one.step).map(|step| step.mark.as_str()).collect();
        for one in &mut born {
            match seated(one.step) {
                Some(pane) => one.is_in(pane),
                None => done.push(Restored::of(one.step, Outcome::Failed, &no_pane)),
            }
        }
        born.retain(|one| !one.pane.is_empty());
        let refused: Vec<String> = done.iter().map(|one: &Restored| one.mark.clone()).collect();
        let (mut waiting, mut lazy) = (VecDeque::new(), Vec::new());
        for step in &server.panes {
            let pane = seated(step);
            if judged.contains(&step.mark.as_str()) || !step.concerns() {
                continue;
            }
            if refused.contains(&step.mark) {
                let told = done.iter_mut().find(|one| one.mark == step.mark);
                let why = told.map(|one| {
                    one.id.clone_from(&pane);
                    one.reason.clone()
                });
                self.wait_in(socket, step, pane.as_deref(), &why.unwrap_or_default());
                continue;
            }
            if step.seat == Seat::New && pane.is_none() {
                done.push(Restored::of(step, Outcome::Failed, &no_pane));
                continue;
            }
            if step.decision.act.starts() && !self.lazy {
                waiting.push_back((step, pane));
                continue;
            }
            let mut restored = Restored::without_agent(step);
            if step.decision.act.starts() {
                restored.reason = format!("it waits in its pane: {}", step.decision.reason);
                self.wait_in(socket, step, pane.as_deref(), &step.decision.reason);
                lazy.extend(pane.clone());
            }
            done.push(Restored { id: pane, ..restored });
        }
        if !lazy.is_empty() {
            let panes: Vec<&str> = lazy.iter().map(String::as_str).collect();
            mux::tell_focus(socket, &panes, TMUX_DEADLINE);
        }
        acted.panes.append(&mut done);
        self.start_all(socket, waiting, born, acted);
    }

    /// The agents that are started together with their panes: the first ones, as many as may start at once. A pane that is
    /// made for its agent starts nothing twice.
    fn firstborn<'p>(&self, server: &'p ServerPlan) -> (Vec<Started<'p>>, Vec<Restored>) {
        let (mut born, mut failed) = (Vec::new(), Vec::new());
        let starts = |step: &&PaneStep| step.seat == Seat::New && step.decision.act.starts();
        for step in
            server.panes.iter().filter(starts).take(if self.lazy { 0 } else { self.max_parallel.max(1) })
        {
            match self.ready(&server.socket, step, !born.is_empty()) {
                Ok(one) => born.push(one),
                Err(start::NotReady::Later) => break,
                Err(start::NotReady::Never(outcome, why)) => failed.push(Restored::of(step, outcome, why)),
            }
        }
        (born, failed)
    }

    /// Makes the sessions, and finds the new panes by their marks; with what is said of those that are not there.
    fn make(
        &self,
        server: &ServerPlan,
        born: &[Started<'_>],
    ) -> Result<(BTreeMap<String, String>, String), mux::StartError> {
        let no_pane = NO_PANE.to_owned();
        if server.sessions.is_empty() {
            return Ok((BTreeMap::new(), no_pane));
        }
        let birth = Birth { unset: CHILD_VARIABLES, scope: self.scope };
        // Without it agents begin a little early.
        let _making = Lock::try_alone(&making(self.state)).ok();
        let base = mux::base(&server.socket, birth, TMUX_DEADLINE)?;
        let mut sessions = server.sessions.clone();
        for pane in sessions.iter_mut().flat_map(|session| &mut session.windows).flat_map(|w| &mut w.panes) {
            if let Some(one) = born.iter().find(|one| one.step.mark == pane.mark) {
                one.is_born_in(pane);
                continue;
            }
            let step = server.panes.iter().find(|step| step.mark == pane.mark && step.session.is_some());
            let waits = |step: &&PaneStep| step.decision.act.waits();
            pane.command = step.filter(waits).map(|step| self.waiter(step, "")).unwrap_or_default();
        }
        let script = mux::script(&sessions, base, &self.variables);
        // tmux goes on behind a command that fails: what is there counts.
        let sourced = mux::source(&server.socket, &script, birth, TMUX_DEADLINE);
        let made = mux::marked(&server.socket, TMUX_DEADLINE)?.into_iter().collect();
        Ok((made, sourced.err().map_or(no_pane, |error| format!("{NO_PANE}: cannot {error}"))))
    }

    /// What a pane runs until its agent is started: it says what it waits for.
    fn waiter(&self, step: &PaneStep, why: &str) -> Vec<String> {
        let why = if why.is_empty() { &step.decision.reason } else { why };
        let session = step.session.as_ref().map(ToString::to_string).unwrap_or_default();
        let mut words = self.words(&["pane", "wait", "--why", &redact::redact(why)]);
        if step.decision.act.starts() {
            words.push("--on-focus".to_owned());
        }
        words.extend(["--".to_owned(), session]);
        words
    }

    /// A command line of this program.
    fn words(&self, rest: &[&str]) -> Vec<String> {
        let program = self.program.to_string_lossy().into_owned();
        std::iter::once(program).chain(rest.iter().map(ToString::to_string)).collect()
    }

    /// Shows in a pane of ours what it waits for, in place of whatever it shows.
    fn wait_in(&self, socket: &Path, step: &PaneStep, pane: Option<&str>, why: &str) {
        let (Some(pane), true) = (pane, step.ours && step.session.is_some()) else { return };
        if step.seat == Seat::New && why == step.decision.reason {
            return;
        }
        let program = Respawn {
            pane: pane.to_owned(),
            cwd: "/".to_owned(),
            variables: self.variables.clone(),
            words: self.waiter(step, why),
        };
        // Where even that fails, the report says what became of the pane.
        let _ = mux::respawn(socket, &[program], TMUX_DEADLINE);
    }

    /// The title that tells a restored agent from a fresh one. `select-pane -T` on the pane that is looked at would not move
    /// anybody: it only sets the title.
    fn title(&self, one: &Started<'_>, outcome: Outcome) -> Title {
        let record = one.step.session.as_ref().and_then(|session| self.records.get(session));
        let name = record.and_then(|record| record.name.as_deref()).unwrap_or("agent");
        let (sign, word) = match outcome {
            Outcome::FreshWithContext => ("✦", "fresh"),
            _ => ("↻", "resumed"),
        };
        Title { pane: one.pane.clone(), title: format!("{sign} {name}"), word }
    }

    /// Starts agents, so many at a time, and waits for the word of each.
    fn start_all<'p>(
        &self,
        socket: &Path,
        mut waiting: VecDeque<(&'p PaneStep, Option<String>)>,
        mut started: Vec<Started<'p>>,
        acted: &mut Acted,
    ) {
        let done = &mut acted.panes;
        while !waiting.is_empty() || !started.is_empty() {
            let mut ready = Vec::new();
            while started.len() + ready.len() < self.max_parallel.max(1) {
                let Some((step, pane)) = waiting.pop_front() else { break };
                let Some(pane) = pane else {
                    done.push(Restored::of(step, Outcome::Failed, NO_PANE));
                    continue;
                };
                match self.ready(socket, step, !started.is_empty() || !ready.is_empty()) {
                    Ok(mut one) => {
                        one.is_in(pane);
                        ready.push(one);
                    }
                    Err(start::NotReady::Later) => {
                        waiting.push_front((step, Some(pane)));
                        break;
                    }
                    Err(start::NotReady::Never(outcome, why)) => {
                        self.wait_in(socket, step, Some(&pane), &why);
                        done.push(Restored { id: Some(pane), ..Restored::of(step, outcome, why) });
                    }
                }
            }
            let launches = !ready.is_empty();
            let (running, failed) = self.launch(socket, ready);
            acted.started = if launches { Some(Instant::now()) } else { acted.started };
            started.extend(running);
            done.extend(failed);
            let (mut still, mut titles) = (Vec::new(), Vec::new());
            for mut one in started {
                match self.judge(socket, &mut one) {
                    Judgement::Waiting => still.push(one),
                    Judgement::Done(restored) => {
                        let back = restored.outcome.is_back() || restored.outcome == Outcome::Unverified;
                        if restored.outcome.is_back() {
                            titles.push(self.title(&one, restored.outcome));
                        }
                        if !back {
                            self.wait_in(socket, one.step, Some(&one.pane), &restored.reason);
                        }
                        done.push(restored);
                    }
                }
            }
            // A title is no reason to call a restore a failure.
            let _ = mux::entitle(socket, &titles, TMUX_DEADLINE);
            started = still;
            if !started.is_empty() {
                poll();
            }
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "a poll interval: the agent's word is a line in a file")]
fn poll() {
    std::thread::sleep(POLL);
}
