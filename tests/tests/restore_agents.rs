//! What a restore does with agents when things are not simple: interrupted, lazy, lost transcripts, guards, taken back.
#![expect(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test that cannot go on panics")]

use std::fs;
use std::time::Duration;

use lab::Lab;
use lab::agent::VERSIONS;
use lab::process::{run, wait_until};
use lab::wired::PATIENCE;
use rustix::process::Signal;
use serde_json::{Value, json};

const NEWEST: &str = VERSIONS[2];

/// An agent in `work:0.0` that answered `ask-00`, and one in a window of its own that answered `ask-01`.
fn two_agents() -> (Lab, String, String) {
    let lab = Lab::new(NEWEST).unwrap();
    lab.wire().unwrap();
    lab.shell().unwrap();
    lab.type_line("work:0.0", "claude 'ask-00 please'").unwrap();
    lab.window("exec claude 'ask-01 please'").unwrap();
    let one = lab.idle_at("work:0.0", "ask-00").unwrap()["sessionId"].as_str().unwrap().to_owned();
    let two = lab.idle_at("work:1.0", "ask-01").unwrap()["sessionId"].as_str().unwrap().to_owned();
    lab.home.rekindle_json(&["save"]).unwrap();
    (lab, one, two)
}

fn restore(lab: &Lab, more: &[&str]) -> Value {
    let done = lab.rekindle(&[&["restore", "--yes", "--json"], more].concat()).unwrap();
    assert!(!done.stdout.is_empty(), "{}", done.words());
    serde_json::from_str(&done.stdout).unwrap()
}

fn undo(lab: &Lab, more: &[&str]) -> Value {
    let done = lab.rekindle(&[&["undo", "--yes", "--json"], more].concat()).unwrap();
    assert!(done.success(), "{}", done.words());
    let told: Value = serde_json::from_str(&done.stdout).unwrap();
    told["effects"][0].clone()
}

/// What would be done in the first pane, where this is configured.
fn planned_where(lab: &Lab, claude: &str) -> Value {
    lab.home.configure(&format!("[claude]\n{claude}\n")).unwrap();
    let done = lab.rekindle(&["restore", "--dry-run", "--json"]).unwrap();
    lab.home.configure("").unwrap();
    let planned: Value = serde_json::from_str(&done.stdout).unwrap_or_else(|_| panic!("{}", done.words()));
    planned["panes"].as_array().unwrap().iter().find(|pane| pane["pane"] == "work:0.0").unwrap().clone()
}

fn agents(lab: &Lab) -> usize {
    let listed = lab.home.rekindle_json(&["status"]).unwrap();
    let live = |agent: &&Value| agent["live"] == true;
    listed["agents"].as_array().unwrap().iter().filter(live).count()
}

/// Kills a restore when its panes are there.
fn interrupt(lab: &Lab, sessions: &[&String]) {
    let mut command = lab.home.rekindle_command(&["restore", "--yes", "--max-parallel", "1"]);
    command.env_clear().envs(lab.env()).stdout(std::process::Stdio::null());
    let mut child = command.spawn().unwrap();
    let listed = || lab.tmux(&["list-panes", "-a", "-F", "#{@rekindle_id}"]).unwrap().stdout;
    // Panes say what they wait for from the moment they are there.
    let all = || sessions.iter().all(|session| listed().contains(session.as_str()));
    assert!(wait_until(PATIENCE, all), "{}", listed());
    child.kill().unwrap();
    child.wait().unwrap();
}

/// Killed at whatever point, the next run completes it: nobody is missing, nobody is there twice.
/// F-others-5
#[test]
fn an_interrupted_restore_is_completed() {
    let (lab, one, two) = two_agents();
    lab.crash(&[&one, &two]).unwrap();
    interrupt(&lab, &[&one, &two]);
    // The one agent that was started is back, whether the restore lived to see it or not; the other one waits in its pane.
    let last = || lab.home.rekindle_json(&["restore", "--last"]).unwrap();
    assert!(wait_until(PATIENCE, || last()["restored"] == 1), "{}", last());
    let last = last();
    assert_eq!((&last["interrupted"], &last["total"]), (&json!(true), &json!(2)), "{last}");
    let outcomes: Vec<&Value> =
        last["panes"].as_array().unwrap().iter().map(|pane| &pane["outcome"]).collect();
    assert_eq!(outcomes, ["resumed", "offered"], "{last}");
    for (command, says) in [
        ("restore --last", "The last restore was interrupted: 1/2 agents are back"),
        ("history", "restored 1 of 2 agents"),
        ("status", "Restore interrupted: 1/2 sessions, 1 waits in its pane ("),
    ] {
        let told = lab.rekindle(&command.split(' ').collect::<Vec<_>>()).unwrap();
        let words = told.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains(says), "{command}: {}", told.words());
    }
    // A save in between forgets nobody.
    let saved = lab.home.rekindle_json(&["save"]).unwrap();
    assert_eq!(saved["counts"]["agents"], 2, "{saved}");
    let done = restore(&lab, &[]);
    let outcome = |pane: &Value| pane["outcome"] == "resumed" || pane["outcome"] == "already_there";
    assert!(done["panes"].as_array().unwrap().iter().all(outcome), "{done}");
    assert!(wait_until(PATIENCE, || agents(&lab) == 2));
    assert!(lab.probe("work:0.0", "probe-one").unwrap().contains("ask-00"));
    assert!(lab.probe("work:1.0", "probe-two").unwrap().contains("ask-01"));
    assert_eq!(restore(&lab, &[])["panes"], json!([]));
}

/// After `tmux kill-server` the way back is a restore: `recover --all` would give each agent a window of its own, and the
/// split window, its shell and the names would be gone.
#[test]
fn what_a_save_holds_is_left_to_restore() {
    let (lab, one, two) = two_agents();
    lab.split("exec bash --norc --noprofile").unwrap();
    lab.tmux(&["rename-window", "-t", "work:0", "desk"]).unwrap();
    lab.home.rekindle_json(&["save"]).unwrap();
    let shape = || {
        let format = "#{window_index} #{window_name} #{pane_index} #{@rekindle_id}";
        lab.tmux(&["list-panes", "-s", "-t", "work", "-F", format]).unwrap().stdout
    };
    let before = shape();
    assert!(before.contains("0 desk 1 \n") && before.contains(&two), "{before}");
    lab.crash(&[&one, &two]).unwrap();

    let hint = "Bring crashed agents back with `rekindle restore`: a save of";
    let said = |words: &[&str]| {
        let told = lab.rekindle(words).unwrap();
        format!("{} {}", told.stdout, told.stderr).split_whitespace().collect::<Vec<_>>().join(" ")
    };
    for command in [&["status"][..], &["recover"], &["recover", "--all", "--dry-run"]] {
        let told = said(command);
        assert!(told.contains(hint) && !told.contains("`rekindle recover"), "{command:?}: {told}");
    }
    let doctor = lab.home.rekindle(&["doctor", "--json"]).unwrap();
    let doctor: Value = serde_json::from_str(&doctor.stdout).unwrap();
    let findings = doctor["findings"].as_array().unwrap();
    let crashed = findings.iter().find(|finding| finding["id"] == "agents-crashed").unwrap();
    assert_eq!(crashed["fix"], "rekindle restore", "{crashed}");

    let all = lab.rekindle(&["recover", "--all"]).unwrap();
    assert_eq!(all.code(), Some(3), "{}", all.words());
    let told = all.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(told.contains("`rekindle restore` brings it back with its layout"), "{}", all.words());
    assert!(!lab.tmux(&["list-sessions"]).unwrap().success(), "no server was started");

    // One that is named comes back, as always.
    let named = lab.home.rekindle(&["recover", &two, "--dry-run"]).unwrap();
    let command = format!("Do it with `rekindle recover {two}`.");
    assert!(named.stderr.contains(&command) && named.stdout.contains("resume"), "{}", named.words());

    let done = restore(&lab, &[]);
    assert_eq!(done["restored"], 2, "{done}");
    assert!(wait_until(PATIENCE, || shape() == before), "{}\n{before}", shape());
}

/// An agent draws its status line when it starts, before everything is restored, and not again until something happens: it
/// shows this restore at once, and never the figures of the one before.
#[test]
fn status_lines_tell_of_the_newest_restore() {
    let (lab, one, two) = two_agents();
    let file = lab.home.config().join("settings.json");
    let mut settings: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    let line = format!("'{}' statusline", lab::program().display());
    settings["statusLine"] = json!({"type": "command", "command": line});
    fs::write(&file, settings.to_string()).unwrap();
    lab.crash(&[&one, &two]).unwrap();
    let panes: Vec<Value> =
        [&one, &two].into_iter().map(|id| json!({"sessionId": id, "outcome": "resumed"})).collect();
    let before = json!({"at": jiff::Timestamp::now(), "restored": 9, "total": 9, "panes": panes});
    let folder = lab.home.state().join("instances/restore");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("last-restore.json"), before.to_string()).unwrap();
    let done = lab.rekindle(&["restore", "--yes", "--max-parallel", "1"]).unwrap();
    assert!(done.success(), "{}", done.words());
    // Piped, too, it says who is back.
    assert!(done.stderr.contains("1/2  work:") && done.stderr.contains("2/2  work:"), "{}", done.words());
    for place in ["work:0.0", "work:1.0"] {
        let told = || lab.screen(place).contains("Restored");
        assert!(wait_until(PATIENCE, told), "{}", lab.screen(place));
        assert!(!lab.screen(place).contains("9/9"), "{}", lab.screen(place));
    }
    lab.type_line("work:0.0", "ask-02 please").unwrap();
    let figures = || lab.screen("work:0.0").contains("Restored: 2/2 sessions");
    assert!(wait_until(PATIENCE, figures), "{}", lab.screen("work:0.0"));
}

/// The user has begun again under the same name when everything dies once more. Both lives come back, in one session, and
/// nobody comes back twice.
#[test]
fn two_crashes_in_a_row_lose_nobody() {
    let (lab, one, two) = two_agents();
    lab.crash(&[&one, &two]).unwrap();
    lab.shell().unwrap();
    lab.type_line("work:0.0", "claude 'ask-02 please'").unwrap();
    let three = lab.idle_at("work:0.0", "ask-02").unwrap()["sessionId"].as_str().unwrap().to_owned();
    let ticked = lab.rekindle(&["tick", "--json"]).unwrap();
    assert!(ticked.success(), "{}", ticked.words());
    lab.crash(&[&one, &two, &three]).unwrap();
    let done = restore(&lab, &[]);
    assert_eq!((&done["restored"], &done["total"]), (&json!(3), &json!(3)), "{done}");
    let listed = lab.tmux(&["list-panes", "-a", "-F", "#{session_name}:#{window_index} #{@rekindle_id}"]);
    let listed = listed.unwrap().stdout;
    let mut windows: Vec<&str> = listed.lines().collect();
    windows.sort_unstable();
    let of = |line: &str| line.split_once(' ').unwrap().1.to_owned();
    assert_eq!(
        windows.iter().map(|line| line.starts_with("work:")).collect::<Vec<_>>(),
        [true; 3],
        "{listed}"
    );
    assert_eq!(of(windows[0]), three, "what was there last keeps its place: {listed}");
    assert_eq!(of(windows[1]), two, "and so does what stood elsewhere: {listed}");
    assert_eq!(of(windows[2]), one, "{listed}");
    let probed = lab.probe(windows[2].split_once(' ').unwrap().0, "probe-one").unwrap();
    assert!(probed.contains("ask-00") && !probed.contains("ask-02"), "{probed}");
    assert_eq!(restore(&lab, &[])["panes"], json!([]));
    let undone = undo(&lab, &[]);
    let what: Vec<&Value> = undone["panes"].as_array().unwrap().iter().map(|pane| &pane["what"]).collect();
    let kept = what.iter().filter(|what| ***what == "kept").count();
    assert_eq!((what.len(), kept), (3, 1), "only the one that has worked since stays: {undone}");
}

/// The agent is told what happened; when it ends, its pane is the shell it was. Taken back, it can be restored again.
/// F-resume-21
#[test]
fn a_restored_agent_knows_leaves_a_shell_and_can_be_taken_back() {
    let (lab, one, two) = two_agents();
    lab.crash(&[&one, &two]).unwrap();
    let done = restore(&lab, &[]);
    assert_eq!(done["restored"], 2, "{done}");
    assert_eq!(lab.pane("work:0.0", "#{@rekindle_restored}").unwrap(), "resumed");
    let explained = lab.rekindle(&["explain", "work:0.0"]).unwrap();
    assert!(explained.stdout.contains("confirmed by the agent"), "{}", explained.words());
    assert!(explained.stdout.contains("by manual: resume: transcript is whole"), "{}", explained.words());
    assert!(explained.stdout.contains("nobody is in it"), "what was weighed: {}", explained.words());

    let undone = undo(&lab, &[]);
    assert!(undone["panes"].as_array().unwrap().iter().all(|pane| pane["what"] == "closed"), "{undone}");
    assert!(wait_until(PATIENCE, || !lab.tmux(&["list-sessions"]).unwrap().success()));
    let again = restore(&lab, &[]);
    assert_eq!(again["restored"], 2, "{again}");

    let sent = lab.probe("work:0.0", "probe-one").unwrap();
    assert!(sent.contains("ask-00"));
    assert!(sent.contains("RESTORATION CONTEXT"));
    let undone = |more: &[&str], pane: &str| {
        let kept = undo(&lab, more);
        let panes = kept["panes"].as_array().unwrap();
        panes.iter().find(|known| known["pane"] == pane).unwrap()["what"].clone()
    };
    assert_eq!(undone(&["--dry-run"], "work:0.0"), "kept");
    lab.type_line("work:0.0", "/exit").unwrap();
    let command = || lab.pane("work:0.0", "#{pane_current_command}").unwrap();
    assert!(wait_until(PATIENCE, || command() == "bash"), "{} {}", command(), lab.screen("work:0.0"));
    // What its user does in that shell is theirs.
    lab.type_line("work:0.0", "tail -f /dev/null").unwrap();
    assert!(wait_until(PATIENCE, || command() == "tail"), "{}", command());
    assert_eq!(undone(&[], "work:0.0"), "kept");
    assert_eq!(command(), "tail");
    assert!(!lab.tmux(&["list-panes", "-t", "work:1.0"]).unwrap().success(), "nobody worked there");
}

/// A restore that was killed is the last one: it is taken back, and not the one before it.
#[test]
fn an_interrupted_restore_can_be_taken_back() {
    let (lab, one, two) = two_agents();
    lab.another_shell().unwrap();
    lab.signal(&lab.record(&one).unwrap(), Signal::KILL).unwrap();
    lab.settle_until(&one, "crashed", |record| record["status"] == "crashed").unwrap();
    let before = lab.rekindle(&["recover", &one]).unwrap();
    assert!(before.success(), "{}", before.words());
    lab.home.rekindle_json(&["save"]).unwrap();
    lab.crash(&[&one, &two]).unwrap();
    interrupt(&lab, &[&one, &two]);

    let told = lab.rekindle(&["undo", "--dry-run"]).unwrap();
    assert!(told.stdout.contains("which was interrupted, would be undone"), "{}", told.words());
    let undone = undo(&lab, &[]);
    assert_eq!(undone["interrupted"], true, "{undone}");
    let panes = undone["panes"].as_array().unwrap();
    assert!(panes.len() == 3 && panes.iter().all(|pane| pane["what"] == "closed"), "{undone}");
    assert!(wait_until(PATIENCE, || !lab.tmux(&["list-sessions"]).unwrap().success()));

    // Of one that made nothing, nothing is there to be taken back: the one before it counts.
    let done = restore(&lab, &[]);
    assert_eq!(done["restored"], 2, "{done}");
    let decisions = lab.home.state().join("decisions");
    let mut newest = fs::read_dir(&decisions).unwrap().map(|entry| entry.unwrap().path()).max().unwrap();
    let mut record: Value = serde_json::from_slice(&fs::read(&newest).unwrap()).unwrap();
    record["restoreId"] = json!("99991231T000000.000Z");
    (record["finished"], record["panes"]) = (json!(false), json!([]));
    newest.set_file_name("99991231T000000.000Z.json");
    fs::write(&newest, record.to_string()).unwrap();
    let undone = undo(&lab, &["--dry-run"]);
    assert_eq!(
        (&undone["restoreId"], &undone["interrupted"]),
        (&done["restoreId"], &json!(false)),
        "{undone}"
    );
}

/// A pane that was there before is the shell again that it was, where its user was.
#[test]
fn a_shell_comes_back_in_its_directory() {
    let lab = Lab::new(NEWEST).unwrap();
    lab.wire().unwrap();
    lab.shell().unwrap();
    lab.type_line("work:0.0", "claude 'ask-00 please'").unwrap();
    let record = lab.idle_at("work:0.0", "ask-00").unwrap();
    let session = record["sessionId"].as_str().unwrap();
    lab.signal(&record, Signal::KILL).unwrap();
    lab.settle_until(session, "crashed", |record| record["status"] == "crashed").unwrap();
    let done = lab.rekindle(&["recover", session]).unwrap();
    assert!(done.success(), "{}", done.words());

    let mut elsewhere = lab.home.rekindle_command(&["undo", "--yes", "--json"]);
    elsewhere.env_clear().envs(lab.env()).current_dir(lab.home.home());
    let undone = run(&mut elsewhere, PATIENCE).unwrap();
    assert!(undone.stdout.contains(r#""what":"shell""#), "{}", undone.words());
    let shell = || lab.pane("work:0.0", "#{pane_current_command} #{pane_current_path}").unwrap();
    let expect = format!("bash {}", lab.home.project().display());
    assert!(wait_until(PATIENCE, || shell() == expect), "{} instead of {expect}", shell());
}

/// A pane shows what it will resume, and resumes it when its user presses Enter.
#[test]
fn a_lazy_pane_waits_for_its_user() {
    let (lab, one, two) = two_agents();
    lab.crash(&[&one, &two]).unwrap();
    let never = "auto_resume_on_restore = false";
    assert_eq!(planned_where(&lab, never)["act"], "offer");
    assert_eq!(planned_where(&lab, "auto_resume_on_restore = true")["act"], "resume");
    let done = restore(&lab, &["--lazy"]);
    assert_eq!(done["restored"], 0, "{done}");
    let shows = || lab.screen("work:0.0");
    assert!(wait_until(PATIENCE, || shows().contains("waits to be resumed")), "{}", shows());
    assert_eq!(agents(&lab), 0);
    let shown = lab.rekindle(&["status", "--json"]).unwrap();
    let shown: Value = serde_json::from_str(&shown.stdout).unwrap();
    let states: Vec<&Value> =
        shown["agents"].as_array().unwrap().iter().map(|agent| &agent["state"]).collect();
    assert_eq!(states, ["dormant", "dormant"], "a pane that waits is not crashed: {shown}");
    let said = |args: &[&str]| lab.rekindle(args).unwrap().stdout;
    for (command, expect) in [
        ("status", &["◌ waiting in its pane", "2 waiting in their panes", "press Enter in its pane"][..]),
        ("map", &["waiting in its pane", "0 live, 2 waiting in their panes"]),
        ("recover --dry-run", &["No crashed sessions.", "2 agents are waiting in their panes."]),
        ("restore --last", &["waiting in its pane", "or run `rekindle restore`"]),
    ] {
        let shown = said(&command.split(' ').collect::<Vec<_>>());
        let missing: Vec<_> = expect.iter().filter(|words| !shown.contains(**words)).collect();
        assert!(missing.is_empty() && !shown.contains("crashed  "), "{command}: {missing:?} {shown}");
    }
    let listed = lab.home.rekindle_json(&["recover", "--dry-run"]).unwrap();
    assert_eq!(listed["agents"], json!([]), "{listed}");
    let way = said(&["go", &one, "--dry-run"]);
    assert!(way.contains(" is in work:0.0: tmux "), "the pane that waits is the way to it: {way}");
    let nobody = lab.rekindle(&["go"]).unwrap();
    assert!(nobody.stderr.contains("2 panes wait to be started"), "{}", nobody.words());
    // Whoever asks for it gets it, whatever becomes of those that nobody asks for.
    lab.home.configure(&format!("[claude]\n{never}\nresume_fallback = \"error\"\n")).unwrap();
    lab.tmux(&["send-keys", "-t", "work:0.0", "Enter"]).unwrap();
    assert!(wait_until(PATIENCE, || agents(&lab) == 1), "{}", shows());
    assert!(lab.probe("work:0.0", "probe-one").unwrap().contains("ask-00"));
    // It is the restore that has come so far.
    let last = || lab.home.rekindle_json(&["restore", "--last"]).unwrap();
    assert!(wait_until(PATIENCE, || last()["restored"] == 1), "{}", last());
    assert_eq!((&last()["restoreId"], &last()["total"]), (&done["restoreId"], &json!(2)), "{}", last());
    let would = undo(&lab, &["--dry-run"]);
    assert_eq!(would["panes"].as_array().unwrap().len(), 2, "{would}");
    // A shell in its place is not told when it is looked at.
    let told = || lab.pane("work:1.0", "#{@rekindle_lazy}#{pane_current_command}").unwrap();
    assert!(told().starts_with('1'), "{}", told());
    lab.tmux(&["send-keys", "-t", "work:1.0", "s"]).unwrap();
    assert!(wait_until(PATIENCE, || told() == "bash"), "{}", told());
    // While its start files run programs, a shell is not free. It is when it runs what is typed.
    lab.type_line("work:1.0", "printf 'free-%s\\n' now").unwrap();
    assert!(
        wait_until(PATIENCE, || lab.screen("work:1.0").contains("free-now")),
        "{}",
        lab.screen("work:1.0")
    );
    lab.home.configure("[restore]\nlazy = true\n").unwrap();
    let done = restore(&lab, &[]);
    assert_eq!(done["panes"][0]["outcome"], "offered", "{done}");
    assert!(told().starts_with('1'), "{}", told());
    // Being looked at is enough.
    lab.tmux(&["select-window", "-t", "work:1"]).unwrap();
    assert!(wait_until(PATIENCE, || agents(&lab) == 2), "{}", lab.screen("work:1.0"));
    assert!(lab.probe("work:1.0", "probe-two").unwrap().contains("ask-01"));
}

/// One conversation is lost for good, the other's directory is gone: a fresh agent with the context, and a reason.
/// F-resume-21, F-others-5
#[test]
fn what_cannot_be_resumed_begins_anew_or_says_why() {
    let lab = Lab::new(NEWEST).unwrap();
    lab.wire().unwrap();
    lab.shell().unwrap();
    lab.type_line("work:0.0", "claude 'ask-00 please'").unwrap();
    let gone = lab.home.project().join("soon-gone");
    fs::create_dir(&gone).unwrap();
    lab.window(&format!("cd '{}' && exec claude 'ask-01 please'", gone.display())).unwrap();
    let one = lab.idle_at("work:0.0", "ask-00").unwrap();
    let two = lab.idle_at("work:1.0", "ask-01").unwrap();
    let id = |record: &Value| record["sessionId"].as_str().unwrap().to_owned();
    lab.home.rekindle_json(&["save"]).unwrap();
    lab.crash(&[&id(&one), &id(&two)]).unwrap();
    assert!(lab.rekindle(&["vault", "sync"]).unwrap().success());
    fs::remove_file(one["transcriptPath"].as_str().unwrap()).unwrap();
    let planned = |fallback: &str| planned_where(&lab, &format!("resume_fallback = \"{fallback}\""));
    for (fallback, act, same) in [
        ("repair", "vault_resume", true),
        ("fresh", "fresh", false),
        ("shell", "shell", true),
        ("error", "refuse", true),
    ] {
        let pane = planned(fallback);
        assert_eq!(pane["act"], act, "{fallback}: {pane}");
        let argv = pane["argv"].as_array().unwrap();
        assert_eq!(argv.contains(&one["sessionId"]), same, "{fallback}: {pane}");
    }
    lab.home.lose_vault().unwrap();
    fs::remove_dir_all(&gone).unwrap();
    let done = restore(&lab, &[]);
    let outcomes: Vec<&Value> =
        done["panes"].as_array().unwrap().iter().map(|pane| &pane["outcome"]).collect();
    assert!(
        outcomes.contains(&&json!("fresh_with_context")) && outcomes.contains(&&json!("refused")),
        "{done}"
    );
    assert!(wait_until(Duration::from_secs(20), || lab.screen("work:1.0").contains("directory is gone")));
    let sent = lab.probe("work:0.0", "probe-one").unwrap();
    assert!(sent.contains("RESTORATION CONTEXT"));
    assert!(sent.contains("Last prompt: ask-00"));
    assert_eq!(lab.pane("work:0.0", "#{@rekindle_restored}").unwrap(), "fresh");
    // Its user makes the directory again from the pane itself.
    lab.tmux(&["send-keys", "-t", "work:1.0", "m"]).unwrap();
    assert!(wait_until(PATIENCE, || agents(&lab) == 2), "{}", lab.screen("work:1.0"));
    assert!(lab.probe("work:1.0", "probe-two").unwrap().contains("ask-01"));
}

/// Killed between the end of the cleared conversation and the start of the fresh one, which is not heard here.
#[test]
fn an_agent_that_was_killed_right_after_clear_is_offered() {
    let lab = Lab::new(VERSIONS[0]).unwrap();
    lab.wire().unwrap();
    let file = lab.home.config().join("settings.json");
    let mut settings: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    settings["hooks"]["SessionStart"][0]["matcher"] = json!("startup");
    fs::write(&file, settings.to_string()).unwrap();
    lab.shell().unwrap();
    lab.type_line("work:0.0", "claude 'ask-00 please'").unwrap();
    let record = lab.idle_at("work:0.0", "ask-00").unwrap();
    let session = record["sessionId"].as_str().unwrap();
    lab.home.rekindle_json(&["save"]).unwrap();
    lab.type_line("work:0.0", "/clear").unwrap();
    lab.settle_until(session, "cleared", |record| record["reason"] == "clear").unwrap();
    lab.signal(&record, Signal::KILL).unwrap();
    lab.settle_until(session, "crashed", |record| record["reason"] == "cleared").unwrap();
    lab.tmux(&["kill-server"]).unwrap();
    let planned = planned_where(&lab, "");
    assert_eq!((&planned["act"], &planned["sessionId"]), (&json!("offer"), &json!(session)), "{planned}");
    assert!(planned["reason"].as_str().unwrap().contains("you had cleared it"), "{planned}");
}
