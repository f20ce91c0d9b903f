//! What `status` and `map` show of agents in known states, whole.
#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "throwaway files are damaged on purpose, and a test that cannot go on panics"
)]

use std::fs::{self, File};
use std::time::Duration;

use lab::believed::{Body, Said};
use lab::home::Home;
use lab::process::{self, Finished, wait_until};
use lab::rekindle::DEADLINE;
use lab::talk;
use serde_json::{Value, json};

const SHOP: &str = "1a2b3c4d-aaaa-4aaa-8aaa-aaaaaaaaaaaa";
const TILL: &str = "2b3c4d5e-bbbb-4bbb-8bbb-bbbbbbbbbbbb";
const MAIL: &str = "3c4d5e6f-cccc-4ccc-8ccc-cccccccccccc";
const DONE: &str = "4d5e6f70-dddd-4ddd-8ddd-dddddddddddd";

fn run(home: &Home, words: &[&str], columns: usize) -> Finished {
    let mut command = home.rekindle_command(words);
    process::run(command.env("COLUMNS", columns.to_string()), DEADLINE).unwrap()
}

/// Output and words in so many columns.
fn said_in(home: &Home, words: &[&str], columns: usize) -> String {
    let done = run(home, words, columns);
    assert_eq!(done.code(), Some(0), "{words:?} {}", done.words());
    assert!(!done.stdout.contains('\u{1b}'), "colour in a pipe");
    // How full this machine's disk is says nothing about the program.
    let shown: Vec<&str> = done.stdout.lines().filter(|line| !line.contains(" MB are left ")).collect();
    let wide: Vec<&&str> = shown.iter().filter(|line| line.chars().count() > columns).collect();
    assert!(wide.is_empty(), "{wide:#?}");
    let words = if done.stderr.is_empty() { String::new() } else { format!("\n--- words\n{}", done.stderr) };
    format!("{}{words}\n", shown.join("\n").trim_end()).replace(&*home.root().to_string_lossy(), "ROOT")
}

fn said(home: &Home, words: &[&str]) -> String {
    said_in(home, words, 80)
}

/// The age of something that was started a moment ago is a number of seconds.
fn seconds(text: &str) -> String {
    let mut words: Vec<&str> = text.split(' ').collect();
    for at in 1..words.len() {
        if words[at].trim_end() == "s" || words[at].starts_with("s\n") {
            words[at - 1] = "N";
        }
    }
    words.join(" ")
}

/// The first event of an agent in a folder of the home.
fn start(home: &Home, folder: &str, ago: i64) -> Said<'static> {
    let cwd = home.home().join(folder);
    let input = json!({"source": "startup", "model": "claude-opus-4-1-20250805", "cwd": cwd});
    Said::new("SessionStart", ago).with(input)
}

/// An agent in each state: waiting and busy in panes, crashed, ended.
fn fleet() -> Home {
    let home = Home::new().unwrap();
    let (_, shop) = home.lookalike("").unwrap();
    let (_, till) = home.lookalike("").unwrap();
    let with =
        |event, ago, folder: &str| Said::new(event, ago).with(json!({"cwd": home.home().join(folder)}));
    home.said(SHOP, &shop, &[start(&home, "shop", 7300), with("UserPromptSubmit", 190, "shop")]).unwrap();
    // It works, and what it says is saved.
    talk::set_age(&home.put_talk(SHOP, 1).unwrap(), 0).unwrap();
    let asks = json!({"notification_type": "permission_prompt", "cwd": home.home().join("till")});
    let asks = Said::new("Notification", 310).with(asks);
    home.said(TILL, &till, &[start(&home, "till", 7300), asks]).unwrap();
    home.said(MAIL, &Body::dead(1), &[start(&home, "mail", 7300), with("Stop", 130, "mail")]).unwrap();
    let exit = json!({"reason": "prompt_input_exit", "cwd": home.home().join("done")});
    let exit = Said::new("SessionEnd", 130).with(exit);
    home.said(DONE, &Body::dead(2), &[start(&home, "done", 7300), exit]).unwrap();
    let input = json!({"version": "2.1.325", "context_window": {"used_percentage": 42.4}});
    fs::write(home.state().join(format!("spool/{SHOP}.status")), input.to_string()).unwrap();
    assert!(home.rekindle(&["settle"]).unwrap().success());
    let words = ["task", SHOP, "mend the rounding of the cart and write down why it was wrong"];
    assert!(home.rekindle(&words).unwrap().success());
    home
}

fn agent<'a>(status: &'a Value, session: &str) -> &'a Value {
    let agents = status["agents"].as_array().unwrap();
    agents.iter().find(|agent| agent["sessionId"] == session).unwrap()
}

/// What is wrong, but for the disk of this machine.
fn alarms(status: &Value) -> Vec<&Value> {
    status["alarms"].as_array().unwrap().iter().filter(|alarm| alarm["kind"] != "disk_full").collect()
}

#[test]
fn nobody_yet() {
    let home = Home::new().unwrap();
    insta::assert_snapshot!(said(&home, &["status"]), @r#"
    No agents yet: connect them with `rekindle init`, then start one.
    "#);
    insta::assert_snapshot!(said(&home, &[]), @r#"
    No agents yet: connect them with `rekindle init`, then start one.
    "#);
    insta::assert_snapshot!(said(&home, &["map"]), @r#"
    No agent is in a pane: start one in tmux.
    "#);
    let json = home.rekindle_json(&["status"]).unwrap();
    assert_eq!((&json["schemaVersion"], &json["agents"]), (&json!(1), &json!([])));
    let json = home.rekindle_json(&["map"]).unwrap();
    assert_eq!(json, json!({"schemaVersion": 1, "panes": {}, "paused": null}));
    assert!(home.rekindle(&["init", "--yes"]).unwrap().success());
    insta::assert_snapshot!(said(&home, &["status"]), @r#"
    No agents yet: start one.
    "#);
}

#[test]
fn who_needs_you_comes_first() {
    let home = fleet();
    insta::assert_snapshot!(said(&home, &["status"]), @r#"
     STATE      SESSION   NAME  TASK                   PANE      CWD     AGE   CTX
     ◐ waiting  2b3c4d5e  till                         work:1.0  ~/till  5 m
     ✕ crashed  3c4d5e6f  mail                                   ~/mail  2 m
     ● busy     1a2b3c4d  shop  mend the rounding of…  work:0.0  ~/shop  3 m  42 %

    3 agents: 1 waiting, 1 crashed, 1 busy; 1 more with --all
    Bring crashed agents back with `rekindle recover`.
    "#);
    insta::assert_snapshot!(said_in(&home, &["status", "--all"], 150), @r#"
     STATE      SESSION   NAME  TASK                                                      PANE      CWD     MODEL     VERSION  AGE   CTX
     ◐ waiting  2b3c4d5e  till                                                            work:1.0  ~/till  opus-4-1           5 m
     ✕ crashed  3c4d5e6f  mail                                                                      ~/mail  opus-4-1           2 m
     ● busy     1a2b3c4d  shop  mend the rounding of the cart and write down why it was…  work:0.0  ~/shop  lab       2.1.325  3 m  42 %
     · ended    4d5e6f70  done                                                                      ~/done  opus-4-1           2 m

    4 agents: 1 waiting, 1 crashed, 1 busy, 1 ended
    Bring crashed agents back with `rekindle recover`.
    "#);
    insta::assert_snapshot!(said_in(&home, &["status"], 60), @r#"
     STATE      SESSION   NAME  TASK       PANE      AGE
     ◐ waiting  2b3c4d5e  till             work:1.0  5 m
     ✕ crashed  3c4d5e6f  mail                       2 m
     ● busy     1a2b3c4d  shop  mend the…  work:0.0  3 m

    3 agents: 1 waiting, 1 crashed, 1 busy; 1 more with --all
    Bring crashed agents back with `rekindle recover`.
    "#);
    assert_eq!(said(&home, &[]), said(&home, &["status"]));
    insta::assert_snapshot!(said(&home, &["map"]), @r#"
     PANE      ID  SESSION   NAME  GRADE   LIVE  SEEN  CWD
     work:0.0  %0  1a2b3c4d  shop  proven  live   3 m  ~/shop
     work:1.0  %1  2b3c4d5e  till  proven  live   5 m  ~/till

    2 panes, 2 live
    "#);
}

#[test]
fn the_same_for_scripts() {
    let home = fleet();
    let status = home.rekindle_json(&["status", "--all"]).unwrap();
    assert_eq!((&status["paused"], &status["stale"]), (&Value::Null, &Value::Null));
    assert_eq!(alarms(&status), Vec::<&Value>::new());
    assert_eq!(status["agents"].as_array().unwrap().len(), 4);
    let shop = agent(&status, SHOP);
    for (key, value) in [
        ("state", json!("busy")),
        ("live", json!(true)),
        ("grade", json!("proven")),
        ("name", json!("shop")),
        ("pane", json!("work:0.0")),
        ("paneId", json!("%0")),
        ("paneGrade", json!("proven")),
        ("model", json!("lab")),
        ("version", json!("2.1.325")),
        ("contextUsed", json!(42)),
        ("nested", json!(false)),
    ] {
        assert_eq!(shop[key], value, "{key}");
    }
    let mail = agent(&status, MAIL);
    assert_eq!(
        (&mail["state"], &mail["reason"], &mail["live"]),
        (&json!("crashed"), &json!("process_died"), &json!(false))
    );
    let map = home.rekindle_json(&["map"]).unwrap();
    let file = fs::read(home.state().join("instances/pane-session-map.json")).unwrap();
    let file: Value = serde_json::from_slice(&file).unwrap();
    assert_eq!(map, json!({"schemaVersion": 1, "panes": file, "paused": null}));
    assert_eq!(file.as_object().unwrap().keys().collect::<Vec<_>>(), ["work:0.0", "work:1.0"]);
    let shop = &file["work:0.0"];
    assert_eq!(
        (&shop["schema"], &shop["session_id"], &shop["live"]),
        (&json!(1), &json!(SHOP), &json!(true))
    );
}

#[test]
fn targets_of_every_kind() {
    let home = fleet();
    let shown = |words: &[&str]| {
        let status = home.rekindle_json(&[&["status"], words].concat()).unwrap();
        let agents = status["agents"].as_array().unwrap().clone();
        agents.iter().map(|agent| agent["shortId"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let folder = home.home().join("shop");
    fs::create_dir(&folder).unwrap();
    for target in [SHOP, "1a2b", "shop", "SHOP", "%0", "work:0.0", &*folder.to_string_lossy()] {
        assert_eq!(shown(&[target]), ["1a2b3c4d"], "{target}");
    }
    assert_eq!(shown(&["done"]), ["4d5e6f70"]);
    assert_eq!(shown(&["shop", "till", "1a2b"]), ["2b3c4d5e", "1a2b3c4d"]);
}

#[test]
fn what_cannot_be_settled_is_shown_as_it_is() {
    let home = fleet();
    let lock = File::open(home.state().join("locks/settle")).unwrap();
    lock.lock().unwrap();
    let text = said(&home, &["status"]);
    assert!(text.starts_with("not up to date: another process is settling\n"), "{text}");
    assert!(text.contains("● busy"), "{text}");
    let status = home.rekindle_json(&["status"]).unwrap();
    assert_eq!(status["stale"], "another process is settling");
    lock.unlock().unwrap();
    drop(lock);
    // A folder where a lock should be: root is stopped by no mode.
    fs::remove_file(home.state().join("locks/settle")).unwrap();
    fs::create_dir(home.state().join("locks/settle")).unwrap();
    let text = said_in(&home, &["status"], 200);
    assert!(text.starts_with("not up to date: cannot use the lock ") && text.contains("● busy"), "{text}");
}

/// A status that comes between a hook and its settle takes the events, and the vault gets the conversation all the same.
#[test]
fn what_a_status_has_settled_reaches_the_vault() {
    let home = Home::new().unwrap();
    home.put_talk(SHOP, 2).unwrap();
    home.said(SHOP, &Body::dead(1), &[start(&home, "shop", 60), Said::new("Stop", 30)]).unwrap();
    assert_eq!(home.rekindle_json(&["status"]).unwrap()["agents"][0]["vaultedAt"], Value::Null);
    let record = home.state().join(format!("session-health/{SHOP}.lock"));
    let vaulted = wait_until(DEADLINE, || {
        let record: Value = serde_json::from_slice(&fs::read(&record).unwrap()).unwrap();
        record["vaultedAt"].is_string()
    });
    assert!(vaulted, "the vault has nothing of it");
    assert!(said(&home, &["vault", "list"]).contains("1a2b3c4d"));
}

/// An agent that no hook and no registry names is shown all the same, and what is not known is not made up.
#[test]
fn an_agent_that_nothing_names() {
    let home = Home::new().unwrap();
    home.lookalike("").unwrap();
    let status = home.rekindle_json(&["status"]).unwrap();
    let stray = &status["agents"][0];
    assert_eq!(
        (&stray["sessionId"], &stray["state"], &stray["live"]),
        (&Value::Null, &json!("unknown"), &json!(true))
    );
    assert_eq!((&stray["pane"], &stray["paneGrade"]), (&json!("work:0.0"), &json!("proven")));
    insta::assert_snapshot!(seconds(&said(&home, &["status"])), @r#"
     STATE      NAME      PANE      CWD                     AGE
     ? unknown  project?  work:0.0  ROOT/project  N s

    1 agent: 1 unknown
    "#);
    home.put_talk(SHOP, 1).unwrap();
    let guessed = home.rekindle_json(&["status"]).unwrap();
    let stray = &guessed["agents"][0];
    assert_eq!((&stray["sessionId"], &stray["grade"]), (&json!(SHOP), &json!("guess")));
    home.lookalike(&format!("--resume {TILL}")).unwrap();
    let named = home.rekindle_json(&["status"]).unwrap();
    assert_eq!(agent(&named, TILL)["grade"], "likely");
}

/// The task is there with the first prompt: neither the reply nor the transcript is waited for.
#[test]
fn the_first_prompt_is_the_task_at_once() {
    let home = Home::new().unwrap();
    let (_, shop) = home.lookalike("").unwrap();
    let secret = format!("ghp_{}", "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8");
    let prompt = json!({"prompt": format!("mend the cart with {secret}\nand more")});
    home.said(SHOP, &shop, &[start(&home, "shop", 60), Said::new("UserPromptSubmit", 5).with(prompt)])
        .unwrap();
    let task = agent(&home.rekindle_json(&["status"]).unwrap(), SHOP)["task"].as_str().unwrap().to_owned();
    assert!(task.starts_with("mend the cart with ") && !task.contains(&secret), "{task}");
    let more = Said::new("UserPromptSubmit", 1).with(json!({"prompt": "something else"}));
    home.said(SHOP, &shop, &[more]).unwrap();
    assert_eq!(agent(&home.rekindle_json(&["status"]).unwrap(), SHOP)["task"], task, "it stays");
}

/// An agent outside of tmux is shown with its terminal.
#[test]
fn an_agent_outside_of_tmux() {
    let home = Home::new().unwrap();
    let pid = home.root().join("pid");
    let line = format!("echo $$ > {}; exec -a claude bash --norc -c \"read line\" claude", pid.display());
    let mut command = home.command("setsid");
    // A session of its own, with this terminal as its controlling one.
    let _terminal =
        lab::terminal::Seated::start(command.args(["-c", "-w", "bash", "--norc", "-c", &line])).unwrap();
    let is_agent =
        |pid: &str| fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|line| line.starts_with(b"claude\0"));
    let there = || fs::read_to_string(&pid).is_ok_and(|pid| is_agent(pid.trim()));
    assert!(wait_until(Duration::from_secs(30), there), "no agent");
    let pid: u32 = fs::read_to_string(&pid).unwrap().trim().parse().unwrap();
    let body = lab::believed::body(pid).unwrap();
    home.said(SHOP, &body, &[start(&home, "shop", 60)]).unwrap();
    let status = home.rekindle_json(&["status"]).unwrap();
    let terminal = agent(&status, SHOP)["terminal"].as_str().unwrap().to_owned();
    assert!(terminal.starts_with("pts/"), "{terminal}");
    assert!(said(&home, &["status"]).contains(&format!(" {terminal} ")), "{}", said(&home, &["status"]));
    assert!(said(&home, &["map"]).contains(&format!("outside of tmux: shop ({terminal})")));
    let explained = said(&home, &["explain", "shop"]);
    assert!(explained.contains(&format!("terminal  {terminal}, outside of tmux  proven")), "{explained}");
    let go = run(&home, &["go", "shop"], 80);
    assert_eq!(go.code(), Some(3));
    assert!(go.stderr.contains(&format!("shop runs outside of tmux, on {terminal}")), "{}", go.stderr);
    process::run(home.command("kill").arg(pid.to_string()), DEADLINE).unwrap();
    assert!(wait_until(Duration::from_secs(30), || !process::runs(pid.into())));
    assert!(home.rekindle(&["settle"]).unwrap().success());
    let crashed = said_in(&home, &["recover"], 120);
    assert!(crashed.contains(&format!(" {terminal} ")), "{crashed}");
}

#[test]
fn bad_input() {
    let home = fleet();
    home.in_tmux(&["new-window", "-d", "-t", "work", "exec bash --norc -c 'read line'"]).unwrap();
    let check = |words: &[&str], code: i32, says: &str| {
        let done = run(&home, words, 80);
        assert_eq!((done.code(), done.stdout.as_str()), (Some(code), ""), "{words:?} {}", done.stderr);
        assert!(done.stderr.contains(says), "{words:?} {}", done.stderr);
    };
    check(&["status", "nobody"], 2, "is no session, pane or name here");
    check(&["status", "work:9.9"], 2, "work:9.9 is no pane here");
    check(&["status", "work:2.0"], 2, "pane work:2.0 has no agent: it runs bash");
    check(&["status", "--watch"], 2, "--watch needs a terminal");
    check(&["map", "--watch"], 2, "rekindle map --json");
    fs::write(home.state().join("instances/pane-session-map.json"), "{").unwrap();
    // The map is derived, so a broken one is made again.
    assert!(run(&home, &["map"], 80).success());
}

/// A record that lost its seal is a guess; it does not become more by being settled.
#[test]
fn a_record_that_was_changed_by_hand_is_a_guess() {
    let home = fleet();
    let path = home.state().join(format!("session-health/{MAIL}.lock"));
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replace("\"mail\"", "\"evil\"")).unwrap();
    for _ in 0..2 {
        let status = home.rekindle_json(&["status", "--all"]).unwrap();
        assert_eq!(agent(&status, MAIL)["grade"], "guess");
        assert!(home.rekindle(&["note", SHOP, "x"]).unwrap().success());
    }
    assert_eq!(run(&home, &["name", MAIL, "mine"], 80).code(), Some(3));
}

/// Who works and saves nothing comes before all that are well, and what is wrong is said below.
#[test]
fn an_agent_that_saves_nothing() {
    let home = fleet();
    fs::remove_file(home.transcript(SHOP)).unwrap();
    let text = said_in(&home, &["status"], 200);
    assert!(text.contains("● stalled") && text.contains("\n! shop works and nothing of this turn"), "{text}");
    let status = home.rekindle_json(&["status"]).unwrap();
    assert_eq!(agent(&status, SHOP)["stalled"], true);
    let alarm = alarms(&status)[0];
    assert_eq!((&alarm["session"], &alarm["kind"]), (&json!(SHOP), &json!("not_saving")));
}

/// On a terminal it is drawn again when something changes, and leaves the terminal as it was.
#[test]
fn watched_on_a_terminal() {
    watched("status", "● busy");
}

#[test]
fn panes_watched_on_a_terminal() {
    watched("map", "proven");
}

fn watched(command: &str, first: &str) {
    let home = fleet();
    let line = format!("{} {command} --watch; echo OVER; read line", lab::program().display());
    home.in_tmux(&["new-session", "-d", "-s", "watch", "-x", "80", "-y", "20", &line]).unwrap();
    let screen = || home.in_tmux(&["capture-pane", "-p", "-t", "watch"]).unwrap();
    let shows = |text: &str| {
        let shown = wait_until(Duration::from_secs(60), || screen().contains(text));
        assert!(shown, "no {text:?} in {}", screen());
    };
    shows(first);
    assert_eq!(home.in_tmux(&["display-message", "-p", "-t", "watch", "#{cursor_flag}"]).unwrap(), "0");
    let named = home.rekindle(&["name", "till", "cashier"]).unwrap();
    assert!(named.success(), "{}", named.words());
    shows("cashier");
    home.in_tmux(&["send-keys", "-t", "watch", "C-c"]).unwrap();
    shows("OVER");
    assert_eq!(home.in_tmux(&["display-message", "-p", "-t", "watch", "#{cursor_flag}"]).unwrap(), "1");
}
