//! Doing what a plan says: sessions first, then agents, a few at a time, each proven by its own word.

mod attempt;
mod heal;
mod proof;
mod retry_policy;
mod shell;
mod start;

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use agents::SessionKey;
use agents::claude::CHILD_VARIABLES;
use context::ToolCall;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use layouts::GUESSED;
use repair::Repairer;
use store::StateDir;
use store::config::ResumeFallback;
use store::launch::making;
use store::lock::Lock;
use store::mac::Key;
use store::record::{Machine, SessionRecord};
use tmux::{Birth, FillPlan, Respawn, Title};

use crate::briefing::Briefing;
use crate::go_on::{GoingOn, Prompt};
use crate::known_accounts::KnownAccounts;
use crate::outcome::{Outcome, Restored};
use crate::pane_match::Match;
use crate::plan::{PaneStep, Plan, ServerPlan};
use attempt::{Attempt, Next};
use proof::Judgement;
pub use shell::carried;
use start::Started;

/// What acting needs.
pub struct Actor<'a> {
    /// What rekindle remembers.
    pub state: &'a StateDir,
    /// Transcripts and vault.
    pub repairer: &'a Repairer,
    /// The records, by conversation.
    pub records: &'a BTreeMap<SessionKey, SessionRecord>,
    /// The machine that this is: runs of another one give no start its words.
    pub machine: Machine,
    /// The configuration directories that an agent may be started with.
    pub accounts: KnownAccounts,
    /// The sessions of the agents that this restore has started, by the nonces of their starts.
    pub launched: RefCell<BTreeMap<String, SessionKey>>,
    /// The machine's key, where it is here: text without its code is told to no agent.
    pub key: Option<Key>,
    /// How many agents start at once.
    pub max_parallel: usize,
    /// Show what would be resumed, and wait for the user in each pane.
    pub lazy: bool,
    /// Below this much free memory no agent is started.
    pub least_memory: u64,
    /// Tell a resumed agent what happened.
    pub note_on_resume: bool,
    /// Whether agents that come back go on by themselves.
    pub go_on: GoingOn,
    /// Tell a fresh agent everything; the short context where there is nothing to gather it.
    pub briefing: Option<&'a Briefing<'a>>,
    /// What was half done in conversations that were started.
    pub half_done: RefCell<BTreeMap<SessionKey, Option<Vec<ToolCall>>>>,
    /// When the machine was looked at for the plan.
    pub looked: Instant,
    /// Now.
    pub now: Timestamp,
    /// The user's time zone.
    pub zone: TimeZone,
    /// This program, which panes run.
    pub program: PathBuf,
    /// What this program needs of the environment to find its files again.
    pub variables: Vec<(String, String)>,
    /// How often an agent is started that ends by itself before it has said its word.
    pub tries: usize,
    /// The variables of this process, by name: what a server has that it starts.
    pub around: BTreeSet<String>,
    /// Whether a server that is started gets a scope of its own, so that it outlives the unit or login that restores.
    pub scope: bool,
    /// Is told what became of each pane, as soon as that is known.
    pub told: &'a dyn Fn(&[Restored]),
}

/// What was done.
#[derive(Debug, Default)]
pub struct Acted {
    /// What became of each pane.
    pub panes: Vec<Restored>,
    /// When the last pane was made or the last agent started; what follows is waiting for their word.
    pub started: Option<Instant>,
    /// The prompts of those that are back.
    prompts: Vec<Prompt>,
}

impl Acted {
    /// The prompts of those that are back, which are in nobody else's hands from now on.
    pub(crate) fn take_prompts(&mut self) -> Vec<Prompt> {
        std::mem::take(&mut self.prompts)
    }
}

pub(crate) const TMUX_DEADLINE: Duration = Duration::from_secs(20);

const POLL: Duration = Duration::from_millis(20);

/// Said of a pane that tmux did not make.
const NO_PANE: &str = "its pane was not made";

/// How long a start waits for memory before its pane waits for its user instead.
const MEMORY_PATIENCE: Duration = Duration::from_secs(20);

/// When the agent of a pane that waits is started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Turn {
    /// When those before it are.
    Comes,
    /// When its pane is looked at.
    OnFocus,
    /// When its user says so: it was not started. Never by a look: one that fails would be started again and again.
    Passed,
}

impl Turn {
    fn flag(self) -> Option<&'static str> {
        match self {
            Turn::Comes => Some("--in-turn"),
            Turn::OnFocus => Some("--on-focus"),
            Turn::Passed => None,
        }
    }
}

impl Actor<'_> {
    /// Does everything, and says what became of each pane. A server that fails keeps no other from coming back.
    pub fn act(&self, plan: &Plan) -> Acted {
        let mut acted = Acted::default();
        for server in &plan.servers {
            self.act_on(server, plan.fallback, &mut acted);
        }
        self.go_on(&mut acted);
        self.count_agents(&mut acted.panes);
        // In the order of the plan, not in the order in which they were done with.
        let places: BTreeMap<&str, usize> =
            plan.panes().enumerate().map(|(at, step)| (step.mark.as_str(), at)).collect();
        acted.panes.sort_by_key(|pane| places.get(pane.mark.as_str()).copied());
        acted
    }

    fn act_on(&self, server: &ServerPlan, fallback: ResumeFallback, acted: &mut Acted) {
        let socket = server.socket.as_path();
        let (mut born, mut done) = self.firstborn(server);
        let (ids, no_pane) = match self.make(server, &born) {
            Ok(made) => made,
            Err(error) => (BTreeMap::new(), format!("cannot {error}")),
        };
        acted.started = Some(Instant::now());
        let seated = |step: &PaneStep| match &step.seat {
            Match::There { pane, .. } => Some(pane.clone()),
            _ => ids.get(&step.mark).cloned(),
        };
        let judged: Vec<&str> = born.iter().map(|one| one.step().mark.as_str()).collect();
        for one in &mut born {
            match seated(one.step()) {
                Some(pane) => one.is_in(pane),
                None => done.push(Restored::of(one.step(), Outcome::Failed, &no_pane)),
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
            if step.seat == Match::New && pane.is_none() {
                done.push(Restored::of(step, Outcome::Failed, &no_pane));
                continue;
            }
            if step.decision.act.starts() && !self.lazy {
                waiting.push_back((Attempt::first(step), pane));
                continue;
            }
            let mut restored = Restored::without_agent(step);
            if step.decision.act.starts()
                && pane.as_deref().is_some_and(|pane| self.is_used(socket, step, pane))
            {
                let why = "the pane is running another program now; rekindle will not replace it";
                done.push(Restored { id: pane, ..Restored::of(step, Outcome::Refused, why) });
                continue;
            }
            if step.decision.act.starts() {
                restored.reason = "press Enter in its pane to resume".to_owned();
                self.show_in(socket, step, pane.as_deref(), &step.decision.reason, Turn::OnFocus);
                lazy.extend(pane.clone());
            }
            done.push(Restored { id: pane, ..restored });
        }
        if !lazy.is_empty() {
            let panes: Vec<&str> = lazy.iter().map(String::as_str).collect();
            tmux::tell_focus(socket, &panes, TMUX_DEADLINE);
        }
        (self.told)(&done);
        acted.panes.append(&mut done);
        self.start_all(server, fallback, waiting, born, acted);
    }

    /// The agents that are started together with their panes: the first ones, as many as may start at once. A pane that is
    /// made for its agent starts nothing twice.
    fn firstborn<'p>(&self, server: &'p ServerPlan) -> (Vec<Started<'p>>, Vec<Restored>) {
        let (mut born, mut failed) = (Vec::new(), Vec::new());
        let starts = |step: &&PaneStep| step.seat == Match::New && step.decision.act.starts();
        for step in
            server.panes.iter().filter(starts).take(if self.lazy { 0 } else { self.max_parallel.max(1) })
        {
            match self.ready(&server.socket, &Attempt::first(step), !born.is_empty()) {
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
    ) -> Result<(BTreeMap<String, String>, String), tmux::StartError> {
        let no_pane = NO_PANE.to_owned();
        if server.sessions.is_empty() && server.fills.is_empty() {
            return Ok((BTreeMap::new(), no_pane));
        }
        let birth = Birth { unset: CHILD_VARIABLES, scope: self.scope };
        // Without it agents begin a little early.
        let _making = Lock::try_alone(&making(self.state)).ok();
        let habits = tmux::habits(&server.socket, birth, TMUX_DEADLINE)?;
        let shown = shell::Shown::of(self.state, &server.panes);
        let (mut sessions, mut fills) = (server.sessions.clone(), server.fills.clone());
        let windows = sessions.iter_mut().flat_map(|session| &mut session.windows);
        let filled = fills.iter_mut().flat_map(FillPlan::new_panes_mut);
        for pane in windows.flat_map(|window| &mut window.panes).chain(filled) {
            if let Some(one) = born.iter().find(|one| one.step().mark == pane.mark) {
                pane.variables.clone_from(&self.variables);
                one.is_born_in(pane);
                continue;
            }
            let Some(step) = server.panes.iter().find(|step| step.mark == pane.mark) else { continue };
            if step.session.is_some() && step.decision.act.waits() {
                let turn = if self.lazy { Turn::OnFocus } else { Turn::Comes };
                pane.variables.clone_from(&self.variables);
                pane.command = self.waiter(step, "", turn);
            } else if let Some(asks) = &step.asks {
                pane.variables.clone_from(&self.variables);
                pane.command = self.words(&asks.words().iter().map(String::as_str).collect::<Vec<_>>());
            } else if let Some(text) = shown.of_step(step) {
                pane.command = self.shell(text, &habits.default_command);
            }
        }
        let script = tmux::fill(&fills) + &tmux::script(&sessions, habits.base);
        // tmux goes on behind a command that fails: what is there counts.
        let sourced = tmux::source(&server.socket, &script, birth, TMUX_DEADLINE);
        let made = tmux::marked(&server.socket, TMUX_DEADLINE)?.into_iter().collect();
        Ok((made, sourced.err().map_or(no_pane, |error| format!("{NO_PANE}: cannot {error}"))))
    }

    /// What a pane runs until its agent is started: it says what it waits for.
    fn waiter(&self, step: &PaneStep, why: &str, turn: Turn) -> Vec<String> {
        let why = if why.is_empty() { &step.decision.reason } else { why };
        let session = step.session.as_ref().map(ToString::to_string).unwrap_or_default();
        let mut words = self.words(&["pane", "wait"]);
        words.extend(step.guessed.then(|| GUESSED.to_owned()));
        words.extend((self.go_on == GoingOn::All).then(|| "--continue".to_owned()));
        words.extend(["--why".to_owned(), redact::redact(why).into_owned()]);
        let turn = if step.decision.act.starts() { turn } else { Turn::Passed };
        words.extend(turn.flag().map(str::to_owned));
        words.extend(["--".to_owned(), session]);
        words
    }

    /// A command line of this program.
    fn words(&self, rest: &[&str]) -> Vec<String> {
        let program = self.program.to_string_lossy().into_owned();
        std::iter::once(program).chain(rest.iter().map(ToString::to_string)).collect()
    }

    /// Shows in a pane of ours why its agent is not started, in place of whatever it shows.
    fn wait_in(&self, socket: &Path, step: &PaneStep, pane: Option<&str>, why: &str) {
        self.show_in(socket, step, pane, why, Turn::Passed);
    }

    fn show_in(&self, socket: &Path, step: &PaneStep, pane: Option<&str>, why: &str, turn: Turn) {
        // A shell that an agent would take is taken by the page as well.
        let free = step.ours || turn == Turn::OnFocus;
        let (Some(pane), true) = (pane, free && step.session.is_some()) else { return };
        if step.seat == Match::New && why == step.decision.reason {
            return;
        }
        let folder = step.directory.as_deref().filter(|folder| folder.is_dir());
        let program = Respawn {
            pane: pane.to_owned(),
            cwd: folder.map_or("/".to_owned(), |folder| folder.to_string_lossy().into_owned()),
            variables: self.variables.clone(),
            words: self.waiter(step, why, turn),
        };
        // Where even that fails, the report says what became of the pane.
        let _ = tmux::respawn(socket, &[program], TMUX_DEADLINE);
    }

    /// The title that tells a restored agent from a fresh one. `select-pane -T` on the pane that is looked at would not move
    /// anybody: it only sets the title.
    fn title(&self, one: &Started<'_>, outcome: Outcome) -> Title {
        let record = one.step().session.as_ref().and_then(|session| self.records.get(session));
        let name = record.and_then(|record| record.name.as_deref()).unwrap_or("agent");
        let (sign, word) = match outcome {
            Outcome::FreshWithContext => ("✦", "fresh"),
            _ => ("↻", "resumed"),
        };
        Title { pane: one.pane.clone(), title: format!("{sign} {name}"), word }
    }

    /// Starts agents, so many at a time, and waits for the word of each. One whose start fails may get another.
    fn start_all<'p>(
        &self,
        server: &ServerPlan,
        fallback: ResumeFallback,
        mut waiting: VecDeque<(Attempt<'p>, Option<String>)>,
        mut started: Vec<Started<'p>>,
        acted: &mut Acted,
    ) {
        let socket = server.socket.as_path();
        let done = &mut acted.panes;
        let mut told = done.len();
        while !waiting.is_empty() || !started.is_empty() {
            let ready = self.next_ready(socket, &mut waiting, &started, done);
            let launches = !ready.is_empty();
            let (running, failed) = self.launch(socket, ready);
            acted.started = if launches { Some(Instant::now()) } else { acted.started };
            started.extend(running);
            done.extend(failed);
            let (mut still, mut titles) = (Vec::new(), Vec::new());
            for mut one in started {
                match self.judge(socket, &mut one) {
                    Judgement::Waiting => still.push(one),
                    Judgement::Failed { ended, said } => {
                        let pane = one.pane.clone();
                        match self.next(one.fails(ended, &said), fallback) {
                            Next::Start(attempt) => waiting.push_back((attempt, Some(pane))),
                            Next::GivenUp(restored) => {
                                let reason = one.with_what_is_missing(restored.reason.clone());
                                let restored = Restored { id: Some(pane), reason, ..restored };
                                self.wait_where_it_failed(socket, one.step(), &restored);
                                done.push(restored);
                            }
                        }
                        one.launch.abandon();
                    }
                    Judgement::Done(restored) => {
                        if restored.outcome.is_back() {
                            titles.push(self.title(&one, restored.outcome));
                            acted.prompts.extend(one.prompt(socket));
                        }
                        done.push(restored);
                    }
                }
            }
            // A title is no reason to call a restore a failure.
            let _ = tmux::entitle(socket, &titles, TMUX_DEADLINE);
            started = still;
            if let Some(news @ [_, ..]) = done.get(told..) {
                (self.told)(news);
            }
            told = done.len();
            if !started.is_empty() || !waiting.is_empty() {
                poll();
            }
        }
    }

    /// As many of those that wait as may start now, ready to be started.
    fn next_ready<'p>(
        &self,
        socket: &Path,
        waiting: &mut VecDeque<(Attempt<'p>, Option<String>)>,
        started: &[Started<'p>],
        done: &mut Vec<Restored>,
    ) -> Vec<Started<'p>> {
        let mut ready = Vec::new();
        for _ in 0..waiting.len() {
            if started.len() + ready.len() >= self.max_parallel.max(1) {
                break;
            }
            let Some((attempt, pane)) = waiting.pop_front() else { break };
            let step = attempt.step;
            if attempt.is_early() {
                waiting.push_back((attempt, pane));
                continue;
            }
            let Some(pane) = pane else {
                done.push(Restored::of(step, Outcome::Failed, NO_PANE));
                continue;
            };
            match self.ready(socket, &attempt, !started.is_empty() || !ready.is_empty()) {
                Ok(mut one) => {
                    one.is_in(pane);
                    ready.push(one);
                }
                Err(start::NotReady::Later) => {
                    waiting.push_front((attempt, Some(pane)));
                    break;
                }
                Err(start::NotReady::Never(outcome, why)) => {
                    let why = attempt.with_what_failed(why);
                    if attempt.replaces().is_some() || !self.is_used(socket, step, &pane) {
                        self.wait_in(socket, step, Some(&pane), &why);
                    }
                    done.push(Restored { id: Some(pane), ..Restored::of(step, outcome, why) });
                }
            }
        }
        ready
    }

    /// Shows in the pane of an agent that did not start why, unless its user wants a shell then.
    fn wait_where_it_failed(&self, socket: &Path, step: &PaneStep, restored: &Restored) {
        if restored.outcome != Outcome::Shell {
            self.wait_in(socket, step, restored.id.as_deref(), &restored.reason);
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "a poll interval: the agent's word is a line in a file")]
fn poll() {
    std::thread::sleep(POLL);
}
