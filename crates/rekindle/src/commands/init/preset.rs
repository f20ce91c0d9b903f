//! Which look the status line has: both are shown on the user's own data, and the choice goes into the configuration.

use std::path::Path;
use std::time::SystemTime;

use agents::SessionKey;
use clap::ValueEnum;
use integrate::plan::Part;
use integrate::{LinePlace, LineWish};
use jiff::{SignedDuration, Timestamp};
use repair::Paths;
use statusline::input::{Context as Window, Quota};
use statusline::prepared::{Git, LastPrompt};
use statusline::{Input, Prepared, View, render};
use store::config::Config;
use store::config::statusline::Preset;
use store::{StateDir, spool};

use crate::context::short_path;
use crate::exit::{Exit, Failure};
use crate::fast_path::style::style;
use crate::output::{Out, colour, columns, one_line, reply, say};
use crate::{fast_path, zone};

/// What `--preset` takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Look {
    Design,
    Plain,
}

impl From<Look> for Preset {
    fn from(look: Look) -> Preset {
        match look {
            Look::Design => Preset::Design,
            Look::Plain => Preset::Plain,
        }
    }
}

/// Shows the status line in both looks and asks for one; the default where the answer is empty.
pub(super) fn ask(state: Option<&StateDir>, home: Option<&Path>, config: &Config, out: &mut Out) -> Preset {
    let now = Timestamp::now();
    let own = state.and_then(newest);
    let from = if own.is_some() { "on your newest session" } else { "on an example" };
    let (input, prepared) = own.unwrap_or_else(|| example(home, now));
    out.line(&format!("The status line below an agent's prompt has two looks, shown here {from}:"));
    for (number, preset) in [(1, Preset::Design), (2, Preset::Plain)] {
        let chosen = store::config::Statusline { preset: Some(preset), ..config.statusline.clone() };
        let view = View {
            input: &input,
            prepared: &prepared,
            style: &style(&chosen, colour()),
            now,
            zone: &zone::local(),
            width: columns().map(|width| width.saturating_sub(4)),
            home,
        };
        out.line("");
        out.line(&format!("{number}  {}", preset.word()));
        for line in render(&view).lines() {
            out.line(&format!("   {line}"));
        }
    }
    out.line("");
    out.flush();
    answer()
}

/// Asks until the answer is one of the two.
fn answer() -> Preset {
    loop {
        match reply("Which one? [1/2, Enter for 1] ").as_deref() {
            None | Some("" | "1" | "design") => return Preset::Design,
            Some("2" | "plain") => return Preset::Plain,
            Some(other) => say(&format!("{:?} is neither 1 nor 2.", one_line(other, 40))),
        }
    }
}

/// What the newest status line that an agent asked for was made of.
fn newest(state: &StateDir) -> Option<(Input, Prepared)> {
    let entries = std::fs::read_dir(state.spool()).into_iter().flatten().flatten();
    let said = entries.filter_map(|entry| {
        let name = entry.file_name();
        let session = SessionKey::parse(name.to_str()?.strip_suffix(".status")?).ok()?;
        let at: SystemTime = entry.metadata().and_then(|meta| meta.modified()).ok()?;
        Some((at, session))
    });
    let (_, session) = said.max_by_key(|(at, _)| *at)?;
    let input = Input::parse(&spool::status(state, &session)?);
    input.session_id.as_ref()?;
    Some((input, fast_path::statusline::prepared(state, &session)))
}

/// A session in the middle of its work.
fn example(home: Option<&Path>, now: Timestamp) -> (Input, Prepared) {
    let shop = home.unwrap_or(Path::new("/")).join("shop");
    let in_hours = |hours| now.checked_add(SignedDuration::from_hours(hours)).ok();
    let before = |seconds| now.checked_sub(SignedDuration::from_secs(seconds)).ok();
    let input = Input {
        cwd: Some(shop.display().to_string()),
        model_name: Some("Opus 4.5".to_owned()),
        cost_usd: Some(3.18),
        duration_ms: Some(7_200_000.0),
        context: Window {
            size: Some(200_000),
            used: Some(154_000),
            percent: Some(77.0),
            written: Some(8211),
        },
        five_hour: Quota { percent: Some(31.0), resets_at: in_hours(3) },
        seven_day: Quota { percent: Some(75.0), resets_at: in_hours(108) },
        ..Input::default()
    };
    let prepared = Prepared {
        git: Some(Git { branch: "main".to_owned(), added: 2, changed: 3, ..Git::default() }),
        last_prompt: Some(LastPrompt { text: "round the totals of a cart".to_owned(), at: before(240) }),
        vaulted_at: before(120),
        ..Prepared::default()
    };
    (input, prepared)
}

/// The line of the configuration that chooses a look; nothing where it says so already, or by default.
///
/// # Errors
/// The configuration says another one: that is for its user to change.
pub(super) fn line(
    around: &Paths,
    home: Option<&Path>,
    config: &Config,
    wanted: Preset,
) -> Result<Option<LineWish>, Failure> {
    match config.statusline.preset {
        Some(said) if said == wanted => return Ok(None),
        Some(said) => {
            let path = short_path(home, &around.config);
            let what = format!("{path} has statusline.preset = \"{}\"", said.word());
            return Err(Failure::new(Exit::Refused, what)
                .hint(format!("change it there to \"{}\"; nothing was changed", wanted.word())));
        }
        None if wanted == Preset::Design => return Ok(None),
        None => {}
    }
    let text = store::files::read_to_string(&around.config).unwrap_or_default();
    let in_section = ("[statusline]", format!("preset = \"{}\"", wanted.word()));
    let at_top = format!("statusline.preset = \"{}\"", wanted.word());
    let wish = |line, place| LineWish { path: around.config.clone(), line, place, part: Part::Config };
    let wishes =
        [wish(in_section.1, LinePlace::After(in_section.0.to_owned())), wish(at_top, LinePlace::Top)];
    // What is there must still be read, and the line must be read as it is meant.
    let holds = |wish: &LineWish| {
        let text = wish.put_into(text.as_bytes()).and_then(|text| String::from_utf8(text).ok());
        let read = text.and_then(|text| Config::parse(&around.config, &text).ok());
        let with = Config {
            statusline: store::config::Statusline { preset: Some(wanted), ..config.statusline.clone() },
            ..config.clone()
        };
        read.as_ref() == Some(&with)
    };
    let found = wishes.into_iter().find(holds);
    found.map(Some).ok_or_else(|| {
        let path = short_path(home, &around.config);
        Failure::new(Exit::Refused, format!("cannot add the status line's preset to {path}"))
            .hint(format!("write statusline.preset = \"{}\" yourself; nothing was changed", wanted.word()))
    })
}
