//! Text that may leave: without escapes of a terminal, control characters and secrets.

use std::borrow::Cow;

/// Takes out what a terminal would act on and what nobody may read.
pub(crate) fn clean(text: &str) -> String {
    redact::redact(&printable(text)).into_owned()
}

/// The text without control characters; whole escape sequences go, line breaks and tabs stay.
fn printable(text: &str) -> Cow<'_, str> {
    if !text.contains(|c: char| c.is_control() && c != '\n' && c != '\t') {
        return Cow::Borrowed(text);
    }
    let mut kept = String::with_capacity(text.len());
    let mut characters = text.chars().peekable();
    while let Some(c) = characters.next() {
        match c {
            '\u{1b}' => match characters.next() {
                Some('[') => while characters.next().is_some_and(|c| !('@'..='~').contains(&c)) {},
                Some(']' | 'P' | 'X' | '^' | '_') => {
                    // A string: up to BEL or ESC \.
                    while let Some(c) = characters.next() {
                        if c == '\u{7}' || c == '\u{1b}' && characters.next_if_eq(&'\\').is_some() {
                            break;
                        }
                    }
                }
                _ => {}
            },
            '\n' | '\t' => kept.push(c),
            c if c.is_control() => {}
            c => kept.push(c),
        }
    }
    Cow::Owned(kept)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_controls_and_secrets_go() {
        let check = |text: &str, expect: &str| assert_eq!(clean(text), expect);
        check("a\n\tb", "a\n\tb");
        check("\u{1b}[1;31mred\u{1b}[0m\r\n", "red\n");
        check("x\u{1b}]0;title\u{7}y\u{1b}]8;;u\u{1b}\\z", "xyz");
        check("cut \u{1b}[", "cut ");
        check("PGPASSWORD=hunter2hunter psql", "PGPASSWORD=[redacted: password] psql");
    }
}
