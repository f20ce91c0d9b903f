//! Agents that are installed, agents that run, and what an agent left in this environment.

use std::path::{Path, PathBuf};
use std::time::Duration;

use ::agents::claude::CHILD_VARIABLES;
use ::agents::claude::versions::Seen;
use jiff::{SignedDuration, Timestamp};
use layouts::Save;
use sessions::{MachineState, Proc};
use store::StateDir;
use store::record::{self, SessionRecord, Status};

use super::Places;
use crate::facts::{AgentFacts, Inheriting};

/// Of what an agent sets for its children, these four make a child save nothing; the others do no harm.
const HARMFUL: usize = 4;

pub(super) fn look(places: &Places, world: &MachineState, state: Option<&StateDir>) -> AgentFacts {
    let program = places.path.iter().map(|folder| folder.join("claude")).find(|path| path.is_file());
    let seen: Vec<&Seen> = places.sites.iter().flat_map(|site| &site.agents).collect();
    let version =
        |path: &PathBuf| seen.iter().find(|seen| seen.place == *path).map(|seen| seen.version.clone());
    let mut on_node: Vec<Seen> =
        seen.iter().filter(|seen| runs_on_node(&seen.place)).map(|seen| (*seen).clone()).collect();
    on_node.sort();
    on_node.dedup();
    let crashed = state.map(|state| crashed(state, world, places.now)).unwrap_or_default();
    let harmful = &CHILD_VARIABLES[..HARMFUL];
    AgentFacts {
        on_path: program.map(|path| (path.clone(), version(&path))),
        on_node,
        inheriting: inheriting(places, world),
        inherited_here: harmful
            .iter()
            .filter(|name| places.variables.iter().any(|variable| variable == **name))
            .map(ToString::to_string)
            .collect(),
        held_by_save: state.map(|state| held_by_save(state, &crashed)).unwrap_or_default(),
        crashed: crashed.iter().map(named).collect(),
    }
}

/// A server that is alive answers within milliseconds, a loaded one within a second.
const TMUX_DEADLINE: Duration = Duration::from_secs(2);

/// As long as `recover` lists an agent by default.
const LATELY: SignedDuration = SignedDuration::from_hours(7 * 24);

/// The agents that crashed lately: neither back, nor waiting in a pane, nor gone on as a fresh agent.
fn crashed(state: &StateDir, world: &MachineState, now: Timestamp) -> Vec<SessionRecord> {
    let keys = record::keys(state).unwrap_or_default();
    let records = keys.iter().filter_map(|key| Some(record::load(state, None, key).ok()??.record));
    let is_gone = |record: &SessionRecord| {
        record.status == Status::Crashed
            && record.next_id.is_none()
            && record.run().is_none_or(|run| !run.is_passing())
            && now.duration_since(record.last_seen) <= LATELY
            && !world.waits_for(&record.session_id)
    };
    records.filter(is_gone).collect()
}

fn named(record: &SessionRecord) -> String {
    match &record.name {
        Some(name) => format!("{name} ({})", record.session_id.short()),
        None => record.session_id.short(),
    }
}

/// How many of these agents a restore brings back with their layout.
fn held_by_save(state: &StateDir, crashed: &[SessionRecord]) -> usize {
    if crashed.is_empty() {
        return 0;
    }
    let save = store::saves::named_current(state, None).as_ref().and_then(Save::of);
    let list = |socket: &Path| tmux::list(socket, TMUX_DEADLINE);
    save.map(|save| layouts::held(&save, crashed.iter(), list).len()).unwrap_or_default()
}

/// Packages of the agent hold a script, builds of their own a program.
fn runs_on_node(place: &Path) -> bool {
    std::fs::canonicalize(place).is_ok_and(|real| real.extension().is_some_and(|extension| extension == "js"))
}

fn inheriting(places: &Places, world: &MachineState) -> Vec<Inheriting> {
    let real = |path: &Path| std::fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
    let ours: Vec<PathBuf> = places.sites.iter().map(|site| real(site.config.path())).collect();
    // An agent of another home is somebody else's to look after.
    let is_ours = |process: &Proc| config_of(process).is_some_and(|config| ours.contains(&real(&config)));
    let agents = world.processes.iter().flatten().filter(|(pid, process)| {
        process.agent && !process.child_variables.is_empty() && !world.is_nested(**pid) && is_ours(process)
    });
    let mut found: Vec<Inheriting> = agents
        .map(|(pid, process)| Inheriting {
            pid: *pid,
            cwd: process.cwd.clone(),
            variables: process.child_variables.clone(),
        })
        .collect();
    found.sort_by_key(|agent| agent.pid);
    found
}

fn config_of(process: &Proc) -> Option<PathBuf> {
    let value = |name: &str| {
        let found = process.launch.iter().find(|(variable, _)| variable == name);
        found.map(|(_, value)| value).filter(|value| !value.is_empty()).map(PathBuf::from)
    };
    value("CLAUDE_CONFIG_DIR").or_else(|| value("HOME").map(|home| home.join(".claude")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agents_directory_is_its_environments() {
        let process = |launch: &[(&str, &str)]| Proc {
            launch: launch.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect(),
            ..Proc::default()
        };
        assert_eq!(config_of(&process(&[("HOME", "/h")])), Some("/h/.claude".into()));
        assert_eq!(config_of(&process(&[("HOME", "/h"), ("CLAUDE_CONFIG_DIR", "/c")])), Some("/c".into()));
        assert_eq!(config_of(&process(&[])), None);
    }

    #[test]
    fn the_harmful_ones_come_first() {
        assert_eq!(
            CHILD_VARIABLES[..HARMFUL],
            ["CLAUDECODE", "CLAUDE_CODE_SESSION_ID", "CLAUDE_CODE_CHILD_SESSION", "CLAUDE_CODE_ENTRYPOINT"]
        );
    }
}
