//! Doing what a plan says: sessions first, then agents, a few at a time, each proven by its own word.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use agents::SessionId;
use agents::claude::launch::start_environment;
use agents::claude::{CHILD_VARIABLES, TranscriptFile};
use doctor::{Clinic, RepairOptions, RepairStatus, Target};
use serde::Serialize;
use state::StateDir;
use state::durable;
use state::lock::Lock;
use state::record::SessionRecord;
use state::spool;

use crate::decide::Act;
use crate::plan::{PaneStep, Plan, ServerPlan};

/// How a pane ended up: words of the contracts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Its conversation goes on, by the agent's own word.
    Resumed,
    /// Its agent runs and has not said a word.
    Unverified,
    /// Mended first, then resumed.
    RepairedResumed,
    /// Put back from the vault first, then resumed.
    VaultResumed,
    /// The user decides.
    Offered,
    /// A guard said no.
    Refused,
    /// A shell, as it was.
    Shell,
    /// It was there.
    AlreadyThere,
    /// It could not be done.
    Failed,
}

/// What became of a pane.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Restored {
    /// `session:window.pane`.
    pub pane: String,
    /// The conversation.
    pub session_id: Option<SessionId>,
    /// How it ended.
    pub outcome: Outcome,
    /// Why.
    pub reason: String,
    /// How long it took until the agent said its word, in milliseconds.
    pub verified_ms: Option<u64>,
}

/// What acting needs.
pub struct Actor<'a> {
    /// What rekindle remembers.
    pub state: &'a StateDir,
    /// Transcripts and vault.
    pub clinic: &'a Clinic,
    /// The records, by conversation.
    pub records: &'a std::collections::BTreeMap<SessionId, SessionRecord>,
    /// How many agents start at once.
    pub max_parallel: usize,
}

const TMUX_DEADLINE: Duration = Duration::from_secs(20);

/// From start to its own word an agent took 0.8 to 2.1 s, 7 s once under load (measured); old and large ones longer.
const PROOF_DEADLINE: Duration = Duration::from_secs(60);

const POLL: Duration = Duration::from_millis(50);

/// Why nothing could be restored on a server.
#[derive(Debug, thiserror::Error)]
pub enum ActError {
    /// tmux refused.
    #[error(transparent)]
    Tmux(#[from] mux::StartError),
    /// The file of commands could not be written.
    #[error(transparent)]
    Write(#[from] durable::Error),
}

/// An agent that was started and has not yet said its word.
struct Started<'p> {
    step: &'p PaneStep,
    session: SessionId,
    nonce: String,
    offset: u64,
    since: Instant,
    how: Outcome,
    _lease: Lock,
}

impl Actor<'_> {
    /// Does everything, and says what became of each pane.
    ///
    /// # Errors
    /// The sessions of a server could not be made. Panes are judged one by one.
    pub fn act(&self, plan: &Plan) -> Result<Vec<Restored>, ActError> {
        let mut done = Vec::new();
        for server in &plan.servers {
            done.extend(self.act_on(server)?);
        }
        Ok(done)
    }

    fn act_on(&self, server: &ServerPlan) -> Result<Vec<Restored>, ActError> {
        let mut done = Vec::new();
        let mut ids = Vec::new();
        if !server.sessions.is_empty() {
            let base = mux::base(&server.socket, CHILD_VARIABLES, TMUX_DEADLINE)?;
            let script = mux::script(&server.sessions, base);
            let file = self.state.cache().join("restore.tmux");
            durable::private_dir(&self.state.cache())?;
            durable::replace(&file, script.as_bytes())?;
            mux::source(&server.socket, &file, CHILD_VARIABLES, TMUX_DEADLINE)?;
            ids = mux::marked(&server.socket, TMUX_DEADLINE)?;
        }
        let id_of =
            |step: &PaneStep| ids.iter().find(|(mark, _)| *mark == step.mark).map(|(_, id)| id.clone());
        let (agents, others): (Vec<&PaneStep>, Vec<&PaneStep>) =
            server.panes.iter().partition(|step| starts(step.decision.act));
        done.extend(others.into_iter().map(without_agent));
        for group in agents.chunks(self.max_parallel.max(1)) {
            let mut started = Vec::new();
            for step in group {
                match self.start(&server.socket, step, id_of(step)) {
                    Ok(one) => started.push(one),
                    Err(failed) => done.push(failed),
                }
            }
            done.extend(started.iter().map(|one| self.prove(one)));
        }
        Ok(done)
    }

    /// Starts the agent of a pane, after whatever its transcript needs.
    fn start<'p>(
        &self,
        socket: &Path,
        step: &'p PaneStep,
        pane: Option<String>,
    ) -> Result<Started<'p>, Restored> {
        let failed = |why: String| restored(step, Outcome::Failed, why);
        let session = step.session.clone().ok_or_else(|| failed("no conversation is known".to_owned()))?;
        let argv = step.argv.as_ref().ok_or_else(|| failed("its arguments are not known".to_owned()))?;
        let pane = pane.ok_or_else(|| failed("its pane was not made".to_owned()))?;
        // One writer per conversation, whoever else restores.
        let lease = Lock::try_alone(&self.state.locks().join(format!("lease-{session}")))
            .map_err(|error| restored(step, Outcome::Refused, error.to_string()))?;
        let how = self.heal(&session, step.decision.act).map_err(failed)?;
        let record = self.records.get(&session);
        let run = record.and_then(SessionRecord::run);
        let cwd = record
            .and_then(|record| record.project_dir.clone())
            .or_else(|| run.and_then(|run| run.cwd.clone()));
        let cwd = cwd.ok_or_else(|| failed("its directory is not known".to_owned()))?;
        let nonce = uuid::Uuid::new_v4().to_string();
        let recorded = run.map(|run| run.env.iter().map(|(name, value)| (name.as_str(), value.as_str())));
        let start = start_environment(recorded.into_iter().flatten(), Some(socket), &nonce, |_| true);
        let offset = std::fs::metadata(self.spool(&session)).map_or(0, |meta| meta.len());
        mux::respawn(socket, &pane, &cwd.to_string_lossy(), &start.set, &argv.words, TMUX_DEADLINE)
            .map_err(|error| failed(format!("cannot {error}")))?;
        Ok(Started { step, session, nonce, offset, since: Instant::now(), how, _lease: lease })
    }

    fn spool(&self, session: &SessionId) -> PathBuf {
        spool::path(self.state, session)
    }

    /// Mends or puts back the transcript first, where the plan says so.
    fn heal(&self, session: &SessionId, act: Act) -> Result<Outcome, String> {
        match act {
            Act::RepairResume => {
                let file = self.file(session)?;
                let outcomes =
                    self.clinic.repair(&[file], RepairOptions { dry_run: false, branch: None }, |_| {});
                match outcomes.into_iter().next() {
                    Some(Ok(outcome))
                        if matches!(
                            outcome.status,
                            RepairStatus::Repaired | RepairStatus::AlreadyHealthy
                        ) =>
                    {
                        Ok(Outcome::RepairedResumed)
                    }
                    Some(Ok(outcome)) => {
                        Err(outcome.reason.unwrap_or_else(|| "its transcript cannot be mended".to_owned()))
                    }
                    Some(Err(error)) => Err(format!("cannot {error}")),
                    None => Err("its transcript cannot be mended".to_owned()),
                }
            }
            Act::VaultResume => match self.clinic.restore(session, None) {
                Ok(Some(Ok(_))) => Ok(Outcome::VaultResumed),
                Ok(Some(Err(refusal))) => Err(refusal.to_string()),
                Ok(None) => Err("the vault does not have it".to_owned()),
                Err(error) => Err(format!("cannot {error}")),
            },
            _ => Ok(Outcome::Resumed),
        }
    }

    fn file(&self, session: &SessionId) -> Result<TranscriptFile, String> {
        match self.clinic.target(session.as_str()) {
            Ok(Target::File(file)) => Ok(file),
            Ok(Target::Gone(_)) => Err("its transcript is gone".to_owned()),
            Err(error) => Err(error.to_string()),
        }
    }

    /// Waits for the agent's own word: its SessionStart in this conversation, with the nonce of our launch.
    fn prove(&self, started: &Started<'_>) -> Restored {
        let path = self.spool(&started.session);
        while started.since.elapsed() < PROOF_DEADLINE {
            let heard = spool::read(&path, started.offset).map(|(events, _)| events).unwrap_or_default();
            let ours = heard.iter().any(|read| {
                let nonce =
                    |(name, value): &(String, String)| name == "REKINDLE_NONCE" && *value == started.nonce;
                read.event.event == "SessionStart"
                    && read.event.launch.as_ref().is_some_and(|launch| launch.env.iter().any(nonce))
            });
            if ours {
                let took = u64::try_from(started.since.elapsed().as_millis()).unwrap_or(u64::MAX);
                let why = format!(
                    "its agent says so: SessionStart with our launch's mark; {}",
                    started.step.decision.reason
                );
                return Restored { verified_ms: Some(took), ..restored(started.step, started.how, why) };
            }
            poll();
        }
        restored(
            started.step,
            Outcome::Unverified,
            "its agent runs and has said nothing: look at the pane".to_owned(),
        )
    }
}

fn starts(act: Act) -> bool {
    matches!(act, Act::Resume | Act::Begin | Act::RepairResume | Act::VaultResume)
}

fn restored(step: &PaneStep, outcome: Outcome, reason: String) -> Restored {
    Restored {
        pane: step.reference.clone(),
        session_id: step.session.clone(),
        outcome,
        reason,
        verified_ms: None,
    }
}

fn without_agent(step: &PaneStep) -> Restored {
    let outcome = match step.decision.act {
        Act::Nothing => Outcome::AlreadyThere,
        Act::Offer | Act::Fresh => Outcome::Offered,
        Act::Refuse => Outcome::Refused,
        _ => Outcome::Shell,
    };
    restored(step, outcome, step.decision.reason.clone())
}

#[expect(clippy::disallowed_methods, reason = "a poll interval: the agent's word is a line in a file")]
fn poll() {
    std::thread::sleep(POLL);
}
