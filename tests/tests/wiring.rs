//! `init` and `uninstall` in throwaway homes: what is written, what is left alone, and that the undoing is exact.
#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "throwaway files are changed on purpose, and a test that cannot go on panics"
)]

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use lab::home::Home;
use lab::process::{self, Running};
use lab::tree::{self, contents, differing};
use serde_json::{Value, json};

fn settings_of(config: &Path) -> Value {
    serde_json::from_slice(&fs::read(config.join("settings.json")).unwrap()).unwrap()
}

/// The events that call us, and what else is there.
fn events(config: &Path) -> Vec<String> {
    let settings = settings_of(config);
    let hooks = settings["hooks"].as_object().cloned().unwrap_or_default();
    hooks
        .into_iter()
        .filter(|(_, groups)| groups.to_string().contains(" hook "))
        .map(|(name, _)| name)
        .collect()
}

const MINE: &str = r#"{
    "permissions": { "deny": ["Read(.env)"], "allow": ["Bash"] },
	"hooks": {"Stop": [{"matcher": "", "hooks": [{"type": "command", "command": "say 'done'"}]}]},
    "statusLine": {"type": "command", "command": "~/my-line --wide", "padding": 1},
    "model": "opus"
}
"#;

fn with_settings(text: &str) -> Home {
    let home = Home::new().unwrap();
    fs::write(home.config().join("settings.json"), text).unwrap();
    home.pretend_agent("2.1.325").unwrap();
    home
}

#[test]
fn wired_once_and_undone_to_the_byte() {
    let home = with_settings(MINE);
    let before = contents(&home.home()).unwrap();
    let told = home.bare_done(&["init", "--yes"]).unwrap();
    assert!(
        told.stdout.contains("~/.claude/settings.json: add hooks for 10 events, change the status line\n"),
        "{}",
        told.stdout
    );
    let wired = contents(&home.home()).unwrap();
    let settings = settings_of(&home.config());
    assert_eq!(settings["permissions"], json!({"deny": ["Read(.env)"], "allow": ["Bash"]}));
    assert_eq!(settings["hooks"]["Stop"][0]["hooks"][0]["command"], "say 'done'");
    assert_eq!(events(&home.config()).len(), 10);
    let line = settings["statusLine"]["command"].as_str().unwrap();
    assert!(line.ends_with("rekindle statusline --keep '~/my-line --wide'"), "{line}");
    assert_eq!(settings["statusLine"]["padding"], 1);
    for made in
        ["commands/rekindle/status.md", "skills/rekindle-save/SKILL.md", "instances", "session-health"]
    {
        assert!(home.config().join(made).exists(), "{made}");
    }
    let bash =
        fs::read_to_string(home.home().join(".local/share/bash-completion/completions/rekindle")).unwrap();
    assert!(bash.contains("complete -F _rekindle"));

    // A second time there is nothing to do, not even a new time on a file.
    let look = || (tree::look(&home.home()).unwrap(), tree::look(&home.state().join("wiring")).unwrap());
    let (one, record) = look();
    assert_eq!(home.bare_done(&["init", "--yes"]).unwrap().stdout, "everything is wired\n");
    assert_eq!(home.bare_done(&["init"]).unwrap().stdout, "everything is wired\n");
    assert_eq!(tree::differences(&one, &look().0), [""; 0]);
    assert_eq!(tree::differences(&record, &look().1), [""; 0]);

    assert_eq!(differing(&wired, &contents(&home.home()).unwrap()), [""; 0]);
    home.bare_done(&["uninstall", "--keep-data", "--yes"]).unwrap();
    assert_eq!(differing(&before, &contents(&home.home()).unwrap()), [""; 0]);
    assert_eq!(home.bare_done(&["uninstall", "--keep-data", "--yes"]).unwrap().stdout, "nothing is wired\n");
}

#[test]
fn nothing_happens_without_a_yes() {
    let home = with_settings(MINE);
    fs::remove_dir(home.state()).unwrap();
    let before = tree::look(home.root()).unwrap();
    home.bare_done(&["uninstall", "--dry-run"]).unwrap();
    let dry = home.bare_done(&["init", "--dry-run"]).unwrap();
    assert!(!dry.stdout.contains("+++ "), "{}", dry.stdout);
    let dry = home.bare_done(&["init", "--dry-run", "--diff"]).unwrap();
    assert!(dry.stdout.contains("+++ ~/.claude/settings.json"), "{}", dry.stdout);
    let nobody = home.bare(&["init"]).unwrap();
    assert_eq!(nobody.code(), Some(2));
    assert!(nobody.stderr.contains("--yes"), "{}", nobody.stderr);
    assert_eq!(home.bare(&["init", "--json"]).unwrap().code(), Some(2));
    let told: Value =
        serde_json::from_str(&home.bare_done(&["init", "--dry-run", "--json"]).unwrap().stdout).unwrap();
    assert_eq!((&told["schemaVersion"], &told["wired"]), (&1.into(), &false.into()));
    assert_eq!(told["changes"][0]["kind"], "settings");
    assert_eq!(tree::differences(&before, &tree::look(home.root()).unwrap()), [""; 0]);

    home.bare_done(&["init", "--yes"]).unwrap();
    let wired = tree::look(&home.home()).unwrap();
    home.bare_done(&["uninstall", "--dry-run"]).unwrap();
    assert_eq!(home.bare(&["uninstall", "--keep-data"]).unwrap().code(), Some(2));
    assert_eq!(tree::differences(&wired, &tree::look(&home.home()).unwrap()), [""; 0]);
}

#[test]
fn a_person_is_asked() {
    let home = with_settings("{}");
    let program = lab::program();
    let type_in = |word: &str| {
        // script gives the program a terminal.
        let mut script = home.bare_command(&[]);
        let line = format!("'{}' init", program.display());
        let mut words = Command::new("script");
        words.args(["-qec", &line, "/dev/null"]);
        words.env_clear().envs(script.get_envs().filter_map(|(name, value)| Some((name, value?))));
        script = words;
        script.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = script.spawn().unwrap();
        std::io::Write::write_all(child.stdin.as_mut().unwrap(), word.as_bytes()).unwrap();
        child.wait_with_output().unwrap()
    };
    let no = type_in("1\nn\n");
    assert_eq!(no.status.code(), Some(3), "{}", String::from_utf8_lossy(&no.stdout));
    assert_eq!(settings_of(&home.config()), json!({}));
    assert_eq!(type_in("1\ny\n").status.code(), Some(0));
    assert!(!events(&home.config()).is_empty());
}

#[test]
fn what_was_changed_since_stays() {
    let home = with_settings(MINE);
    home.bare_done(&["init", "--yes"]).unwrap();
    let path = home.config().join("settings.json");
    // As the agent does it: the whole file written anew, with something more in it.
    let mut settings = settings_of(&home.config());
    settings["theme"] = "light".into();
    settings["hooks"]["Stop"]
        .as_array_mut()
        .unwrap()
        .push(json!({"hooks": [{"type": "command", "command": "late"}]}));
    fs::write(&path, serde_json::to_string_pretty(&settings).unwrap()).unwrap();
    let status = home.config().join("commands/rekindle/status.md");
    let mine = fs::read_to_string(&status).unwrap().replace("Do nothing else.", "Sing.");
    fs::write(&status, &mine).unwrap();
    assert!(
        home.bare_done(&["init", "--yes"]).unwrap().stderr.contains("status.md was changed since: it stays")
    );

    let told = home.bare_done(&["uninstall", "--keep-data", "--yes"]).unwrap();
    assert!(told.stderr.contains("status.md was changed since: it stays"), "{}", told.stderr);
    let mut expect: Value = serde_json::from_str(&MINE.replace('\t', " ")).unwrap();
    expect["theme"] = "light".into();
    expect["hooks"]["Stop"]
        .as_array_mut()
        .unwrap()
        .push(json!({"hooks": [{"type": "command", "command": "late"}]}));
    assert_eq!(settings_of(&home.config()), expect);
    assert_eq!(fs::read_to_string(&status).unwrap(), mine);
    assert!(!home.config().join("commands/rekindle/map.md").exists());
}

#[test]
fn one_broken_file_and_nothing_is_touched() {
    let home = with_settings(MINE);
    let slot = home.home().join("slot");
    fs::create_dir(&slot).unwrap();
    let config = home.home().join(".config/rekindle");
    fs::create_dir_all(&config).unwrap();
    fs::write(config.join("config.toml"), "[[slots]]\nname = \"two\"\nconfig_dir = \"~/slot\"\n").unwrap();
    for (text, words) in [
        ("{\n  \"a\": 1,\n  \"b\" 2\n}", "line 3"),
        ("[]", "no object"),
        ("{\"hooks\": []}", "hooks: it is no object"),
        ("{\"hooks\": {\"Stop\": 1}}", "hooks.Stop: it is no array"),
        ("\u{0}", "line 1"),
    ] {
        fs::write(slot.join("settings.json"), text).unwrap();
        let before = tree::look(&home.home()).unwrap();
        for how in [&["init", "--yes"][..], &["init", "--dry-run"], &["init", "--yes", "--json"]] {
            let refused = home.bare(how).unwrap();
            assert_eq!(refused.code(), Some(3), "{text:?} {}", refused.words());
            assert!(
                refused.stderr.contains(words) && refused.stderr.contains("slot/settings.json"),
                "{}",
                refused.stderr
            );
        }
        assert_eq!(tree::differences(&before, &tree::look(&home.home()).unwrap()), [""; 0]);
    }
    let path = slot.join("settings.json");
    fs::remove_file(&path).unwrap();
    symlink("nowhere", &path).unwrap();
    assert_eq!(home.bare(&["init", "--yes"]).unwrap().code(), Some(3));
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    assert_eq!(home.bare(&["init", "--yes"]).unwrap().code(), Some(1));
    fs::remove_dir(&path).unwrap();
    fs::write(&path, "{}").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o444)).unwrap();
    let refused = home.bare(&["init", "--yes"]).unwrap();
    assert_eq!(refused.code(), Some(3));
    assert!(refused.stderr.contains("read-only"), "{}", refused.stderr);
    assert_eq!(fs::read_to_string(home.config().join("settings.json")).unwrap(), MINE);
    assert!(!home.state().join("wiring").exists());
}

#[test]
fn links_are_written_through_and_modes_stay() {
    let home = with_settings("{}");
    let dotfiles = home.home().join("dotfiles");
    fs::create_dir(&dotfiles).unwrap();
    let (real, link) = (dotfiles.join("claude.json"), home.config().join("settings.json"));
    fs::write(&real, MINE).unwrap();
    fs::set_permissions(&real, fs::Permissions::from_mode(0o640)).unwrap();
    fs::remove_file(&link).unwrap();
    symlink(&real, &link).unwrap();
    // A slot that shares everything by links is wired with it, once.
    let slot = home.home().join("slot");
    fs::create_dir(&slot).unwrap();
    symlink(&real, slot.join("settings.json")).unwrap();
    fs::create_dir(home.config().join("commands")).unwrap();
    symlink(home.config().join("commands"), slot.join("commands")).unwrap();
    let config = home.home().join(".config/rekindle");
    fs::create_dir_all(&config).unwrap();
    let slots = "[[slots]]\nname = \"a\"\nconfig_dir = \"~/slot\"\n[[slots]]\nname = \"b\"\nconfig_dir = \"~/gone\"\n";
    fs::write(config.join("config.toml"), slots).unwrap();
    let before = contents(&home.home()).unwrap();
    let told = home.bare_done(&["init", "--yes"]).unwrap();
    assert!(told.stderr.contains("gone is not there: passed over"), "{}", told.stderr);
    assert_eq!(fs::read_link(&link).unwrap(), real);
    assert_eq!(fs::metadata(&real).unwrap().permissions().mode() & 0o777, 0o640);
    assert_eq!(settings_of(&slot)["hooks"]["Stop"].as_array().unwrap().len(), 2);
    assert!(slot.join("skills/rekindle-save/SKILL.md").exists());
    assert_eq!(home.bare_done(&["init", "--yes"]).unwrap().stdout, "everything is wired\n");
    home.bare_done(&["uninstall", "--keep-data", "--yes"]).unwrap();
    assert_eq!(differing(&before, &contents(&home.home()).unwrap()), [""; 0]);
}

#[test]
fn a_home_without_an_agent() {
    let home = Home::new().unwrap();
    fs::remove_dir_all(home.config()).unwrap();
    let before = contents(&home.home()).unwrap();
    let told = home.bare_done(&["init", "--yes"]).unwrap();
    assert!(told.stderr.contains("no agent was used here yet"), "{}", told.stderr);
    assert_eq!(events(&home.config()).len(), 7);
    assert_eq!(
        fs::metadata(home.config().join("settings.json")).unwrap().permissions().mode() & 0o777,
        0o600
    );
    home.bare_done(&["uninstall", "--yes"]).unwrap();
    assert_eq!(differing(&before, &contents(&home.home()).unwrap()), [""; 0]);
    assert!(!home.state().exists());
}

#[test]
fn only_events_that_every_agent_knows() {
    let home = with_settings("{}");
    home.bare_done(&["init", "--yes"]).unwrap();
    assert_eq!(events(&home.config()).len(), 10);
    // An older agent turns up: by a transcript, by the registry, or on the machine.
    let slug = home.slug(&home.project());
    fs::create_dir_all(&slug).unwrap();
    fs::write(slug.join("old.jsonl"), "{\"type\":\"user\",\"version\":\"2.1.31\"}\n").unwrap();
    let told = home.bare_done(&["init", "--yes"]).unwrap();
    assert!(
        told.stderr.contains("left out StopFailure, PostCompact, CwdChanged; agent 2.1.31"),
        "{}",
        told.stderr
    );
    assert_eq!(events(&home.config()).len(), 7);
    fs::remove_file(slug.join("old.jsonl")).unwrap();
    home.bare_done(&["init", "--yes"]).unwrap();
    assert_eq!(events(&home.config()).len(), 10);
    home.pretend_agent("2.1.80").unwrap();
    home.bare_done(&["init", "--yes"]).unwrap();
    assert_eq!(events(&home.config()).len(), 9);
    // One that does not answer is not waited for, and then only what all know is safe.
    home.script("claude", "exec sleep 1000").unwrap();
    home.bare_done(&["init", "--yes"]).unwrap();
    assert_eq!(events(&home.config()).len(), 7);
    home.bare_done(&["uninstall", "--keep-data", "--yes"]).unwrap();
    assert_eq!(fs::read_to_string(home.config().join("settings.json")).unwrap(), "{}");
}

#[test]
fn folders_in_a_links_place_are_adopted_and_given_back() {
    let home = with_settings("{}");
    let mine = home.config().join("instances");
    fs::create_dir(&mine).unwrap();
    fs::write(mine.join("registry.json"), "mine").unwrap();
    let before = contents(&home.home()).unwrap();
    let told = home.bare_done(&["init", "--yes"]).unwrap();
    assert!(told.stderr.contains("--adopt"), "{}", told.stderr);
    assert!(fs::symlink_metadata(&mine).unwrap().is_dir());
    home.bare_done(&["init", "--yes", "--adopt"]).unwrap();
    assert_eq!(fs::read_link(&mine).unwrap(), home.state().join("instances"));
    assert_eq!(fs::read_to_string(home.state().join("instances/registry.json")).unwrap(), "mine");
    fs::write(mine.join("ours.json"), "ours").unwrap();
    home.bare_done(&["uninstall", "--yes"]).unwrap();
    assert_eq!(fs::read_to_string(mine.join("registry.json")).unwrap(), "mine");
    let after = differing(&before, &contents(&home.home()).unwrap());
    // A folder that was moved and made again is ours to close.
    assert!(after.iter().all(|path| Path::new(path) == mine), "{after:?}");

    // What is in both places is nobody's to choose.
    fs::create_dir_all(home.state().join("instances")).unwrap();
    fs::write(home.state().join("instances/registry.json"), "ours").unwrap();
    let told = home.bare_done(&["init", "--yes", "--adopt"]).unwrap();
    assert!(told.stderr.contains("registry.json is in the state directory too"), "{}", told.stderr);
    assert_eq!(fs::read_to_string(mine.join("registry.json")).unwrap(), "mine");
}

#[test]
fn a_damaged_record_is_named_and_its_links_go() {
    let home = with_settings("{}");
    home.bare_done(&["init", "--yes"]).unwrap();
    let link = home.config().join("instances");
    assert_eq!(fs::read_link(&link).unwrap(), home.state().join("instances"));
    let record = home.state().join("wiring/home.json");
    fs::write(&record, "{\"links\": [").unwrap();
    let refused = home.bare(&["uninstall", "--yes"]).unwrap();
    assert_eq!(refused.code(), Some(3), "{}", refused.words());
    assert!(refused.stderr.contains("home.json is damaged") && link.is_symlink(), "{}", refused.words());
    let told = home.bare_done(&["uninstall", "--keep-data", "--yes"]).unwrap();
    assert!(told.stderr.contains("home.json is damaged"), "{}", told.stderr);
    assert!(fs::symlink_metadata(&link).is_err(), "the link is known by its shape");
}

#[test]
fn somebody_elses_files_stay() {
    let home = with_settings("{}");
    let theirs = home.config().join("commands/rekindle/map.md");
    fs::create_dir_all(theirs.parent().unwrap()).unwrap();
    fs::write(&theirs, "my own").unwrap();
    symlink("/elsewhere", home.config().join("session-health")).unwrap();
    let before = contents(&home.home()).unwrap();
    let told = home.bare_done(&["init", "--yes"]).unwrap();
    for name in ["map.md is not ours: it stays", "session-health is not ours: it stays"] {
        assert!(told.stderr.contains(name), "{}", told.stderr);
    }
    home.bare_done(&["uninstall", "--keep-data", "--yes"]).unwrap();
    assert_eq!(differing(&before, &contents(&home.home()).unwrap()), [""; 0]);
}

#[test]
fn killed_anywhere_it_can_be_completed_and_undone() {
    let home = with_settings(MINE);
    let before = contents(&home.home()).unwrap();
    let begin = std::time::Instant::now();
    home.bare_done(&["init", "--yes"]).unwrap();
    let whole = begin.elapsed();
    home.bare_done(&["uninstall", "--keep-data", "--yes"]).unwrap();
    for step in 0..24_u32 {
        let after = whole * step / 20;
        for (words, back) in [(["init", "--yes"], false), (["uninstall", "--yes"], true)] {
            if back {
                home.bare_done(&["init", "--yes"]).unwrap();
            }
            let mut killed = home.bare_command(&words);
            killed.args(if back { &["--keep-data"][..] } else { &[] });
            killed.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
            let mut running = Running::start(&mut killed).unwrap();
            let _ = running.wait(after).unwrap();
            drop(running);
            // At any moment the settings are whole.
            settings_of(&home.config());
            if step % 2 == 0 && !back {
                home.bare_done(&["init", "--yes"]).unwrap();
                assert_eq!(events(&home.config()).len(), 10, "killed after {after:?}");
            }
            home.bare_done(&["uninstall", "--keep-data", "--yes"]).unwrap();
            let differs = differing(&before, &contents(&home.home()).unwrap());
            assert_eq!(differs, [""; 0], "{words:?} killed after {after:?}");
        }
    }
}

#[test]
fn bad_words() {
    let home = with_settings("{}");
    for words in [
        &["init", "--statusline", "sing"][..],
        &["init", "now"],
        &["uninstall", "--keep-data", "--forget-vault"],
    ] {
        assert_eq!(home.bare(words).unwrap().code(), Some(2), "{words:?}");
    }
    let mut nowhere = home.bare_command(&["init", "--yes"]);
    nowhere.env_remove("HOME").env("CLAUDE_CONFIG_DIR", home.root().join("other"));
    let told = process::run(&mut nowhere, Duration::from_secs(60)).unwrap();
    assert!(told.success(), "{}", told.words());
    assert_eq!(events(&home.root().join("other")).len(), 10);
    assert_eq!(settings_of(&home.config()), json!({}));
}
