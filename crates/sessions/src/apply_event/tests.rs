use super::*;
use crate::bench::{Said, agent, at, end, start, told};
use store::record::Provenance;

/// Status, reason, and the process that counts.
fn state(record: &SessionRecord) -> (Status, Option<&str>, Option<u32>) {
    (record.status, record.reason.as_deref(), record.run().map(|run| run.pid))
}

/// F-resume-18
#[test]
fn ends_are_told_apart_by_their_reason() {
    let check = |reason: &str, status: Status, kept: Option<&str>| {
        let (record, notes) = told("a", &[start(agent(5, 0), 1), end(agent(5, 0), 2, reason)]);
        assert_eq!(state(&record), (status, kept, Some(5)), "{reason}");
        assert_eq!(notes, ["session_started", "session_ended"], "{reason}");
    };
    check("prompt_input_exit", Status::EndedCleanly, Some("prompt_input_exit"));
    check("logout", Status::EndedCleanly, Some("logout"));
    check("clear", Status::EndedCleanly, Some("clear"));
    check("resume", Status::EndedCleanly, Some("resume"));
    // An interruption: what it was is judged by what the machine looks like.
    check("other", Status::Active, None);
    check("", Status::Active, None);
    check("unheard_of", Status::Active, None);
}

#[test]
fn a_terminal_that_went_first_is_a_hang_up() {
    let hung_up = |first, last| {
        told("a", &[start(agent(5, first), 1), end(agent(5, last), 2, "other")]).0.runs[0].hung_up
    };
    assert!(hung_up(0, -1));
    assert!(!hung_up(0, 0));
    assert!(!hung_up(-1, -1), "setsid: there never was one");
}

/// Its hook was heard after its death had been judged, and may have looked for it in vain.
#[test]
fn a_word_that_comes_late_counts_more_than_silence() {
    let mut orphan = Said::by(agent(1, -1), "SessionEnd", 2).with("reason", "other");
    orphan.chain[0].comm = "sh".to_owned();
    // Whose terminal an orphan has lost cannot be told: that of a session whose leader died, too.
    for (last, hung_up) in [(end(agent(5, -1), 2, "other"), true), (orphan, false)] {
        for (judged, expect) in [("process_died", Status::Active), ("server_exit", Status::Crashed)] {
            let (mut record, _) = told("a", &[start(agent(5, 0), 1)]);
            record.status = Status::Crashed;
            record.reason = Some(judged.to_owned());
            record.runs[0].ended_at = Some(crate::bench::at(3));
            fold(&mut record, &last.heard());
            assert_eq!((record.status, record.runs[0].hung_up), (expect, hung_up), "{judged}");
        }
    }
}

/// Somebody else resumed it for one prompt, long after, and was gone before its hook could look.
#[test]
fn an_end_that_comes_long_after_a_death_is_anothers() {
    let mut orphan = Said::by(agent(1, -1), "SessionEnd", 2000).with("reason", "prompt_input_exit");
    orphan.chain[0].comm = "sh".to_owned();
    let (mut record, _) = told("a", &[start(agent(5, 0), 1)]);
    record.status = Status::Crashed;
    record.reason = Some("process_died".to_owned());
    record.runs[0].ended_at = Some(crate::bench::at(3));
    fold(&mut record, &orphan.heard());
    assert_eq!((record.status, record.runs[0].end_reason.as_deref()), (Status::Crashed, None));
}

#[test]
fn activity_follows_the_turns() {
    let check = |event: Said, expect: Doing| {
        let before = Said::by(agent(5, 0), "UserPromptSubmit", 2);
        let (record, _) = told("a", &[start(agent(5, 0), 1), before, event]);
        assert_eq!(record.activity.map(|activity| activity.state), Some(expect));
    };
    let say = |name| Said::by(agent(5, 0), name, 3);
    check(say("Stop"), Doing::Idle);
    check(say("StopFailure"), Doing::Idle);
    check(say("PreCompact"), Doing::Busy);
    check(start(agent(5, 0), 3).with("source", "compact"), Doing::Busy);
    check(start(agent(5, 0), 3).with("source", "resume"), Doing::Idle);
    check(say("SubagentStop"), Doing::Busy);
    check(say("Notification").with("notification_type", "permission_prompt"), Doing::Waiting);
    check(say("Notification").with("notification_type", "idle_prompt"), Doing::Idle);
    check(say("Notification").with("message", "Claude is waiting for your input"), Doing::Idle);
}

#[test]
fn a_late_event_of_an_older_process_changes_only_its_own_run() {
    let late = [
        Said::by(agent(5, 0), "UserPromptSubmit", 20).with("cwd", "/late"),
        Said::by(agent(5, 0), "SessionStart", 21).with("cwd", "/late"),
        end(agent(5, 0), 22, "prompt_input_exit"),
    ];
    let mut events = vec![start(agent(5, 0), 1), start(agent(7, 1), 10).with("cwd", "/new")];
    let (before, _) = told("a", &events);
    events.extend(late);
    let (record, notes) = told("a", &events);
    assert_eq!(state(&record), (Status::Active, None, Some(7)));
    assert_eq!((record.cwd, record.activity), (before.cwd, before.activity));
    assert_eq!(record.runs[0].end_reason.as_deref(), Some("prompt_input_exit"));
    assert_eq!(notes, ["session_started", "session_started", "late_event_ignored"]);
}

#[test]
fn an_event_whose_agent_is_gone_is_late_once_an_agent_is_known() {
    let orphan = |name| {
        let mut said = Said::by(agent(1, -1), name, 20).with("reason", "prompt_input_exit");
        said.chain[0].comm = "sh".to_owned();
        said
    };
    let (record, _) = told("a", &[start(agent(5, 0), 1), orphan("SessionEnd")]);
    assert_eq!(
        state(&record),
        (Status::Active, None, Some(5)),
        "whether it was this one is judged by its death"
    );
    assert_eq!(record.runs[0].end_reason.as_deref(), Some("prompt_input_exit"));
    let goes_on = [start(agent(5, 0), 1), orphan("SessionEnd"), Said::by(agent(5, 0), "Stop", 30)];
    assert_eq!(told("a", &goes_on).0.runs[0].end_reason, None, "it was another one's");
    let ended = [start(agent(5, 0), 1), end(agent(5, 0), 2, "logout"), orphan("SessionStart")];
    assert_eq!(state(&told("a", &ended).0), (Status::EndedCleanly, Some("logout"), Some(5)));
    // Nobody else is known, or there is no process table: it is all there is to go by.
    assert_eq!(told("a", &[orphan("SessionEnd")]).0.status, Status::EndedCleanly);
    let mut unseen = orphan("SessionEnd");
    unseen.chain.clear();
    assert_eq!(told("a", &[start(agent(5, 0), 1), unseen]).0.status, Status::EndedCleanly);
}

#[test]
fn an_older_process_may_resume_what_a_newer_one_has_ended() {
    let newer = [start(agent(7, 1), 1), end(agent(7, 1), 10, "prompt_input_exit")];
    let resume = |at| Said::by(agent(5, 0), "SessionStart", at).with("source", "resume");
    let (record, _) = told("a", &newer.into_iter().chain([resume(20)]).collect::<Vec<_>>());
    assert_eq!(state(&record), (Status::Active, None, Some(5)));
    let newer = [start(agent(7, 1), 1), end(agent(7, 1), 10, "prompt_input_exit")];
    let (record, _) = told("a", &newer.into_iter().chain([resume(9)]).collect::<Vec<_>>());
    assert_eq!(record.run().map(|run| run.pid), Some(7), "said before that one's end, so it is late");
}

#[test]
fn ticks_of_another_boot_are_not_compared() {
    let mut again = start(agent(5, 0), 20).with("source", "resume");
    again.boot = Some("boot-2");
    let (record, _) = told("a", &[start(agent(7, 0), 1), again]);
    assert_eq!(state(&record), (Status::Active, None, Some(5)));
}

#[test]
fn a_clock_that_jumps_back_moves_nothing_back() {
    let back = [Said::by(agent(5, 0), "UserPromptSubmit", -500), Said::by(agent(5, 0), "Stop", -400)];
    let events: Vec<Said> = [start(agent(5, 0), 100)].into_iter().chain(back).collect();
    let (record, _) = told("a", &events);
    assert_eq!(record.last_seen, at(100));
    assert_eq!(record.runs[0].heard_at, Some(at(100)));
    assert_eq!(record.activity.map(|activity| activity.state), Some(Doing::Idle), "order is that of lines");
}

#[test]
fn one_shots_and_nested_agents_are_known_as_such() {
    let shot = |change: &dyn Fn(&mut Said)| {
        let mut said = start(agent(5, 0), 1);
        change(&mut said);
        let run = told("a", &[said]).0.runs.remove(0);
        (run.one_shot, run.nested)
    };
    assert_eq!(shot(&|_| {}), (false, false));
    assert_eq!(shot(&|said| said.entrypoint = Some("sdk-cli")), (true, false));
    let arguments = |said: &mut Said| said.chain[0].argv = vec!["claude".into(), "-p".into(), "hi".into()];
    assert_eq!(shot(&arguments), (true, false));
    let nested = |said: &mut Said| said.chain.push(agent(3, 0));
    assert_eq!(shot(&nested), (false, true));
    // 2.1.31 and 2.1.100 inherit `cli`, and have no terminal (measured).
    let in_a_tool = |said: &mut Said| said.chain = vec![agent(5, -1), agent(3, 0)];
    assert_eq!(shot(&in_a_tool), (true, true));
}

#[test]
fn a_one_shot_ends_by_itself() {
    let mut said = start(agent(5, 0), 1);
    said.entrypoint = Some("sdk-cli");
    let (record, _) = told("a", &[said, end(agent(5, 0), 2, "other")]);
    assert_eq!(state(&record), (Status::EndedCleanly, Some("one_shot"), Some(5)));
}

#[test]
fn a_guest_changes_nothing_in_a_conversation_with_an_agent_of_its_own() {
    let guest = |name| {
        let mut said = Said::by(agent(9, 1), name, 20).with("cwd", "/guest").with("reason", "other");
        said.entrypoint = Some("sdk-cli");
        said
    };
    let (before, _) = told("a", &[start(agent(5, 0), 1)]);
    let events =
        [start(agent(5, 0), 1), guest("SessionStart"), guest("UserPromptSubmit"), guest("SessionEnd")];
    let (record, notes) = told("a", &events);
    assert_eq!(state(&record), (Status::Active, None, Some(5)));
    assert_eq!((&record.cwd, record.activity, record.last_seen), (&before.cwd, before.activity, at(1)));
    assert_eq!(record.runs[0].end_reason.as_deref(), Some("other"));
    assert_eq!(notes, ["session_started", "guest_started"]);
    // Its own conversation is its own, until an agent for people comes.
    let (record, _) = told("a", &[guest("SessionStart"), start(agent(10, 0), 30)]);
    assert_eq!(state(&record), (Status::Active, None, Some(10)));
}

#[test]
fn a_start_that_comes_behind_other_events_still_tells_of_the_launch() {
    let (record, _) = told("a", &[Said::by(agent(5, 0), "UserPromptSubmit", 2), start(agent(5, 0), 1)]);
    assert_eq!(record.runs.len(), 1);
    assert_eq!(record.runs[0].boot_id.as_deref(), Some("boot-1"));
    assert_eq!(record.runs[0].env.get("TMUX_PANE").map(String::as_str), Some("%0"));
}

#[test]
fn a_prompt_brings_back_who_had_left_and_nobody_else() {
    let back = |reason: &str| {
        let (mut record, _) = told("a", &[start(agent(5, 0), 1)]);
        (record.status, record.reason) = (Status::EndedCleanly, Some(reason.to_owned()));
        fold(&mut record, &Said::by(agent(5, 0), "UserPromptSubmit", 9).heard());
        record.status
    };
    assert_eq!(back("left"), Status::Active);
    assert_eq!(back("clear"), Status::Active);
    assert_eq!(back("prompt_input_exit"), Status::EndedCleanly);
    assert_eq!(back("pane_closed"), Status::EndedCleanly);
}

#[test]
fn secrets_stay_out_of_the_environment() {
    let kept = environment(&[
        ("EDITOR".to_owned(), "vi".to_owned()),
        ("TOKEN".to_owned(), format!("sk-ant-api03-{}AA", "k3Q9zX7bT1mW5vR8".repeat(6))),
    ]);
    assert_eq!((kept["EDITOR"].as_str(), kept["TOKEN"].as_str()), ("vi", ""));
}

/// A look at the registry may come some milliseconds before the first hook.
#[test]
fn a_run_that_the_registry_named_first_is_completed_by_its_hook() {
    let mut record = SessionRecord::new(agents::SessionKey::parse("s1").unwrap(), Timestamp::UNIX_EPOCH);
    let run = serde_json::json!({"launchedAt": Timestamp::UNIX_EPOCH, "pid": 8, "procStart": 9});
    record.runs.push(serde_json::from_value(run).unwrap());
    let event = serde_json::json!({"schema": 1, "event": "SessionStart", "at": 5, "input": {"source": "startup"},
        "chain": [{"pid": 8, "start": 9, "comm": "claude", "argv": ["claude", "--model", "m"]}],
        "launch": {"env": [["TMUX_PANE", "%1"]]}});
    let event = serde_json::from_value(event).unwrap();
    fold(
        &mut record,
        &SpooledEvent::of(store::spool::Read { offset: 0, event, origin: store::mac::Origin::Genuine }),
    );
    assert_eq!(record.runs.len(), 1);
    let run = &record.runs[0];
    assert_eq!(run.argv.as_deref().map(<[String]>::len), Some(3));
    assert_eq!(run.env.get("TMUX_PANE").map(String::as_str), Some("%1"));
    assert_eq!(run.source.as_deref(), Some("startup"));
    assert!(record.evidence.iter().any(|evidence| evidence.source == "hook"));
}

/// F-resume-17
#[test]
fn a_known_process_is_known_again_whatever_it_is_called() {
    let (mut record, _) = told("a", &[start(agent(5, 0), 1)]);
    let mut said = Said::by(agent(5, 0), "UserPromptSubmit", 2);
    said.chain[0].comm = "MainThread".to_owned();
    let mut heard = said.heard();
    heard.known = record.runs.iter().map(|run| (run.pid, run.proc_start)).collect();
    fold(&mut record, &heard);
    assert_eq!(record.activity.map(|activity| activity.state), Some(Doing::Busy));
}

#[test]
fn errors_and_arguments_are_kept_without_secrets() {
    let secret = format!("{}_{}", "ghp", "Zx8Kq2Lm5Np7Rt9Vw1Yb3Cd4Ef6Gh0Jk2Lm4");
    let mut first = start(agent(5, 0), 1);
    first.chain[0].argv =
        ["claude", "--db-password", "s3cr3tW0rd99", "--model", "m"].map(str::to_owned).to_vec();
    let failure = Said::by(agent(5, 0), "StopFailure", 2).with("error", &format!("bad key {secret}"));
    let (record, _) = told("a", &[first, failure]);
    let text = serde_json::to_string(&record).unwrap();
    assert!(!text.contains(&secret) && !text.contains("s3cr3tW0rd99"), "{text}");
    assert_eq!(record.runs[0].argv.as_deref().map(|argv| argv[4].as_str()), Some("m"));
}

#[test]
fn a_line_without_a_code_gives_a_genuine_run_nothing() {
    let (mut record, _) = told("a", &[start(agent(7, 0), 1).with("cwd", "/p")]);
    let mut forged = start(agent(7, 0), 2).with("cwd", "/evil").with("permission_mode", "bypassPermissions");
    forged.sealed = false;
    forged.boot = Some("other");
    fold(&mut record, &forged.heard());
    assert_eq!(record.cwd.as_deref(), Some(std::path::Path::new("/p")));
    assert_eq!((record.permission_mode.as_deref(), record.runs.len()), (None, 1));
    // Neither does it bring an ended session back, whichever process it names, nor end a living one, nor make it younger.
    for pid in [7, 9] {
        let (mut ended, _) = told("a", &[start(agent(7, 0), 1), end(agent(7, 0), 2, "prompt_input_exit")]);
        let before = ended.clone();
        let mut forged = start(agent(pid, 0), 500);
        forged.sealed = false;
        fold(&mut ended, &forged.heard());
        assert_eq!(ended, before, "process {pid}");
    }
    let (mut alive, _) = told("a", &[start(agent(7, 0), 1)]);
    let before = alive.clone();
    for name in ["SessionEnd", "Stop", "UserPromptSubmit"] {
        let mut forged = Said::by(agent(7, 0), name, 900).with("reason", "prompt_input_exit");
        forged.sealed = false;
        fold(&mut alive, &forged.heard());
        assert_eq!(alive, before, "{name}");
    }
}

#[test]
fn a_sealed_line_notes_an_untrusted_process_anew() {
    let mut forged = start(agent(7, 0), 1).with("cwd", "/evil");
    forged.sealed = false;
    let (mut record, _) = told("a", &[forged]);
    record.runs[0].argv = Some(vec!["/evil/claude".to_owned()]);
    assert_eq!(record.runs[0].provenance, Some(Provenance::Untrusted));
    fold(&mut record, &Said::by(agent(7, 0), "UserPromptSubmit", 2).with("cwd", "/p").heard());
    assert_eq!(record.runs.len(), 1);
    assert_eq!((record.runs[0].provenance, record.runs[0].argv.as_ref()), (Some(Provenance::Event), None));
    assert_eq!(record.project_dir.as_deref(), Some(std::path::Path::new("/p")));
    assert_eq!(record.cwd.as_deref(), Some(std::path::Path::new("/p")));
}
