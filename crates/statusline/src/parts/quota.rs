//! What is used of the quotas, and when they begin anew: `⌛:3h53m(1%)|📅:120h(75%)@Wed`.

use jiff::SignedDuration;
use jiff::civil::Weekday;

use crate::View;
use crate::figures::{hours, hours_and_minutes};
use crate::input::Quota;
use crate::text::{Text, Tone};

use super::tone;

/// The full form, and the short one without times.
pub(super) fn texts(view: &View<'_>) -> Option<(Text, Option<Text>)> {
    let glyphs = view.style.glyphs;
    let five_hour = one(view, glyphs.pick("⌛:", "5h:"), &view.input.five_hour, |left, _| {
        hours_and_minutes(left).map(|time| (time, String::new()))
    });
    let seven_day = one(view, glyphs.pick("📅:", "7d:"), &view.input.seven_day, |left, day| {
        hours(left).map(|time| (time, format!("@{}", day_name(day))))
    });
    match (five_hour, seven_day) {
        (None, None) => None,
        (Some(only), None) | (None, Some(only)) => Some((only.0, Some(only.1))),
        (Some(five), Some(seven)) => Some((beside(five.0, &seven.0), Some(beside(five.1, &seven.1)))),
    }
}

fn beside(text: Text, other: &Text) -> Text {
    let mut text = text.and(Tone::Calm, "|");
    text.push(other);
    text
}

fn one(
    view: &View<'_>,
    sign: &'static str,
    quota: &Quota,
    left: impl Fn(SignedDuration, Weekday) -> Option<(String, String)>,
) -> Option<(Text, Text)> {
    let time = quota.resets_at.map(|at| {
        let day = view.zone.to_datetime(at).weekday();
        left(at.duration_since(view.now), day)
    });
    let sign = Text::new(Tone::Calm, sign);
    // What was used of a window that is over says nothing of the new one; the next reply brings its figure.
    if time == Some(None) {
        return Some((sign.clone().and(Tone::Calm, "reset"), sign.and(Tone::Calm, "reset")));
    }
    let (time, day) = time.flatten().unwrap_or_default();
    let Some(percent) = quota.percent else {
        let text = sign.and(Tone::Calm, time.clone()).and(Tone::Calm, day);
        return (!time.is_empty()).then(|| (text.clone(), text));
    };
    let (tone, percent) = (tone(percent), format!("{percent:.0}%"));
    let short = sign.clone().and(tone, percent.clone());
    if time.is_empty() {
        return Some((short.clone(), short));
    }
    let full = sign.and(Tone::Calm, time).and(tone, format!("({percent})")).and(Tone::Calm, day);
    Some((full, short))
}

fn day_name(day: Weekday) -> &'static str {
    match day {
        Weekday::Monday => "Mon",
        Weekday::Tuesday => "Tue",
        Weekday::Wednesday => "Wed",
        Weekday::Thursday => "Thu",
        Weekday::Friday => "Fri",
        Weekday::Saturday => "Sat",
        Weekday::Sunday => "Sun",
    }
}
