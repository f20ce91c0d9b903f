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
pub(crate) fn coloured(text: &[u8], at: usize) -> bool {
    let Some(rest) = text[..at].strip_suffix(b"m") else { return false };
    let digits = rest.iter().rev().take(12).take_while(|byte| matches!(byte, b'0'..=b'9' | b';')).count();
    rest[..rest.len() - digits].ends_with(b"[")
}

/// The length of the colour sequences that begin here: `ESC[32m`, also escaped as in JSON.
pub(crate) fn colours(text: &[u8], at: usize) -> usize {
    let mut end = at;
    while let Some(sign) = [&b"\x1b["[..], b"\\u001b[", b"\\x1b[", b"\\033[", b"\\e["]
        .into_iter()
        .find(|sign| text[end..].starts_with(sign))
    {
        let inner = &text[end + sign.len()..];
        let digits = inner.iter().take(16).take_while(|byte| matches!(byte, b'0'..=b'9' | b';')).count();
        if inner.get(digits) != Some(&b'm') {
            break;
        }
        end += sign.len() + digits + 1;
    }
    end - at
}

/// The text without a colour sequence at its end.
fn trim_colour(text: &[u8]) -> &[u8] {
    let from = text.len().saturating_sub(24);
    let sign = text[from..].iter().rposition(|byte| matches!(byte, b'\x1b' | b'\\')).map(|at| from + at);
    match sign {
        Some(at) if colours(text, at) == text.len() - at && at < text.len() => &text[..at],
        _ => text,
    }
}

/// Letters, digits and the underscore.
pub(crate) fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// What stands between a line and the left edge of its screen: blanks, frames, and the signs that agents put before what
/// they and their tools say.
pub(crate) fn trim_margin(line: &str) -> &str {
    line.trim_start_matches(|letter: char| {
        letter.is_ascii_whitespace() || is_frame(letter) || "⎿●❯".contains(letter)
    })
}

/// The line without the frame at its right edge.
pub(crate) fn trim_frame_end(line: &str) -> &str {
    line.trim_end_matches(is_frame)
}

/// Lines that are drawn around text: the block "Box Drawing", and what does for them without it.
fn is_frame(letter: char) -> bool {
    matches!(letter, '\u{2500}'..='\u{257f}' | '|')
}

/// The bytes without the blanks and the frame at their end.
pub(crate) fn trim_frame(mut line: &[u8]) -> &[u8] {
    while let [rest @ .., b'|' | b' ' | b'\t' | b'\r'] | [rest @ .., 0xe2, 0x94 | 0x95, _] = line {
        line = rest;
    }
    line
}

/// Whether the text begins with a frame.
pub(crate) fn begins_frame(text: &[u8]) -> bool {
    matches!(text, [b'|', ..] | [0xe2, 0x94 | 0x95, ..])
}

/// The bytes without frames and the signs of agents at their end.
fn trim_signs(before: &[u8]) -> &[u8] {
    let mut rest = before;
    while let [shorter @ .., 0xe2, 0x94 | 0x95, _]
    | [shorter @ .., 0xe2, 0x8e, 0xbf]
    | [shorter @ .., 0xe2, 0x97, 0x8f]
    | [shorter @ .., 0xe2, 0x9d, 0xaf]
    | [shorter @ .., b' ' | b'\t' | b'"' | b'\'' | b'+' | b'-' | b'>' | b'|' | b'*' | b'#'] = rest
    {
        rest = shorter;
    }
    rest
}

/// Whether a line begins here, after indentation, frames, list marks, quotes, and the line numbers that tools print.
pub(crate) fn begins_line(text: &[u8], at: usize) -> bool {
    let before = trim_colour(&text[at.saturating_sub(40)..at]);
    let mut rest = trim_signs(before);
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
