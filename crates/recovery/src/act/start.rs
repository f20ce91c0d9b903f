//! Starting an agent: its lease, its transcript, its words and variables, what it is told.

use std::path::Path;
use std::time::{Duration, Instant};

use agents::SessionKey;
use agents::claude::launch::{NONCE, StartAccount, start_environment};
use agents::claude::{CHILD_VARIABLES, Owner, newest_row_ms};
use context::ToolCall;
use jiff::Timestamp;
use store::durable;
use store::launch::{Ended, Launch};
use store::lock::Lock;
use store::record::{GenuineRun, SessionRecord};
use store::spool;
use tmux::{Listing, PanePlan, Respawn};

use super::attempt::Attempt;
use super::proof::Proven;
use super::{Actor, MEMORY_PATIENCE, TMUX_DEADLINE};
use crate::decide::OwnerFact;
use crate::facts::expected_transcript;
use crate::go_on::Prompt;
use crate::half_done::half_done;
use crate::known_accounts::KnownAccount;
use crate::outcome::{Outcome, Restored};
use crate::plan::PaneStep;
use crate::preconditions;
use crate::recipe::Recipe;

/// For so long what was seen of the machine counts: less than anybody needs to start an agent by hand.
const STILL_TRUE: Duration = Duration::from_secs(2);

/// An agent that was started and has not yet said its word.
pub(super) struct Started<'p> {
    pub(super) attempt: Attempt<'p>,
    pub(super) pane: String,
    /// The conversation that it is to be in: a fresh agent has a new one.
    pub(super) session: SessionKey,
    /// The account that it is to work for, where that is known.
    pub(super) account: Option<KnownAccount>,
    pub(super) nonce: String,
    pub(super) launch: Launch,
    /// How much of its spool is older than this start.
    pub(super) offset: u64,
    pub(super) since: Instant,
    /// When its screen was last looked at.
    pub(super) looked: Instant,
    pub(super) how: Outcome,
    /// Whether it may ask how it is to be resumed.
    pub(super) may_ask: bool,
    /// What became of it, where that question is waited for.
    pub(super) proven: Option<Proven>,
    /// Variables with secrets that it had and does not have now.
    missing: Vec<String>,
    /// Rows of the conversation before the start.
    pub(super) remembered: Option<u64>,
    /// The prompt with which it goes on.
    prompt: Option<String>,
    /// About how many tokens its hook tells it.
    pub(super) told_tokens: usize,
    program: Respawn,
    _lease: Lock,
}

impl<'p> Started<'p> {
    /// The pane's step of the plan.
    pub(super) fn step(&self) -> &'p PaneStep {
        self.attempt.step
    }

    /// A reason, with what else its user should know of this start.
    pub(super) fn told_whole(&self, reason: String) -> String {
        let reason = self.with_what_is_missing(self.attempt.with_what_failed(reason));
        let untrusted = self.step().recipe.as_ref().and_then(Recipe::says_untrusted);
        match untrusted.filter(|words| !reason.contains(words)) {
            Some(words) => format!("{reason}; {words}"),
            None => reason,
        }
    }

    /// A reason, with the keys that this start did not have.
    pub(super) fn with_what_is_missing(&self, reason: String) -> String {
        if self.missing.is_empty() {
            return reason;
        }
        let names = self.missing.join(", ");
        format!(
            "{reason}; {names} was in its environment and is not in tmux's: tmux set-environment -g passes it on"
        )
    }

    /// What was tried, with this start that failed.
    pub(super) fn fails(&self, ended: Ended, said: &str) -> Attempt<'p> {
        self.attempt.fails(self.how, &self.nonce, ended, said)
    }

    /// The prompt with which it goes on, now that it is back.
    pub(super) fn prompt(&self, socket: &Path) -> Option<Prompt> {
        Some(Prompt {
            mark: self.step().mark.clone(),
            session: self.session.clone(),
            socket: socket.to_path_buf(),
            pane: self.pane.clone(),
            text: self.prompt.clone()?,
            offset: self.offset,
        })
    }

    /// The pane it is started in, from now on.
    pub(super) fn is_in(&mut self, pane: String) {
        self.program.pane.clone_from(&pane);
        self.pane = pane;
        (self.since, self.looked) = (Instant::now(), Instant::now());
    }

    /// Lets a pane that is to be made begin with this agent.
    pub(super) fn is_born_in(&self, pane: &mut PanePlan) {
        pane.command.clone_from(&self.program.words);
        pane.variables.extend(self.program.variables.iter().cloned());
        pane.cwd.clone_from(&self.program.cwd);
    }
}

/// Why an agent is not started now.
pub(super) enum NotReady {
    /// There is not enough memory while others start.
    Later,
    /// It is not started at all.
    Never(Outcome, String),
}

impl Actor<'_> {
    /// Everything that an agent's start needs, and nothing is started yet.
    pub(super) fn ready<'p>(
        &self,
        socket: &Path,
        attempt: &Attempt<'p>,
        others: bool,
    ) -> Result<Started<'p>, NotReady> {
        let (step, act) = (attempt.step, attempt.act);
        let failed = |why: String| NotReady::Never(Outcome::Failed, why);
        let old = step.session.clone().ok_or_else(|| failed("no conversation is known".to_owned()))?;
        if let Some(why) = preconditions::memory(self.least_memory, MEMORY_PATIENCE, others) {
            return Err(if others { NotReady::Later } else { NotReady::Never(Outcome::Offered, why) });
        }
        let recipe = step.recipe.as_ref().ok_or_else(|| failed("its arguments are not known".to_owned()))?;
        let argv = recipe.argv(act).map_err(|why| failed(why.to_string()))?;
        // One writer per conversation, whoever else restores.
        let lease = Lock::try_alone(&self.state.locks().join(format!("lease-{old}")))
            .map_err(|error| NotReady::Never(Outcome::Refused, format!("cannot {error}")))?;
        let record = self.records.get(&old);
        if let Some(why) = self.taken_since(&old, record) {
            return Err(NotReady::Never(Outcome::Refused, why));
        }
        // Nothing is mended or put back for an agent that is not started.
        let account = || {
            let known = self.accounts.of_session(self.repairer, &old, record);
            known.map_err(|unknown| NotReady::Never(Outcome::Refused, unknown.to_string()))
        };
        account()?;
        let transcript = record.and_then(|record| record.transcript_path.as_deref());
        let open = self.half_done(&old);
        let how = attempt.healed(self.heal(&old, act).map_err(failed)?);
        let session = recipe.session(act).clone();
        let run = record.and_then(|record| record.genuine_run(&self.machine));
        let cwd = step.directory.clone().or_else(|| run.and_then(GenuineRun::cwd).map(Path::to_path_buf));
        let cwd = cwd.ok_or_else(|| failed("its directory is not known".to_owned()))?;
        let nonce = uuid::Uuid::new_v4().to_string();
        let launch =
            Launch::of(self.state, &nonce).ok_or_else(|| failed("no launch has this mark".to_owned()))?;
        let unwritten = |error: durable::Error| failed(format!("cannot {error}"));
        let told = self.told(act, &old, how, open.as_deref()).map_err(unwritten)?;
        launch.prepare(session.id(), told.by_hook.as_deref()).map_err(unwritten)?;
        let recorded = run.map(GenuineRun::env);
        let has = |name: &str| tmux::has_variable(socket, name, TMUX_DEADLINE);
        // A server that is yet to be started has what this process has.
        let present = |name: &str| has(name).unwrap_or_else(|| self.around.contains(name));
        let account = account()?;
        let home = self.variables.iter().find(|(name, _)| name == "HOME").map(|(_, home)| Path::new(home));
        let start_account =
            account.as_ref().map_or(StartAccount::Unknown, |account| StartAccount::of(account.dir(), home));
        let recorded = recorded.into_iter().flatten();
        let start = start_environment(recorded, start_account, Some(socket), &nonce, present);
        // The agent itself submits a prompt among its arguments, once: nothing is typed.
        let submitted = told.prompt.clone().filter(|_| self.go_on.submits());
        let words = with_prompt(&argv.words, &session, submitted);
        let words = self.keeper(&words, &nonce, step.own_command, &start.unset);
        let offset = std::fs::metadata(spool::path(self.state, session.id())).map_or(0, |meta| meta.len());
        let remembered = (session == old).then(|| self.remembered(&session)).flatten();
        let may_ask = session == old && transcript.is_some_and(|path| is_old(path, self.now));
        let cwd = cwd.to_string_lossy().into_owned();
        let program = Respawn { pane: String::new(), cwd, variables: start.set, words };
        let now = Instant::now();
        self.launched.borrow_mut().insert(nonce.clone(), session.clone());
        Ok(Started {
            attempt: attempt.clone(),
            pane: String::new(),
            session,
            account,
            nonce,
            launch,
            offset,
            since: now,
            looked: now,
            how,
            may_ask,
            proven: None,
            missing: start.missing,
            remembered,
            told_tokens: told.tokens(),
            prompt: told.prompt,
            program,
            _lease: lease,
        })
    }

    /// What was half done, read once: before a second attempt the transcript may have been mended.
    fn half_done(&self, session: &SessionKey) -> Option<Vec<ToolCall>> {
        let mut known = self.half_done.borrow_mut();
        known.entry(session.clone()).or_insert_with(|| half_done(self.repairer, session)).clone()
    }

    /// Who has gone into a conversation while others were started: its user does not wait for us.
    fn taken_since(&self, session: &SessionKey, record: Option<&SessionRecord>) -> Option<String> {
        if self.looked.elapsed() < STILL_TRUE {
            return None;
        }
        let owners = self.repairer.owners();
        let owner = owners.of(session.id(), &expected_transcript(session, record));
        // A fresh agent that this restore has just started in the same directory has no transcript yet that tells it apart.
        if let Owner::Process(holder) = &owner
            && let Some(variables) =
                owners.processes().get(holder.pid).and_then(|process| process.environment())
        {
            let nonce =
                variables.iter().find(|(name, _)| name == NONCE).and_then(|(_, nonce)| nonce.to_str());
            let launched = self.launched.borrow();
            if nonce.and_then(|nonce| launched.get(nonce)).is_some_and(|other| other != session) {
                return None;
            }
        }
        OwnerFact::of(owner, None, None).objection(session)
    }

    /// The words that run an agent in a pane: when it ends, its pane goes on as the shell it was.
    fn keeper(&self, words: &[String], nonce: &str, own_command: bool, without: &[&str]) -> Vec<String> {
        let mut kept = self.words(&["pane", "run", "--launch", nonce]);
        if own_command {
            kept.push("--then-close".to_owned());
        }
        // What agents set for their children is taken out by the keeper in any case.
        for name in without.iter().filter(|name| !CHILD_VARIABLES.contains(name)) {
            kept.extend(["--without".to_owned(), (*name).to_owned()]);
        }
        kept.push("--".to_owned());
        kept.extend(words.iter().cloned());
        kept
    }

    /// A program with what all programs of ours need besides.
    fn in_its_pane(&self, program: &Respawn) -> Respawn {
        let variables = self.variables.iter().chain(&program.variables).cloned().collect();
        Respawn { variables, ..program.clone() }
    }

    /// Starts all that are ready by one command.
    pub(super) fn launch<'p>(
        &self,
        socket: &Path,
        ready: Vec<Started<'p>>,
    ) -> (Vec<Started<'p>>, Vec<Restored>) {
        let (ready, refused) = self.still_free(socket, ready);
        if ready.is_empty() {
            return (ready, refused);
        }
        let (running, mut failed) = self.replace(socket, ready);
        failed.extend(refused);
        (running, failed)
    }

    /// Leaves out whose pane has got another program since it was looked at: its user does not wait for us.
    fn still_free<'p>(&self, socket: &Path, ready: Vec<Started<'p>>) -> (Vec<Started<'p>>, Vec<Restored>) {
        if ready.iter().all(|one| one.step().in_front.is_none() && one.attempt.replaces().is_none()) {
            return (ready, Vec::new());
        }
        let (mut free, mut refused) = (Vec::new(), Vec::new());
        let Listing::Alive(server) = tmux::list(socket, TMUX_DEADLINE) else {
            for one in ready {
                one.launch.abandon();
                let why = "its server does not say what runs in its pane by now";
                let id = Some(one.pane.clone());
                refused.push(Restored { id, ..Restored::of(one.step(), Outcome::Refused, why) });
            }
            return (free, refused);
        };
        for one in ready {
            let now = server.pane(&one.pane).map(|pane| pane.command.as_str());
            let other = match (one.attempt.replaces(), &one.step().in_front, now) {
                (Some(nonce), _, Some(now)) => {
                    let began = tmux::start_command(socket, &one.pane, TMUX_DEADLINE);
                    began.is_none_or(|command| !command.contains(nonce)).then_some(now)
                }
                (None, Some(before), Some(now)) => Some(now).filter(|now| before != now),
                _ => None,
            };
            match other {
                Some(now) => {
                    one.launch.abandon();
                    let why = format!("the pane is running {now} now; rekindle will not replace it");
                    let id = Some(one.pane.clone());
                    refused.push(Restored { id, ..Restored::of(one.step(), Outcome::Refused, why) });
                }
                None => free.push(one),
            }
        }
        (free, refused)
    }

    /// Whether a pane that was there has got another program since it was looked at.
    pub(super) fn is_used(&self, socket: &Path, step: &PaneStep, pane: &str) -> bool {
        let Some(before) = &step.in_front else { return false };
        // Of a server that does not answer nothing is known, and nothing is ended on that.
        let Listing::Alive(server) = tmux::list(socket, TMUX_DEADLINE) else { return true };
        server.pane(pane).is_some_and(|pane| pane.command != *before)
    }

    fn replace<'p>(&self, socket: &Path, ready: Vec<Started<'p>>) -> (Vec<Started<'p>>, Vec<Restored>) {
        let programs: Vec<Respawn> = ready.iter().map(|one| self.in_its_pane(&one.program)).collect();
        let Err(error) = tmux::respawn(socket, &programs, TMUX_DEADLINE) else { return (ready, Vec::new()) };
        if let [only] = ready.as_slice() {
            only.launch.forget();
            return (Vec::new(), vec![Restored::of(only.step(), Outcome::Failed, format!("cannot {error}"))]);
        }
        // One of them failed: each for itself, so that only that one does. Those that run are not started again.
        let (mut running, mut failed) = (Vec::new(), Vec::new());
        for one in ready {
            let runs = tmux::start_command(socket, &one.pane, TMUX_DEADLINE);
            if runs.is_some_and(|command| command.contains(&one.nonce)) {
                running.push(one);
            } else {
                let (ran, not) = self.replace(socket, vec![one]);
                running.extend(ran);
                failed.extend(not);
            }
        }
        (running, failed)
    }
}

/// An agent asks about conversations of which nothing was heard for 70 minutes (read in 2.1.100 and 2.1.325).
const OLD_MS: i64 = 60 * 60 * 1000;

/// Whether nothing was said in a conversation for so long that its agent may ask how it is to be resumed.
fn is_old(transcript: &Path, now: Timestamp) -> bool {
    newest_row_ms(transcript).is_some_and(|newest| now.as_millisecond() - newest >= OLD_MS)
}

/// Puts a first prompt behind the words that name the conversation: behind any flag, one that takes several values would
/// take it.
fn with_prompt(words: &[String], session: &SessionKey, prompt: Option<String>) -> Vec<String> {
    let mut words = words.to_vec();
    if let Some(prompt) = prompt {
        let named =
            words.iter().position(|word| word == session.id().as_str()).map_or(words.len(), |at| at + 1);
        words.insert(named, prompt);
    }
    words
}
