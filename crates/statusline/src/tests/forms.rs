//! Every way a user can have it.

use super::*;
use crate::prepared::NoticeKind;
use crate::{Clock, Glyphs, Part, SlotForm};

#[test]
fn words_instead_of_pictures() {
    let notices = [NoticeKind::Update, NoticeKind::Slot, NoticeKind::Alarm, NoticeKind::Info]
        .map(|kind| Notice::new(kind, "something"))
        .to_vec();
    let git = Git { ahead: 2, behind: 1, untracked: 4, deleted: 1, ..prepared().git.unwrap() };
    let prepared = Prepared { notices, paused: true, git: Some(git), ..prepared() };
    let style = Style { glyphs: Glyphs::Plain, ..plain() };
    let shown = show(&input(), &prepared, &style, None);
    assert!(shown.is_ascii());
    insta::assert_snapshot!(shown, @"
    dir:~/project git:main+12*3-1?4>2<1 model:Opus4.5 ctx:154k[=======-|-] time:13:14
    5h:3h53m(1%)|7d:120h(75%)@Mon|{S1} cost:$332|$7.94/h out:8kt
    last:(<1m) continue please - didn't mean to interrupt
    update: something
    slot: something
    alarm: something
    note: something
    pause: Paused until you run rekindle unpause
    ");
}

#[test]
fn colours_say_what_is_short() {
    let style = Style::default();
    let shown = |used: u32| {
        let text = INPUT.replacen("77", &used.to_string(), 1).replacen("75", &used.to_string(), 1);
        show(&Input::parse(text.as_bytes()), &prepared(), &style, Some(80))
    };
    assert!(!shown(80).contains('␛'));
    insta::assert_snapshot!(shown(81), @"
    📁:~/project 🌿:main+12*3 🤖:Opus4.5 🧠:154k[━━━━━━━─┃─] 🕐:13:14
    ⌛:3h53m(1%)|📅:120h␛[33m(81%)␛[39m@Mon|{S1} 💰:$332|$7.94/h 💬:8kt
    💬:(<1m) continue please - didn't mean to interrupt
    ");
    insta::assert_snapshot!(shown(91), @"
    📁:~/project 🌿:main+12*3 🤖:Opus4.5 🧠:154k[━━━━━━━─┃─] 🕐:13:14
    ⌛:3h53m(1%)|📅:120h␛[31m(91%)␛[39m@Mon|{S1} 💰:$332|$7.94/h 💬:8kt
    💬:(<1m) continue please - didn't mean to interrupt
    ");
}

#[test]
fn every_form_of_the_slot() {
    let shown = |form, state, colour| {
        let style = Style { slot: form, colour, lines: vec![vec![Part::Slot]], notices: false, ..plain() };
        let slot = Slot { position: 2, ..slot(state) };
        let prepared = Prepared { slot: Some(slot), ..Prepared::default() };
        show(&Input::default(), &prepared, &style, Some(80)).trim_end().to_owned()
    };
    let mut lines = Vec::new();
    for form in [SlotForm::Short, SlotForm::All, SlotForm::Percent, SlotForm::Minimal] {
        for colour in [false, true] {
            let states = [SlotState::Ok, SlotState::TokenExpired, SlotState::ConfigMissing];
            lines.push(states.map(|state| shown(form, state, colour)).join("  "));
        }
    }
    insta::assert_snapshot!(lines.join("\n"), @"
    {S2}  {S2⚠}  {S2❌}
    {S2}  {S2␛[33m⚠␛[39m}  {S2␛[31m❌␛[39m}
    {S1/[S2]/S3}  {S1/[S2]⚠/S3}  {S1/[S2]❌/S3}
    {S1/␛[7mS2␛[27m/S3}  {S1/␛[7mS2␛[27m␛[33m⚠␛[39m/S3}  {S1/␛[7mS2␛[27m␛[31m❌␛[39m/S3}
    {S2:95%}  {S2:95%⚠}  {S2:95%❌}
    {S2:␛[31m95%␛[39m}  {S2:␛[31m95%␛[39m␛[33m⚠␛[39m}  {S2:␛[31m95%␛[39m␛[31m❌␛[39m}
    {2}  {2⚠}  {2❌}
    {2}  {2␛[33m⚠␛[39m}  {2␛[31m❌␛[39m}
    ");
}

#[test]
fn a_slot_without_a_figure_takes_the_agents_own() {
    let style = Style { slot: SlotForm::Percent, lines: vec![vec![Part::Slot]], ..plain() };
    let slot = Slot { percent: None, ..slot(SlotState::Ok) };
    let prepared = Prepared { slot: Some(slot), ..Prepared::default() };
    assert_eq!(show(&input(), &prepared, &style, None), "{S1:75%}\n");
    assert_eq!(show(&Input::default(), &prepared, &style, None), "{S1}\n");
}

#[test]
fn a_slot_that_cannot_be_used_has_a_notice() {
    let shown = |state| {
        let prepared = Prepared { slot: Some(slot(state)), ..Prepared::default() };
        show(&Input::default(), &prepared, &Style::default(), Some(80))
    };
    insta::assert_snapshot!(shown(SlotState::TokenExpired), @"
    🕐:13:14
    {S1␛[33m⚠␛[39m}
    ␛[33m⚠ Token expired for slot-1 — run /login to refresh␛[39m
    ");
    insta::assert_snapshot!(shown(SlotState::ConfigMissing), @"
    🕐:13:14
    {S1␛[31m❌␛[39m}
    ␛[31m❌ Config dir missing for slot-1␛[39m
    ");
}

#[test]
fn notices_have_their_colours_and_an_end() {
    let mut notices = vec![
        Notice::update("2.1.326", "2.1.325"),
        Notice::other_slot("slot-2", 95, 35),
        Notice::new(NoticeKind::Alarm, "the transcript does not grow"),
        Notice::new(NoticeKind::Warning, "the disk is nearly full"),
        Notice::new(NoticeKind::Info, "something new"),
    ];
    let only = |notices: &[Notice], paused, on| {
        let prepared = Prepared { notices: notices.to_vec(), paused, ..Prepared::default() };
        show(
            &Input::default(),
            &prepared,
            &Style { notices: on, lines: vec![], ..Style::default() },
            Some(60),
        )
    };
    insta::assert_snapshot!(only(&notices, true, true), @"
    ␛[33m⚠ Update to 2.1.326 available (your version: 2.1.325)␛[39m
    ␛[36m💡 Consider switching to slot-2 (95% → 35% quota)␛[39m
    ␛[31m🚨 the transcript does not grow␛[39m
    ␛[33m⚠ the disk is nearly full␛[39m
    ℹ something new
    ␛[33m⏸ Paused until you run rekindle unpause␛[39m
    ");
    assert_eq!(only(&notices, true, false), "");
    notices.resize(100, Notice::new(NoticeKind::Info, "again"));
    assert_eq!(only(&notices, false, true).lines().count(), 6);
    notices.truncate(0);
    notices.push(Notice::new(NoticeKind::Pause, "paused since noon"));
    assert_eq!(only(&notices, true, true).lines().count(), 1);
}

#[test]
fn parts_are_chosen_and_ordered() {
    use Part::*;
    let lines = vec![vec![Clock, Name, Vault], vec![Slot, Quota], vec![Version, Session, Prompt]];
    let style = Style { lines, clock: crate::Clock::Hours12, ..plain() };
    let prepared = Prepared {
        name: Some("the parser".into()),
        vaulted_at: Timestamp::from_second(NOW - 200).ok(),
        ..prepared()
    };
    insta::assert_snapshot!(show(&input(), &prepared, &style, Some(80)), @"
    🕐:1:14pm 📛:the parser 📦:3m
    {S1} ⌛:3h53m(1%)|📅:120h(75%)@Mon
    🔖:2.1.325 🆔:0199a3c2 💬:(<1m) continue please - didn't mean to interrupt
    ");
}

#[test]
fn a_day_has_two_halves() {
    let clock = |second| {
        let style = Style { lines: vec![vec![Part::Clock]], clock: Clock::Hours12, ..plain() };
        let (input, prepared) = (Input::default(), Prepared::default());
        let now = Timestamp::from_second(second).unwrap();
        let view = View {
            input: &input,
            prepared: &prepared,
            style: &style,
            now,
            zone: &TimeZone::UTC,
            width: None,
            home: None,
        };
        render(&view)
    };
    let times = [0, 60 * 61, 12 * 3600, 23 * 3600].map(clock).concat();
    insta::assert_snapshot!(times, @"
    🕐:12:00am
    🕐:1:01am
    🕐:12:00pm
    🕐:11:00pm
    ");
}

#[test]
fn directories_and_models() {
    let line = |from: &str, to: &str, part| {
        let style = Style { lines: vec![vec![part]], ..plain() };
        show(&input_with(from, to), &Prepared::default(), &style, None).trim_end().to_owned()
    };
    let dir = |to: &str| line("/home/dev/project", to, Part::Dir);
    assert_eq!(dir("/home/dev"), "📁:~");
    assert_eq!(dir("/home/developer/x"), "📁:/home/developer/x");
    assert_eq!(dir("/"), "📁:/");
    let model = |to: &str| line("Opus 4.5", to, Part::Model);
    assert_eq!(model("Sonnet 4.5 (1M context)"), "🤖:Sonnet4.5(1M)");
    assert_eq!(model(""), "🤖:claude-opus-4-5");
    let git = |git: Git| {
        let style = Style { lines: vec![vec![Part::Branch]], ..plain() };
        let prepared = Prepared { git: Some(git), ..Prepared::default() };
        show(&Input::default(), &prepared, &style, None).trim_end().to_owned()
    };
    assert_eq!(git(Git { branch: "main".into(), ..Git::default() }), "🌿:main");
    assert_eq!(
        git(Git { branch: "a1b2c3d".into(), detached: true, changed: 1, ..Git::default() }),
        "🌿:@a1b2c3d*1"
    );
    assert_eq!(
        git(Git { branch: "x".into(), deleted: 1, untracked: 2, ahead: 3, behind: 4, ..Git::default() }),
        "🌿:x-1?2↑3↓4"
    );
    assert_eq!(git(Git::default()), "");
}

#[test]
fn the_bar_marks_where_the_agent_compacts() {
    let bar = |percent: u32, size: u64| {
        let text =
            format!(r#"{{"context_window":{{"used_percentage":{percent},"context_window_size":{size}}}}}"#);
        let style = Style { lines: vec![vec![Part::Context]], ..plain() };
        show(&Input::parse(text.as_bytes()), &Prepared::default(), &style, None)
    };
    let bars = [
        (0, 200_000),
        (50, 200_000),
        (84, 200_000),
        (100, 200_000),
        (50, 1_000_000),
        (300, 1_000_000),
        (50, 40_000),
    ];
    insta::assert_snapshot!(bars.map(|(percent, size)| bar(percent, size)).concat(), @"
    🧠:0[────────┃─]
    🧠:100k[━━━━━───┃─]
    🧠:168k[━━━━━━━━┃─]
    🧠:200k[━━━━━━━━┃━]
    🧠:500k[━━━━━────┃]
    🧠:3.0M[━━━━━━━━━┃]
    🧠:20k[━━━━━─────]
    ");
}
