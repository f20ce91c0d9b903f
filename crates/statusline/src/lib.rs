//! The status line: what an agent and the last settle say, as a few lines of text.
//!
//! **Hot, and pure.** Bytes and values in, text out: no clock, no environment, no files. Whatever comes in, a line comes
//! out that is no wider than asked for and holds no control character but our own colours.

mod clean;
mod figures;
mod fit;
pub mod input;
mod notices;
mod parts;
pub mod prepared;
mod style;
mod text;

pub use input::Input;
pub use prepared::Prepared;
pub use style::{Clock, Glyphs, Part, Preset, SlotForm, Style};

use std::path::Path;

use jiff::Timestamp;
use jiff::tz::TimeZone;

/// Everything a status line is made of.
#[derive(Debug, Clone, Copy)]
pub struct View<'a> {
    /// What the agent said just now.
    pub input: &'a Input,
    /// What the last settle found out.
    pub prepared: &'a Prepared,
    /// How the user wants it.
    pub style: &'a Style,
    /// The time, for ages and the clock.
    pub now: Timestamp,
    /// Where the user lives.
    pub zone: &'a TimeZone,
    /// Columns there are; `None` cuts nothing.
    pub width: Option<usize>,
    /// The user's home, shown as `~`.
    pub home: Option<&'a Path>,
}

/// The lines, each with its newline. One whose parts are all missing is left out, so this may be empty.
pub fn render(view: &View<'_>) -> String {
    let mut out = String::new();
    for line in &view.style.lines {
        let pieces: Vec<_> = line.iter().filter_map(|part| parts::piece(*part, view)).collect();
        if let Some(text) = fit::line(&pieces, view.style.preset, view.width) {
            text.paint(view.style.colour, &mut out);
        }
    }
    if view.style.notices {
        for mut text in notices::texts(view) {
            text.cut(view.width.unwrap_or(usize::MAX));
            if !text.is_empty() {
                text.paint(view.style.colour, &mut out);
            }
        }
    }
    out
}

#[cfg(test)]
mod tests;
