//! What the real agents do when they are started and resumed, where rekindle builds on it (docs/facts.md).
#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a test that cannot go on panics, and throwaway files"
)]

use std::fs;
use std::path::Path;

use lab::Lab;
use lab::agent::VERSIONS;
use lab::process::{self, Finished};
use lab::rekindle::DEADLINE;
use lab::talk::set_age;
use uuid::Uuid;

fn claude(lab: &Lab, folder: &Path, arguments: &[&str]) -> Finished {
    let mut command = lab.claude();
    process::run(command.args(arguments).current_dir(folder), DEADLINE).unwrap()
}

/// A launch is named by whether there is a file, and by one flag alone.
/// F-resume-1, F-resume-2
fn the_file_decides(version: &str) {
    let lab = Lab::new(version).unwrap();
    let project = lab.home.project();
    let id = Uuid::new_v4().to_string();
    let refused = |arguments: &[&str], says: &str| {
        let done = claude(&lab, &project, &[arguments, &["-p", "ask-09"]].concat());
        let words = format!("{}{}", done.stdout, done.stderr);
        assert_eq!(done.code(), Some(1), "{arguments:?} {words}");
        assert!(words.contains(says), "{arguments:?} {words}");
    };
    refused(&["--resume", &id], "No conversation found with session ID");
    assert!(claude(&lab, &project, &["--session-id", &id, "-p", "ask-00"]).success());
    refused(&["--session-id", &id], "is already in use");
    refused(&["--session-id", &Uuid::new_v4().to_string(), "--resume", &id], "--fork-session");
    assert!(claude(&lab, &project, &["--resume", &id, "-p", "ask-01"]).success());
    assert!(lab.api.requests_with("ask-09").is_empty());
}

#[test]
fn the_file_decides_2_1_31() {
    the_file_decides(VERSIONS[0]);
}

#[test]
fn the_file_decides_2_1_100() {
    the_file_decides(VERSIONS[1]);
}

#[test]
fn the_file_decides_2_1_325() {
    the_file_decides(VERSIONS[2]);
}

/// A resume is started in the conversation's own directory, since older agents look nowhere else.
/// F-resume-4
#[test]
fn older_agents_find_a_conversation_only_in_its_directory() {
    for (version, found) in [(VERSIONS[0], false), (VERSIONS[2], true)] {
        let lab = Lab::new(version).unwrap();
        let id = Uuid::new_v4().to_string();
        assert!(claude(&lab, &lab.home.project(), &["--session-id", &id, "-p", "ask-00"]).success());
        let elsewhere = lab.home.root().join("elsewhere");
        fs::create_dir(&elsewhere).unwrap();
        lab.home.trust(&elsewhere).unwrap();
        let done = claude(&lab, &elsewhere, &["--resume", &id, "-p", "ask-01"]);
        assert_eq!(done.success(), found, "{version} {}", done.words());
    }
}

/// A repair that touched the file would make `--continue` pick it.
/// F-resume-10
fn continue_goes_by_the_files_time(version: &str) {
    let lab = Lab::new(version).unwrap();
    let project = lab.home.project();
    // On a busy machine 2.1.31 may end before its rows are written.
    let begun = |ask: &str| {
        let written = |id: &String| {
            assert!(claude(&lab, &project, &["--session-id", id, "-p", ask]).success());
            fs::read_to_string(lab.home.transcript(id)).is_ok_and(|rows| rows.contains(ask))
        };
        (0..5).map(|_| Uuid::new_v4().to_string()).find(written).unwrap()
    };
    let (old, new) = (begun("ask-10"), begun("ask-20"));
    let picked = |probe: &str| {
        assert!(claude(&lab, &project, &["--continue", "-p", probe]).success());
        let sent = lab.api.requests_with(probe).into_iter().find(|request| request.main).unwrap().messages;
        if sent.contains("ask-10") { "old" } else { "new" }
    };
    // The torn end is damage that a repair takes out.
    let path = lab.home.transcript(&old);
    let mut rows = fs::read(&path).unwrap();
    rows.extend_from_slice(b"{\"torn\":\"in the mid");
    fs::write(&path, rows).unwrap();
    set_age(&path, 3600).unwrap();
    assert_eq!(lab.home.repair(&[&old]).unwrap()["status"], "repaired");
    assert_eq!(picked("probe-after-repair"), "new");
    set_age(&lab.home.transcript(&new), 7200).unwrap();
    assert_eq!(picked("probe-after-touch"), "old", "what was touched last is picked");
}

#[test]
fn continue_goes_by_the_files_time_2_1_31() {
    continue_goes_by_the_files_time(VERSIONS[0]);
}

#[test]
fn continue_goes_by_the_files_time_2_1_325() {
    continue_goes_by_the_files_time(VERSIONS[2]);
}
