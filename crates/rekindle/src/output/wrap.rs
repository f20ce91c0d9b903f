//! Sentences in lines that fit.

/// Breaks a sentence into lines of so many characters. A word that is longer, such as a path, stays whole.
pub(crate) fn wrap(text: &str, width: usize) -> Vec<String> {
    let clean: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let mut lines: Vec<String> = Vec::new();
    for word in clean.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::wrap;

    #[test]
    fn words_stay_whole() {
        assert_eq!(wrap("one two three", 7), ["one two", "three"]);
        assert_eq!(wrap("a\u{1b}b /a/very/long/path c", 6), ["a b", "/a/very/long/path", "c"]);
        assert_eq!(wrap("", 6), [""; 0]);
    }
}
