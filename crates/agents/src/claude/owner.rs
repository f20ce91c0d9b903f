//! Who may be writing a conversation right now.
//!
//! No one source tells: the registry is undocumented, missing before 2.1.100 and removed before the last rows are
//! written; the agent holds no descriptor between appends (measured); agents that run on Node wipe their own argv
//! (2.1.100, measured). So all are asked, and what cannot be told is [`Owner::Unknown`], never "nobody".

use std::collections::{BTreeSet, HashSet};
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use super::pid_domain::{PidDomain, Reach};
use super::process::{Process, Processes};
use super::registry::{self, Registered};
use super::silent::MAY_BE_IN_IT;
use super::{ConfigDir, are_two_accounts, config_of};
use crate::SessionId;

/// Who owns a conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Owner {
    /// No process that could write to it.
    Nobody,
    /// A live process.
    Process(Holder),
    /// It cannot be told; nothing may be changed.
    Unknown {
        /// Why not.
        why: String,
    },
}

/// The process that owns a conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Holder {
    /// Its process id.
    pub pid: u32,
    /// When it started, in milliseconds since 1970, where that is known.
    pub since_ms: Option<i64>,
    /// What shows that it is the owner.
    pub evidence: &'static str,
    /// The pane it says it runs in.
    pub pane: Option<String>,
}

/// A look at everything that runs, to ask for the owners of several conversations.
pub struct Owners {
    processes: Processes,
    registered: Vec<(ConfigDir, Registered)>,
    unreadable: Option<String>,
    recorded: Option<RunLookup>,
}

/// Looks up the processes that may be in the conversation with this id and this transcript, by rekindle's own record.
pub type RunLookup = Box<dyn Fn(&SessionId, &Path) -> Vec<RecordedRun> + Send + Sync>;

/// What the record of a conversation says of one process that was in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RecordedRun {
    /// No end of it is known.
    Open {
        /// Its process id.
        pid: u32,
        /// When it started, in the kernel's ticks since boot.
        start: u64,
        /// Where that id means something.
        domain: PidDomain,
        /// Whether this machine wrote that down. What it did not write may keep an agent from being started, and proves
        /// nothing else.
        genuine: bool,
    },
    /// The user has said that this process is gone, although nothing shows it.
    SaidGone {
        /// Its process id.
        pid: u32,
    },
    /// It has ended, as this machine saw: an entry of 2.1.100's registry that it left behind names nobody.
    Ended {
        /// Its process id.
        pid: u32,
        /// When, in milliseconds since 1970.
        at_ms: i64,
    },
    /// The record cannot be used, so every process may be in it.
    Unreadable {
        /// Why not.
        why: String,
    },
}

impl Owners {
    /// Looks at the registries of these configuration directories and at the process table.
    pub fn look(configs: &[ConfigDir]) -> Owners {
        let mut registered = Vec::new();
        let mut unreadable = None;
        for config in configs {
            let registry = registry::read(config);
            registered.extend(registry.entries.into_iter().map(|entry| (config.clone(), entry)));
            if let Some((path, error)) = registry.unreadable {
                unreadable = Some(format!("{} cannot be read: {error}", path.display()));
            }
        }
        Owners { processes: Processes::look(), registered, unreadable, recorded: None }
    }

    /// The same, with what records know: agents before 2.1.100 have no registry, and the process table shows nothing of
    /// another pid namespace.
    #[must_use]
    pub fn beside(self, recorded: RunLookup) -> Owners {
        Owners { recorded: Some(recorded), ..self }
    }

    /// The processes that were looked at.
    pub fn processes(&self) -> &Processes {
        &self.processes
    }

    /// Who owns the conversation `session` whose transcript is at `path`.
    pub fn of(&self, session: &SessionId, path: &Path) -> Owner {
        let mut unknown = self.unreadable.clone();
        let recorded = self.recorded_runs(session, path);
        let entered = |(config, entry): &&(ConfigDir, Registered)| {
            entry.session == session.as_str() && may_write(&config.projects(), path)
        };
        let ended = |run: &RecordedRun, entry: &Registered| match run {
            RecordedRun::Ended { pid, at_ms } => entry.is_of_ended(*pid, *at_ms),
            _ => false,
        };
        for (config, entry) in self.registered.iter().filter(entered) {
            match entry.alive(config, &self.processes) {
                Some(true) => return Owner::Process(entry.holder()),
                Some(false) => {}
                None if recorded.contains(&RecordedRun::SaidGone { pid: entry.pid }) => {}
                None if recorded.iter().any(|run| ended(run, entry)) => {}
                None => {
                    unknown = Some(format!(
                        "process {} is not to be found here, it may belong to another machine or container",
                        entry.pid
                    ));
                }
            }
        }
        for run in &recorded {
            match run {
                RecordedRun::SaidGone { .. } | RecordedRun::Ended { .. } => {}
                RecordedRun::Open { pid, start, domain, .. } => {
                    match self.processes.vantage().reach(domain) {
                        Reach::Gone => {}
                        Reach::Unknown { why } => {
                            // From the initial namespace the processes of all others are seen, under other ids.
                            if let Some(process) = self.processes.in_namespace(domain, *pid, *start) {
                                let (pid, since_ms) = (process.pid, process.started_ms);
                                let evidence = "its record names it, in a container";
                                return Owner::Process(Holder { pid, since_ms, evidence, pane: None });
                            }
                            unknown = Some(format!("process {pid} was in it, and {why}"));
                        }
                        Reach::Here => {
                            let found = self.processes.get(*pid).filter(|process| process.is_agent());
                            match found.map(|process| (process, process.has_started_at(*start))) {
                                Some((process, Some(true))) => {
                                    let (pid, since_ms) = (process.pid, process.started_ms);
                                    let evidence = "its record names it";
                                    return Owner::Process(Holder { pid, since_ms, evidence, pane: None });
                                }
                                Some((_, None)) => {
                                    let why = "when it started cannot be compared from here";
                                    unknown = Some(format!("process {pid} was in it, and {why}"));
                                }
                                Some((_, Some(false))) | None => {}
                            }
                        }
                    }
                }
                RecordedRun::Unreadable { why } => unknown = Some(why.clone()),
            }
        }
        let holder = |process: &Process, evidence| {
            let (pid, since_ms) = (process.pid, process.started_ms);
            Owner::Process(Holder { pid, since_ms, evidence, pane: None })
        };
        let own = path.parent().and_then(Path::parent);
        let is_elsewhere = |process: &Process| {
            process.is_agent() && own.and_then(|own| process.works_in(own)) == Some(false)
        };
        // Whoever starts an agent names the session, too, and its environment is not the agent's: what it has started tells
        // the account.
        let of_another_account = |process: &Process| {
            let mut started = self.processes.all().iter().filter(|child| child.parent == process.pid);
            is_elsewhere(process) || (!process.is_agent() && started.any(is_elsewhere))
        };
        let names =
            |process: &&Process| process.names_session(session.as_str()) && !of_another_account(process);
        if let Some(process) = self.processes.all().iter().find(names) {
            return holder(process, "its arguments name the session");
        }
        if let Some(process) = self.processes.writing(path) {
            return holder(process, "it has the file open for writing");
        }
        if let Some(process) = self.silent_agent(session, path) {
            return holder(process, MAY_BE_IN_IT);
        }
        match unknown {
            Some(why) => Owner::Unknown { why },
            None if !self.processes.readable() => {
                Owner::Unknown { why: "the process table cannot be read".to_owned() }
            }
            None => Owner::Nobody,
        }
    }

    /// The agents that are in a conversation of this account for certain, by registry or arguments. There should be one.
    /// Without an account, of whichever.
    pub fn agents_in(&self, session: &SessionId, account: Option<&ConfigDir>) -> BTreeSet<u32> {
        let session = session.as_str();
        let ours = |projects: &Path| {
            let theirs = projects.parent().unwrap_or(projects);
            account.is_none_or(|own| !are_two_accounts(theirs, own.path()))
        };
        let entered = self.registered.iter().filter(|(config, entry)| {
            entry.session == session
                && ours(&config.projects())
                && entry.alive(config, &self.processes) == Some(true)
        });
        let registered = entered.map(|(_, entry)| entry.pid);
        // Whoever started it names the conversation, too.
        let named = |process: &&Process| {
            process.is_agent()
                && process.names_session(session)
                && account.and_then(|own| process.works_in(&own.projects())) != Some(false)
        };
        let all: BTreeSet<u32> =
            registered.chain(self.processes.all().iter().filter(named).map(|process| process.pid)).collect();
        // What an agent is just starting has the agent's own arguments for a moment.
        let child =
            |pid: &&u32| self.processes.get(**pid).is_some_and(|process| all.contains(&process.parent));
        all.iter().filter(|pid| !child(pid)).copied().collect()
    }

    /// The ids of all conversations that an agent is in, by registry and arguments: cheap enough for every scan.
    pub fn live_sessions(&self) -> HashSet<String> {
        let alive =
            |(config, entry): &&(ConfigDir, Registered)| entry.alive(config, &self.processes) == Some(true);
        let registered = self.registered.iter().filter(alive).map(|(_, entry)| entry);
        let named = self.processes.all().iter().flat_map(Process::named_sessions);
        registered.map(|entry| entry.session.clone()).chain(named.map(str::to_owned)).collect()
    }

    pub(super) fn is_registered(&self, pid: u32) -> bool {
        // An entry of the same number may be of an agent in a container, or of one that is gone.
        let is_its = |(config, entry): &(ConfigDir, Registered)| {
            entry.pid == pid && entry.alive(config, &self.processes) == Some(true)
        };
        self.registered.iter().any(is_its)
    }

    /// What the record of a conversation says; nothing where records are not asked.
    pub(super) fn recorded_runs(&self, session: &SessionId, transcript: &Path) -> Vec<RecordedRun> {
        self.recorded.as_ref().map_or_else(Vec::new, |look_up| look_up(session, transcript))
    }
}

/// How much of a transcript's end is looked at for its newest row.
const TAIL: u64 = 256 * 1024;

/// When the newest of the last rows was written, in milliseconds since 1970; never later than the file itself, whatever a row
/// says.
pub fn newest_row_ms(path: &Path) -> Option<i64> {
    let mut file = crate::files::open(path).ok()?;
    let meta = file.metadata().ok()?;
    file.seek(SeekFrom::Start(meta.len().saturating_sub(TAIL))).ok()?;
    let mut tail = Vec::new();
    file.take(TAIL).read_to_end(&mut tail).ok()?;
    let rows = tail.split(|byte| *byte == b'\n').filter_map(|row| serde_json::from_slice::<Dated>(row).ok());
    let newest = rows.filter_map(|row| transcript::time_ms(&row.timestamp)).max();
    let changed = meta.modified().ok()?.duration_since(std::time::UNIX_EPOCH).ok()?;
    let changed = i64::try_from(changed.as_millis()).ok()?;
    Some(newest.map_or(changed, |newest| newest.min(changed)))
}

#[derive(serde::Deserialize)]
struct Dated {
    timestamp: String,
}

/// Whether an agent that keeps its transcripts in `projects` may write this one: unless both are here and are two accounts.
/// An agent in a container may have another path for the same folder.
fn may_write(projects: &Path, transcript: &Path) -> bool {
    let (Some(theirs), Some(own)) = (projects.parent(), config_of(transcript)) else { return true };
    !are_two_accounts(theirs, own)
}
