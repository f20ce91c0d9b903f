//! Numbers and times as people read them.

use jiff::Timestamp;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

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

/// `5 m ago`; `in 5 m` of what a clock that was ahead has dated.
pub(crate) fn ago(then: Timestamp) -> String {
    ago_at(then, Timestamp::now())
}

fn ago_at(then: Timestamp, now: Timestamp) -> String {
    if then.as_second() > now.as_second() {
        return format!("in {}", age(now, then));
    }
    format!("{} ago", age(then, now))
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

/// How many columns of a terminal a text takes.
pub(crate) fn width(text: &str) -> usize {
    text.width()
}

/// Text cut to so many columns, at a word where one ends in time.
pub(crate) fn cut(text: &str, most: usize) -> String {
    let mut short = String::new();
    let mut taken = 0;
    for c in text.chars() {
        taken += c.width().unwrap_or_default();
        if taken + 1 > most {
            break;
        }
        short.push(c);
    }
    if let Some((words, rest)) = short.rsplit_once(' ')
        && width(rest) < most / 2
        && !text[short.len()..].starts_with(' ')
    {
        short.truncate(words.len());
    }
    format!("{}…", short.trim_end())
}

/// A path cut to so many columns: its end tells more than its beginning.
pub(crate) fn cut_path(path: &str, most: usize) -> String {
    let mut begin = path.len();
    let mut taken = 1;
    for (at, c) in path.char_indices().rev() {
        taken += c.width().unwrap_or_default();
        if taken > most {
            break;
        }
        begin = at;
    }
    let end = &path[begin..];
    let whole = end.find('/').filter(|at| *at < end.len() / 2).map_or(end, |at| &end[at..]);
    format!("…{whole}")
}

/// A text that a terminal only shows: without control characters, but for the ends of lines and tabs.
pub(crate) fn printable(text: &str) -> String {
    text.chars().filter(|one| matches!(one, '\n' | '\t') || !one.is_control()).collect()
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::{ago_at, bytes, cut, cut_path, one_line, printable};

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
    fn a_time_in_the_future_is_told_as_such() {
        let at = |second: i64| Timestamp::from_second(second).unwrap();
        let told = [0, 60, 100, 400, 400_000].map(|second| ago_at(at(second), at(100)));
        assert_eq!(told, ["1 m ago", "40 s ago", "0 s ago", "in 5 m", "in 4 d"]);
    }

    #[test]
    fn lines_are_cut_at_words() {
        assert_eq!(one_line("a\nb\u{1b}[31m c", 40), "a b [31m c");
        assert_eq!(one_line("one two three four", 12), "one two…");
        assert_eq!(one_line("abcdefghijklmnop", 5), "abcd…");
    }

    #[test]
    fn what_is_too_wide_is_cut_by_columns() {
        let check = |text: &str, most: usize, expect: &str| assert_eq!(cut(text, most), expect);
        check("mend the cart", 9, "mend the…");
        check("mend the cart", 8, "mend…");
        check("abcdefghij", 5, "abcd…");
        check("漢字漢字", 5, "漢字…");
        assert_eq!(cut_path("~/code/work/shop", 12), "…/work/shop");
        assert_eq!(cut_path("/verylongname", 6), "…gname");
    }

    #[test]
    fn what_acts_on_a_terminal_is_left_out() {
        let text = "a\u{1b}[2J\u{1b}]2;x\u{7}b\r\n\tc\u{9b}1m\u{7f}\u{0} ü🔥";
        assert_eq!(printable(text), "a[2J]2;xb\n\tc1m ü🔥");
    }
}
