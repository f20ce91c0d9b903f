//! Whatever comes in: no panic, no line too wide, no control character but our own.

use proptest::prelude::*;
use unicode_width::UnicodeWidthStr;

use super::*;
use crate::prepared::NoticeKind;
use crate::{Clock, Glyphs, Part, Preset, SlotForm};

const PARTS: [Part; 14] = [
    Part::Dir,
    Part::Branch,
    Part::Model,
    Part::Context,
    Part::Clock,
    Part::Quota,
    Part::Slot,
    Part::Cost,
    Part::Tokens,
    Part::Prompt,
    Part::Name,
    Part::Vault,
    Part::Version,
    Part::Session,
];

/// Takes our own colours off a line; whatever else it holds stays.
fn unpainted(line: &str) -> String {
    ["7", "27", "31", "33", "36", "39"]
        .iter()
        .fold(line.to_owned(), |line, code| line.replace(&format!("\u{1b}[{code}m"), ""))
}

#[track_caller]
fn check(text: &str, width: Option<usize>) {
    assert!(text.is_empty() || text.ends_with('\n'), "{text:?}");
    for line in text.lines() {
        let bare = unpainted(line);
        assert!(!bare.is_empty(), "an empty line in {text:?}");
        assert!(!bare.contains(char::is_control), "{line:?}");
        assert!(width.is_none_or(|width| bare.width() <= width), "{} columns: {line:?}", bare.width());
    }
}

fn render_all(input: &Input, prepared: &Prepared, style: &Style, now: i64, width: Option<usize>) {
    let view = View {
        input,
        prepared,
        style,
        now: Timestamp::from_second(now).unwrap_or_default(),
        zone: &TimeZone::UTC,
        width,
        home: Some(std::path::Path::new("/home/dev")),
    };
    check(&render(&view), width);
}

#[test]
fn a_hostile_prompt_is_only_words() {
    let evil = "rm\u{1b}[2J\u{1b}]0;owned\u{7}\u{9b}31m -rf\u{202e}\r\n\u{8}\u{0} ~";
    let json = serde_json::json!({"cwd": evil, "model": {"display_name": evil}, "version": evil}).to_string();
    let prepared = Prepared {
        git: Some(Git { branch: evil.into(), ..Git::default() }),
        last_prompt: Some(LastPrompt { text: evil.into(), at: None }),
        notices: vec![Notice::new(NoticeKind::Alarm, evil)],
        name: Some(evil.into()),
        ..Prepared::default()
    };
    insta::assert_snapshot!(show(&Input::parse(json.as_bytes()), &prepared, &plain(), Some(80)), @"
    📁:rm -rf ~ 🌿:rm -rf ~ 🤖:rm-rf~ 🕐:13:14
    💬:rm -rf ~
    🚨 rm -rf ~
    ");
}

/// Text that trips terminals: escapes, marks, wide and joined characters.
fn nasty() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        any::<String>(),
        "[a-z/ ]{0,12}",
        prop::sample::select(vec![
            "\u{1b}[31m",
            "\u{1b}]0;",
            "\u{7}",
            "\u{9b}",
            "\u{fe0f}",
            "\u{200d}",
            "\u{301}",
            "👩",
            "👩‍👩‍👧",
            "🇩🇪",
            "🇩",
            "日本",
            "ﷺ",
            "\u{1f3fb}",
            "1\u{fe0f}\u{20e3}",
            "\u{202e}",
            "\n",
            "…",
            "لا",
            "각",
            "\u{1160}",
            "\u{0e33}",
        ])
        .prop_map(str::to_owned),
    ];
    prop::collection::vec(piece, 0..8).prop_map(|pieces| pieces.concat())
}

fn time() -> impl Strategy<Value = Option<Timestamp>> {
    prop::option::of(
        (-300_000_000_000_i64..250_000_000_000).prop_map(|at| Timestamp::from_second(at).unwrap()),
    )
}

prop_compose! {
    fn any_prepared()(
        texts in prop::collection::vec(nasty(), 5),
        numbers in prop::collection::vec(any::<u32>(), 4),
        (prompt_at, vaulted_at) in (time(), time()),
        kinds in prop::collection::vec(0_usize..6, 0..4),
        (paused, detached, state, names) in (any::<bool>(), any::<bool>(), 0_usize..3, 0_usize..30),
    ) -> Prepared {
        let states = [SlotState::Ok, SlotState::TokenExpired, SlotState::ConfigMissing];
        let all = [NoticeKind::Update, NoticeKind::Slot, NoticeKind::Alarm, NoticeKind::Warning, NoticeKind::Pause, NoticeKind::Info];
        let notices = kinds.iter().map(|kind| Notice::new(all[*kind], texts[0].as_str())).collect();
        Prepared {
            git: Some(Git { branch: texts[1].clone(), detached, added: numbers[0], ahead: numbers[1], ..Git::default() }),
            last_prompt: Some(LastPrompt { text: texts[2].clone(), at: prompt_at }),
            slot: Some(Slot {
                id: texts[3].clone(),
                position: numbers[2] % 40,
                names: vec![String::new(); names],
                percent: Some(numbers[3]),
                state: states[state],
            }),
            name: Some(texts[4].clone()),
            notices, paused, vaulted_at,
            ..Prepared::default()
        }
    }
}

prop_compose! {
    fn any_style()(
        words in any::<bool>(), plain in any::<bool>(), colour in any::<bool>(), notices in any::<bool>(), twelve in any::<bool>(),
        form in 0_usize..4,
        lines in prop::collection::vec(prop::collection::vec(0..PARTS.len(), 0..8), 0..4),
    ) -> Style {
        Style {
            preset: if words { Preset::Plain } else { Preset::Design },
            glyphs: if plain { Glyphs::Plain } else { Glyphs::Emoji },
            clock: if twelve { Clock::Hours12 } else { Clock::Hours24 },
            slot: [SlotForm::Short, SlotForm::All, SlotForm::Percent, SlotForm::Minimal][form],
            lines: lines.into_iter().map(|line| line.into_iter().map(|at| PARTS[at]).collect()).collect(),
            colour, notices,
        }
    }
}

fn any_number() -> impl Strategy<Value = serde_json::Value> {
    prop_oneof![
        any::<f64>().prop_map(|n| serde_json::json!(n)),
        any::<i64>().prop_map(|n| serde_json::json!(n)),
        (0..110).prop_map(|n| serde_json::json!(n)),
        Just(serde_json::Value::Null),
        nasty().prop_map(|text| serde_json::json!(text)),
    ]
}

prop_compose! {
    fn any_input()(texts in prop::collection::vec(nasty(), 4), n in prop::collection::vec(any_number(), 9)) -> String {
        serde_json::json!({
            "cwd": texts[0], "version": texts[1], "session_id": texts[2], "model": {"display_name": texts[3]},
            "cost": {"total_cost_usd": n[0], "total_duration_ms": n[1]},
            "context_window": {"context_window_size": n[2], "used_percentage": n[3], "total_output_tokens": n[4],
                "current_usage": {"input_tokens": n[5]}},
            "rate_limits": {"five_hour": {"used_percentage": n[6], "resets_at": n[7]}, "seven_day": {"resets_at": n[8]}},
        }).to_string()
    }
}

proptest! {
    #[test]
    fn any_values_make_harmless_lines(
        input in any_input(), prepared in any_prepared(), style in any_style(),
        now in -300_000_000_000_i64..250_000_000_000, width in prop::option::of(0_usize..160),
    ) {
        render_all(&Input::parse(input.as_bytes()), &prepared, &style, now, width);
    }

    #[test]
    fn any_bytes_make_harmless_lines(bytes in prop::collection::vec(any::<u8>(), 0..300), width in 0_usize..100) {
        render_all(&Input::parse(&bytes), &Prepared::parse(&bytes), &Style::default(), NOW, Some(width));
    }

    #[test]
    fn any_damage_makes_harmless_lines(at in 0..INPUT.len(), byte in any::<u8>(), cut in any::<bool>(), width in 0_usize..100) {
        let mut bytes = INPUT.as_bytes().to_vec();
        bytes[at] = byte;
        if cut {
            bytes.truncate(at);
        }
        render_all(&Input::parse(&bytes), &prepared(), &Style::default(), NOW, Some(width));
    }
}
