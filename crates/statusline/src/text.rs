//! A line in pieces of one tone each: measured and cut as text, and painted only at the end.

use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

/// What a piece of text says by its colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tone {
    /// Nothing out of the ordinary.
    Calm,
    /// The one of several that counts.
    Chosen,
    /// Good to know.
    Hint,
    /// Soon a problem.
    Warning,
    /// A problem.
    Alarm,
}

impl Tone {
    /// The codes that begin and end it. Each ends only what it began: agents dim the whole line.
    fn codes(self) -> Option<(&'static str, &'static str)> {
        match self {
            Tone::Calm => None,
            Tone::Chosen => Some(("\u{1b}[7m", "\u{1b}[27m")),
            Tone::Hint => Some(("\u{1b}[36m", "\u{1b}[39m")),
            Tone::Warning => Some(("\u{1b}[33m", "\u{1b}[39m")),
            Tone::Alarm => Some(("\u{1b}[31m", "\u{1b}[39m")),
        }
    }
}

/// A line, or a part of one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Text(Vec<(Tone, String)>);

impl Text {
    pub(crate) fn new(tone: Tone, text: impl Into<String>) -> Text {
        Text(vec![(tone, text.into())])
    }

    /// The same text with more behind it.
    #[must_use]
    pub(crate) fn and(mut self, tone: Tone, text: impl Into<String>) -> Text {
        self.0.push((tone, text.into()));
        self
    }

    pub(crate) fn push(&mut self, other: &Text) {
        self.0.extend(other.0.iter().cloned());
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.iter().all(|(_, text)| text.is_empty())
    }

    /// Columns on a terminal.
    pub(crate) fn width(&self) -> usize {
        self.0.iter().map(|(_, text)| text.width()).sum()
    }

    /// Cuts it to so many columns; `…` stands for what is gone.
    pub(crate) fn cut(&mut self, width: usize) {
        if self.width() <= width {
            return;
        }
        let mut left = width;
        for at in 0..self.0.len() {
            let wide = self.0[at].1.width();
            // The ellipsis needs a column, unless everything fits: and it does not.
            if wide >= left {
                self.0.truncate(at + 1);
                cut(&mut self.0[at].1, left);
                return;
            }
            left -= wide;
        }
    }

    /// Adds it to a text, with its colours where they are wanted, and ends the line.
    pub(crate) fn paint(&self, colour: bool, out: &mut String) {
        for (tone, text) in &self.0 {
            match tone.codes().filter(|_| colour && !text.is_empty()) {
                Some((begin, end)) => {
                    out.push_str(begin);
                    out.push_str(text);
                    out.push_str(end);
                }
                None => out.push_str(text),
            }
        }
        out.push('\n');
    }
}

/// Cuts a text so that it ends in `…` within so many columns, never inside of a character as people see it.
pub(crate) fn cut(text: &mut String, width: usize) {
    if width == 0 {
        text.clear();
        return;
    }
    let (mut end, mut wide) = (0, 0);
    for (at, character) in text.grapheme_indices(true) {
        wide += character.width();
        if wide > width - 1 {
            break;
        }
        end = at + character.len();
    }
    text.truncate(end);
    text.truncate(text.trim_end().len());
    text.push('…');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, width: usize, expected: &str) {
        let mut cut = Text::new(Tone::Calm, text);
        cut.cut(width);
        let mut painted = String::new();
        cut.paint(true, &mut painted);
        assert_eq!(painted, format!("{expected}\n"), "{text:?} in {width}");
        assert!(cut.width() <= width, "{text:?} in {width}");
    }

    #[test]
    fn cuts_by_columns_and_never_inside_of_a_character() {
        check("continue", 8, "continue");
        check("continue", 7, "contin…");
        check("continue", 1, "…");
        check("continue", 0, "");
        check("one two", 5, "one…");
        check("日本語", 6, "日本語");
        check("日本語", 5, "日本…");
        check("日本語", 4, "日…");
        check("a👩‍👩‍👧b", 3, "a…");
        check("a👩‍👩‍👧bc", 4, "a👩‍👩‍👧…");
        check("e\u{301}e\u{301}e\u{301}", 2, "e\u{301}…");
        check("🇩🇪🇫🇷", 3, "🇩🇪…");
    }

    #[test]
    fn colours_survive_a_cut() {
        let mut text = Text::new(Tone::Calm, "ab").and(Tone::Alarm, "cdef").and(Tone::Calm, "gh");
        text.cut(4);
        let mut painted = String::new();
        text.paint(true, &mut painted);
        assert_eq!(painted, "ab\u{1b}[31mc…\u{1b}[39m\n");
    }
}
