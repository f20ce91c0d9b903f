//! Text from outside, made harmless: no escape sequence, no control or invisible character, one line, bounded.
//!
//! A prompt, a branch or a directory can hold anything; printed as it is, it could paint over the agent's screen.

use std::iter::Peekable;
use std::str::Chars;

use unicode_width::UnicodeWidthChar;

/// No line is this long; it bounds what a prompt of megabytes costs.
const MOST_CHARS: usize = 400;
/// Marks on one character; more are piled up to reach into other lines.
const MOST_MARKS: usize = 4;

/// The text as it can be shown. Runs of white space become one space.
pub(crate) fn clean(text: &str) -> String {
    let mut clean = String::new();
    let (mut count, mut marks, mut gap) = (0, 0, false);
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        if count == MOST_CHARS {
            break;
        }
        match c {
            '\u{1b}' => escape(&mut chars),
            '\u{9b}' => control_sequence(&mut chars),
            '\u{90}' | '\u{98}' | '\u{9d}'..='\u{9f}' => control_string(&mut chars),
            c if c.is_whitespace() => gap = true,
            c if invisible(c) => {}
            c => {
                let mark = c.width() == Some(0);
                marks = if mark { marks + 1 } else { 0 };
                // A mark without a character before it would join what we print before the text.
                if mark && (clean.is_empty() || gap || marks > MOST_MARKS) {
                    continue;
                }
                if gap && !clean.is_empty() {
                    clean.push(' ');
                }
                gap = false;
                count += 1;
                clean.push(c);
            }
        }
    }
    clean
}

/// What follows an escape character.
fn escape(chars: &mut Peekable<Chars<'_>>) {
    match chars.peek() {
        Some('[') => {
            chars.next();
            control_sequence(chars);
        }
        Some('P' | 'X' | ']' | '^' | '_') => {
            chars.next();
            control_string(chars);
        }
        Some(' '..='~') => {
            while chars.next_if(|c| matches!(c, ' '..='/')).is_some() {}
            chars.next_if(|c| matches!(c, '0'..='~'));
        }
        _ => {}
    }
}

/// Parameters, then one final character.
fn control_sequence(chars: &mut Peekable<Chars<'_>>) {
    while chars.next_if(|c| matches!(c, ' '..='?')).is_some() {}
    chars.next_if(|c| matches!(c, '@'..='~'));
}

/// Anything up to the string's terminator, or to the end of the line for one that has none.
fn control_string(chars: &mut Peekable<Chars<'_>>) {
    while let Some(c) = chars.next_if(|c| *c != '\n') {
        match c {
            '\u{7}' | '\u{9c}' => return,
            '\u{1b}' => {
                chars.next_if_eq(&'\\');
                return;
            }
            _ => {}
        }
    }
}

/// Characters that show nothing and change how others are shown: controls, direction marks, fillers, tags.
fn invisible(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}' | '\u{200c}' | '\u{200e}' | '\u{200f}'
            | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff0}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use super::clean;

    #[track_caller]
    fn check(dirty: &str, expected: &str) {
        assert_eq!(clean(dirty), expected, "{dirty:?}");
    }

    #[test]
    fn what_shows_stays() {
        check("continue please", "continue please");
        check("  Größe\tändern\n\n日本語 👩‍👩‍👧 ⚠️ e\u{301} ", "Größe ändern 日本語 👩‍👩‍👧 ⚠️ e\u{301}");
    }

    #[test]
    fn escape_sequences_go_whole() {
        check("a\u{1b}[31mred\u{1b}[0m", "ared");
        check("a\u{1b}]52;c;c2VjcmV0\u{7}b", "ab");
        check("a\u{1b}]8;;http://x\u{1b}\\link\u{1b}]8;;\u{1b}\\b", "alinkb");
        check("a\u{1b}Pq#0;2;0;0;0\u{9c}b", "ab");
        check("a\u{9b}2Jb", "ab");
        check("a\u{1b}(Bb\u{1b}cd\u{1b}7e", "abde");
        check("a\u{1b}", "a");
        check("a\u{1b}[", "a");
        check("a\u{1b}é", "aé");
        check("a\u{1b}\u{1b}[31mb", "ab");
        check("a\u{1b}]0;no end\nthe next line", "a the next line");
    }

    #[test]
    fn controls_and_what_hides_go() {
        check("a\u{8}\u{0}\u{7f}\u{85}b\u{200b}c\u{202e}d\u{feff}", "a bcd");
        check("\u{301}a", "a");
        check("a \u{fe0f}b", "a b");
        check(&format!("e{}x", "\u{301}".repeat(50)), &format!("e{}x", "\u{301}".repeat(4)));
    }

    #[test]
    fn megabytes_are_bounded() {
        assert_eq!(clean(&"x".repeat(1 << 20)).len(), super::MOST_CHARS);
    }
}
