//! tmux's own language: text that is handed to it, and text as it shows it.

/// Text that tmux would expand, as one word of its language.
pub(crate) fn text(text: &str) -> String {
    quote(&unexpanded(text))
}

/// Text that tmux expands into itself: every `#` is doubled, but not those right before a `[`. tmux leaves them for whatever
/// draws the text, all of them and however many they are (measured on 3.3a), and `#[` runs nothing.
pub(crate) fn unexpanded(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('#') {
        let (before, hashes) = rest.split_at(at);
        let after = hashes.trim_start_matches('#');
        let run = &hashes[..hashes.len() - after.len()];
        out.push_str(before);
        out.push_str(run);
        if !after.starts_with('[') {
            out.push_str(run);
        }
        rest = after;
    }
    out + rest
}

/// Any text as one word of tmux's language. A line ends a command even within quotes, so a line break is written as an
/// escape, which only double quotes have.
pub(crate) fn quote(text: &str) -> String {
    let part = |part: &str| format!("'{}'", part.replace('\'', "'\"'\"'"));
    text.split('\n').map(part).collect::<Vec<_>>().join("\"\\n\"")
}

/// Text as it was given: tmux shows `$x`, backslashes and control characters of names of sessions and values of options as
/// escapes (measured on 3.3a; names of windows are shown as they are).
pub(crate) fn unescaped(name: &str) -> String {
    let mut out = String::new();
    let mut rest = name.chars();
    while let Some(c) = rest.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        let number: String = rest.clone().take(3).take_while(|c| c.is_digit(8)).collect();
        if number.len() == 3
            && let Ok(code) = u8::from_str_radix(&number, 8)
        {
            out.push(char::from(code));
            rest.nth(2);
            continue;
        }
        match rest.next() {
            Some('a') => out.push('\u{7}'),
            Some('b') => out.push('\u{8}'),
            Some('f') => out.push('\u{c}'),
            Some('t') => out.push('\t'),
            Some('n') => out.push('\n'),
            Some('r') => out.push('\r'),
            Some('v') => out.push('\u{b}'),
            Some(other) => out.push(other),
            None => out.push('\\'),
        }
    }
    out
}

/// The value of an option as it was given: tmux shows it as a word of its language, in whichever quotes it needs.
pub(crate) fn value(shown: &str) -> String {
    let within = |quote: char| shown.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote));
    unescaped(within('"').or_else(|| within('\'')).unwrap_or(shown))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_are_doubled_unless_a_bracket_follows() {
        for (given, doubled) in [
            ("a#", "a##"),
            ("##", "####"),
            ("#(x)", "##(x)"),
            ("##[x]", "##[x]"),
            ("#[#(x)]#{y}", "#[##(x)]##{y}"),
            ("plain", "plain"),
        ] {
            assert_eq!(unexpanded(given), doubled);
        }
    }

    /// F-tmux-20
    #[test]
    fn names_of_sessions_are_told_as_they_were_given() {
        for (shown, given) in [
            (r"\$HOME {x}", "$HOME {x}"),
            (r"a\\b", r"a\b"),
            (r"t\tb\n", "t\tb\n"),
            (r"\033x", "\u{1b}x"),
            ("a b", "a b"),
        ] {
            assert_eq!(unescaped(shown), given);
        }
    }

    #[test]
    fn values_of_options_are_told_as_they_were_given() {
        for (shown, given) in [
            (r#""a b \"c\" \$x #{x}\nnew""#, "a b \"c\" $x #{x}\nnew"),
            ("''", ""),
            ("plain", "plain"),
            (r"\#", "#"),
            (r"\~/a", "~/a"),
            (r#"'say \"hi\"'"#, "say \"hi\""),
            (r"\a\b\f\v\001", "\u{7}\u{8}\u{c}\u{b}\u{1}"),
            ("\"", "\""),
        ] {
            assert_eq!(value(shown), given);
        }
    }
}
