//! A pane whose conversation is live elsewhere leads there or takes it over, and never starts a second process.
#![expect(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test that cannot go on panics")]

use std::fs;
use std::process::{Command, Stdio};

use lab::Lab;
use lab::agent::VERSIONS;
use lab::process::{Finished, Running, run, runs, wait_until};
use lab::wired::PATIENCE;
use serde_json::Value;

const NEWEST: &str = VERSIONS[2];

/// Whoever is in a conversation now, by every source.
fn inside(lab: &Lab, session: &str) -> Vec<u64> {
    let agents = lab.home.rekindle_json(&["status"]).unwrap()["agents"].clone();
    let live = |agent: &&Value| agent["sessionId"] == session && agent["live"] == true;
    agents.as_array().unwrap().iter().filter(live).map(|agent| agent["pid"].as_u64().unwrap()).collect()
}

fn pid(record: &Value) -> u64 {
    record["runs"].as_array().unwrap().last().unwrap()["pid"].as_u64().unwrap()
}

/// What a pane of 80 columns shows, without the lines that are empty.
fn page(lab: &Lab, pane: &str) -> Vec<String> {
    let shown = lab.screen(pane);
    shown.lines().map(str::trim_end).filter(|line| !line.is_empty()).map(str::to_owned).collect()
}

#[track_caller]
fn shows(lab: &Lab, pane: &str, words: &str) {
    // Where a line ends says nothing.
    let text = || page(lab, pane).join(" ").split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(wait_until(PATIENCE, || text().contains(words)), "{words:?} is not in {:#?}", page(lab, pane));
}

fn press(lab: &Lab, pane: &str, key: &str) {
    assert!(lab.tmux(&["send-keys", "-t", pane, key]).unwrap().success());
}

/// Somebody who looks at a session, on a terminal of its own.
fn viewer(lab: &Lab, session: &str) -> Running {
    let socket = lab.home.tmux().socket().display().to_string();
    let attach = format!("stty cols 80 rows 25; exec tmux -u -S '{socket}' attach -t {session}");
    let mut viewer = Command::new("script");
    viewer.args(["-qfc", &attach, "/dev/null"]).env_clear().envs(lab.env()).env("TERM", "xterm");
    viewer.stdin(Stdio::piped()).stdout(Stdio::null());
    let viewer = Running::start(&mut viewer).unwrap();
    let there = || looks_at(lab).starts_with(session);
    assert!(wait_until(PATIENCE, there), "{}", looks_at(lab));
    viewer
}

/// The session and the pane that the only client looks at.
fn looks_at(lab: &Lab) -> String {
    let clients = lab.tmux(&["list-clients", "-F", "#{client_session} #{pane_id}"]).unwrap();
    clients.stdout.trim().to_owned()
}

#[test]
fn on_the_same_server_its_user_goes_there_or_has_it_brought() {
    let lab = Lab::new(NEWEST).unwrap();
    lab.wire().unwrap();
    lab.shell().unwrap();
    let side = ["new-session", "-d", "-s", "side", "-x", "80", "-y", "24", "exec claude 'ask-00 please'"];
    lab.tmux(&side).unwrap();
    let record = lab.idle_at("side:0.0", "ask-00").unwrap();
    let (session, agent) = (record["sessionId"].as_str().unwrap(), pid(&record));
    let living = lab.pane("side:0.0", "#{pane_id}").unwrap();
    let program = lab::program();
    let waits = format!("exec '{}' pane wait -- {session}", program.display());
    let waiting = lab.window(&waits).unwrap();
    let _viewer = viewer(&lab, "work");
    lab.tmux(&["select-window", "-t", "work:1"]).unwrap();
    shows(&lab, &waiting, &format!("process {agent} in side:0.0 is in it"));
    shows(&lab, &waiting, "f go there t bring it here");
    assert!(!page(&lab, &waiting).join("").contains("resume it here"), "{:#?}", page(&lab, &waiting));
    assert!(page(&lab, &waiting).iter().all(|line| line.chars().count() <= 80));
    assert_eq!(looks_at(&lab), format!("work {waiting}"));

    press(&lab, &waiting, "f");
    assert!(wait_until(PATIENCE, || looks_at(&lab) == format!("side {living}")), "{}", looks_at(&lab));
    assert_eq!(lab.pane(&waiting, "#{window_index}").unwrap(), "1", "the page stays where it is");
    shows(&lab, &waiting, "f go there t bring it here");

    lab.tmux(&["switch-client", "-t", "work:1"]).unwrap();
    press(&lab, &waiting, "t");
    let here = || lab.pane("work:1.0", "#{pane_id}").unwrap();
    assert!(wait_until(PATIENCE, || here() == living), "{}", here());
    assert_eq!(looks_at(&lab), format!("work {living}"), "its user looks at the agent, and has not moved");
    assert_eq!(lab.pane("side:0.0", "#{pane_id}").unwrap(), waiting);
    shows(&lab, &waiting, "its agent was brought to work:1.0, and this page is in its place");
    assert_eq!((inside(&lab, session), runs(agent)), (vec![agent], true));
    assert!(lab.probe("work:1.0", "probe-one").unwrap().contains("ask-00"));
    let record = lab.settle_until(session, "moved", |record| record["place"]["ref"] == "work:1.0").unwrap();
    assert_eq!(record["runs"].as_array().unwrap().len(), 1, "nobody was started: {record}");

    // The page in another window of the same session leads there just as well.
    lab.tmux(&["move-window", "-s", "side:0", "-t", "work:7"]).unwrap();
    lab.tmux(&["select-window", "-t", "work:7"]).unwrap();
    assert!(wait_until(PATIENCE, || looks_at(&lab) == format!("work {waiting}")), "{}", looks_at(&lab));
    press(&lab, &waiting, "f");
    assert!(wait_until(PATIENCE, || looks_at(&lab) == format!("work {living}")), "{}", looks_at(&lab));

    // Asked for by name it is refused, and its user is told where it is.
    let done = lab.rekindle(&["recover", session, "--json"]).unwrap();
    assert_eq!(done.code(), Some(3), "{}", done.words());
    let why = format!("attach -t {living} goes there");
    assert!(done.stdout.contains(&why), "{}", done.stdout);

    // The agent has ended, and another process names the conversation: the page says so, and looks again without a key.
    let mut other = Command::new("sh");
    other.args(["-c", "read line", "sh", "--resume", session]).stdin(Stdio::piped());
    let other = Running::start(&mut other).unwrap();
    lab.signal(&record, rustix::process::Signal::TERM).unwrap();
    assert!(wait_until(PATIENCE, || !runs(agent)));
    press(&lab, &waiting, "t");
    shows(&lab, &waiting, &format!("process {} may be in it: its arguments name the session", other.pid()));
    shows(&lab, &waiting, "Enter try again s a shell");
    drop(other);
    shows(&lab, &waiting, "Enter resume it here s a shell");
}

/// Another server of the same user, which ends with this value.
struct Other<'a>(&'a Lab);

impl Other<'_> {
    fn tmux(&self, words: &[&str]) -> Finished {
        let mut command = self.0.home.command("tmux");
        command.env_clear().envs(self.0.env()).args(["-u", "-L", "other", "-f", "/dev/null"]).args(words);
        run(&mut command, PATIENCE).unwrap()
    }
}

impl Drop for Other<'_> {
    fn drop(&mut self) {
        self.tmux(&["kill-server"]);
    }
}

/// What is in all snapshots of a conversation.
fn snapshots(lab: &Lab, session: &str) -> String {
    let folder = lab.home.state().join("snapshots").join(session);
    let files = fs::read_dir(folder).into_iter().flatten().flatten();
    files
        .map(|file| run(lab.home.command("zstd").arg("-dc").arg(file.path()), PATIENCE).unwrap().stdout)
        .collect()
}

/// F-resume-23
#[test]
fn on_another_server_it_is_ended_only_when_asked_twice_and_never_at_work() {
    let lab = Lab::new(NEWEST).unwrap();
    lab.wire().unwrap();
    lab.tmux(&["new-session", "-d", "-s", "work", "-x", "80", "-y", "24", "exec bash --norc"]).unwrap();
    lab.window("exec claude 'ask-00 please'").unwrap();
    let record = lab.idle_at("work:1.0", "ask-00").unwrap();
    let session = record["sessionId"].as_str().unwrap();
    lab.home.rekindle_json(&["save"]).unwrap();
    lab.crash(&[session]).unwrap();
    let other = Other(&lab);
    let resumed = format!("claude --resume {session}; exec cat");
    assert!(other.tmux(&["new-session", "-d", "-s", "away", "-x", "120", "-y", "40", &resumed]).success());
    let away =
        |record: &Value| record["place"]["ref"] == "other//away:0.0" && record["activity"]["state"] == "idle";
    let agent = pid(&lab.settle_until(session, "resumed elsewhere", away).unwrap());
    let done = lab.rekindle(&["restore", "--yes", "--json"]).unwrap();
    let done: Value = serde_json::from_str(&done.stdout).unwrap_or_else(|_| panic!("{}", done.words()));
    let refused = done["panes"].as_array().unwrap().iter().find(|pane| pane["sessionId"] == session).unwrap();
    assert_eq!(refused["outcome"], "refused", "{done}");
    assert!(refused["reason"].as_str().unwrap().contains("attach -t %0 goes there"), "{done}");
    let pane = refused["id"].as_str().unwrap();
    shows(&lab, pane, &format!("process {agent} in other//away:0.0 is in it"));
    shows(&lab, pane, "/other attach -t %0");
    shows(&lab, pane, "t end it there and resume it here");
    assert!(!page(&lab, pane).join(" ").contains("go there"), "{:#?}", page(&lab, pane));
    assert!(page(&lab, pane).iter().all(|line| line.chars().count() <= 80));

    press(&lab, pane, "t");
    shows(&lab, pane, &format!("end process {agent} in other//away:0.0 and resume it here?"));
    press(&lab, pane, "n");
    shows(&lab, pane, "t end it there and resume it here");
    assert_eq!((inside(&lab, session), runs(agent)), (vec![agent], true));

    // At work until this file is there.
    let go = lab.home.root().join("go");
    let busy = format!("ask-01 RUNTOOL until [ -e {} ]; do sleep 0.1; done", go.display());
    assert!(other.tmux(&["send-keys", "-t", "%0", "-l", "--", &busy]).success());
    let typed = || other.tmux(&["capture-pane", "-p", "-t", "%0"]).stdout;
    assert!(wait_until(PATIENCE, || typed().contains("ask-01")), "{}", typed());
    assert!(other.tmux(&["send-keys", "-t", "%0", "Enter"]).success());
    let works = |record: &Value| record["activity"]["state"] == "busy";
    lab.settle_until(session, "at work", works).unwrap();
    press(&lab, pane, "t");
    shows(&lab, pane, "it is at work");
    assert!(!page(&lab, pane).join(" ").contains("t end it"), "{:#?}", page(&lab, pane));
    press(&lab, pane, "t");
    press(&lab, pane, "y");
    assert_eq!((inside(&lab, session), runs(agent)), (vec![agent], true));
    // Also where the page was made before.
    let stat = fs::read_to_string(format!("/proc/{agent}/stat")).unwrap();
    let started = stat.rsplit_once(") ").unwrap().1.split(' ').nth(19).unwrap().to_owned();
    let take = |process: &str, started: &str| {
        let mut command =
            lab.home.rekindle_command(&["pane", "take", "--process", process, "--started", started, "--"]);
        let around = lab.pane(pane, "#{socket_path},#{pid},0").unwrap();
        command.arg(session).env_clear().envs(lab.env()).env("TMUX", around).env("TMUX_PANE", pane);
        run(&mut command, PATIENCE).unwrap()
    };
    let refused = take(&agent.to_string(), &started);
    assert!(refused.code() == Some(3) && refused.stderr.contains("at work"), "{}", refused.words());
    fs::write(&go, "").unwrap();
    lab.settle_until(session, "idle again", |record| record["activity"]["state"] == "idle").unwrap();
    let refused = take(&agent.to_string(), "1");
    assert!(refused.code() == Some(3) && runs(agent), "another process by now: {}", refused.words());
    // Nothing but that agent remembers any more: it is not ended for a fresh one.
    let transcript = lab.record(session).unwrap()["transcriptPath"].as_str().unwrap().to_owned();
    let last = || fs::read_to_string(&transcript).unwrap().lines().next_back().unwrap().to_owned();
    assert!(wait_until(PATIENCE, || last().contains("turn_duration")), "{}", last());
    let (row, aside) = (last(), lab.home.root().join("aside"));
    fs::rename(&transcript, &aside).unwrap();
    lab.home.lose_vault().unwrap();
    let stays = |why: &str| {
        let refused = take(&agent.to_string(), &started);
        let said = refused.code() == Some(3) && refused.stderr.contains(why);
        assert!(said && runs(agent), "{why}: {}", refused.words());
    };
    stays("stays: its transcript is gone");
    // It goes on with a new file, where its next row alone says nothing.
    fs::write(&transcript, format!("{row}\n")).unwrap();
    stays("stays: nothing is left in its transcript");
    fs::rename(&aside, &transcript).unwrap();

    // What stands on the screen alone is kept.
    assert!(other.tmux(&["send-keys", "-t", "%0", "-l", "--", "never sent"]).success());
    assert!(wait_until(PATIENCE, || typed().contains("never sent")), "{}", typed());
    press(&lab, pane, "Enter");
    shows(&lab, pane, "t end it there and resume it here");
    assert!(runs(agent), "keys that were not on the page meant nothing");
    press(&lab, pane, "t");
    shows(&lab, pane, "resume it here?");
    press(&lab, pane, "x");
    shows(&lab, pane, "t end it there and resume it here");
    press(&lab, pane, "t");
    shows(&lab, pane, "resume it here?");
    press(&lab, pane, "y");
    assert!(wait_until(PATIENCE, || !runs(agent)), "{:#?}", page(&lab, pane));
    let here = |record: &Value| record["place"]["ref"] == "work:1.0" && record["status"] == "active";
    let record = lab.settle_until(session, "taken over", here).unwrap();
    assert_ne!(pid(&record), agent);
    let sent = lab.probe("work:1.0", "probe-one").unwrap();
    assert!(sent.contains("ask-00") && sent.contains("ask-01"), "everything it remembered: {sent}");
    assert_eq!(inside(&lab, session), vec![pid(&record)]);
    assert!(snapshots(&lab, session).contains("never sent"));
    let story = lab.story(session);
    assert!(story.iter().any(|told| told.starts_with("taken_over")), "{story:?}");
    assert_eq!(other.tmux(&["list-panes", "-a", "-F", "#{pane_current_command}"]).stdout, "cat\n");
}

/// An agent of the oldest version, which has no registry, on a terminal that no tmux has: its hooks and its process prove it.
#[test]
fn from_a_terminal_without_tmux_it_is_taken_over() {
    let lab = Lab::new(VERSIONS[0]).unwrap();
    lab.wire().unwrap();
    lab.tmux(&["new-session", "-d", "-s", "work", "-x", "80", "-y", "24", "exec bash --norc"]).unwrap();
    let mut terminal = Command::new("script");
    terminal.args(["-qfc", "stty cols 120 rows 40; exec claude 'ask-00 please'", "/dev/null"]);
    terminal.env_clear().envs(lab.env()).current_dir(lab.home.project());
    terminal.stdin(Stdio::piped()).stdout(Stdio::null());
    let _terminal = Running::start(&mut terminal).unwrap();
    let idle = |record: &Value| record["activity"]["state"] == "idle" && !record["lastPrompt"].is_null();
    let record = lab.record_where("idle", idle).unwrap();
    let (session, agent) = (record["sessionId"].as_str().unwrap(), pid(&record));
    let tty = record["runs"][0]["tty"].as_str().unwrap().trim_start_matches("/dev/").to_owned();
    let waits = format!("exec '{}' pane wait -- {session}", lab::program().display());
    let pane = lab.window(&waits).unwrap();
    shows(&lab, &pane, &format!("process {agent} on {tty} is in it"));
    press(&lab, &pane, "t");
    shows(&lab, &pane, &format!("end process {agent} on {tty} and resume it here?"));
    press(&lab, &pane, "y");
    assert!(wait_until(PATIENCE, || !runs(agent)), "{:#?}", page(&lab, &pane));
    let here = |record: &Value| record["place"]["ref"] == "work:1.0" && record["status"] == "active";
    let record = lab.settle_until(session, "taken over", here).unwrap();
    assert!(lab.probe("work:1.0", "probe-one").unwrap().contains("ask-00"));
    assert_eq!(inside(&lab, session), vec![pid(&record)]);
}
