//! Made-up processes, events, panes and records for the tests of the pure modules.

use std::collections::HashMap;
use std::path::Path;

use agents::SessionKey;
use agents::claude::ConfigDir;
use agents::claude::chain::Link;
use jiff::Timestamp;
use serde_json::{Value, json};
use store::mac::Origin;
use store::record::{Run, SessionRecord, TmuxPlace};
use store::spool;
use tmux::{Listing, Pane, Server, ServerId};

use crate::apply_event::fold;
use crate::machine_state::{Entry, Life, MachineState, Proc};
use crate::spooled_event::SpooledEvent;

pub(crate) const SOCKET: &str = "/tmp/tmux-0/default";
pub(crate) const BOOT: &str = "boot-1";

pub(crate) fn id(text: &str) -> SessionKey {
    SessionKey::parse(text).unwrap()
}

/// So many seconds after the beginning.
pub(crate) fn at(seconds: i64) -> Timestamp {
    Timestamp::from_second(1_000_000 + seconds).unwrap()
}

/// A process whose start time is ten times its id, on `/dev/pts/N`; no terminal for a negative one.
pub(crate) fn agent(pid: u32, pts: i64) -> Link {
    let tty = u32::try_from(34816 + pts).ok().filter(|_| pts >= 0).unwrap_or_default();
    Link { pid, start: u64::from(pid) * 10, tty, comm: "claude".to_owned(), argv: Vec::new(), cut: false }
}

/// An event of an agent, as settle hears it.
pub(crate) struct Said {
    pub(crate) name: &'static str,
    pub(crate) at: i64,
    pub(crate) chain: Vec<Link>,
    pub(crate) entrypoint: Option<&'static str>,
    pub(crate) boot: Option<&'static str>,
    /// Whether a hook of this machine wrote it.
    pub(crate) sealed: bool,
    pub(crate) input: Value,
}

impl Said {
    pub(crate) fn by(agent: Link, name: &'static str, at: i64) -> Said {
        let boot = (name == "SessionStart").then_some(BOOT);
        Said { name, at, chain: vec![agent], entrypoint: None, boot, sealed: true, input: json!({}) }
    }

    pub(crate) fn with(mut self, key: &str, value: &str) -> Said {
        self.input[key] = value.into();
        self
    }

    pub(crate) fn heard(&self) -> SpooledEvent {
        let launch = self.boot.map(|boot| spool::Launch {
            env: vec![
                ("TMUX".to_owned(), format!("{SOCKET},1,0")),
                ("TMUX_PANE".to_owned(), "%0".to_owned()),
            ],
            entrypoint: self.entrypoint.map(str::to_owned),
            boot_id: Some(boot.to_owned()),
            pid_domain: None,
        });
        SpooledEvent::of(spool::Read {
            offset: self.at.unsigned_abs(),
            event: spool::Event {
                schema: 1,
                event: self.name.to_owned(),
                at: at(self.at).as_millisecond(),
                chain: self.chain.clone(),
                launch,
                input: serde_json::value::to_raw_value(&self.input).unwrap(),
            },
            origin: if self.sealed { Origin::Genuine } else { Origin::Foreign },
        })
    }
}

/// The start of an agent.
pub(crate) fn start(agent: Link, at: i64) -> Said {
    Said::by(agent, "SessionStart", at).with("source", "startup")
}

/// The end of an agent.
pub(crate) fn end(agent: Link, at: i64, reason: &str) -> Said {
    Said::by(agent, "SessionEnd", at).with("reason", reason)
}

/// A record after these events, and what the journal would say.
pub(crate) fn told(session: &str, events: &[Said]) -> (SessionRecord, Vec<String>) {
    let mut record = SessionRecord::new(id(session), at(0));
    let notes: Vec<_> = events.iter().flat_map(|said| fold(&mut record, &said.heard())).collect();
    (record, notes.iter().map(|note| note.event.clone()).collect())
}

/// A run of a process as [`agent`] makes it.
pub(crate) fn run(pid: u32, pts: i64) -> Run {
    told("x", &[start(agent(pid, pts), 1)]).0.runs.remove(0)
}

/// A pane `%N` on `/dev/pts/N`.
pub(crate) fn pane(number: u32) -> Pane {
    Pane {
        id: format!("%{number}"),
        tty: format!("/dev/pts/{number}"),
        session: "work".to_owned(),
        index: number,
        command: "bash".to_owned(),
        ..Pane::default()
    }
}

/// The place of such a pane.
pub(crate) fn place(number: u32) -> TmuxPlace {
    let Listing::Alive(server) = server(&[number]) else { unreachable!() };
    crate::machine_state::place(&server, &server.panes[0])
}

/// A living server with these panes.
pub(crate) fn server(panes: &[u32]) -> Listing {
    Listing::Alive(Server {
        socket: SOCKET.into(),
        id: ServerId { pid: 1, started: 5 },
        version: "3.3a".to_owned(),
        panes: panes.iter().map(|number| pane(*number)).collect(),
    })
}

/// A machine on which these agents live (pid and terminal), with this answer of the server.
pub(crate) fn world(alive: &[(u32, i64)], listing: Listing) -> MachineState {
    let proc = |(pid, pts): &(u32, i64)| {
        let tty = (*pts >= 0).then(|| format!("/dev/pts/{pts}"));
        (*pid, Proc { start: u64::from(*pid) * 10, tty, agent: true, ..Proc::default() })
    };
    MachineState {
        boot_id: Some(BOOT.to_owned()),
        processes: Some(alive.iter().map(proc).collect::<HashMap<_, _>>()),
        servers: vec![(SOCKET.into(), listing)],
        ..MachineState::default()
    }
}

/// A machine on which the agent of this run lives, with these arguments and variables.
pub(crate) fn world_of(run: &Run, argv: &[String], variables: &[(&str, &str)]) -> MachineState {
    let launch = variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    let process = Proc { start: run.proc_start, agent: true, argv: argv.to_vec(), launch, ..Proc::default() };
    MachineState {
        boot_id: run.boot_id.clone(),
        processes: Some(HashMap::from([(run.pid, process)])),
        ..MachineState::default()
    }
}

/// What the registry says of a process.
pub(crate) fn registered(pid: u32, session: &str, entrypoint: &str, life: Life) -> Entry {
    let registered = json!({"pid": pid, "sessionId": session, "entrypoint": entrypoint, "cwd": "/p",
        "status": "busy", "statusUpdatedAt": at(50).as_millisecond(), "version": "2.1.325"});
    Entry {
        registered: serde_json::from_value(registered).unwrap(),
        config: ConfigDir::new(Path::new("/c")),
        life,
    }
}
