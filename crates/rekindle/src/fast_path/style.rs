//! What the configuration says of the status line, in the status line's own words.

use statusline::{Clock, Glyphs, Part, Preset, SlotForm, Style};
use store::config::{Statusline, statusline as config};

/// The style that is configured; `colour` is whether the environment lets there be any.
pub(crate) fn style(said: &Statusline, colour: bool) -> Style {
    let preset = preset(said.preset.unwrap_or(config::Preset::Design));
    let chosen = |lines: &Vec<Vec<config::Part>>| {
        lines.iter().map(|line| line.iter().copied().map(part).collect()).collect()
    };
    Style {
        preset,
        glyphs: match said.glyphs {
            config::Glyphs::Emoji => Glyphs::Emoji,
            config::Glyphs::Plain => Glyphs::Plain,
        },
        colour: said.colour && colour,
        lines: said.lines.0.as_ref().map_or_else(|| preset.lines(), chosen),
        notices: said.notices,
        slot: match said.slot {
            config::SlotForm::Short => SlotForm::Short,
            config::SlotForm::All => SlotForm::All,
            config::SlotForm::Percent => SlotForm::Percent,
            config::SlotForm::Minimal => SlotForm::Minimal,
        },
        clock: match said.clock {
            config::Clock::Hours24 => Clock::Hours24,
            config::Clock::Hours12 => Clock::Hours12,
        },
    }
}

fn preset(said: config::Preset) -> Preset {
    match said {
        config::Preset::Design => Preset::Design,
        config::Preset::Plain => Preset::Plain,
    }
}

fn part(said: config::Part) -> Part {
    match said {
        config::Part::Dir => Part::Dir,
        config::Part::Branch => Part::Branch,
        config::Part::Model => Part::Model,
        config::Part::Context => Part::Context,
        config::Part::Clock => Part::Clock,
        config::Part::Quota => Part::Quota,
        config::Part::Slot => Part::Slot,
        config::Part::Cost => Part::Cost,
        config::Part::Tokens => Part::Tokens,
        config::Part::Prompt => Part::Prompt,
        config::Part::Name => Part::Name,
        config::Part::Vault => Part::Vault,
        config::Part::Version => Part::Version,
        config::Part::Session => Part::Session,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_have_the_same_defaults() {
        assert_eq!(style(&Statusline::default(), true), Style::default());
        assert!(!style(&Statusline::default(), false).colour);
    }
}
