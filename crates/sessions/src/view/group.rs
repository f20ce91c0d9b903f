//! Which claims are about the same agent.

use agents::claude::ConfigDir;
use agents::{SessionId, SessionKey};
use store::record::Grade;
use tmux::{Pane, Server};

use super::claims::Claims;
use super::fact::Claim;
use super::left::left;
use super::{Process, Sources, is_ours};
use crate::accounts::key_of;
use crate::machine_state::{Entry, Life, MachineState, Proc, place};

/// Collects the claims of every source, agent by agent.
pub(super) fn groups(sources: &Sources<'_>) -> Vec<Claims> {
    let world = sources.world;
    let mut groups: Vec<Claims> = Vec::new();
    let left = left(sources.records, world);
    for record in sources.records.values() {
        let mut claims = Claims { left: left.contains(&record.session_id), ..Claims::default() };
        claims.record(record, world);
        groups.push(claims);
    }
    for entry in &world.registry {
        let Ok(id) = SessionId::new(&entry.registered.session) else { continue };
        let session = key_of(sources.records, &id, Some(entry.config.path()));
        registry_group(&mut groups, entry, &session, world).registry(entry, session, world);
    }
    let mut processes: Vec<(&u32, &Proc)> = world.processes.iter().flatten().collect();
    processes.sort_by_key(|(pid, process)| (process.start, **pid));
    for (pid, process) in processes.into_iter().filter(|(_, process)| is_ours(process)) {
        place_process(&mut groups, *pid, process, sources);
    }
    for server in world.alive_servers() {
        for pane in &server.panes {
            tagged(&mut groups, server, pane);
        }
    }
    groups
}

/// The group of a registry's entry: that of its process, else of its conversation, else a new one.
fn registry_group<'a>(
    groups: &'a mut Vec<Claims>,
    entry: &Entry,
    session: &SessionKey,
    world: &MachineState,
) -> &'a mut Claims {
    let said = &entry.registered;
    let start = world.processes.as_ref().and_then(|table| Some(table.get(&said.pid)?.start));
    let alive = entry.life == Life::Alive;
    let of_process = start.filter(|_| alive).and_then(|start| {
        groups.iter().rposition(|group| group.life == Some(Life::Alive) && group.names(said.pid, start))
    });
    let of_session = || {
        let same = |group: &Claims| group.about().is_some_and(|about| about == session);
        groups.iter().position(same)
    };
    let at = of_process.or_else(of_session).unwrap_or_else(|| {
        groups.push(Claims::default());
        groups.len() - 1
    });
    &mut groups[at]
}

/// An agent's process: its terminal tells the pane; one that nothing names is matched by what it shows.
fn place_process(groups: &mut Vec<Claims>, pid: u32, process: &Proc, sources: &Sources<'_>) {
    let world = sources.world;
    let here = process.tty.as_deref().and_then(|tty| world.pane_of_tty(tty));
    let known =
        groups.iter().rposition(|group| group.life == Some(Life::Alive) && group.names(pid, process.start));
    let at = known.unwrap_or_else(|| stray(groups, pid, process, here.map(|(_, pane)| pane), sources));
    // An argument may be a title, and /clear leads away from what was named at the start.
    let named = process.named.iter().filter_map(|named| named_session(named, process, sources));
    let named: Vec<SessionKey> =
        named.filter(|session| !has_left(groups, session, pid, process.start)).collect();
    let group = &mut groups[at];
    group.running(process);
    for session in named {
        let words = format!("the arguments of process {pid} name {}", session.short());
        group.session.push(Claim::new(session, Grade::Likely, "process", words));
    }
    if let Some((server, pane)) = here
        && !group.nested
        && !group.one_shot
    {
        let words = format!("its process is on {} now, the pane's terminal", pane.tty);
        let grade = if known.is_some() && group.session.iter().all(|claim| claim.grade == Grade::Guess) {
            Grade::Likely
        } else {
            Grade::Proven
        };
        group.pane.push(Claim::new(place(server, pane), grade, "terminal", words).at(sources.now));
    }
}

/// The session of the process's own account that an argument names, where it can be an agent's id.
fn named_session(named: &str, process: &Proc, sources: &Sources<'_>) -> Option<SessionKey> {
    key_named(named, process, sources).filter(|key| key.id().is_uuid())
}

fn key_named(named: &str, process: &Proc, sources: &Sources<'_>) -> Option<SessionKey> {
    let config = process.config.as_ref().map(ConfigDir::path);
    Some(key_of(sources.records, &SessionId::new(named).ok()?, config))
}

/// The group of a process that nothing names: the conversation in its arguments or on its pane, if nobody else is in it;
/// else a new one, with the newest conversation of its directory as a guess.
fn stray(
    groups: &mut Vec<Claims>,
    pid: u32,
    process: &Proc,
    pane: Option<&Pane>,
    sources: &Sources<'_>,
) -> usize {
    let free = |groups: &[Claims], key: &SessionKey| {
        let free = |group: &Claims| group.life != Some(Life::Alive) && group.about() == Some(key);
        groups.iter().position(free).filter(|_| !has_left(groups, key, pid, process.start))
    };
    let nested = sources.world.is_nested(pid);
    let tag = pane.and_then(|pane| SessionKey::parse(pane.tag.as_deref()?).ok()).filter(|_| !nested);
    let keys = process.named.iter().filter_map(|named| key_named(named, process, sources));
    let named = keys.into_iter().find_map(|key| free(groups, &key));
    let at = named.or_else(|| tag.and_then(|tag| free(groups, &tag))).unwrap_or_else(|| {
        groups.push(Claims::default());
        groups.len() - 1
    });
    groups[at].stray(pid, process, sources);
    if groups[at].session.is_empty()
        && process.named.is_empty()
        && let Some(config) = &process.config
        && let Some(cwd) = &process.cwd
        && let Some(newest) = (sources.newest)(config, cwd)
    {
        let newest = key_of(sources.records, &newest, Some(config.path()));
        let taken =
            groups.iter().any(|group| group.life == Some(Life::Alive) && group.about() == Some(&newest));
        if !taken {
            let words = "the newest conversation of its directory";
            groups[at].session.push(Claim::new(newest, Grade::Guess, "directory", words));
        }
    }
    at
}

/// Whether this process has left the session for another one: neither its arguments nor its pane's option lead it back.
fn has_left(groups: &[Claims], session: &SessionKey, pid: u32, start: u64) -> bool {
    let left = |group: &Claims| group.left && group.about() == Some(session) && group.names(pid, start);
    groups.iter().any(left)
}

/// A pane's option: it speaks about the conversation's pane, and about the conversation of whoever is in the pane.
fn tagged(groups: &mut [Claims], server: &Server, pane: &Pane) {
    let Some(Ok(session)) = pane.tag.as_deref().map(SessionKey::parse) else { return };
    let here = place(server, pane);
    let left: Vec<Process> = groups
        .iter()
        .filter(|group| group.left && group.about() == Some(&session))
        .flat_map(|group| group.process.iter().map(|claim| claim.value))
        .collect();
    for group in groups {
        let lives_here = group.life == Some(Life::Alive)
            && group.pane.iter().any(|claim| claim.source == "terminal" && claim.value.same_pane(&here));
        let about = group.about() == Some(&session);
        let has_left = left.iter().any(|process| group.names(process.pid, process.start));
        if lives_here && !has_left {
            let words = format!("the option of pane {} names {}", pane.id, session.short());
            group.session.push(Claim::new(session.clone(), Grade::Likely, "pane_option", words));
        }
        if about {
            let words = format!("pane {} carries its id", pane.id);
            group.pane.push(Claim::new(here.clone(), Grade::Likely, "pane_option", words));
        }
    }
}
