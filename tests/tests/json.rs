//! `--json` prints exactly one object with `schemaVersion`, whatever the command and however it ends.
#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "throwaway files are damaged on purpose, and a test that cannot go on panics"
)]

use std::collections::BTreeSet;
use std::fs;

use lab::believed::{Body, Said};
use lab::home::Home;
use lab::process::Finished;
use serde_json::{Value, json};

const SHOP: &str = "1a2b3c4d-aaaa-4aaa-8aaa-aaaaaaaaaaaa";
const TILL: &str = "2b3c4d5e-bbbb-4bbb-8bbb-bbbbbbbbbbbb";
const TORN: &str = "3c4d5e6f-cccc-4ccc-8ccc-cccccccccccc";

/// Commands without `--json`: they print a script, a page or a line of a status bar, or answer an agent.
const WITHOUT: [&str; 3] = ["completions", "man", "help"];

/// A live agent, one that crashed, a damaged conversation.
fn home() -> Home {
    let home = Home::new().unwrap();
    home.pretend_agent("2.1.325").unwrap();
    let (_, body) = home.lookalike("").unwrap();
    let start = || Said::new("SessionStart", 60).with(json!({"source": "startup"}));
    home.put_talk(SHOP, 2).unwrap();
    home.put_talk(TILL, 2).unwrap();
    home.put_dangling(TORN, 4, 2).unwrap();
    home.said(SHOP, &body, &[start(), Said::new("Stop", 30)]).unwrap();
    home.said(TILL, &Body::dead(1), &[start(), Said::new("Stop", 30)]).unwrap();
    assert!(home.rekindle(&["up"]).unwrap().success());
    home
}

/// The only object on standard output.
fn object(done: &Finished, words: &[&str]) -> Value {
    let mut values = serde_json::Deserializer::from_str(&done.stdout).into_iter::<Value>();
    let first = values.next().unwrap_or_else(|| panic!("{words:?} prints nothing: {}", done.stderr));
    let first = first.unwrap_or_else(|error| panic!("{words:?} prints no JSON: {error}: {}", done.stdout));
    assert!(values.next().is_none(), "{words:?} prints more than one: {}", done.stdout);
    assert_eq!(first["schemaVersion"], 1, "{words:?}: {first}");
    // A conversation may be large: each turn has a line of its own.
    assert!(words[0] == "show" || done.stdout.lines().count() == 1, "{words:?}: {}", done.stdout);
    first
}

/// Every command that the help lists, its own commands included.
fn commands(home: &Home, above: &[&str]) -> BTreeSet<String> {
    let help = home.rekindle(&[above, &["--help"]].concat()).unwrap().stdout;
    let listed = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let listed = listed.take_while(|line| !line.is_empty());
    let names =
        listed.filter(|line| !line.starts_with("    ")).filter_map(|line| line.split_whitespace().next());
    names.map(|name| [above, &[name]].concat().join(" ")).collect()
}

#[test]
fn every_command_prints_one_object() {
    let home = home();
    let export = home.root().join("export");
    let export = export.to_string_lossy();
    let runs: Vec<Vec<&str>> = [
        "up",
        "status",
        "map",
        "explain shop",
        "go shop --dry-run",
        "go",
        "name SHOP shop",
        "task SHOP selling",
        "note SHOP remember",
        "pause",
        "unpause",
        "scan",
        "scan SHOP",
        "scan TORN",
        "repair TORN --dry-run",
        "repair TORN",
        "repair --all",
        "branches SHOP",
        "show SHOP",
        "history",
        "undo --dry-run",
        "undo",
        "redo --dry-run",
        "redo",
        "save",
        "saves",
        "saves list",
        "saves show current",
        "saves diff current current",
        "saves export current EXPORT",
        "saves import EXPORT",
        "restore --dry-run",
        "restore --last",
        "recover",
        "recover --dry-run",
        "recover TILL --preview",
        "inject SHOP hello",
        "trust",
        "doctor",
        "vault sync",
        "vault list",
        "vault status",
        "vault verify",
        "vault restore TILL --dry-run",
        "vault prune --dry-run",
        "vault forget TILL --dry-run",
        "init --dry-run",
        "init --yes",
        "service status",
        "service install --dry-run",
        "service uninstall --dry-run",
        "settle",
        "tick",
        "uninstall --dry-run",
        "uninstall --yes",
    ]
    .iter()
    .map(|line| {
        line.split(' ')
            .map(|word| match word {
                "SHOP" => SHOP,
                "TILL" => TILL,
                "TORN" => TORN,
                "shop" => "project",
                "EXPORT" => &*export,
                word => word,
            })
            .collect()
    })
    .collect();
    for words in &runs {
        let words = [&words[..], &["--json"]].concat();
        let done = home.rekindle(&words).unwrap();
        let value = object(&done, &words);
        assert_eq!(value.get("error").is_some(), is_failure(&value, done.code()), "{words:?}: {value}");
    }
    let tried: BTreeSet<String> =
        runs.iter().flat_map(|words| [words[..1].join(" "), words[..2.min(words.len())].join(" ")]).collect();
    let mut all = commands(&home, &[]);
    for group in ["vault", "saves", "service"] {
        assert!(all.contains(group));
        all.extend(commands(&home, &[group]));
    }
    let untried: Vec<&String> = all
        .iter()
        .filter(|name| !tried.contains(*name))
        .filter(|name| !WITHOUT.contains(&name.rsplit(' ').next().unwrap_or_default()))
        .collect();
    assert!(untried.is_empty(), "not tried: {untried:?}");
}

/// Only an object of an error has one, and it has the exit code.
fn is_failure(value: &Value, code: Option<i32>) -> bool {
    let told = value["error"]["exitCode"].as_i64();
    told.is_some() && told == code.map(i64::from)
}

#[test]
fn bad_input_is_one_object_too() {
    let home = home();
    let check = |words: &[&str], code: i32, says: &str| {
        let words = [words, &["--json"]].concat();
        let done = home.rekindle(&words).unwrap();
        let error = object(&done, &words)["error"].take();
        assert_eq!((done.code(), &error["exitCode"]), (Some(code), &json!(code)), "{words:?}");
        assert!(error["message"].as_str().is_some_and(|text| text.contains(says)), "{words:?}: {error}");
        assert!(done.stderr.contains(says), "{words:?}: the same words on standard error: {}", done.stderr);
    };
    for command in ["status", "explain", "go", "scan", "repair", "branches", "show", "recover"] {
        check(&[command, "nobody"], 2, "is no session, pane or name here");
    }
    check(&["status", "--nonsense"], 2, "unexpected argument");
    check(&["nonsense"], 2, "unrecognized subcommand");
    check(&["name", SHOP], 2, "required");
    check(&["saves", "show", "nothing"], 2, "nothing");
    fs::write(home.home().join(".config/rekindle/config.toml"), "[vault\n").unwrap();
    check(&["status"], 1, "config.toml");
}
