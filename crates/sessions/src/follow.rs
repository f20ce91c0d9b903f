//! One process may go from conversation to conversation: `/clear`, `/resume`, a fork. The chain of ids is kept.
//!
//! Where a process is now is told by what was heard last, not by its last SessionStart: a forking 2.1.31 starts in the new
//! conversation, then in the old one, and goes on in the new one (measured).

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use agents::{SessionId, SessionKey};
use jiff::Timestamp;
use store::journal::Entry;
use store::record::{Run, SessionRecord, Status};

use crate::accounts::key_of;
use crate::apply_event::{LEAVING, LEFT};
use crate::machine_state::{Life, MachineState};
use crate::note::{mark, note};
use crate::trust::is_vouched_for;
use crate::verdict::CLEARED;

/// Links the conversations of each process and ends those that it has left.
pub(crate) fn follow(records: &mut BTreeMap<SessionKey, SessionRecord>, world: &MachineState) -> Vec<Entry> {
    let mut notes = Vec::new();
    for mut way in ways(records) {
        // Who said goodbye has left, whatever the clock did meanwhile.
        way.visits.sort_by_key(|visit| (!visit.left, visit.heard_at));
        share(records, &way);
        for at in 1..way.visits.len() {
            notes.extend(go_on(records, world, &way, at));
        }
    }
    notes
}

/// Links forks to where they come from: 2.1.325 names only the new conversation (measured), its arguments name the old one.
pub(crate) fn origins(records: &mut BTreeMap<SessionKey, SessionRecord>) -> Vec<Entry> {
    let unlinked = |record: &SessionRecord| {
        let forked = |run: &&Run| run.source.as_deref() == Some("fork") && is_vouched_for(run);
        let run = record.runs.iter().find(forked)?;
        let origin = resumed_by(run.argv.as_deref()?)?;
        let origin = key_of(records, &origin, run.config_dir.as_deref());
        let new = origin != record.session_id && !record.previous_ids.contains(&origin);
        new.then(|| (record.session_id.clone(), origin, run.launched_at))
    };
    let forks: Vec<_> = records.values().filter_map(unlinked).collect();
    let mut notes = Vec::new();
    for (fork, origin, at) in forks {
        let mut chain = Vec::new();
        if let Some(from) = records.get_mut(&origin) {
            chain.clone_from(&from.previous_ids);
            if from.status != Status::Active && from.next_id.is_none() {
                from.next_id = Some(fork.clone());
            }
        }
        chain.push(origin.clone());
        if let Some(record) = records.get_mut(&fork) {
            chain.retain(|id| *id != fork && !record.previous_ids.contains(id));
            record.previous_ids.extend(chain);
            let entry = note(at, "session_followed", &fork).with("from", origin.as_str());
            notes.push(mark(entry, format!("fork of {origin}")));
        }
    }
    notes
}

/// A conversation was to go on in a fresh agent that ended before it said a word, at a question to its user for example:
/// nothing goes on, and the old one is waited for again. `closed` are those that cannot be read now.
pub(crate) fn dead_ends(
    records: &mut BTreeMap<SessionKey, SessionRecord>,
    world: &MachineState,
    closed: &BTreeSet<SessionKey>,
) {
    let Some(processes) = &world.processes else { return };
    // An agent may have overwritten its arguments; what it was started by in its pane names the conversation, too.
    let lives = |next: &SessionKey| {
        processes.values().any(|process| process.named.iter().any(|named| named == next.id().as_str()))
    };
    let ended = |record: &SessionRecord| {
        let next = record.next_id.as_ref().filter(|_| record.status == Status::Crashed)?;
        let nowhere = !records.contains_key(next) && !closed.contains(next) && !lives(next);
        nowhere.then(|| record.session_id.clone())
    };
    let ended: Vec<SessionKey> = records.values().filter_map(ended).collect();
    for session in ended {
        if let Some(record) = records.get_mut(&session) {
            record.next_id = None;
        }
    }
}

/// Links the conversation of a fresh agent to the one that it has taken over: a restore wrote that down with the old one.
pub(crate) fn takeovers(records: &mut BTreeMap<SessionKey, SessionRecord>) -> Vec<Entry> {
    let unlinked = |record: &SessionRecord| {
        let next = record.next_id.as_ref().filter(|next| **next != record.session_id)?;
        let new = records.get(next).filter(|_| record.status == Status::Crashed)?;
        let known = new.previous_ids.contains(&record.session_id) || record.previous_ids.contains(next);
        (!known).then(|| (record.session_id.clone(), next.clone(), new.created))
    };
    let taken: Vec<_> = records.values().filter_map(unlinked).collect();
    let mut notes = Vec::new();
    for (old, new, at) in taken {
        let before = records.get(&old);
        let mut chain = before.map(|record| record.previous_ids.clone()).unwrap_or_default();
        let task = before.and_then(|record| record.task.clone());
        chain.push(old.clone());
        if let Some(record) = records.get_mut(&new) {
            chain.retain(|id| *id != new && !record.previous_ids.contains(id));
            record.previous_ids.extend(chain);
            // The fresh agent goes on with it; its own first prompt is rekindle's.
            record.task = record.task.take().or(task);
            let entry = note(at, "session_followed", &new).with("from", old.as_str());
            notes.push(mark(entry, format!("takes over {old}")));
        }
    }
    notes
}

/// The conversation that arguments resume.
fn resumed_by(argv: &[String]) -> Option<SessionId> {
    let pair = argv
        .windows(2)
        .find(|pair| matches!(pair[0].as_str(), "--resume" | "-r"))
        .map(|pair| pair[1].as_str());
    let joined = || argv.iter().find_map(|word| word.strip_prefix("--resume="));
    SessionId::new(pair.or_else(joined)?).ok().filter(SessionId::is_uuid)
}

/// The conversations in which one process was heard.
struct Way {
    pid: u32,
    start: u64,
    visits: Vec<Visit>,
}

struct Visit {
    session: SessionKey,
    heard_at: Timestamp,
    left: bool,
    boot: Option<String>,
}

/// The way of each process that was heard in several conversations.
fn ways(records: &BTreeMap<SessionKey, SessionRecord>) -> Vec<Way> {
    let mut by_process: BTreeMap<(u32, u64), Vec<Visit>> = BTreeMap::new();
    for record in records.values() {
        for run in record.runs.iter().filter(|run| is_vouched_for(run)) {
            let left = run.end_reason.as_deref().is_some_and(|reason| LEAVING.contains(&reason));
            let heard_at = run.heard_at.unwrap_or(run.launched_at);
            let (session, boot) = (record.session_id.clone(), run.boot_id.clone());
            let visit = Visit { session, heard_at, left, boot };
            by_process.entry((run.pid, run.proc_start)).or_default().push(visit);
        }
    }
    let mut ways = Vec::new();
    for ((pid, start), visits) in by_process {
        // A run whose SessionStart was never heard does not know its boot; start times of two boots hardly ever agree.
        let mut by_boot: BTreeMap<Option<String>, Vec<Visit>> = BTreeMap::new();
        let only = visits.iter().find_map(|visit| visit.boot.clone());
        for visit in visits {
            by_boot.entry(visit.boot.clone().or_else(|| only.clone())).or_default().push(visit);
        }
        let several = by_boot.into_values().filter(|visits| visits.len() > 1);
        ways.extend(several.map(|visits| Way { pid, start, visits }));
    }
    ways
}

/// Gives every run of the process what one of them knows of its launch: a forking 2.1.100 is heard in the new conversation
/// without a SessionStart (measured).
fn share(records: &mut BTreeMap<SessionKey, SessionRecord>, way: &Way) {
    let of = |record: &SessionRecord| record.runs.iter().find(|run| run.is(way.pid, way.start)).cloned();
    let runs = way.visits.iter().filter_map(|visit| of(records.get(&visit.session)?));
    let Some(known) = runs.into_iter().find(|run| run.boot_id.is_some()) else { return };
    for visit in &way.visits {
        let run = records.get_mut(&visit.session).and_then(|record| record.run_of(way.pid, way.start));
        if let Some(run) = run.filter(|run| run.boot_id.is_none()) {
            inherit(run, &known);
        }
    }
}

fn inherit(run: &mut Run, known: &Run) {
    run.boot_id.clone_from(&known.boot_id);
    run.machine_id.clone_from(&known.machine_id);
    run.pid_namespace.clone_from(&known.pid_namespace);
    run.env.clone_from(&known.env);
    run.argv = run.argv.take().or_else(|| known.argv.clone());
    run.tty = run.tty.take().or_else(|| known.tty.clone());
    run.one_shot |= known.one_shot;
    run.nested |= known.nested;
}

fn go_on(
    records: &mut BTreeMap<SessionKey, SessionRecord>,
    world: &MachineState,
    way: &Way,
    at: usize,
) -> Option<Entry> {
    let (before, visit) = (&way.visits[at - 1], &way.visits[at]);
    let (from, to) = (&before.session, &visit.session);
    // Left for the one it seems to come from, and not entered since: the clock went back.
    if records.get(to)?.next_id.as_ref() == Some(from) {
        return None;
    }
    let linked = records.get(to)?.previous_ids.contains(from);
    let left = records.get_mut(from)?;
    // It left without a word. Without an end it would still own the conversation.
    if let Some(run) = left.run_of(way.pid, way.start) {
        run.ended_at.get_or_insert(visit.heard_at);
    }
    let its_own = left.run().is_some_and(|run| run.is(way.pid, way.start));
    if left.next_id.as_ref() == Some(to) || (!its_own && linked) {
        return None;
    }
    // 2.1.31 begins every resume in a conversation that it throws away before a word is said (measured).
    let empty = left.last_prompt.is_none() && left.transcript_path.as_ref().is_none_or(|path| !path.exists());
    let mut chain = left.previous_ids.clone();
    if !empty {
        chain.push(from.clone());
    }
    let place = if its_own && !remains(left, world) { leave(left, to) } else { None };
    let entered = records.get_mut(to)?;
    for id in chain {
        if id != *to && !entered.previous_ids.contains(&id) {
            entered.previous_ids.push(id);
        }
    }
    if entered.place.is_none() && entered.run().is_some_and(|run| run.is(way.pid, way.start)) {
        entered.place = place;
    }
    if empty && !its_own {
        return None; // a guest that threw its own beginning away: nothing to tell
    }
    let entry = note(visit.heard_at, "session_followed", to).with("from", from.as_str());
    Some(mark(entry, format!("{}@{} {}", way.pid, way.start, before.heard_at)))
}

fn leave(left: &mut SessionRecord, to: &SessionKey) -> Option<store::record::TmuxPlace> {
    left.next_id = Some(to.clone());
    // SpooledEvent late in the next one, it had gone on after all.
    let gone_on = left.status == Status::Crashed && left.reason.as_deref() == Some(CLEARED);
    if left.status == Status::Active || gone_on {
        left.status = Status::EndedCleanly;
        left.reason = Some(LEFT.to_owned());
    }
    left.place.take()
}

/// Whether another agent still is in the conversation, which then is the one that counts again.
pub(crate) fn remains(left: &mut SessionRecord, world: &MachineState) -> bool {
    let still_in = |run: &&Run| !run.is_passing() && world.life(run) == Life::Alive;
    let Some(other) = left.earlier_open_runs().find(still_in).cloned() else { return false };
    left.runs.retain(|run| *run != other);
    left.place.clone_from(&other.tmux);
    left.runs.push(other);
    left.status = Status::Active;
    left.reason = None;
    true
}
