//! What is there now: processes, the agents' own registries, tmux servers. Looked at once, asked many times.

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::time::Duration;

use agents::SessionKey;
use agents::claude::chain::{raw_arguments, tty_name};
use agents::claude::pid_domain::{PidDomain, Reach, Vantage};
use agents::claude::process::{Process, Processes};
use agents::claude::registry::{self, Registered};
use agents::claude::time_namespace::StartInside;
use agents::claude::{ConfigDir, launch_variables, process};
use store::record::{Machine, Run, TmuxPlace};
use tmux::{Listing, Pane, Server};

/// Whether something lives: three answers, for unknown is one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Life {
    /// It does.
    Alive,
    /// It does not.
    Dead,
    /// It cannot be told from here.
    Unknown,
}

/// A process, as far as it matters here.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Proc {
    /// When it started, in the kernel's ticks, as the host counts them.
    pub start: u64,
    /// The same as the process itself reads it, where that differs; only looked up for agents.
    pub start_inside: StartInside,
    /// The same in milliseconds since 1970, where the kernel tells.
    pub started_ms: Option<i64>,
    /// Its controlling terminal.
    pub tty: Option<String>,
    /// The process above it.
    pub parent: u32,
    /// Its program and its first two arguments.
    pub first_words: Vec<String>,
    /// All of its arguments; only looked up for agents.
    pub argv: Vec<String>,
    /// Whether it looks like an agent.
    pub agent: bool,
    /// Where it works; only looked up for agents.
    pub cwd: Option<String>,
    /// The variables that a restart would need; only looked up for agents.
    pub launch: Vec<(String, String)>,
    /// The variables that an agent sets for its children and that stop a child from saving anything.
    pub child_variables: Vec<String>,
    /// The conversations that its arguments name: also those of what runs an agent in its pane.
    pub named: Vec<String>,
    /// Its configuration directory by its environment, where that is one of those that are looked at.
    pub config: Option<ConfigDir>,
    /// The socket of the tmux server that such an agent was started in, by its environment.
    pub socket: Option<PathBuf>,
}

impl Proc {
    /// Whether it is the process that started then; nothing where that cannot be told.
    fn has_started_at(&self, start: u64) -> Option<bool> {
        match (self.start_inside.is(self.start, start), self.start_inside) {
            (false, StartInside::Unknown) => None,
            (is_it, _) => Some(is_it),
        }
    }
}

/// An entry of an agent's registry, and whether its process lives.
#[derive(Debug, Clone)]
pub struct Entry {
    /// What it says.
    pub registered: Registered,
    /// Whose registry it is in.
    pub config: ConfigDir,
    /// Whether the process that wrote it lives.
    pub life: Life,
}

/// Everything at one moment.
#[derive(Debug, Clone, Default)]
pub struct MachineState {
    /// The kernel's name for this boot.
    pub boot_id: Option<String>,
    /// This machine and pid namespace.
    pub pid_domain: Option<String>,
    /// The pid namespace of every process; nothing where some cannot be seen.
    pub namespaces: Option<BTreeSet<String>>,
    /// Every process; nothing where the table cannot be read.
    pub processes: Option<HashMap<u32, Proc>>,
    /// The agents' own registries.
    pub registry: Vec<Entry>,
    /// The tmux servers that were asked.
    pub servers: Vec<(PathBuf, Listing)>,
}

/// Long enough for a server on a loaded machine, short enough not to hold anybody up.
const TMUX_DEADLINE: Duration = Duration::from_secs(5);

impl MachineState {
    /// Looks at everything that these configuration directories and sockets concern, and at the servers that running
    /// agents were started in.
    pub fn look(configs: &[ConfigDir], sockets: &BTreeSet<PathBuf>) -> MachineState {
        let table = Processes::look();
        let registered = configs.iter().flat_map(|config| {
            let entries = registry::read(config).entries;
            entries.into_iter().map(|registered| (config.clone(), registered))
        });
        let registry = registered
            .map(|(config, registered)| {
                let life = match registered.alive(&config, &table) {
                    Some(true) => Life::Alive,
                    Some(false) => Life::Dead,
                    None => Life::Unknown,
                };
                Entry { registered, config, life }
            })
            .collect();
        let read = |path: &str| store::files::read_to_string(path).ok().map(|text| text.trim().to_owned());
        let places: Vec<(PathBuf, &ConfigDir)> =
            configs.iter().map(|config| (real(&config.projects()), config)).collect();
        let processes: Option<HashMap<u32, Proc>> = table
            .readable()
            .then(|| table.all().iter().map(|process| (process.pid, proc_of(process, &places))).collect());
        let theirs = processes.iter().flat_map(HashMap::values).filter_map(|process| process.socket.clone());
        let sockets: BTreeSet<PathBuf> = sockets.iter().cloned().chain(theirs).collect();
        let mut world = MachineState {
            boot_id: read("/proc/sys/kernel/random/boot_id"),
            pid_domain: process::pid_domain(),
            namespaces: table.vantage().namespaces.clone(),
            processes,
            registry,
            servers: Vec::new(),
        };
        world.ask(&sockets);
        world
    }

    /// Asks further servers; those that were asked before are not asked again.
    pub fn ask(&mut self, sockets: &BTreeSet<PathBuf>) {
        for socket in sockets {
            if !self.servers.iter().any(|(asked, _)| asked == socket) {
                self.servers.push((socket.clone(), tmux::list(socket, TMUX_DEADLINE)));
            }
        }
    }

    /// The machine that was looked at.
    pub fn machine(&self) -> Machine {
        Machine::of_domain(self.pid_domain.as_deref())
    }

    /// Where process ids mean what they mean here: this machine and pid namespace.
    pub(crate) fn own_domain(&self) -> PidDomain {
        self.pid_domain.as_deref().map(PidDomain::parse).unwrap_or_default()
    }

    /// Looks at the processes alone.
    pub fn processes() -> MachineState {
        MachineState::look(&[], &BTreeSet::new())
    }

    /// Whether the process of a run lives.
    pub fn life(&self, run: &Run) -> Life {
        match self.vantage().reach(&run.domain()) {
            Reach::Here => self.process(run.pid, run.proc_start),
            Reach::Gone => Life::Dead,
            Reach::Unknown { .. } => Life::Unknown,
        }
    }

    /// Whether this process lives.
    pub fn process(&self, pid: u32, start: u64) -> Life {
        let Some(table) = &self.processes else { return Life::Unknown };
        match table.get(&pid).map(|process| process.has_started_at(start)) {
            Some(Some(true)) => Life::Alive,
            Some(None) => Life::Unknown,
            Some(Some(false)) | None => Life::Dead,
        }
    }

    /// From where all of this is seen.
    fn vantage(&self) -> Vantage {
        let own = PidDomain { boot: self.boot_id.clone(), ..self.own_domain() };
        Vantage { own, namespaces: self.namespaces.clone() }
    }

    /// The process itself, if it still is the one that started then.
    pub fn proc(&self, pid: u32, start: u64) -> Option<&Proc> {
        self.processes.as_ref()?.get(&pid).filter(|process| process.has_started_at(start) == Some(true))
    }

    /// Whether an agent stands above this process.
    pub fn is_nested(&self, pid: u32) -> bool {
        let Some(table) = &self.processes else { return false };
        let mut above = table.get(&pid).map_or(0, |process| process.parent);
        // The table is not of one moment, so a chain could in theory close.
        for _ in 0..64 {
            match table.get(&above) {
                Some(process) if process.agent => return true,
                Some(process) => above = process.parent,
                None => return false,
            }
        }
        false
    }

    /// Whether a process is younger than one that started then.
    pub fn is_younger(&self, pid: u32, than: u64) -> bool {
        self.processes.as_ref().and_then(|table| table.get(&pid)).is_some_and(|process| process.start > than)
    }

    /// The pane of this terminal, on whatever server has it.
    pub fn pane_of_tty(&self, tty: &str) -> Option<(&Server, &Pane)> {
        self.alive_servers().find_map(|server| Some((server, server.pane_of_tty(tty)?)))
    }

    /// Whether a pane waits to start the agent of a conversation.
    pub fn waits_for(&self, session: &SessionKey) -> bool {
        self.waiting_pane(session).is_some()
    }

    /// The pane that waits to start the agent of a conversation: it is tagged with it, and our own program waits in it.
    pub fn waiting_pane(&self, session: &SessionKey) -> Option<TmuxPlace> {
        let waits = |pane: &Pane| {
            let process = self.processes.as_ref().and_then(|processes| processes.get(&pane.pid));
            let words = process.map(|process| process.first_words.as_slice()).unwrap_or_default();
            matches!(words, [_, group, verb] if group == "pane" && verb == "wait")
        };
        let tagged = |pane: &Pane| pane.tag.as_deref() == Some(session.as_str());
        self.alive_servers().find_map(|server| {
            let pane = server.panes.iter().find(|pane| tagged(pane) && waits(pane))?;
            Some(place(server, pane))
        })
    }

    /// Every server that answered.
    pub fn alive_servers(&self) -> impl Iterator<Item = &Server> {
        self.servers.iter().filter_map(|(_, listing)| match listing {
            Listing::Alive(server) => Some(server),
            _ => None,
        })
    }

    /// Whether every server that was asked answered or is gone: only then does "no pane" mean something.
    pub fn servers_known(&self) -> bool {
        !self.servers.iter().any(|(_, listing)| matches!(listing, Listing::Unknown { .. }))
    }

    /// The server of a place, if it is still the same one.
    pub fn server(&self, place: &TmuxPlace) -> (Life, Option<&Server>) {
        let listing =
            self.servers.iter().find(|(socket, _)| *socket == place.socket).map(|(_, listing)| listing);
        match listing {
            Some(Listing::Alive(server))
                if server.id.pid == place.server && server.id.started == place.started =>
            {
                (Life::Alive, Some(server))
            }
            // Another server on the same socket: the one before it is gone.
            Some(Listing::Alive(_) | Listing::Gone) => (Life::Dead, None),
            Some(Listing::Unknown { .. }) | None => (Life::Unknown, None),
        }
    }
}

/// The place of a pane.
pub(crate) fn place(server: &Server, pane: &Pane) -> TmuxPlace {
    TmuxPlace {
        socket: server.socket.clone(),
        server: server.id.pid,
        started: server.id.started,
        pane: pane.id.clone(),
        reference: server.reference(pane).as_str().to_owned(),
    }
}

/// The socket in a `TMUX` variable: `socket,pid,session`.
pub fn socket_of(tmux: &str) -> Option<PathBuf> {
    let mut parts = tmux.rsplitn(3, ',');
    let (_, _, socket) = (parts.next()?, parts.next()?, parts.next()?);
    Path::new(socket).is_absolute().then(|| PathBuf::from(socket))
}

/// The server's process in a `TMUX` variable.
pub(crate) fn server_of(tmux: &str) -> Option<u32> {
    tmux.rsplit(',').nth(1)?.parse().ok()
}

/// A path without links, or as it is where nothing stands.
fn real(path: &Path) -> PathBuf {
    std::fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf())
}

fn proc_of(process: &Process, places: &[(PathBuf, &ConfigDir)]) -> Proc {
    let seen = Proc {
        start: process.start_ticks,
        started_ms: process.started_ms,
        tty: tty_name(process.tty),
        parent: process.parent,
        first_words: process.arguments().iter().take(3).cloned().collect(),
        named: process.named_sessions().map(str::to_owned).collect(),
        ..Proc::default()
    };
    if !process.is_agent() {
        return seen;
    }
    // What an agent sets for its children: a child that inherits these may save nothing.
    let environment = process.environment().unwrap_or_default();
    let value =
        |name: &str| environment.iter().find(|(variable, _)| variable == name).map(|(_, value)| value);
    let names = ["CLAUDE_CODE_CHILD_SESSION", "CLAUDE_CODE_SESSION_ID"];
    let projects = process.projects().map(|projects| real(&projects));
    let config = places.iter().find(|(place, _)| Some(place) == projects.as_ref()).map(|(_, config)| *config);
    let socket = || value("TMUX").and_then(|tmux| socket_of(tmux.to_str()?));
    Proc {
        agent: true,
        start_inside: process.start_inside(),
        argv: raw_arguments(process.pid).unwrap_or_default(),
        cwd: process.cwd(),
        child_variables: names.iter().filter(|name| value(name).is_some()).map(ToString::to_string).collect(),
        launch: launch_variables(environment.iter().cloned()),
        config: config.cloned(),
        socket: config.and_then(|_| socket()),
        ..seen
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sockets_may_hold_commas() {
        assert_eq!(socket_of("/tmp/tmux-0/default,123,0"), Some("/tmp/tmux-0/default".into()));
        assert_eq!(socket_of("/tmp/a,b/s,123,0"), Some("/tmp/a,b/s".into()));
        assert_eq!(socket_of("garbage"), None);
        assert_eq!(socket_of("x,1,2"), None);
    }

    #[test]
    fn an_agent_below_another_is_nested() {
        let proc = |parent, agent| Proc { start: 1, parent, agent, ..Proc::default() };
        let table = [(1, proc(0, false)), (5, proc(1, true)), (6, proc(5, false)), (7, proc(6, true))];
        let world = MachineState { processes: Some(table.into()), ..MachineState::default() };
        assert!(world.is_nested(7));
        assert!(!world.is_nested(5));
        assert_eq!(world.process(7, 1), Life::Alive);
        assert_eq!(world.process(7, 2), Life::Dead);
        assert_eq!(MachineState::default().process(7, 1), Life::Unknown);
    }
}
