//! Which pane an agent lives in, and who owns a pane.
//!
//! **A binding is proven by the terminal**: the agent's controlling terminal is the pane's, the pane is not younger than the
//! agent, and no other agent stands above it. `TMUX_PANE` alone is inherited by strangers (measured), as is the pane in the agent's own registry.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashMap};

use agents::SessionKey;
use jiff::Timestamp;
use store::journal::Entry;
use store::record::{Evidence, GenuineRun, Grade, Run, SessionRecord, Status, TmuxPlace};

use crate::machine_state::{Life, MachineState, place, server_of, socket_of};
use crate::note::{mark, note};

/// Where a live agent's run is, by what proves it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Binding {
    /// In this pane.
    Here(TmuxPlace, Grade),
    /// In no pane.
    Nowhere {
        /// Why a pane it names is not its own; nothing where it names none.
        refused: Option<String>,
    },
    /// It cannot be told now.
    Unknown,
}

/// Finds the pane of a run. What another machine or a forged line says of a pane binds nothing, so only a genuine run has one.
pub fn binding(run: GenuineRun<'_>, world: &MachineState) -> Binding {
    let run = run.run();
    let named = run.env.get("TMUX_PANE").filter(|pane| !pane.is_empty());
    let refused =
        |why: &str| Binding::Nowhere { refused: named.map(|pane| format!("{pane} is not its pane: {why}")) };
    if run.nested {
        return refused("it was started by another agent");
    }
    if run.one_shot {
        return refused("it answers one prompt and goes");
    }
    let Some(process) = world.proc(run.pid, run.proc_start) else {
        // Its terminal may be somebody else's by now, so nothing can be proven any more.
        return likely(run, world);
    };
    let Some(tty) = &process.tty else { return refused("it has no terminal") };
    match world.pane_of_tty(tty) {
        // The number of a terminal is given to the next one as soon as its server is gone, and the agent may still be there.
        Some((_, pane)) if world.is_younger(pane.pid, run.proc_start) => {
            refused(&format!("its terminal {tty} is a younger one's by now"))
        }
        Some((server, pane)) => Binding::Here(place(server, pane), Grade::Proven),
        None if !world.servers_known() => likely(run, world),
        None => refused(&format!("its terminal is {tty}")),
    }
}

/// By the environment: enough to remember, not to act on.
fn likely(run: &Run, world: &MachineState) -> Binding {
    let socket = run.env.get("TMUX").and_then(|tmux| socket_of(tmux));
    let (Some(socket), Some(pane)) = (socket, run.env.get("TMUX_PANE")) else {
        return Binding::Nowhere { refused: None };
    };
    let life = run.env.get("TMUX").and_then(|tmux| server_of(tmux));
    let server = world.alive_servers().find(|server| server.socket == socket && Some(server.id.pid) == life);
    match server.and_then(|server| Some((server, server.pane(pane)?))) {
        // The same id and the same terminal in the same life of the server: it cannot have been another pane.
        Some((server, pane)) if run.tty.as_deref() == Some(&pane.tty) => {
            Binding::Here(place(server, pane), Grade::Likely)
        }
        _ => Binding::Unknown,
    }
}

/// Brings the places of all active records up to date, and says which panes changed their owner.
pub(crate) fn bind(
    records: &mut BTreeMap<SessionKey, SessionRecord>,
    world: &MachineState,
    now: Timestamp,
) -> Vec<Entry> {
    let mut notes = Vec::new();
    let here = world.machine();
    for record in records.values_mut() {
        refresh_reference(record, world);
        if record.status != Status::Active {
            continue;
        }
        // What came from elsewhere stays a guess, whatever lives under the numbers it names.
        let Some(genuine) = record.runs.last().and_then(|run| run.genuine(&here)) else { continue };
        let alive = world.life(genuine.run()) == Life::Alive;
        if !alive && genuine.run().grade.is_some() {
            continue;
        }
        let found = binding(genuine, world);
        let Some(run) = record.runs.last_mut() else { continue };
        match found {
            Binding::Here(here, grade) if run.grade.is_none_or(|known| known <= grade) => {
                let moved = record.place.as_ref().is_none_or(|before| !before.same_pane(&here));
                if run.tmux.is_none() || run.grade < Some(grade) {
                    run.tmux = Some(here.clone());
                }
                run.grade = Some(grade);
                if moved {
                    let entry = note(now, "pane_bound", &record.session_id)
                        .with("pane", here.reference.clone())
                        .with("id", here.pane.clone())
                        .with("grade", if grade == Grade::Proven { "proven" } else { "likely" });
                    let server = format!("{}@{}", here.server, here.started);
                    notes.push(mark(entry, format!("{}@{} {server}", run.pid, run.proc_start)));
                    let detail = match (&run.tty, grade) {
                        (Some(tty), Grade::Proven) => format!("its terminal {tty} is the pane's"),
                        _ => "its environment names the pane".to_owned(),
                    };
                    let source = if grade == Grade::Proven { "terminal" } else { "environment" };
                    let (fact, source) = ("pane".to_owned(), source.to_owned());
                    record.believe(Evidence { fact, grade, source, detail, at: now });
                }
                record.place = Some(here);
            }
            // Where an earlier agent of the conversation was says nothing about this one.
            Binding::Nowhere { refused } if run.grade.is_none() => {
                record.place = None;
                if let Some(why) = refused {
                    run.grade = Some(Grade::Guess);
                    let entry = note(now, "bind_refused", &record.session_id).with("why", why);
                    notes.push(mark(entry, format!("{}@{}", run.pid, run.proc_start)));
                }
            }
            _ => {}
        }
    }
    notes
}

/// A pane keeps its id when windows are moved and renumbered; what it is called is looked up again.
fn refresh_reference(record: &mut SessionRecord, world: &MachineState) {
    let Some(known) = &mut record.place else { return };
    if let (Life::Alive, Some(server)) = world.server(known)
        && let Some(pane) = server.pane(&known.pane)
    {
        known.reference = server.reference(pane).as_str().to_owned();
    }
}

/// Who owns each pane: the newest of the live agents in it.
///
/// Two may share a terminal (one is stopped in the background): an older process never replaces a newer one.
pub fn owners<'a>(
    records: impl Iterator<Item = &'a SessionRecord>,
    world: &MachineState,
) -> HashMap<(String, String), &'a SessionRecord> {
    let mut owners: HashMap<(String, String), &SessionRecord> = HashMap::new();
    let here = world.machine();
    let start = |record: &SessionRecord| record.run().map_or(0, |run| run.proc_start);
    for record in records.filter(|record| record.status == Status::Active) {
        let Some(run) = record.genuine_run(&here).map(GenuineRun::run) else { continue };
        let Some(place) = &record.place else { continue };
        if world.life(run) != Life::Alive {
            continue;
        }
        let pane = (place.socket.to_string_lossy().into_owned(), place.pane.clone());
        let newer = owners.get(&pane).is_none_or(|before| start(before) < run.proc_start);
        if newer {
            owners.insert(pane, record);
        }
    }
    owners
}
