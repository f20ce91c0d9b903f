//! A transcript that is lost under a living agent: the agent goes on in a new file, and a resume must reach both.
#![expect(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test that cannot go on panics")]

use std::fs;
use std::path::{Path, PathBuf};

use lab::Lab;
use lab::agent::VERSIONS;
use lab::process::wait_until;
use lab::wired::PATIENCE;
use rustix::process::Signal;
use serde_json::{Value, json};

fn words(lab: &Lab, command: &[&str]) -> String {
    let done = lab.rekindle(command).unwrap();
    assert!(done.success(), "{command:?}: {}", done.words());
    done.stdout
}

fn told(lab: &Lab, command: &[&str]) -> Value {
    serde_json::from_str(&words(lab, &[command, &["--json"]].concat())).unwrap()
}

/// Asks the next thing, and waits until its answer is in the transcript.
fn turn(lab: &Lab, transcript: &Path, number: u8) {
    lab.probe("work:0.0", &format!("ask-0{number} please")).unwrap();
    let reply = format!("reply-0{number}");
    let answered = || fs::read_to_string(transcript).is_ok_and(|rows| rows.contains(&reply));
    assert!(wait_until(PATIENCE, answered), "{}", lab.screen("work:0.0"));
}

/// An agent after three turns, all of which are in the vault.
fn after_three_turns() -> (Lab, Value, PathBuf) {
    let lab = Lab::new(VERSIONS[2]).unwrap();
    lab.wire().unwrap();
    lab.shell().unwrap();
    lab.type_line("work:0.0", "claude --permission-mode default 'ask-00 please'").unwrap();
    let record = lab.idle_at("work:0.0", "reply-00").unwrap();
    let transcript = PathBuf::from(record["transcriptPath"].as_str().unwrap());
    turn(&lab, &transcript, 1);
    turn(&lab, &transcript, 2);
    // The agent writes its last row after the reply; settles wait for it.
    wait_for_settles(&lab);
    words(&lab, &["vault", "sync"]);
    (lab, record, transcript)
}

/// Whether the agent in the pane sends these prompts to the API, in this order.
fn reaches(lab: &Lab, prompts: std::ops::Range<u8>) {
    let sent = lab.probe("work:0.0", "probe-one").unwrap();
    let places: Vec<Option<usize>> = prompts.map(|number| sent.find(&format!("ask-0{number}"))).collect();
    assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{places:?} {sent}");
}

/// Three turns, the loss under the living agent, two more turns, `kill -9`, `recover`: the agent reaches all five.
fn lost_under_the_agent(lose: impl Fn(&Lab, &Path)) {
    let (lab, record, transcript) = after_three_turns();
    let session = record["sessionId"].as_str().unwrap();
    lose(&lab, &transcript);
    turn(&lab, &transcript, 3);
    turn(&lab, &transcript, 4);

    // While the agent lives the loss is said, and nothing is touched.
    let says = |live: bool| {
        let scan = &told(&lab, &["scan", session])["sessions"][0];
        assert_eq!((&scan["status"], &scan["live"]), (&json!("corrupted"), &json!(live)), "{scan}");
        let findings = scan["findings"].as_array().unwrap();
        let lost = findings.iter().find(|finding| finding["class"] == "A7");
        let lost = lost.unwrap_or_else(|| panic!("{scan}"));
        assert_eq!(lost["loses"], "3 prompts that only the vault still has", "{scan}");
        let status = words(&lab, &["status"]);
        assert!(status.contains("a resume loses 3 prompts that only the vault still has"), "{status}");
        assert_eq!(losses(&lab, session).len(), 1);
        status
    };
    let status = says(true);
    assert!(status.contains("rekindle puts it back before the next resume"), "{status}");
    let before = fs::read(&transcript).unwrap();
    assert_eq!(lab.rekindle(&["repair", session]).unwrap().code(), Some(3));
    // The agent itself may have ended its turn meanwhile.
    assert!(fs::read(&transcript).unwrap().starts_with(&before));

    lab.signal(&record, Signal::KILL).unwrap();
    lab.settle_until(session, "crashed", |record| record["status"] == "crashed").unwrap();
    let status = says(false);
    assert!(status.contains(&format!("`rekindle repair {}` puts it back", &session[..8])), "{status}");
    let back = told(&lab, &["recover", "work:0.0"]);
    assert_eq!(back["panes"][0]["outcome"], "repaired_resumed", "{back}");
    assert_eq!(back["panes"][0]["sessionId"], session, "{back}");
    reaches(&lab, 0..5);
    assert!(losses(&lab, session).is_empty());
}

/// What `vault status` says was lost of a conversation.
fn losses(lab: &Lab, session: &str) -> Vec<Value> {
    let status = told(lab, &["vault", "status"]);
    let losses = status["losses"].as_array().unwrap();
    losses.iter().filter(|loss| loss["sessionId"] == session).cloned().collect()
}

#[test]
fn a_deleted_transcript_comes_back_with_the_newer_turns_behind_it() {
    lost_under_the_agent(|_, transcript| fs::remove_file(transcript).unwrap());
}

#[test]
fn a_deleted_config_directory_ends_the_same_way() {
    lost_under_the_agent(|lab, _| {
        // The agent may write into it at the same moment.
        let gone = || {
            let _ = fs::remove_dir_all(lab.home.config());
            !lab.home.config().exists()
        };
        assert!(wait_until(PATIENCE, gone));
    });
}

/// Whether the newest version in the vault that a sync has stored holds this word.
fn vault_has(lab: &Lab, session: &str, word: &str) -> bool {
    let copy = lab.home.root().join("copy.jsonl");
    let versions = told(lab, &["vault", "list"])["conversations"].as_array().unwrap().clone();
    let of_session = versions.iter().find(|one| one["sessionId"] == session).unwrap();
    let newest =
        of_session["files"][0]["generations"].as_array().unwrap().last().unwrap()["generation"].clone();
    let _ = fs::remove_file(&copy);
    let (newest, to) = (newest.to_string(), copy.to_str().unwrap());
    words(lab, &["vault", "restore", session, "--version", &newest, "--to", to]);
    fs::read_to_string(copy).unwrap().contains(word)
}

/// The hooks see the new file once, no other sync looks at it, and then it is lost, too.
#[test]
fn a_transcript_that_is_lost_twice_comes_back_with_the_turn_in_between() {
    let (lab, record, transcript) = after_three_turns();
    let session = record["sessionId"].as_str().unwrap();
    fs::remove_file(&transcript).unwrap();
    turn(&lab, &transcript, 3);
    assert!(wait_until(PATIENCE, || vault_has(&lab, session, "reply-03")), "{}", lab.screen("work:0.0"));
    fs::remove_file(&transcript).unwrap();
    lab.signal(&record, Signal::KILL).unwrap();
    lab.settle_until(session, "crashed", |record| record["status"] == "crashed").unwrap();
    let back = told(&lab, &["recover", "work:0.0"]);
    assert_eq!(back["panes"][0]["sessionId"], session, "{back}");
    reaches(&lab, 0..4);
    assert!(losses(&lab, session).is_empty());
}

/// Waits until every settle that hooks started has ended.
fn wait_for_settles(lab: &Lab) {
    let settles = || lab.home.bodies().iter().any(lab::bodies::Body::is_rekindle);
    assert!(wait_until(PATIENCE, || !settles()));
}

/// The folder of a conversation in the vault.
fn copy_of(lab: &Lab, session: &str) -> PathBuf {
    let accounts = fs::read_dir(lab.home.state().join("vault/conversations")).unwrap();
    let folders = accounts.map(|account| account.unwrap().path().join(session));
    folders.into_iter().find(|folder| folder.is_dir()).unwrap()
}

/// The vault cannot write the copy of a conversation: that is said everywhere, and what is lost then is named.
#[test]
fn a_copy_that_cannot_be_made_is_said_and_what_is_lost_then_is_named() {
    let (lab, record, transcript) = after_three_turns();
    let session = record["sessionId"].as_str().unwrap();
    let vaulted = |record: &Value| record["vaultedAt"].as_str().map(str::to_owned);
    lab.settle_until(session, "a copy", |record| vaulted(record).is_some()).unwrap();
    wait_for_settles(&lab);
    let before = lab.record(session).unwrap();
    let lock = copy_of(&lab, session).join("lock");
    fs::remove_file(&lock).unwrap();
    fs::create_dir(&lock).unwrap();
    turn(&lab, &transcript, 3);
    let log = lab.home.state().join("log/settle.log");
    let logged = || fs::read_to_string(&log).is_ok_and(|log| log.contains("was not mirrored"));
    assert!(wait_until(PATIENCE, logged), "{:?}", fs::read_to_string(&log));
    let now = lab.record_where("turn 3", |record| record["lastPrompt"] != before["lastPrompt"]).unwrap();
    assert_eq!(vaulted(&now), vaulted(&before), "the copy has not the newest rows");
    let status = told(&lab, &["status"]);
    let alarm = status["alarms"].as_array().unwrap().iter().find(|alarm| alarm["kind"] == "not_mirrored");
    assert_eq!(alarm.unwrap_or_else(|| panic!("{status}"))["session"], session);
    assert!(words(&lab, &["status"]).contains("! the vault cannot copy"), "{status}");
    assert_eq!(told(&lab, &["vault", "status"])["unmirrored"][0]["sessionId"], session);
    assert!(words(&lab, &["vault", "status"]).contains("not copied since"));
    assert!(lab.rekindle(&["doctor"]).unwrap().stdout.contains("not copied into the vault"));
    let line = lab.home.state().join(format!("cache/statusline/{session}.json"));
    assert!(fs::read_to_string(&line).is_ok_and(|line| line.contains("the vault cannot copy")), "{line:?}");
    assert_eq!(lab.rekindle(&["vault", "sync"]).unwrap().code(), Some(4));

    fs::remove_file(&transcript).unwrap();
    lab.signal(&record, Signal::KILL).unwrap();
    lab.settle_until(session, "crashed", |record| record["status"] == "crashed").unwrap();
    fs::remove_dir(&lock).unwrap();
    let list = words(&lab, &["vault", "list"]);
    assert!(list.contains("ask-02") && !list.contains("ask-03"), "{list}");
    let back = lab.rekindle(&["recover", "work:0.0"]).unwrap();
    assert_eq!(back.code(), Some(4), "{}", back.words());
    assert!(back.stdout.contains("the last prompt that rekindle knows of"), "{}", back.words());
    let scan = words(&lab, &["scan", session]);
    assert!(scan.contains("is in no copy, and stays missing"), "{scan}");
    assert!(words(&lab, &["vault", "status"]).contains("is in no copy, and stays missing"));
    reaches(&lab, 0..3);
}

#[test]
fn without_the_machines_key_the_vault_still_copies_every_turn() {
    let (lab, record, transcript) = after_three_turns();
    let session = record["sessionId"].as_str().unwrap();
    let key = lab.home.home().join(".config/rekindle/machine.key");
    let aside = lab.home.root().join("key");
    // One that runs has read the key.
    wait_for_settles(&lab);
    fs::rename(&key, &aside).unwrap();
    turn(&lab, &transcript, 3);
    assert!(wait_until(PATIENCE, || vault_has(&lab, session, "reply-03")), "{}", lab.screen("work:0.0"));
    fs::rename(&aside, &key).unwrap();
}
