//! `rekindle doctor` in throwaway homes: what it says, what it puts right, and that looking changes nothing.
#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "throwaway files are changed on purpose, and a test that cannot go on panics"
)]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::{Duration, SystemTime};

use lab::home::Home;
use lab::process;
use lab::rekindle::DEADLINE;
use lab::tree;
use serde_json::{Value, json};

const DENY: &str = r#"{"permissions": {"deny": ["Read(.env)"]}}"#;

/// What the doctor finds, as JSON, and how it ended.
fn doctor(home: &Home, words: &[&str]) -> (Value, Option<i32>) {
    let told = home.bare(&[&["doctor", "--json"], words].concat()).unwrap();
    assert!(!told.stdout.contains("\"disk-full\""), "the disk of this machine is nearly full");
    (serde_json::from_str(&told.stdout).unwrap(), told.code())
}

/// The ids of all findings but those that are well, each as `level id`.
fn told(found: &Value) -> Vec<String> {
    let findings = found["findings"].as_array().unwrap().iter();
    let text = |finding: &Value, key: &str| finding[key].as_str().unwrap().to_owned();
    findings
        .filter(|finding| finding["level"] != "ok")
        .map(|finding| format!("{} {}", text(finding, "level"), text(finding, "id")))
        .collect()
}

/// A home with an agent and the program on its path.
fn fresh() -> Home {
    let home = Home::new().unwrap();
    fs::write(home.config().join("settings.json"), DENY).unwrap();
    home.pretend_agent("2.1.325").unwrap();
    std::os::unix::fs::symlink(lab::program(), home.bin().join("rekindle")).unwrap();
    fs::set_permissions(home.state(), fs::Permissions::from_mode(0o700)).unwrap();
    home
}

fn wired() -> Home {
    let home = fresh();
    home.bare_done(&["init", "--yes"]).unwrap();
    home
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o7777
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn a_fresh_home_is_told_to_run_init_and_looking_makes_nothing() {
    let home = fresh();
    fs::remove_dir(home.state()).unwrap();
    let before = tree::look(home.root()).unwrap();
    let told = home.bare(&["doctor"]).unwrap();
    assert_eq!(told.code(), Some(1), "{}", told.words());
    insta::assert_snapshot!(without_figures(&told.stdout), @"
    ✗ no agent calls rekindle yet
      why: without hooks nothing says which conversation runs in which pane, so a
           restore can only offer what it finds
      fix: rekindle init

    ✓ settings can be read, and hooks are on
    ✓ agent 2.1.325 is in use
    ✓ tmux
    ✓ nothing is remembered yet
    ✓ N GB are free
    1 problem
    ");
    assert_eq!(home.bare(&["doctor", "--fix", "--yes"]).unwrap().code(), Some(1));
    assert_eq!(tree::differences(&before, &tree::look(home.root()).unwrap()), [""; 0]);
}

/// The output without what differs from machine to machine.
fn without_figures(text: &str) -> String {
    let line = |line: &str| {
        if line.ends_with(" GB are free") {
            "✓ N GB are free".to_owned()
        } else if line.starts_with("✓ tmux ") {
            "✓ tmux".to_owned()
        } else {
            line.to_owned()
        }
    };
    text.lines().map(line).collect::<Vec<_>>().join("\n")
}

#[test]
fn after_init_all_is_well() {
    let home = wired();
    let before = tree::look(home.root()).unwrap();
    let told = home.bare_done(&["doctor"]).unwrap();
    insta::assert_snapshot!(without_figures(&told.stdout), @"
    ✓ agents call rekindle in 1 configuration directory
    ✓ settings can be read, and hooks are on
    ✓ agent 2.1.325 is in use
    ✓ tmux
    ✓ 0 sessions on record
    ✓ N GB are free
    all is well
    ");
    assert_eq!(told.stderr, "");
    assert!(told.stdout.lines().all(|line| line.chars().count() <= 80));
    assert_eq!(tree::differences(&before, &tree::look(home.root()).unwrap()), [""; 0]);
}

#[test]
fn json_of_a_home_with_one_problem() {
    let home = fresh();
    let (mut found, code) = doctor(&home, &[]);
    assert_eq!(code, Some(1));
    for finding in found["findings"].as_array_mut().unwrap() {
        // Differs from machine to machine.
        if finding["id"] == "tmux-well" || finding["id"] == "disk-well" {
            finding["what"] = "…".into();
        }
    }
    let lines = found.to_string().replace("},{", "},\n{").replace(":[{", ":[\n{");
    insta::assert_snapshot!(lines, @r#"
    {"schemaVersion":1,"findings":[
    {"id":"not-wired","level":"problem","what":"no agent calls rekindle yet","why":"without hooks nothing says which conversation runs in which pane, so a restore can only offer what it finds","fix":"rekindle init","fixable":false},
    {"id":"settings-well","level":"ok","what":"settings can be read, and hooks are on","why":"","fix":"","fixable":false},
    {"id":"agents-well","level":"ok","what":"agent 2.1.325 is in use","why":"","fix":"","fixable":false},
    {"id":"tmux-well","level":"ok","what":"…","why":"","fix":"","fixable":false},
    {"id":"state-well","level":"ok","what":"0 sessions on record","why":"","fix":"","fixable":false},
    {"id":"disk-well","level":"ok","what":"…","why":"","fix":"","fixable":false}],"totals":{"problems":1,"warnings":0,"notes":0,"ok":5,"fixable":0}}
    "#);
}

#[test]
fn an_older_agent_appears_and_the_deny_rule_holds_again() {
    let home = wired();
    let settings = home.config().join("settings.json");
    let slug = home.slug(&home.project());
    fs::create_dir_all(&slug).unwrap();
    fs::write(slug.join("old.jsonl"), "{\"type\":\"user\",\"version\":\"2.1.31\"}\n").unwrap();
    let (found, code) = doctor(&home, &[]);
    assert_eq!(code, Some(1));
    assert_eq!(told(&found)[0], "problem hook-event-unsafe", "{found:#}");
    let what = found["findings"][0]["what"].as_str().unwrap();
    assert!(what.contains("CwdChanged") && what.contains("2.1.31"), "{what}");
    let before = fs::read_to_string(&settings).unwrap();

    // Shown, and nothing is done.
    let shown = home.bare(&["doctor", "--fix", "--dry-run"]).unwrap();
    assert_eq!(shown.code(), Some(1));
    assert!(
        shown.stdout.contains("-    \"CwdChanged\"") && shown.stdout.contains("would do: wired anew"),
        "{}",
        shown.stdout
    );
    let nobody = home.bare(&["doctor", "--fix"]).unwrap();
    assert_eq!(nobody.code(), Some(2), "{}", nobody.words());
    assert_eq!(fs::read_to_string(&settings).unwrap(), before);

    let mended = home.bare(&["doctor", "--fix", "--yes"]).unwrap();
    assert_eq!(mended.code(), Some(0), "{}", mended.words());
    assert!(
        mended.stdout.contains("done: wired anew") && mended.stdout.contains("undo: "),
        "{}",
        mended.stdout
    );
    let now: Value = serde_json::from_slice(&fs::read(&settings).unwrap()).unwrap();
    assert_eq!(now["permissions"]["deny"], json!(["Read(.env)"]));
    let events: Vec<&String> = now["hooks"].as_object().unwrap().keys().collect();
    assert_eq!(events.len(), 7, "{events:?}");
    assert!(["CwdChanged", "PostCompact", "StopFailure"].iter().all(|name| now["hooks"][name].is_null()));
    // What `init` wrote can still be taken out to the byte.
    home.bare_done(&["uninstall", "--keep-data", "--yes"]).unwrap();
    assert_eq!(fs::read_to_string(&settings).unwrap(), DENY);
}

#[test]
fn somebody_elses_unsafe_event_is_the_users_to_take_out() {
    let home = wired();
    let path = home.config().join("settings.json");
    let mut settings: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    settings["hooks"]["FileChanged"] = json!([{"hooks": [{"type": "command", "command": "say changed"}]}]);
    fs::write(&path, settings.to_string()).unwrap();
    home.pretend_agent("2.1.80").unwrap();
    let (found, code) = doctor(&home, &["--fix", "--yes"]);
    assert_eq!(code, Some(1), "{found:#}");
    assert_eq!(told(&found)[0], "problem hook-event-unsafe-foreign");
    let now: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    assert_eq!(now["hooks"]["FileChanged"], settings["hooks"]["FileChanged"]);
    assert!(now["hooks"]["CwdChanged"].is_null());
}

#[test]
fn settings_that_cannot_be_read_are_told_and_left() {
    let home = wired();
    let path = home.config().join("settings.json");
    for (text, expect) in [
        ("{\"hooks\": ", "problem settings-broken"),
        (
            "{\"disableAllHooks\": true, \"hooks\": {\"Stop\": [{\"hooks\": [{\"type\": \"command\", \"command\": \"rekindle hook Stop\"}]}]}}",
            "problem hooks-disabled",
        ),
        ("{} // mine\n", "problem settings-comments"),
    ] {
        fs::write(&path, text).unwrap();
        let (found, code) = doctor(&home, &["--fix", "--dry-run"]);
        assert_eq!(code, Some(1));
        assert!(told(&found).iter().any(|told| told == expect), "{expect}: {:?}", told(&found));
        assert_eq!(fs::read_to_string(&path).unwrap(), text);
    }
    fs::write(&path, "{").unwrap();
    assert_eq!(home.bare(&["doctor", "--fix", "--yes"]).unwrap().code(), Some(1));
    assert_eq!(fs::read_to_string(&path).unwrap(), "{");
}

#[test]
fn hooks_that_call_a_program_that_is_gone() {
    let home = wired();
    let path = home.config().join("settings.json");
    let text = fs::read_to_string(&path).unwrap();
    let program = home.bin().join("rekindle");
    fs::write(&path, text.replace(program.to_str().unwrap(), "/gone/rekindle")).unwrap();
    let (found, code) = doctor(&home, &[]);
    assert_eq!((told(&found), code), (vec!["problem hook-program-missing".to_owned()], Some(1)));
    let (found, code) = doctor(&home, &["--fix", "--yes"]);
    assert_eq!((told(&found), code), (Vec::new(), Some(0)), "{found:#}");
    assert_eq!(fs::read_to_string(&path).unwrap(), text);
}

#[test]
fn open_modes_are_closed_and_told_how_to_open_again() {
    let home = wired();
    home.bare_done(&["settle"]).unwrap();
    let (inside, key) =
        (home.state().join("journal.jsonl"), home.home().join(".config/rekindle/machine.key"));
    set_mode(&home.state(), 0o755);
    set_mode(&inside, 0o644);
    set_mode(&key, 0o640);
    let (found, code) = doctor(&home, &[]);
    assert_eq!(code, Some(1));
    assert_eq!(told(&found), ["problem state-open", "problem key-open", "warning state-files-open"]);
    assert_eq!((mode(&home.state()), mode(&inside), mode(&key)), (0o755, 0o644, 0o640));
    // Nothing of others is changed, so nobody is asked.
    let mended = home.bare(&["doctor", "--fix"]).unwrap();
    assert_eq!(mended.code(), Some(0), "{}", mended.words());
    assert!(mended.stdout.contains(&format!("chmod 0755 {}", home.state().display())), "{}", mended.stdout);
    assert_eq!((mode(&home.state()), mode(&inside), mode(&key)), (0o700, 0o600, 0o600));
}

#[test]
fn what_waits_is_settled_unless_it_is_paused() {
    let home = wired();
    let spool = home.state().join("spool");
    fs::create_dir_all(&spool).unwrap();
    let event = json!({"schema": 1, "event": "Stop", "at": 1, "input": {"session_id": "s1", "hook_event_name": "Stop"}});
    let file = spool.join("s1.jsonl");
    fs::write(&file, format!("\n{event}\n")).unwrap();
    set_mode(&spool, 0o700);
    set_mode(&file, 0o600);
    fs::File::options()
        .write(true)
        .open(&file)
        .unwrap()
        .set_modified(SystemTime::now() - Duration::from_secs(600))
        .unwrap();
    let (found, _) = doctor(&home, &[]);
    assert_eq!(told(&found), ["warning spool-unsettled"]);
    fs::write(home.state().join("paused"), "").unwrap();
    set_mode(&home.state().join("paused"), 0o600);
    let (found, code) = doctor(&home, &["--fix", "--yes"]);
    assert_eq!((told(&found), code), (vec!["warning paused".to_owned()], Some(0)));
    fs::remove_file(home.state().join("paused")).unwrap();
    let (found, code) = doctor(&home, &["--fix", "--yes"]);
    assert_eq!((told(&found), code), (Vec::new(), Some(0)), "{found:#}");
}

#[test]
fn a_broken_configuration_is_a_finding() {
    let home = wired();
    let config = home.home().join(".config/rekindle");
    fs::create_dir_all(&config).unwrap();
    fs::write(config.join("config.toml"), "[vault\n").unwrap();
    let (found, code) = doctor(&home, &[]);
    assert_eq!((told(&found), code), (vec!["problem config-broken".to_owned()], Some(1)));
    fs::write(config.join("config.toml"), "[recovery.prompts]\ntemplate = \"mine.md\"\n").unwrap();
    fs::write(config.join("mine.md"), "Again: {{session}}\n").unwrap();
    assert_eq!(doctor(&home, &[]).1, Some(0));
    fs::write(config.join("mine.md"), "Again: {{sesion}}\n").unwrap();
    let (found, code) = doctor(&home, &[]);
    assert_eq!((told(&found), code), (vec!["problem template-broken".to_owned()], Some(1)), "{found:#}");
}

#[test]
fn a_shell_of_an_agent_is_told() {
    let home = wired();
    let mut inside = home.bare_command(&["doctor", "--json"]);
    let done = process::run(inside.env("CLAUDECODE", "1"), DEADLINE).unwrap();
    let found: Value = serde_json::from_str(&done.stdout).unwrap();
    assert_eq!((told(&found), done.code()), (vec!["warning child-variables-here".to_owned()], Some(0)));
}

#[test]
fn a_servers_other_restorer_is_told() {
    let home = wired();
    let tmux = |words: &[&str]| {
        let mut command = home.adopt(home.tmux().command());
        assert!(process::run(command.args(words), DEADLINE).unwrap().success());
    };
    tmux(&["new-session", "-d", "-s", "work", "exec cat"]);
    tmux(&["set-option", "-g", "@resurrect-processes", "ssh \"~claude\""]);
    let (found, code) = doctor(&home, &[]);
    assert_eq!(code, Some(0));
    assert!(told(&found).contains(&"note tmux-other-restorer".to_owned()), "{:?}", told(&found));
    let tmux =
        found["findings"].as_array().unwrap().iter().find(|finding| finding["id"] == "tmux-well").unwrap();
    assert!(tmux["what"].as_str().unwrap().ends_with("1 server"), "{tmux}");
}

#[test]
fn words_that_need_each_other() {
    let home = fresh();
    for words in [&["doctor", "--dry-run"][..], &["doctor", "--yes"], &["doctor", "now"]] {
        assert_eq!(home.bare(words).unwrap().code(), Some(2), "{words:?}");
    }
}
