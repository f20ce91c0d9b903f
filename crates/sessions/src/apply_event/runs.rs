//! The processes of a conversation: each is noted once, at the first event that names it.

use std::collections::BTreeMap;

use agents::claude::pid_domain::PidDomain;
use store::record::{Evidence, Grade, Provenance, Run, SessionRecord, Status};
use store::spool;

use crate::spooled_event::{SpooledEvent, What, arguments};
use crate::trust::is_vouched_for;

/// Notes the process, if it is a new one.
pub(super) fn note_run(record: &mut SessionRecord, heard: &SpooledEvent, is_start: bool) {
    let Some(agent) = heard.agent() else { return };
    if heard.sealed {
        // What an untrusted run says of this process is not taken over: it is noted anew.
        record.runs.retain(|run| !run.is(agent.pid, agent.start) || is_vouched_for(run));
    }
    let known = record.runs.iter().position(|run| run.is(agent.pid, agent.start));
    if let Some(at) = known {
        let passing = record.runs[at].is_passing();
        // The newest run is the one that counts; a guest's never is, unless there are only guests.
        let at = if at + 1 < record.runs.len() && !passing {
            let run = record.runs.remove(at);
            record.runs.push(run);
            record.status = Status::Active;
            record.reason = None;
            record.runs.len() - 1
        } else {
            at
        };
        let run = &mut record.runs[at];
        run.heard_at = Some(run.heard_at.map_or(heard.at, |before| before.max(heard.at)));
        let goes_on =
            !matches!(heard.what, What::End { .. }) && run.ended_at.is_some_and(|ended| ended < heard.at);
        if is_start || (goes_on && record.status == Status::Active) {
            // Back in this conversation, after /resume or /clear led out of it; or its end was told by mistake.
            run.ended_at = None;
            run.end_reason = None;
            run.hung_up = false;
        }
        // An agent's registry may have named it first: how it began only its hook says.
        let unknown = run.boot_id.is_none() || run.argv.is_none() || run.source.is_none();
        if let Some(launch) = heard.launch.as_ref().filter(|_| unknown) {
            learn(run, launch.clone(), heard);
        }
        let by_hook = |evidence: &Evidence| {
            evidence.fact == "process" && evidence.source == "hook" && evidence.grade == Grade::Proven
        };
        if heard.sealed && !record.evidence.iter().any(by_hook) {
            record.believe(process_named(agent.pid, heard));
        }
        return;
    }
    let launch = heard.launch.clone().unwrap_or_default();
    let mut run = Run {
        launched_at: heard.at,
        slot_id: None,
        config_dir: heard.transcript.as_deref().and_then(config_of),
        keychain_service: None,
        email: None,
        claude_version: None,
        argv: None,
        cwd: heard.cwd.clone(),
        env: BTreeMap::new(),
        pid: agent.pid,
        proc_start: agent.start,
        tty: heard.tty(),
        machine_id: None,
        boot_id: None,
        pid_namespace: None,
        tmux: None,
        host: None,
        grade: if heard.sealed { None } else { Some(Grade::Guess) },
        provenance: Some(if heard.sealed { Provenance::Event } else { Provenance::Untrusted }),
        accepted_on: None,
        source: None,
        one_shot: is_one_shot(heard),
        nested: heard.is_nested(),
        heard_at: Some(heard.at),
        ended_at: None,
        end_reason: None,
        hung_up: false,
    };
    learn(&mut run, launch, heard);
    let guest = run.is_passing() && record.run().is_some_and(|newest| !newest.is_passing());
    if guest {
        // Before the agent whose conversation it is: the last run is the one that counts.
        record.runs.insert(record.runs.len() - 1, run);
        return;
    }
    record.runs.push(run);
    record.believe(process_named(agent.pid, heard));
    if record.status != Status::Active {
        record.status = Status::Active;
        record.reason = None;
    }
}

/// Takes over what only the SessionStart of a run says. It may come late: from the refuge behind other events, or after
/// the agent's registry has named the process.
fn learn(run: &mut Run, launch: spool::Launch, heard: &SpooledEvent) {
    run.one_shot |= is_one_shot(heard);
    if !launch.env.is_empty() && run.provenance != Some(Provenance::Process) {
        run.env = environment(&launch.env);
    }
    if run.boot_id.is_none() {
        run.boot_id = launch.boot_id;
        let domain = launch.pid_domain.as_deref().map(PidDomain::parse).unwrap_or_default();
        (run.machine_id, run.pid_namespace) = (domain.machine, domain.namespace);
    }
    if run.argv.is_none() {
        let argv = heard.agent().and_then(arguments);
        run.argv = argv.map(|argv| redacted(&argv));
    }
    if let (None, What::Start { source }) = (&run.source, &heard.what) {
        run.source.clone_from(source);
    }
}

/// Arguments without secrets. A word is judged with the flag before it, too: alone it may look like any word.
pub(crate) fn redacted(argv: &[String]) -> Vec<String> {
    let alone = |word: &String| redact::redact(word).into_owned();
    let mut words: Vec<String> = argv.iter().map(alone).collect();
    for at in 1..argv.len() {
        let flag = argv[at - 1].trim_start_matches('-');
        let named = argv[at - 1].starts_with("--") && !flag.contains('=') && !argv[at].starts_with('-');
        if named && redact::holds_secret(&format!("{flag}={}", argv[at])) {
            words[at] = "[redacted: argument]".to_owned();
        }
    }
    words
}

fn process_named(pid: u32, heard: &SpooledEvent) -> Evidence {
    let (grade, detail) = match heard.sealed {
        true => (Grade::Proven, format!("a hook of process {pid} names this conversation")),
        false => {
            let words = "a line without a valid code of this machine names this conversation";
            (Grade::Guess, format!("{words}, and process {pid}"))
        }
    };
    Evidence { fact: "process".to_owned(), grade, source: "hook".to_owned(), detail, at: heard.at }
}

/// `<config>/projects/<slug>/<session>.jsonl`
fn config_of(transcript: &std::path::Path) -> Option<std::path::PathBuf> {
    let projects = transcript.parent()?.parent()?;
    (projects.file_name()? == "projects").then(|| projects.parent().map(Into::into))?
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

/// `claude -p` says `sdk-cli`, but inherits `cli` from the agent that started it up to 2.1.100 (measured). An agent in
/// another one's tool has no terminal, so it cannot be for people.
pub(super) fn is_one_shot(heard: &SpooledEvent) -> bool {
    let entrypoint = heard.launch.as_ref().and_then(|launch| launch.entrypoint.as_deref());
    let Some(agent) = heard.agent() else { return false };
    entrypoint == Some("sdk-cli")
        || agent.argv.iter().any(|word| word == "-p" || word == "--print")
        || (heard.is_nested() && agent.tty == 0)
}
