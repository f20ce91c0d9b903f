//! What `uninstall` erases besides the wiring: the state directory, its key, the tags on panes; and what keeps it from that.
#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "throwaway files are changed on purpose, and a test that cannot go on panics"
)]

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::process::Stdio;

use lab::home::Home;
use lab::tree::{contents, differing};
use serde_json::Value;

/// A home with an agent whose settings say nothing.
fn home() -> Home {
    let home = Home::new().unwrap();
    fs::write(home.config().join("settings.json"), "{}").unwrap();
    home.pretend_agent("2.1.325").unwrap();
    home
}

#[test]
fn the_state_directory_goes_only_when_nothing_is_lost() {
    const SESSION: &str = "66666666-aaaa-4aaa-8aaa-aaaaaaaaaaaa";
    let home = home();
    let path = home.put_talk(SESSION, 4).unwrap();
    home.bare_done(&["init", "--yes"]).unwrap();
    home.bare_done(&["vault", "sync"]).unwrap();
    fs::remove_file(&path).unwrap();
    let (before, vault) = (contents(&home.home()).unwrap(), contents(&home.state().join("vault")).unwrap());
    let dry = home.bare(&["uninstall", "--dry-run"]).unwrap();
    assert!(
        dry.stderr.contains("cannot be removed: its vault holds what exists nowhere else"),
        "{}",
        dry.stderr
    );
    let refused = home.bare(&["uninstall", "--yes"]).unwrap();
    assert_eq!(refused.code(), Some(3));
    assert!(
        refused.stderr.contains("the vault holds what exists nowhere else: 1 conversation\n"),
        "{}",
        refused.stderr
    );
    assert_eq!(differing(&before, &contents(&home.home()).unwrap()), [""; 0]);

    home.bare_done(&["uninstall", "--keep-data", "--yes"]).unwrap();
    assert_eq!(differing(&vault, &contents(&home.state().join("vault")).unwrap()), [""; 0]);
    // What is not ours stays, whatever the state directory is.
    fs::write(home.state().join("letters.txt"), "dear").unwrap();
    let gone: Value = serde_json::from_str(
        &home.bare_done(&["uninstall", "--yes", "--forget-vault", "--json"]).unwrap().stdout,
    )
    .unwrap();
    assert_eq!((&gone["state"]["removed"], &gone["state"]["onlyHere"]), (&true.into(), &1.into()));
    assert_eq!(fs::read_dir(home.state()).unwrap().count(), 1);
}

/// The only other copy goes while `uninstall` waits for a mirror: what the first look said holds no longer.
#[test]
fn what_became_the_only_copy_is_not_erased() {
    let home = home();
    let path = home.put_talk("66666666-aaaa-4aaa-8aaa-aaaaaaaaaaaa", 4).unwrap();
    home.bare_done(&["init", "--yes"]).unwrap();
    home.bare_done(&["vault", "sync"]).unwrap();
    let before = contents(&home.home()).unwrap();
    let mirror = fs::File::create(home.state().join("locks/mirror")).unwrap();
    mirror.lock().unwrap();
    let mut uninstall = home.bare_command(&["uninstall", "--yes"]);
    let mut child = uninstall.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut said = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    while !line.contains("Every conversation in it also exists outside of it.") {
        assert!(said.read_line(&mut line).unwrap() > 0, "{line}");
    }
    fs::remove_file(&path).unwrap();
    drop(mirror);
    said.read_to_string(&mut line).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(3), "{line}");
    assert!(line.contains("exists nowhere else: 1 conversation\n"), "{line}");
    assert_eq!(differing(&before, &contents(&home.home()).unwrap()), [path.display().to_string()]);
    home.bare_done(&["vault", "verify"]).unwrap();
}

/// The key, the history of the state and the tags on panes are ours too.
#[test]
fn nothing_of_ours_stays_behind() {
    let home = home();
    home.bare_done(&["init", "--yes"]).unwrap();
    home.bare_done(&["status"]).unwrap();
    let key = home.home().join(".config/rekindle/machine.key");
    assert!(key.exists());
    fs::create_dir_all(home.state().join(".git/info")).unwrap();
    fs::write(home.state().join(".git/info/exclude"), "# Written by rekindle: bulk.\n/vault/\n").unwrap();
    home.in_tmux(&["new-session", "-d", "-s", "work", "exec cat"]).unwrap();
    // Everything that a restore puts on a pane, and what its user has put there.
    let options = ["@rekindle_id", "@rekindle_lazy", "@rekindle_restored", "@rekindle_pane", "@mine"];
    for option in options {
        home.in_tmux(&["set-option", "-p", "-t", "work:0.0", option, "66666666"]).unwrap();
    }
    let tag = || home.in_tmux(&["display-message", "-p", "-t", "work:0.0", "#{@rekindle_id}"]).unwrap();

    let dry = home.bare_done(&["uninstall", "--dry-run"]).unwrap();
    assert!(dry.stderr.contains(" and its git history. "), "{}", dry.stderr);
    assert!(dry.stderr.contains("~/.config/rekindle/machine.key: would be removed"), "{}", dry.stderr);
    assert_eq!((key.exists(), tag().as_str()), (true, "66666666"));
    // A second state directory has its records marked with the same key.
    let usual = home.home().join(".local/state/rekindle");
    fs::create_dir_all(&usual).unwrap();
    let dry = home.bare_done(&["uninstall", "--dry-run"]).unwrap();
    assert!(dry.stderr.contains("machine.key: stays: "), "{}", dry.stderr);
    fs::remove_dir(&usual).unwrap();

    home.bare_done(&["uninstall", "--keep-data", "--yes"]).unwrap();
    assert!(key.exists() && home.state().join(".git").exists());
    assert_eq!(home.in_tmux(&["show-options", "-p", "-t", "work:0.0"]).unwrap(), "@mine 66666666");
    let gone = home.bare_done(&["uninstall", "--yes"]).unwrap();
    assert!(!gone.stderr.contains("stays"), "{}", gone.stderr);
    assert!(!home.state().exists() && !key.parent().unwrap().exists());
}
