//! Lines that do not fit.

use super::*;
use crate::{Part, SlotForm};

fn in_columns(width: usize) -> String {
    let notices = vec![Notice::update("2.1.326", "2.1.325")];
    let prepared = Prepared { notices, ..prepared() };
    show(&input(), &prepared, &plain(), Some(width))
}

#[test]
fn eighty_columns_hold_everything() {
    insta::assert_snapshot!(in_columns(80), @"
    📁:~/project 🌿:main+12*3 🤖:Opus4.5 🧠:154k[━━━━━━━─┃─] 🕐:13:14
    ⌛:3h53m(1%)|📅:120h(75%)@Mon|{S1} 💰:$332|$7.94/h 💬:8kt
    💬:(<1m) continue please - didn't mean to interrupt
    ⚠ Update to 2.1.326 available (your version: 2.1.325)
    ");
}

#[test]
fn the_least_important_gives_way_first() {
    insta::assert_snapshot!(in_columns(60), @"
    📁:~/project 🌿:main+12*3 🤖:Opus4.5 🧠:154k[━━━━━━━─┃─]
    ⌛:3h53m(1%)|📅:120h(75%)@Mon|{S1} 💰:$332|$7.94/h 💬:8kt
    💬:(<1m) continue please - didn't mean to interrupt
    ⚠ Update to 2.1.326 available (your version: 2.1.325)
    ");
    insta::assert_snapshot!(in_columns(50), @"
    📁:~/project 🌿:main+12*3 🤖:Opus4.5 🧠:77%
    ⌛:3h53m(1%)|📅:120h(75%)@Mon|{S1} 💰:$332|$7.94/h
    💬:(<1m) continue please - didn't mean to interru…
    ⚠ Update to 2.1.326 available (your version: 2.1.…
    ");
    insta::assert_snapshot!(in_columns(40), @"
    📁:~/project 🌿:main+12*3 🧠:77%
    ⌛:3h53m(1%)|📅:120h(75%)@Mon|{S1}
    💬:(<1m) continue please - didn't mean…
    ⚠ Update to 2.1.326 available (your ver…
    ");
    insta::assert_snapshot!(in_columns(30), @"
    📁:project 🌿:main+12*3 🧠:77%
    ⌛:1%|📅:75%|{S1} 💰:$332
    💬:(<1m) continue please - di…
    ⚠ Update to 2.1.326 available…
    ");
    insta::assert_snapshot!(in_columns(20), @"
    📁:~/project 🧠:77%
    ⌛:1%|📅:75%|{S1}
    💬:(<1m) continue p…
    ⚠ Update to 2.1.326…
    ");
    insta::assert_snapshot!(in_columns(10), @"
    🧠:77%
    ⌛:1%|📅:…
    💬:(<1m)…
    ⚠ Update…
    ");
    insta::assert_snapshot!(in_columns(1), @"
    …
    …
    …
    …
    ");
    assert_eq!(in_columns(0), "");
}

#[test]
fn long_names_leave_room_for_the_others() {
    let input =
        input_with("/home/dev/project", "/home/dev/work/clients/example/services/billing/src/main/java");
    let git =
        Git { branch: "feature/JIRA-12345-invoice-rounding-errors".into(), changed: 3, ..Git::default() };
    let prepared = Prepared { git: Some(git), ..prepared() };
    insta::assert_snapshot!(show(&input, &prepared, &plain(), Some(120)).lines().next().unwrap(), @"📁:…/services/billing/src/main/java 🌿:feature/JIRA-12345-invoice-ro…*3 🤖:Opus4.5 🧠:154k[━━━━━━━─┃─] 🕐:13:14");
    insta::assert_snapshot!(show(&input, &prepared, &plain(), Some(80)).lines().next().unwrap(), @"📁:…/billing/src/main/java 🌿:feature/JIRA-12345-…*3 🤖:Opus4.5 🧠:77% 🕐:13:14");
    let input = input_with("/home/dev/project", &format!("/{}", "日本語".repeat(40)));
    insta::assert_snapshot!(show(&input, &prepared, &plain(), Some(80)).lines().next().unwrap(), @"📁:/日本語日本語日本語日本… 🌿:feature/JIRA-12345-…*3 🤖:Opus4.5 🧠:77% 🕐:13:14");
}

#[test]
fn a_prompt_beside_others_is_cut_first() {
    let style = Style { lines: vec![vec![Part::Model, Part::Prompt, Part::Clock]], ..plain() };
    insta::assert_snapshot!(show(&input(), &prepared(), &style, Some(50)), @"🤖:Opus4.5 💬:(<1m) continue please - di… 🕐:13:14");
    insta::assert_snapshot!(show(&input(), &prepared(), &style, Some(30)), @"💬:(<1m) continue pl… 🕐:13:14");
}

#[test]
fn a_long_list_of_slots_becomes_one() {
    let names = (1..=12).map(|at| format!("slot-{at}")).collect();
    let slot = Slot { position: 7, names, ..slot(SlotState::Ok) };
    let prepared = Prepared { slot: Some(slot), ..prepared() };
    let style = Style { slot: SlotForm::All, ..plain() };
    insta::assert_snapshot!(show(&input(), &prepared, &style, Some(120)).lines().nth(1).unwrap(), @"⌛:3h53m(1%)|📅:120h(75%)@Mon|{S1/S2/S3/S4/S5/S6/[S7]/S8/S9/S10/S11/S12} 💰:$332|$7.94/h 💬:8kt");
    insta::assert_snapshot!(show(&input(), &prepared, &style, Some(60)).lines().nth(1).unwrap(), @"⌛:3h53m(1%)|📅:120h(75%)@Mon|{S7} 💰:$332|$7.94/h 💬:8kt");
}
