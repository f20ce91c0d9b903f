//! Real screens of real agents, 120 columns wide, as `tmux capture-pane` gave them.

use super::*;

macro_rules! screens {
    ($($version:literal: $($name:literal)*;)*) => {
        [$($(($version, $name, include_str!(concat!("screens/", $version, "/", $name, ".txt"))),)*)*]
    };
}

const SCREENS: [(&str, &str, &str); 26] = screens! {
    "2.1.31": "apikey" "bypass" "imports" "mcp" "ready" "resumed" "settings" "trust";
    "2.1.100": "apikey" "bypass" "imports" "mcp" "ready" "resumed" "settings" "summary" "trust";
    "2.1.325": "apikey" "bypass" "imports" "mcp" "ready" "resumed" "settings" "summary" "trust";
};

fn screen(version: &str, name: &str) -> &'static str {
    SCREENS.iter().find(|(v, n, _)| (*v, *n) == (version, name)).unwrap().2
}

/// F-resume-14
#[test]
fn every_real_screen_is_what_it_is() {
    for (version, name, text) in SCREENS {
        let expect = match name {
            "apikey" => Some(Dialog::ApiKey),
            "bypass" => Some(Dialog::BypassWarning),
            "imports" => Some(Dialog::ExternalImports),
            "mcp" => Some(Dialog::NewMcpServer),
            "settings" => Some(Dialog::SettingsError),
            "summary" => Some(Dialog::ResumeOrSummary),
            "trust" => Some(Dialog::TrustFolder),
            _ => None,
        };
        assert_eq!(recognise(text), expect, "{version} {name}");
    }
}

/// F-resume-14
#[test]
fn only_the_question_how_to_resume_is_answered_and_by_its_text() {
    for (version, name, text) in SCREENS {
        let expect = (name == "summary").then_some(Answer::Down);
        assert_eq!(Answer::toward(text), expect, "{version} {name}");
    }
    let text = screen("2.1.325", "summary");
    let moved = |to: &str| text.replace('❯', " ").replace(&format!("  {to}"), &format!("❯ {to}"));
    assert_eq!(Answer::toward(&moved("2. Resume full")), Some(Answer::Enter));
    assert_eq!(Answer::toward(&moved("3. Don't ask")), Some(Answer::Up));
    // Words that changed are not guessed at.
    assert_eq!(Answer::toward(&text.replace("as-is", "as it was")), None);
}

#[test]
fn choices_are_read_with_and_without_numbers() {
    let read = |version, name| -> Vec<(String, bool)> {
        choices(screen(version, name)).into_iter().map(|choice| (choice.label, choice.focused)).collect()
    };
    let yes = |focused| ("Yes, I trust this folder".to_owned(), focused);
    let no = |focused| ("No, exit".to_owned(), focused);
    assert_eq!(read("2.1.100", "trust"), [yes(true), no(false)]);
    assert_eq!(read("2.1.325", "trust"), [no(true), yes(false)]);
    assert_eq!(read("2.1.31", "apikey")[1], ("No (recommended)".to_owned(), true));
}

#[test]
fn a_narrow_pane_wraps_the_words() {
    let narrow = "\
 Accessing workspace:

 /home/u/project

 Quick safety check: Is
 this a project you
 created?

 ❯ 1. Yes, I trust this
   folder
   2. No, exit

 Enter to confirm · Esc
 to cancel
";
    assert_eq!(recognise(narrow), Some(Dialog::TrustFolder));
}

#[test]
fn a_conversation_that_quotes_a_question_asks_nothing() {
    let quoted = screen("2.1.325", "summary").replace('─', " ");
    let composer = screen("2.1.325", "resumed");
    let talk = composer.replace("reply-01: noted", &quoted);
    assert_eq!(recognise(&talk), None);
    assert_eq!(recognise(""), None);
}

#[test]
fn an_unknown_question_is_a_question() {
    let text = "Shall I?\n\n ❯ 1. Yes\n   2. No\n\n Enter to confirm · Esc to cancel\n";
    assert_eq!(recognise(text), Some(Dialog::Other));
    assert_eq!(Dialog::Other.answer(), None);
}
