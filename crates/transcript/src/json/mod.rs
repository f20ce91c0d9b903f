//! JSON as the agent reads it: `JSON.parse` after lossy UTF-8.
//!
//! Stricter readers lose conversation: serde_json rejects invalid UTF-8, nesting over 128, `1e400` and lone
//! surrogates, all of which the agent accepts (measured on 2.1.31 to 2.1.325). Laxer ones accept torn rows.
//! So the grammar is checked here, byte by byte, and every value is a byte range: mending is a splice.

mod cursor;
mod outline;
mod text;
#[cfg(target_arch = "x86_64")]
mod wide;

pub(crate) use cursor::{Cursor, Str};
pub(crate) use outline::{Node, Outline};
pub(crate) use text::{decode, encode, is_blank, is_uuid_text, mend_escapes};

/// Whether `bytes` is one whole JSON value with nothing but white space around it.
///
/// Agrees with `JSON.parse(Buffer.toString("utf8"))` of Node, which the fuzz target `row_reader` compares it with.
pub fn parses(bytes: &[u8]) -> bool {
    let mut cursor = Cursor::new(bytes);
    cursor.space();
    cursor.value().is_some() && {
        cursor.space();
        cursor.at_end()
    }
}
