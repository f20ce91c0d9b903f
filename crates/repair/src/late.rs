//! Rows that reach an old file after its swap: which of them the transcript still lacks.

use std::collections::HashMap;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use store::durable::{self, Sync};

use crate::Error;
use crate::record_paths::is_link;

/// Reads a file from an offset up to its end.
pub(crate) fn read_from(path: &Path, file: &File, offset: u64) -> Result<Vec<u8>, Error> {
    let mut file = file.try_clone().map_err(Error::read(path))?;
    let mut bytes = Vec::new();
    file.seek(SeekFrom::Start(offset)).map_err(Error::read(path))?;
    file.read_to_end(&mut bytes).map_err(Error::read(path))?;
    Ok(bytes)
}

/// The whole rows at the beginning of some bytes: up to the last newline.
pub(crate) fn whole_rows(bytes: &[u8]) -> &[u8] {
    let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    &bytes[..whole]
}

/// What an interrupted append still has to append. `there` is what the transcript holds behind the place where the first
/// of `rows` was appended: some of the rows, perhaps the beginning of one, and rows of others.
pub(crate) fn missing(rows: &[u8], there: &[u8]) -> Vec<u8> {
    let mut known: HashMap<&[u8], usize> = HashMap::new();
    for row in there.split_inclusive(|byte| *byte == b'\n') {
        *known.entry(row).or_default() += 1;
    }
    let torn = &there[whole_rows(there).len()..];
    let mut missing: Vec<u8> = Vec::new();
    let mut torn_is_ours = false;
    for row in rows.split_inclusive(|byte| *byte == b'\n') {
        match known.get_mut(row) {
            Some(count) if *count > 0 => *count -= 1,
            // A kill can cut a write short: the rest of the row completes it.
            _ if missing.is_empty() && !torn.is_empty() && row.starts_with(torn) => {
                missing.extend_from_slice(&row[torn.len()..]);
                torn_is_ours = true;
            }
            _ => missing.extend_from_slice(row),
        }
    }
    // Behind a torn row of somebody else, a row would become a part of it.
    if !missing.is_empty() && !torn.is_empty() && !torn_is_ours {
        missing.insert(0, b'\n');
    }
    missing
}

/// Appends whole rows to a transcript. Whether they are in it: a transcript that is gone is not begun anew by its last rows.
pub(crate) fn append(path: &Path, rows: &[u8]) -> Result<bool, Error> {
    // A transcript's path has its links followed; a link that is there now was put there since.
    if !path.exists() || is_link(path) {
        return Ok(false);
    }
    if !rows.is_empty() {
        durable::append(path, rows, Sync::Yes)?;
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(rows: &str, there: &str, expected: &str) {
        let missing = missing(rows.as_bytes(), there.as_bytes());
        assert_eq!(String::from_utf8(missing).unwrap(), expected, "{rows:?} behind {there:?}");
    }

    #[test]
    fn only_what_is_not_there_is_appended() {
        check("a\nb\n", "", "a\nb\n");
        check("a\nb\n", "a\nb\n", "");
        check("a\nb\n", "a\n", "b\n");
        check("a\nb\n", "other\na\nmore\n", "b\n");
        // Equal rows are as many as they were.
        check("mode\nmode\n", "mode\n", "mode\n");
    }

    #[test]
    fn an_append_that_was_cut_short_is_completed() {
        check("abc\ndef\n", "ab", "c\ndef\n");
        check("abc\ndef\n", "abc\nd", "ef\n");
        check("abc\n", "xyz", "\nabc\n");
    }

    #[test]
    fn rows_end_at_the_last_newline() {
        assert_eq!(whole_rows(b"a\nb\nto"), b"a\nb\n");
        assert_eq!(whole_rows(b"to"), b"");
    }
}
