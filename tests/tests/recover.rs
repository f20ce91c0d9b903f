//! Agents that were killed in the middle of something: listed, previewed and brought back, and told what was half done.
#![expect(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test that cannot go on panics")]

use std::fs;
use std::os::unix::fs::PermissionsExt;

use lab::Lab;
use lab::agent::VERSIONS;
use lab::believed::{Body, Said};
use lab::process::{Finished, feed, run, runs, wait_until};
use lab::wired::PATIENCE;
use rustix::process::Signal;
use serde_json::{Value, json};

fn rekindle(lab: &Lab, words: &[&str]) -> Finished {
    let mut command = lab.home.rekindle_command(words);
    command.env_clear().envs(lab.env());
    run(&mut command, PATIENCE).unwrap()
}

fn recover(lab: &Lab, words: &[&str]) -> Value {
    let done = rekindle(lab, &[&["recover", "--json"], words].concat());
    assert!(!done.stdout.is_empty(), "{}", done.words());
    serde_json::from_str(&done.stdout).unwrap()
}

fn id(record: &Value) -> String {
    record["sessionId"].as_str().unwrap().to_owned()
}

/// A command that never ends, but does not outlive this test.
fn endless(lab: &Lab) -> String {
    format!("while [ -d {} ]; do sleep 0.3; done", lab.home.root().display())
}

/// An agent in `work:0.0` that has answered `ask-00`.
fn agent(version: &str, first: &str) -> (Lab, Value) {
    let lab = Lab::new(version).unwrap();
    lab.wire().unwrap();
    lab.shell().unwrap();
    // The newest agent's own mode would ask a server whether a command may run.
    lab.type_line("work:0.0", &format!("claude --permission-mode default {first}")).unwrap();
    let record = lab.idle_at("work:0.0", "ask-00").unwrap();
    (lab, record)
}

/// Kills the agent with a signal that it cannot hear, and waits until that is known.
fn kill(lab: &Lab, record: &Value) {
    lab.signal(record, Signal::KILL).unwrap();
    lab.settle_until(&id(record), "crashed", |record| record["status"] == "crashed").unwrap();
}

/// The end of the prompt with which agents go on.
const GO_ON: &str = "Do not apologise for the interruption: just go on.";

/// What the agent has sent with the prompt to go on, in each of its own requests.
fn gone_on(lab: &Lab) -> Vec<String> {
    lab.api.requests_with(GO_ON).into_iter().filter(|one| one.main).map(|one| one.messages).collect()
}

/// Presses Enter on the prompt that stands ready in `work:0.0`, and returns what was sent with it.
fn press_enter(lab: &Lab) -> String {
    let shows = || lab.screen("work:0.0").contains("apologise");
    assert!(wait_until(PATIENCE, shows), "{}", lab.screen("work:0.0"));
    assert_eq!(gone_on(lab), Vec::<String>::new(), "nothing is submitted unasked");
    // An Enter can be lost while the agent draws.
    let heard = (0..10).any(|_| {
        lab.tmux(&["send-keys", "-t", "work:0.0", "Enter"]).unwrap();
        wait_until(std::time::Duration::from_secs(6), || !gone_on(lab).is_empty())
    });
    assert!(heard, "{}", lab.screen("work:0.0"));
    gone_on(lab).remove(0)
}

/// A shell in `work:0.0` on a terminal that nobody was killed on.
fn clean_shell(lab: &Lab) {
    lab.tmux(&["respawn-pane", "-k", "-t", "work:0.0", "exec bash --norc --noprofile"]).unwrap();
}

/// An agent in `work:0.0` that was killed while a command of its own ran: its record, its prompt and that command.
fn cut_off(version: &str) -> (Lab, Value, String, String) {
    let (lab, record) = agent(version, "'ask-00 please'");
    let command = format!("touch {}/begun; {}", lab.home.root().display(), endless(&lab));
    let prompt = format!("ask-01 RUNTOOL {command}");
    lab.type_line("work:0.0", &prompt).unwrap();
    let rows = || fs::read_to_string(record["transcriptPath"].as_str().unwrap()).unwrap_or_default();
    let whole = |row: &str| row.ends_with('\n') && row.contains(r#""type":"tool_use""#);
    let running = || rows().split_inclusive('\n').any(whole);
    // An Enter can be lost while the agent draws.
    let pressed = (0..10).any(|_| {
        wait_until(std::time::Duration::from_secs(6), running)
            || lab.tmux(&["send-keys", "-t", "work:0.0", "Enter"]).is_err()
    });
    assert!(pressed && running(), "{}", lab.screen("work:0.0"));
    assert!(wait_until(PATIENCE, || lab.home.root().join("begun").exists()), "{}", lab.screen("work:0.0"));
    kill(&lab, &record);
    (lab, record, prompt, command)
}

fn killed_at_work(version: &str) {
    let (lab, record, prompt, command) = cut_off(version);
    let listed = recover(&lab, &[]);
    let found = &listed["agents"][0];
    assert_eq!((&found["sessionId"], &found["pane"]), (&record["sessionId"], &json!("work:0.0")), "{listed}");
    assert_eq!((&found["reason"], &found["act"]), (&json!("process_died"), &json!("resume")), "{listed}");
    assert_eq!((&found["source"], &found["exchanges"]), (&json!("transcript"), &json!(2)), "{listed}");
    assert_eq!(found["halfDone"], format!("Bash: {command}"), "{listed}");
    // Its command lives on. The newest agents tell their commands which conversation they belong to; the oldest does not.
    let running = &found["stillRunning"];
    let pid = running[0]["pid"].as_u64().unwrap_or_else(|| panic!("no command runs on: {listed}"));
    assert_eq!((running.as_array().unwrap().len(), &running[0]["command"]), (1, &json!(command)), "{listed}");
    assert_eq!(running[0]["proven"], version == VERSIONS[2], "{listed}");
    assert!(runs(pid), "{listed}");
    assert_eq!(found["lastPrompt"], prompt, "{listed}");
    assert!(found["lines"].as_u64() > Some(10) && found["tokens"].as_u64() > Some(100), "{listed}");

    // Only what an agent would be told is printed, and what was half done comes first.
    let told = rekindle(&lab, &["recover", "work:0.0", "--preview"]);
    let half_done =
        format!("- A command had not answered; it may have run in part, or not at all: {command}\n");
    let at =
        |what: &str| told.stdout.find(what).unwrap_or_else(|| panic!("{what} is missing: {}", told.words()));
    assert!(at(&half_done) < at("Agent: reply-00: noted."), "{}", told.stdout);
    let resumed = "It would be resumed, and told this at its start:\n\nRESTORATION CONTEXT\nYou are ";
    assert!(told.stdout.starts_with(resumed), "{}", told.stdout);
    assert!(
        told.stdout.contains("\n\nIts prompt would be ready for one Enter:\n\nYour session broke off"),
        "{}",
        told.stdout
    );
    assert!(told.stdout.contains(&format!("- process {pid} still runs, and you ")), "{}", told.stdout);

    let words = rekindle(&lab, &["recover"]);
    assert!(
        words.success()
            && words.stdout.contains("process died")
            && words.stdout.contains("resume")
            && words.stdout.contains(&format!("process {pid} still runs, which ")),
        "{}",
        words.words()
    );
    assert_eq!(recover(&lab, &["--all", "--dry-run"])["agents"], listed["agents"], "a dry run does nothing");

    // Brought back into the shell that it left, it knows what happened. Its user is asked where nobody was named.
    let shell = lab.another_shell().unwrap();
    lab.type_line(&shell, &format!("'{}' recover", lab::program().display())).unwrap();
    let asks = || lab.screen(&shell).contains("Recover which? [1-1, all, none]");
    assert!(wait_until(PATIENCE, asks), "{}", lab.screen(&shell));
    lab.tmux(&["send-keys", "-t", &shell, "1", "Enter"]).unwrap();
    let says = || lab.screen(&shell).contains("resumed");
    assert!(wait_until(PATIENCE, says), "{}", lab.screen(&shell));
    // The list said so, and what was done says it again.
    let dense = || lab.screen(&shell).split_whitespace().collect::<String>();
    let runs_on = format!("process{pid}stillruns");
    assert!(wait_until(PATIENCE, || dense().matches(&runs_on).count() >= 2), "{}", lab.screen(&shell));
    let sent = press_enter(&lab);
    assert!(sent.contains("ask-00") && sent.contains("RESTORATION CONTEXT"), "{sent}");
    assert!(sent.contains("restored. Half done: Bash: touch"), "{sent}");
    assert!(sent.contains("Half done, so check before you repeat it: Bash: touch"), "{sent}");
    assert!(sent.contains(&format!("process {pid} still runs, and you ")), "{sent}");
    assert!(runs(pid), "rekindle ends no command");
    assert_eq!(recover(&lab, &[])["agents"], json!([]));
}

#[test]
fn killed_at_work_2_1_31() {
    killed_at_work(VERSIONS[0]);
}

#[test]
fn killed_at_work_2_1_100() {
    killed_at_work(VERSIONS[1]);
}

#[test]
fn killed_at_work_2_1_325() {
    killed_at_work(VERSIONS[2]);
}

/// Transcript, copy and server are gone: a snapshot of the screen is all there is. What a hook takes comes by the hook.
#[test]
fn what_is_lost_goes_on_from_its_screen() {
    let (lab, record) = agent(VERSIONS[2], "'ask-00 please'");
    let snapshots = lab.home.state().join("snapshots").join(id(&record));
    assert!(wait_until(PATIENCE, || fs::read_dir(&snapshots).is_ok_and(|files| files.count() > 0)));
    lab.crash(&[&id(&record)]).unwrap();
    fs::remove_file(record["transcriptPath"].as_str().unwrap()).unwrap();
    lab.home.lose_vault().unwrap();
    let told = recover(&lab, &["--preview"]);
    assert_eq!((&told["source"], &told["contextFile"]), (&json!("scrollback"), &Value::Null), "{told}");
    let done = recover(&lab, &[&id(&record)]);
    assert_eq!(done["panes"][0]["outcome"], "fresh_with_context", "{done}");
    assert_eq!(done["panes"][0]["continued"], "ready", "{done}");
    // The fresh agent's own status line does not offer what the agent has taken over, from its first settle on.
    let fresh = done["panes"][0]["sessionId"].as_str().unwrap();
    let prepared = lab.home.state().join(format!("cache/statusline/{fresh}.json"));
    assert!(wait_until(PATIENCE, || prepared.exists()), "{}", prepared.display());
    let mut line = lab.home.rekindle_command(&["statusline"]);
    let input = json!({"session_id": fresh}).to_string();
    let shown = feed(&mut line, input.as_bytes(), PATIENCE).unwrap();
    assert!(shown.stdout.contains("Restored: 1/1 sessions"), "{}", shown.words());
    assert!(!shown.stdout.contains("crashed here"), "{}", shown.words());
    let sent = press_enter(&lab);
    assert!(sent.contains("User (read from the screen): ask-00 please"), "{sent}");
    assert_eq!(recover(&lab, &[])["agents"], json!([]), "the old one is waited for no longer");
    let shown = rekindle(&lab, &["status", "--json"]);
    let shown: Value = serde_json::from_str(&shown.stdout).unwrap();
    let agents = shown["agents"].as_array().unwrap();
    assert_eq!((agents.len(), agents[0]["state"] == "crashed"), (1, false), "status agrees: {shown}");
    assert_eq!(lab.record(fresh).unwrap()["previousIds"], json!([id(&record)]));
    let words = rekindle(&lab, &["status"]);
    assert!(words.stdout.contains("Restored: 1/1 sessions"), "{}", words.words());
    // Forgetting the old session names the one that was told what was said.
    let forgotten = rekindle(&lab, &["vault", "forget", &id(&record), "--yes"]);
    let told = format!("{} went on with its work", &fresh[..8]);
    assert!(forgotten.stderr.contains(&told), "{}", forgotten.words());

    // What was taken over is not started a second time unasked.
    for dry in [true, false] {
        let old = id(&record);
        let words: Vec<&str> = ["recover", &old].into_iter().chain(dry.then_some("--dry-run")).collect();
        let again = rekindle(&lab, &words);
        let told = again.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(dry || again.code() == Some(3), "{}", again.words());
        assert!(told.contains("has taken over its work and runs in work:0.0"), "{}", again.words());
        assert!(told.contains("--again` starts another one"), "{}", again.words());
    }
    let live: Value = serde_json::from_str(&rekindle(&lab, &["status", "--json"]).stdout).unwrap();
    assert_eq!(live["agents"].as_array().unwrap().len(), 1, "{live}");
    let planned = recover(&lab, &[&id(&record), "--again", "--dry-run"]);
    assert_eq!(planned["agents"][0]["takenOver"], Value::Null, "{planned}");
}

/// More than a hook takes goes to a file that only its user can read, and the prompt names it; it waits like a short one.
#[test]
fn what_is_long_goes_to_a_file() {
    let (lab, record) = agent(VERSIONS[1], "'ask-00 please'");
    kill(&lab, &record);
    let config = lab.home.home().join(".config/rekindle");
    fs::create_dir_all(&config).unwrap();
    fs::write(config.join("config.toml"), "[recovery.prompts]\ntemplate = \"long.md\"\n").unwrap();
    let rules = "Mind the rules of the house. ".repeat(400);
    fs::write(config.join("long.md"), format!("Kept in {{{{context_file}}}}\n{{{{exchanges}}}}\n{rules}\n"))
        .unwrap();
    fs::remove_file(record["transcriptPath"].as_str().unwrap()).unwrap();
    lab.home.lose_vault().unwrap();
    let told = recover(&lab, &["--preview"]);
    let file = told["contextFile"].as_str().unwrap_or_else(|| panic!("{told}")).to_owned();
    let done = recover(&lab, &["--all"]);
    assert_eq!(done["panes"][0]["outcome"], "fresh_with_context", "{done}");
    let kept = fs::read_to_string(&file).unwrap();
    assert_eq!(kept.trim_end(), told["text"].as_str().unwrap().trim_end());
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    let asked = told["firstPrompt"].as_str().unwrap();
    let sent = press_enter(&lab);
    assert!(sent.contains(asked) && asked.contains(&file), "{sent}");
    assert!(sent.contains(&format!("is in {file}: read all of it")), "its hook names the file, too: {sent}");
}

/// Brought back by itself, an agent that was cut off goes on: the prompt is submitted once, and names what was half done.
#[test]
fn cut_off_it_goes_on_by_itself_exactly_once() {
    let (lab, record, _, _) = cut_off(VERSIONS[2]);
    let config = lab.home.home().join(".config/rekindle");
    fs::create_dir_all(&config).unwrap();
    fs::write(config.join("config.toml"), "[recovery]\nauto_recover = true\n").unwrap();
    let ticked = rekindle(&lab, &["tick", "--json"]);
    let ticked: Value = serde_json::from_str(&ticked.stdout).unwrap();
    assert_eq!(ticked["recovered"], 1, "{ticked}");
    assert!(wait_until(PATIENCE, || !gone_on(&lab).is_empty()), "{}", lab.screen("work:0.0"));
    let last: Value = serde_json::from_str(&rekindle(&lab, &["restore", "--last", "--json"]).stdout).unwrap();
    assert_eq!(last["panes"][0]["continued"], "submitted", "{last}");
    // Whatever the agent does then, it was told once.
    let sent = gone_on(&lab);
    assert!(sent.iter().all(|messages| messages.matches(GO_ON).count() == 1), "{sent:?}");
    let rows = || fs::read_to_string(record["transcriptPath"].as_str().unwrap()).unwrap();
    let told = |row: &&str| row.contains(r#""type":"user""#) && row.contains(GO_ON);
    assert!(wait_until(PATIENCE, || rows().lines().any(|row| told(&row))), "{}", rows());
    assert_eq!(rows().lines().filter(told).count(), 1, "{}", rows());
}

/// The steps are told one by one, with the agent's task and the way to it. `--continue` is its user's own word: the prompt is
/// submitted although the last turn had ended.
#[test]
fn the_steps_are_shown_and_its_user_may_have_it_go_on() {
    let (lab, record) = agent(VERSIONS[2], "'ask-00 please'");
    let name = record["name"].as_str().unwrap();
    let task = json!([{"id": "shop-7", "title": "Mend the cart", "status": "in_progress", "assignee": name}]);
    lab.home.script("bd", &format!("echo '{task}'")).unwrap();
    kill(&lab, &record);
    let listed = recover(&lab, &[]);
    let found = &listed["agents"][0];
    assert_eq!((&found["bead"], &found["pane"]), (&json!("shop-7"), &json!("work:0.0")), "{listed}");
    let told = recover(&lab, &["--preview"]);
    for figure in ["lines", "tokens", "prompts", "replies", "act"] {
        assert_eq!(told[figure], found[figure], "the preview agrees about {figure}: {told}");
    }
    assert_eq!(told["told"]["prompt"], Value::Null, "its turn had ended: {told}");
    let lines = found["lines"].as_u64().unwrap();
    let done = rekindle(&lab, &["recover", "work:0.0", "--continue"]);
    assert!(done.success(), "{}", done.words());
    for line in [
        format!("Recovering {name} ("),
        format!(
            "\nCaptured context: {lines} lines\nParsed exchanges: 1 prompt, 1 reply\nLast activity: reply-00: noted."
        ),
        "\nHand-off bead: shop-7 Mend the cart\n".to_owned(),
        "\n✓ Agent resumed in work:0.0\n✓ Told what happened (".to_owned(),
        "\n✓ Told to go on: the agent works\n".to_owned(),
        "\nAttach with: tmux ".to_owned(),
    ] {
        assert!(done.stdout.contains(&line), "{line} is missing: {}", done.words());
    }
    assert!(wait_until(PATIENCE, || !gone_on(&lab).is_empty()), "{}", lab.screen("work:0.0"));
    let sent = gone_on(&lab);
    assert_eq!(sent.len(), 1, "{sent:?}");
    assert!(sent[0].contains("Nothing was half done: the last turn had ended."), "{}", sent[0]);
    // What rekindle asked is neither the user's task nor the user's last prompt.
    let path = record["transcriptPath"].as_str().unwrap();
    assert!(wait_until(PATIENCE, || fs::read_to_string(path).unwrap().contains(GO_ON)));
    for command in ["status", "vault list", "recover --preview"] {
        let mut words: Vec<&str> = command.split(' ').collect();
        words.extend((command == "recover --preview").then_some("work:0.0"));
        let shown = rekindle(&lab, &words).stdout;
        let task = shown.lines().all(|line| !line.starts_with("Task: Your session"));
        let listed = command == "recover --preview" || !shown.contains("Your session");
        assert!(task && listed && shown.contains("ask-00 please"), "{command}: {shown}");
    }
}

/// One by its name, then all at once. Two of them crashed in one pane, one after the other: the newer one gets it, and does
/// not end there by the other's start. One that was in no tmux is refused, and stops nobody.
#[test]
fn several_come_back_each_in_a_place_of_its_own() {
    const ALONE: &str = "5e6f7a8b-0000-4000-8000-000000000001";
    let (lab, older) = agent(VERSIONS[2], "'ask-00 please'");
    kill(&lab, &older);
    clean_shell(&lab);
    lab.type_line("work:0.0", "claude 'ask-10 please'").unwrap();
    let newer = lab.idle_at("work:0.0", "ask-10").unwrap();
    kill(&lab, &newer);
    let beside = lab.another_shell().unwrap();
    lab.type_line(&beside, "claude 'ask-20 please'").unwrap();
    let other = lab.idle_at("work:1.0", "ask-20").unwrap();
    kill(&lab, &other);
    lab.home.said(ALONE, &Body::dead(1), &[Said::new("SessionStart", 90), Said::new("Stop", 60)]).unwrap();
    lab.settle_until(ALONE, "crashed", |record| record["status"] == "crashed").unwrap();

    let named = recover(&lab, &[&id(&other)]);
    let panes = named["panes"].as_array().unwrap();
    assert_eq!((panes.len(), &panes[0]["outcome"]), (1, &json!("resumed")), "{named}");
    assert_eq!(panes[0]["id"], beside, "{named}");
    let alone = rekindle(&lab, &["recover", ALONE, "--json"]);
    assert_eq!(alone.code(), Some(3), "{}", alone.words());
    let all = rekindle(&lab, &["recover", "--all", "--json"]);
    assert_eq!(all.code(), Some(4), "{}", all.words());
    let done: Value = serde_json::from_str(&all.stdout).unwrap();
    let of = |session: &str| {
        let ours = |pane: &&Value| pane["sessionId"] == session;
        done["panes"].as_array().unwrap().iter().find(ours).unwrap_or_else(|| panic!("{session}: {done}"))
    };
    assert_eq!((&done["restored"], &done["total"]), (&json!(2), &json!(3)), "{done}");
    assert_eq!(of(ALONE)["outcome"], "refused", "{done}");
    assert!(of(ALONE)["reason"].as_str().unwrap().contains("in no tmux pane"), "{done}");
    assert_eq!(
        (&of(&id(&newer))["pane"], &of(&id(&older))["pane"]),
        (&json!("work:0.0"), &json!("work:2.0"))
    );
    for (place, said) in [("work:0.0", "ask-10"), ("work:1.0", "ask-20"), ("work:2.0", "ask-00")] {
        let word = format!("probe-{said}");
        assert!(lab.probe(place, &word).unwrap().contains(&format!("{said} please")), "{place}");
    }
    assert_eq!(lab.home.agents().len(), 3);

    // A server that somebody starts anew has a shell where the agent was, and nothing where the others were.
    lab.crash(&[&id(&older), &id(&newer), &id(&other)]).unwrap();
    lab.shell().unwrap();
    let listed = recover(&lab, &[]);
    let reason = |session: &str| {
        let mut agents = listed["agents"].as_array().unwrap().iter();
        agents.find(|agent| agent["sessionId"] == session).map(|agent| agent["reason"].clone())
    };
    assert_eq!(reason(&id(&newer)), Some(json!("shell_instead")), "{listed}");
    assert_eq!(reason(&id(&older)), Some(json!("server_exit")), "{listed}");
}

/// What its user starts in the pane meanwhile is not ended. A fresh agent that asks its user something first is waited for,
/// and started once; where its user leaves it there, the old conversation is offered again.
#[test]
fn a_fresh_agent_that_asks_first_is_started_once() {
    let (lab, record) = agent(VERSIONS[2], "'ask-00 please'");
    kill(&lab, &record);
    fs::remove_file(record["transcriptPath"].as_str().unwrap()).unwrap();
    lab.home.lose_vault().unwrap();
    // Asked while its brief is made: after the look at the pane, before the start in it.
    let socket = lab.home.tmux().socket();
    let starts = format!("tmux -S '{}' respawn-pane -k -t work:0.0 cat; echo '[]'", socket.display());
    lab.home.script("bd", &starts).unwrap();
    let done = recover(&lab, &["--all"]);
    assert_eq!(done["panes"][0]["outcome"], "refused", "{done}");
    assert!(done["panes"][0]["reason"].as_str().unwrap().contains("is running cat now"), "{done}");
    assert_eq!(lab.pane("work:0.0", "#{pane_current_command}").unwrap(), "cat");

    lab.home.script("bd", "echo '[]'").unwrap();
    clean_shell(&lab);
    lab.home.distrust(&lab.home.project()).unwrap();
    for leaves in [true, false] {
        let waits = || recover(&lab, &[])["agents"][0]["sessionId"] == record["sessionId"];
        assert!(wait_until(PATIENCE, waits), "{:?}", recover(&lab, &[]));
        let done = recover(&lab, &["--all"]);
        assert_eq!(done["panes"][0]["outcome"], "unverified", "{done}");
        assert_eq!(done["panes"][0]["id"], json!(lab.pane("work:0.0", "#{pane_id}").unwrap()), "{done}");
        assert_eq!(recover(&lab, &[])["agents"], json!([]), "its fresh agent is there");
        assert_eq!(recover(&lab, &["--all"])["panes"], json!([]));
        if leaves {
            lab.tmux(&["send-keys", "-t", "work:0.0", "Escape"]).unwrap();
        }
    }
    lab.tmux(&["send-keys", "-t", "work:0.0", "Down"]).unwrap();
    let chosen = || lab.screen("work:0.0").contains("❯ Yes");
    assert!(wait_until(PATIENCE, chosen), "{}", lab.screen("work:0.0"));
    lab.tmux(&["send-keys", "-t", "work:0.0", "Enter"]).unwrap();
    let fresh = |other: &Value| other["sessionId"] != record["sessionId"] && other["status"] == "active";
    lab.record_where("the fresh one", fresh).unwrap();
    assert_eq!(recover(&lab, &[])["agents"], json!([]), "it goes on in the fresh one");
    assert_eq!(lab.home.agents().len(), 1);
}

/// Whoever closed a pane gets it back only by its name; bd is asked, and an error of it is no silence; a template of the
/// user's own is checked.
#[test]
fn by_name_with_hand_off_and_template() {
    let lab = Lab::new(VERSIONS[2]).unwrap();
    lab.wire().unwrap();
    lab.shell().unwrap();
    let pane = lab.window("exec claude 'ask-00 please'").unwrap();
    let record = lab.idle_at("work:1.0", "ask-00").unwrap();
    lab.tmux(&["kill-pane", "-t", &pane]).unwrap();
    lab.settle_until(&id(&record), "closed", |record| record["reason"] == "pane_closed").unwrap();
    assert_eq!(recover(&lab, &[])["agents"], json!([]));
    assert_eq!(recover(&lab, &["--all"])["panes"], json!([]));
    let nobody = rekindle(&lab, &["recover", "--preview"]);
    assert_eq!(nobody.code(), Some(2), "{}", nobody.words());
    let named = recover(&lab, &[&id(&record), "--dry-run"]);
    assert_eq!(
        (&named["agents"][0]["act"], &named["agents"][0]["reason"]),
        (&json!("resume"), &json!("pane_closed"))
    );

    let told = || rekindle(&lab, &["recover", &id(&record), "--preview"]).stdout;
    assert!(!told().contains("Work on record"), "{}", told());
    let task = r#"{"id":"shop-7","title":"Mend the cart","status":"in_progress","assignee":"ann"}"#;
    lab.home.script("bd", &format!("echo '[{task}]'")).unwrap();
    assert!(told().contains("\n- shop-7 Mend the cart (in progress, ann)\n"), "{}", told());
    lab.home.script("bd", "echo 'Error: database is locked' >&2; exit 1").unwrap();
    assert!(told().contains("bd could not be asked (database is locked)"), "{}", told());

    let config = lab.home.home().join(".config/rekindle");
    fs::create_dir_all(&config).unwrap();
    fs::write(config.join("config.toml"), "[recovery.prompts]\ntemplate = \"mine.md\"\n").unwrap();
    fs::write(
        config.join("mine.md"),
        "Again: {{session}}\n\n# Check\n{{half_done}}\n\n# Talk\n{{exchanges}}\n",
    )
    .unwrap();
    let mine = told();
    assert!(mine.contains(&format!("\n\nAgain: {}\n\n# Talk\nUser (", id(&record))), "{mine}");
    // The design's own template, in Go's spelling.
    fs::write(config.join("mine.md"), "Recent:\n\n{{.Scrollback}}\n").unwrap();
    assert!(told().contains("\n\nRecent:\n\nUser ("), "{}", told());
    fs::write(config.join("mine.md"), "{{.Scroll}}").unwrap();
    let loaded = rekindle(&lab, &["saves"]);
    assert!(
        loaded.stderr.contains("recovery.prompts.template: cannot understand {{.Scroll}}"),
        "{}",
        loaded.words()
    );
    let wrong = rekindle(&lab, &["recover", &id(&record), "--preview"]);
    assert_eq!(wrong.code(), Some(1));
    assert!(wrong.stderr.contains("understand {{.Scroll}} in line 1 of the template"), "{}", wrong.words());
}
