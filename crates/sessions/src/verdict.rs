//! What became of a conversation whose agent is gone: ended by its user, or crashed, and why.
//!
//! **Unknown is an answer**: where the process or its server cannot be asked, nothing is decided.

#[cfg(test)]
mod tests;

use jiff::Timestamp;
use store::journal::Entry;
use store::record::{Evidence, Grade, Run, SessionRecord, Status};

use crate::apply_event::{LEAVING, OWN_ENDS};
use crate::machine_state::{Life, MachineState};
use crate::note::{mark, note};

/// How a conversation ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    /// Ended or crashed.
    pub status: Status,
    /// Why, as a word of the contracts.
    pub reason: &'static str,
    /// What shows it.
    pub detail: String,
    /// How sure it is.
    pub grade: Grade,
}

fn crashed(reason: &'static str, detail: impl Into<String>) -> Option<Verdict> {
    Some(Verdict { status: Status::Crashed, reason, detail: detail.into(), grade: Grade::Proven })
}

fn ended(reason: &'static str, detail: impl Into<String>) -> Option<Verdict> {
    Some(Verdict { status: Status::EndedCleanly, reason, detail: detail.into(), grade: Grade::Proven })
}

/// Why a conversation broke off whose user had left it by `/clear` or `/resume`, and whose agent was gone before it was heard
/// in the next one.
pub(crate) const CLEARED: &str = "cleared";

/// Whether the conversation ended because its agent went on elsewhere, and no conversation is known in which it went on.
pub(crate) fn left_for_nowhere(record: &SessionRecord) -> bool {
    let left = |run: &Run| run.end_reason.as_deref().is_some_and(|reason| LEAVING.contains(&reason));
    record.next_id.is_none() && record.run().is_some_and(|run| left(run) && !run.is_passing())
}

/// Judges a record that is still active, or [whose agent went on nowhere](left_for_nowhere). `exited` says whether the transcript ends with the user's own `/exit`.
pub fn verdict(record: &SessionRecord, world: &MachineState, exited: bool) -> Option<Verdict> {
    let run = record.run()?;
    if world.life(run) != Life::Dead || may_hold_another(record, world) {
        return None;
    }
    if run.one_shot {
        return ended("one_shot", "it answered one prompt and went");
    }
    if let Some(own) = OWN_ENDS.iter().find(|own| run.end_reason.as_deref() == Some(**own)) {
        return ended(own, "its user ended it, by the word of a hook that outlived it");
    }
    if left_for_nowhere(record) {
        // `/clear` ends a conversation, not the agent: its user stayed with it.
        let why =
            "its user had just begun a fresh conversation, and its agent was gone before it was heard there";
        return crashed(CLEARED, why);
    }
    if run.end_reason.is_none() && exited {
        // Without hooks the transcript is the only witness of the user's own end.
        return ended("prompt_input_exit", "the conversation ends with /exit");
    }
    if let (Some(boot), Some(now)) = (&run.boot_id, &world.boot_id)
        && boot != now
    {
        return crashed("server_exit", "the machine was started anew since");
    }
    after_death(record, run, world)
}

/// Whether an agent that entered the conversation before its newest one may still be in it.
pub(crate) fn may_hold_another(record: &SessionRecord, world: &MachineState) -> bool {
    record.earlier_open_runs().any(|run| !run.is_passing() && world.life(run) != Life::Dead)
}

/// Notes the end of every earlier process that is provably gone: from a container that could not be told later.
pub(crate) fn end_dead_runs(record: &mut SessionRecord, world: &MachineState, now: Timestamp) {
    let earlier = record.runs.iter_mut().rev().skip(1).filter(|run| run.ended_at.is_none());
    for run in earlier.filter(|run| world.life(run) == Life::Dead) {
        run.ended_at = Some(now);
    }
}

fn after_death(record: &SessionRecord, run: &Run, world: &MachineState) -> Option<Verdict> {
    let said_so = run.end_reason.is_some();
    let Some(place) = record.place.as_ref().or(run.tmux.as_ref()) else {
        return match (said_so, run.hung_up) {
            (true, true) => crashed("server_exit", "its terminal was hung up before it ended"),
            (true, false) => crashed("killed", "it was told to end by a signal"),
            (false, _) => crashed("process_died", "its process is gone without a word"),
        };
    };
    let (life, server) = world.server(place);
    match (life, server) {
        (Life::Unknown, _) => None,
        (Life::Dead, _) => crashed("server_exit", format!("the tmux server {} is gone", place.server)),
        (Life::Alive, server) => {
            let pane = server.and_then(|server| server.pane(&place.pane));
            match pane {
                None if said_so && run.hung_up => {
                    ended("pane_closed", format!("its pane {} was closed, its server lives", place.pane))
                }
                None if said_so => crashed("killed", "it was told to end by a signal, and its pane with it"),
                None => crashed("process_died", "its process and its pane are gone without a word"),
                Some(_) if said_so => {
                    crashed("killed", format!("it was told to end by a signal; pane {} lives", place.pane))
                }
                Some(pane) => crashed(
                    "process_died",
                    format!("its process is gone without a word; pane {} shows {}", pane.id, pane.command),
                ),
            }
        }
    }
}

/// Writes a verdict down.
pub(crate) fn pronounce(record: &mut SessionRecord, verdict: &Verdict, now: Timestamp) -> Entry {
    record.status = verdict.status;
    record.reason = Some(verdict.reason.to_owned());
    if let Some(run) = record.runs.last_mut() {
        run.ended_at.get_or_insert(now);
    }
    record.believe(Evidence {
        fact: "end".to_owned(),
        grade: verdict.grade,
        source: "machine".to_owned(),
        detail: verdict.detail.clone(),
        at: now,
    });
    let event = if verdict.status == Status::Crashed { "session_crashed" } else { "session_closed" };
    let entry = note(now, event, &record.session_id);
    let entry = entry.with("reason", verdict.reason).with("why", verdict.detail.clone());
    // A word that came late may have changed it: that is told again.
    let of = |run: &Run| format!("{}@{} {}", run.pid, run.proc_start, verdict.reason);
    mark(entry, record.run().map(of).unwrap_or_default())
}
