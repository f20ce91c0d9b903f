//! One session id in two accounts is two conversations: every command takes one of them, or refuses with both.
#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "throwaway files are damaged on purpose, and a test that cannot go on panics"
)]

use std::fs;
use std::path::PathBuf;

use lab::home::Home;
use lab::talk;
use serde_json::json;

const SESSION: &str = "eeeeeeee-eeee-4eee-8eee-eeeeeeeeeeee";

struct Two {
    home: Home,
    /// The transcript of each account.
    first: PathBuf,
    second: PathBuf,
}

/// The same id in both accounts, with other words; both in the vault.
fn two() -> Two {
    let home = Home::new().unwrap();
    let config = home.home().join(".claude-second");
    home.configure(&format!("[[slots]]\nname = \"second\"\nconfig_dir = \"{}\"\n", config.display()))
        .unwrap();
    let first = home.put_talk(SESSION, 3).unwrap();
    let second = config.join(first.strip_prefix(home.config()).unwrap());
    fs::create_dir_all(second.parent().unwrap()).unwrap();
    fs::write(&second, talk::talk(SESSION, &home.project(), 5).bytes()).unwrap();
    assert!(home.rekindle(&["vault", "sync"]).unwrap().success());
    Two { home, first, second }
}

fn at(account: &str) -> String {
    format!("{SESSION}@{account}")
}

#[test]
fn whoever_names_no_account_is_shown_both() {
    let Two { home, first, second } = two();
    let commands: [&[&str]; 7] = [
        &["scan", SESSION],
        &["show", SESSION],
        &["repair", SESSION],
        &["branches", SESSION],
        &["undo", SESSION],
        &["vault", "restore", SESSION],
        &["vault", "forget", SESSION, "--yes"],
    ];
    // Also where one of them is only in the vault.
    for gone in [None, Some(&second)] {
        if let Some(path) = gone {
            fs::remove_file(path).unwrap();
        }
        for words in commands {
            let refused = home.rekindle(words).unwrap();
            assert_eq!(refused.code(), Some(2), "{words:?}: {}", refused.words());
            for account in [".claude", ".claude-second"] {
                assert!(refused.stderr.contains(&at(account)), "{words:?}: {}", refused.stderr);
            }
        }
    }
    assert!(first.exists() && !second.exists());
    let listed = home.rekindle_json(&["vault", "list"]).unwrap();
    assert_eq!(listed["conversations"].as_array().unwrap().len(), 2, "nothing was forgotten");
}

#[test]
fn the_account_that_is_named_is_the_one() {
    let Two { home, first, second } = two();
    let (one, two) = (fs::read(&first).unwrap(), fs::read(&second).unwrap());
    let rows = |account: &str| home.scan(&at(account)).unwrap()["messageCount"].clone();
    assert_eq!((rows(".claude"), rows(".claude-second")), (json!(6), json!(10)));
    // The one that is missing comes back; the other stays as it is.
    fs::remove_file(&second).unwrap();
    let back = home.rekindle(&["vault", "restore", &at(".claude-second")]).unwrap();
    assert!(back.success(), "{}", back.words());
    assert_eq!((fs::read(&first).unwrap(), fs::read(&second).unwrap()), (one.clone(), two.clone()));
    fs::remove_file(&second).unwrap();
    let back = home.rekindle(&["repair", &at(".claude-second")]).unwrap();
    assert!(back.success(), "{}", back.words());
    assert_eq!((fs::read(&first).unwrap(), fs::read(&second).unwrap()), (one, two.clone()));
    // The one that is forgotten is gone; the other can still be put back.
    let done = home.rekindle(&["vault", "forget", &at(".claude"), "--yes"]).unwrap();
    assert!(done.success(), "{}", done.words());
    let listed = home.rekindle_json(&["vault", "list"]).unwrap();
    let left = listed["conversations"].as_array().unwrap();
    assert_eq!(left.len(), 1, "{listed}");
    assert!(left[0]["configDir"].as_str().unwrap().ends_with(".claude-second"), "{listed}");
    fs::remove_file(&second).unwrap();
    assert!(home.rekindle(&["vault", "restore", &at(".claude-second")]).unwrap().success());
    assert_eq!(fs::read(&second).unwrap(), two);
}
