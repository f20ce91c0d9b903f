//! Looking at the machine. Nothing is changed, nothing is made, and whatever is run has a deadline.

mod agents;
mod disk;
mod sites;
mod state;
mod tmux;

use std::path::PathBuf;

use integrate::Program;
use integrate::init::Site;
use jiff::Timestamp;
use store::StateDir;
use store::fallback_spool::FallbackSpool;

use crate::facts::{ConfigFacts, Facts, StateFound};

/// Where to look, by what the program read from its environment.
#[derive(Debug, Clone)]
pub struct Places {
    /// The clock.
    pub now: Timestamp,
    /// The home directory.
    pub home: Option<PathBuf>,
    /// The folders of `PATH`.
    pub path: Vec<PathBuf>,
    /// The state directory.
    pub state: PathBuf,
    /// The machine's key.
    pub machine_key: PathBuf,
    /// Where events wait when the state cannot be written.
    pub refuge: FallbackSpool,
    /// This program as settings name it.
    pub program: Program,
    /// This program's own file.
    pub program_file: Option<PathBuf>,
    /// This program's version.
    pub version: &'static str,
    /// The configuration directories with the agents that use them, the main one first.
    pub sites: Vec<Site>,
    /// Where tmux keeps its sockets: `TMUX_TMPDIR`, else `/tmp`.
    pub tmux_base: PathBuf,
    /// The names of all variables of the environment.
    pub variables: Vec<String>,
    /// An organisation's settings.
    pub managed: PathBuf,
    /// What became of the configuration.
    pub config: ConfigFacts,
}

/// Looks at everything.
pub fn gather(places: &Places) -> Facts {
    let configs: Vec<_> = places.sites.iter().map(|site| site.config.clone()).collect();
    let mut state = state::look(places);
    let opened = match &state.found {
        StateFound::Ours => StateDir::existing(&places.state).ok().flatten(),
        _ => None,
    };
    let mut sockets = ::tmux::sockets(&places.tmux_base);
    if let Some(opened) = &opened {
        sockets.extend(state::inside(opened, places, &mut state));
    }
    let world = sessions::MachineState::look(&configs, &sockets.into_iter().collect());
    Facts {
        now: places.now,
        on_path: places.path.iter().any(|folder| folder.join("rekindle").is_file()),
        sites: sites::look(places),
        links: sites::links(places),
        managed: sites::managed(&places.managed),
        agents: agents::look(places, &world, opened.as_ref()),
        tmux: tmux::look(&world, integrate::is_tmux_wired(&places.state)),
        vault: state::vault(opened.as_ref(), &configs),
        disks: disk::spaces(places),
        network: disk::network(&places.state),
        config: places.config.clone(),
        state,
    }
}
