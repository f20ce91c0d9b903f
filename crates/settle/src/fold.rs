//! One event more in a record. Pure: what the machine looks like now is judged afterwards.

use std::collections::BTreeMap;

use agents::claude::chain::Link;
use jiff::Timestamp;
use state::journal::Entry;
use state::record::{Activity, Doing, Evidence, Grade, Run, SessionRecord, Status};

use crate::heard::{Heard, What, arguments};
use crate::note::note;

/// Folds an event into its session's record and says what the journal should know.
///
/// Events change only what belongs to their own process. One of a process that is older than the newest run is late: it
/// may complete its own run and changes nothing else.
pub(crate) fn fold(record: &mut SessionRecord, heard: &Heard) -> Vec<Entry> {
    let mut notes = Vec::new();
    let late = is_late(record, heard);
    if !late {
        record.last_seen = record.last_seen.max(heard.at);
        record.cwd = heard.cwd.clone().or(record.cwd.take());
        record.transcript_path = heard.transcript.clone().or(record.transcript_path.take());
        record.model = heard.model.clone().or(record.model.take());
        record.permission_mode = heard.permission_mode.clone().or(record.permission_mode.take());
        if record.project_dir.is_none() {
            record.project_dir.clone_from(&heard.cwd);
        }
    }
    let is_start = matches!(heard.what, What::Start { .. });
    if !late {
        note_run(record, heard, is_start);
    }
    match &heard.what {
        What::Start { source } if !late => {
            record.status = Status::Active;
            record.reason = None;
            record.next_id = None;
            doing(record, Doing::Idle, heard.at);
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
        What::Prompt | What::PreCompact => doing(record, Doing::Busy, heard.at),
        What::Stop => {
            doing(record, Doing::Idle, heard.at);
            record.last_error = None;
        }
        What::StopFailure { why } => {
            doing(record, Doing::Idle, heard.at);
            let why = why.clone().unwrap_or_else(|| "unknown".to_owned());
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
        What::CwdChanged | What::Other => {}
    }
    for entry in &mut notes {
        // So that a settle that was killed half way does not tell the same thing twice.
        entry.details.insert("spool".to_owned(), heard.offset.into());
    }
    notes
}

/// Whether the event comes from a process that a newer one has followed.
fn is_late(record: &SessionRecord, heard: &Heard) -> bool {
    let (Some(newest), Some(agent)) = (record.run(), heard.agent()) else { return false };
    if newest.is(agent.pid, agent.start) {
        return false;
    }
    let boot = heard.launch.as_ref().and_then(|launch| launch.boot_id.as_ref());
    // Ticks count from boot: those of another boot say nothing.
    let same_boot = boot.is_none() || newest.boot_id.is_none() || newest.boot_id.as_ref() == boot;
    same_boot && agent.start < newest.proc_start
}

fn doing(record: &mut SessionRecord, state: Doing, at: Timestamp) {
    match &record.activity {
        Some(activity) if activity.state == state && state != Doing::Busy => {}
        _ => record.activity = Some(Activity { state, since: at }),
    }
}

/// Notes the process, if it is a new one.
fn note_run(record: &mut SessionRecord, heard: &Heard, is_start: bool) {
    let Some(agent) = heard.agent() else { return };
    let by_hook = Evidence {
        fact: "process".to_owned(),
        grade: Grade::Proven,
        source: "hook".to_owned(),
        detail: format!("a hook of process {} names this conversation", agent.pid),
        at: heard.at,
    };
    if let Some(run) = record.run_of(agent.pid, agent.start) {
        run.heard_at = Some(run.heard_at.map_or(heard.at, |before| before.max(heard.at)));
        if is_start {
            // Back in this conversation, after /resume or /clear led out of it.
            run.ended_at = None;
            run.end_reason = None;
            complete_launch(run, heard);
        }
        if !record.evidence.iter().any(|known| known.fact == by_hook.fact && known.source == by_hook.source) {
            record.believe(by_hook);
        }
        return;
    }
    let launch = heard.launch.clone().unwrap_or_default();
    let domain = launch.pid_domain.as_deref().and_then(split_domain);
    let one_shot = launch.entrypoint.as_deref() == Some("sdk-cli")
        || agent.argv.iter().any(|word| word == "-p" || word == "--print");
    let source = match &heard.what {
        What::Start { source } => source.clone(),
        _ => None,
    };
    record.runs.push(Run {
        launched_at: heard.at,
        slot_id: None,
        config_dir: heard.transcript.as_deref().and_then(config_of),
        keychain_service: None,
        email: None,
        claude_version: None,
        argv: redacted_arguments(agent),
        cwd: heard.cwd.clone(),
        env: environment(&launch.env),
        pid: agent.pid,
        proc_start: agent.start,
        tty: heard.tty(),
        machine_id: domain.as_ref().map(|(machine, _)| machine.clone()),
        boot_id: launch.boot_id,
        pid_namespace: domain.map(|(_, namespace)| namespace),
        tmux: None,
        host: None,
        grade: None,
        source,
        one_shot,
        nested: heard.is_nested(),
        heard_at: Some(heard.at),
        ended_at: None,
        end_reason: None,
        hung_up: false,
    });
    record.believe(by_hook);
    if record.status != Status::Active {
        record.status = Status::Active;
        record.reason = None;
    }
}

/// Fills in what the registry did not know of a process that it named before its first hook came.
fn complete_launch(run: &mut Run, heard: &Heard) {
    let Some(launch) = heard.launch.as_ref().filter(|_| run.argv.is_none() && run.env.is_empty()) else {
        return;
    };
    run.env = environment(&launch.env);
    run.argv = heard.agent().and_then(redacted_arguments);
    if let (None, What::Start { source }) = (&run.source, &heard.what) {
        run.source.clone_from(source);
    }
}

fn redacted_arguments(agent: &Link) -> Option<Vec<String>> {
    let argv = arguments(agent)?;
    Some(argv.iter().map(|word| redact::redact(word).into_owned()).collect())
}

/// `<config>/projects/<slug>/<session>.jsonl`
fn config_of(transcript: &std::path::Path) -> Option<std::path::PathBuf> {
    let projects = transcript.parent()?.parent()?;
    (projects.file_name()? == "projects").then(|| projects.parent().map(Into::into))?
}

/// `linux:<machine>:<namespace>`
fn split_domain(domain: &str) -> Option<(String, String)> {
    let (_, rest) = domain.split_once(':')?;
    let (machine, namespace) = rest.split_once(':')?;
    Some((machine.to_owned(), namespace.to_owned()))
}

/// Never a value that redaction would touch: of such a variable only the name.
pub(crate) fn environment(variables: &[(String, String)]) -> BTreeMap<String, String> {
    let kept = |(name, value): &(String, String)| {
        let named = format!("{name}={value}");
        let value = if redact::holds_secret(&named) { String::new() } else { value.clone() };
        (name.clone(), value)
    };
    variables.iter().map(kept).collect()
}

/// Reasons that are the user's own doing; everything else is an interruption until the machine says more.
const OWN_ENDS: [&str; 2] = ["prompt_input_exit", "logout"];

/// Reasons by which the agent goes on in another conversation.
const LEAVING: [&str; 2] = ["clear", "resume"];

fn end(record: &mut SessionRecord, heard: &Heard, reason: Option<&str>, late: bool, notes: &mut Vec<Entry>) {
    let reason = reason.unwrap_or("other");
    let mut one_shot = false;
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
    if one_shot {
        record.status = Status::EndedCleanly;
        record.reason = Some("one_shot".to_owned());
    } else if OWN_ENDS.contains(&reason) || LEAVING.contains(&reason) {
        record.status = Status::EndedCleanly;
        record.reason = Some(reason.to_owned());
    }
    notes.push(note(heard.at, "session_ended", &record.session_id).with("reason", reason));
}

#[cfg(test)]
mod tests {
    use super::*;
    use agents::SessionId;
    use serde_json::json;
    use state::spool;

    /// A look at the registry may come some milliseconds before the first hook.
    #[test]
    fn a_run_that_the_registry_named_first_is_completed_by_its_hook() {
        let mut record = SessionRecord::new(SessionId::new("s1").unwrap(), Timestamp::UNIX_EPOCH);
        let run = json!({"launchedAt": Timestamp::UNIX_EPOCH, "pid": 8, "procStart": 9});
        record.runs.push(serde_json::from_value(run).unwrap());
        let event = json!({"schema": 1, "event": "SessionStart", "at": 5, "input": {"source": "startup"},
            "chain": [{"pid": 8, "start": 9, "comm": "claude", "argv": ["claude", "--model", "m"]}],
            "launch": {"env": [["TMUX_PANE", "%1"]]}});
        let event = serde_json::from_value(event).unwrap();
        fold(&mut record, &Heard::of(spool::Read { offset: 0, event }));
        assert_eq!(record.runs.len(), 1);
        let run = &record.runs[0];
        assert_eq!(run.argv.as_deref().map(<[String]>::len), Some(3));
        assert_eq!(run.env.get("TMUX_PANE").map(String::as_str), Some("%1"));
        assert_eq!(run.source.as_deref(), Some("startup"));
        assert!(record.evidence.iter().any(|evidence| evidence.source == "hook"));
    }
}
