//! One event more in a record. Pure: what the machine looks like now is judged afterwards.

mod runs;
#[cfg(test)]
mod tests;

pub(crate) use runs::{environment, redacted};

use context::shorten;
use jiff::{SignedDuration, Timestamp};
use store::journal::Entry;
use store::record::{Activity, Doing, Run, SessionRecord, Status};

use self::runs::{is_one_shot, note_run};
use crate::complete::task_of;
use crate::note::note;
use crate::spooled_event::{SpooledEvent, What};
use crate::trust::is_vouched_for;

/// Folds an event into its session's record and says what the journal should know.
///
/// Events change only what belongs to their own process. One of a process that is older than the newest run is late, and
/// one of a guest (`claude -p` or a nested agent, in a conversation that is somebody else's) is a guest's: both may
/// complete their own run and change nothing else.
pub(crate) fn fold(record: &mut SessionRecord, heard: &SpooledEvent) -> Vec<Entry> {
    let mut notes = Vec::new();
    // A line without a valid code tells nothing about a session that has a genuine run: neither that it lives, nor that it
    // ended, nor when it was last heard of, on which a restore would act.
    if !heard.sealed && record.runs.iter().any(is_vouched_for) {
        if matches!(heard.what, What::Start { .. } | What::End { .. }) {
            notes.push(note(heard.at, "unsealed_event_ignored", &record.session_id));
        }
        return marked(notes, heard);
    }
    let guest = is_guest(record, heard);
    let late = !guest && is_late(record, heard);
    let is_start = matches!(heard.what, What::Start { .. });
    if guest {
        note_run(record, heard, is_start);
        fold_guest(record, heard, &mut notes);
        return marked(notes, heard);
    }
    if !late {
        record.hear(heard.at);
        if heard.sealed && record.run().is_some_and(|run| !is_vouched_for(run)) {
            // Where an agent is started again is taken from this machine's own word.
            record.project_dir = None;
        }
        record.cwd = heard.cwd.clone().or(record.cwd.take());
        record.transcript_path = heard.transcript.clone().or(record.transcript_path.take());
        record.model = heard.model.clone().or(record.model.take());
        record.permission_mode = heard.permission_mode.clone().or(record.permission_mode.take());
        if record.project_dir.is_none() {
            record.project_dir.clone_from(&heard.cwd);
        }
        note_run(record, heard, is_start);
        if matches!(heard.what, What::Prompt { .. }) {
            come_back(record, heard);
        }
    }
    match &heard.what {
        What::Start { source } if !late => {
            record.status = Status::Active;
            record.reason = None;
            record.next_id = None;
            // A compaction in the middle of a turn is no end of it.
            if source.as_deref() != Some("compact") {
                doing(record, Doing::Idle, heard.at);
            }
            let pid = heard.agent().map_or(0, |agent| agent.pid);
            let source = source.clone().unwrap_or_else(|| "unknown".to_owned());
            notes.push(
                note(heard.at, "session_started", &record.session_id).with("source", source).with("pid", pid),
            );
        }
        What::Start { source } => {
            let source = source.clone().unwrap_or_default();
            notes.push(note(heard.at, "late_event_ignored", &record.session_id).with("source", source));
        }
        What::End { reason } => end(record, heard, reason.as_deref(), late, &mut notes),
        _ if late => {}
        What::Prompt { text } => {
            doing(record, Doing::Busy, heard.at);
            // The transcript has it a moment later, and a better summary with time.
            if record.task.is_none() {
                record.task = text.as_deref().and_then(task_of);
            }
        }
        What::Stop => {
            doing(record, Doing::Idle, heard.at);
            record.last_error = None;
        }
        What::StopFailure { why } => {
            doing(record, Doing::Idle, heard.at);
            let why = shorten(&redact::redact(why.as_deref().unwrap_or("unknown")), LONGEST_ERROR);
            record.last_error = Some(why.clone());
            notes.push(note(heard.at, "turn_failed", &record.session_id).with("why", why));
        }
        // `idle_prompt` reminds of a turn that has ended; older agents say the same in words only.
        What::Notification { kind, message } => {
            let idle = kind.as_deref() == Some("idle_prompt")
                || (kind.is_none()
                    && message.as_deref().is_some_and(|text| text.contains("waiting for your input")));
            doing(record, if idle { Doing::Idle } else { Doing::Waiting }, heard.at);
        }
        What::PostCompact => notes.push(note(heard.at, "compacted", &record.session_id)),
        // One that the user asked for has no event for its end on every version, so it counts as part of the turn it is in.
        What::PreCompact | What::CwdChanged | What::Other => {}
    }
    marked(notes, heard)
}

/// Names the event of each note, so that a settle that was killed half way does not tell the same thing twice.
fn marked(mut notes: Vec<Entry>, heard: &SpooledEvent) -> Vec<Entry> {
    for entry in &mut notes {
        entry.details.insert("spool".to_owned(), heard.offset.into());
    }
    notes
}

/// Whether the event's process only looks in: it answers one prompt or belongs to another agent, while the conversation
/// has an agent of its own.
fn is_guest(record: &SessionRecord, heard: &SpooledEvent) -> bool {
    let Some(agent) = heard.agent() else { return false };
    let known = record.runs.iter().find(|run| run.is(agent.pid, agent.start));
    let passing = known.map_or_else(|| heard.is_nested() || is_one_shot(heard), Run::is_passing);
    passing && record.run().is_some_and(|run| !run.is(agent.pid, agent.start) && !run.is_passing())
}

fn fold_guest(record: &mut SessionRecord, heard: &SpooledEvent, notes: &mut Vec<Entry>) {
    let pid = heard.agent().map_or(0, |agent| agent.pid);
    match &heard.what {
        What::Start { .. } => {
            notes.push(note(heard.at, "guest_started", &record.session_id).with("pid", pid));
        }
        What::End { reason } => end(record, heard, reason.as_deref(), true, notes),
        _ => {}
    }
}

/// A process that had left for another conversation is heard in this one again without a SessionStart: 2.1.31 forks by
/// starting in the new conversation, then in the old one, and then speaks in the new one (measured).
fn come_back(record: &mut SessionRecord, heard: &SpooledEvent) {
    let gone = record.status == Status::EndedCleanly
        && record.reason.as_deref().is_some_and(|reason| reason == LEFT || LEAVING.contains(&reason));
    let Some(agent) = heard.agent() else { return };
    if gone && record.run().is_some_and(|run| run.is(agent.pid, agent.start)) {
        record.status = Status::Active;
        record.reason = None;
        record.next_id = None;
        if let Some(run) = record.runs.last_mut() {
            run.ended_at = None;
            run.end_reason = None;
            run.hung_up = false;
        }
    }
}

/// Whether the event comes from a process that a newer one has followed.
fn is_late(record: &SessionRecord, heard: &SpooledEvent) -> bool {
    let Some(newest) = record.run() else { return false };
    // Processes but no agent among them: it was gone before its hook could look. Without a process table nobody is seen.
    // Its own end it may still have told: then the hook has outlived it.
    let Some(agent) = heard.agent() else { return !heard.chain.is_empty() && !tells_its_end(newest, heard) };
    if newest.is(agent.pid, agent.start) {
        return false;
    }
    let boot = heard.launch.as_ref().and_then(|launch| launch.boot_id.as_ref());
    // Ticks count from boot: those of another boot say nothing.
    let same_boot = boot.is_none() || newest.boot_id.is_none() || newest.boot_id.as_ref() == boot;
    // An agent may /resume what a newer one has left: whoever starts or is spoken to after that one's end is in it.
    let enters = matches!(heard.what, What::Start { .. } | What::Prompt { .. })
        && newest.ended_at.is_some_and(|ended| ended < heard.at);
    same_boot && agent.start < newest.proc_start && !enters
}

/// Whether an event without an agent is the end of this run: nothing else in the conversation was going on then.
fn tells_its_end(run: &Run, heard: &SpooledEvent) -> bool {
    let in_time = run.ended_at.is_none_or(|ended| heard.at <= ended + LAST_WORDS);
    matches!(heard.what, What::End { .. })
        && run.end_reason.is_none()
        && heard.at >= run.launched_at
        && in_time
}

/// An agent's last hook runs for seconds after its death at most; what is said later is another one's end.
const LAST_WORDS: SignedDuration = SignedDuration::from_secs(30);

/// On a busy machine an agent is gone before its last hook is heard: what it said counts more than that it was silent then.
fn judge_again(record: &mut SessionRecord) {
    let silent = matches!(record.reason.as_deref(), Some("process_died" | "oom"));
    if record.status == Status::Crashed && silent {
        record.status = Status::Active;
        record.reason = None;
    }
}

fn doing(record: &mut SessionRecord, state: Doing, at: Timestamp) {
    match &record.activity {
        Some(activity) if activity.state == state && state != Doing::Busy => {}
        _ => record.activity = Some(Activity { state, since: at }),
    }
}

/// As much of an error as tells what it is.
const LONGEST_ERROR: usize = 300;

/// Reasons that are the user's own doing; everything else is an interruption until the machine says more.
pub(crate) const OWN_ENDS: [&str; 2] = ["prompt_input_exit", "logout"];

/// Why a conversation ended whose agent went on elsewhere without saying so.
pub(crate) const LEFT: &str = "left";

/// Reasons by which the agent goes on in another conversation.
pub(crate) const LEAVING: [&str; 2] = ["clear", "resume"];

fn end(
    record: &mut SessionRecord,
    heard: &SpooledEvent,
    reason: Option<&str>,
    late: bool,
    notes: &mut Vec<Entry>,
) {
    let reason = reason.unwrap_or("other");
    let mut one_shot = false;
    if heard.agent().is_none()
        && !heard.chain.is_empty()
        && !late
        && let Some(run) = record.runs.last_mut().filter(|run| tells_its_end(run, heard))
    {
        // Whether it was really this one is seen by whether it still lives: the verdict's business.
        run.ended_at = Some(heard.at);
        run.end_reason = Some(reason.to_owned());
        judge_again(record);
        notes.push(note(heard.at, "session_ended", &record.session_id).with("reason", reason));
        return;
    }
    if let Some(agent) = heard.agent()
        && let Some(run) = record.run_of(agent.pid, agent.start)
    {
        run.ended_at = Some(heard.at);
        run.end_reason = Some(reason.to_owned());
        // A terminal that is hung up takes itself away from all of its processes (measured): the pane or its server went
        // first, and the agent after it.
        run.hung_up = run.tty.is_some() && agent.tty == 0;
        one_shot = run.one_shot;
    }
    if late {
        return;
    }
    judge_again(record);
    if one_shot {
        record.status = Status::EndedCleanly;
        record.reason = Some("one_shot".to_owned());
    } else if OWN_ENDS.contains(&reason) || LEAVING.contains(&reason) {
        record.status = Status::EndedCleanly;
        record.reason = Some(reason.to_owned());
    }
    notes.push(note(heard.at, "session_ended", &record.session_id).with("reason", reason));
}
