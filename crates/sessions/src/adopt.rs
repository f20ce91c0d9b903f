//! Agents without hooks: what their own registry says becomes a run in a record.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use agents::{SessionId, SessionKey};
use jiff::Timestamp;
use store::journal::Entry as Note;
use store::record::{Activity, Doing, Evidence, Grade, Provenance, Run, SessionRecord, Status};

use crate::accounts::key_of;
use crate::machine_state::{Entry, Life, MachineState};
use crate::note::{mark, note};
use crate::trust::is_vouched_for;

/// Takes over what the agents' registries say of live processes that no hook has named.
pub(crate) fn adopt(
    records: &mut BTreeMap<SessionKey, SessionRecord>,
    world: &MachineState,
    now: Timestamp,
) -> Vec<Note> {
    let mut notes = Vec::new();
    for entry in world.registry.iter().filter(|entry| entry.life == Life::Alive) {
        let Ok(id) = SessionId::new(&entry.registered.session) else { continue };
        let session = key_of(records, &id, Some(entry.config.path()));
        let Some(start) = start_of(entry, world) else { continue };
        let pid = entry.registered.pid;
        // The registry lags behind /resume and /clear (measured): once a hook has named the process, hooks are the word.
        let is_its = |run: &Run| run.is(pid, start) && is_vouched_for(run);
        if let Some(record) = records.get_mut(&session) {
            // The agent itself says that it is in this conversation: what an untrusted run says of it goes.
            record.runs.retain(|run| !run.is(pid, start) || is_vouched_for(run));
        }
        let known = records.values().any(|record| {
            let theirs = record.runs.iter().any(is_its);
            theirs && (record.session_id == session || named_by_hook(record))
        });
        if !known {
            let moved = records.values().any(|record| record.runs.iter().any(is_its));
            let record =
                records.entry(session.clone()).or_insert_with(|| SessionRecord::new(session.clone(), now));
            take(record, entry, start, world, now);
            // A registry may name a conversation that its agent only passed through (2.1.100 at --resume, measured). Its first
            // word is as old as the process: any hook's word is newer.
            if let Some(run) = record.runs.iter_mut().find(|run| run.is(pid, start)).filter(|_| !moved) {
                run.heard_at = Some(run.launched_at);
            }
            let entry = note(now, "session_found", &session).with("pid", pid).with("source", "registry");
            notes.push(mark(entry, format!("{pid}@{start}")));
        }
        if let Some(record) = records.get_mut(&session) {
            activity(record, entry, start);
        }
    }
    notes
}

fn named_by_hook(record: &SessionRecord) -> bool {
    record.evidence.iter().any(|evidence| {
        evidence.fact == "process" && evidence.source == "hook" && evidence.grade == Grade::Proven
    })
}

fn start_of(entry: &Entry, world: &MachineState) -> Option<u64> {
    let process = world.processes.as_ref()?.get(&entry.registered.pid)?;
    Some(process.start)
}

fn take(record: &mut SessionRecord, entry: &Entry, start: u64, world: &MachineState, now: Timestamp) {
    let registered = &entry.registered;
    let process = world.proc(registered.pid, start);
    let tty = process.and_then(|process| process.tty.clone());
    let env = process.map(|process| crate::apply_event::environment(&process.launch)).unwrap_or_default();
    let cwd = registered.cwd.clone().map(std::path::PathBuf::from);
    let domain = world.own_domain();
    let nested = world.is_nested(registered.pid);
    let run = Run {
        launched_at: registered.started_at.and_then(|ms| Timestamp::from_millisecond(ms).ok()).unwrap_or(now),
        slot_id: None,
        config_dir: Some(entry.config.path().to_path_buf()),
        keychain_service: None,
        email: None,
        claude_version: registered.version.clone(),
        argv: None,
        cwd: cwd.clone(),
        env,
        pid: registered.pid,
        proc_start: start,
        tty: tty.clone(),
        machine_id: domain.machine,
        boot_id: world.boot_id.clone(),
        pid_namespace: domain.namespace,
        tmux: None,
        host: None,
        grade: None,
        provenance: Some(Provenance::Event),
        accepted_on: None,
        source: None,
        // Up to 2.1.100 a nested `claude -p` inherits `cli` (measured); without a terminal it cannot be for people.
        one_shot: registered.entrypoint.as_deref() == Some("sdk-cli") || (nested && tty.is_none()),
        nested,
        heard_at: Some(now),
        ended_at: None,
        end_reason: None,
        hung_up: false,
    };
    if run.is_passing() && record.run().is_some_and(|newest| !newest.is_passing()) {
        // A guest in a conversation with an agent of its own: the last run is the one that counts.
        record.runs.insert(record.runs.len() - 1, run);
        return;
    }
    record.runs.push(run);
    record.status = Status::Active;
    record.reason = None;
    record.last_seen = record.last_seen.max(now);
    record.project_dir = record.project_dir.take().or_else(|| cwd.clone());
    record.cwd = cwd.or(record.cwd.take());
    if record.transcript_path.is_none() {
        let slug = registered.cwd.as_deref().and_then(agents::claude::slug);
        let session = record.session_id.id().clone();
        record.transcript_path =
            slug.map(|slug| entry.config.projects().join(slug).join(format!("{session}.jsonl")));
    }
    record.believe(Evidence {
        fact: "process".to_owned(),
        grade: Grade::Proven,
        source: "registry".to_owned(),
        detail: format!("the agent's registry names process {} with its start time", registered.pid),
        at: now,
    });
}

/// The agent's own word on what it is at, where it is newer than the last event.
fn activity(record: &mut SessionRecord, entry: &Entry, start: u64) {
    if !record.run().is_some_and(|run| run.is(entry.registered.pid, start)) {
        return;
    }
    let state = match entry.registered.status.as_deref() {
        Some("busy") => Doing::Busy,
        Some("idle") => Doing::Idle,
        Some("waiting") => Doing::Waiting,
        Some("shell") => Doing::Shell,
        _ => return,
    };
    let since = entry.registered.status_updated_at.and_then(|ms| Timestamp::from_millisecond(ms).ok());
    let Some(since) = since else { return };
    if record.activity.is_none_or(|known| known.since < since && known.state != state) {
        record.activity = Some(Activity { state, since });
    }
}
