//! Prompts for passwords, and what was typed behind them where the terminal showed it.

use std::ops::Range;

/// How much of a line may stand before the word for a password.
const REACH: usize = 80;

/// No answer is longer.
const LONGEST: usize = 256;

/// Words that a prompt begins with, before it says what for: `Enter new UNIX password:`.
const BEGINNINGS: &str = "\
    enter re-enter reenter retype repeat confirm verify type please new old current master root admin ssh sudo become unix \
    vault keystore keyring login smb";

/// Whether the words from the beginning of the line up to here make a prompt: `Enter new`, `bob@host's`, `(bob@host)`.
pub(crate) fn ends(text: &[u8], at: usize) -> bool {
    let before = &text[at.saturating_sub(REACH)..at];
    let start = before.iter().rposition(|byte| *byte == b'\n').map(|end| end + 1);
    let Some(start) = start.or((at <= REACH).then_some(0)) else { return false };
    let line = &before[start..];
    // In text escaped as JSON.
    let line = line.windows(2).rposition(|pair| pair == b"\\n").map_or(line, |end| &line[end + 2..]);
    let line = line.windows(2).rposition(|pair| pair == b":\"").map_or(line, |end| &line[end + 2..]);
    let letter = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'(';
    let line = &line[crate::edge::colours(line, 0)..];
    let Some(first) = line.iter().position(letter) else { return false };
    let mut words = line[first..].split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
    let Some(begin) = words.next() else { return false };
    let last = words.clone().next_back().unwrap_or(begin);
    let known = begin.trim_ascii().strip_prefix(b"(").and_then(|word| word.strip_suffix(b")"));
    let account = known.is_some_and(|word| word.contains(&b'@')) && words.clone().next().is_none();
    let bare = known.unwrap_or(begin);
    let begins = BEGINNINGS.split_ascii_whitespace().any(|word| bare.eq_ignore_ascii_case(word.as_bytes()));
    (begins && words.count() < 5) || last.ends_with(b"'s") || account
}

/// The one word between here and the end of the line.
pub(crate) fn answer(text: &[u8], at: usize) -> Option<Range<usize>> {
    let rest = &text[at..text.len().min(at + LONGEST)];
    let end = |part: &[u8]| part.iter().position(|byte| *byte == b'\n').unwrap_or(part.len());
    let line = &rest[..end(rest)];
    let line = line.windows(2).position(|pair| pair == b"\\n").map_or(line, |end| &line[..end]);
    // Prompts of the Bitwarden tool say this before what was typed.
    let hidden = [&b"[input is hidden] "[..], b"[hidden] "].into_iter().find(|words| line.starts_with(words));
    let skipped = hidden.map_or(0, <[u8]>::len);
    let line = crate::edge::trim_frame(&line[skipped..]);
    let coloured = line.iter().position(|byte| *byte == b'\x1b');
    let line = coloured
        .filter(|at| at + crate::edge::colours(line, *at) == line.len())
        .map_or(line, |at| &line[..at]);
    let one = !line.is_empty() && !line.iter().any(u8::is_ascii_whitespace);
    one.then(|| at + skipped..at + skipped + line.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prompts_are_told_from_sentences() {
        for (text, expected) in [
            ("Enter password", true),
            ("$ x\n? Enter new UNIX password", true),
            ("bob@host's password", true),
            ("(bob@host) password", true),
            ("(current) UNIX password", true),
            ("{\"out\":\"x\\nEnter password", true),
            ("{\"out\":\"Enter password", true),
            ("Wrong password", false),
            ("we enter a password", false),
            ("(see the manual) password", false),
            ("password", false),
        ] {
            let at = text.find("password").unwrap_or_default();
            assert_eq!(ends(text.as_bytes(), at), expected, "{text}");
        }
    }

    #[test]
    fn an_answer_is_one_word() {
        assert_eq!(answer(b": swordfish \xe2\x94\x82\nx", 2), Some(2..11));
        assert_eq!(answer(b": it is hidden\n", 2), None);
        assert_eq!(answer(b": \n", 2), None);
    }
}
