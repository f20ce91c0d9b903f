//! Text that is too long, cut between words; and how long it is.

/// A token has about four characters of English or code. Tokenizers cost 70 to 300 ms and none is the agent's own.
const CHARACTERS_PER_TOKEN: usize = 4;

/// About how many tokens a text has.
pub fn tokens(text: &str) -> usize {
    text.chars().count().div_ceil(CHARACTERS_PER_TOKEN)
}

/// How many characters that many tokens have, about.
pub(crate) fn characters(tokens: usize) -> usize {
    tokens.saturating_mul(CHARACTERS_PER_TOKEN)
}

/// Text on one line, cut between words.
pub fn shorten(text: &str, most: usize) -> String {
    let mut short = String::new();
    let mut length = 0;
    for word in text.split_whitespace() {
        let more = word.chars().count() + usize::from(length > 0);
        if length + more + 1 > most {
            if length > 0 {
                short.push('…');
            }
            return short;
        }
        if length > 0 {
            short.push(' ');
        }
        short.push_str(word);
        length += more;
    }
    short
}

/// The beginning of a text, line breaks kept, cut between words.
pub(crate) fn beginning(text: &str, lines: usize, characters: usize) -> String {
    let text = text.trim();
    let end_of_lines = text.match_indices('\n').nth(lines.max(1) - 1).map_or(text.len(), |(at, _)| at);
    let end_of_characters = text.char_indices().nth(characters).map_or(text.len(), |(at, _)| at);
    let end = end_of_lines.min(end_of_characters);
    if end == text.len() {
        return text.to_owned();
    }
    let inside_a_word = |at: usize| {
        let white = |c: Option<char>| c.is_none_or(char::is_whitespace);
        !white(text[..at].chars().next_back()) && !white(text[at..].chars().next())
    };
    let kept = if inside_a_word(end) {
        text[..end].rfind(char::is_whitespace).map_or("", |at| &text[..at])
    } else {
        &text[..end]
    };
    format!("{}…", kept.trim_end())
}

/// The last lines of a text that fit; of a last line that alone is too long, its last words.
pub(crate) fn last_lines(text: &str, lines: usize, characters: usize) -> &str {
    let text = text.trim_end();
    let (mut begin, mut taken, mut counted) = (text.len(), 0, 0);
    for line in text.split_inclusive('\n').rev() {
        let more = line.chars().count();
        if counted == lines || taken + more > characters {
            break;
        }
        begin -= line.len();
        taken += more;
        counted += 1;
    }
    if counted == 0 && lines > 0 {
        let from = text.char_indices().rev().nth(characters.saturating_sub(1)).map_or(0, |(at, _)| at);
        begin = text[from..].find(char::is_whitespace).map_or(text.len(), |at| from + at);
    }
    text[begin..].trim_start_matches(['\n', ' '])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn beginnings_end_between_words() {
        let check = |lines, characters, expect: &str| {
            assert_eq!(beginning("one two\nthree four\nfive", lines, characters), expect);
        };
        check(9, 99, "one two\nthree four\nfive");
        check(2, 99, "one two\nthree four…");
        check(9, 10, "one two…");
        check(9, 13, "one two\nthree…");
        check(9, 2, "…");
        assert_eq!(beginning("äöü äöü", 1, 3), "äöü…");
    }

    #[test]
    fn endings_begin_with_a_line_or_a_word() {
        let check = |lines, characters, expect: &str| {
            assert_eq!(last_lines("one two\nthree four\nfive\n\n", lines, characters), expect);
        };
        check(9, 99, "one two\nthree four\nfive");
        check(2, 99, "three four\nfive");
        check(9, 8, "five");
        check(0, 8, "");
        assert_eq!(last_lines("one two three four", 5, 11), "three four");
        assert_eq!(last_lines("onetwothree", 5, 4), "");
    }

    #[test]
    fn tokens_are_four_characters() {
        assert_eq!((tokens(""), tokens("abc"), tokens("abcde"), tokens("äöüß")), (0, 1, 2, 1));
    }
}
