//! Sentences in lines that fit.

use super::words::width;

/// A terminal that is narrower than this breaks lines by itself: words in so few columns are no easier to read.
const NARROWEST: usize = 20;

/// Breaks a sentence into lines of so many columns. A word that is longer, such as a path, stays whole.
pub(crate) fn wrap(text: &str, most: usize) -> Vec<String> {
    let clean: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let mut lines: Vec<String> = Vec::new();
    for word in clean.split_whitespace() {
        match lines.last_mut() {
            Some(line) if width(line) + 1 + width(word) <= most => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// A text whose lines fit a terminal of so many columns: what is too long goes on below, under the words that it belongs to.
/// Colours are kept, and so are the spaces in a line that fits. A command in backticks stays on one line where it can.
pub(super) fn fitted(text: &str, columns: Option<usize>) -> String {
    let Some(columns) = columns.filter(|columns| *columns >= NARROWEST) else { return text.to_owned() };
    let lines = text.split('\n').map(|line| fitted_line(line, columns));
    lines.collect::<Vec<_>>().join("\n")
}

fn fitted_line(line: &str, columns: usize) -> String {
    if seen(line) <= columns {
        return line.to_owned();
    }
    let margin = margin(line).min(columns / 2);
    let mut fitted = String::new();
    let mut taken = 0;
    for (gap, word) in words(line) {
        let wanted = gap.len() + seen(word);
        if taken > margin && taken + wanted > columns {
            fitted.push('\n');
            fitted.push_str(&" ".repeat(margin));
            taken = margin + seen(word);
        } else {
            fitted.push_str(gap);
            taken += wanted;
        }
        fitted.push_str(word);
    }
    fitted
}

/// Where the words of a line begin: behind its blanks, its mark, and a name that two blanks set apart.
fn margin(line: &str) -> usize {
    let mut at = 0;
    for (number, (gap, word)) in words(line).enumerate() {
        match number {
            0 => at = gap.len() + seen(word),
            _ if gap.len() >= 2 => return at + gap.len(),
            // A mark such as `✓`, `!` or `-`.
            1 if seen(word) > 0 && at - blanks(line) == 1 => return at + gap.len(),
            _ => at += gap.len() + seen(word),
        }
    }
    blanks(line)
}

fn blanks(line: &str) -> usize {
    line.len() - line.trim_start_matches(' ').len()
}

/// The words of a line, each with the blanks before it. What stands in backticks is one word.
fn words(line: &str) -> impl Iterator<Item = (&str, &str)> {
    let mut rest = line;
    std::iter::from_fn(move || {
        let (gap, after) = rest.split_at(blanks(rest));
        if after.is_empty() {
            return None;
        }
        let mut quoted = false;
        let end = after.find(|c| {
            quoted ^= c == '`';
            c == ' ' && !quoted
        });
        // A backtick that nothing closes quotes nothing.
        let end = if quoted { after.find(' ') } else { end };
        let (word, left) = after.split_at(end.unwrap_or(after.len()));
        rest = left;
        Some((gap, word))
    })
}

/// How many columns a text takes on a terminal that obeys the colours in it.
fn seen(text: &str) -> usize {
    let mut parts = text.split('\u{1b}');
    let first = parts.next().map_or(0, width);
    first + parts.map(|part| width(part.split_once('m').map_or(part, |(_, shown)| shown))).sum::<usize>()
}

#[cfg(test)]
mod tests {
    use super::{fitted, wrap};

    #[test]
    fn words_stay_whole() {
        assert_eq!(wrap("one two three", 7), ["one two", "three"]);
        assert_eq!(wrap("a\u{1b}b /a/very/long/path c", 6), ["a b", "/a/very/long/path", "c"]);
        assert_eq!(wrap("", 6), [""; 0]);
        assert_eq!(wrap("日本 日本", 8), ["日本", "日本"]);
    }

    #[test]
    fn a_long_line_goes_on_under_its_own_words() {
        let at = |columns: usize, text: &str| fitted(text, Some(columns));
        assert_eq!(at(24, "one two three four five six"), "one two three four five\nsix");
        assert_eq!(at(24, "  one two three four five"), "  one two three four\n  five");
        assert_eq!(at(24, "- one two three four five"), "- one two three four\n  five");
        assert_eq!(at(24, "4bc6  one two three four five"), "4bc6  one two three four\n      five");
        assert_eq!(at(24, "first\nsecond that is longer than it"), "first\nsecond that is longer\nthan it");
        assert_eq!(fitted("one two three four five six", None), "one two three four five six");
        assert_eq!(at(8, "one two three"), "one two three", "nothing fits there");
    }

    #[test]
    fn paths_commands_and_colours_stay_whole() {
        let at = |columns: usize, text: &str| fitted(text, Some(columns));
        assert_eq!(at(20, "see /a/path/that/is/longer now"), "see\n/a/path/that/is/longer\nnow");
        assert_eq!(at(24, "to go on run `rekindle go a` now"), "to go on run\n`rekindle go a` now");
        assert_eq!(at(20, "a ` that nothing closes here"), "a ` that nothing\n  closes here");
        let painted = "\u{1b}[32mone two three four\u{1b}[0m five";
        assert_eq!(at(24, painted), painted, "colours take no room");
    }
}
