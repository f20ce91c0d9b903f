//! Numbers and times as people read them.

use jiff::Timestamp;

/// `1 row`, `2 rows`.
pub(crate) fn count(number: u64, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}

/// `512 B`, `1.5 MB`.
pub(crate) fn bytes(number: u64) -> String {
    const UNITS: [&str; 5] = ["kB", "MB", "GB", "TB", "PB"];
    if number < 1_000 {
        return format!("{number} B");
    }
    let mut tenths = number / 100;
    let mut unit = 0;
    while tenths >= 10_000 && unit + 1 < UNITS.len() {
        tenths /= 1_000;
        unit += 1;
    }
    if tenths < 100 {
        format!("{}.{} {}", tenths / 10, tenths % 10, UNITS[unit])
    } else {
        format!("{} {}", tenths / 10, UNITS[unit])
    }
}

/// How long ago, in one unit: `5 m`, `3 h`, `12 d`.
pub(crate) fn age(then: Timestamp, now: Timestamp) -> String {
    let seconds = now.as_second().saturating_sub(then.as_second()).max(0);
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3_600 => format!("{} m", seconds / 60),
        3_600..172_800 => format!("{} h", seconds / 3_600),
        _ => format!("{} d", seconds / 86_400),
    }
}

/// `5 m ago`.
pub(crate) fn ago(then: Timestamp) -> String {
    format!("{} ago", age(then, Timestamp::now()))
}

/// Text on one line, cut at a word where it is too long; control characters go.
pub(crate) fn one_line(text: &str, most: usize) -> String {
    let clean: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let words: Vec<&str> = clean.split_whitespace().collect();
    let whole = words.join(" ");
    if whole.chars().count() <= most {
        return whole;
    }
    let mut short = String::new();
    for word in words {
        if short.chars().count() + word.chars().count() + 2 > most {
            break;
        }
        if !short.is_empty() {
            short.push(' ');
        }
        short.push_str(word);
    }
    if short.is_empty() {
        short = whole.chars().take(most.saturating_sub(1)).collect();
    }
    short.push('…');
    short
}

#[cfg(test)]
mod tests {
    use super::{bytes, one_line};

    #[test]
    fn sizes() {
        for (number, expect) in [
            (0, "0 B"),
            (999, "999 B"),
            (1_000, "1.0 kB"),
            (1_549_000, "1.5 MB"),
            (20_000_000, "20 MB"),
            (5_000_000_000, "5.0 GB"),
        ] {
            assert_eq!(bytes(number), expect);
        }
    }

    #[test]
    fn lines_are_cut_at_words() {
        assert_eq!(one_line("a\nb\u{1b}[31m c", 40), "a b [31m c");
        assert_eq!(one_line("one two three four", 12), "one two…");
        assert_eq!(one_line("abcdefghijklmnop", 5), "abcd…");
    }
}
