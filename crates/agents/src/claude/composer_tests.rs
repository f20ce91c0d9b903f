//! Real screens of real agents, as `tmux capture-pane -e` gave them: 120 columns and 40 lines, the narrow ones 34 and 12.

use super::*;
use crate::claude::launch::{Dialog, recognise};

macro_rules! screens {
    ($($version:literal: $($name:literal)*;)*) => {
        [$($(($version, $name, include_str!(concat!("launch/screens/", $version, "/", $name, ".ansi"))),)*)*]
    };
}

const SCREENS: [(&str, &str, &str); 55] = screens! {
    "2.1.31": "bash" "bash-empty" "busy" "busy-draft" "draft" "draft-lines" "draft-start" "fresh" "help" "menu" "narrow"
        "narrow-draft" "pasted" "permission" "queued" "renamed" "shortcuts" "suggestion" "transcript";
    "2.1.100": "bash" "bash-empty" "busy" "busy-draft" "draft" "draft-lines" "draft-start" "fresh" "help" "menu" "narrow"
        "narrow-draft" "pasted" "permission" "queued" "renamed" "shortcuts" "transcript";
    "2.1.325": "bash" "bash-empty" "busy" "busy-draft" "draft" "draft-lines" "draft-start" "fresh" "help" "menu" "narrow"
        "narrow-draft" "pasted" "permission" "queued" "renamed" "shortcuts" "transcript";
};

fn of(version: &str, name: &str) -> Option<Composer> {
    composer(SCREENS.iter().find(|(v, n, _)| (*v, *n) == (version, name)).unwrap().2)
}

const VERSIONS: [&str; 3] = ["2.1.31", "2.1.100", "2.1.325"];

/// F-inject-3, F-inject-4
#[test]
fn every_real_composer_is_what_it_is() {
    for (version, name, screen) in SCREENS {
        let found = composer(screen);
        let typed = found.as_ref().map(|composer| composer.typed.as_str());
        let expect = match name {
            "help" | "permission" | "transcript" => None,
            "busy-draft" => Some("queued one"),
            "draft" | "draft-start" => Some("draft of mine"),
            "draft-lines" => Some("ask-00 first\nsecond line;"),
            "pasted" => Some("[Pasted text #1 +3001 lines]"),
            "menu" => Some("/help"),
            "bash" => Some("ls"),
            "narrow-draft" => {
                assert!(typed.is_some_and(|typed| typed.ends_with("sure that it has no room")), "{version}");
                continue;
            }
            _ => Some(""),
        };
        assert_eq!(typed, expect, "{version} {name}");
        let Some(found) = found else { continue };
        let shell = name.starts_with("bash");
        assert_eq!(found.mode == Mode::Shell, shell, "{version} {name}");
        assert_eq!(found.is_empty(), expect == Some("") && !shell, "{version} {name}");
        assert_eq!(found.completion.as_deref(), (name == "menu").then_some("/help"), "{version} {name}");
        // With a draft none of them says how to interrupt it.
        assert_eq!(found.interruptible, matches!(name, "busy" | "queued"), "{version} {name}");
    }
}

#[test]
fn questions_are_known_without_their_colours() {
    for (version, name, screen) in SCREENS {
        let expect = matches!(name, "help" | "permission").then_some(Dialog::Other);
        assert_eq!(recognise(&plain(screen)), expect, "{version} {name}");
    }
}

/// F-inject-4
#[test]
fn a_text_is_known_again_however_it_is_shown() {
    let long = "a long draft of mine that goes over several lines in so narrow a pane, and then some more words to fill \
                the pane to the top and further, until the upper rule of the composer is out of sight, for it is not a \
                large pane at all, is it? no. and here is more, and more, and more text, to be sure that it has no room";
    for version in VERSIONS {
        assert!(of(version, "draft").unwrap().holds("draft of mine"));
        assert!(of(version, "draft-lines").unwrap().holds("ask-00 first\nsecond line;"));
        assert!(of(version, "pasted").unwrap().holds("anything"), "its sign stands for it");
        assert!(of(version, "narrow-draft").unwrap().holds(long), "{version}");
        for other in ["draft of", "another draft of mine", ""] {
            assert!(!of(version, "draft").unwrap().holds(other), "{version} {other}");
        }
        assert!(!of(version, "fresh").unwrap().holds(""), "an empty one holds nothing");
        assert!(!of(version, "bash").unwrap().holds("ls"), "a shell would run it");
        assert!(!of(version, "narrow-draft").unwrap().holds("something else"), "{version}");
    }
    let stray = Composer {
        typed: "ask-10    tab\nслово é עברית x)> $(touch z)      p".to_owned(),
        ..of("2.1.31", "draft").unwrap()
    };
    assert!(stray.holds("ask-10\ttab\nслово é עברית x)> $(touch z)"), "a stray letter is no other text");
    assert!(!of("2.1.31", "suggestion").unwrap().holds("reply-02: noted."), "a suggestion is not typed");
}

#[test]
fn one_letter_under_the_cursor_is_typed() {
    let screen =
        |inside: &str| format!("{0}\n❯\u{a0}{inside}\n\u{1b}[0m{0}\n  ? for shortcuts\n", "─".repeat(20));
    let typed = |inside: &str| composer(&screen(inside)).unwrap().typed;
    assert_eq!(typed("\u{1b}[7mx"), "x");
    assert_eq!(typed("\u{1b}[7mT\u{1b}[0;2mry"), "");
    assert_eq!(typed("/co\u{1b}[2mmpact"), "/co");
    assert_eq!(typed("\u{1b}[38;5;2mgreen is not dim"), "green is not dim");
    assert_eq!(typed("\u{1b}]8;;http://x\u{1b}\\link\u{1b}]8;;\u{1b}\\"), "link");
}

#[test]
fn talk_is_no_composer() {
    let rule = "─".repeat(20);
    for talk in ["", "❯ ask\n● reply\n", "$ ls\nfile\n", "❯\u{a0}text without a rule\n"] {
        assert_eq!(composer(talk), None, "{talk:?}");
    }
    // An agent's answer between two rules, and one prompt of the past.
    assert_eq!(composer(&format!("{rule}\n❯ a prompt of the past\n{rule}\n")), None);
    assert_eq!(composer(&format!("{rule}\n● said\n{rule}\n")), None);
}
