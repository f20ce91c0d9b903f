//! The preset `plain`: each part in words that need no legend.

use jiff::SignedDuration;

use crate::View;
use crate::clean::clean;
use crate::figures::{ago, dollars, tokens, two_units};
use crate::input::Quota;
use crate::prepared::{Slot, SlotState};
use crate::style::{Part, SlotForm};
use crate::text::{Text, Tone};

use super::{calm, clock, dir, outside, per_hour, percent_of_slot, share_of_branch, tone};

/// The full form and the short one.
pub(super) fn texts(part: Part, view: &View<'_>) -> Option<(Text, Option<Text>)> {
    let (input, prepared) = (view.input, view.prepared);
    let named = |word: &str, value: &str| Some((before(word, &outside(value)?), None));
    match part {
        Part::Dir => dir(view),
        Part::Branch => branch(view),
        Part::Model => Some((outside(input.model_name.as_ref().or(input.model_id.as_ref())?)?, None)),
        Part::Context => context(view),
        Part::Clock => Some((calm(clock(view)), None)),
        Part::Quota => quotas(view),
        Part::Slot => slot(view),
        Part::Cost => cost(view),
        Part::Tokens => Some((calm(format!("{} tokens written", tokens(input.context.written?))), None)),
        Part::Prompt => Some((calm(prompt(view)?), None)),
        Part::Name => named("name", prepared.name.as_ref().or(input.session_name.as_ref())?),
        Part::Vault => {
            let copied = ago(prepared.vaulted_at?, view.now);
            Some((calm(format!("vault copy {copied}")), Some(calm(format!("vault {copied}")))))
        }
        Part::Version => named("version", input.version.as_ref()?),
        Part::Session => named("session", &input.session_id.as_ref()?.chars().take(8).collect::<String>()),
    }
}

fn before(word: &str, value: &Text) -> Text {
    let mut text = calm(format!("{word} "));
    text.push(value);
    text
}

fn percent(percent: f64) -> Text {
    Text::new(tone(percent), format!("{percent:.0} %"))
}

fn branch(view: &View<'_>) -> Option<(Text, Option<Text>)> {
    let git = view.prepared.git.as_ref()?;
    let name = share_of_branch(view, clean(&git.branch));
    if name.is_empty() {
        return None;
    }
    let name = format!("{} {name}", if git.detached { "commit" } else { "branch" });
    let counts = [
        ("added", git.added),
        ("changed", git.changed),
        ("deleted", git.deleted),
        ("untracked", git.untracked),
        ("ahead", git.ahead),
        ("behind", git.behind),
    ];
    let counts = counts.iter().filter(|(_, count)| *count > 0);
    let changes: String = counts.map(|(word, count)| format!(", {count} {word}")).collect();
    Some((calm(format!("{name}{changes}")), Some(calm(name))))
}

fn context(view: &View<'_>) -> Option<(Text, Option<Text>)> {
    let value = match view.input.context_percent() {
        Some(used) => percent(used),
        None => calm(format!("{} tokens", tokens(view.input.context.used?))),
    };
    Some((before("context", &value), None))
}

fn quotas(view: &View<'_>) -> Option<(Text, Option<Text>)> {
    let five_hour = quota(view, "5-hour quota", &view.input.five_hour);
    let seven_day = quota(view, "weekly quota", &view.input.seven_day);
    let beside = |one: Text, two: &Text| {
        let mut text = one.and(Tone::Calm, " | ");
        text.push(two);
        text
    };
    match (five_hour, seven_day) {
        (None, None) => None,
        (Some(only), None) | (None, Some(only)) => Some((only.0, Some(only.1))),
        (Some(five), Some(seven)) => Some((beside(five.0, &seven.0), Some(beside(five.1, &seven.1)))),
    }
}

/// What is used and when it begins anew; and what is used alone.
fn quota(view: &View<'_>, word: &str, quota: &Quota) -> Option<(Text, Text)> {
    let left: Option<SignedDuration> = quota.resets_at.map(|at| at.duration_since(view.now));
    let left = left.map(two_units);
    // What was used of a window that is over says nothing of the new one; the next reply brings its figure.
    if left == Some(None) {
        let reset = calm(format!("{word} reset"));
        return Some((reset.clone(), reset));
    }
    let short = quota.percent.map(|used| before(word, &percent(used)));
    match (short, left.flatten()) {
        (Some(short), Some(left)) => {
            Some((short.clone().and(Tone::Calm, format!(", resets in {left}")), short))
        }
        (Some(short), None) => Some((short.clone(), short)),
        (None, Some(left)) => {
            let text = calm(format!("{word} resets in {left}"));
            Some((text.clone(), text))
        }
        (None, None) => None,
    }
}

fn slot(view: &View<'_>) -> Option<(Text, Option<Text>)> {
    let slot: &Slot = view.prepared.slot.as_ref().filter(|slot| slot.position > 0)?;
    let short = before("account", &outside(&slot.id)?);
    let mut full = short.clone();
    match view.style.slot {
        SlotForm::Short | SlotForm::Minimal => {}
        SlotForm::All => full = full.and(Tone::Calm, format!(" of {}", slot.names.len().max(1))),
        SlotForm::Percent => {
            if let Some(used) = percent_of_slot(view, slot) {
                full = full.and(Tone::Calm, " ");
                full.push(&percent(used));
            }
        }
    }
    let (tone, state) = match slot.state {
        SlotState::Ok => (Tone::Calm, ""),
        SlotState::TokenExpired => (Tone::Warning, ", log in again"),
        SlotState::ConfigMissing => (Tone::Alarm, ", directory missing"),
    };
    Some((full.and(tone, state), Some(short.and(tone, state))))
}

fn cost(view: &View<'_>) -> Option<(Text, Option<Text>)> {
    let short = format!("cost {}", dollars(view.input.cost_usd?));
    let full = match per_hour(view) {
        Some(rate) => format!("{short}, {} per hour", dollars(rate)),
        None => short.clone(),
    };
    Some((calm(full), Some(calm(short))))
}

fn prompt(view: &View<'_>) -> Option<String> {
    let prompt = view.prepared.last_prompt.as_ref()?;
    let words = clean(&prompt.text);
    if words.is_empty() {
        return None;
    }
    Some(match prompt.at {
        Some(at) => format!("last prompt {}: {words}", ago(at, view.now)),
        None => format!("last prompt: {words}"),
    })
}
