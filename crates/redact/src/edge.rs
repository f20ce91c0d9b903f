//! Where a word begins, in plain text, in text escaped as JSON, and in a terminal's colours.

/// Whether a secret can begin here: no letter, digit or underscore before it, unless that is the end of `\n` or of a
/// colour sequence.
pub(crate) fn begins(text: &[u8], at: usize) -> bool {
    match text[..at].last() {
        Some(last) if is_word(*last) => escaped(text, at) || coloured(text, at),
        _ => true,
    }
}

/// Whether the byte before is the letter of an escape such as `\n`.
pub(crate) fn escaped(text: &[u8], at: usize) -> bool {
    matches!(text[..at], [.., b'\\', b'n' | b'r' | b't'])
}

/// Whether a colour sequence such as `ESC[32m` ends here. Only its visible part is looked at: `ESC` has many spellings.
fn coloured(text: &[u8], at: usize) -> bool {
    let Some(rest) = text[..at].strip_suffix(b"m") else { return false };
    let digits = rest.iter().rev().take(12).take_while(|byte| matches!(byte, b'0'..=b'9' | b';')).count();
    rest[..rest.len() - digits].ends_with(b"[")
}

/// Letters, digits and the underscore.
pub(crate) fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// Whether a line begins here, after indentation, list marks, quotes, and the line numbers that tools print.
pub(crate) fn begins_line(text: &[u8], at: usize) -> bool {
    let before = &text[at.saturating_sub(40)..at];
    let margin =
        |byte: &&u8| matches!(byte, b' ' | b'\t' | b'"' | b'\'' | b'+' | b'-' | b'>' | b'|' | b'*' | b'#');
    let mut rest = &before[..before.len() - before.iter().rev().take_while(margin).count()];
    if before[rest.len()..].starts_with(b"\t") {
        let number = |byte: &&u8| matches!(byte, b' ' | b'0'..=b'9');
        rest = &rest[..rest.len() - rest.iter().rev().take_while(number).count()];
    }
    // The arrow (U+2192) stands between number and line in what the agent's read tool prints.
    rest.is_empty() && at <= 40
        || rest.ends_with(b"\n")
        || rest.ends_with(b"\r")
        || escaped(rest, rest.len())
        || rest.ends_with("\u{2192}".as_bytes())
}
