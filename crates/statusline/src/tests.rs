//! Whole lines, as they are printed.

mod forms;
mod hostile;
mod narrow;
mod plain;

use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::prepared::{Git, LastPrompt, Notice, Prepared, Slot, SlotState};
use crate::{Input, Style, View, render};

const INPUT: &str = r#"{
    "session_id": "0199a3c2-77aa-4b1e-9d3f-5a1c0e4f9b21", "cwd": "/home/dev/project", "version": "2.1.325",
    "model": {"id": "claude-opus-4-5", "display_name": "Opus 4.5"},
    "cost": {"total_cost_usd": 332.1, "total_duration_ms": 150574307},
    "context_window": {"context_window_size": 200000, "used_percentage": 77, "total_output_tokens": 8211,
        "current_usage": {"input_tokens": 500, "cache_creation_input_tokens": 3500, "cache_read_input_tokens": 150000}},
    "rate_limits": {"five_hour": {"used_percentage": 1, "resets_at": 1762355240},
        "seven_day": {"used_percentage": 75, "resets_at": "2025-11-10T11:15:40Z"}}}"#;

/// 5 November 2025, a Wednesday, 13:14 where the tests live; the five-hour quota resets in 3:53:20.
const NOW: i64 = 1_762_341_240;

fn input() -> Input {
    Input::parse(INPUT.as_bytes())
}

fn prepared() -> Prepared {
    Prepared {
        git: Some(Git { branch: "main".to_owned(), added: 12, changed: 3, ..Git::default() }),
        last_prompt: Some(LastPrompt {
            text: "continue please - didn't mean to interrupt".to_owned(),
            at: Timestamp::from_second(NOW - 20).ok(),
        }),
        slot: Some(slot(SlotState::Ok)),
        ..Prepared::default()
    }
}

fn slot(state: SlotState) -> Slot {
    let names = ["slot-1", "slot-2", "slot-3"].map(str::to_owned).to_vec();
    Slot { id: "slot-1".to_owned(), position: 1, names, percent: Some(95), state }
}

fn plain() -> Style {
    Style { colour: false, ..Style::default() }
}

/// Renders and shows escape characters as `␛`, so that snapshots can be read.
fn show(input: &Input, prepared: &Prepared, style: &Style, width: Option<usize>) -> String {
    let zone = TimeZone::fixed(jiff::tz::offset(2));
    let now = Timestamp::from_second(NOW).unwrap();
    let home = Some(std::path::Path::new("/home/dev"));
    render(&View { input, prepared, style, now, zone: &zone, width, home }).replace('\u{1b}', "␛")
}

#[test]
fn the_lines_of_the_design() {
    let notices = vec![Notice::update("2.1.326", "2.1.325"), Notice::other_slot("slot-2", 95, 35)];
    let prepared = Prepared { notices, ..prepared() };
    insta::assert_snapshot!(show(&input(), &prepared, &plain(), None), @"
    📁:~/project 🌿:main+12*3 🤖:Opus4.5 🧠:154k[━━━━━━━─┃─] 🕐:13:14
    ⌛:3h53m(1%)|📅:120h(75%)@Mon|{S1} 💰:$332|$7.94/h 💬:8kt
    💬:(<1m) continue please - didn't mean to interrupt
    ⚠ Update to 2.1.326 available (your version: 2.1.325)
    💡 Consider switching to slot-2 (95% → 35% quota)
    ");
}

#[test]
fn what_is_missing_is_not_shown() {
    insta::assert_snapshot!(show(&Input::default(), &Prepared::default(), &plain(), Some(80)), @"🕐:13:14");
    let only = |text: &str| show(&Input::parse(text.as_bytes()), &Prepared::default(), &plain(), Some(80));
    insta::assert_snapshot!(only(r#"{"cwd":"/home/dev"}"#), @"📁:~ 🕐:13:14");
    insta::assert_snapshot!(only(r#"{"model":{"id":"claude-x"},"cost":{"total_cost_usd":0}}"#), @"
    🤖:claude-x 🕐:13:14
    💰:$0.00
    ");
    insta::assert_snapshot!(only(r#"{"context_window":{"used_percentage":12}}"#), @"🧠:12%[━─────────] 🕐:13:14");
    insta::assert_snapshot!(only(r#"{"context_window":{"current_usage":{"input_tokens":900}}}"#), @"🧠:900 🕐:13:14");
    insta::assert_snapshot!(only(r#"{"rate_limits":{"five_hour":{"used_percentage":12.5}}}"#), @"
    🕐:13:14
    ⌛:12%
    ");
    insta::assert_snapshot!(only(r#"{"rate_limits":{"seven_day":{"resets_at":1762500000}}}"#), @"
    🕐:13:14
    📅:44h@Fri
    ");
}

#[test]
fn a_window_that_is_over_has_no_figure() {
    let over = input_with("1762355240", "1762341239");
    insta::assert_snapshot!(show(&over, &prepared(), &plain(), None).lines().nth(1).unwrap(), @"⌛:reset|📅:120h(75%)@Mon|{S1} 💰:$332|$7.94/h 💬:8kt");
}

fn input_with(from: &str, to: &str) -> Input {
    assert!(INPUT.contains(from), "{from}");
    Input::parse(INPUT.replacen(from, to, 1).as_bytes())
}

#[test]
fn prepared_goes_through_its_file() {
    let at = Timestamp::from_second(NOW).ok();
    let notices = vec![Notice::update("2", "1")];
    let whole = Prepared { settled_at: at, vaulted_at: at, notices, name: Some("n".into()), ..prepared() };
    let bytes = whole.to_json();
    assert_eq!(Prepared::parse(&bytes), Prepared { schema: crate::prepared::SCHEMA, ..whole });
    insta::assert_snapshot!(String::from_utf8(bytes).unwrap(), @r#"{"schema":1,"settledAt":"2025-11-05T11:14:00Z","git":{"branch":"main","detached":false,"added":12,"changed":3,"deleted":0,"untracked":0,"ahead":0,"behind":0},"lastPrompt":{"text":"continue please - didn't mean to interrupt","at":"2025-11-05T11:13:40Z"},"slot":{"id":"slot-1","position":1,"names":["slot-1","slot-2","slot-3"],"percent":95,"state":"ok"},"notices":[{"kind":"update","text":"Update to 2 available (your version: 1)"}],"paused":false,"name":"n","vaultedAt":"2025-11-05T11:14:00Z"}"#);
    let newer = br#"{"schema":9,"new":1,"notices":[{"kind":"fire","text":"x"}],"slot":{"state":"melting"}}"#;
    let read = Prepared::parse(newer);
    assert_eq!(read.notices, [Notice::new(crate::prepared::NoticeKind::Info, "x")]);
    assert_eq!(read.slot.unwrap().state, SlotState::Ok);
    assert_eq!(Prepared::parse(b"{\"schema\":"), Prepared::default());
}
