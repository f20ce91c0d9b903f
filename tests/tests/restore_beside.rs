//! A restore beside agents that are there already: started by tmux-resurrect, by hand, or in the conversation itself.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on panics")]

use lab::Lab;
use lab::agent::VERSIONS;
use lab::process::{run, wait_until};
use lab::wired::PATIENCE;
use serde_json::{Value, json};

fn restore(lab: &Lab) -> Value {
    let mut command = lab.home.rekindle_command(&["restore", "--yes", "--json"]);
    command.env_clear().envs(lab.env());
    let done = run(&mut command, PATIENCE).unwrap();
    assert!(!done.stdout.is_empty(), "{}", done.words());
    serde_json::from_str(&done.stdout).unwrap()
}

fn outcome(done: &Value, session: &str) -> Value {
    let panes = done["panes"].as_array().unwrap();
    panes.iter().find(|pane| pane["sessionId"] == session).map_or(json!(null), |pane| pane["outcome"].clone())
}

/// What tmux-resurrect brings back: the same places in the same directory, with agents that know nothing.
/// F-others-6
#[test]
fn an_agent_that_was_started_in_its_place_goes_only_while_it_knows_nothing() {
    let lab = Lab::new(VERSIONS[2]).unwrap();
    lab.wire().unwrap();
    lab.shell().unwrap();
    lab.window("exec claude 'ask-00 please'").unwrap();
    lab.window("exec claude 'ask-01 please'").unwrap();
    lab.another_shell().unwrap();
    let id = |record: Value| record["sessionId"].as_str().unwrap().to_owned();
    let one = id(lab.idle_at("work:1.0", "ask-00").unwrap());
    let two = id(lab.idle_at("work:2.0", "ask-01").unwrap());
    lab.home.rekindle_json(&["save"]).unwrap();
    lab.crash(&[&one, &two]).unwrap();

    lab.shell().unwrap();
    lab.window("exec claude").unwrap();
    lab.window("exec claude 'ask-02 please'").unwrap();
    let other = id(lab.idle_at("work:2.0", "ask-02").unwrap());
    let started = |record: &Value| record["place"]["ref"] == "work:1.0" && record["status"] == "active";
    let empty = id(lab.record_where("started and empty", started).unwrap());
    // The conversation that crashed where an agent was started by hand is offered to it.
    let shown = lab.home.state().join(format!("cache/statusline/{other}.json"));
    let offered = || std::fs::read_to_string(&shown).is_ok_and(|text| text.contains("crashed here"));
    assert!(wait_until(PATIENCE, || lab.home.rekindle(&["settle"]).is_ok() && offered()));

    let listed = lab.home.rekindle_json(&["recover", "--dry-run"]).unwrap();
    let agents = listed["agents"].as_array().unwrap();
    let crashed = agents.iter().find(|agent| agent["sessionId"] == *one).unwrap();
    assert_eq!(crashed["reason"], "restored_empty", "{crashed}");

    let done = restore(&lab);
    assert_eq!(outcome(&done, &one), "resumed", "{done}");
    assert!(lab.probe("work:1.0", "probe-one").unwrap().contains("ask-00"));
    assert!(wait_until(PATIENCE, || {
        lab.home.rekindle(&["settle"]).is_ok()
            && lab.record(&empty).is_none_or(|record| record["status"] != "active")
    }));
    // The other one knows something by now: it stays, and the conversation gets a window of its own.
    assert_eq!(outcome(&done, &two), "resumed", "{done}");
    assert!(lab.probe("work:2.0", "probe-other").unwrap().contains("ask-02"));
    let seen = lab.tmux(&["list-panes", "-a", "-F", "#{window_index} #{@rekindle_id}"]).unwrap().stdout;
    let place = seen.lines().find(|line| line.ends_with(&two)).unwrap().split(' ').next().unwrap().to_owned();
    assert!(lab.probe(&format!("work:{place}.0"), "probe-two").unwrap().contains("ask-01"), "{seen}");
    assert_eq!(restore(&lab)["panes"], json!([]));
}

/// Somebody has resumed it by hand elsewhere: two agents would write one conversation.
/// F-resume-12
#[test]
fn a_conversation_that_is_live_elsewhere_is_refused() {
    let lab = Lab::new(VERSIONS[2]).unwrap();
    lab.wire().unwrap();
    lab.shell().unwrap();
    lab.window("exec claude 'ask-00 please'").unwrap();
    let record = lab.idle_at("work:1.0", "ask-00").unwrap();
    let session = record["sessionId"].as_str().unwrap();
    lab.home.rekindle_json(&["save"]).unwrap();
    lab.crash(&[session]).unwrap();
    let other = |words: &[&str]| {
        let mut command = lab.home.command("tmux");
        command.env_clear().envs(lab.env()).args(["-u", "-L", "other", "-f", "/dev/null"]).args(words);
        run(&mut command, PATIENCE).unwrap()
    };
    let resumed = format!("exec claude --resume {session}");
    assert!(other(&["new-session", "-d", "-s", "elsewhere", "-x", "120", "-y", "40", &resumed]).success());
    assert!(wait_until(PATIENCE, || {
        lab.home.rekindle(&["settle"]).is_ok()
            && lab.record(session).is_some_and(|record| record["place"]["ref"] == "other//elsewhere:0.0")
    }));
    let done = restore(&lab);
    assert_eq!(outcome(&done, session), "refused", "{done}");
    assert!(done["panes"].to_string().contains("two agents would write one conversation"), "{done}");
    other(&["kill-server"]);
}

/// The user began again beside where an agent was: it comes back into its place in that window.
#[test]
fn an_agent_comes_back_into_a_window_that_is_there() {
    let lab = Lab::new(VERSIONS[2]).unwrap();
    lab.wire().unwrap();
    lab.shell().unwrap();
    lab.split("claude 'ask-00 please'").unwrap();
    let session = lab.idle_at("work:0.1", "ask-00").unwrap()["sessionId"].as_str().unwrap().to_owned();
    assert!(lab.tmux(&["resize-pane", "-t", "=work:0.1", "-y", "25"]).unwrap().success());
    let shape = || lab.tmux(&["list-panes", "-a", "-F", "#{pane_top}+#{pane_height}"]).unwrap().stdout;
    let before = shape();
    lab.home.rekindle_json(&["save"]).unwrap();
    lab.crash(&[&session]).unwrap();
    lab.shell().unwrap();
    let place = || lab.pane("work:0.0", "#{pane_current_command} #{pane_current_path}").unwrap();
    let begun = format!("bash {}", lab.home.project().display());
    assert!(wait_until(PATIENCE, || place() == begun), "{}", place());
    let done = restore(&lab);
    assert_eq!(outcome(&done, &session), "resumed", "{done}");
    assert_eq!((shape(), lab.pane("work:0.1", "#{@rekindle_id}").unwrap()), (before, session));
    assert!(lab.probe("work:0.1", "probe-one").unwrap().contains("ask-00"));
    assert_eq!(restore(&lab)["panes"], json!([]));
}

/// Everything stands elsewhere by now: the only free pane of the session in its directory is its own.
#[test]
fn a_pane_that_moved_is_found_by_its_directory() {
    let lab = Lab::new(VERSIONS[2]).unwrap();
    lab.wire().unwrap();
    let folder = lab.home.project().join("part");
    std::fs::create_dir(&folder).unwrap();
    lab.home.trust(&folder).unwrap();
    let shell = format!("cd '{}' && exec bash --norc --noprofile", folder.display());
    lab.shell().unwrap();
    lab.window(&shell).unwrap();
    lab.type_line("work:1.0", "claude 'ask-00 please'").unwrap();
    let session = lab.idle_at("work:1.0", "ask-00").unwrap()["sessionId"].as_str().unwrap().to_owned();
    lab.home.rekindle_json(&["save"]).unwrap();
    lab.crash(&[&session]).unwrap();
    lab.shell().unwrap();
    lab.another_shell().unwrap();
    lab.window(&shell).unwrap();
    let at = || lab.pane("work:2.0", "#{pane_current_command} #{pane_current_path}").unwrap();
    assert!(wait_until(PATIENCE, || at() == format!("bash {}", folder.display())), "{}", at());
    let done = restore(&lab);
    assert_eq!(outcome(&done, &session), "resumed", "{done}");
    assert_eq!(lab.pane("work:2.0", "#{@rekindle_id}").unwrap(), session);
    let explained = lab.home.rekindle_json(&["explain", &session]).unwrap();
    assert!(
        explained["decision"]["decided"]["evidence"].to_string().contains("\"rung\":\"cwd\""),
        "{explained}"
    );
    assert!(lab.probe("work:2.0", "probe-one").unwrap().contains("ask-00"));
}
