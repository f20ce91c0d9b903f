//! How full the context is: `154k[━━━━━━━─┃─]`.

use crate::figures::tokens;
use crate::text::{Text, Tone};
use crate::{Glyphs, Input};

use super::tone;

/// Cells of the bar.
const CELLS: usize = 10;

/// What the agent keeps free: it compacts by itself at the window less 20,000 tokens for the reply and 13,000 to spare
/// (constants of 2.1.31).
const KEPT_FREE: u64 = 33_000;

/// The full form and the short one.
pub(super) fn texts(input: &Input, glyphs: Glyphs) -> Option<(Text, Option<Text>)> {
    let percent = input.context_percent();
    let used = match (input.context.used, percent, input.context.size) {
        (Some(used), ..) => Some(used),
        (None, Some(percent), Some(size)) => Some((size as f64 * percent / 100.0) as u64),
        _ => None,
    };
    let Some(percent) = percent else {
        return Some((Text::new(Tone::Calm, tokens(used?)), None));
    };
    let tone = tone(percent);
    let short = format!("{percent:.0}%");
    let amount = used.map_or_else(|| short.clone(), tokens);
    let full = format!("{amount}[{}]", bar(percent, input.context.size, glyphs));
    Some((Text::new(tone, full), Some(Text::new(tone, short))))
}

/// What is used, what is free, and where the agent begins to compact by itself.
fn bar(percent: f64, size: Option<u64>, glyphs: Glyphs) -> String {
    let (used, free, mark) = (glyphs.pick("━", "="), glyphs.pick("─", "-"), glyphs.pick("┃", "|"));
    let filled = ((percent / 100.0 * CELLS as f64) as usize).min(CELLS);
    // In a window that is hardly larger than what is kept free, a mark would say nothing.
    let compacts = size.filter(|size| *size > 2 * KEPT_FREE).map(|size| {
        let share = (size - KEPT_FREE) as f64 / size as f64;
        ((share * CELLS as f64) as usize).min(CELLS - 1)
    });
    (0..CELLS)
        .map(|cell| match cell {
            _ if compacts == Some(cell) => mark,
            _ if cell < filled => used,
            _ => free,
        })
        .collect()
}
