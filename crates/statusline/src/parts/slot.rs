//! The account in use, in the form the user chose: `{S1}`, `{S1/S2/S3}`, `{S1:95%}`, `{1}`, `{S1⚠}`, `{S1❌}`.

use crate::View;
use crate::prepared::{Slot, SlotState};
use crate::style::SlotForm;
use crate::text::{Text, Tone};

use super::tone;

/// More slots than this are not listed.
const MOST: u32 = 20;

/// The chosen form, and `{S1}` for a narrow line.
pub(super) fn texts(view: &View<'_>) -> Option<(Text, Option<Text>)> {
    let slot = view.prepared.slot.as_ref().filter(|slot| slot.position > 0)?;
    let short = braced(|text| text.and(Tone::Calm, format!("S{}", slot.position)), slot, view);
    let full = match view.style.slot {
        SlotForm::Short => short.clone(),
        SlotForm::Minimal => braced(|text| text.and(Tone::Calm, slot.position.to_string()), slot, view),
        SlotForm::Percent => match percent(view, slot) {
            Some(used) => {
                let figure = format!("{used:.0}%");
                let label = format!("S{}:", slot.position);
                braced(|text| text.and(Tone::Calm, label).and(tone(used), figure), slot, view)
            }
            None => short.clone(),
        },
        SlotForm::All => match count(slot) {
            count @ 1..=MOST => all(view, slot, count),
            _ => short.clone(),
        },
    };
    Some((full, Some(short)))
}

/// What settle says of the slot, else what the agent says of its own quotas.
pub(super) fn percent(view: &View<'_>, slot: &Slot) -> Option<f64> {
    let quotas = [view.input.five_hour.percent, view.input.seven_day.percent];
    let own = || quotas.into_iter().flatten().max_by(f64::total_cmp);
    slot.percent.map(f64::from).or_else(own)
}

fn braced(value: impl FnOnce(Text) -> Text, slot: &Slot, view: &View<'_>) -> Text {
    let (tone, mark) = mark(slot, view);
    value(Text::new(Tone::Calm, "{")).and(tone, mark).and(Tone::Calm, "}")
}

fn mark(slot: &Slot, view: &View<'_>) -> (Tone, &'static str) {
    let glyphs = view.style.glyphs;
    match slot.state {
        SlotState::Ok => (Tone::Calm, ""),
        SlotState::TokenExpired => (Tone::Warning, glyphs.pick("⚠", "!")),
        SlotState::ConfigMissing => (Tone::Alarm, glyphs.pick("❌", "x")),
    }
}

fn count(slot: &Slot) -> u32 {
    u32::try_from(slot.names.len()).unwrap_or(u32::MAX).max(slot.position)
}

fn all(view: &View<'_>, slot: &Slot, count: u32) -> Text {
    let mut text = Text::new(Tone::Calm, "{");
    for position in 1..=count {
        if position > 1 {
            text = text.and(Tone::Calm, "/");
        }
        if position != slot.position {
            text = text.and(Tone::Calm, format!("S{position}"));
            continue;
        }
        let (tone, mark) = mark(slot, view);
        // Without colours, brackets are what tells the one in use from the others.
        let (open, close) = if view.style.colour { ("", "") } else { ("[", "]") };
        text = text.and(Tone::Chosen, format!("{open}S{position}{close}")).and(tone, mark);
    }
    text.and(Tone::Calm, "}")
}
