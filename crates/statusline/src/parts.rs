//! Each part of a line: from what is known to what is shown. A part of which nothing is known is not there.

mod context;
mod plain;
mod quota;
mod slot;

use std::path::Path;

use crate::View;
use crate::clean::clean;
use crate::figures::{age, dollars, tokens};
use crate::fit::Piece;
use crate::style::{Clock, Part, Preset};
use crate::text::{Text, Tone, cut};

use self::slot::percent as percent_of_slot;

/// A part as it can be shown.
pub(crate) fn piece(part: Part, view: &View<'_>) -> Option<Piece> {
    let (full, short) = match view.style.preset {
        Preset::Design => design(part, view)?,
        Preset::Plain => plain::texts(part, view)?,
    };
    (!full.is_empty()).then_some(Piece { part, full, short })
}

/// The full form and the short one, each with its sign.
fn design(part: Part, view: &View<'_>) -> Option<(Text, Option<Text>)> {
    let (input, prepared) = (view.input, view.prepared);
    let (value, short) = match part {
        Part::Dir => dir(view)?,
        Part::Branch => branch(view)?,
        Part::Model => (calm(model(input.model_name.as_ref().or(input.model_id.as_ref())?)), None),
        Part::Context => context::texts(input, view.style.glyphs)?,
        Part::Clock => (calm(clock(view)), None),
        Part::Quota => quota::texts(view)?,
        Part::Slot => slot::texts(view)?,
        Part::Cost => cost(view)?,
        Part::Tokens => (calm(format!("{}t", tokens(input.context.written?))), None),
        Part::Prompt => (calm(prompt(view)?), None),
        Part::Name => (outside(prepared.name.as_ref().or(input.session_name.as_ref())?)?, None),
        Part::Vault => (calm(age(prepared.vaulted_at?, view.now)), None),
        Part::Version => (outside(input.version.as_ref()?)?, None),
        Part::Session => (outside(&input.session_id.as_ref()?.chars().take(8).collect::<String>())?, None),
    };
    let whole = |value: Text| {
        let mut text = Text::new(Tone::Calm, view.style.glyphs.before(part));
        text.push(&value);
        text
    };
    (!value.is_empty()).then(|| (whole(value), short.map(whole)))
}

fn calm(text: impl Into<String>) -> Text {
    Text::new(Tone::Calm, text)
}

fn outside(text: &str) -> Option<Text> {
    let text = clean(text);
    (!text.is_empty()).then(|| calm(text))
}

/// The tone of something that is used up to so many per cent.
fn tone(percent: f64) -> Tone {
    match percent {
        ..=80.0 => Tone::Calm,
        ..=90.0 => Tone::Warning,
        _ => Tone::Alarm,
    }
}

/// So many hundredths of the line, but at least so many columns: a long name leaves room for the others.
fn share(view: &View<'_>, hundredths: usize, least: usize) -> usize {
    view.width.map_or(usize::MAX, |width| (width.saturating_mul(hundredths) / 100).max(least))
}

fn dir(view: &View<'_>) -> Option<(Text, Option<Text>)> {
    let path = Path::new(view.input.cwd.as_ref()?);
    let shown = match view.home.and_then(|home| path.strip_prefix(home).ok()) {
        Some(rest) if rest.as_os_str().is_empty() => "~".to_owned(),
        Some(rest) => format!("~/{}", rest.display()),
        None => path.display().to_string(),
    };
    let mut shown = clean(&shown);
    let last = shown.rsplit('/').find(|name| !name.is_empty()).map(str::to_owned);
    let most = share(view, 30, 16);
    // The end of a path says more than its beginning.
    while calm(shown.as_str()).width() > most
        && let Some((_, rest)) = shown.trim_start_matches("…/").trim_start_matches('/').split_once('/')
    {
        shown = format!("…/{rest}");
    }
    let mut text = calm(shown);
    text.cut(most);
    let short = last.map(|name| {
        let mut short = calm(name);
        short.cut(most);
        short
    });
    Some((text, short))
}

fn branch(view: &View<'_>) -> Option<(Text, Option<Text>)> {
    let git = view.prepared.git.as_ref()?;
    let mut name = clean(&git.branch);
    if name.is_empty() {
        return None;
    }
    if git.detached {
        name.insert(0, '@');
    }
    let name = share_of_branch(view, name);
    let arrows = |picture, word| view.style.glyphs.pick(picture, word);
    let counts = [
        ("+", git.added),
        ("*", git.changed),
        ("-", git.deleted),
        ("?", git.untracked),
        (arrows("↑", ">"), git.ahead),
        (arrows("↓", "<"), git.behind),
    ];
    let counts = counts.iter().filter(|(_, count)| *count > 0);
    let changes: String = counts.map(|(sign, count)| format!("{sign}{count}")).collect();
    Some((calm(format!("{name}{changes}")), Some(calm(name))))
}

/// The name of a branch, cut where it would take too much of the line.
fn share_of_branch(view: &View<'_>, mut name: String) -> String {
    let most = share(view, 25, 12);
    if calm(name.as_str()).width() > most {
        cut(&mut name, most);
    }
    name
}

/// `Opus 4.5` as `Opus4.5`, `Sonnet 4.5 (1M context)` as `Sonnet4.5(1M)`.
fn model(name: &str) -> String {
    clean(name).replace(" context)", ")").split(' ').collect()
}

fn clock(view: &View<'_>) -> String {
    let time = view.zone.to_datetime(view.now);
    let (hour, minute) = (time.hour(), time.minute());
    match view.style.clock {
        Clock::Hours24 => format!("{hour:02}:{minute:02}"),
        Clock::Hours12 => {
            let half = if hour < 12 { "am" } else { "pm" };
            format!("{}:{minute:02}{half}", (hour + 11) % 12 + 1)
        }
    }
}

/// Over less than this a cost per hour is only noise.
const LEAST_DURATION_MS: f64 = 60_000.0;

fn cost(view: &View<'_>) -> Option<(Text, Option<Text>)> {
    let cost = view.input.cost_usd?;
    let short = dollars(cost);
    let full = match per_hour(view) {
        Some(rate) => format!("{short}|{}/h", dollars(rate)),
        None => short.clone(),
    };
    Some((calm(full), Some(calm(short))))
}

/// What the session costs per hour, once that says something.
fn per_hour(view: &View<'_>) -> Option<f64> {
    let ms = view.input.duration_ms.filter(|ms| *ms >= LEAST_DURATION_MS)?;
    Some(view.input.cost_usd? * 3_600_000.0 / ms)
}

fn prompt(view: &View<'_>) -> Option<String> {
    let prompt = view.prepared.last_prompt.as_ref()?;
    let words = clean(&prompt.text);
    if words.is_empty() {
        return None;
    }
    Some(match prompt.at {
        Some(at) => format!("({}) {words}", age(at, view.now)),
        None => words,
    })
}
