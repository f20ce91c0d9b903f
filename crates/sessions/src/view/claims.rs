//! What every source says about one agent.

use std::path::PathBuf;

use agents::SessionKey;
use jiff::Timestamp;
use store::record::{Evidence, Grade, Run, SessionRecord, Status, TmuxPlace, untrusted_since};

use super::fact::{Claim, weigh};
use super::{AgentView, Process, Sources, State};

use crate::apply_event::LEFT;
use crate::machine_state::{Life, MachineState, Proc};
use crate::trust::is_untrusted;
use crate::verdict::{may_hold_another, verdict};

/// The claims about one agent, fact by fact.
#[derive(Debug, Default)]
pub(super) struct Claims {
    pub(super) session: Vec<Claim<SessionKey>>,
    pub(super) process: Vec<Claim<Process>>,
    pub(super) pane: Vec<Claim<TmuxPlace>>,
    pub(super) terminal: Vec<Claim<String>>,
    pub(super) state: Vec<Claim<State>>,
    pub(super) name: Vec<Claim<String>>,
    pub(super) task: Vec<Claim<String>>,
    pub(super) cwd: Vec<Claim<PathBuf>>,
    pub(super) model: Vec<Claim<String>>,
    pub(super) version: Vec<Claim<String>>,
    pub(super) context_used: Vec<Claim<u32>>,
    pub(super) last_seen: Vec<Claim<Timestamp>>,
    pub(super) vaulted: Vec<Claim<Timestamp>>,
    pub(super) life: Option<Life>,
    pub(super) reason: Option<String>,
    pub(super) one_shot: bool,
    pub(super) nested: bool,
    /// Whether the process that is on record has gone on in another session.
    pub(super) left: bool,
}

impl Claims {
    /// The conversation that the record or the registry of this agent is about.
    pub(super) fn about(&self) -> Option<&SessionKey> {
        self.session.first().map(|claim| &claim.value)
    }

    /// Whether some source has named this process.
    pub(super) fn names(&self, pid: u32, start: u64) -> bool {
        self.process.iter().any(|claim| claim.value == Process { pid, start })
    }

    /// What the record says: hooks and registry as they were heard.
    pub(super) fn record(&mut self, record: &SessionRecord, world: &MachineState) {
        let sure = if is_untrusted(record, world) { Grade::Guess } else { Grade::Proven };
        let session = record.session_id.clone();
        let run = record.run();
        let heard = record.evidence.iter().filter(|evidence| evidence.fact == "process");
        for Evidence { grade, source, detail, at, .. } in heard {
            let grade = (*grade).min(sure);
            self.session.push(Claim::new(session.clone(), grade, source, detail).at(*at));
            if let Some(run) = run {
                let process = Process { pid: run.pid, start: run.proc_start };
                self.process.push(Claim::new(process, grade, source, detail).at(*at));
            }
        }
        if self.session.is_empty() {
            let words = "events name it, but not the process that sent them";
            self.session.push(Claim::new(session.clone(), Grade::Likely.min(sure), "hook", words));
        }
        if let Some(mark) = untrusted_since(record).filter(|_| sure == Grade::Guess) {
            let claim = Claim::new(session.clone(), Grade::Guess, &mark.source, &mark.detail);
            self.session.push(claim.at(mark.at));
        }
        if let Some(run) = run {
            self.run(run, world, sure);
        }
        if let Some(place) = &record.place {
            self.place(record, place, world, sure);
        }
        self.shown(record, world, sure);
        let source = if heard_by_hook(record) { "hook" } else { "registry" };
        let seen = record.last_seen;
        self.last_seen.push(Claim::new(seen, sure, source, "the newest event or entry").at(seen));
        if let Some(cwd) = record.cwd.clone() {
            let words = format!("the newest event names {}", cwd.display());
            self.cwd.push(Claim::new(cwd, sure, source, words).at(seen));
        }
        self.words(record, sure);
    }

    /// Its process, by the process table.
    fn run(&mut self, run: &Run, world: &MachineState, sure: Grade) {
        // A process that has gone on in another session is no agent of this one.
        let life = if self.left { Life::Dead } else { world.life(run) };
        self.life = Some(life);
        (self.one_shot, self.nested) = (run.one_shot, run.nested);
        let process = Process { pid: run.pid, start: run.proc_start };
        let (grade, words) = match life {
            _ if self.left => (sure, "it runs, and is in another session now"),
            Life::Alive => (sure, "it runs, with the start time on record"),
            Life::Dead => (sure, "it is gone"),
            Life::Unknown => (Grade::Likely.min(sure), "whether it runs cannot be told from here"),
        };
        self.process.push(Claim::new(process, grade, "process", words));
        if let Some(tty) = &run.tty {
            self.terminal.push(Claim::new(
                short(tty),
                Grade::Likely.min(sure),
                "record",
                "it was started there",
            ));
        }
        if let Some(version) = run.claude_version.clone() {
            let words = format!("its start has {version} on record");
            self.version.push(Claim::new(version, sure, "record", words));
        }
    }

    /// Its pane, as it was bound, and what became of that pane.
    fn place(&mut self, record: &SessionRecord, place: &TmuxPlace, world: &MachineState, sure: Grade) {
        let bound = record.run().and_then(|run| run.grade).unwrap_or(Grade::Guess).min(sure);
        let told: Vec<&Evidence> = record
            .evidence
            .iter()
            .filter(|evidence| evidence.fact == "pane" && evidence.grade <= bound)
            .collect();
        for Evidence { grade, source, detail, at, .. } in &told {
            self.pane.push(Claim::new(place.clone(), (*grade).min(sure), source, detail).at(*at));
        }
        if told.is_empty() {
            self.pane.push(Claim::new(place.clone(), bound, "record", "it was there when last seen"));
        }
        let became = match world.server(place) {
            (Life::Alive, Some(server)) if server.pane(&place.pane).is_some() => "its server has the pane",
            (Life::Alive, _) => "its server lives, the pane is closed",
            (Life::Dead, _) => "its server is gone",
            (Life::Unknown, _) => "its server was not asked or did not answer",
        };
        self.pane.push(Claim::new(place.clone(), Grade::Likely.min(sure), "tmux", became));
    }

    /// What it is at.
    fn shown(&mut self, record: &SessionRecord, world: &MachineState, sure: Grade) {
        let end = record.evidence.iter().find(|evidence| evidence.fact == "end");
        // Who went without a word went after it was last heard; when that was noticed says nothing.
        let said = record.run().filter(|run| run.end_reason.is_some()).and_then(|run| run.ended_at);
        let ended = said.unwrap_or(record.last_seen);
        let source = if heard_by_hook(record) { "hook" } else { "registry" };
        let reason = record.reason.clone().unwrap_or_else(|| "no reason".to_owned());
        match record.status {
            Status::EndedCleanly | Status::Crashed => {
                let waiting = world.waiting_pane(&record.session_id);
                let state = match record.status {
                    Status::Crashed if waiting.is_some() => State::Dormant,
                    Status::Crashed => State::Crashed,
                    _ => State::Ended,
                };
                if let Some(place) = waiting.filter(|_| state == State::Dormant) {
                    // The pane of its last run is gone, and this one is the newer fact.
                    self.pane.clear();
                    self.pane.push(Claim::new(
                        place,
                        Grade::Likely.min(sure),
                        "tmux",
                        "this pane waits to start it",
                    ));
                }
                let (source, words) = match end {
                    Some(end) => (end.source.as_str(), format!("{reason}: {}", end.detail)),
                    None => (source, format!("it said so: {reason}")),
                };
                self.reason.clone_from(&record.reason);
                self.state.push(Claim::new(state, sure, source, words).at(ended));
            }
            Status::Active => self.active(record, world, sure, source),
        }
    }

    fn active(&mut self, record: &SessionRecord, world: &MachineState, sure: Grade, source: &str) {
        let activity = record.activity.map(|activity| (State::from(activity.state), activity.since));
        match record.run().map_or(Life::Unknown, |run| world.life(run)) {
            Life::Alive if self.left => {
                self.reason = Some(LEFT.to_owned());
                let words = "its agent went on in another session";
                self.state.push(
                    Claim::new(State::Ended, Grade::Likely.min(sure), source, words).at(record.last_seen),
                );
            }
            Life::Alive => match activity {
                Some((state, since)) => {
                    let words = format!("its newest event says {}", state.word());
                    self.state.push(Claim::new(state, sure, source, words).at(since));
                }
                None => self.state.push(Claim::new(State::Unknown, sure, source, "it has not said yet")),
            },
            Life::Dead => {
                match verdict(record, world, false) {
                    Some(verdict) => {
                        let state =
                            if verdict.status == Status::Crashed { State::Crashed } else { State::Ended };
                        self.reason = Some(verdict.reason.to_owned());
                        let words = format!("{}: {}", verdict.reason, verdict.detail);
                        self.state.push(Claim::new(state, Grade::Likely.min(sure), "machine", words));
                    }
                    None => {
                        let words = if may_hold_another(record, world) {
                            "its newest process is gone; whether an earlier one still runs cannot be told"
                        } else {
                            "its process is gone, and its server cannot be asked why"
                        };
                        self.state.push(Claim::new(State::Unknown, Grade::Likely, "machine", words));
                    }
                }
                if let Some((state, since)) = activity {
                    let words = format!("it was {} when last heard", state.word());
                    self.state.push(Claim::new(state, Grade::Guess, source, words).at(since));
                }
            }
            Life::Unknown => {
                let words = "its process belongs to another machine or container, or cannot be seen";
                self.state.push(Claim::new(State::Unknown, Grade::Likely, "process", words));
            }
        }
    }

    fn words(&mut self, record: &SessionRecord, sure: Grade) {
        let folder = record.project_dir.as_deref().and_then(|dir| dir.file_name());
        if let Some(name) = record.name.clone() {
            let (grade, source, words) = if record.given.name.is_some() {
                (Grade::Proven, "given", "you gave it")
            } else if folder.is_some_and(|folder| {
                let base = record.base_name.as_deref().unwrap_or(&name);
                folder.to_string_lossy() == base
            }) {
                (Grade::Guess, "directory", "the name of its directory")
            } else {
                (Grade::Likely, "transcript", "the title in its transcript")
            };
            self.name.push(Claim::new(name, grade.min(sure), source, words));
        }
        if let Some(task) = record.task.clone() {
            let (source, words) = match record.given.task {
                Some(_) => ("given", "you gave it"),
                None => ("transcript", "the first line of its summary"),
            };
            let grade = if source == "given" { Grade::Proven } else { Grade::Likely };
            self.task.push(Claim::new(task, grade.min(sure), source, words));
        }
        if let Some(untrusted) = &record.untrusted_words {
            let words = "its record said so without a valid code: it was edited or copied";
            let claim = |text: &String| Claim::new(text.clone(), Grade::Guess, "seal", words);
            self.name.extend(untrusted.name.iter().filter(|_| record.name.is_none()).map(claim));
            self.task.extend(untrusted.task.iter().filter(|_| record.task.is_none()).map(claim));
        }
        if let Some(model) = record.model.clone() {
            self.model.push(Claim::new(model, sure, "transcript", "its newest reply or event names it"));
        }
        if let Some(used) = record.context_used {
            self.context_used.push(Claim::new(used, sure, "statusline", "its status line was told so"));
        }
        if let Some(at) = record.vaulted_at {
            self.vaulted.push(Claim::new(at, sure, "vault", "the vault took it").at(at));
        }
    }

    /// A process that is this agent's for sure: where it works by the process table.
    pub(super) fn running(&mut self, process: &Proc) {
        if let Some(cwd) = &process.cwd {
            let words = format!("its process works in {cwd}");
            self.cwd.push(Claim::new(PathBuf::from(cwd), Grade::Likely, "process", words));
        }
        if let Some(tty) = &process.tty {
            let words = "its process is on this terminal";
            self.terminal.push(Claim::new(short(tty), Grade::Proven, "terminal", words));
        }
    }

    /// A process that nothing but this says to be the agent.
    pub(super) fn stray(&mut self, pid: u32, process: &Proc, sources: &Sources<'_>) {
        let (found, now) = (Process { pid, start: process.start }, sources.now);
        let words = format!("process {pid} is an agent that no hook and no registry names");
        self.process.push(Claim::new(found, Grade::Proven, "process", words).at(now));
        self.life = Some(Life::Alive);
        self.nested = sources.world.is_nested(pid);
        let words = "running; no hook or registry reports its state";
        let started = process.started_ms.and_then(|ms| Timestamp::from_millisecond(ms).ok());
        let state = Claim::new(State::Unknown, Grade::Proven, "process", words);
        self.state.push(state.at(started.unwrap_or(now)));
        self.reason = None;
    }

    /// Weighs everything; nothing where there is nothing to say.
    pub(super) fn settle(self) -> Option<AgentView> {
        let state = weigh(self.state)?;
        let since = state.evidence.first().and_then(|told| told.at);
        let name = weigh(self.name).or_else(|| {
            let folder = self.cwd.first()?.value.file_name()?.to_string_lossy().into_owned();
            weigh(vec![Claim::new(folder, Grade::Guess, "directory", "the name of its directory")])
        });
        let pane = weigh(self.pane);
        let terminal = weigh(self.terminal).filter(|_| pane.is_none());
        Some(AgentView {
            session: weigh(self.session),
            process: weigh(self.process),
            life: self.life.unwrap_or(Life::Unknown),
            pane,
            terminal,
            reason: self
                .reason
                .filter(|_| matches!(state.value, State::Crashed | State::Dormant | State::Ended)),
            state,
            since,
            name,
            task: weigh(self.task),
            cwd: weigh(self.cwd),
            model: weigh(self.model),
            version: weigh(self.version),
            context_used: weigh(self.context_used),
            last_seen: weigh(self.last_seen),
            vaulted: weigh(self.vaulted),
            one_shot: self.one_shot,
            nested: self.nested,
            left: self.left && self.life != Some(Life::Alive),
            stalled: false,
        })
    }
}

/// `/dev/pts/0` as people write it.
fn short(tty: &str) -> String {
    tty.strip_prefix("/dev/").unwrap_or(tty).to_owned()
}

fn heard_by_hook(record: &SessionRecord) -> bool {
    record.evidence.iter().any(|evidence| evidence.fact == "process" && evidence.source == "hook")
}
