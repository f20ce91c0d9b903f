//! Panes of which a save knows only that an agent ran in them: their user says which conversation it was, or begins anew.
#![expect(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test that cannot go on panics")]

use std::fs;
use std::path::Path;

use lab::Lab;
use lab::agent::VERSIONS;
use lab::process::wait_until;
use lab::wired::PATIENCE;
use serde_json::{Value, json};

/// Restores the save that knows nothing.
fn restore(lab: &Lab) -> Value {
    let done = lab.rekindle(&["restore", "old", "--yes", "--json"]).unwrap();
    assert!(done.success(), "{}", done.words());
    serde_json::from_str(&done.stdout).unwrap()
}

fn shows(lab: &Lab, pane: &str, text: &str) -> String {
    let joined = || lab.screen(pane).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(wait_until(PATIENCE, || joined().contains(text)), "{text:?} is not shown: {}", lab.screen(pane));
    lab.screen(pane)
}

fn press(lab: &Lab, pane: &str, key: &str) {
    assert!(lab.tmux(&["send-keys", "-t", pane, key]).unwrap().success());
}

fn pids(lab: &Lab) -> String {
    lab.tmux(&["list-panes", "-a", "-F", "#{pane_id} #{pane_pid}"]).unwrap().stdout
}

/// Four windows with an agent each, as tmux-resurrect knows them; the last one has a directory of its own.
fn import(lab: &Lab, alone: &Path) {
    let project = lab.home.project();
    let line = |window: u32, folder: &Path| {
        let folder = folder.display();
        format!("pane\twork\t{window}\t0\t:\t0\thost\t:{folder}\t1\tclaude\t:claude --model x\n")
    };
    let text: String =
        [(5, &*project), (6, &project), (7, alone)].map(|(at, folder)| line(at, folder)).concat();
    let file = lab.home.root().join("last");
    fs::write(&file, text).unwrap();
    lab.home.rekindle_json(&["saves", "import", file.to_str().unwrap(), "--name", "old"]).unwrap();
}

fn is_offered(done: &Value, pane: &str, why: &str) {
    let found = done["panes"].as_array().unwrap().iter().find(|known| known["pane"] == pane);
    let (outcome, reason) = found.map(|pane| (&pane["outcome"], pane["reason"].as_str().unwrap())).unwrap();
    assert_eq!(outcome, "offered", "{done}");
    assert!(reason.contains(why), "{done}");
}

/// F-others-6
#[test]
fn the_user_says_which_conversation_it_was_or_begins_anew() {
    let lab = Lab::new(VERSIONS[2]).unwrap();
    lab.wire().unwrap();
    lab.shell().unwrap();
    lab.window("exec claude 'ask-00 please'").unwrap();
    lab.window("exec claude 'ask-01 please'").unwrap();
    let id = |record: Value| record["sessionId"].as_str().unwrap().to_owned();
    let both = [("work:1.0", "ask-00"), ("work:2.0", "ask-01")]
        .map(|(place, ask)| (id(lab.idle_at(place, ask).unwrap()), ask));
    lab.crash(&[&both[0].0, &both[1].0]).unwrap();
    let alone = lab.home.root().join("alone");
    fs::create_dir(&alone).unwrap();
    lab.home.trust(&alone).unwrap();
    import(&lab, &alone);

    let done = restore(&lab);
    is_offered(&done, "work:5.0", "its pane asks which");
    is_offered(&done, "work:7.0", "no conversation is known to be its own");
    for (session, _) in &both {
        shows(&lab, "work:5.0", &session[..8]);
    }
    shows(&lab, "work:7.0", "Enter start a fresh agent");
    let decided = fs::read_to_string(
        lab.home.state().join(format!("decisions/{}.json", done["restoreId"].as_str().unwrap())),
    )
    .unwrap();
    let tried = "its conversation by identity: none; by pane_ref: none; by cwd: 2; by task: none";
    assert!(decided.contains(tried), "{decided}");
    let before = pids(&lab);
    is_offered(&restore(&lab), "work:5.0", "its pane asks which");
    assert_eq!(pids(&lab), before, "who is asked is left alone");
    let undone = lab.rekindle(&["undo", "--json"]).unwrap();
    assert!(undone.success(), "{}", undone.words());
    assert!(wait_until(PATIENCE, || lab.tmux(&["list-sessions"]).unwrap().stderr.contains("no server")));

    restore(&lab);
    let page = shows(&lab, "work:5.0", "1-2 resume that one here");
    let second = page.lines().find(|line| line.trim_start().starts_with("2  ")).unwrap();
    let (chosen, ask) = both.iter().find(|(id, _)| second.contains(&id[..8])).unwrap();
    press(&lab, "work:5.0", "2");
    let back = |record: &Value| record["sessionId"] == **chosen && record["status"] == "active";
    assert_eq!(lab.record_where("back", back).unwrap()["place"]["ref"], "work:5.0");
    let heard = lab.probe("work:5.0", "probe-five").unwrap();
    assert!(heard.contains(ask), "another conversation: {}", heard.len());
    let explained = || lab.home.rekindle_json(&["explain", chosen]).unwrap()["decision"]["decided"].clone();
    assert!(wait_until(PATIENCE, || explained()["outcome"] == "resumed"), "{}", explained());
    assert!(explained()["evidence"].to_string().contains("\"rung\":\"choice\""), "{}", explained());

    // The other page still has both, and the guards stand before each.
    press(&lab, "work:6.0", "2");
    shows(&lab, "work:6.0", "two agents would write one conversation");
    press(&lab, "work:6.0", "s");
    assert!(wait_until(PATIENCE, || lab.pane("work:6.0", "#{pane_current_command}").unwrap() != "rekindle"));

    press(&lab, "work:7.0", "Enter");
    let begun = |record: &Value| record["place"]["ref"] == "work:7.0" && record["status"] == "active";
    let fresh = lab.record_where("begun", begun).unwrap();
    assert_eq!(fresh["cwd"], json!(alone), "{fresh}");
    assert!(!lab.probe("work:7.0", "probe-seven").unwrap().contains("ask-0"));
    assert!(wait_until(PATIENCE, || Path::new(fresh["transcriptPath"].as_str().unwrap()).exists()));

    let running = pids(&lab);
    let again = restore(&lab);
    assert!(!again["panes"].to_string().contains("work:5.0"), "its agent is there: {again}");
    assert_eq!(pids(&lab), running);
}
