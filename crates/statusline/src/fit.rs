//! Parts put on a line that may be too narrow for them: the least important give way first.

use crate::style::{Part, Preset};
use crate::text::{Text, Tone};

/// A part, ready to be shown.
#[derive(Debug, Clone)]
pub(crate) struct Piece {
    pub(crate) part: Part,
    pub(crate) full: Text,
    /// The same with the essence only, where there is less to say.
    pub(crate) short: Option<Text>,
}

enum Step {
    Shorten(Part),
    Drop(Part),
}

/// What gives way on a narrow line, first to last. How full the context is and what is left of the quotas stay longest:
/// they are what a person has to act on.
const STEPS: [Step; 20] = [
    Step::Drop(Part::Version),
    Step::Drop(Part::Session),
    Step::Drop(Part::Clock),
    Step::Drop(Part::Tokens),
    Step::Drop(Part::Vault),
    Step::Shorten(Part::Cost),
    Step::Shorten(Part::Context),
    Step::Shorten(Part::Dir),
    Step::Shorten(Part::Slot),
    Step::Drop(Part::Name),
    Step::Drop(Part::Model),
    Step::Shorten(Part::Branch),
    Step::Drop(Part::Cost),
    Step::Shorten(Part::Quota),
    Step::Drop(Part::Branch),
    Step::Drop(Part::Dir),
    Step::Drop(Part::Slot),
    Step::Drop(Part::Prompt),
    Step::Drop(Part::Quota),
    Step::Drop(Part::Context),
];

/// A prompt is cut rather than anything dropped for it, down to this.
const LEAST_PROMPT: usize = 20;

/// How much of a part is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Level {
    Gone,
    Short,
    Full,
}

/// The line of these parts within so many columns; `None` when there is nothing to show.
pub(crate) fn line(pieces: &[Piece], preset: Preset, width: Option<usize>) -> Option<Text> {
    let width = width.unwrap_or(usize::MAX);
    let mut levels = vec![Level::Full; pieces.len()];
    let fits = |levels: &[Level]| joined(pieces, levels, preset, LEAST_PROMPT).width() <= width;
    let mut taken = Vec::new();
    for step in STEPS {
        if fits(&levels) {
            break;
        }
        let (part, level) = match step {
            Step::Shorten(part) => (part, Level::Short),
            Step::Drop(part) => (part, Level::Gone),
        };
        for (at, piece) in pieces.iter().enumerate() {
            // Something is shown, however narrow: the last part is cut instead.
            let last =
                level == Level::Gone && levels.iter().filter(|level| **level > Level::Gone).count() == 1;
            if piece.part == part && levels[at] > level && !last {
                taken.push((at, levels[at]));
                levels[at] = level;
            }
        }
    }
    // A wide part that went late may have made room for a small one that went early: the most important comes back first.
    for (at, before) in taken.into_iter().rev() {
        let now = std::mem::replace(&mut levels[at], before);
        if !fits(&levels) {
            levels[at] = now;
        }
    }
    let prompt = LEAST_PROMPT.max(width.saturating_sub(joined(pieces, &levels, preset, 0).width()));
    let mut text = joined(pieces, &levels, preset, prompt);
    text.cut(width);
    (!text.is_empty()).then_some(text)
}

/// The parts beside each other, prompts cut to so many columns.
fn joined(pieces: &[Piece], levels: &[Level], preset: Preset, prompt: usize) -> Text {
    let mut text = Text::default();
    let mut before = None;
    for (piece, level) in pieces.iter().zip(levels) {
        let shown = match (level, &piece.short) {
            (Level::Gone, _) => continue,
            (Level::Short, Some(short)) => short,
            _ => &piece.full,
        };
        let between = match (before, piece.part, preset) {
            (None, _, _) => "",
            (_, _, Preset::Plain) => " | ",
            // The slot is the account that the quotas are of.
            (Some(Part::Quota), Part::Slot, Preset::Design) => "|",
            _ => " ",
        };
        text = text.and(Tone::Calm, between);
        if piece.part == Part::Prompt {
            let mut shown = shown.clone();
            shown.cut(prompt);
            text.push(&shown);
        } else {
            text.push(shown);
        }
        before = Some(piece.part);
    }
    text
}
