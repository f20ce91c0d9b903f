//! The preset `plain`: readable without a legend.

use super::*;
use crate::prepared::NoticeKind;
use crate::{Part, Preset, SlotForm};

fn words() -> Style {
    Style { preset: Preset::Plain, lines: Preset::Plain.lines(), ..plain() }
}

fn mirrored() -> Prepared {
    Prepared { vaulted_at: Timestamp::from_second(NOW - 200).ok(), ..prepared() }
}

#[test]
fn every_figure_says_what_it_is() {
    let notices = [NoticeKind::Update, NoticeKind::Slot, NoticeKind::Alarm, NoticeKind::Info];
    let notices = notices.map(|kind| Notice::new(kind, "something")).to_vec();
    let prepared = Prepared { notices, paused: true, ..mirrored() };
    let shown = show(&input(), &prepared, &words(), None);
    assert!(shown.is_ascii());
    insta::assert_snapshot!(shown, @"
    ~/project | branch main, 12 added, 3 changed | Opus 4.5 | context 77 % | 13:14
    5-hour quota 1 %, resets in 3h 53m | weekly quota 75 %, resets in 5d 0h | account slot-1 | cost $332, $7.94 per hour
    vault copy 3m ago | last prompt just now: continue please - didn't mean to interrupt
    update: something
    slot: something
    alarm: something
    note: something
    pause: Paused until you run rekindle unpause
    ");
}

#[test]
fn what_is_missing_is_not_shown() {
    let only = |text: &str| show(&Input::parse(text.as_bytes()), &Prepared::default(), &words(), Some(80));
    insta::assert_snapshot!(only("{}"), @"13:14");
    insta::assert_snapshot!(only(r#"{"context_window":{"current_usage":{"input_tokens":900}}}"#), @"context 900 tokens | 13:14");
    insta::assert_snapshot!(only(r#"{"rate_limits":{"five_hour":{"used_percentage":12.5}}}"#), @"
    13:14
    5-hour quota 12 %
    ");
    insta::assert_snapshot!(only(r#"{"rate_limits":{"seven_day":{"resets_at":1762730040}}}"#), @"
    13:14
    weekly quota resets in 4d 12h
    ");
    insta::assert_snapshot!(only(r#"{"rate_limits":{"five_hour":{"used_percentage":9,"resets_at":1762341239}}}"#), @"
    13:14
    5-hour quota reset
    ");
}

#[test]
fn a_narrow_line_keeps_what_one_has_to_act_on() {
    insta::assert_snapshot!(show(&input(), &mirrored(), &words(), Some(76)), @"
    ~/project | branch main, 12 added, 3 changed | Opus 4.5 | context 77 %
    5-hour quota 1 % | weekly quota 75 % | account slot-1 | cost $332
    vault copy 3m ago | last prompt just now: continue please - didn't mean to…
    ");
    insta::assert_snapshot!(show(&input(), &mirrored(), &words(), Some(36)), @"
    project | branch main | context 77 %
    5-hour quota 1 % | weekly quota 75 %
    last prompt just now: continue plea…
    ");
}

#[test]
fn every_form_of_the_account_and_the_other_parts() {
    let account = |form, state| {
        let style = Style { slot: form, lines: vec![vec![Part::Slot]], notices: false, ..words() };
        let prepared = Prepared { slot: Some(slot(state)), ..Prepared::default() };
        show(&Input::default(), &prepared, &style, None).trim_end().to_owned()
    };
    assert_eq!(account(SlotForm::Short, SlotState::TokenExpired), "account slot-1, log in again");
    assert_eq!(account(SlotForm::Minimal, SlotState::ConfigMissing), "account slot-1, directory missing");
    assert_eq!(account(SlotForm::All, SlotState::Ok), "account slot-1 of 3");
    assert_eq!(account(SlotForm::Percent, SlotState::Ok), "account slot-1 95 %");
    use Part::*;
    let lines = vec![vec![Name, Version, Session, Tokens], vec![Branch]];
    let git =
        Git { branch: "a1b2c3d".into(), detached: true, untracked: 1, ahead: 2, behind: 3, ..Git::default() };
    let prepared = Prepared { name: Some("the parser".into()), git: Some(git), ..Prepared::default() };
    insta::assert_snapshot!(show(&input(), &prepared, &Style { lines, ..words() }, None), @"
    name the parser | version 2.1.325 | session 0199a3c2 | 8k tokens written
    commit a1b2c3d, 1 untracked, 2 ahead, 3 behind
    ");
}
