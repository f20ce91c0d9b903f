//! The insides of JSON strings: decoding, encoding and the escapes that poison a request.

use std::borrow::Cow;

/// The value of four hexadecimal digits.
pub(super) fn hex4(digits: &[u8]) -> Option<u16> {
    let mut unit = 0u16;
    for &digit in digits.get(..4)? {
        unit = unit << 4 | u16::try_from(char::from(digit).to_digit(16)?).ok()?;
    }
    Some(unit)
}

/// A string's content as text: escapes resolved, what is no character replaced as the agent does.
pub(crate) fn decode(raw: &[u8]) -> Cow<'_, str> {
    if !raw.contains(&b'\\') {
        return String::from_utf8_lossy(raw);
    }
    let mut out = String::with_capacity(raw.len());
    let mut rest = raw;
    while let Some(slash) = memchr::memchr(b'\\', rest) {
        out.push_str(&String::from_utf8_lossy(&rest[..slash]));
        let (text, used) = decode_escape(&rest[slash..]);
        out.push(text);
        rest = &rest[slash + used..];
    }
    out.push_str(&String::from_utf8_lossy(rest));
    out.into()
}

/// The character an escape stands for, and how many bytes it takes.
fn decode_escape(escape: &[u8]) -> (char, usize) {
    match escape.get(1) {
        Some(b'n') => ('\n', 2),
        Some(b't') => ('\t', 2),
        Some(b'r') => ('\r', 2),
        Some(b'b') => ('\u{8}', 2),
        Some(b'f') => ('\u{c}', 2),
        Some(b'u') => {
            let unit = |at: usize| escape.get(at..at + 4).and_then(hex4);
            match unit(2) {
                Some(high @ 0xd800..=0xdbff) => match unit(8) {
                    Some(low @ 0xdc00..=0xdfff) if escape[6..].starts_with(b"\\u") => {
                        let code = 0x10000 + ((u32::from(high) - 0xd800) << 10) + (u32::from(low) - 0xdc00);
                        (char::from_u32(code).unwrap_or('\u{fffd}'), 12)
                    }
                    _ => ('\u{fffd}', 6),
                },
                Some(unit) => (char::from_u32(u32::from(unit)).unwrap_or('\u{fffd}'), 6),
                None => ('\u{fffd}', escape.len().min(2)),
            }
        }
        Some(&other) => (char::from(other), 2),
        None => ('\u{fffd}', 1),
    }
}

/// Text as a JSON string with its quotes.
pub(crate) fn encode(text: &str) -> Vec<u8> {
    serde_json::Value::from(text).to_string().into_bytes()
}

/// Whether a raw string is nothing but white space once decoded: the API refuses such text.
pub(crate) fn is_blank(raw: &[u8]) -> bool {
    let mut rest = raw;
    while let Some(&byte) = rest.first() {
        // Nearly every text ends here, at its first character; none is decoded further than it is blank.
        let (first, length) = match byte {
            b'\\' => decode_escape(rest),
            0..0x80 => (char::from(byte), 1),
            _ => match String::from_utf8_lossy(&rest[..rest.len().min(4)]).chars().next() {
                Some(first) => (first, first.len_utf8()),
                None => return true,
            },
        };
        // What JavaScript trims and Rust does not take for white space: the byte order mark.
        if !first.is_whitespace() && first != '\u{feff}' {
            return false;
        }
        rest = rest.get(length..).unwrap_or_default();
    }
    true
}

/// Whether this is a UUID's text: `8-4-4-4-12` hexadecimal digits.
pub(crate) fn is_uuid_text(raw: &[u8]) -> bool {
    raw.len() == 36
        && raw.iter().enumerate().all(|(i, b)| match i {
            8 | 13 | 18 | 23 => *b == b'-',
            _ => b.is_ascii_hexdigit(),
        })
}

/// Replaces lone surrogates (A9) and, where asked, U+0000 (C9) by U+FFFD: same length, nothing else touched.
///
/// `json` is any JSON text; returns the places of six bytes to overwrite with `\ufffd`.
pub(crate) fn mend_escapes(json: &[u8], surrogates: bool, nuls: bool) -> Vec<usize> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(slash) = memchr::memchr(b'\\', &json[at..]) {
        let start = at + slash;
        at = start + 2;
        if json.get(start + 1) != Some(&b'u') {
            continue;
        }
        let unit = |from: usize| json.get(from..from + 4).and_then(hex4);
        match unit(start + 2) {
            Some(0xd800..=0xdbff) => {
                let paired = json.get(start + 6..start + 8) == Some(b"\\u")
                    && matches!(unit(start + 8), Some(0xdc00..=0xdfff));
                if paired {
                    at = start + 12;
                } else if surrogates {
                    found.push(start);
                }
            }
            Some(0xdc00..=0xdfff) if surrogates => found.push(start),
            Some(0) if nuls => found.push(start),
            _ => {}
        }
    }
    found
}
