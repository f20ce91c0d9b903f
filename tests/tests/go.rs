//! `rekindle go`: a real client of a real tmux is taken to the pane of an agent.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on panics")]

use std::process::Command;
use std::time::Duration;

use lab::believed::{Body, Said};
use lab::home::Home;
use lab::process::{self, Finished, wait_until};
use lab::rekindle::DEADLINE;
use lab::terminal::Seated;
use serde_json::{Value, json};

const SHOP: &str = "1a2b3c4d-aaaa-4aaa-8aaa-aaaaaaaaaaaa";
const TILL: &str = "2b3c4d5e-bbbb-4bbb-8bbb-bbbbbbbbbbbb";
const LATE: &str = "3c4d5e6f-cccc-4ccc-8ccc-cccccccccccc";
const MAIL: &str = "4d5e6f70-dddd-4ddd-8ddd-dddddddddddd";

const PATIENCE: Duration = Duration::from_secs(30);

/// Agents in three panes: `shop` works in %0, `till` has waited for its user in %1 for longer than `late` in %2; `mail` has
/// crashed.
fn fleet() -> Home {
    let home = Home::new().unwrap();
    let begun = |name: &str| {
        Said::new("SessionStart", 900).with(json!({"source": "startup", "cwd": home.home().join(name)}))
    };
    let asks = |name: &str, ago| {
        let input = json!({"notification_type": "permission_prompt", "cwd": home.home().join(name)});
        Said::new("Notification", ago).with(input)
    };
    let bodies: Vec<Body> = (0..3).map(|_| home.lookalike("").unwrap().1).collect();
    home.said(SHOP, &bodies[0], &[begun("shop")]).unwrap();
    home.said(TILL, &bodies[1], &[begun("till"), asks("till", 310)]).unwrap();
    home.said(LATE, &bodies[2], &[begun("late"), asks("late", 20)]).unwrap();
    home.said(MAIL, &Body::dead(1), &[begun("mail")]).unwrap();
    assert!(home.rekindle(&["settle"]).unwrap().success());
    home
}

/// `rekindle go …` as it is typed in a pane of the server on this socket.
fn inside(home: &Home, socket: &str, pane: &str, words: &[&str]) -> Finished {
    let mut command = home.rekindle_command(&[&["go"], words].concat());
    command.env("TMUX", format!("{socket},1,0")).env("TMUX_PANE", pane);
    process::run(&mut command, DEADLINE).unwrap()
}

fn socket(home: &Home) -> String {
    home.tmux().socket().to_string_lossy().into_owned()
}

/// A terminal that is attached to a session of the home's server.
fn attached(home: &Home, session: &str) -> Seated {
    let mut client = home.adopt(home.tmux().command());
    let seated = Seated::start(client.args(["attach", "-t", session])).unwrap();
    let there = || home.in_tmux(&["list-clients", "-F", "#{session_name}"]).unwrap().contains(session);
    assert!(wait_until(PATIENCE, there), "{}", seated.shown());
    seated
}

/// The pane that the only client shows.
fn client_at(home: &Home) -> String {
    home.in_tmux(&["list-clients", "-F", "#{pane_id}"]).unwrap()
}

#[test]
fn a_client_switches_to_the_agent_and_without_a_target_to_the_one_that_waits_longest() {
    let home = fleet();
    let here = socket(&home);
    home.in_tmux(&[
        "new-session",
        "-d",
        "-s",
        "desk",
        "-x",
        "80",
        "-y",
        "20",
        "exec bash --norc -c 'read line'",
    ])
    .unwrap();
    let desk = home.in_tmux(&["display-message", "-p", "-t", "desk", "#{pane_id}"]).unwrap();
    let _client = attached(&home, "desk");
    assert_eq!(client_at(&home), desk);
    let done = inside(&home, &here, &desk, &[]);
    assert_eq!((done.code(), done.stdout.as_str(), done.stderr.as_str()), (Some(0), "", ""));
    assert_eq!(client_at(&home), "%1", "till waits longest");
    for (target, pane) in [("shop", "%0"), ("3c4d", "%2"), ("work:1.0", "%1"), ("%0", "%0")] {
        assert!(inside(&home, &here, &desk, &[target]).success(), "{target}");
        assert_eq!(client_at(&home), pane, "{target}");
    }
    // A key binding has no pane of its own.
    assert!(inside(&home, &here, "", &["late"]).success());
    assert_eq!(client_at(&home), "%2");
    let json = inside(&home, &here, &desk, &["shop", "--json"]);
    let json: Value = serde_json::from_str(&json.stdout).unwrap();
    assert_eq!(
        (&json["went"], &json["sessionId"], &json["paneId"]),
        (&json!(true), &json!(SHOP), &json!("%0"))
    );
    assert_eq!(client_at(&home), "%0");
    let plan = inside(&home, &here, &desk, &["till", "--dry-run"]);
    assert_eq!(plan.stdout, "till is in work:1.0: tmux switch-client -t %1\n");
    assert_eq!(client_at(&home), "%0", "a dry run goes nowhere");
}

#[test]
fn a_terminal_outside_of_tmux_attaches_to_the_pane() {
    let home = fleet();
    // Another pane of its window is zoomed over it.
    home.in_tmux(&["split-window", "-d", "-t", "%1", "exec bash --norc -c 'read line'"]).unwrap();
    home.in_tmux(&["select-pane", "-t", "work:1.1"]).unwrap();
    home.in_tmux(&["resize-pane", "-Z", "-t", "work:1.1"]).unwrap();
    let mut command = home.rekindle_command(&["go", "till"]);
    // Inherited from a server that is gone.
    command.env("TMUX", "/nowhere/gone,1,0").env("TMUX_PANE", "%7");
    let client = Seated::start(&mut command).unwrap();
    let there = wait_until(PATIENCE, || {
        home.in_tmux(&["list-clients", "-F", "#{pane_id}"]).is_ok_and(|at| at == "%1")
    });
    assert!(there, "{}", client.shown());
    home.in_tmux(&["detach-client", "-s", "work"]).unwrap();
    assert_eq!(client.end(PATIENCE).unwrap().0, Some(0));
    let outside = home.rekindle(&["go", "till"]).unwrap();
    assert_eq!((outside.code(), outside.stdout.as_str()), (Some(2), ""));
    let way = format!("tmux -S {} attach -t %1", socket(&home));
    assert!(outside.stderr.contains(&way), "{}", outside.stderr);
    let json = home.rekindle_json(&["go", "till"]).unwrap();
    assert_eq!((&json["went"], &json["command"]), (&json!(false), &json!(way)));
}

#[test]
fn from_another_server_it_says_how_and_that_works() {
    let home = fleet();
    let other = home.tmux().socket().with_file_name("side");
    let side = |words: &[&str]| {
        let mut tmux = home.adopt(Command::new("tmux"));
        process::run(tmux.arg("-S").arg(&other).args(["-f", "/dev/null"]).args(words), DEADLINE).unwrap()
    };
    assert!(side(&["new-session", "-d", "-s", "side", "exec bash --norc"]).success());
    let done = inside(&home, &other.to_string_lossy(), "%0", &["till"]);
    assert_eq!((done.code(), done.stdout.as_str()), (Some(3), ""), "{}", done.stderr);
    let first = done.stderr.lines().next().unwrap();
    assert_eq!(first, "rekindle: work:1.0 is on another tmux server than this one");
    let (_, way) = done.stderr.split_once("go there: ").unwrap();
    let mut client = home.adopt(Command::new("tmux"));
    let client = Seated::start(client.arg("-S").arg(&other).args(["attach", "-t", "side"])).unwrap();
    assert!(wait_until(PATIENCE, || side(&["list-clients"]).stdout.contains("side")), "{}", client.shown());
    side(&["send-keys", "-t", "side", way.trim(), "Enter"]);
    let there = wait_until(PATIENCE, || {
        home.in_tmux(&["list-clients", "-F", "#{pane_id}"]).is_ok_and(|at| at == "%1")
    });
    assert!(there, "{}", client.shown());
    side(&["kill-server"]);
}

#[test]
fn where_there_is_nowhere_to_go_it_says_so() {
    let home = fleet();
    let here = socket(&home);
    let gone = inside(&home, &here, "%0", &["mail"]);
    assert_eq!(gone.code(), Some(3));
    assert!(gone.stderr.contains("mail does not run: it stopped"), "{}", gone.stderr);
    assert!(gone.stderr.contains("rekindle recover 4d5e6f70"), "{}", gone.stderr);
    assert_eq!(inside(&home, &here, "%0", &["nobody"]).code(), Some(2));
    let empty = Home::new().unwrap();
    let none = empty.rekindle(&["go"]).unwrap();
    assert_eq!((none.code(), none.stdout.as_str()), (Some(0), ""));
    assert!(none.stderr.starts_with("No agent waits for you."), "{}", none.stderr);
    let none = empty.rekindle_json(&["go"]).unwrap();
    assert_eq!((&none["went"], &none["sessionId"]), (&json!(false), &Value::Null));
}

#[test]
fn a_key_of_the_watch_goes_to_the_agent_that_waits_longest() {
    let home = fleet();
    let line = format!("{} status --watch; echo OVER; read line", lab::program().display());
    home.in_tmux(&["new-session", "-d", "-s", "desk", "-x", "120", "-y", "20", &line]).unwrap();
    let screen = || home.in_tmux(&["capture-pane", "-p", "-t", "desk"]).unwrap();
    let shows =
        |text: &str| assert!(wait_until(PATIENCE, || screen().contains(text)), "no {text:?} in {}", screen());
    let client = attached(&home, "desk");
    shows("q quit, g go to the waiting agent");
    client.press("g").unwrap();
    assert!(wait_until(PATIENCE, || client_at(&home) == "%1"), "{}", screen());
    // The watch goes on behind it.
    assert!(home.rekindle(&["name", "till", "cashier"]).unwrap().success());
    shows("cashier");
    home.in_tmux(&["send-keys", "-t", "desk", "q"]).unwrap();
    shows("OVER");
    // What comes next begins a line of its own.
    assert!(screen().lines().any(|line| line == "OVER"), "{}", screen());
}
